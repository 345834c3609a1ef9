/* 5 SMALL PRODUCT: 1024^3, by every way that was measured; and what its time is made of. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/claims/block_count.h"
#include "report/page/sections.h"

#define SMALL "small_gemm.time{" CUBE_KEYS
#define PEER "peers.time{" CUBE_KEYS

enum { WGMMA, MMA, MMA_BEST, CUBLAS, CUBLASLT, TORCH, TUNED, FORCED, METRICS, TRITON = METRICS + 11,
       WAVES };
const char *const small_needs[] = {
    [WGMMA] = "block_count.time{" CUBE_KEYS "impl=wgmma,*resident=max,l2=warm,*}",
    [MMA] = "block_count.time{" CUBE_KEYS "impl=mma,*resident=max,l2=warm,*}",
    [MMA_BEST] = SMALL "impl=mma,*l2=warm,*}",
    [CUBLAS] = SMALL "impl=cublas,*l2=warm,*}",
    [CUBLASLT] = "gemm_sizes.time{" CUBE_KEYS "impl=cublaslt,tile=best,l2=warm,*}",
    [TORCH] = PEER "impl=torch,tile=auto,l2=warm,*}",
    [TUNED] = PEER "impl=triton,tile=tuned,l2=warm,*}",
    [FORCED] = PEER "impl=triton,tile=forced,l2=warm,*}",
    /* beside these times */
    [METRICS] = "*.blocks{" CUBE_KEYS "*}",
    "*.idle_sms{" CUBE_KEYS "*}",
    "*.blocks_on_busiest_sm{" CUBE_KEYS "*}",
    "block_count.tiles_on_busiest_sm{" CUBE_KEYS "*}",
    "block_count.operand_bytes{" CUBE_KEYS "*}",
    "block_count.products_share{" CUBE_KEYS "*}",
    "block_count.warps{" CUBE_KEYS "*}",
    "block_count.first_data{" CUBE_KEYS "*}",
    "block_count.fetched{" CUBE_KEYS "*}",
    "block_count.products_done{" CUBE_KEYS "*}",
    "block_count.end{" CUBE_KEYS "*}",
    [TRITON] = PEER "impl=triton,tile=*x*,l2=warm,*}",
    [WAVES] = "block_count.time{m=4096,n=2048,k=1024,type=fp16,*tiles=*,resident=max,l2=warm,*}",
    NULL,
};

static const double FLOPS = 2.0 * 1024 * 1024 * 1024;
enum { LINES_MOST = 12, OWN_MOST = 64 };

/* A line of the table. */
struct line {
    const char *name, *tile;
    struct number time, cold, blocks, idle, busiest;
    bool is_counted; /* its SMs are known by hardware counters */
};

/* --- rows ------------------------------------------------------------------------------------- */

static struct number beside(const struct rows *rows, const struct row *time, const char *metric,
                            const char *key, const char *value)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s.%s", time->probe, metric);
    return number_of(rows_beside(rows, time, whole, key, value));
}

/* Of one product, by hardware counters; none where other kernels were counted. */
static struct number counted(const struct bundle *bundle, const struct row *time,
                             const char *figure)
{
    char id[DOCUMENT_ID + 32];
    snprintf(id, sizeof id, "%s of %s", figure, time->id);
    const struct row *row = rows_find(&bundle->counted, id);
    return number_of(row && !row->stale ? row : NULL);
}

/* A closed library's blocks have no census. Counters tell how many blocks an SM had at least and at
 * most, as means over the products of a pass. Where each had one or more, none is idle. Where one
 * had none and none had more than one, as many are idle as there are SMs more than blocks. Else it
 * is not known. */
static void count_sms(struct line *line, const struct bundle *bundle, const struct row *time,
                      double n_sm)
{
    const struct number all = counted(bundle, time, "blocks");
    const struct number least = counted(bundle, time, "blocks_least");
    const struct number most = counted(bundle, time, "blocks_most");

    if (number_there(&line->idle) || !number_there(&all) || !number_there(&least))
        return;
    if (least.value >= 1)
        line->idle = number_formed(0, "count", &least);
    else if (least.value == 0 && most.value == 1)
        line->idle = number_formed(n_sm - all.value, "count", &least);
    line->is_counted = number_there(&line->idle);
}

