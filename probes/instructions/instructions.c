/* instructions: what is the latency of one instruction, and how many can an SM finish per cycle?
 *
 * Method. Latency: one warp (for wgmma four) runs a chain in which each instruction needs the
 * result of the one before. The cycle counter of the SM is read three times, around two stretches
 * of the chain; the slope over the two removes the cost of the clock reads and of the loop.
 * Throughput: on every SM one block with 32 warps, each with four independent chains (tensor cores:
 * 16 warps with eight, or two warpgroups), between two barriers. The slope over N and 2N turns is
 * the reciprocal throughput: cycles from one warp instruction to the next. The throughput is the
 * results of one warp instruction divided by that: results per cycle (for products: multiply-adds).
 * Neither depends on the clock. The tensor peak is the throughput loop for 0.1 to 0.5 ms, timed by
 * events, at the clock that the power limit leaves.
 *
 *     latency              chains of 128 and 256; mma 32 and 64; wgmma 4 and 8 (n < 256: 12 and 24)
 *     op=wgmma             back-to-back products without a wait; op=wgmma_waited: fence, product,
 *                          commit and wait for each, which is the cost of getting its result
 *     op=ballot,cos,redux  with an instruction that the compiler adds: the comparison that makes
 *                          the predicate, the product with 1/2pi, the move from the uniform
 *                          register
 *     op=cvt               two fp32 to a pair of fp16
 *     a=                   where wgmma reads A: shared, registers. B is always in shared memory
 *
 * Inside the timed region: the instructions, counted in the cubin by tests/kernels, and two others.
 * Checked: the end of every chain against the CPU, bit by bit unless the hardware approximates. The
 * cycles of the launch per instruction: they must equal the slope plus the cost of the loop. A
 * dependent FFMA: it must take 4 to 5 cycles, and an SM must finish as many per cycle as it has
 * lanes. The SMs' cycle counters: they must agree with events and clock.
 *
 * Expected on 9.0: 4 cycles for instructions of the FMA and integer pipes. Per cycle 128 fma (64 in
 * fp64, 256 in fp16x2), 64 integer, 16 special functions, 32 shuffles. wgmma: 2048 fp16
 * multiply-adds per cycle, since the data sheet's 989.4 TFLOP/s dense = 2 x 2048 x 132 SMs x 1830
 * MHz: one m64n256k16 in 128 cycles. mma.sync: two thirds of that.
 *
 * Traps. The compiler simplifies what it understands: rcp(rcp(x)) becomes x. An fp8 product that
 * the hardware lacks becomes fp16 products, of which only the first is kept. fp16x2 alternates
 * between two pipes on 8.x and 9.0: its latency is the mean of both. FMAs that read three registers
 * anew, with none from the reuse cache, reach 84 a cycle and not 128. Operands are N(0,1): with
 * zeros the chip stays cooler and the tensor peak is too high. Products are added to a sum and
 * subtracted from it in turn, or fp16 would saturate. */
#include "probes/instructions/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "core/stat.h"
#include "probes/instructions/products.h"

PROBE_IMAGE(instructions);

enum { LATENCY, THROUGHPUT, RECIPROCAL, PEAK, INTEGER_PEAK };
#define KEYS "op,shape,type,acc,a"
static const struct probe_metric metrics[] = {
    [LATENCY] = {"latency", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = KEYS,
        .what = "from one instruction to the next, which needs its result"},
    [THROUGHPUT] = {"throughput", "ops/cycle", PROBE_HIGHER, .keys = KEYS,
        .what = "results an SM finishes in a cycle; of products, multiply-adds"},
    [RECIPROCAL] = {"reciprocal_throughput", "cycles", PROBE_LOWER, .form = PROBE_SLOPE,
        .keys = KEYS, .what = "from one warp's instruction to the next one's, on a full SM"},
    [PEAK] = {"tensor_peak", "flop/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = KEYS,
        .what = "products and nothing else, on every SM, at the clock that the power limit leaves"},
    [INTEGER_PEAK] = {"integer_peak", "ops/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = KEYS,
        .what = "the same of integers"},
};

/* --- what is measured ------------------------------------------------------------------------ */

