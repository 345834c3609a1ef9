/* The section of what lies between GPUs: the two-term model's exact answers, who is fastest at which
 * size, and nothing where nothing was measured. */
#include "tests/unit/test_report_help.h"

#include <math.h>
#include <stdio.h>

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
    assert_true(fabs(m.worst - (1200.0 / 1500 - 1)) < 1e-12); /* too short by 20 %; at 100, 10 % too long */
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

static void put_sum(struct bundle *bundle, const char *impl, const char *mode, double bytes, double ns)
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

enum { LAST = 9, NODE = 2 };

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
    assert_string_equal(s.finding, "A word takes 670 ns to another GPU; 16 KiB are added over all GPUs "
                                   "in 2.10 us as a node, by NCCL's best in 6.10 us.");
    const struct grid *grid = grid_of(&s, "symmetric");
    assert_non_null(grid);
    assert_int_equal(grid->n_rows, 4);
    assert_string_equal(cell(grid, 0, 0)->text, "1 KiB");
    assert_string_equal(cell(grid, 1, LAST)->text, "one shot");
    assert_string_equal(cell(grid, 3, LAST)->text, "NCCL Simple");
    assert_true(cell(grid, 0, 1)->number.value == 1000);
    assert_true(cell(grid, 3, 1)->number.value == 5000); /* two shots, which are faster in a kernel */
    assert_true(isnan(cell(grid, 0, NODE + 1)->number.value));
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
    assert_string_equal(cell(grid_of(&s, "symmetric"), 0, LAST)->text, "NCCL symmetric");
    end(&bundle, &s);

    bundle = begin();
    const double ours[] = {1, 3, 1}, theirs[] = {2, 2, 2};
    for (int i = 0; i < 3; i++) {
        put_sum(&bundle, "push", "graph", 1024 << i, ours[i]);
        put_sum(&bundle, "nccl", "graph", 1024 << i, theirs[i]);
    }
    build(&bundle, &s);
    assert_true(notes(&s, "ours at 2 of 3 sizes"));
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
    assert_string_equal(cell(grid, 0, 0)->text, "copy engine");
    assert_true(fabs(cell(grid, 0, 1)->number.value - 5000) < 1e-3);
    assert_true(fabs(cell(grid, 0, 2)->number.value / 370e9 - 1) < 1e-9);
    assert_true(fabs(cell(grid, 0, 4)->number.value - (1 / 1.1 - 1)) < 1e-9);
    assert_string_equal(cell(grid, 0, 5)->text, "1 MiB");
    assert_null(grid_of(&s, "symmetric"));
    end(&bundle, &s);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),     cmocka_unit_test(off_between), cmocka_unit_test(without_a_model),
        cmocka_unit_test(crossover), cmocka_unit_test(one_side),    cmocka_unit_test(models),
        cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests_name("between GPUs", tests, NULL, NULL);
}
