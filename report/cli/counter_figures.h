/* The figures that follow from the hardware counters of one case, and the rule for "bound by".
 * core/counter_sets.c lists the counters themselves.
 *
 * Bound by, the first that holds:
 *     launch     not even the busiest SM held a warp for more than half of the time that the body
 *                takes when it is only timed: the time goes into starting and awaiting kernels
 *     bandwidth  while an SM held a warp, a memory was busy to at least 60 % of its peak, and no
 *                execution pipe was busier: device memory by its bytes, the L2 by its sectors, the
 *                path from there by the cycles of its ports, L1 and shared memory by the wavefronts
 *                of their data stage
 *     compute    an execution pipe, or the issue slots, were busy to at least 60 %
 *     latency    none of these: the SMs held warps, and the warps waited
 * Nsight Compute's "speed of light" rules draw the line at 60 %, too. */
#ifndef REPORT_CLI_COUNTER_FIGURES_H
#define REPORT_CLI_COUNTER_FIGURES_H

#include <jansson.h>
#include <stdbool.h>

enum bound { BOUND_UNKNOWN, BOUND_LAUNCH, BOUND_LATENCY, BOUND_BANDWIDTH, BOUND_COMPUTE };
const char *bound_name(enum bound bound);

enum level { LEVEL_SHARED, LEVEL_L1, LEVEL_L2, LEVEL_MEMORY, N_LEVELS };

enum { COUNTER_LOSSES_MAX = 20 };

/* All shares are fractions of 1; NaN where the counters for it were not read, or counted
 * nothing. */
struct counter_figures {
    double time_ns;
    double sm_mhz, l2_mhz, dram_mhz, sys_mhz; /* the real clock of each domain */

    double shared_loads, global_loads; /* instructions of warps */
    double l1_hits;                    /* share of the sectors that global loads request from L1 */
    double l2_hits;                    /* share of the sectors that the L1s read from the L2 */
    double served[N_LEVELS];           /* share of the loads that each level served */
    double dram_read, dram_written;    /* bytes */
    double read_of_own, written_of_own; /* share of the bytes that the probe says it moved */

    double n_busy;           /* SMs, if all had worked as long as the busiest */
    double least_busy, busy; /* how long the least and the most busy SM held a warp: share of the
                               time that the body takes when nothing is counted, see body_ns */
    double body_ns;          /* as timed; if the probe hands over no times, as counted */
    double warps, issued;     /* resident warps of an SM; share of its issue slots that issued */
    struct counter_loss {     /* issue slots that did not issue, by what the warps waited for */
        const char *reason;
        double share;
    } lost[COUNTER_LOSSES_MAX]; /* largest first */
    int n_lost;

    bool gated; /* a kernel holds an SM while the host prepares: "bound by" cannot be told */
    enum bound bound;
    const char *limit; /* the busiest memory or pipe; NULL if unknown */
    double limit_busy;
};

/* Reads the figures off one case of a probe's run document; `timed` is the same case of the timed
 * run, or NULL. */
void counter_read(struct counter_figures *c, const char *probe, const json_t *one,
                  const json_t *timed);

/* From an array of cases, the one that is the same as `like`, or NULL: the same keys, and a common
 * metric (a probe may have several cases without keys). */
json_t *counter_case(const json_t *cases, const json_t *like);

/* The level that a case claims to measure ("level=l1"), or -1; also -1 for a case of copies
 * ("path=bulk"), which do not count as loads. */
int counter_claim(const char *keys);
const char *level_name(enum level level);

/* How much longer a metric's time was when counted than when only timed; NaN if one of the two is
 * missing. */
double counter_slowdown(const json_t *timed, const json_t *counted);

/* The figures as an object, for the document. */
json_t *counter_object(const struct counter_figures *c);

#endif
