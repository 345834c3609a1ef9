/* What sampling must draw, in float64: the row sorted, its probabilities summed, and whether a token
 * is the one that a uniform number stands for. Plain C (and C++), for the probe and its tests.
 *
 * Logits behind penalty and temperature are fp32 by definition, each step rounded once; all that
 * follows is double here. Kernels compute exp in fp32: where the uniform number, or the border of
 * top-p, lies within SAMPLING_TOLERANCE of a border between tokens, either of the two is right. */
#ifndef FUSED_SAMPLING_REFERENCE_H
#define FUSED_SAMPLING_REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fused/sampling/args.h"

#define SAMPLING_TOLERANCE 0x1p-19 /* of all probability; an fp32 exp and its argument err by 2^-21 */

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

static inline float sampling_adjusted(float x, bool seen, const struct sampling_rule *rule)
{
    x = seen ? x * (x > 0 ? rule->inverse_penalty : rule->penalty) : x;
    x = x * rule->inverse_temperature + 0.0f;
    return fminf(fmaxf(x, -INFINITY), 3.402823466e38f);
}

/* For qsort: a before b. */
static int sampling_order(const void *a, const void *b)
{
    const struct sampling_token *x = (const struct sampling_token *)a;
    const struct sampling_token *y = (const struct sampling_token *)b;
    return x->logit != y->logit ? (x->logit < y->logit ? 1 : -1)
                                : (x->id > y->id) - (x->id < y->id);
}

/* Takes what is above the lowest of the k found so far; sorts and cuts whenever 2 k are there. */
static inline uint32_t sampling_sorted(struct sampling_token *to, const float *logits,
                                       const uint32_t *seen, uint32_t vocabulary,
                                       const struct sampling_rule *rule)
{
    const uint32_t k = rule->k && rule->k < vocabulary ? rule->k : vocabulary;
    uint32_t n = 0;
    bool is_full = false;

    for (uint32_t id = 0; id < vocabulary; id++) {
        float x = sampling_adjusted(logits[id], seen[id / 32] >> id % 32 & 1, rule);
        if (is_full && x <= to[k - 1].logit)
            continue;
        to[n].logit = x;
        to[n++].id = id;
        if (n == 2 * k && k < vocabulary) {
            qsort(to, n, sizeof *to, sampling_order);
            n = k;
            is_full = true;
        }
    }
    qsort(to, n, sizeof *to, sampling_order);
    return n < k ? n : k;
}

static inline struct sampling_reference sampling_reference_new(const float *logits,
                                                               const uint32_t *seen,
                                                               uint32_t vocabulary,
                                                               const struct sampling_rule *rule)
{
    struct sampling_reference r = {};
    const bool is_cut = rule->k > 0 && rule->k < vocabulary;
    const size_t room = is_cut ? 2 * (size_t)rule->k + 1 : (size_t)vocabulary + 1;
    r.sorted = (struct sampling_token *)malloc(room * sizeof *r.sorted);
    r.sums = (double *)malloc(room * sizeof *r.sums);
    if (!r.sorted || !r.sums)
        abort();
    r.n = sampling_sorted(r.sorted, logits, seen, vocabulary, rule);
    r.share = rule->share * 0x1p-32;

    double sum = 0, highest = (double)r.sorted[0].logit;
    for (uint32_t i = 0; i < r.n; i++)
        r.sums[i] = sum += isinf(r.sorted[i].logit) ? 0 : exp((double)r.sorted[i].logit - highest);
    while (r.kept + 1 < r.n && r.sums[r.kept] <= r.share * sum)
        r.kept++;
    r.kept++;
    return r;
}

static inline void sampling_reference_free(struct sampling_reference *r)
{
    free(r->sorted);
    free(r->sums);
}

/* Where a token stands in the order; n: nowhere. */
static inline uint32_t sampling_place(const struct sampling_reference *r, uint32_t token)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->sorted[i].id == token)
            return i;
    return r->n;
}

/* The token that a uniform number draws. */
static inline uint32_t sampling_drawn(const struct sampling_reference *r, uint32_t uniform)
{
    const double drawn = uniform * 0x1p-32 * r->sums[r->kept - 1];
    uint32_t low = 0, high = r->kept - 1; /* the first whose sum is above */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (r->sums[middle] > drawn)
            high = middle;
        else
            low = middle + 1;
    }
    return r->sums[r->n - 1] > 0 ? r->sorted[low].id : SAMPLING_NONE;
}

/* Is a token right, when borders may lie off by the tolerance? The cut of top-p first: it may have
 * kept a few more or less, and the uniform number is a share of what is kept. */
static inline bool sampling_is_right(const struct sampling_reference *r, uint32_t token,
                                     uint32_t uniform)
{
    const double whole = r->sums[r->n - 1], off = SAMPLING_TOLERANCE * whole;
    const uint32_t at = sampling_place(r, token);

    if (token == sampling_drawn(r, uniform))
        return true;
    if (at == r->n || whole <= 0)
        return false;
    uint32_t first = r->kept, last = r->kept; /* how many may be kept */
    while (first > 1 && r->sums[first - 2] > r->share * whole - off)
        first--;
    while (last < r->n && r->sums[last - 1] <= r->share * whole + off)
        last++;
    for (uint32_t kept = first; kept <= last; kept++) {
        const double drawn = uniform * 0x1p-32 * r->sums[kept - 1];
        if (at < kept && r->sums[at] > drawn - off && (at ? r->sums[at - 1] : 0) <= drawn + off)
            return true;
    }
    return false;
}

/* Of n draws from one row: how many are wrong, how many not float64's but within rounding of it. */
struct sampling_judged {
    size_t wrong, border;
};
static inline struct sampling_judged sampling_judge(const struct sampling_reference *r,
                                                    const uint32_t *tokens, const uint32_t *noise,
                                                    size_t n)
{
    struct sampling_judged j = {0, 0};
    for (size_t i = 0; i < n; i++)
        if (tokens[i] != sampling_drawn(r, noise[i])) {
            const bool is_excused = sampling_is_right(r, tokens[i], noise[i]);
            j.border += is_excused;
            j.wrong += !is_excused;
        }
    return j;
}

/* Probability of a chi-square as large as that of n draws from one row, or larger; 0 where a token was
 * drawn that has no probability. After Wilson and Hilferty the cube root of chi-square is nearly
 * normal: right within a few per cent of itself from five degrees of freedom on. */
static inline double sampling_chi_square(const struct sampling_reference *r, const uint32_t *tokens,
                                         size_t n)
{
    const double freedom = r->kept - 1, v = 2 / (9 * freedom);
    double chi_square = 0, *seen = (double *)calloc(r->n, sizeof *seen);

    if (!seen)
        abort();
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = sampling_place(r, tokens[i]);
        if (at >= r->kept) {
            free(seen);
            return 0;
        }
        seen[at]++;
    }
    for (uint32_t i = 0; i < r->kept; i++) {
        const double expected =
            (double)n * (r->sums[i] - (i ? r->sums[i - 1] : 0)) / r->sums[r->kept - 1];
        chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    free(seen);
    return 0.5 * erfc((cbrt(chi_square / freedom) - (1 - v)) / sqrt(2 * v));
}

#endif
