#include "report/bundle/derive_product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/needs.h"

/* Cycles of one wgmma of 64 columns of C, `rows` of its rows, 16 of k: the tensor cores' time, or
 * the time to read both operands from shared memory where that is longer (32 rows and fewer). */
static double wgmma_cycles(const struct product_chip *chip, double rows)
{
    return fmax(chip->wgmma_cycles * rows / 256, (64 + rows) * 16 * 2 / chip->shared_bytes);
}

enum { K_STEP = 64 }; /* of the kernel: the unit of its copies */

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
enum { TIME = FIGURES, EMPTY, BLOCKS_ON_BUSIEST, TILES_ON_BUSIEST, AT_ONCE };
const char *const derive_product_needs[] = {
    [L2] = "memory_latency.load_time{level=l2,*}",
    [COPY] = "memory_latency.async_time{level=l2,path=bulk,*}",
    [READ] = "bandwidth.in_step{level=l2,sms=2,*}",
    [WRITE] = "bandwidth.rate{level=l2,op=write,path=bulk,*}",
    [L2_CYCLES] = "memory_latency.load{level=l2}",
    [WGMMA] = "instructions.reciprocal_throughput{op=wgmma,shape=m64n256k16,type=fp16,acc=fp32,*}",
    [SHARED] = "bandwidth.sm_rate{level=shared,op=read,path=ld,*}",
    [EXCHANGE] = "sm_to_sm_rate.stream_per_sm{op=write,size=2,active=all}",
    [TIME] = "block_count.time{*k=*,*impl=wgmma,*tile=*,*split=*,*l2=warm,*}",
    [EMPTY] = "block_count.empty{*}", /* these of the time's case */
    [BLOCKS_ON_BUSIEST] = "block_count.blocks_on_busiest_sm{*}",
    [TILES_ON_BUSIEST] = "block_count.tiles_on_busiest_sm{*}",
    [AT_ONCE] = "block_count.blocks_at_once{*}",
    NULL,
};

/* False if one of them was not measured. */
static bool find_figures(const struct rows *rows, const struct row *figure[FIGURES])
{
    for (size_t i = 0; i < FIGURES; i++) {
        size_t next = 0;
        figure[i] = rows_match(rows, derive_product_needs[i], &next);
        if (!figure[i] || !row_usable(figure[i]))
            return false;
    }
    return true;
}

/* The chip in one round. */
static struct product_chip chip_of(const struct row *const figure[FIGURES], int round, double n_sm)
{
    double value[FIGURES];

    for (size_t i = 0; i < FIGURES; i++)
        value[i] = row_in(figure[i], round);
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

static const struct row *beside(const struct rows *rows, const struct row *time, int need)
{
    char metric[DOCUMENT_ID];
    need_metric(metric, derive_product_needs[need]);
    const struct row *row = rows_beside(rows, time, metric, NULL, NULL);
    return row && row_usable(row) ? row : NULL;
}

static double count_beside(const struct rows *rows, const struct row *time, int need)
{
    const struct row *row = beside(rows, time, need);
    return row ? row->centre : (double)NAN;
}

/* The row without its empty time, which differs from round to round. */
static struct product_row row_of(const struct rows *rows, const struct row *time)
{
    const double busiest = count_beside(rows, time, BLOCKS_ON_BUSIEST);
    const double on_busiest = count_beside(rows, time, TILES_ON_BUSIEST);
    const double at_once = count_beside(rows, time, AT_ONCE);
    struct product_row row = {.k = row_key_number(time, "k"),
                              .split = row_key_number(time, "split"),
                              .on_busiest = on_busiest};
    char tile[32];

    if (!row_key(time, "tile", tile, sizeof tile) ||
        sscanf(tile, "%lfx%lf", &row.tile_m, &row.tile_n) != 2)
        row.tile_m = row.tile_n = NAN;
    row.rounds = ceil((isnan(busiest) ? on_busiest : busiest) / at_once);
    return row;
}

static struct row *make(struct rows *made, const char *name, const char *unit,
                        const struct row *time)
{
    char id[DOCUMENT_ID];
    snprintf(id, sizeof id, "%s%s", name, strchr(time->id, '{'));
    struct row *row = rows_get(made, id, unit, ROW_LOWER);
    if (row) {
        row->method = time->method;
        row->once = time->once;
        row->thrice = time->thrice;
        row->power_bound = time->power_bound;
    }
    return row;
}

static void predict(const struct rows *rows, struct rows *made,
                    const struct row *const figure[FIGURES], const struct row *time, double n_sm)
{
    double ns[ROW_RUNS_MAX];
    const struct row *empty = beside(rows, time, EMPTY);
    struct product_row row = row_of(rows, time);

    if (!row_usable(time) || !empty || !isfinite(row.on_busiest))
        return;
    for (size_t i = 0; i < time->n; i++) {
        const struct product_chip chip = chip_of(figure, time->round[i], n_sm);
        row.empty_ns = row_in(empty, time->round[i]);
        ns[i] = derive_product_ns(&chip, &row);
    }
    struct row *predicted = make(made, "derived.predicted_time", "ns", time);
    for (size_t i = 0; predicted && i < time->n; i++)
        if (isfinite(ns[i]))
            row_put(predicted, time->round[i], ns[i], NAN);
    struct row *error = make(made, "derived.prediction_error", "ratio", time);
    if (error) /* two rounds may differ by 3 % of the time, not of the error */
        error->resolution = 0.015;
    for (size_t i = 0; error && i < time->n; i++)
        if (isfinite(ns[i]))
            row_put(error, time->round[i], fabs(ns[i] / time->value[i] - 1), NAN);
}

void derive_products(const struct rows *rows, struct rows *made, double n_sm)
{
    const struct row *figure[FIGURES], *time;

    if (!(n_sm > 0) || !find_figures(rows, figure))
        return;
    for (size_t next = 0; (time = rows_match(rows, derive_product_needs[TIME], &next));)
        predict(rows, made, figure, time, n_sm);
}
