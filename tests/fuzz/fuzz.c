/* Fuzzes everything that reads a bundle: parser, aggregation, derived figures, every table,
 * compare, claims. Any byte string must get a clear error, never a crash.
 *
 *     fuzz SECONDS SEED FILE...
 *
 * Built with AddressSanitizer and UndefinedBehaviorSanitizer. Half of the mutants are bytes of a
 * file changed at random, which tests the parser; the others are valid JSON whose values, keys and
 * lengths are changed, which gets past it. The seed makes a run repeatable: a crash prints it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/document.h"
#include "core/draw.h"
#include "report/bundle/bundle.h"
#include "report/bundle/counted.h"
#include "report/claims/claims.h"
#include "report/cli/compare.h"
#include "report/cli/report.h"

enum { FILES_MAX = 64, NESTING_MAX = 12 };

struct file {
    char *bytes;
    size_t size;
};

static uint64_t state;

static uint64_t random64(void)
{
    return draw(&state);
}

static size_t below(size_t n)
{
    return n ? (size_t)(random64() % n) : 0;
}

static struct file read_file(const char *path)
{
    struct file file = {0};
    FILE *in = fopen(path, "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0) {
        fprintf(stderr, "fuzz: %s cannot be read\n", path);
        exit(2);
    }
    file.size = (size_t)ftell(in);
    file.bytes = malloc(file.size + 1);
    rewind(in);
    if (!file.bytes || fread(file.bytes, 1, file.size, in) != file.size)
        exit(2);
    fclose(in);
    return file;
}

/* --- mutants ---------------------------------------------------------------------------------- */

static struct file mutate_bytes(const struct file *file)
{
    struct file mutant = {.bytes = malloc(file->size + 64), .size = file->size};
    static const char *const pieces[] = {"null", "1e308", "-1", "\"\"", "{", "}", "[", "]", ",",
                                         "\\u0000", "\xff", "9223372036854775807"};
    memcpy(mutant.bytes, file->bytes, file->size);
    for (size_t n = 1 + below(4); n > 0; n--) {
        size_t at = below(mutant.size);
        const char *piece = pieces[below(sizeof pieces / sizeof pieces[0])];
        switch (below(4)) {
        case 0: mutant.size = at; break;
        case 1:
            if (mutant.size)
                mutant.bytes[at] = (char)random64();
            break;
        case 2: memmove(mutant.bytes + at, mutant.bytes + at + (mutant.size > at),
                        mutant.size - at - (mutant.size > at));
                mutant.size -= mutant.size > 0;
                break;
        default:
            for (size_t i = 0; piece[i] && at + i < mutant.size; i++)
                mutant.bytes[at + i] = piece[i];
        }
    }
    return mutant;
}

static json_t *strange_value(void)
{
    char text[600];
    size_t length = below(sizeof text - 1);
    switch (below(12)) {
    case 0: return json_null();
    case 1: return json_integer(INT64_MAX);
    case 2: return json_integer(-1);
    case 3: return json_integer(0);
    case 4: return json_real(1e308);
    case 5: return json_real(5e-324);
    case 6: return json_real(-0.0);
    case 7: return json_array();
    case 8: return json_object();
    case 9: return json_boolean(below(2));
    case 10: return json_string("bytes=0,bytes=99999999999999999999,level=*,{}[]");
    default:
        for (size_t i = 0; i < length; i++)
            text[i] = (char)(1 + below(126));
        text[length] = '\0';
        return json_stringn(text, length);
    }
}

/* Walks to a place chosen at random and changes what is there. */
static void mutate_value(json_t *value, int depth)
{
    size_t n = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    size_t at = below(n);
    bool deeper = depth < NESTING_MAX && below(5) != 0;

    if (n == 0)
        return;
    if (json_is_array(value)) {
        json_t *item = json_array_get(value, at);
        if (deeper && (json_is_array(item) || json_is_object(item)))
            mutate_value(item, depth + 1);
        else if (below(3) == 0)
            json_array_remove(value, at);
        else if (below(2) == 0)
            json_array_append_new(value, json_deep_copy(item));
        else
            json_array_set_new(value, at, strange_value());
        return;
    }
    void *place = json_object_iter(value);
    while (at-- > 0)
        place = json_object_iter_next(value, place);
    json_t *item = json_object_iter_value(place);
    const char *key = json_object_iter_key(place);
    if (deeper && (json_is_array(item) || json_is_object(item)))
        mutate_value(item, depth + 1);
    else if (below(4) == 0)
        json_object_del(value, key);
    else
        json_object_iter_set_new(value, place, strange_value());
}

