/* Threads as fibers, the ways they wait for each other, and main(). shim.h includes this and
 * explains it. */
#ifndef TESTS_SHIM_FIBERS_H
#define TESTS_SHIM_FIBERS_H

#include "tests/shim/fault.h"

enum { SHIM_ALLOCATIONS = 4096, SHIM_TOLD = 20, SHIM_BLOCKS = 1024 };
static const unsigned SHIM_STACK = 128 << 10, SHIM_WARP = 32, SHIM_THREADS = 1024;
/* A launch whose threads only poll ends after so many polls, and so many turns of every block. */
static const unsigned SHIM_POLLS = 300000, SHIM_TURNS = 1200, SHIM_SECONDS = 40;
enum shim_state {
    SHIM_RUNS,
    SHIM_AT_BARRIER,
    SHIM_AT_EXCHANGE,
    SHIM_AT_NAMED,
    SHIM_AT_MBARRIER,
    SHIM_ENDED,
    SHIM_STATES
};

struct shim_mbarrier;
struct shim_copy;
typedef void *shim_place[5]; /* where a function is left, for __builtin_longjmp() */

struct shim_fiber {
    ucontext_t start;
    bool has_started;
    shim_place place; /* once it has started */
    shim_state state;
    uint3 thread;
    unsigned mask;           /* of the lanes in an exchange */
    unsigned id, threads;    /* of a named barrier */
    const shim_mbarrier *at; /* at an mbarrier: which, and the parity of the phase */
    unsigned parity;
    unsigned groups[2];      /* of copies that this thread has closed: loads, stores */
    uint64_t given;          /* what this thread gives to a barrier or an exchange */
    uint64_t got[SHIM_WARP]; /* from an exchange: each lane's; from a barrier: [0], the sum */
};

struct shim_block {
    shim_fiber *all;
    unsigned *turn, ended; /* the order in which threads run; how many have ended */
    shim_place scheduler;
    char *stacks;
    uint3 index;
    unsigned rank;
    const void *args;
    char *shared; /* this program's thread-local memory */
    char *aside;  /* what is in it, while another block runs */
    size_t shared_bytes;
    shim_copy *copies; /* in flight */
    unsigned n_copies, room;
};

static struct {
    shim_block *block; /* that runs now */
    shim_fiber *now;   /* thread that runs now; NULL outside a kernel */
    unsigned n;        /* threads of a block */
    int order;         /* 0 forward, 1 backward, 2 shuffled */
    void (*call)(const void *args);
    uint64_t progress;     /* counts what may end a poll: memory that changes, threads that end */
    uint64_t moves;        /* counts threads that continue after a wait */
    uint64_t all_polls;
    unsigned polls, turns; /* since the last progress: polls, and turns of all blocks */
    uint64_t events;       /* progress, moves and polls when all blocks had their last turn */
    uint64_t clock;        /* reads of any clock, and leaps */
    unsigned most_loads;   /* mbarriers of a block that bulk loads were under way for at once, at
                            * most */
    uint64_t random, dice; /* of the data; of the order of things */
    char *stacks[SHIM_BLOCKS];
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
    fprintf(stderr, "shim: ");
    if (shim.block && shim.block->rank)
        fprintf(stderr, "rank %u, ", shim.block->rank);
    fprintf(stderr, "block %u: ", blockIdx.x);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(3);
}

static unsigned shim_index()
{
    return (unsigned)(shim.now - shim.block->all);
}

static void shim_progress()
{
    shim.progress++;
    shim.polls = shim.turns = 0;
}

static void shim_moved()
{
    shim.moves++;
}

static uint64_t shim_next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static uint64_t shim_random()
{
    return shim_next(&shim.random);
}

static bool shim_toss()
{
    return shim_next(&shim.dice) >> 8 & 1;
}

/* A switch is a jump, because swapcontext() makes a system call each time, which is half of a
 * test's time. ASan would ask at each jump where the stack ends, so that it must not see these
 * three. */
#define SHIM_SWITCH __attribute__((noinline, no_sanitize("address", "undefined")))

__attribute__((noreturn)) SHIM_SWITCH static void shim_jump(shim_place place)
{
    __builtin_longjmp(place, 1);
}

/* Goes on with a thread, until it leaves. */
SHIM_SWITCH static void shim_enter(shim_fiber *f)
{
    if (__builtin_setjmp(shim.block->scheduler))
        return;
    if (f->has_started)
        shim_jump(f->place);
    f->has_started = true;
    setcontext(&f->start);
    abort();
}

SHIM_SWITCH static void shim_leave(shim_fiber *self)
{
    asm volatile("" ::: "memory"); /* other threads change memory now */
    if (!__builtin_setjmp(self->place))
        shim_jump(shim.block->scheduler);
    asm volatile("" ::: "memory");
}

static void shim_wait(shim_state what)
{
    shim.now->state = what;
    shim_leave(shim.now);
}

/* Lets others run. Who calls this again and again waits for something in memory. */
static void shim_poll()
{
    if (!shim.now)
        return;
    shim.polls++;
    shim.all_polls++;
    shim_leave(shim.now);
}

template <typename T> static T shim_load(const T *p)
{
    const bool is_late = shim.order == 1 || (shim.order == 2 && shim_toss());
    if (is_late)
        shim_poll();
    const T got = *p;
    if (!is_late)
        shim_poll();
    return got;
}

static void shim_stored(bool has_changed)
{
    if (has_changed)
        shim_progress();
    if (!has_changed || (shim.order == 2 && shim_toss()))
        shim_poll();
}

/* Counts reads of a clock. Where nobody makes progress it leaps, so that budgets run out. */
static uint64_t shim_clock()
{
    const bool is_stuck = shim.polls > SHIM_POLLS / 2 && shim.turns > SHIM_TURNS / 2;
    return shim.clock += is_stuck ? 1 << 28 : 1;
}
static inline void __nanosleep(unsigned ns)
{
    shim.clock += ns / 32;
    shim_poll();
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

/* `threads` threads must call this with that id. */
static void shim_named_barrier(unsigned id, unsigned threads)
{
    if (id < 1 || id > 15 || threads > shim.n)
        shim_die("no block of %u threads has a barrier %u of %u", shim.n, id, threads);
    shim.now->id = id;
    shim.now->threads = threads;
    if (!shim_fault("named"))
        shim_wait(SHIM_AT_NAMED);
}

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

#include "tests/shim/async.h"
#include "tests/shim/blocks.h"

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
        shim.random = shim.dice = 1;
        shim_test();
        while (shim.n_allocated > 0)
            free(shim.allocated[--shim.n_allocated]);
    }
    printf("%d passed, %d failed\n", shim.passed, shim.failed);
    return shim.failed > 0 || shim.passed == 0;
}

#endif
