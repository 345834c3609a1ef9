#include "fused/two_stages/halves.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static void make_events(struct probe_run *r, struct halves *h, size_t events)
{
    h->event = probe_host_alloc(r, events * sizeof(cudaEvent_t));
    for (h->n = 0; h->n < events; h->n++)
        CUDA(cudaEventCreateWithFlags(&h->event[h->n], cudaEventDisableTiming));
}

void halves_open_streams(struct probe_run *r, struct halves *h, size_t events)
{
    const unsigned sms = (unsigned)gpu_facts(r)->n_sm;
    *h = (struct halves){.sms = {sms / 2, sms - sms / 2}};
    for (int i = 0; i < 2; i++)
        CUDA(cudaStreamCreateWithFlags(&h->stream[i], cudaStreamNonBlocking));
    make_events(r, h, events);
}

/* --- green contexts --------------------------------------------------------------------------- */

enum { GREEN_SINCE = 12040, GREEN_STREAM_SINCE = 12050 }; /* versions of the driver's interface */

static void *entry(const char *name, unsigned version, char *why, size_t size)
{
    void *found = gpu_driver_entry(name, version);
    if (!found)
        snprintf(why, size, "this driver has no %s", name);
    return found;
}

static bool grants(CUresult result, const char *call, char *why, size_t size)
{
    if (result != CUDA_SUCCESS)
        snprintf(why, size, "%s was refused (driver error %d)", call, (int)result);
    return result == CUDA_SUCCESS;
}

/* The SMs in two groups as equal as the driver makes them: SM by SM where it can. */
static bool split(const struct probe_run *r, CUdevice device, CUdevResource half[2], char *why,
                  size_t size)
{
    CUresult (*resource_of)(CUdevice, CUdevResource *, CUdevResourceType);
    CUresult (*split_by_count)(CUdevResource *, unsigned *, const CUdevResource *, CUdevResource *,
                               unsigned, unsigned);
    const unsigned most = (unsigned)gpu_facts(r)->n_sm / 2;
    CUdevResource all;
    unsigned groups = 1;

    resource_of = entry("cuDeviceGetDevResource", GREEN_SINCE, why, size);
    split_by_count = entry("cuDevSmResourceSplitByCount", GREEN_SINCE, why, size);
    if (!resource_of || !split_by_count ||
        !grants(resource_of(device, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource", why,
                size))
        return false;
    if (split_by_count(&half[0], &groups, &all, &half[1],
                       CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, most) == CUDA_SUCCESS &&
        groups == 1 && half[1].sm.smCount > 0)
        return true;
    groups = 1;
    if (!grants(split_by_count(&half[0], &groups, &all, &half[1], 0, most),
                "cuDevSmResourceSplitByCount", why, size))
        return false;
    if (groups != 1 || half[1].sm.smCount == 0) {
        snprintf(why, size, "the SMs cannot be split in two halves");
        return false;
    }
    return true;
}

static bool open_half(CUdevice device, CUdevResource *sms, struct halves *h, int i, char *why,
                      size_t size)
{
    CUresult (*describe)(CUdevResourceDesc *, CUdevResource *, unsigned);
    CUresult (*create)(CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned);
    CUresult (*make_stream)(CUstream *, CUgreenCtx, unsigned, int);
    CUdevResourceDesc description;
    CUgreenCtx green;

    describe = entry("cuDevResourceGenerateDesc", GREEN_SINCE, why, size);
    create = entry("cuGreenCtxCreate", GREEN_SINCE, why, size);
    make_stream = entry("cuGreenCtxStreamCreate", GREEN_STREAM_SINCE, why, size);
    if (!describe || !create || !make_stream ||
        !grants(describe(&description, sms, 1), "cuDevResourceGenerateDesc", why, size) ||
        !grants(create(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
                "cuGreenCtxCreate", why, size))
        return false;
    h->green[i] = green;
    h->sms[i] = sms->sm.smCount;
    return grants(make_stream(&h->stream[i], green, CU_STREAM_NON_BLOCKING, 0),
                  "cuGreenCtxStreamCreate", why, size);
}

/* Do events go from half to half? */
static bool can_wait(const struct halves *h, char *why, size_t size)
{
    for (int i = 0; i < 2; i++)
        if (!CUDA_GRANTS(cudaEventRecord(h->event[0], h->stream[i])) ||
            !CUDA_GRANTS(cudaStreamWaitEvent(h->stream[1 - i], h->event[0], 0)) ||
            !CUDA_GRANTS(cudaStreamSynchronize(h->stream[1 - i]))) {
            snprintf(why, size, "an event between the streams of two green contexts was refused");
            return false;
        }
    return true;
}

bool halves_open_green(struct probe_run *r, struct halves *h, size_t events, char *why, size_t size)
{
    CUresult (*device_of)(CUdevice *, int) = gpu_driver_entry("cuDeviceGet", 2000);
    CUdevResource half[2];
    CUdevice device;
    int ordinal;

    *h = (struct halves){.n = 0};
    CUDA(cudaGetDevice(&ordinal));
    if (!device_of || device_of(&device, ordinal) != CUDA_SUCCESS) {
        snprintf(why, size, "the driver does not name the device");
        return false;
    }
    make_events(r, h, events);
    if (split(r, device, half, why, size) && open_half(device, &half[0], h, 0, why, size) &&
        open_half(device, &half[1], h, 1, why, size) && can_wait(h, why, size))
        return true;
    halves_close(h);
    return false;
}

void halves_close(struct halves *h)
{
    CUresult (*destroy)(CUgreenCtx) = gpu_driver_entry("cuGreenCtxDestroy", GREEN_SINCE);
    for (size_t i = 0; i < h->n; i++)
        CUDA(cudaEventDestroy(h->event[i]));
    for (int i = 0; i < 2; i++) {
        if (h->stream[i])
            CUDA(cudaStreamDestroy(h->stream[i]));
        if (h->green[i] && destroy)
            destroy(h->green[i]);
    }
    free(h->event);
    *h = (struct halves){.n = 0};
}
