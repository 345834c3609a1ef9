#include "core/help.h"

static error_t take(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    if (key != 'h')
        return ARGP_ERR_UNKNOWN;
    argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
    return 0;
}

static const struct argp_option table[] = {
    {.key = 'h', .doc = "The same as --help", .group = -1},
    {0},
};

static const struct argp parser = {.options = table, .parser = take};

const struct argp_child help_children[] = {{.argp = &parser}, {0}};
