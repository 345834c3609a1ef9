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
