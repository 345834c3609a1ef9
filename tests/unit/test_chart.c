/* report/chart: scales and ticks, texts, colours. */
#include "report/chart/axis.h"
#include "report/chart/svg.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* --- axes ------------------------------------------------------------------------------------- */

static void places(void **state)
{
    const struct axis_map linear = {CHART_LINEAR, 10, 20, 100, 300};
    const struct axis_map up = {CHART_LINEAR, 0, 4, 400, 0};
    const struct axis_map octaves = {CHART_LOG2, 1, 1024, 0, 1000};
    const struct axis_map decades = {CHART_LOG10, 0.01, 100, 0, 400};

    (void)state;
    assert_close(axis_at(&linear, 10), 100, 1e-12);
    assert_close(axis_at(&linear, 12.5), 150, 1e-12);
    assert_close(axis_at(&up, 1), 300, 1e-12);
    assert_close(axis_at(&octaves, 32), 500, 1e-12);
    assert_close(axis_at(&decades, 10), 300, 1e-12);
    assert_true(axis_shows(&linear, 20) && !axis_shows(&linear, 20.1) && !axis_shows(&linear, 9.9));
    assert_false(axis_shows(&decades, 0) || axis_shows(&decades, (double)NAN));
}

static void ticks_are(enum chart_scale scale, double low, double high, size_t most,
                      const double *expected, size_t n)
{
    const struct axis_map map = {scale, low, high, 0, 1000};
    const struct chart_axis axis = {.scale = scale};
    const struct axis_ticks ticks = axis_ticks(&map, &axis, most);

    assert_int_equal(ticks.n, n);
    for (size_t i = 0; i < n; i++)
        assert_close(ticks.at[i], expected[i], 1e-12);
}

#define ASSERT_TICKS(scale, low, high, most, ...)                                                  \
    ticks_are(scale, low, high, most, (const double[]){__VA_ARGS__},                               \
              sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static void ticks(void **state)
{
    (void)state;
    ASSERT_TICKS(CHART_LINEAR, 0, 14, 9, 0, 2, 4, 6, 8, 10, 12, 14);
    ASSERT_TICKS(CHART_LINEAR, 0, 5, 6, 0, 1, 2, 3, 4, 5);
    ASSERT_TICKS(CHART_LINEAR, -0.3, 0.3, 4, -0.2, 0, 0.2);
    ASSERT_TICKS(CHART_LINEAR, 0, 800, 6, 0, 200, 400, 600, 800);
    ASSERT_TICKS(CHART_LOG10, 1, 3000, 8, 1, 10, 100, 1000);
    ASSERT_TICKS(CHART_LOG10, 0.15, 24, 8, 0.2, 0.5, 1, 2, 5, 10, 20);
    ASSERT_TICKS(CHART_LOG10, 1e-9, 1e9, 4, 1e-5, 1, 1e5);
    ASSERT_TICKS(CHART_LOG2, 24, 1100, 10, 32, 64, 128, 256, 512, 1024);
    ASSERT_TICKS(CHART_LOG2, 4096, 65536, 3, 4096, 16384, 65536);
    ASSERT_TICKS(CHART_LOG10, 1.1, 1.5, 6, 1.1, 1.2, 1.3, 1.4, 1.5);
}

static void ranges(void **state)
{
    struct axis_span span = {0};
    struct axis_map map;

    (void)state;
    axis_include(&span, CHART_LINEAR, (double)NAN);
    axis_include(&span, CHART_LINEAR, (double)INFINITY);
    axis_include(&span, CHART_LOG2, -1);
    assert_int_equal(span.n, 0);
    axis_include(&span, CHART_LINEAR, 4.8);
    axis_include(&span, CHART_LINEAR, 12.9);
    map = axis_map(&(struct chart_axis){.zero = true}, span, 8);
    assert_same(map.low, 0);
    assert_close(map.high, 14, 1e-12);
    map = axis_map(&(struct chart_axis){.low = 1, .high = 3}, span, 8);
    assert_same(map.low, 1);
    assert_same(map.high, 3);
    /* One value, and values that are all the same, have a range, too. */
    for (int scale = CHART_LINEAR; scale <= CHART_LOG10; scale++) {
        const double alone[] = {7, 1e-300, 1e300, 1e17};
        for (size_t i = 0; i < CHECK_LENGTH(alone); i++) {
            span = (struct axis_span){alone[i], alone[i], 1};
            map = axis_map(&(struct chart_axis){.scale = (enum chart_scale)scale}, span, 5);
            assert_true(map.low < map.high);
            assert_true(isfinite(axis_at(&map, alone[i])));
            assert_true(axis_shows(&map, alone[i]));
        }
    }
    map = axis_map(&(struct chart_axis){.zero = true}, (struct axis_span){0, 0, 1}, 5);
    assert_true(map.low == 0 && map.high > 0);
}

/* An axis over all that can be drawn has ticks: its ends are numbers, and their powers are, too. */
static void greatest_range(void **state)
{
    (void)state;
    for (int scale = CHART_LOG2; scale <= CHART_LOG10; scale++)
        for (int end = 0; end < 3; end++) { /* of both ends, the lower or the upper is ordinary */
            const struct axis_span span = {end == 1 ? 1 : 1e-300, end == 2 ? 1 : 1e300, 2};
            const struct chart_axis axis = {.scale = (enum chart_scale)scale};
            const struct axis_map map = axis_map(&axis, span, 5);
            const struct axis_ticks ticks = axis_ticks(&map, &axis, 5);
            assert_true(map.low > 0 && map.low <= span.low);
            assert_true(isfinite(map.high) && map.high >= span.high);
            assert_in_range(ticks.n, 3, 5);
            for (size_t i = 0; i < ticks.n; i++)
                assert_true(axis_shows(&map, ticks.at[i]));
        }
}

static void formats(void **state)
{
    static const struct {
        chart_format *format;
        double value;
        const char *text;
    } known[] = {{chart_number, 0.05, "0.05"},
                 {chart_number, 2000, "2000"},
                 {chart_number, 0, "0"},
                 {chart_number, 1e9, "1e+09"},
                 {chart_bytes, 4096, "4 KiB"},
                 {chart_bytes, 512, "512 B"},
                 {chart_bytes, 28835840, "27.5 MiB"},
                 {chart_bytes, 1073741824, "1 GiB"},
                 {chart_bytes, 1048575, "1 MiB"},
                 {chart_ns, 10, "10 ns"},
                 {chart_ns, 1000, "1 us"},
                 {chart_ns, 735e3, "735 us"},
                 {chart_ns, 1e6, "1 ms"},
                 {chart_ns, 2.5e9, "2.5 s"}};
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(known); i++) {
        char text[CHART_TEXT];
        known[i].format(text, known[i].value);
        assert_string_equal(text, known[i].text);
    }
}

