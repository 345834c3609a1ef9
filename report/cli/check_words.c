/* Words of a bundle that should not leave the machine, and characters that no text needs.
 *
 * The schema in results/schema/ is the list of what a bundle may say. Text elsewhere is not looked
 * through for what it means: it does not belong there. Text that the schema allows is free in some
 * places (notes, reasons, facts), and may quote a path or a name. */
#include <ctype.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/chart/character.h"
#include "report/cli/check.h"

enum { WHERE = 160, NAME_LEAST = 4 };

/* --- what the schema names -------------------------------------------------------------------- */

struct schema {
    json_t *bundle, *run;
};

/* Follows a $ref: both files keep what they share in the $defs of run.schema.json. */
static const json_t *resolve(const struct schema *schema, const json_t *rule)
{
    for (int depth = 0; depth < 8; depth++) {
        const char *ref = document_get_text(rule, "$ref", NULL);
        const json_t *all = json_object_get(rule, "allOf");
        if (!ref && all)
            ref = document_get_text(json_array_get(all, 0), "$ref", NULL);
        if (!ref)
            break;
        const char *name = strstr(ref, "#/$defs/");
        rule = name ? json_object_get(json_object_get(schema->run, "$defs"),
                                      name + strlen("#/$defs/"))
                    : schema->run;
    }
    return rule;
}

static bool holds_text(const json_t *value)
{
    const json_t *one;
    const char *key;
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, one)
            if (holds_text(one))
                return true;
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, one)
            if (holds_text(one))
                return true;
    }
    return json_is_string(value);
}

/* Writes into `where` the first place with text that the schema does not name; false: there is
 * none. */
static bool unnamed(const struct schema *schema, const json_t *rule, const json_t *value,
                    char where[WHERE])
{
    const size_t used = strlen(where);
    const json_t *one;
    const char *key;
    size_t i;

    rule = resolve(schema, rule);
    const json_t *items = json_object_get(rule, "items"),
                 *open = json_object_get(rule, "additionalProperties");
    if (json_is_array(value) && items) {
        json_array_foreach(value, i, one)
            if (unnamed(schema, items, one, where))
                return true;
    } else if (json_is_object(value) && (open || json_object_get(rule, "properties"))) {
        json_object_foreach((json_t *)value, key, one)
        {
            const json_t *own = json_object_get(json_object_get(rule, "properties"), key);
            snprintf(where + used, WHERE - used, "%s%.60s", used ? "." : "", key);
            if (own || json_is_object(open) ? unnamed(schema, own ? own : open, one, where)
                                            : holds_text(one))
                return true;
            where[used] = '\0';
        }
    } else if (!json_is_string(value) || json_object_get(rule, "type") ||
               json_object_get(rule, "enum") || json_object_get(rule, "const"))
        return !json_is_string(value) && holds_text(value);
    else
        return true;
    return false;
}

/* --- what free text must not say -------------------------------------------------------------- */

struct names {
    char host[HOST_NAME_MAX + 1];
    char user[64];
};

/* Names that are everybody's say nothing of a person. */
static bool is_common(const char *name)
{
    static const char *const common[] = {"root",   "user",      "ubuntu", "debian",
                                         "admin",  "nobody",    "runner", "nvidia",
                                         "docker", "localhost", "test",   "cuda"};
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (!strcmp(name, common[i]))
            return true;
    return strlen(name) < NAME_LEAST;
}

static void own_names(struct names *names)
{
    const struct passwd *self = getpwuid(getuid());

    if (gethostname(names->host, sizeof names->host) != 0)
        names->host[0] = '\0';
    names->host[sizeof names->host - 1] = '\0';
    snprintf(names->user, sizeof names->user, "%s", self ? self->pw_name : "");
    if (is_common(names->host))
        names->host[0] = '\0';
    if (is_common(names->user))
        names->user[0] = '\0';
}

static bool is_word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = length ? strstr(text, word) : NULL; at; at = strstr(at + 1, word))
        if ((at == text || !is_word_part(at[-1])) && !is_word_part(at[length]))
            return true;
    return false;
}

/* May a path begin at this '/'? Not within a word ("bytes/s", "./x") or the address of a page; of
 * several in a row ("file:///x", "//nas/x") what stands before the first of them decides. */
static bool may_begin(const char *text, const char *at)
{
    const char *first = at;

    while (first > text && first[-1] == '/')
        first--;
    const size_t before = (size_t)(first - text);
    const bool is_flag = before >= 2 && first[-2] == '-' && strchr("IL", first[-1]);
    const bool is_page = at == first + 1 && ((before >= 5 && !strncmp(first - 5, "http:", 5)) ||
                                             (before >= 6 && !strncmp(first - 6, "https:", 6)));
    return before == 0 || is_flag ||
           !(is_page || is_word_part(first[-1]) || strchr(".)", first[-1]));
}

/* "/home/ada/x", "~/x", "C:\Users": a place in somebody's tree. Those that are alike on every
 * machine say nothing. */
static bool has_path(const char *text)
{
    static const char *const everywhere[] = {"/dev/", "/proc/", "/sys/", "/usr/lib",
                                             "/usr/local/cuda"};

    if (strstr(text, ":\\") || strstr(text, "~/"))
        return true;
    for (const char *at = strchr(text, '/'); at; at = strchr(at + 1, '/')) {
        bool is_plain = false;
        if (!may_begin(text, at) || !isalnum((unsigned char)at[1]))
            continue;
        for (size_t i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++)
            is_plain = is_plain || !strncmp(at, everywhere[i], strlen(everywhere[i]));
        const char *next = at + 1 + strcspn(at + 1, "/ ,;:'\")");
        if (!is_plain && *next == '/')
            return true;
    }
    return false;
}

