/* What is in a bundle, and how nothing measured gets lost: after each round the whole document is
 * on disk. It takes the place of the one before, and of nothing else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/version.h"
#include "report/bundle/bundle.h"
#include "report/bundle/instrument.h"
#include "report/bundle/needs.h"
#include "report/cli/child.h"
#include "report/cli/session.h"
#include "report/page/out.h"

/* --- the document ----------------------------------------------------------------------------- */

/* Centres of the probes that measure the harness itself, which a person checks first when figures
 * look odd. */
static json_t *harness_object(const struct bundle *bundle)
{
    json_t *harness = json_object();
    char asked[32];

    for (size_t i = 0; i < bundle->rows.n; i++) {
        const struct row *row = &bundle->rows.row[i];
        if (strcmp(row->probe, "null") && strcmp(row->probe, "spin"))
            continue;
        json_object_set_new(harness, row->id, document_number(row->centre));
        if (need_covers(instrument_need, row->id) && row_key(row, "asked", asked, sizeof asked))
            json_object_set_new(harness, "spin_error",
                                document_number(row->centre / strtod(asked, NULL) - 1));
    }
    return harness;
}

/* The hash is that of the file at the end. */
static json_t *raw_object(const struct session *s, bool ended)
{
    char hash[CHILD_HASH];
    const char *name = strrchr(s->raw_path, '/');
    bool hashed = ended && child_sha256(s->raw_path, hash);
    return json_pack("{s:o, s:o}", "file", out_json(name ? name + 1 : s->raw_path), "sha256",
                     hashed ? json_string(hash) : json_null());
}

/* The machine once; the program's own facts from the runner. */
static json_t *environment_object(const struct session *s)
{
    json_t *environment = json_copy(s->environment);
    json_object_del(environment, "suite");
    return environment;
}

static json_t *programs_array(const struct session *s)
{
    json_t *names = json_array();
    for (size_t i = 0; i < s->n_tasks; i++)
        json_array_append_new(names, json_string(s->tasks[i].probe->name));
    return names;
}

/* Why a bundle is not complete; NULL if it is. */
static json_t *why_not_complete(const struct session *s, bool ended)
{
    if (!ended)
        return json_sprintf("not ended: holds %d of %d rounds", s->n_whole, s->options.rounds);
    return s->interrupted ? json_sprintf("interrupted in round %d of %d", s->now.round,
                                         s->options.rounds)
                          : NULL;
}

json_t *session_bundle(struct session *s, bool ended)
{
    struct bundle measured;
    json_t *bundle = json_pack(
        "{s:s, s:i, s:{s:s, s:s, s:b, s:s}, s:o, s:s, s:f, s:I, s:i, s:b, s:b}", "schema", "bundle",
        "schema_version", DOCUMENT_SCHEMA_VERSION, "suite", "version", version_number, "commit",
        version_commit, "dirty", version_dirty, "build", version_flags, "environment",
        environment_object(s), "started", s->started, "elapsed_s", child_now_s() - s->began_s,
        "seed", (json_int_t)s->options.seed, "rounds", s->options.rounds, "quick",
        s->options.quick, "complete", ended && !s->interrupted);
    json_object_set_new(bundle, "why", why_not_complete(s, ended)); /* nothing for NULL */
    if (s->options.deep)
        json_object_set_new(bundle, "deep", json_true());
    if (s->options.energy)
        json_object_set_new(bundle, "energy", json_true());
    if (s->continued)
        json_object_set(bundle, "continued", s->continued);
    if (s->options.shared)
        json_object_set_new(bundle, "shared", json_true());
    if (s->gpu_state[0]) {
        json_object_set_new(bundle, "gpu_state", json_string(s->gpu_state));
        json_object_set_new(bundle, "gpu_why", out_json(s->gpu_why));
    }
    if (s->raw_path[0])
        json_object_set_new(bundle, "raw", raw_object(s, ended));
    json_object_set_new(bundle, "programs", programs_array(s));
    json_object_set(bundle, "runs", s->runs);
    if (bundle_take(&measured, bundle, s->path)) {
        json_object_set_new(bundle, "harness", harness_object(&measured));
        bundle_free(&measured);
    }
    return bundle;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* In place of what this run wrote before. A file that another put there stays; if there is none, it
 * was removed. */
static bool write_there(struct session *s, const json_t *bundle, char why[DOCUMENT_WHY])
{
    struct stat facts;
    bool written;

    if (lstat(s->path, &facts) != 0) {
        written = document_write(s->path, bundle, why);
    } else if (facts.st_dev == s->held_device && facts.st_ino == s->held_inode) {
        written = document_replace(s->path, bundle, why);
    } else {
        snprintf(why, DOCUMENT_WHY, "%.300s: another file took its place, and is left alone",
                 s->path);
        return false;
    }
    char unheld[DOCUMENT_WHY];
    return written && (session_hold(s, unheld), true);
}

void session_keep(struct session *s)
{
    char why[DOCUMENT_WHY];
    json_t *bundle = session_bundle(s, false);
    bool written = write_there(s, bundle, why);

    if (!written && !s->unwritten)
        progress_say(&s->progress, "warn  round %d could not be written: %s; it is tried again",
                     s->now.round, why);
    s->unwritten = !written;
    json_decref(bundle);
}

enum session_saved session_save(struct session *s, const json_t *bundle)
{
    char why[DOCUMENT_WHY], elsewhere[PATH_MAX];
    const char *name = strrchr(s->path, '/'), *folder = getenv("TMPDIR");

    if (write_there(s, bundle, why))
        return SAVED;
    progress_say(&s->progress, "gpufloor run: %s", why);
    if (snprintf(elsewhere, sizeof elsewhere, "%s/%s", folder && *folder ? folder : "/tmp",
                 name ? name + 1 : s->path) < PATH_MAX &&
        document_write(elsewhere, bundle, why)) {
        snprintf(s->path, sizeof s->path, "%s", elsewhere);
        progress_say(&s->progress, "gpufloor run: what was measured is kept in %s", s->path);
        return SAVED_ELSEWHERE;
    }
    progress_say(&s->progress, "gpufloor run: %s; the bundle follows on stdout", why);
    document_print(stdout, bundle, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    return NOT_SAVED;
}
