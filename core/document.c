#include "core/document.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/parse.h"
#include "core/unit.h"

json_t *document_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

double document_get_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

const char *document_get_text(const json_t *object, const char *key, const char *fallback)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : fallback;
}

void document_time(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Writes an id as far as there is room, and returns its whole length. */
static size_t write_id(char *id, size_t size, const char *probe, const char *keys,
                       const char *name, const char *timer)
{
    const bool has_keys = *keys || timer;
    const char *const parts[] = {probe,
                                 ".",
                                 name,
                                 has_keys ? "{" : "",
                                 keys,
                                 *keys && timer ? "," : "",
                                 timer ? "timer=" : "",
                                 timer ? timer : "",
                                 has_keys ? "}" : ""};
    size_t length = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) { /* snprintf() takes far longer */
        const size_t n = strlen(parts[i]), room = length < size ? size - length - 1 : 0;
        if (room > 0)
            memcpy(id + length, parts[i], n < room ? n : room);
        length += n;
    }
    if (size > 0)
        id[length < size ? length : size - 1] = '\0';
    return length;
}

/* A word of its own counts even where it is none: it is then wrong. */
static const char *word_of(const json_t *own, const json_t *of_name, const char *key)
{
    return json_string_value(own ? own : json_object_get(of_name, key));
}

static const json_t *said_of(const json_t *said, const char *name)
{
    return said && name ? json_object_get(said, name) : NULL;
}

const char *document_metric_word(const json_t *said, const json_t *metric, const char *key)
{
    return word_of(json_object_get(metric, key),
                   said_of(said, document_get_text(metric, "name", NULL)), key);
}

void document_spread_words(json_t *run)
{
    static const char *const words[] = {"unit", "better"};
    const json_t *said = json_object_get(run, "metrics"), *one;
    json_t *metric;
    size_t i, k;

    json_array_foreach(json_object_get(run, "cases"), i, one)
        json_array_foreach(json_object_get(one, "metrics"), k, metric)
            for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
                const char *word = document_metric_word(said, metric, words[w]);
                if (word)
                    json_object_set_new(metric, words[w], json_string(word));
            }
    if (said)
        json_object_del(run, "metrics");
}

void document_metric_id(char id[DOCUMENT_ID], const char *probe, const json_t *cases,
                        const json_t *metric)
{
    write_id(id, DOCUMENT_ID, probe, document_get_text(cases, "case", ""),
             document_get_text(metric, "name", "?"), document_get_text(metric, "timer", NULL));
}

/* --- reading --------------------------------------------------------------------------------- */

