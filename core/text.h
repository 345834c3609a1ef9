/* A text that grows in a buffer: what no longer fits is cut. */
#ifndef GPUFLOOR_TEXT_H
#define GPUFLOOR_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Puts what printf() would write behind the text that is there, within `size` bytes in all. */
void text_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void text_append_list(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* The next word of "small,sizes": its begin and length, and *list moves behind it and its comma.
 * False where the list has ended; NULL is an empty list. */
bool text_word(const char **list, const char **word, size_t *length);

#endif
