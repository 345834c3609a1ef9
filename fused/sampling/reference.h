/* What sampling must draw, in float64: sorts the row, sums its probabilities, and says whether a
 * token is the one that a uniform number selects. For C and C++ alike.
 *
 * By definition the logits after penalty and temperature are fp32, each step rounded once. All that
 * follows is double here. The kernels compute exp in fp32. Where the uniform number, or the border
 * of top-p, lies within SAMPLING_TOLERANCE of a border between two tokens, both tokens are
 * right. */
#ifndef FUSED_SAMPLING_REFERENCE_H
#define FUSED_SAMPLING_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "fused/sampling/args.h"

/* As a share of all probability. An fp32 exp and its argument have errors of 2^-21. */
#define SAMPLING_TOLERANCE 0x1p-19

struct sampling_token {
    float logit;
    uint32_t id;
};
struct sampling_reference {
    struct sampling_token *sorted; /* highest logit first; of equal ones the lower id first */
    double *sums;                  /* of probability, up to and with each token; not normalised */
    uint32_t n, kept;              /* tokens kept by top-k; of these, tokens kept by top-p */
    double share;
};

/* For one row; `seen` has one bit per token that has occurred. Ends the program if memory runs
 * out. */
struct sampling_reference sampling_reference_new(const float *logits, const uint32_t *seen,
                                                 uint32_t vocabulary,
                                                 const struct sampling_rule *rule);
void sampling_reference_free(struct sampling_reference *r);

/* The token that a uniform number draws. */
uint32_t sampling_drawn(const struct sampling_reference *r, uint32_t uniform);

/* Is this token right, if borders may be off by the tolerance? */
bool sampling_is_right(const struct sampling_reference *r, uint32_t token, uint32_t uniform);

/* Of n draws from one row: how many are wrong, and how many differ from float64's within
 * rounding. */
struct sampling_judged {
    size_t wrong, border;
};
struct sampling_judged sampling_judge(const struct sampling_reference *r, const uint32_t *tokens,
                                      const uint32_t *noise, size_t n);

/* The probability that n right draws from one row have a chi-square as large as these or larger; 0
 * if a token without probability was drawn. By Wilson and Hilferty the cube root of chi-square is
 * nearly normal: from five degrees of freedom on, the result is within a few per cent of itself. */
double sampling_chi_square(const struct sampling_reference *r, const uint32_t *tokens, size_t n);

#endif
