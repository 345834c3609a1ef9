// faults: thread lane barrier rounding outside misaligned divergent absent
//
// Tests the shim itself: sums over blocks by reduce.cuh, each exchange of lanes, 16-bit numbers;
// and that a kernel which leaves its memory, or its barrier, is caught.
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"

struct sum_args {
    const uint16_t *in; // blocks x columns fp16
    float *sums, *greatest_of;
    int columns;
};

extern "C" __global__ void sums(const __grid_constant__ struct sum_args a)
{
    __shared__ float scratch[2][8];
    const __half *row = (const __half *)a.in + (size_t)blockIdx.x * (size_t)a.columns;
    float sum = 0, most = -INFINITY;

    for (int i = (int)threadIdx.x; i < a.columns + (shim_fault("outside") ? 1 : 0); i += 256) {
        sum += fp16::one(row[i]);
        most = fmaxf(most, fp16::one(row[i]));
    }
    sum = block_reduce<adding, 8>(sum, scratch[0]);
    most = block_reduce<greatest, 8>(most, scratch[1]);
    if (threadIdx.x == 40) {
        a.sums[blockIdx.x] = sum;
        a.greatest_of[blockIdx.x] = most;
    }
}

// Every exchange once; out[i] counts what lane i found right.
struct exchange_args {
    uint32_t *right;
};
extern "C" __global__ void exchanges(const __grid_constant__ struct exchange_args a)
{
    const unsigned me = threadIdx.x, lane = me % 32, warp = me - lane, full = ~0u;
    uint32_t right = 0;

    right += __shfl_sync(full, me, 7) == warp + 7;
    right += __shfl_sync(full, me, 9, 8) == warp + lane / 8 * 8 + 1;
    right += __shfl_xor_sync(full, (float)me, 5) == (float)(warp + (lane ^ 5));
    right += __shfl_up_sync(full, me, 3) == (lane < 3 ? me : me - 3);
    right += __shfl_down_sync(full, (double)me, 4) == (double)(lane >= 28 ? me : me + 4);
    right += __ballot_sync(full, lane % 3 == 0) == 0x49249249;
    right += __any_sync(full, lane == 11) == 1;
    right += __all_sync(full, lane != 11) == 0;
    right += __match_any_sync(full, lane / 16) == 0xffffu << lane / 16 * 16;
    right += __reduce_add_sync(full, lane) == 496;
    if (lane < 16) // half of a warp by itself
        right += __reduce_max_sync(0xffff, lane) == 15;
    else
        right += __shfl_xor_sync(0xffff0000, lane, 1) == (lane ^ 1);
    right += __syncthreads_count(me == 3 || me == 33) == 2;
    right += __syncthreads_or(me == 3) == 1;
    if (!shim_fault("divergent") || lane != 3)
        right += __syncthreads_and(me != 3) == 0;
    if (!shim_fault("absent") || me != 17)
        __syncwarp();
    if (shim_fault("misaligned"))
        right += (uint32_t) * (const uint64_t *)((const char *)a.right + 4);
    a.right[blockIdx.x * blockDim.x + me] = right;
}

static void test_sums(int rows, int columns)
{
    uint16_t *in = (uint16_t *)shim_alloc(2 * (size_t)rows * (size_t)columns);
    float *sum = (float *)shim_alloc(4 * (size_t)rows),
          *most = (float *)shim_alloc(4 * (size_t)rows);

    for (int i = 0; i < rows * columns; i++)
        in[i] = shim_to_fp16((float)shim_normal());
    shim_launch(sums, {in, sum, most, columns}, rows, 256, 0);
    for (int i = 0; i < rows; i++) {
        double reference = 0, greatest_of = -INFINITY;
        for (int k = 0; k < columns; k++) {
            const double x = half_fp16(in[i * columns + k]);
            reference += x;
            greatest_of = fmax(greatest_of, x);
        }
        shim_check(fabs(sum[i] - reference) <= 1e-5 * columns,
                   "row %d of %d x %d: sum %g, in double %g", i, rows, columns, sum[i], reference);
        shim_check(most[i] == (float)greatest_of, "row %d: greatest %g, not %g", i, most[i],
                   greatest_of);
    }
}

static void test_halves()
{
    int wrong = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        const uint16_t bits = (uint16_t)i, bf = shim_to_bf16((float)half_bf16(bits));
        const double value = half_fp16(bits);
        if (isnan(value) || isnan(half_bf16(bits)))
            continue;
        wrong += shim_from_fp16(bits) != value || shim_to_fp16((float)value) != bits;
        wrong += shim_from_bf16(bits) != half_bf16(bits) || bf != bits;
    }
    shim_check(wrong == 0, "%d numbers of 16 bits do not survive float and back", wrong);
    for (int i = 0; i < 100000; i++) { // no other number is nearer than the one rounded to
        const float x = (float)(shim_normal() * exp2(floor(10 * shim_normal())));
        const uint16_t bits = shim_to_fp16(x);
        const double off = fabs(half_fp16(bits) - x);
        const double above = fabs(half_fp16((uint16_t)(bits + 1)) - x);
        const double below = fabs(half_fp16((uint16_t)(bits - (bits & 0x7fff ? 1 : 0))) - x);
        wrong += !isinf(half_fp16(bits)) && (off > above || off > below);
        wrong += fabs(half_bf16(shim_to_bf16(x)) - x) > 0x1p-9 * exp2(ceil(log2(fabs(x))));
    }
    shim_check(wrong == 0, "%d of 100000 numbers are not rounded to the nearest", wrong);
}

static void test_exchanges()
{
    uint32_t *right = (uint32_t *)shim_alloc(4 * 3 * 64);
    shim_launch(exchanges, {right}, 3, 64, 0);
    for (int i = 0; i < 3 * 64; i++)
        shim_check(right[i] == 14, "thread %d found %u of 14 exchanges right", i, right[i]);
}

static void shim_test(void)
{
    test_halves();
    test_sums(3, 1);
    test_sums(1, 255);
    test_sums(4, 1003);
    test_exchanges();
}
