/* bandwidth: the memories of an SM, each by itself: registers, shared memory, L1. */
#include "probes/bandwidth/bandwidth.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"
#include "core/stat.h"

PROBE_IMAGE(bandwidth);

enum {
    LOCAL_CYCLES = 640000, /* roughly how long the passes over an SM's memory take */
    L1_BYTES = 16 * STREAM_LOADS * L1_THREADS,
    SHARED_BYTES = 16 * LOCAL_ELEMENTS,
    REGISTER_BYTES = 4 * REGISTER_THREADS * (REGISTER_SUMS + 2 * REGISTER_OPERANDS),
    REGISTER_READS = 12 * REGISTER_THREADS * REGISTER_SUMS * REGISTER_ROUNDS, /* bytes per pass */
};

struct local {
    const char *level;
    enum op op;
    const char *path, *kernel;
    unsigned threads;
    size_t shared, bytes; /* of the buffer */
    double moved, rate;   /* bytes per pass; expected bytes per cycle */
};

static const struct local locals[] = {
    {"register", READ, "ffma", "bandwidth_register_read", REGISTER_THREADS, 0, REGISTER_BYTES,
     REGISTER_READS, 1024},
    {"shared", READ, "ld", "bandwidth_shared_read", LOCAL_THREADS, SHARED_BYTES, SHARED_BYTES,
     SHARED_BYTES, 128},
    {"shared", WRITE, "ld", "bandwidth_shared_write", LOCAL_THREADS, SHARED_BYTES, SHARED_BYTES,
     SHARED_BYTES, 128},
    {"shared", COPY, "ld", "bandwidth_shared_copy", LOCAL_THREADS, 2 * SHARED_BYTES, SHARED_BYTES,
     2 * SHARED_BYTES, 128},
    {"l1", READ, "ld", "bandwidth_l1_read", L1_THREADS, 0, L1_BYTES, L1_BYTES, 128},
    {"l1", READ, "ld", "bandwidth_l1_read", L1_THREADS, 0, 2 * L1_BYTES, 2 * L1_BYTES, 128},
    {"l1", READ, "ld", "bandwidth_l1_read", L1_THREADS, 0, 3 * L1_BYTES, 3 * L1_BYTES, 128},
};

/* The sum of the words that one pass reads; for registers, the bits of all sums after it. */
static uint32_t sum_of_pass(struct probe_run *r, const struct mover *m, const struct local *l)
{
    float in[REGISTER_THREADS + 300], sum[REGISTER_SUMS];
    uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm, bits = 0, word;

    if (strcmp(l->level, "register"))
        return (uint32_t)bandwidth_sum_of(r, m, n_sm * l->bytes);
    gpu_to_host(r, in, m->in, sizeof in);
    for (int t = 0; t < REGISTER_THREADS; t++) {
        for (int i = 0; i < REGISTER_SUMS; i++)
            sum[i] = in[t + i];
        for (int i = 0; i < REGISTER_SUMS * REGISTER_ROUNDS; i++) {
            const float *operand = in + t + i % REGISTER_OPERANDS;
            sum[i % REGISTER_SUMS] =
                fmaf(sum[i % REGISTER_SUMS], fmaf(1e-3f, operand[100], 0.5f), operand[200]);
        }
        for (int i = 0; i < REGISTER_SUMS; i++) {
            memcpy(&word, &sum[i], sizeof word);
            bits += word;
        }
    }
    return n_sm * bits;
}

/* One launch. Every SM must have run one block, and every block's result must be right. */
static double local_ns(struct probe_run *r, struct mover *m, cudaKernel_t kernel,
                       const struct local *l, uint32_t passes)
{
    int n_sm = gpu_facts(r)->n_sm;
    struct gpu_shape shape = {
        .grid = {(unsigned)n_sm, 1, 1}, .block = l->threads, .shared = l->shared};
    struct bandwidth_local_args a = {.in = m->in,
                                     .sum = m->sum,
                                     .blocks = m->blocks,
                                     .elements = (uint32_t)(l->bytes / 16),
                                     .passes = passes,
                                     .salt = ++m->salt};
    double ns = gpu_launch_ns(r, kernel, &shape, &a);
    uint32_t wrong = 0, twice = 0;
    char seen[1024] = {0};

    for (int i = 0; i < n_sm; i++) {
        uint32_t sm = m->blocks[i].sm % PROBE_LENGTH(seen);
        twice += seen[sm]++ != 0;
        wrong += m->blocks[i].wrong;
    }
    if (wrong || twice)
        probe_require(r, false, "%u threads found wrong elements, %u SMs ran two blocks", wrong,
                      twice);
    return ns;
}

static double cycles_of(const struct mover *m, int n_sm)
{
    double cycles[1024];
    for (int i = 0; i < n_sm; i++)
        cycles[i] = (double)m->blocks[i].cycles;
    stat_sort(cycles, (size_t)n_sm);
    return stat_median(cycles, (size_t)n_sm);
}

static void measure_local(struct probe_run *r, struct mover *m, const struct local *l)
{
    int n_sm = gpu_facts(r)->n_sm;
    bool reads = l->op == READ, floats = !strcmp(l->level, "register");
    unsigned flags = !strcmp(l->level, "l1") && l->bytes > L1_BYTES ? PROBE_DEEP : 0;
    uint32_t passes = probe_is_check_run(r) ? 2 : (uint32_t)(LOCAL_CYCLES * l->rate / l->moved);
    if (!probe_begin_case(r, flags, "level=%s,op=%s,path=%s,bytes=%zu", l->level,
                          bandwidth_op_names[l->op], l->path, l->bytes))
        return;

    cudaKernel_t kernel =
        gpu_kernel(r, &image_bandwidth, l->kernel, sizeof(struct bandwidth_local_args));
    gpu_kernel_shared(kernel, l->shared, l->shared ? 100 : 0);
    uint32_t of_pass = reads ? sum_of_pass(r, m, l) : 0, must = of_pass;
    bandwidth_clear_sums(r, m);
    local_ns(r, m, kernel, l, 1);
    if (reads)
        bandwidth_check_sum(r, m->sum, of_pass, "the words of one pass");
    for (uint32_t pass = 0; probe_more(r); pass++)
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t n = (i + pass) % 2 ? 2 * passes : passes;
            double ns = local_ns(r, m, kernel, l, n);
            probe_sample(r, RATE, n * l->moved * n_sm, ns);
            if (n > passes)
                probe_sample(r, SM_RATE, 1, n * l->moved / cycles_of(m, n_sm));
            must += n * of_pass;
        }
    if (reads && !floats)
        bandwidth_check_sum(r, m->sum, must, "the words of all timed launches");
    gpu_kernel_facts(r, kernel, (int)l->threads, l->shared);
}

void bandwidth_measure_locals(struct probe_run *r, struct mover *m)
{
    for (size_t i = 0; i < PROBE_LENGTH(locals); i++)
        measure_local(r, m, &locals[i]);
}
