#include "report/cli/papers.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "report/cli/answers.h"
#include "report/cli/catalogue.h"
#include "report/cli/home.h"
#include "report/cli/child.h"
#include "report/page/emit.h"
#include "report/page/made.h"
#include "report/page/plot.h"
#include "report/page/tex.h"

/* Of one board, or of two with their section of numbers. */
struct papers {
    const struct summary *summary;
    const struct boards *boards;
    const struct section *numbers;
    const char *folder;
    char *why;
};

/* --- files ------------------------------------------------------------------------------------ */

static bool fail(struct papers *p, const char *path)
{
    snprintf(p->why, DOCUMENT_WHY, "%.*s: %s", DOCUMENT_WHY / 2, path, strerror(errno));
    return false;
}

/* NULL, with one line in why. What a link of that name points to is outside the folder: the link is
 * replaced, too. */
static FILE *begin(struct papers *p, char path[PATH_MAX], const char *name, const char *ending)
{
    struct stat held;

    if (snprintf(path, PATH_MAX, "%s/%s.%s", p->folder, name, ending) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        fail(p, p->folder);
        return NULL;
    }
    if (lstat(path, &held) == 0 && S_ISLNK(held.st_mode))
        remove(path);
    return made_open(path, p->why);
}

static bool end(struct papers *p, FILE *out, const char *path)
{
    return made_close(out, path, p->why);
}

/* --- LaTeX ------------------------------------------------------------------------------------ */

static bool put_board(struct papers *p, const char *name, const char *ending,
                      void (*emit)(FILE *, const struct summary *))
{
    char path[PATH_MAX];
    FILE *out = begin(p, path, name, ending);

    if (!out)
        return false;
    if (!p->boards)
        emit(out, p->summary);
    for (size_t i = 0; p->boards && i < p->boards->n; i++) {
        if (!strcmp(name, "board"))
            fprintf(out, "%s%c:\n", i ? "\n" : "", (int)('A' + i));
        emit(out, &p->boards->of[i]);
    }
    return end(p, out, path);
}

static bool put_section(struct papers *p, const struct section_entry *entry)
{
    const char *name = !strcmp(entry->name, "small") ? "small-product" : entry->name;
    struct section section = {.name = entry->name};
    char path[PATH_MAX];
    FILE *out = begin(p, path, name, "tex");

    if (!out)
        return false;
    entry->build(p->summary, &section);
    emit_tex(out, p->summary, &section);
    section_free(&section);
    return end(p, out, path);
}

/* --- the entry for a bibliography ------------------------------------------------------------- */

/* The value behind `key:` in a line of CITATION.cff, without quotes; "" if no line has it. */
static void cited(const char *key, char *text, size_t size)
{
    char path[PATH_MAX], line[400];
    FILE *in = fopen(home_path(path, HOME_DATA, "CITATION.cff"), "r");

    text[0] = '\0';
    while (in && fgets(line, sizeof line, in)) {
        const char *at = line + strspn(line, " -");
        if (strncmp(at, key, strlen(key)) != 0 || at[strlen(key)] != ':')
            continue;
        at += strlen(key) + 1;
        at += strspn(at, " \"");
        snprintf(text, size, "%.*s", (int)strcspn(at, "\"\r\n"), at);
        break;
    }
    if (in)
        fclose(in);
}

static void put_field(FILE *out, const char *field, const char *text)
{
    if (!*text)
        return;
    fprintf(out, "  %s = {{", field);
    tex_put(out, text);
    fputs("}},\n", out);
}

/* What was measured is of the bundle's version and commit, not of this program's. */
static void emit_bib(FILE *out, const struct summary *summary)
{
    const struct bundle *bundle = summary->bundle;
    const json_t *suite = json_object_get(bundle->head, "suite");
    const char *started = document_get_text(bundle->head, "started", "");
    char board[80], text[300], hash[CHILD_HASH];
    struct stat file;

    fprintf(out, "@misc{gpufloor-%s,\n", tex_board_name(summary, board, sizeof board));
    cited("name", text, sizeof text);
    put_field(out, "author", text);
    cited("title", text, sizeof text);
    put_field(out, "title", text);
    put_field(out, "version", document_get_text(suite, "version", ""));
    cited("license", text, sizeof text);
    put_field(out, "license", text);
    snprintf(text, sizeof text, "%.4s", started);
    put_field(out, "year", text);
    snprintf(text, sizeof text, "%.2s", strlen(started) > 6 ? started + 5 : "");
    put_field(out, "month", text);
    snprintf(text, sizeof text, "commit %.64s; results of %.100s",
             document_get_text(suite, "commit", "unknown"), bundle->name);
    fputs("  note = {", out);
    tex_put(out, text);
    if (stat(bundle->path, &file) == 0 && S_ISREG(file.st_mode) && child_sha256(bundle->path, hash))
        fprintf(out, ", SHA-256 of the bundle: %.32s\\allowbreak %s", hash, hash + 32);
    fputs("}\n}\n", out);
}

