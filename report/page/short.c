/* The report in short, for a README: ten numbers, what the small product says, what became of the
 * claims.
 * Of several GPUs: what lies between them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "report/bundle/derive.h"
#include "report/claims/claims.h"
#include "report/page/links.h"
#include "report/page/sections.h"

const char *const short_needs[] = {"memory_latency.load{level=l1}", NULL};

/* --- ten numbers ------------------------------------------------------------------------------ */

static const char *where(const struct number *number)
{
    return number->quoted ? " on another card" : "";
}

static const char *say(struct section *s, const struct summary *summary, const char *name,
                       const char *shown)
{
    const struct number number = summary_number(summary, name);
    return section_text(s, "%s%s", section_say(s, &number, shown), where(&number));
}

static bool has(const struct summary *summary, const char *name)
{
    const struct number number = summary_number(summary, name);
    return number_there(&number);
}

/* What follows a number, where the rows behind it are there; "" else. */
#define BESIDE(condition, ...) ((condition) ? section_text(s, __VA_ARGS__) : "")

static void put(struct section *s, const struct summary *summary, const char *what,
                const struct number *number, const char *beside)
{
    if (!number_there(number))
        return;
    grid_text(&s->grid[0], section_label(s, summary, what));
    grid_number(&s->grid[0], number);
    grid_text(&s->grid[0], beside);
}

static void put_named(struct section *s, const struct summary *summary, const char *what,
                      const char *name, const char *beside)
{
    const struct number number = summary_number(summary, name);
    put(s, summary, what, &number, beside);
}

static double ratio(const struct summary *summary, const char *above, const char *below)
{
    return summary_number(summary, above).value / summary_number(summary, below).value;
}

static const char *measured_need(struct section *s, const struct summary *summary)
{
    struct section flight = {.name = "flight"};

    section_flight(summary, &flight);
    const char *const said = section_flight_need(s, &flight);
    section_free(&flight);
    return said;
}

static void put_memory(struct section *s, const struct summary *summary)
{
    const struct number rate = summary_number(summary, "hbm-read");
    const struct number load = summary_number(summary, "hbm-load");
    const struct number flight = number_formed(
        derive_in_flight(rate.value, load.value, summary_sms(summary)), "bytes", &rate);
    const double pins = rate.value / summary_pins(summary);
    const double warp = ratio(summary, "hbm-one-warp", "hbm-read");

    const struct number cycles = summary_take(summary, short_needs[0], PICK_FIRST);

    put_named(s, summary, "a load from L1", "l1-load",
              BESIDE(number_there(&cycles), "%s; from shared memory %s",
                     section_say(s, &cycles, NULL), say(s, summary, "shared-load", NULL)));
    put_named(s, summary, "a load from the L2", "l2-load",
              BESIDE(has(summary, "l2-far-load"), "its far side: %s",
                     say(s, summary, "l2-far-load", NULL)));
    put_named(s, summary, "a load, HBM", "hbm-load",
              BESIDE(has(summary, "hbm-loaded"), "while all other SMs stream: %s",
                     say(s, summary, "hbm-loaded", NULL)));
    put(s, summary, "read, HBM", &rate,
        section_text(s, "%s%s%s", BESIDE(isfinite(pins), "%.0f %% of its pins", 100 * pins),
                     isfinite(pins) && isfinite(warp) ? "; " : "",
                     BESIDE(isfinite(warp),
                            "one warp on each SM reaches %.0f %% of this, by copies", 100 * warp)));
    put(s, summary, "bytes in flight on each SM that this rate needs, at least", &flight,
        section_text(s, "rate x latency of an idle memory / SMs%s", measured_need(s, summary)));
}

static void put_steps(struct section *s, const struct summary *summary)
{
    put_named(s, summary,
              section_text(s, "a barrier of all %.0f SMs, by two counters", summary_sms(summary)),
              "grid-barrier",
              BESIDE(has(summary, "grid-sync"), "CUDA's grid.sync(): %s",
                     say(s, summary, "grid-sync", NULL)));
    put_named(s, summary, "one more dependent step of all SMs, inside one kernel", "step-kernel",
              section_text(
                  s, "%s%s",
                  BESIDE(has(summary, "step-stream"), "by stream %s, in a graph %s",
                         say(s, summary, "step-stream", NULL), say(s, summary, "step-graph", NULL)),
                  BESIDE(has(summary, "step-graph-early"), ", there with early start (PDL) %s",
                         say(s, summary, "step-graph-early", NULL))));
    put_named(s, summary, "submit to done, empty kernel", "round-trip", "this host's CPU");
}

