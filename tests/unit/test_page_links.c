/* The section of what lies between GPUs: the two-term model's exact answers, who is fastest at
 * which size, copies and what limits them, a layer, its figures, and nothing where nothing was
 * measured. And what other sections say of a bundle of several GPUs. */
#include "tests/unit/test_report_help.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/bundle/quality.h"
#include "report/page/page.h"
#include "report/page/sections.h"
#include "report/page/two_term.h"

enum { ROUNDS = 7 };

/* --- the model -------------------------------------------------------------------------------- */

static void exact(void **unused)
{
    const double bytes[] = {16, 1024, 65536, 1 << 20, 256 << 20};
    double ns[5];
    (void)unused;

    for (size_t i = 0; i < 5; i++)
        ns[i] = 2000 + bytes[i] / 400; /* 400 bytes/ns are 400 GB/s */
    const struct two_term m = two_term_of(bytes, ns, 5);
    assert_true(fabs(m.fixed_ns - 2000) < 1e-6);
    assert_true(fabs(m.rate / 400e9 - 1) < 1e-12);
    assert_true(fabs(m.half_bytes / 800000 - 1) < 1e-9);
    assert_true(fabs(m.worst) < 1e-12);
    assert_true(fabs(two_term_ns(&m, 4000) - 2010) < 1e-6);
}

/* The middle does not move the terms; it is what they are held against. */
static void off_between(void **unused)
{
    const double bytes[] = {0, 100, 200, 1000}, ns[] = {1000, 1000, 1500, 2000};
    (void)unused;

    const struct two_term m = two_term_of(bytes, ns, 4);
    assert_true(fabs(m.fixed_ns - 1000) < 1e-9);
    assert_true(fabs(m.rate - 1e9) < 1e-3);
    /* too short by 20 %; at 100, 10 % too long */
    assert_true(fabs(m.worst - (1200.0 / 1500 - 1)) < 1e-12);
    assert_true(m.worst_bytes == 200);
}

static void without_a_model(void **unused)
{
    const double bytes[] = {16, 32, 64}, falls[] = {30, 20, 10}, rises[] = {10, 20, 30};
    (void)unused;

    assert_true(isnan(two_term_of(bytes, rises, 2).rate)); /* nothing is between */
    assert_true(isnan(two_term_of(bytes, falls, 3).rate));
    assert_true(isnan(two_term_of(bytes, falls, 3).worst_bytes));
    assert_true(two_term_of(bytes, rises, 3).rate > 0);
}

/* --- the section ------------------------------------------------------------------------------ */

static void put(struct bundle *bundle, const char *id, double ns)
{
    put_spread(&bundle->rows, id, "ns", ROW_LOWER, ns, ns / 1000, ROUNDS);
}

static void put_sum(struct bundle *bundle, const char *impl, const char *mode, double bytes,
                    double ns)
{
    char id[200];
    snprintf(id, sizeof id,
             "all_reduce.time{gpus=2,op=all_reduce,bytes=%.0f,type=bf16,impl=%s,mode=%s,timer=%s}",
             bytes, impl, mode, !strcmp(mode, "kernel") ? "device" : "event");
    put(bundle, id, ns);
}

static void build(struct bundle *bundle, struct section *s)
{
    const struct summary summary = {.bundle = bundle};
    rows_finish(&bundle->rows);
    *s = (struct section){0};
    section_links(&summary, s);
}

static void end(struct bundle *bundle, struct section *s)
{
    section_free(s);
    rows_free(&bundle->rows);
    json_decref(bundle->head);
}

static struct bundle begin(void)
{
    return (struct bundle){
        .head = json_pack("{s:{s:{s:s}}}", "environment", "gpu", "name", "2 x Test")};
}

