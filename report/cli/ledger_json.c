/* gpufloor claims --format=json: the ledger as data, see results/schema/claims.schema.json. */
#include <jansson.h>
#include <math.h>

#include "report/cli/ledger.h"
#include "report/page/out.h"

enum { SCHEMA_VERSION = 1 };

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
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

    set(of, "board", out_json(bundle->board));
    set(of, "commit", out_json(commit));
    set(of, "started", out_json(document_get_text(bundle->head, "started", NULL)));
    set(of, "card", out_json(card));
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
    set(why, "class", out_json(telling_class(f->why)));
    set(why, "what", out_json(f->lacks));
    set(why, "decides", out_json(f->decides[0] ? f->decides : NULL));
    return why;
}

static json_t *json_of_figures(const struct finding *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->n_figures; i++) {
        const struct figure *figure = &f->figures[i];
        json_t *one = json_object();
        set(one, "name", out_json(figure->name));
        set(one, "id", out_json(figure->id));
        set(one, "value", number(figure->value));
        set(one, "low", number(figure->low));
        set(one, "high", number(figure->high));
        set(one, "unit", out_json(figure->unit));
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
        set(one, "part", out_json(part->what));
        set(one, "verdict", out_json(claim_verdict_name(part->verdict)));
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
        set(one, "kind", out_json(control->positive ? "positive" : "negative"));
        set(one, "what", out_json(control->what));
        set(one, "value", number(control->value));
        set(one, "unit", out_json(control->unit));
        set(one, "as_it_must", json_boolean(control->as_it_must));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *json_of_elsewhere(const struct claim *claim, const struct elsewhere *e)
{
    json_t *of = json_object();
    for (size_t i = 0; e && i < e->n; i++)
        set(of, e->of[i].board, out_json(claim_verdict_name(e->of[i].verdict[claim_place(claim)])));
    return of;
}

static json_t *json_of_claim(const struct bundle *bundle, const struct telling *t,
                             const struct elsewhere *elsewhere)
{
    const struct claim *claim = t->claim;
    char dates[CLAIM_DATES];
    json_t *one = json_object();

    set(one, "id", out_json(claim->id));
    set(one, "article", out_json(claim->article));
    set(one, "quote", out_json(claim->quote));
    set(one, "clause", out_json(claim->clause));
    set(one, "statement", out_json(claim->statement));
    set(one, "rule", out_json(claim->rule));
    set(one, "dates", out_json(claim_dates(claim, bundle, dates)));
    set(one, "plain", out_json(t->sentence));
    set(one, "surprise", json_integer(claim->surprise));
    set(one, "verdict", out_json(claim_verdict_name(t->finding.verdict)));
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
    set(document, "schema", out_json("claims"));
    set(document, "schema_version", json_integer(SCHEMA_VERSION));
    set(document, "bundle", json_of_bundle(bundle));
    set(document, "totals", json_of_totals(t, NULL));
    set(document, "own", json_of_totals(t, claim_own));
    set(document, "claims", claims);
    document_print(out, document, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(document);
}
