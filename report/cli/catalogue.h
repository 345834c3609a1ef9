/* The catalogue: the probes in the folders that belong to this one (home.h), and how each describes
 * itself. */
#ifndef REPORT_CLI_CATALOGUE_H
#define REPORT_CLI_CATALOGUE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/document.h"
#include "report/bundle/bundle.h"

enum listed_needs { NEEDS_HOST, NEEDS_GPU_IF_ANY, NEEDS_GPU };

struct listed {
    char *name, *path;
    json_t *list; /* what --list --json printed; NULL: why says what went wrong */
    char why[400];
    enum listed_needs needs;
    int method;
    bool added; /* by catalogue_add() */
    bool is_draft; /* run only by its name */
    bool takes_gpus; /* several: it has the parameter "gpus"; run by --devices, or by its name */
};

struct catalogue {
    struct listed *probes; /* by folder (probes, matmul, fused, links), then by name */
    size_t n;
};

/* Finds the probes; with `ask`, each is run with --list --json. */
void catalogue_open(struct catalogue *catalogue, bool ask);
void catalogue_free(struct catalogue *catalogue);

/* Adds a program from elsewhere that answers as a probe does, under the name of its file up to the
 * first dot. Invalidates what catalogue_find() returned. False, with one line in why, if it cannot
 * be run, describes itself under another name, or the name is taken: figures of a foreign program
 * must not pass for those of a probe of the suite. */
bool catalogue_add(struct catalogue *catalogue, const char *file, char why[DOCUMENT_WHY]);

const struct listed *catalogue_find(const struct catalogue *catalogue, const char *name);

/* Is there any program, and one of each of these names? If not, says so on stderr in one line that
 * begins with `command`, with the name that may have been meant. */
bool catalogue_knows(const struct catalogue *catalogue, const char *command, char *const names[],
                     size_t n);

/* The results that a command shows when no bundle is named. False, with one line on stderr, if
 * there are none. */
bool catalogue_standard(const char *command, char path[PATH_MAX]);

/* Reads a bundle, or a folder of them compared with the programs of this tree: see folder_open().
 * False, with one line in why that starts with the path. */
bool catalogue_read(struct bundle *bundle, const char *path, char why[DOCUMENT_WHY]);

/* The same of several: the programs are asked when the first folder is read, and not again. *asked
 * is empty at first; catalogue_free() it. */
bool catalogue_read_by(struct catalogue *asked, struct bundle *bundle, const char *path,
                       char why[DOCUMENT_WHY]);

/* Was a probe's share of a bundle measured by other code than this tree's: another method, or a
 * cubin with the same name and architecture but another hash? False if the tree cannot tell. */
bool catalogue_differs(const struct catalogue *catalogue, const char *name, int method,
                       const json_t *cubins);

#endif
