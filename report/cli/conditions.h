/* Conditions: what may differ between two bundles besides the figures. */
#ifndef REPORT_CLI_CONDITIONS_H
#define REPORT_CLI_CONDITIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/bundle/bundle.h"
#include "report/cli/table.h"

enum { CONDITIONS_MAX = 32 };

/* True when `key` names a condition that can forbid a comparison, for --allow. */
bool condition_known(const char *key);

/* All such keys, separated by blanks. */
const char *condition_keys(char *text, size_t size);

/* The first condition that makes two bundles incomparable and is not in `allowed` (n names), or
 * NULL. text then says, for example, "board (nvidia-h200, nvidia-l40s)". */
const char *condition_forbids(const struct bundle *old, const struct bundle *new,
                              const char *const allowed[], size_t n, char *text, size_t size);

/* The i-th condition: its key, whether it forbids to compare, and what the bundle says of it
 * ("none" if nothing). NULL past the last one. */
const char *condition_at(size_t i, const struct bundle *bundle, char *text, size_t size,
                         const char **value, bool *forbids);

/* Prints what differs and what is the same, including changed kernels, in three lines. */
void conditions_print(FILE *out, const struct bundle *old, const struct bundle *new,
                      enum table_format format);

/* The same as an object {"differs": {key: [old, new]}, "same": [...], "changed_code": [...]}. */
json_t *conditions_json(const struct bundle *old, const struct bundle *new);

#endif