static struct line line_of(const struct bundle *bundle, double n_sm, const struct row *time,
                           const char *name, const char *tile)
{
    const struct rows *rows = &bundle->rows;
    struct line line = {.name = name,
                        .tile = tile,
                        .time = number_of(time),
                        .cold = beside(rows, time, "time", "l2", "cold"),
                        .blocks = beside(rows, time, "blocks", NULL, NULL),
                        .idle = beside(rows, time, "idle_sms", NULL, NULL),
                        .busiest = beside(rows, time, "blocks_on_busiest_sm", NULL, NULL)};
    count_sms(&line, bundle, time, n_sm);
    return line;
}

/* How the tiles of a row of block_count reach the SMs; each way has lines of its own. */
enum way { ONE_TILE, SPLIT, PERSISTENT, STREAM };
static enum way way_of(const struct row *row)
{
    char grid[24], split[16], tile[48];

    row_key(row, "grid", grid, sizeof grid);
    row_key(row, "split", split, sizeof split);
    row_key(row, "tile", tile, sizeof tile);
    return strstr(tile, "_stream")                    ? STREAM
           : strstr(tile, "_persistent")              ? PERSISTENT
           : *grid && strcmp(grid, "tiles")           ? PERSISTENT
           : *split && strcmp(split, "1")             ? SPLIT
                                                      : ONE_TILE;
}

/* The first round's value: what chooses the best of several, so that all rounds still measure
 * it. */
static double first_of(const struct row *row)
{
    return row->n > 0 ? row->value[0] : (double)NAN;
}

/* Is it the fastest of its way and, one tile a block, of its number of blocks? */
static bool is_best(const struct rows *rows, const char *glob, const struct row *row)
{
    const struct row *other;
    const struct number blocks = beside(rows, row, "blocks", NULL, NULL);

    for (size_t next = 0; (other = rows_match(rows, glob, &next));) {
        const struct number others = beside(rows, other, "blocks", NULL, NULL);
        if (other == row || !row_usable(other) || way_of(other) != way_of(row) ||
            (way_of(row) == ONE_TILE && others.value != blocks.value))
            continue;
        if (first_of(other) < first_of(row))
            return false;
    }
    return true;
}

static size_t take_own(struct section *section, const struct summary *summary, int need,
                       struct line *lines)
{
    const struct rows *rows = &summary->bundle->rows;
    const struct row *row;
    char tile[48], split[16];
    size_t n = 0;

    for (size_t next = 0; n < OWN_MOST && (row = rows_match(rows, small_needs[need], &next));) {
        if (!row_usable(row) || !is_best(rows, small_needs[need], row))
            continue;
        row_key(row, "tile", tile, sizeof tile);
        row_key(row, "split", split, sizeof split);
        lines[n++] = line_of(summary->bundle, summary_sms(summary), row,
                             need == WGMMA ? "ours, wgmma" : "ours, mma.sync",
                             section_text(section, "%s", tile));
    }
    return n;
}

/* A way of others: from this bundle or, of another card of this board, from the committed one. */
static size_t take_other(const struct summary *summary, int need, const char *name,
                         const char *tile, struct line *line)
{
    const struct number time = summary_take(summary, small_needs[need], PICK_FIRST);
    const struct bundle *bundle = summary->bundle;
    const struct row *row = number_there(&time) ? rows_find(&bundle->rows, time.id) : NULL;

    if (!number_there(&time))
        return 0;
    if (!row && summary->committed) {
        bundle = summary->committed;
        row = rows_find(&bundle->rows, time.id);
    }
    if (!row)
        return 0;
    *line = line_of(bundle, summary_sms(summary), row, name, tile);
    line->time.quoted = line->cold.quoted = line->blocks.quoted = time.quoted;
    line->idle.quoted = line->busiest.quoted = time.quoted;
    return 1;
}

static int by_time(const void *a, const void *b)
{
    const double x = ((const struct line *)a)->time.value, y = ((const struct line *)b)->time.value;
    return (x > y) - (x < y);
}

static bool is_own(const struct line *line)
{
    return !strncmp(line->name, "ours", 4);
}

/* Of too many lines our slowest are left out; those of others stay. */
static size_t cut(struct line *lines, size_t n)
{
    for (size_t i = n; n > LINES_MOST && i-- > 0;)
        if (is_own(&lines[i])) {
            memmove(&lines[i], &lines[i + 1], (n - i - 1) * sizeof *lines);
            n--;
        }
    return n;
}

