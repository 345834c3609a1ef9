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

/* Adds the parts of every block in one step of one layer. */
static void add_parts(const struct stamps *s, uint32_t layer, int step, double part[DECODER_PARTS],
                      double *starved)
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
        part[PART_WEIGHTS] += work;
        part[PART_ACTIVATIONS] += get;
        part[PART_WAITING] += got - get + left - leave + did - work;
        part[PART_TAIL] += leave + gap(s, layer, step, block);
        *starved += at(s, layer, step, block, DECODER_STARVED);
    }
}

static double median_of(double *values, size_t n)
{
    stat_sort(values, n);
    return stat_median(values, n);
}

/* Of the steps with a product. */
static double edge_of(const double ns[DECODER_STEPS][DECODER_PARTS])
{
    double edges[DECODER_STEPS];
    size_t n = 0;
    for (int step = 0; step < DECODER_STEPS; step++)
        if (!polls(step))
            edges[n++] = ns[step][PART_ACTIVATIONS] + ns[step][PART_TAIL];
    return median_of(edges, n);
}

/* A mean over layers: by turns each block has each share of the work. */
static void draw_timeline(const struct stamps *s, double *timeline)
{
    const uint32_t blocks = s->p->blocks, last = s->layers - 1;
    const size_t layer_of = (size_t)DECODER_STEPS * blocks * DECODER_STAMPS;
    enum { MOMENTS = DECODER_STAMPS - 1 };
    for (int row = 0; row < DECODER_MOMENTS; row++)
        for (uint32_t block = 0; block < blocks; block++) {
            const int step = row / MOMENTS, what = row % MOMENTS;
            double sum = is_absent(s, step) ? (double)NAN : 0;
            for (uint32_t layer = 1; layer < last; layer++) {
                const uint64_t *begun = s->of + layer * layer_of + (size_t)block * DECODER_STAMPS;
                const uint64_t *of = begun + (size_t)step * blocks * DECODER_STAMPS;
                sum += s->ns * (double)(of[what] - begun[DECODER_BEGUN]);
            }
            timeline[(size_t)row * blocks + block] = sum / (last - 1);
        }
}

void decoder_where_of(const struct decoder_problem *p, const uint64_t *stamps, uint32_t layers,
                      double mhz, struct decoder_where *where)
{
    const struct stamps s = {p, stamps, layers, 1e3 / mhz};
    const double n = (double)(layers - 2) * p->blocks;

    where->sum = 0;
    for (int step = 0; step < DECODER_STEPS; step++) {
        double part[DECODER_PARTS] = {0}, starved = 0;
        for (uint32_t layer = 1; layer + 1 < layers && !is_absent(&s, step); layer++)
            add_parts(&s, layer, step, part, &starved);
        for (int i = 0; i < DECODER_PARTS; i++)
            where->sum += where->ns[step][i] = part[i] / n;
        where->starved[step] = starved / n;
    }
    where->edge = edge_of(where->ns);
    if (where->timeline)
        draw_timeline(&s, where->timeline);
}

void decoder_where_median(const struct decoder_problem *p, const struct decoder_where *launches,
                          size_t n, struct decoder_where *where)
{
    double values[DECODER_WATCHED_MOST];

    where->sum = 0;
    for (int step = 0; step < DECODER_STEPS; step++) {
        for (int part = 0; part < DECODER_PARTS; part++) {
            for (size_t i = 0; i < n; i++)
                values[i] = launches[i].ns[step][part];
            where->sum += where->ns[step][part] = median_of(values, n);
        }
        for (size_t i = 0; i < n; i++)
            values[i] = launches[i].starved[step];
        where->starved[step] = median_of(values, n);
    }
    where->edge = edge_of(where->ns);
    for (size_t cell = 0; where->timeline && cell < (size_t)DECODER_MOMENTS * p->blocks; cell++) {
        for (size_t i = 0; i < n; i++)
            values[i] = launches[i].timeline[cell];
        where->timeline[cell] = isnan(values[0]) ? values[0] : rint(median_of(values, n));
    }
}
