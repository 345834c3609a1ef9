// faults: thread lane barrier grid unwaited rounding first set scale
//
// A chain of products in one kernel that stays, and the read of its weights, on the CPU: rows
// that no number of warps divides, rows of several pieces and of a part of one, more warps than
// rows, weights in turn, warps that ask before the barrier and behind it. Compared with float64
// product by product, and all grids with each other bit by bit.
#define SHIM_ARCH 900
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/product_chain/product_chain.cu"

enum { MOST_VECTORS = 512 };
thread_local uint4 product_chain_x[MOST_VECTORS];

// Pieces of 32 vectors, so that a short row has several.
static void short_chain(struct product_chain_args a) { run_chain<1>(a); }
static void short_read(struct product_chain_args a) { run_read<1>(a); }

struct grid {
    uint32_t blocks, warps, late, loads; // loads of a lane at a time
};

static auto chain_of(uint32_t loads)
{
    return loads == 1 ? short_chain : loads == CHAIN_LOADS ? product_chain : product_chain_less;
}
static auto read_of(uint32_t loads)
{
    return loads == 1               ? short_read
           : loads == CHAIN_LOADS ? product_chain_read
                                    : product_chain_read_less;
}

static uint16_t narrowed(double x)
{
    return (uint16_t)(bf16::narrow(make_float2((float)x, 0)) & 0xffff);
}

static uint16_t *normal(uint64_t n)
{
    uint16_t *to = (uint16_t *)shim_alloc(2 * n);
    for (uint64_t i = 0; i < n; i++)
        to[i] = narrowed(shim_normal());
    return to;
}

static struct product_chain_args made(uint32_t n, uint32_t sets, uint32_t products)
{
    struct product_chain_args a = {};
    a.n = n, a.sets = sets, a.first = sets - 1, a.products = products;
    a.stride = 2ull * n * n;
    a.weights = (const char *)normal((uint64_t)sets * n * n);
    a.x = normal(n);
    a.y = shim_alloc(2ull * products * n);
    a.stamps = (uint64_t *)shim_alloc(8ull * products);
    a.words = (uint32_t *)shim_alloc(4);
    a.state = (struct grid_barrier_state *)shim_alloc(sizeof *a.state);
    memset(a.state, 0, sizeof *a.state);
    a.scale = (float)(2 / sqrt(n)), a.budget_ns = 1u << 31;
    return a;
}

/* --- float64 -------------------------------------------------------------------------------- */

static const uint16_t *matrix(const struct product_chain_args &a, uint32_t product)
{
    const uint32_t wrong = shim_fault("set") && product > 0; // the set of the product before
    return (const uint16_t *)(a.weights + (a.first + product - wrong) % a.sets * a.stride);
}

// Each product of the vector that it was given, which is y of the one before as the kernel left it.
static void check_product(const struct product_chain_args &a, uint32_t product)
{
    const uint16_t *y = (const uint16_t *)a.y + (uint64_t)product * a.n, *w = matrix(a, product);
    const uint16_t *x = product == 0 ? (const uint16_t *)a.x : y - a.n;
    uint32_t wrong = 0;
    for (uint32_t row = 0; row < a.n; row++) {
        double z = 0, absolute = 0;
        for (uint32_t k = 0; k < a.n; k++) {
            const double one = half_bf16(w[(uint64_t)row * a.n + k]) * half_bf16(x[k]);
            z += one;
            absolute += fabs(one);
        }
        z *= a.scale;
        const double expected = z / (1 + fabs(z));
        wrong += !(fabs(half_bf16(y[row]) - expected) <=
                   1.01 * 0x1p-8 * fabs(expected) +
                       8 * sqrt(a.n) * 0x1p-24 * a.scale * absolute + 0x1p-26);
    }
    shim_check(wrong == 0, "%u of %u rows of product %u are not as in double", wrong, a.n, product);
}

static void check_words(const struct product_chain_args &a, const char *what)
{
    uint32_t sum = 0;
    for (uint32_t product = 0; product < a.products; product++) {
        const uint32_t *w = (const uint32_t *)matrix(a, product);
        for (uint64_t i = 0; i < (uint64_t)a.n * a.n / 2; i++)
            sum += w[i];
    }
    shim_check(*a.words == sum, "%s: all words of the weights are read once", what);
}

/* --- a grid --------------------------------------------------------------------------------- */

static void run(struct product_chain_args a, struct grid g)
{
    const uint32_t threads = 32 * g.warps;
    a.late = g.late;
    a.blind = shim_fault("unwaited") ? BLIND_BARRIER : 0;
    a.sms = (uint32_t *)shim_alloc(4 * g.blocks);
    memset(a.y, 0xff, 2ull * a.products * a.n);
    memset(a.stamps, 0xff, 8ull * a.products);
    shim_launch_together(chain_of(g.loads), a, g.blocks, threads,
                         sizeof product_chain_x);
    shim_check(a.state->aborted == 0, "no block gave up");
    for (uint32_t block = 0; block < g.blocks; block++)
        shim_check(a.sms[block] == block, "block %u says where it is", block);
    for (uint32_t product = 1; product < a.products; product++)
        shim_check(a.stamps[product] > a.stamps[product - 1] && a.stamps[product] < 1ull << 62,
                   "product %u begins behind the one before", product);
    *a.words = 0;
    shim_launch(read_of(g.loads), a, g.blocks, threads, 0);
    check_words(a, "read");
}

static void check_grids(uint32_t n, uint32_t sets, uint32_t products, const struct grid *grids,
                        uint32_t n_grids)
{
    struct product_chain_args a = made(n, sets, products);
    const uint64_t bytes = 2ull * products * n;
    uint16_t *expected = (uint16_t *)shim_alloc(bytes);
    if (shim_fault("first"))
        a.first = 0; // and the reference does not know
    run(a, grids[0]);
    if (shim_fault("first"))
        a.first = sets - 1;
    for (uint32_t product = 0; product < products; product++)
        check_product(a, product);
    memcpy(expected, a.y, bytes);
    for (uint32_t i = 1; i < n_grids; i++) {
        const struct grid g = grids[i];
        if (shim_fault("scale"))
            a.scale *= 1.01f; // and no grid but the first is compared with double
        run(a, g);
        shim_check(memcmp(a.y, expected, bytes) == 0,
                   "%u blocks of %u warps have the bits of the first grid", g.blocks, g.warps);
    }
}

static void shim_test(void)
{
    const struct grid whole[] = {
        {3, 2, 0, CHAIN_LOADS}, {1, 4, 2, CHAIN_LOADS_LESS}, {5, 1, 1, CHAIN_LOADS},
        {7, 3, 3, CHAIN_LOADS}};
    const struct grid pieces[] = {{3, 2, 2, 1}, {2, 5, 0, 1}, {4, 3, 3, 1}, {3, 4, 1, CHAIN_LOADS_LESS}};
    check_grids(40, 2, 4, whole, 4);  // a part of a piece, more warps than some blocks have rows
    check_grids(8, 3, 3, whole, 4);   // one vector, and warps without a row
    check_grids(264, 3, 4, pieces, 4); // a piece and a vector; a part of a longer one
}
