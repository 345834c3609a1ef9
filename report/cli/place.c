/* Where a document goes, and whether it can go there: found out before anything is measured. The
 * name of a bundle is taken at the start, by a document that holds no run yet. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/board.h"
#include "report/cli/home.h"
#include "report/cli/session.h"
#include "report/page/out.h"

/* A bundle has at most 8 MB, and a round is written beside what is there. */
enum { TRIAL_BYTES = 16 << 20, NAMES_MAX = 100 };

static bool refuse(char why[DOCUMENT_WHY], const char *path, const char *what)
{
    snprintf(why, DOCUMENT_WHY, "%.300s: %s", path, what);
    return false;
}

/* A full disk or a write-protected folder then shows now, not after ten minutes of measuring. */
bool place_try(const char *path, char why[DOCUMENT_WHY])
{
    char trial[PATH_MAX], *zeros = calloc(1, TRIAL_BYTES);
    if (snprintf(trial, sizeof trial, "%s.%ld.trial", path, (long)getpid()) >= PATH_MAX) {
        free(zeros);
        return refuse(why, path, "path too long");
    }
    FILE *file = document_begin(trial, "", 1); /* zeros */
    int fd = file ? fileno(file) : -1;
    if (file)
        errno = 0; /* a short write does not set it: then the disk is full */
    bool fits = file && zeros && write(fd, zeros, TRIAL_BYTES) == TRIAL_BYTES && fsync(fd) == 0;
    int error = errno ? errno : ENOSPC;
    free(zeros);
    if (file) {
        fits = fclose(file) == 0 && fits;
        unlink(trial);
    }
    return fits ? true : refuse(why, path, strerror(error));
}

/* Makes the folder of runs, which need not be there yet. */
static bool make_folder(const char *folder, char why[DOCUMENT_WHY])
{
    struct stat facts;
    char what[200];

    if (mkdir(folder, 0777) == 0 || (stat(folder, &facts) == 0 && S_ISDIR(facts.st_mode)))
        return true;
    snprintf(what, sizeof what,
             "this folder cannot be made (%s): choose a place with --output FILE",
             strerror(errno == EEXIST ? ENOTDIR : errno));
    return refuse(why, folder, what);
}

/* TIME-BOARD.json in the folder of runs; -2, -3 ... where others began in the same second. */
static bool name_run(char path[PATH_MAX], const char *started, const char *board,
                     const char *ending, int again, char why[DOCUMENT_WHY])
{
    char folder[PATH_MAX], stamp[24], name[80], suffix[16] = "";
    size_t n = 0;

    for (const char *c = started; *c && n + 1 < sizeof stamp; c++)
        if (*c != '-' && *c != ':')
            stamp[n++] = *c;
    stamp[n] = '\0';
    board_slug(name, sizeof name, board);
    if (again > 0)
        snprintf(suffix, sizeof suffix, "-%d", again + 1);
    home_path(folder, HOME_RUNS, "");
    if (snprintf(path, PATH_MAX, "%s/%s-%s%s%s", folder, stamp, name, suffix, ending) >= PATH_MAX)
        return refuse(why, folder, "path too long");
    return make_folder(folder, why);
}

static bool name_given(char path[PATH_MAX], const char *output, char why[DOCUMENT_WHY])
{
    if (!*output)
        return refuse(why, "''", "expected the name of a file");
    return snprintf(path, PATH_MAX, "%s", output) < PATH_MAX ||
           refuse(why, output, "path too long");
}

static bool is_taken(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0; /* a link that leads nowhere is there, too */
}

bool place_document(char path[PATH_MAX], const char *output, const char *started, const char *board,
                    const char *ending, char why[DOCUMENT_WHY])
{
    bool taken = true;

    if (output && !name_given(path, output, why))
        return false;
    if (output)
        taken = is_taken(path);
    for (int again = 0; !output && taken && again < NAMES_MAX; again++) {
        if (!name_run(path, started, board, ending, again, why))
            return false;
        taken = is_taken(path);
    }
    return taken ? refuse(why, path, "exists already; a bundle is never overwritten")
                 : place_try(path, why);
}

bool place_write(char path[PATH_MAX], const json_t *document, const char *output,
                 const char *started, const char *board, const char *ending,
                 char why[DOCUMENT_WHY])
{
    bool taken = true;

    for (int again = 0; taken && again < NAMES_MAX; again++) {
        if (!place_document(path, output, started, board, ending, why))
            return false;
        if (document_write(path, document, why))
            return true;
        taken = errno == EEXIST && !output;
    }
    return false;
}

/* --- what a run that was killed left ---------------------------------------------------------- */

/* How the files begin that a run writes beside its own, and what follows their names: .PID.tmp,
 * .PID.trial. An empty one was just begun. */
