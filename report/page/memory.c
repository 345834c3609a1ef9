/* 1 MEMORY: how far each level is, and how wide. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/sections.h"

enum { SHARED, L1, L2, L2_FAR, HBM, DSMEM, FMA, CONSTANTS, SM_REGISTER, SM_SHARED, SM_L1, SM_DSMEM,
       SIDES };
const char *const memory_needs[] = {
    [SHARED] = "memory_latency.load{level=shared}",
    [L1] = "memory_latency.load{level=l1}",
    [L2] = "memory_latency.load{level=l2}",
    [L2_FAR] = "memory_map.load{level=l2,side=far}",
    [HBM] = "memory_latency.load{level=hbm}",
    [DSMEM] = "sm_to_sm.dsmem{size=*}",
    [FMA] = "instructions.latency{op=fma,type=fp32}",
    [CONSTANTS] = "memory_latency.constant{bytes=*,spacing=64}",
    [SM_REGISTER] = "bandwidth.sm_rate{level=register,op=read,*}",
    [SM_SHARED] = "bandwidth.sm_rate{level=shared,op=read,path=ld,*}",
    [SM_L1] = "bandwidth.sm_rate{level=l1,op=read,path=ld,*}",
    [SM_DSMEM] = "sm_to_sm_rate.stream_per_sm{op=read,size=2,active=all}",
    [SIDES] = "sm_to_sm.l2_sides",
    NULL,
};

static const struct column columns[] = {
    {NULL, "level", NULL, 'l'},      {NULL, "cycles", "", 'r'},
    {"one dependent load", "ns", "ns", 'r'}, {NULL, "loaded", "ns", 'r'},
    {"TB/s", "read", "TB/s", 'r'},   {NULL, "copy", "TB/s", 'r'},
    {"B/cycle", "an SM", "B/cycle", 'r'},    {NULL, "size", NULL, 'l'},
};

/* A line of the table; NULL or none: "-". */
struct level {
    const char *name;
    struct number cycles, ns, loaded, read, copy, per_sm, size;
    const char *after; /* the size */
};

static struct level level_new(const char *name)
{
    const struct number none = number_none();
    return (struct level){name, none, none, none, none, none, none, none, ""};
}

static void put(struct grid *grid, const struct level *level)
{
    if (!number_there(&level->cycles) && !number_there(&level->ns) && !number_there(&level->read))
        return;
    grid_text(grid, level->name);
    grid_number(grid, &level->cycles);
    grid_number(grid, &level->ns);
    grid_number(grid, &level->loaded);
    grid_number(grid, &level->read);
    grid_number(grid, &level->copy);
    grid_number(grid, &level->per_sm);
    if (number_there(&level->size))
        grid_number_with(grid, &level->size, level->after);
    else
        grid_text(grid, *level->after ? level->after : "-");
}

static struct number take(const struct summary *summary, int need)
{
    return summary_take(summary, memory_needs[need], PICK_FIRST);
}

/* Cycles as time, and a rate of all SMs as bytes a cycle of one, at the clock that spin
 * measured. */
static struct number in_ns(const struct summary *summary, const struct number *cycles)
{
    return number_formed(cycles->value * 1e3 / summary_clock_mhz(summary), "ns", cycles);
}

static struct number per_sm(const struct summary *summary, const struct number *rate)
{
    const double cycles = summary_sms(summary) * summary_clock_mhz(summary) * 1e6;
    return number_formed(rate->value / cycles, "bytes/cycle", rate);
}

static void put_registers(struct grid *grid, const struct summary *summary)
{
    struct level level = level_new("registers");
    level.cycles = take(summary, FMA);
    if (number_there(&level.cycles))
        level.name = "registers *"; /* a note says what was timed */
    level.ns = in_ns(summary, &level.cycles);
    level.read = summary_number(summary, "register-read");
    level.per_sm = take(summary, SM_REGISTER);
    put(grid, &level);
}

/* The nearest constant cache holds as many bytes as are read as fast as the fewest. */
static void put_constants(struct grid *grid, const struct summary *summary)
{
    struct level level = level_new("constants, nearest");
    const struct row *row;
    char bytes[24];
    double largest = NAN;

    for (size_t next = 0;
         (row = rows_match(&summary->bundle->rows, memory_needs[CONSTANTS], &next));) {
        if (!row_usable(row))
            continue;
        if (!number_there(&level.cycles) || row->centre < level.cycles.value)
            level.cycles = number_of(row);
        else if (row->centre > level.cycles.value)
            continue;
        if (row_key(row, "bytes", bytes, sizeof bytes))
            largest = fmax(largest, atof(bytes));
    }
    level.ns = in_ns(summary, &level.cycles);
    level.size = number_formed(largest, "bytes", &level.cycles);
    put(grid, &level);
}

/* Sizes of clusters whose SMs were read, the least and the largest. */
static const char *cluster_sizes(struct section *section, const struct summary *summary)
{
    const struct row *row;
    char size[16];
    int least = 0, most = 0;

    for (size_t next = 0; (row = rows_match(&summary->bundle->rows, memory_needs[DSMEM], &next));)
        if (row_usable(row) && row_key(row, "size", size, sizeof size)) {
            const int n = atoi(size);
            least = least == 0 || n < least ? n : least;
            most = n > most ? n : most;
        }
    return most > least ? section_text(section, "clusters of %d to %d", least, most) : "";
}

