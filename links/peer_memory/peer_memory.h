/* Parts of peer_memory that have a page of their own. */
#ifndef LINKS_PEER_MEMORY_PEER_MEMORY_H
#define LINKS_PEER_MEMORY_PEER_MEMORY_H

#include "links/common/links.h"

enum { LOAD_TIME, ATOMIC_TIME, PAIR_TIME, SM_TIME, FENCE_TIME, STORED, FIRST_TIME, NEXT_TIME, STALE,
       TRANSFER_TIME, RATE, SMS_RATE, COUNTED, RAW };

/* rates.c: every way to move bytes, by size, by SMs, in one direction and in both, and what the
 * links' own counters say of it. */
void measure_rates(struct probe_run *r, struct links *l);

#endif
