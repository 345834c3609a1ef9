#include "report/chart/character.h"

#include <stdbool.h>
#include <stdio.h>

/* The code of a character of `length` bytes that are there; its bits are read whatever they are. */
static unsigned code_of(const unsigned char *c, size_t length)
{
    unsigned code = length == 2 ? c[0] & 0x1fu : length == 3 ? c[0] & 0xfu : c[0] & 7u;
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (c[i] & 0x3fu);
    return code;
}

/* Bytes of a character above 127, or 0 where none begins: a byte that nothing follows, a form
 * longer than needed, half of a pair of UTF-16, a code beyond the last. */
static size_t length_of(const unsigned char *c, size_t n)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;

    if (length == 0 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    const unsigned code = code_of(c, length);
    return code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0
                                                                                        : length;
}

/* Controls of C1, marks of direction, separators of lines, what has no width, what is no
 * character, or one by private agreement alone. */
static bool is_hidden(unsigned code)
{
    static const struct {
        unsigned first, last;
    } ranges[] = {
        {0x80, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},
        {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x115f, 0x1160},
        {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0x3164, 0x3164},   {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},
        {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return (code & 0xfffe) == 0xfffe;
}

size_t character_take(const char *text, size_t n, char shown[CHARACTER_SHOWN])
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t length = c[0] < 0x80 ? 1 : length_of(c, n);

    shown[0] = '\0';
    if (c[0] < 0x20 || c[0] == 0x7f || length == 0) {
        snprintf(shown, CHARACTER_SHOWN, "\\x%02x", (unsigned)c[0]);
        return 1;
    }
    if (length > 1 && is_hidden(code_of(c, length)))
        snprintf(shown, CHARACTER_SHOWN, "\\u%04x", code_of(c, length) & 0x1fffffu);
    return length;
}
