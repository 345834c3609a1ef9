// expect 2: stray_and.cu:5: there is no contract above this line to go on with
/* The second line of a contract that has lost its first. */

// The contract:
// sass-and: stg32=1 local=0
extern "C" __global__ void stray_and(int *out)
{
    out[threadIdx.x] = 1;
}
