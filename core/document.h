/* Documents: the run document that a probe prints and the bundle that `gpufloor run` writes.
 *
 * JSON by jansson. Missing is null with a "why" beside it; no NaN. Readers ignore fields that they
 * do not know and refuse a newer schema_version. A document from a file is untrusted: every function
 * that reads one says in one line what is wrong, and never crashes on any byte string. The shapes
 * are in results/schema/. */
#ifndef GPUFLOOR_DOCUMENT_H
#define GPUFLOOR_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { DOCUMENT_SCHEMA_VERSION = 1, DOCUMENT_WHY = 512, DOCUMENT_ID = 512 };
enum { DOCUMENT_BYTES_MAX = 64 << 20 }; /* a bundle is at most 8 MB; a reader takes somewhat more */

/* A JSON number, or null for NaN and infinities. */
json_t *document_number(double value);

/* The number under a key, or NaN where it is missing, null or no number. */
double document_get_number(const json_t *object, const char *key);

/* The string under a key, or fallback. */
const char *document_get_text(const json_t *object, const char *key, const char *fallback);

/* Reads and validates a "run", a "bundle" or "counters". NULL, with one line in why that starts with the path,
 * when the file is missing, empty, truncated, not JSON, of another kind, of a newer version, or
 * lacks what its kind must have. */
json_t *document_load(const char *path, const char *kind, char why[DOCUMENT_WHY]);

/* The same for bytes in memory; `name` stands for the path in messages. */
json_t *document_parse(const char *bytes, size_t size, const char *name, const char *kind,
                       char why[DOCUMENT_WHY]);

/* Writes to a temporary name in the same folder, syncs, and renames. Never overwrites: an existing
 * path is an error, as is a full disk; the temporary file is then removed. */
bool document_write(const char *path, const json_t *document, char why[DOCUMENT_WHY]);

/* Writes the id "probe.metric{keys,timer=...}" of one metric object of one case object. */
void document_metric_id(char id[DOCUMENT_ID], const char *probe, const json_t *cases,
                        const json_t *metric);

/* UTC now as 2026-11-21T08:12:03Z. text holds at least 21 bytes. */
void document_time(char *text, size_t size);

#endif
