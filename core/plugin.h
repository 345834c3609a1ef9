/* Plugins. A library that not every machine has (cuBLAS, CUPTI) is linked into build/bin/NAME.so,
 * which only a run that needs it opens. */
#ifndef GPUFLOOR_PLUGIN_H
#define GPUFLOOR_PLUGIN_H

#include <stddef.h>

/* The plugin's one symbol; NULL, with one line in why, if it is not available. */
const void *plugin_open(const char *name, const char *symbol, char *why, size_t size);

#endif
