/* Argument structs go by value from C to a kernel: the two compilers must lay them out alike.
 * `ARGS_SIZE(struct load_args, 40);` behind a struct, in the header that both include, holds both to
 * one size; gpu_kernel() holds the kernel's parameter to it when it loads one. ARGS_BOTH begins a
 * function of a few lines that both call. */
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
