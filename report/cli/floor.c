/* gpufloor floor: the latency floor of a model's forward pass on the board of a bundle. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/unit.h"
#include "report/cli/catalogue.h"
#include "report/cli/command.h"
#include "report/cli/table.h"
#include "report/floor/estimate.h"
#include "report/page/out.h"

enum { KEY_FORMAT = 256, KEY_MODEL, KEY_CONTEXT, KEY_BATCH };
enum { CONTEXT_MOST = 1 << 24, BATCH_MOST = 1024, CONTEXTS = 4, BUDGET_MS = 50 };

static const struct argp_option options_table[] = {
    {.name = "model",
     .key = KEY_MODEL,
     .arg = "MODEL",
     .doc = "llama-1b, llama-3b, llama-8b, llama-70b, speech, or a file (docs/FLOOR.md). Default: "
            "a table of all"},
    {.name = "context",
     .key = KEY_CONTEXT,
     .arg = "N",
     .doc = "Keys and values of each sequence. Default: 1024"},
    {.name = "batch", .key = KEY_BATCH, .arg = "N", .doc = "Sequences. Default: 1"},
    {.name = "format", .key = KEY_FORMAT, .arg = "text|md|tsv|json", .doc = "Default: text"},
    {0},
};

struct floor_options {
    const char *path, *model;
    long long context, batch; /* 0: not given */
    enum table_format format;
};

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct floor_options *o = state->input;

    switch (key) {
    case KEY_MODEL: o->model = argument; break;
    case KEY_CONTEXT:
        o->context = command_whole(state, "--context", argument, 1, CONTEXT_MOST);
        break;
    case KEY_BATCH: o->batch = command_whole(state, "--batch", argument, 1, BATCH_MOST); break;
    case KEY_FORMAT:
        o->format = command_format(state, argument, "text, md, tsv or json");
        break;
    case ARGP_KEY_ARG:
        if (o->path)
            command_fail(state, 0, "%s: expected one bundle", argument);
        o->path = argument;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* --- words ------------------------------------------------------------------------------------ */

static const char *say(char text[32], double value, const char *unit)
{
    return isnan(value) ? "-" : unit_format(text, 32, value, unit, 3);
}

static const char *say_share(char text[32], double share)
{
    if (share > 0 && share < 0.01)
        return "less than 1 %";
    snprintf(text, 32, "%.0f %%", fmax(share, 0) * 100);
    return text;
}

/* How often a time fits into the budget: "92 steps", or "0.4 steps" where it does not. */
static const char *say_times(char text[32], double ns)
{
    const double times = BUDGET_MS * 1e6 / ns;
    snprintf(text, 32, times < 1 ? "%.2f" : "%.0f", times < 1 ? times : floor(times));
    return text;
}

/* Bytes beside a rate: both by thousands. */
static const char *say_bytes(char text[32], double bytes)
{
    if (bytes < 1e9)
        snprintf(text, 32, "%.3g MB", bytes / 1e6);
    else if (bytes < 1e12)
        snprintf(text, 32, "%.3g GB", bytes / 1e9);
    else
        snprintf(text, 32, "%.3g TB", bytes / 1e12);
    return text;
}

/* What the prediction `time` would be. Of twice the bandwidth nothing may be known. */
static void say_what_if(FILE *out, const struct what_if *what_if, double time)
{
    const struct {
        const char *words;
        double share;
    } changes[] = {{"half as many bytes per weight", what_if->half_weights},
                   {"twice the bandwidth", what_if->twice_bandwidth},
                   {"no wait between steps", what_if->no_edges}};
    static const double NOTHING = 0.005;
    char text[32];
    size_t said = 0;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        if (isfinite(changes[i].share)) {
            fprintf(out, "%s%s%s %s", said ? ", with " : "With ", changes[i].words,
                    said ? "" : " it would be", say(text, changes[i].share * time, "ns"));
            said++;
        }
    fputs(said ? ". " : "", out);
    if (what_if->twice_bandwidth > what_if->half_weights + NOTHING)
        fputs("Twice the bandwidth helps less: what an SM has fetched ahead then lasts half as "
              "long, and "
              "covers less of the waits between steps. ",
              out);
}

static void say_floor(FILE *out, const struct pass *pass, const struct primitives *p)
{
    char text[6][32];
    const double bytes = pass->weight_bytes + pass->cache_bytes;

    fprintf(out, "A step takes at least %s: ", say(text[0], pass->floor, "ns"));
    if (pass->floor <= pass->floor_memory)
        fprintf(out, "%s of weights and %s of keys and values cross the memory, whose fastest "
                     "read has %s. ",
                say_bytes(text[1], pass->weight_bytes), say_bytes(text[2], pass->cache_bytes),
                say(text[3], p->read_rate_best, "bytes/s"));
    else if (pass->floor <= pass->floor_compute)
        fprintf(out, "so long the tensor cores multiply at %s. ",
                say(text[1], p->tensor_peak, "flop/s"));
    else
        fprintf(out, "%.0f dependent steps, each told by the fastest flag from SM to SM, %s. ",
                pass->edges, say(text[1], p->edge_least, "ns"));
    fprintf(out,
            "That is %.0f tokens a second for each sequence; %d ms have room for %s in a row. ",
            1e9 / pass->floor, BUDGET_MS, say_times(text[4], pass->floor));
    if (bytes > p->memory_bytes)
        fprintf(out, "They do not fit into this GPU's memory of %s: the figure is that of a GPU "
                     "with the same rates and more memory. ",
                say_bytes(text[5], p->memory_bytes));
}

static void say_best(FILE *out, const struct pass *pass)
{
    char text[6][32];

    if (pass->batch > BATCH_ESTIMATED) {
        fprintf(out, "Estimates of packagings are for products with a vector, at a batch of %d at "
                     "most. ", BATCH_ESTIMATED);
        return;
    }
    if (pass->best == PACKAGINGS) {
        fputs("The bundle lacks rows that estimates of packagings need. ", out);
        return;
    }
    const double time = estimate_told(&pass->by[pass->best], pass->best, CENTRE);
    fprintf(out,
            "The fastest packaging is predicted to be `%s`, with %s: %.0f tokens a second, %s in "
            "%d ms. ",
            packaging_names[pass->best], say(text[0], time, "ns"), 1e9 / time,
            say_times(text[1], time), BUDGET_MS);
    fprintf(out, "Of it weights take %s, keys and values %s, and waits between steps %s. ",
            say_share(text[2], pass->share_weights), say_share(text[3], pass->share_cache),
            say_share(text[4], pass->share_edges));
    say_what_if(out, &pass->what_if, time);
}

/* How many decode steps follow an encoder within the budget. */
static void say_encoder(FILE *out, const struct pass *pass)
{
    char text[3][32];
    const double budget = BUDGET_MS * 1e6;
    const bool decodes = pass->model->decode.layers > 0;

    fprintf(out, "The encoder takes at least %s, and %s as products and attention one after the "
                 "other. ", say(text[0], pass->encode_floor, "ns"),
            say(text[1], pass->encode_serial[CENTRE], "ns"));
    if (!decodes || pass->best == PACKAGINGS)
        return;
    const double step = estimate_told(&pass->by[pass->best], pass->best, CENTRE);
    const double least = fmax(floor((budget - pass->encode_serial[CENTRE]) / step), 0);
    const double most = fmax(floor((budget - pass->encode_floor) / pass->floor), 0);
    fprintf(out, "After it %.0f steps fit into %d ms as predicted, and no more than %.0f. ", least,
            BUDGET_MS, most);
}

/* --- one model -------------------------------------------------------------------------------- */

static void packaging_cells(struct table *table, const struct pass *pass, size_t i)
{
    char text[5][32];
    const struct estimate *by = &pass->by[i];
    const double told = estimate_told(by, i, CENTRE);

    table_cell(table, "%s", packaging_names[i]);
    table_cell(table, "%s", say(text[0], estimate_told_layer(by, i, CENTRE), "ns"));
    table_cell(table, "%s", say(text[1], told, "ns"));
    table_cell(table, "%s", say(text[2], by->serial[CENTRE], "ns"));
    table_cell(table, "%s", say(text[3], by->overlap[CENTRE], "ns"));
    table_cell(table, "%s", isnan(told) ? "-" : say_share(text[4], pass->floor / told));
}

/* A paragraph, broken into lines where a person reads it as it stands. */
static void print_words(FILE *out, const char *words, enum table_format format)
{
    if (format == TABLE_MD)
        table_put(out, words, format);
    else
        table_wrap(out, words, 0, 0);
    fputs("\n", out);
}

/* "nvidia-h200"; of a bundle of several GPUs "one GPU of 2x-nvidia-h200". */
static const char *say_board(char text[80], const struct bundle *bundle)
{
    snprintf(text, 80, "%s%.60s", bundle_gpus(bundle) > 1 ? "one GPU of " : "", bundle->name);
    return text;
}

static char *words_of(const struct pass *pass, const struct primitives *p)
{
    char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);

    if (!out)
        return NULL;
    if (pass->model->remark)
        fprintf(out, "%s is %s. ", pass->model->name, pass->model->remark);
    if (pass->model->decode.layers > 0) {
        say_floor(out, pass, p);
        say_best(out, pass);
    }
    if (pass->model->encode.layers > 0)
        say_encoder(out, pass);
    fclose(out);
    return words;
}