static const struct grid *grid_of(const struct section *s, const char *head)
{
    for (size_t i = 0; i < s->n_grids; i++)
        for (size_t k = 0; k < s->grid[i].n_columns; k++)
            if (s->grid[i].column[k].head && !strcmp(s->grid[i].column[k].head, head))
                return &s->grid[i];
    return NULL;
}

static const struct cell *cell(const struct grid *grid, size_t row, size_t column)
{
    assert_true(row < grid->n_rows && column < grid->n_columns);
    return &grid->cell[row * grid->n_columns + column];
}

static bool notes(const struct section *s, const char *words)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (strstr(s->note[i], words))
            return true;
    return false;
}

/* The columns of nodes; a mark stands at the fastest of a row. */
enum { ONE_SHOT = 2, TWO_SHOTS, NCCL, SIMPLE = NCCL + 3, SYMMETRIC };

static size_t fastest(const struct grid *grid, size_t row)
{
    size_t found = 0;
    for (size_t i = 0; i < grid->n_columns; i++)
        if (cell(grid, row, i)->kind == CELL_NUMBER && cell(grid, row, i)->text) {
            assert_string_equal(cell(grid, row, i)->text, "*");
            assert_int_equal(found, 0);
            found = i;
        }
    return found;
}

/* Ours is faster up to 256 KiB; at 1 MiB NCCL's Simple is. */
static void crossover(void **unused)
{
    const double bytes[] = {1 << 10, 16 << 10, 256 << 10, 1 << 20};
    const double push[] = {2000, 2100, 3500, 9000}, nccl[] = {8500, 8600, 11000, 17000};
    struct bundle bundle = begin();
    struct section s;
    (void)unused;

    for (size_t i = 0; i < 4; i++) {
        put_sum(&bundle, "push", "graph", bytes[i], push[i]);
        put_sum(&bundle, "push", "kernel", bytes[i], push[i] - 1000);
        put_sum(&bundle, "nccl", "graph", bytes[i], nccl[i]);
    }
    put_sum(&bundle, "nccl_ll", "graph", bytes[1], 6100);
    put_sum(&bundle, "nccl_simple", "graph", bytes[3], 8000);
    put_sum(&bundle, "two_shot", "kernel", bytes[3], 5000);
    put(&bundle, "signal.one_way{gpus=2,order=relaxed,via=peer,timer=device}", 670);
    build(&bundle, &s);
    assert_string_equal(s.finding,
                        "A word takes 670 ns to another GPU; 16 KiB are added over all GPUs "
                        "in 2.10 us as a node, by NCCL's best in 6.10 us.");
    const struct grid *grid = grid_of(&s, "symmetric");
    assert_non_null(grid);
    assert_int_equal(grid->n_rows, 4);
    assert_string_equal(cell(grid, 0, 0)->text, "1 KiB");
    assert_int_equal(fastest(grid, 1), ONE_SHOT);
    assert_int_equal(fastest(grid, 3), SIMPLE);
    assert_true(cell(grid, 0, 1)->number.value == 1000);
    /* two shots, which are faster in a kernel */
    assert_true(cell(grid, 3, 1)->number.value == 5000);
    assert_true(isnan(cell(grid, 0, TWO_SHOTS)->number.value));
    assert_true(notes(&s, "is ours below 1 MiB, and NCCL's from there on."));
    end(&bundle, &s);
}

static void one_side(void **unused)
{
    struct bundle bundle = begin();
    struct section s;
    (void)unused;

    put_sum(&bundle, "push", "graph", 1024, 9000);
    put_sum(&bundle, "nccl_symmetric", "graph", 1024, 4500);
    put_sum(&bundle, "push", "graph", 4096, 9000); /* NCCL was not measured with it */
    build(&bundle, &s);
    assert_null(s.finding);
    assert_true(notes(&s, "The fastest node is NCCL's at every size that both"));
    assert_int_equal(fastest(grid_of(&s, "symmetric"), 0), SYMMETRIC);
    end(&bundle, &s);

    bundle = begin();
    const double ours[] = {1, 3, 1}, theirs[] = {2, 2, 2};
    for (int i = 0; i < 3; i++) {
        put_sum(&bundle, "push", "graph", 1024 << i, ours[i]);
        put_sum(&bundle, "nccl", "graph", 1024 << i, theirs[i]);
    }
    build(&bundle, &s);
    assert_true(notes(&s, "ours at 2 of 3 sizes, which have the mark."));
    end(&bundle, &s);
}

