/* Does the instrument that made a bundle stand? Where it does not, nothing in the bundle decides a
 * claim: neither what a stuck timer timed, nor what rests on counts beside it. */
#ifndef REPORT_BUNDLE_INSTRUMENT_H
#define REPORT_BUNDLE_INSTRUMENT_H

#include "report/bundle/bundle.h"

/* The known answer of a bundle, where it holds one: spin is asked to wait N cycles, and waits
 * them. */
extern const char instrument_need[];

/* False, with the reason in one line: all times by one timer are equal, or spin waited another time
 * than it was asked to. */
bool instrument_holds(const struct bundle *bundle, char why[DOCUMENT_WHY]);

#endif
