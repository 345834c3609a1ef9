"""Two layers and when they are at work: stamps of another moment or clock, words that come another way."""

LAYERS = "fused/two_layers/two_layers.cu"
GENERAL = "core/device/load.cuh"
ORDER = "core/device/order.cuh"
GRID = "core/device/grid_barrier.cuh"
ROWS = "fused/common/decoder/rows.cuh"
WORDS = "core/device/words.cuh"
NA_128 = "ld.global.nc.L1::no_allocate.v4.u32"
ARRIVE = "    __threadfence();\n    grid_barrier_add(b.counter, b.share);"
POLL = "load_relaxed_2x64(from + i * step)"
LEAVE = "        if (missing == 0 || given_up)\n            break;\n"
NOT_YET = "        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;"
FIRST_HALF = "    mma_bf16(sum, first.x, second.x, first.y, second.y, x.x, x.y);\n"
LOAD_ROW = "            w[l][h] = SOURCE::load(row + min(rows_offset(l, h ^ swap), bytes - 16));"
PUT = "        store_relaxed_64(s.to + s.share.first + i + threadIdx.x,\n"
TAKE = "            take_chunk(a, s, c, x);\n            decoder_sync();\n            begin(s);\n"
ENDED = "        if (WAITS && c + 1 < rows.chunks) {\n            decoder_sync();\n            end(s);\n"
BEHIND = "        if (HAS_BARRIER)\n            grid_barrier(barrier);\n"
JOIN = "    if (HAS_BARRIER)\n        barrier = grid_barrier_join(a.barrier, gridDim.x, a.budget_ns);\n"
BEGUN = "        s.task->begun_ns = clock_ns();"
ASK = "            store_relaxed_64(a.question + other * APART, i);\n"
ANSWER = "            store_relaxed_64(a.answer + own * APART, clock_ns() << 8 | i);\n"
GIVES_UP = "        if (grid_barrier_given_up(a.barrier, came_ns, a.budget_ns))\n            break;\n    return seen;"
NOW = "        const uint64_t now = clock_ns();\n"


def both(word):
    return {"two_layers_values": word, "two_layers_barrier": word}


