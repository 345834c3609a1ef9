/* A decoder's layer and a whole step of one token: how near the packagings come to a read of the
 * weights, beside what was predicted of them, and where the time goes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/packaging.h"
#include "report/floor/frozen.h"
#include "report/page/sections.h"
#include "report/page/take.h"

#define KEYS(context) "{model=%s,context=" context ",batch=1,impl=%s,l2=cold"
enum { LAYER, ANY, STEP, SHARE, KERNELS, ERROR, WHERE, EDGE, ENERGY, POWER, PEER, PEER_KERNELS };
const char *const layer_needs[] = {
    [LAYER] = "decoder_layer.layer_time" KEYS("1024") ",timer=event}",
    [ANY] = "decoder_layer.layer_time" KEYS("%s") ",timer=event}",
    [STEP] = "decoder_layer.step_time" KEYS("1024") ",timer=event}",
    [SHARE] = "decoder_layer.share_of_read" KEYS("1024") "}",
    [KERNELS] = "decoder_layer.kernels" KEYS("1024") "}",
    [ERROR] = "decoder_layer.error" KEYS("%s") "}",
    [WHERE] = "decoder_layer.where{model=%s,context=1024,impl=%s,step=%s,part=%s,timer=device}",
    [EDGE] = "decoder_layer.barrier_under_load{model=%s,context=1024,impl=%s,timer=device}",
    [ENERGY] = "decoder_layer.energy" KEYS("1024") "}",
    [POWER] = "decoder_layer.power" KEYS("1024") "}",
    [PEER] = "layer_peers.layer_time" KEYS("1024") ",timer=event}",
    [PEER_KERNELS] = "layer_peers.kernels" KEYS("1024") "}",
    NULL,
};

enum { MODELS = 3, STEPS = 6, PARTS = 4 };
#define WAY_OF(identifier, name) identifier,
enum { READ, PACKAGING_EACH(WAY_OF) WAYS };
static const struct {
    const char *name, *shown, *floor; /* of metrics, in tables, of predictions */
} models[MODELS] = {{"1b", "1B", "llama-1b"}, {"3b", "3B", "llama-3b"}, {"8b", "8B", "llama-8b"}};
static const char *const way_impl[WAYS] = {"read", PACKAGING_NAMES};
static const char *const way_shown[WAYS] = {[READ] = "a read of its bytes",
                                            [STREAM] = "stream: kernel by kernel",
                                            [GRAPH] = "graph: a kernel for each",
                                            [CUBLAS] = "cublas: its products",
                                            [FUSED] = "fused: in a graph, too",
                                            [DEPENDENT] = "dependent: fetch ahead",
                                            [BARRIER] = "barrier: one kernel",
                                            [RING] = "ring: it fetches ahead",
                                            [VALUES] = "values: and no barriers",
                                            [NEAR] = "near: weights, too"};
/* In tables: first those that the whole report shows. */
enum { WAYS_SHOWN = 5 };
static const size_t ranked[WAYS] = {READ,    CUBLAS, DEPENDENT, VALUES, NEAR,
                                    BARRIER, STREAM, GRAPH,     FUSED,  RING};
static const char *const steps[STEPS] = {"qkv", "attention", "merge", "o", "gate_up", "down"};
static const char *const parts[PARTS] = {"weights", "activations", "waiting", "tail"};

static struct number of_way(const struct summary *summary, int need, size_t model, size_t way)
{
    return number_of(take_row(summary, layer_needs[need], models[model].name, way_impl[way]));
}

/* The packaging with the least time, from one on; 0: none was measured. */
static size_t fastest(const struct summary *summary, int need, size_t model, size_t from)
{
    size_t best = 0;
    double least = INFINITY;

    for (size_t way = from; way < WAYS; way++) {
        const struct number time = of_way(summary, need, model, way);
        if (number_there(&time) && time.value < least) {
            least = time.value;
            best = way;
        }
    }
    return best;
}

/* --- one layer -------------------------------------------------------------------------------- */

