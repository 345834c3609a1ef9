#include "report/cli/check.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/version.h"
#include "report/bundle/cubins.h"
#include "report/bundle/instrument.h"
#include "report/bundle/setting.h"
#include "report/cli/devices.h"

enum {
    ROUNDS_NEEDED = 7,
    ROWS_BAD_MOST = 5,
    HASH_LENGTH = 16,
    NUMBERS_MOST = 1000,
    PROGRAMS_NAMED = 3
};
enum { BYTES_MOST = 8000000, ASKED_CYCLES = 200000 };
static const double REPEATED_MOST = 0.05; /* of the runs */
static const double SPIN_OFF = 0.005;     /* as the report's verdict has it */
static const double CLOCK_REACHED = 0.97; /* of the greatest, while one block spins */
static const char foreign[] = "another process was on the GPU"; /* report/cli/rounds.c */

static enum answer say(enum answer answer, char why[ANSWER_WHY], const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum answer say(enum answer answer, char why[ANSWER_WHY], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, ANSWER_WHY, format, arguments);
    va_end(arguments);
    return answer;
}

static const json_t *runs_of(const struct checked *checked)
{
    return json_object_get(checked->document, "runs");
}

static const char *program_of(const json_t *run)
{
    return document_get_text(json_object_get(run, "probe"), "name", "?");
}

/* --- the document ----------------------------------------------------------------------------- */

static bool is_date(const char *text)
{
    static const char shape[] = "0000-00-00T00:00:00Z";
    if (strlen(text) != strlen(shape))
        return false;
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
            return false;
    return true;
}

/* Beyond what every reader needs: what a bundle of results/ must say of itself. */
static enum answer ask_document(const struct checked *checked, char why[ANSWER_WHY])
{
    const json_t *document = checked->document;

    if (!json_is_object(json_object_get(document, "suite")))
        return say(ANSWER_NO, why, "\"suite\" is missing: which gpufloor measured?");
    if (!is_date(document_get_text(document, "started", "")))
        return say(ANSWER_NO, why, "\"started\" is no date such as 2026-11-22T15:27:46Z");
    if (!json_is_integer(json_object_get(document, "rounds")) ||
        !json_is_boolean(json_object_get(document, "complete")))
        return say(ANSWER_NO, why, "\"rounds\" or \"complete\" is missing");
    return say(ANSWER_OK, why, "a bundle of schema %d with %zu runs", DOCUMENT_SCHEMA_VERSION,
               json_array_size(runs_of(checked)));
}

static int rounds_of(const struct checked *checked, const char *program)
{
    const json_t *run;
    unsigned seen = 0;
    size_t i;
    int n = 0;

    json_array_foreach(runs_of(checked), i, run)
    {
        const json_t *round = json_object_get(json_object_get(run, "run"), "round");
        const json_int_t at = json_is_integer(round) ? json_integer_value(round) : -1;
        if (!strcmp(program_of(run), program) && at >= 0 && at < ROUNDS_NEEDED)
            seen |= 1u << at;
    }
    for (; seen; seen &= seen - 1)
        n++;
    return n;
}

/* Programs of this tree that the bundle lacks, of those that such a run has; the first is named. */
static size_t lacking(const struct checked *checked, size_t *of, const char **first)
{
    size_t n = 0;
    *of = 0;
    for (size_t i = 0; i < checked->catalogue->n; i++) {
        const struct listed *program = &checked->catalogue->probes[i];
        if (!devices_take(program, bundle_gpus(&checked->bundle)))
            continue;
        ++*of;
        if (bundle_part(&checked->bundle, program->name))
            continue;
        *first = n++ ? *first : program->name;
    }
    return n;
}

static enum answer ask_rounds(const struct checked *checked, char why[ANSWER_WHY])
{
    const struct bundle *bundle = &checked->bundle;
    const json_t *document = checked->document;
    const char *first = "";
    size_t of;

