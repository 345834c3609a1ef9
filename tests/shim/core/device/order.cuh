/* Twin of core/device/order.cuh for the CPU: one thread runs at a time, so every load and store is
 * ordered. A load lets other threads run. See tests/shim/shim.h. */
#ifndef GPUFLOOR_ORDER_CUH
#define GPUFLOOR_ORDER_CUH

#include <stdint.h>

template <typename T> static inline void shim_store(T *p, T v)
{
    const bool has_changed = *p != v;
    *p = v;
    shim_stored(has_changed);
}

static inline uint32_t load_acquire(const uint32_t *p) { return shim_load(p); }
static inline uint32_t load_relaxed(const uint32_t *p) { return shim_load(p); }
static inline uint64_t load_relaxed_64(const uint64_t *p) { return shim_load(p); }
static inline ulonglong2 load_relaxed_2x64(const ulonglong2 *p) { return shim_load(p); }
static inline void store_release(uint32_t *p, uint32_t v) { shim_store(p, v); }
static inline void store_relaxed(uint32_t *p, uint32_t v) { shim_store(p, v); }
static inline void store_relaxed_64(uint64_t *p, uint64_t v) { shim_store(p, v); }
static inline void store_relaxed_2x64(ulonglong2 *p, ulonglong2 v)
{
    shim_store(&p->x, v.x);
    shim_store(&p->y, v.y);
}
static inline uint32_t add_release(uint32_t *p, uint32_t v) { return atomicAdd(p, v); }
static inline uint32_t add_relaxed(uint32_t *p, uint32_t v) { return atomicAdd(p, v); }
static inline void red_relaxed(uint32_t *p, uint32_t v) { atomicAdd(p, v); }
static inline void fence_acquire(void) {}

#endif
