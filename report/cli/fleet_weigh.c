#include "report/cli/fleet.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stat.h"

static const double THRESHOLD = 0.01, SLACK = 0.02, TICKS = 2; /* as `compare` has them */
static const double AGREE_SHARE = 0.95;

/* --- which group ------------------------------------------------------------------------------ */

/* Files without a hash are a card each. */
static bool is_same_card(const struct fleet_file *a, const struct fleet_file *b)
{
    return a == b || (*a->card && !strcmp(a->card, b->card));
}

static size_t cards_of(const struct fleet *fleet, const char *group)
{
    size_t n = 0;

    for (size_t i = 0; i < fleet->n_files; i++) {
        bool is_first = !strcmp(fleet->files[i].group, group);
        for (size_t k = 0; k < i && is_first; k++)
            is_first = strcmp(fleet->files[k].group, group) != 0 ||
                       !is_same_card(&fleet->files[k], &fleet->files[i]);
        n += is_first;
    }
    return n;
}

/* That of the most cards; of a tie, that of the most files, and then the last by name. */
static const char *largest_group(const struct fleet *fleet)
{
    const char *largest = NULL;
    size_t most_cards = 0, most_files = 0;

    for (size_t i = 0; i < fleet->n_files; i++) {
        const char *group = fleet->files[i].group;
        const size_t n = cards_of(fleet, group);
        size_t n_files = 0;
        for (size_t k = 0; k < fleet->n_files; k++)
            n_files += !strcmp(fleet->files[k].group, group);
        if (n < most_cards || (n == most_cards && n_files < most_files))
            continue;
        largest = group;
        most_cards = n;
        most_files = n_files;
    }
    return largest;
}

static void take_cards(struct verdict_of_fleet *v, const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_files; i++) {
        const struct fleet_file *file = &fleet->files[i];
        size_t at = 0;
        if (strcmp(file->group, v->group))
            continue;
        while (at < v->n_cards && !is_same_card(v->cards[at].file, file))
            at++;
        if (at == v->n_cards)
            v->cards[v->n_cards++] = (struct fleet_card){.file = file};
        v->cards[at].n_files++;
        v->n_files++;
    }
}

/* --- one row ---------------------------------------------------------------------------------- */

/* The readings of a row in the group. */
struct taken {
    const struct reading **of; /* of each file; NULL: none, or not comparable */
    size_t n;                  /* of them, not NULL */
};

static const struct reading *reading_of(const struct fleet_file *file, size_t place)
{
    return place < file->n_readings && file->readings[place].n > 0 ? &file->readings[place] : NULL;
}

/* Most files decide which code is compared; of a tie, the first. */
static void take_readings(struct taken *taken, const struct fleet *fleet,
                          struct verdict_of_fleet *v, size_t place)
{
    size_t most = 0, n_all = 0;
    unsigned long long code = 0;

    for (size_t i = 0; i < fleet->n_files; i++) {
        taken->of[i] = strcmp(fleet->files[i].group, v->group)
                           ? NULL
                           : reading_of(&fleet->files[i], place);
        n_all += taken->of[i] != NULL;
    }
    for (size_t i = 0; i < fleet->n_files && 2 * most <= n_all; i++) {
        size_t n = 0;
        for (size_t k = 0; taken->of[i] && k < fleet->n_files; k++)
            n += taken->of[k] && taken->of[k]->code == taken->of[i]->code;
        if (n > most) {
            most = n;
            code = taken->of[i]->code;
        }
    }
    for (size_t i = 0; i < fleet->n_files; i++)
        if (taken->of[i] && taken->of[i]->code != code)
            taken->of[i] = NULL;
    taken->n = most;
    v->n_other += n_all - most;
}

static double median_of(double *values, size_t n)
{
    stat_sort(values, n);
    return stat_median(values, n);
}

