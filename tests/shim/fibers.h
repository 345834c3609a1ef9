/* Threads as fibers, the ways they wait for each other, and main(). shim.h includes this and
 * explains it. */
#ifndef TESTS_SHIM_FIBERS_H
#define TESTS_SHIM_FIBERS_H

#include "tests/shim/fault.h"

enum { SHIM_ALLOCATIONS = 4096, SHIM_TOLD = 20 };
static const unsigned SHIM_STACK = 128 << 10, SHIM_WARP = 32, SHIM_THREADS = 1024;
enum shim_state { SHIM_RUNS, SHIM_AT_BARRIER, SHIM_AT_EXCHANGE, SHIM_ENDED };

struct shim_fiber {
    ucontext_t context;
    shim_state state;
    uint3 thread;
    unsigned mask;           /* of the lanes in an exchange */
    uint64_t given;          /* what this thread gives to a barrier or an exchange */
    uint64_t got[SHIM_WARP]; /* from an exchange: each lane's; from a barrier: [0], the sum */
};

static struct {
    shim_fiber *all, *now;
    char *stacks;
    ucontext_t scheduler;
    unsigned n, *turn; /* threads of a block, and the order in which they run */
    int order;         /* 0 forward, 1 backward, 2 shuffled */
    void (*call)();
    uint64_t random;
    void *allocated[SHIM_ALLOCATIONS];
    unsigned n_allocated;
    int passed, failed;
} shim = {};

static uint3 blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;
#define threadIdx (shim.now->thread)

/* --- waiting --------------------------------------------------------------------------------- */

__attribute__((noreturn, format(printf, 1, 2))) static void shim_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "shim: block %u: ", blockIdx.x);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(3);
}

static unsigned shim_index()
{
    return (unsigned)(shim.now - shim.all);
}

static void shim_wait(shim_state what)
{
    shim_fiber *self = shim.now;
    self->state = what;
    asm volatile("" ::: "memory"); /* other threads change shared memory now */
    swapcontext(&self->context, &shim.scheduler);
    asm volatile("" ::: "memory");
}

/* All threads of the block must call this; returns how many gave true. */
static unsigned shim_barrier(bool given)
{
    shim.now->given = given;
    shim_wait(SHIM_AT_BARRIER);
    return (unsigned)shim.now->got[0];
}

static inline void __syncthreads()
{
    if (!shim_fault("barrier"))
        shim_barrier(false);
}
static inline int __syncthreads_count(int given) { return (int)shim_barrier(given != 0); }
static inline int __syncthreads_or(int given) { return shim_barrier(given != 0) > 0; }
static inline int __syncthreads_and(int given) { return shim_barrier(given == 0) == 0; }

/* The lanes of the mask show each other what they give. All exchanges are built on this. */
static const uint64_t *shim_exchange(unsigned mask, uint64_t given)
{
    shim_fiber *self = shim.now;
    if (!(mask >> shim_index() % SHIM_WARP & 1))
        shim_die("thread %u takes part in an exchange of a mask without it", shim_index());
    self->mask = mask;
    self->given = given;
    shim_wait(SHIM_AT_EXCHANGE);
    return self->got;
}

/* --- exchanges between lanes ------------------------------------------------------------------ */

/* The value of lane `from` in this lane's segment of `width` lanes. */
template <typename T>
static inline T shim_shuffle(unsigned mask, T value, int from, int width, bool is_inside)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "at most eight bytes");
    const unsigned self = shim_index() % SHIM_WARP, base = self / (unsigned)width * (unsigned)width;
    const unsigned lane = is_inside ? base + (unsigned)from % (unsigned)width : self;
    uint64_t given = 0;
    T got;
    memcpy(&given, &value, sizeof value);
    const uint64_t *all = shim_exchange(mask, given);
    if (!(mask >> lane & 1))
        shim_die("thread %u reads lane %u, which the mask is without", shim_index(), lane);
    memcpy(&got, &all[lane], sizeof got);
    return got;
}
template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    return shim_shuffle(mask, value, from, width, true);
}
template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
    const int from = (int)(shim_index() % (unsigned)width) ^ with;
    return shim_shuffle(mask, value, from, width, from < width);
}
template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const int from = (int)(shim_index() % (unsigned)width + by);
    return shim_shuffle(mask, value, from, width, from < width);
}
template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const int from = (int)(shim_index() % (unsigned)width) - (int)by;
    return shim_shuffle(mask, value, from, width, from >= 0);
}

