/* Stands in for CUDA's header of the same name; see shim.h. */
#include "tests/shim/halves.h"
