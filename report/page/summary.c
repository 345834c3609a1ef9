#include "report/page/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/rows.h"
#include "report/page/out.h"

/* --- the table -------------------------------------------------------------------------------- */

#define GEMM_1024 "small_gemm.time{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"
#define LARGE "{rows=16384,cols=8192,type=fp16,"
#define SUM(bytes) "all_reduce.time{gpus=*,op=all_reduce,bytes=" #bytes ",type=bf16,impl="
#define OURS "[pt]*" /* push, two_shot */
#define COPY "peer_memory.rate{gpus=*,by="
#define LAYER_8B "{model=8b,context=1024,gpus=*,impl="

static const struct summary_entry entries[] = {
    /* memory and caches */
    {"shared-load", "load, shared memory", "memory_latency.load_time{level=shared,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"l1-load", "load, L1", "memory_latency.load_time{level=l1,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"dsmem-load", "load, another SM's shared memory", "sm_to_sm.dsmem_time{size=2,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"l2-load", "load, L2 near", "memory_latency.load_time{level=l2,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"l2-far-load", "load, L2 far", "memory_map.load_time{level=l2,side=far,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"l2-loaded", "load, L2, other SMs streaming", "bandwidth.loaded_latency{level=l2,load=100,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"hbm-load", "load, HBM", "memory_latency.load_time{level=hbm,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"hbm-loaded", "load, HBM, other SMs streaming",
     "bandwidth.loaded_latency{level=hbm,load=100,*}",
     PICK_FIRST, "ns", {FACTOR_PINS}},
    {"host-load", "load, host memory over the bus", "host_link.load{level=host,*}",
     PICK_FIRST, "us", {FACTOR_HOST}},
    {"register-read", "operands from registers", "bandwidth.rate{level=register,op=read,*}",
     PICK_FIRST, "TB/s", {FACTOR_CHIP}},
    {"shared-read", "read, shared memory", "bandwidth.rate{level=shared,op=read,path=ld,*}",
     PICK_FIRST, "TB/s", {FACTOR_CHIP}},
    {"shared-copy", "copy, shared memory", "bandwidth.rate{level=shared,op=copy,path=ld,*}",
     PICK_FIRST, "TB/s", {FACTOR_CHIP}},
    {"l1-read", "read, L1", "bandwidth.rate{level=l1,op=read,path=ld,*}",
     PICK_FIRST, "TB/s", {FACTOR_CHIP}},
    {"dsmem-read", "read, another SM's shared memory",
     "sm_to_sm_rate.stream{op=read,size=2,active=all}",
     PICK_FIRST, "TB/s", {FACTOR_CHIP}},
    {"l2-read", "read, L2", "bandwidth.rate{level=l2,op=read,path=ld,*}",
     PICK_FIRST, "TB/s", {FACTOR_CHIP}},
    {"l2-copy", "copy, L2", "bandwidth.rate{level=l2,op=copy,path=ld,*}",
     PICK_FIRST, "TB/s", {FACTOR_CHIP}},
    {"hbm-read", "read, HBM", "bandwidth.rate{level=hbm,op=read,path=ld,*}",
     PICK_LAST, "TB/s", {FACTOR_PINS}},
    {"hbm-copy", "copy, HBM", "bandwidth.rate{level=hbm,op=copy,path=ld,*}",
     PICK_LAST, "TB/s", {FACTOR_PINS}},
    {"hbm-one-warp", "read, HBM, one warp on each SM", "occupancy.path_rate{level=hbm,*warps=1,*}",
     PICK_BEST, "TB/s", {FACTOR_PINS}},
    {"host-read", "read of host memory, by copies",
     "host_link.copy_rate{direction=h2d,memory=pinned,*}",
     PICK_LAST, "TB/s", {FACTOR_HOST}},
    {"l1-size", "capacity, L1", "derived.capacity{level=l1}", PICK_FIRST, "KiB", {FACTOR_NONE}},
    {"l2-near-size", "capacity, one side of the L2", "derived.capacity{level=l2_near}",
     PICK_FIRST, "MiB", {FACTOR_L2}},
    {"l2-size", "capacity, L2", "derived.capacity{level=l2}", PICK_FIRST, "MiB", {FACTOR_L2}},

    /* waiting and launching */
    {"fma", "multiply-add, fp32", "instructions.latency{op=fma,type=fp32*}",
     PICK_FIRST, "", {FACTOR_NONE}},
    {"mma", "tensor product, mma.sync m16n8k16",
     "instructions.latency{op=mma,shape=m16n8k16,type=fp16,acc=fp32*}",
     PICK_FIRST, "", {FACTOR_NONE}},
    {"block-barrier", "barrier of a block, 8 warps",
     "barriers.block_time{barrier=syncthreads,warps=8,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"cluster-barrier-relaxed", "barrier of a cluster of 8, relaxed",
     "barriers.cluster_time{order=relaxed,blocks=8,threads=256,store=none,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"cluster-barrier", "barrier of a cluster of 8, ordered",
     "barriers.cluster_time{order=ordered,blocks=8,threads=256,store=none,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"atomic", "atomic add in the L2",
     "contention.atomic_latency_time{space=global,op=add_u32,lanes=1,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"flag", "flag from SM to SM through the L2", "sm_to_sm.flag_time{path=l2_same,by=relaxed,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"flag-data", "flag that hands over data", "sm_to_sm.flag_time{path=l2,by=acq_rel,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"grid-barrier", "barrier of all SMs, two counters",
     "barriers.grid_time{barrier=twin,per_sm=1,threads=256,store=none,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"grid-sync", "barrier of all SMs, grid.sync",
     "barriers.grid_time{barrier=sync,per_sm=1,threads=256,store=none,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"graph-kernel", "one more empty kernel in a graph", "launch.edge{mode=graph,timer=event}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"step-graph-early", "step of all SMs: graph, early start",
     "edges.step{mode=graph_pdl_early,blocks=sm,body=0,span=64-512,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"step-kernel", "step of all SMs: inside one kernel",
     "edges.step{mode=counter,blocks=sm,body=0,span=64-512,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"words", "2048 words, all SMs to all SMs",
     "edges.exchange{mode=values,words=2048,stream=none,span=32-256,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"words-loaded", "2048 words, all SMs streaming",
     "edges.exchange{mode=values,words=2048,stream=hbm,span=32-256,*}",
     PICK_FIRST, "us", {FACTOR_CLOCK}},
    {"step-graph", "step of all SMs: graph",
     "edges.step{mode=graph,blocks=sm,body=0,span=64-512,*}",
     PICK_FIRST, "ns", {FACTOR_CLOCK}},
    {"step-stream", "step of all SMs: stream",
     "edges.step{mode=stream,blocks=sm,body=0,span=64-512,*}",
     PICK_FIRST, "us", {FACTOR_HOST}},
    {"submit", "submit a kernel, CPU time", "launch.submit{timer=wall}",
     PICK_FIRST, "us", {FACTOR_HOST}},
    {"round-trip", "submit to done, empty kernel", "launch.round_trip{timer=wall}",
     PICK_FIRST, "us", {FACTOR_HOST}},
    {"wakeup", "CPU woken from sleep by the GPU", "host_link.wakeup{by=blocking,*}",
     PICK_FIRST, "us", {FACTOR_HOST}},
    {"graph-1024", "graph of 1024 kernels", "graphs.replay{nodes=1024,*}",
     PICK_FIRST, "us", {FACTOR_CLOCK}},
    {"process", "start of a process with a context", "null.process{context=yes,*}",
     PICK_FIRST, "ms", {FACTOR_HOST}},

    /* products */
    {"wgmma", "tensor cores alone, wgmma fp16",
     "instructions.tensor_peak{op=wgmma,shape=m64n256k16,type=fp16,acc=fp32,*}",
     PICK_FIRST, "TFLOP/s", {FACTOR_POWER}},
    {"mma-sync", "tensor cores alone, mma.sync fp16",
     "instructions.tensor_peak{op=mma,shape=m16n8k16,type=fp16,acc=fp32*}",
     PICK_FIRST, "TFLOP/s", {FACTOR_POWER}},
    {"product-1024", "1024^3 fp16, ours", GEMM_1024 "impl=wgmma,*l2=warm,*}",
     PICK_BEST, "us", {FACTOR_POWER}},
    {"product-1024-mma", "1024^3 fp16, ours, mma.sync", GEMM_1024 "impl=mma,*l2=warm,*}",
     PICK_BEST, "us", {FACTOR_POWER}},
    {"product-1024-cublas", "1024^3 fp16, cuBLAS", GEMM_1024 "impl=cublas,*l2=warm,*}",
     PICK_FIRST, "us", {FACTOR_POWER}},
    {"product-8192-cublas", "8192^3 fp16, cuBLAS",
     "gemm_sizes.time{m=8192,n=8192,k=8192,type=fp16,acc=fp32,layout=nn,impl=cublas,*l2=warm,*}",
     PICK_FIRST, "us", {FACTOR_POWER}},
    {"vector-bf16", "4096 x 14336 by a vector, bf16",
     "gemv.time{m=4096,k=14336,type=bf16,acc=fp32,impl=own,l2=cold,*}",
     PICK_FIRST, "us", {FACTOR_PINS, FACTOR_CHIP}},
    {"vector-int4", "4096 x 14336 by a vector, int4",
     "quantized.time{rows=4096,cols=14336,batch=1,type=int4,impl=fused,mode=graph,l2=cold,*}",
     PICK_FIRST, "us", {FACTOR_PINS, FACTOR_CHIP}},

    /* fused operators */
    {"gelu-unfused", "scale * gelu(x + bias), 3 kernels",
     "bias_gelu_scale.time" LARGE "impl=unfused,mode=graph,l2=cold,*}",
     PICK_FIRST, "us", {FACTOR_PINS, FACTOR_CHIP}},
    {"gelu", "scale * gelu(x + bias), fused",
     "bias_gelu_scale.time" LARGE "impl=fused,mode=graph,l2=cold,*}",
     PICK_FIRST, "us", {FACTOR_PINS, FACTOR_CHIP}},
    {"rmsnorm", "residual + RMSNorm, fused",
     "norm.time{op=rmsnorm_residual,rows=16384,cols=8192,*impl=fused,mode=graph,*}",
     PICK_FIRST, "us", {FACTOR_PINS, FACTOR_CHIP}},
    {"prefill", "attention, a prompt of 8192, fused",
     "attention_prefill.rate{*context=8192,mask=causal,type=bf16,impl=fused,mode=graph,*}",
     PICK_FIRST, "TFLOP/s", {FACTOR_POWER}},
    {"decode", "attention, a query over 8192 keys",
     "attention_decode.time{batch=1,context=8192,*d=128,type=bf16,impl=attention,mode=graph,"
     "l2=cold,*}",
     PICK_FIRST, "us", {FACTOR_PINS, FACTOR_CHIP}},
    {"token", "a token of 128256 logits, fused",
     "sampling.time{vocabulary=128256,batch=1,k=50,*impl=fused,mode=graph,l2=warm,*}",
     PICK_FIRST, "us", {FACTOR_CLOCK}},

    /* between GPUs: of a time that is no transfer, no factor is known */
    {"peer-l2-load", "load, the next GPU's L2", "peer_memory.load_time{gpus=*,level=l2,*}",
     PICK_FIRST, "us", {FACTOR_NONE}},
    {"peer-load", "load, the next GPU's memory", "peer_memory.load_time{gpus=*,level=hbm,*}",
     PICK_FIRST, "us", {FACTOR_NONE}},
    {"peer-flag", "flag to the next GPU, one way",
     "signal.one_way{gpus=*,order=relaxed,via=peer,*}",
     PICK_FIRST, "us", {FACTOR_NONE}},
    {"gpus-barrier", "barrier of all SMs of all GPUs", "signal.barrier{gpus=*,blocks=sm,*}",
     PICK_FIRST, "us", {FACTOR_NONE}},
    {"sum-16k", "16 KiB added, in a kernel", SUM(16384) "push,mode=kernel,*}",
     PICK_FIRST, "us", {FACTOR_NONE}},
    {"sum-16k-node", "16 KiB added, a node", SUM(16384) "push,mode=graph,*}",
     PICK_FIRST, "us", {FACTOR_NONE}},
    {"sum-16k-nccl", "16 KiB added, a node, NCCL", SUM(16384) "nccl,mode=graph,*}",
     PICK_FIRST, "us", {FACTOR_NONE}},
    {"sum-16k-nccl-symmetric", "16 KiB added, NCCL, symmetric",
     SUM(16384) "nccl_symmetric,mode=graph,*}",
     PICK_FIRST, "us", {FACTOR_NONE}},
    {"sum-256k", "256 KiB added, in a kernel", SUM(262144) OURS ",mode=kernel,*}",
     PICK_BEST, "us", {FACTOR_NONE, FACTOR_LINKS}},
    {"sum-256k-node", "256 KiB added, a node", SUM(262144) OURS ",mode=graph,*}",
     PICK_BEST, "us", {FACTOR_NONE, FACTOR_LINKS}},
    {"sum-1m", "1 MiB added, in a kernel", SUM(1048576) OURS ",mode=kernel,*}",
     PICK_BEST, "us", {FACTOR_NONE, FACTOR_LINKS}},
    {"sum-1m-node", "1 MiB added, a node", SUM(1048576) OURS ",mode=graph,*}",
     PICK_BEST, "us", {FACTOR_NONE, FACTOR_LINKS}},
    {"peer-copy", "copy engine, one way", COPY "copy_engine,directions=one,*}",
     PICK_LAST, "GB/s", {FACTOR_LINKS}},
    {"peer-copy-both", "copy engine, both ways", COPY "copy_engine,directions=both,*}",
     PICK_LAST, "GB/s", {FACTOR_LINKS}},
    {"peer-store", "copy by SMs' stores, one way", COPY "store,directions=one,*}",
     PICK_LAST, "GB/s", {FACTOR_LINKS}},
    {"peer-store-both", "copy by SMs' stores, both ways", COPY "store,directions=both,*}",
     PICK_LAST, "GB/s", {FACTOR_LINKS}},
    {"gpus-layer", "layer of 8B on all GPUs, near", "layer.time" LAYER_8B "near,*}",
     PICK_FIRST, "us", {FACTOR_PINS, FACTOR_CHIP}},
    {"gpus-layer-nccl", "layer of 8B, graph with NCCL", "layer.time" LAYER_8B "graph_nccl,*}",
     PICK_FIRST, "us", {FACTOR_PINS, FACTOR_CHIP}},
    {"gpus-step", "step of 8B on all GPUs, near", "layer.step_time" LAYER_8B "near,*}",
     PICK_FIRST, "ms", {FACTOR_PINS, FACTOR_CHIP}},
    {"gpus-step-nccl", "step of 8B, graph with NCCL", "layer.step_time" LAYER_8B "graph_nccl,*}",
     PICK_FIRST, "ms", {FACTOR_PINS, FACTOR_CHIP}},
};

const struct summary_entry *summary_at(size_t i)
{
    return i < sizeof entries / sizeof entries[0] ? &entries[i] : NULL;
}

/* --- taking ----------------------------------------------------------------------------------- */

static bool pick_row(const struct rows *rows, const char *glob, enum summary_pick pick,
                     struct row *row)
{
    const struct row *found = NULL, *next_row;

    if (pick == PICK_BEST)
        return rows_pick(rows, glob, row);
    for (size_t next = 0; (next_row = rows_match(rows, glob, &next));) {
        if (!row_usable(next_row))
            continue;
        found = next_row;
        if (pick == PICK_FIRST)
            break;
    }
    if (found)
        *row = *found;
    return found != NULL;
}

/* Was a baseline measured on another card than most of the bundle, as `spin` stands for it? */
static bool is_elsewhere(const struct bundle *bundle, const struct row *row)
{
    const struct part *own = bundle_part(bundle, "spin"), *part = bundle_part(bundle, row->probe);
    return own && part && own->card && part->card && strcmp(own->card, part->card) != 0;
}

struct number summary_take(const struct summary *summary, const char *glob, enum summary_pick pick)
{
    struct row row;
    struct number number;

    if (pick_row(&summary->bundle->rows, glob, pick, &row)) {
        number = number_of(&row);
        number.quoted = row_is_of_baseline(glob) && is_elsewhere(summary->bundle, &row);
        return number;
    }
    if (!summary->committed || !row_is_of_baseline(glob) ||
        !pick_row(&summary->committed->rows, glob, pick, &row))
        return number_none();
    number = number_of(&row);
    number.quoted = true;
    return number;
}

const struct summary_entry *summary_find(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (!strcmp(entries[i].name, name))
            return &entries[i];
    return NULL;
}

bool summary_is_between(const struct summary_entry *entry)
{
    return strstr(entry->glob, "gpus=*") != NULL;
}

struct number summary_number(const struct summary *summary, const char *name)
{
    const struct summary_entry *entry = summary_find(name);

    if (entry)
        return summary_take(summary, entry->glob, entry->pick);
    out_say("gpufloor: the summary has no number '%s'\n", name);
    abort();
}

const char *summary_label(const char *name)
{
    const struct summary_entry *entry = summary_find(name);
    return entry ? entry->label : "";
}

char *summary_why(const struct summary *summary, const char *glob, char *text, size_t size)
{
    const struct row *row;
    char probe[64], gpu[160];
    const size_t length = strcspn(glob, ".");

    snprintf(probe, sizeof probe, "%.*s", (int)length, glob);
    const struct part *part = bundle_part(summary->bundle, probe);
    size_t next = 0;
    if ((row = rows_match(&summary->bundle->rows, glob, &next)))
        snprintf(text, size, "%s: %s", row->metric,
                 row->why ? row->why : row_status_name(row->status));
    else if (part && part->n_ok == 0)
        snprintf(text, size, "%s: %s", probe,
                 part->why ? part->why : "no run of it came to an end");
    else if (part)
        snprintf(text, size, "%s has no such case in this bundle", probe);
    else if (!strcmp(probe, "derived"))
        snprintf(text, size, "what it is derived from is not in this bundle");
    else if (!*bundle_fact(summary->bundle, "gpu", "name", gpu, sizeof gpu, ""))
        snprintf(text, size, "no GPU was measured");
    else if (strchr(probe, '*'))
        snprintf(text, size, "no program that does it is in this bundle");
    else
        snprintf(text, size, "%s is not in this bundle", probe);
    return text;
}

/* --- the board -------------------------------------------------------------------------------- */

static const double FACT_MOST = 1e15;

double summary_fact(const struct summary *summary, const char *key)
{
    char text[64];
    const char *value = bundle_fact(summary->bundle, "gpu", key, text, sizeof text, "");
    const double fact = *value ? atof(value) : (double)NAN;
    return fabs(fact) < FACT_MOST ? fact : (double)NAN; /* no machine has so much of anything */
}

double summary_sms(const struct summary *summary)
{
    return summary_fact(summary, "n_sm");
}

/* spin waits a known number of cycles. */
static const char clock_glob[] = "spin.sm_clock{source=measured}*";
const char *const summary_needs[] = {clock_glob, NULL};

double summary_clock_mhz(const struct summary *summary)
{
    const struct number measured = summary_take(summary, clock_glob, PICK_FIRST);
    return number_there(&measured) ? measured.value * number_scale(measured.unit, "MHz")
                                   : summary_fact(summary, "sm_clock_max_mhz");
}

double summary_pins(const struct summary *summary)
{
    return 2e6 * summary_fact(summary, "memory_clock_mhz") * summary_fact(summary, "bus_bits") / 8;
}

/* Of the GPU that has least. */
double summary_links(const struct summary *summary)
{
    const json_t *environment = json_object_get(summary->bundle->head, "environment");
    const json_t *gpus = json_object_get(json_object_get(environment, "links"), "nvlinks");
    const json_t *gpu, *rate;
    double least = NAN;
    size_t i, k;

    json_array_foreach(gpus, i, gpu) {
        double sum = 0;
        json_array_foreach(json_object_get(gpu, "rates"), k, rate) sum += json_number_value(rate);
        least = fmin(least, sum);
    }
    return least > 0 && least < FACT_MOST ? least : (double)NAN;
}

int summary_cc(const struct summary *summary)
{
    const double cc = summary_fact(summary, "cc");
    return isnan(cc) ? 0 : (int)lrint(10 * cc);
}

const char *summary_memory_name(const struct summary *summary)
{
    return summary_fact(summary, "bus_bits") < 1024 ? "DRAM" : "HBM";
}
