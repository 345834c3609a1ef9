#include "report/cli/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/unit.h"
#include "report/cli/conditions.h"

enum {
    LEFT_MOST = 5,
    CONDITIONS_SHOWN = 4,
    CARDS_SHOWN = 8,
    TOLD_CARDS = 4,
    TOLD_ROWS = 24,
    DIGITS = 4,
    LABEL = 50,
    MANY = 10,
    LINE = 600,
    AT = 13
};

/* --- lines ------------------------------------------------------------------------------------ */

/* "  agree      15 of 16 cards ...", or a Markdown item. */
static void put_line(FILE *out, const char *key, const char *text, enum table_format format)
{
    if (format == TABLE_MD) {
        fprintf(out, "- %s%s", key, *key ? ": " : "");
        table_put(out, text, format);
    } else {
        fprintf(out, "  %-9s  ", key);
        table_wrap(out, text, AT, AT);
    }
    fputc('\n', out);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* --- the finding ------------------------------------------------------------------------------ */

static const char *direction_of(const struct fleet_card *card)
{
    if (card->n_slower > 0 && card->n_faster > 0)
        return ", slower and faster";
    return card->n_slower > 0 ? ", slower" : card->n_faster > 0 ? ", faster" : "";
}

static size_t rows_that_differ(const struct verdict_of_fleet *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_rows; i++)
        n += v->rows[i].n_odd > 0;
    return n;
}

static void finding(char text[LINE], const struct verdict_of_fleet *v)
{
    char name[80];

    if (v->n_cards == 1)
        snprintf(text, LINE, "one card: there is nothing to compare it with");
    else if (v->n_cards == 2 && rows_that_differ(v) > 0)
        snprintf(text, LINE, "two cards differ here, and none can be called odd: %zu of %zu rows",
                 rows_that_differ(v), v->n_rows);
    else if (v->n_cards == 2)
        snprintf(text, LINE, "two cards agree in all of %zu rows", v->n_rows);
    else if (v->n_odd == 0)
        snprintf(text, LINE, "no card of %zu is odd in any of %zu rows", v->n_cards, v->n_rows);
    else if (v->n_odd == 1)
        snprintf(text, LINE, "1 of %zu cards is odd: %s, in %zu of %zu rows%s", v->n_cards,
                 fleet_card_name(name, sizeof name, &v->cards[0]), v->cards[0].n_odd,
                 v->cards[0].n_rows, direction_of(&v->cards[0]));
    else
        snprintf(text, LINE, "%zu of %zu cards are odd, most of all %s, in %zu of %zu rows%s",
                 v->n_odd, v->n_cards, fleet_card_name(name, sizeof name, &v->cards[0]),
                 v->cards[0].n_odd, v->cards[0].n_rows, direction_of(&v->cards[0]));
}

/* --- the head --------------------------------------------------------------------------------- */

static void put_cards(FILE *out, const struct verdict_of_fleet *v, enum table_format format)
{
    char text[LINE];

    snprintf(text, sizeof text, "%zu, %zu file%s: %.300s", v->n_cards, v->n_files,
             plural(v->n_files), v->group);
    put_line(out, "cards", text, format);
    if (v->n_cards >= ODD_CARDS_LEAST && !isnan(v->agree)) {
        snprintf(text, sizeof text, "%zu of %zu cards agree within %.2g %% in 95 of 100 rows",
                 v->n_cards - v->n_odd, v->n_cards, 100 * v->agree);
        put_line(out, "agree", text, format);
    }
}

static void put_threshold(FILE *out, const struct verdict_of_fleet *v, enum table_format format)
{
    char text[LINE];

    if (v->n_cards < 2)
        return;
    if (v->n_cards == 2)
        snprintf(text, sizeof text,
                 "beyond 1 %% (2 %% with fewer than six rounds), two ticks of the timer, and what "
                 "the cards' own rounds scatter by");
    else
        snprintf(text, sizeof text,
                 "beyond %.1f robust sigmas of the cards, and beyond 1 %% (2 %% with fewer than "
                 "six rounds) and two ticks of the timer; of %zu cells %.2g are odd by chance in a "
                 "clean fleet",
                 v->threshold, v->n_cards * v->n_rows, v->expected);
    put_line(out, v->n_cards == 2 ? "differ" : "odd", text, format);
    if (v->n_cards > 2 && (v->n_cards < ODD_CARDS_FEW || v->expected > 0.5)) {
        snprintf(text, sizeof text,
                 "%zu cards are few: the scatter of so few is poorly known, and the threshold "
                 "is weak; measure an odd card again, and more cards",
                 v->n_cards);
        put_line(out, "weak", text, format);
    }
    if (v->cards[0].file->n_rounds == 1)
        put_line(out, "look", "one round: a look; measure an odd card again, with seven", format);
}

/* --- what differs besides the figures --------------------------------------------------------- */

