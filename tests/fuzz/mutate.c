/* Mutants. Of bytes: what the parser must withstand. Of a parsed document: what everything behind
 * the parser must withstand. */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw.h"

enum { NESTING_MAX = 14, COPIES_MAX = 45, TOO_DEEP = 3000 };

static size_t below(uint64_t *state, size_t n)
{
    return n ? (size_t)draw_below(state, n) : 0;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static const char *const pieces[] = {
    "null",  "1e308",  "-1",     "\"\"", "{",    "}",       "[",  "]",     ",",        ":",
    "1e999", "NaN",    "\\u0000", "\xff", "\t",   "\n",      "\\", "\\ud800", "-0",    "true",
    "\"a\":1,\"a\":1", "9223372036854775807", "[[[[[[[[[[[[", "\xef\xbb\xbf", "/* */",
};

/* Puts a piece in at a place; what does not fit is cut. */
static size_t insert(char *bytes, size_t size, size_t room, size_t at, const char *piece)
{
    size_t length = strlen(piece);
    if (size + length > room)
        return size;
    memmove(bytes + at + length, bytes + at, size - at);
    memcpy(bytes + at, piece, length);
    return size + length;
}

size_t mutate_bytes(char *into, size_t room, const struct bytes *from, uint64_t *state)
{
    size_t size = from->size < room ? from->size : room;

    memcpy(into, from->at, size);
    for (size_t n = 1 + below(state, 4); n > 0; n--) {
        const size_t at = below(state, size), length = below(state, size - at);
        const char *piece = pieces[below(state, sizeof pieces / sizeof pieces[0])];
        switch (below(state, 6)) {
        case 0: size = at; break;
        case 1:
            if (size)
                into[at] = (char)draw(state);
            break;
        case 2:
            memmove(into + at, into + at + length, size - at - length);
            size -= length;
            break;
        case 3:
            for (size_t i = 0; piece[i] && at + i < size; i++)
                into[at + i] = piece[i];
            break;
        default: size = insert(into, size, room, at, piece);
        }
    }
    return size;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Words that some part of the program looks for. */
static const char *const known[] = {
    "ns", "cycles", "bytes", "bytes/s", "bytes/cycle", "flop/s", "ops/s", "ops/cycle", "hertz",
    "count", "ratio", "ulps", "watts", "joules", "celsius", "furlongs", "lower", "higher", "exact",
    "ok", "failed", "skipped", "bundle", "run", "counters", "host", "gpu", "9.0", "", "derived",
    "2026-11-22T08:12:03Z", "0000-00-00", "device", "event", "wall", "NVIDIA H200", "nvidia-h200",
    "bytes=0,bytes=99999999999999999999,level=*,{}[]", "%s%n%d", "<b>&amp;\"'", "|`_*[x](y)",
    "../../x", "a=1,b=2,a=1", "=,=,=", "\\begin{x}", "#", "unknown",
};

/* Keys that a document may hold, also those of a newer one. */
static const char *const keys[] = {
    "schema", "schema_version", "median", "best", "n", "mad", "q1", "unit", "case", "metrics",
    "why", "discarded", "repeat", "round", "grid", "axes", "values", "facts", "once", "deep",
    "shared", "note", "notes", "figures", "counters", "launches", "gpu", "host", "cubins", "timer",
    "newer_field", "resolution", "power_bound", "raw", "complete", "rounds", "seed", "continued",
    "status",
};

#define ONE_OF(list, state) list[below(state, sizeof list / sizeof list[0])]

static json_t *strange_text(uint64_t *state)
{
    static const size_t lengths[] = {1, 2, 79, 80, 255, 256, 511, 512, 513, 4095, 4096, 70000};
    const size_t length = ONE_OF(lengths, state);
    const size_t letters = below(state, 2) ? 1 : 126;
    char *text = malloc(length + 1);

    if (!text)
        return NULL;
    for (size_t i = 0; i < length; i++)
        text[i] = (char)(letters == 1 ? 'a' : 1 + below(state, letters));
    text[length] = '\0';
    json_t *value = json_string(text);
    free(text);
    return value;
}

static json_t *strange_value(uint64_t *state)
{
    static const double reals[] = {1e308, -1e308, 5e-324, -0.0,  0.5,  1e-9, 1e15,
                                   1e19,  2.5e9,  1e3,    -5.0,  1e100, 100};
    static const json_int_t wholes[] = {INT64_MAX, INT64_MIN, -1, 0, 1, 2, 7, 8, 32, 33, 64,
                                        INT32_MAX, INT32_MIN, 4294967296, 1000000, 10, 132};
    switch (below(state, 10)) {
    case 0: return json_null();
    case 1: return json_array();
    case 2: return json_object();
    case 3: return json_boolean(below(state, 2));
    case 4: return strange_text(state);
    case 5: case 6: return json_string(ONE_OF(known, state));
    case 7: return json_real(ONE_OF(reals, state));
    default: return json_integer(ONE_OF(wholes, state));
    }
}

/* A number that is near, or far; a verdict may change by it. */
static json_t *other_number(const json_t *value, uint64_t *state)
{
    static const double factors[] = {0.5, 0.9, 0.99, 0.999, 1.001, 1.01, 1.1, 2, 10, -1, 1e-6, 1e6};
    const double factor = ONE_OF(factors, state);
    const double number = json_number_value(value) * factor;
    if (json_is_integer(value) && number > -9e18 && number < 9e18)
        return json_integer((json_int_t)number);
    json_t *made = json_real(number);
    return made ? made : json_null();
}

/* Brackets around a value: few, or more than the parser takes. */
static json_t *nest(json_t *value, uint64_t *state)
{
    for (size_t n = below(state, 16) ? 1 + below(state, 40) : TOO_DEEP; n > 0; n--)
        value = json_pack("[o]", value);
    return value;
}

/* Any part of another document. */
static json_t *piece_of(json_t *value, uint64_t *state)
{
    for (int depth = 0; depth < NESTING_MAX && below(state, 5); depth++) {
        size_t at = below(state, json_is_array(value) ? json_array_size(value)
                                                      : json_object_size(value));
        json_t *inner = json_array_get(value, at);
        void *place = json_object_iter(value);
        while (place && at-- > 0)
            place = json_object_iter_next(value, place);
        inner = place ? json_object_iter_value(place) : inner;
        if (!inner)
            break;
        value = inner;
    }
    return json_deep_copy(value);
}

static json_t *changed(json_t *value, json_t *other, uint64_t *state)
{
    switch (below(state, 8)) {
    case 0: return nest(json_incref(value), state);
    case 1: case 2: return other ? piece_of(other, state) : strange_value(state);
    case 3: case 4: case 5:
        if (json_is_number(value))
            return other_number(value, state);
        return strange_value(state);
    default: return strange_value(state);
    }
}

/* --- places ----------------------------------------------------------------------------------- */

static bool holds_more(const json_t *value)
{
    return json_is_array(value) || json_is_object(value);
}

/* Returns the value to go on with, deeper in; NULL if the array itself was changed. */
static json_t *change_array(json_t *array, json_t *other, bool deeper, uint64_t *state)
{
    const size_t n = json_array_size(array), at = below(state, n), to = below(state, n);
    json_t *item = json_array_get(array, at), *there = json_array_get(array, to);

    if (deeper && holds_more(item))
        return item;
    switch (below(state, 6)) {
    case 0: json_array_remove(array, at); break;
    case 1: json_array_append_new(array, json_deep_copy(item)); break;
    case 2: /* the two change places */
        json_incref(item);
        json_array_set(array, at, there);
        json_array_set_new(array, to, item);
        break;
    case 3: /* more than there is room for, somewhere */
        for (size_t k = below(state, COPIES_MAX); n < 200 && k > 0; k--)
            json_array_append_new(array, json_deep_copy(item));
        break;
    default: json_array_set_new(array, at, changed(item, other, state));
    }
    return NULL;
}

static json_t *change_object(json_t *object, json_t *other, bool deeper, uint64_t *state)
{
    void *place = NULL;
    json_t *item = NULL;

    for (int tries = deeper ? 4 : 1; tries > 0 && !holds_more(item); tries--) {
        place = json_object_iter(object);
        for (size_t at = below(state, json_object_size(object)); at > 0; at--)
            place = json_object_iter_next(object, place);
        item = json_object_iter_value(place);
    }
    if (deeper && holds_more(item))
        return item;
    const char *key = json_object_iter_key(place);
    switch (below(state, 6)) {
    case 0: json_object_del(object, key); break;
    case 1: json_object_set_new(object, ONE_OF(keys, state), strange_value(state)); break;
    case 2: json_object_set(object, ONE_OF(keys, state), item); break;
    default: json_object_iter_set_new(object, place, changed(item, other, state));
    }
    return NULL;
}

/* Walks to a place chosen at random and changes what is there. */
static void change(json_t *value, json_t *other, uint64_t *state)
{
    for (int depth = 0; value; depth++) {
        const bool deeper = depth < NESTING_MAX && (depth < 2 || below(state, 6) != 0) &&
                            (depth > 0 || below(state, 20) != 0);
        if (json_array_size(value) + json_object_size(value) == 0)
            return;
        value = json_is_array(value) ? change_array(value, other, deeper, state)
                                     : change_object(value, other, deeper, state);
    }
}

/* --- a metric in every round ------------------------------------------------------------------ */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static json_t *one_of(const json_t *array, uint64_t *state)
{
    return json_array_get(array, below(state, json_array_size(array)));
}

/* What is done to each metric that is meant. */
struct everywhere {
    const char *probe, *keys, *name; /* keys "": in every case */
    double factor;                   /* of its figures; 0: something else is done */
    const char *field;               /* of the case, or of the metric */
    json_t *value;
};

static void change_figures(json_t *metric, double factor)
{
    static const char *const figures[] = {"median", "best", "min", "max", "q1", "q3", "mad"};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        json_t *value = json_object_get(metric, figures[i]);
        json_t *made = json_is_number(value) ? json_real(json_number_value(value) * factor) : NULL;
        if (made)
            json_object_set_new(metric, figures[i], made);
    }
}

static void change_metrics(json_t *run, const struct everywhere *e)
{
    json_t *one, *metric;
    size_t i, k;
    json_array_foreach(json_object_get(run, "cases"), i, one)
        json_array_foreach(json_object_get(one, "metrics"), k, metric) {
            if ((*e->keys && strcmp(e->keys, text_of(one, "case"))) ||
                strcmp(e->name, text_of(metric, "name")))
                continue;
            if (e->factor != 0)
                change_figures(metric, e->factor);
            else if (json_is_true(e->value))
                json_object_set(one, e->field, e->value);
            else
                json_object_set(metric, e->field, e->value);
        }
}

/* One round of seven decides nothing: verdicts follow from what all of them say. */
static void change_everywhere(json_t *document, uint64_t *state)
{
    static const double factors[] = {0.5, 0.8, 0.9, 0.98, 1.02, 1.1, 1.3,
                                     2,   10,  100, 0.01, -1,   1e12};
    static const char *const flags[] = {"once", "thrice", "power_bound"};
    static const char *const units[] = {"ns", "cycles", "bytes/s", "count", "ratio", "flop/s"};
    json_t *runs = json_object_get(document, "runs"), *chosen = one_of(runs, state), *run;
    const json_t *one = one_of(json_object_get(chosen, "cases"), state);
    const json_t *metric = one_of(json_object_get(one, "metrics"), state);
    char probe[80], one_case[200], name[80];
    struct everywhere e = {.probe = probe, .keys = one_case, .name = name};
    const size_t what = below(state, 8);
    size_t i;

    snprintf(probe, sizeof probe, "%s", text_of(json_object_get(chosen, "probe"), "name"));
    snprintf(one_case, sizeof one_case, "%s", below(state, 4) ? text_of(one, "case") : "");
    snprintf(name, sizeof name, "%s", text_of(metric, "name"));
    e.factor = what < 5 ? ONE_OF(factors, state) : 0;
    e.field = what == 5 ? ONE_OF(flags, state) : what == 6 ? "unit" : "median";
    e.value = what == 5 ? json_true() : what == 6 ? json_string(ONE_OF(units, state)) : json_null();
    json_array_foreach(runs, i, run)
        if (!strcmp(probe, text_of(json_object_get(run, "probe"), "name")))
            change_metrics(run, &e);
    json_decref(e.value);
}

/* --- a document ------------------------------------------------------------------------------- */

static size_t changed_document(char *into, size_t room, const struct bytes *from,
                               const struct bytes *other, uint64_t *state)
{
    json_t *document = json_loadb(from->at, from->size, 0, NULL);
    json_t *pieces_from = below(state, 3) ? NULL : json_loadb(other->at, other->size, 0, NULL);

    if (!document)
        return 0;
    for (size_t n = below(state, 4); n > 0; n--)
        change_everywhere(document, state);
    for (size_t n = below(state, 5); n > 0; n--)
        change(document, pieces_from, state);
    return json_dumpb(document, into, room, JSON_COMPACT | JSON_ENCODE_ANY);
}

size_t mutate_document(char *into, size_t room, const struct bytes *from,
                       const struct bytes *other, uint64_t *state)
{
    scratch_begin();
    const size_t size = changed_document(into, room, from, other, state);
    scratch_end();
    return size == 0 || size > room ? mutate_bytes(into, room, from, state) : size;
}
