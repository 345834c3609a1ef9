/* Several operations timed in turn: in each pass of the sample loop the graphs of all of them are
 * replayed, so that they share the clock, the power limit and what else moves. A product of 4096
 * rows takes 178 us on an H200 in its first 20 ms and 195 us from then on, when the power limit has
 * noticed: one behind the other, the one whose loop ends early would win by 10 %. Each has its own
 * case, as operation_measure() makes it, mode=graph, l2=cold; the first one's loop decides how
 * long. */
#ifndef FUSED_EPILOGUE_TURNS_H
#define FUSED_EPILOGUE_TURNS_H

#include "fused/common/operation.h"

enum { TURNS_MAX = 8 /* operations */ };

/* keys: all before ",impl="; copy_ns as in operation_measure(). */
void epilogue_measure_in_turn(struct probe_run *r, const char *keys, const struct operation *list,
                              size_t n, unsigned flags, double copy_ns);

#endif
