/* report/chart: whatever the data, a figure is XML, no text overlaps another or a mark, and nothing
 * leaves the figure. */
#include "report/chart/xy.h"

#include <float.h>

#include "tests/unit/chart_read.h"
#include "tests/unit/check.h"

enum { FIGURES = 400, MOST = 24 };

/* --- data that a figure must endure ----------------------------------------------------------- */

static unsigned long long next(unsigned long long *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

static double value(unsigned long long *state, int kind)
{
    static const double odd[] = {
        (double)NAN, (double)INFINITY, -(double)INFINITY, 0,      -0.0,  -1,     1,
        DBL_MAX,     -DBL_MAX,         DBL_MIN,           5e-324, 1e300, 1e-300, 1e17,
        1e17 + 16};
    const double even = (double)(next(state) % 1000) / 100;

    switch (kind) {
    case 0: return even;                                 /* a crowd */
    case 1: return 7;                                    /* all the same */
    case 2: return pow(10, even - 3);                    /* decades */
    case 3: return odd[next(state) % CHECK_LENGTH(odd)]; /* anything at all */
    default: return next(state) % 3 ? even : odd[next(state) % CHECK_LENGTH(odd)];
    }
}

static const char *text(unsigned long long *state)
{
    static const char *const texts[] = {NULL,
                                        "",
                                        "a",
                                        "4 x 8",
                                        "128 blocks: 4.82",
                                        "one side of the L2: 27.5 MiB",
                                        "two\nlines of it",
                                        "a label that is much longer than any paper is wide, and "
                                        "which therefore cannot stand anywhere "
                                        "at all, whatever is tried with it, not even alone",
                                        "<script>alert(1)</script>",
                                        "\"/><a href=\"http://x\">'&amp;",
                                        "bytes \x01\x1b[31m \xff\xc3",
                                        "\n\n\n\n\n\n",
                                        "\xe6\xb8\xac\xe5\xae\x9a \xe2\x80\xae mixed",
                                        "..........",
                                        "WWWWWWWWWW"};
    return texts[next(state) % CHECK_LENGTH(texts)];
}

/* What one figure is made of, so that it lives until it is drawn. */
struct data {
    struct chart_point points[3][MOST];
    struct chart_series series[3];
    struct chart_reference references[4];
    struct chart_band bands[2];
    struct chart_dot dots[MOST][3];
    struct chart_row rows[MOST];
    struct chart_key keys[5];
    struct chart_segment segments[3][MOST];
    struct chart_bar bars[3];
    struct chart_box boxes[3][MOST];
    struct chart_group groups[3];
};

static struct chart_axis axis(unsigned long long *state)
{
    struct chart_axis is = {
        .title = text(state), .scale = next(state) % 3, .zero = next(state) % 2};
    if (next(state) % 8 == 0) {
        is.low = value(state, 4);
        is.high = value(state, 4);
    }
    is.format = next(state) % 2 ? NULL : next(state) % 2 ? chart_bytes : chart_ns;
    return is;
}

static struct chart_xy random_xy(struct data *data, unsigned long long *state)
{
    const int kind = (int)(next(state) % 5);

    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; i < MOST; i++)
            data->points[s][i] = (struct chart_point){
                value(state, kind), value(state, kind), text(state),          text(state),
                text(state),        text(state),        next(state) % 3 == 0, next(state) % 4};
        data->series[s] = (struct chart_series){data->points[s],
                                                next(state) % (MOST + 1),
                                                text(state),
                                                next(state) % CHART_ROLES,
                                                next(state) % 2 ? CHART_DOT : CHART_NO_MARK,
                                                next(state) % 4,
                                                next(state) % 2,
                                                next(state) % 2,
                                                next(state) % 2 ? 0 : 2};
    }
    for (size_t i = 0; i < 4; i++)
        data->references[i] = (struct chart_reference){
            value(state, kind), next(state) % 2, next(state) % 4, text(state),
            text(state),        next(state) % 2, next(state) % 2};
    for (size_t i = 0; i < 2; i++)
        data->bands[i] = (struct chart_band){value(state, kind), value(state, kind),
                                             next(state) % 2, text(state), text(state)};
    return (struct chart_xy){.title = text(state),
                             .height = value(state, 4) * 100,
                             .height_narrow = value(state, 4) * 100,
                             .x = axis(state),
                             .y = axis(state),
                             .right = axis(state),
                             .right_factor = value(state, 4),
                             .series = data->series,
                             .n_series = next(state) % 4,
                             .references = data->references,
                             .n_references = next(state) % 5,
                             .bands = data->bands,
                             .n_bands = next(state) % 3};
}

