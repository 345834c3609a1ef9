#include "report/claims/fused.h"

void fused_say_not_counted(const struct finding *aside, struct finding *f)
{
    rule_say(f->evidence,
             "bytes of device memory are not counted (%s): time decides in their stead",
             aside->evidence);
}

/* The bytes of chain, fused kernel and one kernel; false, and why, where one is not counted. */
static bool take_counted(const struct bundle *bundle, const struct fused_counted *of,
                         struct row bytes[3], struct finding *aside)
{
    return rule_take_counted(bundle, "dram_bytes", of->chain, &bytes[0], aside) &&
           rule_take_counted(bundle, "dram_bytes", of->fused, &bytes[1], aside) &&
           rule_take_counted(bundle, "dram_bytes", of->one, &bytes[2], aside);
}

bool fused_counted_ratio(const struct bundle *bundle, const struct fused_counted *of,
                         struct row *ratio, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row bytes[3];

    if (!take_counted(bundle, of, bytes, &aside)) {
        fused_say_not_counted(&aside, f);
        return false;
    }
    *ratio = rule_quotient(&bytes[0], &bytes[1]);
    return true;
}

bool fused_counters_tell(const struct bundle *bundle, const struct fused_counted *of, double limit,
                         const char *what, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row bytes[3];

    if (!take_counted(bundle, of, bytes, &aside))
        return true;
    const struct row ratio = rule_quotient(&bytes[2], &bytes[1]);
    const bool told = fused_below(&ratio, limit);
    rule_say_control(f, false, told, what, &ratio);
    return told;
}

struct row fused_moved(const struct bundle *bundle, const struct fused_counted *of,
                       const char *what, const struct row *time, struct finding *f)
{
    struct row moved;
    const bool counted = fused_counted_ratio(bundle, of, &moved, f);

    rule_say(f->evidence, "%s%s", f->evidence[0] ? "; " : "", what);
    if (counted)
        rule_say_row(f, "bytes of device memory by counters, which decide", &moved);
    rule_say_row(f, "time", time);
    return counted ? moved : *time;
}
