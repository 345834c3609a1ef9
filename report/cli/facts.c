/* A fact stands in a bundle once: in the first run that has it, and again in one where it changed.
 * The seven runs of a case have the same kernel, grid and sizes, as a rule. */
#include "report/cli/session.h"

/* What was last said of a case, by the id of its first metric: some keys belong to two cases. NULL:
 * it has no facts. */
static json_t *said_of(json_t *said, const json_t *run, const json_t *one)
{
    char id[DOCUMENT_ID];
    const char *probe = document_get_text(json_object_get(run, "probe"), "name", "");

    if (json_object_size(json_object_get(one, "facts")) == 0)
        return NULL;
    document_metric_id(id, probe, one, json_array_get(json_object_get(one, "metrics"), 0));
    if (!json_object_get(said, id))
        json_object_set_new(said, id, json_object());
    return json_object_get(said, id);
}

/* Leaves the facts of a case that are new. */
static void keep_new(json_t *of, json_t *one)
{
    json_t *facts = json_object_get(one, "facts"), *value;
    const char *key;
    void *next;

    json_object_foreach_safe(facts, next, key, value)
    {
        if (json_equal(value, json_object_get(of, key)))
            json_object_del(facts, key);
        else
            json_object_set(of, key, value);
    }
    if (json_object_size(facts) == 0)
        json_object_del(one, "facts");
}

/* A bundle that is continued has said something before. */
static json_t *said_before(const json_t *runs)
{
    json_t *said = json_object(), *run, *one;
    size_t i, k;

    json_array_foreach(runs, i, run)
        json_array_foreach(json_object_get(run, "cases"), k, one)
            json_object_update(said_of(said, run, one), json_object_get(one, "facts"));
    return said;
}

void session_keep_new_facts(struct session *s, json_t *run)
{
    json_t *one, *of;
    size_t i;

    if (!s->said)
        s->said = said_before(s->runs);
    json_array_foreach(json_object_get(run, "cases"), i, one)
        if ((of = said_of(s->said, run, one)))
            keep_new(of, one);
}
