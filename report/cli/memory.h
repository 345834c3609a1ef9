/* Every function that allocates, as the rest of gpufloor and jansson in it call them: the linker
 * gives them these (--wrap; the Makefile reads the names here). What does not get its memory ends
 * the program in one line, with exit 2, and nothing that is on stdout's buffer is printed: no
 * caller can take a table that lacks rows for one that is whole, nor call it bad JSON or a full
 * disk. */
#ifndef REPORT_CLI_MEMORY_H
#define REPORT_CLI_MEMORY_H

#include <argp.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_vasprintf(char **text, const char *format, va_list values)
    __attribute__((format(printf, 2, 0)));
char *__wrap_realpath(const char *path, char *resolved);
int __wrap_scandir(const char *folder, struct dirent ***entries,
                   int (*wanted)(const struct dirent *),
                   int (*order)(const struct dirent **, const struct dirent **));
DIR *__wrap_opendir(const char *folder);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fdopen(int descriptor, const char *mode);
FILE *__wrap_fmemopen(void *buffer, size_t size, const char *mode);
FILE *__wrap_open_memstream(char **text, size_t *size);
ssize_t __wrap_getline(char **line, size_t *size, FILE *file);
ssize_t __wrap___getdelim(char **line, size_t *size, int end, FILE *file);
int __wrap_setenv(const char *name, const char *value, int overwrite);
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *next,
                          void *input);

/* What is printed stays in memory until the program ends well: half a table can look like a whole
 * one. */
void memory_hold_stdout(void);

#endif
