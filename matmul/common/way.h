/* The ways to compute a product that probes compare: our kernels, cuBLAS, cuBLASLt.
 *
 * A way is a kernel and its launch for one product. way_list() makes all ways that this GPU has for
 * a product; ways_fastest() finds the best of a list by a short search. The search keeps nothing
 * but the winner, which the probe then measures anew. cuBLASLt's best and our best are found
 * alike. */
#ifndef MATMUL_COMMON_WAY_H
#define MATMUL_COMMON_WAY_H

#include "core/blas.h"
#include "core/gpu.h"
#include "matmul/common/mma_gemm.h"
#include "matmul/common/product.h"
#include "matmul/common/wgmma_gemm.h"

/* Parts of a wgmma kernel, each with the whole kernel's grid, registers and shared memory: the
 * whole; an immediate return; the copies and their barriers without products; products of whatever
 * is in shared memory, without copies; the whole, in which each block records where it ran and
 * when. Not every tile has the last three. */
enum way_part { WAY_WHOLE, WAY_EMPTY, WAY_LOADS, WAY_PRODUCTS, WAY_WATCHED };

/* WAY_STREAM: the stream-K kernels of wgmma_stream.cu, which tables call "wgmma", too. */
enum way_impl { WAY_CUBLAS, WAY_CUBLASLT, WAY_MMA, WAY_WGMMA, WAY_STREAM };
extern const char *const way_names[]; /* "cublas", "cublaslt", "mma", "wgmma" */

/* What all ways of a process share. */
struct ways {
    struct blas *blas; /* NULL: see no_blas */
    char no_blas[256];
    void *workspace;   /* 32 MiB for cuBLAS */
    uint32_t *census;  /* one counter per SM */
    struct wgmma_gemm_watch *watch; /* one for each of WAY_BLOCKS blocks */
};
enum { WAY_BLOCKS = 4096 };
struct ways ways_open(struct probe_run *r);

struct way {
    enum way_impl impl;
    enum blas_accumulate accumulate; /* cuBLAS and cuBLASLt only; ours add in fp32 */
    const struct mma_gemm_tile *mma;
    const struct wgmma_gemm_tile *wgmma;
    int choice;          /* number of cuBLASLt's plan: 0 is its first guess */
    enum way_part part;  /* of a wgmma kernel; the libraries' and mma's are always whole */
    unsigned blocks;     /* of a persistent or stream-K kernel; 0: as many as the GPU holds */
    unsigned tiles;      /* of a persistent kernel: only the first of C's tiles; 0: all */
    unsigned shared;     /* least bytes of shared memory, so that fewer blocks fit an SM */
    bool dependent;      /* programmatic dependent launch; wgmma only */
    /* private */
    cudaKernel_t kernel;
    struct blas_plan *plan;
    unsigned char *maps; /* device memory: three tensor maps for each set */
    char *partials;      /* device memory: what a stream-K kernel's blocks leave each other */
};

/* Name of the kernel in tables: "128x64", "auto" for a library. */
const char *way_tile(const struct way *w);
unsigned way_split(const struct way *w); /* blocks that share a tile of C; 0: unknown (library) */

/* Makes a way ready for a product. False where it cannot compute it: another architecture, too
 * little shared memory, or a shape or an alignment that it does not accept. */
bool way_open(struct probe_run *r, const struct ways *ways, const struct product *p, struct way *w);
void way_close(struct probe_run *r, struct way *w);

/* C = A x B of one set, on the run's stream. */
void way_multiply(struct probe_run *r, const struct ways *ways, const struct product *p,
                  const struct way *w, size_t set);

/* Tensor maps of a wgmma way, in device memory: A, B and C of each set in turn. NULL for others. */
const void *way_maps(const struct way *w);

/* How a way's blocks are distributed to SMs, by %smid. False for a library's, and for those of our
 * kernels that have no watched twin. */
struct way_census {
    unsigned blocks, busiest, idle; /* all blocks; most blocks on an SM; SMs without a block */
};
bool way_count(struct probe_run *r, const struct ways *ways, const struct product *p,
               const struct way *w, struct way_census *census);

/* Records registers per thread, shared memory and blocks that fit one SM as facts of the case; for
 * our kernels only. Returns the blocks. */
unsigned way_facts(struct probe_run *r, const struct way *w);

/* A graph of n products, which rotates over `sets` sets. */
struct gpu_graph way_graph(struct probe_run *r, const struct ways *ways, const struct product *p,
                           const struct way *w, size_t n, size_t sets);

/* Writes all ready ways of a kind for a product into ways[0..max): every tile for WAY_MMA,
 * WAY_WGMMA and WAY_STREAM, every choice for WAY_CUBLASLT. Returns their number; each must be
 * closed. */
size_t way_list(struct probe_run *r, const struct ways *ways, const struct product *p,
                enum way_impl impl, enum blas_accumulate accumulate, struct way *list, size_t max);

/* Products in the shorter of two graphs: `us` microseconds' worth if a GPU did 600 Tflop/s, at most
 * 20; whole turns through the sets. The longer graph has twice as many. */
size_t way_products(const struct probe_run *r, const struct product *p, size_t sets, double us);
enum { WAY_SAMPLED_US = 400 }; /* enough for samples */

/* ns of one product: the slope over two short graphs, each the least of three replays. */
double way_quick_ns(struct probe_run *r, const struct ways *ways, const struct product *p,
                    const struct way *w, size_t sets);

/* Index of the fastest. Each is looked at shortly; those within a tenth of the fastest are then
 * replayed in turn, and the least slope of medians wins. Results are not verified here. */
size_t ways_fastest(struct probe_run *r, const struct ways *ways, const struct product *p,
                    const struct way *list, size_t n, size_t sets);

#endif
