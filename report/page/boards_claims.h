/* The claims on which boards differ. */
#ifndef REPORT_PAGE_BOARDS_CLAIMS_H
#define REPORT_PAGE_BOARDS_CLAIMS_H

#include "report/page/boards.h"

struct telling;

boards_builder boards_claims;

/* Is a claim judged by two of the boards? Runs of several GPUs judge none. */
bool boards_judge(const struct boards *boards);

/* Do two boards say another thing of a claim, of which at least one decides it? */
bool boards_differ(const struct telling *a, const struct telling *b);

#endif
