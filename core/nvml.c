#include "core/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The few types and constants of NVML that are used. They are part of its binary interface. */
typedef struct nvmlDevice *device_t;
enum {
    NVML_OK = 0,
    NVML_INSUFFICIENT_SIZE = 7,
    MISSING = -1,
    TEMPERATURE_GPU = 0,
    CLOCK_SM = 1,
    CLOCK_MEMORY = 2
};
enum { PROCESSES_MAX = 64 };

struct utilisation {
    unsigned gpu, memory; /* per cent */
};

/* nvmlProcessInfo_v2_t; only the number of them is used. */
struct process {
    unsigned pid;
    unsigned long long memory_bytes;
    unsigned gpu_instance, compute_instance;
};

/* nvmlFieldValue_t. */
struct field {
    unsigned id, scope; /* scope: of a link's counter, the number of the link */
    long long timestamp, latency;
    int type, status;
    union {
        double real;
        unsigned u32;
        unsigned long long u64;
        long long s64;
    } value;
};
enum {
    FIELD_LINK_DATA_SENT = 138,
    FIELD_LINK_DATA_RECEIVED = 139,
    FIELD_LINK_RAW_SENT = 140,
    FIELD_LINK_RAW_RECEIVED = 141,
    FIELD_LINK_MB_S = 164
};
enum { FIELD_REAL, FIELD_U32 }; /* of nvmlValueType_t; all others have 64 bits */

struct nvml {
    void *library;
    device_t device;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error)(int);
    int (*by_index)(unsigned, device_t *);
    int (*by_uuid)(const char *, device_t *);
    int (*by_bus)(const char *, device_t *);
    int (*temperature)(device_t, int, unsigned *);
    int (*power)(device_t, unsigned *);
    int (*energy)(device_t, unsigned long long *);
    int (*power_limit)(device_t, unsigned *);
    int (*power_limit_default)(device_t, unsigned *);
    int (*application_clock)(device_t, int, unsigned *);
    int (*clock)(device_t, int, unsigned *);
    int (*clock_max)(device_t, int, unsigned *);
    int (*reasons)(device_t, unsigned long long *);
    int (*processes)(device_t, unsigned *, struct process *);
    int (*mps_processes)(device_t, unsigned *, struct process *);
    int (*utilisation)(device_t, struct utilisation *);
    int (*ecc)(device_t, unsigned *, unsigned *);
    int (*mig)(device_t, unsigned *, unsigned *);
    int (*persistence)(device_t, unsigned *);
    int (*link_state)(device_t, unsigned, unsigned *);
    int (*link_version)(device_t, unsigned, unsigned *);
    int (*link_far_end)(device_t, unsigned, unsigned *);
    int (*fields)(device_t, int, struct field *);
    int (*ancestor)(device_t, device_t, int *);
    int (*p2p)(device_t, device_t, int, int *);
};

/* Where each function's pointer goes, and the names that drivers have given it, the newest
 * first. */
