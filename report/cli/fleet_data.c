/* The fleet for programs: every row and card. */
#include "report/cli/fleet.h"

#include <stdio.h>
#include <string.h>

#include "core/document.h"

void fleet_print_tsv(FILE *out, const struct verdict_of_fleet *v)
{
    static const char *const heads[] = {"row",    "unit", "median", "card",      "file", "value",
                                        "ratio", "sigmas", "threshold", "odd"};
    struct table table = table_new("llrllrrrrl");

    for (size_t i = 0; i < table.n_columns; i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t k = 0; k < v->n_rows; k++)
        for (size_t i = 0; i < v->n_cards; i++) {
            const struct fleet_row *row = &v->rows[k];
            table_cell(&table, "%s", row->row->id);
            table_cell(&table, "%s", row->row->unit);
            table_number(&table, row->median);
            table_cell(&table, "%s", v->cards[i].file->card);
            table_cell(&table, "%s", v->cards[i].file->name);
            table_number(&table, row->value[i]);
            table_number(&table, row->value[i] / row->median);
            table_number(&table, row->sigmas[i]);
            table_number(&table, v->threshold);
            table_cell(&table, "%s", fleet_is_odd(v, row, i) ? fleet_direction(row, i) : "");
        }
    table_print(out, &table, TABLE_TSV, NULL);
}

static json_t *card_json(const struct fleet_card *card)
{
    return json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "card",
                     out_json(card->file->card), "file", out_json(card->file->name), "files",
                     (json_int_t)card->n_files, "rows", (json_int_t)card->n_rows, "odd",
                     (json_int_t)card->n_odd, "slower", (json_int_t)card->n_slower, "faster",
                     (json_int_t)card->n_faster, "lacks", (json_int_t)card->n_lacking);
}

static json_t *row_json(const struct verdict_of_fleet *v, const struct fleet_row *row)
{
    json_t *values = json_array(), *sigmas = json_array(), *odd = json_array();

    for (size_t i = 0; i < v->n_cards; i++) {
        json_array_append_new(values, document_number(row->value[i]));
        json_array_append_new(sigmas, document_number(row->sigmas[i]));
        if (fleet_is_odd(v, row, i))
            json_array_append_new(odd, json_pack("[I, s]", (json_int_t)i, fleet_direction(row, i)));
    }
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "row", out_json(row->row->id),
                     "label", out_json(row->label), "unit", row->row->unit, "median",
                     document_number(row->median), "scale", document_number(row->scale), "values",
                     values, "sigmas", sigmas, "odd", odd);
}

static json_t *left_out_json(const char *file, const char *why)
{
    return json_pack("{s:o, s:o}", "file", out_json(file), "why", out_json(why));
}

static json_t *left_json(const struct fleet *fleet, const char *group)
{
    json_t *left = json_array();

    for (size_t i = 0; i < fleet->n_files; i++)
        if (strcmp(fleet->files[i].group, group))
            json_array_append_new(left,
                                  left_out_json(fleet->files[i].name, fleet->files[i].group));
    for (size_t i = 0; i < fleet->n_left; i++)
        json_array_append_new(left, left_out_json(fleet->left[i].name, fleet->left[i].why));
    return left;
}

bool fleet_print_json(FILE *out, const struct verdict_of_fleet *v, const struct fleet *fleet)
{
    json_t *cards = json_array(), *rows = json_array();

    for (size_t i = 0; i < v->n_cards; i++)
        json_array_append_new(cards, card_json(&v->cards[i]));
    for (size_t k = 0; k < v->n_rows; k++)
        json_array_append_new(rows, row_json(v, &v->rows[k]));
    json_t *document = json_pack(
        "{s:s, s:i, s:o, s:f, s:f, s:o, s:I, s:o, s:o, s:o}", "schema", "fleet", "schema_version",
        DOCUMENT_SCHEMA_VERSION, "group", out_json(v->group), "threshold", v->threshold,
        "expected_by_chance", v->expected, "agree_within", document_number(v->agree), "other_code",
        (json_int_t)v->n_other, "left_out", left_json(fleet, v->group), "cards", cards, "rows",
        rows);
    return out_document(out, document, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
}
