/* What some kernels of links/ do, on the CPU: ranks are processes, and wait for each other in
 * memory that they share. One that waits runs in a thread, as it would on a GPU: else its host
 * could not ask the other ranks for theirs. See stand_in.h. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "links/common/meeting.h"
#include "links/signal/args.h"
#include "tests/faults/stand_in.h"

static const uint64_t PATIENCE_NS = 5000000000u;
static const double GHZ = 1.98;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* False if it took too long. */
static bool wait_for(const uint32_t *word, uint32_t number)
{
    const uint64_t until = now_ns() + PATIENCE_NS;
    while ((int32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - number) < 0)
        if (sched_yield() != 0 || now_ns() > until)
            return false;
    return true;
}

static void meet(const void *args)
{
    const struct links_meeting *m = &((const struct meet_args *)args)->meeting;
    for (uint32_t k = 0; k < m->ranks; k++)
        if (k != m->rank)
            __atomic_store_n(m->theirs[k], m->number, __ATOMIC_RELEASE);
    for (uint32_t k = 0; k < m->ranks; k++)
        if (k != m->rank && !wait_for(m->inbox + k * LINKS_APART / sizeof *m->inbox, m->number))
            *m->late = 1;
}

static uint32_t word_at(uint64_t i, uint64_t seed)
{
    return (uint32_t)((i + 1) * 2654435761u + seed * 40503u);
}

static void meet_write(const void *args)
{
    const struct meet_words_args *a = args;
    for (uint64_t i = 0; i < a->n; i++)
        a->words[i] = word_at(i, a->seed);
    if (a->n > 0 && stand_in_loss(a->words) == STAND_IN_WORD)
        a->words[a->n - 1] ^= 1;
}

static void meet_count(const void *args)
{
    const struct meet_words_args *a = args;
    const bool loads = stand_in_loss(a->words) != STAND_IN_LOADS;
    for (uint64_t i = 0; i < a->n; i++)
        *a->wrong += (loads ? a->words[i] : 0) != word_at(i, a->seed);
}

/* --- the token -------------------------------------------------------------------------------- */

/* A turn of the ring and a barrier take so long, whatever the host does meanwhile; HASTY_NS where
 * nobody waits. */
enum { TURN_NS = 1400, CROSSING_NS = 800, HASTY_NS = 300 };
static uint64_t passed_ns = 1000000000;

static struct harness_stamp stamp(void)
{
    return (struct harness_stamp){(uint64_t)(GHZ * (double)passed_ns), passed_ns};
}

static void send(struct signal_box *next, uint32_t number, uint32_t value)
{
    next->value = value;
    __atomic_store_n(&next->packet, (uint64_t)number << 32 | value, __ATOMIC_RELEASE);
    __atomic_store_n(&next->flag, number, __ATOMIC_RELEASE);
}

/* Who waited in vain tells all, and nobody waits any more. */
static void wait_of_team(const struct team *team, const uint32_t *word, uint32_t number,
                         uint32_t awaited)
{
    if (__atomic_load_n(&team->mine->lost, __ATOMIC_ACQUIRE) || wait_for(word, number))
        return;
    for (uint32_t k = 0; k < team->ranks; k++)
        __atomic_store_n(&team->state[k]->lost, TEAM_LOST + team->rank * 256 + awaited,
                         __ATOMIC_RELEASE);
}

/* The kernel that waits, or did last. */
static struct {
    pthread_t thread;
    bool runs;
    void (*run)(const void *);
    char name[128], args[256];
} waiting;

/* STAND_IN_HASTY=signal_ring: kernels whose names begin so wait for nobody. */
static bool is_hasty(void)
{
    const char *names = getenv("STAND_IN_HASTY");
    return names && !strncmp(waiting.name, names, strlen(names));
}

