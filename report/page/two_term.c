#include "report/page/two_term.h"

#include <math.h>

static const double ROUNDING = 1e-9;

double two_term_ns(const struct two_term *model, double bytes)
{
    return model->fixed_ns + bytes / model->rate * 1e9;
}

struct two_term two_term_of(const double *bytes, const double *ns, size_t n)
{
    struct two_term m = {NAN, NAN, NAN, NAN, NAN};

    if (n < 3 || !(bytes[n - 1] > bytes[0]) || !(ns[n - 1] > ns[0]))
        return m;
    m.rate = (bytes[n - 1] - bytes[0]) / (ns[n - 1] - ns[0]) * 1e9;
    m.fixed_ns = ns[0] - bytes[0] / m.rate * 1e9;
    m.half_bytes = m.fixed_ns * m.rate / 1e9;
    m.worst = 0;
    for (size_t i = 1; i + 1 < n; i++) {
        const double off = two_term_ns(&m, bytes[i]) / ns[i] - 1;
        if (fabs(off) >= fabs(m.worst)) {
            m.worst = fabs(off) < ROUNDING ? 0 : off;
            m.worst_bytes = bytes[i];
        }
    }
    return m;
}
