/* A kernel takes one argument struct by value, so the host compiler and nvcc must give it the same
 * layout. Write `ARGS_SIZE(struct load_args, 40);` after the struct, in the header that both
 * include: both compilers then assert that size. gpu_kernel() compares it with the size of the
 * kernel's parameter when it loads one. ARGS_BOTH begins a function of a few lines that both sides
 * call. */
#ifndef CORE_ARGS_H
#define CORE_ARGS_H

#ifdef __cplusplus
#define ARGS_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), "host and device disagree")
#else
#define ARGS_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "host and device disagree")
#endif

#ifdef __CUDACC__
#define ARGS_BOTH __host__ __device__ __forceinline__
#else
#define ARGS_BOTH static inline
#endif

#endif