static size_t take_all(struct section *section, const struct summary *summary, struct line *lines)
{
    const struct rows *rows = &summary->bundle->rows;
    size_t n = take_own(section, summary, WGMMA, lines);
    struct row best;

    if (n == 0)
        n = take_own(section, summary, MMA, lines);
    else if (rows_pick(rows, small_needs[MMA_BEST], &best)) {
        char tile[48];
        row_key(&best, "tile", tile, sizeof tile);
        lines[n++] = line_of(summary->bundle, summary_sms(summary), rows_find(rows, best.id),
                             "ours, mma.sync", section_text(section, "%s", tile));
    }
    n += take_other(summary, CUBLAS, "cuBLAS", "its choice", &lines[n]);
    n += take_other(summary, CUBLASLT, "cuBLASLt", "best of all", &lines[n]);
    n += take_other(summary, TORCH, "PyTorch", "its choice", &lines[n]);
    n += take_other(summary, TUNED, "Triton, tuned", "its choice", &lines[n]);
    n += take_other(summary, FORCED, "Triton, blocks >= SMs", "best of those", &lines[n]);
    qsort(lines, n, sizeof *lines, by_time);
    return cut(lines, n);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct column columns[] = {
    {NULL, "implementation", NULL, 'l'}, {NULL, "tile", NULL, 'l'}, {NULL, "blocks", "", 'r'},
    {"idle", "SMs", "", 'r'},            {"busiest", "SM has", "", 'r'},
    {"us", "warm", "us", 'r'},           {"us", "cold", "us", 'r'},
    {"TFLOP/s", "warm", "TFLOP/s", 'r'}, {"over", "best", "x", 'r'}};

static void put_table(struct section *section, const struct line *lines, size_t n)
{
    struct grid *grid = section_grid(section, columns, sizeof columns / sizeof columns[0]);
    struct series *series = section_series(section, "time over blocks", "blocks");
    const struct number *best = NULL;

    for (size_t i = 0; i < n; i++) {
        const struct line *line = &lines[i];
        const struct number rate = number_formed(FLOPS * 1e9 / line->time.value, "flop/s",
                                                 &line->time);
        if (!best && !line->time.quoted)
            best = &line->time;
        grid_text(grid, line->name);
        grid_text(grid, line->tile);
        grid_number(grid, &line->blocks);
        grid_number(grid, &line->idle);
        grid_number(grid, &line->busiest);
        grid_number(grid, &line->time);
        grid_number(grid, &line->cold);
        grid_number(grid, &rate);
        const struct number over =
            best ? number_formed(line->time.value / best->value, "ratio", &line->time)
                 : number_none();
        grid_number(grid, &over);
        if (number_there(&line->blocks))
            series_put(series, line->blocks.value, &line->time,
                       section_text(section, "%s %s", line->name, line->tile));
    }
}

/* --- the answer ------------------------------------------------------------------------------- */

/* The best with fewer blocks than SMs and the best with as many or more, of one kernel. */
struct answer {
    struct row few, many, ratio; /* ratio: time of many over time of few */
    bool few_win, many_win;      /* by what C24 lets count */
    char tile[2][48];
};

static double at(const struct bundle *bundle, const struct row *time, const char *metric)
{
    return beside(&bundle->rows, time, metric, NULL, NULL).value;
}

static void say_choice(struct section *section, const struct bundle *bundle,
                       const struct answer *a)
{
    const double blocks[2] = {at(bundle, &a->few, "blocks"), at(bundle, &a->many, "blocks")};
    const double longer = a->ratio.centre - 1;

    if (a->few_win)
        section_note(section,
                     "Use %.0f blocks. %.0f of %s give every SM work and take %.0f %% longer.",
                     blocks[0], blocks[1], a->tile[1], 100 * longer);
    else if (a->many_win)
        section_note(section,
                     "Use %.0f blocks of %s. %.0f of %s leave SMs idle and take %.0f %% longer.",
                     blocks[1], a->tile[1], blocks[0], a->tile[0], 100 * (1 / a->ratio.centre - 1));
    else
        section_note(section, "%.0f blocks of %s and %.0f of %s take the same time within %.0f %%.",
                     blocks[0], a->tile[0], blocks[1], a->tile[1], 100 * fmax(fabs(longer), 0.01));
}

/* What idle SMs cost at most, beside what the other choice costs. */
static void say_idle(struct section *section, const struct cube_cost *cost, const struct answer *a)
{
    const double gap = a->many.centre - a->few.centre;

    if (!(cost->idle_sms > 0))
        return;
    if (gap > 0)
        section_go_on(section,
                     "The %.0f idle SMs cost %.2f us at most, their share.", cost->idle_sms,
                     cost->idle_ns / 1e3);
    else
        section_go_on(section,
                     "The %.0f idle SMs cost %.2f us at most, their share: %s of the difference of "
                     "%.2f us.",
                     cost->idle_sms, cost->idle_ns / 1e3,
                     cost->idle_ns >= -gap / 2 ? "half or more" : "less than half", -gap / 1e3);
}

static double area(const char *tile)
{
    int m = 0, n = 0;
    return sscanf(tile, "%dx%d", &m, &n) == 2 ? (double)m * n : (double)NAN;
}

/* Why the smaller tiles take longer: operands, waiting, warps; each where the rows show it. */
static void say_why(struct section *section, const struct bundle *bundle, const struct answer *a)
{
    const double tiles[2] = {at(bundle, &a->few, "tiles_on_busiest_sm"),
                             at(bundle, &a->many, "tiles_on_busiest_sm")};
    const double bytes = at(bundle, &a->many, "operand_bytes") /
                         at(bundle, &a->few, "operand_bytes");
    const double waits[2] = {1 - at(bundle, &a->few, "products_share"),
                             1 - at(bundle, &a->many, "products_share")};
    const double warps[2] = {at(bundle, &a->few, "warps"), at(bundle, &a->many, "warps")};

    if (tiles[0] * area(a->tile[0]) == tiles[1] * area(a->tile[1]))
        section_go_on(section,
                     "The busiest SM computes the same: %.0f tile%s of %s or %.0f of %s.",
                     tiles[0], tiles[0] == 1 ? "" : "s", a->tile[0], tiles[1], a->tile[1]);
    if (bytes > 1.01 && waits[1] > waits[0])
        section_go_on(section,
                     "The smaller tiles fetch %.0f %% more operands; waiting for them takes "
                     "%.0f %% of their time, not %.0f %%.",
                     100 * (bytes - 1), 100 * waits[1], 100 * waits[0]);
    if (warps[0] > 0 && warps[1] > 0)
        section_go_on(section,
                      warps[1] >= warps[0]
                          ? "They do not lack warps: %.0f on the busiest SM, not %.0f."
                          : "They have fewer warps: %.0f on the busiest SM, "
                            "not %.0f.",
                      warps[1], warps[0]);
}

static void say_fixed(struct section *section, const struct cube_cost *cost)
{
    const double wave = cost->wave[1].centre / cost->wave[0].centre - 1;
    const struct number whole = number_of(&cost->whole);
    const struct number over = number_of(&cost->wave[1]); /* by one tile */
    const struct number longer = number_formed(wave, "ratio", &over);
    const bool is_positive = cost->fixed[0].centre > 0;
    struct series *at_none = is_positive ? section_series(section, "fixed cost", "part") : NULL;

    for (size_t i = 0; at_none && i < 2; i++) {
        const struct number fixed = number_formed(cost->fixed[i].centre, "ns", &whole);
        series_put(at_none, (double)i, &fixed, NULL);
    }
    if (isfinite(wave))
        series_put(section_series(section, "one tile more than SMs", "part"), 0, &longer, NULL);

    if (is_positive)
        section_go_on(
            section,
            "%.2f to %.2f of the %.2f us of 128x64 do not grow with k (lines over k = 512, 1024, "
            "2048): the fixed cost. In a larger product one tile more than SMs takes %.0f %% "
            "longer.",
            cost->fixed[0].centre / 1e3, cost->fixed[1].centre / 1e3, cost->whole.centre / 1e3,
            100 * wave);
}

/* The times at which one block has come so far, in its cycles at the clock of its case. */
static void say_block(struct section *section, const struct bundle *bundle, const struct row *time)
{
    static const char *const metrics[] = {"first_data", "fetched", "products_done", "end"};
    double us[4];

    for (size_t i = 0; i < 4; i++)
        us[i] = at(bundle, time, metrics[i]) / time->clock_mhz;
    if (isfinite(us[0] + us[1] + us[2] + us[3]))
        section_note(section,
                     "A block of 128x64: first operands at %.2f us, last copy %.2f, last product "
                     "%.2f, C stored %.2f.",
                     us[0], us[1], us[2], us[3]);
}

static void find(struct section *section, const struct bundle *bundle, double n_sm,
                 const struct answer *a)
{
    const double blocks[2] = {at(bundle, &a->few, "blocks"), at(bundle, &a->many, "blocks")};
    const double idle = at(bundle, &a->few, "idle_sms");
    const struct row *const rows[] = {&a->few, &a->many};

    for (size_t i = 0; i < 2; i++) {
        const struct number of = beside(&bundle->rows, rows[i], "blocks", NULL, NULL);
        const struct number left = beside(&bundle->rows, rows[i], "idle_sms", NULL, NULL);
        section_rests_on(section, rows[i]);
        section_rests(section, &of);
        section_rests(section, &left);
    }
    const struct number sms = number_fact(n_sm, "count");
    section_rests(section, &sms);
    if (a->few_win)
        section->finding = section_text(section,
                                        "1024^3 fp16: %.0f blocks beat %.0f, although %.0f of the "
                                        "%.0f SMs stand idle.",
                                        blocks[0], blocks[1], idle, n_sm);
    else if (a->many_win)
        section->finding = section_text(
            section, "1024^3 fp16: %.0f blocks are fastest and keep every SM busy.", blocks[1]);
    else
        section->finding = section_text(
            section, "1024^3 fp16: %.0f and %.0f blocks take the same time.", blocks[0], blocks[1]);
}

/* Where the rows do not tell fewer blocks from more. */
static void find_fastest(struct section *section, const struct line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!lines[i].time.quoted) {
            section_rests(section, &lines[i].time);
            section->finding =
                section_text(section, "1024^3 fp16 takes %s at best: %s%s%s.",
                             section_say(section, &lines[i].time, NULL), lines[i].name,
                             is_own(&lines[i]) ? " " : "", is_own(&lines[i]) ? lines[i].tile : "");
            return;
        }
}