/* The value of a card, the median of its files' values; NaN: it has none. */
static double card_value(const struct fleet *fleet, const struct taken *taken,
                         const struct fleet_card *card, double *room)
{
    size_t n = 0;
    for (size_t i = 0; i < fleet->n_files; i++)
        if (taken->of[i] && is_same_card(card->file, &fleet->files[i]))
            room[n++] = taken->of[i]->value;
    return median_of(room, n);
}

/* What a row is judged by besides the cards: the middle one of the cards' own errors and ticks, and
 * whether they come of six rounds and more. */
static struct odd_floor floor_of(const struct fleet *fleet, const struct taken *taken, double *room)
{
    struct odd_floor floor = {.least = THRESHOLD};
    double tick = 0;
    size_t n = 0;

    for (size_t i = 0; i < fleet->n_files; i++)
        if (taken->of[i]) {
            room[n++] = taken->of[i]->own;
            tick = fmax(tick, taken->of[i]->tick);
            if (taken->of[i]->n < ROW_RUNS_NEEDED)
                floor.least = SLACK;
        }
    floor.own = median_of(room, n);
    floor.least = fmax(floor.least, TICKS * tick);
    return floor;
}

static bool weigh_row(struct fleet_row *row, const struct fleet *fleet, struct verdict_of_fleet *v,
                      const struct taken *taken, double *room)
{
    struct odd_scale scale;

    row->value = calloc(2 * v->n_cards, sizeof *row->value);
    if (!row->value)
        return false;
    row->sigmas = row->value + v->n_cards;
    const struct odd_floor floor = floor_of(fleet, taken, room);
    size_t n = 0;
    for (size_t i = 0; i < v->n_cards; i++)
        row->value[i] = card_value(fleet, taken, &v->cards[i], room);
    for (size_t i = 0; i < v->n_cards; i++)
        if (!isnan(row->value[i]))
            room[n++] = row->value[i];
    row->n_cards = n;
    row->floor = floor;
    const bool is_fit = odd_scale(&scale, room, n, floor, v->threshold);
    row->median = scale.median;
    row->scale = is_fit ? scale.scale : (double)NAN;
    for (size_t i = 0; i < v->n_cards; i++)
        row->sigmas[i] = fabs(row->value[i] / row->median - 1) / row->scale;
    return true;
}

/* --- all rows --------------------------------------------------------------------------------- */

/* Is it one of the answers of what is judged? What is left out adds none. */
static bool is_answer(const struct fleet *fleet, const char *group, size_t place)
{
    for (size_t i = 0; i < fleet->n_files; i++) {
        const struct fleet_file *file = &fleet->files[i];
        if (place < file->n_shown && file->shown[place] && !strcmp(file->group, group))
            return true;
    }
    return false;
}

static bool is_wanted(const struct fleet *fleet, const char *group, size_t place, bool all,
                      const char *glob)
{
    const char *id = fleet->rows.row[place].id;
    if (all || glob) /* what stands under a name stands under its id, too */
        return strchr(id, '.') && (!glob || fnmatch(glob, id, 0) == 0);
    return is_answer(fleet, group, place);
}

bool fleet_is_odd(const struct verdict_of_fleet *v, const struct fleet_row *row, size_t card)
{
    return v->n_cards >= ODD_CARDS_LEAST && row->n_cards >= ODD_CARDS_LEAST &&
           row->sigmas[card] > v->threshold;
}

/* Two cards: beyond what either's own rounds explain. */
static bool differs_here(const struct verdict_of_fleet *v, const struct fleet_row *row)
{
    const double own = ODD_LEAST * sqrt(2) * row->floor.own;
    return v->n_cards == 2 && row->n_cards == 2 &&
           fabs(row->value[0] - row->value[1]) / row->median > fmax(row->floor.least, own);
}

const char *fleet_direction(const struct fleet_row *row, size_t card)
{
    const char *unit = row->row->unit;
    const bool is_more = row->value[card] > row->median;
    const bool is_time = !strcmp(unit, "ns") || !strcmp(unit, "cycles");

    if (!is_time && !strstr(unit, "/s") && !strstr(unit, "/cycle"))
        return is_more ? "more" : "less";
    return is_more == is_time ? "slower" : "faster";
}

