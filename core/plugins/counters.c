/* counters.so: CUPTI's Range Profiler for core/counters.h, with UserRange and UserReplay. The
 * sample loop says where a range begins and ends, and repeats its body until every pass is done, so
 * that the probe alone decides what is warm or cold. (KernelReplay would serialise the kernels and
 * save and restore gigabytes around each.) libnvperf_host and libnvperf_target are linked although
 * nothing here calls them: CUPTI opens them by name, and finds them this way. */
#include "core/plugins/counters.h"

#include <cuda.h> /* types only */
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS(type, name) type##_Params name = {.structSize = type##_Params_STRUCT_SIZE}

static struct {
    CUpti_Profiler_Host_Object *host; /* names of the current chip */
    CUpti_RangeProfiler_Object *profiler;
    char chip[64];
    const char **names; /* of the set that is read */
    size_t n;
    uint8_t *available, *config, *data;
    size_t config_bytes, data_bytes;
} session;

/* --- what a refusal means --------------------------------------------------------------------- */

static const char *reason(int result)
{
    switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return "reading counters needs root, CAP_SYS_ADMIN (or CAP_PERFMON from driver 565 on), or "
               "the driver loaded with NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_HARDWARE_BUSY:
        return "another program holds the counters: with DCGM, 'dcgmi profile --pause' frees them";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return "another profiler is attached to this process";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return "confidential computing is on, which keeps counters shut";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED: return "the GPU is partitioned (MIG)";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
        return "the GPU is virtual, and its host does not pass counters on";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED: return "mining boards have no counters";
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED: return "SLI is on";
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED: return "not under WSL";
    case CUPTI_ERROR_NOT_INITIALIZED: return "CUPTI did not find libnvperf_host or the driver";
    case CUPTI_ERROR_INVALID_CHIP_NAME: return "this CUPTI does not know the GPU: it is too old";
    default: return NULL;
    }
}

const char *counters_refused(const char *call, CUptiResult result)
{
    static char why[320];
    const char *says = "?", *known = reason((int)result);
    cuptiGetResultString(result, &says);
    snprintf(why, sizeof why, "%.*s: %s (%d)%s%s", (int)strcspn(call, "("), call, says, (int)result,
             known ? ": " : "", known ? known : "");
    return why;
}

/* --- names ------------------------------------------------------------------------------------ */

static const char *choose_chip(const char *chip)
{
    PARAMS(CUpti_Profiler_Host_Initialize, initialise);
    if (session.host) {
        PARAMS(CUpti_Profiler_Host_Deinitialize, leave);
        leave.pHostObject = session.host;
        session.host = NULL;
        CUPTI(cuptiProfilerHostDeinitialize(&leave));
    }
    if (chip != session.chip)
        snprintf(session.chip, sizeof session.chip, "%s", chip);
    initialise.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    initialise.pChipName = session.chip;
    initialise.pCounterAvailabilityImage = session.available;
    CUPTI(cuptiProfilerHostInitialize(&initialise));
    session.host = initialise.pHostObject;
    return NULL;
}

static const char *chip_name(void)
{
    return session.chip;
}

static bool knows(const char *name, const char **unit)
{
    PARAMS(CUpti_Profiler_Host_GetMetricProperties, properties);
    properties.pHostObject = session.host;
    properties.pMetricName = name;
    if (cuptiProfilerHostGetMetricProperties(&properties) != CUPTI_SUCCESS)
        return false;
    *unit = properties.pDimUnit;
    return true;
}

/* The configuration that reads these names: an image for the hardware. Released by the caller. */
static const char *make_config(const char *const names[], size_t n, uint8_t **config,
                               size_t *bytes, int *passes)
{
    PARAMS(CUpti_Profiler_Host_ConfigAddMetrics, metrics);
    metrics.pHostObject = session.host;
    metrics.ppMetricNames = (const char **)(uintptr_t)names;
    metrics.numMetrics = n;
    CUPTI(cuptiProfilerHostConfigAddMetrics(&metrics));

    PARAMS(CUpti_Profiler_Host_GetConfigImageSize, size);
    size.pHostObject = session.host;
    CUPTI(cuptiProfilerHostGetConfigImageSize(&size));
    *bytes = size.configImageSize;
    *config = malloc(*bytes);
    if (!*config)
        return "out of memory";

    PARAMS(CUpti_Profiler_Host_GetConfigImage, image);
    image.pHostObject = session.host;
    image.configImageSize = *bytes;
    image.pConfigImage = *config;
    CUPTI(cuptiProfilerHostGetConfigImage(&image));

    PARAMS(CUpti_Profiler_Host_GetNumOfPasses, number);
    number.configImageSize = *bytes;
    number.pConfigImage = *config;
    CUPTI(cuptiProfilerHostGetNumOfPasses(&number));
    *passes = (int)number.numOfPasses;
    return NULL;
}

/* Metrics stay in the host object once they are added: the next question needs a new one. */
static const char *count_passes(const char *const names[], size_t n, int *passes)
{
    uint8_t *config = NULL;
    size_t bytes;
    const char *why = make_config(names, n, &config, &bytes, passes);
    free(config);
    const char *again = choose_chip(session.chip);
    return why ? why : again;
}

/* --- the GPU ---------------------------------------------------------------------------------- */

