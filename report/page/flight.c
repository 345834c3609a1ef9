/* 3 BYTES IN FLIGHT: what an SM must have asked for to fill the memory, and who asks. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/derive.h"
#include "report/bundle/derive_occupancy.h"
#include "report/page/sections.h"

enum { READS, PATHS };
const char *const flight_needs[] = {[READS] = "occupancy.read_rate{level=hbm,*}",
                                    [PATHS] = "occupancy.path_rate{level=hbm,*}", NULL};

enum { WAYS_MOST = 128, LINES_MOST = 15, BYTES_OF_A_LOAD = 32 * 16 };
static const double ENOUGH = 0.95; /* of the best rate */
static const double MOST = 0.90;   /* of it, which tells how much in flight it takes */

/* One way to read: so many warps on each SM, with so much in flight. */
struct way {
    const struct row *row;
    double bytes;
    int warps, loads; /* loads of a thread; 0: by a path, whose name is in `path` */
    char path[16];
};

static int whole(const struct row *row, const char *key)
{
    char text[24];
    return row_key(row, key, text, sizeof text) ? atoi(text) : 0;
}

static size_t take(const struct summary *summary, struct way *ways)
{
    const struct row *row;
    size_t n = 0;

    for (int need = READS; need <= PATHS; need++)
        for (size_t next = 0; n < WAYS_MOST && (row = rows_match(&summary->bundle->rows,
                                                                 flight_needs[need], &next));) {
            struct way way = {
                .row = row, .warps = whole(row, "warps"), .loads = whole(row, "loads")};
            if (!row_usable(row))
                continue;
            way.bytes = need == READS ? (double)way.warps * way.loads * BYTES_OF_A_LOAD
                                      : whole(row, "in_flight");
            row_key(row, "path", way.path, sizeof way.path);
            if (way.bytes > 0)
                ways[n++] = way;
        }
    return n;
}

/* By what is in flight, then the fastest first. */
static int by_bytes(const void *a, const void *b)
{
    const struct way *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->row->centre < y->row->centre) - (x->row->centre > y->row->centre);
}

/* What the lines above one show. */
struct above {
    double rate; /* the best */
    int warps;   /* the fewest that are nearly the best of all */
};

/* Is it the fastest of the ways with as much in flight, and faster than all with less; or nearly
 * the best of all, by a quarter of the warps above, unless fewer do with as much in flight; or that
 * of which the finding speaks? */
static bool is_shown(const struct way *ways, size_t i, double best, const struct above *above,
                     const struct way *fewest)
{
    const bool is_fastest = i == 0 || ways[i - 1].bytes != ways[i].bytes;
    const bool is_enough = ways[i].row->centre >= ENOUGH * best;
    const bool do_fewer =
        fewest && fewest->bytes == ways[i].bytes && fewest->warps < ways[i].warps;
    return (is_fastest && ways[i].row->centre > above->rate) ||
           (is_enough && !do_fewer && ways[i].warps <= above->warps / 4) || &ways[i] == fewest;
}

static const char *path_name(const char *path)
{
    return !strcmp(path, "bulk")       ? "bulk copies"
           : !strcmp(path, "cp_async") ? "cp.async copies"
           : !strcmp(path, "words")    ? "loads of 4 B"
                                       : "another path";
}

/* What the law says from the latency of an idle memory, up to what can be read. */
static struct number by_the_law(const struct summary *summary, const struct way *way)
{
    const struct number load = summary_number(summary, "hbm-load");
    const struct number most = summary_number(summary, "hbm-read");
    return number_formed(
        derive_little_rate(way->bytes, load.value, summary_sms(summary), most.value), "bytes/s",
        &load);
}

static void put(struct section *section, struct grid *grid, const struct summary *summary,
                const struct way *way, double best)
{
    const struct number rate = number_of(way->row);
    const struct number bytes = number_formed(way->bytes, "bytes", &rate);
    const struct number share = number_formed(rate.value / best, "ratio", &rate);
    const struct number law = by_the_law(summary, way);
    const struct number latency = number_formed(
        1e9 * way->bytes * summary_sms(summary) / rate.value, "ns", &rate);

    grid_number(grid, &bytes);
    grid_text(grid, section_text(section, "%2d warp%s", way->warps, way->warps == 1 ? "" : "s"));
    grid_text(grid, way->loads ? section_text(section, "x %2d load%s of 16 B", way->loads,
                                              way->loads == 1 ? "" : "s")
                               : path_name(way->path));
    grid_number(grid, &rate);
    grid_number(grid, &law);
    grid_bar(grid, &share);
    grid_number(grid, &latency);
}

/* The way of fewest warps that reaches the best rate, nearly; of two the one with less in
 * flight. */
static const struct way *fewest_warps(const struct way *ways, size_t n, double best)
{
    const struct way *fewest = NULL;
    for (size_t i = 0; i < n; i++)
        if (ways[i].row->centre >= ENOUGH * best && (!fewest || ways[i].warps < fewest->warps))
            fewest = &ways[i];
    return fewest;
}

/* The way with least in flight that reaches most of the best rate. */
static const struct way *least_bytes(const struct way *ways, size_t n, double best)
{
    for (size_t i = 0; i < n; i++)
        if (ways[i].row->centre >= MOST * best)
            return &ways[i];
    return NULL;
}