static struct chart_rows random_rows(struct data *data, unsigned long long *state)
{
    const int kind = (int)(next(state) % 5);

    for (size_t i = 0; i < MOST; i++) {
        for (size_t k = 0; k < 3; k++)
            data->dots[i][k] = (struct chart_dot){value(state, kind), next(state) % CHART_ROLES,
                                                  next(state) % 7, text(state), text(state)};
        data->rows[i] = (struct chart_row){
            .label = text(state),
            .aside = text(state),
            .anchor = text(state),
            .on = {{data->dots[i], next(state) % 3, text(state), text(state), next(state) % 2,
                    false},
                   {data->dots[i] + 2, next(state) % 2, text(state), text(state), false, true}},
            .strong = next(state) % 2,
            .rule = next(state) % 2};
    }
    for (size_t i = 0; i < 5; i++)
        data->keys[i] = (struct chart_key){text(state), next(state) % CHART_ROLES, next(state) % 7};
    for (size_t i = 0; i < 4; i++)
        data->references[i] = (struct chart_reference){
            value(state, kind), true, CHART_DOTTED, text(state), text(state),
            next(state) % 2,    false};
    return (struct chart_rows){.title = text(state),
                               .height = value(state, 4) * 100,
                               .axes = {axis(state), axis(state)},
                               .n_axes = next(state) % 3,
                               .share = value(state, 4) / 10,
                               .aside = text(state),
                               .one = value(state, kind),
                               .references = data->references,
                               .n_references = next(state) % 5,
                               .keys = data->keys,
                               .n_keys = next(state) % 6,
                               .rows = data->rows,
                               .n_rows = next(state) % (MOST + 1)};
}

static struct chart_bars random_bars(struct data *data, unsigned long long *state)
{
    for (size_t b = 0; b < 3; b++) {
        for (size_t i = 0; i < MOST; i++)
            data->segments[b][i] = (struct chart_segment){value(state, 4),
                                                          text(state),
                                                          text(state),
                                                          text(state),
                                                          text(state),
                                                          text(state),
                                                          next(state) % CHART_ROLES,
                                                          next(state) % 2};
        data->bars[b] = (struct chart_bar){text(state), text(state), data->segments[b],
                                           next(state) % (MOST + 1)};
    }
    return (struct chart_bars){text(state), data->bars, next(state) % 4};
}

static struct chart_boxes random_boxes(struct data *data, unsigned long long *state)
{
    for (size_t g = 0; g < 3; g++) {
        for (size_t i = 0; i < MOST; i++)
            data->boxes[g][i] = (struct chart_box){text(state), text(state), text(state),
                                                   next(state) % CHART_ROLES};
        data->groups[g] =
            (struct chart_group){text(state), data->boxes[g], next(state) % (MOST + 1)};
    }
    for (size_t i = 0; i < 5; i++)
        data->keys[i] = (struct chart_key){text(state), next(state) % CHART_ROLES, CHART_NO_MARK};
    return (struct chart_boxes){text(state), data->keys, next(state) % 6, data->groups,
                                next(state) % 4};
}

/* --- reading it back -------------------------------------------------------------------------- */

enum kind { XY, ROWS, BARS, BOXES };

