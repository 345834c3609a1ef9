// expect 1: expected a contract that counts something, found only limits
/* It does not spill; nothing says that it does anything. */

// sass-all: local=0 regs<=64 stg>=0
extern "C" __global__ void only_limits(int *out)
{
    out[threadIdx.x] = 1;
}
