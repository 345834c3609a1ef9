// faults: thread lane full named epoch idle wait number role quiet near
//
// Chains of edges on the CPU: exchanges of words among all blocks, by values and by a counter, with a
// stream beside them and without; among some of the blocks, beside others that stream; a stream alone,
// and one of what is near; and steps of kernels that differ. Compared with what the words must come to, in every thread of every
// block.
#define SHIM_ARCH 900
#include "tests/shim/shim.h"

#include "probes/edges/different.cu"
#include "probes/edges/exchange.cu"

#define stream_on beside_stream_on // two files have one
#define compute beside_compute
#include "probes/edges/beside.cu"
#undef stream_on
#undef compute

enum { WORDS_MOST = 4096, TILES = 6 /* of what is streamed */ };
thread_local uint4 exchange_memory[(EXCHANGE_SHARED + 8 * WORDS_MOST) / 16];
thread_local uint4 beside_memory[(EXCHANGE_SHARED + 8 * WORDS_MOST) / 16];

static uint32_t random_word(void)
{
    return shim_bits<uint32_t>((float)shim_normal());
}

static uint32_t *random_words(uint64_t n)
{
    uint32_t *words = (uint32_t *)shim_alloc(4 * n);
    for (uint64_t i = 0; i < n; i++)
        words[i] = random_word();
    return words;
}

/* --- exchanges ---------------------------------------------------------------------------------- */

struct problem {
    uint32_t blocks, words, exchanges;
};

static struct exchange_args made(const struct problem &p)
{
    struct exchange_args a = {};
    a.mail = shim_alloc(2 * 8ull * p.words);
    a.first = random_words(p.words);
    a.digests = (uint32_t *)shim_alloc(4ull * p.blocks * EXCHANGE_THREADS);
    a.census = (uint32_t *)shim_alloc(4ull * p.blocks);
    a.body = random_words(TILES * EXCHANGE_TILE_BYTES / 4);
    a.tiles = (uint32_t *)shim_alloc(4ull * p.blocks);
    a.tile_sums = (uint32_t *)shim_alloc(4ull * p.blocks);
    a.barrier = (struct grid_barrier_state *)shim_alloc(sizeof *a.barrier);
    memset(a.barrier, 0, sizeof *a.barrier);
    a.words = p.words, a.exchanges = p.exchanges;
    a.tiles_most = 11; // a block whose stream never ends has the CPU for itself
    a.epoch = 1, a.budget_ns = 1u << 31;
    return a;
}

// What the threads of a block must have taken.
static void digests_of(const struct exchange_args &a, uint32_t (&digest)[EXCHANGE_THREADS])
{
    uint32_t *row[2] = {(uint32_t *)shim_alloc(4ull * a.words), (uint32_t *)shim_alloc(4ull * a.words)};
    memcpy(row[0], a.first, 4ull * a.words);
    memset(digest, 0, sizeof digest);
    for (uint32_t k = 0; k < a.exchanges; k++) {
        for (uint32_t i = 0; i < a.words; i++) {
            // half of all words further, and one: another block's
            row[~k & 1][i] = row[k & 1][(i + a.words / 2 + 1) % a.words] * 0x9e3779b1u + 1;
            digest[i / 2 % EXCHANGE_THREADS] ^= row[~k & 1][i];
        }
        for (uint32_t &d : digest)
            d = d * 0x9e3779b1u + 1;
    }
}

static uint32_t sum_of_tiles(const struct exchange_args &a, uint32_t blocks, uint32_t block)
{
    const uint32_t tiles = a.tiles[block];
    uint32_t sum = 0;
    for (uint32_t i = tiles > EXCHANGE_TILES ? tiles - EXCHANGE_TILES : 0; i < tiles; i++)
        for (uint32_t w = 0; w < EXCHANGE_TILE_BYTES / 4; w++)
            sum ^= ((const uint32_t *)a.body)[(i * blocks + block) % TILES * (EXCHANGE_TILE_BYTES / 4) + w];
    return sum;
}

typedef void exchange_kernel(const struct exchange_args);