static char *legend(const struct pass *pass, const struct primitives *p)
{
    char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < PACKAGINGS; i++)
        fprintf(out, "%s%s: %s", i ? "; " : "", packaging_names[i], packagings[i].what);
    fputs(
        ". Step is the overlap estimate of ring, values and near, the serial one of the others. Of "
        "floor: the floor over it.",
        out);
    if (packaging_tiles(PACKAGING_RING, p, &pass->model->decode, pass->batch) == 0)
        fprintf(
            out,
            " ring, values and near cannot run: beside the vectors of %.0f sequence%s no ring of "
            "three tiles fits in an SM.",
            pass->batch, pass->batch > 1 ? "s" : "");
    fclose(out);
    return words;
}

static void print_packagings(FILE *out, const struct pass *pass, const struct primitives *p,
                             enum table_format format)
{
    static const char *const heads[] = {"packaging", "layer", "step", "serial", "overlap",
                                        "of floor"};
    struct table table = table_new("lrrrrr");
    char *words = legend(pass, p);

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; i < PACKAGINGS; i++)
        packaging_cells(&table, pass, i);
    table_print(out, &table, format, NULL);
    if (format == TABLE_MD)
        fputc('\n', out);
    if (words)
        print_words(out, words, format);
    free(words);
}

static void print_one(FILE *out, const struct pass *pass, const struct primitives *p,
                      const struct bundle *bundle, enum table_format format)
{
    char title[200], board[80];
    char *words = words_of(pass, p);

    snprintf(title, sizeof title, "%.60s on %s, context %.0f, batch %.0f", pass->model->name,
             say_board(board, bundle), pass->context, pass->batch);
    fputs(format == TABLE_MD ? "## " : "", out);
    table_put(out, title, format);
    fputs("\n\n", out);
    if (words)
        print_words(out, words, format);
    free(words);
    if (!(pass->model->decode.layers > 0) || pass->batch > BATCH_ESTIMATED)
        return;
    if (format == TABLE_MD)
        fputc('\n', out);
    print_packagings(out, pass, p, format);
}