static const struct scalar {
    const char *op, *type;
    instruction_model *model;
    enum operands operands;
    int results, unroll; /* results of a warp instruction; instructions per warp and turn */
    double tolerance;    /* relative; 0: bit for bit */
    int from_cc;
} scalars[] = {
    {"fma", "fp32", model_fma_fp32, REAL, 32, FULL_RATE_UNROLL, 0, 75},
    {"add", "fp32", model_add_fp32, REAL_SUM, 32, FULL_RATE_UNROLL, 0, 75},
    {"fma", "fp16x2", model_fma_fp16x2, REAL_PAIR, 64, FULL_RATE_UNROLL, 0, 75},
    {"fma", "fp64", model_fma_fp64, REAL_DOUBLE, 32, SCALAR_UNROLL, 0, 75},
    {"imad", "int32", model_imad, ODD, 32, SCALAR_UNROLL, 0, 75},
    {"iadd3", "int32", model_iadd3, BITS, 32, FULL_RATE_UNROLL, 0, 75},
    {"lop3", "b32", model_lop3, OPPOSITE, 32, FULL_RATE_UNROLL, 0, 75},
    {"shf", "b32", model_shf, AMOUNT, 32, FULL_RATE_UNROLL, 0, 75},
    {"popc", "b32", model_popc, BITS, 32, SCALAR_UNROLL, 0, 75},
    {"ex2", "fp32", model_ex2, REAL, 32, SCALAR_UNROLL, 1e-5, 75},
    {"rsqrt", "fp32", model_rsqrt, REAL, 32, SCALAR_UNROLL, 1e-5, 75},
    {"cos", "fp32", model_cos, REAL, 32, SCALAR_UNROLL, 1e-5, 75},
    {"cvt", "fp32_fp16x2", model_cvt, REAL, 64, FULL_RATE_UNROLL, 0, 80},
    {"shfl", "b32", model_shfl, LANE, 32, SCALAR_UNROLL, 0, 75},
    {"ballot", "b32", model_ballot, BITS, 32, SCALAR_UNROLL, 0, 75},
    {"redux", "int32", model_redux, BITS, 32, SCALAR_UNROLL, 0, 80},
};

/* PEAK_TOO: the tensor peak is measured by default; without it, only with --deep. */
enum { PEAK_TOO = 1, NO_THROUGHPUT = 2 };
static const struct tensor {
    const char *op;
    int m, n, k;
    enum number type, acc;
    const char *a;
    unsigned flags;
} tensors[] = {
    {"mma", 16, 8, 8, FP16, FP32, NULL, 0},
    {"mma", 16, 8, 16, FP16, FP32, NULL, PEAK_TOO},
    {"mma", 16, 8, 16, FP16, FP16, NULL, 0},
    {"mma", 16, 8, 16, BF16, FP32, NULL, 0},
    {"mma", 16, 8, 8, TF32, FP32, NULL, 0},
    {"mma", 16, 8, 32, E4M3, FP32, NULL, 0},
    {"mma", 16, 8, 32, INT8, INT32, NULL, 0},
    {"mma", 8, 8, 4, FP64, FP64, NULL, 0},
    {"mma", 16, 8, 16, FP64, FP64, NULL, 0},
    {"wgmma", 64, 8, 16, FP16, FP32, "shared", 0},
    {"wgmma", 64, 64, 16, FP16, FP32, "shared", 0},
    {"wgmma", 64, 256, 16, FP16, FP32, "shared", PEAK_TOO},
    {"wgmma", 64, 256, 16, FP16, FP16, "shared", 0},
    {"wgmma", 64, 256, 16, BF16, FP32, "shared", PEAK_TOO},
    {"wgmma", 64, 256, 8, TF32, FP32, "shared", 0},
    {"wgmma", 64, 256, 32, E4M3, FP32, "shared", PEAK_TOO},
    {"wgmma", 64, 256, 32, INT8, INT32, "shared", 0},
    {"wgmma", 64, 64, 16, FP16, FP32, "registers", 0},
    {"wgmma", 64, 256, 16, FP16, FP32, "registers", 0},
    {"wgmma", 64, 256, 32, E4M3, FP32, "registers", 0},
    {"wgmma_waited", 64, 8, 16, FP16, FP32, "shared", NO_THROUGHPUT},
    {"wgmma_waited", 64, 64, 16, FP16, FP32, "shared", NO_THROUGHPUT},
    {"wgmma_waited", 64, 256, 16, FP16, FP32, "shared", NO_THROUGHPUT},
};

