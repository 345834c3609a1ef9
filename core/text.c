#include "core/text.h"

#include <stdio.h>
#include <string.h>

void text_append_list(char *text, size_t size, const char *format, va_list arguments)
{
    const size_t used = strlen(text);
    vsnprintf(text + used, size - used, format, arguments);
}

void text_append(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_append_list(text, size, format, arguments);
    va_end(arguments);
}

bool text_word(const char **list, const char **word, size_t *length)
{
    if (!*list || !**list)
        return false;
    *word = *list;
    *length = strcspn(*list, ",");
    *list += *length + ((*list)[*length] == ',');
    return true;
}
