#include "report/claims/layer.h"

#include <stdio.h>

const char *const layer_models[LAYER_MODELS] = {"1B", "8B"};

static const double LAYER_READS = 2.5;

const struct need layer_read_needs[] = {{NEED_ONE, LAYER_TIME("1b", "1024", "read")},
                                        {NEED_ONE, LAYER_TIME("8b", "1024", "read")},
                                        NEEDS_END};

bool layer_take_reads(const struct bundle *bundle, struct row read[LAYER_MODELS], bool *positive,
                      struct finding *f)
{
    if (!RULE_TAKE(bundle, layer_read_needs, f, &read[LAYER_1B], &read[LAYER_8B]))
        return false;
    const struct row ratio = rule_ratio(f, &read[LAYER_8B], &read[LAYER_1B]);
    *positive = ratio.low >= RULE_LIMIT(f, LAYER_READS);
    rule_say_control(f, true, *positive,
                     "a read of 3.56 times the bytes, an 8B layer's after a 1B layer's, takes 2.5 "
                     "times as long or more, at",
                     &ratio);
    return true;
}

bool layer_repeats(const struct row *ratio, double most, const char *what, struct finding *f)
{
    const struct row spread = rule_number(ratio->high / ratio->low, "ratio");
    const bool repeats = ratio->low > 0 && spread.centre < most;
    rule_say_control(f, false, repeats, what, &spread);
    return repeats;
}

void layer_say_values(const struct bundle *bundle, const char *const of[LAYER_MODELS],
                      const char *const values[LAYER_MODELS], struct finding *f)
{
    for (int i = 0; i < LAYER_MODELS; i++)
        rule_say_ratio_beside(bundle, f,
                              i == LAYER_1B ? "not judged: with weights where the other "
                                              "packagings have them, 1B"
                                            : "8B",
                              of[i], values[i]);
}

enum claim_verdict layer_agree(const struct row row[LAYER_MODELS],
                               const enum claim_verdict verdict[LAYER_MODELS], double limit,
                               struct finding *f)
{
    for (int i = 0; i < LAYER_MODELS; i++) {
        char what[32];
        snprintf(what, sizeof what, "a model of %s", layer_models[i]);
        rule_say_part(f, what, verdict[i], &row[i], limit);
    }
    return verdict[LAYER_1B] == verdict[LAYER_8B] ? verdict[LAYER_1B] : CLAIM_MIXED;
}
