/* Where a bundle goes, what is in it, and how nothing measured gets lost. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/board.h"
#include "core/version.h"
#include "report/bundle/bundle.h"
#include "report/bundle/instrument.h"
#include "report/bundle/needs.h"
#include "report/cli/child.h"
#include "report/cli/session.h"

enum { TRIAL_BYTES = 1 << 20 };

/* --- before measuring ------------------------------------------------------------------------- */

static bool refuse(char why[DOCUMENT_WHY], const char *path, const char *what)
{
    snprintf(why, DOCUMENT_WHY, "%.300s: %s", path, what);
    return false;
}

/* Makes the folders above a file. */
static void make_folders(const char *path)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(part, 0777);
        *slash = '/';
    }
}

/* Writes and removes a file next to where the bundle will be. A full disk or a write-protected
 * folder then shows now, not after ten minutes of measuring. */
static bool try_place(const char *path, char why[DOCUMENT_WHY])
{
    char trial[PATH_MAX], *zeros = calloc(1, TRIAL_BYTES);
    if (snprintf(trial, sizeof trial, "%s.%ld.trial", path, (long)getpid()) >= PATH_MAX) {
        free(zeros);
        return refuse(why, path, "path too long");
    }
    errno = 0; /* a short write does not set it: then the disk is full */
    int fd = open(trial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool fits = fd >= 0 && zeros && write(fd, zeros, TRIAL_BYTES) == TRIAL_BYTES && fsync(fd) == 0;
    int error = errno ? errno : ENOSPC;
    free(zeros);
    if (fd >= 0) {
        fits = close(fd) == 0 && fits;
        unlink(trial);
    }
    return fits ? true : refuse(why, path, strerror(error));
}

static bool start_raw(struct session *s, char why[DOCUMENT_WHY])
{
    size_t length = strlen(s->path);
    bool json = length > 5 && !strcmp(s->path + length - 5, ".json");

    if (snprintf(s->raw_path, sizeof s->raw_path, "%.*s.raw.tsv", (int)(length - (json ? 5 : 0)),
                 s->path) >= PATH_MAX)
        return refuse(why, s->path, "path too long");
    FILE *raw = fopen(s->raw_path, "wx");
    if (!raw)
        return refuse(why, s->raw_path, strerror(errno));
    bool written = fputs("probe\tmetric\tcase\ttimer\tround\twork\tvalue\tloop\n", raw) >= 0;
    written = fclose(raw) == 0 && written;
    return written ? true : refuse(why, s->raw_path, strerror(errno));
}

/* TIME-BOARD.json in the folder of runs. Two runs may begin in the same second. */
static bool default_place(char path[PATH_MAX], const char *started, const char *board,
                          const char *ending, char why[DOCUMENT_WHY])
{
    char folder[PATH_MAX], stamp[24], name[80];
    size_t n = 0;

    for (const char *c = started; *c && n + 1 < sizeof stamp; c++)
        if (*c != '-' && *c != ':')
            stamp[n++] = *c;
    stamp[n] = '\0';
    board_slug(name, sizeof name, board);
    catalogue_path(folder, "../run");
    for (int again = 0; again < 100; again++) {
        char suffix[8] = "";
        if (again > 0)
            snprintf(suffix, sizeof suffix, "-%d", again + 1);
        if (snprintf(path, PATH_MAX, "%s/%s-%s%s%s", folder, stamp, name, suffix, ending) >=
            PATH_MAX)
            return refuse(why, folder, "path too long");
        if (access(path, F_OK) != 0)
            break;
    }
    make_folders(path);
    return true;
}

bool place_document(char path[PATH_MAX], const char *output, const char *started,
                    const char *board, const char *ending, char why[DOCUMENT_WHY])
{
    if (output)
        snprintf(path, PATH_MAX, "%s", output);
    else if (!default_place(path, started, board, ending, why))
        return false;
    if (access(path, F_OK) == 0)
        return refuse(why, path, "exists already; a bundle is never overwritten");
    return try_place(path, why);
}

bool session_place(struct session *s, char why[DOCUMENT_WHY])
{
    const json_t *gpu = json_object_get(s->environment, "gpu");

    document_time(s->started, sizeof s->started);
    return place_document(s->path, s->options.output, s->started,
                          document_get_text(gpu, "board", "host"), ".json", why) &&
           (!s->options.raw || start_raw(s, why));
}

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

static json_t *raw_object(const struct session *s)
{
    char hash[CHILD_HASH];
    const char *name = strrchr(s->raw_path, '/');
    bool hashed = child_sha256(s->raw_path, hash);
    return json_pack("{s:s, s:o}", "file", name ? name + 1 : s->raw_path, "sha256",
                     hashed ? json_string(hash) : json_null());
}

/* The machine once; the program's own facts from the runner. */
static json_t *environment_object(const struct session *s)
{
    json_t *environment = json_copy(s->environment);
    json_object_del(environment, "suite");
    return environment;
}

json_t *session_bundle(struct session *s)
{
    struct bundle measured;
    json_t *bundle = json_pack(
        "{s:s, s:i, s:{s:s, s:s, s:b, s:s}, s:o, s:s, s:f, s:I, s:i, s:b, s:b}", "schema", "bundle",
        "schema_version", DOCUMENT_SCHEMA_VERSION, "suite", "version", version_number, "commit",
        version_commit, "dirty", version_dirty, "build", version_flags, "environment",
        environment_object(s), "started", s->started, "elapsed_s", child_now_s() - s->began_s,
        "seed", (json_int_t)s->options.seed, "rounds", s->options.rounds, "quick",
        s->options.quick, "complete", !s->interrupted);
    if (s->interrupted)
        json_object_set_new(bundle, "why", json_sprintf("interrupted in round %d of %d",
                                                        s->now.round, s->options.rounds));
    if (s->continued)
        json_object_set(bundle, "continued", s->continued);
    if (s->options.shared)
        json_object_set_new(bundle, "shared", json_true());
    if (s->gpu_state[0]) {
        json_object_set_new(bundle, "gpu_state", json_string(s->gpu_state));
        json_object_set_new(bundle, "gpu_why", json_string(s->gpu_why));
    }
    if (s->raw_path[0])
        json_object_set_new(bundle, "raw", raw_object(s));
    json_object_set(bundle, "runs", s->runs);
    if (bundle_take(&measured, bundle, s->path)) {
        json_object_set_new(bundle, "harness", harness_object(&measured));
        bundle_free(&measured);
    }
    return bundle;
}

/* --- after measuring -------------------------------------------------------------------------- */

/* Writes the bundle; that of --continue takes the place of the interrupted one. */
static bool write_there(const struct session *s, const json_t *bundle, char why[DOCUMENT_WHY])
{
    char beside[PATH_MAX];
    if (!s->options.resumed)
        return document_write(s->path, bundle, why);
    if (snprintf(beside, sizeof beside, "%s.%ld.whole", s->path, (long)getpid()) >= PATH_MAX)
        return refuse(why, s->path, "path too long");
    if (!document_write(beside, bundle, why))
        return false;
    return rename(beside, s->path) == 0 ? true : refuse(why, beside, strerror(errno));
}

bool session_save(struct session *s, const json_t *bundle)
{
    char why[DOCUMENT_WHY], elsewhere[PATH_MAX];
    const char *name = strrchr(s->path, '/'), *folder = getenv("TMPDIR");

    if (write_there(s, bundle, why))
        return true;
    progress_say(&s->progress, "gpufloor run: %s", why);
    if (snprintf(elsewhere, sizeof elsewhere, "%s/%s", folder && *folder ? folder : "/tmp",
                 name ? name + 1 : s->path) < PATH_MAX &&
        document_write(elsewhere, bundle, why)) {
        snprintf(s->path, sizeof s->path, "%s", elsewhere);
        progress_say(&s->progress, "gpufloor run: what was measured is kept in %s", s->path);
        return false;
    }
    progress_say(&s->progress, "gpufloor run: %s; the bundle follows on stdout", why);
    json_dumpf(bundle, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    return false;
}
