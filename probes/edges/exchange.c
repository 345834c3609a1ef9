/* edges: what does one more exchange cost, in which all SMs hand words over to all SMs, and what
 * while the memory streams?
 *
 * A chain of exchanges, with one block of 256 threads on every SM. In each, the blocks share the
 * words out among them: a block puts its share, and then every block takes all words to its shared
 * memory. Each word is made of one that another block put in the exchange before. The words go over
 * as in a decoder's layer (fused/common/decoder/edge.cuh):
 *     values    a word lies beside the number of its exchange, in one store of 8 bytes. All blocks
 *               poll all words, 16 bytes at a time
 *     counter   plain words; then the barrier of core/device/grid_barrier.cuh; then all blocks load
 *               them
 * With stream=hbm a ninth warp of each block keeps four bulk copies of 16 KiB from the memory on
 * their way to shared memory, from before the first exchange until after the last. Nobody uses what
 * they bring: the words have the memory's queues beside them, and the SM nothing else to do.
 *
 * Inside the timed region: one launch, between two events; slope over two lengths. So it is the
 * time from one exchange's last put to the next one's: until the last block has all words, with a
 * read of shared memory, a multiplication and two barriers of the block at most.
 * Expected on an H200: by values 0.75, 0.9, 1.2 and 1.9 us for 1024, 2048, 4096 and 8192 words, of
 * which a flag from SM to SM takes 0.34, and the words' way from the L2 to all SMs, more than once,
 * the rest; by counter 1.5 and 1.9 us for 2048 and 8192, of which the barrier takes 1.0. Beside the
 * stream, which reads 4.4 TB/s: 1.1, 1.3, 1.8 and 2.8 us by values, 3.0 and 3.6 by counter. Found:
 * 0.93, 0.96, 1.05 and 1.6; 1.2 and 1.7; but 5.8, 5.7, 5.9 and 8.1 beside the stream, which reads
 * 3.2 TB/s, and 12.5 and 14.8 by counter (docs/FINDINGS.md). beside.c asks why.
 *
 * Traps. A number of an exchange must not come again, in no launch: words that an earlier launch
 * left would be taken for its own. Every thread therefore makes a digest of all words that it took,
 * in all exchanges; the host computes it, and without a wait it must be wrong (taken_wrong). That
 * the stream was there is a row of its own (streamed), and the host compares the last tiles of
 * every block. Its rate has the launch and the start of the stream in it, 1 to 2 %; the copies may
 * find in the L2 what was read last of the memory, of 1 GiB in all: some per cent. */
#include <string.h>

#include "probes/edges/edges.h"

PROBE_IMAGE(edges_exchange);

enum {
    CONTROL_WORDS = 2048,
    FEW = 32, /* exchanges */
    MANY = 256,
};

static const struct way {
    const char *name, *kernel;
    unsigned flags[4]; /* of the cases of so many words */
} ways[] = {
    {"values", "edges_exchange_values", {PROBE_THRICE, 0, PROBE_THRICE, PROBE_THRICE}},
    {"counter", "edges_exchange_counter", {PROBE_DEEP, PROBE_THRICE, PROBE_DEEP, PROBE_THRICE}},
};
static const struct way control = {"unwaited", "edges_exchange_unwaited", {PROBE_THRICE}};
static const uint32_t sizes[] = {1024, 2048, 4096, EXCHANGE_WORDS_MOST};

struct chain {
    const struct way *way;
    cudaKernel_t kernel;
    struct gpu_shape shape;
    bool streams;
};

/* --- what a thread must have taken ------------------------------------------------------------ */

void exchange_digests(const struct exchange_site *s, uint32_t words, uint32_t exchanges)
{
    memset(s->expected, 0, EXCHANGE_THREADS * sizeof *s->expected);
    memcpy(s->row[0], s->first, words * sizeof *s->first);
    for (uint32_t k = 0; k < exchanges; k++) {
        const uint32_t *before = s->row[k & 1];
        uint32_t *after = s->row[~k & 1];
        for (uint32_t i = 0; i < words; i++) {
            after[i] = exchange_mix(before[exchange_other(i, words)]);
            s->expected[i / 2 % EXCHANGE_THREADS] ^= after[i];
        }
        for (uint32_t t = 0; t < EXCHANGE_THREADS; t++)
            s->expected[t] = exchange_mix(s->expected[t]);
    }
}

/* The share of threads that took something else. */
static double share_wrong(struct probe_run *r, const struct exchange_site *s, const struct chain *c,
                          uint32_t exchanges)
{
    const uint32_t threads = c->shape.grid.x * EXCHANGE_THREADS;
    uint32_t wrong = 0;

    exchange_digests(s, s->a.words, exchanges);
    gpu_to_host(r, s->digests, s->a.digests, threads * sizeof *s->digests);
    for (uint32_t i = 0; i < threads; i++)
        wrong += s->digests[i] != s->expected[i % EXCHANGE_THREADS];
    return (double)wrong / threads;
}

