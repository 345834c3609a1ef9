// Kernels of instructions: each instruction in one dependent chain of a warp, and in independent
// chains of a full SM.
//
// The compiler simplifies what it understands: 128 times 1 / (1 / x) are no instruction at all.
// Therefore every operand comes from memory, even and odd steps differ if steps could be merged,
// and the value at the end is stored and checked on the host. The contracts below count the
// instructions that are left between the clock reads.
#include "core/device/clock.cuh"
#include "probes/instructions/tensor_chains.cuh"

// --- one value a lane ----------------------------------------------------------------------------

// ODD: the place of the operands a and b of odd steps; 0: all steps have the same operands.
// Instructions that the compiler could merge need two sets. But an FMA that reads three registers
// anew takes longer than one that finds two of them in the reuse cache.
#define SCALAR(NAME, TYPE, LETTER, ODD_, TEXT)                                                    \
    struct NAME {                                                                                 \
        using T = TYPE;                                                                           \
        enum { ODD = ODD_ };                                                                      \
        static __device__ __forceinline__ void apply(TYPE &x, TYPE a, TYPE b)                     \
        {                                                                                         \
            asm volatile(TEXT : "+" LETTER(x) : LETTER(a), LETTER(b));                            \
        }                                                                                         \
    };

SCALAR(fma_fp32, float, "f", 0, "fma.rn.f32 %0, %0, %1, %2;")
SCALAR(add_fp32, float, "f", 2, "add.rn.f32 %0, %0, %1;")
SCALAR(fma_fp16x2, uint32_t, "r", 0, "fma.rn.f16x2 %0, %0, %1, %2;")
SCALAR(fma_fp64, double, "d", 0, "fma.rn.f64 %0, %0, %1, %2;")
SCALAR(imad_int32, uint32_t, "r", 2, "mad.lo.u32 %0, %0, %1, %2;")
SCALAR(iadd3_int32, uint32_t, "r", 2, "add.u32 %0, %0, %1; add.u32 %0, %0, %2;")
SCALAR(lop3_b32, uint32_t, "r", 2, "lop3.b32 %0, %0, %1, %2, 0xca;") // x ? a : b, for each bit
SCALAR(shf_b32, uint32_t, "r", 2, "shf.l.wrap.b32 %0, %0, %0, %1;")
SCALAR(popc_b32, uint32_t, "r", 0, "popc.b32 %0, %0;")
SCALAR(ex2_fp32, float, "f", 0, "{ .reg .f32 t; neg.f32 t, %0; ex2.approx.ftz.f32 %0, t; }")
SCALAR(rsqrt_fp32, float, "f", 0, "rsqrt.approx.ftz.f32 %0, %0;")
SCALAR(cos_fp32, float, "f", 0, "cos.approx.ftz.f32 %0, %0;")
SCALAR(shfl_b32, uint32_t, "r", 2, "shfl.sync.idx.b32 %0, %0, %1, 0x1f, 0xffffffff;")
SCALAR(ballot_b32, uint32_t, "r", 2,
       "{ .reg .pred p; setp.gt.u32 p, %0, %1; vote.sync.ballot.b32 %0, p, 0xffffffff; }")
#if __CUDA_ARCH__ >= 800
// Its bits are used as those of the next fp32: a chain without a conversion back.
SCALAR(cvt_fp32_fp16x2, uint32_t, "r", 0, "cvt.rn.f16x2.f32 %0, %1, %0;")
SCALAR(redux_int32, uint32_t, "r", 0, "redux.sync.max.u32 %0, %0, 0xffffffff;")
#endif

// in: a and b of even steps, a and b of odd steps, then the first values of the chains; 32 lanes
// each.
template <class OP> struct scalar_chain {
    using T = typename OP::T;
    enum { LEAD = 2, SHORT = CHAIN_SHORT, LONG = CHAIN_LONG, WORDS = sizeof(T) / 4 };
    T x, operand[SCALAR_OPERANDS];

    __device__ __forceinline__ void load(const struct instructions_args &args, int chain)
    {
        const uint64_t *in = args.in + threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < SCALAR_OPERANDS; i++)
            operand[i] = of_bits<T>(in[i * 32]);
        x = of_bits<T>(in[(SCALAR_OPERANDS + chain) * 32]);
    }
    __device__ __forceinline__ void step(int i)
    {
        OP::apply(x, operand[i % 2 * OP::ODD], operand[i % 2 * OP::ODD + 1]);
    }
    __device__ __forceinline__ uint32_t word(int i) const { return word_of(&x, i); }
    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ void turned() {}
    __device__ __forceinline__ void end() {}
};