static void put_in_sm(struct section *section, struct grid *grid, const struct summary *summary)
{
    struct level shared = level_new("shared memory"), l1 = level_new("L1");
    struct level far = level_new("another SM's shared");

    shared.cycles = take(summary, SHARED);
    shared.ns = summary_number(summary, "shared-load");
    shared.read = summary_number(summary, "shared-read");
    shared.copy = summary_number(summary, "shared-copy");
    shared.per_sm = take(summary, SM_SHARED);
    put(grid, &shared);
    put_constants(grid, summary);
    l1.cycles = take(summary, L1);
    l1.ns = summary_number(summary, "l1-load");
    l1.read = summary_number(summary, "l1-read");
    l1.per_sm = take(summary, SM_L1);
    l1.size = summary_number(summary, "l1-size");
    put(grid, &l1);
    far.cycles = take(summary, DSMEM);
    far.ns = summary_number(summary, "dsmem-load");
    far.read = summary_number(summary, "dsmem-read");
    far.per_sm = take(summary, SM_DSMEM);
    far.after = cluster_sizes(section, summary);
    put(grid, &far);
}

static void put_l2(struct section *section, struct grid *grid, const struct summary *summary)
{
    const struct number sides = take(summary, SIDES), whole = summary_number(summary, "l2-size");
    const struct number stated = number_fact(summary_fact(summary, "l2_bytes"), "bytes");
    const bool is_split = number_there(&sides) && sides.value >= 2;
    struct level near = level_new(is_split ? "L2, near side" : "L2"),
                 far = level_new("L2, far side");
    const char *of = number_there(&stated)
                         ? section_text(section, " of %s", section_say(section, &stated, NULL))
                         : "";

    near.cycles = take(summary, L2);
    near.ns = summary_number(summary, "l2-load");
    near.loaded = summary_number(summary, "l2-loaded");
    near.read = summary_number(summary, "l2-read");
    near.copy = summary_number(summary, "l2-copy");
    near.per_sm = per_sm(summary, &near.read);
    near.size = is_split ? summary_number(summary, "l2-near-size") : whole;
    near.after = is_split ? "" : of;
    put(grid, &near);
    if (!is_split)
        return;
    far.cycles = take(summary, L2_FAR);
    far.ns = summary_number(summary, "l2-far-load");
    far.size = whole;
    far.after = section_text(section, " in all%s%s", *of ? "," : "", of);
    put(grid, &far);
}

static void put_memory(struct section *section, struct grid *grid, const struct summary *summary)
{
    struct level memory = level_new(summary_memory_name(summary)), host = level_new("host memory");
    const struct number pins = number_fact(summary_pins(summary), "bytes/s");
    struct number share;

    memory.cycles = take(summary, HBM);
    memory.ns = summary_number(summary, "hbm-load");
    memory.loaded = summary_number(summary, "hbm-loaded");
    memory.read = summary_number(summary, "hbm-read");
    memory.copy = summary_number(summary, "hbm-copy");
    memory.per_sm = per_sm(summary, &memory.read);
    memory.size = number_fact(summary_fact(summary, "memory_bytes"), "bytes");
    share = number_ratio(&memory.read, &pins);
    if (number_there(&share))
        memory.after = section_text(section, "; %.0f %% of the pins", 100 * share.value);
    put(grid, &memory);
    host.ns = summary_number(summary, "host-load");
    host.read = summary_number(summary, "host-read");
    host.after = "over the bus";
    put(grid, &host);
}

/* "A load takes 16.2 ns from L1, 141 from the L2, ...": of what was measured. */
static void find(struct section *section, const struct summary *summary)
{
    const struct number l1 = summary_number(summary, "l1-load");
    const struct number l2 = summary_number(summary, "l2-load");
    const struct number far = summary_number(summary, "hbm-load");
    const struct number loaded = summary_number(summary, "hbm-loaded");
    char a[48], b[48], c[48], d[48];

    if (!number_there(&l1) || !number_there(&l2) || !number_there(&far))
        return;
    section_rests(section, &l1);
    section_rests(section, &l2);
    section_rests(section, &far);
    section_rests(section, &loaded);
    section->finding = section_text(
        section, "A load takes %s ns from L1, %s from the L2, %s from %s%s%s%s.",
        number_cell(a, sizeof a, &l1, "ns"), number_cell(b, sizeof b, &l2, "ns"),
        number_cell(c, sizeof c, &far, "ns"), summary_memory_name(summary),
        number_there(&loaded) ? "; " : "",
        number_there(&loaded) ? number_cell(d, sizeof d, &loaded, "ns") : "",
        number_there(&loaded) ? " with all SMs streaming" : "");
}

void section_memory(const struct summary *summary, struct section *section)
{
    section->name = "memory";
    section->title = "MEMORY";
    struct grid *grid = section_grid(section, columns, sizeof columns / sizeof columns[0]);
    grid_span(grid, 1, 3);
    grid_span(grid, 4, 2);

    put_registers(grid, summary);
    put_in_sm(section, grid, summary);
    put_l2(section, grid, summary);
    put_memory(section, grid, summary);
    if (grid->n_cells == 0) {
        section_missing(section, summary, memory_needs[L1]);
        return;
    }
    find(section, summary);
    const struct number multiply_add = take(summary, FMA);
    section_note(section, "loaded: all other SMs stream.%s Beyond the SM quote ns, not cycles.",
                 number_there(&multiply_add) ? " * a dependent multiply-add." : "");
    section_doubts(section);
    section->claims = "C05 C06 C10 C11";
}
