#include "report/page/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the table -------------------------------------------------------------------------------- */

static const struct summary_entry entries[] = {
    /* memory and caches */
    {"l1-load", "load, L1", "memory_latency.load_time{level=l1,*}", PICK_FIRST, "ns",
     {FACTOR_CLOCK}},
    {"hbm-load", "load, HBM", "memory_latency.load_time{level=hbm,*}", PICK_FIRST, "ns",
     {FACTOR_NONE}},
    {"hbm-read", "read, HBM", "bandwidth.rate{level=hbm,op=read,path=ld,*}", PICK_LAST, "TB/s",
     {FACTOR_PINS}},

    /* waiting and launching */

    /* products */

    /* fused operators */
};

const struct summary_entry *summary_at(size_t i)
{
    return i < sizeof entries / sizeof entries[0] ? &entries[i] : NULL;
}

/* --- taking ----------------------------------------------------------------------------------- */

static bool is_of_baseline(const char *glob)
{
    return !strncmp(glob, "peers.", 6) || !strncmp(glob, "fused_peers.", 12);
}

static bool pick_row(const struct rows *rows, const char *glob, enum summary_pick pick,
                     struct row *row)
{
    const struct row *found = NULL, *next_row;

    if (pick == PICK_BEST)
        return rows_pick(rows, glob, row);
    for (size_t next = 0; (next_row = rows_match(rows, glob, &next));) {
        if (!row_usable(next_row))
            continue;
        found = next_row;
        if (pick == PICK_FIRST)
            break;
    }
    if (found)
        *row = *found;
    return found != NULL;
}

static const struct part *part_of(const struct bundle *bundle, const char *probe)
{
    for (size_t i = 0; i < bundle->n_parts; i++)
        if (!strcmp(bundle->parts[i].name, probe))
            return &bundle->parts[i];
    return NULL;
}

/* Was a baseline measured on another card than most of the bundle, as `spin` stands for it? */
static bool is_elsewhere(const struct bundle *bundle, const struct row *row)
{
    const struct part *own = part_of(bundle, "spin"), *part = part_of(bundle, row->probe);
    return own && part && own->card && part->card && strcmp(own->card, part->card) != 0;
}

struct number summary_take(const struct summary *summary, const char *glob, enum summary_pick pick)
{
    struct row row;
    struct number number;

    if (pick_row(&summary->bundle->rows, glob, pick, &row)) {
        number = number_of(&row);
        number.quoted = is_of_baseline(glob) && is_elsewhere(summary->bundle, &row);
        return number;
    }
    if (!summary->committed || !is_of_baseline(glob) ||
        !pick_row(&summary->committed->rows, glob, pick, &row))
        return number_none();
    number = number_of(&row);
    number.quoted = true;
    return number;
}

struct number summary_number(const struct summary *summary, const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (!strcmp(entries[i].name, name))
            return summary_take(summary, entries[i].glob, entries[i].pick);
    fprintf(stderr, "gpufloor: the summary has no number '%s'\n", name);
    abort();
}

/* --- the board -------------------------------------------------------------------------------- */

static double gpu_fact(const struct summary *summary, const char *key)
{
    char text[64];
    bundle_fact(summary->bundle, "gpu", key, text, sizeof text, "");
    return *text ? atof(text) : (double)NAN;
}

double summary_sms(const struct summary *summary)
{
    return gpu_fact(summary, "n_sm");
}

/* spin waits a known number of cycles. */
static const char clock_glob[] = "spin.sm_clock*";

double summary_clock_mhz(const struct summary *summary)
{
    const struct number measured = summary_take(summary, clock_glob, PICK_FIRST);
    return number_there(&measured) ? measured.value * number_scale(measured.unit, "MHz")
                                   : gpu_fact(summary, "sm_clock_max_mhz");
}

double summary_pins(const struct summary *summary)
{
    return 2e6 * gpu_fact(summary, "memory_clock_mhz") * gpu_fact(summary, "bus_bits") / 8;
}

int summary_cc(const struct summary *summary)
{
    const double cc = gpu_fact(summary, "cc");
    return isnan(cc) ? 0 : (int)lrint(10 * cc);
}

const char *summary_memory_name(const struct summary *summary)
{
    return gpu_fact(summary, "bus_bits") < 1024 ? "DRAM" : "HBM";
}
