/* edges: does a step cost more where each kernel's code is another one's?
 *
 * Every other chain repeats one kernel, whose code is in the instruction caches when it begins. A
 * layer of a decoder has six kernels, or fourteen, of 1 to 28 KB, and reads its weights between one
 * time that a kernel runs and the next. Here K kernels take turns (kernels=1 or 14): each takes the
 * step of edges, runs once through 12 KiB of code of its own, and is the same otherwise. All steps
 * do the same work; only which code they do it by is another. With reads, each step reads so many
 * bytes of the memory before that, other ones each time, until all of 1 GiB has been read: neither
 * they nor code stay in the L2.
 *
 * Inside the timed region: one replay of a graph, between two events; slope over two lengths.
 * Expected on an H200: 1.95 us for one kernel by graph (an edge of 1.17, and 768 instructions of
 * each of 8 warps), and 0.35 more for 14, whose code comes from the L2. With 16 MiB 6.5 and 0.7
 * more: it comes from the memory, where lines of code are asked for one after another. With
 * programmatic launch 0.3 less, and the difference 0.2 and 0.5, since a kernel's first lines come
 * while it waits. Found: 1.9 and 0.2 more; 6.6 and nothing more. With programmatic launch 1.5 and
 * 1.6 more, 6.1 and 4.3 more: why is open.
 *
 * Traps. The kernels are launched in the same order, and the code of 14 is 213 KB in all: what
 * would fit the caches shows no difference. Each number in a kernel's code stands in no other's,
 * and goes into the word that the step leaves: a kernel that ran another's code makes the end of
 * the chain wrong, and the host makes sure that one kernel in place of all would. A word of the
 * chain depends on one word of the step before, so the host computes those that it compares, which
 * are not all. */
#include <stdio.h>
#include <string.h>

#include "probes/edges/edges.h"

PROBE_IMAGE(edges_different);

enum {
    NUMBERS = DIFFERENT_PARTS * DIFFERENT_TURNS,
    BODY_PARTS = 2, /* a step reads one of so many parts of a body */
    PIECES = MEMORY_BODIES * BODY_PARTS,
    FEW = 4 * DIFFERENT_KERNELS, /* steps */
    MANY = 20 * DIFFERENT_KERNELS,
    CHECKED = 1 << 15, /* steps of words that the host computes: words x steps; later fewer */
    CHECKED_LATER = 1 << 13,
};

struct numbers {
    uint32_t mask[NUMBERS], factor[NUMBERS];
};

struct site {
    cudaKernel_t kernel[DIFFERENT_KERNELS];
    struct numbers *numbers;     /* of each kernel */
    uint32_t *piece_sum[PIECES]; /* of each warp's share of a piece; NULL until one is read */
    uint32_t words, piece_bytes;
};

struct chain {
    const char *mode;
    bool dependent;
    int kernels;
    uint32_t reads; /* bytes */
};

/* --- what a chain must come to ---------------------------------------------------------------- */

static uint32_t through(const struct numbers *n, uint32_t x)
{
    uint32_t part[DIFFERENT_PARTS], all = 0;

    for (uint32_t j = 0; j < DIFFERENT_PARTS; j++)
        part[j] = x + j;
    for (uint32_t i = 0; i < NUMBERS; i += DIFFERENT_PARTS)
        for (uint32_t j = 0; j < DIFFERENT_PARTS; j++)
            part[j] = (part[j] ^ n->mask[i + j]) * n->factor[i + j];
    for (uint32_t j = 0; j < DIFFERENT_PARTS; j++)
        all ^= part[j];
    return all;
}

/* The word of warp i after a chain: step k makes it of the word that warp `other` had before. */
static uint32_t word_after(const struct ladder *l, const struct site *s, const struct chain *c,
                           uint32_t i, int steps)
{
    const uint32_t ahead = EDGES_WARPS + 1;
    uint32_t at = (uint32_t)(((uint64_t)i + (uint64_t)steps * ahead) % s->words);
    uint32_t x = l->first[at * EDGES_SPACING];

    for (int k = 0; k < steps; k++) {
        at = (at + s->words - ahead % s->words) % s->words;
        if (c->reads)
            x ^= s->piece_sum[k % PIECES][at];
        x = through(&s->numbers[k % c->kernels], x);
    }
    return x;
}

/* How many of the words that are compared differ after a chain that has just run. */
static uint32_t differing(struct probe_run *r, const struct ladder *l, const struct site *s,
                          const struct chain *c, int steps)
{
    const uint32_t most = (probe_in_full(r) ? CHECKED : CHECKED_LATER) / (uint32_t)steps;
    const uint32_t checked = most < s->words ? most : s->words;
    const uint32_t from = (uint32_t)(probe_seed(r) % s->words);
    uint32_t *found = l->room, wrong = 0;

    gpu_to_host(r, found, l->a.cells + (steps & 1) * s->words * EDGES_SPACING,
                s->words * EDGES_SPACING * sizeof *found);
    for (uint32_t k = 0; k < checked; k++) {
        const uint32_t i = (from + k * (s->words / checked)) % s->words;
        wrong += found[i * EDGES_SPACING] != word_after(l, s, c, i, steps);
    }
    return wrong;
}

/* --- chains ----------------------------------------------------------------------------------- */

