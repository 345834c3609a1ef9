/* Life cycle of a probe: options, machine, measure(), document. main() of every probe is here. */
#include "core/draw.h"
#include "core/probe.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/run.h"
#include "core/version.h"

uint64_t probe_host_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- what a probe may say -------------------------------------------------------------------- */

_Noreturn static void leave(struct probe_run *r, int status, const char *format, va_list arguments)
{
    vsnprintf(r->why, sizeof r->why, format, arguments);
    r->exit_status = status;
    longjmp(*r->leave, 1);
}

void probe_skip(struct probe_run *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    leave(r, RUN_EXIT_SKIPPED, format, arguments);
}

void probe_fail(struct probe_run *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    leave(r, RUN_EXIT_FAILED, format, arguments);
}

void probe_usage(struct probe_run *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    leave(r, RUN_EXIT_USAGE, format, arguments);
}

bool probe_require(struct probe_run *r, bool ok, const char *format, ...)
{
    char what[200], line[640];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "%s%s%s", r->in_case ? r->keys : "", r->in_case ? ": " : "", what);
    r->n_passed += ok;
    if (!ok) {
        json_array_append_new(r->checks, json_pack("{s:s, s:b}", "what", line, "ok", 0));
        r->failed = true;
        fprintf(stderr, "%s: check failed: %s\n", probe.name, line);
    }
    return ok;
}

void probe_note(struct probe_run *r, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_array_append_new(r->notes, json_string(text));
}

void run_lost(struct probe_run *r, const char *line)
{
    const json_t *said;
    size_t i;
    json_array_foreach(r->lost, i, said)
        if (!strcmp(json_string_value(said), line))
            return;
    json_array_append_new(r->lost, json_string(line));
    fprintf(stderr, "%s: %s\n", probe.name, line);
}

/* --- what a probe may ask -------------------------------------------------------------------- */

static size_t parameter_index(const char *name)
{
    for (size_t i = 0; i < probe.n_parameters; i++)
        if (!strcmp(probe.parameters[i].name, name))
            return i;
    fprintf(stderr, "%s: harness: parameter '%s' is not in the table\n", probe.name, name);
    abort();
}

int64_t probe_parameter(const struct probe_run *r, const char *name)
{
    return r->options.parameters[parameter_index(name)];
}

bool probe_parameter_given(const struct probe_run *r, const char *name)
{
    return r->options.given[parameter_index(name)];
}

bool probe_has_gpu(const struct probe_run *r)
{
    return r->gpu != NULL;
}

bool probe_is_counted(const struct probe_run *r)
{
    return r->watch != NULL;
}

bool probe_is_check_run(const struct probe_run *r)
{
    return r->options.check;
}

bool probe_deep(const struct probe_run *r)
{
    return r->options.deep;
}

bool probe_energy(const struct probe_run *r)
{
    return r->options.energy;
}

bool probe_in_full(const struct probe_run *r)
{
    return r->options.check || r->options.round == 0;
}

uint64_t probe_seed(const struct probe_run *r)
{
    /* Neighbouring rounds must not draw neighbouring inputs. */
    return draw_mixed(r->options.seed + 0x9e3779b97f4a7c15u * (uint64_t)(r->options.round + 1));
}

double probe_tick_ns(const struct probe_run *r, const char *timer)
{
    if (!strcmp(timer, "wall"))
        return r->tick_wall_ns;
    return !strcmp(timer, "event") ? r->tick_event_ns : r->tick_device_ns;
}

void *probe_host_alloc(struct probe_run *r, size_t bytes)
{
    enum { PAGE = 4096, LARGE = 128 << 10 };
    void *memory = NULL;
    /* What was freed has no room for a request that must also be aligned: see heap_keep(). */
    if (bytes >= LARGE)
        memory = malloc(bytes);
    else if (posix_memalign(&memory, PAGE, bytes ? bytes : 1))
        memory = NULL;
    if (!memory)
        probe_fail(r, "out of host memory (%zu bytes)", bytes);
    return memory;
}

/* --- the run --------------------------------------------------------------------------------- */

/* Step and cost of the host clock: the smallest step in 2000 readings, and their mean cost. */
static void calibrate_host_clock(struct probe_run *r)
{
    enum { READINGS = 2000 };
    uint64_t first = probe_host_ns(), last = first, step = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t now = probe_host_ns();
        if (now > last && now - last < step)
            step = now - last;
        last = now;
    }
    struct timespec resolution;
    clock_getres(CLOCK_MONOTONIC, &resolution);
    r->cost_wall_ns = (double)(last - first) / READINGS;
    r->tick_wall_ns = step == UINT64_MAX ? (double)resolution.tv_nsec : (double)step;
}

static void measure(struct probe_run *r)
{
    const char *state = NULL;
    jmp_buf here;

    r->leave = &here;
    if (setjmp(here) == 0) {
        calibrate_host_clock(r);
        if (r->options.counters)
            counters_open(r);
        if (probe.needs != PROBE_HOST && !gpu_open(r, &state, r->gpu_why)) {
            r->gpu_state = state;
            if (probe.needs == PROBE_GPU)
                probe_skip(r, "no GPU: %s", r->gpu_why);
        }
        if (r->options.counters)
            counters_start(r);
        probe.measure(r);
        samples_close_case(r);
        if (r->options.only && r->n_cases == 0)
            probe_usage(r, "--case %s: no case has such keys", r->options.only);
        if (r->gpu)
            probe_require(r, gpu_guards_intact(r), "nothing was written outside any buffer");
        if (r->failed) {
            r->exit_status = RUN_EXIT_FAILED;
            snprintf(r->why, sizeof r->why, "a check failed");
        }
    }
    r->in_case = false;
}