/* A line of the table: a way of ours, or a form of PyTorch's, whose share follows from two
 * times. */
struct line {
    const char *shown;
    struct number kernels, time[MODELS], share[MODELS];
};

static struct line line_of_way(const struct summary *summary, size_t way)
{
    struct line line = {.shown = way_shown[way], .kernels = number_none()};

    for (size_t m = 0; m < MODELS; m++) {
        line.time[m] = of_way(summary, LAYER, m, way);
        line.share[m] = of_way(summary, SHARE, m, way);
        if (!number_there(&line.kernels))
            line.kernels = of_way(summary, KERNELS, m, way);
    }
    return line;
}

static struct line line_of_peer(const struct summary *summary, const char *shown, const char *impl)
{
    struct line line = {.shown = shown, .kernels = number_none()};

    for (size_t m = 0; m < MODELS; m++) {
        const char *model = models[m].name;
        const struct number read = of_way(summary, LAYER, m, READ);
        line.time[m] = number_of(take_row(summary, layer_needs[PEER], model, impl));
        line.share[m] = number_there(&line.time[m]) && number_there(&read)
                            ? number_formed(read.value / line.time[m].value, "ratio", &line.time[m])
                            : number_none();
        if (!number_there(&line.kernels))
            line.kernels = number_of(take_row(summary, layer_needs[PEER_KERNELS], model, impl));
    }
    return line;
}

static void put_line(struct section *s, struct grid *grid, struct line line, bool is_brief)
{
    bool is_there = false;

    for (size_t m = 0; m < MODELS; m++)
        is_there |= number_there(&line.time[m]);
    if (!is_there)
        return;
    grid_text(grid, line.shown);
    line.kernels.id = NULL;
    grid_number(grid, &line.kernels);
    for (size_t m = 0; m < MODELS; m++) {
        line.share[m].id = NULL; /* it follows from two times that have theirs */
        grid_number(grid, &line.time[m]);
        grid_number(grid, &line.share[m]);
    }
    if (is_brief)
        s->n_brief = grid->n_cells / grid->n_columns;
}

static void tabulate_layers(const struct summary *summary, struct section *s)
{
    struct column columns[2 + 2 * MODELS] = {{NULL, "one layer, cold", NULL, 'l'},
                                             {NULL, "kernels", "", 'r'}};
    for (size_t m = 0; m < MODELS; m++) {
        columns[2 + 2 * m] =
            (struct column){NULL, section_text(s, "%s, us", models[m].shown), "us", 'r'};
        columns[3 + 2 * m] = (struct column){NULL, "of a read, %", "%", 'r'};
    }
    struct grid *grid = section_grid(s, columns, 2 + 2 * MODELS);

    for (size_t i = 0; i < WAYS; i++) {
        put_line(s, grid, line_of_way(summary, ranked[i]), i < WAYS_SHOWN);
        if (ranked[i] == CUBLAS)
            put_line(s, grid, line_of_peer(summary, "PyTorch, tiles searched", "autotune"), true);
    }
    put_line(s, grid, line_of_peer(summary, "PyTorch, compiled", "compile"), false);
    put_line(s, grid, line_of_peer(summary, "PyTorch, eager", "eager"), false);
}

/* --- whole steps beside what was predicted ---------------------------------------------------- */

static struct number predicted(double ns)
{
    return isnan(ns) ? number_none() : number_fact(ns, "ns");
}

/* The prediction beside what was measured, both of one thing: -0.1 where it is a tenth too
 * little. */
static struct number off_by(const struct number *time, double ns)
{
    return number_there(time) && !isnan(ns) ? number_formed(ns / time->value - 1, "ratio", time)
                                            : number_none();
}

static bool tabulate_way(const struct summary *summary, const struct frozen *frozen, size_t way,
                         struct grid *grid)
{
    struct number cell[3 * MODELS];
    bool is_there = false;

