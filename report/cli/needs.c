#include "report/cli/needs.h"

#include <stdlib.h>
#include <string.h>

#include "report/bundle/derive.h"
#include "report/bundle/instrument.h"
#include "report/bundle/needs.h"
#include "report/claims/claims.h"
#include "report/cli/headline.h"
#include "report/cli/report.h"
#include "report/cli/session.h"
#include "report/floor/primitives.h"
#include "report/page/section.h"

struct wanted {
    char glob[DOCUMENT_ID];
    const char *who;
    size_t order; /* claims by their number, then the tables */
};

struct list {
    struct wanted *wanted;
    size_t n, room;
};

static void add(struct list *list, const char *need, const char *who)
{
    if (list->n == list->room) {
        const size_t room = list->room ? 2 * list->room : 512;
        struct wanted *wanted = realloc(list->wanted, room * sizeof *wanted);
        if (!wanted)
            return;
        list->wanted = wanted;
        list->room = room;
    }
    struct wanted *wanted = &list->wanted[list->n];
    *wanted = (struct wanted){.who = who, .order = list->n++};
    need_glob(wanted->glob, need);
}

static int by_glob(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    const int order = strcmp(x->glob, y->glob);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static void add_all(struct list *list)
{
    const struct claim *claim;
    const char *need, *file;

    for (claim = claim_after(NULL); claim; claim = claim_after(claim))
        for (const struct need *const *needs = claim->needs; *needs; needs++)
            for (size_t k = 0; (*needs)[k].id; k++)
                add(list, (*needs)[k].id, claim->id);
    for (size_t i = 0; headline_at(i); i++)
        add(list, headline_at(i)->glob, "headline");
    for (size_t i = 0; (need = report_quality_need(i)); i++)
        add(list, need, "quality");
    for (size_t i = 0; summary_at(i); i++)
        add(list, summary_at(i)->glob, "report");
    for (const char *const *at = summary_needs; *at; at++)
        add(list, *at, "report");
    for (size_t i = 0; section_at(i); i++)
        for (const char *const *at = section_at(i)->needs; *at; at++)
            add(list, *at, section_at(i)->name);
    for (size_t i = 0; (need = derive_need(i, &file)); i++)
        add(list, need, file);
    for (const char *const *at = primitives_needs; *at; at++)
        add(list, *at, "floor");
    add(list, instrument_need, "run, claims");
}

void needs_print(FILE *out)
{
    struct list list = {0};

    add_all(&list);
    if (list.n > 0)
        qsort(list.wanted, list.n, sizeof *list.wanted, by_glob);
    for (size_t i = 0; i < list.n; i++) {
        const struct wanted *w = &list.wanted[i];
        const bool is_known = i > 0 && !strcmp(w[-1].glob, w->glob);
        if (is_known && !strcmp(w[-1].who, w->who))
            continue;
        if (!is_known)
            fprintf(out, "%s%s", i ? "\n" : "", w->glob);
        fprintf(out, "%s%s", is_known ? " " : "\t", w->who);
    }
    fputs(list.n ? "\n" : "", out);
    free(list.wanted);
}