/* --- the figures ------------------------------------------------------------------------------ */

/* The fastest of each number of blocks, one tile a block. */
static void draw_blocks(struct section *section, const struct summary *summary, int need,
                        const char *name)
{
    struct series *series = section_series(section, name, "blocks");
    const struct rows *rows = &summary->bundle->rows;
    const struct row *row;
    size_t next = 0;
    char tile[48];

    if (!rows_match(rows, small_needs[need], &next) && summary->committed)
        rows = &summary->committed->rows;
    for (next = 0; (row = rows_match(rows, small_needs[need], &next));) {
        row_key(row, "tile", tile, sizeof tile);
        if (!row_usable(row) || (need == WGMMA && way_of(row) != ONE_TILE) ||
            !is_best(rows, small_needs[need], row))
            continue;
        const struct number time = summary_take(summary, row->id, PICK_FIRST);
        const struct number blocks = beside(rows, row, "blocks", NULL, NULL);
        if (number_there(&time) && number_there(&blocks))
            series_put(series, blocks.value, &time, section_text(section, "%s", tile));
    }
}

/* Tiles in order, so that one wave of blocks and one tile more stand beside each other. */
static void draw_waves(struct section *section, const struct summary *summary)
{
    static const char *const tiles[] = {"96", "128", "sm", "sm+1", "2sm", "2sm+1"};
    const double n_sm = summary_sms(summary);
    const double at[] = {96, 128, n_sm, n_sm + 1, 2 * n_sm, 2 * n_sm + 1};
    struct series *series = section_series(section, "time over tiles", "tiles");
    const struct row *row;
    char held[24];

    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        for (size_t next = 0;
             (row = rows_match(&summary->bundle->rows, small_needs[WAVES], &next));) {
            row_key(row, "tiles", held, sizeof held);
            if (strcmp(held, tiles[i]) || !row_usable(row))
                continue;
            const struct number time = number_of(row);
            series_put(series, at[i], &time, tiles[i]);
            break;
        }
}

