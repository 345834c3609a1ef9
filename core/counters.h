/* Hardware counters and launch records by CUPTI, as a plugin. build/bin/counters.so is opened with
 * dlopen, and only under --counters. Probes therefore start on machines without CUPTI, and a
 * process that measures time never touches the profiler.
 *
 * Every call returns NULL, or one line that says why not. The owner of the system decides who may
 * read counters, and another process may hold them, so a refusal is an answer and not a failure. */
#ifndef GPUFLOOR_COUNTERS_H
#define GPUFLOOR_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COUNTERS_WHY = 320 };

/* One launch as recorded, in ns of one clock. A moment that was not recorded is 0.
 *     called    the program calls the launch function, which returned at `returned`
 *     queued    the launch is in the command buffer
 *     submitted the command buffer was given to the GPU
 *     started, ended    the kernel */
struct counters_launch {
    uint64_t called, returned, queued, submitted, started, ended;
};

struct counters_plugin {
    /* Reads the counters of the current context. A process reads one set of names in its life.
     * `device` is CUDA's number of the GPU. */
    const char *(*open)(void *context, int device);
    const char *(*configure)(const char *const names[], size_t n, int *passes);
    const char *(*restart)(void);         /* the next pass is the set's first */
    const char *(*begin)(void);           /* starts a pass: counting begins here ... */
    const char *(*end)(bool *complete);   /* ... and ends here; complete: it was the last */
    const char *(*read)(double values[]); /* in the order of configure() */
    void (*close)(void);

    /* Names, with or without a GPU: for the chip of the context, or for a chip given by name
     * ("GH100"). */
    const char *(*chip)(void);
    const char *(*choose_chip)(const char *chip);
    bool (*knows)(const char *name, const char **unit);
    const char *(*count_passes)(const char *const names[], size_t n, int *passes);
    const char *(*reason)(int result); /* what to do about a CUptiResult, or NULL */

    /* Records of launches. Start them before anything else calls CUDA. */
    const char *(*trace)(void);
    const char *(*take)(struct counters_launch **launches, size_t *n, size_t *dropped);
};
#define COUNTERS_PLUGIN_SYMBOL "gpufloor_counters"

#endif
