/* Blocks: how their threads take turns, one block after another or all of a grid together, and
 * launches. shim.h includes this and explains it. */
#ifndef TESTS_SHIM_BLOCKS_H
#define TESTS_SHIM_BLOCKS_H

/* --- one block -------------------------------------------------------------------------------- */

static void shim_begin()
{
    shim.call(shim.block->args);
    shim_copies_of_ended();
    shim_progress();
    shim_wait(SHIM_ENDED);
}

/* Shared memory is this program's thread-local memory; NaN until a thread writes it. */
static int shim_poison_shared(struct dl_phdr_info *program, size_t, void *block)
{
    shim_block *b = (shim_block *)block;
    for (int i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_TLS && program->dlpi_tls_data) {
            b->shared = (char *)program->dlpi_tls_data;
            b->shared_bytes = program->dlpi_phdr[i].p_memsz;
            memset(b->shared, 0xff, b->shared_bytes);
        }
    return 1; /* the first one is this program: no further */
}

/* Lanes of a warp whose whole mask has arrived exchange what they gave, and continue. */
static void shim_release_warp(unsigned first)
{
    const unsigned lanes = shim.n - first < SHIM_WARP ? shim.n - first : SHIM_WARP;
    const unsigned existing = lanes < SHIM_WARP ? (1u << lanes) - 1 : ~0u;

    for (unsigned i = 0; i < lanes; i++) {
        const unsigned mask = shim.block->all[first + i].mask & existing;
        uint64_t given[SHIM_WARP];
        bool is_whole = shim.block->all[first + i].state == SHIM_AT_EXCHANGE;

        memset(given, 0xff, sizeof given);
        for (unsigned j = 0; is_whole && j < lanes; j++)
            if (mask >> j & 1) {
                const shim_fiber *f = &shim.block->all[first + j];
                is_whole = f->state == SHIM_AT_EXCHANGE && (f->mask & existing) == mask;
                given[j] = f->given;
            }
        for (unsigned j = 0; is_whole && j < lanes; j++)
            if (mask >> j & 1) {
                shim_fiber *f = &shim.block->all[first + j];
                memcpy(f->got, given, sizeof given);
                if (j == 4 && shim_fault("lane"))
                    memmove(f->got, f->got + 1, sizeof given - sizeof given[0]);
                f->state = SHIM_RUNS;
            }
        if (is_whole)
            shim_moved();
    }
}

/* Threads at the barrier continue when all have arrived. */
static void shim_release_block()
{
    const unsigned ended = shim.block->ended;
    uint64_t sum = 0, here = 0;
    for (unsigned i = 0; i < shim.n; i++)
        if (shim.block->all[i].state == SHIM_AT_BARRIER) {
            here++;
            sum += shim.block->all[i].given;
        }
    if (here == 0 || here + ended < shim.n)
        return;
    if (ended)
        shim_die("%u threads wait at a barrier that %u have left the kernel without",
                 (unsigned)here, ended);
    for (unsigned i = 0; i < shim.n; i++) {
        shim.block->all[i].got[0] = sum;
        shim.block->all[i].state = SHIM_RUNS;
    }
    shim_moved();
}

/* Threads at a named barrier continue when as many as it takes have arrived. */
static void shim_release_named(unsigned id)
{
    unsigned here = 0, threads = 0;
    for (unsigned i = 0; i < shim.n; i++) {
        const shim_fiber *f = &shim.block->all[i];
        if (f->state != SHIM_AT_NAMED || f->id != id)
            continue;
        if (here++ > 0 && f->threads != threads)
            shim_die("barrier %u is one of %u threads and of %u", id, threads, f->threads);
        threads = f->threads;
    }
    if (here == 0 || here < threads)
        return;
    if (here > threads)
        shim_die("%u threads wait at barrier %u of %u", here, id, threads);
    for (unsigned i = 0; i < shim.n; i++) {
        shim_fiber *f = &shim.block->all[i];
        if (f->state == SHIM_AT_NAMED && f->id == id)
            f->state = SHIM_RUNS;
    }
    shim_moved();
}

/* Every thread runs once until it waits or polls. Then those continue that need not wait. Could
 * another round get further, although no other block runs? */