/* Turns that keep an SM busy for 5 to 50 us; longer by this factor for the peak. */
enum { TURNS = 16, FULL_RATE_TURNS = 4, PEAK_TIMES = 16 };
enum { IN_BYTES = 64 << 10, OUT_BYTES = 512 << 10 };

/* What all chains have in common. A step is one instruction; for wgmma it is four. */
struct loop {
    char keys[96];
    cudaKernel_t latency, throughput;
    unsigned alone, full;      /* threads per block: latency, throughput */
    int step;                  /* instructions of it */
    int lead, shorter, longer; /* steps per turn of the latency loop */
    int chains, turn_steps;    /* chains per warp; steps of each per turn of the throughput loop */
    double streams;            /* warps of a full SM; for wgmma warpgroups */
    double results;            /* of one instruction */
    uint32_t turns;
    /* Are the final values of all threads right, after the given number of steps of each chain? */
    void (*check)(struct probe_run *r, const struct loop *l, const uint32_t *out, int threads,
                  int chains, uint64_t steps);
    const void *what;
    const uint64_t *in; /* the start values for `check` */
};

struct bench {
    void *in;         /* device */
    uint32_t *out;    /* device */
    uint64_t *cycles; /* mapped */
    uint32_t *seen;   /* host copy of out */
};

/* A little more than half of the SM's shared memory: two blocks that ask for it do not fit one
 * SM. */
static size_t half_of_sm(const struct probe_run *r)
{
    return gpu_facts(r)->shared_per_sm / 2 + 1024;
}

static void find_kernels(struct probe_run *r, struct loop *l, const char *name, bool throughput)
{
    char kernel[128];
    snprintf(kernel, sizeof kernel, "instructions_latency_%s", name);
    l->latency = gpu_kernel(r, &image_instructions, kernel, sizeof(struct instructions_args));
    if (!throughput)
        return;
    snprintf(kernel, sizeof kernel, "instructions_throughput_%s", name);
    l->throughput = gpu_kernel(r, &image_instructions, kernel, sizeof(struct instructions_args));
    gpu_kernel_shared(l->throughput, half_of_sm(r), 100);
}

/* --- running it ------------------------------------------------------------------------------ */

static struct instructions_args arguments(const struct bench *b, uint32_t turns, uint32_t witness)
{
    return (struct instructions_args){
        .in = b->in, .out = b->out, .cycles = b->cycles, .turns = turns, .witness = witness};
}

static void check_end(struct probe_run *r, const struct bench *b, const struct loop *l,
                      unsigned threads, int chains, uint64_t steps)
{
    gpu_to_host(r, b->seen, b->out, OUT_BYTES);
    l->check(r, l, b->seen, (int)threads, chains, steps);
}

/* All cycles of a launch: those of the slope, plus the cost of the loop and of three stops. */
static void check_whole(struct probe_run *r, const struct bench *b, const struct loop *l,
                        double slope)
{
    int steps = l->lead + l->shorter + l->longer;
    double turn = (double)b->cycles[0] / LATENCY_TURNS, chain = slope * l->step * steps;
    if (isfinite(slope))
        probe_require(r, turn > 0.95 * chain && turn < 1.05 * chain + 500,
                      "a turn of %d takes %.0f cycles, by the slope %.0f and what its ends cost",
                      l->step * steps, turn, chain);
}

/* Products and one multiply-add are in the report; the other instructions are a table beside
 * them. */
static unsigned how_often(const char *keys)
{
    return strstr(keys, "mma") || !strcmp(keys, "op=fma,type=fp32") ? 0 : PROBE_THRICE;
}

