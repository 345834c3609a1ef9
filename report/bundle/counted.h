/* Counted figures: what documents of `gpufloor counters` say of a bundle's cases.
 *
 * A counted figure belongs to a metric of a case. Its id is "FIGURE of ID", for example
 *     "dram_bytes of elementwise_chain.time{rows=1,...,timer=event}":
 * the bytes that device memory moved for one operation that this metric times. Counts are divided
 * by the metric's work in a pass (a sample's n, see probe_sample()), summed over all its samples;
 * shares are those of the whole pass.
 *
 * A figure is the median of three countings, and its interval runs from the least of the three to
 * the most. It has no runs: one process counts it.
 *
 * A pass whose body sweeps the L2 (cold cases with few bytes), or does the work of several timed
 * metrics, has no figures: all of it is counted. */
#ifndef REPORT_BUNDLE_COUNTED_H
#define REPORT_BUNDLE_COUNTED_H

#include "report/bundle/bundle.h"

/* "dram_bytes", with what it means; NULL past the last one. */
const char *counted_figure(size_t i, const char **what);

/* Splits "FIGURE of ID": returns the ID, and sets *n to the length of FIGURE; NULL if it is no such
 * id, or has no known figure. */
const char *counted_split(const char *id, size_t *n);

/* How a document names a metric of a case in "works": "time,event", or "load" without a timer. */
enum { COUNTED_METRIC = 160 };
const char *counted_metric(char name[COUNTED_METRIC], const json_t *metric);

/* Adds to a bundle the counted figures of documents: those of the files, and, where the bundle is a
 * folder, those of its folder "counters". Of each program one document is taken, from the files if
 * one of them holds it (the last), else from the folder (the newest). A document that counted the
 * kernels of the bundle's rows goes before one of other kernels, whose figures are marked stale.
 * False, with one line in why, where a document cannot be read, did not end well, or is of another
 * board. */
bool counted_open(struct bundle *bundle, const char *const *files, size_t n,
                  char why[DOCUMENT_WHY]);

/* The same for documents that are in memory, the first of them preferred. */
bool counted_take(struct bundle *bundle, json_t *const *documents, size_t n,
                  char why[DOCUMENT_WHY]);

/* The source of a program's counted figures; NULL: no document holds the program. */
const struct counted *counted_find(const struct bundle *bundle, const char *program, size_t length);

#endif