static const struct symbol {
    size_t offset;
    const char *names[2];
} symbols[] = {
    {offsetof(struct nvml, init), {"nvmlInit_v2"}},
    {offsetof(struct nvml, shutdown), {"nvmlShutdown"}},
    {offsetof(struct nvml, error), {"nvmlErrorString"}},
    {offsetof(struct nvml, by_index), {"nvmlDeviceGetHandleByIndex_v2"}},
    {offsetof(struct nvml, by_uuid), {"nvmlDeviceGetHandleByUUID"}},
    {offsetof(struct nvml, by_bus), {"nvmlDeviceGetHandleByPciBusId_v2"}},
    {offsetof(struct nvml, temperature), {"nvmlDeviceGetTemperature"}},
    {offsetof(struct nvml, power), {"nvmlDeviceGetPowerUsage"}},
    {offsetof(struct nvml, energy), {"nvmlDeviceGetTotalEnergyConsumption"}},
    {offsetof(struct nvml, power_limit), {"nvmlDeviceGetEnforcedPowerLimit"}},
    {offsetof(struct nvml, power_limit_default), {"nvmlDeviceGetPowerManagementDefaultLimit"}},
    {offsetof(struct nvml, application_clock), {"nvmlDeviceGetApplicationsClock"}},
    {offsetof(struct nvml, clock), {"nvmlDeviceGetClockInfo"}},
    {offsetof(struct nvml, clock_max), {"nvmlDeviceGetMaxClockInfo"}},
    {offsetof(struct nvml, reasons),
     {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
    {offsetof(struct nvml, processes),
     {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}},
    {offsetof(struct nvml, mps_processes),
     {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"}},
    {offsetof(struct nvml, utilisation), {"nvmlDeviceGetUtilizationRates"}},
    {offsetof(struct nvml, ecc), {"nvmlDeviceGetEccMode"}},
    {offsetof(struct nvml, mig), {"nvmlDeviceGetMigMode"}},
    {offsetof(struct nvml, persistence), {"nvmlDeviceGetPersistenceMode"}},
    {offsetof(struct nvml, link_state), {"nvmlDeviceGetNvLinkState"}},
    {offsetof(struct nvml, link_version), {"nvmlDeviceGetNvLinkVersion"}},
    {offsetof(struct nvml, link_far_end), {"nvmlDeviceGetNvLinkRemoteDeviceType"}},
    {offsetof(struct nvml, fields), {"nvmlDeviceGetFieldValues"}},
    {offsetof(struct nvml, ancestor), {"nvmlDeviceGetTopologyCommonAncestor"}},
    {offsetof(struct nvml, p2p), {"nvmlDeviceGetP2PStatus"}},
};

static void find_symbols(struct nvml *nvml)
{
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *found = NULL;
        for (size_t k = 0; k < 2 && !found && symbols[i].names[k]; k++)
            found = dlsym(nvml->library, symbols[i].names[k]);
        /* C has no conversion from an object pointer to a function pointer; POSIX says that the
         * bytes are the same. */
        memcpy((char *)nvml + symbols[i].offset, &found, sizeof found);
    }
}

static int find_device(struct nvml *nvml, const char *gpu)
{
    char *end = NULL;
    unsigned long index = strtoul(gpu, &end, 10);

    if (!strncmp(gpu, "GPU-", 4) || !strncmp(gpu, "MIG-", 4))
        return nvml->by_uuid ? nvml->by_uuid(gpu, &nvml->device) : -1;
    if (strchr(gpu, ':'))
        return nvml->by_bus ? nvml->by_bus(gpu, &nvml->device) : -1;
    return end != gpu && !*end && nvml->by_index ? nvml->by_index((unsigned)index, &nvml->device)
                                                 : -1;
}

struct nvml *nvml_open(const char *gpu, char why[NVML_WHY])
{
    struct nvml *nvml = calloc(1, sizeof *nvml);
    int status;

    if (!nvml || !(nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL))) {
        snprintf(why, NVML_WHY, "libnvidia-ml.so.1 not found");
        free(nvml);
        return NULL;
    }
    find_symbols(nvml);
    status = nvml->init ? nvml->init() : -1;
    if (status == NVML_OK && (status = find_device(nvml, gpu)) == NVML_OK)
        return nvml;

    snprintf(why, NVML_WHY, "NVML: %s",
             status > 0 && nvml->error ? nvml->error(status) : "lacks a needed function");
    nvml->device = NULL;
    nvml_close(nvml);
    return NULL;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->shutdown)
        nvml->shutdown();
    dlclose(nvml->library);
    free(nvml);
}

/* --- reading --------------------------------------------------------------------------------- */

static double clock_mhz(int (*get)(device_t, int, unsigned *), device_t device, int which)
{
    unsigned mhz;
    return get && get(device, which, &mhz) == NVML_OK ? (double)mhz : (double)NAN;
}

static double milliwatts(int (*get)(device_t, unsigned *), device_t device)
{
    unsigned value;
    return get && get(device, &value) == NVML_OK ? value / 1000.0 : (double)NAN;
}

/* How many processes there are, also where the list is too short for them. */
static int count(int (*get)(device_t, unsigned *, struct process *), device_t device, int *n)
{
    struct process processes[PROCESSES_MAX];
    unsigned there = PROCESSES_MAX;
    int status = get ? get(device, &there, processes) : MISSING;

    if (status == NVML_INSUFFICIENT_SIZE)
        status = NVML_OK;
    *n = status == NVML_OK ? (int)there : -1;
    return status;
}

struct nvml_state nvml_state(const struct nvml *nvml)
{
    struct nvml_state s = {.sm_clock_mhz = NAN, .memory_clock_mhz = NAN, .temperature_c = NAN,
                           .power_w = NAN, .utilisation = NAN, .n_processes = -1,
                           .n_mps = -1};
    struct utilisation busy;
    unsigned value = 0;

    if (!nvml)
        return s;
    s.sm_clock_mhz = clock_mhz(nvml->clock, nvml->device, CLOCK_SM);
    s.memory_clock_mhz = clock_mhz(nvml->clock, nvml->device, CLOCK_MEMORY);
    s.power_w = milliwatts(nvml->power, nvml->device);
    if (nvml->temperature && nvml->temperature(nvml->device, TEMPERATURE_GPU, &value) == NVML_OK)
        s.temperature_c = value;
    if (nvml->utilisation && nvml->utilisation(nvml->device, &busy) == NVML_OK)
        s.utilisation = busy.gpu / 100.0;
    s.knows_reasons = nvml->reasons && nvml->reasons(nvml->device, &s.reasons) == NVML_OK;
    if (!s.knows_reasons)
        s.reasons = 0;
    count(nvml->processes, nvml->device, &s.n_processes);
    count(nvml->mps_processes, nvml->device, &s.n_mps);
    return s;
}

double nvml_energy_j(const struct nvml *nvml)
{
    unsigned long long millijoules;
    bool read = nvml && nvml->energy && nvml->energy(nvml->device, &millijoules) == NVML_OK;
    return read ? (double)millijoules / 1e3 : (double)NAN;
}

static int mode(int (*get)(device_t, unsigned *, unsigned *), device_t device)
{
    unsigned current, pending;
    return get && get(device, &current, &pending) == NVML_OK ? current != 0 : -1;
}

struct nvml_facts nvml_facts(const struct nvml *nvml)
{
    struct nvml_facts f = {.power_limit_w = NAN, .power_limit_default_w = NAN,
                           .sm_clock_max_mhz = NAN, .memory_clock_max_mhz = NAN,
                           .application_clock_mhz = NAN, .ecc = -1, .mig = -1, .persistence = -1};
    unsigned value;

    if (!nvml)
        return f;
    f.power_limit_w = milliwatts(nvml->power_limit, nvml->device);
    f.power_limit_default_w = milliwatts(nvml->power_limit_default, nvml->device);
    f.application_clock_mhz = clock_mhz(nvml->application_clock, nvml->device, CLOCK_SM);
    f.sm_clock_max_mhz = clock_mhz(nvml->clock_max, nvml->device, CLOCK_SM);
    f.memory_clock_max_mhz = clock_mhz(nvml->clock_max, nvml->device, CLOCK_MEMORY);
    f.ecc = mode(nvml->ecc, nvml->device);
    f.mig = mode(nvml->mig, nvml->device);
    if (nvml->persistence && nvml->persistence(nvml->device, &value) == NVML_OK)
        f.persistence = value != 0;
    return f;
}

/* --- NVLinks ---------------------------------------------------------------------------------- */

static bool is_up(const struct nvml *nvml, unsigned link)
{
    unsigned state = 0;
    return nvml->link_state(nvml->device, link, &state) == NVML_OK && state != 0;
}

/* A field's value: of one link, or with ALL_LINKS of all together. NaN where there is none. */
enum { ALL_LINKS = ~0u };
static double field_value(const struct nvml *nvml, unsigned id, unsigned scope)
{
    struct field field = {.id = id, .scope = scope};
    if (!nvml->fields || nvml->fields(nvml->device, 1, &field) != NVML_OK ||
        field.status != NVML_OK)
        return (double)NAN;
    return field.type == FIELD_REAL  ? field.value.real
           : field.type == FIELD_U32 ? (double)field.value.u32
                                     : (double)field.value.u64;
}

struct nvml_links nvml_links(const struct nvml *nvml)
{
    struct nvml_links links = {.far_end = NVML_FAR_UNKNOWN};
    unsigned state, value;

    for (unsigned i = 0; nvml && nvml->link_state && i < NVML_LINKS_MOST; i++) {
        links.n += nvml->link_state(nvml->device, i, &state) == NVML_OK;
        if (!is_up(nvml, i))
            continue;
        links.rate[i] = field_value(nvml, FIELD_LINK_MB_S, i) * 1e6;
        if (links.n_active++ > 0)
            continue;
        if (nvml->link_version && nvml->link_version(nvml->device, i, &value) == NVML_OK)
            links.version = value;
        if (nvml->link_far_end && nvml->link_far_end(nvml->device, i, &value) == NVML_OK &&
            value < NVML_FAR_UNKNOWN)
            links.far_end = (enum nvml_far_end)value;
    }
    return links;
}

struct nvml_between nvml_between(const struct nvml *a, const struct nvml *b)
{
    /* nvmlGpuTopologyLevel_t: tens. */
    static const char *const paths[] = {"one board",       "one switch", "several switches",
                                        "one host bridge", "one CPU",    "several CPUs"};
    enum { LEVELS = sizeof paths / sizeof paths[0], P2P_NVLINK = 2 };
    struct nvml_between between = {.nvlink = -1};
    int level, status;

    if (!a || !b)
        return between;
    if (a->ancestor && a->ancestor(a->device, b->device, &level) == NVML_OK && level >= 0 &&
        level / 10 < LEVELS)
        between.path = paths[level / 10];
    if (a->p2p && a->p2p(a->device, b->device, P2P_NVLINK, &status) == NVML_OK)
        between.nvlink = status == 0;
    return between;
}

/* The sum over the links, in bytes: as the driver has it, else over those that are up. */
static double link_bytes(const struct nvml *nvml, unsigned id)
{
    double sum = field_value(nvml, id, ALL_LINKS);
    if (isnan(sum)) {
        sum = 0;
        for (unsigned i = 0; i < NVML_LINKS_MOST; i++)
            sum += is_up(nvml, i) ? field_value(nvml, id, i) : 0;
    }
    return sum > 0 ? sum * 1024 : (double)NAN;
}

struct nvml_link_bytes nvml_link_bytes(const struct nvml *nvml)
{
    if (!nvml || !nvml->link_state || !nvml->fields)
        return (struct nvml_link_bytes){NAN, NAN, NAN, NAN};
    return (struct nvml_link_bytes){link_bytes(nvml, FIELD_LINK_DATA_SENT),
                                    link_bytes(nvml, FIELD_LINK_DATA_RECEIVED),
                                    link_bytes(nvml, FIELD_LINK_RAW_SENT),
                                    link_bytes(nvml, FIELD_LINK_RAW_RECEIVED)};
}

/* --- why not ---------------------------------------------------------------------------------- */

static int status_of(const struct nvml *nvml, enum nvml_fact fact)
{
    const device_t device = nvml->device;
    unsigned value, pending;
    unsigned long long reasons;
    int n;

    switch (fact) {
    case NVML_POWER_LIMIT: return nvml->power_limit ? nvml->power_limit(device, &value) : MISSING;
    case NVML_POWER_LIMIT_DEFAULT:
        return nvml->power_limit_default ? nvml->power_limit_default(device, &value) : MISSING;
    case NVML_APPLICATION_CLOCK:
        return nvml->application_clock ? nvml->application_clock(device, CLOCK_SM, &value)
                                       : MISSING;
    case NVML_MIG: return nvml->mig ? nvml->mig(device, &value, &pending) : MISSING;
    case NVML_PERSISTENCE: return nvml->persistence ? nvml->persistence(device, &value) : MISSING;
    case NVML_REASONS: return nvml->reasons ? nvml->reasons(device, &reasons) : MISSING;
    case NVML_PROCESSES: return count(nvml->processes, device, &n);
    case NVML_MPS_PROCESSES: return count(nvml->mps_processes, device, &n);
    }
    return MISSING;
}

const char *nvml_why_not(const struct nvml *nvml, enum nvml_fact fact)
{
    const int status = nvml ? status_of(nvml, fact) : MISSING;

    if (status == NVML_OK)
        return NULL;
    if (status == MISSING || !nvml->error)
        return nvml ? "this driver's NVML lacks the call" : "there is no NVML";
    return nvml->error(status);
}

/* Idle, application clocks and display clocks are settings: they do not hold the GPU back. */
enum { POWER_CAP = 0x4, SETTINGS = 0x1 | 0x2 | 0x100 };

char *nvml_slowdowns(char *text, size_t size, unsigned long long reasons)
{
    return nvml_reasons(text, size, reasons & ~(unsigned long long)POWER_CAP);
}

char *nvml_reasons(char *text, size_t size, unsigned long long reasons)
{
    /* Bits of nvmlClocksEventReasons, as of NVML 13; the last two have old names only,
     * nvmlClocksThrottleReasonBoardLimit and ...Reliability. One that is not known has its
     * number. */
    static const struct {
        unsigned long long bit;
        const char *name;
    } table[] = {{POWER_CAP, "power cap"},        {0x8, "hardware slowdown"}, {0x10, "sync boost"},
                 {0x20, "thermal"},         {0x40, "hardware thermal"}, {0x80, "power brake"},
                 {0x200, "board limit"},    {0x400, "reliability"}};
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if ((reasons & table[i].bit) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     table[i].name);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        reasons &= ~table[i].bit;
    reasons &= ~(unsigned long long)SETTINGS;
    if (reasons && used < size)
        snprintf(text + used, size - used, "%sreason %#llx", used ? ", " : "", reasons);
    return text;
}
