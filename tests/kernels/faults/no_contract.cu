// expect 1: no_contract  expected a contract above it, found none
/* The kernel below is timed, and nothing says what it must consist of. */
extern "C" __global__ void no_contract(int *out)
{
    out[threadIdx.x] = 1;
}

// sass: none not a timed kernel: only shows that this one is let through
extern "C" __global__ void excused(int *out)
{
    out[threadIdx.x] = 2;
}
