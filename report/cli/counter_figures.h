/* What the hardware counters of one case come to. The counters themselves are listed in
 * core/counter_sets.c; which figures follow from them, and the rule for "bound by", stand here.
 *
 * Bound by, first that holds:
 *     launch     for more than half of the time that the body takes when it is only timed, not even
 *                the busiest SM held a warp: the time goes into starting and awaiting kernels
 *     bandwidth  a memory was busy to 60 % of its peak or more, while an SM held a warp, and no
 *                execution pipe was busier: device memory by its bytes, the L2 by its sectors, the
 *                way from there by the cycles of its ports, L1 and shared memory by the wavefronts
 *                of their data stage
 *     compute    an execution pipe, or the issue slots, were busy to 60 % or more
 *     latency    none of these: the SMs held warps, and these waited
 * 60 % is where Nsight Compute's "speed of light" rules draw the same line. */
#ifndef REPORT_CLI_COUNTER_FIGURES_H
#define REPORT_CLI_COUNTER_FIGURES_H

#include <jansson.h>
#include <stdbool.h>

enum bound { BOUND_UNKNOWN, BOUND_LAUNCH, BOUND_LATENCY, BOUND_BANDWIDTH, BOUND_COMPUTE };
const char *bound_name(enum bound bound);

enum level { LEVEL_SHARED, LEVEL_L1, LEVEL_L2, LEVEL_MEMORY, N_LEVELS };

enum { COUNTER_LOSSES_MAX = 20 };

/* All shares are of 1; NaN where the counters for it were not read, or counted nothing. */
struct counter_figures {
    double time_ns;
    double sm_mhz, l2_mhz, dram_mhz, sys_mhz; /* the real clock of each domain */

    double shared_loads, global_loads; /* instructions of warps */
    double l1_hits;                    /* of the sectors that global loads ask of the L1s */
    double l2_hits;                    /* of the sectors that the L1s read from the L2 */
    double served[N_LEVELS];           /* of the loads, by which level */
    double dram_read, dram_written;    /* bytes */
    double read_of_own, written_of_own; /* of the bytes that the probe says it moved */

    double n_busy;           /* SMs, if all of them had worked as long as the busiest */
    double least_busy, busy; /* how long the least and the most busy SM held a warp: of the time
                                that the body takes when nobody counts, see body_ns */
    double body_ns;          /* as timed; where the probe hands over no times, as counted */
    double warps, issued;     /* resident warps of an SM; issue slots that issued, of an SM's */
    struct counter_loss {     /* issue slots that did not, by what the warps waited for */
        const char *reason;
        double share;
    } lost[COUNTER_LOSSES_MAX]; /* largest first */
    int n_lost;

    bool gated; /* a kernel holds an SM while the host prepares: nothing can be said of "bound" */
    enum bound bound;
    const char *limit; /* the memory or pipe that was busiest; NULL when not known */
    double limit_busy;
};

/* Reads the figures off one case of a probe's run document; `timed` is the same case of the timed
 * run, or NULL. */
void counter_read(struct counter_figures *c, const char *probe, const json_t *one, const json_t *timed);

/* Of an array of cases the one that is the same as `like`, or NULL: the same keys, and a metric in
 * common (a probe may have several cases without keys). */
json_t *counter_case(const json_t *cases, const json_t *like);

/* The level that a case claims to measure ("level=l1"), or -1; also for a case of copies ("path=bulk"),
 * which are not counted as loads. */
int counter_claim(const char *keys);
const char *level_name(enum level level);

/* How much longer a metric's time was while it was counted than while it was timed; NaN where one
 * of the two is missing. */
double counter_slowdown(const json_t *timed, const json_t *counted);

/* The figures as an object, for the document. */
json_t *counter_object(const struct counter_figures *c);

#endif
