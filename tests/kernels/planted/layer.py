"""A layer that ranks share: summands that travel otherwise, polls of fewer words, weights that come another way."""

STAYS = "links/layer/layer.cu"
NODES = "links/layer/nodes.cu"
RANKS_EDGE = "links/layer/edge.cuh"
EXCHANGE = "links/common/exchange.cuh"
TEAM = "links/common/team.cuh"
EDGE = "fused/common/decoder/edge.cuh"
WORDS = "core/device/words.cuh"
ORDER = "core/device/order.cuh"
SYS = "core/device/order_sys.cuh"
RING = "fused/common/decoder/ring.cuh"
ROWS = "fused/common/decoder/rows.cuh"
THAT_STAYS = "fused/common/decoder/stays.cuh"
ATTENTION = "fused/common/decoder/attention.cuh"
OF_4 = "LAYER(push, 128, 4, 4"
PUSH = "LAYER(push"
NEAR = "LAYER(near"
NEARBY = "fused/common/decoder/near.cuh"
SIDES = "core/device/sides.cuh"
UNIT = "(uint32_t)(at >> SIDES_BOTH_BITS) & map.mask"
SUMS = "NODE|PRODUCT(LAYER_SUM_THREADS"
CHOICES = "NODE|PRODUCT(DECODER_THREADS, choose_2"
OF_HEAD = "NODE|PRODUCT(head"
PRODUCTS = "NODE(none"
NODES_ONLY = "PRODUCT(none"
BULK = "bulk_load_once("
OWN = "        take(from, step, end, word);\n"
PEERS = "                        slot[i][p] = WIRE::get(slots.mine[p] + at + i * step);\n"
PUT_SUM = "            store_relaxed_sys_64((uint64_t *)slots.theirs[p] + at, WIRE::half(bits, number));\n"
TO_MAIL = "        put(i, bits);\n    }\n\n    // The sums"
LEAVE = "            if (missing != 0)\n"
PUT = "store_relaxed_64(words + i, (uint64_t)epoch << 32 | bits);"
FIRST_HALF = "    mma_bf16(sum, first.x, second.x, first.y, second.y, x.x, x.y);\n"
LATER = "    if (++w.polls % TEAM_POLLS != 0)\n        return false;"
THERE = "            there = awaited == RANKS;\n"
STEP = "    ring::step(r.stages, r.stage, r.parity);\n}"
HALF = "                    rows_from_ring<B, 4, WATCHED>(sum, source, r, x);"
ASK = "                    s[p] = WIRE::get(mine[p] + i);\n"
PAIR = ("                ring_fill(ring, pieces, sides_piece(map, r.weights, r.side, pair * r.chunks + c),\n"
        "                          2 * rows_chunk_bytes(r, c));\n")
ONE_ROW = ("                const char *piece = sides_piece(map, r.weights, r.side, pair * r.chunks + c);\n"
           "                ring_fill(ring, pieces, piece, rows_chunk_bytes(r, c));\n"
           "                ring_fill(ring, pieces, piece + rows_chunk_bytes(r, c), rows_chunk_bytes(r, c));\n")
EACH_UNIT = "            slots.tell(i, WIRE::fit(from(i)));\n"


def both(word, way="push"):
    return {f"layer_{way}_128_4_{ranks}": word for ranks in (2, 4)}


def of_products(word):
    return {"layer_" + name: word for name in ("qkv", "o", "gate_up", "down")}


def of_sums(word):
    return {"layer_add_2": word, "layer_add_4": word}


