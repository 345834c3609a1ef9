/* Internal to counters.so: counters.c reads counters, records.c records launches. */
#ifndef GPUFLOOR_PLUGINS_COUNTERS_H
#define GPUFLOOR_PLUGINS_COUNTERS_H

#include <cupti_result.h>

#include "core/counters.h"

/* Returns one line from a function of the plugin when a call fails. */
#define CUPTI(call) \
    do { \
        CUptiResult result_ = (call); \
        if (result_ != CUPTI_SUCCESS) \
            return counters_refused(#call, result_); \
    } while (0)
const char *counters_refused(const char *call, CUptiResult result); /* valid until the next */

const char *records_trace(void);
const char *records_take(struct counters_launch **launches, size_t *n, size_t *dropped);

#endif
