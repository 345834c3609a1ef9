// Kernels that the host controls: one holds the stream until the host lets go, one tells the host
// the time of the GPU. Neither is measured. They are an image of their own, which is loaded at its
// first use.
#include "core/device/clock.cuh"
#include "core/device/host_clock.h"

// Holds the stream until the host lets go or the budget is spent; in the latter case it says so.
// sass: none not a timed kernel
extern "C" __global__ void host_clock_gate(const __grid_constant__ struct host_clock_gate_args a)
{
    volatile uint32_t *gate = a.gate;
    uint64_t began = clock_ns();
    while (gate[0] != a.ticket)
        if (clock_ns() - began > a.budget_ns) {
            gate[1] = a.ticket;
            return;
        }
}

// sass: none not a timed kernel
extern "C" __global__ void
host_clock_handshake(const __grid_constant__ struct host_clock_handshake_args a)
{
    uint64_t began = clock_ns(), now = began;
    for (uint32_t round = 1; round <= a.rounds && now - began < a.budget_ns; round++) {
        do
            now = clock_ns();
        while (*(volatile const uint32_t *)a.asked != round && now - began < a.budget_ns);
        *(volatile uint64_t *)a.answer = clock_ns();
    }
}