static struct file mutate_json(const struct file *file)
{
    struct file mutant = {0};
    json_t *document = json_loadb(file->bytes, file->size, 0, NULL);
    for (size_t n = 1 + below(6); document && n > 0; n--)
        mutate_value(document, 0);
    mutant.bytes = document ? json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (!mutant.bytes)
        mutant.bytes = strdup("");
    mutant.size = strlen(mutant.bytes);
    json_decref(document);
    return mutant;
}

/* --- everything that reads a bundle ----------------------------------------------------------- */

static void use(FILE *sink, const struct bundle *bundle, const struct bundle *other)
{
    static const enum table_format formats[] = {TABLE_TEXT, TABLE_MD, TABLE_TSV};
    const struct bundle *const both[] = {bundle, other};
    struct finding finding;

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        report_whole(sink, both, 1 + below(2), formats[i], NULL);
    compare_normal(sink, other, bundle, "/nonexistent");
    compare_normal(sink, bundle, other, "/nonexistent");
    for (size_t i = 0; claim_at(i); i++)
        claim_judge(claim_at(i), bundle, &finding);
}

static bool try_one(FILE *sink, const struct file *mutant, const struct bundle *other)
{
    char why[DOCUMENT_WHY] = "";
    struct bundle bundle;
    json_t *document = document_parse(mutant->bytes, mutant->size, "mutant", "bundle", why);

    if (!document) {
        if (strncmp(why, "mutant: ", 8) || strchr(why, '\n')) {
            fprintf(stderr, "fuzz: an error is not one line that names the file: %s\n", why);
            abort();
        }
        return false;
    }
    if (bundle_take(&bundle, document, "mutant")) {
        use(sink, &bundle, other);
        bundle_free(&bundle);
    }
    json_decref(document);
    return true;
}

/* A document of counters, as evidence beside a bundle's rows. */
static bool try_counted(const struct file *mutant, const struct bundle *other)
{
    char why[DOCUMENT_WHY] = "", dates[CLAIM_DATES];
    json_t *document = document_parse(mutant->bytes, mutant->size, "mutant", "counters", why);
    struct bundle bundle = {.head = other->head, .parts = other->parts, .n_parts = other->n_parts};

    if (!document)
        return false;
    counted_take(&bundle, &document, 1, why);
    for (size_t i = 0; claim_at(i); i++)
        claim_dates(claim_at(i), &bundle, dates);
    bundle.head = NULL; /* the other's */
    bundle.parts = NULL;
    bundle.n_parts = 0;
    bundle_free(&bundle);
    json_decref(document);
    return true;
}

static bool open_whole(const struct file *files, size_t n, struct bundle *bundle)
{
    char why[DOCUMENT_WHY];
    for (size_t i = 0; i < n; i++) {
        json_t *document = document_parse(files[i].bytes, files[i].size, "seed", "bundle", why);
        bool taken = document && bundle_take(bundle, document, "seed");
        json_decref(document);
        if (taken)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    struct file files[FILES_MAX];
    struct bundle whole;
    size_t n = 0, tried = 0, read = 0;

    if (argc < 4) {
        fprintf(stderr, "usage: fuzz SECONDS SEED FILE...\n");
        return 2;
    }
    for (int i = 3; i < argc && n < FILES_MAX; i++)
        files[n++] = read_file(argv[i]);
    FILE *sink = fopen("/dev/null", "w");
    if (!sink || !open_whole(files, n, &whole)) {
        fprintf(stderr, "fuzz: none of the files is a valid bundle\n");
        return 2;
    }
    state = strtoull(argv[2], NULL, 10);
    fprintf(stderr, "fuzz: seed %s\n", argv[2]);
    for (time_t end = time(NULL) + atol(argv[1]); time(NULL) < end; tried++) {
        const struct file *file = &files[below(n)];
        struct file mutant = below(2) ? mutate_bytes(file) : mutate_json(file);
        read += try_one(sink, &mutant, &whole) || try_counted(&mutant, &whole);
        free(mutant.bytes);
    }
    bundle_free(&whole);
    for (size_t i = 0; i < n; i++)
        free(files[i].bytes);
    fclose(sink);
    printf("%zu mutants, %zu of them read as bundles, no crash\n", tried, read);
    return read > 0 ? 0 : 1;
}
