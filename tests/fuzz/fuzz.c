/* Fuzzes gpufloor: every command, every option, everything that is read. Whatever it is given, it
 * must end by itself with a status of its own and one clear line.
 *
 *     fuzz [--seed N] [--seconds S] [--mutants N] [--lines N] [--findings DIR] [--except CLASS,...]
 *          [--first] [--unreached FILE] FILE...
 *     fuzz --command WORD...
 *
 * The program is linked in and built with AddressSanitizer and UndefinedBehaviorSanitizer. A child
 * makes many attempts, as most return; one that ends the process costs a fork, and one that dies is
 * a finding. Half of the mutants are bytes of a document changed at random, which tests the parser;
 * half are parsed documents whose values, keys and lengths are changed, which get past it. A mutant
 * that reaches a block of code that none had reached is kept, and changed further.
 *
 * All follows from the seed, and the numbers of mutants and lines. With --seconds it ends sooner,
 * and fails if it came as good as nowhere by then. A finding's inputs are kept in
 * DIR/SEED-INDEX-CLASS, its command line in `words` there, so that it can be repeated alone:
 *
 *     cp build/tests/fuzz DIR/SEED-INDEX-CLASS/build/bin/gpufloor
 *     cd DIR/SEED-INDEX-CLASS/work
 *     xargs -0 -a ../words sh -c '../build/bin/gpufloor --command "$@"' <m.json
 *
 * ASAN_OPTIONS=malloc_context_size=20 then says who took the memory, which takes time here. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/draw.h"
#include "report/cli/memory.h"

enum { BATCH = 300, SECONDS_CPU = 10, SECONDS_WALL = 90, HELD_MAX = 1 << 22 };
enum { EXIT_BATCH = 120, EXIT_ENDED = 121, EXIT_SANITIZER = 99 };

int gpufloor_main(int argc, char **argv); /* main() of report/cli/main.c */
error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *next,
                          void *input);
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *next,
                          void *input);
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

struct shared *fuzz;
static int held[2] = {-1, -1}; /* what the attempt prints: memory with a descriptor */
static char out[HELD_MAX + 1], said[HELD_MAX + 1];

static struct asked {
    size_t seconds, mutants, lines;
    bool first; /* stop at the first finding */
    const char *findings, *except, *root, *unreached;
} asked = {.findings = "build/tests/findings"};

const char *__asan_default_options(void)
{
    return "exitcode=99:detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024:"
           "quarantine_size_mb=8:malloc_context_size=1:detect_stack_use_after_return=0";
}

const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1:exitcode=99";
}

