/* core/sides.h on an invented GPU: its memory's homes follow the parity of some bits of an address,
 * some words answer late, and some GPUs have no sides or follow another rule. The address is all
 * that counts: no memory is touched. */
#include "core/sides.h"

#include <stdlib.h>
#include <string.h>

#include "core/draw.h"
#include "tests/unit/check.h"

enum { N_SM = 132, PAGES = 37, WORDS = PAGES / 32 + 1 };
static const uint64_t PAGE = 1ull << SIDES_PAGE_BITS;

/* Where a word has its home, and how long that takes. */
struct gpu {
    uint32_t mask;
    uint8_t (*home)(const struct gpu *g, uint64_t at);
    uint32_t far;          /* cycles more than near */
    uint32_t late_of_1000; /* words that a refresh delays */
    uint32_t first_side;   /* of SM 0 */
    uint64_t seed;
};

/* An own way to the parity, a bit at a time. */
static uint32_t slow_parity(uint64_t bits)
{
    uint32_t ones = 0;
    for (; bits; bits /= 2)
        ones += bits % 2;
    return ones % 2;
}

static uint8_t by_parity(const struct gpu *g, uint64_t at)
{
    const uint64_t page = at / PAGE, unit = at % PAGE / SIDES_BOTH, half = at / SIDES_PIECE % 2;
    return (uint8_t)((half + slow_parity(unit & g->mask) + slow_parity(page * 0x9e3779b1)) % 2);
}
static uint8_t by_both(const struct gpu *g, uint64_t at) /* all of SIDES_BOTH has one home */
{
    return (uint8_t)slow_parity(at / SIDES_BOTH & g->mask);
}
static uint8_t by_nothing(const struct gpu *g, uint64_t at) /* by no rule */
{
    (void)g;
    return (uint8_t)(slow_parity((at / SIDES_PIECE * 0x9e3779b97f4a7c15) >> 40));
}

static uint32_t side_of_sm(const struct gpu *g, uint32_t sm)
{
    return (slow_parity(sm * 0x2545f491ull) + g->first_side) % 2;
}

static uint32_t cycles_of(struct gpu *g, uint32_t sm, uint64_t at)
{
    const bool is_far = g->home(g, at) != side_of_sm(g, sm);
    const uint32_t late = draw_below(&g->seed, 1000) < g->late_of_1000 ? 600 : 0;
    return (uint32_t)(640 + sm % 7 * 3 + draw_below(&g->seed, 30)) + (is_far ? g->far : 0) + late;
}

static void answer(void *how, uint32_t *const *word, uint32_t n, uint32_t *cycles, uint32_t *sm)
{
    struct gpu *g = how;
    for (uint32_t i = 0; i < n; i++) {
        if (sm)
            sm[i] = i * 5 % N_SM;
        for (uint32_t k = 0; k < (sm ? 1 : N_SM); k++)
            cycles[(size_t)k * n + i] = cycles_of(g, sm ? sm[i] : k, (uint64_t)word[i]);
    }
}

/* What core/probe.h gives. */
uint64_t probe_seed(const struct probe_run *r)
{
    (void)r;
    return 20261124;
}
void *probe_host_alloc(struct probe_run *r, size_t bytes)
{
    (void)r;
    void *memory = malloc(bytes);
    if (!memory)
        exit(1);
    return memory;
}

struct found {
    struct sides sides;
    uint32_t sms[N_SM], pages[WORDS + 1];
    const char *why;
};

/* Memory that begins some way into a page. */
static const char *begin(void)
{
    return (const char *)(12345 * PAGE + 77 * SIDES_BOTH);
}
enum { BYTES = (PAGES - 2) << SIDES_PAGE_BITS };

static void find(struct found *f, struct gpu *g)
{
    memset(f, 0, sizeof *f);
    f->sides.sms = f->sms;
    f->sides.pages = f->pages;
    f->sides.map.first_page = (uint64_t)begin() / PAGE;
    f->why = sides_find(NULL, answer, g, N_SM, begin(), BYTES, &f->sides);
}

/* Side 0 is that of SM 0, whatever the GPU calls it. */
static uint32_t home_of(const struct gpu *g, uint64_t at)
{
    return g->home(g, at) ^ side_of_sm(g, 0);
}

/* Is piece k of each side in the k-th SIDES_BOTH, and home there? Then each 4 KiB have one
 * place. */