static const char *open_profiler(void *context, int device)
{
    PARAMS(CUpti_Profiler_Initialize, initialise);
    CUPTI(cuptiProfilerInitialize(&initialise));

    PARAMS(CUpti_Profiler_DeviceSupported, supported);
    supported.cuDevice = device;
    supported.api = CUPTI_PROFILER_RANGE_PROFILING;
    CUPTI(cuptiProfilerDeviceSupported(&supported));
    if (supported.vGpu != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        return reason(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
    if (supported.confidentialCompute != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        return reason(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
    if (supported.isSupported != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        return "CUPTI does not support this GPU or the way it is set up";

    PARAMS(CUpti_Device_GetChipName, chip);
    chip.deviceIndex = (size_t)device;
    CUPTI(cuptiDeviceGetChipName(&chip));

    PARAMS(CUpti_Profiler_GetCounterAvailability, availability); /* shows missing privileges */
    availability.ctx = context;
    CUPTI(cuptiProfilerGetCounterAvailability(&availability));
    session.available = malloc(availability.counterAvailabilityImageSize);
    availability.pCounterAvailabilityImage = session.available;
    if (!session.available)
        return "out of memory";
    CUPTI(cuptiProfilerGetCounterAvailability(&availability));

    PARAMS(CUpti_RangeProfiler_Enable, enable);
    enable.ctx = context;
    CUPTI(cuptiRangeProfilerEnable(&enable));
    session.profiler = enable.pRangeProfilerObject;
    return choose_chip(chip.pChipName);
}

/* A profiler keeps the first configuration that it gets (CUDA 13.0), and a new profiler costs 0.2
 * s: hence one set per process. */
static const char *configure(const char *const names[], size_t n, int *passes)
{
    session.names = calloc(n, sizeof *session.names);
    if (!session.names)
        return "out of memory";
    memcpy(session.names, names, n * sizeof *session.names);
    session.n = n;
    const char *why = make_config(names, n, &session.config, &session.config_bytes, passes);
    if (why)
        return why;

    PARAMS(CUpti_RangeProfiler_GetCounterDataSize, size);
    size.pRangeProfilerObject = session.profiler;
    size.pMetricNames = session.names;
    size.numMetrics = n;
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    CUPTI(cuptiRangeProfilerGetCounterDataSize(&size));
    session.data_bytes = size.counterDataSize;
    session.data = malloc(session.data_bytes);
    return session.data ? NULL : "out of memory";
}

static const char *restart(void)
{
    PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, empty);
    empty.pRangeProfilerObject = session.profiler;
    empty.counterDataSize = session.data_bytes;
    empty.pCounterData = session.data;
    CUPTI(cuptiRangeProfilerCounterDataImageInitialize(&empty));

    PARAMS(CUpti_RangeProfiler_SetConfig, config);
    config.pRangeProfilerObject = session.profiler;
    config.configSize = session.config_bytes;
    config.pConfig = session.config;
    config.counterDataImageSize = session.data_bytes;
    config.pCounterDataImage = session.data;
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = 1;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.targetNestingLevel = 1;
    CUPTI(cuptiRangeProfilerSetConfig(&config));
    return NULL;
}

static const char *begin(void)
{
    PARAMS(CUpti_RangeProfiler_Start, start);
    PARAMS(CUpti_RangeProfiler_PushRange, push);
    start.pRangeProfilerObject = push.pRangeProfilerObject = session.profiler;
    push.pRangeName = "pass";
    CUPTI(cuptiRangeProfilerStart(&start));
    CUPTI(cuptiRangeProfilerPushRange(&push));
    return NULL;
}

static const char *end(bool *complete)
{
    PARAMS(CUpti_RangeProfiler_PopRange, pop);
    PARAMS(CUpti_RangeProfiler_Stop, stop);
    pop.pRangeProfilerObject = stop.pRangeProfilerObject = session.profiler;
    CUPTI(cuptiRangeProfilerPopRange(&pop));
    CUPTI(cuptiRangeProfilerStop(&stop));
    *complete = stop.isAllPassSubmitted != 0;
    return NULL;
}

static const char *read_values(double values[])
{
    PARAMS(CUpti_RangeProfiler_DecodeData, decode);
    decode.pRangeProfilerObject = session.profiler;
    CUPTI(cuptiRangeProfilerDecodeData(&decode));
    if (decode.numOfRangeDropped > 0)
        return "CUPTI dropped a range";

    PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues, evaluate);
    evaluate.pHostObject = session.host;
    evaluate.pCounterDataImage = session.data;
    evaluate.counterDataImageSize = session.data_bytes;
    evaluate.ppMetricNames = session.names;
    evaluate.numMetrics = session.n;
    evaluate.pMetricValues = values;
    CUPTI(cuptiProfilerHostEvaluateToGpuValues(&evaluate));
    return NULL;
}

static void close_profiler(void)
{
    PARAMS(CUpti_RangeProfiler_Disable, disable);
    PARAMS(CUpti_Profiler_DeInitialize, leave);
    disable.pRangeProfilerObject = session.profiler;
    if (session.profiler)
        cuptiRangeProfilerDisable(&disable);
    cuptiProfilerDeInitialize(&leave);
    session.profiler = NULL;
}

extern __attribute__((visibility("default"))) const struct counters_plugin gpufloor_counters;
const struct counters_plugin gpufloor_counters = {
    .open = open_profiler,
    .configure = configure,
    .restart = restart,
    .begin = begin,
    .end = end,
    .read = read_values,
    .close = close_profiler,
    .chip = chip_name,
    .choose_chip = choose_chip,
    .knows = knows,
    .count_passes = count_passes,
    .reason = reason,
    .trace = records_trace,
    .take = records_take,
};