    for (size_t m = 0; m < MODELS; m++) {
        const struct frozen_cell *its = frozen_find(frozen, models[m].floor, 1024, way_impl[way]);
        const double ns = its ? its->step : (double)NAN;
        cell[3 * m] = of_way(summary, STEP, m, way);
        cell[3 * m + 1] = number_there(&cell[3 * m]) ? predicted(ns) : number_none();
        cell[3 * m + 2] = off_by(&cell[3 * m], ns);
        is_there |= number_there(&cell[3 * m]);
    }
    if (!is_there)
        return false;
    grid_text(grid, way_shown[way]);
    for (size_t i = 0; i < 3 * MODELS; i++)
        grid_number(grid, &cell[i]);
    return true;
}

static void tabulate_steps(const struct summary *summary, const struct frozen *frozen,
                           struct section *s)
{
    struct column columns[1 + 3 * MODELS] = {{NULL, "a whole step", NULL, 'l'}};
    for (size_t m = 0; m < MODELS; m++) {
        columns[1 + 3 * m] = (struct column){models[m].shown, "us", "us", 'r'};
        columns[2 + 3 * m] = (struct column){NULL, "said", "us", 'r'};
        columns[3 + 3 * m] = (struct column){NULL, "off, %", "%", 'r'};
    }
    struct grid *grid = section_grid(s, columns, 1 + 3 * MODELS);
    bool is_there = false;

    for (size_t m = 0; m < MODELS; m++)
        grid_span(grid, 1 + 3 * m, 3);
    for (size_t i = 1; i < WAYS; i++)
        is_there |= tabulate_way(summary, frozen, ranked[i], grid);
    if (!is_there || frozen->n == 0)
        return;
    grid_text(grid, "its floor");
    for (size_t m = 0; m < MODELS; m++) {
        const struct frozen_cell *its = frozen_find(frozen, models[m].floor, 1024, "values");
        const struct number none = number_none(),
                            floor = its ? predicted(its->step_floor) : number_none();
        grid_number(grid, &none);
        grid_number(grid, &floor);
        grid_number(grid, &none);
    }
}

/* How the predictions did, over layers of all contexts, and steps. */
struct score {
    size_t n, within, below;
    double worst; /* off_by() of the one that is farthest off */
};

static void count_one(struct score *score, const struct number *time, double ns, double floor)
{
    static const double WITHIN = 0.15;
    const struct number off = off_by(time, ns);

    if (!number_there(&off))
        return;
    score->n++;
    score->within += fabs(off.value) <= WITHIN;
    score->below += time->value < floor;
    if (fabs(off.value) > fabs(score->worst))
        score->worst = off.value;
}

static struct score score_of(const struct summary *summary, const struct frozen *frozen)
{
    struct score score = {0};
    char context[24];

    for (size_t i = 0; i < frozen->n; i++) {
        const struct frozen_cell *cell = &frozen->cell[i];
        for (size_t m = 0; m < MODELS; m++) {
            if (cell->batch != 1 || strcmp(cell->model, models[m].floor) != 0)
                continue;
            snprintf(context, sizeof context, "%.0f", cell->context);
            const struct number layer = number_of(
                take_row(summary, layer_needs[ANY], models[m].name, context, cell->packaging));
            count_one(&score, &layer, cell->layer, cell->layer_floor);
            if (cell->context != 1024)
                continue;
            const struct number step =
                number_of(take_row(summary, layer_needs[STEP], models[m].name, cell->packaging));
            count_one(&score, &step, cell->step, cell->step_floor);
        }
    }
    return score;
}

static void note_predictions(const struct summary *summary, const struct frozen *frozen,
                             const char *measured, struct section *s)
{
    const struct score score = score_of(summary, frozen);

    if (score.n == 0) {
        section_note(s, "What was to be expected on this board was not written down before the day "
                        "of the measurement.");
        return;
    }
    section_note(s,
                 "Of %zu layers and steps %zu (%.0f %%) are within 15 %% of what was said before; "
                 "%s",
                 score.n, score.within, 100.0 * (double)score.within / (double)score.n,
                 score.below == 0 ? "none is below its floor."
                                  : section_text(s, "%zu are below their floor, which refutes it.",
                                                 score.below));
    section_note(
        s,
        "said: on %s, by `gpufloor floor` of %s, and measured on %.10s. The farthest is off by "
        "%.0f %%.",
        frozen->day, frozen->bundle, measured, 100 * score.worst);
}