/* "One warp will do, by 64 KiB of copies" */
static const char *say_fewest(struct section *section, const struct way *fewest)
{
    const struct number rate = number_of(fewest->row);
    const struct number bytes = number_formed(fewest->bytes, "bytes", &rate);

    return section_text(section, fewest->warps == 1 ? "%s warp will do, by %s of %s"
                                                    : "%s warps are needed, by %s of %s",
                        fewest->warps == 1 ? "One" : section_text(section, "%d", fewest->warps),
                        section_say(section, &bytes, NULL), fewest->loads ? "loads" : "copies");
}

/* What it asks for is a number of the finding, too. */
static void rest_on_way(struct section *section, const struct way *way)
{
    const struct number rate = number_of(way->row);
    const struct number bytes = number_formed(way->bytes, "bytes", &rate);

    section_rests(section, &rate);
    section_rests(section, &bytes);
}

static void find(struct section *section, const struct summary *summary, const struct way *fewest,
                 const struct way *least)
{
    const struct number rate = summary_number(summary, "hbm-read");
    const struct number load = summary_number(summary, "hbm-load");
    const struct number bytes = number_formed(
        derive_in_flight(rate.value, load.value, summary_sms(summary)), "bytes", &rate);
    char a[48], b[48], c[48], d[48];

    if (!number_there(&bytes) || !fewest || !least)
        return;
    const struct number most = number_of(least->row);
    const struct number needed = number_formed(least->bytes, "bytes", &most);
    series_put(section_series(section, "the memory is full", "bytes on each SM"), bytes.value,
               &rate, NULL);
    series_put(section_series(section, "most of the rate", "bytes on each SM"), needed.value, &most,
               NULL);
    section->finding = section_text(
        section, "By Little's law %s in flight on each SM; measured, %.0f %% takes %s.",
        number_say(c, sizeof c, &bytes, NULL), 100 * MOST, number_say(d, sizeof d, &needed, NULL));
    section_rests(section, &rate);
    section_rests(section, &load);
    section_rests(section, &bytes);
    rest_on_way(section, least);
    rest_on_way(section, fewest);
    section_note(
        section,
        "in flight: asked for, not yet there. * Little's law: that x %.0f SMs / %s, at most "
        "%s. %s. Latency: from the rate.",
        summary_sms(summary), number_say(b, sizeof b, &load, NULL),
        number_say(a, sizeof a, &rate, NULL), say_fewest(section, fewest));
}

const char *section_flight_need(struct section *texts, const struct section *flight)
{
    const struct series *most = section_find(flight, "most of the rate");
    if (!most)
        return "";
    const struct number needed = number_formed(most->point[0].x, "bytes", &most->point[0].y);
    return section_text(texts, "; measured, %.0f %% takes %s", 100 * MOST,
                        section_say(texts, &needed, NULL));
}

void section_flight(const struct summary *summary, struct section *section)
{
    static const struct column columns[] = {{"in flight", "KiB", "KiB", 'r'},
                                            {NULL, "by", NULL, 'l'},
                                            {NULL, "", NULL, 'l'},
                                            {NULL, "TB/s", "TB/s", 'r'},
                                            {"law*", "TB/s", "TB/s", 'r'},
                                            {NULL, "of best", NULL, 'l'},
                                            {"latency", "ns", "ns", 'r'}};
    struct way ways[WAYS_MOST];
    const size_t n = take(summary, ways);
    size_t shown = 0;
    struct above above = {0, INT_MAX};
    double best = 0;

    section->name = "flight";
    section->title = "BYTES IN FLIGHT";
    if (n == 0) {
        section_missing(section, summary, flight_needs[READS]);
        return;
    }
    qsort(ways, n, sizeof *ways, by_bytes);
    for (size_t i = 0; i < n; i++)
        best = fmax(best, ways[i].row->centre);
    const struct way *fewest = fewest_warps(ways, n, best);
    struct grid *grid = section_grid(section, columns, sizeof columns / sizeof columns[0]);
    struct series *loads = section_series(section, "by loads", "bytes on each SM");
    struct series *copies = section_series(section, "by copies", "bytes on each SM");
    for (size_t i = 0; i < n; i++) {
        const struct number rate = number_of(ways[i].row);
        series_put(ways[i].loads ? loads : copies, ways[i].bytes, &rate,
                   ways[i].loads
                       ? section_text(section, "%d x %d", ways[i].warps, ways[i].loads)
                       : section_text(section, "%d warp%s, %s", ways[i].warps,
                                      ways[i].warps == 1 ? "" : "s", path_name(ways[i].path)));
        if ((shown < LINES_MOST || &ways[i] == fewest) && is_shown(ways, i, best, &above, fewest)) {
            put(section, grid, summary, &ways[i], best);
            above.rate = fmax(above.rate, ways[i].row->centre);
            if (ways[i].row->centre >= ENOUGH * best && ways[i].warps < above.warps)
                above.warps = ways[i].warps;
            shown++;
        }
    }
    find(section, summary, fewest, least_bytes(ways, n, best));
    for (size_t i = 0; section->finding && i < n; i++)
        if (ways[i].row->centre == best)
            rest_on_way(section, &ways[i]);
    if (!section->finding)
        section_note(section,
                     "in flight: asked for, not yet there. * Little's law: that x SMs / latency "
                     "of one load, at most what is read. Latency: from the rate.");
    section_doubts(section);
    section->claims = "C13";
}
