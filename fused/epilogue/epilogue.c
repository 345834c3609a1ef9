/* epilogue: what does it save to finish a product inside it, not by kernels behind it?
 *
 * Method. y = finish(x W^T), x m x 4096 and W 4096 x 4096, or x m x k and W n x k by --set m=1
 * --set n=8192 --set k=4096; W stored as linear layers store it ("nt"), elements N(0,1), W scaled
 * by 2^-6 so that outputs are of order 1, where GELU bends. op=
 *
 *     bias, bias_gelu, bias_residual   what the names say; the residual is a matrix like y
 *     quantise                         int8 by one scale
 *     gelu_in                          GELU of x on its way into the product: a prologue
 *
 * impl=
 *
 *     fused      all of it in the product: the best of cuBLASLt's algorithms with such an epilogue
 *                and of our own kernels (mma.h; at one row epilogue_rows)
 *     unfused    the best product of cuBLASLt, cuBLAS, ours and what `fused` is made of without its
 *                epilogue, then a kernel for each operator
 *     one_pass   the same product, then one kernel for all operators: the strongest rival
 *     product    the same product alone: nothing finished can be faster
 *     own, own_product   our kernel with the epilogue and without: one code, told by an argument
 *
 * The kernels behind a product are as fast as a copy and work in place, so that they find in the L2
 * what the product left there. The best is found by a short search in this process, operands out of
 * the L2. What is compared is timed in turn (turns.h). Beside other operations the clock
 * is another: times of one op compare, those of the product in two ops do not.
 *
 * op=qkv: three products of one x, in qkv.h.
 *
 * Inside the timed region: the kernels, between two events; common/operation.h has modes and
 * states of the cache. A library's product counts as one kernel; the nodes that it takes are a
 * fact.
 * Expected: each kernel behind a product adds a graph edge of a microsecond and its pass over
 * y in the L2: 1 us each at one row, 10 to 15 of 190 at 4096 rows on an H200. An epilogue adds next
 * to nothing, unless its product is a worse one: at 4096 rows ours takes twice the library's, and
 * int8, which the library cannot store from 16-bit operands, is not worth that. A prologue repeats
 * GELU for each column of tiles, and all of it stands between shared memory and the mma: twice the
 * time of our product.
 *
 * cuBLASLt's GELU is the tanh form (its results lie nearer to that than to the erf form, checked in
 * the first round), with a tanh that is good to 2^-11 of its argument, for which verification
 * allows.
 *
 * Traps. Timed one after the other, the product whose loop ended before the power limit acted
 * looked 10 % faster. At 16384 rows the searches of different processes chose different products,
 * by which the finished one was 5 % faster than one kernel behind it, or 1 % slower: the first look
 * at each must not decide, as the GPU slows down meanwhile, and the product alone takes what the
 * finished one is made of where that is faster. A bias that lies in memory, asked for at the end of
 * a block, cost 2 us: a prefetch during the main loop hides it. A part of Q, K and V by itself
 * would be found in the L2 by the search: it walks all of the weights. */
#include <math.h>
#include <stdio.h>

#include "core/draw.h"
#include "core/gpu.h"
#include "fused/common/operator.h"
#include "fused/epilogue/layer.h"
#include "fused/epilogue/operation.h"
#include "fused/epilogue/qkv.h"
#include "fused/epilogue/turns.h"

enum { DISTANCE_TANH = N_OPERATION_EACH_METRICS, DISTANCE_ERF };
#define KEYS OPERATION_KEYS("m,n,k,op")
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    OPERATION_EACH_METRICS(KEYS),
    [DISTANCE_TANH] = {"distance_tanh", "ratio", PROBE_LOWER, .keys = KEYS,
                       .what = "error of the library's GELU by the tanh form"},
    [DISTANCE_ERF] = {"distance_erf", "ratio", PROBE_LOWER, .keys = KEYS,
                      .what = "the same against the erf form"},
};

/* A grid has at most 65535 blocks down, of a row each where rows are short. */
static const struct probe_parameter parameters[] = {
    OPERATOR_SIZE("m", 65535),
    OPERATOR_SIZE("n", 1 << 18),
    OPERATOR_SIZE("k", 1 << 18),
    {"type", GPU_BF16, GPU_FP16, GPU_BF16, "of that shape: fp16 or bf16", operator_type_words},
};

static bool is_given(const struct probe_run *r)
{
    return probe_parameter(r, "m") > 0 || probe_parameter(r, "n") > 0 ||
           probe_parameter(r, "k") > 0 || probe_parameter_given(r, "type");
}

