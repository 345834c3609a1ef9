/* The head: what the board is, and whether its numbers are those of such a board. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "core/stat.h"
#include "core/text.h"
#include "report/bundle/folder.h"
#include "report/bundle/machine.h"
#include "report/cli/compare.h"
#include "report/cli/headline.h"
#include "report/page/sections.h"

enum { WAIT, LOAD_SHARED, LOAD_L1, MULTIPLY_ADD };
const char *const verdict_needs[] = {
    [WAIT] = "spin.waited{asked=200000}",
    [LOAD_SHARED] = "memory_latency.load{level=shared}",
    [LOAD_L1] = "memory_latency.load{level=l1}",
    [MULTIPLY_ADD] = "instructions.latency{op=fma,type=fp32}",
    NULL,
};

/* of the committed results; more where cards scatter more */
static const double WITHIN = 0.03;
static const double WORSE = 0.10;       /* of a number that makes a card unlike its board */
static const double NORMAL_SHARE = 0.95; /* of the numbers, within */
static const double SPIN_OFF = 0.005, DISAGREEING = 0.05;
static const double SAME_CYCLES = 0.01, PINS_REACHED = 0.90; /* of a new board */
static const double CLOCK_LOW = 0.99;   /* of the largest clock */
enum { NVLINKS_MOST = 1000 }; /* no GPU has so many */
enum { NUMBERS_MOST = 64, UNLIKE_SHOWN = 3, ASKED_CYCLES = 200000 };

/* --- the machine ------------------------------------------------------------------------------ */

static const char *fact(const struct summary *summary, const char *part, const char *key,
                        char *text, size_t size)
{
    return bundle_fact(summary->bundle, part, key, text, size, "?");
}

static bool has_gpu(const struct summary *summary)
{
    char name[160];
    return *bundle_fact(summary->bundle, "gpu", "name", name, sizeof name, "") != '\0';
}

static void say_gpu(struct section *section, const struct summary *summary)
{
    char line[400] = "", a[160], b[48];
    const struct number l2 = number_fact(summary_fact(summary, "l2_bytes"), "bytes");
    const struct number memory = number_fact(summary_fact(summary, "memory_bytes"), "bytes");
    const struct number pins = number_fact(summary_pins(summary), "bytes/s");
    const double limit = summary_fact(summary, "power_limit_w");

    text_append(line, sizeof line, "%.80s | %.0f SMs", fact(summary, "gpu", "name", a, sizeof a),
           summary_sms(summary));
    if (isfinite(summary_clock_mhz(summary)))
        text_append(line, sizeof line, " at %.0f MHz", summary_clock_mhz(summary));
    text_append(line, sizeof line, ", cc %.8s", fact(summary, "gpu", "cc", b, sizeof b));
    if (number_there(&l2))
        text_append(line, sizeof line, " | L2 %s", section_say(section, &l2, NULL));
    if (number_there(&memory))
        text_append(line, sizeof line, " | %s %s", summary_memory_name(summary),
               section_say(section, &memory, NULL));
    if (number_there(&pins))
        text_append(line, sizeof line, ", pins %s", section_say(section, &pins, NULL));
    if (isfinite(limit))
        text_append(line, sizeof line, " | limit %.0f W", limit);
    section_line(section, line);
}

static void say_software(struct section *section, const struct summary *summary)
{
    const json_t *head = summary->bundle->head, *suite = json_object_get(head, "suite");
    const double elapsed = document_get_number(head, "elapsed_s");
    char line[400] = "", a[80], b[80];

    if (has_gpu(summary))
        text_append(line, sizeof line, "driver %.30s, CUDA %.12s | ",
               fact(summary, "driver", "version", a, sizeof a),
               fact(summary, "runtime", "cuda", b, sizeof b));
    text_append(line, sizeof line, "%.10s, %d round%s",
           document_get_text(head, "started", "undated"), summary->bundle->n_rounds,
           summary->bundle->n_rounds == 1 ? "" : "s");
    if (isfinite(elapsed))
        text_append(line, sizeof line, " in %.1f minutes", elapsed / 60);
    text_append(line, sizeof line, "%s | gpufloor %.20s, commit %.7s%s",
           json_is_false(json_object_get(head, "complete")) ? ", not complete" : "",
           document_get_text(suite, "version", "?"), document_get_text(suite, "commit", "unknown"),
           json_is_true(json_object_get(suite, "dirty")) ? "+" : "");
    const size_t n = bundle_n_others(summary->bundle);
    if (n > 0)
        text_append(line, sizeof line,
                    "; %zu of %zu programs by other commits or on other cards: --all", n,
                    summary->bundle->n_parts);
    section_line(section, line);
}

