/* A reader for the JSON that gpufloor writes: objects, arrays, ASCII without escapes, numbers of up
 * to 15 digits. Single strings and numbers that are not so plain are handed to jansson or strtod();
 * anything else that is unusual (a key with an escape, the same key twice, a document nested
 * deeply, an error) ends the reading, and the caller has jansson read it all. */
#include "core/parse.h"

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, KEY_MOST = 256, TOKEN_MOST = 64, DIGITS_INTEGER = 18, DIGITS_REAL = 15,
       POWER_MOST = 22 };

struct reader {
    const char *at, *end;
    int depth;
};

static json_t *read_value(struct reader *r);

/* The next byte that is no white space; 0 at the end. */
static char next(struct reader *r)
{
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
    return (char)(r->at < r->end ? *r->at : 0);
}

static bool take(struct reader *r, char wanted)
{
    if (next(r) != wanted)
        return false;
    r->at++;
    return true;
}

static json_t *by_jansson(const char *token, const char *end)
{
    return json_loadb(token, (size_t)(end - token), JSON_DECODE_ANY, NULL);
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Where a string ends: at its closing quote, or at r->end. The opening quote is behind r->at. */
static const char *end_of_string(const struct reader *r, bool *is_plain)
{
    const char *at = r->at;
    *is_plain = true;
    for (; at < r->end && *at != '"'; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte == '\\') {
            *is_plain = false;
            at += at + 1 < r->end;
        } else if (byte < 0x20 || byte > 0x7e)
            *is_plain = false;
    }
    return at;
}

static json_t *read_string(struct reader *r)
{
    bool is_plain;
    const char *start = ++r->at, *end = end_of_string(r, &is_plain);

    if (end == r->end)
        return NULL;
    r->at = end + 1;
    return is_plain ? json_stringn_nocheck(start, (size_t)(end - start))
                    : by_jansson(start - 1, end + 1);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Digits from r->at on, which become the last ones of *value. Returns how many there are. */
static int take_digits(struct reader *r, uint64_t *value)
{
    int n = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++, n++)
        if (n < DIGITS_INTEGER)
            *value = 10 * *value + (uint64_t)(*r->at - '0');
    return n;
}

/* "e-05" as a number; false: it has no digits, or too many. */
static bool take_exponent(struct reader *r, int *exponent)
{
    uint64_t value = 0;
    bool is_below = false;

    r->at++;
    if (r->at < r->end && (*r->at == '-' || *r->at == '+'))
        is_below = *r->at++ == '-';
    const int n = take_digits(r, &value);
    *exponent = is_below ? -(int)(value % 10000) : (int)(value % 10000);
    return n > 0 && n <= 4;
}

/* A double holds digits < 2^53 and 10^22 exactly, so that one operation on both rounds once, as the
 * value itself would be rounded. */
static json_t *real(uint64_t digits, int exponent, bool is_negative)
{
    static const double powers[POWER_MOST + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const double value = exponent < 0 ? (double)digits / powers[-exponent]
                                      : (double)digits * powers[exponent];
    return json_real(is_negative ? -value : value);
}

/* A real number by the C library, as jansson reads it: it asks the same strtod(). What is too large
 * is jansson's to refuse. */
static json_t *by_library(const char *token, const char *end)
{
    char text[TOKEN_MOST + 1];
    const size_t length = (size_t)(end - token);

    if (length > TOKEN_MOST)
        return NULL;
    memcpy(text, token, length);
    text[length] = '\0';
    return json_real(strtod(text, NULL)); /* NULL where it is infinite */
}

static json_t *read_number(struct reader *r)
{
    const char *start = r->at;
    const bool is_negative = *r->at == '-';
    uint64_t digits = 0;
    int exponent = 0, n_after = 0;

    r->at += is_negative;
    const bool starts_at_0 = r->at < r->end && *r->at == '0';
    const int n_before = take_digits(r, &digits);
    if (n_before == 0 || (starts_at_0 && n_before > 1))
        return NULL;
    const bool has_point = r->at < r->end && *r->at == '.';
    if (has_point) {
        r->at++;
        n_after = take_digits(r, &digits);
        if (n_after == 0)
            return NULL;
    }
    const bool has_exponent = r->at < r->end && (*r->at == 'e' || *r->at == 'E');
    if (has_exponent && !take_exponent(r, &exponent))
        return NULL;
    if (!has_point && !has_exponent && n_before <= DIGITS_INTEGER)
        return json_integer(is_negative ? -(json_int_t)digits : (json_int_t)digits);
    exponent -= n_after;
    if ((has_point || has_exponent) && FLT_EVAL_METHOD == 0 &&
        n_before + n_after <= DIGITS_REAL && exponent >= -POWER_MOST && exponent <= POWER_MOST)
        return real(digits, exponent, is_negative);
    if (has_point || has_exponent)
        return by_library(start, r->at);
    return r->at - start <= TOKEN_MOST ? by_jansson(start, r->at) : NULL;
}

/* --- all of it -------------------------------------------------------------------------------- */

static json_t *read_word(struct reader *r, const char *word, json_t *value)
{
    const size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return NULL;
    r->at += length;
    return value;
}

static bool read_elements(struct reader *r, json_t *array)
{
    if (take(r, ']'))
        return true;
    do {
        json_t *value = read_value(r);
        if (!value || json_array_append_new(array, value) != 0)
            return false;
    } while (take(r, ','));
    return take(r, ']');
}

static bool read_key(struct reader *r, char key[KEY_MOST])
{
    bool is_plain;
    if (!take(r, '"'))
        return false;
    const char *end = end_of_string(r, &is_plain);
    const size_t length = (size_t)(end - r->at);
    if (end == r->end || !is_plain || length >= KEY_MOST)
        return false;
    memcpy(key, r->at, length);
    key[length] = '\0';
    r->at = end + 1;
    return take(r, ':');
}

static bool read_members(struct reader *r, json_t *object)
{
    char key[KEY_MOST];
    size_t n = 0;

    if (take(r, '}'))
        return true;
    do {
        json_t *value = read_key(r, key) ? read_value(r) : NULL;
        if (!value || json_object_set_new_nocheck(object, key, value) != 0)
            return false;
        n++;
    } while (take(r, ','));
    return take(r, '}') && json_object_size(object) == n; /* else a key stands there twice */
}

static json_t *read_many(struct reader *r, json_t *many,
                         bool (*read)(struct reader *, json_t *))
{
    r->at++;
    const bool is_read = many && ++r->depth <= DEEPEST && read(r, many);
    r->depth--;
    if (is_read)
        return many;
    json_decref(many);
    return NULL;
}

static json_t *read_value(struct reader *r)
{
    switch (next(r)) {
    case '{': return read_many(r, json_object(), read_members);
    case '[': return read_many(r, json_array(), read_elements);
    case '"': return read_string(r);
    case 't': return read_word(r, "true", json_true());
    case 'f': return read_word(r, "false", json_false());
    case 'n': return read_word(r, "null", json_null());
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': return read_number(r);
    default: return NULL;
    }
}

json_t *parse_plain(const char *bytes, size_t size)
{
    struct reader reader = {.at = bytes, .end = bytes + size};
    const char first = next(&reader);
    json_t *document = first == '{' || first == '[' ? read_value(&reader) : NULL;

    if (next(&reader) || reader.at < reader.end) {
        json_decref(document);
        return NULL;
    }
    return document;
}