/* Figure number `seed` of a kind, to be freed. */
static char *draw(enum kind kind, unsigned long long seed, struct svg_form form)
{
    struct data *data = calloc(1, sizeof *data);
    unsigned long long state = seed * 7919 + kind;
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);

    assert_non_null(data);
    assert_non_null(out);
    if (kind == XY) {
        const struct chart_xy chart = random_xy(data, &state);
        xy_draw(out, &chart, form);
    } else if (kind == ROWS) {
        const struct chart_rows chart = random_rows(data, &state);
        chart_rows(out, &chart, form.width, form.standalone);
    } else if (kind == BARS) {
        const struct chart_bars chart = random_bars(data, &state);
        chart_bars(out, &chart, form.width, form.standalone);
    } else {
        const struct chart_boxes chart = random_boxes(data, &state);
        chart_boxes(out, &chart, form.width, form.standalone);
    }
    fclose(out);
    free(data);
    return said;
}

static void one_kind(enum kind kind)
{
    struct read_figure *figure = malloc(sizeof *figure);

    assert_non_null(figure);
    for (unsigned seed = 0; seed < FIGURES; seed++)
        for (int form = 0; form < 4; form++) {
            const struct svg_form is = {form & 1 ? CHART_NARROW : CHART_WIDE, form & 2, false};
            const char *where = "";
            char *svg = draw(kind, seed, is);

            if (!read_is_xml(svg, &where))
                fail_msg("kind %d, seed %u, form %d: no XML at: %.60s", kind, seed, form, where);
            read_figure(figure, svg);
            if (figure->overlaps || figure->outside || figure->points_outside)
                fail_msg(
                    "kind %d, seed %u, form %d: %zu overlap, %zu texts and %zu others leave it",
                    kind, seed, form, figure->overlaps, figure->outside, figure->points_outside);
            if (strstr(svg, "nan") || strstr(svg, "inf\"") || strstr(svg, "<script"))
                fail_msg("kind %d, seed %u, form %d: what must not be there", kind, seed, form);
            free(svg);
        }
    free(figure);
}

static void plots(void **state)
{
    (void)state;
    one_kind(XY);
}

static void rows(void **state)
{
    (void)state;
    one_kind(ROWS);
}

static void bars(void **state)
{
    (void)state;
    one_kind(BARS);
}

static void boxes(void **state)
{
    (void)state;
    one_kind(BOXES);
}

/* With the labels put anywhere, the same reading finds many that overlap. */
static void careless(void **state)
{
    struct read_figure *figure = malloc(sizeof *figure);
    size_t overlaps = 0, outside = 0;

    (void)state;
    assert_non_null(figure);
    for (unsigned seed = 0; seed < FIGURES; seed++) {
        char *svg = draw(XY, seed, (struct svg_form){CHART_WIDE, false, true});
        read_figure(figure, svg);
        overlaps += figure->overlaps > 0;
        outside += figure->outside > 0;
        free(svg);
    }
    assert_true(overlaps > FIGURES / 4);
    assert_true(outside > FIGURES / 10);
    free(figure);
}

