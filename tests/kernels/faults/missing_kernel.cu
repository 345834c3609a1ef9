// expect 1: missing_kernel sm_90a  expected this kernel in the cubin, found none
/* The contract holds for every architecture, the kernel is compiled for none of them. */
#if __CUDA_ARCH__ < 500
// sass: local=0
extern "C" __global__ void missing_kernel(int *out)
{
    out[threadIdx.x] = 1;
}
#endif