/* A way through and its name. */
struct entry {
    const char *name;
    enum epilogue_chain chain;
    enum epilogue_whose whose;
};

static void keys_of(char *keys, size_t size, const struct epilogue_layer *l,
                    const struct epilogue_finish *f)
{
    snprintf(keys, size, "m=%d,n=%d,k=%d,op=%s,type=%s", l->m, l->n, l->k, f->name,
             gpu_type_name(l->type));
}

/* In turn, by graph, operands from memory. */
static void measure_entries(struct probe_run *r, struct epilogue_layer *l,
                            const struct epilogue_finish *f, const struct entry *entries, size_t n,
                            unsigned flags)
{
    struct epilogue_form forms[TURNS_MAX];
    struct operation list[TURNS_MAX];
    char keys[96];

    for (size_t i = 0; i < n; i++) {
        forms[i] = (struct epilogue_form){
            .l = l, .finish = f, .chain = entries[i].chain, .whose = entries[i].whose};
        list[i] = epilogue_operation(&forms[i], entries[i].name);
    }
    keys_of(keys, sizeof keys, l, f);
    /* Where bytes decide: the copy of as many, for shares and predictions. */
    const bool by_bytes = l->m == 1 && f == &epilogue_finishes[0] && l->type == GPU_BF16;
    const double copy_ns =
        by_bytes && !probe_is_check_run(r)
            ? copy_measure(r, keys, list[0].bytes, (struct condition){.cold = true}, flags)
            : NAN;
    epilogue_measure_in_turn(r, keys, list, n, flags, copy_ns);
}

/* The other modes and states of the cache, one behind the other. */
static void measure_otherwise(struct probe_run *r, struct epilogue_layer *l,
                              const struct epilogue_finish *f, struct condition c, unsigned flags)
{
    static const struct entry entries[] = {
        {"fused", FUSED, 0}, {"unfused", UNFUSED, 0}, {"one_pass", ONE_PASS, 0}};
    char keys[96];

    keys_of(keys, sizeof keys, l, f);
    for (size_t i = 0; i < PROBE_LENGTH(entries); i++) {
        struct epilogue_form form = {.l = l, .finish = f, .chain = entries[i].chain};
        const struct operation o = epilogue_operation(&form, entries[i].name);
        operation_measure(r, keys, &o, c, flags, NAN);
    }
}

/* Whether one of our kernels takes the layer: bf16 on 8.0 and up, whole tiles, which are broad
 * where rows are many. */
static bool takes(const struct probe_run *r, const struct epilogue_layer *l)
{
    return l->type == GPU_BF16 && l->n % (l->m < 512 ? 64 : 128) == 0 && l->k % 64 == 0 &&
           gpu_facts(r)->cc >= 80;
}

static void measure_finish(struct probe_run *r, struct epilogue_layer *l,
                           const struct epilogue_finish *f, unsigned flags)
{
    static const struct entry two_operators[] = {{"fused", FUSED, ANY},
                                                 {"unfused", UNFUSED, ANY},
                                                 {"one_pass", ONE_PASS, ANY},
                                                 {"product", PRODUCT, ANY}};
    static const struct entry one_operator[] = {{"fused", FUSED, ANY},
                                                {"unfused", UNFUSED, ANY},
                                                {"product", PRODUCT, ANY},
                                                {"own_product", PRODUCT, OWN}};
    static const struct entry ours[] = {{"own", FUSED, OWN}, {"own_product", PRODUCT, OWN}};
    const bool ours_only = f->gelu_in || (f->flags & EPILOGUE_QUANTISE);

    if (!takes(r, l) && (ours_only || !l->tools->blas))
        return;
    if (!f->steps[1]) {
        measure_entries(r, l, f, one_operator, takes(r, l) ? 4 : 3, flags);
        return;
    }
    measure_entries(r, l, f, two_operators, PROBE_LENGTH(two_operators), flags);
    /* 0.15 s each: too long for every round, and two rounds differ by 4 %, with the power. */
    if (takes(r, l) && (l->m >= 256 || probe_is_check_run(r) || is_given(r)))
        measure_entries(r, l, f, ours, PROBE_LENGTH(ours), is_given(r) ? 0 : PROBE_DEEP);
}

static struct epilogue_layer layer_of(const struct probe_run *r, const struct epilogue_tools *tools,
                                      int m, int n, int k, enum gpu_type type)
{
    struct epilogue_layer l = {
        .tools = tools, .m = m, .n = n, .k = k, .type = type, .seed = probe_seed(r)};
    l.sets = probe_is_check_run(r) ? 1 : operation_sets(r, epilogue_set_bytes(&l));
    return l;
}