static void say_machine(struct section *section, const struct summary *summary)
{
    char cpu[160];

    if (has_gpu(summary))
        say_gpu(section, summary);
    else
        section_line(section,
                     section_text(section, "%.80s | no GPU",
                                  fact(summary, "host", "cpu", cpu, sizeof cpu)));
    say_software(section, summary);
}

/* --- against the committed results ------------------------------------------------------------ */

struct judged {
    const char *label;
    struct row own, committed;
    double ratio, tau;
};

struct against {
    struct judged number[NUMBERS_MOST];
    size_t n, n_within, n_itself; /* itself: measured by the committed bundle that is reported */
    bool is_far;                  /* one is worse by 10 % */
    size_t cards;
};

static bool is_same_measurement(const struct summary *summary, const char *probe)
{
    const struct part *own = bundle_part(summary->bundle, probe);
    const struct part *committed = bundle_part(summary->committed, probe);
    return own && committed && own->from && committed->from && own->card && committed->card &&
           !strcmp(own->from, committed->from) && !strcmp(own->card, committed->card);
}

/* Off by how much, and by how much it may be: compare_rows() has the rule. */
static bool judge(struct judged *judged, const struct spread *spread)
{
    const struct comparison c = compare_rows(&judged->committed, &judged->own, IS_IT_NORMAL, spread,
                                             WITHIN);
    judged->ratio = c.ratio;
    judged->tau = judged->own.better == ROW_EXACT || isnan(c.tau) ? WITHIN : c.tau;
    return isfinite(c.ratio);
}

static bool is_off(const struct judged *judged)
{
    return fabs(judged->ratio - 1) > judged->tau;
}

static bool is_worse(const struct judged *judged)
{
    return judged->own.better == ROW_HIGHER ? judged->ratio < 1 : judged->ratio > 1;
}

static void take_numbers(const struct summary *summary, struct against *v)
{
    const struct headline *headline;

    for (size_t i = 0; (headline = headline_at(i)) && v->n < NUMBERS_MOST; i++) {
        struct judged *judged = &v->number[v->n];
        *judged = (struct judged){.label = headline->label};
        if (headline->kind == HEADLINE_HOST ||
            !headline_row(headline, &summary->bundle->rows, &judged->own) ||
            !headline_row(headline, &summary->committed->rows, &judged->committed) ||
            !row_usable(&judged->own) || !row_usable(&judged->committed))
            continue;
        if (is_same_measurement(summary, judged->own.probe)) {
            v->n_itself++;
            continue;
        }
        v->n += judge(judged, &SPREAD_UNKNOWN);
    }
}

/* Where a number is off, how much cards of this board differ decides, where several are known. */
static void weigh_by_cards(const struct summary *summary, struct against *v)
{
    struct history history;
    char why[DOCUMENT_WHY];
    size_t sets;

    if (!summary->results ||
        !history_open(&history, summary->results, NULL, summary->bundle, why))
        return;
    history_count(&history, &sets, &v->cards);
    for (size_t i = 0; i < v->n; i++)
        if (is_off(&v->number[i])) {
            const struct spread spread = history_spread(&history, &v->number[i].own);
            judge(&v->number[i], &spread);
        }
    history_close(&history);
}

static void compare(const struct summary *summary, struct against *v)
{
    bool any_off = false;

    take_numbers(summary, v);
    for (size_t i = 0; i < v->n; i++)
        any_off = any_off || is_off(&v->number[i]);
    if (any_off)
        weigh_by_cards(summary, v);
    for (size_t i = 0; i < v->n; i++) {
        const struct judged *judged = &v->number[i];
        v->n_within += !is_off(judged);
        v->is_far = v->is_far || (is_off(judged) && is_worse(judged) &&
                                  fabs(judged->ratio - 1) > WORSE);
    }
}

static void put(struct grid *grid, const char *key, const char *text)
{
    grid_text(grid, key);
    grid_text(grid, text);
}

