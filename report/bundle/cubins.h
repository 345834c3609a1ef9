/* Cubins as documents hold them: {"IMAGE.sm_90a": "SHA-256", ...}. */
#ifndef REPORT_BUNDLE_CUBINS_H
#define REPORT_BUNDLE_CUBINS_H

#include <jansson.h>

/* How many cubins of `old` are code that `new` lacks, among the architectures that `new` has. Code
 * is identified by the hash alone: a renamed image is the same code. NULL: no cubins. */
size_t cubins_changed(const json_t *old, const json_t *new);

#endif
