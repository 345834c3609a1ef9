/* Which call fails, and which calls there are; see stand_in.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/faults/stand_in.h"

enum { PLACES_MAX = 1024, CALLS_MAX = 128 };

static struct {
    const void *from;
    const char *call;
} places[PLACES_MAX];
static struct {
    const char *name;
    long n;
} calls[CALLS_MAX];
static size_t n_places, n_calls;
static int sticky;

static const char *given(const char *name)
{
    const char *of = getenv("FAULT_PROGRAM");
    return of && strcmp(of, program_invocation_short_name) ? NULL : getenv(name);
}

static void note(const char *format, const char *call, long nth, const void *from)
{
    FILE *log = given("FAULT_LOG") ? fopen(given("FAULT_LOG"), "a") : NULL;
    if (!log)
        return;
    fprintf(log, format, call, nth, (unsigned long)(uintptr_t)from,
            1e3 * (double)clock() / CLOCKS_PER_SEC);
    fclose(log);
}

static long counted(const char *call, const void *from)
{
    size_t i = 0, k = 0;
    while (i < n_calls && strcmp(calls[i].name, call))
        i++;
    if (i == n_calls && n_calls < CALLS_MAX)
        calls[n_calls++].name = call;
    const long nth = i < CALLS_MAX ? ++calls[i].n : 0;
    while (k < n_places && (places[k].from != from || strcmp(places[k].call, call)))
        k++;
    if (k == n_places && n_places < PLACES_MAX) {
        places[n_places].from = from;
        places[n_places++].call = call;
        if (!given("FAULT"))
            note("%s %ld %lx %.0f\n", call, nth, from);
    }
    return nth;
}

static bool is_sticky(int error)
{
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchTimeout ||
           error == cudaErrorECCUncorrectable || error == cudaErrorLaunchFailure;
}

/* A header may call an entry NAME_v2; the driver's are NAME_ here. */
static bool is_called(const char *call, const char *name, size_t n)
{
    return !strncmp(call, name, n) &&
           (!call[n] || !strcmp(call + n, "_") || !strncmp(call + n, "_v", 2));
}

static int enter(const char *call, const void *from)
{
    const char *fault = given("FAULT"), *colon = fault ? strchr(fault, ':') : NULL;
    const long n = counted(call, from);
    long nth = 0;
    int error = 0;

    if (sticky)
        return sticky;
    if (!colon || !is_called(call, fault, (size_t)(colon - fault)) ||
        sscanf(colon, ":%ld:%d", &nth, &error) != 2 || n != nth)
        return 0;
    note("fault: %s %ld %lx %.0f\n", call, nth, from);
    sticky = is_sticky(error) ? error : 0;
    return error;
}

int stand_in_enter(const char *call, const void *from)
{
    static volatile int busy; /* rival streams call from threads of their own */
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        ;
    const int error = enter(call, from);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return error;
}
