#include "core/heap.h"

#include <malloc.h>

void heap_keep(void)
{
    mallopt(M_MMAP_MAX, 0);        /* no piece of its own for a large request */
    mallopt(M_TRIM_THRESHOLD, -1); /* never */
}
