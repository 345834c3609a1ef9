#include <string.h>

#include "report/chart/svg.h"

/* In the order of enum chart_role, then of svg.h's colours. Tests hold the contrast of each text
 * with what it stands on to 4.5 at least. */
static const struct svg_colour colours[SVG_COLOURS] = {
    [CHART_INK] = {"ink", "#1b1c1e", "#e9e7e2"},
    [CHART_SECONDARY] = {"secondary", "#5c6168", "#a4aab2"},
    [CHART_MEMORY] = {"memory", "#0a67b0", "#6bb5f5"},
    [CHART_LAUNCH] = {"launch", "#c44e06", "#ff9a55"},
    [CHART_SYNCHRONISE] = {"synchronise", "#00805c", "#37c79a"},
    [CHART_HOST] = {"host", "#97489a", "#d792da"},
    [CHART_LIBRARY] = {"library", "#3a3d42", "#c9ccd1"},
    [CHART_YES] = {"yes", "#00805c", "#1f8f6c"},
    [CHART_NO] = {"no", "#c44e06", "#c4591c"},
    [CHART_PARTLY] = {"partly", "#f0c75e", "#8f7220"},
    [CHART_UNKNOWN] = {"unknown", "#5c6168", "#a4aab2"},
    [SVG_BACKGROUND] = {"bg", "#fdfdfb", "#15171a"},
    [SVG_GRID] = {"grid", "#e7e7e2", "#2a2e33"},
    [SVG_BAND] = {"band", "#f2f2ed", "#1e2226"},
    [SVG_RULE] = {"rule", "#cfcfc8", "#3b4046"},
    [SVG_ON] = {"on", "#ffffff", "#000000"},
    [SVG_ON_PARTLY] = {"on-partly", "#1b1c1e", "#000000"},
};

const struct svg_colour *svg_colour(int colour)
{
    return &colours[colour >= 0 && colour < SVG_COLOURS ? colour : CHART_INK];
}

const char *chart_colour(const char *name)
{
    for (int i = 0; i < SVG_COLOURS; i++)
        if (!strcmp(colours[i].name, name))
            return colours[i].light;
    return colours[CHART_INK].light;
}

static void properties(FILE *out, bool dark)
{
    for (int i = 0; i < SVG_COLOURS; i++)
        fprintf(out, "--%s:%s;", colours[i].name, dark ? colours[i].dark : colours[i].light);
}

void chart_style(FILE *out)
{
    fprintf(out, ":root{color-scheme:light dark;");
    properties(out, false);
    fprintf(out, "}\n@media screen and (prefers-color-scheme:dark){:root{");
    properties(out, true);
    fprintf(out, "}}\n");
    for (int i = 0; i < SVG_COLOURS; i++)
        fprintf(out, ".c-%s{color:var(--%s)}", colours[i].name, colours[i].name);
    /* A figure's wide form is shown where its text, 12.5 units, is at least 12 pixels. */
    fprintf(out, "\n.chart{display:block;width:100%%;height:auto;overflow:visible;color:var(--ink);"
                 "font:12.5px Inter,system-ui,sans-serif;font-variant-numeric:tabular-nums}\n"
                 ".chart.wide{display:none;max-width:900px}.chart.narrow{max-width:480px}\n"
                 "@media (min-width:920px){.chart.wide{display:block}.chart.narrow{display:none}}\n"
                 ".chart text{fill:currentColor;stroke:var(--bg);stroke-width:4px;"
                 "stroke-linejoin:round;paint-order:stroke}.chart text.on{stroke:none}"
                 ".chart .b{font-weight:600}\n"
                 ".chart .f{fill:currentColor}.chart .s{stroke:currentColor;fill:none}"
                 ".chart .h{stroke:currentColor;fill:var(--bg)}\n"
                 ".chart a:hover>:not(title){stroke:var(--ink);stroke-width:2.5}"
                 ".chart a:hover>text{stroke:none}\n");
}