/* Returns the latency; NaN if this run leaves the case out. */
static double measure_latency(struct probe_run *r, const struct bench *b, const struct loop *l)
{
    struct instructions_args a = arguments(b, LATENCY_TURNS, 0);
    uint64_t steps = LATENCY_TURNS * (uint64_t)(l->lead + l->shorter + l->longer) + 1;

    if (!probe_begin_case(r, how_often(l->keys), "%s", l->keys))
        return NAN;
    gpu_poison(r, b->out, OUT_BYTES);
    gpu_launch(r, l->latency, 1, l->alone, 0, &a);
    check_end(r, b, l, l->alone, 1, steps);
    while (probe_more(r)) {
        gpu_launch(r, l->latency, 1, l->alone, 0, &a);
        gpu_wait(r);
        for (int i = 0; i < LATENCY_TURNS; i++) {
            probe_sample(r, LATENCY, l->step * l->shorter, (double)b->cycles[1 + 2 * i]);
            probe_sample(r, LATENCY, l->step * l->longer, (double)b->cycles[2 + 2 * i]);
        }
    }
    check_end(r, b, l, l->alone, 1, steps);
    check_whole(r, b, l, probe_median(r, LATENCY));
    return probe_median(r, LATENCY);
}

/* One block per SM; the shared memory that it asks for keeps others out. */
static void launch_full(struct probe_run *r, const struct loop *l,
                        const struct instructions_args *a)
{
    gpu_launch(r, l->throughput, (unsigned)gpu_facts(r)->n_sm, l->full, half_of_sm(r), a);
}

static double median_cycles(struct probe_run *r, const struct bench *b)
{
    double cycles[1024];
    size_t n = (size_t)gpu_facts(r)->n_sm;
    for (size_t i = 0; i < n; i++)
        cycles[i] = (double)b->cycles[i];
    stat_sort(cycles, n);
    return stat_median(cycles, n);
}

static double measure_throughput(struct probe_run *r, const struct bench *b, const struct loop *l)
{
    double turn = l->streams * l->chains * l->turn_steps * l->step; /* instructions per SM */
    struct instructions_args a = arguments(b, l->turns, (uint32_t)gpu_facts(r)->n_sm - 1);

    if (!probe_begin_case(r, how_often(l->keys), "%s", l->keys))
        return NAN;
    gpu_poison(r, b->out, OUT_BYTES);
    launch_full(r, l, &a);
    check_end(r, b, l, l->full, l->chains, (uint64_t)l->turn_steps * a.turns + 1);
    while (probe_more(r))
        for (a.turns = l->turns; a.turns <= 2 * l->turns; a.turns += l->turns) {
            launch_full(r, l, &a);
            gpu_wait(r);
            probe_sample(r, RECIPROCAL, turn * a.turns, median_cycles(r, b));
        }
    check_end(r, b, l, l->full, l->chains, 2 * (uint64_t)l->turn_steps * l->turns + 1);
    double throughput = l->results / probe_median(r, RECIPROCAL);
    probe_value(r, THROUGHPUT, throughput);
    gpu_kernel_facts(r, l->throughput, (int)l->full, half_of_sm(r));
    return throughput;
}

/* Timed by events, at whatever clock the GPU has; `flops` per instruction. The SMs' cycle counters
 * are the second method: between the two launches of a pair they must count what time and clock
 * say, in the median of all pairs. They agree only as well as one clock value describes a launch
 * during which the power limit changes it. In one pair they may disagree by far: where no gate is
 * closed, a host that stalls between the event and the launch adds its stall to the time. */
static void measure_peak(struct probe_run *r, const struct bench *b, const struct loop *l,
                         int metric, unsigned flags, double flops)
{
    double turn = l->streams * l->chains * l->turn_steps * l->step * gpu_facts(r)->n_sm;
    uint32_t turns = l->turns * (probe_is_check_run(r) ? 1 : PEAK_TIMES);
    struct instructions_args a = arguments(b, turns, 0);
    struct stat_pairs pairs = {0};

    if (!probe_begin_case(r, PROBE_POWER_BOUND | flags, "%s", l->keys))
        return;
    while (probe_more(r)) {
        double timed = 0, counted = 0; /* cycles that the second launch takes longer */
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            gpu_time_start(r);
            launch_full(r, l, &a);
            const struct gpu_time t = gpu_time_stop(r);

            double sign = a.turns == turns ? -1 : 1;
            probe_sample(r, metric, flops * turn * a.turns, t.ns);
            counted += sign * median_cycles(r, b);
            timed += sign * t.ns * t.mhz / 1e3;
        }
        stat_pairs_add(&pairs, timed, counted);
    }
    double agreed = stat_pairs_median(&pairs);
    if (!probe_is_check_run(r))
        probe_require(r, fabs(agreed - 1) < 0.07,
                      "by events and clock %.3f of the cycles that the SMs count", agreed);
}