static bool shim_round()
{
    shim_block *b = shim.block;
    const uint64_t progress = shim.progress, moves = shim.moves, polls = shim.all_polls;
    bool is_named[16] = {};

    for (unsigned i = 0; i < shim.n; i++) {
        shim_fiber *f = shim.now = &b->all[b->turn[i]];
        if (f->state == SHIM_AT_MBARRIER && shim_mbarrier_over(f->at, f->parity)) {
            f->state = SHIM_RUNS;
            shim_moved();
        }
        if (f->state == SHIM_RUNS)
            shim_enter(f);
    }
    b->ended = 0;
    for (unsigned i = 0; i < shim.n; i++) {
        b->ended += b->all[i].state == SHIM_ENDED;
        if (b->all[i].state == SHIM_AT_NAMED)
            is_named[b->all[i].id] = true;
    }
    for (unsigned i = 0; i < shim.n; i += SHIM_WARP)
        shim_release_warp(i);
    shim_release_block();
    for (unsigned id = 1; id < 16; id++)
        if (is_named[id])
            shim_release_named(id);
    if (b->ended == shim.n && b->n_copies > 0)
        shim_die("ends before its copies have arrived");
    shim_copies_arrive(shim.progress == progress && shim.moves == moves);
    shim.now = NULL;
    return shim.progress != progress || (shim.moves != moves && shim.all_polls == polls);
}

/* A block's turn: a round if blocks are shuffled, else as long as it gets on by itself. */
static void shim_turn()
{
    while (shim_round() && shim.order < 2 && shim.block->ended < shim.n)
        continue;
}

/* All these blocks, which still run, have had a turn. Ends the run if they wait for what never
 * comes: nothing happened in it, or nothing but polls for long. */
static void shim_judge(shim_block *const *blocks, unsigned n)
{
    static const char *const names[SHIM_STATES] = {
        "poll", "at __syncthreads", "for lanes", "at named barriers", "at mbarriers", "have ended"};
    const uint64_t events = shim.progress + shim.moves + shim.all_polls;
    const bool is_quiet = events == shim.events;
    unsigned in[SHIM_STATES] = {};
    char text[200];
    int length = 0;

    shim.events = events;
    shim.turns++;
    if (n == 0 || (!is_quiet && (shim.polls < SHIM_POLLS || shim.turns < SHIM_TURNS)))
        return;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < shim.n; k++)
            in[blocks[i]->all[k].state]++;
    for (unsigned k = 0; k < SHIM_STATES; k++)
        if (in[k] > 0)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s%u %s",
                               length ? ", " : "", in[k], names[k]);
    shim_die("threads wait for others that never come: %s", text);
}

/* Every launch uses the same stacks, so that their pages are touched once. */
static void shim_make_block(shim_block *b, unsigned slot)
{
    if (!shim.stacks[slot]) {
        void *room = mmap(NULL, (size_t)SHIM_THREADS * SHIM_STACK, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED)
            shim_die("no room for the stacks of block %u", slot);
        shim.stacks[slot] = (char *)room;
    }
    b->stacks = shim.stacks[slot];
    b->all = (shim_fiber *)calloc(shim.n, sizeof *b->all);
    b->turn = (unsigned *)calloc(shim.n, sizeof *b->turn);
    if (!b->all || !b->turn)
        shim_die("no room for %u threads", shim.n);
}

static void shim_free_block(shim_block *b)
{
    free(b->aside);
    free(b->copies);
    free(b->turn);
    free(b->all);
}

template <typename T> static void shim_shuffle(T *list, unsigned n, uint64_t *random)
{
    for (unsigned i = n; i > 1; i--) {
        const unsigned j = (unsigned)(shim_next(random) % i);
        const T other = list[i - 1];
        list[i - 1] = list[j];
        list[j] = other;
    }
}

static void shim_new_block(shim_block *b)
{
    for (unsigned i = 0; i < shim.n; i++) {
        shim_fiber *f = &b->all[i];
        memset(f, 0, sizeof *f);
        getcontext(&f->start);
        f->start.uc_stack.ss_sp = b->stacks + (size_t)i * SHIM_STACK;
        f->start.uc_stack.ss_size = SHIM_STACK;
        f->start.uc_link = NULL;
        makecontext(&f->start, shim_begin, 0);
        f->start.uc_stack = {}; /* or ASan would forget the stack's red zones at each switch */
        f->state = shim_fault("thread") && i == shim.n / 2 ? SHIM_ENDED : SHIM_RUNS;
        f->thread = {i, 0, 0};
        b->turn[i] = shim.order == 1 ? shim.n - 1 - i : i;
    }
    if (shim.order == 2)
        shim_shuffle(b->turn, shim.n, &shim.random);
    ASAN_UNPOISON_MEMORY_REGION(b->stacks, (size_t)shim.n * SHIM_STACK);
    b->ended = 0;
    shim.block = b;
    blockIdx = b->index;
    dl_iterate_phdr(shim_poison_shared, b);
}