    if (json_is_true(json_object_get(document, "quick")))
        return say(ANSWER_NO, why, "--quick: one round, and no verdict rests on one");
    if (json_is_true(json_object_get(document, "deep")))
        return say(ANSWER_NO, why, "--deep: one round, and no verdict rests on one");
    if (json_is_true(json_object_get(document, "energy")))
        return say(ANSWER_NO, why,
                   "--energy: the board worked for half a second between cases, so times are of a "
                   "hotter one");
    if (!json_is_true(json_object_get(document, "complete")))
        return say(ANSWER_NO, why,
                   "not complete: %.200s; gpufloor run --continue measures the rest",
                   document_get_text(document, "why", "no reason given"));
    if (json_integer_value(json_object_get(document, "rounds")) != ROUNDS_NEEDED)
        return say(ANSWER_NO, why, "%" JSON_INTEGER_FORMAT " rounds; expected %d",
                   json_integer_value(json_object_get(document, "rounds")), ROUNDS_NEEDED);
    if (bundle->n_parts == 0)
        return say(ANSWER_NO, why, "it holds no run");
    for (size_t i = 0; i < bundle->n_parts; i++) {
        const int n = rounds_of(checked, bundle->parts[i].name);
        if (n < ROUNDS_NEEDED)
            return say(ANSWER_NO, why, "%.60s was run in %d of %d rounds", bundle->parts[i].name, n,
                       ROUNDS_NEEDED);
    }
    const size_t n_lacking = lacking(checked, &of, &first);
    if (n_lacking > 0)
        return say(ANSWER_NOTE, why,
                   "%d rounds of %zu programs; of this tree's it lacks %zu: %.60s%s", ROUNDS_NEEDED,
                   bundle->n_parts, n_lacking, first, n_lacking > 1 ? " ..." : "");
    return say(ANSWER_OK, why, "%d rounds of %zu programs", ROUNDS_NEEDED, bundle->n_parts);
}

/* --- which card, which code ------------------------------------------------------------------- */