static double farthest(const struct verdict_of_fleet *v, const struct fleet_row *row)
{
    double most = 0; /* fmax() passes over NaN, such as the distance of two values that are 0 */
    if (v->n_cards == 2 && row->n_cards == 2)
        return fmax(most, fabs(row->value[0] - row->value[1]) / row->median);
    for (size_t i = 0; i < v->n_cards; i++)
        most = fmax(most, row->sigmas[i]);
    return most;
}

static void count_row(struct verdict_of_fleet *v, struct fleet_row *row)
{
    for (size_t i = 0; i < v->n_cards; i++) {
        struct fleet_card *card = &v->cards[i];
        card->n_rows += isnan(row->value[i]) ? 0 : 1;
        card->n_lacking += isnan(row->value[i]) && 2 * row->n_cards > v->n_cards;
        if (!fleet_is_odd(v, row, i))
            continue;
        row->n_odd++;
        card->n_odd++;
        card->n_slower += !strcmp(fleet_direction(row, i), "slower");
        card->n_faster += !strcmp(fleet_direction(row, i), "faster");
    }
    if (differs_here(v, row))
        row->n_odd = 2;
}

struct ranked {
    double key;
    size_t place;
};

static int by_key(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->key < y->key ? 1 : x->key > y->key ? -1 : x->place > y->place ? 1 : -1;
}

/* Odd cards first: they change places, and so do their values in every row. */
static bool sort_cards(struct verdict_of_fleet *v)
{
    struct ranked *order = calloc(v->n_cards, sizeof *order);
    struct fleet_card *cards = calloc(v->n_cards, sizeof *cards);
    double *values = calloc(2 * v->n_cards, sizeof *values);
    const bool fine = order && cards && values;

    for (size_t i = 0; fine && i < v->n_cards; i++) {
        order[i] = (struct ranked){(double)v->cards[i].n_odd, i};
        cards[i] = v->cards[i];
    }
    if (fine)
        qsort(order, v->n_cards, sizeof *order, by_key);
    for (size_t i = 0; fine && i < v->n_cards; i++)
        v->cards[i] = cards[order[i].place];
    for (size_t k = 0; fine && k < v->n_rows; k++) {
        memcpy(values, v->rows[k].value, 2 * v->n_cards * sizeof *values);
        for (size_t i = 0; i < v->n_cards; i++) {
            v->rows[k].value[i] = values[order[i].place];
            v->rows[k].sigmas[i] = values[v->n_cards + order[i].place];
        }
    }
    free(order);
    free(cards);
    free(values);
    return fine;
}

static bool sort_rows(struct verdict_of_fleet *v)
{
    struct ranked *order = calloc(v->n_rows + 1, sizeof *order);
    struct fleet_row *rows = calloc(v->n_rows + 1, sizeof *rows);
    const bool fine = order && rows;

    for (size_t i = 0; fine && i < v->n_rows; i++) {
        order[i] = (struct ranked){farthest(v, &v->rows[i]), i};
        rows[i] = v->rows[i];
    }
    if (fine)
        qsort(order, v->n_rows, sizeof *order, by_key);
    for (size_t i = 0; fine && i < v->n_rows; i++)
        v->rows[i] = rows[order[i].place];
    free(order);
    free(rows);
    return fine;
}

/* Within how much the cards that are not odd agree, in most rows. */
static double agreement(const struct verdict_of_fleet *v, double *room)
{
    size_t n = 0;
    for (size_t k = 0; k < v->n_rows; k++) {
        double most = NAN;
        for (size_t i = 0; i < v->n_cards; i++)
            if (!isnan(v->rows[k].value[i]) && v->cards[i].n_odd == 0)
                most = fmax(most, fabs(v->rows[k].value[i] / v->rows[k].median - 1));
        if (!isnan(most) && !isnan(v->rows[k].scale))
            room[n++] = most;
    }
    stat_sort(room, n);
    return stat_quantile(room, n, AGREE_SHARE);
}

