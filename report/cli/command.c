#include "report/cli/command.h"

#include <errno.h>
#include <stdlib.h>

long long command_whole(const struct argp_state *state, const char *option, const char *text,
                        long long least, long long most)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        argp_failure(state, EXIT_TROUBLE, 0, "%s %s: expected a whole number from %lld to %lld",
                     option, text, least, most);
    return value;
}
