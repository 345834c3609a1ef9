/* Weights: products with few rows, which read a matrix; in 16 bits, and quantised. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/sections.h"
#include "report/page/take.h"

enum { QUANTISED, FORM, PEER, VECTOR, LIBRARY, READ };
const char *const weights_needs[] = {
    [QUANTISED] = "quantized.time{*,type=int4,impl=fused,mode=graph,l2=cold,*}",
    [FORM] = "quantized.time{rows=%s,cols=%s,batch=%s,type=%s,impl=%s,mode=graph,l2=cold,*}",
    [PEER] = "fused_peers.time{op=%s,rows=%s,cols=%s,type=int4,impl=eager,l2=cold,*}",
    [VECTOR] = "gemv.time{*type=bf16,acc=fp32,impl=own,l2=cold,*}",
    [LIBRARY] = "gemv.time{*type=bf16,acc=fp32,impl=cublas_gemm,l2=cold,*}", /* beside VECTOR */
    [READ] = "gemv.share_of_read{*type=bf16,acc=fp32,impl=%s,l2=cold}",      /* beside both */
    NULL,
};

/* --- one matrix, quantised -------------------------------------------------------------------- */

enum { BATCHES_MAX = 8, FORMS = 6 };
enum { FULL, INT4 };
static const struct {
    const char *label, *type, *impl; /* no impl: PyTorch's */
} forms[FORMS] = {
    [FULL] = {"bf16", "bf16", "full"},
    [INT4] = {"int4 converted inside", "int4", "fused"},
    {"int8 converted inside", "int8", "fused"},
    {"fp8 converted inside", "e4m3", "fused"},
    {"int4 converted first", "int4", "unfused"},
    {"int4 by PyTorch", "int4", NULL},
};

/* The largest matrix, and the batches with which its int4 form was measured, ascending. */
struct matrix {
    char rows[32], cols[32];
    double size;
    size_t n;
    double batch[BATCHES_MAX];
};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_matrix(const struct summary *summary, struct matrix *m)
{
    const struct row *row;

    for (size_t next = 0; (row = take_next(summary, weights_needs[QUANTISED], &next));) {
        const double size = take_key(row, "rows") * take_key(row, "cols");
        const double batch = take_key(row, "batch");
        if (!(size >= m->size) || isnan(batch))
            continue;
        if (size > m->size)
            m->n = 0;
        m->size = size;
        row_key(row, "rows", m->rows, sizeof m->rows);
        row_key(row, "cols", m->cols, sizeof m->cols);
        if (m->n < BATCHES_MAX)
            m->batch[m->n++] = batch;
    }
    qsort(m->batch, m->n, sizeof m->batch[0], ascending);
}

static const struct row *form_of(const struct summary *summary, const struct matrix *m, size_t form,
                                 double batch)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", batch);
    return take_row(summary, weights_needs[FORM], m->rows, m->cols, text, forms[form].type,
                    forms[form].impl);
}

static struct number time_of(const struct summary *summary, const struct matrix *m, size_t form,
                             double batch)
{
    char op[48] = "quantized_int4";

    if (forms[form].impl) {
        const struct row *row = form_of(summary, m, form, batch);
        return row ? number_of(row) : number_none();
    }
    if (batch > 1)
        snprintf(op, sizeof op, "quantized_int4_batch%.0f", batch);
    return take_number(summary, weights_needs[PEER], op, m->rows, m->cols);
}

/* A form that was measured with no batch has no row in the table. */
static void put_form(const struct summary *summary, struct section *s, struct grid *grid,
                     const struct matrix *m, size_t form)
{
    struct number time[BATCHES_MAX];
    bool is_there = false;

    for (size_t i = 0; i < m->n; i++) {
        time[i] = time_of(summary, m, form, m->batch[i]);
        is_there |= number_there(&time[i]);
    }
    if (!is_there)
        return;
    struct series *series = NULL;
    if (number_there(&time[0]) && m->n > 1 && number_there(&time[1]))
        series = section_series(s, forms[form].label, "batch");
    grid_text(grid, forms[form].label);
    for (size_t i = 0; i < m->n; i++) {
        grid_number(grid, &time[i]);
        if (series && number_there(&time[i]))
            series_put(series, m->batch[i], &time[i], NULL);
    }
}

static void tabulate_matrix(const struct summary *summary, const struct matrix *m,
                            struct section *s)
{
    struct column columns[1 + BATCHES_MAX] = {
        {NULL, section_text(s, "%s x %s, cold, us", m->rows, m->cols), NULL, 'l'}};

    for (size_t i = 0; i < m->n; i++)
        columns[1 + i] =
            (struct column){i ? NULL : "batch", section_text(s, "%.0f", m->batch[i]), "us", 'r'};
    struct grid *grid = section_grid(s, columns, 1 + m->n);
    for (size_t form = 0; form < FORMS; form++)
        put_form(summary, s, grid, m, form);
}

