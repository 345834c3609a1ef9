/* The kernels of decode attention, and the tensors of one shape. */
#ifndef FUSED_ATTENTION_DECODE_TENSORS_H
#define FUSED_ATTENTION_DECODE_TENSORS_H

#include "fused/attention_decode/args.h"
#include "fused/common/operation.h"

enum { DECODE_KV_HEADS = 64, DECODE_HEADS = ATTENTION_HEADS * DECODE_KV_HEADS }; /* at most */

/* How the rows of a cache are laid out. */
enum decode_layout {
    DECODE_BY_HEAD,  /* [sequence][head][key][d] */
    DECODE_BY_TOKEN, /* [sequence][key][head][d] */
    DECODE_PAGES_16, /* [page][head][16][d], pages in random order */
    DECODE_PAGES_64,
};

struct decode_shape {
    int batch, context; /* keys attended to, the new one included */
    int heads, kv_heads, d;
    enum decode_number number; /* the cache's numbers; all else is bf16 */
    enum decode_layout layout;
    int splits;       /* 0: chosen */
    double set_bytes; /* the fewest bytes of a set that an operation touches; decides how many sets
                         there are; 0: keys and values */
};

struct decode_kernels {
    cudaKernel_t attend[2][N_DECODE_NUMBERS]; /* [paged] */
    cudaKernel_t attend_d64, naive, merge;
    cudaKernel_t rope, append[N_DECODE_NUMBERS], append_unclamped[N_DECODE_NUMBERS];
    cudaKernel_t rope_append[N_DECODE_NUMBERS], store, dequantise[N_DECODE_NUMBERS], read;
    cudaKernel_t verify, verify_row;
};

struct decode_tensors {
    const struct decode_kernels *kernels;
    struct decode_shape shape;
    size_t k_bytes, v_at;    /* of a set: bytes of keys, and offset of its values */
    struct pool cache;       /* one buffer per set: keys, values */
    struct pool wide;        /* the same as bf16, for dequantising; allocated only if asked for */
    void *q, *k_new, *v_new; /* of the new token, as projected */
    void *q_turned, *k_turned,
        *cast; /* intermediates; cast: keys and values in the cache's numbers */
    struct pool out;
    void *turn;
    float *scales; /* kv_heads for keys, then kv_heads for values; NULL for bf16 */
    uint32_t *pages, *ticket;
    float *partial, *summary;
    void *parts;       /* what blocks exchange */
    uint32_t *aborted; /* set if one of them waited beyond the budget */
    double *scores;    /* for verification */
    uint32_t *wrong_rows;
    uint32_t splits;
    bool exchanges; /* a KV head has several blocks, and all blocks can be resident at once */
};

extern const char *const decode_number_names[]; /* NULL after the last */

/* All kernels of attention_decode.cu except those of gemv.h. */
struct decode_kernels decode_kernels_of(struct probe_run *r);

/* Inputs are functions of the seed. `wide`: allocates the buffer for the dequantised cache, too. */
struct decode_tensors decode_tensors_of(struct probe_run *r, const struct decode_kernels *kernels,
                                        struct decode_shape shape, bool wide, uint64_t seed);
void decode_tensors_free(struct probe_run *r, struct decode_tensors *t);

/* The cache of one set, as kernel arguments. */
struct kv_cache decode_cache(const struct decode_tensors *t, size_t set);

int decode_number_bytes(const struct decode_shape *s);
bool decode_is_paged(const struct decode_shape *s);
size_t decode_room(const struct decode_shape *s); /* keys that fit in a sequence */
/* Bytes of keys and values of one set, as stored. */
double decode_kv_bytes(const struct decode_shape *s);

/* Launches one of the kernels of rope.cuh over this many rows of each sequence. */
void decode_launch_rope(struct probe_run *r, const struct decode_tensors *t, cudaKernel_t kernel,
                        const struct rope_args *a, int rows);

#endif
