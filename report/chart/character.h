/* Which characters of a foreign text may be shown as they stand. What moves the cursor, turns the
 * direction of what follows, has no width or is no UTF-8 is written as a number that a reader sees:
 * "\x1b" for one byte, "\u202e" for a character of several. All formats of the report share this;
 * it stands here because this folder uses no other one. */
#ifndef REPORT_CHART_CHARACTER_H
#define REPORT_CHART_CHARACTER_H

#include <stddef.h>

enum { CHARACTER_SHOWN = 12 };

/* Bytes of the first character of a text that has n bytes left, n > 0. `shown` gets what is to be
 * written in its place; "" where it may be written as it stands. */
size_t character_take(const char *text, size_t n, char shown[CHARACTER_SHOWN]);

#endif
