#include "report/bundle/derive_product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"

/* Cycles of one wgmma of 64 columns of C, so many of its rows, 16 of k: the tensor cores' time, or
 * that of reading both operands from shared memory where that is longer (32 rows and fewer). */
static double wgmma_cycles(const struct product_chip *chip, double rows)
{
    return fmax(chip->wgmma_cycles * rows / 256, (64 + rows) * 16 * 2 / chip->shared_bytes);
}

enum { K_STEP = 64 }; /* of the kernel: what is copied at a time */

double derive_product_ns(const struct product_chip *chip, const struct product_row *row)
{
    const double k = row->k / row->split, outputs = row->tile_m * row->tile_n;
    const double copies = 2 * k * (row->tile_m + row->tile_n) / chip->read_rate;
    const double products =
        k / 16 * (row->tile_n / 64) * wgmma_cycles(chip, row->tile_m) / chip->ghz;
    const double sums =
        4 * outputs * (row->split - 1) / row->split / chip->exchange_bytes / chip->ghz;
    const double write = 2 * outputs / row->split / chip->write_rate;
    const double fill = fmin(copies, products) / (k / K_STEP);

    return row->empty_ns + row->rounds * (chip->l2_ns + chip->copy_ns + fill + chip->l2_ns) +
           row->on_busiest * (fmax(copies, products) + (row->split > 1 ? sums : 0) + write);
}

/* --- the chip's figures ----------------------------------------------------------------------- */

enum { L2, COPY, READ, WRITE, L2_CYCLES, WGMMA, SHARED, EXCHANGE, FIGURES };
static const char *const figure_globs[FIGURES] = {
    [L2] = "memory_latency.load_time{level=l2,*}",
    [COPY] = "memory_latency.async_time{level=l2,path=bulk,*}",
    [READ] = "bandwidth.in_step{level=l2,sms=2,*}",
    [WRITE] = "bandwidth.rate{level=l2,op=write,path=bulk,*}",
    [L2_CYCLES] = "memory_latency.load{level=l2}",
    [WGMMA] = "instructions.reciprocal_throughput{op=wgmma,shape=m64n256k16,type=fp16,acc=fp32,*}",
    [SHARED] = "bandwidth.sm_rate{level=shared,op=read,path=ld,*}",
    [EXCHANGE] = "sm_to_sm_rate.stream_per_sm{op=write,size=2,active=all}",
};

/* Their places among the rows; false where one was not measured. Rows are only ever added. */
static bool find_figures(const struct rows *rows, size_t figure[FIGURES])
{
    for (size_t i = 0; i < FIGURES; i++) {
        size_t next = 0;
        const struct row *row = rows_match(rows, figure_globs[i], &next);
        if (!row || !row_usable(row))
            return false;
        figure[i] = next - 1;
    }
    return true;
}

/* The chip in one round. What is measured in the first and last round only holds in all of them. */
static struct product_chip chip_of(const struct rows *rows, const size_t figure[FIGURES],
                                   int round, double n_sm)
{
    double value[FIGURES];

    for (size_t i = 0; i < FIGURES; i++) {
        const struct row *row = &rows->row[figure[i]];
        value[i] = row->once ? row->centre : row_at(row, round);
    }
    return (struct product_chip){.l2_ns = value[L2],
                                 .copy_ns = value[COPY],
                                 .read_rate = value[READ] / n_sm / 1e9,
                                 .write_rate = value[WRITE] / n_sm / 1e9,
                                 .ghz = value[L2_CYCLES] / value[L2],
                                 .wgmma_cycles = value[WGMMA],
                                 .shared_bytes = value[SHARED],
                                 .exchange_bytes = value[EXCHANGE]};
}

/* --- a row's own ------------------------------------------------------------------------------ */

static double key_of(const struct row *row, const char *key)
{
    char text[32];
    return row_key(row, key, text, sizeof text) ? strtod(text, NULL) : (double)NAN;
}

static double count_beside(const struct rows *rows, const struct row *time, const char *metric)
{
    const struct row *row = rows_beside(rows, time, metric, NULL, NULL);
    return row && row_usable(row) ? row->centre : (double)NAN;
}

/* The row but for its empty time, which differs from round to round. */
static struct product_row row_of(const struct rows *rows, const struct row *time)
{
    const double busiest = count_beside(rows, time, "block_count.blocks_on_busiest_sm");
    const double on_busiest = count_beside(rows, time, "block_count.tiles_on_busiest_sm");
    const double at_once = count_beside(rows, time, "block_count.blocks_at_once");
    struct product_row row = {.k = key_of(time, "k"),
                              .split = key_of(time, "split"),
                              .on_busiest = on_busiest};
    char tile[32];

    if (!row_key(time, "tile", tile, sizeof tile) ||
        sscanf(tile, "%lfx%lf", &row.tile_m, &row.tile_n) != 2)
        row.tile_m = row.tile_n = NAN;
    row.rounds = ceil((isnan(busiest) ? on_busiest : busiest) / at_once);
    return row;
}

static struct row *made(struct rows *rows, const char *name, const char *unit, size_t of)
{
    char id[DOCUMENT_ID];
    snprintf(id, sizeof id, "%s%s", name, strchr(rows->row[of].id, '{'));
    struct row *row = rows_get(rows, id, unit, ROW_LOWER);
    if (row) { /* the rows may have moved */
        row->method = rows->row[of].method;
        row->once = rows->row[of].once;
        row->power_bound = rows->row[of].power_bound;
    }
    return row;
}

static void predict(struct rows *rows, const size_t figure[FIGURES], size_t of, double n_sm)
{
    double ns[ROW_RUNS_MAX];
    const struct row *time = &rows->row[of], 
                     *empty = rows_beside(rows, time, "block_count.empty", NULL, NULL);
    struct product_row row = row_of(rows, time);
    const size_t n = time->n;

    if (!row_usable(time) || !empty || !row_usable(empty) || !isfinite(row.on_busiest))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct product_chip chip = chip_of(rows, figure, time->round[i], n_sm);
        row.empty_ns = empty->once ? empty->centre : row_at(empty, time->round[i]);
        ns[i] = derive_product_ns(&chip, &row);
    }
    struct row *predicted = made(rows, "derived.predicted_time", "ns", of);
    time = &rows->row[of];
    for (size_t i = 0; predicted && i < n; i++)
        if (isfinite(ns[i]))
            row_put(predicted, time->round[i], ns[i], NAN);
    struct row *error = made(rows, "derived.prediction_error", "ratio", of);
    time = &rows->row[of];
    if (error) /* two rounds may differ by 3 % of the time, not of this */
        error->resolution = 0.015;
    for (size_t i = 0; error && i < n; i++)
        if (isfinite(ns[i]))
            row_put(error, time->round[i], fabs(ns[i] / time->value[i] - 1), NAN);
}

void derive_products(struct rows *rows, double n_sm)
{
    static const char glob[] = "block_count.time{*impl=wgmma,*l2=warm,*}";
    size_t figure[FIGURES];

    if (!(n_sm > 0) || !find_figures(rows, figure))
        return;
    for (size_t next = 0, n = rows->n; next < n;) {
        const struct row *time = rows_match(rows, glob, &next);
        if (!time || next > n)
            return;
        predict(rows, figure, next - 1, n_sm);
    }
}
