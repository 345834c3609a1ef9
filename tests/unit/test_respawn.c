/* probe_respawn(): a program that runs itself and hears how it ended. Started with arguments, this
 * test is the child. */
#include "tests/unit/check.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/run.h"

const struct probe probe = {.name = "made_up"};

uint64_t probe_host_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void probe_fail(struct probe_run *r, const char *format, ...)
{
    (void)r;
    fail_msg("%s", format);
    abort();
}

enum { SAYS = 1, IS_SILENT, DIES, STAYS, TALKS_AND_STAYS };

static int child(char **argv)
{
    if (strcmp(argv[1], "--device") || strcmp(argv[2], "3") || strcmp(argv[3], "--set"))
        return 99;
    switch (atoi(strchr(argv[4], '=') + 1)) {
    case SAYS:
        puts("not heard");
        fputs("first line\nsecond: ", stderr);
        fflush(stderr);
        fputs("line\n", stderr);
        return 5;
    case IS_SILENT: return 0;
    case DIES: raise(SIGKILL); return 1;
    case TALKS_AND_STAYS: fputs("here\n", stderr); /* fall through */
    default: sleep(60); return 0;
    }
}

static struct probe_run run = {.options = {.device = 3}};
static char said[16];

static int again(int what, int limit_ms)
{
    strcpy(said, "before");
    return probe_respawn(&run, "what", what, limit_ms, said, sizeof said);
}

static void ends_by_itself(void **unused)
{
    (void)unused;
    assert_int_equal(again(SAYS, 20000), 5);
    assert_string_equal(said, "second: line");
    assert_int_equal(again(IS_SILENT, 20000), 0);
    assert_string_equal(said, "");
}

static void dies_of_a_signal(void **unused)
{
    (void)unused;
    assert_int_equal(again(DIES, 20000), -2);
}

static void is_killed_in_time(void **unused)
{
    (void)unused;
    uint64_t began = probe_host_ns();
    assert_int_equal(again(STAYS, 50), -1);
    assert_int_equal(again(TALKS_AND_STAYS, 200), -1);
    assert_string_equal(said, "here");
    assert_true(probe_host_ns() - began < 10000000000u);
}

/* The process that respawned is killed; a pipe that its child holds then ends, too. */
static void child_dies_with_its_parent(void **unused)
{
    int held[2];
    char nothing;
    (void)unused;
    assert_int_equal(pipe(held), 0);
    pid_t parent = fork();
    if (parent == 0) {
        close(held[0]);
        _exit(again(STAYS, 60000));
    }
    close(held[1]);
    usleep(300000); /* the child has started */
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    struct pollfd ended = {.fd = held[0], .events = POLLIN};
    assert_int_equal(poll(&ended, 1, 10000), 1);
    assert_int_equal(read(held[0], &nothing, 1), 0);
    close(held[0]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_by_itself),
        cmocka_unit_test(dies_of_a_signal),
        cmocka_unit_test(is_killed_in_time),
        cmocka_unit_test(child_dies_with_its_parent),
    };
    if (argc > 1)
        return child(argv);
    return cmocka_run_group_tests_name("again", tests, NULL, NULL);
}
