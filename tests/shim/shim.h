/* Runs a kernel of a .cu on the CPU: the same source, compiled by g++, under ASan and UBSan,
 * without a CUDA installation. A test of the folder is one C++ file that is written like C:
 *
 *     // faults: thread lane barrier
 *     #include "tests/shim/shim.h"
 *     #include "fused/norm/norm.cu"               the .cu itself: its kernels become functions
 *
 *     static void shim_test(void)
 *     {
 *         struct norm_args a = {...};                 ordinary host memory, from shim_alloc()
 *         shim_launch(norm_rows, a, rows, 256, 0);    grid, block, bytes of dynamic shared memory
 *         shim_check(fabs(...) <= ..., "row %d is as in double", i);
 *     }
 *
 * main() is here. It calls shim_test() three times. The threads of a block run from the first to
 * the last, then from the last to the first, then shuffled, because a missing barrier shows in one
 * order and not in another. run.sh compiles every test_*.cc and requires that it passes. Then, for
 * every word after `faults:` in its first line, it requires that the test *fails* with that fault
 * planted (SHIM_FAULT=WORD):
 *
 *     thread    one thread of every block does not run         (any kernel)
 *     lane      one lane gets another's value in each exchange (kernels with shuffles, votes)
 *     barrier   __syncthreads() lets everyone through          (kernels with barriers)
 *     rounding  narrowing to 16 bits truncates                 (tests of a result's accuracy)
 *
 * How it works: each thread of a block is a fiber (ucontext). It runs until it waits, at a barrier
 * or for the lanes of its warp, and continues when all that it waits for have arrived. Blocks run
 * one after another, and shared memory is NaN at the start of each. Two things end the run with a
 * message: a barrier or a shuffle at which some thread never arrives, and a shuffle by or from a
 * lane outside its mask.
 *
 * What this shows: indices and bounds, tails of odd shapes, barriers and exchanges that are missing
 * or that some threads miss, the formulas and roundings of a result. What it cannot show: PTX (a
 * function made of PTX has a twin in plain C++ under tests/shim/, at the path of the original; the
 * checks on the GPU compare the two), memory ordering, races between blocks, anything that depends
 * on warps running at the same time, tensor cores, clusters, asynchronous copies, registers, time.
 * float is not contracted to fma unless the source says so: results agree with the GPU within a
 * bound, not bit for bit. ASan checks host memory and stacks, but not shared memory, which is
 * thread-local here. There UBSan checks that an index stays within its array, where the array
 * itself is indexed.
 *
 * Kernels guarded by `#if __CUDA_ARCH__ >= 900` are left out: here it is 800. A kernel that calls a
 * function of PTX without a twin does not get past the assembler. Dynamic shared memory: write
 * `extern __shared__ T name[];` in the kernel, and in the test, outside any function,
 * `thread_local T name[N];`. */
#ifndef TESTS_SHIM_H
#define TESTS_SHIM_H

#include <assert.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tests/shim/language.h"

/* Memory of exactly this many bytes, all 0xff (NaN in every float type), 256-byte aligned. ASan
 * detects an access to the first byte beyond it. Freed at the end of the test's pass. */
void *shim_alloc(size_t bytes);

/* One check; the first twenty failures are printed. */
void shim_check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* N(0,1) of a fixed sequence. */
double shim_normal(void);

/* Runs kernel(args) in every thread of every block, and returns when all have ended. */
template <typename ARGS>
void shim_launch(void (*kernel)(ARGS), const ARGS &args, dim3 grid, unsigned block, size_t shared);

static void shim_test(void); /* the test's own */

#include "tests/shim/fibers.h"

#endif
