/* What every command line of the suite says of itself. */
#ifndef GPUFLOOR_HELP_H
#define GPUFLOOR_HELP_H

#include <argp.h>

/* -h as --help, for the field `children` of a parser. */
extern const struct argp_child help_children[];

#endif