/* --- all models ------------------------------------------------------------------------------- */

static const double contexts[CONTEXTS] = {128, 1024, 8192, 32768};

/* Tables are of decode steps; a model with an encoder has those of another. */
static bool has_row(const struct pass *pass)
{
    return pass->model->decode.layers > 0 && !(pass->model->encode.layers > 0);
}

static void print_cells(FILE *out, const struct pass *passes, size_t n)
{
    struct table table = table_new("llllrrrrrrrr");
    static const char *const heads[] = {"model", "context", "batch", "packaging", "layer_ns",
                                        "layer_fast_ns", "layer_slow_ns", "step_ns", "step_fast_ns",
                                        "step_slow_ns", "layer_floor_ns", "step_floor_ns"};

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; has_row(&passes[k]) && i < PACKAGINGS; i++) {
            const struct estimate *by = &passes[k].by[i];
            table_cell(&table, "%s", passes[k].model->name);
            table_cell(&table, "%.0f", passes[k].context);
            table_cell(&table, "%.0f", passes[k].batch);
            table_cell(&table, "%s", packaging_names[i]);
            for (enum corner c = CENTRE; c < CORNERS; c++)
                table_number(&table, estimate_told_layer(by, i, c));
            for (enum corner c = CENTRE; c < CORNERS; c++)
                table_number(&table, estimate_told(by, i, c));
            table_number(&table, passes[k].layer_floor);
            table_number(&table, passes[k].floor);
        }
    table_print(out, &table, TABLE_TSV, NULL);
}

