/* Twin of core/device/async.cuh for the CPU. Copies arrive later; what they will overwrite is NaN
 * until then. See tests/shim/shim.h. */
#ifndef GPUFLOOR_ASYNC_CUH
#define GPUFLOOR_ASYNC_CUH

#include <stdint.h>

#include "core/device/load.cuh"

static inline void cp_async_16(uint32_t to_shared, const void *from)
{
    shim_copy_begin({SHIM_LOAD, shim_shared_at(to_shared, 16, 16), (const char *)from, 16, NULL});
}
static inline void cp_async_commit(void) { shim_copies_commit(SHIM_LOAD); }
template <int pending> static inline void cp_async_wait(void)
{
    shim_copies_wait(SHIM_LOAD, pending);
}

#if __CUDA_ARCH__ >= 900

static inline void mbarrier_make(uint32_t barrier, uint32_t arrivals)
{
    shim_mbarrier_make(barrier, arrivals);
}
static inline void mbarrier_made(void) {}
static inline void mbarrier_arrive(uint32_t barrier)
{
    shim_mbarrier_count(shim_mbarrier_at(barrier), 1, 0);
}
static inline void mbarrier_expect(uint32_t barrier, uint32_t bytes)
{
    shim_mbarrier_count(shim_mbarrier_at(barrier), 1, bytes);
}
static inline bool mbarrier_try_wait(uint32_t barrier, uint32_t parity)
{
    return shim_mbarrier_try(barrier, parity);
}
static inline void mbarrier_wait(uint32_t barrier, uint32_t parity)
{
    shim_mbarrier_wait(barrier, parity);
}

static inline void bulk_load(uint32_t to_shared, const void *from, uint32_t bytes, uint32_t barrier)
{
    shim_copy_begin({SHIM_BULK_LOAD, shim_shared_at(to_shared, bytes, 16), (const char *)from,
                     bytes, shim_mbarrier_at(barrier)});
}
static inline void bulk_load_once(uint32_t to_shared, const void *from, uint32_t bytes,
                                  uint32_t barrier)
{
    bulk_load(to_shared, from, bytes, barrier);
}
static inline void bulk_store(void *to, uint32_t from_shared, uint32_t bytes)
{
    shim_copy_begin({SHIM_STORE, (char *)to, shim_shared_at(from_shared, bytes, 16), bytes, NULL});
}
static inline void bulk_store_fence(void) {}
static inline void bulk_store_commit(void) { shim_copies_commit(SHIM_STORE); }
template <int pending> static inline void bulk_store_read_wait(void)
{
    shim_copies_read_wait(pending);
}
template <int pending> static inline void bulk_store_wait(void)
{
    shim_copies_wait(SHIM_STORE, pending);
}

#endif
#endif
