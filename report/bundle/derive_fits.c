/* The time of a square product as a fixed cost and a rate: t(N) = t0 + 2 N^3 / P. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "report/bundle/derive.h"
#include "report/bundle/index.h"

const char *const derive_fits_needs[] = {"gemm_sizes.time{m=*,n=*,k=*,type=*,*}", NULL};

enum { LEAST_SIZES = 4, SIZES_MAX = 32, TAIL = 400 };

struct fit derive_fit(const double *work, const double *ns, size_t n)
{
    double aa = 0, ab = 0, bb = 0, a = 0, b = 0, sum = 0;
    struct fit f = {NAN, NAN, NAN};

    /* Least squares of (t0 + work / P) / ns - 1, linear in t0 and 1 / P. */
    for (size_t i = 0; i < n; i++) {
        double x = 1 / ns[i], y = work[i] / ns[i];
        aa += x * x, ab += x * y, bb += y * y, a += x, b += y;
    }
    double determinant = aa * bb - ab * ab;
    if (n < LEAST_SIZES || !(determinant > 1e-12 * aa * bb))
        return f;
    double fixed = (a * bb - b * ab) / determinant, per_work = (b * aa - a * ab) / determinant;
    for (size_t i = 0; i < n; i++) {
        double off = (fixed + per_work * work[i]) / ns[i] - 1;
        sum += off * off;
    }
    return (struct fit){fixed, 1e9 / per_work, sqrt(sum / (double)n)};
}

/* The text after m, n and k in the id of a square's time: "type=...}". NULL: it is not a square. */
static const char *square(const struct row *row, double *size)
{
    char m[24], n[24], k[24];
    const char *type = strstr(row->id, ",type=");
    if (!row_key(row, "m", m, sizeof m) || !row_key(row, "n", n, sizeof n) ||
        !row_key(row, "k", k, sizeof k) || strcmp(m, n) || strcmp(n, k) || !type)
        return NULL;
    *size = strtod(m, NULL);
    return *size > 0 && *size < 1e6 && strlen(type) < TAIL ? type + 1 : NULL;
}

/* All squares of one implementation. */
struct squares {
    const struct row *row[SIZES_MAX];
    double work[SIZES_MAX];
    size_t n;
};

/* A square in a list of all, in which each leads to the next one of its implementation. */
struct link {
    const struct row *row;
    const char *tail;
    double size;
    size_t next;   /* 0: none */
    bool is_first; /* of its implementation */
};

/* All squares, in one pass over the rows. Without memory there are fewer. */
static size_t list_squares(const struct rows *rows, struct link *all)
{
    struct index last = {0};
    const struct row *row;
    size_t n = 0;

    for (size_t next = 0; (row = rows_match(rows, derive_fits_needs[0], &next));) {
        struct link *one = &all[n];
        *one = (struct link){.row = row};
        if (!(one->tail = square(row, &one->size)))
            continue;
        const ptrdiff_t before = index_find(&last, one->tail);
        if (!index_put(&last, one->tail, n))
            break;
        one->is_first = before == INDEX_NONE;
        if (!one->is_first)
            all[before].next = n;
        n++;
    }
    index_free(&last);
    return n;
}

static struct fit fit_of_round(const struct squares *squares, int round)
{
    double work[SIZES_MAX], ns[SIZES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < squares->n; i++) {
        double value = row_at(squares->row[i], round);
        if (value > 0) {
            work[n] = squares->work[i];
            ns[n++] = value;
        }
    }
    return derive_fit(work, ns, n);
}

static void put(struct rows *made, const char *name, const char *tail, const char *unit,
                enum row_better better, const struct row *like, int round, double value)
{
    char id[DOCUMENT_ID];
    snprintf(id, sizeof id, "%s{%s", name, tail);
    struct row *row = rows_get(made, id, unit, better);
    if (!row)
        return;
    row->method = like->method;
    row->power_bound = true;
    row_put(row, round, value, NAN);
}

static struct squares squares_from(const struct link *all, size_t first)
{
    struct squares found = {.n = 0};
    size_t at = first;

    do {
        if (row_usable(all[at].row) && found.n < SIZES_MAX) {
            found.work[found.n] = 2 * all[at].size * all[at].size * all[at].size;
            found.row[found.n++] = all[at].row;
        }
        at = all[at].next;
    } while (at);
    return found;
}

/* Each implementation once, at its first square. */
static void derive_implementation(const struct link *all, size_t first, struct rows *made)
{
    const char *tail = all[first].tail;
    const struct squares squares = squares_from(all, first);

    if (squares.n < LEAST_SIZES)
        return;
    const struct row *like = squares.row[0];
    for (size_t i = 0; i < like->n; i++) {
        const int round = like->round[i];
        struct fit f = fit_of_round(&squares, round);
        put(made, "derived.fixed_time", tail, "ns", ROW_LOWER, like, round, f.fixed_ns);
        put(made, "derived.marginal_flops", tail, "flop/s", ROW_HIGHER, like, round, f.rate);
        put(made, "derived.fit_error", tail, "ratio", ROW_LOWER, like, round, f.error);
    }
}

void derive_fits(const struct rows *rows, struct rows *made)
{
    struct link *all = calloc(rows->n + 1, sizeof *all);
    const size_t n = all ? list_squares(rows, all) : 0;

    for (size_t i = 0; i < n; i++)
        if (all[i].is_first)
            derive_implementation(all, i, made);
    free(all);
}