/* Where the time of a product goes, seen from one block: what passes from mark to mark. */
static void draw_block(struct section *section, const struct bundle *bundle, const char *name,
                       const struct row *time)
{
    static const char *const marks[] = {"first_data", "fetched", "products_done", "end"};
    static const char *const phases[] = {"first operands", "fetch and multiply", "last products",
                                         "store", "until the next starts"};
    const struct number whole = number_of(time);
    struct series *series = section_series(section, name, "part");
    double before = 0, until[5];
    char tile[48];

    for (size_t i = 0; i < 4; i++)
        until[i] = 1e3 * at(bundle, time, marks[i]) / time->clock_mhz;
    until[4] = time->centre;
    if (!isfinite(until[0] + until[1] + until[2] + until[3]))
        return;
    for (size_t i = 0; i < 5; before = until[i++]) {
        const struct number part = number_formed(until[i] - before, "ns", &whole);
        series_put(series, (double)i, &part, phases[i]);
    }
    row_key(time, "tile", tile, sizeof tile);
    series_put(series, 5, &whole,
               section_text(section, "%.0f blocks of %s", at(bundle, time, "blocks"), tile));
}

/* The same functions form these numbers for the ledger's C24b. */
static void answer(struct section *section, const struct summary *summary)
{
    const struct bundle *bundle = summary->bundle;
    struct finding f = {.claim = claim_find("C24b")};
    struct answer a = {.few_win = false};
    struct cube_cost cost;
    size_t next = 0;
    const enum cube_kernel kernel = rows_match(&bundle->rows, small_needs[WGMMA], &next)
                                        ? CUBE_BY_WGMMA
                                        : CUBE_BY_MMA;

    if (!f.claim || !cube_best(bundle, kernel, CUBE_FEW, false, &a.few, &f) ||
        !cube_best(bundle, kernel, CUBE_MANY, false, &a.many, &f))
        return;
    a.ratio = rule_ratio(&f, &a.many, &a.few);
    const struct row back = rule_ratio(&f, &a.few, &a.many);
    a.few_win = cube_slower(&a.ratio, &f) == CLAIM_REPRODUCED;
    a.many_win = cube_slower(&back, &f) == CLAIM_REPRODUCED;
    row_key(&a.few, "tile", a.tile[0], sizeof a.tile[0]);
    row_key(&a.many, "tile", a.tile[1], sizeof a.tile[1]);
    find(section, bundle, summary_sms(summary), &a);
    say_choice(section, bundle, &a);
    section->answer = section->n_notes;
    draw_block(section, bundle, "a block of few", rows_find(&bundle->rows, a.few.id));
    draw_block(section, bundle, "a block of many", rows_find(&bundle->rows, a.many.id));
    struct finding ignored = rule_aside(&f);
    const bool has_cost = kernel == CUBE_BY_WGMMA && cube_cost(bundle, &cost, &ignored);
    if (has_cost)
        say_idle(section, &cost, &a);
    if (a.few_win)
        say_why(section, bundle, &a);
    if (has_cost)
        say_fixed(section, &cost);
    say_block(section, bundle, rows_find(&bundle->rows, a.few.id));
}

