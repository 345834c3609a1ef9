/* Memory for what the fuzzer itself makes with jansson, taken from a block and given back all at
 * once. The sanitizer's malloc() is for the program's own memory: there it finds something, here it
 * would only take time. */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>

/* The largest mutant (MUTANT_MAX) as values, whatever is in it; no page is used before it is
 * needed. */
enum { ROOM = 256 << 20, ALIGNED = 16 };

static _Alignas(ALIGNED) char block[ROOM];
static size_t used;
static json_malloc_t program_malloc;
static json_free_t program_free;

static void *take(size_t size)
{
    const size_t whole = (size + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (whole < size || whole > ROOM - used)
        return NULL;
    used += whole;
    return block + used - whole;
}

static void give_back(void *memory)
{
    (void)memory;
}

void scratch_begin(void)
{
    used = 0;
    json_get_alloc_funcs(&program_malloc, &program_free);
    json_set_alloc_funcs(take, give_back);
}

void scratch_end(void)
{
    json_set_alloc_funcs(program_malloc, program_free);
}