static void check_exchange(const struct problem &p, struct exchange_args &a, exchange_kernel *kernel,
                           const char *name)
{
    uint32_t digest[EXCHANGE_THREADS], wrong = 0;
    const bool streams = a.body_tiles > 0;

    memset(a.digests, 0xff, 4ull * p.blocks * EXCHANGE_THREADS);
    shim_launch_together(kernel, a, p.blocks, EXCHANGE_THREADS + 32, EXCHANGE_SHARED + 8 * p.words);
    digests_of(a, digest);
    for (uint32_t i = 0; i < p.blocks * EXCHANGE_THREADS; i++)
        wrong += a.digests[i] != digest[i % EXCHANGE_THREADS];
    shim_check(wrong == 0, "%s of %u words among %u blocks: %u threads took others", name, p.words,
               p.blocks, wrong);
    shim_check(a.barrier->aborted == 0, "%s: no block gave up", name);
    for (uint32_t b = 0; b < p.blocks && streams; b++)
        shim_check(a.tiles[b] > 0 && a.tile_sums[b] == sum_of_tiles(a, p.blocks, b),
                   "%s: the last of %u tiles of block %u are those of the memory", name, a.tiles[b], b);
    a.epoch += shim_fault("epoch") ? 0 : p.exchanges;
}

static void check_exchanges(const struct problem &p)
{
    exchange_kernel *const values =
        shim_fault("wait") ? edges_exchange_unwaited : edges_exchange_values;
    struct exchange_args a = made(p);

    for (int streams = 0; streams < 2; streams++) {
        a.body_tiles = streams ? TILES : 0;
        check_exchange(p, a, values, "values");
        const uint32_t first = a.first[0]; // other words, which an earlier launch did not leave
        ((uint32_t *)a.first)[0] = first + 1;
        check_exchange(p, a, values, "values, again");
        check_exchange(p, a, edges_exchange_counter, "counter");
        memset(a.mail, 0xff, 16ull * p.words); // the counter's words have no numbers
    }
    // Who does not wait takes what is not there.
    memset(a.mail, 0xff, 16ull * p.words);
    uint32_t digest[EXCHANGE_THREADS], wrong = 0;
    a.body_tiles = 0;
    shim_launch_together(edges_exchange_unwaited, a, p.blocks, EXCHANGE_THREADS + 32,
                         EXCHANGE_SHARED + 8 * p.words);
    digests_of(a, digest);
    for (uint32_t i = 0; i < p.blocks * EXCHANGE_THREADS; i++)
        wrong += a.digests[i] != digest[i % EXCHANGE_THREADS];
    shim_check(wrong > 0, "without a wait some thread takes other words");
}

/* --- beside any stream -------------------------------------------------------------------------- */

// Where piece k of a side begins, the slow way.
static const char *piece_of(const struct sides_map &map, const char *body, uint32_t side, uint32_t k)
{
    const uint64_t at = (uint64_t)body + (uint64_t)k * SIDES_BOTH, page = at >> SIDES_PAGE_BITS;
    uint32_t first = map.pages[(page - map.first_page) / 32] >> (page - map.first_page) % 32 & 1;
    for (uint32_t bit = 0; bit < SIDES_UNIT_BITS; bit++)
        first ^= (uint32_t)(at >> (SIDES_BOTH_BITS + bit)) & map.mask >> bit & 1;
    return (const char *)at + (first == side ? 0 : SIDES_PIECE);
}

// Tile i of a block, xored. The block of the number is on the SM of that number.
static uint32_t sum_of_tile(const struct beside_args &a, uint32_t blocks, uint32_t block, uint32_t i)
{
    const uint32_t all = a.pieces > 1 ? a.x.body_tiles / 2 : a.x.body_tiles;
    const uint32_t both = a.pieces > 1 ? a.sides.sms[block] : 0, bytes = a.tile_bytes / a.pieces;
    const uint32_t tile = a.pieces > 1 ? (both / 2 + i * a.sides.count[both % 2]) % all
                                       : (block + i * blocks) % all;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < a.pieces; k++) {
        const char *body = (const char *)a.x.body;
        const char *from = a.pieces > 1 ? piece_of(a.sides, body, both % 2, tile * a.pieces + k)
                                        : body + (uint64_t)tile * bytes;
        for (uint32_t w = 0; w < bytes / 4; w++)
            sum ^= ((const uint32_t *)from)[w];
    }
    return sum;
}