/* --- joules of a step ------------------------------------------------------------------------- */

/* Is a step's energy known in any packaging? */
static bool has_joules(const struct summary *summary, size_t model)
{
    bool has = false;
    for (size_t way = 0; way < WAYS; way++) {
        const struct number joules = of_way(summary, ENERGY, model, way);
        has |= number_there(&joules);
    }
    return has;
}

static void tabulate_joules(const struct summary *summary, struct section *s)
{
    struct column columns[1 + 2 * MODELS] = {{NULL, "a step, again and again", NULL, 'l'}};
    size_t model[MODELS], n = 0;

    for (size_t m = 0; m < MODELS; m++) {
        if (!has_joules(summary, m))
            continue;
        columns[1 + 2 * n] = (struct column){models[m].shown, "J", "", 'r'};
        columns[2 + 2 * n] = (struct column){NULL, "W", "", 'r'};
        model[n++] = m;
    }
    if (n == 0)
        return;
    struct grid *grid = section_grid(s, columns, 1 + 2 * n);
    for (size_t i = 0; i < n; i++)
        grid_span(grid, 1 + 2 * i, 2);
    for (size_t k = 0; k < WAYS; k++) {
        struct number cell[2 * MODELS];
        bool is_there = false;
        for (size_t i = 0; i < n; i++) {
            cell[2 * i] = of_way(summary, ENERGY, model[i], ranked[k]);
            cell[2 * i + 1] = of_way(summary, POWER, model[i], ranked[k]);
            is_there |= number_there(&cell[2 * i]);
        }
        if (!is_there)
            continue;
        grid_text(grid, way_shown[ranked[k]]);
        for (size_t i = 0; i < 2 * n; i++)
            grid_number(grid, &cell[i]);
    }
    section_note(s, "Joules and watts are the whole board's, by its energy counter, while it does "
                    "step after step for a third of a second, in three rounds.");
}

/* --- where the time goes ---------------------------------------------------------------------- */

/* The parts of a step, and their sum; a step that this packaging does not have has none. */
struct step {
    struct number part[PARTS + 1];
};

static bool take_step(const struct summary *summary, size_t model, size_t way, size_t step,
                      struct step *its)
{
    double sum = 0;
    for (size_t i = 0; i < PARTS; i++) {
        its->part[i] = number_of(take_row(summary, layer_needs[WHERE], models[model].name,
                                          way_impl[way], steps[step], parts[i]));
        its->part[i].id = NULL; /* so many rows, of two rounds: `report --all` names them */
        sum += its->part[i].value;
    }
    its->part[PARTS] = isnan(sum) ? number_none() : number_formed(sum, "ns", &its->part[0]);
    return number_there(&its->part[PARTS]);
}

/* All steps of a layer; a merge may be missing. False: another is. */
static bool take_steps(const struct summary *summary, size_t model, size_t way,
                       struct step its[STEPS])
{
    bool whole = way > 0;
    for (size_t i = 0; i < STEPS && whole; i++)
        whole = take_step(summary, model, way, i, &its[i]) || !strcmp(steps[i], "merge");
    return whole;
}

/* The fastest form of one kernel that has all steps; 0: none. */
static size_t watched(const struct summary *summary, size_t model, struct step its[STEPS])
{
    const size_t best = fastest(summary, LAYER, model, BARRIER);

    if (take_steps(summary, model, best, its))
        return best;
    for (size_t way = WAYS; way-- > BARRIER;)
        if (take_steps(summary, model, way, its))
            return way;
    return 0;
}

