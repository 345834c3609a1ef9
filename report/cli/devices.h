/* run --devices: one run over several GPUs of this machine. Programs of links/ use all of them. The
 * one-GPU programs whose rows explain theirs use the first. */
#ifndef REPORT_CLI_DEVICES_H
#define REPORT_CLI_DEVICES_H

#include "report/cli/catalogue.h"
#include "report/cli/session.h"

/* Makes the GPUs that were asked for the only ones that CUDA shows, in their order: the first is
 * then device 0. What CUDA_VISIBLE_DEVICES shows already is counted as CUDA counts it. */
void devices_show(struct run_options *options);

/* The place `at` of a list "0,2,GPU-..."; the number itself where there is no such place. */
void devices_entry(const char *list, int at, char *text, size_t size);

/* Looks at each GPU behind the first, which was found already, and opens its NVML. The environment
 * then has "gpus", each GPU as "gpu" has the first, and a board of its own: 2x-nvidia-h200. False,
 * in one line on stderr, if one cannot be measured or is another board. */
bool devices_find(struct session *s);

/* Does a run over so many GPUs take the program, where none is named? */
bool devices_take(const struct listed *program, size_t n_gpus);

/* The names of one-GPU programs whose rows explain those of links/, then NULL. */
const char *const *devices_explaining(void);

/* What NVML says of all GPUs of the run: of the first, but with the most processes that any has,
 * and all reasons for a clock held back. */
struct nvml_state devices_state(const struct session *s);

/* Are these the same cards in the same order? */
bool devices_same(const json_t *environment, const json_t *other);

#endif
