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
 *     grid      grid_barrier() and grid_barrier_wait() let everyone through    (grid_barrier.cuh)
 *     full      no wait at an mbarrier for announced bytes     (rings of bulk copies)
 *     empty     no wait at any other mbarrier                  (rings of bulk copies)
 *     named     named_barrier() lets everyone through          (core/device/named_barrier.cuh)
 *
 * A test may plant further words in its own code: if (shim_fault("word")).
 *
 * How it works: each thread of a block is a fiber, which ucontext starts. It runs until it waits,
 * at a barrier or for the lanes of its warp, and continues when all that it waits for have arrived.
 * Blocks run one after another, and shared memory is NaN at the start of each. Two things end the
 * run with a message: a barrier or a shuffle at which some thread never arrives, and a shuffle by
 * or from a lane outside its mask.
 *
 * Kernels whose blocks wait for each other need all of them at once:
 *
 *     shim_launch_together(kernel, args, grid, block, shared);
 *     shim_launch_ranks(kernel, args_of_each, ranks, grid, block, shared);    several GPUs
 *
 * Each block has its own shared memory, and blocks take turns, in the same three orders. Forward
 * and backward, a turn lasts as long as the block gets on by itself: blocks drift as far apart as
 * they can. Shuffled, a turn ends when each thread has run once, and the next block is drawn. What
 * a thread may poll (load_acquire and its like in order.cuh, atomics that change nothing, __ldcv,
 * mbarrier_try_wait, __nanosleep) lets other threads run; a plain or volatile load does not. A twin
 * of another function that polls uses shim_load() or shim_poll(), one that stores calls
 * shim_stored(). A launch in which nothing happens any more ends with a message, as does one in
 * which there are only polls for long. Before that, the clocks of clock.cuh leap, so that a kernel
 * with a budget gives up by itself as on a GPU. A launch that takes 40 s ends, too.
 *
 * Copies of async.cuh arrive later. Until then what they will overwrite is NaN: a missing wait for
 * "full" reads it, and so does a reader who is still at it when "empty" was not waited for. Bulk
 * loads arrive as late as can be (forward), soon and the newest first (backward), by chance
 * (shuffled). A store reads its source and writes at the wait for it, or at once. Also checked:
 * 16-byte alignment, sizes, bounds of shared memory as a whole, mbarriers that nobody made, too
 * many arrivals, a block that ends while a copy is under way. A store without bulk_store_fence() is
 * not seen, and neither is a missing mbarrier_made().
 *
 * What this shows: indices and bounds, tails of odd shapes, barriers and exchanges that are missing
 * or that some threads miss, the formulas and roundings of a result, waits that are missing between
 * blocks and for copies. What it cannot show: PTX (a function made of PTX has a twin in plain C++
 * under tests/shim/, at the path of the original; the checks on the GPU compare the two), memory
 * ordering (every store is seen by all at once, in its order), torn accesses, races between threads
 * that neither wait nor poll, tensor cores, clusters, registers, time. float is not contracted to
 * fma unless the source says so: results agree with the GPU within a bound, not bit for bit. ASan
 * checks host memory and stacks, but not shared memory, which is thread-local here. There UBSan
 * checks that an index stays within its array, where the array itself is indexed.
 *
 * Kernels guarded by `#if __CUDA_ARCH__ >= 900` are left out: here it is 800, unless the test
 * defines SHIM_ARCH as 900 before it includes this file. A kernel that calls a function of PTX
 * without a twin does not get past the assembler. Dynamic shared memory: write
 * `extern __shared__ T name[];` in the kernel, and in the test, outside any function,
 * `thread_local T name[N];`. */
#ifndef TESTS_SHIM_H
#define TESTS_SHIM_H

#include <assert.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

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

/* The same with all blocks at once, which may wait for each other; at most 1024 of them. */
template <typename ARGS>
void shim_launch_together(void (*kernel)(ARGS), const ARGS &args, dim3 grid, unsigned block,
                          size_t shared);

/* So many such grids at once, each with its own arguments: one kernel on several GPUs. */
template <typename ARGS>
void shim_launch_ranks(void (*kernel)(ARGS), const ARGS *args, unsigned ranks, dim3 grid,
                       unsigned block, size_t shared);

static void shim_test(void); /* the test's own */

#include "tests/shim/fibers.h"

#endif
