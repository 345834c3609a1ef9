/* Hardware counters and launch records by CUPTI, behind a plugin: build/bin/counters.so is opened
 * with dlopen and only under --counters, so that probes start where CUPTI is not installed, and so
 * that a process that measures time has never touched the profiler.
 *
 * Every call returns NULL, or one line that says why not: who may read counters, and who else holds
 * them, is for the system's owner to decide, so a refusal is an answer and no failure. */
#ifndef GPUFLOOR_COUNTERS_H
#define GPUFLOOR_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COUNTERS_WHY = 320 };

/* One launch as the records tell it, in ns of one clock; 0 where a moment was not recorded.
 *     called    the program calls the launch function, which returned at `returned`
 *     queued    the launch stands in the command buffer
 *     submitted the command buffer was given to the GPU
 *     started, ended    the kernel */
struct counters_launch {
    uint64_t called, returned, queued, submitted, started, ended;
};

struct counters_plugin {
    /* Counters of the current context, of one set of names in the life of a process. The device is
     * CUDA's number of it. */
    const char *(*open)(void *context, int device);
    const char *(*configure)(const char *const names[], size_t n, int *passes);
    const char *(*restart)(void);         /* the next pass is the set's first */
    const char *(*begin)(void);           /* a pass: everything from here on counts ... */
    const char *(*end)(bool *complete);   /* ... to here; complete: that was the set's last */
    const char *(*read)(double values[]); /* in the order of configure() */
    void (*close)(void);

    /* Names, with or without a GPU. For the chip of the context, or one by name ("GH100"). */
    const char *(*chip)(void);
    const char *(*choose_chip)(const char *chip);
    bool (*knows)(const char *name, const char **unit);
    const char *(*count_passes)(const char *const names[], size_t n, int *passes);
    const char *(*reason)(int result); /* what to do about a CUptiResult, or NULL */

    /* Records of launches; to be started before anything else calls CUDA. */
    const char *(*trace)(void);
    const char *(*take)(struct counters_launch **launches, size_t *n, size_t *dropped);
};
#define COUNTERS_PLUGIN_SYMBOL "gpufloor_counters"

#endif
