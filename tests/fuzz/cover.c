/* Coverage without a library: -fsanitize-coverage=trace-pc, which gcc and clang both have, calls
 * the hook at the start of every block. How many there are is counted in the machine code. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

extern const unsigned char __executable_start[], etext[]; /* by the linker */
void __sanitizer_cov_trace_pc(void);

static unsigned char *reached; /* of each byte of code; shared with the children */

__attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void)
{
    const unsigned char *at = __builtin_return_address(0);
    /* The last call of a function may have become a jump: it returns to whoever called the
     * function. */
    if (!reached || at < __executable_start || at >= etext || reached[at - __executable_start])
        return;
    reached[at - __executable_start] = 1;
    fuzz->fresh++;
}

void cover_open(void)
{
    void *map = mmap(NULL, (size_t)(etext - __executable_start), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        fuzz_quit("no memory for the map of what is reached");
    reached = map;
}

/* The next place after `at` to which the hook returns; NULL after the last. */
__attribute__((no_sanitize("address", "undefined"))) static const unsigned char *
next_block(const unsigned char *at)
{
    const intptr_t hook = (intptr_t)__sanitizer_cov_trace_pc;
#if defined(__x86_64__)
    for (; at + 5 <= etext; at++) {
        int32_t far;
        memcpy(&far, at + 1, sizeof far);
        if (*at == 0xe8 && (intptr_t)(at + 5) + far == hook)
            return at + 5;
    }
#elif defined(__aarch64__)
    for (at += -(intptr_t)at & 3; at + 4 <= etext; at += 4) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        if (word >> 26 == 0x25 && (intptr_t)at + ((int32_t)(word << 6) >> 6) * 4 == hook)
            return at + 4;
    }
#else
    (void)hook;
    (void)at;
#endif
    return NULL;
}

size_t cover_all(void)
{
    size_t n = 0;
    for (const unsigned char *at = __executable_start; (at = next_block(at));)
        n++;
    return n;
}

size_t cover_reached(void)
{
    size_t n = 0;
    for (const unsigned char *at = __executable_start; at < etext; at++)
        n += reached[at - __executable_start];
    return n;
}

void cover_write(const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out)
        fuzz_quit("%s cannot be written", path);
    for (const unsigned char *at = __executable_start; (at = next_block(at));)
        if (!reached[at - __executable_start])
            fprintf(out, "0x%zx\n", (size_t)(at - __executable_start - 1));
    fclose(out);
}
