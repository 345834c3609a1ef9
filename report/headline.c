#include "report/headline.h"

#define GEMM_1024 "small_gemm.time{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"
#define LARGE "{rows=16384,cols=8192,type=fp16,"

static const struct headline rows_shown[] = {
    {"dependent load, shared memory", "memory_latency.load{level=shared}", false},
    {"dependent load, L1 hit", "memory_latency.load{level=l1}", false},
    {"dependent load, L2 hit", "memory_latency.load{level=l2}", false},
    {"dependent load, L2 hit, in time", "memory_latency.load_time{level=l2,*}", false},
    {"dependent load, device memory", "memory_latency.load_time{level=hbm,*}", false},
    {"capacity, L1", "derived.capacity{level=l1}", false},
    {"capacity, L2 partition near the SM", "derived.capacity{level=l2_near}", false},
    {"capacity, L2", "derived.capacity{level=l2}", false},
    {"submit an empty kernel", "launch.submit{*}", false},
    {"submit to done, empty kernel", "launch.round_trip{*}", false},
    {"one more dependent kernel, stream", "launch.edge{mode=stream,timer=event}", false},
    {"one more dependent kernel, graph", "launch.edge{mode=graph,timer=event}", false},
    {"read rate, device memory, best occupancy", "occupancy.read_rate{level=hbm,*}", true},
    {"read rate, L2, best occupancy", "occupancy.read_rate{level=l2,*}", true},
    {"1024^3 fp16, cuBLAS, warm", GEMM_1024 "impl=cublas,*l2=warm,*", false},
    {"1024^3 fp16, own mma.sync, best tile, warm", GEMM_1024 "impl=mma,*l2=warm,*", true},
    {"one mma.sync m16n8k16 fp16 on an SM", "small_gemm.mma_cycles{type=fp16,acc=fp32*", false},
    {"scale*gelu(x+bias) 16384x8192, three kernels",
     "bias_gelu_scale.time" LARGE "impl=unfused,mode=graph,l2=cold,*", false},
    {"scale*gelu(x+bias) 16384x8192, fused",
     "bias_gelu_scale.time" LARGE "impl=fused,mode=graph,l2=cold,*", false},
    {"... fused, share of a copy",
     "bias_gelu_scale.share_of_copy" LARGE "impl=fused,mode=graph,l2=cold*", false},
    {"host: dependent load, L1", "host_memory.load_time{level=l1,*}", false},
    {"host: dependent load, DRAM", "host_memory.load_time{level=dram,*}", false},
    {"start and end of a process, no GPU context", "null.process{context=no,*}", false},
};

const struct headline *headline_at(size_t i)
{
    return i < sizeof rows_shown / sizeof rows_shown[0] ? &rows_shown[i] : NULL;
}

bool headline_row(const struct headline *headline, const struct rows *rows, struct row *row)
{
    size_t place = 0;
    if (headline->best && rows_pick(rows, headline->glob, row))
        return true;
    const struct row *first = rows_match(rows, headline->glob, &place);
    if (first)
        *row = *first;
    return first != NULL;
}
