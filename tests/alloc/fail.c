/* Loaded before the C library: the allocation whose number is ALLOC_FAIL gets no memory. At a good
 * end the number of allocations is written into the file ALLOC_COUNT. Children are left alone. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static long counted, fails;

static int must_fail(void)
{
    if (++counted != fails)
        return 0;
    errno = ENOMEM;
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("ALLOC_FAIL");
    unsetenv("LD_PRELOAD");
    counted = 0;
    fails = text ? atol(text) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("ALLOC_COUNT");
    const long all = counted;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", all);
        fclose(file);
    }
}

void *malloc(size_t size)
{
    return must_fail() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return must_fail() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return must_fail() ? NULL : __libc_realloc(old, size);
}
