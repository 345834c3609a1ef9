/* What a person sees while `gpufloor run` measures: one line on a terminal, else one line per
 * round. */
#ifndef REPORT_CLI_PROGRESS_H
#define REPORT_CLI_PROGRESS_H

#include <stdbool.h>

struct progress {
    bool terminal;
    double began_s, drawn_s;
    int width; /* of the line drawn last; 0: there is none */
};

struct progress_now {
    int done, total, round, rounds; /* round counts from 1 */
    const char *probe;
    double left_s;                       /* NaN: not known yet */
    double sm_clock_mhz, temperature_c; /* NaN: not known */
};

void progress_open(struct progress *progress);

/* Redraws the line, at most ten times a second; does nothing if stderr is no terminal. */
void progress_draw(struct progress *progress, const struct progress_now *now);

/* Removes the line, so that something else can be printed. */
void progress_clear(struct progress *progress);

/* Prints one line of talk on stderr; removes the progress line first. */
void progress_say(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
