#include "report/cli/boards_print.h"

#include <jansson.h>
#include <string.h>

#include "report/bundle/counted.h"
#include "report/cli/answers.h"
#include "report/cli/papers.h"
#include "report/page/emit.h"
#include "report/page/html.h"
#include "report/page/made.h"
#include "report/page/out.h"
#include "report/page/published.h"

static void put(FILE *out, const struct section *section, bool is_first, enum table_format format)
{
    const struct text_style style = text_style_of(out);

    if (format == TABLE_MD) {
        emit_markdown(out, section, 1);
        return;
    }
    fputs(is_first ? "" : "\n", out);
    emit_text(out, section, 1, &style);
}

static bool put_json(FILE *out, const struct boards *boards, json_t *sections)
{
    json_t *bundles = json_array();

    for (size_t i = 0; i < boards->n; i++)
        json_array_append_new(bundles, answers_bundle_json(boards->of[i].bundle));
    json_t *document = json_pack("{s:s, s:i, s:o, s:o}", "schema", "boards", "schema_version", 1,
                                 "bundles", bundles, "sections", sections);
    return out_document(out, document, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
}

static bool print(FILE *out, const struct boards *boards, boards_builder *const builders[],
                  size_t n, enum table_format format, char why[DOCUMENT_WHY])
{
    json_t *sections = json_array();
    bool fine = sections != NULL;

    for (size_t i = 0; fine && i < n; i++) {
        struct section section = {0};
        builders[i](boards, &section);
        if (format == TABLE_JSON)
            fine = json_array_append_new(sections, emit_json(&section, 1)) == 0;
        else
            put(out, &section, i == 0, format);
        section_free(&section);
    }
    if (format == TABLE_JSON && fine)
        fine = put_json(out, boards, sections);
    else
        json_decref(sections);
    if (!fine)
        snprintf(why, DOCUMENT_WHY, "out of memory");
    return fine;
}

static struct boards take(const struct bundle *bundles, size_t n)
{
    struct boards boards = {.n = n};
    for (size_t i = 0; i < n; i++)
        boards.of[i].bundle = &bundles[i];
    return boards;
}

bool boards_print(FILE *out, struct bundle *bundles, size_t n, enum table_format format,
                  char why[DOCUMENT_WHY])
{
    boards_builder *builders[8];
    size_t n_builders = 0;

    if (n > BOARDS_MOST) {
        snprintf(why, DOCUMENT_WHY, "at most %d boards side by side; every row of more: --all",
                 BOARDS_MOST);
        return false;
    }
    while (boards_section_at(n_builders)) {
        builders[n_builders] = boards_section_at(n_builders);
        n_builders++;
    }
    const struct boards boards = take(bundles, n);
    return print(out, &boards, builders, n_builders, format, why);
}

bool boards_published(FILE *out, struct bundle *bundles, size_t n, enum table_format format,
                      char why[DOCUMENT_WHY])
{
    boards_builder *const builders[] = {published_section};
    const struct boards boards = take(bundles, n);

    if (n <= PUBLISHED_BESIDE)
        return print(out, &boards, builders, 1, format, why);
    snprintf(why, DOCUMENT_WHY, "--published: at most %d bundles", PUBLISHED_BESIDE);
    return false;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool write_page(const char *path, const struct boards *boards, char why[DOCUMENT_WHY])
{
    const char *slash = strrchr(path, '/');
    char folder[DOCUMENT_WHY];
    FILE *out = made_open(path, why);

    if (!out)
        return false;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    const bool put = html_print_boards(out, boards, folder);
    const bool closed = made_close(out, path, why);
    if (!put)
        snprintf(why, DOCUMENT_WHY, "%.300s: out of memory", path);
    return put && closed;
}

bool boards_write(struct bundle bundles[2], const char *results, const struct boards_files *files,
                  char why[DOCUMENT_WHY])
{
    struct boards boards = take(bundles, 2);
    const char *names[2] = {bundles[0].board, bundles[1].board};
    const bool is_twice = names[0] && names[1] ? !strcmp(names[0], names[1]) : names[0] == names[1];

    for (size_t i = 0; i < 2; i++) {
        if (!counted_open(&bundles[i], NULL, 0, why))
            return false;
        boards.of[i].is_committed = answers_is_committed(&bundles[i], results);
        boards.of[i].letter = is_twice ? (char)('a' + i) : '\0';
    }
    return (!files->html || write_page(files->html, &boards, why)) &&
           (!files->figures || html_figures_boards(&boards, files->figures, why)) &&
           ((!files->tex && !files->plots) ||
            papers_write_boards(&boards, files->tex, files->plots, why));
}
