/* Between GPUs: how fast a large copy is by whom, what of it the wire carries, and how many SMs it
 * takes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page/links.h"
#include "report/page/sections.h"
#include "report/page/take.h"

enum { LOADS, STORES, BULK, ENGINE, WAYS };
static const struct {
    const char *label, *by;
} ways[WAYS] = {
    [LOADS] = {"loads", "load"},
    [STORES] = {"stores", "store"},
    [BULK] = {"bulk copies", "bulk"},
    [ENGINE] = {"copy engine", "copy_engine"},
};

enum { SMS = 5 };
static const char *const sms[SMS] = {"1", "4", "16", "64", "all"};
static const double ENOUGH = 0.90;    /* of the rate of all SMs */
static const double SAME_WIRE = 0.03; /* so near all ways are, where the wire limits them */

/* A copy of the largest size by one way. */
struct copy {
    struct number one, both, wire, of_sms[SMS];
};

static struct copy copy_of(const struct summary *summary, int way, const char *bytes)
{
    const char *by = ways[way].by;
    struct copy copy = {.one = take_number(summary, links_needs[LINKS_RATE], by, "one", bytes),
                        .both = take_number(summary, links_needs[LINKS_RATE], by, "both", bytes),
                        .wire = number_none()};
    const struct number raw = take_number(summary, links_needs[LINKS_RAW], by, bytes);

    if (number_there(&copy.one) && number_there(&raw))
        copy.wire = number_formed(copy.one.value * raw.value, "bytes/s", &raw);
    for (size_t i = 0; i < SMS; i++)
        copy.of_sms[i] = take_number(summary, links_needs[LINKS_SMS], by, sms[i]);
    return copy;
}

/* The fewest SMs that reach nearly the rate of all; "-" where there is no such row. */
static const char *sms_needed(const struct copy *copy)
{
    for (size_t i = 0; i < SMS; i++)
        if (copy->of_sms[i].value >= ENOUGH * copy->of_sms[SMS - 1].value)
            return sms[i];
    return "-";
}

static void tabulate(const struct copy *copy, bool has_wire, double bytes, struct section *s)
{
    struct column columns[6 + SMS];
    size_t n = 0;

    columns[n++] = (struct column){NULL, "copied by", NULL, 'l'};
    columns[n++] = (struct column){NULL, "one way", "GB/s", 'r'};
    columns[n++] = (struct column){"of engine", "%", "%", 'r'};
    if (has_wire)
        columns[n++] = (struct column){NULL, "on wire", "GB/s", 'r'};
    columns[n++] = (struct column){NULL, "both ways", "GB/s", 'r'};
    const size_t first = n;
    for (size_t i = 0; i < SMS; i++)
        columns[n++] = (struct column){i ? NULL : "by SMs", sms[i], "GB/s", 'r'};
    columns[n++] = (struct column){"SMs", "needed", NULL, 'r'};
    struct grid *grid = section_grid(s, columns, n);
    grid_span(grid, first, SMS);
    grid->caption = section_text(s, "%s to or from the next GPU, GB/s", links_say_bytes(s, bytes));
    for (int way = 0; way < WAYS; way++) {
        const struct number share = number_ratio(&copy[way].one, &copy[ENGINE].one);
        if (!number_there(&copy[way].one) && !number_there(&copy[way].both))
            continue;
        grid_text(grid, ways[way].label);
        grid_number(grid, &copy[way].one);
        grid_number(grid, &share);
        if (has_wire)
            grid_number(grid, &copy[way].wire);
        grid_number(grid, &copy[way].both);
        for (size_t i = 0; i < SMS; i++)
            grid_number(grid, &copy[way].of_sms[i]);
        grid_text(grid, sms_needed(&copy[way]));
    }
}

/* Where all ways put the same rate on the wire, it is what limits, and what is not data on it is
 * what they differ by. */
static void say_wire(const struct copy *copy, struct section *s)
{
    double least = INFINITY, most = 0, best = 0;
    struct number from = number_none(), to = number_none();

    for (int way = 0; way < WAYS; way++) {
        const struct number *wire = &copy[way].wire;
        if (!number_there(wire))
            return;
        if (wire->value < least)
            from = *wire;
        if (wire->value > most)
            to = *wire;
        least = fmin(least, wire->value);
        most = fmax(most, wire->value);
        best = way == ENGINE ? best : fmax(best, copy[way].one.value);
    }
    if (most / least - 1 > SAME_WIRE || best >= copy[ENGINE].one.value)
        return;
    section_note(s,
                 "With headers all of them move %s to %s: SMs do not reach the copy engine's rate "
                 "because they send smaller packets.",
                 section_say(s, &from, NULL), section_say(s, &to, NULL));
}

static void draw(const struct summary *summary, const double *size, size_t n, struct section *s)
{
    char bytes[32];

    for (int way = 0; way < WAYS; way++) {
        struct series *line = section_series(s, ways[way].label, "bytes");
        for (size_t i = 0; i < n; i++) {
            snprintf(bytes, sizeof bytes, "%.0f", size[i]);
            const struct number rate =
                take_number(summary, links_needs[LINKS_RATE], ways[way].by, "one", bytes);
            if (number_there(&rate))
                series_put(line, size[i], &rate, NULL);
        }
    }
}

void links_rates(const struct summary *summary, struct section *s)
{
    double size[LINKS_SIZES_FOUND];
    const size_t n = links_sizes(summary, LINKS_RATE, size);
    struct copy copy[WAYS];
    bool has_wire = false, has_sms = false;
    char bytes[32];

    if (n == 0)
        return;
    snprintf(bytes, sizeof bytes, "%.0f", size[n - 1]);
    for (int way = 0; way < WAYS; way++) {
        copy[way] = copy_of(summary, way, bytes);
        has_wire = has_wire || number_there(&copy[way].wire);
        for (size_t i = 0; i < SMS; i++)
            has_sms = has_sms || number_there(&copy[way].of_sms[i]);
    }
    tabulate(copy, has_wire, size[n - 1], s);
    draw(summary, size, n, s);
    if (has_wire)
        section_note(s, "On wire: by the links' own counters of all bytes, headers included.");
    say_wire(copy, s);
    if (has_sms)
        section_note(
            s,
            "SMs needed: the fewest measured, a block on each, that reach %.0f %% of what all do.",
            100 * ENOUGH);
}
