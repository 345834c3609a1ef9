/* A bundle as the report sees it: rows, and facts about the machine and each probe. */
#ifndef REPORT_BUNDLE_BUNDLE_H
#define REPORT_BUNDLE_BUNDLE_H

#include "core/document.h"
#include "report/bundle/rows.h"

/* One probe's share of a bundle. */
struct part {
    char *name, *what, *why; /* why: the last failure, skip or discard, or NULL */
    char *note;              /* the first remark of its runs, or NULL */
    char *draft;             /* why the program was a draft when it ran; NULL: it was none */
    char *from;              /* when the bundle that it comes from was started */
    char *commit, *card;     /* of that bundle: the code that measured, and bundle_cards() */
    int method;
    int n_runs, n_ok, n_failed, n_skipped, n_discarded, n_repeats;
    size_t n_checks, n_checks_failed; /* of all its runs */
    bool stale;
    json_t *cubins; /* "image.sm_90a" -> SHA-256 */
};

/* Where the counted figures of one program come from, see report/bundle/counted.h. */
struct counted {
    char *program, *from, *commit; /* from: when counting was started */
    char *draft;                   /* as that of a part */
    bool stale;                    /* other kernels than those of the bundle's rows */
};

struct bundle {
    char *name;         /* a heading: the board, or the host where no GPU was measured */
    char *path;         /* as given */
    char *board;        /* slug, or NULL */
    json_t *head;       /* the document without its runs */
    struct part *parts; /* by name */
    size_t n_parts;
    struct index programs; /* the places of parts, by bundle_index() */
    struct rows rows;
    struct rows counted; /* counted figures; empty until counted_open() */
    struct counted *counted_from;
    size_t n_counted;
    int n_rounds;
    int n_runs, n_shared, n_slowed; /* of those: with another process, with a GPU slowed down */
    char slowed_by[96];             /* in the first such run */
};

/* Takes a valid bundle document (see document_parse), and adds the derived rows. False when memory
 * is short. The document may be released afterwards. */
bool bundle_take(struct bundle *bundle, const json_t *document, const char *path);

/* Reads one bundle's file. False, with one line in why that starts with the path. */
bool bundle_open(struct bundle *bundle, const char *path, char why[DOCUMENT_WHY]);

/* The same without derived rows: of several bundles that become one, which derives its own. */
bool bundle_open_measured(struct bundle *bundle, const char *path, char why[DOCUMENT_WHY]);

void bundle_free(struct bundle *bundle);

/* Text of environment.SECTION.KEY, or fallback; numbers and booleans are written out. */
const char *bundle_fact(const struct bundle *bundle, const char *section, const char *key,
                        char *text, size_t size, const char *fallback);

/* Makes parts that were put or sorted known to bundle_part(). False when memory is short. */
bool bundle_index(struct bundle *bundle);

/* Derives rows from those that are measured, drafts' apart: nothing is derived from these. */
void bundle_derive(struct bundle *bundle);

/* A program's share of a bundle; NULL if it has none, or there is no bundle. */
const struct part *bundle_part(const struct bundle *bundle, const char *name);

/* Why the program that measured a row, or counted a figure, was a draft then; NULL: it was none. A
 * bundle that was written before drafts were marked marks none. */
const char *bundle_draft(const struct bundle *bundle, const char *id);

/* One line about the machine, the software and the runs. */
char *bundle_line(const struct bundle *bundle, char *text, size_t size);

/* Over how many GPUs it was measured at once, as `run --devices` does: 1, if it does not say. */
size_t bundle_gpus(const struct bundle *bundle);
double bundle_sms(const struct bundle *bundle); /* of a GPU; NaN: not known */

/* The hash of its card, "" if it does not say; of several GPUs theirs, in order:
 * "bf9f3af1+96447c21", so many signs of each. */
enum { BUNDLE_CARDS = 160, CARD_WHOLE = 16 };
char *bundle_cards(const json_t *head, int signs, char text[BUNDLE_CARDS]);

/* Of a folder's programs (parts), how many do not come from the bundle that bundle_line()
 * describes. */
size_t bundle_n_others(const struct bundle *bundle);

/* They, by name where few have one origin: "gemv, small_gemm: gpufloor 966d18b, another card; ...".
 * Empty if there are none. */
enum { BUNDLE_LINE = 4096 };
char *bundle_others(const struct bundle *bundle, char *text, size_t size);

#endif