/* --- all blocks together ---------------------------------------------------------------------- */

/* Of a kernel without shared memory there is none to copy. */
static void shim_copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
}

/* There is one thread-local memory, which is the shared memory of the block that runs. Those of the
 * others are kept aside. */
static void shim_swap_blocks(shim_block *from, shim_block *to)
{
    if (from == to)
        return;
    if (from)
        shim_copy(from->aside, from->shared, from->shared_bytes);
    shim_copy(to->shared, to->aside, to->shared_bytes);
    shim.block = to;
    blockIdx = to->index;
}

static void shim_run_together(shim_block *blocks, unsigned n)
{
    shim_block **living = (shim_block **)calloc(n, sizeof *living), *last = NULL;

    for (unsigned i = 0; i < n; i++) {
        shim_block *b = living[shim.order == 1 ? n - 1 - i : i] = &blocks[i];
        shim_make_block(b, i);
        shim_new_block(b);
        b->aside = (char *)malloc(b->shared_bytes + 1);
        if (!b->aside)
            shim_die("no room for %zu bytes of shared memory", b->shared_bytes);
        shim_copy(b->aside, b->shared, b->shared_bytes);
    }
    for (unsigned n_living = n; n_living > 0;) {
        unsigned still = 0;
        if (shim.order == 2)
            shim_shuffle(living, n_living, &shim.dice);
        for (unsigned i = 0; i < n_living; i++) {
            shim_block *b = living[i];
            shim_swap_blocks(last, b);
            shim_turn();
            last = b;
            if (b->ended < shim.n)
                living[still++] = b;
        }
        n_living = still;
        shim_judge(living, n_living);
    }
    for (unsigned i = 0; i < n; i++)
        shim_free_block(&blocks[i]);
    free(living);
}

/* --- launches --------------------------------------------------------------------------------- */

template <typename ARGS> struct shim_bound { /* a kernel as a plain call */
    static void (*kernel)(ARGS);
    static void call(const void *args) { kernel(*(const ARGS *)args); }
};
template <typename ARGS> void (*shim_bound<ARGS>::kernel)(ARGS);

static void shim_alarm(int)
{
    static const char text[] = "shim: a launch does not end: does a thread poll by a plain load?\n";
    _exit(write(2, text, sizeof text - 1) > 0 ? 3 : 4);
}

template <typename ARGS>
static void shim_prepare(void (*kernel)(ARGS), dim3 grid, unsigned block)
{
    shim_bound<ARGS>::kernel = kernel;
    shim.call = shim_bound<ARGS>::call;
    shim.n = block;
    shim.now = NULL;
    gridDim = grid;
    blockDim = dim3(block);
    shim_progress();
    if (block > SHIM_THREADS)
        shim_die("no room for %u threads", block);
    signal(SIGALRM, shim_alarm);
    alarm(SHIM_SECONDS);
}

template <typename ARGS>
void shim_launch(void (*kernel)(ARGS), const ARGS &args, dim3 grid, unsigned block, size_t)
{
    shim_block only = {}, *list = &only;
    shim_prepare(kernel, grid, block);
    shim_make_block(&only, 0);
    only.args = &args;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                only.index = {x, y, z};
                shim_new_block(&only);
                while (only.ended < shim.n) {
                    shim_turn();
                    shim_judge(&list, only.ended < shim.n);
                }
            }
    shim_free_block(&only);
    shim.block = NULL;
    alarm(0);
}

template <typename ARGS>
void shim_launch_ranks(void (*kernel)(ARGS), const ARGS *args, unsigned ranks, dim3 grid,
                       unsigned block, size_t)
{
    const unsigned each = grid.x * grid.y * grid.z, n = ranks * each;
    shim_block *blocks = (shim_block *)calloc(n, sizeof *blocks);
    shim_prepare(kernel, grid, block);
    if (!blocks || n > SHIM_BLOCKS)
        shim_die("no room for %u blocks together", n);
    for (unsigned i = 0; i < n; i++) {
        const unsigned k = i % each;
        blocks[i].rank = i / each;
        blocks[i].args = &args[i / each];
        blocks[i].index = {k % grid.x, k / grid.x % grid.y, k / grid.x / grid.y};
    }
    shim_run_together(blocks, n);
    free(blocks);
    shim.block = NULL;
    alarm(0);
}

template <typename ARGS>
void shim_launch_together(void (*kernel)(ARGS), const ARGS &args, dim3 grid, unsigned block,
                          size_t shared)
{
    shim_launch_ranks(kernel, &args, 1, grid, block, shared);
}

#endif
