/* report/cli/table.c: paragraphs, and text that is not trusted. */
#include "report/cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* What table_wrap or table_put prints, to be freed. */
static char *wrapped(const char *text, size_t at, size_t indent)
{
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);

    assert_non_null(out);
    table_wrap(out, text, at, indent);
    fclose(out);
    return said;
}

static char *put(const char *text, enum table_format format)
{
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);

    assert_non_null(out);
    table_put(out, text, format);
    fclose(out);
    return said;
}

#define ASSERT_SAYS(said, expected)                                                                \
    do {                                                                                           \
        char *is = (said);                                                                         \
        assert_string_equal(is, expected);                                                         \
        free(is);                                                                                  \
    } while (0)

static void paragraphs(void **state)
{
    char word[81], text[200];
    (void)state;
    ASSERT_SAYS(wrapped("", 3, 3), "");
    ASSERT_SAYS(wrapped("one line", 12, 12), "one line");
    memset(word, 'w', 80);
    word[80] = '\0';
    snprintf(text, sizeof text, "%s short %s", word, word);
    char expected[200];
    snprintf(expected, sizeof expected, "%s short\n  %s", word, word);
    ASSERT_SAYS(wrapped(text, 0, 2), expected);
}

/* 99 columns are a line, 100 are two. */
static void the_edge(void **state)
{
    char word[98];
    char text[120], expected[120];
    (void)state;
    memset(word, 'w', 97);
    word[97] = '\0';
    snprintf(text, sizeof text, "%s x", word);
    ASSERT_SAYS(wrapped(text, 0, 4), text);
    snprintf(expected, sizeof expected, "%s\n    x", word);
    ASSERT_SAYS(wrapped(text, 1, 4), expected);
}

static void columns_not_bytes(void **state)
{
    char text[400] = "";
    (void)state;
    for (int i = 0; i < 49; i++) /* 98 columns, 147 bytes */
        strcat(text, i ? " \xe2\x80\x94" : "\xe2\x80\x94");
    ASSERT_SAYS(wrapped(text, 0, 0), text);
}

/* A word that is wider than the line is kept whole, and the text after it is kept, too. */
static void long_words(void **state)
{
    char text[400], expected[400], word[151];
    (void)state;
    memset(word, 'w', 150);
    word[150] = '\0';
    snprintf(text, sizeof text, "a %s b", word);
    snprintf(expected, sizeof expected, "a\n %s\n b", word);
    ASSERT_SAYS(wrapped(text, 0, 1), expected);
}

static void untrusted(void **state)
{
    (void)state;
    ASSERT_SAYS(wrapped("a\x1b[2Jb\nc", 0, 0), "a\\x1b[2Jb\\x0ac");
    ASSERT_SAYS(put("a\x7f|\tb", TABLE_TEXT), "a\\x7f|\\x09b");
    ASSERT_SAYS(put("a\xc2\x9b" "1m\xe2\x80\xae\xff", TABLE_TEXT), "a\\u009b1m\\u202e\\xff");
    ASSERT_SAYS(put("a|b", TABLE_MD), "a\\|b");
    ASSERT_SAYS(put("a\\|b\\", TABLE_MD), "a\\\\\\|b\\\\");
    ASSERT_SAYS(put("<b>[x](y) &amp; a_b _c_ *d* `e`", TABLE_MD),
                "\\<b>\\[x\\](y) \\&amp; a_b \\_c\\_ \\*d\\* \\`e\\`");
    ASSERT_SAYS(put("# a", TABLE_MD), "\\# a");
    ASSERT_SAYS(put("- a", TABLE_MD), "\\- a");
    ASSERT_SAYS(put("12. a", TABLE_MD), "12\\. a");
    ASSERT_SAYS(put("-", TABLE_MD), "-");
    ASSERT_SAYS(put("-5.2 %", TABLE_MD), "-5.2 %");
    ASSERT_SAYS(put("\"a\\\tb\"", TABLE_TSV), "\\x22a\\\\\\x09b\"");
    ASSERT_SAYS(put(NULL, TABLE_TEXT), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs), cmocka_unit_test(the_edge),
        cmocka_unit_test(columns_not_bytes), cmocka_unit_test(long_words),
        cmocka_unit_test(untrusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
