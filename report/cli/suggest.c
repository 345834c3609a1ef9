#include "report/cli/suggest.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to change, add, leave out or swap with their neighbour until a is b. Three rows of the
 * usual table are enough: this letter's, that of the one before, and the one before that. */
static size_t distance(const char *a, const char *b)
{
    const size_t n_a = strlen(a), n_b = strlen(b);
    size_t rows[3][SUGGEST_WORD + 1];

    for (size_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

struct suggest suggest_for(const char *typed)
{
    return (struct suggest){.typed = typed, .distance = strlen(typed) / 3 + 1};
}

/* A third of the letters may be wrong, and one letter of a short word. The beginning of a word
 * means that word. */
void suggest_try(struct suggest *s, const char *word)
{
    const size_t n_typed = strlen(s->typed), n_word = strlen(word);
    size_t away;

    if (n_typed < 2 || n_typed >= SUGGEST_WORD || n_word >= SUGGEST_WORD)
        return;
    away = strncmp(s->typed, word, n_typed) ? distance(s->typed, word) : 1;
    if (away > least(s->distance, n_typed / 3 + (n_typed < 3)) ||
        (s->best[0] && away == s->distance))
        return;
    s->distance = away;
    memcpy(s->best, word, n_word + 1);
}

struct suggest suggest_for_metric(char typed[SUGGEST_WORD], const char *glob)
{
    snprintf(typed, SUGGEST_WORD, "%.*s", (int)strcspn(glob, "{*?["), glob);
    struct suggest near = suggest_for(typed);
    near.glob = glob;
    return near;
}

/* "launch.edge{mode=graph}", of which the id has more keys: "launch.edge{mode=graph*" matches. */
static bool lacks_keys(const char *glob, const char *id)
{
    char open[SUGGEST_WORD];
    const size_t n = strlen(glob);

    if (n < 2 || n + 1 >= SUGGEST_WORD || glob[n - 1] != '}')
        return false;
    snprintf(open, sizeof open, "%.*s*", (int)n - 1, glob);
    return fnmatch(open, id, 0) == 0;
}

void suggest_try_metrics(struct suggest *s, const struct rows *rows)
{
    char name[SUGGEST_WORD];

    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->row[i];
        snprintf(name, sizeof name, "%.100s.", row->probe); /* the beginning of a glob */
        suggest_try(s, name);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(row->id, "{"), row->id);
        suggest_try(s, name);
        if (lacks_keys(s->glob, row->id)) {
            s->distance = 0;
            snprintf(s->best, sizeof s->best, "%.*s", (int)strlen(s->glob) - 1, s->glob);
        }
    }
}

char *suggest_text(char text[SUGGEST_TEXT], const struct suggest *s)
{
    snprintf(text, SUGGEST_TEXT, s->best[0] ? "; did you mean '%s%s'?" : "%s%s", s->best,
             s->best[0] && s->glob ? "*" : "");
    return text;
}