static void say_unlike(struct section *section, const struct summary *summary, struct grid *grid,
                       const struct against *v)
{
    size_t shown = 0, n_off = v->n - v->n_within;

    for (size_t i = 0; i < v->n && shown < UNLIKE_SHOWN; i++) {
        const struct judged *judged = &v->number[i];
        const struct number own = number_of(&judged->own);
        const struct number committed = number_of(&judged->committed);
        const bool is_rate = judged->own.better == ROW_HIGHER;
        if (!is_off(judged))
            continue;
        put(grid, shown++ ? "" : "unlike",
            section_text(section, "%s: %s, committed %s (%.0f %% %s)",
                         section_label(section, summary, judged->label),
                         section_say(section, &own, NULL), section_say(section, &committed, NULL),
                         100 * fabs(judged->ratio - 1),
                         is_worse(judged) == is_rate ? "less" : "more"));
    }
    if (n_off > shown)
        put(grid, "", section_text(section, "and %zu more: gpufloor compare", n_off - shown));
}

/* --- a new board ------------------------------------------------------------------------------ */

/* The newest bundle of a committed board of one GPU and the same compute capability. */
static bool open_sibling(const struct summary *summary, struct bundle *sibling)
{
    size_t n_boards = 0, n = 0;
    char why[DOCUMENT_WHY], cc[16], own[16], folder[PATH_MAX];
    char **boards = summary->results ? folders_in(summary->results, &n_boards) : NULL;
    bool found = false;

    fact(summary, "gpu", "cc", own, sizeof own);
    for (size_t i = 0; i < n_boards && !found; i++) {
        snprintf(folder, sizeof folder, "%s", boards[i]);
        char **paths = paths_in(folder, &n);
        if (n > 0 && bundle_open(sibling, paths[n - 1], why)) {
            found = bundle_gpus(sibling) == 1 &&
                    !strcmp(bundle_fact(sibling, "gpu", "cc", cc, sizeof cc, "?"), own);
            if (!found)
                bundle_free(sibling);
        }
        paths_free(paths, n);
    }
    paths_free(boards, n_boards);
    return found;
}

/* "its cycles inside an SM are those of nvidia-h200": of a board of the same generation. */
static const char *against_sibling(struct section *section, const struct summary *summary)
{
    struct bundle sibling;
    const char *said = "";
    size_t same = 0, n = 0;

    if (!open_sibling(summary, &sibling))
        return said;
    const struct summary other = {.bundle = &sibling};
    for (int need = LOAD_SHARED; need <= MULTIPLY_ADD; need++) {
        const struct number own = summary_take(summary, verdict_needs[need], PICK_FIRST);
        const struct number there = summary_take(&other, verdict_needs[need], PICK_FIRST);
        if (!number_there(&own) || !number_there(&there))
            continue;
        n++;
        same += fabs(own.value / there.value - 1) <= SAME_CYCLES;
    }
    if (n > 0)
        said = section_text(section, " Of %zu latencies in cycles %zu are those of %.60s.", n, same,
                            sibling.name);
    bundle_free(&sibling);
    return said;
}

static void say_new(struct section *section, const struct summary *summary)
{
    const struct number read = summary_number(summary, "hbm-read");
    const double share = read.value / summary_pins(summary);

    section->title = "NEW BOARD";
    section->finding = section_text(
        section, "no committed results to compare with.%s%s", against_sibling(section, summary),
        isnan(share) ? ""
                     : section_text(section, " %s is read at %.0f %% of its pins%s",
                                    summary_memory_name(summary), 100 * share,
                                    share >= PINS_REACHED ? "." : ": less than 90 %."));
}

/* --- may it be relied on? --------------------------------------------------------------------- */

struct doubts {
    size_t n_checks, n_failed, n_runs, n_repeated, n_rows, n_disagree, n_missing;
    double spin; /* off, relative */
};

static struct doubts doubts_of(const struct summary *summary)
{
    const struct bundle *bundle = summary->bundle;
    const struct number wait = summary_take(summary, verdict_needs[WAIT], PICK_FIRST);
    struct doubts d = {.n_rows = bundle->rows.n, .spin = fabs(wait.value / ASKED_CYCLES - 1)};

    for (size_t i = 0; i < bundle->n_parts; i++) {
        const struct part *part = &bundle->parts[i];
        d.n_checks += part->n_checks;
        d.n_failed += part->n_checks_failed;
        d.n_runs += (size_t)part->n_runs;
        d.n_repeated += (size_t)part->n_repeats;
    }
    for (size_t i = 0; i < bundle->rows.n; i++) {
        d.n_disagree += bundle->rows.row[i].status == ROW_DISAGREE;
        d.n_missing += bundle->rows.row[i].status > ROW_DISAGREE;
    }
    return d;
}

