/* core/text.h: the words of a list with commas between, and a text that is cut. */
#include "core/text.h"

#include <string.h>

#include "tests/unit/check.h"

/* The words of a list, each with a bar behind it. */
static const char *words_of(const char *list, char text[64])
{
    const char *word;
    size_t length;
    *text = '\0';
    while (text_word(&list, &word, &length))
        text_append(text, 64, "%.*s|", (int)length, word);
    return text;
}

static void words_in_a_list(void **state)
{
    char text[64];
    (void)state;
    assert_string_equal(words_of("small", text), "small|");
    assert_string_equal(words_of("small,sizes,C4*", text), "small|sizes|C4*|");
    assert_string_equal(words_of("a,,b", text), "a||b|"); /* one is empty */
    assert_string_equal(words_of("a,", text), "a|");      /* none behind the last comma */
    assert_string_equal(words_of("", text), "");
    assert_string_equal(words_of(NULL, text), "");
}

static void a_text_is_cut(void **state)
{
    char text[8] = "12";
    (void)state;
    text_append(text, sizeof text, "%d", 345);
    assert_string_equal(text, "12345");
    text_append(text, sizeof text, "%s", "6789");
    assert_string_equal(text, "1234567");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_in_a_list),
        cmocka_unit_test(a_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