static bool wrong(char why[DOCUMENT_WHY], const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool wrong(char why[DOCUMENT_WHY], const char *name, const char *format, ...)
{
    va_list arguments;
    size_t length = strlen(name); /* of a long path, keep the end */
    int used = snprintf(why, DOCUMENT_WHY, "%s%s: ", length > 300 ? "..." : "",
                        length > 300 ? name + length - 297 : name);
    if (used < 0 || used >= DOCUMENT_WHY)
        return false;
    va_start(arguments, format);
    vsnprintf(why + used, (size_t)(DOCUMENT_WHY - used), format, arguments);
    va_end(arguments);
    return false;
}

enum { METRIC_NAME, METRIC_UNIT, METRIC_BETTER, METRIC_TIMER, METRIC_FIGURES, METRIC_FIELDS = 12 };
static const char *const metric_fields[METRIC_FIELDS] = {
    "name", "unit", "better", "timer", "median", "best",
    "min",  "max",  "q1",     "q3",    "mad",    "n"};

/* The fields that metric_fields names, each NULL where there is none. In one walk: a bundle may
 * have 10^5 metrics, and each search by a key takes as long as the walk. */
static void take_fields(const json_t *metric, const json_t *fields[METRIC_FIELDS])
{
    const char *key;
    json_t *value;

    for (size_t i = 0; i < METRIC_FIELDS; i++)
        fields[i] = NULL;
    json_object_foreach((json_t *)metric, key, value)
        for (size_t i = 0; i < METRIC_FIELDS; i++)
            if (*key == *metric_fields[i] && !strcmp(key, metric_fields[i]))
                fields[i] = value;
}

/* No id is cut: two that agree as far as there is room would become one row. */
static bool is_short_id(const char *probe, const char *keys, const char *name, const char *timer,
                        const char *where, char why[DOCUMENT_WHY])
{
    const size_t length = write_id(NULL, 0, probe, keys, name, timer);
    return length <= DOCUMENT_ID_MOST ||
           wrong(why, where, "%.60s: the id of a metric has %zu characters; at most %d fit", probe,
                 length, DOCUMENT_ID_MOST);
}

/* A metric: a name, a unit of the closed list and a direction, its own or said of its name, a
 * number or null for each figure, and an id that fits. */
static bool is_valid_metric(const json_t *metric, const json_t *said, const char *probe,
                            const char *keys, const char *where, char why[DOCUMENT_WHY])
{
    const json_t *fields[METRIC_FIELDS];
    take_fields(metric, fields);
    const char *name = json_string_value(fields[METRIC_NAME]);
    const json_t *of_name = said_of(said, name);
    const char *unit = word_of(fields[METRIC_UNIT], of_name, "unit");
    const char *better = word_of(fields[METRIC_BETTER], of_name, "better");

    if (!name)
        return wrong(why, where, "a metric without a name");
    if (!unit_known(unit))
        return wrong(why, where, "metric %.60s has the unknown unit '%.30s'", name,
                     unit ? unit : "(none)");
    if (!better || (strcmp(better, "lower") && strcmp(better, "higher") && strcmp(better, "exact")))
        return wrong(why, where, "metric %.60s: \"better\" must be lower, higher or exact", name);
    for (size_t i = METRIC_FIGURES; i < METRIC_FIELDS; i++)
        if (fields[i] && !json_is_number(fields[i]) && !json_is_null(fields[i]))
            return wrong(why, where, "metric %.60s: \"%s\" must be a number or null", name,
                         metric_fields[i]);
    return is_short_id(probe, keys, name, json_string_value(fields[METRIC_TIMER]), where, why);
}

/* All ids of a case in a document of counters. */
static bool has_short_ids(const char *probe, const json_t *one, const char *where,
                          char why[DOCUMENT_WHY])
{
    const json_t *metric;
    size_t i;

    json_array_foreach(json_object_get(one, "metrics"), i, metric)
    {
        if (!is_short_id(probe, document_get_text(one, "case", ""),
                         document_get_text(metric, "name", "?"),
                         document_get_text(metric, "timer", NULL), where, why))
            return false;
    }
    return true;
}

/* The same of all its cases, whatever holds them. */
static bool has_short_ids_below(const char *probe, json_t *value, int depth, const char *where,
                                char why[DOCUMENT_WHY])
{
    enum { DEPTH_MOST = 8 };
    const char *key;
    json_t *item;
    size_t i;

    if (depth > DEPTH_MOST || !has_short_ids(probe, value, where, why))
        return depth > DEPTH_MOST;
    json_array_foreach(value, i, item)
        if (!has_short_ids_below(probe, item, depth + 1, where, why))
            return false;
    json_object_foreach(value, key, item)
        if (!has_short_ids_below(probe, item, depth + 1, where, why))
            return false;
    return true;
}

static bool is_valid_counters(const json_t *document, const char *where, char why[DOCUMENT_WHY])
{
    json_t *probes = json_object_get(document, "probes"), *probe;
    size_t i;

    if (!json_is_array(probes))
        return wrong(why, where, "a document of counters needs \"probes\"");
    json_array_foreach(probes, i, probe)
        if (!has_short_ids_below(document_get_text(probe, "name", ""), probe, 0, where, why))
            return false;
    return true;
}

/* A row holds so many rounds and no more. */
static bool is_valid_round(const json_t *run, const char *where, char why[DOCUMENT_WHY])
{
    const json_t *round = json_object_get(json_object_get(run, "run"), "round");
    const json_int_t place = json_integer_value(round);

    if (!json_is_integer(round) || (place >= 0 && place < DOCUMENT_ROUNDS_MAX))
        return true;
    return wrong(why, where, "run of %.60s: round %" JSON_INTEGER_FORMAT "; expected 0 to %d",
                 document_get_text(json_object_get(run, "probe"), "name", "?"), place,
                 DOCUMENT_ROUNDS_MAX - 1);
}

/* Of a document, and of each run inside a bundle: that may be of another version than the
 * bundle. */
static bool is_read(const json_t *document, const char *where, char why[DOCUMENT_WHY])
{
    const json_t *version = json_object_get(document, "schema_version");

    if (!json_is_integer(version) || json_integer_value(version) < 1)
        return wrong(why, where, "schema_version must be a whole number from 1");
    if (json_integer_value(version) > DOCUMENT_SCHEMA_VERSION)
        return wrong(why, where,
                     "schema_version %" JSON_INTEGER_FORMAT
                     " is newer than this program reads (%d): update gpufloor",
                     json_integer_value(version), DOCUMENT_SCHEMA_VERSION);
    return true;
}

static bool is_valid_run(const json_t *run, const char *where, char why[DOCUMENT_WHY])
{
    const json_t *probe = json_object_get(run, "probe");
    const json_t *cases = json_object_get(run, "cases"), *one, *metric;
    const json_t *said = json_object_get(run, "metrics");
    const char *name = document_get_text(probe, "name", NULL);
    const char *status = document_get_text(run, "status", NULL);
    size_t i, k;

    if (!name || !json_is_integer(json_object_get(probe, "method")))
        return wrong(why, where, "a run without a probe name and method");
    if (!status || (strcmp(status, "ok") && strcmp(status, "skipped") && strcmp(status, "failed")))
        return wrong(why, where, "run of %.60s: \"status\" must be ok, skipped or failed", name);
    if (!json_is_array(cases))
        return wrong(why, where, "run of %.60s has no \"cases\" array", name);
    json_array_foreach(cases, i, one)
    {
        const json_t *metrics = json_object_get(one, "metrics");
        const char *keys = document_get_text(one, "case", NULL);
        if (!keys || !json_is_array(metrics))
            return wrong(why, where, "run of %.60s: case %zu lacks \"case\" or \"metrics\"", name,
                         i);
        json_array_foreach(metrics, k, metric)
            if (!is_valid_metric(metric, said, name, keys, where, why))
                return false;
    }
    return is_valid_round(run, where, why);
}

static bool is_valid(const json_t *document, const char *name, const char *kind,
                     char why[DOCUMENT_WHY])
{
    const char *found = document_get_text(document, "schema", NULL);
    const json_t *runs, *run;
    size_t i;

    if (!json_is_object(document))
        return wrong(why, name, "expected a JSON object, a gpufloor %s", kind);
    if (!found || strcmp(found, kind))
        return wrong(why, name, "expected a gpufloor %s, found %s%.40s", kind,
                     found ? "a document of schema " : "no \"schema\"", found ? found : "");
    if (!is_read(document, name, why))
        return false;
    if (!strcmp(kind, "run"))
        return is_valid_run(document, name, why);
    if (!strcmp(kind, "model"))
        return true; /* report/floor/model.c takes its fields one by one */
    if (!strcmp(kind, "counters"))
        return is_valid_counters(document, name, why);

    runs = json_object_get(document, "runs");
    if (!json_is_object(json_object_get(document, "environment")) || !json_is_array(runs))
        return wrong(why, name, "a bundle needs \"environment\" and \"runs\"");
    json_array_foreach(runs, i, run) if ((json_object_get(run, "schema_version") &&
                                          !is_read(run, name, why)) ||
                                         !is_valid_run(run, name, why)) return false;
    return true;
}

json_t *document_parse(const char *bytes, size_t size, const char *name, const char *kind,
                       char why[DOCUMENT_WHY])
{
    json_error_t error;
    json_t *document = NULL;

    if (size == 0)
        wrong(why, name, "empty file; expected a gpufloor %s", kind);
    else if (!(document = parse_plain(bytes, size)) &&
             !(document = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error)))
        wrong(why, name, "not valid JSON at line %d, column %d (%.100s); expected a gpufloor %s",
              error.line, error.column, error.text, kind);
    else if (!is_valid(document, name, kind, why)) {
        json_decref(document);
        document = NULL;
    }
    return document;
}

