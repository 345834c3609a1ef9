"""Edges' exchanges and kernels that differ: words that come another way, a stream that is none, code that is less."""

EXCHANGE = "probes/edges/exchange.cu"
CHAIN = "probes/edges/exchange.cuh"
BESIDE = "probes/edges/beside.cu"
DIFFERENT = "probes/edges/different.cu"
ARGS = "probes/edges/args.h"
STEP = "probes/edges/step.cuh"
WORDS = "core/device/words.cuh"
ORDER = "core/device/order.cuh"
GRID = "core/device/grid_barrier.cuh"
LOAD = "core/device/load.cuh"
SIDES = "core/device/sides.cuh"
UNIT = "(uint32_t)(at >> SIDES_BOTH_BITS) & map.mask"
PUT = "store_relaxed_64(words + i, (uint64_t)epoch << 32 | bits);"
ARRIVE = "    __threadfence();\n    grid_barrier_add(b.counter, b.share);"
LAST = "words + (~k & 1) * a.words, digest);\n        sync_computing();\n"
ALL_KERNELS = [f"edges_different_{which}" for which in (0, 13)]

FAULTS = [
    dict(name="words that are polled in the L1", source=EXCHANGE, since="90a",
         changes=[(ORDER, "ld.relaxed.gpu.global.v2.u64", "ld.weak.global.v2.u64")],
         caught={"edges_exchange_values": "expected ldg128.gpu=8"}),
    dict(name="words with a fence before each", source=EXCHANGE, since="90a",
         changes=[(WORDS, PUT, "__threadfence();\n    " + PUT)],
         caught={"edges_exchange_values": "expected membar=0"}),
    dict(name="a poll of words that sleeps", source=EXCHANGE, since="90a",
         changes=[(WORDS, "        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;",
                   "        __nanosleep(20);\n        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;")],
         caught={"edges_exchange_values": "expected no sleep"}),
    dict(name="an exchange without the block's barrier", source=EXCHANGE, since="90a",
         changes=[(CHAIN, LAST, LAST.replace("        sync_computing();\n", ""))],
         caught={"edges_exchange_values": "expected bar.sync=1", "edges_exchange_counter": "expected bar.sync=3"}),
    dict(name="an exchange by a counter without its fence", source=EXCHANGE, since="90a",
         changes=[(GRID, ARRIVE, "    grid_barrier_add(b.counter, b.share);")],
         caught={"edges_exchange_counter": "expected membar.gpu=1"}),
    dict(name="words behind the counter that are loaded from the L1", source=EXCHANGE, since="90a",
         changes=[(LOAD, "ld.global.cg.u64", "ld.global.ca.u64")],
         caught={"edges_exchange_counter": "ldg64.gpu=12"}),
    dict(name="words behind the counter that come one after another", source=EXCHANGE, since="90a",
         changes=[(CHAIN, "                both[i] = load_cg(from + i * EXCHANGE_THREADS);\n        else",
                   "                both[i] = load_cg(from + i * EXCHANGE_THREADS + (i > 0 && both[i - 1] == 1));\n"
                   "        else")],
         caught={"edges_exchange_counter": "expected together"}),
    dict(name="a stream that is not asked for", source=EXCHANGE, since="90a",
         changes=[(EXCHANGE, "        bulk_load_once(s.first_tile", "        if (a.body_tiles == ~0u) continue;\n        "
                   "if (false) bulk_load_once(s.first_tile")],
         caught={"edges_exchange_values": "expected ublkcp.hinted=1",
                 "edges_exchange_counter": "expected ublkcp.hinted=1"}),
    dict(name="a stream that the L2 is to keep", source=EXCHANGE, since="90a",
         changes=[(EXCHANGE, "bulk_load_once(s.first_tile", "bulk_load(s.first_tile")],
         caught={"edges_exchange_values": "expected ublkcp.hinted=1",
                 "edges_exchange_counter": "expected ublkcp.hinted=1"}),
    dict(name="words beside any stream, with a fence before each", source=BESIDE, since="90a",
         changes=[(WORDS, PUT, "__threadfence();\n    " + PUT)],
         caught={"edges_beside": "expected membar=0"}),
    dict(name="any stream, with a division for each tile", source=BESIDE, since="90a",
         changes=[(BESIDE, "        tile += deal.step;\n        if (tile >= deal.tiles)\n            tile -= deal.tiles;\n",
                   "        tile = (tile + deal.step) % deal.tiles;\n")],
         caught={"edges_beside": "expected other<="}),
    dict(name="any stream, that the L2 is to keep", source=BESIDE, since="90a",
         changes=[(BESIDE, "bulk_load_once(s.first_tile", "bulk_load(s.first_tile")],
         caught={"edges_beside": "expected ublkcp.hinted=1"}),
    dict(name="near memory that is not told by the parity of its address", source=BESIDE, since="90a",
         changes=[(SIDES, "(__popc(" + UNIT + ") ^ bits", "(" + UNIT + " ^ bits")],
         caught={"edges_beside": "expected"}),
    dict(name="code of its own that is half as long", source=DIFFERENT,
         changes=[(ARGS, "DIFFERENT_TURNS = 48,", "DIFFERENT_TURNS = 24,")],
         caught={kernel: "expected lop3>=384" for kernel in ALL_KERNELS}),
    dict(name="code of its own that is a loop", source=DIFFERENT,
         changes=[(DIFFERENT, "#pragma unroll\n    for (uint32_t i = 0; i < DIFFERENT_TURNS",
                   "#pragma unroll 16\n    for (uint32_t i = 0; i < DIFFERENT_TURNS")],
         caught={kernel: "expected" for kernel in ALL_KERNELS}),
    dict(name="a body that is loaded word after word", source=DIFFERENT,
         changes=[(STEP, "chunk + i * warps < a.chunks);\n#pragma", "chunk + i * warps < a.chunks &&\n"
                   "                                  (i == 0 || v[i - 1].x != 1));\n#pragma")],
         caught={kernel: "expected together" for kernel in ALL_KERNELS}),
]
