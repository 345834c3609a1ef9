// expect 2: timed_none.cu:4: 'none' is for kernels that are not timed
/* A reason why nothing is checked, but not the only one that there is. */

// sass: none timed from outside
extern "C" __global__ void timed_none(int *out)
{
    out[threadIdx.x] = 1;
}
