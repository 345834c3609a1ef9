#include "fused/common/campaign.h"

enum { SEED = 20261122 }; /* of the shapes; any fixed number will do */

/* Is a form of any member wrong at this shape? */
static bool is_wrong_at(struct probe_run *r, const struct fused_operator *o,
                        const struct operator_shape *shape, uint64_t seed)
{
    struct operator_set s = operator_open(r, o, shape, OPERATOR_ALL, 1, seed);
    struct operator_form forms[OPERATOR_FORMS];
    bool wrong = false;

    for (size_t member = 0; member < o->n_members; member++) {
        const size_t n = operator_forms(r, &s, member, forms);
        for (size_t i = 0; i < n; i++)
            if (forms[i].group != OPERATOR_PARTS && !forms[i].is_wrong &&
                operator_is_wrong(r, &s, &forms[i]))
                wrong = true;
    }
    operator_close(r, &s);
    return wrong;
}

void campaign_measure(struct probe_run *r, const struct fused_operator *o, const struct campaign *c,
                      int first)
{
    uint64_t state = SEED;
    size_t tried = 0, wrong = 0;

    if (probe_is_check_run(r) || /* which draws shapes of its own */
        !probe_begin_case(r, PROBE_TWICE, "guard=%s", c->is_unguarded ? "off" : "on"))
        return;
    for (size_t i = 0; i < c->n; i++) {
        const struct operator_shape shape = c->shape(i, &state);
        if (!c->is_unguarded && o->refuses && o->refuses(&shape))
            continue;
        tried++;
        wrong += is_wrong_at(r, o, &shape, state);
    }
    probe_value(r, first, (double)tried);
    probe_value(r, first + 1, (double)wrong);
}

void campaign_of_odd_shapes(struct probe_run *r, const struct fused_operator *o, size_t n,
                            int first)
{
    const struct campaign c = {.n = n < o->n_odd ? n : o->n_odd, .shape = o->odd};
    campaign_measure(r, o, &c, first);
}
