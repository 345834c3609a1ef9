/* What every attempt must keep, whatever it was given: it ends by itself, with a status that means
 * something; what went wrong is said in a line; nothing that it prints can move a terminal's
 * cursor; what should be JSON is. A finding is kept once, with its inputs. */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/document.h"

/* Lines on stderr: argp says what is wrong and where help is; a folder may hold two bad files. */
enum { LINES_MOST = 4, EXIT_REFUSED = 77 };

static const char *findings_folder, *excepted;

void judge_open(const char *folder, const char *except)
{
    findings_folder = folder;
    excepted = except;
}

/* Digits differ from attempt to attempt: they say nothing of which defect it is. */
static uint64_t print_of(const char *class, const char *command, const char *what)
{
    const char *const parts[] = {class, command, what};
    uint64_t print = 14695981039346656037u;
    for (size_t i = 0; i < 3; i++)
        for (const char *c = parts[i]; *c && *c != '\n'; c++)
            if (!isdigit((unsigned char)*c))
                print = (print ^ (unsigned char)*c) * 1099511628211u;
    return print;
}

/* The fuzzer's own report obeys its own rule. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\n') || (unsigned char)*text >= 0x7f)
            *text = '?';
}

static void found(const struct attempt *a, const char *class, const char *key, const char *what)
{
    const char *command = a->n_words > 1 ? a->words[1] : "";
    const uint64_t print = print_of(class, command, key);
    char folder[4096];

    if (excepted && strstr(excepted, class))
        return;
    for (size_t i = 0; i < fuzz->n_findings; i++)
        if (fuzz->findings[i].print == print) {
            fuzz->findings[i].times++;
            return;
        }
    if (fuzz->n_findings == FINDINGS_MAX)
        return;
    struct defect *finding = &fuzz->findings[fuzz->n_findings++];
    *finding = (struct defect){.index = fuzz->index - 1, .print = print, .times = 1};
    snprintf(finding->class, sizeof finding->class, "%s", class);
    snprintf(finding->command, sizeof finding->command, "%s", command);
    snprintf(finding->what, sizeof finding->what, "%s", what);
    make_plain(finding->command);
    make_plain(finding->what);
    mkdir(findings_folder, 0755);
    snprintf(folder, sizeof folder, "%s/%llu-%llu-%s", findings_folder,
             (unsigned long long)fuzz->seed, (unsigned long long)finding->index, class);
    place_save(folder);
}

/* --- what is printed -------------------------------------------------------------------------- */

static bool is_among(const unsigned char *c, size_t left, const char *lead, int least, int most)
{
    const size_t n = strlen(lead);
    return left > n && !memcmp(c, lead, n) && c[n] >= least && c[n] <= most;
}

/* The first byte that a terminal obeys instead of showing it: a control character of ASCII or of
 * U+0080 to U+009F, or one that turns the direction or has no width. NULL: none. */
static const char *control_in(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char *c = (const unsigned char *)text + i;
        if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f ||
            is_among(c, size - i, "\xc2", 0x80, 0x9f) ||
            is_among(c, size - i, "\xe2\x80", 0x8b, 0x8f) ||
            is_among(c, size - i, "\xe2\x80", 0xaa, 0xae) ||
            is_among(c, size - i, "\xe2\x81", 0xa6, 0xa9))
            return text + i;
    }
    return NULL;
}

static void judge_text(const struct attempt *a, const char *stream, const char *text, size_t size)
{
    char what[400];
    const char *at = control_in(text, size);
    if (!at)
        return;
    const char *line = at;
    while (line > text && line[-1] != '\n' && at - line < 100)
        line--;
    snprintf(what, sizeof what, "%s holds byte %02x in the line: %.*s", stream, (unsigned char)*at,
             (int)strcspn(line, "\n") > 200 ? 200 : (int)strcspn(line, "\n"), line);
    found(a, "text", stream, what);
}

static size_t lines_of(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n';
    return n;
}

static bool asks_for_json(const struct attempt *a)
{
    bool json = false;
    for (size_t i = 1; i < a->n_words; i++)
        if (!strcmp(a->words[i], "--format") && i + 1 < a->n_words)
            json = !strcmp(a->words[i + 1], "json");
        else if (!strncmp(a->words[i], "--format=", 9))
            json = !strcmp(a->words[i] + 9, "json");
    return json && !a->is_line;
}

static void judge_json(const struct attempt *a, const char *out, size_t n_out)
{
    json_error_t error;
    char what[600];
    json_t *value = json_loadb(out, n_out, JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        snprintf(what, sizeof what, "asked for JSON: %.200s at byte %d: %.200s", error.text,
                 error.position, error.position < (int)n_out ? out + error.position : "");
        found(a, "json", "json", what);
    }
    json_decref(value);
}

/* What `run` wrote must be a bundle that every command reads. */
static void judge_written(const struct attempt *a)
{
    char why[DOCUMENT_WHY];
    struct stat facts;
    const char *schema = !strcmp(a->words[1], "counters") ? "counters" : "bundle";
    if (a->is_line || stat("new.json", &facts) != 0)
        return;
    json_t *document = document_load("new.json", schema, why);
    if (!document)
        found(a, "written", "written", why);
    json_decref(document);
}

/* --- an attempt ------------------------------------------------------------------------------- */

void judge_status(const struct attempt *a, int status, const char *out, size_t n_out,
                  const char *said, size_t n_said)
{
    char what[600];
    const size_t lines = lines_of(said, n_said);
    const size_t most = LINES_MOST + a->n_words; /* each word may be an input, with a line of its
                                                  * own */
    bool talks = a->spawns || a->n_words < 2;    /* a line for each stand-in; the commands */

    for (size_t i = 1; i < a->n_words; i++) /* what is quoted may have lines of its own */
        talks |= strchr(a->words[i], '\n') != NULL;

    if (status != 0 && status != 1 && status != 2 && status != EXIT_REFUSED) {
        snprintf(what, sizeof what, "exit status %d: %.300s", status, said);
        found(a, "status", "status", what);
    }
    if (status == 2 && n_said == 0)
        found(a, "silent", "silent", "exit status 2 and not a word on stderr");
    if (lines > most && !talks) {
        snprintf(what, sizeof what, "%zu lines on stderr: %.400s", lines, said);
        found(a, "lines", "lines", what);
    }
    judge_text(a, "stdout", out, n_out);
    judge_text(a, "stderr", said, n_said);
    if (status == 0 && n_out > 0 && asks_for_json(a))
        judge_json(a, out, n_out);
    if (a->spawns && a->n_words > 1)
        judge_written(a);
}

/* The reader of plain JSON (core/parse.h) gave another document than jansson. */
void judge_readers(const struct attempt *a)
{
    found(a, "readers", "readers", "the plain reader reads the input otherwise than jansson does");
}

/* The sanitizer's summary says which defect it is. */
void judge_death(const struct attempt *a, const char *class, const char *said)
{
    const char *summary = strstr(said, "SUMMARY:");
    const char *error = strstr(said, "runtime error:");
    const char *begin = summary ? summary : error ? error : said;
    char what[FINDING_TEXT];
    snprintf(what, sizeof what, "%.200s\n%.1200s", begin, error ? error : said);
    found(a, class, begin, what);
}