static const char *mode_of(const struct verdict_of_fleet *v, size_t k, size_t *most)
{
    const char *mode = NULL;
    *most = 0;
    for (size_t i = 0; i < v->n_cards; i++) {
        size_t n = 0;
        for (size_t j = 0; j < v->n_cards; j++)
            n += !strcmp(v->cards[j].file->condition[k], v->cards[i].file->condition[k]);
        if (n > *most) {
            *most = n;
            mode = v->cards[i].file->condition[k];
        }
    }
    return mode;
}

/* "driver: 580.159.04 on 15 cards; 570.1 on node3.json (98177cd9)" */
static void put_conditions(FILE *out, const struct verdict_of_fleet *v, enum table_format format)
{
    const struct bundle none = {0};
    char text[LINE], value[160], name[80];
    const char *key, *is;
    size_t shown = 0, most;
    bool forbids;

    for (size_t k = 0;
         k < FLEET_CONDITIONS && (key = condition_at(k, &none, value, sizeof value, &is, &forbids));
         k++) {
        const char *mode = mode_of(v, k, &most);
        size_t used, named = 0;
        if (!strcmp(key, "card") || most == v->n_cards || shown++ >= CONDITIONS_SHOWN)
            continue;
        used = (size_t)snprintf(text, sizeof text, "%s: %.60s on %zu card%s", key, mode, most,
                                plural(most));
        for (size_t i = 0; i < v->n_cards; i++)
            if (strcmp(v->cards[i].file->condition[k], mode) && named++ < 2 && used < sizeof text)
                used += (size_t)snprintf(text + used, sizeof text - used, "; %.60s on %s",
                                         v->cards[i].file->condition[k],
                                         fleet_card_name(name, sizeof name, &v->cards[i]));
        if (named > 2 && used < sizeof text)
            snprintf(text + used, sizeof text - used, "; and %zu more", named - 2);
        put_line(out, "differs", text, format);
    }
    if (shown > CONDITIONS_SHOWN) {
        snprintf(text, sizeof text, "and %zu more conditions", shown - CONDITIONS_SHOWN);
        put_line(out, "", text, format);
    }
}

/* --- what is left out ------------------------------------------------------------------------- */

/* Groups that are not told, a line each. */
static size_t put_groups(FILE *out, const struct fleet *fleet, const struct verdict_of_fleet *v,
                         enum table_format format)
{
    char text[LINE];
    size_t shown = 0;

    for (size_t i = 0; i < fleet->n_files; i++) {
        const char *group = fleet->files[i].group;
        size_t n = 0, used = 0;
        bool is_first = strcmp(group, v->group) != 0;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = strcmp(fleet->files[k].group, group) != 0;
        if (!is_first || shown++ >= LEFT_MOST)
            continue;
        used = (size_t)snprintf(text, sizeof text, "%.200s:", group);
        for (size_t k = i; k < fleet->n_files; k++)
            if (!strcmp(fleet->files[k].group, group) && n++ < 3 && used < sizeof text)
                used += (size_t)snprintf(text + used, sizeof text - used, " %.40s",
                                         fleet->files[k].name);
        if (n > 3 && used < sizeof text)
            snprintf(text + used, sizeof text - used, " and %zu more", n - 3);
        put_line(out, "left out", text, format);
    }
    return shown;
}

static void put_left(FILE *out, const struct fleet *fleet, const struct verdict_of_fleet *v,
                     enum table_format format)
{
    char text[LINE];
    size_t n = put_groups(out, fleet, v, format);

    for (size_t i = 0; i < fleet->n_left; i++)
        if (n++ < LEFT_MOST) {
            snprintf(text, sizeof text, "%.60s: %.120s", fleet->left[i].name, fleet->left[i].why);
            put_line(out, "left out", text, format);
        }
    if (n > LEFT_MOST) {
        snprintf(text, sizeof text, "and %zu more", n - LEFT_MOST);
        put_line(out, "left out", text, format);
    }
    if (v->n_other > 0) {
        snprintf(text, sizeof text,
                 "%zu values by another method, or by other kernels than most files have",
                 v->n_other);
        put_line(out, "left out", text, format);
    }
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Odd cards, and those that lack rows. */
static void put_table_of_cards(FILE *out, const struct verdict_of_fleet *v,
                               enum table_format format)
{
    static const char *const heads[] = {"card", "odd rows", "of", "slower", "faster", "lacks", ""};
    struct table table = table_new("lrrrrrl");
    char name[80];
    size_t shown = 0;

