#include "report/cli/answers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "report/bundle/folder.h"
#include "report/cli/catalogue.h"
#include "report/page/emit.h"
#include "report/page/html.h"
#include "report/page/made.h"
#include "report/page/out.h"
#include "report/page/sections.h"

bool answers_known(const char *section)
{
    const struct section_entry *entry;
    for (size_t i = 0; (entry = section_at(i)); i++)
        if (!strcmp(entry->name, section))
            return true;
    return false;
}

void answers_near(struct suggest *near)
{
    const struct section_entry *entry;
    for (size_t i = 0; (entry = section_at(i)); i++)
        suggest_try(near, entry->name);
}

char *answers_names(char *text, size_t size)
{
    const struct section_entry *entry;

    text[0] = '\0';
    for (size_t i = 0; (entry = section_at(i)); i++) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i ? " " : "", entry->name);
    }
    return text;
}

/* --- what is committed ------------------------------------------------------------------------ */

static bool is_same_folder(const char *a, const char *b)
{
    char *real[2] = {realpath(a, NULL), realpath(b, NULL)};
    const bool same = real[0] && real[1] && !strcmp(real[0], real[1]);
    free(real[0]);
    free(real[1]);
    return same;
}

/* The folder of the board's committed results; false: it can have none. */
static bool folder_of(const struct bundle *bundle, const char *results, char folder[PATH_MAX])
{
    return bundle->board && !strchr(bundle->board, '/') && bundle->board[0] != '.' &&
           snprintf(folder, PATH_MAX, "%s/%s", results, bundle->board) < PATH_MAX;
}

bool answers_is_committed(const struct bundle *bundle, const char *results)
{
    char folder[PATH_MAX];
    return folder_of(bundle, results, folder) && bundle->path &&
           is_same_folder(bundle->path, folder);
}

bool answers_committed(struct summary *summary, struct bundle *committed)
{
    const struct bundle *bundle = summary->bundle;
    char folder[PATH_MAX], why[DOCUMENT_WHY];
    size_t n = 0;

    if (!folder_of(bundle, summary->results, folder))
        return false;
    summary->is_committed = answers_is_committed(bundle, summary->results);
    paths_free(paths_in(folder, &n), n);
    if (summary->is_committed || n == 0)
        return false;
    if (catalogue_read(committed, folder, why)) {
        summary->committed = committed;
        return true;
    }
    out_say("gpufloor report: not compared with the committed results: %s\n", why);
    return false;
}

/* --- text, Markdown, JSON --------------------------------------------------------------------- */

/* Between sections: a blank line, if the whole is not too long. No text has this character. */
static const char GAP = '\f';
enum { LINES_MOST = 200 };

static void put_with_gaps(FILE *out, const char *text)
{
    size_t n_lines = 0;

    for (const char *at = text; *at; at++)
        n_lines += *at == '\n' || *at == GAP;
    for (const char *at = text; *at; at++)
        if (*at != GAP)
            fputc(*at, out);
        else if (n_lines <= LINES_MOST)
            fputc('\n', out);
}

static void put_next(FILE *out, enum table_format format)
{
    static const char *const lines[][2] = {
        {"report --section small B", "one section: interval, status, id of each number"},
        {"report --all B; --gaps B", "every row; what is missing, and why"},
        {"report A B; claims B", "boards side by side; claims, --id C24: in full"},
    };
    if (format == TABLE_MD)
        fputs("\n## Next\n\n", out);
    else
        fputc(GAP, out);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (format == TABLE_MD)
            fprintf(out, "- `gpufloor %s`: %s\n", lines[i][0], lines[i][1]);
        else
            fprintf(out, "%s  %-24s  %s\n", i ? "    " : "NEXT", lines[i][0], lines[i][1]);
}

static void put_section(FILE *out, const struct section *section, size_t number,
                        enum answers answers, enum table_format format,
                        const struct text_style *style)
{
    if (format == TABLE_MD) {
        emit_markdown(out, section, number);
        if (answers == ANSWERS_ONE)
            emit_markdown_cells(out, section);
        return;
    }
    struct section brief = *section;
    if (answers == ANSWERS_ALL && section->n_brief > 0) {
        brief.n_grids = 1;
        brief.grid[0].n_cells = section->n_brief * brief.grid[0].n_columns;
        brief.n_notes = section->n_notes > 0;
    }
    emit_text(out, &brief, number, style);
    if (answers != ANSWERS_ONE)
        return;
    fputc('\n', out);
    emit_text_cells(out, section, style);
}

json_t *answers_bundle_json(const struct bundle *bundle)
{
    const json_t *suite = json_object_get(bundle->head, "suite");
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:i}", "name", out_json(bundle->name), "board",
                     out_json(bundle->board), "path", out_json(bundle->path), "started",
                     out_json(document_get_text(bundle->head, "started", NULL)), "commit",
                     out_json(document_get_text(suite, "commit", NULL)), "rounds",
                     bundle->n_rounds);
}

