/* The planted fault of this run: SHIM_FAULT in the environment; see shim.h. */
#ifndef TESTS_SHIM_FAULT_H
#define TESTS_SHIM_FAULT_H

static inline const char *shim_planted()
{
    static const char *planted = getenv("SHIM_FAULT");
    return planted ? planted : "";
}

static inline bool shim_fault(const char *which)
{
    return strcmp(shim_planted(), which) == 0;
}

#endif
