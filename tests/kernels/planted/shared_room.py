"""Shared memory and warps: rows that lie elsewhere, copies that do not run ahead, blocks that need more."""

ROOM = "fused/shared_room/shared_room.cu"
GENERAL = "core/device/load.cuh"
ASYNC = "core/device/async.cuh"
REDUCE = "fused/common/reduce.cuh"
NA_128 = "ld.global.nc.L1::no_allocate.v4.u32"
SECOND = "        const uint4 second = load_once(from.second + v * from.step);\n"
COPY = "        cp_async_16(to + ROOM_THREADS * sizeof(uint4), from.second + v * from.step);\n"
WAIT = "            cp_async_wait<ROOM_STAGES - 1>();\n"
ASK = "            ask<IS_FUSED>(t, a, tile + ROOM_STAGES); // where this one was: it has been read\n"
ADD = "        for (int i = 0; i < ROOM_VECTOR; i++)\n            h[i] += r[i];\n"
IN_SHARED = "    float4 *h = (float4 *)room_memory;\n"
STORE = "        y[v] = narrow<bf16>(x);\n"
GET = "    const float4 a = from[0], b = from[half];\n"
BY_CG = """    float4 a, b;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a.x), "=f"(a.y), "=f"(a.z), "=f"(a.w) : "l"(from) : "memory");
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(b.x), "=f"(b.y), "=f"(b.z), "=f"(b.w) : "l"(from + half) : "memory");
"""
BY_REGISTER = """    const uint4 v = load_once(from);
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to_shared), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w) : "memory");
"""
CP_ASYNC = """    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_shared), "l"(from)
                 : "memory");
"""
PIPES = ("room_pipe", "room_norm_pipe")
PLAINS = ("room_plain", "room_norm_plain")
ROWS = PLAINS + PIPES + ("room_cached",)


def all_of(kernels, word):
    return dict.fromkeys(kernels, word)


FAULTS = [
    # Plain loads.
    dict(name="loads through the L1", source=ROOM, since="80",
         changes=[(GENERAL, NA_128, "ld.global.nc.v4.u32")],
         caught=all_of(PLAINS + ("room_sum", "room_cached"), "expected a loop with ldg128na=2")),
    dict(name="one load after the other", source=ROOM, since="80",
         changes=[(ROOM, SECOND, SECOND.replace("v * from.step", "v * from.step + (first.x == 0x12345)"))],
         caught=all_of(PLAINS + ("room_cached",), "expected together")),
    dict(name="a row of h that is not in shared memory", source=ROOM, since="80",
         changes=[(ROOM, IN_SHARED, "    float4 *h = (float4 *)(a.h + (uint64_t)blockIdx.x * a.columns);\n")],
         caught=all_of(PLAINS, "expected sts128=2")),
    dict(name="a row of h that the L1 does not keep", source=ROOM, since="80",
         changes=[(ROOM, GET, BY_CG)], caught={"room_cached": "expected ldg128.weak=4"}),
    dict(name="half of h that is left", source=ROOM, since="80",
         changes=[(ROOM, "    to[half] = make_float4(h[4], h[5], h[6], h[7]);\n", "")],
         caught={**all_of(PLAINS + PIPES, "expected sts128=2"), "room_sum": "expected stg128=2",
                 "room_cached": "expected stg128=2"}),
    dict(name="a result that is dropped", source=ROOM, since="80", changes=[(ROOM, STORE, "")],
         caught={**all_of(PLAINS + PIPES, "expected stg128=1"), "room_cached": "expected stg128=3"}),
    dict(name="sums of the block without its barrier", source=ROOM, since="80",
         changes=[(REDUCE, "    __syncthreads();\n    x = scratch[0];", "    __syncwarp();\n    x = scratch[0];")],
         caught=all_of(ROWS, "expected bar.block=2")),
    dict(name="blocks that leave early", source=ROOM, since="80",
         changes=[(ROOM, IN_SHARED, "    if (blockIdx.x % 4 == 3)\n        return;\n" + IN_SHARED)],
         caught=all_of(PLAINS, "expected exits<=2")),
    # Copies.
    dict(name="copies through the L1", source=ROOM, since="80",
         changes=[(ASYNC, "cp.async.cg.shared.global [%0], [%1], 16;", "cp.async.ca.shared.global [%0], [%1], 16;")],
         caught=all_of(PIPES, "expected a loop with ldgsts.bypass=2")),
    dict(name="copies by way of registers", source=ROOM, since="80", changes=[(ASYNC, CP_ASYNC, BY_REGISTER)],
         caught=all_of(PIPES, "expected a loop with ldgsts.bypass=2")),
    dict(name="copies of half of what is read", source=ROOM, since="80", changes=[(ROOM, COPY, "")],
         caught=all_of(PIPES, "expected ldgsts.bypass=2")),
    dict(name="copies that are all waited for", source=ROOM, since="80",
         changes=[(ROOM, WAIT, WAIT.replace("ROOM_STAGES - 1", "0"))], caught=all_of(PIPES, "expected depbar.1=1")),
    dict(name="copies that nobody waits for", source=ROOM, since="80",
         changes=[(ROOM, WAIT, "")], caught=all_of(PIPES, "expected depbar.1=1")),
    dict(name="copies that are asked for before those before are waited for", source=ROOM, since="80",
         changes=[(ROOM, ASK, ""), (ROOM, WAIT, "            ask<IS_FUSED>(t, a, tile + ROOM_STAGES);\n" + WAIT)],
         caught=all_of(PIPES, "expected ahead")),
    dict(name="a wait for copies that sleeps", source=ROOM, since="80",
         changes=[(ROOM, WAIT, WAIT + "            __nanosleep(20);\n")], caught=all_of(PIPES, "expected no sleep")),
    # What a block needs, beside the shared memory that is measured.
    dict(name="registers that leave room for fewer blocks", source=ROOM, since="80",
         changes=[(ROOM, "enum { ROOM_BLOCKS = 6 };", "enum { ROOM_BLOCKS = 1 };"),
                  (ROOM, "#pragma unroll 1\n    for (uint32_t v = threadIdx.x; v < vectors; v += ROOM_THREADS) {\n"
                   "        float x[ROOM_VECTOR];\n        const uint4 first",
                   "#pragma unroll 8\n    for (uint32_t v = threadIdx.x; v < vectors; v += ROOM_THREADS) {\n"
                   "        float x[ROOM_VECTOR];\n        const uint4 first")],
         caught=all_of(PLAINS, "expected regs<=40")),
    dict(name="shared memory of the block's own", source=ROOM, since="80",
         changes=[(ROOM, "    float sum[ROOM_THREADS / 32], square[ROOM_THREADS / 32];",
                   "    float sum[ROOM_THREADS / 32], square[ROOM_THREADS];")],
         caught=all_of(ROWS, "expected smem=64")),
    dict(name="vectors in local memory", source=ROOM, since="80",
         changes=[(ROOM, "#pragma unroll\n" + ADD, "#pragma unroll 1\n" + ADD)],
         caught={"room_plain": "expected local=0", "room_pipe": "expected local=0", "room_sum": "expected local=0",
                 "room_cached": "expected local=0"}),
]
