/* A layer's forms as operations: are the results right, what does each kernel do, and what is there
 * to measure? */
#ifndef FUSED_EPILOGUE_OPERATION_H
#define FUSED_EPILOGUE_OPERATION_H

#include "fused/epilogue/layer.h"

/* The whole of a form as one operation; `form` must outlive that. */
struct operation epilogue_operation(const struct epilogue_form *form, const char *name);

/* What the form wrote to set 0 against fp64; more: JUDGE_... beside those that follow from it. */
struct verdict epilogue_look_at(struct probe_run *r, const struct epilogue_form *form,
                                unsigned more);
bool epilogue_is_wrong(struct probe_run *r, const void *self);

#endif
