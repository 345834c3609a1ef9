#include "fused/product_chain/chain.h"

#include <math.h>
#include <stdlib.h>

PROBE_IMAGE(product_chain);

enum { STATIC = 1024 }; /* bytes of shared memory, at most, that the kernel declares */

/* --- memory ----------------------------------------------------------------------------------- */

/* More than half of an SM's shared memory: an SM has one block. */
static size_t shared_of(const struct probe_run *r, uint32_t n)
{
    const size_t piece = 32 * CHAIN_LOADS * 16, x = (2 * (size_t)n + piece - 1) / piece * piece;
    const size_t least = gpu_facts(r)->shared_per_sm / 2;
    return x > least ? x : least;
}

bool chain_fits(const struct probe_run *r, uint32_t n)
{
    return n >= 8 && n % 8 == 0 && shared_of(r, n) + STATIC <= gpu_facts(r)->shared_per_block;
}

/* Do pieces of CHAIN_LOADS_LESS fill a row? Only n decides, since it decides the order of sums. */
static bool has_less(uint32_t n)
{
    return n % (32 * CHAIN_LOADS_LESS * 8) == 0 && n % (32 * CHAIN_LOADS * 8) != 0;
}

struct chain chain_open(struct probe_run *r, uint32_t n, uint32_t sets, uint32_t products)
{
    const bool less = has_less(n);
    const size_t size = sizeof(struct product_chain_args), shared = shared_of(r, n);
    const uint64_t seed = probe_seed(r);
    struct chain c = {.n = n, .sets = sets, .products = products};

    c.k_chain =
        gpu_kernel(r, &image_product_chain, less ? "product_chain_less" : "product_chain", size);
    c.k_read = gpu_kernel(r, &image_product_chain,
                          less ? "product_chain_read_less" : "product_chain_read", size);
    gpu_kernel_shared(c.k_chain, shared, -1);
    gpu_kernel_shared(c.k_read, shared, -1);
    c.weights = pool_normal(r, GPU_BF16, (size_t)n * n, sets, seed, "weights");
    c.x = gpu_alloc(r, CHAIN_INPUTS * 2 * (size_t)n, "x");
    gpu_fill_normal(r, c.x, GPU_BF16, CHAIN_INPUTS * (size_t)n, seed + 1);
    c.y = gpu_alloc(r, (size_t)products * n * 2, "y of all products");
    c.sms = gpu_alloc(r, ((size_t)gpu_facts(r)->n_sm + 1) * sizeof *c.sms, "SMs of blocks");
    c.words = gpu_alloc(r, sizeof *c.words, "a sum of words");
    c.stamps = gpu_alloc(r, products * sizeof *c.stamps, "stamps");
    c.began = probe_host_alloc(r, products * sizeof *c.began);
    c.state = gpu_alloc(r, sizeof *c.state, "the grid barrier's state");
    CUDA(cudaMemsetAsync(c.state, 0, sizeof *c.state, gpu_stream(r)));
    return c;
}

void chain_close(struct probe_run *r, struct chain *c)
{
    void *const memory[] = {c->x, c->y, c->sms, c->words, c->stamps, c->state};
    pool_free(r, &c->weights);
    for (size_t i = 0; i < PROBE_LENGTH(memory); i++)
        gpu_release(r, memory[i]);
    free(c->began);
}

void chain_poison(struct probe_run *r, const struct chain *c)
{
    gpu_poison(r, c->y, (size_t)c->products * c->n * 2);
    gpu_poison(r, c->sms, ((size_t)gpu_facts(r)->n_sm + 1) * sizeof *c->sms);
    gpu_poison(r, c->stamps, c->products * sizeof *c->stamps);
}

/* --- launches --------------------------------------------------------------------------------- */

struct chain_work chain_turn(struct chain *c, struct chain_work w)
{
    w.first = c->next;
    w.input = c->launches++ % CHAIN_INPUTS;
    c->next = (c->next + w.products) % c->sets;
    return w;
}

static struct product_chain_args args_of(const struct chain *c, const struct chain_work *w)
{
    return (struct product_chain_args){
        .weights = c->weights.memory,
        .stride = c->weights.stride,
        .x = c->x + 2 * (size_t)c->n * w->input,
        .y = c->y,
        .sms = c->sms,
        .stamps = c->stamps,
        .words = c->words,
        .state = c->state,
        .scale = (float)(2 / sqrt(c->n)),
        .n = c->n,
        .sets = c->sets,
        .first = w->first,
        .products = w->products,
        .budget_ns = w->budget_ns,
        .blind = w->blind,
        .late = w->late,
    };
}

static struct gpu_shape shape_of(const struct probe_run *r, const struct chain *c,
                                 const struct chain_work *w)
{
    return (struct gpu_shape){.grid = {w->blocks, 1, 1},
                              .block = 32 * w->warps,
                              .shared = shared_of(r, c->n),
                              .cooperative = !w->is_read && !w->is_ordinary};
}

void chain_launch(struct probe_run *r, const struct chain *c, const struct chain_work *w)
{
    const struct product_chain_args a = args_of(c, w);
    const struct gpu_shape shape = shape_of(r, c, w);
    gpu_launch_shape(r, w->is_read ? c->k_read : c->k_chain, &shape, &a);
}

cudaError_t chain_try(struct probe_run *r, const struct chain *c, const struct chain_work *w)
{
    const struct product_chain_args a = args_of(c, w);
    const struct gpu_shape shape = shape_of(r, c, w);
    return gpu_try_launch(r, w->is_read ? c->k_read : c->k_chain, &shape, &a);
}

double chain_time(struct probe_run *r, const struct chain *c, const struct chain_work *w)
{
    const struct product_chain_args a = args_of(c, w);
    const struct gpu_shape shape = shape_of(r, c, w);
    return gpu_launch_ns(r, w->is_read ? c->k_read : c->k_chain, &shape, &a);
}

const uint64_t *chain_stamps(struct probe_run *r, const struct chain *c, uint32_t products)
{
    gpu_to_host(r, c->began, c->stamps, products * sizeof *c->began);
    return c->began;
}
