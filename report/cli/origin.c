#include "report/cli/origin.h"

void origin_print(FILE *out, const struct bundle *bundle, const char *name,
                  enum table_format format)
{
    char line[BUNDLE_LINE], others[BUNDLE_LINE], all[3 * BUNDLE_LINE];
    const bool is_md = format == TABLE_MD, apart = !is_md && !name;

    bundle_line(bundle, line, sizeof line);
    bundle_others(bundle, others, sizeof others);
    const bool joined = others[0] && !apart;
    snprintf(all, sizeof all, "%s%s%s%s%s", name && !is_md ? name : "", name && !is_md ? ": " : "",
             line, joined ? "; " : "", joined ? others : "");
    if (is_md) {
        fputs(name ? "**" : "", out);
        table_put(out, name, format);
        fputs(name ? "**: " : "", out);
        table_put(out, all, format);
        return;
    }
    table_wrap(out, all, 0, name ? 2 : 0);
    if (apart && others[0]) {
        fputs(";\n", out);
        table_wrap(out, others, 0, 0);
    }
}
