/* Units: the closed list of units, and how values are printed for a person.
 *
 * A file never holds a scaled value: bytes, not KiB; ns, not us. Scaling happens here, when a value
 * is printed. Sizes scale by 1024 (KiB), everything else by 1000 (GB/s, us), as in lmbench. */
#ifndef GPUFLOOR_UNIT_H
#define GPUFLOOR_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True for: ns cycles bytes bytes/s bytes/cycle flop/s ops/s ops/cycle hertz count ratio ulps watts
 * joules celsius. */
bool unit_known(const char *unit);

/* True for units per second. The sample of such a metric is a time in ns for an amount of work. */
bool unit_is_rate(const char *unit);

/* The i-th unit of the list, or NULL past the last one. */
const char *unit_at(size_t i);

/* Writes value with at most `digits` significant digits and a scaled unit: 5220 ns -> "5.22 us".
 * Counts and cycles keep their unit. What
 * is out of all proportion has an exponent: "1.00e+293 PB/s". Returns text. */
char *unit_format(char *text, size_t size, double value, const char *unit, int digits);

/* Writes value with so many digits behind the point, with a sign if `sign`, or with an exponent
 * where it is out of all proportion. Returns text. */
char *unit_fixed(char *text, size_t size, double value, int places, bool sign);

/* Reads a size: "4096", "64K", "1M", "2G" (powers of 1024). False for anything else, and for a size
 * of more than 63 bits; *bytes is then unchanged. */
bool unit_parse_size(const char *text, int64_t *bytes);

#endif