static void put_all(struct grid *grid, const struct step its[STEPS], struct number all[PARTS + 1])
{
    for (size_t k = 0; k <= PARTS; k++) {
        double sum = 0;
        for (size_t i = 0; i < STEPS; i++)
            sum += number_there(&its[i].part[k]) ? its[i].part[k].value : 0;
        all[k] = number_formed(sum, "ns", &its[0].part[0]);
        grid_number(grid, &all[k]);
    }
}

static void tabulate_where(const struct summary *summary, struct section *s)
{
    struct step its[MODELS][STEPS];
    size_t model[MODELS], way[MODELS], n = 0;

    for (size_t m = 0; m < MODELS && n < 2; m++) {
        model[n] = m;
        way[n] = watched(summary, m, its[n]);
        n += way[n] > 0;
    }
    if (n == 0)
        return;
    static const char *const short_names[PARTS + 1] = {"weights", "arrive", "wait", "tail", "all"};
    struct column columns[1 + 2 * (PARTS + 1)] = {{NULL, "of a layer, us", NULL, 'l'}};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= PARTS; k++)
            columns[1 + i * (PARTS + 1) + k] = (struct column){
                k ? NULL : section_text(s, "%s, %s", models[model[i]].shown, way_impl[way[i]]),
                short_names[k], "us", 'r'};
    struct grid *grid = section_grid(s, columns, 1 + n * (PARTS + 1));

    for (size_t i = 0; i < n; i++)
        grid_span(grid, 1 + i * (PARTS + 1), PARTS + 1);
    for (size_t step = 0; step < STEPS; step++) {
        grid_text(grid, steps[step]);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k <= PARTS; k++)
                grid_number(grid, &its[i][step].part[k]);
    }
    struct number all[2][PARTS + 1];
    grid_text(grid, "all");
    for (size_t i = 0; i < n; i++)
        put_all(grid, its[i], all[i]);
    section_note(s,
                 "weights: they, or keys and values, pass by; arrive: what the step before handed "
                 "over; wait: for slower blocks; tail: to hand over.");
    for (size_t i = 0; i < n; i++) {
        const struct number time = of_way(summary, LAYER, model[i], way[i]);
        const struct number share = number_ratio(&all[i][PARTS], &time);
        section_go_on(s, "The steps of %s add up to %s of its layer.", models[model[i]].shown,
                      section_say(s, &share, "%"));
    }
}

/* --- the time line: points of a figure -------------------------------------------------------- */

/* Of the first model that was watched: for each step its weights, then all else of it. What no
 * table of the section shows has no id: its rows would be a tenth of the page. */
static void draw_line(const struct summary *summary, struct section *s)
{
    struct step its[STEPS];
    size_t model = 0, shown = 0;

    while (model < MODELS && !(shown = watched(summary, model, its)))
        model++;
    for (size_t way = BARRIER; model < MODELS && way < WAYS; way++) {
        if (!take_steps(summary, model, way, its))
            continue;
        struct series *line = section_series(
            s, section_text(s, "%s, %s", models[model].shown, way_impl[way]), "part");
        for (size_t i = 0; i < STEPS; i++) {
            struct number part = its[i].part[0];
            const struct number *all = &its[i].part[PARTS];
            if (!number_there(all))
                continue;
            struct number rest = number_formed(all->value - part.value, "ns", &part);
            part.id = way == shown ? part.id : NULL;
            rest.id = NULL;
            series_put(line, (double)(2 * i), &part, steps[i]);
            series_put(line, (double)(2 * i + 1), &rest,
                       section_text(s, "%s: arrive, wait and tail", steps[i]));
        }
    }
}

/* --- the finding and the notes ---------------------------------------------------------------- */