/* --- one value a lane ------------------------------------------------------------------------ */

static bool same(const struct scalar *s, uint64_t must, uint64_t is)
{
    if (s->tolerance > 0)
        return fabs(float_of(is) / (double)float_of(must) - 1) <= s->tolerance;
    return must == is;
}

static void check_scalar(struct probe_run *r, const struct loop *l, const uint32_t *out,
                         int threads, int chains, uint64_t steps)
{
    const struct scalar *s = l->what;
    bool wide = s->operands == REAL_DOUBLE;
    int wrong = 0;

    for (int c = 0; c < chains; c++, out += threads * (wide ? 2 : 1)) {
        uint64_t x[32];
        memcpy(x, l->in + (SCALAR_OPERANDS + c) * 32, sizeof x);
        for (uint64_t i = 0; i < steps; i++)
            s->model(x, l->in + i % 2 * 64, l->in + i % 2 * 64 + 32);
        for (int t = 0; t < threads; t++) {
            uint64_t is = out[t] | (wide ? (uint64_t)out[threads + t] << 32 : 0);
            wrong += !same(s, x[t % 32], is);
        }
    }
    probe_require(r, wrong == 0, "%d of %d values are not what %llu instructions give", wrong,
                  chains * threads, (unsigned long long)steps);
}

/* The lanes of an SM, known for the FMA: NVIDIA, CUDA C++ Programming Guide, "Arithmetic
 * Instructions". */
static void check_fma(struct probe_run *r, double latency, double throughput)
{
    int cc = gpu_facts(r)->cc, lanes = cc == 75 || cc == 80 ? 64 : 128;
    if (isfinite(latency))
        probe_require(r, latency > 3.9 && latency < 5, "a dependent FFMA takes %.2f cycles",
                      latency);
    if (isfinite(throughput))
        probe_require(r, throughput > 0.97 * lanes && throughput < 1.005 * lanes,
                      "%.1f FFMA a cycle, of %d lanes", throughput, lanes);
}

static void measure_scalar(struct probe_run *r, const struct bench *b, const struct scalar *s)
{
    uint64_t in[(SCALAR_OPERANDS + SCALAR_CHAINS) * 32], random = probe_seed(r);
    struct loop l = {.alone = 32, .full = 32 * SCALAR_WARPS, .step = 1, .lead = 2,
                     .shorter = CHAIN_SHORT, .longer = CHAIN_LONG, .chains = SCALAR_CHAINS,
                     .turn_steps = s->unroll / SCALAR_CHAINS, .streams = SCALAR_WARPS,
                     .results = s->results, .check = check_scalar, .what = s, .in = in,
                     .turns = s->unroll == FULL_RATE_UNROLL ? FULL_RATE_TURNS : TURNS};
    char name[64];

    snprintf(name, sizeof name, "%s_%s", s->op, s->type);
    snprintf(l.keys, sizeof l.keys, "op=%s,type=%s", s->op, s->type);
    find_kernels(r, &l, name, true);
    model_operands(in, s->operands, &random);
    gpu_to_device(r, b->in, in, sizeof in);
    double latency = measure_latency(r, b, &l), throughput = measure_throughput(r, b, &l);
    if (s->model == model_fma_fp32)
        check_fma(r, latency, throughput);
}

/* --- ldmatrix -------------------------------------------------------------------------------- */

