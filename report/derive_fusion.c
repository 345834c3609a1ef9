#include "report/derive_fusion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"

static const char edge_glob[] = "edges.step{mode=graph,blocks=sm,body=0,span=64-512,*";

double derive_fusion_gain(const struct fusion_chip *chip, double unfused_kernels,
                          double unfused_bytes, double fused_kernels, double fused_bytes)
{
    const double warm = isnan(chip->warm_rate) ? chip->rate : chip->warm_rate;
    const double fused = fused_kernels * chip->edge_ns + fused_bytes / chip->rate;
    const double unfused = unfused_kernels * chip->edge_ns + fused_bytes / chip->rate +
                           (unfused_bytes - fused_bytes) / warm;
    return unfused / fused;
}

/* The keys of a fused time, cut where other rows of the same size differ from it:
 * "norm" "{op=..,type=fp16" impl=fused ",mode=graph,l2=" "cold". */
struct place {
    const char *probe;
    char sizes[DOCUMENT_ID];
    bool cold;
};

static bool place_of(const struct row *fused, struct place *p)
{
    const char *keys = strchr(fused->id, '{'), *impl = strstr(fused->id, ",impl=fused,mode=graph,l2=");

    if (!keys || !impl)
        return false;
    p->probe = fused->probe;
    p->cold = strstr(impl, "l2=cold") != NULL;
    snprintf(p->sizes, sizeof p->sizes, "%.*s", (int)(impl - keys), keys);
    return true;
}

static const struct row *row_at_place(const struct rows *rows, const struct place *p,
                                      const char *metric, const char *impl, bool cold)
{
    char id[2 * DOCUMENT_ID];
    const bool timed = !strcmp(metric, "time");

    snprintf(id, sizeof id, "%s.%s%s,impl=%s,mode=graph,l2=%s%s}", p->probe, metric, p->sizes, impl,
             cold ? "cold" : "warm", timed ? ",timer=event" : "");
    const struct row *row = rows_find(rows, id);
    return row && row_usable(row) ? row : NULL;
}

/* What a row says of one round; once-rows hold in all. */
static double in_round(const struct row *row, int round)
{
    return row->once ? row->centre : row_at(row, round);
}

/* bytes/ns of the better copy beyond one edge; NaN where there is none. */
static double copy_rate(const struct rows *rows, const struct place *p, bool cold, double edge_ns,
                        int round)
{
    static const char *const impls[] = {"copy", "memcpy", "memcpy_longer"};
    double best = NAN;

    for (int i = 0; i < 3; i++) {
        const struct row *time = row_at_place(rows, p, "time", impls[i], cold);
        const struct row *bytes = row_at_place(rows, p, "bytes", impls[i], cold);
        if (!time || !bytes)
            continue;
        const double beyond = fmax(in_round(time, round) - edge_ns, 1);
        best = fmax(isnan(best) ? 0 : best, bytes->centre / beyond);
    }
    return best;
}

static struct row *made(struct rows *rows, const char *name, const struct place *p)
{
    char id[2 * DOCUMENT_ID];
    snprintf(id, sizeof id, "derived.%s{probe=%s,%s,l2=%s}", name, p->probe, p->sizes + 1,
             p->cold ? "cold" : "warm");
    return strlen(id) < DOCUMENT_ID ? rows_get(rows, id, "ratio", ROW_HIGHER) : NULL;
}

/* The figures of one fusion in the rounds of its fused time. */
struct gains {
    size_t n;
    int round[ROW_RUNS_MAX];
    double gain[ROW_RUNS_MAX], predicted[ROW_RUNS_MAX];
};

static bool predict(const struct rows *rows, const struct place *p, const struct row *fused,
                    struct gains *g)
{
    size_t place = 0;
    const struct row *edge = rows_match(rows, edge_glob, &place);
    const char *other = row_at_place(rows, p, "time", "unfused", p->cold) ? "unfused" : "twice";
    const struct row *unfused = row_at_place(rows, p, "time", other, p->cold);
    const struct row *fused_bytes = row_at_place(rows, p, "bytes", "fused", p->cold);
    const struct row *unfused_bytes = row_at_place(rows, p, "bytes", other, p->cold);
    const struct row *fused_kernels = row_at_place(rows, p, "kernels", "fused", p->cold);
    const struct row *unfused_kernels = row_at_place(rows, p, "kernels", other, p->cold);

    if (!edge || !row_usable(edge) || !unfused || !fused_bytes || !unfused_bytes ||
        !fused_kernels || !unfused_kernels)
        return false;
    g->n = 0;
    for (size_t i = 0; i < fused->n; i++) {
        const int round = fused->round[i];
        /* The edge's bundle may be another: its centre holds. */
        const struct fusion_chip chip = {
            .edge_ns = edge->centre,
            .rate = copy_rate(rows, p, p->cold, edge->centre, round),
            .warm_rate = p->cold ? copy_rate(rows, p, false, edge->centre, round) : (double)NAN};
        const double gain = in_round(unfused, round) / fused->value[i];
        const double predicted =
            derive_fusion_gain(&chip, unfused_kernels->centre, unfused_bytes->centre,
                               fused_kernels->centre, fused_bytes->centre);
        if (!isfinite(gain) || !isfinite(predicted))
            continue;
        g->round[g->n] = round;
        g->gain[g->n] = gain;
        g->predicted[g->n++] = predicted;
    }
    return g->n > 0;
}

static void put(struct rows *rows, const struct place *p, const struct gains *g, int method,
                bool once)
{
    static const char *const names[] = {"fusion_gain", "predicted_gain", "gain_error"};

    for (int which = 0; which < 3; which++) {
        struct row *row = made(rows, names[which], p);
        if (!row)
            return;
        row->method = method;
        row->once = once;
        row->power_bound = true;
        if (which == 2) {
            row->better = ROW_LOWER;
            row->resolution = 0.015; /* two rounds may differ by 3 % of the gain, not of this */
        }
        for (size_t i = 0; i < g->n; i++)
            row_put(row, g->round[i],
                    which == 0   ? g->gain[i]
                    : which == 1 ? g->predicted[i]
                                 : fabs(g->predicted[i] / g->gain[i] - 1),
                    NAN);
    }
}

void derive_fusions(struct rows *rows)
{
    struct gains g;
    struct place p;

    for (size_t place = 0, n = rows->n; place < n;) {
        const struct row *fused =
            rows_match(rows, "*.time{*,impl=fused,mode=graph,l2=*,timer=event}", &place);
        if (!fused || place > n)
            return;
        char *probe = strdup(fused->probe); /* rows may move when others are added */
        if (row_usable(fused) && probe && place_of(fused, &p) && predict(rows, &p, fused, &g)) {
            p.probe = probe;
            put(rows, &p, &g, fused->method, fused->once);
        }
        free(probe);
    }
}
