/* A text that grows in a buffer: what no longer fits is cut. */
#ifndef GPUFLOOR_TEXT_H
#define GPUFLOOR_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* Puts what printf() would write behind the text that is there, within `size` bytes in all. */
void text_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void text_append_list(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