static bool is_right(const struct found *f, const struct gpu *g)
{
    const uint32_t is_swapped = f->sides.map.is_swapped;
    for (size_t k = 0; k < BYTES / SIDES_BOTH; k++)
        for (uint32_t side = 0; side < 2; side++) {
            const size_t at = sides_offset(&f->sides, begin(), side, k);
            if (at / SIDES_BOTH != k || at % SIDES_PIECE != 0 ||
                home_of(g, (uint64_t)begin() + at) != (side ^ is_swapped))
                return false;
        }
    return true;
}

static const uint32_t masks[] = {0, 1, 0x80, 0xff, 0x2d, 0x5a, 0x93, 0x68};

static void finds_each_mask(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        for (uint32_t side = 0; side < 2; side++) {
            struct gpu g = {masks[i], by_parity, 200, 0, side, 7 + i};
            struct found f;
            find(&f, &g);
            assert_string_equal(f.why, "");
            assert_int_equal(f.sides.map.mask, masks[i]);
            assert_true(is_right(&f, &g));
            f.sides.map.is_swapped = 1;
            assert_true(is_right(&f, &g));
        }
}

static void late_words_do_not_count(void **unused)
{
    struct gpu g = {0x2d, by_parity, 200, 4, 0, 11};
    struct found f;
    (void)unused;
    find(&f, &g);
    assert_string_equal(f.why, "");
    assert_true(is_right(&f, &g));
}

static void each_sm_has_a_rank(void **unused)
{
    struct gpu g = {0x2d, by_parity, 200, 0, 1, 13};
    struct found f;
    uint32_t n[2] = {0, 0};
    (void)unused;
    find(&f, &g);
    for (uint32_t sm = 0; sm < N_SM; sm++) {
        const uint32_t side = f.sms[sm] % 2;
        assert_int_equal(side, side_of_sm(&g, sm) ^ side_of_sm(&g, 0));
        assert_int_equal(f.sms[sm] / 2, n[side]++);
    }
    assert_int_equal(f.sides.map.count[0], n[0]);
    assert_int_equal(f.sides.map.count[1], n[1]);
    assert_true(n[0] > 0 && n[1] > 0 && n[0] != n[1]);
}

/* A mask, a page and a side that are wrong are seen to be. */
static void wrong_maps_are_seen(void **unused)
{
    struct gpu g = {0x2d, by_parity, 200, 0, 0, 17};
    struct found f;
    (void)unused;
    find(&f, &g);
    f.sides.map.mask ^= 0x10;
    assert_false(is_right(&f, &g));
    f.sides.map.mask ^= 0x10;
    f.pages[1] ^= 2;
    assert_false(is_right(&f, &g));
    f.pages[1] ^= 2;
    f.sides.map.first_page--;
    assert_false(is_right(&f, &g));
    f.sides.map.first_page++;
    assert_true(is_right(&f, &g));
}

static void says_why_not(void **unused)
{
    struct gpu none = {0x2d, by_parity, 0, 0, 0, 19}, both = {0x2d, by_both, 200, 0, 0, 23},
               nothing = {0, by_nothing, 200, 0, 0, 29}, late = {0x2d, by_parity, 200, 400, 0, 31};
    struct found f;
    (void)unused;
    find(&f, &none);
    assert_string_equal(f.why, "this GPU's SMs do not show two sides of the L2");
    find(&f, &both);
    assert_string_equal(f.why, "the homes of memory do not follow its addresses' parity");
    find(&f, &nothing);
    assert_string_equal(f.why, "the homes of memory do not follow its addresses' parity");
    find(&f, &late);
    assert_string_not_equal(f.why, "");
}

static void counts_pages(void **unused)
{
    (void)unused;
    assert_int_equal(sides_pages((const void *)PAGE, PAGE), 1);
    assert_int_equal(sides_pages((const void *)PAGE, PAGE + 1), 2);
    assert_int_equal(sides_pages((const void *)(PAGE - SIDES_BOTH), PAGE), 2);
    assert_int_equal(sides_pages(begin(), BYTES), PAGES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_mask),    cmocka_unit_test(late_words_do_not_count),
        cmocka_unit_test(each_sm_has_a_rank), cmocka_unit_test(wrong_maps_are_seen),
        cmocka_unit_test(says_why_not),       cmocka_unit_test(counts_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
