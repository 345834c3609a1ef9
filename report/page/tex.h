/* A report for papers: LaTeX of its sections, of its named numbers and of the conditions. Every
 * number is one of a section or of the summary; none is formed here. */
#ifndef REPORT_PAGE_TEX_H
#define REPORT_PAGE_TEX_H

#include <stdio.h>

#include "report/page/boards.h"

/* The one way by which text gets into LaTeX, with the signs of a paper: "%" becomes "\%", "334 ns"
 * becomes "334~ns", "us" after a number microseconds, "1024^3" a power, "128x64" a product. What
 * plain pdflatex cannot set becomes '?'; the rest is let out by report/page/out.h. */
void tex_put(FILE *out, const char *text);

/* The table of a section: booktabs and columns of siunitx, the finding as its caption, how it was
 * measured as its foot. Of a section without a table: a line of comment that says why. */
void emit_tex(FILE *out, const struct summary *summary, const struct section *section);

/* The same of two boards: the section "numbers" of boards.c. */
void emit_tex_boards(FILE *out, const struct boards *boards, const struct section *section);

/* The conditions in one paragraph. */
void emit_tex_board(FILE *out, const struct summary *summary);

/* \gpufloor{NAME} and what belongs to it, of each name of the summary. */
void emit_tex_macros(FILE *out, const struct summary *summary);

/* "nvidia-h200", of one board twice "nvidia-h200-a"; "host" where no GPU was measured. Of letters,
 * digits and '-' only. */
char *tex_board_name(const struct summary *summary, char *text, size_t size);

#endif
