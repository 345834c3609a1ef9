/* Twin of core/device/load.cuh for the CPU: the caches make no difference. See
 * tests/shim/shim.h. */
#ifndef GPUFLOOR_LOAD_CUH
#define GPUFLOOR_LOAD_CUH

#include <stdint.h>

static inline uint32_t shared_address(const void *p) { return shim_shared_address(p); }
static inline uint64_t load_cg(const void *p) { return *(const uint64_t *)p; }
static inline uint4 load_cg_128(const void *p) { return *(const uint4 *)p; }
static inline uint4 load_cg_128_if(const void *p, bool there)
{
    return there ? *(const uint4 *)p : make_uint4(0, 0, 0, 0);
}
static inline uint4 load_once(const void *p) { return *(const uint4 *)p; }
static inline uint4 load_ordinary(const void *p) { return *(const uint4 *)p; }

#endif
