/* The GPU's side of core/sides.h: it asks, and has a copy of what was found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "core/sides.h"

PROBE_IMAGE(sides);

struct asked {
    struct probe_run *r;
    cudaKernel_t kernel;
};

static void ask(void *how, uint32_t *const *word, uint32_t n, uint32_t *cycles, uint32_t *sm)
{
    const struct asked *k = how;
    struct probe_run *r = k->r;
    const unsigned sms = (unsigned)gpu_facts(r)->n_sm;
    const size_t answers = (sm ? 1 : sms) * (size_t)n;
    void *list = gpu_alloc(r, n * sizeof *word, "words whose homes are sought");
    const struct sides_ask_args a = {.word = list,
                                     .cycles = gpu_alloc(r, answers * sizeof *cycles, "latencies"),
                                     .sm = gpu_alloc(r, n * sizeof *sm, "who asked"),
                                     .n = n,
                                     .by_sm = sm == NULL};
    gpu_to_device(r, list, word, n * sizeof *word);
    gpu_launch(r, k->kernel, sms, 32, gpu_facts(r)->shared_per_block, &a);
    gpu_to_host(r, cycles, a.cycles, answers * sizeof *cycles);
    if (sm)
        gpu_to_host(r, sm, a.sm, n * sizeof *sm);
    gpu_release(r, list);
    gpu_release(r, a.cycles);
    gpu_release(r, a.sm);
}

struct sides sides_of(struct probe_run *r, const void *memory, size_t bytes)
{
    const struct gpu_facts *g = gpu_facts(r);
    const uint32_t n_sm = (uint32_t)g->n_sm;
    const size_t words = (sides_pages(memory, bytes) + 31) / 32, all = n_sm + words;
    struct sides s = {.map = {.first_page = (uint64_t)memory >> SIDES_PAGE_BITS}, .why = ""};
    struct asked k = {
        r, gpu_kernel_if_any(r, &image_sides, "sides_ask", sizeof(struct sides_ask_args))};

    if (!k.kernel || n_sm > SIDES_SMS || (uint64_t)memory % SIDES_BOTH != 0 ||
        bytes < (size_t)2 << SIDES_PAGE_BITS)
        return snprintf(s.why, sizeof s.why, "the sides of the L2 are not sought here"), s;
    gpu_kernel_shared(k.kernel, g->shared_per_block, -1); /* so that a block has an SM of its own */
    s.sms = probe_host_alloc(r, all * sizeof *s.sms);
    s.pages = s.sms + n_sm;
    memset(s.pages, 0, words * sizeof *s.pages);
    snprintf(s.why, sizeof s.why, "%s", sides_find(r, ask, &k, n_sm, memory, bytes, &s));
    uint32_t *device = gpu_alloc(r, all * sizeof *device, "sides of the L2");
    gpu_to_device(r, device, s.sms, all * sizeof *device);
    s.map.sms = device;
    s.map.pages = device + n_sm;
    return s;
}

void sides_free(struct probe_run *r, struct sides *sides)
{
    if (sides->map.sms)
        gpu_release(r, (void *)(uintptr_t)sides->map.sms);
    free(sides->sms);
    *sides = (struct sides){.why = ""};
}
