#include "report/cli/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/cli/child.h"
#include "report/page/out.h"

enum { BAR_CELLS = 10 };
static const double REDRAW_S = 0.1;

void progress_open(struct progress *progress)
{
    *progress = (struct progress){.terminal = isatty(STDERR_FILENO), .began_s = child_now_s()};
}

static void clock_text(char *text, size_t size, double seconds)
{
    int whole = seconds > 0 ? (int)(seconds + 0.5) : 0;
    snprintf(text, size, "%d:%02d", whole / 60, whole % 60);
}

/* Columns that may be used: a line that reaches the last one wraps, and cannot be removed. */
static int columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
}

/* Cuts UTF-8, all of whose characters are one column wide. */
static void cut(char *text, int n)
{
    for (; *text; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && n-- == 0) {
            *text = '\0';
            return;
        }
}

void progress_draw(struct progress *progress, const struct progress_now *now)
{
    double at = child_now_s();
    char time[32], bar[4 * BAR_CELLS + 1] = "", gpu[48] = "", line[400], probe[100];

    if (!progress->terminal || now->total == 0 || at - progress->drawn_s < REDRAW_S)
        return;
    progress->drawn_s = at;
    clock_text(time, sizeof time, isnan(now->left_s) ? at - progress->began_s : now->left_s);
    for (int i = 0; i < BAR_CELLS; i++)
        strcat(bar, i * now->total < now->done * BAR_CELLS ? "\u2588" : "\u2591");
    if (!isnan(now->sm_clock_mhz))
        snprintf(gpu, sizeof gpu, "  %.0f MHz %.0f C", now->sm_clock_mhz, now->temperature_c);

    progress_clear(progress);
    snprintf(probe, sizeof probe, "%s", now->probe);
    out_ascii(probe, sizeof probe);
    snprintf(line, sizeof line, "[%d/%d] round %d/%d  %-18s \u2595%s\u258f  %s %s%s", now->done,
             now->total, now->round, now->rounds, probe, bar, time,
             isnan(now->left_s) ? "elapsed" : "left", gpu);
    cut(line, columns());
    progress->width = fprintf(stderr, "%s", line);
    fflush(stderr);
}

void progress_clear(struct progress *progress)
{
    if (progress->width > 0)
        fputs("\r\033[K", stderr);
    progress->width = 0;
}

void progress_say(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    char *line = NULL;

    progress_clear(progress);
    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) < 0)
        line = NULL;
    va_end(arguments);
    out_say("%s\n", line ? line : "out of memory");
    free(line);
}
