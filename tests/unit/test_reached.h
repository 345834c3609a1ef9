/* Which verdicts the tests of the ledger reach. */
#ifndef GPUFLOOR_TEST_REACHED_H
#define GPUFLOOR_TEST_REACHED_H

#include <stdio.h>
#include <stdlib.h>

#include "report/claims/telling.h"

/* Every judge must be able to reproduce and to refute, and says what it found in a sentence. Where
 * the environment has REACHED, a file, each verdict of a test goes there, and whether its sentence
 * had to be formed without the claim's own words; tests/contract/reach.py asks for both verdicts of
 * every claim, and for its words. */
static inline void note_reached(const char *id, const struct finding *finding)
{
    const char *path = getenv("REACHED");
    FILE *file = path ? fopen(path, "a") : NULL;
    struct telling *t = file ? calloc(1, sizeof *t) : NULL;
    if (t) {
        *t = (struct telling){.claim = finding->claim, .finding = *finding};
        telling_form(t);
        fprintf(file, "%s\t%s\t%s\t%s\n", id, claim_verdict_name(finding->verdict),
                t->is_generic ? "generic" : "plain", t->sentence);
    }
    free(t);
    if (file)
        fclose(file);
}

#endif
