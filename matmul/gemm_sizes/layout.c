#include "matmul/gemm_sizes/layout.h"

#include <string.h>

#include "matmul/gemm_sizes/search.h"

/* A product that differs from an aligned cube of `base` in its size, its layout, the extra elements
 * between the rows of all three matrices, or the elements by which A and B are off a 256-byte
 * boundary. Only `useful` of its steps along k count as work. Measured by cuBLAS: of 1024 in every
 * round, of 4096 in three. In three also by cuBLASLt's first guess and its best where they are said
 * beside; by all with --deep. */
enum { FIRST_TOO = 1, BEST_TOO = 2 };
struct variant {
    int base, m, n, k, useful;
    const char *layout;
    int pad, shift;
    unsigned flags, also;
};
static const struct variant variants[] = {
    {1024, 1024, 1024, 1024, 1024, "nn", 0, 0, 0, 0},         /* the same again */
    {1024, 1024, 1024, 1536, 1024, "nn", 0, 0, 0, 0},         /* half as much work again */
    {1024, 1, 1024, 1024, 1024, "nn", 0, 0, 0, 0},            /* a vector: another kernel */
    {1024, 1024, 1024, 1024, 1024, "nn", 8, 0, 0, FIRST_TOO}, /* on 16-byte boundaries */
    {1024, 1024, 1024, 1024, 1024, "nn", 4, 0, PROBE_DEEP, 0},
    {1024, 1024, 1024, 1024, 1024, "nn", 2, 0, PROBE_DEEP, 0},
    {1024, 1024, 1024, 1024, 1024, "nn", 1, 0, 0, FIRST_TOO | BEST_TOO},
    {1024, 1024, 1024, 1024, 1024, "nn", 0, 8, PROBE_DEEP, 0},
    {1024, 1024, 1024, 1024, 1024, "nn", 0, 4, 0, FIRST_TOO | BEST_TOO},
    {1024, 1024, 1024, 1024, 1024, "nn", 0, 1, 0, FIRST_TOO | BEST_TOO},
    {1024, 1024, 1024, 1024, 1024, "nt", 0, 0, 0, FIRST_TOO},
    {1024, 1024, 1024, 1024, 1024, "tn", 0, 0, 0, FIRST_TOO},
    {1024, 1023, 1023, 1023, 1023, "nn", 0, 0, 0, BEST_TOO},
    {1024, 1025, 1025, 1025, 1025, "nn", 0, 0, 0, BEST_TOO},
    {4096, 4095, 4095, 4095, 4095, "nn", 0, 0, PROBE_SLOW, 0}, /* its best: a search of 0.4 s */
    {4096, 4096, 4095, 4096, 4096, "nn", 0, 0, PROBE_DEEP, 0},
    {4096, 4097, 4097, 4097, 4097, "nn", 0, 0, PROBE_DEEP, 0},
    {4096, 4096, 4096, 4096, 4096, "nn", 8, 0, PROBE_DEEP, 0},
    {4096, 4096, 4096, 4096, 4096, "nn", 1, 0, PROBE_SLOW, 0},
    {4096, 4096, 4096, 4096, 4096, "nn", 0, 1, PROBE_DEEP, 0},
};

static struct product_shape shape_of(const struct variant *v)
{
    const bool at = v->layout[0] == 't', bt = v->layout[1] == 't';
    return (struct product_shape){.m = v->m,
                                  .n = v->n,
                                  .k = v->k,
                                  .type = GPU_FP16,
                                  .layout = v->layout,
                                  .lda = (at ? v->m : v->k) + v->pad,
                                  .ldb = (bt ? v->k : v->n) + v->pad,
                                  .ldc = v->n + v->pad,
                                  .a_shift = v->shift,
                                  .b_shift = v->shift};
}

/* For --check: everything at an eighth, with rows as far apart and sizes as far from a round
 * one. */
static struct variant smaller(struct variant v)
{
    const int less = v.base - v.base / 8;
    v.m -= v.m > 1 ? less : 0;
    v.n -= less, v.k -= less, v.useful -= less, v.base -= less;
    return v;
}

