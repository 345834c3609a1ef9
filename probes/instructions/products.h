/* The reference for tensor core products: random operands; the words in which threads hold them (or
 * their image in shared memory); and the resulting sum. Host only.
 *
 * A warp's fragments (PTX, "Matrix Fragments for mma"): lane = 4g + t. A register holds e
 * neighbours along k, 4 bytes together (fp64: one of 8 bytes). Register j of A: row g + 8 (j % 2),
 * k from e t + 4e (j / 2) on. Register j of B: column g, k from e t + 4e j on. Element i of the
 * sum: row g + 8 (i / 2 % 2), column 2t + i % 2 + 8 (i / 4). wgmma: warp w has rows from 16w on, in
 * the same way. */
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
    double unit;                /* relative error that each added product may cause */
};
extern const struct number_facts number_facts[];

struct product {
    int m, n, k;
    enum number type, sum_type;
    uint64_t *a, *b, *first;  /* codes, row-major; first: initial value of the sum */
    double *sum, *magnitude;  /* A B, and |A| |B| + |first| */
};

/* Draws the operands from N(0,1); the sum begins with N(0,1) or with zeros. NULLs if memory is
 * short. */
struct product product_of(int m, int n, int k, enum number type, enum number sum_type, bool zero,
                          uint64_t *random);

bool product_made(const struct product *p);
void product_free(struct product *p);

/* --- how threads hold it --------------------------------------------------------------------- */

/* The words of A, B, -B and the initial sum, 32 lanes each, as mma_chain loads them. Returns their
 * end. */
uint64_t *product_words(const struct product *p, uint64_t *in);

/* The image of shared memory that wgmma_chain needs. */
void product_image(const struct product *p, uint64_t *in);

/* The largest error of a chain's sums, relative to |A| |B| + |first|, after the product was added
 * `times` times. out has the words of all threads, [word][thread]. A wrong integer is an infinite
 * error. */
double product_error(const struct product *p, const uint32_t *out, int threads, double times);

#endif
