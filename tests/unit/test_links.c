/* Messages between the ranks of a program of links/: whole ones arrive, and a rank that dies, that
 * stops in the middle or that is silent is told apart, in time. The other rank is a process as
 * respawn_start() makes it. Started with arguments, this test is that process. */
#include "tests/unit/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/respawn.h"
#include "core/run.h"
#include "links/common/wire.h"
#include "links/peer_memory/sizes.h"

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

static uint64_t in_ms(int ms)
{
    return probe_host_ns() + (uint64_t)ms * 1000000;
}

/* --- the other rank --------------------------------------------------------------------------- */

enum { ECHOES = 1, DIES, STOPS_IN_HEAD, STOPS_BEHIND_HEAD, STOPS_IN_BODY,
       IS_SILENT, BABBLES, IS_ANOTHERS, SAYS_LESS, DRIPS };

struct order {
    uint32_t kind, number;
};

static void say_raw(const void *bytes, size_t n)
{
    if (write(RESPAWN_GIVEN, bytes, n) != (ssize_t)n)
        _exit(98);
}

static void echo(void)
{
    static char data[300000];
    struct order order;
    size_t came;
    while (wire_receive_upto(RESPAWN_GIVEN, &order, sizeof order, data, sizeof data, &came,
                             in_ms(20000)) == WIRE_OK) {
        order.number++;
        wire_send(RESPAWN_GIVEN, &order, sizeof order, data, came, in_ms(20000));
    }
    fputs("made_up: rank 0 left\n", stderr);
}

/* A message of 8 bytes, byte by byte. */
static void drip(void)
{
    const uint32_t message[] = {0x6c696e6b, 0, 8, 0, 1, 2};
    for (size_t i = 0; i < sizeof message; i++) {
        say_raw((const char *)message + i, 1);
        usleep(1000);
    }
}

static int child(int what)
{
    const uint32_t head[] = {0x6c696e6b, 0, 8, 0}, order[] = {1, 2};
    switch (what) {
    case ECHOES: echo(); return 7;
    case DIES: raise(SIGKILL); return 1;
    case STOPS_IN_HEAD: say_raw(head, 5); return 3;
    case STOPS_BEHIND_HEAD: say_raw(head, sizeof head); return 3;
    case STOPS_IN_BODY: say_raw(head, sizeof head), say_raw(order, 4); return 3;
    case IS_SILENT: sleep(60); return 0;
    case BABBLES: say_raw("sixteen letters!", 16), sleep(60); return 0;
    case IS_ANOTHERS: say_raw((uint32_t[]){0x6b6e696c, 0, 8, 0, 1, 2}, 24), sleep(60); return 0;
    case SAYS_LESS: say_raw((uint32_t[]){0x6c696e6b, 0, 4, 0}, 16), sleep(60); return 0;
    case DRIPS: drip(); return 0;
    default: return 99;
    }
}

/* --- this one --------------------------------------------------------------------------------- */

static struct probe_run run;

static struct respawned start(int what, int *wire)
{
    char set[16];
    char *argv[] = {(char *)(uintptr_t)"made_up", set, NULL};
    int ends[2];

    snprintf(set, sizeof set, "%d", what);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct respawned there = respawn_start(&run, argv, ends[1]);
    close(ends[1]);
    *wire = ends[0];
    return there;
}

/* What the first answer of such a rank is, and how the rank ends. */
static enum wire first_answer(int what, int limit_ms, int *status)
{
    struct order order = {0};
    char said[64];
    int wire;
    const struct respawned there = start(what, &wire);
    const enum wire how = wire_receive(wire, &order, sizeof order, NULL, 0, in_ms(limit_ms));

    if (how == WIRE_OK)
        assert_int_equal(order.number, 2);
    *status = respawn_end(there, how == WIRE_LATE || how == WIRE_FOREIGN ? 0 : 20000, said,
                          sizeof said);
    close(wire);
    return how;
}