static json_t *timers_object(const struct probe_run *r)
{
    return json_pack("{s:{s:o, s:o}, s:{s:o}, s:{s:o}}", "wall", "step_ns",
                     document_number(r->tick_wall_ns), "cost_ns", document_number(r->cost_wall_ns),
                     "device", "step_ns", document_number(r->tick_device_ns), "event", "step_ns",
                     document_number(r->tick_event_ns));
}

static json_t *run_document(struct probe_run *r, const char *started, double elapsed_s)
{
    static const char *const words[] = {"ok", "failed"};
    const char *status =
        r->exit_status == RUN_EXIT_SKIPPED ? "skipped" : words[r->exit_status != 0];
    json_t *document =
        json_pack("{s:s, s:i, s:{s:s, s:i, s:s, s:s*}, s:s}", "schema", "run", "schema_version",
                  DOCUMENT_SCHEMA_VERSION, "probe", "name", probe.name, "method", probe.method,
                  "what", probe.what, "draft", probe.draft, "status", status);
    if (r->why[0])
        json_object_set_new(document, "why", json_string(r->why));
    if (r->gpu_state)
        json_object_set_new(document, "gpu_state", json_string(r->gpu_state));
    if (r->gpu_why[0])
        json_object_set_new(document, "gpu_why", json_string(r->gpu_why));
    json_object_set_new(document, "run",
                        json_pack("{s:i, s:i, s:I, s:s, s:f, s:b, s:b}", "round", r->options.round,
                                  "rounds", r->options.rounds, "seed", (json_int_t)r->options.seed,
                                  "started", started, "elapsed_s", elapsed_s, "check",
                                  r->options.check, "deep", r->options.deep));
    json_object_set(document, "environment", r->environment);
    json_object_set(document, "cubins", r->cubins);
    json_object_set_new(document, "timers", timers_object(r));
    if (r->counters)
        json_object_set(document, "counters", r->counters);
    if (json_object_size(r->metrics) > 0)
        json_object_set(document, "metrics", r->metrics);
    json_object_set(document, "cases", r->cases);
    json_object_set_new(document, "checks_passed", json_integer(r->n_passed));
    json_object_set(document, "checks", r->checks);
    json_object_set(document, "notes", r->notes);
    if (json_array_size(r->lost) > 0)
        json_object_set(document, "lost", r->lost);
    return document;
}

/* Has everything reached stdout? A full disk or a closed pipe shows only when it is flushed. Asked
 * at every exit, that of --help included. */
static void check_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    fprintf(stderr, "%s: stdout: not written in full\n", probe.name);
    _exit(RUN_EXIT_FAILED);
}

static bool open_raw(struct probe_run *r)
{
    if (r->options.raw && !(r->raw = fopen(r->options.raw, "a"))) {
        fprintf(stderr, "%s: --raw %s: cannot be written\n", probe.name, r->options.raw);
        return false;
    }
    return true;
}

/* The one line on stderr for a person, whatever stdout carries. */
static void say_outcome(const struct probe_run *r)
{
    if (r->exit_status == RUN_EXIT_SKIPPED)
        fprintf(stderr, "%s: skipped: %s\n", probe.name, r->why);
    else if (r->why[0])
        fprintf(stderr, "%s: %s\n", probe.name, r->why);
}

int main(int argc, char **argv)
{
    struct probe_run run = {.tick_device_ns = NAN, .tick_event_ns = NAN}, *r = &run;
    char started[24];

    atexit(check_stdout);
    options_read(&r->options, argc, argv);
    if (r->options.list) {
        options_list(stdout, r->options.json);
        return RUN_EXIT_OK;
    }
    if (!open_raw(r))
        return RUN_EXIT_USAGE;
    r->series = calloc(probe.n_metrics + 1, sizeof *r->series);
    r->cases = json_array();
    r->facts = json_object();
    r->metrics = json_object();
    r->checks = json_array();
    r->notes = json_array();
    r->lost = json_array();
    r->cubins = json_object();
    r->environment = environment_host();
    document_time(started, sizeof started);

    uint64_t t0 = probe_host_ns();
    measure(r);
    counters_close(r);
    json_t *document = run_document(r, started, (double)(probe_host_ns() - t0) / 1e9);
    if (r->raw && fclose(r->raw) != 0) {
        fprintf(stderr, "%s: --raw %s: not written in full\n", probe.name, r->options.raw);
        r->exit_status = RUN_EXIT_FAILED;
    }

    say_outcome(r);
    if (r->exit_status == RUN_EXIT_USAGE) {
        gpu_close(r); /* nothing was measured: nothing on stdout */
        return r->exit_status;
    }
    if (r->options.json) {
        json_dumpf(document, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
        fputc('\n', stdout);
    } else {
        show_run(stdout, document);
    }
    gpu_close(r);
    return r->exit_status;
}