static inline unsigned __ballot_sync(unsigned mask, int given)
{
    const uint64_t *all = shim_exchange(mask, given != 0);
    unsigned votes = 0;
    for (unsigned i = 0; i < SHIM_WARP; i++)
        votes |= (mask >> i & 1 && all[i] == 1 ? 1u : 0u) << i;
    return votes;
}
static inline int __any_sync(unsigned mask, int given) { return __ballot_sync(mask, given) != 0; }
static inline int __all_sync(unsigned mask, int given) { return __ballot_sync(mask, !given) == 0; }
static inline void __syncwarp(unsigned mask = ~0u) { shim_exchange(mask, 0); }

template <typename T> static inline unsigned __match_any_sync(unsigned mask, T value)
{
    uint64_t given = 0;
    unsigned same = 0;
    memcpy(&given, &value, sizeof value);
    const uint64_t *all = shim_exchange(mask, given);
    for (unsigned i = 0; i < SHIM_WARP; i++)
        same |= (mask >> i & 1 && all[i] == given ? 1u : 0u) << i;
    return same;
}

#define SHIM_REDUCE(name, expression)                                                              \
    static inline unsigned name(unsigned mask, unsigned given)                                     \
    {                                                                                              \
        const uint64_t *all = shim_exchange(mask, given);                                          \
        unsigned a = given;                                                                        \
        for (unsigned i = 0; i < SHIM_WARP; i++)                                                   \
            if (mask >> i & 1 && i != shim_index() % SHIM_WARP) {                                  \
                const unsigned b = (unsigned)all[i];                                               \
                a = expression;                                                                    \
            }                                                                                      \
        return a;                                                                                  \
    }
SHIM_REDUCE(__reduce_add_sync, a + b)
SHIM_REDUCE(__reduce_max_sync, a > b ? a : b)
SHIM_REDUCE(__reduce_min_sync, a < b ? a : b)
SHIM_REDUCE(__reduce_or_sync, a | b)
SHIM_REDUCE(__reduce_and_sync, a & b)

/* --- one block after another ------------------------------------------------------------------ */

static void shim_begin()
{
    shim.call();
    shim_wait(SHIM_ENDED);
}

/* Shared memory is this program's thread-local memory; NaN until a thread writes it. */
static int shim_poison_shared(struct dl_phdr_info *program, size_t, void *)
{
    for (int i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_TLS && program->dlpi_tls_data)
            memset(program->dlpi_tls_data, 0xff, program->dlpi_phdr[i].p_memsz);
    return 1; /* the first one is this program: no further */
}

/* Lanes of a warp whose whole mask has arrived exchange what they gave, and continue. */
static bool shim_release_warp(unsigned first)
{
    const unsigned lanes = shim.n - first < SHIM_WARP ? shim.n - first : SHIM_WARP;
    const unsigned existing = lanes < SHIM_WARP ? (1u << lanes) - 1 : ~0u;
    bool released = false;

    for (unsigned i = 0; i < lanes; i++) {
        const unsigned mask = shim.all[first + i].mask & existing;
        uint64_t given[SHIM_WARP];
        bool is_whole = shim.all[first + i].state == SHIM_AT_EXCHANGE;

        memset(given, 0xff, sizeof given);
        for (unsigned j = 0; is_whole && j < lanes; j++)
            if (mask >> j & 1) {
                const shim_fiber *f = &shim.all[first + j];
                is_whole = f->state == SHIM_AT_EXCHANGE && (f->mask & existing) == mask;
                given[j] = f->given;
            }
        for (unsigned j = 0; is_whole && j < lanes; j++)
            if (mask >> j & 1) {
                shim_fiber *f = &shim.all[first + j];
                memcpy(f->got, given, sizeof given);
                if (j == 5 && shim_fault("lane"))
                    memmove(f->got, f->got + 1, sizeof given - sizeof given[0]);
                f->state = SHIM_RUNS;
            }
        released |= is_whole;
    }
    return released;
}

/* Threads at the barrier continue when all have arrived. */
static bool shim_release_block(unsigned ended)
{
    uint64_t sum = 0, here = 0;
    for (unsigned i = 0; i < shim.n; i++)
        if (shim.all[i].state == SHIM_AT_BARRIER) {
            here++;
            sum += shim.all[i].given;
        }
    if (here == 0 || here + ended < shim.n)
        return false;
    if (ended)
        shim_die("%u threads wait at a barrier that %u have left the kernel without",
                 (unsigned)here, ended);
    for (unsigned i = 0; i < shim.n; i++) {
        shim.all[i].got[0] = sum;
        shim.all[i].state = SHIM_RUNS;
    }
    return true;
}

