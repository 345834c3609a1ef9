/* Needs: the metric ids that the report knows by name, as data. A test compares them with the
 * programs' own lists (tests/contract/needs.py), and `gpufloor claims --needs` prints them.
 *
 * A need is an id or a glob: "memory_latency.load{level=l1}", "edges.step{mode=graph,*}". Where the
 * code builds ids, the need is their format, in which a conversion means any text:
 * "quantized.time{type=%s,*}". */
#ifndef REPORT_BUNDLE_NEEDS_H
#define REPORT_BUNDLE_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/document.h"

/* The glob of all ids that a need covers. */
void need_glob(char glob[DOCUMENT_ID], const char *need);

/* Does a need cover that id, or that narrower glob? */
bool need_covers(const char *need, const char *id);

/* Its metric: "probe.metric", or "metric" of a need of any probe, "*.metric{...}". */
void need_metric(char metric[DOCUMENT_ID], const char *need);

#endif