static void check_ldmatrix(struct probe_run *r, const struct loop *l, const uint32_t *out,
                           int threads, int chains, uint64_t steps)
{
    int matrices = (int)(l->results / 32), wrong = 0;

    for (int c = 0; c < chains; c++) {
        uint32_t tile = (uint32_t)c, before = tile;
        for (uint64_t i = 0; i < steps; i++, tile = ring_next(tile))
            before = tile;
        for (int word = 0; word < matrices; word++, out += threads)
            for (int t = 0; t < threads; t++) {
                uint32_t lane = (uint32_t)t % 32, row = 8 * (uint32_t)word + lane / 4;
                wrong += out[t] != (word == 0 ? tile * TILE_BYTES + lane * 16
                                              : ring_word(before, row, lane % 4));
            }
    }
    probe_require(r, wrong == 0, "%d words are not those that %llu steps lead to", wrong,
                  (unsigned long long)steps);
}

static void measure_ldmatrix(struct probe_run *r, const struct bench *b, int matrices)
{
    struct loop l = {.alone = 32, .full = 32 * SCALAR_WARPS, .step = 1, .lead = 2,
                     .shorter = CHAIN_SHORT, .longer = CHAIN_LONG, .chains = SCALAR_CHAINS,
                     .turn_steps = SCALAR_UNROLL / SCALAR_CHAINS, .streams = SCALAR_WARPS,
                     .results = 32 * matrices, .check = check_ldmatrix, .turns = TURNS};
    char name[64];

    snprintf(name, sizeof name, "ldmatrix_x%d_b16", matrices);
    snprintf(l.keys, sizeof l.keys, "op=ldmatrix,shape=x%d,type=b16", matrices);
    find_kernels(r, &l, name, true);
    measure_latency(r, b, &l);
    measure_throughput(r, b, &l);
}

/* --- tensor cores ---------------------------------------------------------------------------- */

/* Operands and results of all chains of a warp. */
struct products {
    struct product of[MMA_CHAINS];
    const struct tensor *tensor;
};

/* Tensor cores truncate what they add, so that a chain's error grows with its length. Products of
 * fp8 are added with fewer bits than the sum has. */
static double worst_allowed(const struct tensor *t, uint64_t products)
{
    double unit = t->type == E4M3 ? 0x1p-13 : number_facts[t->acc].unit;
    return unit * (double)(16 + products);
}

static void check_products(struct probe_run *r, const struct loop *l, const uint32_t *out,
                           int threads, int chains, uint64_t steps)
{
    const struct products *p = l->what;
    const struct tensor *t = p->tensor;
    double times = t->type == INT8 && l->step > 1 ? (double)steps : 1, worst = 0;
    int words = t->m * t->n / (t->m == 64 ? 128 : 32);

    words = t->acc == FP16 ? words / 2 : t->acc == FP64 ? 2 * words : words;
    for (int c = 0; c < chains; c++, out += words * threads)
        worst = fmax(worst, product_error(&p->of[c], out, threads, times));
    probe_fact(r, "error", "%.2g", worst);
    steps *= (unsigned)l->step;
    probe_require(r, worst <= worst_allowed(t, steps),
                  "error %.2g after %llu products, at most %.2g", worst, (unsigned long long)steps,
                  worst_allowed(t, steps));
}

static void name_tensor(const struct tensor *t, char *name, size_t size, char *keys, size_t room)
{
    const char *type = number_facts[t->type].name, *acc = number_facts[t->acc].name;
    bool waited = t->flags & NO_THROUGHPUT;

    snprintf(name, size, "%s_m%dn%dk%d_%s_%s%s%s", t->m == 64 ? "wgmma" : "mma", t->m, t->n, t->k,
             type, acc, t->a ? "_" : "", waited ? "waited" : t->a ? t->a : "");
    snprintf(keys, room, "op=%s,shape=m%dn%dk%d,type=%s,acc=%s%s%s", t->op, t->m, t->n, t->k, type,
             acc, t->a ? ",a=" : "", t->a ? t->a : "");
}

