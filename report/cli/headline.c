#include "report/cli/headline.h"

#define GEMM_1024 "small_gemm.time{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"
#define LARGE "{rows=16384,cols=8192,type=fp16,"

static const struct headline rows_shown[] = {
    {"load, shared memory", "memory_latency.load{level=shared}", HEADLINE_FIRST},
    {"load, L1", "memory_latency.load{level=l1}", HEADLINE_FIRST},
    {"load, L2 near, in cycles", "memory_latency.load{level=l2}", HEADLINE_FIRST},
    {"load, L2 near", "memory_latency.load_time{level=l2,*}", HEADLINE_FIRST},
    {"load, L2 far", "memory_map.load_time{level=l2,side=far,*}", HEADLINE_FIRST},
    {"load, HBM", "memory_latency.load_time{level=hbm,*}", HEADLINE_FIRST},
    {"load, HBM, other SMs streaming", "bandwidth.loaded_latency{level=hbm,load=100,*}",
     HEADLINE_FIRST},
    {"load, another SM's shared memory", "sm_to_sm.dsmem{*size=2}", HEADLINE_FIRST},
    {"flag from SM to SM through the L2", "sm_to_sm.flag_time{path=l2_same,by=relaxed,*}",
     HEADLINE_FIRST},
    {"multiply-add, fp32", "instructions.latency{op=fma,type=fp32*}", HEADLINE_FIRST},
    {"capacity, L1", "derived.capacity{level=l1}", HEADLINE_FIRST},
    {"capacity, one side of the L2", "derived.capacity{level=l2_near}", HEADLINE_FIRST},
    {"capacity, L2", "derived.capacity{level=l2}", HEADLINE_FIRST},
    {"barrier of a block, 8 warps", "barriers.block{barrier=syncthreads,warps=8}", HEADLINE_FIRST},
    {"barrier of a cluster of 8, ordered",
     "barriers.cluster_time{order=ordered,blocks=8,threads=256,store=none,*}", HEADLINE_FIRST},
    {"barrier of all SMs, grid.sync",
     "barriers.grid_time{barrier=sync,per_sm=1,threads=256,store=none,*}", HEADLINE_FIRST},
    {"barrier of all SMs, two counters",
     "barriers.grid_time{barrier=twin,per_sm=1,threads=256,store=none,*}", HEADLINE_FIRST},
    {"submit a kernel, CPU time", "launch.submit{timer=wall}", HEADLINE_HOST},
    {"submit to done, empty kernel", "launch.round_trip{timer=wall}", HEADLINE_HOST},
    {"one more empty kernel by stream", "launch.edge{mode=stream,timer=event}", HEADLINE_HOST},
    {"one more empty kernel in a graph", "launch.edge{mode=graph,timer=event}", HEADLINE_FIRST},
    {"step of all SMs: graph", "edges.step{mode=graph,blocks=sm,body=0,span=64-512,*}",
     HEADLINE_FIRST},
    {"step of all SMs: inside one kernel",
     "edges.step{mode=counter,blocks=sm,body=0,span=64-512,*}", HEADLINE_FIRST},
    {"read, HBM, 4 GiB", "bandwidth.rate{level=hbm,op=read,path=ld,bytes=4294967296}",
     HEADLINE_FIRST},
    {"read, L2, no line shared", "bandwidth.rate{level=l2,op=read,path=ld,*}", HEADLINE_FIRST},
    {"read, L1, by each SM", "bandwidth.sm_rate{level=l1,op=read,path=ld,*}", HEADLINE_FIRST},
    {"read, HBM, one warp on each SM, best copy", "occupancy.path_rate{level=hbm,*warps=1,*}",
     HEADLINE_BEST},
    {"read, HBM, by loads, best number of warps", "occupancy.read_rate{level=hbm,*}",
     HEADLINE_BEST},
    {"read, L2, SMs sharing lines, best number of warps", "occupancy.read_rate{level=l2,*}",
     HEADLINE_BEST},
    {"1024^3 fp16, cuBLAS, warm", GEMM_1024 "impl=cublas,*l2=warm,*", HEADLINE_FIRST},
    {"1024^3 fp16, gpufloor's mma.sync, best tile of small_gemm, warm",
     GEMM_1024 "impl=mma,*l2=warm,*", HEADLINE_BEST},
    {"1024^3 fp16, gpufloor's wgmma, best tile of small_gemm, warm",
     GEMM_1024 "impl=wgmma,*l2=warm,*", HEADLINE_BEST},
    {"1024^3 fp16, gpufloor's best over cuBLASLt's, in turn, warm",
     "gemm_sizes.over_library{m=1024,n=1024,k=1024,type=fp16,*layout=nn,impl=own,*l2=warm}",
     HEADLINE_FIRST},
    {"a matrix of 4096x14336 bf16 times a vector, cold",
     "gemv.time{m=4096,k=14336,*impl=own,l2=cold,*", HEADLINE_FIRST},
    {"a matrix of 4096x14336 int4 times a vector, cold",
     "quantized.time{rows=4096,cols=14336,batch=1,type=int4,impl=fused,mode=graph,l2=cold,*",
     HEADLINE_FIRST},
    {"one mma.sync m16n8k16 fp16 on an SM",
     "instructions.reciprocal_throughput{op=mma,shape=m16n8k16,type=fp16,acc=fp32*",
     HEADLINE_FIRST},
    {"one wgmma m64n256k16 fp16 on an SM",
     "instructions.reciprocal_throughput{op=wgmma,shape=m64n256k16,type=fp16,acc=fp32*",
     HEADLINE_FIRST},
    {"scale * gelu(x + bias), 16384x8192, three kernels",
     "bias_gelu_scale.time" LARGE "impl=unfused,mode=graph,l2=cold,*", HEADLINE_FIRST},
    {"scale * gelu(x + bias), 16384x8192, fused",
     "bias_gelu_scale.time" LARGE "impl=fused,mode=graph,l2=cold,*", HEADLINE_FIRST},
    {"scale * gelu(x + bias), 16384x8192, fused, of a copy",
     "bias_gelu_scale.share_of_copy" LARGE "impl=fused,mode=graph,l2=cold*", HEADLINE_FIRST},
    {"residual + RMSNorm, 16384x8192, two kernels",
     "norm.time{op=rmsnorm_residual,rows=16384,cols=8192,*impl=unfused,mode=graph,*",
     HEADLINE_FIRST},
    {"residual + RMSNorm, 16384x8192, fused",
     "norm.time{op=rmsnorm_residual,rows=16384,cols=8192,*impl=fused,mode=graph,*", HEADLINE_FIRST},
    {"softmax of one row of 131072, warm",
     "softmax.time{rows=1,cols=131072,type=fp16,impl=fused,mode=graph,l2=warm,*", HEADLINE_FIRST},
    {"causal attention, 8192 tokens, three kernels",
     "attention_prefill.rate{*context=8192,mask=causal,type=bf16,impl=unfused,mode=graph,*",
     HEADLINE_FIRST},
    {"causal attention, 8192 tokens, fused",
     "attention_prefill.rate{*context=8192,mask=causal,type=bf16,impl=fused,mode=graph,*",
     HEADLINE_FIRST},
    {"one query over 8192 keys, cold",
     "attention_decode.time{batch=1,context=8192,*d=128,type=bf16,impl=attention,mode=graph,l2="
     "cold,*",
     HEADLINE_FIRST},
    {"a token of 128256 logits, six kernels",
     "sampling.time{vocabulary=128256,batch=1,k=50,*impl=unfused,mode=graph,l2=warm,*",
     HEADLINE_FIRST},
    {"a token of 128256 logits, one kernel",
     "sampling.time{vocabulary=128256,batch=1,k=50,*impl=fused,mode=graph,l2=warm,*",
     HEADLINE_FIRST},
    {"load of the CPU, L1", "host_memory.load_time{level=l1,*}", HEADLINE_HOST},
    {"start and end of a process, no GPU context", "null.process{context=no,*}", HEADLINE_HOST},
};

const struct headline *headline_at(size_t i)
{
    return i < sizeof rows_shown / sizeof rows_shown[0] ? &rows_shown[i] : NULL;
}

bool headline_row(const struct headline *headline, const struct rows *rows, struct row *row)
{
    size_t next = 0;
    if (headline->kind == HEADLINE_BEST && rows_pick(rows, headline->glob, row))
        return true;
    const struct row *first = rows_match(rows, headline->glob, &next);
    if (first)
        *row = *first;
    return first != NULL;
}