static void check_beside(const struct beside_args &a, uint32_t blocks, const char *name)
{
    uint32_t digest[EXCHANGE_THREADS], wrong = 0;

    memset(a.x.digests, 0xff, 4ull * blocks * EXCHANGE_THREADS);
    memset(a.x.tiles, 0xff, 4ull * blocks);
    memset(a.x.census, 0xff, 4ull * blocks);
    struct beside_args given = a;
    if (shim_fault("near")) // what is near is called far
        given.sides.is_swapped ^= 1;
    shim_launch_together(edges_beside, given, blocks, EXCHANGE_THREADS + 32,
                         a.stages * a.tile_bytes + 8 * a.x.words);
    digests_of(a.x, digest);
    for (uint32_t b = 0; b < blocks; b++) {
        const uint32_t role = a.roles ? a.roles[b] : b;
        uint32_t sum = 0;
        for (uint32_t t = 0; t < EXCHANGE_THREADS; t++)
            wrong += a.x.digests[b * EXCHANGE_THREADS + t] !=
                     ((role & ~BESIDE_QUIET) < a.shares ? digest[t] : ~0u);
        for (uint32_t i = a.x.tiles[b] > a.stages ? a.x.tiles[b] - a.stages : 0; i < a.x.tiles[b]; i++)
            sum ^= sum_of_tile(a, blocks, b, i);
        shim_check((a.x.tiles[b] > 0) == !(role & BESIDE_QUIET) && a.x.tiles[b] <= a.x.tiles_most &&
                       a.x.tile_sums[b] == sum,
                   "%s: the last of %u tiles of block %u are the memory's", name, a.x.tiles[b], b);
        shim_check(a.x.census[b] == b, "%s: block %u is in the census", name, b);
    }
    shim_check(wrong == 0, "%s of %u words among %u of %u blocks: %u threads took others", name,
               a.x.words, a.shares, blocks, wrong);
    shim_check(a.x.barrier->aborted == 0, "%s: no block gave up", name);
}

// Two of four blocks exchange, one of which streams, too; of the others one streams, one does nothing.
// Then the same two stream, and nobody exchanges.
static void check_roles(uint32_t words, uint32_t tile_bytes, uint32_t stages)
{
    const struct problem p = {4, words, 5};
    struct beside_args a = {};
    uint32_t *roles = (uint32_t *)shim_alloc(4ull * p.blocks);

    a.x = made(p);
    a.x.body_tiles = TILES;
    a.over = (uint32_t *)shim_alloc(4);
    *a.over = ~0u;
    a.shares = 2, a.tile_bytes = tile_bytes, a.stages = stages, a.pieces = 1;
    roles[0] = BESIDE_NO_SHARE;
    roles[1] = shim_fault("role") ? 0 : 1;
    roles[2] = BESIDE_NO_SHARE | BESIDE_QUIET;
    roles[3] = shim_fault("quiet") ? BESIDE_NO_SHARE : 0 | BESIDE_QUIET;
    a.roles = roles;
    check_beside(a, p.blocks, "values, by roles");
    shim_check(*a.over == a.x.epoch, "share 0 says that it is over");
    a.x.epoch += p.exchanges;
    a.shares = 0, a.alone_ns = 20000;
    check_beside(a, p.blocks, "a stream alone");
    a.roles = NULL, a.shares = p.blocks;
    check_beside(a, p.blocks, "values, by blocks");
}

