// Where weights, old keys and old values come from: by a ring of tiles in shared memory that a warp
// of its own keeps full, or straight from memory.
//
// The ring holds what the block will read next, whatever step or layer that is for: the producer
// never waits for an activation. Both sides walk through the same tiles in the same order
// (layer.cuh). A stage is a tile of at most DECODER_TILE_BYTES, with a barrier "full" that the copy
// signals, and a barrier "empty" on which each computing warp arrives once.
//
// The producer has at most `in_flight` tiles on their way. The thought was that words that go from
// block to block wait behind them in the memory's queues; on an H200 three to sixteen make no
// difference, and two do not keep the memory busy (docs/FINDINGS.md).
#ifndef FUSED_COMMON_DECODER_RING_CUH
#define FUSED_COMMON_DECODER_RING_CUH

#include "core/device/async.cuh"
#include "core/device/load.cuh"
#include "fused/common/decoder/deal.cuh"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

struct ring {
    char *tiles;
    uint32_t first_tile, full, empty; // shared addresses; a stage's barrier is 8 bytes further
    uint32_t stages, stage, parity;   // the next stage, and the parity of its turn
    uint32_t late, late_parity;       // another one, behind it: see source_ring and ring_fill()
    uint32_t coming, in_flight;       // tiles asked for that nobody has waited for, and at most

    static __device__ __forceinline__ void step(uint32_t stages, uint32_t &stage, uint32_t &parity)
    {
        if (++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

// All threads of the block call this, and a __syncthreads() behind it.
__device__ __forceinline__ struct ring ring_of(char *shared, const struct decoder_shared &place,
                                               uint32_t stages, uint32_t in_flight)
{
    const uint32_t full = shared_address(shared + place.barriers);
    const struct ring r = {shared + place.ring, shared_address(shared + place.ring), full,
                           full + 8 * stages,   stages, 0, 0, 0, 0, 0, min(in_flight, stages)};
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < stages; i++) {
            mbarrier_make(r.full + 8 * i, 1);
            mbarrier_make(r.empty + 8 * i, DECODER_WARPS);
        }
        mbarrier_made();
    }
    return r;
}

// The producer: lane i < pieces copies `bytes` from `from` to its place in the next tile. All lanes
// of the warp call this. The first turn finds every stage empty.
__device__ __forceinline__ void ring_fill(struct ring &r, uint32_t pieces, const void *from,
                                          uint32_t bytes)
{
    const uint32_t lane = threadIdx.x % 32, full = r.full + 8 * r.stage;
    mbarrier_wait(r.empty + 8 * r.stage, r.parity ^ 1);
    if (r.coming == r.in_flight) {
        mbarrier_wait(r.full + 8 * r.late, r.late_parity);
        ring::step(r.stages, r.late, r.late_parity);
    } else
        r.coming++;
    if (lane == 0)
        mbarrier_expect(full, pieces * bytes);
    __syncwarp();
    if (lane < pieces)
        bulk_load_once(r.first_tile + r.stage * DECODER_TILE_BYTES + lane * bytes, from, bytes,
                       full);
    ring::step(r.stages, r.stage, r.parity);
}

// begin() waits for the next tile; end() gives the oldest one back that has not been given back
// yet. So a tile may be begun while another is in use.
struct source_ring {
    enum { IS_RING = 1 };
    struct ring ring;
    uint64_t starved; // cycles in which this warp waited for a tile; kernels that are watched

    template <bool WATCHED> __device__ __forceinline__ const char *begin(const void *)
    {
        const uint32_t full = ring.full + 8 * ring.stage;
        if (WATCHED) {
            const uint64_t came = clock_cycles();
            mbarrier_wait(full, ring.parity);
            starved += clock_cycles() - came;
        } else
            mbarrier_wait(full, ring.parity);
        const char *tile = ring.tiles + ring.stage * DECODER_TILE_BYTES;
        ring::step(ring.stages, ring.stage, ring.parity);
        return tile;
    }
    static __device__ __forceinline__ uint4 load(const void *p) { return *(const uint4 *)p; }
    // From what begin() gave, or from elsewhere in shared memory.
    static __device__ __forceinline__ uint4 load_either(bool is_begun, const void *p,
                                                        const void *other)
    {
        return *(const uint4 *)(is_begun ? p : other);
    }
    __device__ __forceinline__ void end(void)
    {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            mbarrier_arrive(ring.empty + 8 * ring.late);
        ring.late = ring.late + 1 < ring.stages ? ring.late + 1 : 0;
    }
};

#endif

struct source_memory {
    enum { IS_RING = 0 };
    uint64_t starved;

    template <bool WATCHED> __device__ __forceinline__ const char *begin(const void *p)
    {
        return (const char *)p;
    }
    static __device__ __forceinline__ uint4 load(const void *p) { return load_once(p); }
    static __device__ __forceinline__ uint4 load_either(bool is_begun, const void *p,
                                                        const void *other)
    {
        uint4 v = *(const uint4 *)other;
        if (is_begun)
            v = load_once(p);
        return v;
    }
    __device__ __forceinline__ void end(void) {}
};

#endif