static bool is_hash(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

/* A run that says for itself on what it ran says the same as the bundle. */
static bool is_elsewhere(const json_t *run, const char *section, const char *key, const char *own)
{
    const json_t *there = json_object_get(json_object_get(run, "environment"), section);
    return strcmp(document_get_text(there, key, own), own) != 0;
}

static enum answer ask_card(const struct checked *checked, char why[ANSWER_WHY])
{
    char text[160], driver[64], cards[BUNDLE_CARDS];
    const char *card = bundle_fact(&checked->bundle, "gpu", "id_hash", text, sizeof text, "");
    const json_t *run;
    size_t i;

    if (!checked->bundle.board)
        return say(ANSWER_NO, why, "no GPU was measured");
    if (!is_hash(card, HASH_LENGTH))
        return say(ANSWER_NO, why, "\"id_hash\" is not the hash of one card");
    if (!*bundle_fact(&checked->bundle, "driver", "version", driver, sizeof driver, ""))
        return say(ANSWER_NO, why, "the driver's version is missing");
    json_array_foreach(runs_of(checked), i, run)
    {
        if (is_elsewhere(run, "gpu", "id_hash", card))
            return say(ANSWER_NO, why, "a run of %.60s is of another card", program_of(run));
        if (is_elsewhere(run, "driver", "version", driver))
            return say(ANSWER_NO, why, "a run of %.60s is of another driver", program_of(run));
    }
    if (bundle_gpus(&checked->bundle) > 1)
        return say(ANSWER_OK, why, "%zu cards, %s; driver %.30s", bundle_gpus(&checked->bundle),
                   bundle_cards(checked->bundle.head, 8, cards), driver);
    return say(ANSWER_OK, why, "one card, %.8s; driver %.30s", card, driver);
}

/* Two builds in one bundle: a program whose runs name one image with two hashes. */
static const char *with_two_builds(const struct checked *checked)
{
    const json_t *run, *hash;
    const char *image;
    size_t i;

    json_array_foreach(runs_of(checked), i, run)
    {
        const struct part *part = bundle_part(&checked->bundle, program_of(run));
        json_object_foreach((json_t *)json_object_get(run, "cubins"), image, hash)
            if (part && !json_equal(hash, json_object_get(part->cubins, image)))
                return part->name;
    }
    return NULL;
}

static enum answer ask_code(const struct checked *checked, char why[ANSWER_WHY])
{
    const json_t *suite = json_object_get(checked->document, "suite");
    const char *commit = document_get_text(suite, "commit", "");
    const char *mixed = with_two_builds(checked);
    size_t n_known = 0, n_other = 0;

    if (!is_hash(commit, 40))
        return say(ANSWER_NO, why, "the commit of gpufloor is not known: build it in a checkout");
    if (!json_is_false(json_object_get(suite, "dirty")))
        return say(ANSWER_NO, why, "built from sources that differ from commit %.7s", commit);
    if (mixed)
        return say(ANSWER_NO, why, "runs of %.60s are of two builds", mixed);
    if (!strcmp(commit, version_commit) && !version_dirty)
        return say(ANSWER_OK, why, "commit %.7s, which is this tree's", commit);
    for (size_t i = 0; i < checked->bundle.n_parts; i++) {
        const struct part *part = &checked->bundle.parts[i];
        const struct listed *here = catalogue_find(checked->catalogue, part->name);
        if (json_object_size(part->cubins) == 0 || !here ||
            json_object_size(json_object_get(here->list, "cubins")) == 0)
            continue;
        n_known++;
        n_other += catalogue_differs(checked->catalogue, part->name, part->method, part->cubins);
    }
    if (n_known == 0)
        return say(ANSWER_NOTE, why, "commit %.7s; this build has no kernels to compare with",
                   commit);
    if (n_other > 0)
        return say(ANSWER_NOTE, why,
                   "commit %.7s is older than this tree: %zu of %zu programs have other "
                   "kernels",
                   commit, n_other, n_known);
    return say(ANSWER_OK, why, "commit %.7s, whose kernels are this tree's", commit);
}

/* --- was the board idle, and as shipped? ------------------------------------------------------ */

static enum answer ask_processes(const struct checked *checked, char why[ANSWER_WHY])
{
    const json_t *run;
    size_t i, n_foreign = 0, n_watched = 0;

    json_array_foreach(runs_of(checked), i, run)
    {
        n_watched += json_is_object(json_object_get(run, "nvml"));
        n_foreign += json_is_true(json_object_get(run, "shared")) ||
                     !strcmp(document_get_text(run, "discarded", ""), foreign);
    }
    if (json_is_true(json_object_get(checked->document, "shared")))
        return say(ANSWER_NO, why, "--shared: measured although others used the GPU");
    if (n_foreign > 0)
        return say(ANSWER_NO, why, "%s in %zu of %zu runs", foreign, n_foreign, i);
    if (n_watched == 0)
        return say(ANSWER_NOTE, why, "other processes on the GPU: not recorded, NVML was not read");
    return say(ANSWER_OK, why, "no other process was on the GPU");
}

static const json_t *gpu_of(const struct checked *checked)
{
    return json_object_get(json_object_get(checked->document, "environment"), "gpu");
}

static enum answer as_shipped(const struct checked *checked, char why[ANSWER_WHY],
                              setting_reader *read)
{
    char text[SETTING_TEXT];
    const enum setting setting = read(gpu_of(checked), text);
    return say(setting == SETTING_SHIPPED   ? ANSWER_OK
               : setting == SETTING_CHANGED ? ANSWER_NO
                                            : ANSWER_NOTE, why, "%s", text);
}

static enum answer ask_mig(const struct checked *checked, char why[ANSWER_WHY])
{
    return as_shipped(checked, why, setting_mig);
}

static enum answer ask_mps(const struct checked *checked, char why[ANSWER_WHY])
{
    return as_shipped(checked, why, setting_mps);
}

static enum answer ask_ecc(const struct checked *checked, char why[ANSWER_WHY])
{
    return as_shipped(checked, why, setting_ecc);
}

static enum answer ask_power(const struct checked *checked, char why[ANSWER_WHY])
{
    return as_shipped(checked, why, setting_power);
}

/* Runs before or after which the driver held the clock back for heat or a fault. The power cap is
 * no such cause: some programs are made to reach it. */
static size_t held_back(const struct checked *checked, char cause[SETTING_TEXT])
{
    static const char *const sides[] = {"before", "after"};
    const json_t *run;
    size_t i, n = 0;

    json_array_foreach(runs_of(checked), i, run)
    {
        const json_t *nvml = json_object_get(run, "nvml");
        for (size_t k = 0; k < sizeof sides / sizeof sides[0]; k++) {
            char found[SETTING_TEXT];
            if (!*setting_slowdown(document_get_text(json_object_get(nvml, sides[k]),
                                                     "held_back_by", ""), found))
                continue;
            memcpy(cause, found, sizeof found);
            n++;
            break;
        }
    }
    return n;
}

/* Where the driver's settings are not recorded, the clock itself tells: one block that spins runs
 * at the greatest clock on a board with HBM. Others reach it seldom, whatever their settings. */
static enum answer ask_clocks(const struct checked *checked, char why[ANSWER_WHY])
{
    const struct row *spin = rows_find(&checked->bundle.rows, "spin.sm_clock{source=measured}");
    const json_t *gpu = gpu_of(checked);
    const double most = document_get_number(gpu, "sm_clock_max_mhz");
    const bool has_hbm = document_get_number(gpu, "bus_bits") >= 1024;
    const double reached = spin && spin->n > 0 ? spin->centre / 1e6 : (double)NAN;
    char text[SETTING_TEXT], cause[SETTING_TEXT] = "";

    const enum setting setting = setting_clocks(gpu, text);
    const size_t n_held = held_back(checked, cause);
    if (setting == SETTING_CHANGED)
        return say(ANSWER_NO, why, "%s", text);
    if (n_held > 0)
        return say(ANSWER_NO, why, "held back (%.60s) at %zu of %zu runs", cause, n_held,
                   json_array_size(runs_of(checked)));
    if (reached < CLOCK_REACHED * most)
        return say(has_hbm ? ANSWER_NO : ANSWER_NOTE, why,
                   "the SM clock was %.0f MHz of %.0f at most: locked, or limited?", reached, most);
    if (setting == SETTING_SHIPPED)
        return say(ANSWER_OK, why, "%s", text);
    if (isnan(reached) || isnan(most))
        return say(ANSWER_NOTE, why, "%s", text);
    return say(ANSWER_OK, why, "the SM clock reached %.0f MHz of %.0f; %s", reached, most, text);
}

/* --- trust ------------------------------------------------------------------------------------ */

static enum answer ask_checks(const struct checked *checked, char why[ANSWER_WHY])
{
    size_t n = 0, n_failed = 0;
    const char *first = "";

    for (size_t i = 0; i < checked->bundle.n_parts; i++) {
        const struct part *part = &checked->bundle.parts[i];
        n += part->n_checks;
        if (part->n_checks_failed > 0 && n_failed == 0)
            first = part->name;
        n_failed += part->n_checks_failed;
    }
    if (n_failed > 0)
        return say(ANSWER_NO, why, "%zu of %zu checks failed, the first in %.60s", n_failed, n,
                   first);
    return say(n ? ANSWER_OK : ANSWER_NOTE, why,
               n ? "%zu checks, none failed" : "it holds no check", n);
}

static enum answer ask_instrument(const struct checked *checked, char why[ANSWER_WHY])
{
    const struct row *wait = rows_find(&checked->bundle.rows, "spin.waited{asked=200000}");
    char reason[DOCUMENT_WHY];

    if (!instrument_holds(&checked->bundle, reason))
        return say(ANSWER_NO, why, "%.300s", reason);
    if (!wait || wait->n == 0)
        return say(ANSWER_NOTE, why, "spin, whose answer is known, did not wait %d cycles",
                   ASKED_CYCLES);
    const double off = fabs(wait->centre / ASKED_CYCLES - 1);
    return say(off <= SPIN_OFF ? ANSWER_OK : ANSWER_NO, why, "a wait of %d cycles reads %.0f%s",
               ASKED_CYCLES, wait->centre, off <= SPIN_OFF ? "" : ": off by more than 0.5 %");
}

static size_t count_rows(const struct checked *checked, enum row_status status, const char **first)
{
    const struct rows *rows = &checked->bundle.rows;
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].status == status && n++ == 0)
            *first = rows->row[i].id;
    return n;
}

