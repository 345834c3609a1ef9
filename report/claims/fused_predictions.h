/* How well fusions are predicted, as C80 counts: the section of fusions says it, too. */
#ifndef REPORT_CLAIMS_FUSED_PREDICTIONS_H
#define REPORT_CLAIMS_FUSED_PREDICTIONS_H

#include "report/claims/claims.h"

struct fused_predictions {
    size_t n, right; /* fusions with a prediction; of these, with the right sign */
    double error;    /* the median of |predicted / measured - 1| */
};

/* False: the bundle has too few for C80. */
bool fused_predictions(const struct bundle *bundle, struct fused_predictions *out);

#endif
