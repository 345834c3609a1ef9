/* The folder in which attempts happen: a tree of its own, so that the program finds small committed
 * results and stand-in probes beside itself.
 *
 *     build/bin/gpufloor       this fuzzer; /proc/self/exe says where a program is
 *     build/bin/probes/        stand-ins: NAME.list and NAME.run are what each prints
 *     results/BOARD/           committed results
 *     work/                    inputs, and the current folder of every attempt */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beside work/. */
static const char *const targets[N_KINDS] = {
    [KIND_BUNDLE] = "work/m.json",
    [KIND_COUNTERS] = "work/k.json",
    [KIND_PART] = "work/part.json",
    [KIND_RUN] = "build/bin/probes/good.run",
    [KIND_LIST] = "build/bin/probes/good.list",
    [KIND_RAW] = "work/part.raw.tsv",
};

static const char standin[] = "#!/bin/sh\n"
                              "case \" $* \" in *' --list '*) exec cat \"$0.list\" ;; esac\n"
                              "exec cat \"$0.run\"\n";

static char root[PATH_MAX];

static void write_file(const char *name, const char *bytes, size_t size, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, mode);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        fuzz_quit("%s/%s cannot be written", root, name);
    close(fd);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text), 0644);
}

void place_mutant(enum kind kind, const char *bytes, size_t size)
{
    char path[PATH_MAX + 40];
    snprintf(path, sizeof path, "%s/%s", root, targets[kind]);
    write_file(path, bytes, size, 0644);
}

void place_original(const struct bytes *bytes)
{
    write_file("o.json", bytes->at, bytes->size, 0644);
}

