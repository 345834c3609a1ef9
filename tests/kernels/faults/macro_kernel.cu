// expect 1: made_64 sm_90a  expected a contract in the source, found none
/* A macro makes two kernels, and the contract speaks of one. */
#define MAKE(n)                                                                                    \
    extern "C" __global__ void made_##n(int *out)                                                  \
    {                                                                                              \
        out[threadIdx.x] = n;                                                                      \
    }

// sass: kernel=made_3* local=0 regs<=32
MAKE(32)
MAKE(64)
