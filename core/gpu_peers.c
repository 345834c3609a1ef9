/* What lies between GPUs, for the environment of the run document. */
#include <math.h>

#include "core/gpu.h"
#include "core/gpu_inside.h"
#include "core/nvml.h"
#include "core/run.h"

enum { PEERS_MOST = 16, BUS_TEXT = 32 };

static json_t *known_text(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *known_flag(int value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

/* The NVLinks of one GPU: a state and a rate for each. */
static json_t *links_object(const struct nvml *nvml)
{
    static const char *const ends[] = {"GPU", "NPU", "switch", NULL};
    const struct nvml_links n = nvml_links(nvml);
    json_t *rates = json_array();

    for (int i = 0; i < n.n; i++)
        json_array_append_new(rates, document_number(n.rate[i]));
    return json_pack("{s:i, s:i, s:o, s:o, s:o}", "n", n.n, "up", n.n_active, "version",
                     n.version ? json_integer(n.version) : json_null(), "far_end",
                     known_text(ends[n.far_end]), "rates", rates);
}

static json_t *attribute_of(enum cudaDeviceP2PAttr which, int from, int to)
{
    int value = 0;
    return CUDA_GRANTS(cudaDeviceGetP2PAttribute(&value, which, from, to)) ? json_integer(value)
                                                                           : json_null();
}

static json_t *pair_object(int from, int to, const int device[], struct nvml *const nvml[])
{
    const struct nvml_between between = nvml_between(nvml[from], nvml[to]);
    int access = 0;

    CUDA(cudaDeviceCanAccessPeer(&access, device[from], device[to]));
    return json_pack("{s:i, s:i, s:b, s:o, s:o, s:o, s:o}", "from", from, "to", to, "access",
                     access, "native_atomics",
                     attribute_of(cudaDevP2PAttrNativeAtomicSupported, device[from], device[to]),
                     "performance_rank",
                     attribute_of(cudaDevP2PAttrPerformanceRank, device[from], device[to]),
                     "nvlink", known_flag(between.nvlink), "path", known_text(between.path));
}

void gpu_describe_peers(struct probe_run *r, const int device[], int n)
{
    json_t *all = json_pack("{s:i, s:[], s:[]}", "gpus", n, "nvlinks", "pairs");
    struct nvml *nvml[PEERS_MOST] = {NULL};
    char why[NVML_WHY], bus[BUS_TEXT];

    for (int i = 0; i < n && i < PEERS_MOST; i++) {
        CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, device[i]));
        nvml[i] = nvml_open(bus, why);
        json_array_append_new(json_object_get(all, "nvlinks"), links_object(nvml[i]));
    }
    for (int from = 0; from < n && from < PEERS_MOST; from++)
        for (int to = 0; to < n && to < PEERS_MOST; to++)
            if (from != to && device[from] != device[to])
                json_array_append_new(json_object_get(all, "pairs"),
                                      pair_object(from, to, device, nvml));
    for (int i = 0; i < n && i < PEERS_MOST; i++)
        nvml_close(nvml[i]);
    json_object_set_new(r->environment, "links", all);
}
