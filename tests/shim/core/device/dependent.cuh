/* Twin of core/device/dependent.cuh for the CPU: a kernel begins when the one before has ended. See
 * tests/shim/shim.h. */
#ifndef GPUFLOOR_DEPENDENT_CUH
#define GPUFLOOR_DEPENDENT_CUH

#include <stdint.h>

static inline void dependent_release(void) {}
static inline void dependent_wait(void) {}
static inline void prefetch_bulk(const void *, uint32_t) {}

#endif
