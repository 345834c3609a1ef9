/* Which of many cards is odd? The statistics of `report --fleet`, without bundles.
 *
 * A card's distance in a row is |x - median| / scale, where the scale is 1.4826 MAD of the cards,
 * which estimates their standard deviation. The MAD of few cards is a poor estimate: where it is
 * small by chance, some card is far off. The distance of a card of a clean fleet follows Student's
 * t with about 0.43 degrees of freedom a card (found by simulation, held by
 * tests/unit/test_fleet_odd.c; where it errs it gives too large a chance). So the threshold depends
 * on the number of cards, and on the number of rows: over all of them a clean fleet shows one odd
 * card in ODD_ONCE_IN tables. Below ODD_LEAST sigmas nothing is odd; above ODD_MOST everything is,
 * because with few cards nothing else would ever be found. There the chance is larger, and is said;
 * below ODD_CARDS_FEW cards it is called weak. */
#ifndef REPORT_CLI_FLEET_ODD_H
#define REPORT_CLI_FLEET_ODD_H

#include <stdbool.h>
#include <stddef.h>

enum { ODD_ONCE_IN = 20, ODD_LEAST = 5, ODD_MOST = 15, ODD_CARDS_LEAST = 3, ODD_CARDS_FEW = 7 };

/* The chance that one card of a clean fleet lies further off than so many sigmas in one row. */
double odd_chance(double sigmas, size_t n_cards);

/* So many sigmas make a card odd in a table of cards and rows. */
double odd_threshold(size_t n_cards, size_t n_rows);

/* What is known of a row besides the cards' values, relative to the median. */
struct odd_floor {
    double own;   /* standard error of a card's own value, from its rounds; NaN or 0: not known */
    double least; /* smaller differences never count */
};

struct odd_scale {
    double median, scale; /* scale: one sigma, relative to the median */
};

/* Median and scale of n values. The floors keep the scale from being small by chance: it is at
 * least `own`, and at least what makes `least` reach the threshold. False where there is no scale:
 * fewer than two values, or a median that is not positive. */
bool odd_scale(struct odd_scale *scale, const double *values, size_t n, struct odd_floor floor,
               double threshold);

#endif