    for (size_t i = 0; i < table.n_columns; i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; v->n_cards >= ODD_CARDS_LEAST && i < v->n_cards; i++) {
        const struct fleet_card *card = &v->cards[i];
        if ((card->n_odd == 0 && card->n_lacking == 0) || shown++ >= CARDS_SHOWN)
            continue;
        table_cell(&table, "%s", fleet_card_name(name, sizeof name, card));
        table_cell(&table, "%zu", card->n_odd);
        table_cell(&table, "%zu", card->n_rows);
        table_cell(&table, "%zu", card->n_slower);
        table_cell(&table, "%zu", card->n_faster);
        table_cell(&table, "%zu", card->n_lacking);
        table_cell(&table, "%s",
                   MANY * card->n_odd >= card->n_rows && card->n_odd > 1 ? "in many rows" : "");
    }
    if (shown > 0)
        fputc('\n', out);
    table_print(out, &table, format,
                format == TABLE_MD ? NULL : "Odd cards, and cards that lack rows");
    if (shown > CARDS_SHOWN)
        fprintf(out, "and %zu more\n", shown - CARDS_SHOWN);
}

static void label_cell(struct table *table, const struct fleet_row *row)
{
    const char *text = row->label ? row->label : row->row->id;
    const bool is_long = strlen(text) > LABEL;
    table_cell(table, is_long ? "%.*s..." : "%.*s", is_long ? LABEL - 3 : LABEL, text);
}

static void row_cells(struct table *table, const struct verdict_of_fleet *v,
                      const struct fleet_row *row, size_t i)
{
    const bool is_pair = v->n_cards == 2;
    const double other = is_pair ? row->value[1] : row->median;
    char text[48];

    label_cell(table, row);
    table_cell(table, "%s", unit_format(text, sizeof text, row->value[i], row->row->unit, DIGITS));
    table_cell(table, "%s", unit_format(text, sizeof text, other, row->row->unit, DIGITS));
    table_cell(table, "%+.1f %%", 100 * (row->value[i] / other - 1));
    table_cell(table, "%s", fleet_direction(row, i));
    if (!is_pair)
        table_cell(table, row->sigmas[i] < 1000 ? "%.1f" : "%.0e", row->sigmas[i]);
}

/* The odd rows of one card; of two cards, the rows in which they differ. */
static void put_rows(FILE *out, const struct verdict_of_fleet *v, size_t i, size_t most,
                     enum table_format format)
{
    const bool is_pair = v->n_cards == 2;
    const char *const heads[] = {
        "row", is_pair ? "first" : "card", is_pair ? "second" : "median", "off", "", "sigmas"};
    struct table table = table_new(is_pair ? "lrrrl" : "lrrrlr");
    char name[80], second[80], title[240];
    size_t n = 0;

    for (size_t k = 0; k < table.n_columns; k++)
        table_cell(&table, "%s", heads[k]);
    for (size_t k = 0; k < v->n_rows; k++) {
        const struct fleet_row *row = &v->rows[k];
        if ((is_pair ? row->n_odd > 0 : fleet_is_odd(v, row, i)) && n++ < most)
            row_cells(&table, v, row, i);
    }
    fleet_card_name(name, sizeof name, &v->cards[i]);
    snprintf(title, sizeof title, "%s%s%s%s", name, is_pair ? " and " : "",
             is_pair ? fleet_card_name(second, sizeof second, &v->cards[1]) : "",
             n > most ? ", the farthest rows" : "");
    if (is_pair || format == TABLE_MD)
        fputc('\n', out);
    if (format == TABLE_MD)
        fprintf(out, "%s\n\n", title);
    table_print(out, &table, format, format == TABLE_MD ? NULL : title);
    if (n > most)
        fprintf(out, "and %zu more\n", n - most);
}

static void put_text(FILE *out, const struct verdict_of_fleet *v, const struct fleet *fleet,
                     enum table_format format)
{
    const size_t told = v->n_odd < TOLD_CARDS ? v->n_odd : TOLD_CARDS;
    char text[LINE];

    finding(text, v);
    if (format == TABLE_MD) {
        fprintf(out, "**%s**\n\n", text);
    } else {
        fputs("FLEET  ", out);
        table_wrap(out, text, 7, 7);
        fputc('\n', out);
    }
    put_cards(out, v, format);
    put_threshold(out, v, format);
    put_conditions(out, v, format);
    put_left(out, fleet, v, format);
    put_table_of_cards(out, v, format);
    for (size_t i = 0; i < told; i++)
        put_rows(out, v, i, told > 1 ? TOLD_ROWS / (2 * told) : TOLD_ROWS, format);
    if (v->n_cards == 2 && rows_that_differ(v) > 0)
        put_rows(out, v, 0, TOLD_ROWS, format);
}

bool fleet_print(FILE *out, const char *folder, bool all, const char *glob,
                 enum table_format format, size_t *unreadable, char why[DOCUMENT_WHY])
{
    struct fleet fleet;
    struct verdict_of_fleet v;

    *unreadable = 0;
    if (!fleet_read(&fleet, folder, why))
        return false;
    bool fine = fleet_weigh(&v, &fleet, all, glob, why);
    *unreadable = fleet.n_unreadable;
    if (fine) {
        if (format == TABLE_TSV)
            fleet_print_tsv(out, &v);
        else if (format == TABLE_JSON)
            fine = fleet_print_json(out, &v, &fleet);
        else
            put_text(out, &v, &fleet, format);
        if (!fine)
            snprintf(why, DOCUMENT_WHY, "out of memory");
        fleet_weighed_free(&v);
    }
    fleet_free(&fleet);
    return fine;
}