static void messages_arrive_whole(void **unused)
{
    static char out[300000], in[300000];
    struct order order = {5, 6};
    char said[64];
    int wire;
    (void)unused;
    const struct respawned there = start(ECHOES, &wire);

    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (char)(i * 7 + i / 251);
    for (size_t n = 0; n <= sizeof out; n = 2 * n + 1) {
        const struct order sent = order;
        size_t came = 0;
        memset(in, 0, sizeof in);
        assert_int_equal(wire_send(wire, &order, sizeof order, out, n, in_ms(20000)), WIRE_OK);
        assert_int_equal(wire_receive_upto(wire, &order, sizeof order, in, sizeof in, &came,
                                           in_ms(20000)),
                         WIRE_OK);
        assert_int_equal(came, n);
        assert_int_equal(order.number, sent.number + 1);
        assert_memory_equal(in, out, n);
    }
    close(wire); /* the rank notices, and says so */
    assert_int_equal(respawn_end(there, 20000, said, sizeof said), 7);
    assert_string_equal(said, "made_up: rank 0 left");
}

static void a_rank_dies(void **unused)
{
    int status;
    (void)unused;
    assert_int_equal(first_answer(DIES, 20000, &status), WIRE_ENDED);
    assert_int_equal(status, -2);
}

static void a_message_is_short(void **unused)
{
    int status;
    (void)unused;
    assert_int_equal(first_answer(STOPS_IN_HEAD, 20000, &status), WIRE_SHORT);
    assert_int_equal(status, 3);
    assert_int_equal(first_answer(STOPS_BEHIND_HEAD, 20000, &status), WIRE_SHORT);
    assert_int_equal(status, 3);
    assert_int_equal(first_answer(STOPS_IN_BODY, 20000, &status), WIRE_SHORT);
    assert_int_equal(status, 3);
}

static void a_rank_is_silent(void **unused)
{
    const uint64_t began = probe_host_ns();
    int status;
    (void)unused;
    assert_int_equal(first_answer(IS_SILENT, 100, &status), WIRE_LATE);
    assert_int_equal(status, -1);
    assert_true(probe_host_ns() - began < 10000000000u);
}

static void what_is_no_message(void **unused)
{
    int status;
    (void)unused;
    assert_int_equal(first_answer(BABBLES, 20000, &status), WIRE_FOREIGN);
    assert_int_equal(status, -1);
    assert_int_equal(first_answer(IS_ANOTHERS, 20000, &status), WIRE_FOREIGN);
    assert_int_equal(first_answer(SAYS_LESS, 20000, &status), WIRE_FOREIGN);
    assert_int_equal(first_answer(DRIPS, 20000, &status), WIRE_OK);
    assert_int_equal(status, 0);
}

/* Nobody reads: what does not fit into the socket's buffer must not hold this rank for ever. */
static void nobody_listens(void **unused)
{
    static char much[4 << 20];
    char said[64];
    int wire;
    (void)unused;
    const struct respawned there = start(IS_SILENT, &wire);

    assert_int_equal(wire_send(wire, much, sizeof much, NULL, 0, in_ms(100)), WIRE_LATE);
    assert_int_equal(respawn_end(there, 0, said, sizeof said), -1);
    assert_int_equal(wire_send(wire, much, sizeof much, NULL, 0, in_ms(20000)), WIRE_ENDED);
    close(wire);
}

static void sweeps_have_their_ends(void **unused)
{
    int i;
    (void)unused;
    assert_int_equal(rates_size(0), 16);
    for (i = 1; rates_size(i) > 0; i++)
        assert_int_equal(rates_size(i), 4 * rates_size(i - 1));
    assert_int_equal(rates_size(i - 1), 256 << 20);

    static const unsigned sms[] = {1, 2, 4, 8, 16, 32, 64, 128, 132, 0};
    for (i = 0; i < 10; i++)
        assert_int_equal(rates_sms(132, i), sms[i]);
    static const unsigned power[] = {1, 2, 4, 8, 0};
    for (i = 0; i < 5; i++)
        assert_int_equal(rates_sms(8, i), power[i]);
    assert_int_equal(rates_sms(1, 0), 1);
    assert_int_equal(rates_sms(1, 1), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_whole), cmocka_unit_test(a_rank_dies),
        cmocka_unit_test(a_message_is_short),    cmocka_unit_test(a_rank_is_silent),
        cmocka_unit_test(what_is_no_message),    cmocka_unit_test(nobody_listens),
        cmocka_unit_test(sweeps_have_their_ends),
    };
    if (argc > 1)
        return child(atoi(argv[1]));
    return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