static void shim_run_block()
{
    unsigned ended = 0;
    while (ended < shim.n) {
        for (unsigned i = 0; i < shim.n; i++) {
            shim.now = &shim.all[shim.turn[i]];
            if (shim.now->state == SHIM_RUNS)
                swapcontext(&shim.scheduler, &shim.now->context);
        }
        ended = 0;
        for (unsigned i = 0; i < shim.n; i++)
            ended += shim.all[i].state == SHIM_ENDED;
        bool released = false;
        for (unsigned i = 0; i < shim.n; i += SHIM_WARP)
            released |= shim_release_warp(i);
        released |= shim_release_block(ended);
        if (!released && ended < shim.n)
            shim_die("%u threads wait for others that never come", shim.n - ended);
    }
}

static uint64_t shim_random()
{
    shim.random = shim.random * 6364136223846793005u + 1442695040888963407u;
    return shim.random >> 33;
}

static void shim_new_block()
{
    for (unsigned i = 0; i < shim.n; i++) {
        shim_fiber *f = &shim.all[i];
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = shim.stacks + (size_t)i * SHIM_STACK;
        f->context.uc_stack.ss_size = SHIM_STACK;
        f->context.uc_link = NULL;
        makecontext(&f->context, shim_begin, 0);
        f->state = shim_fault("thread") && i == shim.n / 2 ? SHIM_ENDED : SHIM_RUNS;
        f->thread = {i, 0, 0};
        shim.turn[i] = shim.order == 1 ? shim.n - 1 - i : i;
    }
    for (unsigned i = shim.n; shim.order == 2 && i > 1; i--) {
        const unsigned j = (unsigned)(shim_random() % i), other = shim.turn[i - 1];
        shim.turn[i - 1] = shim.turn[j];
        shim.turn[j] = other;
    }
    dl_iterate_phdr(shim_poison_shared, NULL);
}

template <typename ARGS> struct shim_bound { /* a kernel with its arguments, as a plain call */
    static void (*kernel)(ARGS);
    static const ARGS *args;
    static void call() { kernel(*args); }
};
template <typename ARGS> void (*shim_bound<ARGS>::kernel)(ARGS);
template <typename ARGS> const ARGS *shim_bound<ARGS>::args;

template <typename ARGS>
void shim_launch(void (*kernel)(ARGS), const ARGS &args, dim3 grid, unsigned block, size_t)
{
    shim_bound<ARGS>::kernel = kernel;
    shim_bound<ARGS>::args = &args;
    shim.call = shim_bound<ARGS>::call;
    shim.n = block;
    gridDim = grid;
    blockDim = dim3(block);
    shim.all = (shim_fiber *)calloc(block, sizeof *shim.all);
    shim.turn = (unsigned *)calloc(block, sizeof *shim.turn);
    if (!shim.stacks) /* kept, so that their pages are touched once */
        shim.stacks = (char *)malloc((size_t)SHIM_THREADS * SHIM_STACK);
    if (!shim.all || !shim.turn || !shim.stacks || block > SHIM_THREADS)
        shim_die("no room for %u threads", block);
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = {x, y, z};
                shim_new_block();
                shim_run_block();
            }
    free(shim.turn);
    free(shim.all);
}

/* --- the test --------------------------------------------------------------------------------- */

void *shim_alloc(size_t bytes)
{
    void *memory = NULL;
    if (shim.n_allocated == SHIM_ALLOCATIONS ||
        posix_memalign(&memory, 256, bytes ? bytes : 1) != 0)
        shim_die("out of memory for %zu bytes", bytes);
    shim.allocated[shim.n_allocated++] = memory;
    return memset(memory, 0xff, bytes);
}

void shim_check(bool ok, const char *format, ...)
{
    static const char *const orders[] = {"forward", "backward", "shuffled"};
    va_list arguments;
    if (ok) {
        shim.passed++;
        return;
    }
    if (++shim.failed > SHIM_TOLD)
        return;
    printf("FAIL (%s) ", orders[shim.order]);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    if (*shim_planted()) /* the fault was caught: enough */
        exit(1);
}

double shim_normal(void)
{
    const double u = ((double)shim_random() + 1) / 0x1p31, v = (double)shim_random() / 0x1p31;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

int main(void)
{
    for (shim.order = 0; shim.order < 3; shim.order++) {
        shim.random = 1;
        shim_test();
        while (shim.n_allocated > 0)
            free(shim.allocated[--shim.n_allocated]);
    }
    printf("%d passed, %d failed\n", shim.passed, shim.failed);
    return shim.failed > 0 || shim.passed == 0;
}

#endif
