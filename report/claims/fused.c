#include "report/claims/fused.h"

#include <math.h>

bool fused_counted_ratio(const struct bundle *bundle, const char *above, const char *below,
                         const char *what, struct row *ratio, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row a, b;

    if (!rule_take_counted(bundle, "dram_bytes", above, &a, &aside) ||
        !rule_take_counted(bundle, "dram_bytes", below, &b, &aside)) {
        rule_say(f->evidence, "; bytes not counted: %s", aside.evidence);
        return false;
    }
    *ratio = rule_quotient(&a, &b);
    rule_say_row(f->evidence, what, ratio);
    return true;
}

struct row fused_less(const struct row *a, const struct row *b)
{
    struct row d = {.id = a->id, .unit = a->unit, .better = ROW_LOWER, .once = a->once || b->once};
    for (size_t i = 0; i < a->n; i++)
        row_put(&d, a->round[i], a->value[i] - row_at(b, a->round[i]), NAN);
    row_finish(&d);
    return d;
}