/* A node that may start early stands beside the others, and is not compared with them: NCCL's is
 * the fastest of those, and the finding tells of them. */
static void early_start(void **unused)
{
    struct bundle bundle = begin();
    struct section s;
    (void)unused;

    put_sum(&bundle, "push", "graph", 16384, 2400);
    put_sum(&bundle, "push", "dependent", 16384, 1500);
    put_sum(&bundle, "nccl_symmetric", "graph", 16384, 2200);
    build(&bundle, &s);
    const struct grid *grid = grid_of(&s, "early");
    assert_non_null(grid);
    assert_true(cell(grid, 0, ONE_SHOT + 1)->number.value == 1500);
    assert_int_equal(fastest(grid, 0), SYMMETRIC + 1);
    assert_string_equal(s.finding, "16 KiB are added over all GPUs in 2.40 us as a node, by NCCL's "
                                   "best in 2.20 us.");
    assert_true(notes(&s, "may start before the one before it has ended"));
    assert_true(section_find(&s, "one shot, early start")->point[0].y.value == 1500);
    end(&bundle, &s);

    bundle = begin();
    put_sum(&bundle, "push", "graph", 16384, 2400);
    build(&bundle, &s);
    assert_null(grid_of(&s, "early"));
    assert_false(notes(&s, "early"));
    end(&bundle, &s);
}

/* 5 us and 370 GB/s by the copy engine, 10 % more than that at 1 MiB. Loads have two sizes only. */
static void models(void **unused)
{
    const double bytes[] = {16, 4096, 1 << 20, 256 << 20};
    struct bundle bundle = begin();
    struct section s;
    char id[160];
    (void)unused;

    for (size_t i = 0; i < 4; i++) {
        snprintf(id, sizeof id,
                 "peer_memory.transfer_time{gpus=2,by=copy_engine,directions=one,bytes=%.0f,"
                 "timer=event}",
                 bytes[i]);
        put(&bundle, id, (5000 + bytes[i] / 370) * (i == 2 ? 1.1 : 1));
        snprintf(id, sizeof id,
                 "peer_memory.transfer_time{gpus=2,by=load,directions=one,bytes=%.0f,timer=event}",
                 bytes[i]);
        if (i < 2)
            put(&bundle, id, 1000 * (double)(i + 1));
    }
    build(&bundle, &s);
    const struct grid *grid = grid_of(&s, "GB/s");
    assert_non_null(grid);
    assert_int_equal(grid->n_rows, 1);
    assert_string_equal(cell(grid, 0, 0)->text, "copy by copy engine");
    assert_true(fabs(cell(grid, 0, 1)->number.value - 5000) < 1e-3);
    assert_true(fabs(cell(grid, 0, 2)->number.value / 370e9 - 1) < 1e-9);
    assert_true(fabs(cell(grid, 0, 4)->number.value - (1 / 1.1 - 1)) < 1e-9);
    assert_string_equal(cell(grid, 0, 5)->text, "1 MiB");
    assert_null(grid_of(&s, "symmetric"));
    end(&bundle, &s);
}

/* --- copies ----------------------------------------------------------------------------------- */