static bool put_compare(struct papers *p)
{
    char path[PATH_MAX];
    FILE *out = begin(p, path, "compare", "tex");

    if (!out)
        return false;
    emit_tex_boards(out, p->boards, p->numbers);
    return end(p, out, path);
}

static bool write_tex(struct papers *p)
{
    const struct section_entry *entry;

    if (!made_folder(p->folder, p->why) || !put_board(p, "board", "tex", emit_tex_board) ||
        !put_board(p, "macros", "tex", emit_tex_macros) ||
        !put_board(p, "gpufloor", "bib", emit_bib))
        return false;
    if (p->boards)
        return put_compare(p);
    for (size_t i = 1; (entry = section_at(i)); i++) /* the head, 0, is in board.tex */
        if (!put_section(p, entry))
            return false;
    return true;
}

/* --- figures ---------------------------------------------------------------------------------- */

/* The section of a figure; NULL: it is one of two boards. */
static const struct section_entry *section_of(const struct plot_entry *entry)
{
    const struct section_entry *of;

    for (size_t i = 0; (of = section_at(i)); i++)
        if (!strcmp(of->name, entry->section))
            return of;
    return NULL;
}

static bool put_plot(struct papers *p, const struct plot_entry *entry,
                     const struct summary *second, const struct section *section)
{
    char data_path[PATH_MAX], script_path[PATH_MAX];
    FILE *data = begin(p, data_path, entry->name, "tsv");
    FILE *script = data ? begin(p, script_path, entry->name, "gp") : NULL;

    if (!script) {
        if (data)
            fclose(data);
        return false;
    }
    errno = ENOMEM;
    const bool fine = emit_plot(data, script, entry, p->summary, second, section) ||
                      fail(p, script_path);
    const bool data_fine = end(p, data, data_path);
    return end(p, script, script_path) && data_fine && fine;
}

static bool write_plots(struct papers *p)
{
    const struct plot_entry *entry;
    bool fine = made_folder(p->folder, p->why);

    for (size_t i = 0; fine && (entry = plot_at(i)); i++) {
        const struct section_entry *of = section_of(entry);
        struct section section = {.name = entry->section};
        if (!of != (p->boards != NULL))
            continue;
        if (of)
            of->build(p->summary, &section);
        fine = put_plot(p, entry, of ? NULL : &p->boards->of[1], of ? &section : p->numbers);
        section_free(&section);
    }
    return fine;
}

/* Into the folders that are asked for. */
static bool write_all(struct papers *p, const char *tex, const char *plots)
{
    bool fine = true;

    if (tex) {
        p->folder = tex;
        fine = write_tex(p);
    }
    if (fine && plots) {
        p->folder = plots;
        fine = write_plots(p);
    }
    return fine;
}

bool papers_write(const struct bundle *bundle, const char *results, const char *tex,
                  const char *plots, char why[DOCUMENT_WHY])
{
    struct bundle committed = {0};
    struct summary summary = {.bundle = bundle, .results = results};
    struct papers p = {.summary = &summary, .why = why};
    const bool is_open = answers_committed(&summary, &committed);
    const bool fine = write_all(&p, tex, plots);

    if (is_open)
        bundle_free(&committed);
    return fine;
}

bool papers_write_boards(const struct boards *boards, const char *tex, const char *plots,
                         char why[DOCUMENT_WHY])
{
    struct section numbers = {.name = NULL};
    struct papers p = {
        .summary = &boards->of[0], .boards = boards, .numbers = &numbers, .why = why};

    for (size_t i = 0; boards_section_at(i) && (!numbers.name || strcmp(numbers.name, "numbers"));
         i++) {
        section_free(&numbers);
        numbers = (struct section){.name = NULL};
        boards_section_at(i)(boards, &numbers);
    }
    const bool fine = write_all(&p, tex, plots);
    section_free(&numbers);
    return fine;
}