void fuzz_quit(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("fuzz: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

/* --- one attempt ------------------------------------------------------------------------------ */

/* A command hands its options to argp: that is how they are known. */
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *next,
                          void *input)
{
    if (fuzz && fuzz->looking) {
        fuzz->commands[fuzz->n_commands].options = argp->options;
        _exit(EXIT_ENDED);
    }
    return __real_argp_parse(argp, argc, argv, flags, next, input);
}

/* report/cli/memory.c catches allocations, which the sanitizers do here. */
void memory_hold_stdout(void)
{
}

static size_t held_text(int descriptor, char *text)
{
    ssize_t n = pread(descriptor, text, HELD_MAX, 0);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static void let_run(bool running)
{
    const struct itimerval limit = {.it_value = {.tv_sec = running ? SECONDS_CPU : 0}};
    setitimer(ITIMER_PROF, &limit, NULL); /* the signal ends the child */
    alarm(running ? SECONDS_WALL : 0);
    fuzz->running = running;
}

/* After an attempt that ended with a status, by return or by exit(). */
static void ended(int status)
{
    struct attempt *a = &fuzz->now;
    let_run(false);
    fflush(stdout);
    fflush(stderr);
    const size_t n_out = held_text(held[0], out), n_said = held_text(held[1], said);
    fuzz->n_status[status >= 0 && status < 3 ? status : 3]++;
    judge_status(a, status, out, n_out, said, n_said);
    if (fuzz->fresh > 0 && !a->is_line && !a->spawns && a->parsed)
        seeds_keep(a->kind, a->mutant, a->n_mutant);
}

static void on_exit_of(int status, void *unused)
{
    (void)unused;
    if (!fuzz->running)
        return;
    ended(status);
    _exit(EXIT_ENDED);
}

static void take_input(void)
{
    int descriptor = open("m.json", O_RDONLY);
    if (descriptor > 0) {
        dup2(descriptor, STDIN_FILENO);
        close(descriptor);
    }
    __fpurge(stdin);
    clearerr(stdin);
}

static void run_words(void)
{
    struct attempt *a = &fuzz->now;
    char *argv[WORDS_MAX + 1];

    memcpy(argv, a->words, sizeof argv); /* argp sorts them */
    for (int i = 0; i < 2; i++)
        if (ftruncate(held[i], 0) != 0 || lseek(held[i], 0, SEEK_SET) != 0)
            _exit(EXIT_BATCH);
    fuzz->fresh = 0;
    take_input();
    let_run(true);
    ended(gpufloor_main((int)a->n_words, argv));
}

static void make_mutant(struct attempt *a, uint64_t *state)
{
    words_mutant(a, state);
    const struct bytes from = seeds_pick(a->kind, state), other = seeds_pick(a->kind, state);
    a->structured = draw_below(state, 2) == 0;
    a->n_mutant = a->structured ? mutate_document(a->mutant, MUTANT_MAX, &from, &other, state)
                                : mutate_bytes(a->mutant, MUTANT_MAX, &from, state);
    bool alike;
    a->fits = seeds_valid(a->kind, a->mutant, a->n_mutant, &a->parsed, &alike);
    place_mutant(a->kind, a->mutant, a->n_mutant);
    if (a->kind == KIND_BUNDLE)
        place_original(&from);
    if (!alike)
        judge_readers(a);
    fuzz->n_mutants++;
    fuzz->n_structured += a->structured;
    fuzz->n_parsed += a->parsed;
    fuzz->n_fit += a->fits;
}

static void attempt(void)
{
    struct attempt *a = &fuzz->now;
    const bool refill = a->writes || a->spawns;
    uint64_t state = draw_mixed(fuzz->seed ^ draw_mixed(fuzz->index++));

    if (refill)
        place_fill();
    a->is_line = draw_below(&state, asked.mutants + asked.lines) < asked.lines;
    if (a->is_line) {
        words_line(a, &state);
        fuzz->n_lines++;
    } else {
        make_mutant(a, &state);
    }
    run_words();
}

/* --- children --------------------------------------------------------------------------------- */

static bool is_over(time_t end)
{
    return fuzz->index >= asked.mutants + asked.lines || (end && time(NULL) >= end) ||
           fuzz->n_findings == (asked.first ? 1 : FINDINGS_MAX);
}

_Noreturn static void batch(time_t end)
{
    dup2(held[0], STDOUT_FILENO);
    dup2(held[1], STDERR_FILENO);
    on_exit(on_exit_of, NULL);
    fuzz->now.writes = true; /* the batch before may have died half-way */
    for (size_t i = 0; i < BATCH && !is_over(end); i++)
        attempt();
    _exit(EXIT_BATCH);
}

static void judge_child(int status)
{
    const bool running = fuzz->running;
    fuzz->running = false;
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == EXIT_BATCH || WEXITSTATUS(status) == EXIT_ENDED))
        return;
    const size_t n_out = held_text(held[0], out), n_said = held_text(held[1], said);
    if (!running)
        fuzz_quit("broke by itself (status %d): %.3000s", status, said);
    if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_SANITIZER) /* it called _exit() */
        judge_status(&fuzz->now, WEXITSTATUS(status), out, n_out, said, n_said);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        judge_death(&fuzz->now, "hang", "hang: more than 10 s of processor time");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        judge_death(&fuzz->now, "hang", "hang: waited for more than 90 s");
    else
        judge_death(&fuzz->now, "crash", said);
}

static int run_child(void (*child)(time_t), time_t end)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        child(end);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        fuzz_quit("no child can be started");
    fuzz->n_forks++;
    return status;
}

/* --- the program's commands ------------------------------------------------------------------- */

