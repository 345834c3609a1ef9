#include "core/version.h"

#include "version_values.h" /* written by the Makefile into build/, only when it changes */

const char version_line[] = "gpufloor " VERSION_NUMBER " (" VERSION_SHORT ")";
const char version_number[] = VERSION_NUMBER;
const char version_commit[] = VERSION_COMMIT;
const bool version_dirty = VERSION_DIRTY;
const char version_flags[] = VERSION_FLAGS;