/* The fastest on offer is found by measurement. Which one of two equally fast kernels it is, is not
 * a choice of the library's. */
static void compare_kernels(struct probe_run *r, const struct entrant e[2], enum take take)
{
    struct gpu_node here = gpu_graph_first_kernel(r, &e[0].graph[0]);
    struct gpu_node aligned = gpu_graph_first_kernel(r, &e[1].graph[0]);

    probe_fact(r, "aligned_kernel", "%s", aligned.kernel);
    if (take == LT_BEST)
        return;
    if (here.kernel[0] == '?' || aligned.kernel[0] == '?')
        probe_missing(r, OTHER_KERNEL, "this driver does not tell the kernels' names");
    else
        probe_value(r, OTHER_KERNEL, strcmp(here.kernel, aligned.kernel) != 0);
}

static void measure_variant(struct probe_run *r, const struct ways *ways, struct subject *base,
                            struct subject *s, const struct variant *v, enum take take,
                            unsigned deep)
{
    const struct product_shape *shape = &s->shape;
    if (!probe_begin_case(r, v->flags | deep | PROBE_POWER_BOUND,
                          "m=%d,n=%d,k=%d,type=%s,layout=%s,lda=%d,ldb=%d,ldc=%d,offset=%d,impl=%s,"
                          "tile=%s,l2=warm",
                          v->m, v->n, v->k, gpu_type_name(shape->type), v->layout, shape->lda,
                          shape->ldb, shape->ldc, 2 * v->shift, sizes_impl_names[take],
                          sizes_tile_names[take]))
        return;
    const struct way *way = sizes_way(r, ways, s, take), *aligned = sizes_way(r, ways, base, take);
    struct entrant e[] = {{.subject = s, .way = way, .metric = LAYOUT_TIME},
                          {.subject = base, .way = aligned, .metric = ALIGNED_TIME}};
    if (!way || !aligned) {
        sizes_say_missing(r, ways, LAYOUT_TIME, take);
        return;
    }
    product_poison(r, &s->product);
    way_multiply(r, ways, &s->product, way, 0);
    product_verify(r, &s->product, "before timing");
    way_multiply(r, ways, &base->product, aligned, 0);

    sizes_sample_in_turn(r, ways, e, 2);

    sizes_say_kernel(r, ways, &e[0]);
    compare_kernels(r, e, take);
    double work = (double)v->m * v->n * v->useful / multiply_adds(&base->shape);
    if (v->m > 1)
        probe_value(r, OVER_ALIGNED,
                    probe_median(r, LAYOUT_TIME) / probe_median(r, ALIGNED_TIME) / work);
    sizes_replay_for_check(r, &e[0]);
    double error = product_verify(r, &s->product, "after timing");
    if (is_large_enough(shape))
        probe_value(r, LAYOUT_ERROR, error);
    sizes_entrants_free(e, 2);
}

void sizes_measure_layouts(struct probe_run *r, const struct ways *ways)
{
    struct subject base = {0};

    for (size_t i = 0; i < PROBE_LENGTH(variants); i++) {
        const struct variant v = probe_is_check_run(r) ? smaller(variants[i]) : variants[i];
        struct subject s = {.shape = shape_of(&v)};
        if (base.shape.m != v.base) {
            sizes_subject_close(r, &base);
            base.shape = (struct product_shape){
                .m = v.base, .n = v.base, .k = v.base, .type = GPU_FP16, .layout = "nn"};
        }
        measure_variant(r, ways, &base, &s, &v, CUBLAS, v.base > 1024 ? PROBE_THRICE : 0);
        measure_variant(r, ways, &base, &s, &v, LT_FIRST,
                        v.also & FIRST_TOO ? PROBE_THRICE : PROBE_DEEP);
        measure_variant(r, ways, &base, &s, &v, LT_BEST,
                        v.also & BEST_TOO ? PROBE_THRICE | PROBE_SLOW : PROBE_DEEP);
        sizes_subject_close(r, &s);
    }
    sizes_subject_close(r, &base);
}