/* When a finish is measured: of seldom sizes only the first, in bf16. */
static unsigned seldom_of(const struct epilogue_finish *f, int m, enum gpu_type type,
                          unsigned size_flags)
{
    const unsigned flags =
        size_flags | f->when[type == GPU_FP16 ? 3 : m < 256 ? 0 : m < 4096 ? 1 : 2];
    const bool first = f == &epilogue_finishes[0] && type == GPU_BF16;
    if ((flags & PROBE_DEEP) || (m > 4096 && !first) ||
        (type == GPU_FP16 && m == 16))
        return PROBE_DEEP;
    return flags;
}

static void measure_size(struct probe_run *r, const struct epilogue_tools *tools, int m, int n,
                         int k, enum gpu_type type, unsigned flags)
{
    struct epilogue_layer l = layer_of(r, tools, m, n, k, type);

    for (size_t i = 0; i < N_FINISHES; i++)
        measure_finish(r, &l, &epilogue_finishes[i],
                       probe_is_check_run(r) ? 0
                                             : seldom_of(&epilogue_finishes[i], m, type, flags));
    if (m == 16 && type == GPU_BF16)
        for (int stream = 0; stream < 2; stream++)
            measure_otherwise(r, &l, &epilogue_finishes[0],
                              (struct condition){.stream = stream, .cold = stream}, PROBE_DEEP);
    epilogue_layer_free(r, &l);
}

static int size_of(const struct probe_run *r, const char *name, int otherwise)
{
    const int given = (int)probe_parameter(r, name);
    return given > 0 ? given : otherwise;
}

/* The one layer of the command line: every finish in turn, where nothing sweeps the L2, so that the
 * sets must be too many for it; the first finish otherwise, too. */
static void measure_given(struct probe_run *r, const struct epilogue_tools *tools)
{
    struct epilogue_layer l =
        layer_of(r, tools, size_of(r, "m", 1), size_of(r, "n", 4096), size_of(r, "k", 4096),
                 (enum gpu_type)probe_parameter(r, "type"));
    const double most = 3 * (double)gpu_facts(r)->l2_bytes, bytes = epilogue_set_bytes(&l);

    if (l.n % 8 || l.k % 8)
        probe_usage(r, "m=%d,n=%d,k=%d: expected n and k in multiples of 8", l.m, l.n, l.k);
    if ((double)l.sets * bytes < most && !probe_is_check_run(r))
        probe_usage(r, "m=%d,n=%d,k=%d: %zu sets of operands and results would stay in the L2", l.m,
                    l.n, l.k, l.sets);
    if (!tools->blas && !takes(r, &l))
        probe_skip(r, "%s", tools->no_blas);
    for (size_t i = 0; i < N_FINISHES; i++)
        measure_finish(r, &l, &epilogue_finishes[i], 0);
    for (int stream = bytes < most ? 0 : 1; stream < 2; stream++)
        measure_otherwise(r, &l, &epilogue_finishes[0],
                          (struct condition){.stream = stream, .cold = stream}, 0);
    epilogue_layer_free(r, &l);
}

/* --- what are the results worth? ------------------------------------------------------------- */

/* Inputs of a fixed seed, and not the fastest but always the same kernel: the same bits in every
 * run. Ours where this GPU has it. */
static void measure_quality(struct probe_run *r, const struct epilogue_tools *tools)
{
    struct epilogue_layer l = layer_of(r, tools, 129, 1024, 1024, GPU_BF16);
    struct epilogue_form fused = {.l = &l, .finish = &epilogue_finishes[0], .chain = FUSED};
    struct epilogue_form unfused = {.l = &l, .finish = &epilogue_finishes[0], .chain = UNFUSED};

    l.seed = 1;
    l.sets = 1;
    if (probe_begin_case(
            r, PROBE_TWICE | PROBE_POWER_BOUND,
            "m=129,n=1024,k=1024,op=bias_gelu,type=bf16,impl=fused,mode=graph,l2=warm")) {
        epilogue_prepare(r, &unfused);
        epilogue_prepare(r, &fused);
        struct epilogue_ways all[2] = {{.n = 0}};
        for (int i = 0; i < 2; i++) {
            struct epilogue_form *form = i ? &fused : &unfused;
            const struct epilogue_product p = epilogue_product_of(form, 0);
            epilogue_add_own(r, &p, &all[i]);
            for (size_t j = 0; j < all[i].n; j++) /* the same on every board */
                form->way = all[i].way[j].tile->m == 64 ? &all[i].way[j] : form->way;
        }
        const struct quality_pair pair = {.results = {l.out.memory, 129, 1024, 2},
                                          .launch_unfused = epilogue_launch,
                                          .launch_fused = epilogue_launch,
                                          .unfused = &unfused,
                                          .fused = &fused,
                                          .is_wrong = epilogue_is_wrong};
        quality_of_pair(r, &pair);
    }
    epilogue_layer_free(r, &l);
}