/* The last tiles that a block had, xored. */
static uint32_t tiles_sum(const struct ladder *l, const struct exchange_site *s, uint32_t blocks,
                          uint32_t block, uint32_t tiles)
{
    enum { CHUNKS = EXCHANGE_TILE_BYTES / EDGES_CHUNK };
    uint32_t sum = 0;

    for (uint32_t i = tiles < EXCHANGE_TILES ? 0 : tiles - EXCHANGE_TILES; i < tiles; i++) {
        const uint32_t tile = (i * blocks + block) % s->a.body_tiles;
        for (uint32_t chunk = tile * CHUNKS; chunk < (tile + 1) * CHUNKS; chunk++)
            sum ^= edges_chunk_sum(l, chunk);
    }
    return sum;
}

/* --- chains ----------------------------------------------------------------------------------- */

static struct exchange_args args_of(struct exchange_site *s, uint32_t exchanges)
{
    struct exchange_args a = s->a;
    a.exchanges = exchanges;
    s->a.epoch += exchanges;
    return a;
}

/* How many bytes the last launch streamed. */
static double streamed_bytes(struct probe_run *r, const struct exchange_site *s,
                             const struct chain *c)
{
    double tiles = 0;
    gpu_to_host(r, s->found, s->tiles, c->shape.grid.x * sizeof *s->found);
    for (uint32_t b = 0; b < c->shape.grid.x; b++)
        tiles += s->found[b];
    return tiles * EXCHANGE_TILE_BYTES;
}

static bool check_stream(struct probe_run *r, const struct ladder *l, const struct exchange_site *s,
                         const struct chain *c)
{
    const uint32_t blocks = c->shape.grid.x;
    uint32_t *sums = s->found + blocks, wrong = 0;

    gpu_to_host(r, s->found, s->tiles, blocks * sizeof *s->found);
    gpu_to_host(r, sums, s->sums, blocks * sizeof *sums);
    for (uint32_t b = 0; b < blocks; b++)
        wrong += s->found[b] == 0 || s->found[b] == EXCHANGE_TILES_MOST ||
                 sums[b] != tiles_sum(l, s, blocks, b, s->found[b]);
    return probe_require(r, wrong == 0, "the last tiles of all %u blocks are the memory's", blocks);
}

/* Runs the chain once with everything poisoned; returns the share of threads that took wrong words.
 * */
static double run_once(struct probe_run *r, const struct ladder *l, struct exchange_site *s,
                       const struct chain *c, uint32_t exchanges)
{
    struct exchange_args a = args_of(s, exchanges);

    gpu_poison(r, a.mail, 2 * sizeof(uint64_t) * EXCHANGE_WORDS_MOST);
    gpu_poison(r, a.digests, c->shape.grid.x * EXCHANGE_THREADS * sizeof *a.digests);
    gpu_poison(r, s->tiles, c->shape.grid.x * sizeof *s->tiles);
    gpu_poison(r, s->sums, c->shape.grid.x * sizeof *s->sums);
    a.census = l->census;
    a.tile_sums = s->sums;
    gpu_launch_shape(r, c->kernel, &c->shape, &a);
    return share_wrong(r, s, c, exchanges);
}

static bool check(struct probe_run *r, const struct ladder *l, struct exchange_site *s,
                  const struct chain *c, uint32_t exchanges)
{
    const double wrong = run_once(r, l, s, c, exchanges);
    bool right = edges_check_waits(r, l);
    right = probe_require(r, !(wrong > 0),
                          "all threads of all blocks take all words of %u exchanges", exchanges) &&
            right;
    return right && (!c->streams || check_stream(r, l, s, c));
}

/* --- cases ------------------------------------------------------------------------------------ */

static void set_stream(struct probe_run *r, struct ladder *l, struct exchange_site *s, bool streams)
{
    const uint64_t bytes = (uint64_t)l->body_chunks * EDGES_CHUNK * MEMORY_BODIES;
    s->a.body = streams ? edges_memory(r, l) : NULL;
    s->a.body_tiles = streams ? (uint32_t)(bytes / EXCHANGE_TILE_BYTES) : 0;
}

