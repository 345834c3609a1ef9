/* A folder of bundles read as one: each probe's newest measurement by the kernels of this tree. */
#ifndef REPORT_BUNDLE_FOLDER_H
#define REPORT_BUNDLE_FOLDER_H

#include "report/bundle/bundle.h"

/* The .json files of a folder, by name; NULL and 0 if it cannot be read. Release the list with
 * paths_free(). */
char **paths_in(const char *folder, size_t *n);
char **folders_in(const char *folder, size_t *n); /* the folders in it, likewise */
void paths_free(char **paths, size_t n);

/* Why a folder without a file is none of bundles, in one line: the folders in it that hold some. */
void folder_tell_empty(const char *folder, char why[DOCUMENT_WHY]);

/* What a folder needs to know of this tree's programs: was a probe's share of a bundle measured by
 * different code? */
struct folder_tree {
    bool (*differs)(const void *programs, const char *probe, int method, const json_t *cubins);
    const void *programs;
};

/* Reads all bundles of a folder. For each probe it takes the newest bundle that was measured by the
 * kernels of this tree and in which none of its checks failed, if there is one; else the newest
 * that was measured by these kernels; else the newest that holds the probe, with its rows marked
 * stale. False, with one line in why that starts with the path, if one cannot be read or if they
 * are of several boards. */
bool folder_open(struct bundle *bundle, const char *folder, const struct folder_tree *tree,
                 char why[DOCUMENT_WHY]);

#endif
