#include "report/cli/fleet_odd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stat.h"

static const double FREEDOM_A_CARD = 0.43;
static const double SIGMA_OF_MAD = 1.4826; /* of a normal distribution */

/* Two tails of Student's t with a whole number of degrees of freedom: Abramowitz & Stegun
 * 26.7.3-4. */
static double student_tails(double t, size_t freedom)
{
    const double angle = atan(t / sqrt((double)freedom)), c = cos(angle), s = sin(angle);
    const double pi = acos(-1);
    double term = freedom % 2 ? c : 1, sum = freedom == 1 ? 0 : term;

    for (size_t k = freedom % 2 ? 3 : 2; k + 2 <= freedom; k += 2) {
        term *= c * c * (double)(k - 1) / (double)k;
        sum += term;
    }
    const double inside = freedom % 2 ? 2 / pi * (angle + s * sum) : s * sum;
    return fmax(1 - inside, 0);
}

double odd_chance(double sigmas, size_t n_cards)
{
    const double freedom = fmax(FREEDOM_A_CARD * (double)n_cards, 1);
    const double part = freedom - floor(freedom);
    const double low = student_tails(sigmas, (size_t)freedom);
    const double high = student_tails(sigmas, (size_t)freedom + 1);

    return high > 0 ? exp((1 - part) * log(low) + part * log(high)) : 0;
}

double odd_threshold(size_t n_cards, size_t n_rows)
{
    const double wanted = 1.0 / ODD_ONCE_IN / ((double)n_cards * (double)(n_rows ? n_rows : 1));
    double low = ODD_LEAST, high = ODD_MOST;

    if (odd_chance(high, n_cards) >= wanted)
        return high;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (odd_chance(middle, n_cards) > wanted)
            low = middle;
        else
            high = middle;
    }
    return high;
}

bool odd_scale(struct odd_scale *scale, const double *values, size_t n, struct odd_floor floor,
               double threshold)
{
    double *sorted = calloc(n + 1, sizeof *sorted);
    const bool is_fit = sorted && n >= 2;

    *scale = (struct odd_scale){.median = NAN, .scale = NAN};
    if (is_fit) {
        memcpy(sorted, values, n * sizeof *sorted);
        stat_sort(sorted, n);
        scale->median = stat_median(sorted, n);
        for (size_t i = 0; i < n; i++)
            sorted[i] = fabs(values[i] - scale->median);
        stat_sort(sorted, n);
        scale->scale = SIGMA_OF_MAD * stat_median(sorted, n) / scale->median;
        scale->scale = fmax(scale->scale, fmax(floor.own, floor.least / threshold)); /* not NaN */
    }
    free(sorted);
    return is_fit && scale->median > 0 && isfinite(scale->median) && isfinite(scale->scale);
}