static void measure_exchanges(struct probe_run *r, struct ladder *l, struct exchange_site *s,
                              const struct chain *c, uint32_t words, unsigned flags)
{
    const uint32_t n[2] = {probe_is_check_run(r) ? 1 : FEW, probe_is_check_run(r) ? FEW : MANY};

    if (!probe_begin_case(r, flags | (c->streams ? PROBE_POWER_BOUND : 0),
                          "mode=%s,words=%u,stream=%s,span=%u-%u", c->way->name, words,
                          c->streams ? "hbm" : "none", n[0], n[1]))
        return;
    s->a.words = words;
    set_stream(r, l, s, c->streams);
    bool right = check(r, l, s, c, n[0]) && check(r, l, s, c, n[1]);
    edges_note_sms(r, l, c->shape.grid.x);
    while (right && probe_more(r))
        for (int i = 0; i < 2; i++) {
            const struct exchange_args a = args_of(s, n[i]);
            const double ns = gpu_launch_ns(r, c->kernel, &c->shape, &a);
            probe_sample(r, EXCHANGE, n[i], ns);
            if (c->streams && i == 1)
                probe_sample(r, STREAMED, streamed_bytes(r, s, c), ns);
        }
    if (right)
        check(r, l, s, c, n[1]);
}

static void measure_control(struct probe_run *r, struct ladder *l, struct exchange_site *s,
                            const struct chain *c)
{
    if (!probe_begin_case(r, PROBE_THRICE, "mode=%s,words=%d,stream=none,exchanges=%d",
                          c->way->name, CONTROL_WORDS, FEW))
        return;
    s->a.words = CONTROL_WORDS;
    set_stream(r, l, s, false);
    probe_value(r, TAKEN_WRONG, run_once(r, l, s, c, FEW));
}

/* --- preparation ------------------------------------------------------------------------------ */

struct exchange_site exchange_prepare(struct probe_run *r, const struct ladder *l)
{
    const uint32_t blocks = (uint32_t)gpu_facts(r)->n_sm;
    const size_t threads = (size_t)blocks * EXCHANGE_THREADS, word = sizeof(uint32_t);
    struct exchange_site s = {.a = {.barrier = l->a.barrier,
                                    .epoch = 1,
                                    .tiles_most = EXCHANGE_TILES_MOST,
                                    .budget_ns = WAIT_BUDGET_NS}};
    const uint64_t seed = probe_seed(r);
    uint32_t *first =
        gpu_alloc(r, EXCHANGE_WORDS_MOST * word, "the words before the first exchange");

    s.a.mail =
        gpu_alloc(r, 2 * sizeof(uint64_t) * EXCHANGE_WORDS_MOST, "the words that are exchanged");
    s.a.digests = gpu_alloc(r, threads * word, "digests");
    s.a.tiles = s.tiles = gpu_alloc(r, blocks * word, "counts of tiles");
    s.sums = gpu_alloc(r, blocks * word, "sums of tiles");
    s.first = probe_host_alloc(r, EXCHANGE_WORDS_MOST * word);
    for (int i = 0; i < 2; i++)
        s.row[i] = probe_host_alloc(r, EXCHANGE_WORDS_MOST * word);
    s.expected = probe_host_alloc(r, EXCHANGE_THREADS * word);
    s.digests = probe_host_alloc(r, threads * word);
    s.found = probe_host_alloc(r, 2 * blocks * word);
    for (uint32_t i = 0; i < EXCHANGE_WORDS_MOST; i++)
        s.first[i] = (uint32_t)(seed * 6364136223846793005u + i * 2654435761u);
    gpu_to_device(r, first, s.first, EXCHANGE_WORDS_MOST * word);
    s.a.first = first;
    return s;
}

/* False if this GPU or this build cannot do it. */
static bool prepare_chain(struct probe_run *r, struct chain *c, const struct way *way,
                          uint32_t words)
{
    const size_t shared = EXCHANGE_SHARED + 2 * sizeof(uint32_t) * words;

    *c = (struct chain){.way = way};
    c->kernel =
        gpu_kernel_if_any(r, &image_edges_exchange, way->kernel, sizeof(struct exchange_args));
    c->shape = (struct gpu_shape){.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1},
                                  .block = EXCHANGE_THREADS + 32,
                                  .shared = shared,
                                  .cooperative = true};
    if (!c->kernel || gpu_facts(r)->cc < 90 || words < c->shape.grid.x ||
        shared + EXCHANGE_STATIC > gpu_facts(r)->shared_per_block)
        return false;
    gpu_kernel_shared(c->kernel, shared, 100);
    return true;
}

void edges_measure_exchanges(struct probe_run *r, struct ladder *l)
{
    struct exchange_site s = exchange_prepare(r, l);
    struct chain c;

    for (size_t w = 0; w < PROBE_LENGTH(ways); w++)
        for (size_t i = 0; i < PROBE_LENGTH(sizes); i++) {
            const uint32_t words = probe_is_check_run(r) ? sizes[i] / 4 : sizes[i];
            if (!prepare_chain(r, &c, &ways[w], words))
                continue;
            measure_exchanges(r, l, &s, &c, words, ways[w].flags[i]);
            c.streams = true;
            measure_exchanges(r, l, &s, &c, words, ways[w].flags[i]);
        }
    if (prepare_chain(r, &c, &control, CONTROL_WORDS))
        measure_control(r, l, &s, &c);
}
