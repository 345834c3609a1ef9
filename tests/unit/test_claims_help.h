/* Shared by the tests of the ledger: putting a claim before its judge. */
#ifndef GPUFLOOR_TEST_CLAIMS_HELP_H
#define GPUFLOOR_TEST_CLAIMS_HELP_H

#include <stdio.h>

#include "core/document.h"
#include "report/claims/claims.h"
#include "tests/unit/test_reached.h"
#include "tests/unit/test_report_help.h"

/* The verdict of a claim on rows made by hand, which are released; evidence and controls are said
 * whatever it is. */
static inline enum claim_verdict verdict_of(const char *id, struct bundle *b, struct finding *f)
{
    *f = (struct finding){.verdict = CLAIM_NOT_TESTABLE};
    for (size_t i = 0; claim_at(i); i++)
        if (!strcmp(claim_at(i)->id, id)) {
            claim_judge(claim_at(i), b, f);
            assert_true(f->evidence[0] && f->controls[0]);
            assert_int_equal(f->n_refused, 0); /* it asks for nothing that it does not name */
            note_reached(id, f);
            rows_free(&b->rows);
            rows_free(&b->counted);
            return f->verdict;
        }
    fail_msg("no claim %s", id);
    return CLAIM_NOT_TESTABLE;
}

/* A counted figure: three countings that agree. */
static inline void put_counted(struct bundle *b, const char *figure, const char *id, double value)
{
    char name[2 * DOCUMENT_ID];
    snprintf(name, sizeof name, "%s of %s", figure, id);
    struct row *row = put_spread(&b->counted, name, "bytes", ROW_EXACT, value, 0, 1);
    row->low = row->high = value;
    row->status = ROW_OK;
}

static inline enum claim_verdict verdict(const char *id, struct bundle *b)
{
    struct finding f;
    return verdict_of(id, b, &f);
}

#endif