/* Eight hex digits, a dash, four, a dash: the begin of a UUID. */
static bool has_uuid(const char *text)
{
    for (; *text; text++) {
        size_t i = 0;
        while (i < 14 &&
               (i == 8 || i == 13 ? text[i] == '-' : isxdigit((unsigned char)text[i]) != 0))
            i++;
        if (i == 14)
            return true;
    }
    return false;
}

static bool has_address(const char *text)
{
    unsigned a, b, c, d;

    for (const char *at = strchr(text, '@'); at; at = strchr(at + 1, '@'))
        if (at > text && is_word_part(at[-1]) && is_word_part(at[1]))
            return true;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            continue;
        if (sscanf(text, "%3u.%3u.%3u.%3u", &a, &b, &c, &d) == 4 && a < 256 && b < 256 && c < 256 &&
            d < 256)
            return true;
        text += strspn(text, "0123456789.") - 1;
    }
    return false;
}

static const char *personal(const char *text, const struct names *names, bool is_free)
{
    if (has_path(text))
        return "a path";
    if (has_uuid(text))
        return "a UUID";
    if (is_free && has_address(text))
        return "an address";
    if (is_free && has_word(text, names->host))
        return "this machine's name";
    return is_free && has_word(text, names->user) ? "this user's name" : NULL;
}

/* Fixed words of the programs, and numbers of versions: neither names a person. */
static bool is_free_text(const char *key)
{
    static const char *const fixed[] = {"case", "name", "unit",  "better", "board", "version",
                                        "cuda", "nvcc", "build", "kernel", "cc",    "programs"};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (!strcmp(key, fixed[i]))
            return false;
    return true;
}

/* Calls `look` for each text and each key of a document until it returns true. */
typedef bool text_looker(const char *key, const char *text, size_t length, void *context);
static bool each_text(const json_t *value, const char *key, text_looker *look, void *context)
{
    const json_t *one;
    const char *name;
    size_t i;

    if (json_is_string(value))
        return look(key, json_string_value(value), json_string_length(value), context);
    if (json_is_array(value)) {
        json_array_foreach(value, i, one)
            if (each_text(one, key, look, context))
                return true;
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)value, name, one)
            if (look("case", name, strlen(name), context) || each_text(one, name, look, context))
                return true;
    }
    return false;
}

struct finding {
    struct names names;
    char *why;
};

static bool look_personal(const char *key, const char *text, size_t length, void *context)
{
    const struct finding *finding = context;
    const char *what = personal(text, &finding->names, is_free_text(key));

    (void)length;
    if (what)
        snprintf(finding->why, ANSWER_WHY, "%s in \"%.40s\": %.120s", what, key, text);
    return what != NULL;
}

/* By the schema alone. */
static enum answer ask_schema(const struct checked *checked, char why[ANSWER_WHY])
{
    char path[PATH_MAX], where[WHERE] = "";
    struct schema schema;
    json_error_t error;
    enum answer answer = ANSWER_OK;

    snprintf(path, sizeof path, "%.4000s/schema/bundle.schema.json", checked->results);
    schema.bundle = json_load_file(path, 0, &error);
    snprintf(path, sizeof path, "%.4000s/schema/run.schema.json", checked->results);
    schema.run = json_load_file(path, 0, &error);
    if (!schema.bundle || !schema.run) {
        answer = ANSWER_NOTE;
        snprintf(why, ANSWER_WHY,
                 "no path, address or name; no schema in %.200s/schema to tell what else "
                 "there is",
                 checked->results);
    } else if (unnamed(&schema, schema.bundle, checked->document, where)) {
        answer = ANSWER_NO;
        snprintf(why, ANSWER_WHY, "text that the schema does not name: %s", where);
    } else
        snprintf(why, ANSWER_WHY, "no path, address or name; all text is of the schema");
    json_decref(schema.bundle);
    json_decref(schema.run);
    return answer;
}

enum answer ask_personal(const struct checked *checked, char why[ANSWER_WHY])
{
    struct finding finding = {.why = why};

    own_names(&finding.names);
    if (each_text(checked->document, "", look_personal, &finding))
        return ANSWER_NO;
    return ask_schema(checked, why);
}

/* --- characters ------------------------------------------------------------------------------- */

static bool look_unclean(const char *key, const char *text, size_t length, void *context)
{
    const struct finding *finding = context;
    char shown[CHARACTER_SHOWN] = "";

    for (size_t i = 0; i < length && !*shown;)
        i += character_take(text + i, length - i, shown);
    if (*shown)
        snprintf(finding->why, ANSWER_WHY, "the character %s in a text of \"%.40s\"", shown, key);
    return *shown != '\0';
}

enum answer ask_text(const struct checked *checked, char why[ANSWER_WHY])
{
    struct finding finding = {.why = why};
    if (each_text(checked->document, "", look_unclean, &finding))
        return ANSWER_NO;
    snprintf(why, ANSWER_WHY, "no character that is not seen");
    return ANSWER_OK;
}
