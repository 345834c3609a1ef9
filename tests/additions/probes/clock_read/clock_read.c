/* clock_read: how long does the host take to read its monotonic clock?
 *
 * The smallest possible probe, which tests/contract/additions.sh adds to a copy of the tree.
 *
 * Inside the timed region: N readings and nothing else. Expected: 20 to 50 ns. */
#include "core/probe.h"

enum { TIME };
static const struct probe_metric metrics[] = {
    [TIME] = {.name = "time", .unit = "ns", .form = PROBE_SLOPE, .timer = "wall",
              .what = "one reading of the clock"},
};

static void measure(struct probe_run *r)
{
    enum { READINGS = 100 };

    if (!probe_begin_case(r, 0, PROBE_NO_KEYS))
        return;
    while (probe_more(r))
        for (int n = READINGS; n <= 2 * READINGS; n += READINGS) {
            const uint64_t start = probe_host_ns();

            for (int i = 0; i < n; i++)
                probe_host_ns();

            probe_sample(r, TIME, n, (double)(probe_host_ns() - start));
        }
}

const struct probe probe = {
    .name = "clock_read",
    .what = "How long does the host take to read its monotonic clock?",
    .method = 1,
    .needs = PROBE_HOST,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
