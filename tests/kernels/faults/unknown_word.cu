// expect 2: unknown_word.cu:5: the word 'lods=8' is not understood
/* A typing mistake in a contract must not make it weaker. */

// The contract:
// sass: lods=8 waited
extern "C" __global__ void unknown_word(int *out)
{
    out[threadIdx.x] = 1;
}
