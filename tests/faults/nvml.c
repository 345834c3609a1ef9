/* A stand-in for libnvidia-ml.so.1: a healthy, idle H200, but for what NVML_STATE says, a list of
 * words: "mig=1 reasons=0x20 processes=2". NAME=- is a call that this board does not support,
 * NAME=! one that fails. NAME@1=2 says it of GPU 1 alone. Each GPU has 18 NVLinks to a switch. It
 * takes 300 W, its energy counter moves every 20 ms, and energy_ms=5 is how long it takes to read
 * that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, UNKNOWN = 999 };
enum { SM = 1 };

struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

/* OK and the value, or an error. */
static int say(const char *name, unsigned long long normal, unsigned long long *value)
{
    const char *state = getenv("NVML_STATE");
    const size_t n = strlen(name);

    *value = normal;
    for (const char *at = state; at && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        if (strncmp(at, name, n) || at[n] != '=')
            continue;
        if (at[n + 1] == '-')
            return NOT_SUPPORTED;
        if (at[n + 1] == '!')
            return UNKNOWN;
        *value = strtoull(at + n + 1, NULL, 0);
    }
    return OK;
}

static int say_int(const char *name, unsigned normal, unsigned *value)
{
    unsigned long long wide;
    const int status = say(name, normal, &wide);
    *value = (unsigned)wide;
    return status;
}

static int say_mode(const char *name, unsigned normal, unsigned *current, unsigned *pending)
{
    const int status = say_int(name, normal, current);
    *pending = *current;
    return status;
}

static int say_processes(const char *name, unsigned *n, struct process *list)
{
    unsigned there;
    const int status = say_int(name, 0, &there), fits = there <= *n;
    if (status != OK)
        return status;
    for (unsigned i = 0; fits && i < there; i++)
        list[i] = (struct process){.pid = 1 + i};
    *n = there;
    return fits ? OK : INSUFFICIENT_SIZE;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    unsigned status;
    say_int("init", OK, &status);
    return (int)status;
}

#define CALL(name, parameters) int name parameters; int name parameters
CALL(nvmlShutdown, (void)) { return OK; }
const char *nvmlErrorString(int status);
const char *nvmlErrorString(int status)
{
    return status == NOT_SUPPORTED ? "Not Supported" : status == 9 ? "Driver Not Loaded"
                                                                   : "Unknown Error";
}
/* A handle is the number of the GPU; that of bus 04 is 0. */
CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned i, void **d)) { *d = (void *)(size_t)i; return OK; }
CALL(nvmlDeviceGetHandleByUUID, (const char *u, void **d)) { (void)u, *d = NULL; return OK; }
CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *b, void **d))
{
    const char *bus = strchr(b, ':');
    *d = (void *)(bus ? strtoul(bus + 1, NULL, 16) - 4 : 0);
    return OK;
}
CALL(nvmlDeviceGetTemperature, (void *d, int which, unsigned *c))
{
    (void)d, (void)which;
    return say_int("temperature", 40, c);
}
CALL(nvmlDeviceGetPowerUsage, (void *d, unsigned *mw))
{
    (void)d;
    return say_int("power", 90000, mw);
}
CALL(nvmlDeviceGetTotalEnergyConsumption, (void *d, unsigned long long *mj))
{
    static unsigned looks;
    struct timespec now;
    unsigned ms, fails;
    (void)d;
    say_int("energy_ms", 0, &ms);
    say_int("energy_fails", 0, &fails); /* 2: every second look */
    if (fails > 0 && looks++ % fails == fails - 1)
        return UNKNOWN;
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return say("energy", (unsigned long long)now.tv_sec * 300000 +
                             (unsigned long long)now.tv_nsec / 20000000 * 6000, mj);
}
CALL(nvmlDeviceGetEnforcedPowerLimit, (void *d, unsigned *mw))
{
    (void)d;
    return say_int("power_limit", 700000, mw);
}
CALL(nvmlDeviceGetPowerManagementDefaultLimit, (void *d, unsigned *mw))
{
    (void)d;
    return say_int("power_limit_default", 700000, mw);
}
CALL(nvmlDeviceGetClockInfo, (void *d, int which, unsigned *mhz))
{
    (void)d;
    return which == SM ? say_int("clock", 1980, mhz) : say_int("memory_clock", 3201, mhz);
}
CALL(nvmlDeviceGetMaxClockInfo, (void *d, int which, unsigned *mhz))
{
    (void)d;
    return which == SM ? say_int("clock_max", 1980, mhz) : say_int("memory_clock_max", 3201, mhz);
}
CALL(nvmlDeviceGetApplicationsClock, (void *d, int which, unsigned *mhz))
{
    (void)d;
    return which == SM ? say_int("application_clock", 1980, mhz)
                       : say_int("memory_application_clock", 3201, mhz);
}
CALL(nvmlDeviceGetCurrentClocksEventReasons, (void *d, unsigned long long *reasons))
{
    (void)d;
    return say("reasons", 0, reasons);
}
CALL(nvmlDeviceGetComputeRunningProcesses_v3, (void *d, unsigned *n, struct process *list))
{
    char name[32];
    unsigned there;
    snprintf(name, sizeof name, "processes@%zu", (size_t)d);
    say_int(name, 0, &there);
    return say_processes(there ? name : "processes", n, list);
}
CALL(nvmlDeviceGetNvLinkState, (void *d, unsigned link, unsigned *up))
{
    (void)d;
    const int status = say_int("nvlink", 1, up);
    return link < 18 ? status : 2;
}
CALL(nvmlDeviceGetNvLinkVersion, (void *d, unsigned link, unsigned *version))
{
    (void)d, (void)link;
    *version = 4;
    return OK;
}
CALL(nvmlDeviceGetNvLinkRemoteDeviceType, (void *d, unsigned link, unsigned *type))
{
    (void)d, (void)link;
    *type = 2;
    return OK;
}
struct field {
    unsigned id, scope;
    long long timestamp, latency;
    int type, status;
    unsigned long long value;
};
CALL(nvmlDeviceGetFieldValues, (void *d, int n, struct field *fields))
{
    (void)d;
    for (int i = 0; i < n; i++) {
        fields[i].type = 1;
        fields[i].status = say("nvlink_rate", 26562, &fields[i].value);
        if (fields[i].id != 164)
            fields[i].status = NOT_SUPPORTED;
    }
    return OK;
}
CALL(nvmlDeviceGetTopologyCommonAncestor, (void *a, void *b, int *level))
{
    (void)a, (void)b;
    unsigned value;
    const int status = say_int("ancestor", 40, &value);
    *level = (int)value;
    return status;
}
CALL(nvmlDeviceGetP2PStatus, (void *a, void *b, int which, int *state))
{
    (void)a, (void)b, (void)which;
    unsigned value;
    const int status = say_int("p2p", 0, &value);
    *state = (int)value;
    return status;
}
CALL(nvmlDeviceGetMPSComputeRunningProcesses_v3, (void *d, unsigned *n, struct process *list))
{
    (void)d;
    return say_processes("mps_processes", n, list);
}
CALL(nvmlDeviceGetEccMode, (void *d, unsigned *c, unsigned *p))
{
    (void)d;
    return say_mode("ecc", 1, c, p);
}
CALL(nvmlDeviceGetMigMode, (void *d, unsigned *c, unsigned *p))
{
    (void)d;
    return say_mode("mig", 0, c, p);
}
CALL(nvmlDeviceGetPersistenceMode, (void *d, unsigned *on))
{
    (void)d;
    return say_int("persistence", 1, on);
}
