/* The report of one bundle as files for papers: LaTeX, and figures for gnuplot. */
#ifndef REPORT_CLI_PAPERS_H
#define REPORT_CLI_PAPERS_H

#include "core/document.h"
#include "report/page/boards.h"

/* Writes board.tex, macros.tex, a file for each section and gpufloor.bib into the folder `tex`, and
 * NAME.tsv with NAME.gp for each figure into `plots`; NULL: not these. A folder is made if it is
 * missing; files of these names are replaced. `results` is the folder of all boards' committed
 * results. False, with one line in why. */
bool papers_write(const struct bundle *bundle, const char *results, const char *tex,
                  const char *plots, char why[DOCUMENT_WHY]);

/* The same of two boards: board.tex, macros.tex and gpufloor.bib have both, compare.tex the numbers
 * side by side; the figure is `ratio`. */
bool papers_write_boards(const struct boards *boards, const char *tex, const char *plots,
                         char why[DOCUMENT_WHY]);

#endif
