// expect 1: expected together, found a wait for the ldg128na
/* Two loads stand before two uses, but the second is only needed behind an early return, and ptxas
 * moves it there. */

__device__ __forceinline__ uint4 load(const uint4 *p)
{
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}

// sass-all: ldg128na=2 ldg128=2 stg128=2 local=0 together
extern "C" __global__ void together_all(const uint4 *in, uint4 *out, unsigned n)
{
    unsigned i = blockIdx.x * 512 + threadIdx.x;
    uint4 a = load(in + i), b = load(in + i + 256);

    out[i] = make_uint4(a.x + 1, a.y, a.z, a.w);
    if (i + 256 >= n)
        return;
    out[i + 256] = make_uint4(b.x + 1, b.y, b.z, b.w);
}