/* --- matrices times a vector ------------------------------------------------------------------ */

enum { VECTORS_MAX = 16, VECTORS_SHOWN = 3 };

static int by_size(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    const double m = take_key(x, "m") * take_key(x, "k"), n = take_key(y, "m") * take_key(y, "k");
    return m != n ? (m > n ? 1 : -1) : strcmp(x->id, y->id);
}

static size_t find_vectors(const struct summary *summary, const struct row **vector)
{
    const struct row *row;
    size_t n = 0;

    for (size_t next = 0;
         n < VECTORS_MAX && (row = take_next(summary, weights_needs[VECTOR], &next));)
        vector[n++] = row;
    qsort(vector, n, sizeof *vector, by_size);
    return n;
}

/* The smallest, a middle one and the largest. */
static void tabulate_vectors(const struct summary *summary, const struct row *const *vector,
                             size_t n, struct section *s)
{
    static const struct column columns[] = {
        {NULL, "bf16 by a vector, cold", NULL, 'l'},
        {"ours", "us", "us", 'r'},
        {"of a read", "%", "%", 'r'},
        {"cuBLAS", "us", "us", 'r'},
        {"of a read", "%", "%", 'r'},
    };
    struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);
    const size_t n_shown = n < VECTORS_SHOWN ? n : VECTORS_SHOWN;

    for (size_t i = 0; i < n_shown; i++) {
        const struct row *own = vector[n_shown > 1 ? i * (n - 1) / (n_shown - 1) : 0];
        const struct row *library =
            rows_beside(&summary->bundle->rows, own, NULL, "impl", "cublas_gemm");
        const struct number number[] = {number_of(own), take_beside(summary, own, "share_of_read"),
                                        number_of(library),
                                        take_beside(summary, library, "share_of_read")};
        grid_text(grid, section_text(s, "%.0f x %.0f", take_key(own, "m"), take_key(own, "k")));
        for (size_t k = 0; k < sizeof number / sizeof number[0]; k++)
            grid_number(grid, &number[k]);
    }
}

/* --- the finding ------------------------------------------------------------------------------ */

/* "At batch 1 products run at 85 to 99 % of a read"; "" if no share is known. */
static const char *say_vectors(const struct summary *summary, const struct row *const *vector,
                               size_t n, struct section *s)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < n; i++) {
        const struct number share = take_beside(summary, vector[i], "share_of_read");
        if (number_there(&share)) {
            section_rests(s, &share);
            least = fmin(least, share.value);
            most = fmax(most, share.value);
        }
    }
    if (!(least <= most))
        return "";
    return section_text(s, "At batch 1 products run at %.0f to %.0f %% of a read", 100 * least,
                        100 * most);
}

/* int4 pays while it is 3 % faster than bf16. "int4 pays up to batch 16, not at 64"; "" if the two
 * were measured with no batch. */
static const double PAYS = 0.97;

static const char *say_int4(const struct summary *summary, const struct matrix *m,
                            struct section *s)
{
    double last = NAN, first_not = NAN;

    for (size_t i = 0; i < m->n; i++) {
        const struct row *full = form_of(summary, m, FULL, m->batch[i]);
        const struct row *int4 = form_of(summary, m, INT4, m->batch[i]);
        if (!full || !int4)
            continue;
        section_rests_on(s, full);
        section_rests_on(s, int4);
        if (!(int4->centre < PAYS * full->centre)) {
            first_not = m->batch[i];
            break;
        }
        last = m->batch[i];
    }
    if (isnan(last))
        return isnan(first_not) ? ""
                                : section_text(s, "int4 does not pay at batch %.0f", first_not);
    if (isnan(first_not))
        return section_text(s, "int4 pays up to batch %.0f, the largest", last);
    return section_text(s, "int4 pays up to batch %.0f, not at %.0f", last, first_not);
}

static void find(const struct summary *summary, const struct matrix *m,
                 const struct row *const *vector, size_t n, struct section *s)
{
    const char *read = say_vectors(summary, vector, n, s);
    const char *int4 = say_int4(summary, m, s);

    if (*read || *int4)
        s->finding = section_text(s, "%s%s%s.", read, *read && *int4 ? "; " : "", int4);
}

void section_weights(const struct summary *summary, struct section *s)
{
    const struct row *vector[VECTORS_MAX];
    struct matrix m = {0};
    const size_t n = find_vectors(summary, vector);

    s->name = "weights";
    s->title = "WEIGHTS";
    find_matrix(summary, &m);
    if (n == 0 && m.n == 0) {
        section_missing(s, summary, weights_needs[VECTOR]);
        return;
    }
    find(summary, &m, vector, n, s);
    if (m.n > 0)
        tabulate_matrix(summary, &m, s);
    if (n > 0)
        tabulate_vectors(summary, vector, n, s);
    section_doubts(s);
    s->claims = "C14 C45 C64";
}