FAULTS = [
    # The kernel that stays: summands.
    dict(name="summands that peers are asked for in the GPU's scope", source=STAYS, keep=PUSH, since="90a",
         changes=[(SYS, "ld.relaxed.sys.global.v2.u64", "ld.relaxed.gpu.global.v2.u64")],
         caught=both("expected a loop with ldg128.sys=")),
    dict(name="summands that are sent by stores of the GPU's scope", source=STAYS, keep=OF_4, since="90a",
         changes=[(RANKS_EDGE, PUT_SUM, PUT_SUM.replace("store_relaxed_sys_64", "store_relaxed_64"))],
         caught={"layer_push_128_4_4": "expected stg64.sys=3"}),
    dict(name="summands that are sent with a fence", source=STAYS, keep=OF_4, since="90a",
         changes=[(RANKS_EDGE, PUT_SUM, "        {\n            __threadfence_system();\n" + PUT_SUM + "        }\n")],
         caught={"layer_push_128_4_4": "expected membar=0"}),
    dict(name="summands that only peers get", source=STAYS, keep=OF_4, since="90a",
         changes=[(RANKS_EDGE, TO_MAIL, TO_MAIL.replace("        put(i, bits);\n", ""))],
         caught={"layer_push_128_4_4": "expected stg64.gpu=7"}),
    # Of two ranks, from 10.0 on, an opcode that the table lacks fails by another word.
    dict(name="own summands that are not waited for", source=STAYS, keep=OF_4, since="90a",
         changes=[(RANKS_EDGE, OWN, "        for (int i = 0; i < N; i++)\n            word[i] = make_uint2(epoch, i);\n")],
         caught={"layer_push_128_4_4": "expected ldg128.gpu="}),
    dict(name="peers' summands one after another", source=STAYS, keep=PUSH, since="90a",
         changes=[(RANKS_EDGE, PEERS, PEERS.replace("i * step)", "i * step +\n"
                   "                                                 (i > 0 && slot[i - 1][p].x == 0x12345))"))],
         caught=both("expected together")),
    dict(name="own words that are polled in the L1", source=STAYS, keep=PUSH, since="90a",
         changes=[(ORDER, "ld.relaxed.gpu.global.v2.u64", "ld.weak.global.v2.u64")],
         caught=both("with ldg128.gpu=8")),
    dict(name="a poll of summands that acquires", source=STAYS, keep=PUSH, since="90a",
         changes=[(RANKS_EDGE, LEAVE, "            fence_acquire_sys();\n" + LEAVE)], caught=both("expected cctl=0")),
    dict(name="a poll of summands that sleeps", source=STAYS, keep=PUSH, since="90a",
         changes=[(RANKS_EDGE, LEAVE, "            __nanosleep(20);\n" + LEAVE)], caught=both("expected no sleep")),
    dict(name="words of this rank with a fence before each", source=STAYS, keep=OF_4, since="90a",
         changes=[(WORDS, PUT, "__threadfence();\n    " + PUT)], caught={"layer_push_128_4_4": "expected membar=0"}),
    dict(name="choices that peers do not get", source=STAYS, keep=PUSH, since="90a", without=["100", "120"],
         changes=[(RANKS_EDGE, "        slots.tell(block, {{logit, of_all}});\n", "")],
         caught=both("expected stg128.sys=")),
    dict(name="choices that only peers get", source=STAYS, keep=OF_4, since="90a",
         changes=[(RANKS_EDGE, "        edge_alone<edge_values>::put_best(i, block, logit, of_all, rows);\n", "")],
         caught={"layer_push_128_4_4": "expected stg64.gpu=7"}),
    # The kernel that stays: weights.
    dict(name="tiles that the L2 keeps", source=STAYS, keep=PUSH, since="90a",
         changes=[(RING, BULK, "bulk_load(")], caught=both("ublkcp.hinted")),
    dict(name="one tile after the other", source=STAYS, keep=OF_4, since="90a",
         changes=[(RING, STEP, "    mbarrier_wait(full, r.parity);\n" + STEP)],
         caught={"layer_push_128_4_4": "expected syncs<=56"}),
    dict(name="norms' weights that nobody asked for", source=STAYS, keep=OF_4, since="90a",
         changes=[(THAT_STAYS, "                prefetch_bulk(decoder_norm_of(k, threadIdx.x % 32), 2 * s.hidden);",
                   "                ;")],
         caught={"layer_push_128_4_4": "expected ublkpf=1"}),
    dict(name="half of the rows at a time", source=STAYS, keep=PUSH, since="90a",
         changes=[(ROWS, HALF, HALF.replace("B, 4", "B, 2"))], caught=both("expected lds128=18")),
    dict(name="products of half the columns", source=STAYS, keep=PUSH, since="90a",
         changes=[(ROWS, FIRST_HALF, "")], caught=both("expected hmma=16")),
    dict(name="registers that are spilled", source=STAYS, keep=PUSH, since="90a", without=["100", "120"],
         changes=[(STAYS, "__launch_bounds__(DECODER_THREADS + 32, 1) ", "__launch_bounds__(DECODER_THREADS + 32, 3) ")],
         caught=both("expected local=0")),
    # From near memory.
    dict(name="near memory that is not told by the parity of its address", source=STAYS, keep=NEAR, since="90a",
         without=["100", "120"],
         changes=[(SIDES, "(__popc(" + UNIT + ") ^ bits", "(" + UNIT + " ^ bits")],
         caught={"layer_near_128_4_4": "expected popc>=1"}),
    dict(name="near memory by pieces of one row", source=STAYS, keep=NEAR, since="90a",
         changes=[(NEARBY, PAIR, ONE_ROW)], caught={"layer_near_128_4_4": "expected ublkcp.hinted=2"}),
    dict(name="summands that peers are asked for in the GPU's scope, from near memory", source=STAYS, keep=NEAR,
         since="90a", changes=[(SYS, "ld.relaxed.sys.global.v2.u64", "ld.relaxed.gpu.global.v2.u64")],
         caught=both("expected a loop with ldg128.sys=", "near")),
    dict(name="a poll of summands that acquires, from near memory", source=STAYS, keep=NEAR, since="90a",
         changes=[(RANKS_EDGE, LEAVE, "            fence_acquire_sys();\n" + LEAVE)],
         caught=both("expected cctl=0", "near")),
    # Steps as nodes of a graph.
    dict(name="shares that peers are asked for in the GPU's scope", source=NODES, keep=SUMS, since="90a",
         changes=[(SYS, "ld.relaxed.sys.global.v2.u64", "ld.relaxed.gpu.global.v2.u64")],
         caught=of_sums("expected a loop with ldg128.sys=")),
    dict(name="shares that are sent by ordinary stores", source=NODES, keep=SUMS, since="90a",
         changes=[(SYS, "st.relaxed.sys.global.v2.u64", "st.global.v2.u64")], caught=of_sums("expected stg128.sys>=1")),
    dict(name="shares that are sent with a fence", source=NODES, keep=SUMS, since="90a",
         changes=[(EXCHANGE, "        for (uint64_t i = first; i < units; i += step)\n" + EACH_UNIT + "        for",
                   "        for (uint64_t i = first; i < units; i += step)\n" + EACH_UNIT +
                   "        __threadfence_system();\n        for")],
         caught=of_sums("expected membar=0")),
    dict(name="a poll of shares that acquires", source=NODES, keep=SUMS, since="90a",
         changes=[(EXCHANGE, THERE, THERE + "            fence_acquire_sys();\n")], caught=of_sums("expected cctl=0")),
    dict(name="a poll of shares that sleeps", source=NODES, keep=SUMS, since="90a",
         changes=[(TEAM, LATER, "    __nanosleep(20);\n" + LATER)], caught=of_sums("expected no sleep")),
    dict(name="peers' shares one after another", source=NODES, keep=SUMS, since="90a",
         changes=[(EXCHANGE, ASK, ASK.replace("mine[p] + i)", "mine[p] + i + (p > 0 && s[p - 1].x == 0x12345))"))],
         caught={"layer_add_4": "expected together"}),
    dict(name="bests that peers are asked for in the GPU's scope", source=NODES, keep=CHOICES, since="90a",
         changes=[(SYS, "ld.relaxed.sys.global.v2.u64", "ld.relaxed.gpu.global.v2.u64")],
         caught={"layer_choose_2": "expected a loop with ldg128.sys="}),
    dict(name="a poll of bests that acquires", source=NODES, keep=CHOICES, since="90a",
         changes=[(EXCHANGE, THERE, THERE + "            fence_acquire_sys();\n")],
         caught={"layer_choose_2": "expected cctl=0"}),
    dict(name="the head's tiles that the L2 keeps", source=NODES, keep=OF_HEAD, since="90a",
         changes=[(RING, BULK, "bulk_load(")], caught={"layer_head": "ublkcp.hinted"}),
    dict(name="the residual behind the wait", source=NODES, keep=SUMS, since="90a",
         changes=[(NODES, "            const float2 was = i == mine ? early : residual[i];",
                   "            const float2 was = residual[i];")],
         caught=of_sums("expected ldg64.weak=")),
    dict(name="tiles that the L2 keeps, step by step", source=NODES, keep=PRODUCTS, since="90a",
         changes=[(RING, BULK, "bulk_load(")], caught=of_products("expected ublkcp.hinted=1")),
    dict(name="one tile after the other, step by step", source=NODES, keep=PRODUCTS, since="90a",
         changes=[(RING, STEP, "    mbarrier_wait(full, r.parity);\n" + STEP)], caught=of_products("expected syncs<=45")),
    dict(name="half of the rows at a time, step by step", source=NODES, keep=PRODUCTS, since="90a",
         changes=[(ROWS, HALF, HALF.replace("B, 4", "B, 2"))], caught=of_products("expected lds128=18")),
    # ptxas then loads the other halves alone.
    dict(name="products of half the columns, step by step", source=NODES, keep=PRODUCTS, since="90a",
         changes=[(ROWS, FIRST_HALF, "")], caught=of_products("expected a loop with lds128=18")),
    dict(name="words of the step before through the L1", source=NODES, since="90a",
         changes=[(EDGE, "load_cg((const uint2 *)mail + first + i * step)",
                   "*((const volatile uint64_t *)mail + first + i * step)")],
         caught={"layer_o": "expected ldg64.gpu=8", "layer_down": "expected ldg64.gpu=8",
                 "layer_merge": "expected a loop with ldg64.gpu=2"}),
    dict(name="one key's values for two", source=NODES, keep=NODES_ONLY, since="90a",
         changes=[(ATTENTION, "v[l][i] = value(i, l * 128 + g * 16);", "v[l][i] = i > 0 ? v[l][0] : value(0, l * 128 + g * 16);")],
         caught={"layer_attention_128_4": "expected ldg128na=8"}),
]
