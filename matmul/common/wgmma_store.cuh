/* How the wgmma product writes C: blocks of a split tile exchange sums, then C goes to memory. */
#ifndef MATMUL_COMMON_WGMMA_STORE_CUH
#define MATMUL_COMMON_WGMMA_STORE_CUH

#include "matmul/common/wgmma_gemm.cuh"

#if defined __CUDA_ARCH_FEAT_SM90_ALL

/*
 * Split-K. Each block keeps the sums of its own rows of the tile and sends the others theirs, 16
 * bytes a thread at a time; the bytes report to a barrier of the receiver. Sums that belong
 * together are in the same thread of every block. Afterwards the block's own sums are in the first
 * registers.
 */
template <class s, enum type type>
static __device__ __forceinline__ void exchange(struct sums<s, type> &sum, const struct post<s> &p)
{
    constexpr int kept = sums<s, type>::kept, each = 16 * s::computing;
    const uint32_t mine = s::sums_at + 16 * threadIdx.x;

    cluster_wait_relaxed(); /* the others have begun */
#pragma unroll
    for (int d = 1; d < s::split; d++) {
        const uint32_t other = (p.part + d) % s::split;
        const uint32_t to = cluster_map(at(mine) + (d - 1) * s::blocks * kept / 4 * each, other);
        const uint32_t barrier = cluster_map(sums_came<s>(), other);
#pragma unroll
        for (int i = 0; i < s::blocks * kept; i += 4) {
            float v[4];
#pragma unroll
            for (int j = 0; j < 4; j++) { /* registers have no run-time index */
                const float *row = sum.d[i / kept] + i % kept + j;
                v[j] = row[0];
#pragma unroll
                for (uint32_t part = 1; part < s::split; part++)
                    v[j] = other == part ? row[part * kept] : v[j];
            }
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
                         "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(to + i / 4 * each),
                         "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(barrier)
                         : "memory");
        }
    }
#pragma unroll
    for (int i = 0; i < s::blocks * kept; i++) {
        float *row = sum.d[i / kept] + i % kept;
#pragma unroll
        for (uint32_t part = 1; part < s::split; part++)
            row[0] = p.part == part ? row[part * kept] : row[0];
    }
    mbarrier_wait(sums_came<s>(), 0);
#pragma unroll
    for (int i = 0; i < (s::split - 1) * s::blocks * kept; i += 4) {
        const float4 v = *(const float4 *)(ring + mine + i / 4 * each);
        float *to = sum.d[i / kept % s::blocks] + i % kept;
        to[0] += v.x, to[1] += v.y, to[2] += v.z, to[3] += v.w;
    }
}

/* This warp's registers of 16 rows by 16 columns of C, as four 8x8 blocks of 16 bits for
 * stmatrix. */
template <enum type type, typename D>
static __device__ __forceinline__ void pack(uint32_t (&v)[4], const D *d)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if constexpr (type == FP16_SUMS)
            v[i] = d[i];
        else if constexpr (type == BF16)
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v[i]) : "f"(d[2 * i + 1]), "f"(d[2 * i]));
        else
            asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v[i]) : "f"(d[2 * i + 1]), "f"(d[2 * i]));
    }
}

/* Writes 16 rows of 64 columns of C, from `first` on, into shared memory. A warp has 16 of the
 * columns; stmatrix transposes its blocks of C^T. This lane's place, swizzled, is `chunk` of
 * `row`. */
template <enum type type, typename D>
static __device__ __forceinline__ void turn(uint32_t to, int first, uint32_t row,
                                            uint32_t chunk, const D *d)
{
    uint32_t v[4];
    pack<type>(v, d);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "[%0], {%1, %2, %3, %4};" ::"r"(to + (first + row) * 128 +
                                                 (chunk ^ row % 8) * 16),
                 "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
}

static __device__ __forceinline__ void warpgroup_barrier(uint32_t group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

static __device__ __forceinline__ void store_box(const void *map, int row, int column,
                                                 uint32_t from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group "
                 "[%0, {%1, %2}], [%3];" ::"l"(map),
                 "r"(column), "r"(row), "r"(from)
                 : "memory");
    bulk_store_commit();
}

/*
 * The sums leave through shared memory, `out` rows of 64 columns at a time, swizzled like
 * everything that bulk copies move.
 */
template <class s, enum type type>
static __device__ __forceinline__ void store(const struct wgmma_gemm_args &args,
                                             const struct sums<s, type> &sum,
                                             const struct post<s> &p)
{
    constexpr int registers = type == FP16_SUMS ? 4 : 8; /* for 16 rows */
    const unsigned char *map = (const unsigned char *)args.maps + 2 * WGMMA_GEMM_MAP_BYTES;
    const uint32_t group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const uint32_t row = lane / 16 * 8 + lane % 8, chunk = 2 * warp + lane / 8 % 2;
    const int c_row = p.row + p.part * s::rows, c_column = p.column + group * s::blocks * 64;

#pragma unroll
    for (int i = 0; i < s::blocks; i++) {
#pragma unroll
        for (int j = 0; j < s::rows; j += s::out) {
            const uint32_t box = s::small ? group * s::blocks + i : group;
            const uint32_t from = at(s::out_at) + box * s::out * 128;

            if (!s::small) { /* the staging area's last contents have been read */
                if (threadIdx.x % 128 == 0)
                    bulk_store_read_wait<0>();
                warpgroup_barrier(group);
            }
#pragma unroll
            for (int k = 0; k < s::out; k += 16)
                turn<type>(from, k, row, chunk, sum.d[i] + (j + k) / 16 * registers);
            bulk_store_fence();
            warpgroup_barrier(group);
            if (threadIdx.x % 128 == 0)
                store_box(map, c_row + j, c_column + 64 * i, from);
        }
    }
}

#endif
#endif