/* The best of the small product's table, and others' rows of it. */
static void put_product(struct section *s, const struct summary *summary)
{
    struct section small = {.name = "small"};
    struct number best = number_none();
    char others[160] = "";

    section_small(summary, &small);
    const struct grid *grid = &small.grid[0];
    for (size_t row = 0; small.n_grids > 0 && row < grid->n_cells / grid->n_columns; row++) {
        const struct cell *cells = &grid->cell[row * grid->n_columns];
        const struct number *time = NULL;
        for (size_t i = 0; i < grid->n_columns && !time; i++)
            if (cells[i].kind == CELL_NUMBER && !strcmp(cells[i].number.unit, "ns"))
                time = &cells[i].number;
        if (!time)
            continue;
        if (!strncmp(cells[0].text, "ours", 4) && !number_there(&best))
            best = *time;
        const bool is_other = !strcmp(cells[0].text, "cuBLAS") ||
                              !strncmp(cells[0].text, "Triton, tuned", 13);
        const size_t used = strlen(others);
        if (is_other && number_there(time))
            snprintf(others + used, sizeof others - used, "%s%s %s%s", used ? ", " : "",
                     cells[0].text, section_say(s, time, NULL), where(time));
    }
    put(s, summary, "1024^3 fp16, gpufloor's best", &best, section_text(s, "%s", others));
    section_free(&small);
}

static void put_fused(struct section *s, const struct summary *summary)
{
    put_named(s, summary, "scale * gelu(x + bias) of 16384 x 8192 fp16, one kernel", "gelu",
              BESIDE(has(summary, "gelu-unfused"), "three kernels: %s",
                     say(s, summary, "gelu-unfused", NULL)));
}

/* --- answers ---------------------------------------------------------------------------------- */

static void tell_product(struct section *s, const struct summary *summary)
{
    struct section small = {.name = "small"};

    section_small(summary, &small);
    if (small.finding)
        s->finding = section_text(s, "%s", small.finding);
    if (small.finding && small.answer > 0)
        section_note(s, "%s", small.note[small.answer - 1]);
    section_free(&small);
}

static void tell_fusion(struct section *s, const struct summary *summary)
{
    struct section fusion = {.name = "fusion"};

    section_fusion(summary, &fusion);
    if (fusion.finding)
        section_line(s, fusion.finding);
    section_free(&fusion);
}

enum { QUOTED_WORDS = 14 };

/* The words of a claim that its rule tests, or the first of them. */
static const char *quote_of(struct section *s, const char *id)
{
    const struct claim *claim = claim_find(id);
    size_t length = 0, words = 0;

    if (!claim)
        return "";
    const char *quote = claim->clause && *claim->clause ? claim->clause : claim->quote;
    while (quote[length] && words < QUOTED_WORDS) {
        length += strspn(quote + length, " ");
        length += strcspn(quote + length, " ");
        words++;
    }
    return section_text(s, "\"%.*s%s\"", (int)length, quote, quote[length] ? " [...]" : "");
}

/* The sentences of section_claims, which has found its totals. */
static void tell_claims(struct section *s, const struct summary *summary)
{
    static const struct column columns[] = {
        {NULL, "claim", NULL, 'l'}, {NULL, "holds", NULL, 'l'}, {NULL, "what was found", NULL, 'l'},
        {NULL, "quote", NULL, 'l'}};
    struct section claims = {.name = "claims"};

    section_claims(summary, &claims);
    if (claims.finding)
        section_line(s, claims.finding);
    if (claims.n_grids > 1) {
        struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);
        for (size_t i = 0; i < claims.grid[1].n_cells; i++) {
            grid_text(grid, section_text(s, "%s", claims.grid[1].cell[i].text));
            if (i % 3 == 2)
                grid_text(grid, quote_of(s, claims.grid[1].cell[i - 2].text));
        }
    }
    section_free(&claims);
}

void section_short(const struct summary *summary, struct section *s)
{
    static const struct column columns[] = {
        {NULL, "", NULL, 'l'}, {NULL, "", NULL, 'r'}, {NULL, "", NULL, 'l'}};

    const json_t *head = summary->bundle->head;
    char name[128];

    s->name = "short";
    s->title = section_text(
        s, "%s, %.10s, gpufloor %.7s",
        bundle_fact(summary->bundle, "gpu", "name", name, sizeof name, summary->bundle->name),
        document_get_text(head, "started", "undated"),
        document_get_text(json_object_get(head, "suite"), "commit", "unknown"));
    section_grid(s, columns, 3);
    if (bundle_gpus(summary->bundle) > 1) {
        links_short(summary, s);
        return;
    }
    put_memory(s, summary);
    put_steps(s, summary);
    put_product(s, summary);
    put_fused(s, summary);
    tell_product(s, summary);
    tell_fusion(s, summary);
    tell_claims(s, summary);
}