static struct gpu_graph capture(struct probe_run *r, const struct ladder *l, const struct site *s,
                                const struct chain *c, int steps)
{
    const struct gpu_shape shape = {
        .grid = {s->words / EDGES_WARPS, 1, 1}, .block = EDGES_THREADS, .dependent = c->dependent};
    struct edges_args a = l->a;

    a.chunks = c->reads / EDGES_CHUNK;
    gpu_graph_begin(r);
    for (a.first = 0; a.first < (uint32_t)steps; a.first++) {
        if (c->reads)
            a.body = (const char *)l->memory + (size_t)(a.first % PIECES) * s->piece_bytes;
        gpu_launch_shape(r, s->kernel[a.first % (uint32_t)c->kernels], &shape, &a);
    }
    return gpu_graph_end(r);
}

/* Runs the chain once from the known start. Where several kernels take turns, the end must not be
 * that of one. */
static bool check(struct probe_run *r, const struct ladder *l, const struct site *s,
                  const struct chain *c, const struct gpu_graph *graph, int steps)
{
    const size_t row_bytes = (size_t)s->words * EDGES_SPACING * sizeof *l->first;
    struct chain same = *c;

    gpu_poison(r, l->a.cells, 2 * row_bytes);
    gpu_to_device(r, l->a.cells, l->first, row_bytes);
    CUDA(cudaGraphLaunch(graph->exec, gpu_stream(r)));
    const bool right = probe_require(
        r, differing(r, l, s, c, steps) == 0,
        "%d steps of %d kernels end in the words that the host computes", steps, c->kernels);
    same.kernels = 1;
    const uint32_t i = (uint32_t)(probe_seed(r) % s->words);
    return probe_require(r,
                         c->kernels == 1 || steps == 1 ||
                             word_after(l, s, c, i, steps) != word_after(l, s, &same, i, steps),
                         "%d kernels do not end where one in place of all does", c->kernels) &&
           right;
}

/* Each warp's share of each piece, xored. */
static void prepare_pieces(struct probe_run *r, struct ladder *l, struct site *s)
{
    const uint32_t chunks = s->piece_bytes / EDGES_CHUNK;

    edges_memory(r, l);
    if (s->piece_sum[0])
        return;
    for (uint32_t p = 0; p < PIECES; p++) {
        s->piece_sum[p] = probe_host_alloc(r, s->words * sizeof *s->piece_sum[p]);
        memset(s->piece_sum[p], 0, s->words * sizeof *s->piece_sum[p]);
        for (uint32_t chunk = 0; chunk < chunks; chunk++)
            s->piece_sum[p][chunk % s->words] ^= edges_chunk_sum(l, p * chunks + chunk);
    }
}

static void measure_chain(struct probe_run *r, struct ladder *l, struct site *s,
                          const struct chain *c)
{
    const int n[2] = {probe_is_check_run(r) ? 1 : FEW, probe_is_check_run(r) ? FEW : MANY};
    struct gpu_graph graph[2];

    if (!probe_begin_case(r, PROBE_THRICE | (c->reads ? PROBE_POWER_BOUND : 0),
                          "mode=%s,kernels=%d,reads=%u,span=%d-%d", c->mode, c->kernels, c->reads,
                          n[0], n[1]))
        return;
    if (c->reads)
        prepare_pieces(r, l, s);
    probe_fact(r, "code_bytes", "%d", DIFFERENT_BYTES);
    for (int i = 0; i < 2; i++)
        graph[i] = capture(r, l, s, c, n[i]);

    bool right = check(r, l, s, c, &graph[0], n[0]) && check(r, l, s, c, &graph[1], n[1]);
    while (right && probe_more(r))
        for (int i = 0; i < 2; i++)
            probe_sample(r, DIFFERENT, n[i], gpu_replay_ns(r, &graph[i]));

    if (right)
        check(r, l, s, c, &graph[1], n[1]);
    for (int i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

void edges_measure_different(struct probe_run *r, struct ladder *l)
{
    static const int kernels[] = {1, DIFFERENT_KERNELS};
    struct site s = {.words = (uint32_t)gpu_facts(r)->n_sm * EDGES_WARPS,
                     .piece_bytes = l->body_chunks * EDGES_CHUNK / BODY_PARTS};

    s.numbers = probe_host_alloc(r, DIFFERENT_KERNELS * sizeof *s.numbers);
    for (uint32_t which = 0; which < DIFFERENT_KERNELS; which++) {
        char name[32];
        snprintf(name, sizeof name, "edges_different_%u", which);
        s.kernel[which] = gpu_kernel(r, &image_edges_different, name, sizeof l->a);
        for (uint32_t i = 0; i < NUMBERS; i++) {
            s.numbers[which].mask[i] = different_number(which, i);
            s.numbers[which].factor[i] = different_factor(which, i);
        }
    }
    for (int dependent = 0; dependent <= (gpu_facts(r)->cc >= 90); dependent++)
        for (size_t i = 0; i < PROBE_LENGTH(kernels); i++)
            for (uint32_t reads = 0; reads <= s.piece_bytes; reads += s.piece_bytes) {
                const struct chain c = {dependent ? "graph_pdl_early" : "graph", dependent,
                                        kernels[i], reads};
                measure_chain(r, l, &s, &c);
            }
}
