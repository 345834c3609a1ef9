#include "fused/batched_layer/point.h"

void point_ready(struct probe_run *r, struct point *q)
{
    const uint64_t seed = probe_seed(r);
    struct family *f = q->family;
    if (q->is_ready)
        return;
    if (!f->w.memory)
        f->w = batched_weights_of(r, &q->p, seed);
    q->kernels = batched_kernels_of(r, &q->p);
    q->t = batched_tensors_of(r, &q->p, &f->w, seed + 1 + q->p.batch);
    q->check = batched_check_open(r, &q->t);
    if (!f->blas && !f->no_blas[0])
        f->blas = blas_open(r, f->no_blas, sizeof f->no_blas);
    if (f->blas)
        q->has_products = batched_products_open(r, &q->products, f->blas, &q->t);
    q->is_ready = true;
}

void point_free(struct probe_run *r, struct point *q)
{
    if (!q->is_ready)
        return;
    if (q->has_products)
        batched_products_close(r, &q->products);
    batched_check_close(r, &q->check);
    batched_tensors_free(r, &q->t);
    q->is_ready = false;
}

struct batched_work point_work(const struct point *q)
{
    return (struct batched_work){&q->t, &q->kernels, &q->products};
}

uint32_t point_layers(const struct point *q, int chain)
{
    return chain == POINT_ONE ? 1 : chain == POINT_SHORT ? q->p.layers : 2 * q->p.layers;
}

void point_require_bits(struct probe_run *r, struct point *q, const struct batched_pack *pack,
                        int chain, const char *when)
{
    uint64_t *known = &q->digest[pack->bits][chain];
    const uint64_t digest = batched_digest(r, &q->t, OP_ADD_DOWN);
    if (*known == 0)
        *known = digest;
    probe_require(
        r, digest == *known,
        "%s: %s, %u layers: the same bits, every time and in every packaging of this kind", when,
        pack->name, point_layers(q, chain));
}

double point_verify(struct probe_run *r, struct point *q, const struct batched_pack *pack)
{
    const struct batched_work w = point_work(q);
    const bool is_first = q->digest[pack->bits][POINT_ONE] == 0;

    for (int chain = POINT_ONE; chain < POINT_CHAINS; chain++) {
        batched_poison(r, &q->t);
        batched_launch(r, &w, pack, point_layers(q, chain), 1);
        point_require_bits(r, q, pack, chain, "before timing");
        if (is_first && chain == POINT_ONE) {
            batched_require_operators(r, &q->check, pack, "before timing");
            q->error[pack->bits] = batched_require_chain(r, &q->check, 1, pack->name);
        }
        if (is_first && chain == POINT_SHORT && probe_in_full(r))
            batched_require_chain(r, &q->check, q->p.layers, pack->name);
    }
    return q->error[pack->bits];
}
