/* NCCL, the usual way to reduce over GPUs, as a plugin. build/bin/nccl.so is opened with dlopen,
 * and itself looks for the library, in this order: the file that GPUFLOOR_NCCL names; libnccl.so.2
 * where the loader finds it; /usr/local/cuda/lib64; the newest among the Python packages of
 * $VIRTUAL_ENV, of ~/.local and of the system (nvidia/nccl/lib, as PyTorch's wheels install it). It
 * is not needed to build, and its header is not used.
 *
 * One process is one rank. NVLink multicast is switched off (NCCL_NVLS_ENABLE=0): it is not there
 * for everybody, and our own kernels do without. All calls are asynchronous and can be captured. */
#ifndef GPUFLOOR_NCCL_H
#define GPUFLOOR_NCCL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/probe.h"

enum { NCCL_ID_BYTES = 128 };
enum nccl_op { NCCL_ALL_REDUCE, NCCL_ALL_GATHER, NCCL_REDUCE_SCATTER };
enum nccl_type { NCCL_FP32, NCCL_BF16 };

/* Elements of `count`: of the whole vector of an all-reduce, of what each rank sends to an
 * all-gather, of what each rank gets from a reduce-scatter. Sums. */
struct nccl_call {
    enum nccl_op op;
    enum nccl_type type;
    size_t count;
    const void *from;
    void *to;
    void *stream; /* a cudaStream_t */
};

struct nccl; /* an open plugin, and this rank's communicator */

/* NULL, with one line in why, if the plugin or the library is not to be had. */
struct nccl *nccl_open(struct probe_run *r, char *why, size_t size);
const char *nccl_version(const struct nccl *nccl); /* "2.28.9" */

/* Rank 0 draws an id, and all ranks join with it at once; who joins waits for the others. False
 * where the library refuses; the run says then in one line what is lost, and why. */
bool nccl_draw_id(struct probe_run *r, const struct nccl *nccl, unsigned char id[NCCL_ID_BYTES]);
bool nccl_join(struct probe_run *r, const struct nccl *nccl, const unsigned char id[NCCL_ID_BYTES],
               int ranks, int rank);
void nccl_enqueue(struct probe_run *r, const struct nccl *nccl, const struct nccl_call *call);
void nccl_leave(const struct nccl *nccl);

/* Memory of the library's own, registered with this rank's communicator as symmetric: all ranks ask
 * at once, for as much. It lives until the process ends. NULL where the library (before 2.27), or
 * the way between these GPUs, has none. */
void *nccl_window(const struct nccl *nccl, size_t bytes);

/* What the plugin exports. open returns false with the reason; the others 0 or a ncclResult_t. */
struct nccl_plugin {
    bool (*open)(char *why, size_t size);
    int (*draw_id)(unsigned char id[NCCL_ID_BYTES]);
    int (*join)(const unsigned char id[NCCL_ID_BYTES], int ranks, int rank);
    int (*enqueue)(const struct nccl_call *call);
    void (*leave)(void);
    void *(*window)(size_t bytes);
    const char *(*version)(void);
    const char *(*says)(int status);
};
#define NCCL_PLUGIN_SYMBOL "gpufloor_nccl"

#endif
