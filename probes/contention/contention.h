/* Shared by the files of contention: metrics. */
#ifndef PROBES_CONTENTION_CONTENTION_H
#define PROBES_CONTENTION_CONTENTION_H

#include "core/gpu.h"

/* Indices into the table of metrics in contention.c. */
enum {
    BANK_LATENCY,
    BANK_LOAD,
    BANK_LOAD_RATE,
    BANK_STORE,
    BANK_STORE_RATE,
    SECTOR_LATENCY,
    SECTOR_TIME,
    SECTOR_INTERVAL,
    SECTOR_RATE,
    ATOMIC_LATENCY,
    ATOMIC_TIME,
    ATOMIC_SM_RATE,
    ATOMIC_INTERVAL,
    ATOMIC_RATE,
    ATOMIC_MANY,
    ATOMIC_MANY_TIME,
};

/* --- many.c: atomic additions of many SMs, each waited for ------------------------------------ */

void contention_measure_many(struct probe_run *r);

#endif