/* Draws the products of one instruction and copies their operands to the GPU. */
static void fill_products(struct probe_run *r, const struct bench *b, struct products *p,
                          int chains)
{
    const struct tensor *t = p->tensor;
    bool group = t->m == 64;
    uint64_t random = probe_seed(r) + (uint64_t)(t - tensors), *in = probe_host_alloc(r, IN_BYTES),
             *end = in;

    for (int c = 0; c < chains; c++) {
        int k = group ? WGMMA_SLICES * t->k : t->k;
        p->of[c] = product_of(t->m, t->n, k, t->type, t->acc, group, &random);
        if (!product_made(&p->of[c]))
            probe_fail(r, "out of host memory");
        if (group)
            product_image(&p->of[c], in);
        else
            end = product_words(&p->of[c], end);
    }
    gpu_to_device(r, b->in, in, group ? A_BYTES + B_BYTES : (size_t)((char *)end - (char *)in));
    free(in);
}

/* fp8 mma by one warp is native to 8.9 and 12.0 only, large fp64 mma to 9.0: elsewhere the compiler
 * builds them from others. wgmma exists on 9.0 only. */
static bool has_tensor(int cc, const struct tensor *t)
{
    if (t->m == 64 || (t->type == FP64 && t->m == 16))
        return cc == 90;
    if (t->type == E4M3)
        return cc == 89 || cc >= 120;
    return cc >= 80 || t->k == 8;
}

static void measure_tensor(struct probe_run *r, const struct bench *b, const struct tensor *t)
{
    bool group = t->m == 64, large = t->type == FP64 && t->m == 16;
    int short_wgmma = t->n == 256 ? WGMMA_SHORT : WGMMA_NARROW_SHORT;
    struct products p = {.tensor = t};
    struct loop mma = {.alone = 32, .full = 32 * MMA_WARPS, .step = 1, .lead = 2,
                       .shorter = MMA_SHORT, .longer = MMA_LONG,
                       .chains = large ? MMA_CHAINS / 4 : MMA_CHAINS, .streams = MMA_WARPS};
    struct loop wgmma = {.alone = 128, .full = 128 * WGMMA_GROUPS, .step = WGMMA_SLICES, .lead = 1,
                         .shorter = short_wgmma / WGMMA_SLICES,
                         .longer = 2 * short_wgmma / WGMMA_SLICES, .chains = 1,
                         .streams = WGMMA_GROUPS};
    struct loop l = group ? wgmma : mma;
    char name[64];

    l.turn_steps = group ? WGMMA_UNROLL / WGMMA_SLICES : MMA_UNROLL / l.chains;
    l.results = (double)t->m * t->n * t->k;
    l.turns = TURNS;
    l.check = check_products;
    l.what = &p;
    name_tensor(t, name, sizeof name, l.keys, sizeof l.keys);
    find_kernels(r, &l, name, !(t->flags & NO_THROUGHPUT));
    fill_products(r, b, &p, l.chains);
    measure_latency(r, b, &l);
    if (l.throughput) {
        measure_throughput(r, b, &l);
        measure_peak(r, b, &l, t->type == INT8 ? INTEGER_PEAK : PEAK,
                     t->flags & PEAK_TOO ? 0 : PROBE_DEEP, 2 * l.results);
    }
    for (int c = 0; c < l.chains; c++)
        product_free(&p.of[c]);
}

static void measure(struct probe_run *r)
{
    struct bench b = {.in = gpu_alloc(r, IN_BYTES, "operands"),
                      .out = gpu_alloc(r, OUT_BYTES, "results"),
                      .cycles = gpu_mapped(r, 1024 * sizeof(uint64_t)),
                      .seen = probe_host_alloc(r, OUT_BYTES)};

    for (size_t i = 0; i < PROBE_LENGTH(scalars); i++)
        if (gpu_facts(r)->cc >= scalars[i].from_cc)
            measure_scalar(r, &b, &scalars[i]);
    for (int matrices = 1; matrices <= 4; matrices *= 2)
        measure_ldmatrix(r, &b, matrices);
    for (size_t i = 0; i < PROBE_LENGTH(tensors); i++)
        if (has_tensor(gpu_facts(r)->cc, &tensors[i]))
            measure_tensor(r, &b, &tensors[i]);
    free(b.seen);
}

const struct probe probe = {
    .name = "instructions",
    .what = "What does one instruction cost when the next needs its result, and how many an SM "
            "finishes each cycle when none does?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
