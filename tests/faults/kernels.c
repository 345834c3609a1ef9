/* What a few kernels do, on the CPU, and how long a GPU would take; see stand_in.h. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/device/harness.h"
#include "core/device/host_clock.h"
#include "core/device/sides.h"
#include "probes/deadlock/args.h"
#include "probes/graphs/args.h"
#include "probes/instructions/args.h"
#include "probes/jitter/args.h"
#include "probes/spin/args.h"
#include "probes/timers/args.h"
#include "tests/faults/stand_in.h"

enum { LAUNCH_NS = 2000, STREAM_HOLDS = 1000 };

uint64_t stand_in_now_ns = 1000000000;

/* The SM clock; STAND_IN_MHZ locks it. */
static double ghz(void)
{
    const char *mhz = getenv("STAND_IN_MHZ");
    return mhz ? atof(mhz) / 1e3 : 1.98;
}

static const double FALLEN_GHZ = 1.5;
static uint64_t falls_ns = UINT64_MAX; /* from when on it is that: the power limit */

static double ghz_now(void)
{
    return stand_in_now_ns >= falls_ns ? FALLEN_GHZ : ghz();
}

static uint64_t idle_ns; /* spent at gates, where the clock is twice as fast */

static uint64_t cycles_at(uint64_t ns)
{
    const double slow_ns = ns > falls_ns ? (double)(ns - falls_ns) : 0;
    return (uint64_t)(ghz() * ((double)ns - slow_ns + (double)idle_ns) + FALLEN_GHZ * slow_ns);
}

static uint64_t host_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- kernels of the harness ------------------------------------------------------------------- */

static void tick(const void *args)
{
    const struct harness_tick_args *a = args;
    *a->out = 32;
    stand_in_now_ns += a->ns;
}

static void warm(const void *args)
{
    stand_in_now_ns += ((const struct harness_warm_args *)args)->ns;
}

static void stamp(const void *args)
{
    const struct harness_stamp_args *a = args;
    const char *falls = getenv("STAND_IN_FALLS"); /* at which of these kernels */
    static long n;
    if (falls && ++n == atol(falls))
        falls_ns = stand_in_now_ns;
    for (uint64_t i = 0; i < a->n_sm; i++)
        a->out[i] = (struct harness_stamp){cycles_at(stand_in_now_ns), stand_in_now_ns};
}

/* Every other SM is on one side; a word's home is as core/sides.h says. */
static void ask_sides(const void *args)
{
    enum { MASK = 0x2d, NEAR = 640, FAR = 860 };
    const struct sides_ask_args *a = args;
    for (uint32_t i = 0; i < a->n; i++) {
        const uint64_t at = (uint64_t)a->word[i], page = at >> SIDES_PAGE_BITS;
        const uint64_t bits = ((at >> SIDES_BOTH_BITS) & MASK) ^ page ^ (at / SIDES_PIECE & 1) << 8;
        const uint32_t home = __builtin_parityll(bits);
        for (uint32_t sm = 0; a->by_sm && sm < STAND_IN_SMS; sm++)
            a->cycles[sm * a->n + i] = home == sm % 2 ? NEAR : FAR;
        if (a->by_sm)
            continue;
        a->sm[i] = i % STAND_IN_SMS;
        a->cycles[i] = home == a->sm[i] % 2 ? NEAR : FAR;
    }
}

/* Besides deadlock's holder the only kernel that talks with the host while it runs. */
static pthread_t answerer;
static bool answering;
static uint64_t busy_until; /* by the host's clock */
static struct host_clock_handshake_args questions;

static uint64_t timer_minus_host = 12345;

static uint64_t timer_now(void)
{
    return host_ns() + timer_minus_host;
}

/* It sleeps between its looks: a thread that wakes comes before those that spin, as the host
 * does. */
static void *answer(void *nothing)
{
    const uint64_t until = host_ns() + questions.budget_ns;
    for (uint32_t round = 1; round <= questions.rounds && host_ns() < until; round++) {
        while (*(volatile const uint32_t *)questions.asked != round && host_ns() < until)
            usleep(20);
        *(volatile uint64_t *)questions.answer = timer_now();
    }
    return nothing;
}

/* A gate at which the stream waits; the host may queue behind it, and must not wait behind it. */
static struct host_clock_gate_args gate;
static int queued; /* behind it */

static bool is_closed(void)
{
    return gate.gate && *(volatile uint32_t *)gate.gate != gate.ticket;
}

void stand_in_wait_at_gate(void)
{
    if (is_closed()) {
        stand_in_now_ns += gate.budget_ns;
        gate.gate[1] = gate.ticket;
    }
    gate.gate = NULL;
}

