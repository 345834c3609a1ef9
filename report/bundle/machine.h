/* States of a machine under which it gives other figures than a healthy, idle one. */
#ifndef REPORT_BUNDLE_MACHINE_H
#define REPORT_BUNDLE_MACHINE_H

#include <jansson.h>
#include <stddef.h>

#include "report/bundle/bundle.h"

enum { MACHINE_TEXT = 600 };

/* How the GPU is set, by a document's "environment": "MIG is on: a slice was measured, not the GPU;
 * power limit 500 W, by default 700 W" (report/bundle/setting.h).
 * Empty for nothing. Returns text. */
char *machine_settings(const json_t *environment, char *text, size_t size);

/* The same, and what happened while the bundle was measured. */
char *machine_states(const struct bundle *bundle, char *text, size_t size);

#endif
