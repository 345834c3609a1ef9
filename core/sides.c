#include "core/sides.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"
#include "core/stat.h"

enum {
    WORDS = 64, /* by which SMs are told apart */
    ASKED = 7,  /* words of a page */
    STRAY = 2,  /* of them, at most, that say otherwise */
};
static const double ALIKE = 0.5; /* correlation of two SMs' latencies, or its opposite, at least */

struct asker {
    struct probe_run *r;
    sides_asker ask;
    void *how;
    uint32_t sms;
    uint8_t side[SIDES_SMS];
    double border; /* cycles: what takes longer is far */
};

static double correlation(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    double mean[2] = {0, 0}, aa = 0, bb = 0, ab = 0;
    for (uint32_t i = 0; i < n; i++) {
        mean[0] += a[i] / (double)n;
        mean[1] += b[i] / (double)n;
    }
    for (uint32_t i = 0; i < n; i++) {
        aa += (a[i] - mean[0]) * (a[i] - mean[0]);
        bb += (b[i] - mean[1]) * (b[i] - mean[1]);
        ab += (a[i] - mean[0]) * (b[i] - mean[1]);
    }
    return ab / sqrt(aa * bb);
}

/* The middle of the widest gap in the middle two fifths. */
static double border_of(struct probe_run *r, const uint32_t *cycles, size_t n)
{
    double *sorted = probe_host_alloc(r, n * sizeof *sorted), width;
    for (size_t i = 0; i < n; i++)
        sorted[i] = cycles[i];
    stat_sort(sorted, n);
    const double border = stat_border(sorted, 3 * n / 10, 7 * n / 10, &width);
    free(sorted);
    return border;
}

/* --- who is near whom ------------------------------------------------------------------------- */

/* A word in a piece that is drawn. */
static uint32_t *word_in(const char *memory, size_t bytes, uint64_t *seed)
{
    return (uint32_t *)(uintptr_t)(memory + draw_below(seed, bytes / SIDES_PIECE) * SIDES_PIECE);
}

/* Side 0 is that of SM 0. False where the SMs are not of two kinds. */
static bool find_sms(struct asker *k, const char *memory, size_t bytes, struct sides_map *map,
                     uint32_t *sms)
{
    uint32_t *word[WORDS], *cycles = probe_host_alloc(k->r, k->sms * WORDS * sizeof *cycles);
    uint64_t seed = probe_seed(k->r);
    bool is_clear = true;

    for (int i = 0; i < WORDS; i++)
        word[i] = word_in(memory, bytes, &seed);
    k->ask(k->how, word, WORDS, cycles, NULL);
    for (uint32_t sm = 0; sm < k->sms; sm++) {
        const double like = correlation(cycles, cycles + (size_t)sm * WORDS, WORDS);
        is_clear = is_clear && fabs(like) > ALIKE;
        k->side[sm] = like < 0;
        sms[sm] = 2 * map->count[k->side[sm]]++ + k->side[sm];
    }
    k->border = border_of(k->r, cycles, (size_t)k->sms * WORDS);
    free(cycles);
    return is_clear && map->count[0] > 0 && map->count[1] > 0 && !isnan(k->border);
}

/* The side that is the home of each of n words. */
static void find_homes(const struct asker *k, uint32_t *const *word, uint32_t n, uint8_t *home)
{
    uint32_t *cycles = probe_host_alloc(k->r, 2 * (size_t)n * sizeof *cycles), *sm = cycles + n;
    k->ask(k->how, word, n, cycles, sm);
    for (uint32_t i = 0; i < n; i++)
        home[i] = k->side[sm[i]] ^ (cycles[i] > k->border);
    free(cycles);
}

