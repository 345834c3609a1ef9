/* Where mutants begin: small documents, cut out of whole ones so that an attempt takes little time,
 * and mutants that reached a block which nothing had reached before. */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "core/draw.h"
#include "core/parse.h"
#include "core/version.h"

enum { CASES_MOST = 3, PROBES_MOST = 2, CUTS = 24, SEED_MOST = 24000, KEEP_MOST = 60000 };

/* What a stand-in says of itself, and what it measured. ' stands for ". */
static const char list[] =
    "{'schema':'probe','schema_version':1,'name':'good','what':'a stand-in','method':1,"
    "'needs':'host','min_cc':0,'cubins':{'fake.sm_90a':'aa'},'metrics':[{'name':'time','unit':'ns',"
    "'better':'lower','timer':'wall','keys':'level','what':'a time'}],'parameters':[{'name':'form',"
    "'default':1,'min':0,'max':2,'what':'which','words':['a','b','c']}]}";

static const char run[] =
    "{'schema':'run','schema_version':1,'probe':{'name':'good','method':1,'what':'a stand-in'},"
    "'status':'ok','run':{'round':0},'environment':{'host':{'cpu':'a CPU'},'gpu':{'name':'A GPU',"
    "'board':'a-gpu','id_hash':'0'}},'metrics':{'time':{'unit':'ns','better':'lower'}},"
    "'cases':[{'case':'level=l2','metrics':[{'name':'time','timer':'wall','n':1,'median':100,'best'"
    ":99},"
    "{'name':'time','unit':'count','better':'exact','n':1,'median':4}],'counters':"
    "{'time':9000,'sm_clock':1e9,'dram_read':2048,'warps':4,'instructions':7},'counters_least':"
    "{'sm_active':0},'passes':5}],'checks':[],'notes':['a note']}";

static const char raw[] = "probe\tmetric\tcase\ttimer\tround\tn\tvalue\n"
                          "good\ttime\t\twall\t0\t1\t100\ngood\ttime\t\twall\t1\t1\t101\n";

static const char *const schemas[N_KINDS] = {"bundle", "counters", "bundle", "run", NULL, NULL};

/* Is it JSON; and does the reader of plain JSON give what jansson gives, or nothing? */
static bool is_json(const char *bytes, size_t size, bool *alike)
{
    json_t *plain = parse_plain(bytes, size);

    scratch_begin();
    const json_t *other = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    *alike = !plain || (other && json_equal(plain, other));
    scratch_end();
    json_decref(plain);
    return other != NULL;
}

bool seeds_valid(enum kind kind, const char *bytes, size_t size, bool *parsed, bool *alike)
{
    char why[DOCUMENT_WHY];

    *parsed = is_json(bytes, size, alike);
    if (!schemas[kind])
        return *parsed;
    json_t *document = document_parse(bytes, size, "mutant", schemas[kind], why);
    const bool fits = document != NULL;
    json_decref(document);
    return fits;
}

void seeds_keep(enum kind kind, const char *bytes, size_t size)
{
    if (fuzz->n_kept == KEPT_MAX || size > KEEP_MOST || fuzz->used + size > KEPT_BYTES)
        return;
    memcpy(fuzz->bytes + fuzz->used, bytes, size);
    fuzz->kept[fuzz->n_kept++] = (struct kept){kind, fuzz->used, size};
    fuzz->used += size;
}

static size_t count(enum kind kind, size_t upto)
{
    size_t n = 0;
    for (size_t i = 0; i < upto; i++)
        n += fuzz->kept[i].kind == kind;
    return n;
}

static struct bytes nth(enum kind kind, size_t n)
{
    for (size_t i = 0; i < fuzz->n_kept; i++)
        if (fuzz->kept[i].kind == kind && n-- == 0)
            return (struct bytes){fuzz->bytes + fuzz->kept[i].at, fuzz->kept[i].size};
    return (struct bytes){fuzz->bytes, 0};
}

struct bytes seeds_at(enum kind kind, size_t number)
{
    const size_t n = count(kind, fuzz->n_seeds);
    return nth(kind, n ? number % n : 0);
}

/* As often one that was cut as one that was kept since. Mostly the smaller of two: an attempt takes
 * as long as its document is large. */
struct bytes seeds_pick(enum kind kind, uint64_t *state)
{
    const size_t cut = count(kind, fuzz->n_seeds), all = count(kind, fuzz->n_kept);
    const bool is_cut = all == cut || draw_below(state, 2) == 0;
    struct bytes two[2];

    for (size_t i = 0; i < 2; i++) {
        const size_t at = (size_t)draw(state);
        two[i] = nth(kind, is_cut ? at % (cut + !cut) : cut + at % (all - cut));
    }
    return two[draw_below(state, 8) != 0 && two[1].size < two[0].size];
}

/* --- cutting ---------------------------------------------------------------------------------- */