/* NULL: it may. */
static const char *unreliable(struct section *section, const struct summary *summary,
                              const struct doubts *d)
{
    char why[300] = "";

    if (d->n_failed > 0)
        text_append(why, sizeof why, "; %zu of %zu checks failed", d->n_failed, d->n_checks);
    if (d->spin > SPIN_OFF)
        text_append(why, sizeof why, "; a wait of %d cycles is off by %.1f %%", ASKED_CYCLES,
               100 * d->spin);
    if (summary->bundle->n_rounds < ROW_RUNS_NEEDED)
        text_append(why, sizeof why, "; %d round%s, and a verdict needs %d",
                    summary->bundle->n_rounds, summary->bundle->n_rounds == 1 ? "" : "s",
                    ROW_RUNS_NEEDED);
    if ((double)d->n_disagree > DISAGREEING * (double)d->n_rows)
        text_append(why, sizeof why, "; %zu of %zu rows disagree from run to run", d->n_disagree,
               d->n_rows);
    return *why ? section_text(section, "%s.", why + 2) : NULL;
}

static void decide(struct section *section, const struct summary *summary, struct grid *grid,
                   const struct doubts *d)
{
    struct against v = {.n = 0};
    const char *why = unreliable(section, summary, d);

    if (summary->committed)
        compare(summary, &v);
    if (why) {
        section->title = "NOT RELIABLE";
        section->finding = why;
    } else if (summary->is_committed || v.n < v.n_itself) {
        section->title = "COMMITTED";
        section->finding = "these are the committed results of this board: others are compared "
                           "with them.";
    } else if (!summary->committed) {
        say_new(section, summary);
    } else if (v.n == 0) {
        section->title = "NOT COMPARED";
        section->finding = "it holds none of the numbers by which boards are compared.";
    } else {
        const bool is_normal =
            (double)v.n_within >= NORMAL_SHARE * (double)v.n && !v.is_far;
        section->title = is_normal ? "NORMAL" : "UNLIKE ITS BOARD";
        section->finding = section_text(
            section,
            "%zu of %zu numbers are within %.0f %%%s of the committed results of this board.",
            v.n_within, v.n, 100 * WITHIN, v.cards > 1 ? ", or what its cards differ by," : "");
    }
    say_unlike(section, summary, grid, &v);
}

/* --- clock, trust, gaps, host ----------------------------------------------------------------- */

/* The clock while times were taken: how often it was lower, and where lowest. */
static void say_clock(struct section *section, const struct summary *summary, struct grid *grid)
{
    const double most = fmax(summary_clock_mhz(summary), 1);
    const struct row *lowest = NULL;
    size_t n = 0, n_low = 0;

    for (size_t i = 0; i < summary->bundle->rows.n; i++) {
        const struct row *row = &summary->bundle->rows.row[i];
        if (strcmp(row->unit, "ns") || !(row->clock_mhz > 0))
            continue;
        n++;
        n_low += row->clock_mhz < CLOCK_LOW * most;
        lowest = !lowest || row->clock_mhz < lowest->clock_mhz ? row : lowest;
    }
    if (!isfinite(summary_clock_mhz(summary)) || n == 0)
        return;
    put(grid, "clock",
        n_low == 0
            ? section_text(section, "%.0f MHz throughout", most)
            : section_text(section,
                           "%.0f MHz; over 1 %% lower in %.0f %% of the times, %.0f MHz at worst "
                           "(%.40s)",
                           most, 100 * (double)n_low / (double)n, lowest->clock_mhz,
                           lowest->probe));
}

/* "18 of 18 NVLinks of each GPU, to a switch: 478 GB/s in each direction": of the GPU that has
 * least. */
static void say_links(struct section *section, const struct summary *summary, struct grid *grid)
{
    const json_t *environment = json_object_get(summary->bundle->head, "environment");
    const json_t *gpus = json_object_get(json_object_get(environment, "links"), "nvlinks");
    const json_t *gpu, *least = NULL;
    double up = INFINITY;
    size_t i;

    json_array_foreach(gpus, i, gpu)
        if (document_get_number(gpu, "up") < up) {
            least = gpu;
            up = document_get_number(gpu, "up");
        }
    const double n = document_get_number(least, "n");
    if (!least || !(up >= 0 && up <= NVLINKS_MOST && n >= 0 && n <= NVLINKS_MOST))
        return;
    const struct number all = number_fact(summary_links(summary), "bytes/s");
    put(grid, "links",
        section_text(
            section, "%.0f of %.0f NVLinks of each GPU are up%s%s%s", up, n,
            !strcmp(document_get_text(least, "far_end", ""), "switch") ? ", to a switch" : "",
            number_there(&all) ? section_text(section, ": %s", section_say(section, &all, NULL))
                               : "",
            number_there(&all) ? " in each direction, headers included" : ""));
}

