/* run --continue: takes up a bundle that was interrupted. What its whole rounds hold is kept; the
 * round in which it stopped is measured again, and then all that are missing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/version.h"
#include "report/bundle/rows.h"
#include "report/cli/child.h"
#include "report/cli/devices.h"
#include "report/cli/session.h"

static bool refuse(char why[DOCUMENT_WHY], const struct session *s, const char *what)
{
    snprintf(why, DOCUMENT_WHY, "%.300s: %s", s->options.resumed, what);
    return false;
}

static const char *card_of(const json_t *environment)
{
    return document_get_text(json_object_get(environment, "gpu"), "id_hash", "");
}

static const char *host_of(const json_t *environment)
{
    return document_get_text(json_object_get(environment, "host"), "cpu", "");
}

/* Is the bundle one that this program, on this machine, can go on with? */
static bool is_ours(const struct session *s, const json_t *bundle, char why[DOCUMENT_WHY])
{
    const json_t *suite = json_object_get(bundle, "suite");
    const json_t *environment = json_object_get(bundle, "environment");

    if (!json_is_false(json_object_get(bundle, "complete")))
        return refuse(why, s, "is complete: nothing is left to measure");
    if (strcmp(document_get_text(suite, "commit", ""), version_commit) ||
        json_is_true(json_object_get(suite, "dirty")) != version_dirty)
        return refuse(why, s, "is of another commit than this program");
    if (strcmp(card_of(environment), card_of(s->environment)))
        return refuse(why, s, "was measured on another card");
    if (!devices_same(environment, s->environment))
        return refuse(why, s, "was measured on other GPUs: give --devices as it was given then");
    if (strcmp(host_of(environment), host_of(s->environment)))
        return refuse(why, s, "was measured on another host");
    if (!json_is_integer(json_object_get(bundle, "seed")))
        return refuse(why, s, "lacks its seed");
    const json_int_t rounds = json_integer_value(json_object_get(bundle, "rounds"));
    if (rounds < 1 || rounds > ROW_RUNS_MAX)
        return refuse(why, s, "has a number of rounds that no run has");
    if (json_array_size(json_object_get(bundle, "programs")) == 0)
        return refuse(why, s, "lacks the names of its programs");
    return true;
}

static int round_of(const json_t *run)
{
    return (int)json_integer_value(json_object_get(json_object_get(run, "run"), "round"));
}

static const char *probe_of(const json_t *run)
{
    return document_get_text(json_object_get(run, "probe"), "name", "");
}

static struct task *task_of(const struct session *s, const char *probe)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        if (!strcmp(s->tasks[i].probe->name, probe))
            return &s->tasks[i];
    return NULL;
}

/* A program of the bundle; NULL behind the last one. */
static const char *program_at(const json_t *bundle, size_t i)
{
    const json_t *name = json_array_get(json_object_get(bundle, "programs"), i);
    return !name ? NULL : json_is_string(name) ? json_string_value(name) : "";
}

bool session_resumes(const struct session *s, const char *program)
{
    const char *name;
    for (size_t i = 0; (name = program_at(s->resumed, i)); i++)
        if (!strcmp(name, program))
            return true;
    return false;
}

/* Do exactly its programs take part? With one more, no round would be whole; with one less, what it
 * measured would be lost. */
static bool same_programs(const struct session *s, char why[DOCUMENT_WHY])
{
    const char *name;
    char what[200];

    for (size_t i = 0; (name = program_at(s->resumed, i)); i++)
        if (!task_of(s, name)) {
            snprintf(what, sizeof what, "is a run of %.80s, which does not take part now", name);
            return refuse(why, s, what);
        }
    for (size_t i = 0; i < s->n_tasks; i++)
        if (!session_resumes(s, s->tasks[i].probe->name)) {
            snprintf(what, sizeof what, "is no run of %.80s: name its own programs, or none",
                     s->tasks[i].probe->name);
            return refuse(why, s, what);
        }
    return true;
}

/* How many rounds, from the first on, have a run of every probe. */
static int whole_rounds(const struct session *s, const json_t *runs)
{
    for (int round = 0; round < s->options.rounds; round++)
        for (size_t i = 0; i < s->n_tasks; i++) {
            const json_t *run;
            size_t k;
            bool found = false;
            json_array_foreach(runs, k, run) found |=
                round_of(run) == round && !strcmp(probe_of(run), s->tasks[i].probe->name);
            if (!found)
                return round;
        }
    return s->options.rounds;
}

