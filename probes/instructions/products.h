/* What a product of tensor cores must give: random operands, the words in which threads hold them
 * (or the image in shared memory), and the sum that comes out. Host only.
 *
 * A warp's fragments (PTX, "Matrix Fragments for mma"): lane = 4g + t; a register holds e neighbours
 * along k, of 4 bytes together (fp64: one of 8). Register j of A: row g + 8 (j % 2), k from
 * e t + 4e (j / 2) on; of B: column g, k from e t + 4e j on; element i of the sum: row
 * g + 8 (i / 2 % 2), column 2t + i % 2 + 8 (i / 4). wgmma: warp w has rows 16w and on, as above. */
#ifndef PROBES_INSTRUCTIONS_PRODUCTS_H
#define PROBES_INSTRUCTIONS_PRODUCTS_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/instructions/models.h"

enum number { FP16, BF16, TF32, E4M3, INT8, FP64, FP32, INT32 };
struct number_facts {
    const char *name;
    int bytes;
    struct float_format format; /* of a float of at most 4 bytes */
    double unit;                /* what a sum may lose with each product that is added, relative */
};
extern const struct number_facts number_facts[];

struct product {
    int m, n, k;
    enum number type, sum_type;
    uint64_t *a, *b, *first;  /* codes, row-major; first: what the sum begins with */
    double *sum, *magnitude;  /* A B, and |A| |B| + |first| */
};

/* Operands from N(0,1); the sum begins with N(0,1), or with zeros. NULLs where memory is short. */
struct product product_of(int m, int n, int k, enum number type, enum number sum_type, bool zero,
                          uint64_t *random);

bool product_made(const struct product *p);
void product_free(struct product *p);

/* --- how threads hold it --------------------------------------------------------------------- */

/* Words of A, B, -B and the first sum, 32 lanes of each: what mma_chain loads. Returns their end. */
uint64_t *product_words(const struct product *p, uint64_t *in);

/* Shared memory as wgmma_chain wants it. */
void product_image(const struct product *p, uint64_t *in);

/* Largest error of a chain's sums, relative to |A| |B| + |first|, where the product was added `times`
 * over: out has the words of all threads, [word][thread]. A wrong integer is an infinite error. */
double product_error(const struct product *p, const uint32_t *out, int threads, double times);

#endif
