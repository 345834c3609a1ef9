#include "fused/decoder_layer/where.h"

#include <math.h>

#include "core/stat.h"

const char *const decoder_part_names[DECODER_PARTS] = {"weights", "activations", "waiting", "tail"};
const char *const decoder_step_names[DECODER_STEPS] = {"qkv", "attention", "merge",
                                                       "o",   "gate_up",   "down"};

struct stamps {
    const struct decoder_problem *p;
    const uint64_t *of;
    uint32_t layers;
    double ns; /* of a cycle */
};

static double at(const struct stamps *s, uint32_t layer, int step, uint32_t block,
                 enum decoder_stamp what)
{
    return s->ns *
           (double)
               s->of[(((uint64_t)layer * DECODER_STEPS + (uint64_t)step) * s->p->blocks + block) *
                         DECODER_STAMPS +
                     what];
}

/* ns from one moment of a block to a later one; the clock's size would cost digits. */
static double from_to(const struct stamps *s, uint32_t layer, int step, uint32_t block,
                      enum decoder_stamp from, enum decoder_stamp to)
{
    const uint64_t *of =
        s->of + (((uint64_t)layer * DECODER_STEPS + (uint64_t)step) * s->p->blocks + block) *
                    DECODER_STAMPS;
    return s->ns * (double)(of[to] - of[from]);
}

static bool is_absent(const struct stamps *s, int step)
{
    return step == DECODER_STEP_MERGE && s->p->splits == 1;
}

/* ns until the block's next step begins. */
static double gap(const struct stamps *s, uint32_t layer, int step, uint32_t block)
{
    const uint32_t then = step == DECODER_STEP_DOWN ? layer + 1 : layer;
    int next = (step + 1) % DECODER_STEPS;
    if (is_absent(s, next))
        next++;
    const uint64_t *of = s->of, blocks = s->p->blocks;
    return s->ns *
           (double)(of[((then * (uint64_t)DECODER_STEPS + (uint64_t)next) * blocks + block) *
                           DECODER_STAMPS +
                       DECODER_BEGUN] -
                    of[((layer * (uint64_t)DECODER_STEPS + (uint64_t)step) * blocks + block) *
                           DECODER_STAMPS +
                       DECODER_PUBLISHED]);
}

/* The quickest of the first `blocks`. */
static double quickest(const struct stamps *s, uint32_t layer, int step, uint32_t blocks,
                       enum decoder_stamp from, enum decoder_stamp to)
{
    double least = INFINITY;
    for (uint32_t block = 0; block < blocks; block++)
        least = fmin(least, from_to(s, layer, step, block, from, to));
    return least;
}

static bool polls(int step)
{
    return step == DECODER_STEP_ATTENTION || step == DECODER_STEP_MERGE;
}

static uint32_t working(const struct decoder_problem *p, int step)
{
    const struct decoder_shape *s = &p->model.shape;
    const uint32_t merging =
        (p->batch * s->heads * s->head_dim / 2 + DECODER_WARPS - 1) / DECODER_WARPS;
    if (step == DECODER_STEP_ATTENTION)
        return p->batch * s->kv_heads * p->splits;
    return step == DECODER_STEP_MERGE && merging < p->blocks ? merging : p->blocks;
}

/* The parts of every block in one step of one layer: part[i][n ...]. */
static void parts_of(const struct stamps *s, uint32_t layer, int step, double *part[DECODER_PARTS],
                     double *starved, size_t n)
{
    const uint32_t blocks = s->p->blocks;
    const double get = quickest(s, layer, step, blocks, DECODER_BEGUN, DECODER_ARRIVED);
    const double leave = quickest(s, layer, step, blocks, DECODER_COMPUTED, DECODER_PUBLISHED);
    const double least =
        quickest(s, layer, step, working(s->p, step), DECODER_ARRIVED, DECODER_COMPUTED);

    for (uint32_t block = 0; block < blocks; block++) {
        const double got = from_to(s, layer, step, block, DECODER_BEGUN, DECODER_ARRIVED);
        const double did = from_to(s, layer, step, block, DECODER_ARRIVED, DECODER_COMPUTED);
        const double left = from_to(s, layer, step, block, DECODER_COMPUTED, DECODER_PUBLISHED);
        const double work = polls(step) ? fmin(least, did) : did;
        part[PART_WEIGHTS][n + block] = work;
        part[PART_ACTIVATIONS][n + block] = get;
        part[PART_WAITING][n + block] = got - get + left - leave + did - work;
        part[PART_TAIL][n + block] = leave + gap(s, layer, step, block);
        starved[n + block] = at(s, layer, step, block, DECODER_STARVED);
    }
}

static double median_of(double *values, size_t n)
{
    stat_sort(values, n);
    return stat_median(values, n);
}

static void draw_timeline(const struct stamps *s, double *timeline)
{
    const uint32_t layer = s->layers / 2, blocks = s->p->blocks;
    enum { MOMENTS = DECODER_STAMPS - 1 };
    for (uint32_t block = 0; block < blocks; block++) {
        const uint64_t *begun =
            s->of + ((uint64_t)layer * DECODER_STEPS * blocks + block) * DECODER_STAMPS;
        for (int step = 0; step < DECODER_STEPS; step++)
            for (int what = 0; what < MOMENTS; what++) {
                const uint64_t *of = begun + (uint64_t)step * blocks * DECODER_STAMPS;
                timeline[(size_t)(step * MOMENTS + what) * blocks + block] =
                    is_absent(s, step) ? (double)NAN : s->ns * (double)(of[what] - begun[0]);
            }
    }
}

size_t decoder_where_scratch(const struct decoder_problem *p, uint32_t layers)
{
    return (size_t)layers * p->blocks * (DECODER_PARTS + 1);
}

void decoder_where_of(const struct decoder_problem *p, const uint64_t *stamps, uint32_t layers,
                      double mhz, double *scratch, struct decoder_where *where)
{
    const struct stamps s = {p, stamps, layers, 1e3 / mhz};
    const size_t each = (size_t)layers * p->blocks;
    double *part[DECODER_PARTS], *starved = scratch + DECODER_PARTS * each, edges[DECODER_STEPS];
    size_t n_edges = 0;

    where->sum = 0;
    for (int i = 0; i < DECODER_PARTS; i++)
        part[i] = scratch + (size_t)i * each;
    for (int step = 0; step < DECODER_STEPS; step++) {
        size_t n = 0;
        for (uint32_t layer = 1; layer + 1 < layers && !is_absent(&s, step); layer++) {
            parts_of(&s, layer, step, part, starved, n);
            n += p->blocks;
        }
        for (int i = 0; i < DECODER_PARTS; i++) {
            where->ns[step][i] = n ? median_of(part[i], n) : 0;
            where->sum += where->ns[step][i];
        }
        where->starved[step] = n ? median_of(starved, n) : 0;
        if (!polls(step))
            edges[n_edges++] = where->ns[step][PART_ACTIVATIONS] + where->ns[step][PART_TAIL];
    }
    where->edge = median_of(edges, n_edges);
    if (where->timeline)
        draw_timeline(&s, where->timeline);
}
