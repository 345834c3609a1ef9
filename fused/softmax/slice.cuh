// softmax: the work of a block on its slice of a row. Either it keeps the slice in registers (take,
// give), or it streams a slice of any length: once for its part and once more for its
// probabilities.
#ifndef FUSED_SOFTMAX_SLICE_CUH
#define FUSED_SOFTMAX_SLICE_CUH

#include "fused/common/load_group.cuh"
#include "fused/softmax/args.h"
#include "fused/softmax/lanes.cuh"
#include "fused/softmax/parts.cuh"

// Vectors [begin, end) of a row; the columns below `length` count.
struct slice {
    const uint4 *in;
    uint4 *out;
    uint32_t begin, end, length;
    float c; // scale x log2(e)
};

__device__ __forceinline__ slice slice_of(const softmax_args &a, uint32_t row, uint32_t number)
{
    const uint64_t at = (uint64_t)row * a.vectors;
    const uint32_t begin = number * a.slice;
    return {(const uint4 *)a.in + at,
            (uint4 *)a.out + at,
            begin,
            min(begin + a.slice, a.vectors),
            a.lengths ? __ldg(a.lengths + row) : a.cols,
            a.exponent};
}

// Columns from the row's length on become minus infinity.
template <typename T>
__device__ __forceinline__ void hide(float (&x)[lanes<T>], const slice &s, uint32_t vector)
{
    const int left = (int)s.length - (int)(vector * lanes<T>);
    if (left < lanes<T>)
#pragma unroll
        for (int j = 0; j < lanes<T>; j++)
            x[j] = j < left ? x[j] : -CUDART_INF_F;
}

// Reduces as a tree: a chain of eight would have eight latencies.
template <typename OPERATION, int N> __device__ __forceinline__ float of_all(const float (&x)[N])
{
    float y[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        y[i] = OPERATION::of(x[i], x[i + N / 2]);
    if constexpr (N == 2)
        return y[0];
    else
        return of_all<OPERATION>(y);
}

// A thread's vectors, from `first` on. Shall the L2 keep them (load_group.cuh)? Streams do not ask.
template <int V>
__device__ __forceinline__ void fetch(const slice &s, uint32_t first, uint4 (&bits)[V],
                                      bool keep = false)
{
    load_group<LOAD_BY_BRANCH, V>(keep, [&](auto load) {
#pragma unroll
        for (int i = 0; i < V; i++)
            if (first + i * blockDim.x < s.end)
                bits[i] = load(s.in + first + i * blockDim.x);
    });
}

// Returns the part of these vectors, and leaves in e what will become their probabilities.
template <typename T, int V>
__device__ __forceinline__ part take(const slice &s, uint32_t first, const uint4 (&bits)[V],
                                     float (&e)[V][lanes<T>])
{
    part p = {-CUDART_INF_F, 0};

#pragma unroll
    for (int i = 0; i < V; i++)
        if (first + i * blockDim.x < s.end) {
            unpack<T>(bits[i], e[i]);
            hide<T>(e[i], s, first + i * blockDim.x);
            p.most = fmaxf(p.most, of_all<greatest>(e[i]));
        }
    const float from = base(p.most);
#pragma unroll
    for (int i = 0; i < V; i++)
        if (first + i * blockDim.x < s.end) {
#pragma unroll
            for (int j = 0; j < lanes<T>; j++)
                e[i][j] = power(e[i][j], from, s.c);
            p.sum += of_all<adding>(e[i]);
        }
    return p;
}

template <typename T, int V>
__device__ __forceinline__ part take(const slice &s, uint32_t first, float (&e)[V][lanes<T>],
                                     bool keep = false)
{
    uint4 bits[V];
    fetch(s, first, bits, keep);
    return take<T>(s, first, bits, e);
}

template <typename T, int V>
__device__ __forceinline__ void give(const slice &s, uint32_t first, float (&e)[V][lanes<T>],
                                     float factor)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        if (first + i * blockDim.x < s.end) {
#pragma unroll
            for (int j = 0; j < lanes<T>; j++)
                e[i][j] *= factor;
            s.out[first + i * blockDim.x] = pack<T>(e[i]);
        }
}

// Calls f(first, bits) for SOFTMAX_STREAM_VECTORS vectors at a time, on a slice of any length,
// while the next ones are in flight.
template <typename F> __device__ __forceinline__ void read_through(const slice &s, F f)
{
    const uint32_t step = SOFTMAX_STREAM_VECTORS * blockDim.x;
    uint4 bits[SOFTMAX_STREAM_VECTORS], next[SOFTMAX_STREAM_VECTORS];

    fetch(s, s.begin + threadIdx.x, next);
#pragma unroll 1
    for (uint32_t at = s.begin + threadIdx.x; at < s.end; at += step) {
#pragma unroll
        for (int i = 0; i < SOFTMAX_STREAM_VECTORS; i++)
            bits[i] = next[i];
        fetch(s, at + step, next);
        f(at, bits);
    }
}

// The part of a slice; the logits themselves are not kept.
template <typename T> __device__ __forceinline__ part part_of(const slice &s)
{
    part p = {-CUDART_INF_F, 0};
    read_through(s, [&](uint32_t at, const uint4 (&bits)[SOFTMAX_STREAM_VECTORS]) {
        float e[SOFTMAX_STREAM_VECTORS][lanes<T>];
        p = merge(p, take<T>(s, at, bits, e), s.c);
    });
    return p;
}

// Turns a vector of logits into probabilities of a row whose part is known.
template <typename T>
__device__ __forceinline__ uint4 normalised(const slice &s, uint32_t vector, uint4 bits, part all)
{
    const float from = base(all.most), factor = share(all.most, all, s.c);
    float x[lanes<T>];
    unpack<T>(bits, x);
    hide<T>(x, s, vector);
#pragma unroll
    for (int j = 0; j < lanes<T>; j++)
        x[j] = factor * power(x[j], from, s.c);
    return pack<T>(x);
}

// Reads the slice once more and writes its probabilities, once the row's part is known.
template <typename T> __device__ __forceinline__ void read_again(const slice &s, part all)
{
    read_through(s, [&](uint32_t at, const uint4 (&bits)[SOFTMAX_STREAM_VECTORS]) {
#pragma unroll
        for (int i = 0; i < SOFTMAX_STREAM_VECTORS; i++)
            if (at + i * blockDim.x < s.end)
                s.out[at + i * blockDim.x] = normalised<T>(s, at + i * blockDim.x, bits[i], all);
    });
}

#endif
