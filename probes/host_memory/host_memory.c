/* host_memory: how long does one dependent load take on the CPU?
 *
 * Method. The pointer chase of probes/memory_latency on the host. One thread follows a ring of
 * absolute pointers, one in each 64-byte line, in pseudo-random order, for n and 2n steps; the
 * latency is the slope. The footprints: half of L1d and half of L2 as the system reports them; half
 * of the L3 but at most 16 MiB (a core may reach only its part of it); for DRAM four times the L3,
 * at most 512 MiB. Each chase continues where the last one stopped, so that no level profits from
 * lines just used.
 *
 * Inside the timed region: the loads, unrolled 16 times, and one counter per 16 loads.
 * Expected: 4 to 5 cycles of the CPU in L1, 12 to 16 in L2, 40 to 80 in L3; 80 to 150 ns in DRAM.
 * This is the host's half of every launch.
 *
 * Traps. Pages: the probe asks for transparent huge pages. Without them, DRAM includes TLB misses
 * (the case's facts tell). A virtual machine may hide its caches: a level that the system does not
 * report is left out, with a note. */
#include "core/probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/permute.h"

enum { LOAD_TIME };
static const struct probe_metric metrics[] = {
    [LOAD_TIME] = {"load_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall",
        .keys = "level", .what = "dependent load of the CPU from this level"},
};

enum {
    LINE = 64,
    UNROLL = 16,
    STEPS = 1 << 14, /* 60 us in L1, 1.5 ms in DRAM */
    L3_MAX = 16 << 20,
    DRAM_MAX = 512 << 20,
    DRAM_MIN = 64 << 20,
};

struct ring {
    void **at;
    char *memory;
    size_t bytes;
    bool huge;
};

static struct ring ring_of(struct probe_run *r, size_t bytes)
{
    size_t lines = bytes / LINE, huge_page = 2 << 20;
    size_t room = (bytes + huge_page - 1) / huge_page * huge_page;
    struct permutation order = permutation_of(lines, probe_seed(r) + lines);
    struct ring ring = {.bytes = room};

    if (posix_memalign((void **)&ring.memory, huge_page, room))
        probe_fail(r, "out of host memory (%zu bytes)", room);
    ring.huge = madvise(ring.memory, room, MADV_HUGEPAGE) == 0;
    memset(ring.memory, 0, room);
    char *first = ring.memory + permute(order, 0) * LINE, *line = first;
    for (size_t i = 1; i <= lines; i++) {
        char *next = i < lines ? ring.memory + permute(order, i) * LINE : first;
        *(void **)(void *)line = next;
        line = next;
    }
    ring.at = (void **)(void *)first;
    return ring;
}

/* Walks every line once, back to the start. */
static void check_ring(struct probe_run *r, const struct ring *ring, size_t lines)
{
    void **at = ring->at;
    size_t steps = 0;
    do {
        at = *at;
        steps++;
    } while (at != ring->at && steps <= lines);
    probe_require(r, steps == lines, "the ring of %zu lines visits every line once", lines);
}

static void **chase(void **at, size_t steps)
{
    for (size_t i = 0; i < steps / UNROLL; i++) {
        at = *at, at = *at, at = *at, at = *at;
        at = *at, at = *at, at = *at, at = *at;
        at = *at, at = *at, at = *at, at = *at;
        at = *at, at = *at, at = *at, at = *at;
    }
    return at;
}

static void measure_level(struct probe_run *r, const char *level, size_t bytes)
{
    /* The levels behind the first are a curve. */
    if (!probe_begin_case(r, strcmp(level, "l1") ? PROBE_THRICE : 0, "level=%s", level))
        return;
    struct ring ring = ring_of(r, bytes);
    if (bytes <= 1 << 20)
        check_ring(r, &ring, bytes / LINE);

    while (probe_more(r))
        for (size_t n = STEPS; n <= 2 * STEPS; n += STEPS) {
            void **at = ring.at;
            uint64_t t0 = probe_host_ns();

            at = chase(at, n);
            __asm__ volatile("" : "+r"(at)::"memory"); /* the last pointer is needed here */

            probe_sample(r, LOAD_TIME, (double)n, (double)(probe_host_ns() - t0));
            ring.at = at;
        }
    probe_fact(r, "footprint_bytes", "%zu", bytes);
    probe_fact(r, "huge_pages", "%s", ring.huge ? "asked for" : "refused");
    free(ring.memory);
}

static void measure(struct probe_run *r)
{
    static const struct {
        const char *level;
        int name;
    } caches[] = {{"l1", _SC_LEVEL1_DCACHE_SIZE},
                  {"l2", _SC_LEVEL2_CACHE_SIZE},
                  {"l3", _SC_LEVEL3_CACHE_SIZE}};
    long widest = 0;

    for (size_t i = 0; i < PROBE_LENGTH(caches); i++) {
        long bytes = sysconf(caches[i].name);
        size_t ring = bytes > 2 * L3_MAX ? L3_MAX : (size_t)bytes / 2;
        if (bytes > widest)
            measure_level(r, caches[i].level, ring / LINE * LINE);
        else
            probe_note(r, "this system reports no %s cache of the CPU", caches[i].level);
        widest = bytes > widest ? bytes : widest;
    }
    /* An Arm system may report no cache at all. */
    size_t dram = widest ? 4 * (size_t)widest : DRAM_MAX;
    dram = dram > DRAM_MAX ? DRAM_MAX : dram < DRAM_MIN ? DRAM_MIN : dram;
    measure_level(r, "dram", dram);
    if (dram < 2 * (size_t)widest)
        probe_note(r, "dram: %zu bytes are less than twice the L3", dram);
}

const struct probe probe = {
    .name = "host_memory",
    .what = "How long does one dependent load take on the CPU, from each level of its memory?",
    .method = 1,
    .needs = PROBE_HOST,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
