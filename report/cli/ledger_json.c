/* gpufloor claims --format=json: the ledger as data, see results/schema/claims.schema.json. */
#include <jansson.h>
#include <math.h>

#include "report/cli/ledger.h"

enum { SCHEMA_VERSION = 1 };

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text(const char *value)
{
    return value ? json_string(value) : json_null();
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static const char *short_name(enum claim_verdict verdict)
{
    static const char *const names[] = {"reproduced", "refuted", "mixed", "not_testable", "open"};
    return names[verdict];
}

static json_t *json_of_bundle(const struct bundle *bundle)
{
    json_t *of = json_object();
    const json_t *environment = json_object_get(bundle->head, "environment");
    const char *commit = document_get_text(json_object_get(bundle->head, "suite"), "commit", NULL);
    const char *card = document_get_text(json_object_get(environment, "gpu"), "id_hash", NULL);

    set(of, "board", text(bundle->board));
    set(of, "commit", text(commit));
    set(of, "started", text(document_get_text(bundle->head, "started", NULL)));
    set(of, "card", text(card));
    return of;
}

static json_t *json_of_totals(const struct tellings *t, const char *source)
{
    json_t *totals = json_object();
    size_t count[TELLING_VERDICTS];

    tellings_count(t, source, count);
    for (int v = 0; v < TELLING_VERDICTS; v++)
        set(totals, short_name((enum claim_verdict)v), json_integer((json_int_t)count[v]));
    return totals;
}

static json_t *json_of_why(const struct finding *f)
{
    json_t *why = json_object();
    if (f->why == WHY_NONE) {
        json_decref(why);
        return json_null();
    }
    set(why, "class", text(telling_class(f->why)));
    set(why, "what", text(f->lacks));
    set(why, "decides", text(f->decides[0] ? f->decides : NULL));
    return why;
}

static json_t *json_of_figures(const struct finding *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->n_figures; i++) {
        const struct figure *figure = &f->figures[i];
        json_t *one = json_object();
        set(one, "name", text(figure->name));
        set(one, "id", text(figure->id));
        set(one, "value", number(figure->value));
        set(one, "low", number(figure->low));
        set(one, "high", number(figure->high));
        set(one, "unit", text(figure->unit));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *json_of_parts(const struct finding *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->n_parts; i++) {
        const struct part_of_verdict *part = &f->parts[i];
        json_t *one = json_object();
        set(one, "part", text(part->what));
        set(one, "verdict", text(claim_verdict_name(part->verdict)));
        set(one, "value", number(part->value));
        set(one, "limit", number(part->limit));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *json_of_controls(const struct finding *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->n_controlled; i++) {
        const struct control *control = &f->controlled[i];
        json_t *one = json_object();
        set(one, "kind", text(control->positive ? "positive" : "negative"));
        set(one, "what", text(control->what));
        set(one, "value", number(control->value));
        set(one, "unit", text(control->unit));
        set(one, "as_it_must", json_boolean(control->as_it_must));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *json_of_elsewhere(const struct claim *claim, const struct elsewhere *e)
{
    json_t *of = json_object();
    for (size_t i = 0; e && i < e->n; i++)
        set(of, e->of[i].board, text(claim_verdict_name(e->of[i].verdict[claim_place(claim)])));
    return of;
}

static json_t *json_of_claim(const struct bundle *bundle, const struct telling *t,
                             const struct elsewhere *elsewhere)
{
    const struct claim *claim = t->claim;
    char dates[CLAIM_DATES];
    json_t *one = json_object();

    set(one, "id", text(claim->id));
    set(one, "article", text(claim->article));
    set(one, "quote", text(claim->quote));
    set(one, "clause", text(claim->clause));
    set(one, "statement", text(claim->statement));
    set(one, "rule", text(claim->rule));
    set(one, "dates", text(claim_dates(claim, bundle, dates)));
    set(one, "plain", text(t->sentence));
    set(one, "surprise", json_integer(claim->surprise));
    set(one, "verdict", text(claim_verdict_name(t->finding.verdict)));
    set(one, "why", json_of_why(&t->finding));
    set(one, "parts", json_of_parts(&t->finding));
    set(one, "elsewhere", json_of_elsewhere(claim, elsewhere));
    set(one, "figures", json_of_figures(&t->finding));
    set(one, "controls", json_of_controls(&t->finding));
    return one;
}

void ledger_json(FILE *out, const struct bundle *bundle, const struct tellings *t,
                 const struct elsewhere *elsewhere)
{
    json_t *document = json_object(), *claims = json_array();

    for (size_t i = 0; i < t->n; i++)
        json_array_append_new(claims, json_of_claim(bundle, &t->telling[i], elsewhere));
    set(document, "schema", text("claims"));
    set(document, "schema_version", json_integer(SCHEMA_VERSION));
    set(document, "bundle", json_of_bundle(bundle));
    set(document, "totals", json_of_totals(t, NULL));
    set(document, "own", json_of_totals(t, claim_own));
    set(document, "claims", claims);
    document_print(out, document, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(document);
}
