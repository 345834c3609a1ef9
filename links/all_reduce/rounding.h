/* What rounding may cost a sum over all ranks. */
#ifndef LINKS_ALL_REDUCE_ROUNDING_H
#define LINKS_ALL_REDUCE_ROUNDING_H

#include <stdbool.h>

/* The greatest distance of a sum from `sum`, its value in float64, where `addends` numbers are
 * added that are `whole` without their signs, and the result's type has the unit roundoff `unit`.
 * With `once` they are added in fp32 and rounded once. Without, each partial sum may be rounded to
 * the type, and none exceeds `whole`; of two addends the only partial sum is the sum. To first
 * order in `unit`: what is rounded is itself off. */
double rounding_cost(double unit, int addends, bool once, double sum, double whole);

#endif