/* Some rows may be bad; the first is named. */
static enum answer weigh_rows(const struct checked *checked, char why[ANSWER_WHY],
                              enum row_status status, const char *what)
{
    const char *first = "";
    const size_t n = count_rows(checked, status, &first);

    if (n == 0)
        return say(ANSWER_OK, why, "no row of %zu %s", checked->bundle.rows.n, what);
    return say(n > ROWS_BAD_MOST ? ANSWER_NO : ANSWER_NOTE, why, "%zu of %zu rows %s%s: %.120s%s",
               n, checked->bundle.rows.n, what, n > ROWS_BAD_MOST ? " (at most 5 may)" : "", first,
               n > 1 ? " ..." : "");
}

static enum answer ask_agreement(const struct checked *checked, char why[ANSWER_WHY])
{
    return weigh_rows(checked, why, ROW_DISAGREE, "disagree between runs");
}

static enum answer ask_lost(const struct checked *checked, char why[ANSWER_WHY])
{
    return weigh_rows(checked, why, ROW_DISCARDED, "lost to the clock");
}

static enum answer ask_runs(const struct checked *checked, char why[ANSWER_WHY])
{
    const json_t *run;
    size_t i, n_failed = 0, n_repeated = 0;
    const char *failed = "", *cause = "";

    json_array_foreach(runs_of(checked), i, run)
    {
        if (!strcmp(document_get_text(run, "status", ""), "failed") && n_failed++ == 0) {
            failed = program_of(run);
            cause = document_get_text(run, "why", "no reason given");
        }
        n_repeated += json_object_get(json_object_get(run, "run"), "repeat") != NULL;
    }
    if (n_failed > 0)
        return say(ANSWER_NO, why, "%zu of %zu runs failed: %.60s: %.160s", n_failed, i, failed,
                   cause);
    if (n_repeated == 0)
        return say(ANSWER_OK, why, "of %zu runs none failed and none was repeated", i);
    return say((double)n_repeated > REPEATED_MOST * (double)i ? ANSWER_NO : ANSWER_NOTE, why,
               "%zu of %zu runs were repeated (at most 5 %% may be)", n_repeated, i);
}