static bool weigh_rows(struct verdict_of_fleet *v, const struct fleet *fleet, const size_t *places,
                       struct taken *taken, double *room)
{
    bool fine = true;

    for (size_t i = 0; fine && i < v->n_rows; i++) {
        struct fleet_row *row = &v->rows[i];
        const size_t place = places[i];
        *row = (struct fleet_row){.row = &fleet->rows.row[place],
                                  .label = place < fleet->n_label ? fleet->label[place] : NULL};
        take_readings(taken, fleet, v, place);
        fine = weigh_row(row, fleet, v, taken, room);
        if (fine)
            count_row(v, row);
    }
    for (size_t i = 0; i < v->n_cards; i++)
        v->n_odd += v->cards[i].n_odd > 0;
    return fine;
}

/* The rows that a file of the group has; their number. */
static size_t choose_rows(size_t *places, const struct fleet *fleet,
                          const struct verdict_of_fleet *v, bool all, const char *glob)
{
    size_t n = 0;
    for (size_t place = 0; place < fleet->rows.n; place++) {
        bool any = false;
        for (size_t i = 0; i < fleet->n_files && !any; i++)
            any = !strcmp(fleet->files[i].group, v->group) && reading_of(&fleet->files[i], place);
        if (any && is_wanted(fleet, v->group, place, all, glob))
            places[n++] = place;
    }
    return n;
}

bool fleet_weigh(struct verdict_of_fleet *v, const struct fleet *fleet, bool all, const char *glob,
                 char why[DOCUMENT_WHY])
{
    const size_t longest = fleet->rows.n + fleet->n_files + 1;
    size_t *places = calloc(longest, sizeof *places);
    double *room = calloc(longest, sizeof *room);
    struct taken taken = {.of = calloc(fleet->n_files, sizeof *taken.of)};

    *v = (struct verdict_of_fleet){.cards = calloc(fleet->n_files, sizeof *v->cards)};
    bool fine = places && room && taken.of && v->cards;
    v->group = largest_group(fleet);
    if (fine) {
        take_cards(v, fleet);
        v->n_rows = choose_rows(places, fleet, v, all, glob);
        v->threshold = odd_threshold(v->n_cards, v->n_rows);
        v->expected = (double)(v->n_cards * v->n_rows) * odd_chance(v->threshold, v->n_cards);
        fine = (v->rows = calloc(v->n_rows + 1, sizeof *v->rows)) &&
               weigh_rows(v, fleet, places, &taken, room) && sort_cards(v) && sort_rows(v);
    }
    if (fine)
        v->agree = agreement(v, room);
    if (!fine)
        snprintf(why, DOCUMENT_WHY, "out of memory");
    else if (v->n_rows == 0)
        snprintf(why, DOCUMENT_WHY,
                 glob ? "--metric %.300s: no metric matches" : "%s: no row to judge",
                 glob ? glob : v->group);
    fine = fine && v->n_rows > 0;
    free(places);
    free(room);
    free(taken.of);
    if (!fine)
        fleet_weighed_free(v);
    return fine;
}

void fleet_weighed_free(struct verdict_of_fleet *v)
{
    for (size_t i = 0; v->rows && i < v->n_rows; i++)
        free(v->rows[i].value);
    free(v->rows);
    free(v->cards);
    *v = (struct verdict_of_fleet){0};
}

char *fleet_card_name(char *text, size_t size, const struct fleet_card *card)
{
    char more[24] = "";
    const char *hash = *card->file->card ? card->file->card : "unknown";

    if (card->n_files > 1)
        snprintf(more, sizeof more, " +%zu", card->n_files - 1);
    snprintf(text, size, "%.32s%s (%.*s)", card->file->name, more, FLEET_SHORT, hash);
    return text;
}
