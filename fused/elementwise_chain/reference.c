#include "fused/elementwise_chain/reference.h"

#include <math.h>

/* One operator; in forms whose small results are right, as 1 + tanh(u) is not where it cancels.
 * *off is how far x may be off, and then how far the result may: what came in, by the operator's
 * steepest slope, and the error of its own fp32 instructions. */
static double chain_operate(int which, double x, double bias, const struct chain_args *a,
                            double *off)
{
    const double scale = (double)a->scale, limit = (double)a->limit;
    const double u = 0.79788456080286536 * (x + 0.044715 * x * x * x);
    const int is_activation = which == CHAIN_GELU || which == CHAIN_SILU;
    const double y = which == CHAIN_BIAS    ? x + bias
                     : which == CHAIN_SCALE ? scale * x
                     : which == CHAIN_LEAKY ? (x > 0 ? x : (double)a->leak * x)
                     : which == CHAIN_SHIFT ? x + (double)a->shift
                     : which == CHAIN_CLAMP ? (x > limit    ? limit
                                               : x < -limit ? -limit
                                                            : x)
                     : which == CHAIN_GELU  ? x / (1 + exp(-2 * u))
                     : which == CHAIN_SILU  ? x / (1 + exp(-x))
                                            : x * scale + (double)a->shift;

    *off *= is_activation ? 1.13 : which == CHAIN_SCALE || which == CHAIN_FMA ? fabs(scale) : 1;
    *off += (is_activation ? 0x1p-19 : 0x1p-23) * fabs(y);
    return y;
}

double chain_reference(const struct chain_task *task, double x, double bias, double *off)
{
    *off = 0;
    for (int k = 0; k < task->n; k++) {
        x = chain_operate(task->only >= 0 ? task->only : (int)CHAIN_OPERATOR(task->kind, k), x,
                          bias, &task->a, off);
        if (task->unit > 0 && (!task->is_fused || k + 1 == task->n))
            *off += task->unit * (fabs(x) + *off) + task->tiny;
    }
    return x;
}

double chain_lived(const struct live_args *a, enum chain_life life, int n, const float *in,
                   size_t i)
{
    const struct chain_args c = {NULL, NULL, NULL,     0,        0,       0,
                                 0,    0,    a->scale, a->shift, a->leak, a->limit,
                                 0,    0};
    double x[CHAIN_STEPS_MAX], ignored = 0, y;

    x[0] = (double)in[i];
    for (int k = 1; k < n; k++)
        x[k] = life == CHAIN_INPUTS
                   ? x[k - 1] * (double)a->scale + (double)in[(size_t)k * a->apart + i]
                   : chain_operate(CHAIN_OPERATOR(CHAIN_PLAIN, k), x[k - 1], (double)a->shift, &c,
                                   &ignored);
    y = x[n - 1];
    for (int k = n - 2; life == CHAIN_LIVE && k >= 0; k--)
        y = y * (double)a->leak + x[k];
    return y;
}
