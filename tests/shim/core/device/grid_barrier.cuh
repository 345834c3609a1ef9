/* core/device/grid_barrier.cuh itself, which needs no twin, and its planted fault. See
 * tests/shim/shim.h. */
#ifndef TESTS_SHIM_GRID_BARRIER_CUH
#define TESTS_SHIM_GRID_BARRIER_CUH

#include "../../../../core/device/grid_barrier.cuh"

#define grid_barrier(barrier) (shim_fault("grid") ? (void)0 : grid_barrier(barrier))
#define grid_barrier_wait(barrier) (shim_fault("grid") ? (void)0 : grid_barrier_wait(barrier))

#endif