/* As much as a document may hold, and a byte more where there is more. */
static json_t *load_stdin(const char *kind, char why[DOCUMENT_WHY])
{
    static const char name[] = "stdin";
    char *bytes = NULL;
    size_t size = 0, room = 0, n = 1;
    json_t *document = NULL;

    while (n > 0 && size <= DOCUMENT_BYTES_MAX) {
        if (size == room) {
            room = room ? 2 * room : 1 << 20;
            char *more = realloc(bytes, room);
            if (!more)
                break;
            bytes = more;
        }
        n = fread(bytes + size, 1, room - size, stdin);
        size += n;
    }
    if (size > DOCUMENT_BYTES_MAX)
        wrong(why, name, "more than %d bytes, larger than any gpufloor %s", DOCUMENT_BYTES_MAX,
              kind);
    else if (n > 0 || ferror(stdin))
        wrong(why, name, "could not be read: %s", strerror(errno ? errno : EIO));
    else
        document = document_parse(bytes, size, name, kind, why);
    free(bytes);
    return document;
}

json_t *document_load(const char *path, const char *kind, char why[DOCUMENT_WHY])
{
    struct stat facts;
    json_t *document = NULL;

    if (!strcmp(path, "-"))
        return load_stdin(kind, why);
    /* Not fopen(): on a FIFO it would wait for ever for a writer. */
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");

    if (!file || fstat(descriptor, &facts)) {
        wrong(why, path, "%s", strerror(errno));
    } else if (!S_ISREG(facts.st_mode)) {
        wrong(why, path, "not a regular file; expected a gpufloor %s", kind);
    } else if (facts.st_size > DOCUMENT_BYTES_MAX) {
        wrong(why, path, "%lld bytes, larger than any gpufloor %s", (long long)facts.st_size, kind);
    } else {
        size_t size = (size_t)facts.st_size;
        char *bytes = malloc(size + 1);
        if (!bytes || fread(bytes, 1, size, file) != size)
            wrong(why, path, "could not be read: %s", strerror(errno ? errno : EIO));
        else
            document = document_parse(bytes, size, path, kind, why);
        free(bytes);
    }
    if (file)
        fclose(file);
    return document;
}