static uint32_t turns(const struct ring_args *a, uint32_t *number, uint32_t value, uint32_t n)
{
    const bool hasty = is_hasty();

    for (uint32_t i = 0; i < n; i++) {
        ++*number;
        if (!hasty)
            wait_of_team(&a->team, &a->mine->flag, *number, a->awaited);
        value = (uint32_t)a->mine->packet;
        send(a->next, *number + a->leads, value + 1);
        passed_ns += hasty ? HASTY_NS : TURN_NS;
    }
    return value;
}

static void ring(const void *args)
{
    const struct ring_args *a = args;
    uint32_t number = a->first, value = 0;

    if (a->leads)
        send(a->next, number + 1, 1);
    const struct harness_stamp lead = stamp();
    value = turns(a, &number, value, SIGNAL_WARM);
    const struct harness_stamp first = stamp();
    value = turns(a, &number, value, a->turns);
    const struct harness_stamp second = stamp();
    value = turns(a, &number, value, 2 * a->turns);
    const struct harness_stamp tail = stamp();
    *a->result = (struct signal_result){lead, tail, second.cycles - first.cycles,
                                        tail.cycles - second.cycles, value, 0};
}

/* --- barriers --------------------------------------------------------------------------------- */

void stand_in_cross(const struct team *team)
{
    const uint32_t number = team->mine->inbox[team->rank] + 1;
    for (uint32_t k = 0; k < team->ranks; k++)
        __atomic_store_n(&team->state[k]->inbox[team->rank], number, __ATOMIC_RELEASE);
    for (uint32_t k = 0; k < team->ranks; k++)
        wait_of_team(team, &team->mine->inbox[k], number, k);
}

static void crossings(const struct barrier_args *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        stand_in_cross(&a->team);
        passed_ns += is_hasty() ? HASTY_NS : CROSSING_NS;
    }
}

static void barrier(const void *args)
{
    const struct barrier_args *a = args;
    const struct harness_stamp lead = stamp();
    crossings(a, SIGNAL_WARM);
    const struct harness_stamp first = stamp();
    crossings(a, a->rounds);
    const struct harness_stamp second = stamp();
    crossings(a, 2 * a->rounds);
    const struct harness_stamp tail = stamp();
    *a->result = (struct signal_result){lead, tail, second.cycles - first.cycles,
                                        tail.cycles - second.cycles, 0, 0};
}

/* --- all of them ------------------------------------------------------------------------------ */

static void node(const void *args)
{
    stand_in_node(waiting.name, args);
}

static void *wait_in_thread(void *nothing)
{
    waiting.run(waiting.args);
    return nothing;
}

void stand_in_links_wait(void)
{
    if (waiting.runs)
        pthread_join(waiting.thread, NULL);
    waiting.runs = false;
}

static void run_waiting(const struct stand_in_kernel *kernel, void (*run)(const void *),
                        const void *args)
{
    waiting.run = run;
    memcpy(waiting.name, kernel->name, sizeof waiting.name);
    memcpy(waiting.args, args, kernel->args_size);
    waiting.runs = pthread_create(&waiting.thread, NULL, wait_in_thread, NULL) == 0;
}

void stand_in_links(const struct stand_in_kernel *kernel, const void *args)
{
    static const struct {
        const char *name;
        void (*run)(const void *);
        bool waits;
    } known[] = {{"meet", meet, true},
                 {"meet_write", meet_write, false},
                 {"meet_count", meet_count, false},
                 {"signal_ring_relaxed", ring, true},
                 {"signal_ring_acquire", ring, true},
                 {"signal_ring_packet", ring, true},
                 {"signal_barrier_block", barrier, true},
                 {"signal_barrier_grid", barrier, true},
                 {"signal_barrier_block_ordered", barrier, true},
                 {"signal_barrier_grid_ordered", barrier, true}};
    size_t i = 0;

    while (i < sizeof known / sizeof known[0] && strcmp(known[i].name, kernel->name))
        i++;
    if (i == sizeof known / sizeof known[0]) {
        if (stand_in_is_node(kernel->name))
            run_waiting(kernel, node, args);
        return;
    }
    if (known[i].waits)
        run_waiting(kernel, known[i].run, args);
    else
        known[i].run(args);
}