static const char *looked_at; /* NULL: the list of commands */

static void look(time_t end)
{
    (void)end;
    char program[] = "gpufloor", help[] = "--help", name[32];
    char *argv[] = {program, help, NULL};
    dup2(held[0], STDOUT_FILENO);
    if (looked_at) {
        snprintf(name, sizeof name, "%s", looked_at);
        argv[1] = name;
        fuzz->looking = true;
    }
    exit(gpufloor_main(2, argv));
}

void words_look(void)
{
    char *line, *rest = out;

    looked_at = NULL;
    run_child(look, 0);
    held_text(held[0], out);
    bool listed = false;
    while ((line = strsep(&rest, "\n")) && fuzz->n_commands < COMMANDS_MAX) {
        struct command *command = &fuzz->commands[fuzz->n_commands];
        if (!strcmp(line, "Commands:"))
            listed = true;
        else if (!*line)
            listed = false;
        else if (listed && *line == ' ' && sscanf(line, "  %31[a-z_-] ", command->name) == 1) {
            looked_at = command->name;
            run_child(look, 0);
            fuzz->looking = false;
            fuzz->n_commands++;
        }
    }
    if (fuzz->n_commands < 2)
        fuzz_quit("gpufloor --help names no commands");
}

/* --- the campaign ----------------------------------------------------------------------------- */