static const struct kind {
    const char *of, *ending, *begins;
    size_t n_begins;
} kinds[] = {{".json.", ".tmp", DOCUMENT_BEGINS, sizeof DOCUMENT_BEGINS - 1},
             {".json.", ".trial", "", 1},
             {".raw.tsv.", ".tmp", "probe\t", 6}};

/* The kind of NAME.json.PID.tmp, and its PID; NULL for any other name. */
static const struct kind *kind_of(const char *name, pid_t *pid)
{
    const char *ending = strrchr(name, '.'), *digits = ending;
    while (digits && digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (!digits || digits == ending || ending - digits > 9)
        return NULL;
    *pid = (pid_t)strtol(digits, NULL, 10);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t n = strlen(kinds[i].of);
        if (!strcmp(ending, kinds[i].ending) && (size_t)(digits - name) > n &&
            !memcmp(digits - n, kinds[i].of, n))
            return &kinds[i];
    }
    return NULL;
}

/* Is the process gone that had this number? One that has our own was before us: in a container each
 * run may be process 1. A file of one on another machine, or in another container, is held. */
static bool is_gone(pid_t pid)
{
    return pid == getpid() || (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH);
}

void place_clear(const char *path)
{
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) + 1 : 0;
    char folder[PATH_MAX], first[NAME_MAX + 1] = "";
    const struct dirent *entry;
    size_t n = 0;

    snprintf(folder, sizeof folder, "%.*s", slash ? length : 2, slash ? path : "./");
    DIR *all = opendir(folder);
    while (all && (entry = readdir(all))) {
        char there[PATH_MAX + NAME_MAX + 1];
        pid_t pid;
        const struct kind *kind = kind_of(entry->d_name, &pid);
        snprintf(there, sizeof there, "%s%s", folder, entry->d_name);
        if (kind && is_gone(pid) && document_clear(there, kind->begins, kind->n_begins) && n++ == 0)
            snprintf(first, sizeof first, "%s", entry->d_name);
    }
    if (all)
        closedir(all);
    if (n == 1)
        out_say("removed %s%s, which a run that was killed had left\n", folder, first);
    else if (n > 1)
        out_say("removed %s%s and %zu more, which runs that were killed had left\n", folder, first,
                n - 1);
}

/* --- a bundle's name -------------------------------------------------------------------------- */

static bool take_name(struct session *s, char why[DOCUMENT_WHY])
{
    const json_t *gpu = json_object_get(s->environment, "gpu");
    json_t *bundle = session_bundle(s, false);
    const bool written = place_write(s->path, bundle, s->options.output, s->started,
                                     document_get_text(gpu, "board", "host"), ".json", why);
    json_decref(bundle);
    return written && session_hold(s, why);
}

static bool start_raw(struct session *s, char why[DOCUMENT_WHY])
{
    size_t length = strlen(s->path);
    bool json = length > 5 && !strcmp(s->path + length - 5, ".json");

    if (snprintf(s->raw_path, sizeof s->raw_path, "%.*s.raw.tsv", (int)(length - (json ? 5 : 0)),
                 s->path) >= PATH_MAX)
        return refuse(why, s->path, "path too long");
    FILE *raw = fopen(s->raw_path, "wx");
    if (!raw) {
        refuse(why, s->raw_path, strerror(errno));
        s->raw_path[0] = '\0'; /* it is not ours */
        return false;
    }
    bool written = fputs("probe\tmetric\tcase\ttimer\tround\twork\tvalue\tloop\n", raw) >= 0;
    written = fclose(raw) == 0 && written;
    return written ? true : refuse(why, s->raw_path, strerror(errno));
}

bool session_place(struct session *s, char why[DOCUMENT_WHY])
{
    document_time(s->started, sizeof s->started);
    if (!take_name(s, why))
        return false;
    place_clear(s->path);
    if (!s->options.raw || start_raw(s, why))
        return true;
    session_let_go(s);
    return false;
}

/* The lock tells a run that goes on from one that was killed: it ends with its process. */
bool session_hold(struct session *s, char why[DOCUMENT_WHY])
{
    struct stat facts;
    int fd = open(s->path, O_RDWR | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &facts) != 0)
        return refuse(why, s->path, strerror(errno));
    bool other = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (s->held >= 0)
        close(s->held);
    s->held = fd;
    s->held_device = facts.st_dev;
    s->held_inode = facts.st_ino;
    return other ? refuse(why, s->path, "is held by a run that goes on") : true;
}

void session_let_go(struct session *s)
{
    struct stat facts;
    if (s->options.resumed) /* it is another run's */
        return;
    if (s->held >= 0 && s->raw_path[0])
        unlink(s->raw_path);
    if (s->held >= 0 && lstat(s->path, &facts) == 0 && facts.st_dev == s->held_device &&
        facts.st_ino == s->held_inode)
        unlink(s->path);
}