/* Takes over what the bundle holds. */
static void take_up(struct session *s)
{
    const json_t *bundle = s->resumed, *runs = json_object_get(bundle, "runs"), *run;
    size_t i;

    s->options.seed = (uint64_t)json_integer_value(json_object_get(bundle, "seed"));
    s->options.rounds = (int)json_integer_value(json_object_get(bundle, "rounds"));
    s->options.quick = json_is_true(json_object_get(bundle, "quick"));
    s->options.deep = json_is_true(json_object_get(bundle, "deep"));
    s->options.energy = json_is_true(json_object_get(bundle, "energy"));
    s->n_kept = s->n_whole = whole_rounds(s, runs);
    json_array_foreach(runs, i, run)
        if (round_of(run) >= 0 && round_of(run) < s->n_kept)
            json_array_append(s->runs, (json_t *)run);
    json_object_update(s->environment, json_object_get(bundle, "environment"));
    snprintf(s->started, sizeof s->started, "%s", document_get_text(bundle, "started", ""));
    s->began_s -= json_number_value(json_object_get(bundle, "elapsed_s"));
    s->continued = json_incref(json_object_get(bundle, "continued"));
    if (!json_is_array(s->continued)) {
        json_decref(s->continued);
        s->continued = json_array();
    }
    char now[24];
    document_time(now, sizeof now);
    json_array_append_new(s->continued, json_string(now));
}

/* Is that line of raw samples whole, and of a round that is kept? The header is. */
static bool is_kept(const struct session *s, const char *line)
{
    enum { ROUND = 4 }; /* tabs before it */
    const char *at = line;
    for (int i = 0; i < ROUND && at; i++)
        at = (at = strchr(at, '\t')) ? at + 1 : NULL;
    return at && strchr(at, '\n') && (!strncmp(at, "round\t", 6) || atoi(at) < s->n_kept);
}

/* Writes the lines that are kept to a file of another name, which then takes the first one's. */
static bool cut_raw(const struct session *s, const char *from, const char *to)
{
    FILE *all = fopen(from, "re"), *kept = all ? document_begin(to, "probe\t", 6) : NULL;
    char *line = NULL;
    size_t size = 0;
    bool copied = kept != NULL;

    while (copied && getline(&line, &size, all) > 0)
        copied = !is_kept(s, line) || fputs(line, kept) >= 0;
    copied = copied && !ferror(all) && fflush(kept) == 0 && fsync(fileno(kept)) == 0;
    free(line);
    if (all)
        fclose(all);
    copied = kept && fclose(kept) == 0 && copied && rename(to, from) == 0;
    if (kept && !copied)
        unlink(to);
    return copied;
}

/* The samples of rounds that are measured again leave the file of raw samples. */
static bool take_up_raw(struct session *s, const json_t *raw, char why[DOCUMENT_WHY])
{
    const char *name = document_get_text(raw, "file", "");
    const int folder = (int)(strrchr(s->path, '/') - s->path) + 1;
    char kept[PATH_MAX];

    if (!raw)
        return true;
    if (!*name || strchr(name, '/'))
        return refuse(why, s, "names raw samples that are not beside it");
    if (snprintf(s->raw_path, PATH_MAX, "%.*s%s", folder, s->path, name) >= PATH_MAX ||
        snprintf(kept, sizeof kept, "%s.%ld.tmp", s->raw_path, (long)getpid()) >= PATH_MAX)
        return refuse(why, s, "path too long");
    return cut_raw(s, s->raw_path, kept) ||
           refuse(why, s, "has raw samples beside it that cannot be read, or not be written");
}

/* Each round takes the place of the interrupted bundle itself, not of a link that leads to it. It
 * is held before it is read: a run that goes on would write it anew. */
bool session_open_resumed(struct session *s, char why[DOCUMENT_WHY])
{
    if (!realpath(s->options.resumed, s->path))
        return refuse(why, s, strerror(errno));
    if (!session_hold(s, why))
        return false;
    s->resumed = document_load(s->options.resumed, "bundle", why);
    return s->resumed && is_ours(s, s->resumed, why);
}

bool session_resume(struct session *s, char why[DOCUMENT_WHY])
{
    if (!same_programs(s, why))
        return false;
    take_up(s);
    if (!place_try(s->path, why))
        return false;
    place_clear(s->path);
    return take_up_raw(s, json_object_get(s->resumed, "raw"), why);
}