static void close_gate(const void *args)
{
    const char *ns = getenv("STAND_IN_GATE_NS");
    memcpy(&gate, args, sizeof gate);
    queued = 0;
    idle_ns += ns ? strtoull(ns, NULL, 10) : 0;
    stand_in_now_ns += ns ? strtoull(ns, NULL, 10) : 0;
    const char *late = getenv("STAND_IN_LATE_GATE");
    static long n;
    if (getenv("STAND_IN_BLOCKING") || (late && ++n == atol(late)))
        stand_in_wait_at_gate();
}

void stand_in_submit(void)
{
    const char *ns = getenv("STAND_IN_SUBMIT_NS");
    if (is_closed() && ++queued > STREAM_HOLDS)
        stand_in_wait_at_gate();
    if (ns && !is_closed())
        stand_in_now_ns += strtoull(ns, NULL, 10);
}

static void handshake(const void *args)
{
    stand_in_wait();
    memcpy(&questions, args, sizeof questions);
    answering = pthread_create(&answerer, NULL, answer, NULL) == 0;
}

void stand_in_wait(void)
{
    stand_in_wait_at_gate();
    stand_in_links_wait();
    if (answering)
        pthread_join(answerer, NULL);
    answering = false;
    while (host_ns() < busy_until)
        usleep(1000);
}

/* --- kernels of probes ------------------------------------------------------------------------ */

/* STAND_IN_WAIT_FALLS=CYCLES:NTH: the clock falls when the nth wait of so many cycles begins. */
static void fall_at_wait(uint64_t cycles)
{
    const char *falls = getenv("STAND_IN_WAIT_FALLS");
    unsigned long long at, nth;
    static unsigned long long n;
    if (falls && sscanf(falls, "%llu:%llu", &at, &nth) == 2 && cycles == at && ++n == nth)
        falls_ns = stand_in_now_ns;
}

static void spin(const void *args)
{
    const struct spin_args *a = args;
    fall_at_wait(a->asked);
    const struct harness_stamp before = {cycles_at(stand_in_now_ns), stand_in_now_ns};
    stand_in_now_ns += (uint64_t)((double)a->asked / ghz_now());
    if (a->result)
        *a->result = (struct spin_result){
            .cycles = a->asked + 17, .lead = before,
            .tail = {cycles_at(stand_in_now_ns), stand_in_now_ns}};
    stand_in_now_ns -= LAUNCH_NS; /* held back by a gate, it is there when its turn comes */
}

/* All of instructions_throughput_*. STAND_IN_STALL=NTH:NS: the host comes so late with the nth
 * launch of those that events time, whose witness is block 0. */
static void throughput(const void *args)
{
    enum { CYCLES_A_TURN = 1000 };
    const struct instructions_args *a = args;
    const char *stall = getenv("STAND_IN_STALL");
    unsigned long long nth, ns;
    static unsigned long long n;
    if (a->witness == 0 && stall && sscanf(stall, "%llu:%llu", &nth, &ns) == 2 && ++n == nth)
        stand_in_now_ns += ns;
    for (uint32_t i = 0; i < STAND_IN_SMS; i++)
        a->cycles[i] = (uint64_t)CYCLES_A_TURN * a->turns;
    stand_in_now_ns += (uint64_t)(CYCLES_A_TURN * a->turns / ghz_now());
}

/* The holder's blocks are all there a millisecond after its launch. STAND_IN_HOLDS="LOADS LATE
 * WAITS": it takes so many us to load the kernel, after its launch the host is so many us late, and
 * the next kernel waits for it, or does not. */
static uint64_t held_until, there_at;

static void holds(int *loads_us, int *late_us, int *waits)
{
    const char *text = getenv("STAND_IN_HOLDS");
    *loads_us = *late_us = 0, *waits = 1;
    if (text)
        sscanf(text, "%d %d %d", loads_us, late_us, waits);
}

static void *come(void *held)
{
    while (host_ns() < there_at)
        usleep(200);
    *(volatile uint32_t *)held = STAND_IN_SMS / 2;
    return NULL;
}

static void hold(const void *args)
{
    const struct hold_args *a = args;
    int loads_us, late_us, waits;
    holds(&loads_us, &late_us, &waits);
    stand_in_wait();
    there_at = host_ns() + 1000 * (uint64_t)loads_us + 1000000;
    answering = pthread_create(&answerer, NULL, come, a->held) == 0;
    usleep((useconds_t)loads_us);
    held_until = host_ns() + a->ns;
    usleep((useconds_t)late_us);
}

static void wait_for_holder(const void *nothing)
{
    int loads_us, late_us, waits;
    (void)nothing;
    holds(&loads_us, &late_us, &waits);
    busy_until = waits ? held_until : 0;
}

static uint64_t ns_of(const char *name)
{
    const char *text = getenv(name);
    return (uint64_t)(text ? atoll(text) : 0);
}