static void keep_document(enum kind kind, json_t *document)
{
    char *text = malloc(SEED_MOST);
    const size_t size = text ? json_dumpb(document, text, SEED_MOST, JSON_COMPACT) : 0;
    if (size > 0 && size <= SEED_MOST)
        seeds_keep(kind, text, size);
    free(text);
}

/* The same cases of every run: some in a row, from a place that follows from `from`. */
static void cut_cases(json_t *one, size_t from)
{
    json_t *cases = json_object_get(one, "cases"), *some = json_array();
    const size_t n = json_array_size(cases);
    for (size_t i = 0; i < n && i < CASES_MOST; i++)
        json_array_append(some, json_array_get(cases, (from + i) % n));
    json_object_set_new(one, "cases", some);
}

static bool is_chosen(const json_t *one, json_t *const chosen[], size_t n)
{
    const char *name = document_get_text(json_object_get(one, "probe"), "name", "");
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, document_get_text(json_object_get(chosen[i], "probe"), "name", "?")))
            return true;
    return false;
}

/* Some programs' runs of a bundle, with some of their cases. */
static void cut_bundle(const json_t *whole, uint64_t *state)
{
    json_t *runs = json_object_get(whole, "runs"), *small = json_copy((json_t *)whole);
    json_t *chosen[PROBES_MOST], *some = json_array(), *one;
    const size_t n = 1 + (size_t)draw_below(state, PROBES_MOST);
    const size_t from = (size_t)draw_below(state, 64);
    size_t i;

    for (i = 0; i < n; i++)
        chosen[i] = json_array_get(runs, (size_t)draw_below(state, json_array_size(runs)));
    json_array_foreach(runs, i, one) if (is_chosen(one, chosen, n))
    {
        json_t *copy = json_copy(one);
        cut_cases(copy, from);
        json_array_append_new(some, copy);
    }
    json_object_set_new(small, "runs", some);
    keep_document(KIND_BUNDLE, small);
    json_decref(small);
}

static void cut_counters(const json_t *whole)
{
    json_t *small = json_deep_copy(whole), *probe;
    size_t i;
    json_array_foreach(json_object_get(small, "probes"), i, probe) cut_cases(probe, i);
    keep_document(KIND_COUNTERS, small);
    json_decref(small);
}

void seeds_cut(const char *path, uint64_t *state)
{
    json_t *whole = json_load_file(path, 0, NULL);
    const char *schema = document_get_text(whole, "schema", "");

    if (!strcmp(schema, "bundle") && json_array_size(json_object_get(whole, "runs")) > 0) {
        keep_document(KIND_BUNDLE, whole);
        for (int i = 0; i < CUTS; i++)
            cut_bundle(whole, state);
    } else if (!strcmp(schema, "bundle")) {
        keep_document(KIND_BUNDLE, whole);
    } else if (!strcmp(schema, "counters")) {
        cut_counters(whole);
    }
    json_decref(whole);
}

/* --- made ------------------------------------------------------------------------------------- */

static void keep_quoted(enum kind kind, const char *text)
{
    char *quoted = strdup(text);
    for (char *c = quoted; c && *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (quoted)
        seeds_keep(kind, quoted, strlen(quoted));
    free(quoted);
}

/* A bundle that stopped after the first of three rounds, which this program can go on with. */
static void make_part(void)
{
    const struct bytes text = seeds_at(KIND_RUN, 0);
    json_t *null = json_loadb(text.at, text.size, 0, NULL), *good = json_deep_copy(null);
    json_object_set_new(json_object_get(null, "probe"), "name", json_string("null"));
    json_t *part =
        json_pack("{s:s, s:i, s:{s:s, s:s, s:b}, s:{s:{s:s}, s:{s:s, s:s, s:s}}, s:s, s:f, "
                  "s:i, s:i, s:b, s:b, s:{s:s, s:n}, s:[s, s], s:[o, o]}",
                  "schema", "bundle", "schema_version", 1, "suite", "version", version_number,
                  "commit", version_commit, "dirty", version_dirty, "environment", "host", "cpu",
                  "a CPU", "gpu", "name", "A GPU", "board", "a-gpu", "id_hash", "0", "started",
                  "2026-11-22T08:12:03Z", "elapsed_s", 1.0, "seed", 1, "rounds", 3, "quick", 0,
                  "complete", 0, "raw", "file", "part.raw.tsv", "sha256", "programs", "null",
                  "good", "runs", null, good);
    keep_document(KIND_PART, part);
    json_object_del(part, "raw");
    keep_document(KIND_PART, part);
    json_decref(part);
}

void seeds_made(void)
{
    keep_quoted(KIND_LIST, list);
    keep_quoted(KIND_RUN, run);
    fuzz->n_seeds = fuzz->n_kept;
    seeds_keep(KIND_RAW, raw, strlen(raw));
    make_part();
    fuzz->n_seeds = fuzz->n_kept;
    for (enum kind kind = 0; kind < N_KINDS; kind++)
        if (count(kind, fuzz->n_seeds) == 0)
            fuzz_quit("none of the files is a document of kind %d", (int)kind);
}
