/* Twin of core/device/order_sys.cuh for the CPU: one thread runs at a time, so every load and store
 * is ordered. Other threads run before a load, and sometimes after a store; also between the parts
 * of one of 16 bytes, which nothing may rely on to come together. See tests/shim/shim.h. */
#ifndef GPUFLOOR_ORDER_SYS_CUH
#define GPUFLOOR_ORDER_SYS_CUH

#include <stdint.h>

#include "core/device/order.cuh"

static inline uint32_t load_acquire_sys(const uint32_t *p) { return shim_load(p); }
static inline uint32_t load_relaxed_sys(const uint32_t *p) { return shim_load(p); }
static inline uint64_t load_relaxed_sys_64(const uint64_t *p) { return shim_load(p); }
static inline void store_release_sys(uint32_t *p, uint32_t v) { shim_store(p, v); }
static inline void store_relaxed_sys(uint32_t *p, uint32_t v) { shim_store(p, v); }
static inline void store_relaxed_sys_64(uint64_t *p, uint64_t v) { shim_store(p, v); }
static inline ulonglong2 load_relaxed_sys_2x64(const ulonglong2 *p) { return shim_load(p); }
static inline uint4 load_relaxed_sys_4x32(const uint4 *p) { return shim_load(p); }
static inline void store_relaxed_sys_2x64(ulonglong2 *p, ulonglong2 v)
{
    shim_store(&p->x, v.x);
    shim_store(&p->y, v.y);
}
static inline void store_relaxed_sys_4x32(uint4 *p, uint4 v)
{
    shim_store(&p->x, v.x);
    shim_store(&p->y, v.y);
    shim_store(&p->z, v.z);
    shim_store(&p->w, v.w);
}
static inline void red_relaxed_sys(uint32_t *p, uint32_t v) { atomicAdd(p, v); }
static inline void fence_sys(void) {}
static inline void fence_release_sys(void) {}
static inline void fence_acquire_sys(void) {}

#endif
