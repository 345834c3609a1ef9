/* The kernels of decode attention, and the tensors of one shape of it. */
#ifndef FUSED_ATTENTION_DECODE_TENSORS_H
#define FUSED_ATTENTION_DECODE_TENSORS_H

#include "fused/attention_decode/args.h"
#include "fused/common/operation.h"

enum { DECODE_KV_HEADS = 64, DECODE_HEADS = ATTENTION_HEADS * DECODE_KV_HEADS }; /* at most */

/* Where the rows of a cache lie. */
enum decode_layout {
    DECODE_BY_HEAD,  /* [sequence][head][key][d] */
    DECODE_BY_TOKEN, /* [sequence][key][head][d] */
    DECODE_PAGES_16, /* [page][head][16][d], pages in random order */
    DECODE_PAGES_64,
};

struct decode_shape {
    int batch, context; /* keys attended to, the new one included */
    int heads, kv_heads, d;
    enum decode_number number; /* of the cache; all else is bf16 */
    enum decode_layout layout;
    int splits;       /* 0: chosen */
    double set_bytes; /* the least that an operation touches of a set, which says how many sets
                         there must be; 0: keys and values */
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
    size_t k_bytes, v_at;    /* of a set: keys, and where its values begin */
    struct pool cache;       /* one set: keys, values */
    struct pool wide;        /* the same as bf16, for dequantising; no memory unless asked for */
    void *q, *k_new, *v_new; /* of the new token, as projected */
    void *q_turned, *k_turned,
        *cast; /* intermediates; cast: keys and values as the cache has them */
    struct pool out;
    void *turn;
    float *scales; /* kv_heads for keys, kv_heads for values; NULL for bf16 */
    uint32_t *pages, *ticket;
    float *partial, *summary;
    void *parts;       /* what blocks exchange */
    uint32_t *aborted; /* one of them waited in vain */
    double *scores;    /* of verification */
    uint32_t *wrong_rows;
    uint32_t splits;
    bool exchanges; /* there are several blocks a KV head, and all can be resident at once */
};

extern const char *const decode_number_names[]; /* NULL behind the last */

/* All kernels of attention_decode.cu but those of gemv.h. */
struct decode_kernels decode_kernels_of(struct probe_run *r);

/* Inputs are functions of the seed. `wide`: room for the dequantised cache, too. */
struct decode_tensors decode_tensors_of(struct probe_run *r, const struct decode_kernels *kernels,
                                        struct decode_shape shape, bool wide, uint64_t seed);
void decode_tensors_free(struct probe_run *r, struct decode_tensors *t);

/* The cache of one set, as kernels take it. */
struct kv_cache decode_cache(const struct decode_tensors *t, size_t set);

int decode_number_bytes(const struct decode_shape *s);
bool decode_is_paged(const struct decode_shape *s);
size_t decode_room(const struct decode_shape *s); /* keys that a sequence has room for */
/* Bytes of keys and values of one set, as stored. */
double decode_kv_bytes(const struct decode_shape *s);

/* One of the kernels of rope.cuh over that many rows of each sequence. */
void decode_launch_rope(struct probe_run *r, const struct decode_tensors *t, cudaKernel_t kernel,
                        const struct rope_args *a, int rows);

#endif