// --- ldmatrix: the loaded words are the addresses of the next rows -------------------------------

#define LDMATRIX "ldmatrix.sync.aligned.m8n8."
__device__ __forceinline__ void ldmatrix(uint32_t (&d)[1], uint32_t at)
{
    asm volatile(LDMATRIX "x1.shared.b16 {%0}, [%1];" : "=r"(d[0]) : "r"(at) : "memory");
}
__device__ __forceinline__ void ldmatrix(uint32_t (&d)[2], uint32_t at)
{
    asm volatile(LDMATRIX "x2.shared.b16 {%0, %1}, [%2];" : "=r"(d[0]), "=r"(d[1]) : "r"(at)
                 : "memory");
}
__device__ __forceinline__ void ldmatrix(uint32_t (&d)[4], uint32_t at)
{
    asm volatile(LDMATRIX "x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(at) : "memory");
}

// A lane's word of the first matrix of a tile is the address of its own row of the next tile.
template <int MATRICES> struct ldmatrix_chain {
    enum { LEAD = 2, SHORT = CHAIN_SHORT, LONG = CHAIN_LONG, WORDS = MATRICES };
    uint32_t d[MATRICES], ring;

    __device__ __forceinline__ void load(const struct instructions_args &, int chain)
    {
        __shared__ __align__(128) uint32_t words[RING_TILES * TILE_BYTES / 4];
        ring = shared_address(words);
        for (uint32_t i = threadIdx.x; i < sizeof words / 4; i += blockDim.x) {
            uint32_t tile = i / 128, row = i / 4 % 32, word = i % 4;
            words[i] = row < 8 ? ring + ring_next(tile) * TILE_BYTES + (row * 4 + word) * 16
                               : ring_word(tile, row, word);
        }
        __syncthreads();
        d[0] = ring + chain * TILE_BYTES + threadIdx.x % 32 * 16;
    }
    __device__ __forceinline__ void step(int) { ldmatrix(d, d[0]); }
    __device__ __forceinline__ uint32_t word(int i) const { return i == 0 ? d[0] - ring : d[i]; }
    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ void turned() {}
    __device__ __forceinline__ void end() {}
};

// --- the two measurements ------------------------------------------------------------------------

// Everything that follows waits for x: an instruction that uses it comes first, in order. EXIT
// needs no address, and if a value were ever this one, the missing result would show.
__device__ __forceinline__ void hold(uint32_t x)
{
    asm volatile("{ .reg .pred q; setp.eq.u32 q, %0, 0x5eedf100; @q exit; }" ::"r"(x) : "memory");
}

// Steps FIRST to FIRST + N - 1 of a turn.
template <int N, int FIRST, class CHAIN> __device__ __forceinline__ void steps(CHAIN &c)
{
    c.begin();
#pragma unroll
    for (int i = FIRST; i < FIRST + N; i++)
        c.step(i);
    c.end();
}

template <class CHAIN>
__device__ __forceinline__ void store(const struct instructions_args &args, const CHAIN &c,
                                      int chain)
{
    uint32_t *out = args.out + chain * CHAIN::WORDS * blockDim.x + threadIdx.x;
#pragma unroll
    for (int i = 0; i < CHAIN::WORDS; i++, out += blockDim.x)
        *out = c.word(i);
}

// One warp (for wgmma four), one chain. There is one more step at the end; otherwise a sum that is
// added to and subtracted from would end as it began.
template <class CHAIN> __device__ __forceinline__ void latency(const struct instructions_args &args)
{
    constexpr int LEAD = CHAIN::LEAD, SHORT = CHAIN::SHORT, LONG = CHAIN::LONG;
    CHAIN c;
    c.load(args, 0);
    uint64_t began = clock_cycles();
#pragma unroll 1
    for (uint32_t turn = 0; turn < args.turns; turn++) {
        steps<LEAD, 0>(c);
        hold(c.word(0));
        uint64_t t0 = clock_cycles();
        steps<SHORT, LEAD>(c);
        hold(c.word(0));
        uint64_t t1 = clock_cycles();
        steps<LONG, LEAD + SHORT>(c);
        hold(c.word(0));
        uint64_t t2 = clock_cycles();

        args.cycles[0] = t2 - began;
        args.cycles[1 + 2 * turn] = t1 - t0;
        args.cycles[2 + 2 * turn] = t2 - t1;
    }
    steps<1, 0>(c);
    store(args, c, 0);
}

// All warps of a block, with CHAINS chains each, between two barriers.
template <class CHAIN, int CHAINS, int UNROLL>
__device__ __forceinline__ void throughput(const struct instructions_args &args)
{
    CHAIN c[CHAINS];
#pragma unroll
    for (int j = 0; j < CHAINS; j++)
        c[j].load(args, j);
    __syncthreads();
    uint64_t t0 = clock_cycles();
#pragma unroll 1
    for (uint32_t turn = 0; turn < args.turns; turn++) {
        c[0].begin();
#pragma unroll
        for (int i = 0; i < UNROLL / CHAINS; i++)
#pragma unroll
            for (int j = 0; j < CHAINS; j++)
                c[j].step(i);
        c[0].turned();
    }
    c[0].end();
    __syncthreads();
    uint64_t t1 = clock_cycles();

    if (threadIdx.x == 0)
        args.cycles[blockIdx.x] = t1 - t0;
    if (blockIdx.x == args.witness)
#pragma unroll
        for (int j = 0; j < CHAINS; j++) {
            steps<1, 0>(c[j]);
            store(args, c[j], j);
        }
}

#define KERNEL(NAME, THREADS, ...)                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                      \
    instructions_##NAME(const __grid_constant__ struct instructions_args a)                       \
    {                                                                                             \
        __VA_ARGS__(a);                                                                           \
    }
#define SCALAR_KERNELS(NAME, UNROLL)                                                              \
    KERNEL(latency_##NAME, 32, latency<scalar_chain<NAME>>)                                       \
    KERNEL(throughput_##NAME, 32 * SCALAR_WARPS,                                                  \
           throughput<scalar_chain<NAME>, SCALAR_CHAINS, UNROLL>)
#define LDMATRIX_KERNELS(N)                                                                       \
    KERNEL(latency_ldmatrix_x##N##_b16, 32, latency<ldmatrix_chain<N>>)                           \
    KERNEL(throughput_ldmatrix_x##N##_b16, 32 * SCALAR_WARPS,                                     \
           throughput<ldmatrix_chain<N>, SCALAR_CHAINS, SCALAR_UNROLL>)
#define MMA_KERNELS(NAME, CHAINS)                                                                 \
    KERNEL(latency_mma_##NAME, 32, latency<mma_chain<NAME>>)                                      \
    KERNEL(throughput_mma_##NAME, 32 * MMA_WARPS, throughput<mma_chain<NAME>, CHAINS, MMA_UNROLL>)
#define WGMMA_KERNELS(NAME)                                                                       \
    KERNEL(latency_wgmma_##NAME, 128, latency<wgmma_chain<NAME>>)                                 \
    KERNEL(throughput_wgmma_##NAME, 128 * WGMMA_GROUPS,                                           \
           throughput<wgmma_chain<NAME>, 1, WGMMA_UNROLL / 4>)

// All throughputs end with the block: a barrier comes before the closing clock.
// sass: kernel=*_throughput_* clocks=2 bar.block=1 looped
// sass: kernel=*_latency_fma_fp32 clocks=4 ffma=*,128,256 other<=*,2,2 local=0 waited chain
// sass-loop: kernel=*_throughput_fma_fp32 ffma=512 other<=4 exits<=2 local=0
SCALAR_KERNELS(fma_fp32, FULL_RATE_UNROLL)
// sass: kernel=*_latency_add_fp32 clocks=4 fadd=*,128,256 other<=*,2,2 local=0 waited chain
// sass-loop: kernel=*_throughput_add_fp32 fadd=512 other<=4 exits<=2 local=0
SCALAR_KERNELS(add_fp32, FULL_RATE_UNROLL)
// sass: kernel=*_latency_fma_fp16x2 clocks=4 hfma2=*,128,256 other<=*,2,2 local=0 waited chain
// sass-loop: kernel=*_throughput_fma_fp16x2 hfma2=512 other<=4 exits<=2 local=0
SCALAR_KERNELS(fma_fp16x2, FULL_RATE_UNROLL)
// sass: kernel=*_latency_fma_fp64 clocks=4 dfma=*,128,256 other<=*,2,2 local=0 waited chain
// sass-loop: kernel=*_throughput_fma_fp64 dfma=128 other<=3 exits<=2 local=0
SCALAR_KERNELS(fma_fp64, SCALAR_UNROLL)
// sass: kernel=*_latency_imad_int32 clocks=4 imad=*,128,256 other<=*,2,2 local=0 waited chain
// sass-loop: kernel=*_throughput_imad_int32 imad=128 other<=3 exits<=2 local=0
SCALAR_KERNELS(imad_int32, SCALAR_UNROLL)
// sass: kernel=*_latency_iadd3_int32 clocks=4 iadd3=*,128,256 other<=*,2,2 local=0 waited chain
// sass-loop: kernel=*_throughput_iadd3_int32 iadd3>=512 other<=3 exits<=2 local=0
SCALAR_KERNELS(iadd3_int32, FULL_RATE_UNROLL)
// sass: kernel=*_latency_lop3_b32 clocks=4 lop3=*,128,256 other<=*,2,2 local=0 waited chain
// sass-loop: kernel=*_throughput_lop3_b32 lop3=512 other<=4 exits<=2 local=0
SCALAR_KERNELS(lop3_b32, FULL_RATE_UNROLL)
// sass: kernel=*_latency_shf_b32 clocks=4 shf=*,128,256 other<=*,2,2 local=0 waited chain
// sass-loop: kernel=*_throughput_shf_b32 shf=512 other<=4 exits<=2 local=0
SCALAR_KERNELS(shf_b32, FULL_RATE_UNROLL)
// sass: kernel=*_latency_popc_b32 clocks=4 popc=*,128,256 other<=*,2,3 local=0 waited chain
// sass-loop: kernel=*_throughput_popc_b32 popc=128 other<=3 exits<=2 local=0
SCALAR_KERNELS(popc_b32, SCALAR_UNROLL)
// sass: kernel=*_latency_ex2_fp32 clocks=4 mufu=*,128,256 other<=*,2,3 local=0 waited chain
// sass-loop: kernel=*_throughput_ex2_fp32 mufu=128 other<=3 exits<=2 local=0
SCALAR_KERNELS(ex2_fp32, SCALAR_UNROLL)
// sass: kernel=*_latency_rsqrt_fp32 clocks=4 mufu=*,128,256 other<=*,2,3 local=0 waited chain
// sass-loop: kernel=*_throughput_rsqrt_fp32 mufu=128 other<=3 exits<=2 local=0
SCALAR_KERNELS(rsqrt_fp32, SCALAR_UNROLL)
// sass: kernel=*_latency_cos_fp32 clocks=4 mufu=*,128,256 fmul=*,128,256 other<=*,2,2 local=0
// sass-and: waited chain
// sass-loop: kernel=*_throughput_cos_fp32 mufu=128 fmul=128 other<=4 exits<=2 local=0
SCALAR_KERNELS(cos_fp32, SCALAR_UNROLL)
// sass: kernel=*_latency_shfl_b32 clocks=4 shfl=*,128,256 other<=*,2,3 local=0 waited chain
// sass-loop: kernel=*_throughput_shfl_b32 shfl=128 other<=3 exits<=2 local=0
SCALAR_KERNELS(shfl_b32, SCALAR_UNROLL)
// sass: kernel=*_latency_ballot_b32 clocks=4 vote=*,128,256 isetp=*,129,257 other<=*,1,1 local=0
// sass-and: waited chain
// sass-loop: kernel=*_throughput_ballot_b32 vote=128 isetp>=128 other<=3 exits<=2 local=0
SCALAR_KERNELS(ballot_b32, SCALAR_UNROLL)
#if __CUDA_ARCH__ >= 800
// sass: kernel=*_latency_cvt_fp32_fp16x2 clocks=4 f2fp=*,128,256 other<=*,2,2 local=0 waited chain
// sass-and: arch=80+
// sass-loop: kernel=*_throughput_cvt_fp32_fp16x2 f2fp=512 other<=4 exits<=2 local=0 arch=80+
SCALAR_KERNELS(cvt_fp32_fp16x2, FULL_RATE_UNROLL)
// sass: kernel=*_latency_redux_* clocks=4 redux=*,128,256 other<=*,130,258 local=0 waited chain
// sass-and: arch=80,86,89,90a,120
// sass: kernel=*_latency_redux_* clocks=4 credux=*,128,256 other<=*,130,258 local=0 waited chain
// sass-and: arch=100
// sass-loop: kernel=*_throughput_redux_* redux=128 other<=132 exits<=2 local=0
// sass-and: arch=80,86,89,90a,120
// sass-loop: kernel=*_throughput_redux_* credux=128 other<=131 exits<=2 local=0 arch=100
SCALAR_KERNELS(redux_int32, SCALAR_UNROLL)
#endif
// sass: kernel=*_latency_ldmatrix_x1_b16 clocks=4 ldsm=*,128,256 other<=*,3,4 local=0 waited chain
// sass-loop: kernel=*_throughput_ldmatrix_x1_b16 ldsm=128 other<=3 exits<=2 local=0
LDMATRIX_KERNELS(1)
// sass: kernel=*_latency_ldmatrix_x2_b16 clocks=4 ldsm=*,128,256 other<=*,3,4 local=0 waited chain
// sass-loop: kernel=*_throughput_ldmatrix_x2_b16 ldsm=128 other<=3 exits<=2 local=0
LDMATRIX_KERNELS(2)
// sass: kernel=*_latency_ldmatrix_x4_b16 clocks=4 ldsm=*,128,256 other<=*,3,4 local=0 waited chain
// sass-loop: kernel=*_throughput_ldmatrix_x4_b16 ldsm=128 other<=3 exits<=2 local=0
LDMATRIX_KERNELS(4)

// 8.x has two empty instructions after each product.
// sass: kernel=*_latency_mma_m16n8k8_* clocks=4 hmma=*,32,64 other<=*,2,2 local=0 waited chain
// sass: kernel=*_latency_mma_m16n8k16_[fb]?16_* clocks=4 hmma=*,32,64 other<=*,2,2 local=0 waited
// sass-and: chain arch=80+
// sass: kernel=*_latency_mma_*_int8_* clocks=4 imma=*,32,64 other<=*,2,2 local=0 waited chain
// sass-and: arch=80+
// sass: kernel=*_latency_mma_m8n8k4_* clocks=4 dmma=*,32,64 other<=*,2,2 local=0 waited chain
// sass-and: arch=80+
// sass: kernel=*_latency_mma_*_e4m3_* clocks=4 qmma=*,32,64 other<=*,2,2 local=0 waited chain
// sass-and: arch=89,120
// sass: kernel=*_latency_mma_m16*_fp64_* clocks=4 dmma=*,32,64 other<=*,2,4 local=0 waited chain
// sass-and: arch=90a
// sass-loop: kernel=*_throughput_mma_m16n8k8_* hmma=64 other<=3 exits<=2 local=0
// sass-loop: kernel=*_throughput_mma_m16n8k16_[fb]?16_* hmma=64 other<=3 exits<=2 local=0 arch=80+
// sass-loop: kernel=*_throughput_mma_*_int8_* imma=64 other<=3 exits<=2 local=0 arch=80+
// sass-loop: kernel=*_throughput_mma_m8n8k4_* dmma=64 other<=3 exits<=2 local=0 arch=80+
// sass-loop: kernel=*_throughput_mma_*_e4m3_* qmma=64 other<=3 exits<=2 local=0 arch=89,120
// sass-loop: kernel=*_throughput_mma_m16*_fp64_* dmma=64 other<=3 exits<=2 local=0 arch=90a
MMA_KERNELS(m16n8k8_fp16_fp32, MMA_CHAINS)
#if __CUDA_ARCH__ >= 800
MMA_KERNELS(m16n8k16_fp16_fp32, MMA_CHAINS)
MMA_KERNELS(m16n8k16_fp16_fp16, MMA_CHAINS)
MMA_KERNELS(m16n8k16_bf16_fp32, MMA_CHAINS)
MMA_KERNELS(m16n8k8_tf32_fp32, MMA_CHAINS)
MMA_KERNELS(m16n8k32_int8_int32, MMA_CHAINS)
MMA_KERNELS(m8n8k4_fp64_fp64, MMA_CHAINS)
#endif
#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
MMA_KERNELS(m16n8k32_e4m3_fp32, MMA_CHAINS)
#endif
#if __CUDA_ARCH__ == 900
MMA_KERNELS(m16n8k16_fp64_fp64, MMA_CHAINS / 4)
#endif

#if defined __CUDA_ARCH_FEAT_SM90_ALL
// sass: kernel=*_latency_wgmma_m64n256k16_* clocks=4 hgmma=*,4,8 other<=*,10,18 local=0 waited
// sass-and: chain arch=90a
// sass: kernel=*_latency_wgmma_m64n256k8_* clocks=4 hgmma=*,4,8 other<=*,4,4 local=0 waited chain
// sass-and: arch=90a
// sass: kernel=*_latency_wgmma_*_e4m3_* clocks=4 qgmma=*,4,8 other<=*,4,4 local=0 waited chain
// sass-and: arch=90a
// sass: kernel=*_latency_wgmma_*_int8_* clocks=4 igmma=*,4,8 other<=*,4,4 local=0 waited chain
// sass-and: arch=90a
// sass: kernel=*_latency_wgmma_m64n8k* clocks=4 hgmma=*,12,24 other<=*,26,50 local=0 waited chain
// sass-and: arch=90a
// sass: kernel=*_latency_wgmma_m64n64k* clocks=4 hgmma=*,12,24 other<=*,26,50 local=0 waited chain
// sass-and: arch=90a
// sass-loop: kernel=*_throughput_wgmma_*k16_* hgmma=8 other<=36 exits<=2 local=0 arch=90a
// sass-loop: kernel=*_throughput_wgmma_*k8_* hgmma=8 other<=25 exits<=2 local=0 arch=90a
// sass-loop: kernel=*_throughput_wgmma_*_e4m3_* qgmma=8 other<=25 exits<=2 local=0 arch=90a
// sass-loop: kernel=*_throughput_wgmma_*_int8_* igmma=8 other<=36 exits<=2 local=0 arch=90a
WGMMA_KERNELS(m64n8k16_fp16_fp32_shared)
WGMMA_KERNELS(m64n64k16_fp16_fp32_shared)
WGMMA_KERNELS(m64n256k16_fp16_fp32_shared)
WGMMA_KERNELS(m64n256k16_fp16_fp16_shared)
WGMMA_KERNELS(m64n256k16_bf16_fp32_shared)
WGMMA_KERNELS(m64n256k8_tf32_fp32_shared)
WGMMA_KERNELS(m64n256k32_e4m3_fp32_shared)
WGMMA_KERNELS(m64n256k32_int8_int32_shared)
WGMMA_KERNELS(m64n64k16_fp16_fp32_registers)
WGMMA_KERNELS(m64n256k16_fp16_fp32_registers)
WGMMA_KERNELS(m64n256k32_e4m3_fp32_registers)
KERNEL(latency_wgmma_m64n8k16_fp16_fp32_waited, 128,
       latency<wgmma_chain<m64n8k16_fp16_fp32_waited>>)
KERNEL(latency_wgmma_m64n64k16_fp16_fp32_waited, 128,
       latency<wgmma_chain<m64n64k16_fp16_fp32_waited>>)
KERNEL(latency_wgmma_m64n256k16_fp16_fp32_waited, 128,
       latency<wgmma_chain<m64n256k16_fp16_fp32_waited>>)
#endif
