/* NVML, the driver's management library: clocks, temperature, power, and which processes use the
 * GPU.
 *
 * The library is opened with dlopen and called through prototypes of our own, so that neither
 * building nor starting needs its header or library. Every function is optional: if a driver lacks
 * one, its value reads as NaN, -1 or 0. An open handle also keeps the driver loaded between
 * processes, so that no measurement includes the driver's start-up. Serial numbers, UUIDs and
 * process names are never read here. */
#ifndef GPUFLOOR_NVML_H
#define GPUFLOOR_NVML_H

#include <stdbool.h>
#include <stddef.h>

struct nvml;

enum { NVML_WHY = 160 };

/* What changes from moment to moment. NaN if it cannot be read. */
struct nvml_state {
    double sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, utilisation; /* 0 to 1 */
    unsigned long long reasons; /* bitmask: why the clock is held back; 0: nothing, or not known */
    bool knows_reasons;
    int n_processes;            /* compute processes on the GPU; -1: not known */
    int n_mps;                  /* of them, those that share it by MPS; -1: not known */
};

/* What stays the same. NaN or -1 if it cannot be read. */
struct nvml_facts {
    double power_limit_w, power_limit_default_w, sm_clock_max_mhz, memory_clock_max_mhz;
    double application_clock_mhz; /* of the SMs, which a user may set below the greatest */
    int ecc, mig, persistence;    /* 0 off, 1 on */
};

/* Opens the GPU named by an index ("0", in PCI order), a UUID ("GPU-...") or a PCI bus id
 * ("00000000:04:00.0"). NULL, with one line in why, if NVML or that GPU is not available. */
struct nvml *nvml_open(const char *gpu, char why[NVML_WHY]);
void nvml_close(struct nvml *nvml); /* NULL is allowed, here and below */

struct nvml_state nvml_state(const struct nvml *nvml);
struct nvml_facts nvml_facts(const struct nvml *nvml);

/* Why one of these cannot be read: "Not Supported". NULL if it can. */
enum nvml_fact { NVML_POWER_LIMIT, NVML_POWER_LIMIT_DEFAULT, NVML_APPLICATION_CLOCK, NVML_MIG,
                 NVML_PERSISTENCE, NVML_REASONS, NVML_PROCESSES, NVML_MPS_PROCESSES };
const char *nvml_why_not(const struct nvml *nvml, enum nvml_fact fact);

/* Joules that the board has taken since the driver was loaded; NaN where there is no such counter.
 * It moves in steps, every 20 to 100 ms. */
double nvml_energy_j(const struct nvml *nvml);

/* The NVLinks of the GPU: how many are up, their version (4 on Hopper), what is at their other
 * end. */
enum { NVML_LINKS_MOST = 18 };
enum nvml_far_end { NVML_FAR_GPU, NVML_FAR_NPU, NVML_FAR_SWITCH, NVML_FAR_UNKNOWN };
struct nvml_links {
    int n, n_active; /* 0: none, or not known */
    unsigned version; /* of the first that is up; 0: not known */
    enum nvml_far_end far_end;
    double rate[NVML_LINKS_MOST]; /* bytes/s in each direction; 0: down, NaN: up, and not known */
};
struct nvml_links nvml_links(const struct nvml *nvml);

/* What lies between two GPUs. Each is -1 or NULL where NVML does not say. */
struct nvml_between {
    int nvlink;       /* 1: NVLinks connect them */
    const char *path; /* their nearest common place on PCIe: "one switch", "one CPU" ... */
};
struct nvml_between nvml_between(const struct nvml *a, const struct nvml *b);

/* Bytes that the links have carried since their counters began; NaN where the driver does not count
 * them. They are counted in KiB. Raw bytes hold all that passed: data, headers, requests,
 * answers. */
struct nvml_link_bytes {
    double sent, received, raw_sent, raw_received;
};
struct nvml_link_bytes nvml_link_bytes(const struct nvml *nvml);

/* The reasons that hold a clock below what was asked for, in words: "power cap, thermal". Empty for
 * none; "reason 0x800" for one of a newer driver. Idle, application clocks and display clocks do
 * not count as reasons. Returns text. */
char *nvml_reasons(char *text, size_t size, unsigned long long reasons);

/* The same without the power cap, under which heavy work runs on a healthy card. */
char *nvml_slowdowns(char *text, size_t size, unsigned long long reasons);

#endif
