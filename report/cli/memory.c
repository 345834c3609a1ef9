#include "report/cli/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/cli/command.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
int __real_vasprintf(char **text, const char *format, va_list values)
    __attribute__((format(printf, 2, 0)));
char *__real_realpath(const char *path, char *resolved);
int __real_scandir(const char *folder, struct dirent ***entries,
                   int (*wanted)(const struct dirent *),
                   int (*order)(const struct dirent **, const struct dirent **));
DIR *__real_opendir(const char *folder);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__real_fdopen(int descriptor, const char *mode);
FILE *__real_fmemopen(void *buffer, size_t size, const char *mode);
ssize_t __real_getline(char **line, size_t *size, FILE *file);
ssize_t __real___getdelim(char **line, size_t *size, int end, FILE *file);
int __real_setenv(const char *name, const char *value, int overwrite);
error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *next,
                          void *input);

enum { HELD_BYTES = 32 << 20 };

/* Not exit(): that would print what stdout holds. A child that was not yet started ends, too. */
_Noreturn static void end(void)
{
    static const char line[] = "gpufloor: out of memory\n";
    if (write(STDERR_FILENO, line, sizeof line - 1) < 0)
        _exit(EXIT_TROUBLE);
    _exit(EXIT_TROUBLE);
}

/* A function that failed, for want of memory or otherwise. */
static void end_if_short(bool failed)
{
    if (failed && errno == ENOMEM)
        end();
}

/* --- memory ----------------------------------------------------------------------------------- */

void *__wrap_malloc(size_t size)
{
    void *got = __real_malloc(size);
    if (!got && size > 0)
        end();
    return got;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *got = __real_calloc(n, size);
    if (!got && n > 0 && size > 0)
        end();
    return got;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *got = __real_realloc(old, size);
    if (!got && size > 0)
        end();
    return got;
}

/* --- texts ------------------------------------------------------------------------------------ */

char *__wrap_strdup(const char *text)
{
    char *copy = __real_strdup(text);
    if (!copy)
        end();
    return copy;
}

char *__wrap_strndup(const char *text, size_t n)
{
    char *copy = __real_strndup(text, n);
    if (!copy)
        end();
    return copy;
}

int __wrap_vasprintf(char **text, const char *format, va_list values)
{
    const int n = __real_vasprintf(text, format, values);
    if (n < 0)
        end();
    return n;
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int n = __wrap_vasprintf(text, format, values);
    va_end(values);
    return n;
}

ssize_t __wrap_getline(char **line, size_t *size, FILE *file)
{
    errno = 0;
    const ssize_t n = __real_getline(line, size, file);
    end_if_short(n < 0);
    return n;
}

ssize_t __wrap___getdelim(char **line, size_t *size, int last, FILE *file)
{
    errno = 0;
    const ssize_t n = __real___getdelim(line, size, last, file);
    end_if_short(n < 0);
    return n;
}

/* --- files ------------------------------------------------------------------------------------ */

char *__wrap_realpath(const char *path, char *resolved)
{
    char *real = __real_realpath(path, resolved);
    end_if_short(!real);
    return real;
}

int __wrap_scandir(const char *folder, struct dirent ***entries,
                   int (*wanted)(const struct dirent *),
                   int (*order)(const struct dirent **, const struct dirent **))
{
    const int n = __real_scandir(folder, entries, wanted, order);
    end_if_short(n < 0);
    return n;
}

DIR *__wrap_opendir(const char *folder)
{
    DIR *opened = __real_opendir(folder);
    end_if_short(!opened);
    return opened;
}

FILE *__wrap_fdopen(int descriptor, const char *mode)
{
    FILE *file = __real_fdopen(descriptor, mode);
    end_if_short(!file);
    return file;
}

FILE *__wrap_fmemopen(void *buffer, size_t size, const char *mode)
{
    FILE *file = __real_fmemopen(buffer, size, mode);
    end_if_short(!file);
    return file;
}

/* --- streams into memory ---------------------------------------------------------------------- */

/* The C library's loses what it has no memory for, and few callers would ask. A file that is
 * written anew is filled when it is closed: it is whole, or empty, but not cut off. */
struct stream {
    char **text, *own;
    size_t *size, own_size, room;
    FILE *file; /* NULL: into memory only */
};

static ssize_t stream_write(void *cookie, const char *bytes, size_t n)
{
    struct stream *stream = cookie;
    const size_t needed = *stream->size + n + 1;

    if (needed > stream->room) {
        stream->room = 2 * needed;
        *stream->text = __wrap_realloc(*stream->text, stream->room);
    }
    memcpy(*stream->text + *stream->size, bytes, n);
    *stream->size += n;
    (*stream->text)[*stream->size] = '\0';
    return (ssize_t)n;
}

static int stream_close(void *cookie)
{
    struct stream *stream = cookie;
    FILE *file = stream->file;
    bool wrote = !file || fwrite(stream->own, 1, stream->own_size, file) == stream->own_size;

    wrote = (!file || fclose(file) == 0) && wrote;
    free(stream->own);
    free(stream);
    return wrote ? 0 : EOF;
}

/* Into *text, or (NULL) into a file. */
static FILE *stream_open(char **text, size_t *size, FILE *file)
{
    struct stream *stream = __wrap_malloc(sizeof *stream);
    const cookie_io_functions_t functions = {.write = stream_write, .close = stream_close};

    *stream = (struct stream){.text = text ? text : &stream->own,
                              .size = text ? size : &stream->own_size,
                              .room = 1,
                              .file = file};
    *stream->text = __wrap_calloc(1, 1);
    *stream->size = 0;
    FILE *opened = fopencookie(stream, "w", functions);
    if (!opened)
        end();
    return opened;
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    return stream_open(text, size, NULL);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    FILE *file = __real_fopen(path, mode);
    end_if_short(!file);
    return file && !strcmp(mode, "w") ? stream_open(NULL, NULL, file) : file;
}

/* --- the rest --------------------------------------------------------------------------------- */

int __wrap_setenv(const char *name, const char *value, int overwrite)
{
    const int status = __real_setenv(name, value, overwrite);
    end_if_short(status != 0);
    return status;
}

error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *next,
                          void *input)
{
    const error_t error = __real_argp_parse(argp, argc, argv, flags, next, input);
    if (error == ENOMEM)
        end();
    return error;
}

void memory_hold_stdout(void)
{
    setvbuf(stdout, __wrap_malloc(HELD_BYTES), _IOFBF, HELD_BYTES);
}
