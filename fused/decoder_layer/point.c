/* decoder_layer: one point of the sweep, its memory and its verification. */
#include "fused/decoder_layer/point.h"

#include "fused/decoder_layer/where.h"

void point_ready(struct probe_run *r, struct point *q)
{
    if (q->is_ready)
        return;
    q->t = decoder_tensors_of(r, &q->p, q->layers > DECODER_WATCHED ? q->layers : DECODER_WATCHED,
                              2 * q->steps, probe_seed(r));
    q->check = decoder_check_open(r, &q->t);
    q->is_ready = true;
}

void point_free(struct probe_run *r, struct point *q)
{
    if (!q->is_ready)
        return;
    decoder_check_close(r, &q->check);
    decoder_tensors_free(r, &q->t);
    q->is_ready = false;
}

bool point_begin(struct probe_run *r, struct point *q, const char *impl, unsigned flags)
{
    if (!probe_begin_case(r, flags | PROBE_POWER_BOUND,
                          "model=%s,context=%u,batch=%u,impl=%s,l2=cold", q->p.model.name,
                          q->p.context, q->p.batch, impl))
        return false;
    point_ready(r, q);
    return true;
}

void point_require_bits(struct probe_run *r, const struct decoder_packing *p, uint64_t *known,
                        uint32_t steps, const char *when)
{
    const uint64_t digest = decoder_digest(r, p->t, steps);
    decoder_require_no_abort(r, p->t, way_name(p->way));
    if (*known == 0)
        *known = digest;
    probe_require(r, digest == *known,
                  "%s: %s: the same bits, every time and in every packaging of "
                  "this kind",
                  when, way_name(p->way));
}

void point_launch_poisoned(struct probe_run *r, const struct decoder_packing *p,
                           struct decoder_work work)
{
    decoder_poison(r, p->t);
    decoder_launch(r, p, &work);
}

double point_verify(struct probe_run *r, struct point *q, const struct decoder_packing *p)
{
    const enum decoder_bits bits = p->way->bits;
    const char *name = way_name(p->way);

    point_launch_poisoned(r, p, (struct decoder_work){.layers = 1});
    const double error = decoder_require_chain(r, &q->check, 1, name);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t layers = q->layers << i;
        const bool is_first = q->digest[bits][i] == 0;
        point_launch_poisoned(r, p, (struct decoder_work){.layers = layers, .keeps_mail = true});
        point_require_bits(r, p, &q->digest[bits][i], 0, "before timing");
        if (is_first)
            decoder_require_chain(r, &q->check, layers, name);
        if (i > 0 || p->way->layer)
            continue;
        const struct decoder_found found = decoder_check_phases(r, &q->check, p, q->held, NULL);
        decoder_require_phases(r, &found, name);
        point_launch_poisoned(r, p, (struct decoder_work){.layers = layers});
        point_require_bits(r, p, &q->digest[bits][i], 0, "again");
    }
    if (q->steps == 0)
        return error;
    point_launch_poisoned(r, p, (struct decoder_work){.layers = q->p.model.layers, .steps = 1});
    decoder_require_step(r, &q->check, name);
    for (uint32_t i = 0; i < 2; i++) {
        point_launch_poisoned(
            r, p, (struct decoder_work){.layers = q->p.model.layers, .steps = q->steps << i});
        point_require_bits(r, p, &q->chosen[bits][i], q->steps << i, "steps");
    }
    return error;
}
