/* What a rank does when rank 0 asks. Rank 0 does its own part by the same function, so that all
 * ranks run the same code. */
#ifndef LINKS_COMMON_HAND_H
#define LINKS_COMMON_HAND_H

#include "core/gpu.h"
#include "core/nccl.h"

enum order_kind {
    ORDER_HELLO,      /* answer: address of the word `late` */
    ORDER_ALLOCATE,   /* bytes; answer: address, handle */
    ORDER_ALLOCATE_OWN, /* bytes; answer: address */
    ORDER_OPEN,       /* handle, of another rank; answer: address in this one */
    ORDER_MAPPED,     /* bytes; answer: address */
    ORDER_SHARE,      /* image: shared memory of the host as a file, bytes; answer: address, or 0 */
    ORDER_KERNEL,     /* image, kernel, bytes of arguments; answer: number 1 if there is code */
    ORDER_SHARED,     /* index of the kernel, bytes, from: the carve-out */
    ORDER_LAUNCH,     /* index, shape; the arguments follow */
    ORDER_FILL,       /* at, from: the byte, bytes */
    ORDER_NORMAL,     /* at, from: the type, bytes: elements, seed */
    ORDER_WRITE,      /* at, bytes; the bytes follow */
    ORDER_READ,       /* from, bytes; answered by the bytes, too */
    ORDER_COPY,       /* at, from, bytes */
    ORDER_SWEEP,
    ORDER_SIDES,      /* at, from: bytes there; answered by a struct sides, too, of this rank's
                       * pointers */
    ORDER_HOLD,
    ORDER_GO,
    ORDER_START,
    ORDER_STOP,
    ORDER_ELAPSED,    /* answer: ns */
    ORDER_CLOCK_START,
    ORDER_CLOCK_END,
    ORDER_CLOCK_READ, /* answer: MHz */
    ORDER_CAPTURE,
    ORDER_CAPTURED,   /* index of the graph; answered when it has been replayed once */
    ORDER_REPLAY,     /* index */
    ORDER_FREE,       /* index */
    ORDER_NODE,       /* index; answered by the struct gpu_node of its first kernel, too */
    ORDER_WAIT,       /* answer: number 0 well, 1 a stream is not empty in time, 2 late */
    ORDER_NCCL_OPEN,  /* answer: number 1 if the library is there */
    ORDER_NCCL_ID,    /* answer: number 1 if it starts; an id, too, of a meeting that this process
                       * opens */
    ORDER_NCCL_JOIN,  /* bytes: ranks; the id follows; answered when all have, number 1, or when
                       * this one is refused, 0. Then another order must come soon */
    ORDER_NCCL_VERSION, /* answered by text, too */
    ORDER_NCCL_WINDOW, /* bytes; answer: address, 0 where the library has none; all at once */
    ORDER_NCCL,       /* a struct nccl_call follows */
    ORDER_LEAVE,
};

struct order {
    uint32_t kind, index, rank; /* rank: to whom it goes, where all are asked */
    uint64_t at, from, bytes, seed;
    struct gpu_shape shape;
    char image[48], kernel[64];
    cudaIpcMemHandle_t memory;
};

struct answer {
    uint64_t address;
    double number;
    cudaIpcMemHandle_t memory;
};

enum { HAND_KERNELS = 64, HAND_GRAPHS = 16, HAND_DATA = 1 << 20 /* bytes, with one order */ };
enum { HAND_WELL, HAND_STUCK, HAND_LATE };

struct hand {
    struct probe_run *r;
    cudaKernel_t kernel[HAND_KERNELS];
    struct gpu_graph graph[HAND_GRAPHS];
    struct nccl *nccl; /* NULL: not opened, or not to be had */
    bool is_refused;   /* by the last order, to join the others in NCCL */
    uint32_t *late; /* mapped: kernels say here that a wait took too long */
};

struct hand hand_open(struct probe_run *r);
bool hand_answers(enum order_kind kind); /* is an answer expected? */
bool hand_reads(enum order_kind kind);   /* do `bytes` of data come with it? */

/* Does what is asked. `data` is what follows the order; what is read is put there. A call of CUDA
 * that fails ends this process; memory that cannot be shared skips it. */
void hand_do(struct hand *h, const struct order *order, void *data, struct answer *answer);

/* Does what comes through the socket until rank 0 asks to leave, or ends. */
void hand_serve(struct probe_run *r, int socket);

#endif
