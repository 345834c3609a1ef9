/* `gpufloor counters`: counters.c measures and writes the document, counters_show.c prints it. */
#ifndef GPUFLOOR_REPORT_COUNTERS_H
#define GPUFLOOR_REPORT_COUNTERS_H

#include <jansson.h>
#include <stdio.h>

#include "report/counted.h"
#include "report/table.h"

/* One probe of the document, for a person. */
void counters_show(FILE *out, const json_t *probe);

#endif
