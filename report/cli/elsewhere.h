/* What the committed results of other boards say of the same claims. */
#ifndef REPORT_CLI_ELSEWHERE_H
#define REPORT_CLI_ELSEWHERE_H

#include "report/claims/claims.h"

enum { ELSEWHERE_BOARDS = 16, ELSEWHERE_CLAIMS = 256 };

struct elsewhere {
    size_t n;
    struct {
        char board[80];
        enum claim_verdict verdict[ELSEWHERE_CLAIMS]; /* in the order of the ledger */
    } of[ELSEWHERE_BOARDS];
};

/* Reads the folders beside the board's own: of a bundle in a folder that has the board's name,
 * those beside that folder; of any other bundle this tree's results. Folders without a bundle,
 * those that cannot be read, boards of several GPUs and the bundle's own board are left out. NULL
 * when memory is short; free() it. */
struct elsewhere *elsewhere_open(const struct bundle *bundle);

#endif
