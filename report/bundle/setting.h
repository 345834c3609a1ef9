/* How a GPU was set, as far as a document tells. A field that this version of `run` does not
 * record, or could not read, is unknown: never as shipped, never otherwise. */
#ifndef REPORT_BUNDLE_SETTING_H
#define REPORT_BUNDLE_SETTING_H

#include <jansson.h>

enum setting { SETTING_UNKNOWN, SETTING_SHIPPED, SETTING_CHANGED };
enum { SETTING_TEXT = 200 };

/* Each takes `gpu` of a document's environment (NULL: all is unknown) and says in `text` what is
 * set, in a few words: "power limit 500 W, by default 700 W". Where it is unknown, `text` says what
 * is known, why it is not, or that nothing is recorded. */
typedef enum setting setting_reader(const json_t *gpu, char text[SETTING_TEXT]);
setting_reader setting_clocks, setting_ecc, setting_mig, setting_mps, setting_power;

/* Why `gpu` lacks a field, as `run` noted it: "Not Supported"; NULL where it noted nothing. */
const char *setting_why_unknown(const json_t *gpu, const char *field);

/* The first cause for which the driver holds the clock back although the card is within its power,
 * of a list such as "power cap, thermal"; empty for none. Heavy work runs under the power cap. */
const char *setting_slowdown(const char *held_back_by, char cause[SETTING_TEXT]);

#endif
