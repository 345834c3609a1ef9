/* The version of this program, compiled in. */
#ifndef GPUFLOOR_VERSION_H
#define GPUFLOOR_VERSION_H

#include <stdbool.h>

extern const char version_line[];    /* "gpufloor 0.1.0 (a1b2c3d)" */
extern const char version_number[];
extern const char version_commit[];  /* 40 hex digits, or "unknown" outside a checkout */
extern const bool version_dirty;     /* built from sources that differ from that commit */
extern const char version_flags[];   /* compilers and flags of this build, no paths */

#endif