/* Labels are not left out where there is room for all. */
static void room(void **state)
{
    const struct chart_point points[] = {{1, 1, "t1", NULL, "first", NULL, false, CHART_RIGHT},
                                         {2, 3, "t2", NULL, "second", NULL, false, CHART_RIGHT},
                                         {3, 2, "t3", NULL, "third", NULL, true, CHART_ABOVE}};
    const struct chart_series series = {
        .points = points, .n_points = 3, .name = "whole", .mark = CHART_DOT, .line = CHART_SOLID};
    const struct chart_reference line = {1.5, false, CHART_DOTTED, "a limit", NULL, false, false};
    const struct chart_xy chart = {
        .series = &series, .n_series = 1, .references = &line, .n_references = 1};
    static const char *const all[] = {">first<", ">second<",  ">third<",
                                      ">whole<", ">a limit<", ">t2<"};

    (void)state;
    for (int width = CHART_WIDE; width <= CHART_NARROW; width++) {
        char *said = NULL;
        size_t size;
        FILE *out = open_memstream(&said, &size);

        assert_non_null(out);
        chart_xy(out, &chart, width ? CHART_NARROW : CHART_WIDE, false);
        fclose(out);
        for (size_t i = 0; i < CHECK_LENGTH(all); i++)
            assert_non_null(strstr(said, all[i]));
        free(said);
    }
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

/* What cannot be drawn is left out, and interrupts the line; nothing at all is a frame. */
static void missing(void **state)
{
    const double none = (double)NAN;
    const struct chart_point points[] = {
        {.x = 1, .y = 10},  {.x = 2, .y = none},   {.x = none, .y = 10},
        {.x = 4, .y = 30},  {.x = 8, .y = 40},     {.x = 0, .y = 10},
        {.x = -1, .y = 10}, {.x = 16, .y = 1e301}, {.x = (double)INFINITY, .y = 10}};
    const struct chart_series series = {
        .points = points, .n_points = CHECK_LENGTH(points), .mark = CHART_DOT, .line = CHART_SOLID};
    const struct chart_xy chart = {.x = {.scale = CHART_LOG2}, .series = &series, .n_series = 1};
    const struct chart_xy empty = {.x = {.title = "nothing"}};
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);

    (void)state;
    assert_non_null(out);
    chart_xy(out, &chart, CHART_WIDE, false);
    fflush(out);
    assert_int_equal(count(said, "<circle"), 3);
    assert_int_equal(count(said, "<path"), 1);
    const char *path = strstr(said, "<path");
    assert_true(strcspn(path, "M") < strcspn(path, "L"));
    assert_int_equal(strcspn(strchr(path, 'L') + 1, "ML\""), strcspn(strchr(path, 'L') + 1, "\""));
    rewind(out);
    chart_xy(out, &empty, CHART_WIDE, false);
    fclose(out);
    assert_int_equal(count(said, "<line"), 2);
    assert_int_equal(count(said, "<text"), 1);
    free(said);
}

static void deterministic(void **state)
{
    (void)state;
    for (int kind = XY; kind <= BOXES; kind++) {
        char *a = draw((enum kind)kind, 5, (struct svg_form){0});
        char *b = draw((enum kind)kind, 5, (struct svg_form){0});
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
}

/* The reader itself: faults planted in a figure are seen. */
static void reader(void **state)
{
    static const char *const faulty[] = {"<a>",          "<a></b>",     "<a b=\"<\"></a>",
                                         "<a>&x</a>",    "<a>\x01</a>", "</a>",
                                         "<a b=\"></a>", "<a>></a>",    "<a"};
    struct read_figure *figure = malloc(sizeof *figure);
    const char *where;

    (void)state;
    assert_non_null(figure);
    for (size_t i = 0; i < CHECK_LENGTH(faulty); i++)
        assert_false(read_is_xml(faulty[i], &where));
    assert_true(read_is_xml("<a b=\"&lt;\"><b/>&amp;</a>", &where));
    read_figure(figure,
                "<svg viewBox=\"0 0 100 100\"><text x=\"10\" y=\"50\">ab</text>"
                "<text x=\"15\" y=\"52\">cd</text><circle cx=\"12\" cy=\"48\" r=\"3\"/>"
                "<text x=\"95\" y=\"20\">long</text><line x1=\"0\" y1=\"0\" x2=\"101\" y2=\"0\"/>"
                "<path d=\"M5 5L5 -1\"/></svg>");
    assert_int_equal(figure->overlaps, 2);
    assert_int_equal(figure->outside, 1);
    assert_int_equal(figure->points_outside, 2);
    free(figure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plots),   cmocka_unit_test(rows),     cmocka_unit_test(bars),
        cmocka_unit_test(boxes),   cmocka_unit_test(careless), cmocka_unit_test(room),
        cmocka_unit_test(missing), cmocka_unit_test(reader),   cmocka_unit_test(deterministic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