/* What the columns are, for who reads the table alone. */
#define FLOOR_WORDS                                                                                \
    "floor: what no packaging beats, the longest of three: all bytes at the fastest read of the "  \
    "memory, all products at the peak of the tensor cores, all dependent steps one after the "     \
    "other. "
#define FIT_WORDS "in 50 ms: so many steps fit in a row, at the floor."

static const char columns[] =
    FLOOR_WORDS "Then what is predicted of packagings, which are ways to split a step into "
                "kernels: near: one kernel, in which weights stream ahead of the steps from the "
                "memory behind each SM's half of the L2, and values tell their readers that they "
                "are there; values: the same, with weights anywhere; dependent: six fused kernels "
                "a layer, with programmatic dependent launch; graph: a kernel per operator, by "
                "graph. " FIT_WORDS;
static const char columns_of_floor[] =
    FLOOR_WORDS FIT_WORDS " The bundle lacks rows that estimates of packagings need.";

static const size_t packagings_shown[] = {PACKAGING_NEAR, PACKAGING_VALUES, PACKAGING_DEPENDENT,
                                          PACKAGING_GRAPH};
enum { N_SHOWN = sizeof packagings_shown / sizeof packagings_shown[0] };

static bool any_estimate(const struct pass *passes, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (has_row(&passes[k]) && passes[k].best != PACKAGINGS)
            return true;
    return false;
}

static void print_table(FILE *out, const struct pass *passes, size_t n, const struct bundle *bundle,
                        enum table_format format)
{
    const size_t n_shown = any_estimate(passes, n) ? N_SHOWN : 0;
    struct table table = table_new(n_shown ? "lrrrrrrr" : "lrrr");
    char text[32], title[200], board[80];

    table_cell(&table, "model");
    table_cell(&table, "context");
    table_cell(&table, "floor");
    for (size_t i = 0; i < n_shown; i++)
        table_cell(&table, "%s", packaging_names[packagings_shown[i]]);
    table_cell(&table, "in 50 ms");
    for (size_t k = 0; k < n; k++) {
        const struct pass *pass = &passes[k];
        if (!has_row(pass))
            continue;
        table_cell(&table, "%s", pass->model->name);
        table_cell(&table, "%.0f", pass->context);
        table_cell(&table, "%s", say(text, pass->floor, "ns"));
        for (size_t i = 0; i < n_shown; i++) {
            const size_t shown = packagings_shown[i];
            table_cell(&table, "%s",
                       say(text, estimate_told(&pass->by[shown], shown, CENTRE), "ns"));
        }
        table_cell(&table, "%s", say_times(text, pass->floor));
    }
    snprintf(title, sizeof title, "One decode step on %s: its floor%s", say_board(board, bundle),
             n_shown ? ", and what is predicted of packagings" : "");
    table_print(out, &table, format, title);
    if (format == TABLE_TEXT)
        print_words(out, n_shown ? columns : columns_of_floor, format);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *three(const double values[CORNERS])
{
    return json_pack("{s:o, s:o, s:o}", "centre", document_number(values[CENTRE]), "fast",
                     document_number(values[FAST]), "slow", document_number(values[SLOW]));
}

static json_t *pass_json(const struct pass *pass)
{
    json_t *by = json_array();

    for (size_t i = 0; pass->model->decode.layers > 0 && i < PACKAGINGS; i++) {
        const struct estimate *e = &pass->by[i];
        json_array_append_new(
            by, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "packaging", packaging_names[i],
                          "what", packagings[i].what, "told_by",
                          packagings[i].is_told_by_overlap ? "overlap" : "serial",
                          "layer_serial_ns", three(e->layer_serial), "layer_overlap_ns",
                          three(e->layer_overlap), "step_serial_ns", three(e->serial),
                          "step_overlap_ns", three(e->overlap)));
    }
    return json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "model",
                     out_json(pass->model->name), "context", pass->context, "batch", pass->batch,
                     "weight_bytes", pass->weight_bytes, "cache_bytes", pass->cache_bytes, "steps",
                     pass->edges, "floor_ns", document_number(pass->floor), "floor_memory_ns",
                     document_number(pass->floor_memory), "floor_compute_ns",
                     document_number(pass->floor_compute), "floor_edges_ns",
                     document_number(pass->floor_edges), "encode_floor_ns",
                     document_number(pass->encode_floor), "packagings", by);
}

