/* The end of the page: how far its numbers are to be trusted, under which conditions they were
 * measured, how to measure and cite them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/html.h"

/* --- trust ------------------------------------------------------------------------------------ */

/* "Half of the times and rates repeat within 0.348 %, nine in ten within 5.44 %". */
static const char *trust_title(const struct section *head, char *text, size_t size)
{
    const struct series *spread = section_find(head, "spread of the rows");
    char half[48] = "", most[48] = "";

    for (size_t i = 0; spread && i < spread->n; i++) {
        const struct point *point = &spread->point[i];
        if (point->x == 50)
            number_say(half, sizeof half, &point->y, "%");
        if (point->x == 90)
            number_say(most, sizeof most, &point->y, "%");
    }
    if (*half && *most)
        snprintf(text, size, "Half of the times and rates repeat within %s, nine in ten within %s",
                 half, most);
    else
        snprintf(text, size, "What these numbers are worth");
    return text;
}

/* The head's lines but those that say what is unlike the board: they stand below the verdict. */
void html_trust(FILE *out, const struct page *page, size_t number)
{
    const struct section *head = &page->section[0];
    const struct grid *grid = head->n_grids ? &head->grid[0] : NULL;
    bool is_unlike = false;
    char title[200];

    html_part(out, "trust", number, trust_title(head, title, sizeof title));
    html_section_figures(out, page, head);
    fputs("<dl class=\"facts\">\n", out);
    for (size_t i = 0; grid && i < grid_rows(grid); i++) {
        const char *key = grid_at(grid, i, 0)->text, *text = grid_at(grid, i, 1)->text;
        is_unlike = !strcmp(key, "unlike") || (is_unlike && !*key);
        if (is_unlike)
            continue;
        fputs("<dt>", out);
        html_prose(out, key);
        fputs("</dt><dd>", out);
        html_prose(out, text);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n</section>\n", out);
}

/* --- conditions ------------------------------------------------------------------------------- */

/* Bold where the committed results of the board were measured otherwise. */
static void put_fact(FILE *out, const char *key, const json_t *value, const json_t *committed)
{
    const bool differs = committed && !json_equal(value, committed);
    char name[80];

    snprintf(name, sizeof name, "%s", key);
    for (char *at = name; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    fputs("<dt>", out);
    html_text(out, name);
    fputs(differs ? "</dt><dd><b>" : "</dt><dd>", out);
    if (json_is_string(value))
        html_text(out, json_string_value(value));
    else if (json_is_null(value))
        fputs("-", out);
    else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        html_text(out, text);
        free(text);
    }
    fputs(differs ? "</b></dd>\n" : "</dd>\n", out);
}

void html_conditions(FILE *out, const struct page *page, size_t number)
{
    const json_t *head = page->summary->bundle->head;
    json_t *environment = json_object_get(head, "environment");
    const struct bundle *committed = page->summary->committed;
    json_t *others = committed ? json_object_get(committed->head, "environment") : NULL;
    const char *section, *key;
    json_t *facts, *value;

    html_part(out, "conditions", number, "Under these conditions");
    if (others)
        fputs("<p class=\"how\">Bold: not so where the committed results of this board were "
              "measured.</p>\n",
              out);
    json_object_foreach(environment, section, facts)
    {
        if (!json_is_object(facts) || json_object_size(facts) == 0)
            continue;
        fputs("<h3>", out);
        html_text(out, section);
        fputs("</h3>\n<dl class=\"facts\">\n", out);
        json_object_foreach(facts, key, value)
            put_fact(out, key, value, json_object_get(json_object_get(others, section), key));
        fputs("</dl>\n", out);
    }
    fputs("<h3>suite</h3>\n<dl class=\"facts\">\n", out);
    json_object_foreach(json_object_get(head, "suite"), key, value) put_fact(out, key, value, NULL);
    put_fact(out, "started", json_object_get(head, "started"), NULL);
    fputs("</dl>\n</section>\n", out);
}

/* --- reproduce and cite ----------------------------------------------------------------------- */

/* As CITATION.cff has it; tests/contract/page.py compares. */
static const char title[] = "gpufloor: a GPU microbenchmark and latency-floor suite";
static const char authors[] = "The gpufloor authors";

/* As a reader of the tree finds it: what is committed begins with results/, wherever the tree
 * is. */
static const char *path_of(const struct bundle *bundle)
{
    if (!bundle->path || !strcmp(bundle->path, "-"))
        return "BUNDLE.json";
    const char *const committed = strstr(bundle->path, "/results/");
    return committed ? committed + 1 : bundle->path;
}

/* The code that measured it. */
static void put_measuring(FILE *out, const struct bundle *const bundles[], size_t n)
{
    const char *before = "";
    char text[400];

    fputs(
        "<p class=\"how\">Measure again: the code that measured prints its own answers.</p>\n<pre>",
        out);
    for (size_t i = 0; i < n; i++) {
        const char *commit = document_get_text(json_object_get(bundles[i]->head, "suite"), "commit",
                                               "unknown");
        if (!strcmp(commit, before))
            continue;
        snprintf(text, sizeof text, "git checkout %.40s && make run", commit);
        fputs(*before ? "\n" : "", out);
        html_text(out, text);
        before = commit;
    }
    fputs("</pre>\n", out);
}

/* "2026-11-28-0a6bb38, 2026-11-21-15d0c6a": of each bundle that programs come from the date and the
 * commit, by which names of committed files begin. */
static void list_sources(const struct bundle *bundle, char *text, size_t size)
{
    char name[24];

    *text = '\0';
    for (size_t i = 0; i < bundle->n_parts; i++) {
        const struct part *part = &bundle->parts[i];
        const size_t used = strlen(text);
        if (!part->from || !part->commit)
            continue;
        snprintf(name, sizeof name, "%.10s-%.7s", part->from, part->commit);
        if (!strstr(text, name) && used + strlen(name) + 2 < size)
            snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
    }
}

/* Of a folder, which of its files. */
static void put_sources(FILE *out, const struct bundle *bundle)
{
    const char *path = path_of(bundle), *end = strrchr(path, '.');
    char text[400];

    list_sources(bundle, text, sizeof text);
    if (!*text || (end && !strcmp(end, ".json")))
        return;
    fputs(" Of ", out);
    html_text(out, path);
    fputs(" it takes the bundles that begin with ", out);
    html_text(out, text);
    fputs(".", out);
}

/* What prints the page. No bundle is in the tree that measured it: it is committed later. */
static void put_printing(FILE *out, const struct bundle *const bundles[], size_t n)
{
    char text[400];

    fputs("<p class=\"how\">Print this page: the tree that measured does not hold the bundle, "
          "which is "
          "committed later. The first line names the commits that do.",
          out);
    for (size_t i = 0; i < n; i++)
        put_sources(out, bundles[i]);
    fputs("</p>\n<pre>git log --oneline --", out);
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, " %.200s", path_of(bundles[i]));
        html_text(out, text);
    }
    fputs("\nmake &amp;&amp; build/bin/gpufloor report --html=page.html", out);
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, " %.200s", path_of(bundles[i]));
        html_text(out, text);
    }
    fputs("</pre>\n", out);
}

