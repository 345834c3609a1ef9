/* A stand-in for the CUDA runtime, for tests only: programs are linked with it instead of
 * libcudart_static.a, and run their host code on a machine without a GPU. It pretends a healthy
 * H200 (cudart.c), does what a few kernels do (kernels.c), and lets a chosen call fail
 * (inject.c). */
#ifndef TESTS_FAULTS_STAND_IN_H
#define TESTS_FAULTS_STAND_IN_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

enum { STAND_IN_SMS = 132 };

/* Every call begins with this: it is counted, and fails if it is the one that shall.
 *
 * FAULT="call:nth:error"  the nth call of that name returns the error, a number. What destroys a
 *                         context on a real GPU (an illegal address, a launch that takes too long,
 *                         an uncorrectable ECC error) is returned by every later call, too.
 * FAULT_PROGRAM=NAME      only in the program of that name.
 * FAULT_LOG=FILE          gets a line "CALL NTH ADDRESS MS" for every place from which a call
 *                         comes: the number of that call when it first came from there, where that
 *                         is, and the time that the processor had then worked. With FAULT it gets
 *                         one line instead, when the fault happens, which begins with "fault: ". */
int stand_in_enter(const char *call, const void *from);

#define ENTER()                                                                                    \
    do {                                                                                           \
        const int error_ = stand_in_enter(__func__, __builtin_return_address(0));                  \
        if (error_)                                                                                \
            return (cudaError_t)error_;                                                            \
    } while (0)
#define ENTER_DRIVER()                                                                             \
    do {                                                                                           \
        const int error_ = stand_in_enter(__func__, __builtin_return_address(0));                  \
        if (error_)                                                                                \
            return (CUresult)error_;                                                               \
    } while (0)

struct stand_in_kernel {
    char name[128];
    size_t args_size;
};

/* The GPU's time in ns. It passes by what is done on the GPU, not by the host's clock. */
extern uint64_t stand_in_now_ns;

/* Does the kernel's work and lets its time pass. What no stand-in knows takes 2 us and does
 * nothing. */
void stand_in_run(const struct stand_in_kernel *kernel, const void *args);
/* if it is one of links.c */
void stand_in_links(const struct stand_in_kernel *kernel, const void *args);
/* one of peers.c */
void stand_in_peers(const struct stand_in_kernel *kernel, const void *args);
void stand_in_links_wait(void); /* for one of those that waits for other ranks */
/* One of nodes.c, which wait, too; and what fills vectors for them. */
bool stand_in_is_node(const char *name);
void stand_in_node(const char *name, const void *args);
void stand_in_fill(const struct stand_in_kernel *kernel, const void *args);
/* a barrier of all ranks */
struct team;
void stand_in_cross(const struct team *team);
void stand_in_wait(void); /* for what a kernel still does on its own */

/* For calls that may wait for the GPU: where a gate is closed, it opens by itself. */
void stand_in_wait_at_gate(void);

/* STAND_IN_SUBMIT_NS: a launch reaches the GPU so much later than what was queued before it, unless
 * all waits behind a gate. STAND_IN_GATE_NS: a gate is closed for so long. STAND_IN_LATE_GATE=n:
 * the nth opens by itself. STAND_IN_BLOCKING=1: each launch waits for its end. So does the one with
 * which more wait behind a gate than a stream holds. */
void stand_in_submit(void);

/* What is lost between this process and memory that it opened of another; see cudart.c. */
enum stand_in_loss { STAND_IN_NOTHING, STAND_IN_WRITES, STAND_IN_WORD, STAND_IN_LOADS };
enum stand_in_loss stand_in_loss(const void *memory);

/* The size of a kernel's arguments in a fatbin; -1 if it holds no such kernel. */
long stand_in_args_size(const void *fatbin, const char *kernel);

#endif