static bool put_json(FILE *out, const struct bundle *bundle, json_t *sections)
{
    json_t *document = json_pack("{s:s, s:i, s:o, s:o}", "schema", "report", "schema_version", 1,
                                 "bundle", answers_bundle_json(bundle), "sections", sections);
    return out_document(out, document, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
}

/* Of what no program measures, or not every bundle has, the whole report says nothing. */
static bool is_idle(const struct section_entry *entry, const struct section *built,
                    enum answers answers)
{
    return answers == ANSWERS_ALL && built->missing && (!*entry->needs || built->is_silent);
}

bool answers_is_among(const char *sections, const char *name)
{
    const char *word;
    size_t length;

    while (text_word(&sections, &word, &length))
        if (length == strlen(name) && !strncmp(word, name, length))
            return true;
    return false;
}

static bool is_wanted(size_t i, const char *name, enum answers answers, const char *sections)
{
    return answers == ANSWERS_ALL || (answers == ANSWERS_HEAD && i <= 1) ||
           (answers == ANSWERS_ONE && answers_is_among(sections, name));
}

static void put_rest(FILE *out, const char *names, enum table_format format,
                     const struct text_style *style)
{
    struct section rest = {.name = NULL};

    rest_tell(&rest, names);
    if (format == TABLE_TEXT)
        fputc(GAP, out);
    put_section(out, &rest, 1, ANSWERS_ALL, format, style);
    section_free(&rest);
}

/* The sections that are wanted; into an array, or as text. */
static bool build_all(FILE *out, json_t *sections, const struct summary *summary,
                      enum answers answers, const char *section, enum table_format format,
                      const struct text_style *style)
{
    const struct section_entry *entry;
    /* one such line needs no gap before the next */
    bool put = true, any = false, was_missing = false;
    char rest[REST_NAMES] = "";

    for (size_t i = 0; put && (entry = section_at(i)); i++) {
        struct section built = {.name = entry->name};
        if (!is_wanted(i, entry->name, answers, section))
            continue;
        entry->build(summary, &built);
        const bool is_apart = i > 0 && !(was_missing && built.missing) && answers != ANSWERS_ONE;
        if (format == TABLE_JSON) {
            put = json_array_append_new(sections, emit_json(&built, i)) == 0;
        } else if (answers == ANSWERS_ALL && rest_take(rest, summary, &built)) {
            section_free(&built);
            continue;
        } else if (!is_idle(entry, &built, answers)) {
            if (is_apart && format == TABLE_TEXT)
                fputc(GAP, out);
            else if (any && answers == ANSWERS_ONE && format == TABLE_TEXT)
                fputc('\n', out);
            put_section(out, &built, i, answers, format, style);
            any = true;
        }
        was_missing = built.missing != NULL;
        section_free(&built);
    }
    if (*rest)
        put_rest(out, rest, format, style);
    return put;
}

static bool put_text(FILE *out, const struct summary *summary, enum answers answers,
                     const char *section, enum table_format format)
{
    const struct text_style style = text_style_of(out);
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    if (!memory)
        return false;
    build_all(memory, NULL, summary, answers, section, format, &style);
    if (answers == ANSWERS_ALL)
        put_next(memory, format);
    const bool is_whole = fclose(memory) == 0;
    if (is_whole)
        put_with_gaps(out, text);
    free(text);
    return is_whole;
}

static void put_short(FILE *out, const struct summary *summary)
{
    struct section built = {.name = "short"};
    section_short(summary, &built);
    emit_markdown_short(out, &built);
    section_free(&built);
}

bool answers_print(FILE *out, const struct bundle *bundle, const char *results,
                   enum answers answers, const char *section, enum table_format format)
{
    struct bundle committed = {0};
    struct summary summary = {.bundle = bundle, .results = results};
    const bool is_open = answers_committed(&summary, &committed);
    bool put = true;

    if (answers == ANSWERS_SHORT) {
        put_short(out, &summary);
    } else if (format == TABLE_JSON) {
        json_t *sections = json_array();
        put = sections &&
              build_all(out, sections, &summary, answers, section, format, NULL) &&
              put_json(out, bundle, sections);
    } else
        put = put_text(out, &summary, answers, section, format);
    if (is_open)
        bundle_free(&committed);
    return put;
}

/* --- the page --------------------------------------------------------------------------------- */

bool answers_page(const char *path, const struct bundle *bundle, const char *results,
                  char why[DOCUMENT_WHY])
{
    struct bundle committed = {0};
    struct summary summary = {.bundle = bundle, .results = results};
    FILE *out = made_open(path, why);

    if (!out)
        return false;
    const bool is_open = answers_committed(&summary, &committed);
    const bool put = html_print(out, &summary);
    const bool closed = made_close(out, path, why);
    if (is_open)
        bundle_free(&committed);
    if (!put)
        snprintf(why, DOCUMENT_WHY, "%.300s: out of memory", path);
    return put && closed;
}

bool answers_figures(const char *folder, const struct bundle *bundle, const char *results,
                     char why[DOCUMENT_WHY])
{
    struct bundle committed = {0};
    struct summary summary = {.bundle = bundle, .results = results};
    const bool is_open = answers_committed(&summary, &committed);
    const bool put = html_figures(&summary, folder, why);

    if (is_open)
        bundle_free(&committed);
    return put;
}
