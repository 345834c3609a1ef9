// expect 2: unknown_modifier.cu:4: the word 'ldg64.gpus=8' is not understood
/* A scope that does not exist. */

// sass-all: ldg64.gpus=8 local=0
extern "C" __global__ void unknown_modifier(int *out)
{
    out[threadIdx.x] = 1;
}