/* One block. Its stamps are STAND_IN_OFF_NS late, and behind it the two clocks are
 * STAND_IN_DRIFT_NS further apart. */
static void item(const void *args)
{
    const struct item_args *a = args;
    const uint64_t late = ns_of("STAND_IN_OFF_NS"), begin = timer_now();
    uint64_t end = begin;
    while (end - begin < a->work_ns)
        end = timer_now();
    *a->stamps = (struct stamp){begin + late, end + late};
    timer_minus_host += ns_of("STAND_IN_DRIFT_NS");
}

static void reads(const void *args)
{
    *((const struct reads_args *)args)->out = 2 * TIMERS_READS;
}

static void skew(const void *args)
{
    const struct skew_args *a = args;
    for (uint32_t i = 1; i < a->n_sm; i++) {
        a->offset[i] = i % 3;
        a->round_trip[i] = 900;
    }
}

static void add(const void *args)
{
    const struct graphs_args *a = args;
    *a->sum += a->amount;
}

void stand_in_run(const struct stand_in_kernel *kernel, const void *args)
{
    static const struct {
        const char *name;
        void (*run)(const void *);
    } known[] = {{"harness_tick", tick},   {"harness_warm", warm}, {"harness_stamp", stamp},
                 {"host_clock_handshake", handshake},              {"spin_wait", spin},
                 {"host_clock_gate", close_gate},
                 {"deadlock_hold", hold},  {"deadlock_spin", wait_for_holder},
                 {"jitter_item", item},
                 {"sides_ask", ask_sides},
                 {"timers_reads", reads},  {"timers_skew", skew},  {"graphs_add", add}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(known[i].name, kernel->name))
            known[i].run(args);
    if (!strncmp(kernel->name, "instructions_throughput_", strlen("instructions_throughput_")))
        throughput(args);
    stand_in_fill(kernel, args);
    stand_in_peers(kernel, args);
    stand_in_links(kernel, args);
    stand_in_now_ns += LAUNCH_NS;
}

/* --- what a fatbin says of a kernel ----------------------------------------------------------- */

/* An attribute is a format, a name, and two bytes: its value, or for format 4 the size of what
 * follows. A parameter's size stands in the upper 14 bits of its third word; for one that is
 * larger, the size of all parameters together stands in for it. */
static long size_in_info(const unsigned char *info, uint64_t bytes)
{
    enum { BLOCK = 4, PARAMETER = 0x17, ALL_PARAMETERS = 0x19 };
    long all = -1;
    for (uint64_t at = 0; at + 4 <= bytes;) {
        uint16_t value;
        uint32_t word;
        memcpy(&value, info + at + 2, sizeof value);
        memcpy(&word, info + at + 12, sizeof word);
        if (info[at] == BLOCK && info[at + 1] == PARAMETER)
            return word >> 18;
        if (info[at] != BLOCK && info[at + 1] == ALL_PARAMETERS)
            all = value;
        at += 4 + (info[at] == BLOCK ? value : 0u);
    }
    return all;
}

/* Looks in one cubin for the section .nv.info.KERNEL. */
static long size_in_cubin(const unsigned char *elf, const char *kernel)
{
    static const char prefix[] = ".nv.info.";
    uint64_t sections, names, at, bytes;
    uint16_t n, of_names;
    uint32_t name;

    memcpy(&sections, elf + 40, 8);
    memcpy(&n, elf + 60, 2);
    memcpy(&of_names, elf + 62, 2);
    memcpy(&names, elf + sections + 64u * of_names + 24, 8);
    for (uint16_t i = 0; i < n; i++) {
        const unsigned char *section = elf + sections + 64u * i;
        memcpy(&name, section, 4);
        memcpy(&at, section + 24, 8);
        memcpy(&bytes, section + 32, 8);
        const char *text = (const char *)elf + names + name;
        if (!strncmp(text, prefix, sizeof prefix - 1) && !strcmp(text + sizeof prefix - 1, kernel))
            return size_in_info(elf + at, bytes);
    }
    return -1;
}

/* The header of a fatbin says how much follows it; so does that of each cubin in it. */
long stand_in_args_size(const void *fatbin, const char *kernel)
{
    const unsigned char *bytes = fatbin;
    uint64_t whole, size;
    uint32_t header, architecture;

    memcpy(&whole, bytes + 8, 8);
    for (uint64_t at = 16; at < 16 + whole; at += header + size) {
        memcpy(&header, bytes + at + 4, 4);
        memcpy(&size, bytes + at + 8, 8);
        memcpy(&architecture, bytes + at + 28, 4);
        if (architecture == 90)
            return size_in_cubin(bytes + at + header, kernel);
    }
    return -1;
}