static void find(const struct summary *summary, struct section *s)
{
    const char *said = "";
    size_t largest = MODELS;

    /* the smallest and the largest: the finding has one line */

    for (size_t m = 0; m < MODELS; m++) {
        const size_t best = fastest(summary, LAYER, m, 1);
        const struct number share = of_way(summary, SHARE, m, best);
        if (best == 0 || !number_there(&share) || (*said && m + 1 < MODELS))
            continue;
        section_rests(s, &share);
        said = section_text(s, "%s%s%s%s in %s", said, *said ? ", " : "",
                            section_say(s, &share, "%"), *said ? "" : " of a read",
                            models[m].shown);
        largest = fastest(summary, STEP, m, 1) > 0 ? m : largest;
    }
    if (!*said)
        return;
    s->finding = section_text(s, "A layer runs at %s", said);
    if (largest < MODELS) {
        const struct number step =
            of_way(summary, STEP, largest, fastest(summary, STEP, largest, 1));
        section_rests(s, &step);
        s->finding = section_text(s, "%s; a step of %s takes %s", s->finding, models[largest].shown,
                                  section_say(s, &step, NULL));
    }
    s->finding = section_text(s, "%s.", s->finding);
}

/* The greatest error, of any model, context and packaging. */
static void note_error(const struct summary *summary, struct section *s)
{
    struct number most = number_none();
    const struct row *row;

    for (size_t next = 0; (row = take_next(summary, layer_needs[ERROR], &next));) {
        const struct number error = number_of(row);
        if (number_there(&error) && !(error.value <= most.value))
            most = error;
    }
    if (number_there(&most))
        section_note(s, "Against float64 a layer is off by %s of what it adds, at most.",
                     section_say(s, &most, "%"));
}

static void note_edges(const struct summary *summary, struct section *s)
{
    for (size_t m = 0; m < MODELS; m++) {
        const struct number idle =
            number_of(take_row(summary, layer_needs[EDGE], models[m].name, way_impl[BARRIER]));
        const struct number busy =
            number_of(take_row(summary, layer_needs[EDGE], models[m].name, way_impl[RING]));
        if (!number_there(&idle) || !number_there(&busy))
            continue;
        section_note(s,
                     "An edge of %s takes %s with barriers while the memory idles, %s while it "
                     "streams.",
                     models[m].shown, section_say(s, &idle, NULL), section_say(s, &busy, NULL));
    }
}

static void note_contexts(const struct summary *summary, struct section *s)
{
    static const char *const contexts[] = {"128", "8192", "32768"};

    for (size_t m = 0; m < MODELS; m++) {
        const struct number near =
            number_of(take_row(summary, layer_needs[ANY], models[m].name, "8192", way_impl[NEAR]));
        const size_t way = number_there(&near) ? NEAR : VALUES;
        const char *said = "";
        for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
            const struct number time = number_of(take_row(summary, layer_needs[ANY], models[m].name,
                                                          contexts[i], way_impl[way]));
            if (number_there(&time))
                said = section_text(s, "%s%s%s at %s keys", said, *said ? ", " : "",
                                    section_say(s, &time, NULL), contexts[i]);
        }
        if (*said)
            section_note(s, "A layer of %s by %s: %s.", models[m].shown, way_impl[way], said);
    }
}

void section_layer(const struct summary *summary, struct section *s)
{
    const struct part *part = bundle_part(summary->bundle, "decoder_layer");
    struct frozen *frozen = calloc(1, sizeof *frozen);
    size_t next = 0;

    s->name = "layer";
    s->title = "DECODER LAYER";
    s->is_silent = true;
    s->names_columns = true;
    if (!take_next(summary, layer_needs[LAYER], &next) || !frozen) {
        section_missing(s, summary, layer_needs[LAYER]);
        free(frozen);
        return;
    }
    const char *measured = part && part->from ? part->from : "";
    frozen_read(frozen, summary->results, summary->bundle->board, measured);
    find(summary, s);
    tabulate_layers(summary, s);
    note_predictions(summary, frozen, measured, s);
    tabulate_steps(summary, frozen, s);
    tabulate_joules(summary, s);
    tabulate_where(summary, s);
    draw_line(summary, s);
    note_error(summary, s);
    note_edges(summary, s);
    note_contexts(summary, s);
    section_doubts(s);
    s->claims = "C30 C31 C35 C36 C47 C48 C49 C51 C62 C72 C74 C88 C88b";
    free(frozen);
}
