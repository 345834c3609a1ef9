#include "links/all_reduce/judge.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/half.h"
#include "links/all_reduce/rounding.h"

static double element(bool is_bf16, const char *from, size_t i)
{
    return is_bf16 ? half_bf16(((const uint16_t *)(const void *)from)[i])
                   : (double)((const float *)(const void *)from)[i];
}

/* Element i of the piece of one rank's result. `owner` is the rank whose vector was gathered
 * here. */
static void judge_element(const struct judged *j, int out, int owner, size_t i, struct judgement *v)
{
    const double unit = j->is_bf16 ? HALF_BF16_UNIT : 0x1p-24;
    double sum = 0, whole = 0;

    for (int rank = 0; rank < j->ranks; rank++)
        if (!j->gathers || rank == owner) {
            const double x = j->scale * element(j->is_bf16, j->host[rank], i);
            sum += x;
            whole += fabs(x);
        }
    const double bound = j->gathers ? 0 : rounding_cost(unit, j->ranks, j->once, sum, whole);
    const double off = fabs(element(j->is_bf16, j->host[j->ranks + out], i) - sum);
    const double share = off == 0 ? 0 : off / bound;
    if (isnan(share) || share > v->error)
        v->error = share; /* NaN stays */
}

/* Elements at `at` of the results, all within one rank's part of a gather. */
static void judge_piece(const struct judged *j, size_t at, size_t bytes, struct judgement *v)
{
    const size_t size = j->is_bf16 ? 2 : 4, n = bytes / size;

    for (int rank = 0; rank < j->ranks; rank++)
        j->read(j->of, rank, true, at, bytes, j->host[j->ranks + rank]);
    for (int out = 0; out < (j->is_part ? j->ranks : 1); out++) {
        const size_t in = j->gathers   ? at % j->bytes
                          : j->is_part ? (size_t)out * j->bytes + at
                                       : at;
        for (int rank = 0; rank < j->ranks; rank++)
            j->read(j->of, rank, false, in, bytes, j->host[rank]);
        for (size_t i = 0; i < n; i++)
            judge_element(j, out, (int)(at / j->bytes), i, v);
    }
    for (int rank = 1; rank < j->ranks && !j->is_part; rank++)
        for (size_t i = 0; i < n; i++)
            v->differ += memcmp(j->host[j->ranks] + i * size, j->host[j->ranks + rank] + i * size,
                                size) != 0;
}

/* Where piece k begins; the last one ends with the vector, and may repeat some of the one
 * before. */
static size_t place(const struct judged *j, size_t k, size_t last)
{
    const size_t at = j->whole || k == 0 ? k * j->piece : k == 1 ? last / 2 / 16 * 16 : last;
    return at < last ? at : last;
}

struct judgement judge_result(const struct judged *j)
{
    const int parts = j->gathers ? j->ranks : 1;
    const size_t piece = j->bytes < j->piece ? j->bytes : j->piece, last = j->bytes - piece;
    const size_t pieces = j->whole ? (j->bytes + piece - 1) / piece : last > 0 ? 3 : 1;
    struct judgement v = {0, 0};

    for (int part = 0; part < parts; part++)
        for (size_t k = 0; k < pieces && judge_is_right(v); k++)
            judge_piece(j, (size_t)part * j->bytes + place(j, k, last), piece, &v);
    return v;
}

bool judge_is_right(struct judgement v)
{
    return v.error <= 1 && v.differ == 0;
}