void section_small(const struct summary *summary, struct section *section)
{
    struct line lines[OWN_MOST + METRICS + 1];
    const size_t n = take_all(section, summary, lines);
    bool is_quoted = false, is_ours = false, is_counted = false;

    section->name = "small";
    section->title = "SMALL PRODUCT";
    if (n == 0) {
        section_missing(section, summary, small_needs[MMA]);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        is_quoted = is_quoted || lines[i].time.quoted;
        is_ours = is_ours || is_own(&lines[i]);
        is_counted = is_counted || lines[i].is_counted;
    }
    put_table(section, lines, n);
    if (is_ours || is_quoted)
        section_note(section, "%s%s%s", is_ours ? "ours: gpufloor's kernels." : "",
                 is_ours && is_quoted ? " " : "",
                 is_quoted ? "\u2020 another card: shown, not ranked." : "");
    if (is_counted)
        section_go_on(section, "Idle SMs of a library: by counters.");
    draw_blocks(section, summary, WGMMA, "ours, wgmma");
    draw_blocks(section, summary, MMA_BEST, "ours, mma.sync");
    draw_blocks(section, summary, TRITON, "Triton");
    draw_waves(section, summary);
    answer(section, summary);
    if (!section->finding)
        find_fastest(section, lines, n);
    section_doubts(section);
    section->claims = "C20 C21 C22 C23 C24 C25 C26 C27";
}
