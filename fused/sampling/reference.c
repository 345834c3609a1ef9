#include "fused/sampling/reference.h"

#include <math.h>
#include <stdlib.h>

static float adjusted_logit(float x, bool seen, const struct sampling_rule *rule)
{
    x = seen ? x * (x > 0 ? rule->inverse_penalty : rule->penalty) : x;
    x = x * rule->inverse_temperature + 0.0f;
    return fminf(fmaxf(x, -INFINITY), 3.402823466e38f);
}

/* For qsort: a before b. */
static int compare_tokens(const void *a, const void *b)
{
    const struct sampling_token *x = (const struct sampling_token *)a;
    const struct sampling_token *y = (const struct sampling_token *)b;
    return x->logit != y->logit ? (x->logit < y->logit ? 1 : -1)
                                : (x->id > y->id) - (x->id < y->id);
}

/* Takes what is above the lowest of the k found so far. Sorts and cuts whenever it has 2 k. */
static uint32_t sort_highest(struct sampling_token *to, const float *logits, const uint32_t *seen,
                             uint32_t vocabulary, const struct sampling_rule *rule)
{
    const uint32_t k = rule->k && rule->k < vocabulary ? rule->k : vocabulary;
    uint32_t n = 0;
    bool is_full = false;

    for (uint32_t id = 0; id < vocabulary; id++) {
        float x = adjusted_logit(logits[id], seen[id / 32] >> id % 32 & 1, rule);
        if (is_full && x <= to[k - 1].logit)
            continue;
        to[n].logit = x;
        to[n++].id = id;
        if (n == 2 * k && k < vocabulary) {
            qsort(to, n, sizeof *to, compare_tokens);
            n = k;
            is_full = true;
        }
    }
    qsort(to, n, sizeof *to, compare_tokens);
    return n < k ? n : k;
}

struct sampling_reference sampling_reference_new(const float *logits, const uint32_t *seen,
                                                 uint32_t vocabulary,
                                                 const struct sampling_rule *rule)
{
    struct sampling_reference r = {0};
    const bool is_cut = rule->k > 0 && rule->k < vocabulary;
    const size_t room = is_cut ? 2 * (size_t)rule->k + 1 : (size_t)vocabulary + 1;
    r.sorted = (struct sampling_token *)malloc(room * sizeof *r.sorted);
    r.sums = (double *)malloc(room * sizeof *r.sums);
    if (!r.sorted || !r.sums)
        abort();
    r.n = sort_highest(r.sorted, logits, seen, vocabulary, rule);
    r.share = rule->share * 0x1p-32;

    double sum = 0, highest = (double)r.sorted[0].logit;
    for (uint32_t i = 0; i < r.n; i++)
        r.sums[i] = sum += isinf(r.sorted[i].logit) ? 0 : exp((double)r.sorted[i].logit - highest);
    while (r.kept + 1 < r.n && r.sums[r.kept] <= r.share * sum)
        r.kept++;
    r.kept++;
    return r;
}

void sampling_reference_free(struct sampling_reference *r)
{
    free(r->sorted);
    free(r->sums);
}

/* The number of tokens before it in the order; n if it is not among them. */
static uint32_t rank_of(const struct sampling_reference *r, uint32_t token)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->sorted[i].id == token)
            return i;
    return r->n;
}

uint32_t sampling_drawn(const struct sampling_reference *r, uint32_t uniform)
{
    const double drawn = uniform * 0x1p-32 * r->sums[r->kept - 1];
    uint32_t low = 0, high = r->kept - 1; /* finds the first token whose sum is above */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (r->sums[middle] > drawn)
            high = middle;
        else
            low = middle + 1;
    }
    return r->sums[r->n - 1] > 0 ? r->sorted[low].id : SAMPLING_NONE;
}

/* First the cut of top-p: it may have kept a few tokens more or fewer. The uniform number is a
 * share of what was kept. */
bool sampling_is_right(const struct sampling_reference *r, uint32_t token, uint32_t uniform)
{
    const double whole = r->sums[r->n - 1], off = SAMPLING_TOLERANCE * whole;
    const uint32_t rank = rank_of(r, token);

    if (token == sampling_drawn(r, uniform))
        return true;
    if (rank == r->n || whole <= 0)
        return false;
    uint32_t first = r->kept, last = r->kept; /* the least and the most that may be kept */
    while (first > 1 && r->sums[first - 2] > r->share * whole - off)
        first--;
    while (last < r->n && r->sums[last - 1] <= r->share * whole + off)
        last++;
    for (uint32_t kept = first; kept <= last; kept++) {
        const double drawn = uniform * 0x1p-32 * r->sums[kept - 1];
        if (rank < kept && r->sums[rank] > drawn - off &&
            (rank ? r->sums[rank - 1] : 0) <= drawn + off)
            return true;
    }
    return false;
}

struct sampling_judged sampling_judge(const struct sampling_reference *r, const uint32_t *tokens,
                                      const uint32_t *noise, size_t n)
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

double sampling_chi_square(const struct sampling_reference *r, const uint32_t *tokens, size_t n)
{
    const double freedom = r->kept - 1, v = 2 / (9 * freedom);
    double chi_square = 0, *seen = (double *)calloc(r->n, sizeof *seen);

    if (!seen)
        abort();
    for (size_t i = 0; i < n; i++) {
        const uint32_t rank = rank_of(r, tokens[i]);
        if (rank >= r->kept) {
            free(seen);
            return 0;
        }
        seen[rank]++;
    }
    for (uint32_t i = 0; i < r->kept; i++) {
        const double expected =
            (double)n * (r->sums[i] - (i ? r->sums[i - 1] : 0)) / r->sums[r->kept - 1];
        chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    free(seen);
    return 0.5 * erfc((cbrt(chi_square / freedom) - (1 - v)) / sqrt(2 * v));
}