/* Which GELU is the library's? fp16, whose steps are small enough to tell. */
static void measure_gelu(struct probe_run *r, const struct epilogue_tools *tools)
{
    struct epilogue_layer l = layer_of(r, tools, 256, 1024, 1024, GPU_FP16);
    struct epilogue_form form = {
        .l = &l, .finish = &epilogue_finishes[0], .chain = FUSED, .whose = LIBRARY};

    l.seed = 1; /* two rounds must agree */
    l.sets = 1;
    if (tools->blas &&
        probe_begin_case(
            r, PROBE_TWICE | PROBE_POWER_BOUND,
            "m=256,n=1024,k=1024,op=bias_gelu,type=fp16,impl=library,mode=graph,l2=warm")) {
        epilogue_prepare(r, &form);
        epilogue_launch(r, &form, 0);
        const struct verdict tanh_form = epilogue_look_at(r, &form, 0);
        const struct verdict erf_form = epilogue_look_at(r, &form, JUDGE_ERF);
        probe_value(r, DISTANCE_TANH, verdict_error(&tanh_form));
        probe_value(r, DISTANCE_ERF, verdict_error(&erf_form));
        probe_require(r, verdict_error(&tanh_form) < verdict_error(&erf_form),
                      "cuBLASLt's GELU is the tanh form: error %.2g by that, %.2g by the erf form",
                      verdict_error(&tanh_form), verdict_error(&erf_form));
    }
    epilogue_layer_free(r, &l);
}

/* Odd ones: any number of rows; columns and k in multiples of 8, which a 16-byte access needs, our
 * product in multiples of 64. */
static void check_shapes(struct probe_run *r, const struct epilogue_tools *tools)
{
    static const int fixed[][3] = {{1, 8, 8},      {1, 64, 64},    {2, 1024, 64},  {31, 64, 128},
                                   {33, 128, 64},  {63, 192, 192}, {65, 64, 320},  {127, 128, 128},
                                   {129, 256, 64}, {255, 128, 64}, {257, 384, 128}};
    enum { DRAWN = 33 };
    uint64_t state = probe_seed(r);

    for (size_t i = 0; i < PROBE_LENGTH(fixed); i++)
        measure_size(r, tools, fixed[i][0], fixed[i][1], fixed[i][2], GPU_BF16, 0);
    for (int i = 0; i < DRAWN; i++) {
        const int unit = i % 2 ? 64 : 8;
        int shape[3];
        for (int j = 0; j < 3; j++)
            shape[j] = 1 + (int)draw_below(&state, j ? 320u / (unsigned)unit : 300u);
        measure_size(r, tools, shape[0], unit * shape[1], unit * shape[2],
                     i % 4 ? GPU_BF16 : GPU_FP16, 0);
    }
    epilogue_measure_qkv(r, tools);
    measure_quality(r, tools);
    measure_gelu(r, tools);
    probe_note(r, "%zu odd shapes", PROBE_LENGTH(fixed) + DRAWN);
}

static void measure(struct probe_run *r)
{
    static const struct {
        int m;
        unsigned flags;
    } sizes[] = {{1, 0},   {4, PROBE_DEEP},    {16, 0},   {64, PROBE_DEEP},
                 {256, 0}, {1024, PROBE_DEEP}, {4096, 0}, {16384, 0}};
    const struct epilogue_tools tools = epilogue_tools_open(r);

    if (is_given(r)) {
        measure_given(r, &tools);
        return;
    }
    if (probe_is_check_run(r)) {
        check_shapes(r, &tools);
        return;
    }
    for (size_t i = 0; i < PROBE_LENGTH(sizes); i++)
        for (int type = 0; type < 2; type++)
            measure_size(r, &tools, sizes[i].m, 4096, 4096, type ? GPU_FP16 : GPU_BF16,
                         sizes[i].flags);
    epilogue_measure_qkv(r, &tools);
    measure_quality(r, &tools);
    measure_gelu(r, &tools);
}

const struct probe probe = {
    .name = "epilogue",
    .what = "What does it save to finish a product inside it, not by kernels behind it?",
    .method = 4,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
