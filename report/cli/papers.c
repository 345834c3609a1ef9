#include "report/cli/papers.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "report/cli/answers.h"
#include "report/cli/catalogue.h"
#include "report/cli/child.h"
#include "report/page/emit.h"
#include "report/page/plot.h"
#include "report/page/tex.h"

struct papers {
    const struct summary *summary;
    const char *folder;
    char *why;
};

/* --- files ------------------------------------------------------------------------------------ */

static bool fail(struct papers *p, const char *path)
{
    snprintf(p->why, DOCUMENT_WHY, "%.*s: %s", DOCUMENT_WHY / 2, path, strerror(errno));
    return false;
}

static bool make_folder(struct papers *p)
{
    return mkdir(p->folder, 0777) == 0 || errno == EEXIST || fail(p, p->folder);
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
    FILE *out = fopen(path, "w");
    if (!out)
        fail(p, path);
    return out;
}

/* What a full disk keeps back is seen here. */
static bool end(struct papers *p, FILE *out, const char *path)
{
    const bool fine = !ferror(out);
    return (fclose(out) == 0 && fine) || fail(p, path);
}

/* --- LaTeX ------------------------------------------------------------------------------------ */

static bool put_board(struct papers *p, const char *name,
                      void (*emit)(FILE *, const struct summary *))
{
    char path[PATH_MAX];
    FILE *out = begin(p, path, name, "tex");

    if (!out)
        return false;
    emit(out, p->summary);
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
    FILE *in = fopen(catalogue_path(path, "../../CITATION.cff"), "r");

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

static bool put_bib(struct papers *p)
{
    char path[PATH_MAX];
    FILE *out = begin(p, path, "gpufloor", "bib");

    if (!out)
        return false;
    emit_bib(out, p->summary);
    return end(p, out, path);
}

static bool write_tex(struct papers *p)
{
    const struct section_entry *entry;

    if (!make_folder(p) || !put_board(p, "board", emit_tex_board) ||
        !put_board(p, "macros", emit_tex_macros) || !put_bib(p))
        return false;
    for (size_t i = 1; (entry = section_at(i)); i++) /* the head, 0, is in board.tex */
        if (!put_section(p, entry))
            return false;
    return true;
}

/* --- figures ---------------------------------------------------------------------------------- */

static bool put_plot(struct papers *p, const struct plot_entry *entry)
{
    const struct section_entry *of = NULL;
    struct section section = {.name = entry->section};
    char data_path[PATH_MAX], script_path[PATH_MAX];
    FILE *data = begin(p, data_path, entry->name, "tsv");
    FILE *script = data ? begin(p, script_path, entry->name, "gp") : NULL;

    if (!script) {
        if (data)
            fclose(data);
        return false;
    }
    for (size_t i = 0; (of = section_at(i)) && strcmp(of->name, entry->section) != 0;)
        i++;
    of->build(p->summary, &section);
    errno = ENOMEM;
    const bool fine = emit_plot(data, script, entry, p->summary, &section) || fail(p, script_path);
    section_free(&section);
    const bool data_fine = end(p, data, data_path);
    return end(p, script, script_path) && data_fine && fine;
}

static bool write_plots(struct papers *p)
{
    const struct plot_entry *entry;

    if (!make_folder(p))
        return false;
    for (size_t i = 0; (entry = plot_at(i)); i++)
        if (!put_plot(p, entry))
            return false;
    return true;
}

bool papers_write(const struct bundle *bundle, const char *results, const char *tex,
                  const char *plots, char why[DOCUMENT_WHY])
{
    struct bundle committed = {0};
    struct summary summary = {.bundle = bundle, .results = results};
    struct papers p = {.summary = &summary, .why = why};
    const bool is_open = answers_committed(&summary, &committed);
    bool fine = true;

    if (tex) {
        p.folder = tex;
        fine = write_tex(&p);
    }
    if (fine && plots) {
        p.folder = plots;
        fine = write_plots(&p);
    }
    if (is_open)
        bundle_free(&committed);
    return fine;
}