/* Which bits of the number of 8 KiB in its page change the home. */
static uint32_t find_mask(const struct asker *k, const char *page)
{
    uint32_t *word[(1 + SIDES_UNIT_BITS) * ASKED], mask = 0;
    uint8_t home[PROBE_LENGTH(word)];
    for (size_t i = 0; i < PROBE_LENGTH(word); i++) {
        const size_t bit = i / ASKED;
        word[i] = (uint32_t *)(uintptr_t)(page + (bit > 0 ? (size_t)SIDES_BOTH << (bit - 1) : 0)) +
                  64 * (i % ASKED);
    }
    find_homes(k, word, PROBE_LENGTH(word), home);
    for (size_t bit = 0; bit < SIDES_UNIT_BITS; bit++) {
        int others = 0;
        for (size_t i = 0; i < ASKED; i++)
            others += home[(bit + 1) * ASKED + i] != home[i];
        mask |= (uint32_t)(others > ASKED / 2) << bit;
    }
    return mask;
}

static uint32_t parity(uint32_t bits)
{
    return (uint32_t)__builtin_popcount(bits) & 1;
}

/* The bit of each page, from words that are drawn in it. False where they contradict each other. */
static bool find_pages(const struct asker *k, const struct sides_map *map, const char *memory,
                       size_t bytes, size_t pages, uint32_t *bits)
{
    const size_t page_bytes = (size_t)1 << SIDES_PAGE_BITS;
    const uint32_t asked = (uint32_t)(ASKED * pages);
    uint32_t **word = probe_host_alloc(k->r, asked * sizeof *word);
    uint8_t *home = probe_host_alloc(k->r, asked);
    uint64_t seed = probe_seed(k->r) + 1;
    bool agree = true;

    for (uint32_t i = 0; i < asked; i++) {
        const char *from = (const char *)((map->first_page + i / ASKED) << SIDES_PAGE_BITS);
        const char *end = from + page_bytes < memory + bytes ? from + page_bytes : memory + bytes;
        from = from > memory ? from : memory;
        word[i] = word_in(from, (size_t)(end - from), &seed);
    }
    find_homes(k, word, asked, home);
    for (size_t page = 0; page < pages; page++) {
        uint32_t ones = 0;
        for (size_t i = page * ASKED; i < (page + 1) * ASKED; i++) {
            const uint64_t at = (uint64_t)word[i];
            ones += home[i] ^ (uint32_t)(at / SIDES_PIECE & 1) ^
                    parity((uint32_t)(at >> SIDES_BOTH_BITS) & map->mask);
        }
        bits[page / 32] |= (uint32_t)(ones > ASKED / 2) << page % 32;
        agree = agree && (ones <= STRAY || ones >= ASKED - STRAY);
    }
    free(word);
    free(home);
    return agree;
}

/* --- all -------------------------------------------------------------------------------------- */

const char *sides_find(struct probe_run *r, sides_asker ask, void *how, uint32_t n_sm,
                       const void *memory, size_t bytes, struct sides *sides)
{
    struct sides_map *map = &sides->map;
    struct asker k = {.r = r, .ask = ask, .how = how, .sms = n_sm};
    const char *page = (const char *)((map->first_page + 1) << SIDES_PAGE_BITS);

    if (!find_sms(&k, memory, bytes, map, sides->sms))
        return "this GPU's SMs do not show two sides of the L2";
    map->mask = find_mask(&k, page);
    if (!find_pages(&k, map, memory, bytes, sides_pages(memory, bytes), sides->pages))
        return "the homes of memory do not follow its addresses' parity";
    return "";
}

size_t sides_pages(const void *memory, size_t bytes)
{
    const uint64_t at = (uint64_t)memory;
    return (size_t)(((at + bytes - 1) >> SIDES_PAGE_BITS) - (at >> SIDES_PAGE_BITS) + 1);
}

size_t sides_offset(const struct sides *sides, const void *memory, uint32_t side, size_t k)
{
    const struct sides_map *map = &sides->map;
    const uint64_t at = (uint64_t)memory + k * SIDES_BOTH;
    const uint64_t page = (at >> SIDES_PAGE_BITS) - map->first_page;
    const uint32_t first = parity((uint32_t)(at >> SIDES_BOTH_BITS) & map->mask) ^
                           (sides->pages[page / 32] >> page % 32 & 1) ^ map->is_swapped;
    return k * SIDES_BOTH + (first ^ side) * SIDES_PIECE;
}