static int take_away(const char *path, const struct stat *facts, int kind, struct FTW *at)
{
    (void)facts;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

static void remove_all(const char *path)
{
    nftw(path, take_away, 16, FTW_DEPTH | FTW_PHYS);
}

static void seed(const char *name, enum kind kind, size_t number)
{
    const struct bytes bytes = seeds_at(kind, number);
    write_file(name, bytes.at, bytes.size, 0644);
}

static void make(const char *const folders[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        mkdir(folders[i], 0755);
}

/* Files that hold no bundle, and names that lead to none. */
static void put_bad(void)
{
    write_text("empty.json", "");
    write_text("not.json", "no JSON at all\n\033[31m");
    write_text("cut.json", "{\"schema\":\"bundle\",\"schema_version\":1,\"env");
    write_text("newer.json",
               "{\"schema\":\"bundle\",\"schema_version\":9,\"environment\":{},\"runs\":[]}");
    write_text("bytes\xff\xc3.json", "\xff\xfe{}");
    write_text("unreadable.json", "{}");
    if (chmod("unreadable.json", 0) || symlink("nowhere.json", "broken.json") ||
        symlink("loop.json", "loop.json") || symlink("/dev/null", "null.json") ||
        symlink("/proc/self/mem", "memory.json") || mkfifo("fifo.json", 0644))
        fuzz_quit("%s/work cannot be filled", root);
}

/* Writes a document of the stand-in "good" as that of another, whose name is as long. */
static void put_said(const char *name, const char *ending, enum kind kind)
{
    static const char good[] = "\"good\"";
    const struct bytes bytes = seeds_at(kind, 0);
    char path[80], *said = strndup(bytes.at, bytes.size), *at = said ? strstr(said, good) : NULL;

    if (at)
        memcpy(at + 1, name, strlen(good) - 2);
    snprintf(path, sizeof path, "build/bin/probes/%s.%s", name, ending);
    write_text(path, said ? said : "");
    free(said);
}

static void put_standin(const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "build/bin/probes/%s", name);
    write_file(path, standin, strlen(standin), 0755);
    put_said(name, "list", KIND_LIST);
    put_said(name, "run", KIND_RUN);
}

void place_fill(void)
{
    static const char *const folders[] = {"work",
                                          "work/folder",
                                          "work/folder/counters",
                                          "work/folder/nested",
                                          "work/bad",
                                          "work/bad/folder.json",
                                          "work/empty",
                                          "work/folder.json",
                                          "work/nested",
                                          "work/nested/folder",
                                          "results",
                                          "results/nvidia-h200",
                                          "results/nvidia-h200/counters",
                                          "results/nvidia-h100-80gb-hbm3",
                                          "build",
                                          "build/bin",
                                          "build/bin/probes"};
    if (chdir(root))
        fuzz_quit("%s is gone", root);
    remove_all("work");
    remove_all("results");
    remove_all("build/run");
    make(folders, sizeof folders / sizeof folders[0]);
    put_standin("null");
    put_standin("good");
    seed("results/nvidia-h200/a.json", KIND_BUNDLE, 3);
    seed("results/nvidia-h200/b.json", KIND_BUNDLE, 4);
    seed("results/nvidia-h200/counters/c.json", KIND_COUNTERS, 1);
    seed("results/nvidia-h100-80gb-hbm3/a.json", KIND_BUNDLE, 5);
    if (symlink("../results", "work/results") || chdir("work"))
        fuzz_quit("%s/work cannot be filled", root);
    seed("a.json", KIND_BUNDLE, 1);
    seed("b.json", KIND_BUNDLE, 2);
    seed("c.json", KIND_COUNTERS, 2);
    seed("k.json", KIND_COUNTERS, 3);
    seed("m.json", KIND_BUNDLE, 6);
    seed("o.json", KIND_BUNDLE, 6);
    seed("part.json", KIND_PART, 0);
    seed("part.raw.tsv", KIND_RAW, 0);
    seed("bad/a.json", KIND_BUNDLE, 8);
    seed("nested/folder/a.json", KIND_BUNDLE, 9);
    put_bad();
    write_file("peer.sh", standin, strlen(standin), 0755);
    write_text("peer.sh.list", "{\"name\":\"peer\",\"needs\":\"host\",\"method\":1}");
    seed("peer.sh.run", KIND_RUN, 0); /* another probe's document */
    if (symlink("../m.json", "folder/m.json") || symlink("../o.json", "folder/o.json") ||
        symlink("../../k.json", "folder/counters/k.json") ||
        symlink("nowhere", "bad/broken.json") || mkfifo("bad/fifo.json", 0644) ||
        symlink("nvidia-h100-80gb-hbm3", "results/other"))
        fuzz_quit("%s/work cannot be filled", root);
}

/* Waits for a program that is only needed here. */
static bool ran(char *const words[])
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(words[0], words);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void make_below(const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mkdir(path, 0755);
}

void place_save(const char *folder)
{
    static const char *const made[] = {"", "build", "build/bin"};
    static const char *const parts[][2] = {
        {"work", "."}, {"results", "."}, {"build/bin/probes", "build/bin"}};
    char path[2 * PATH_MAX], from[2 * PATH_MAX];

    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        make_below(folder, made[i]);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *words[] = {"cp", "-a", from, path, NULL};
        snprintf(from, sizeof from, "%s/%s", root, parts[i][0]);
        snprintf(path, sizeof path, "%s/%s", folder, parts[i][1]);
        if (!ran(words))
            return;
    }
    snprintf(path, sizeof path, "%s/words", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (size_t i = 0; fd >= 0 && i < fuzz->now.n_words; i++)
        if (write(fd, fuzz->now.words[i], strlen(fuzz->now.words[i]) + 1) < 0)
            break;
    if (fd >= 0)
        close(fd);
}

/* --- a place of its own ----------------------------------------------------------------------- */

void place_at(const char *folder)
{
    snprintf(root, sizeof root, "%s", folder);
}

/* A folder in memory, where programs may be started. */
static bool is_fast(const char *folder)
{
    struct statvfs facts;
    return access(folder, W_OK | X_OK) == 0 && statvfs(folder, &facts) == 0 &&
           !(facts.f_flag & ST_NOEXEC) && facts.f_bavail * facts.f_frsize > 512ull << 20;
}

/* Runs this program once more, as the one in the new folder. */
int place_run(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !*tmp) /* an attempt's tree is made often */
        tmp = is_fast("/dev/shm") ? "/dev/shm" : "/tmp";
    char self[PATH_MAX + 40], **words = calloc((size_t)argc + 3, sizeof *words);
    int status = 1;

    snprintf(root, sizeof root, "%s/gpufloor fuzz.XXXXXX", tmp);
    if (!words || !mkdtemp(root))
        fuzz_quit("%s cannot be made", root);
    snprintf(self, sizeof self, "%s/build/bin/gpufloor", root);
    make_below(root, "build");
    make_below(root, "build/bin");
    char own[PATH_MAX], *copy[] = {"cp", own, self, NULL};
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = '\0';
    if (!ran(copy))
        fuzz_quit("%s cannot be written", self);
    words[0] = self;
    words[1] = "--root";
    words[2] = root;
    memcpy(words + 3, argv + 1, (size_t)argc * sizeof *words);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(self, words);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        ;
    remove_all(root);
    free(words);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
