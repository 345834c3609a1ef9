#include "links/all_reduce/rounding.h"

#include <math.h>

double rounding_cost(double unit, int addends, bool once, double sum, double whole)
{
    const double last = unit * fabs(sum) + addends * 0x1p-24 * whole;
    return once ? last : last + (addends - 2) * unit * whole;
}
