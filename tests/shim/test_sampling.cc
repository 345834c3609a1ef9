// faults: thread lane barrier
//
// Sampling with one block per row: the token against float64, on rows whose high logits are
// adjacent, on rows of equal logits, masked rows and infinite ones.
#include "tests/shim/shim.h"

#include "fused/sampling/reference.c"
#include "fused/sampling/sampling.cu"

namespace sampling {
thread_local float4 held[1]; // only a cluster keeps its row
}

enum kind { NORMAL, TOGETHER, EQUAL, MASKED, ALL_MASKED, INFINITE };

// The logits of a row. Its high ones are adjacent if a part of it holds more than 1024 of them.
static float logit(enum kind kind, unsigned id, unsigned vocabulary)
{
    const float x = (float)(2 * shim_normal());
    switch (kind) {
    case NORMAL: return x;
    case TOGETHER: return id < 1500 ? x + 30 : x;
    case EQUAL: return -1.5f;
    case INFINITE: return id % 97 == 96 ? INFINITY : x;
    default: return kind == MASKED && id == vocabulary / 2 ? -2 : id % 3 ? -INFINITY : NAN;
    }
}

static void draw(unsigned vocabulary, uint32_t k, double share, enum kind kind)
{
    const float penalty = 1.2f, temperature = 0.7f;
    const size_t stride = (vocabulary + 3) / 4 * 4, words = (vocabulary + 31) / 32;
    float *logits = (float *)shim_alloc(stride * sizeof *logits);
    uint32_t *seen = (uint32_t *)shim_alloc(words * sizeof *seen);
    uint32_t *noise = (uint32_t *)shim_alloc(sizeof *noise);
    uint32_t *token = (uint32_t *)shim_alloc(sizeof *token);
    struct sampling_args a = {};

    for (unsigned i = 0; i < vocabulary; i++)
        logits[i] = logit(kind, i, vocabulary);
    for (size_t i = 0; i < words; i++)
        seen[i] = (uint32_t)(int64_t)(shim_normal() * 1e9);
    *noise = (uint32_t)(int64_t)(shim_normal() * 4e9);
    a.logits = logits;
    a.seen = seen;
    a.noise = noise;
    a.tokens = token;
    a.stride = stride;
    a.seen_stride = words;
    a.vocabulary = vocabulary;
    a.rule = {penalty, 1 / penalty, 1 / temperature, k, share < 1 ? (uint32_t)(share * 0x1p32) : ~0u};
    a.cluster = 1;
    shim_launch(k ? sampling_block : sampling_block_whole, a, 1, SAMPLING_THREADS, 0);

    struct sampling_reference r = sampling_reference_new(logits, seen, vocabulary, &a.rule);
    shim_check(sampling_is_right(&r, *token, *noise), "%u logits of kind %d, k %u: token %u, not %u",
               vocabulary, (int)kind, k, *token, sampling_drawn(&r, *noise));
    sampling_reference_free(&r);
}

static void shim_test(void)
{
    draw(129, 50, 0.9, NORMAL);
    draw(4099, 50, 0.9, NORMAL);
    draw(1, 50, 0.9, NORMAL);
    draw(1501, 1024, 1, NORMAL);
    draw(2002, 50, 0.9, TOGETHER);
    draw(1027, 50, 0.9, EQUAL);
    draw(1027, 50, 0.9, ALL_MASKED);
    draw(1027, 50, 0.9, INFINITE);
    draw(2001, 0, 0.9, NORMAL);
    draw(1027, 0, 0.9, MASKED);
}