// All blocks exchange, and each streams what is home on its side: a third of the blocks are on side 0.
static void check_near(uint32_t blocks, uint32_t words)
{
    const struct problem p = {blocks, words, 5};
    struct beside_args a = {};
    uint32_t *sms = (uint32_t *)shim_alloc(4ull * blocks), *pages = (uint32_t *)shim_alloc(4);

    a.x = made(p);
    a.x.body_tiles = TILES;
    const uintptr_t room = (uintptr_t)random_words((TILES * EXCHANGE_TILE_BYTES + SIDES_BOTH) / 4);
    a.x.body = (const char *)((room + SIDES_BOTH - 1) / SIDES_BOTH * SIDES_BOTH);
    a.over = (uint32_t *)shim_alloc(4);
    *a.over = ~0u;
    a.shares = blocks, a.tile_bytes = EXCHANGE_TILE_BYTES, a.stages = 2;
    a.pieces = EXCHANGE_TILE_BYTES / SIDES_PIECE;
    *pages = 0x5a3c96e1;
    a.sides = {pages, sms, (uint64_t)a.x.body >> SIDES_PAGE_BITS, 0x2d, {0, 0}, 0};
    for (uint32_t sm = 0; sm < blocks; sm++) {
        const uint32_t side = sm % 3 > 0;
        sms[sm] = 2 * a.sides.count[side]++ + side;
    }
    check_beside(a, blocks, "values, beside what is near");
}

/* --- kernels that differ ------------------------------------------------------------------------ */

typedef void step_kernel(const struct edges_args);
static step_kernel *const different_kernels[DIFFERENT_KERNELS] = {
    edges_different_0, edges_different_1, edges_different_2,  edges_different_3,  edges_different_4,
    edges_different_5, edges_different_6, edges_different_7,  edges_different_8,  edges_different_9,
    edges_different_10, edges_different_11, edges_different_12, edges_different_13};

static uint32_t step_of(uint32_t which, uint32_t x)
{
    uint32_t all = 0;
    for (uint32_t j = 0; j < DIFFERENT_PARTS; j++) {
        uint32_t part = x + j;
        for (uint32_t t = 0; t < DIFFERENT_TURNS; t++) {
            const uint32_t i = t * DIFFERENT_PARTS + j;
            part = (part ^ different_number(which, i)) * different_factor(which, i);
        }
        all ^= part;
    }
    return all;
}

// One after another, as a graph launches them, each reading another part of the body.
static void check_different(uint32_t blocks, uint32_t chunks)
{
    const uint32_t words = blocks * EDGES_WARPS, row = words * EDGES_SPACING;
    struct edges_args a = {};
    a.cells = random_words(2 * row);
    a.census = (uint32_t *)shim_alloc(4ull * blocks);
    a.chunks = chunks;
    const uint32_t *body = random_words(chunks * DIFFERENT_KERNELS * EDGES_CHUNK / 4 + 1);
    uint32_t *now = (uint32_t *)shim_alloc(4ull * words), *next = (uint32_t *)shim_alloc(4ull * words);
    for (uint32_t i = 0; i < words; i++)
        now[i] = a.cells[i * EDGES_SPACING];

    for (uint32_t k = 0; k < DIFFERENT_KERNELS; k++) {
        a.first = k;
        a.body = body + k * chunks * (EDGES_CHUNK / 4);
        shim_launch(different_kernels[shim_fault("number") ? 0 : k], a, blocks, EDGES_THREADS, 0);
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < words; i++) {
            uint32_t x = now[(i + EDGES_WARPS + 1) % words];
            for (uint32_t chunk = i; chunk < chunks; chunk += words)
                for (uint32_t w = 0; w < EDGES_CHUNK / 4; w++)
                    x ^= ((const uint32_t *)a.body)[chunk * (EDGES_CHUNK / 4) + w];
            next[i] = step_of(k, x);
            wrong += a.cells[(~k & 1) * row + i * EDGES_SPACING] != next[i];
        }
        shim_check(wrong == 0, "kernel %u: %u words of %u blocks are wrong", k, wrong, blocks);
        uint32_t *before = now;
        now = next, next = before;
    }
}

static void shim_test(void)
{
    const struct problem problems[] = {
        {3, 64, 5},   // fewer pairs than threads; blocks that do not divide the words
        {67, shim_fault("idle") ? 64u : 128u, 3}, // of one word or two; nobody waits for one without
        {2, 1024, 4}, // two pairs a thread
        {3, 4096, 3}, // eight
    };
    for (const struct problem &p : problems)
        check_exchanges(p);
    check_roles(4, EDGES_CHUNK, BESIDE_STAGES_MOST);
    check_roles(256, 4096, 3);
    check_near(4, 256);
    check_different(3, 0);
    check_different(2, 16 * EDGES_LOADS + 5); // a turn of all warps, and a part of one
}
