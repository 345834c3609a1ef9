/* What sampling must draw, in float64: the row sorted, its probabilities summed, and whether a
 * token is the one that a uniform number stands for. For C and C++ alike.
 *
 * Logits behind penalty and temperature are fp32 by definition, each step rounded once; all that
 * follows is double here. Kernels compute exp in fp32: where the uniform number, or the border of
 * top-p, lies within SAMPLING_TOLERANCE of a border between tokens, either of the two is right. */
#ifndef FUSED_SAMPLING_REFERENCE_H
#define FUSED_SAMPLING_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "fused/sampling/args.h"

/* Of all probability; an fp32 exp and its argument err by 2^-21. */
#define SAMPLING_TOLERANCE 0x1p-19

struct sampling_token {
    float logit;
    uint32_t id;
};
struct sampling_reference {
    struct sampling_token *sorted; /* highest first, of equal ones the lower id first */
    double *sums;                  /* of probability, up to and with each; not normalised */
    uint32_t n, kept;              /* by top-k; of these by top-p */
    double share;
};

/* Of one row; `seen` has a bit a token that has occurred. Ends the program without memory. */
struct sampling_reference sampling_reference_new(const float *logits, const uint32_t *seen,
                                                 uint32_t vocabulary,
                                                 const struct sampling_rule *rule);
void sampling_reference_free(struct sampling_reference *r);

/* The token that a uniform number draws. */
uint32_t sampling_drawn(const struct sampling_reference *r, uint32_t uniform);

/* Is a token right, when borders may lie off by the tolerance? */
bool sampling_is_right(const struct sampling_reference *r, uint32_t token, uint32_t uniform);

/* Of n draws from one row: how many are wrong, how many not float64's but within rounding of it. */
struct sampling_judged {
    size_t wrong, border;
};
struct sampling_judged sampling_judge(const struct sampling_reference *r, const uint32_t *tokens,
                                      const uint32_t *noise, size_t n);

/* Probability of a chi-square as large as that of n draws from one row, or larger; 0 where a token
 * was drawn that has no probability. After Wilson and Hilferty the cube root of chi-square is
 * nearly normal: right within a few per cent of itself from five degrees of freedom on. */
double sampling_chi_square(const struct sampling_reference *r, const uint32_t *tokens, size_t n);

#endif
