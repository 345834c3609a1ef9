/* memory_map: lines drawn at random, rings through them, chases along these, and pairs of loads. */
#include "probes/memory_map/memory_map.h"

#include "core/gpu.h"
#include "core/permute.h"

/* `turn` is a field of args. */
static void take_turn(struct probe_run *r, struct mapper *m, enum kernel kernel,
                      struct map_turn *turn, uint32_t sm, const void *args)
{
    *turn = (struct map_turn){.claim = m->claim, .sm = sm, .result = m->result};
    chase_launch(r, m->kernel[kernel], 32, args, &turn->ticket, &m->ticket, m->result);
}

void map_draw(struct probe_run *r, struct mapper *m, size_t room, size_t n, size_t stride,
              bool inside)
{
    uint64_t seed = probe_seed(r) + ++m->drawn;
    struct permutation order = permutation_of(n, seed);
    uint64_t first = permute_round(n, seed, INT64_MAX) % (room / stride - n + 1);

    for (size_t i = 0; i < n; i++) {
        uint64_t at = first + permute(order, i), random = permute_round(at, seed, UINT32_MAX);
        m->line[i] = (uint64_t)(uintptr_t)m->memory + at * stride;
        if (inside)
            m->line[i] += random % (stride / LINE) * LINE;
    }
}

void map_link_lines(struct probe_run *r, struct mapper *m, const uint64_t *line, size_t n,
                    bool ring)
{
    struct map_link_args a = {.line = m->lists[0], .next = m->lists[1], .n = n};
    for (size_t i = 0; i < n; i++)
        m->next[i] = ring ? line[(i + 1) % n] : line[i];
    gpu_to_device(r, m->lists[0], line, n * sizeof *line);
    gpu_to_device(r, m->lists[1], m->next, n * sizeof *line);
    gpu_launch(r, m->link, (unsigned)gpu_facts(r)->n_sm, 256, 0, &a);
}

void map_chase(struct probe_run *r, struct mapper *m, enum kernel kernel, uint32_t sm,
               const uint64_t *start, size_t n, uint64_t warm, uint32_t repeats, uint64_t end)
{
    struct map_chase_args a = {
        .start = m->lists[0], .n = n, .warm = warm, .samples = m->samples, .repeats = repeats};

    gpu_to_device(r, m->lists[0], start, n * sizeof *start);
    take_turn(r, m, kernel, &a.turn, sm, &a);
    gpu_to_host(r, m->copied, m->samples, n * repeats * sizeof *m->copied);
    m->strayed += m->result->end != end;
}

void map_walk(struct probe_run *r, struct mapper *m, enum kernel kernel, const uint64_t *line,
              size_t n, uint64_t warm, uint32_t repeats)
{
    map_chase(r, m, kernel, SM, line, 1, warm, repeats, line[(warm + repeats * CHASE_LOADS) % n]);
}

void map_check_ends(struct probe_run *r, struct mapper *m)
{
    probe_require(r, m->strayed == 0, "%llu chases of the case ended somewhere else than expected",
                  (unsigned long long)m->strayed);
    m->strayed = 0;
}

void map_ask(struct probe_run *r, struct mapper *m, enum kernel kernel,
             const struct map_pair *pairs, size_t n, double *cycles)
{
    struct map_pair_args a = {.pairs = (void *)m->lists[0], .n = n, .cycles = m->cycles};

    gpu_to_device(r, m->lists[0], pairs, n * sizeof *pairs);
    take_turn(r, m, kernel, &a.turn, SM, &a);
    gpu_to_host(r, m->next, m->cycles, n * sizeof *m->cycles);
    for (size_t i = 0; i < n; i++)
        cycles[i] = (double)m->next[i];
}