/* Of several bundles each entry has a key of its own: gpufloor-a, gpufloor-b. */
static void put_entry(FILE *out, const struct bundle *bundle, const char *key)
{
    const json_t *suite = json_object_get(bundle->head, "suite");
    char text[1200];

    snprintf(text, sizeof text,
             "@software{%s,\v  title   = {%s},\v  author  = {{%s}},\v  "
             "version = {%.20s},\v  note    = {commit %.40s, bundle of %.40s on %.120s}\v}",
             key, title, authors, document_get_text(suite, "version", "?"),
             document_get_text(suite, "commit", "unknown"),
             document_get_text(bundle->head, "started", "no date"), bundle->name);
    for (char *line = strtok(text, "\v"); line; line = strtok(NULL, "\v")) {
        html_text(out, line);
        fputs("\n", out);
    }
}

void html_cite(FILE *out, const struct page *page, size_t number)
{
    const struct bundle *bundles[BOARDS_MOST] = {page->summary->bundle};
    const size_t n = page->boards ? page->boards->n : 1;
    char key[24];

    for (size_t i = 1; i < n; i++)
        bundles[i] = page->boards->of[i].bundle;
    html_part(out, "cite", number, "Reproduce and cite");
    put_measuring(out, bundles, n);
    put_printing(out, bundles, n);
    fputs("<p class=\"how\">Quote a number with its interval, its id, and the conditions "
          "above. A row marked \u2020 was measured on another card.</p>\n<pre>",
          out);
    for (size_t i = 0; i < n; i++) {
        snprintf(key, sizeof key, "gpufloor-%c", (int)('a' + i));
        put_entry(out, bundles[i], n > 1 ? key : "gpufloor");
    }
    fputs("</pre>\n</section>\n", out);
}
