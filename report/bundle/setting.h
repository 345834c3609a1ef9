/* How the GPU of a bundle was set, as far as the bundle tells. A field that this version of `run` does
 * not record, or could not read, is unknown: never as shipped, never otherwise. */
#ifndef REPORT_BUNDLE_SETTING_H
#define REPORT_BUNDLE_SETTING_H

#include "report/bundle/bundle.h"

enum setting { SETTING_UNKNOWN, SETTING_SHIPPED, SETTING_CHANGED };
enum { SETTING_TEXT = 200 };

/* Each says in `text` what is set, in a few words: "the SM clock is locked at 1500 MHz". Where
 * it is unknown, `text` says what is known, or that nothing is recorded. */
typedef enum setting setting_reader(const struct bundle *bundle, char text[SETTING_TEXT]);
setting_reader setting_clocks, setting_ecc, setting_mig, setting_mps, setting_power;

#endif