/* --- writing --------------------------------------------------------------------------------- */

static const size_t AS_WRITTEN = JSON_COMPACT | JSON_REAL_PRECISION(9);

size_t document_size(const json_t *document)
{
    return json_dumpb(document, NULL, 0, AS_WRITTEN | JSON_ENSURE_ASCII);
}

/* jansson escapes all that is not ASCII, but not DEL, which stands in strings alone. */
static int append(const char *bytes, size_t size, void *file)
{
    for (const char *end = bytes + size; bytes < end;) {
        const char *del = memchr(bytes, 0x7f, (size_t)(end - bytes));
        const size_t n = (size_t)((del ? del : end) - bytes);
        if (fwrite(bytes, 1, n, file) != n || (del && fputs("\\u007f", file) < 0))
            return -1;
        bytes += n + (del != NULL);
    }
    return 0;
}

bool document_print(FILE *file, const json_t *document, size_t flags)
{
    return json_dump_callback(document, append, file, flags | JSON_ENSURE_ASCII) == 0;
}

/* Renames the temporary file without ever replacing another: link() refuses an existing name, which
 * rename() would replace. If the file system has no links, renameat2() can do the same. */
static bool take_name(const char *temporary, const char *path)
{
    if (link(temporary, path) == 0)
        return true;
    return errno != EEXIST && renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0;
}

/* A new name is on disk when its folder is. Not every file system can do this, so it may fail. */
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) + 1 : 1;
    snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".");
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
}

bool document_clear(const char *path, const char *begins, size_t n_begins)
{
    char bytes[16];
    struct stat facts;
    const int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    /* Once it is locked: who held it before may have removed it, and the name be another's. */
    const bool ours = descriptor >= 0 && n_begins <= sizeof bytes &&
                      flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &facts) == 0 &&
                      S_ISREG(facts.st_mode) && facts.st_nlink > 0 && facts.st_uid == geteuid();
    const ssize_t n = ours ? read(descriptor, bytes, n_begins) : -1;
    const bool cleared = n >= 0 && !memcmp(bytes, begins, (size_t)n) && unlink(path) == 0;
    if (descriptor >= 0)
        close(descriptor);
    return cleared;
}

FILE *document_begin(const char *path, const char *begins, size_t n_begins)
{
    FILE *file = fopen(path, "wxe");

    if (!file && errno == EEXIST) {
        const bool cleared = document_clear(path, begins, n_begins);
        errno = EEXIST;
        file = cleared ? fopen(path, "wxe") : NULL;
    }
    if (file)
        flock(fileno(file), LOCK_EX | LOCK_NB); /* where that can be */
    return file;
}

static bool write_beside(const char *temporary, const json_t *document)
{
    FILE *file = document_begin(temporary, DOCUMENT_BEGINS, sizeof DOCUMENT_BEGINS - 1);
    if (!file)
        return false;
    errno = 0;
    bool written = document_print(file, document, AS_WRITTEN) &&
        fputc('\n', file) != EOF && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int failure = errno;
    written = fclose(file) == 0 && written;
    if (!written)
        unlink(temporary);
    errno = failure ? failure : EIO;
    return written;
}

static bool write_to(const char *path, const json_t *document, bool replace,
                     char why[DOCUMENT_WHY])
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >=
        (int)sizeof temporary)
        return wrong(why, path, "path too long");
    if (!write_beside(temporary, document))
        return wrong(why, path, "cannot be written: %s", strerror(errno));
    bool named = replace ? rename(temporary, path) == 0 : take_name(temporary, path);
    int failure = errno;
    unlink(temporary);
    if (!named) {
        wrong(why, path, "cannot be written: %s", strerror(failure));
        errno = failure;
        return false;
    }
    sync_folder(path);
    return true;
}

bool document_write(const char *path, const json_t *document, char why[DOCUMENT_WHY])
{
    return write_to(path, document, false, why);
}

bool document_replace(const char *path, const json_t *document, char why[DOCUMENT_WHY])
{
    return write_to(path, document, true, why);
}