static void put_as(struct bundle *bundle, const char *unit, double value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void put_as(struct bundle *bundle, const char *unit, double value, const char *format, ...)
{
    char id[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(id, sizeof id, format, arguments);
    va_end(arguments);
    put_spread(&bundle->rows, id, unit, !strcmp(unit, "bytes/s") ? ROW_HIGHER : ROW_LOWER, value,
               value / 1000, ROUNDS);
}

/* 400 GB/s by the copy engine, 376 by others, of which the wire carries so many bytes for one of
 * data; raw 0: not counted. */
static void put_copies(struct bundle *bundle, double raw_engine, double raw)
{
    static const char *const by[] = {"load", "store", "bulk", "copy_engine"};
    static const char *const sms[] = {"1", "4", "16", "64", "all"};
    static const double share[] = {0.125, 0.5, 0.89, 0.91, 1};

    for (size_t i = 0; i < 4; i++) {
        const double rate = i == 3 ? 400e9 : 376e9, its = i == 3 ? raw_engine : raw;
        for (int k = 0; k < 2; k++)
            put_as(bundle, "bytes/s", rate / (k ? 1 : 100),
                   "peer_memory.rate{gpus=2,by=%s,directions=one,bytes=%d}", by[i],
                   k ? 1 << 28 : 1 << 16);
        put_as(bundle, "bytes/s", 1.9 * rate,
               "peer_memory.rate{gpus=2,by=%s,directions=both,bytes=%d}", by[i], 1 << 28);
        if (its > 0)
            put_as(bundle, "ratio", its, "peer_memory.raw{gpus=2,by=%s,directions=one,bytes=%d}",
                   by[i], 1 << 28);
        for (size_t k = 0; i < 3 && k < 5; k++)
            put_as(bundle, "bytes/s", share[k] * 360e9,
                   "peer_memory.sms_rate{gpus=2,by=%s,sms=%s,bytes=%d}", by[i], sms[k], 1 << 26);
    }
}

static void copies(void **unused)
{
    struct bundle bundle = begin();
    struct section s;
    (void)unused;

    put_copies(&bundle, 0, 0);
    build(&bundle, &s);
    const struct grid *grid = grid_of(&s, "both ways");
    assert_non_null(grid);
    assert_int_equal(grid->n_rows, 4);
    assert_string_equal(grid->caption, "256 MiB to or from the next GPU, GB/s");
    assert_string_equal(cell(grid, 1, 0)->text, "stores");
    assert_true(cell(grid, 1, 1)->number.value == 376e9);
    assert_true(fabs(cell(grid, 1, 2)->number.value - 0.94) < 1e-9);
    assert_true(fabs(cell(grid, 3, 3)->number.value / 760e9 - 1) < 1e-9);
    assert_true(fabs(cell(grid, 0, 5)->number.value / 180e9 - 1) < 1e-9); /* by 4 SMs */
    assert_string_equal(cell(grid, 0, 9)->text, "64");
    assert_string_equal(cell(grid, 3, 9)->text, "-");
    assert_null(grid_of(&s, "on wire"));
    assert_false(notes(&s, "smaller packets"));
    assert_int_equal(section_find(&s, "loads")->n, 2);
    assert_true(section_find(&s, "loads")->point[1].x == 1 << 28);
    end(&bundle, &s);
}

/* Where all of them put the same rate on the wire, it is what limits. */
static void wire(void **unused)
{
    struct bundle bundle = begin();
    struct section s;
    (void)unused;

    put_copies(&bundle, 1.05, 1.13); /* 420 and 424.9 GB/s */
    build(&bundle, &s);
    const struct grid *grid = grid_of(&s, "on wire");
    assert_non_null(grid);
    assert_true(fabs(cell(grid, 3, 3)->number.value / 420e9 - 1) < 1e-9);
    assert_true(notes(&s,
                      "With headers all of them move 420 GB/s to 425 GB/s: SMs do not reach the "
                      "copy engine's rate because they send smaller packets."));
    end(&bundle, &s);

    bundle = begin();
    put_copies(&bundle, 1.05, 1.16); /* 420 and 436: not the same */
    build(&bundle, &s);
    assert_non_null(grid_of(&s, "on wire"));
    assert_false(notes(&s, "smaller packets"));
    end(&bundle, &s);

    bundle = begin();
    put_copies(&bundle, 0, 1.13); /* the copy engine's was not counted */
    build(&bundle, &s);
    assert_true(isnan(cell(grid_of(&s, "on wire"), 3, 3)->number.value));
    assert_false(notes(&s, "smaller packets"));
    end(&bundle, &s);
}

/* --- a layer ---------------------------------------------------------------------------------- */

static void put_layer(struct bundle *bundle, const char *impl, double us)
{
    const char *keys = "model=8b,context=1024,gpus=2";
    put_as(bundle, "ns", 1000 * us, "layer.time{%s,impl=%s,l2=cold,timer=event}", keys, impl);
    put_as(bundle, "bytes", 200e6, "layer.bytes{%s,impl=%s,l2=cold}", keys, impl);
}

static void layer(void **unused)
{
    struct bundle bundle = begin();
    struct section s;
    (void)unused;

    put_layer(&bundle, "push", 60);
    put_layer(&bundle, "near", 50);
    put_layer(&bundle, "graph_nccl", 80);
    put_as(&bundle, "ns", 2e6,
           "layer.step_time{model=8b,context=1024,gpus=2,impl=near,l2=cold,timer=event}");
    put_as(&bundle, "bytes/s", 5e12, "bandwidth.rate{level=hbm,op=read,path=ld,bytes=1}");
    put_as(
        &bundle, "ns", 1e5,
        "decoder_layer.layer_time{model=8b,context=1024,batch=1,impl=values,l2=cold,timer=event}");
    build(&bundle, &s);
    const struct grid *grid = grid_of(&s, "tokens/s");
    assert_non_null(grid);
    assert_int_equal(grid->n_rows, 4);
    assert_string_equal(cell(grid, 1, 0)->text, "the same, weights near");
    assert_true(cell(grid, 1, 1)->number.value == 50000);
    assert_true(fabs(cell(grid, 1, 2)->number.value - 0.8) < 1e-9); /* 40 us of 50 */
    assert_true(cell(grid, 1, 3)->number.value == 2e6);
    assert_true(fabs(cell(grid, 1, 4)->number.value - 500) < 1e-9);
    assert_true(isnan(cell(grid, 0, 4)->number.value));
    assert_string_equal(cell(grid, 3, 0)->text, "one GPU, one kernel");
    assert_true(
        notes(&s, "in one kernel takes 50 us; in a graph with NCCL it takes 1.60 times that."));
    end(&bundle, &s);

    bundle = begin(); /* one GPU's own layer alone is nothing between GPUs */
    put_as(&bundle, "ns", 1e5,
           "decoder_layer.layer_time{model=8b,context=1024,batch=1,impl=near,l2=cold,timer=event}");
    build(&bundle, &s);
    assert_non_null(s.missing);
    end(&bundle, &s);
}

/* --- other sections, of a bundle of several GPUs ---------------------------------------------- */

static struct bundle begin_two(void)
{
    return (struct bundle){
        .name = "two",
        .path = "two.json",
        .head = json_pack("{s:{s:{s:s, s:s, s:i}, s:[{},{}], s:{s:[{s:i, s:i, s:s, s:[f, f]},"
                          "{s:i, s:i, s:s, s:[f]}]}}}",
                          "environment", "gpu", "name", "2 x Test", "cc", "9.0", "n_sm", 100,
                          "gpus", "links", "nvlinks", "n", 2, "up", 2, "far_end", "switch", "rates",
                          25e9, 25e9, "n", 2, "up", 1, "far_end", "switch", "rates", 25e9)};
}

static const char *letter_of(const struct section *s, const char *label)
{
    static char letter[2];
    for (size_t i = 0; i < s->grid[0].n_rows; i++)
        if (!strcmp(cell(&s->grid[0], i, 0)->text, label)) {
            letter[0] = cell(&s->grid[0], i, 3)->letter;
            return letter;
        }
    return "none";
}

static void ladder(void **unused)
{
    struct bundle bundle = begin();
    const struct summary summary = {.bundle = &bundle};
    struct section s = {0};
    (void)unused;

    put(&bundle, "peer_memory.load_time{gpus=2,level=hbm,timer=device}", 1010);
    put(&bundle, "signal.one_way{gpus=2,order=relaxed,via=peer,timer=device}", 750);
    put(&bundle, "signal.barrier{gpus=2,blocks=1,timer=device}", 800);
    put_sum(&bundle, "push", "kernel", 16384, 1030);
    put_sum(&bundle, "push", "graph", 16384, 2430);
    rows_finish(&bundle.rows);
    section_ladder(&summary, &s);
    assert_int_equal(s.grid[0].n_rows, 5);
    assert_string_equal(cell(&s.grid[0], 0, 0)->text, "flag to another GPU");
    assert_string_equal(letter_of(&s, "flag to another GPU"), "s");
    assert_string_equal(letter_of(&s, "load, another GPU's memory"), "m");
    assert_string_equal(letter_of(&s, "barrier of all GPUs, one block each"), "s");
    assert_string_equal(letter_of(&s, "16 KiB added over all GPUs, in a kernel"), "s");
    assert_string_equal(letter_of(&s, "16 KiB added over all GPUs, as a node"), "l");
    end(&bundle, &s);
}

/* What a bundle of one GPU has, and this one has not, is one line. */
static void rest(void **unused)
{
    struct bundle one = begin(), two = begin_two();
    const struct summary summaries[] = {{.bundle = &one}, {.bundle = &two}};
    struct section s = {0};
    char names[REST_NAMES] = "";
    (void)unused;

    assert_int_equal(bundle_gpus(&one), 1);
    assert_int_equal(bundle_gpus(&two), 2);
    section_flight(&summaries[0], &s);
    assert_false(rest_take(names, &summaries[0], &s));
    assert_true(rest_take(names, &summaries[1], &s));
    section_free(&s);
    section_claims(&summaries[1], &s);
    assert_string_equal(s.missing, "claims are judged by a bundle of one GPU");
    assert_true(rest_take(names, &summaries[1], &s));
    section_free(&s);
    section_links(&summaries[1], &s);
    assert_non_null(s.missing);
    assert_false(rest_take(names, &summaries[1], &s));
    assert_string_equal(names, "bytes in flight, claims");
    rest_tell(&s, names);
    assert_string_equal(s.missing, "a run of one GPU has: bytes in flight, claims");
    section_free(&s);
    json_decref(one.head);
    json_decref(two.head);
}

/* The links of the GPU that has least; and that GPUs differ is not that fused kernels do. */
static void head(void **unused)
{
    struct bundle bundle = begin_two();
    const struct summary summary = {.bundle = &bundle};
    struct section s = {0};
    bool found = false;
    (void)unused;

    put_as(&bundle, "count", 0, "layer.differ{model=8b,context=1024,gpus=2,impl=push,l2=cold}");
    put_as(&bundle, "count", 0, "norm.differ{op=rmsnorm,impl=fused}");
    rows_finish(&bundle.rows);
    section_verdict(&summary, &s);
    for (size_t i = 0; i < s.grid[0].n_rows; i++)
        if (!strcmp(cell(&s.grid[0], i, 0)->text, "links")) {
            assert_string_equal(cell(&s.grid[0], i, 1)->text,
                                "1 of 2 NVLinks of each GPU are up, to a switch: 25 GB/s in each "
                                "direction, headers included");
            found = true;
        }
    assert_true(found);
    assert_int_equal(quality_count(&bundle.rows).compared, 1);
    section_free(&s);
    section_links(&summary, &s);
    assert_true(notes(&s, "the same bits after 1 of 1 kinds"));
    end(&bundle, &s);
}

/* Of a reduce-scatter nothing was compared, whatever an old bundle says. */
static void bits(void **unused)
{
    static const char *const ops[] = {"all_reduce", "all_gather", "reduce_scatter"};
    struct bundle bundle = begin();
    struct section s;
    (void)unused;

    for (size_t i = 0; i < 3; i++)
        put_as(&bundle, "count", i == 1 ? 3 : 0,
               "all_reduce.differ{gpus=2,op=%s,bytes=1024,type=bf16,impl=push,mode=graph}", ops[i]);
    build(&bundle, &s);
    assert_true(notes(&s, "the same bits after 1 of 2 kinds"));
    end(&bundle, &s);

    bundle = begin();
    put_as(&bundle, "count", 0,
           "all_reduce.differ{gpus=2,op=reduce_scatter,bytes=1,type=bf16,impl=push,mode=graph}");
    build(&bundle, &s);
    assert_false(notes(&s, "the same bits"));
    end(&bundle, &s);
}

/* --- figures ---------------------------------------------------------------------------------- */

static char *draw(const struct page *page, const char *name)
{
    const struct page_figure *figure;
    char title[200], how[600];

    for (size_t i = 0; (figure = figure_at(i)); i++)
        if (!strcmp(figure->name, name))
            return figure_draw(page, figure, CHART_WIDE, false, title, how);
    return NULL;
}

static void figures(void **unused)
{
    struct bundle bundle = begin_two();
    const struct summary summary = {.bundle = &bundle};
    struct page *page = calloc(1, sizeof *page);
    (void)unused;

    assert_non_null(page);
    put_copies(&bundle, 0, 0);
    rows_finish(&bundle.rows);
    assert_true(page_open(page, &summary));
    assert_int_equal(page->claims.n, 0); /* nothing could link to them */
    assert_null(draw(page, "sums"));
    char *copies = draw(page, "copies");
    assert_non_null(copies);
    assert_non_null(strstr(copies, "256 MiB, copy engine: 400 GB/s"));
    assert_non_null(strstr(copies, "\"#peer_memory.rate%7Bgpus=2,by=copy_engine,directions=one,"
                                   "bytes=268435456%7D\""));
    assert_non_null(strstr(copies, "links 25 GB/s")); /* of the GPU that has least */
    free(copies);
    page_free(page);
    rows_free(&bundle.rows);
    json_decref(bundle.head);

    bundle = begin_two();
    put_sum(&bundle, "push", "graph", 1024, 2000);
    put_sum(&bundle, "push", "graph", 4096, 2500);
    put_sum(&bundle, "nccl", "graph", 4096, 6000);
    put_sum(&bundle, "two_shot", "kernel", 4096, 900);
    rows_finish(&bundle.rows);
    assert_true(page_open(page, &summary));
    char *sums = draw(page, "sums");
    assert_non_null(sums);
    assert_non_null(strstr(sums, "4 KiB, one shot: 2.50 us"));
    assert_non_null(strstr(sums, "4 KiB, NCCL: 6 us"));
    assert_non_null(strstr(sums, "4 KiB, in a kernel: 900 ns"));
    assert_null(strstr(sums, "early"));
    assert_null(draw(page, "copies"));
    free(sums);
    page_free(page);
    free(page);
    rows_free(&bundle.rows);
    json_decref(bundle.head);
}

static void nothing(void **unused)
{
    struct bundle bundle = begin();
    struct section s;
    (void)unused;

    put(&bundle, "memory_latency.load{level=l1}", 1);
    build(&bundle, &s);
    assert_non_null(strstr(s.missing, "--devices"));
    assert_true(s.is_silent);
    assert_int_equal(s.n_grids + s.n_notes, 0);
    end(&bundle, &s);
}

/* 2385 ns are 2.38 us or 2.39; a table and a sentence must not differ. */
static void ties(void **unused)
{
    char cell_text[48], said[64], text[64];
    (void)unused;

    for (int ns = 1005; ns < 10000; ns += 10) {
        const struct number number = number_fact(ns, "ns");
        number_cell(cell_text, sizeof cell_text, &number, "us");
        snprintf(text, sizeof text, "%s us", cell_text);
        assert_string_equal(number_say(said, sizeof said, &number, NULL), text);
    }
}

/* A latency curve with four plateaus, and registers. */
static void put_curve(struct bundle *bundle)
{
    static const struct {
        const char *level;
        double bytes;
    } sizes[] = {{"l1", 200e3}, {"l2_near", 26e6}, {"l2", 60e6}};
    char id[96];

    for (double bytes = 4096; bytes < 1e9; bytes *= 1.2) {
        snprintf(id, sizeof id, "memory_latency.curve{bytes=%.0f}", bytes);
        put_spread(&bundle->rows, id, "cycles", ROW_LOWER,
                   bytes < 200e3 ? 32 : bytes < 26e6 ? 283 : bytes < 60e6 ? 513 : 660, 0, ROUNDS);
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(id, sizeof id, "derived.capacity{level=%s}", sizes[i].level);
        put_spread(&bundle->rows, id, "bytes", ROW_HIGHER, sizes[i].bytes, 0, ROUNDS);
    }
    put_spread(&bundle->rows, "memory_latency.load{level=hbm}", "cycles", ROW_LOWER, 660, 0,
               ROUNDS);
    put_spread(&bundle->rows, "bandwidth.sm_rate{level=register,op=read,path=ffma,bytes=229376}",
               "bytes/cycle", ROW_HIGHER, 1013, 0, ROUNDS);
    put_spread(&bundle->rows, "bandwidth.rate{level=register,op=read,path=ffma,bytes=229376}",
               "bytes/s", ROW_HIGHER, 264e12, 0, ROUNDS);
}

/* A star never stands without the note that explains it, whatever was not measured. */
static void stars(void **unused)
{
    static const char far[] = "memory_map.load{level=l2,side=far}";
    static const char add[] = "instructions.latency{op=fma,type=fp32}";
    (void)unused;

    for (int measured = 0; measured < 2; measured++) {
        struct bundle bundle = begin();
        struct section s = {0};
        put_curve(&bundle);
        if (measured) {
            put_spread(&bundle.rows, far, "cycles", ROW_LOWER, 457, 0, ROUNDS);
            put_spread(&bundle.rows, add, "cycles", ROW_LOWER, 4, 0, ROUNDS);
        }
        rows_finish(&bundle.rows);
        const struct summary summary = {.bundle = &bundle};
        section_memory(&summary, &s);
        assert_string_equal(cell(&s.grid[0], 0, 0)->text, measured ? "registers *" : "registers");
        assert_true(notes(&s, "* a dependent multiply-add") == (measured == 1));
        section_free(&s);
        section_curve(&summary, &s);
        assert_non_null(strstr(s.lines[1], "513*"));
        assert_true(notes(&s, measured ? "* no level: part" : "* perhaps no level"));
        end(&bundle, &s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),
        cmocka_unit_test(off_between),
        cmocka_unit_test(without_a_model),
        cmocka_unit_test(crossover),
        cmocka_unit_test(one_side),
        cmocka_unit_test(early_start),
        cmocka_unit_test(models),
        cmocka_unit_test(copies),
        cmocka_unit_test(wire),
        cmocka_unit_test(layer),
        cmocka_unit_test(ladder),
        cmocka_unit_test(rest),
        cmocka_unit_test(head),
        cmocka_unit_test(bits),
        cmocka_unit_test(figures),
        cmocka_unit_test(nothing),
        cmocka_unit_test(ties),
        cmocka_unit_test(stars),
    };
    return cmocka_run_group_tests_name("between GPUs", tests, NULL, NULL);
}
