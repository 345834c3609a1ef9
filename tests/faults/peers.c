/* What kernels of links/peer_memory do, on the CPU: rings in another process's memory are walked, a
 * word there is stored. A load takes 850 ns, a store and a fence 900. STAND_IN_PEER_MEMORY=deaf: no
 * store behind the first launch of fences arrives. =slow: who stores meanwhile gives up. =asleep:
 * 64 loads of the second GPU, and of one SM of the first, take no longer than 32. =astray: the
 * chase of one SM ends elsewhere. See stand_in.h. */
#include <stdlib.h>
#include <string.h>

#include "links/peer_memory/args.h"
#include "tests/faults/stand_in.h"

enum { LOAD_NS = 850, FENCE_NS = 900, STORED_NS = 5000000, ONE_SM = 5 };
static const double GHZ = 1.98;
static uint64_t passed_ns = 1000000000;

static bool is(const char *state)
{
    const char *text = getenv("STAND_IN_PEER_MEMORY");
    return text && !strcmp(text, state);
}

static struct harness_stamp stamp(void)
{
    return (struct harness_stamp){(uint64_t)(GHZ * (double)passed_ns), passed_ns};
}

static struct chase_sample sample(double ns, bool asleep)
{
    const uint64_t few = (uint64_t)(GHZ * ns * CHASE_SHORT), many = 2 * few;
    return asleep ? (struct chase_sample){many, many - 1} : (struct chase_sample){few, many};
}

static void ring(const void *args)
{
    const struct ring_args *a = args;
    for (uint64_t i = 0; i < a->order.n; i++)
        *(uint64_t *)(void *)(a->ring + permute(a->order, i) * CHASE_SPACING) =
            a->base + permute(a->order, (i + 1) % a->order.n) * CHASE_SPACING;
}

static uint64_t walk(const char *ring, struct permutation order, uint64_t skip, uint64_t steps)
{
    uint64_t at = (uint64_t)(uintptr_t)ring + permute(order, skip) * CHASE_SPACING;
    for (uint64_t i = 0; i < steps; i++)
        at = *(const uint64_t *)(uintptr_t)at;
    passed_ns += steps * LOAD_NS;
    return at;
}

static void load(const void *args)
{
    const struct chase_args *a = args;
    const struct harness_stamp lead = stamp();
    int device = 0;
    cudaGetDevice(&device);
    const uint64_t end = walk(a->ring, a->order, a->skip, (uint64_t)a->repeats * CHASE_LOADS);
    for (uint32_t i = 0; i < a->repeats; i++)
        a->out->samples[i] = sample(LOAD_NS, device == 1 && is("asleep"));
    a->out->result = (struct chase_result){lead, stamp(), end, 0};
}

static void map(const void *args)
{
    const struct map_args *a = args;
    for (uint32_t sm = 0; sm < STAND_IN_SMS; sm++) {
        const struct harness_stamp lead = stamp();
        const bool one = sm == ONE_SM;
        const uint64_t end = walk(a->ring, a->order, 0, CHASE_LOADS + (one && is("astray")));
        a->out[sm].sample = sample(LOAD_NS, one && is("asleep"));
        a->out[sm].result = (struct chase_result){lead, stamp(), end, sm};
    }
}

static void fence(const void *args)
{
    const struct fence_args *a = args;
    const uint64_t n = (uint64_t)a->repeats * CHASE_LOADS;
    const struct harness_stamp lead = stamp();
    if (a->number == 1 || !is("deaf"))
        *a->word = n;
    passed_ns += n * FENCE_NS;
    for (uint32_t i = 0; i < a->repeats; i++)
        a->out->samples[i] = sample(FENCE_NS, false);
    for (uint32_t i = 1; i <= a->others; i++)
        a->stored[i] = (struct fence_stored){
            FENCE_PIECE, i == a->others && is("slow") ? a->budget_ns : STORED_NS};
    a->out->result = (struct chase_result){lead, stamp(), n, 0};
}

void stand_in_peers(const struct stand_in_kernel *kernel, const void *args)
{
    static const struct {
        const char *name;
        void (*run)(const void *);
    } known[] = {{"peer_memory_ring", ring},           {"peer_memory_load", load},
                 {"peer_memory_atomic", load},         {"peer_memory_map", map},
                 {"peer_memory_fence_gpu", fence},     {"peer_memory_fence_sys", fence}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(known[i].name, kernel->name))
            known[i].run(args);
}
