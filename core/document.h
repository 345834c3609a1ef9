/* Documents: the run document that a probe prints, and the bundle that `gpufloor run` writes. Both
 * are JSON, by jansson. Their shapes are in results/schema/.
 *
 * A missing value is null, with the reason in a "why" next to it; there are no NaNs. Readers ignore
 * fields that they do not know, and refuse a newer schema_version. A document read from a file is
 * untrusted: no byte string may crash a function that reads one, and each such function says in one
 * line what is wrong. */
#ifndef GPUFLOOR_DOCUMENT_H
#define GPUFLOOR_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { DOCUMENT_SCHEMA_VERSION = 1, DOCUMENT_WHY = 512, DOCUMENT_ID = 512 };
/* Longer ids and more rounds are refused: what is cut would be another row, or none. From an id
 * others are formed, which have to fit, too. */
enum { DOCUMENT_ID_MOST = 400, DOCUMENT_ROUNDS_MAX = 32 };
enum {
    DOCUMENT_BYTES_MAX = 64 << 20, /* what a reader accepts */
    DOCUMENT_RUNS_MAX = DOCUMENT_BYTES_MAX / 16 * 15 /* of which a writer gives the runs so much */
};

/* How many bytes a document takes in a file. */
size_t document_size(const json_t *document);

/* A JSON number, or null for NaN and infinities. */
json_t *document_number(double value);

/* The number under a key, or NaN if it is missing, null or not a number. */
double document_get_number(const json_t *object, const char *key);

/* The string under a key, or fallback. */
const char *document_get_text(const json_t *object, const char *key, const char *fallback);

/* Reads and validates a "run", a "bundle", "counters" or a "model"; "-" is stdin. Returns NULL when
 * the file is missing, empty, truncated, not JSON, of another kind, of a newer version, lacks a
 * field that its kind must have, or has an id or a round beyond the limits. `why` then holds one
 * line that starts with the path. */
json_t *document_load(const char *path, const char *kind, char why[DOCUMENT_WHY]);

/* The same for bytes in memory; messages show `name` in place of the path. */
json_t *document_parse(const char *bytes, size_t size, const char *name, const char *kind,
                       char why[DOCUMENT_WHY]);

/* Prints a document, with jansson's flags: in ASCII, so that no text of it speaks to a terminal.
 * False if it could not be written. */
bool document_print(FILE *file, const json_t *document, size_t flags);

/* Writes to a temporary name in the same folder, syncs, and renames. Never overwrites: if the path
 * exists (errno is EEXIST) or the disk is full, the call fails and removes the temporary file. */
bool document_write(const char *path, const json_t *document, char why[DOCUMENT_WHY]);

/* The same, in place of the file that is there: for a name that the caller holds. Whoever reads it
 * finds the old document or the new one, whole. */
bool document_replace(const char *path, const json_t *document, char why[DOCUMENT_WHY]);

/* How every document begins that is written here. */
#define DOCUMENT_BEGINS "{\"schema\":\""

/* Makes a file whose name holds this process's number, and locks it, so that it is seen that
 * somebody writes. In its place may stand what an earlier process of that number left: see
 * document_clear(). NULL, with errno, if it cannot be made. */
FILE *document_begin(const char *path, const char *begins, size_t n_begins);

/* Removes what a process that was killed left there: a file of this user that nobody holds and that
 * begins so, with at most 16 bytes; an empty one was just begun. False if it is not such a file. */
bool document_clear(const char *path, const char *begins, size_t n_begins);

/* The "unit" or the "better" of a metric: its own, or what its run says once of all metrics of that
 * name (`said`, the object "metrics" of the run; NULL: none). NULL where neither says it. */
const char *document_metric_word(const json_t *said, const json_t *metric, const char *key);

/* Gives each metric of a run both words of its own, in place of what the run says once. */
void document_spread_words(json_t *run);

/* Writes the id "probe.metric{keys,timer=...}" of one metric object of one case object. */
void document_metric_id(char id[DOCUMENT_ID], const char *probe, const json_t *cases,
                        const json_t *metric);

/* UTC now as 2026-11-21T08:12:03Z. text holds at least 21 bytes. */
void document_time(char *text, size_t size);

#endif