/* --- the file --------------------------------------------------------------------------------- */

static enum answer ask_size(const struct checked *checked, char why[ANSWER_WHY])
{
    const bool fits = checked->bytes <= BYTES_MOST;
    return say(fits ? ANSWER_OK : ANSWER_NO, why, "%.2f MB%s", (double)checked->bytes / 1e6,
               fits ? "" : "; at most 8 MB");
}

/* Does a name begin with date and commit, and end with a number: "-2.json"? */
static bool is_numbered(const char *base, const char *begin)
{
    const char *dash = strrchr(base, '-');
    int number = 0, end = 0;

    return !strncmp(base, begin, strlen(begin)) && dash && dash >= base + strlen(begin) &&
           isdigit((unsigned char)dash[1]) && sscanf(dash, "-%3d.json%n", &number, &end) == 1 &&
           end > 0 && !dash[end] && number > 0;
}

/* "-peers" of a bundle that lacks more than half of what such a run has. */
static void name_programs(char text[80], const struct checked *checked)
{
    const struct bundle *bundle = &checked->bundle;
    const char *first;
    size_t used = 0, of;

    text[0] = '\0';
    if (2 * lacking(checked, &of, &first) <= of)
        return;
    for (size_t i = 0; i < bundle->n_parts && i < PROGRAMS_NAMED && used < 80; i++)
        used += (size_t)snprintf(text + used, 80 - used, "-%.20s", bundle->parts[i].name);
}

char *check_name(char name[CHECK_NAME], const struct checked *checked)
{
    const char *slash = strrchr(checked->path, '/'), *base = slash ? slash + 1 : checked->path;
    const json_t *suite = json_object_get(checked->document, "suite");
    const char *board = checked->bundle.board ? checked->bundle.board : "host";
    char begin[32], programs[80], there[PATH_MAX];

    snprintf(begin, sizeof begin, "%.10s-%.7s",
             document_get_text(checked->document, "started", "DATE"),
             document_get_text(suite, "commit", "COMMIT"));
    if (is_numbered(base, begin)) {
        snprintf(name, CHECK_NAME, "%.60s/%.120s", board, base);
        return name;
    }
    name_programs(programs, checked);
    for (int number = 1; number <= NUMBERS_MOST; number++) {
        snprintf(name, CHECK_NAME, "%.60s/%s%s-%d.json", board, begin, programs, number);
        snprintf(there, sizeof there, "%.3000s/%s", checked->results, name);
        if (access(there, F_OK) != 0)
            break;
    }
    return name;
}

static enum answer ask_name(const struct checked *checked, char why[ANSWER_WHY])
{
    const size_t length = strlen(checked->path);
    char name[CHECK_NAME];

    check_name(name, checked);
    const size_t tail = strlen(name);
    const bool is_named = length >= tail && !strcmp(checked->path + length - tail, name) &&
                          (length == tail || checked->path[length - tail - 1] == '/');
    return say(is_named ? ANSWER_OK : ANSWER_NOTE, why, "%sresults/%s",
               is_named ? "" : "its place is ", name);
}

static const struct question questions[] = {
    {"document", ask_document}, {"rounds", ask_rounds},         {"card", ask_card},
    {"code", ask_code},         {"processes", ask_processes},   {"MIG", ask_mig},
    {"MPS", ask_mps},           {"clocks", ask_clocks},         {"ECC", ask_ecc},
    {"power limit", ask_power}, {"checks", ask_checks},         {"instrument", ask_instrument},
    {"agreement", ask_agreement}, {"clock losses", ask_lost},   {"runs", ask_runs},
    {"size", ask_size},         {"name", ask_name},             {"nothing personal", ask_personal},
    {"text", ask_text},
};

const struct question *question_at(size_t i)
{
    return i < sizeof questions / sizeof questions[0] ? &questions[i] : NULL;
}
