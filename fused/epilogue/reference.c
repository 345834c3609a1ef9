#include "fused/epilogue/reference.h"

struct epilogue_reference epilogue_reference_of(struct probe_run *r,
                                                const struct epilogue_product *p)
{
    const uint32_t m = (uint32_t)p->m, most = probe_in_full(r) ? 4096 : 256;
    struct epilogue_reference f = {.m = m, .n = (uint32_t)p->n, .k = (uint32_t)p->k};

    f.looked = m < most ? m : most;
    f.sum = gpu_alloc(r, f.looked * (size_t)f.n * sizeof *f.sum, "reference sums");
    const struct reference_args a = {.a = p->a,
                                     .w = p->w,
                                     .sum = f.sum,
                                     .m = m,
                                     .n = f.n,
                                     .k = f.k,
                                     .looked = f.looked,
                                     .gelu_in = p->gelu_in};
    const uint32_t tile = REFERENCE_TILE;
    gpu_launch_grid(r, epilogue_kernel(r, "reference", p->type, false, sizeof a),
                    (dim3){(f.n + tile - 1) / tile, (f.looked + tile - 1) / tile, 1}, tile * tile,
                    0, &a);
    return f;
}

void epilogue_reference_free(struct probe_run *r, struct epilogue_reference *f)
{
    if (f->sum)
        gpu_release(r, f->sum);
    *f = (struct epilogue_reference){0};
}

struct verdict epilogue_run_verifier(struct probe_run *r, const struct epilogue_reference *f,
                                     const struct epilogue_product *p, uint32_t first, uint32_t ldc,
                                     unsigned flags)
{
    const struct judge_args a = {.sum = f->sum,
                                 .out = p->c,
                                 .bias = p->bias,
                                 .residual = p->residual,
                                 .verdict = verdict_clear(r),
                                 .m = f->m,
                                 .n = (uint32_t)p->n,
                                 .k = f->k,
                                 .looked = f->looked,
                                 .ldc = ldc,
                                 .first = first,
                                 .columns = f->n,
                                 .flags = flags,
                                 .scale = QUANTISE_BY};
    gpu_launch(r, epilogue_kernel(r, "judge", p->type, false, sizeof a), 128, 256, 0, &a);
    return verdict_fetch(r);
}
