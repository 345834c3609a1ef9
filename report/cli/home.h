/* Where this program finds what belongs to it, and where it writes by default. All of it is found
 * from the program's own place, so that a tree and an installation can be moved, and a symbolic
 * link can lead to either. */
#ifndef REPORT_CLI_HOME_H
#define REPORT_CLI_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum home_part {
    HOME_PROGRAMS,  /* a folder for each of probes, matmul, fused, links */
    HOME_BASELINES, /* programs in Python */
    HOME_RESULTS,   /* committed results, a folder for each board */
    HOME_DATA,      /* CITATION.cff */
    HOME_RUNS,      /* bundles go there, unless --output says otherwise */
};

/* Joins the folder of a part with `below`, which may be empty. Returns path, which is empty if it
 * would be too long. */
char *home_path(char path[PATH_MAX], enum home_part part, const char *below);

/* One line: the places where the part was looked for. For a program that was copied alone. */
char *home_looked(char *text, size_t size, enum home_part part);

/* The words of --help for where results and bundles are. */
#define HOME_RESULTS_WORDS "results/ of this tree, or those installed with it"
#define HOME_RUNS_WORDS "build/run/ of this tree, or gpufloor-run/ here if it is installed"

#endif
