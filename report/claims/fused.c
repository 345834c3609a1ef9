#include "report/claims/fused.h"

#include <math.h>

void fused_say_not_counted(const struct finding *aside, struct finding *f)
{
    rule_say(f->evidence,
             "bytes of device memory are not counted (%s): time decides in their stead",
             aside->evidence);
}

bool fused_counted_ratio(const struct bundle *bundle, const char *above, const char *below,
                         struct row *ratio, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row a, b;

    if (!rule_take_counted(bundle, "dram_bytes", above, &a, &aside) ||
        !rule_take_counted(bundle, "dram_bytes", below, &b, &aside)) {
        fused_say_not_counted(&aside, f);
        return false;
    }
    *ratio = rule_quotient(&a, &b);
    return true;
}

bool fused_counters_tell(const struct bundle *bundle, const char *one, const char *fused,
                         double limit, const char *what, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row a, b;

    if (!rule_take_counted(bundle, "dram_bytes", fused, &b, &aside))
        return true;
    if (!rule_take_counted(bundle, "dram_bytes", one, &a, &aside)) {
        rule_say_check(f, false, false, what, NAN, "ratio");
        return false;
    }
    const struct row ratio = rule_quotient(&a, &b);
    const bool told = fused_below(&ratio, limit);
    rule_say_control(f, false, told, what, &ratio);
    return told;
}

struct row fused_moved(const struct bundle *bundle, const char *above, const char *below,
                       const char *what, const struct row *time, struct finding *f)
{
    struct row moved;
    const bool counted = fused_counted_ratio(bundle, above, below, &moved, f);

    rule_say(f->evidence, "%s%s", f->evidence[0] ? "; " : "", what);
    if (counted)
        rule_say_row(f, "bytes of device memory by counters, which decide", &moved);
    rule_say_row(f, "time", time);
    return counted ? moved : *time;
}
