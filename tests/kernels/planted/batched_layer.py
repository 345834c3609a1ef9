"""A decoder's layer at any batch: keys that come another way than is said, tickets without a fence, operators that
leave something out."""

LAYER = "fused/batched_layer/batched_layer.cu"
ASYNC = "core/device/async.cuh"
GENERAL = "core/device/load.cuh"
REDUCE = "fused/common/reduce.cuh"
ATTENTION = "fused/common/decoder/attention.cuh"
CP_ASYNC = """    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_shared), "l"(from)
                 : "memory");
"""
BY_REGISTER = """    const uint4 v = load_once(from);
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to_shared), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w) : "memory");
"""
VALUES = "            cp_async_16(shared_address(&stage.values[row][lane % ROW]), values + at);\n"
WAIT = "        cp_async_wait<0>();\n"
ASK = "        ask<D>(shared.stage[warp][++turn % 2], of.keys, of.values, from + 8 * LOOK_WARPS, of.count);\n"
FENCE = "    __threadfence();\n    __syncthreads();\n    if (threadIdx.x == 0) {\n"
TICKET = "atomicInc(a.tickets + pair, a.splits - 1) == a.splits - 1"
APART = ("batched_attention_64_4", "batched_attention_128_4", "batched_attention_128_8")
FUSED = ("batched_look_64_4", "batched_look_128_4", "batched_look_128_8")


def all_of(kernels, word):
    return dict.fromkeys(kernels, word)


FAULTS = [
    # Keys and values.
    dict(name="keys by way of registers", source=LAYER, since="80", changes=[(ASYNC, CP_ASYNC, BY_REGISTER)],
         caught=all_of(APART + FUSED, "expected a loop with ldgsts.bypass")),
    dict(name="keys through the L1", source=LAYER, since="80",
         changes=[(ASYNC, "cp.async.cg.shared.global [%0], [%1],", "cp.async.ca.shared.global [%0], [%1],")],
         caught=all_of(APART + FUSED, "expected a loop with ldgsts.bypass")),
    dict(name="keys without their values", source=LAYER, since="80", changes=[(LAYER, VALUES, "")],
         caught=all_of(APART + FUSED, "expected ldgsts.bypass=")),
    dict(name="keys that nobody waits for", source=LAYER, since="80", changes=[(LAYER, WAIT, "")],
         caught=all_of(APART + FUSED, "expected depbar.0=1")),
    dict(name="keys of one turn ahead that are not asked for", source=LAYER, since="80", changes=[(LAYER, ASK, "")],
         caught=all_of(APART + FUSED, "expected a loop with ldgsts.bypass")),
    dict(name="a wait for keys that sleeps", source=LAYER, since="80",
         changes=[(LAYER, WAIT, WAIT + "        __nanosleep(20);\n")],
         caught=all_of(APART + FUSED, "expected no sleep")),
    dict(name="half of the products with values", source=LAYER, since="80",
         changes=[(ATTENTION, "            mma_bf16_8(s.row[l][j], weights[0], weights[1],",
                   "            if (j % 2 == 0)\n                mma_bf16_8(s.row[l][j], weights[0], weights[1],")],
         caught=all_of(APART + FUSED, "expected hmma=")),
    # The ticket.
    dict(name="a ticket without a fence before it", source=LAYER, since="80",
         changes=[(LAYER, FENCE, FENCE.replace("    __threadfence();\n", "", 1))],
         caught=all_of(FUSED, "expected membar.gpu=2")),
    dict(name="a ticket that every block draws for itself", source=LAYER, since="80",
         changes=[(LAYER, TICKET, "++a.tickets[pair] == a.splits")], caught=all_of(FUSED, "expected atomg=1")),
    dict(name="parts that are read through the L1", source=LAYER, since="80",
         changes=[(LAYER, "state[i] = __ldcg((const float2 *)of);", "state[i] = *(const float2 *)of;")],
         caught={"batched_merge": "expected ldg64.gpu=8"}),
    # The others.
    dict(name="a head that is rotated in local memory", source=LAYER, since="80",
         changes=[(LAYER, "#pragma unroll\n    for (uint32_t j = 0; j < 8; j += 2) {",
                   "#pragma unroll 1\n    for (uint32_t j = 0; j < 8; j += 2) {")],
         caught={"batched_rope": "expected local=0"}),
    dict(name="half of a head that is not stored", source=LAYER, since="80",
         changes=[(LAYER, "    to[0] = low;\n    to[half] = high;\n}", "    to[0] = low;\n}")],
         caught={"batched_rope": "expected stg128=2"}),
    dict(name="a row that is not appended", source=LAYER, since="80",
         changes=[(LAYER, "    new_row(a, b, kv, which)[i] = from[i];\n", "")],
         caught={"batched_append": "expected ldg128=1"}),
    dict(name="a norm without its barrier", source=LAYER, since="80",
         changes=[(REDUCE, "    __syncthreads();\n    x = scratch[0];", "    __syncwarp();\n    x = scratch[0];")],
         caught={"batched_norm": "expected bar.block=1"}),
    dict(name="up that is loaded when gate is there", source=LAYER, since="80",
         changes=[(LAYER, "    const uint4 bits[2] = {from[0], from[eights]};\n",
                   "    uint4 bits[2];\n    bits[0] = from[0];\n"
                   "    bits[1] = from[eights + (bits[0].x == 0x12345)];\n")],
         caught={"batched_silu": "expected together"}),
    dict(name="a sum that is dropped", source=LAYER, since="80",
         changes=[(LAYER, "    ((float4 *)a.moved)[thread()] =", "    const float4 sum =")],
         caught={"batched_add": "expected ldg128=1"}),
    dict(name="a read that takes vector by vector", source=LAYER, since="80",
         changes=[("fused/common/together.cuh", "x[i] = load_once(from + i * STEP);",
                   "x[i] = load_once(from + i * STEP + (i > 0 && x[i - 1].x == 0x12345));")],
         caught={"batched_read": "expected together"}),
    dict(name="a read through the L1", source=LAYER, since="80",
         changes=[(GENERAL, "ld.global.nc.L1::no_allocate.v4.u32", "ld.global.nc.v4.u32")],
         caught={"batched_read": "expected a loop with ldg128na=8"}),
    dict(name="an empty kernel that does something", source=LAYER, since="80",
         changes=[(LAYER, "batched_nothing(const __grid_constant__ struct batched_nothing_args)\n{\n}",
                   "batched_nothing(const __grid_constant__ struct batched_nothing_args a)\n{\n    if (a.nothing)\n"
                   "        *(uint64_t *)a.nothing = 1;\n}")],
         caught={"batched_nothing": "expected"}),
]