static double share(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* A small part of what the slowest machine reaches: with less, something is wrong with the
 * fuzzer. */
enum { MUTANTS_PER_SECOND = 2, PARSED_ONE_IN = 4, MUTANTS_PER_LINE = 200 };

static bool came_nowhere(void)
{
    return fuzz->n_mutants < MUTANTS_PER_SECOND * asked.seconds ||
           fuzz->n_parsed < fuzz->n_mutants / PARSED_ONE_IN ||
           fuzz->n_lines < fuzz->n_mutants / MUTANTS_PER_LINE;
}

/* All was tried: half of the mutants must be past the parser. */
static bool got_stuck(void)
{
    return 2 * fuzz->n_parsed < fuzz->n_mutants;
}

static int report(double seconds)
{
    const bool tried_all = fuzz->index >= asked.mutants + asked.lines;
    const bool poor = fuzz->n_findings == 0 && (tried_all ? got_stuck() : came_nowhere());

    printf("seed %llu: %llu attempts in %.0f s, %zu forks: %zu mutants, %zu command lines; %zu "
           "commands; "
           "statuses: %zu x 0, %zu x 1, %zu x 2, %zu others\n",
           (unsigned long long)fuzz->seed, (unsigned long long)fuzz->index, seconds, fuzz->n_forks,
           fuzz->n_mutants, fuzz->n_lines, fuzz->n_commands, fuzz->n_status[0], fuzz->n_status[1],
           fuzz->n_status[2], fuzz->n_status[3]);
    printf("mutants of parsed documents: %zu; past the parser: %zu (%.0f %%), past the schema "
           "check: %zu (%.0f %%)\n",
           fuzz->n_structured, fuzz->n_parsed, share(fuzz->n_parsed, fuzz->n_mutants), fuzz->n_fit,
           share(fuzz->n_fit, fuzz->n_mutants));
    const size_t reached = cover_reached(), all = cover_all();
    printf(
        "blocks of report/ and of what it uses of core/ reached: %zu of %zu (%.0f %%); %zu seeds, "
        "%zu mutants kept\n",
        reached, all, share(reached, all), fuzz->n_seeds, fuzz->n_kept - fuzz->n_seeds);
    if (asked.unreached)
        cover_write(asked.unreached);
    for (size_t i = 0; i < fuzz->n_findings; i++) {
        const struct defect *f = &fuzz->findings[i];
        printf("FAIL %s %s, %zu times, first: %s/%llu-%llu-%s\n", f->class, f->command, f->times,
               asked.findings, (unsigned long long)fuzz->seed, (unsigned long long)f->index,
               f->class);
        printf("    %.1000s\n", f->what);
    }
    printf("%zu findings\n", fuzz->n_findings);
    printf("says: %zu mutants, %.0f %% past the parser, %zu command lines\n", fuzz->n_mutants,
           share(fuzz->n_parsed, fuzz->n_mutants), fuzz->n_lines);
    if (poor)
        printf("FAIL too little was tried: at least %zu mutants, a quarter past the parser (half, "
               "when all "
               "are tried), and one command line in %d\n",
               MUTANTS_PER_SECOND * asked.seconds, MUTANTS_PER_LINE);
    return poor || fuzz->n_findings > 0 || (fuzz->n_mutants > 0 && fuzz->n_fit == 0);
}

static char **seed_files;
static size_t n_seed_files;

/* A child of its own: what large files leave in memory would make every fork slow. */
static void cut_seeds(time_t end)
{
    uint64_t state = 1; /* the same seeds, whatever the seed */
    (void)end;
    for (size_t i = 0; i < n_seed_files; i++)
        seeds_cut(seed_files[i], &state);
    seeds_made();
    exit(0);
}

/* Attempts happen elsewhere: names are made whole. */
static const char *from_here(char *path, size_t size, const char *here, const char *name)
{
    snprintf(path, size, "%s%s%s", *name == '/' ? "" : here, *name == '/' ? "" : "/", name);
    return path;
}

static int campaign(char **files, size_t n)
{
    char here[PATH_MAX], findings[2 * PATH_MAX], unreached[2 * PATH_MAX];

    if (!realpath(".", here))
        fuzz_quit("no current folder");
    asked.findings = from_here(findings, sizeof findings, here, asked.findings);
    if (asked.unreached)
        asked.unreached = from_here(unreached, sizeof unreached, here, asked.unreached);
    seed_files = files;
    n_seed_files = n;
    run_child(cut_seeds, 0);
    if (fuzz->n_seeds == 0)
        fuzz_quit("no seeds");
    place_at(asked.root);
    place_fill();
    judge_open(asked.findings, asked.except);
    cover_open();
    for (size_t i = 0; i < 2; i++)
        held[i] = memfd_create(i ? "stderr" : "stdout", 0);
    words_look();
    fprintf(stderr, "fuzz: seed %llu\n", (unsigned long long)fuzz->seed);
    const time_t began = time(NULL);
    const time_t end = asked.seconds ? began + (time_t)asked.seconds : 0;
    while (!is_over(end))
        judge_child(run_child(batch, end));
    return report(difftime(time(NULL), began));
}

static size_t whole_number(const char *text)
{
    char *end = NULL;
    const unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end)
        fuzz_quit("'%s': expected a whole number", text);
    return (size_t)value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"seed", 1, NULL, 's'},     {"seconds", 1, NULL, 't'},
                                            {"mutants", 1, NULL, 'm'},  {"lines", 1, NULL, 'l'},
                                            {"findings", 1, NULL, 'f'}, {"except", 1, NULL, 'x'},
                                            {"first", 0, NULL, '1'},    {"unreached", 1, NULL, 'u'},
                                            {"root", 1, NULL, 'r'},     {NULL, 0, NULL, 0}};
    int option;

    if (argc > 1 && !strcmp(argv[1], "--command")) {
        argv[1] = argv[0];
        return gpufloor_main(argc - 1, argv + 1);
    }
    fuzz = mmap(NULL, sizeof *fuzz, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fuzz == MAP_FAILED)
        fuzz_quit("no memory");
    asked.mutants = 200000;
    asked.lines = 10000;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (option) {
        case 's': fuzz->seed = whole_number(optarg); break;
        case 't': asked.seconds = whole_number(optarg); break;
        case 'm': asked.mutants = whole_number(optarg); break;
        case 'l': asked.lines = whole_number(optarg); break;
        case 'f': asked.findings = optarg; break;
        case '1': asked.first = true; break;
        case 'x': asked.except = optarg; break;
        case 'u': asked.unreached = optarg; break;
        case 'r': asked.root = optarg; break;
        default: return 2;
        }
    if (optind == argc || asked.mutants + asked.lines == 0)
        fuzz_quit("expected files: bundles and documents of counters");
    return asked.root ? campaign(argv + optind, (size_t)(argc - optind)) : place_run(argc, argv);
}