/* A line only where the machine was not as it should be. */
static void say_states(struct section *section, const struct summary *summary, struct grid *grid)
{
    char text[MACHINE_TEXT];
    if (*machine_states(summary->bundle, text, sizeof text))
        put(grid, "state", section_text(section, "%s", text));
}

/* How far times and rates with an interval repeat: half of them stay within what it returns. The
 * series has the spread within which so many of a hundred stay. */
static double median_spread(const struct rows *rows, struct section *section)
{
    double *spreads = calloc(rows->n + 1, sizeof *spreads), median = NAN;
    size_t n = 0;

    for (size_t i = 0; spreads && i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        const bool is_time = !strcmp(row->unit, "ns") || !strcmp(row->unit, "cycles") ||
                             strstr(row->unit, "/s") || strstr(row->unit, "/cycle");
        if (is_time && row->better != ROW_EXACT && row->n >= ROW_RUNS_NEEDED && row->centre > 0)
            spreads[n++] = fmax(row->high - row->centre, row->centre - row->low) / row->centre;
    }
    if (n > 0) {
        struct series *series = section_series(section, "spread of the rows", "%");
        stat_sort(spreads, n);
        median = stat_median(spreads, n);
        for (int share = 5; share < 100; share += share < 90 ? 5 : 1) {
            const struct number spread =
                number_fact(spreads[(n - 1) * (size_t)share / 100], "ratio");
            series_put(series, share, &spread, NULL);
        }
    }
    free(spreads);
    return median;
}

static void say_trust(struct section *section, const struct summary *summary, struct grid *grid,
                      const struct doubts *d)
{
    const struct number wait = summary_take(summary, verdict_needs[WAIT], PICK_FIRST);
    const double spread = median_spread(&summary->bundle->rows, section);
    char text[300] = "";

    if (number_there(&wait))
        text_append(text, sizeof text, "; a wait of %d cycles reads %.0f", ASKED_CYCLES,
                    wait.value);
    if (d->n_checks > 0)
        text_append(text, sizeof text,
                    d->n_failed ? "; %zu checks, %zu failed" : "; %zu checks, none failed",
                    d->n_checks, d->n_failed);
    if (isfinite(spread))
        text_append(text, sizeof text, "; median spread %.2g %%", 100 * spread);
    if (*text)
        put(grid, "trust", section_text(section, "%s", text + 2));
}

static void say_gaps(struct section *section, struct grid *grid, const struct doubts *d)
{
    put(grid, "gaps",
        section_text(section,
                     "%zu of %zu runs repeated; of %zu rows %zu disagree, %zu missing: --gaps",
                     d->n_repeated, d->n_runs, d->n_rows, d->n_disagree, d->n_missing));
}

static void say_host(struct section *section, const struct summary *summary, struct grid *grid)
{
    static const char *const names[] = {"submit", "round-trip"};
    static const char *const labels[] = {"submit", "submit to done"};
    char text[300] = "";

    for (size_t i = 0; i < 2; i++) {
        const struct number time = summary_number(summary, names[i]);
        const double half = fmax(time.high - time.value, time.value - time.low) / time.value;
        if (!number_there(&time))
            continue;
        text_append(text, sizeof text, ", %s %s", labels[i], section_say(section, &time, NULL));
        if (isfinite(half))
            text_append(text, sizeof text, " (+-%.0f %%)", 100 * half);
    }
    if (*text)
        put(grid, "host",
            section_text(section, "not compared, it is the CPU: %s", text + 2));
}

void section_verdict(const struct summary *summary, struct section *section)
{
    static const struct column columns[] = {{NULL, "", NULL, 'l'}, {NULL, "", NULL, 'l'}};
    const struct doubts d = doubts_of(summary);

    section->name = "verdict";
    say_machine(section, summary);
    struct grid *grid = section_grid(section, columns, 2);
    if (summary->bundle->rows.n == 0) {
        section->title = "EMPTY";
        section->finding = "nothing was measured.";
    } else if (!has_gpu(summary)) {
        section->title = "NO GPU";
        section->finding = "only the host was measured: --all has its rows.";
    } else
        decide(section, summary, grid, &d);
    say_states(section, summary, grid);
    say_links(section, summary, grid);
    say_clock(section, summary, grid);
    say_trust(section, summary, grid, &d);
    say_gaps(section, grid, &d);
    say_host(section, summary, grid);
}