static bool print_json(FILE *out, const struct pass *passes, size_t n, const struct bundle *bundle)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all, pass_json(&passes[i]));
    json_t *document = json_pack("{s:s, s:i, s:o, s:o, s:o}", "schema", "floor", "schema_version",
                                 1, "board", out_json(bundle->board), "path",
                                 out_json(bundle->path), "passes", all);
    return out_document(out, document, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
}

/* --- the command ------------------------------------------------------------------------------ */

/* One model at one context, or all models at four. */
static size_t passes_of(struct pass *passes, struct model *own, const struct floor_options *o,
                        const struct primitives *p, char why[DOCUMENT_WHY])
{
    const double batch = o->batch ? (double)o->batch : 1;
    size_t n = 0;

    if (o->model) {
        const double context = o->context ? (double)o->context : 1024;
        return model_read(own, o->model, why) &&
               pass_estimate(&passes[0], own, context, batch, p, why);
    }
    for (size_t i = 0; model_at(i); i++)
        for (size_t k = 0; k < (o->context ? 1 : CONTEXTS); k++) {
            const double context = o->context ? (double)o->context : contexts[k];
            if (!pass_estimate(&passes[n++], model_at(i), context, batch, p, why))
                return 0;
        }
    return n;
}

static int print_floor(const struct floor_options *o, const struct bundle *bundle)
{
    enum { PASSES_MOST = 8 * CONTEXTS };
    char why[DOCUMENT_WHY];
    struct primitives primitives;
    struct model own;
    struct pass *passes = calloc(PASSES_MOST, sizeof *passes);

    primitives_take(&primitives, bundle);
    snprintf(why, sizeof why, "out of memory");
    const size_t n = passes ? passes_of(passes, &own, o, &primitives, why) : 0;
    bool fine = n > 0;
    if (fine && o->format == TABLE_JSON)
        fine = print_json(stdout, passes, n, bundle);
    else if (fine && o->format == TABLE_TSV)
        print_cells(stdout, passes, n);
    else if (fine && o->model)
        print_one(stdout, &passes[0], &primitives, bundle, o->format);
    else if (fine)
        print_table(stdout, passes, n, bundle, o->format);
    if (!fine)
        out_say("gpufloor floor: %s\n", why);
    free(passes);
    return fine ? EXIT_FINE : EXIT_TROUBLE;
}

int floor_main(int argc, char **argv)
{
    char standard[PATH_MAX], why[DOCUMENT_WHY];
    struct floor_options o = {0};
    struct bundle bundle;
    const struct argp parser = {
        .options = options_table,
        .parser = take,
        .args_doc = "[BUNDLE]",
        .doc = "The latency floor of a model's forward pass on the board of a bundle, and what its "
               "rows predict of each way to pack a decode step. Nothing is fitted. It needs no "
               "GPU. Default: the committed results/nvidia-h200.\vExit: 0; 2 when a bundle or a "
               "model cannot be read, or the bundle has no rate of its memory."};

    command_parse(&parser, NULL, argc, argv, &o);
    if (!o.path && !catalogue_standard("floor", standard))
        return EXIT_TROUBLE;
    if (!o.path)
        o.path = standard;
    if (!catalogue_read(&bundle, o.path, why)) {
        out_say("gpufloor floor: %s\n", why);
        return EXIT_TROUBLE;
    }
    const int status = print_floor(&o, &bundle);
    bundle_free(&bundle);
    return status;
}
