/* Plugins: libraries that not every machine has (cuBLAS, CUPTI) are linked into build/bin/NAME.so,
 * which is opened only by a run that asks for it. */
#ifndef GPUFLOOR_PLUGIN_H
#define GPUFLOOR_PLUGIN_H

#include <stddef.h>

/* The plugin's one symbol; NULL, with one line in why, where it cannot be had. */
const void *plugin_open(const char *name, const char *symbol, char *why, size_t size);

#endif
