/* core/heap.c: memory that was freed comes back without new pages. */
#include "core/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/unit/check.h"

enum { BYTES = 64 << 20, PAGES = BYTES / 4096 };

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Pages that a tensor of that size takes anew, of 4 KiB each. */
static long pages_of_a_tensor(size_t bytes)
{
    const long before = faults();
    void *memory = malloc(bytes);
    assert_non_null(memory);
    memset(memory, 1, bytes);
    assert_int_equal(((volatile unsigned char *)memory)[bytes - 1], 1);
    free(memory);
    return faults() - before;
}

static void freed_memory_stays(void **state)
{
    (void)state;
    /* Pages may be larger than 4 KiB: then a tensor takes few, and there is nothing to show. */
    const long first = pages_of_a_tensor(BYTES), again = pages_of_a_tensor(BYTES);
    if (first > PAGES / 2)
        assert_true(again > PAGES / 2); /* as it is by default */
    heap_keep();
    pages_of_a_tensor(BYTES);
    assert_in_range(pages_of_a_tensor(BYTES), 0, PAGES / 100);
    assert_in_range(pages_of_a_tensor(BYTES / 2), 0, PAGES / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(freed_memory_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