/* --- texts ------------------------------------------------------------------------------------ */

static void escaped(const char *text, const char *expected)
{
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);

    assert_non_null(out);
    chart_escape(out, text);
    fclose(out);
    assert_string_equal(said, expected);
    free(said);
}

static void escaping(void **state)
{
    (void)state;
    escaped(NULL, "");
    escaped("<&\">'", "&lt;&amp;&quot;&gt;&#39;");
    escaped("a\x01\x1b[31m\x7f", "a\\x01\\x1b[31m\\x7f");
    escaped("line\nline\t", "line line\\x09");
    escaped("\xc2\xb5s \xe2\x80\xa0 \xf0\x9f\x98\x80", "\xc2\xb5s \xe2\x80\xa0 \xf0\x9f\x98\x80");
    escaped("\xff \xc3 \xe2\x80", "\\xff \\xc3 \\xe2\\x80"); /* no UTF-8, or cut off */
    /* too long a form; a surrogate */
    escaped("\xc0\xaf \xed\xa0\x80", "\\xc0\\xaf \\xed\\xa0\\x80");
    escaped("\xef\xbf\xbe \xc2\x85", "\\ufffe \\u0085"); /* no character; a control */
    escaped("\xe2\x80\xae"
            "abc",
            "\\u202eabc"); /* would turn the text round */
    escaped("a\xe2\x80\x8b" "b\xef\xbb\xbf" "c\xd8\x9c", "a\\u200bb\\ufeffc\\u061c");
    escaped("\xf3\xa0\x81\x81", "\\ue0041"); /* a letter that nobody sees */
    escaped("\xf5\x80\x80\x80 \xf4\x90\x80\x80", "\\xf5\\x80\\x80\\x80 \\xf4\\x90\\x80\\x80");
}