FAULTS = [
    # Stamps.
    dict(name="stamps by the SM's own clock", source=LAYERS, since="80",
         changes=[(LAYERS, BEGUN, BEGUN.replace("clock_ns", "clock_cycles"))],
         caught={"two_layers_values": "expected clocks=0", "two_layers_barrier": "expected clocks=4"}),
    dict(name="a task that begins before its words are there", source=LAYERS, since="80",
         changes=[(LAYERS, TAKE, "            begin(s);\n            take_chunk(a, s, c, x);\n            decoder_sync();\n")],
         caught=both("expected ahead")),
    dict(name="a task that ends when one warp has done its part", source=LAYERS, since="80",
         changes=[(LAYERS, ENDED, ENDED.replace("            decoder_sync();\n", ""))],
         caught=both("expected bar=2")),
    dict(name="a task that begins when one thread has its words", source=LAYERS, since="80",
         changes=[(LAYERS, TAKE, TAKE.replace("            decoder_sync();\n", ""))],
         caught=both("expected bar=2")),
    dict(name="tasks that never end", source=LAYERS, since="80",
         changes=[(LAYERS, ENDED, ENDED.replace("            end(s);\n", "            s.task++;\n"))],
         caught=both("expected stg64.weak=2")),
    # Words.
    dict(name="words that are polled in the L1", source=LAYERS, since="80",
         changes=[(ORDER, "ld.relaxed.gpu.global.v2.u64", "ld.weak.global.v2.u64")],
         caught=both("expected a loop with ldg128.gpu=2")),
    dict(name="words that are polled one after another", source=LAYERS, since="90a",
         changes=[(WORDS, POLL, "load_relaxed_2x64(from + i * step + (i > 0 && got[i - 1].x == 1))")],
         caught=both("expected together")),
    # Of words that nobody tests, ptxas loads the halves that are used, where it can.
    dict(name="a poll that does not poll", source=LAYERS, since="80",
         changes=[(WORDS, LEAVE, "        break;\n")], caught=both("ldg128")),
    dict(name="words with a fence before each", source=LAYERS, since="80",
         changes=[(LAYERS, PUT, "        __threadfence();\n" + PUT)],
         caught={"two_layers_values": "expected membar=0", "two_layers_barrier": "expected membar.gpu=1"}),
    dict(name="words with a fence behind each poll", source=LAYERS, since="90a",
         changes=[(WORDS, LEAVE, "        fence_acquire();\n" + LEAVE)], caught=both("expected cctl=0")),
    dict(name="words that any block of another GPU would see", source=LAYERS, since="80",
         changes=[(ORDER, "st.relaxed.gpu.global.u64", "st.relaxed.sys.global.u64")],
         caught={**both("expected stg64.gpu=2"), "two_layers_clock": "expected stg64.gpu=2"}),
    dict(name="a poll that sleeps", source=LAYERS, since="80",
         changes=[(WORDS, NOT_YET, "        __nanosleep(20);\n" + NOT_YET)], caught=both("expected no sleep")),
    dict(name="operations without the barrier between", source=LAYERS, since="80",
         changes=[(LAYERS, BEHIND, "")], caught={"two_layers_barrier": "expected membar.gpu=1"}),
    dict(name="operations whose barrier has no fence", source=LAYERS, since="80",
         changes=[(GRID, ARRIVE, "    grid_barrier_add(b.counter, b.share);")],
         caught={"two_layers_barrier": "expected membar.gpu=1"}),
    dict(name="a barrier between operations that need none", source=LAYERS, since="80",
         changes=[(LAYERS, JOIN, "    barrier = grid_barrier_join(a.barrier, gridDim.x, a.budget_ns);\n"),
                  (LAYERS, BEHIND, "        grid_barrier(barrier);\n")],
         caught={"two_layers_values": "expected membar=0"}),
    # Weights.
    dict(name="weights through the L1", source=LAYERS, since="80",
         changes=[(GENERAL, NA_128, "ld.global.nc.v4.u32")], caught=both("expected a loop with ldg128na=16")),
    dict(name="weights that are asked for before their words are there", source=LAYERS, since="80",
         changes=[(LAYERS, TAKE, "            const uint4 early = load_once(rows.weights + c * (2 * DECODER_CHUNK));\n"
                   + TAKE + "            sum[0][1] += (early.x ^ early.y ^ early.z ^ early.w) == 0x12345;\n")],
         caught=both("expected ldg128na=16")),
    dict(name="rows that are loaded one after another", source=LAYERS, since="80",
         changes=[(ROWS, LOAD_ROW, LOAD_ROW.replace("bytes - 16));", "bytes - 16) +\n"
                   "                                   (l + h ? w[(l + h - 1) / 2][(l + h - 1) % 2].x == 0x12345 : 0));"))],
         caught=both("expected together")),
    # ptxas then loads the other halves alone.
    dict(name="products of half the columns", source=LAYERS, since="80",
         changes=[(ROWS, FIRST_HALF, "")], caught=both("expected a loop with ldg128na=16")),
    dict(name="registers that are spilled", source=LAYERS, since="80",
         changes=[(LAYERS, "__launch_bounds__(DECODER_THREADS, 1)  ", "__launch_bounds__(DECODER_THREADS, 4)  ")],
         caught=both("expected local=0")),
    # How far apart two SMs' stamps of one moment are.
    dict(name="messages that are polled in the L1", source=LAYERS, since="80",
         changes=[(ORDER, "ld.relaxed.gpu.global.u64", "ld.weak.global.u64")],
         caught={"two_layers_clock": "expected ldg64.gpu=1"}),
    dict(name="answers by the SM's own clock", source=LAYERS, since="80",
         changes=[(LAYERS, ANSWER, ANSWER.replace("clock_ns", "clock_cycles"))],
         caught={"two_layers_clock": "expected clocks=0"}),
    dict(name="steps of the SM's own clock", source=LAYERS, since="80",
         changes=[(LAYERS, NOW, NOW.replace("clock_ns", "clock_cycles"))],
         caught={"two_layers_clock": "expected clocks=0"}),
    dict(name="a question with a fence", source=LAYERS, since="80",
         changes=[(LAYERS, ASK, "            __threadfence();\n" + ASK)],
         caught={"two_layers_clock": "expected membar=0"}),
    dict(name="a poll of messages that sleeps", source=LAYERS, since="80",
         changes=[(LAYERS, GIVES_UP, GIVES_UP.replace("            break;\n", "            break;\n        else\n"
                                                      "            __nanosleep(20);\n"))],
         caught={"two_layers_clock": "expected no sleep"}),
]