static void numbers(void **state)
{
    static const struct {
        double value;
        const char *text;
    } known[] = {{1, "1"},     {1.25, "1.2"},  {-0.01, "0"},       {0.96, "1"},
                 {100, "100"}, {-3.5, "-3.5"}, {(double)NAN, "0"}, {1e300, "0"}};
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(known); i++) {
        char *said = NULL;
        size_t size;
        FILE *out = open_memstream(&said, &size);
        assert_non_null(out);
        svg_number(out, known[i].value);
        fclose(out);
        assert_string_equal(said, known[i].text);
        free(said);
    }
}

static void links(void **state)
{
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);
    struct svg svg = {.out = out};

    (void)state;
    assert_non_null(out);
    assert_true(svg_link(&svg, "a.b{c=1,d=x y}\"><%"));
    assert_false(svg_link(&svg, NULL));
    svg.form.standalone = true;
    assert_false(svg_link(&svg, "a"));
    fclose(out);
    assert_string_equal(said, "<a href=\"#a.b%7Bc=1,d=x%20y%7D%22%3E%3C%25\">");
    free(said);
}

/* A text is never taken for narrower than 0.55 em a character. */
static void widths(void **state)
{
    const struct svg_style style = {.size = 10};
    (void)state;
    assert_close(svg_text_width("iiii", style), 22, 1e-12);
    assert_true(svg_text_width("WWWW", style) > 30);
    assert_close(svg_text_width("\xc2\xb5\xc2\xb5", style), svg_text_width("aa", style), 1e-12);
    assert_same(svg_text_width(NULL, style), 0);
}

/* --- colours ---------------------------------------------------------------------------------- */

static double luminance(const char *colour)
{
    const unsigned long code = strtoul(colour + 1, NULL, 16);
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        const double part = (double)(code >> (16 - 8 * i) & 0xff) / 255;
        sum += weights[i] * (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(const char *a, const char *b)
{
    const double x = luminance(a), y = luminance(b);
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static void readable(int text, int on)
{
    const struct svg_colour *a = svg_colour(text), *b = svg_colour(on);
    if (contrast(a->light, b->light) < 4.5 || contrast(a->dark, b->dark) < 4.5)
        fail_msg("%s on %s: %.2f light, %.2f dark", a->name, b->name, contrast(a->light, b->light),
                 contrast(a->dark, b->dark));
}

static void contrasts(void **state)
{
    (void)state;
    assert_close(contrast("#ffffff", "#000000"), 21, 1e-12);
    for (int role = CHART_INK; role <= CHART_LIBRARY; role++)
        readable(role, SVG_BACKGROUND);
    readable(CHART_INK, SVG_BAND);
    readable(CHART_SECONDARY, SVG_BAND);
    for (int role = CHART_INK; role <= CHART_NO; role++)
        readable(SVG_ON, role);
    readable(SVG_ON_PARTLY, CHART_PARTLY);
    assert_string_equal(svg_colour(-1)->name, "ink");
    assert_string_equal(svg_colour(SVG_COLOURS)->name, "ink");
}

/* Each colour has a property in both schemes and a class; the sheet asks for nothing outside. */
static void style(void **state)
{
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);

    (void)state;
    assert_non_null(out);
    chart_style(out);
    fclose(out);
    const char *dark = strstr(said, "prefers-color-scheme:dark");
    assert_non_null(dark);
    for (int i = 0; i < SVG_COLOURS; i++) {
        char light_one[64], dark_one[64], class[64];
        snprintf(light_one, sizeof light_one, "--%s:%s;", svg_colour(i)->name,
                 svg_colour(i)->light);
        snprintf(dark_one, sizeof dark_one, "--%s:%s;", svg_colour(i)->name, svg_colour(i)->dark);
        snprintf(class, sizeof class, ".c-%s{", svg_colour(i)->name);
        assert_non_null(strstr(said, light_one));
        assert_non_null(strstr(dark, dark_one));
        assert_non_null(strstr(said, class));
    }
    assert_null(strstr(said, "url("));
    assert_null(strstr(said, "http"));
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),  cmocka_unit_test(ticks),    cmocka_unit_test(ranges),
        cmocka_unit_test(greatest_range),
        cmocka_unit_test(formats), cmocka_unit_test(escaping), cmocka_unit_test(numbers),
        cmocka_unit_test(links),   cmocka_unit_test(widths),   cmocka_unit_test(contrasts),
        cmocka_unit_test(style),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
