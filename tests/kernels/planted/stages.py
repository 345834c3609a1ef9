"""Two stages, and sampling's one exchange: weights and words that come another way than is said."""

STAGES = "fused/two_stages/two_stages.cu"
WORDS = "core/device/words.cuh"
ORDER = "core/device/order.cuh"
ROWS = "fused/common/decoder/rows.cuh"
RING = "fused/common/decoder/ring.cuh"
GENERAL = "core/device/load.cuh"
SAMPLING = "fused/sampling/sampling.cu"
ONCE = "fused/sampling/once.cuh"
ROW = "fused/sampling/row.cuh"
POLL = "load_relaxed_2x64(from + i * step)"
PUT = "store_relaxed_64(words + i, (uint64_t)epoch << 32 | bits);"
ONLY_ONCE = "KERNEL(none"

FAULTS = [
    dict(name="words that are polled in the L1", source=STAGES, since="80",
         changes=[(ORDER, "ld.relaxed.gpu.global.v2.u64", "ld.weak.global.v2.u64")],
         caught={"two_stages_stay": "ldg128.gpu", "two_stages_shared": "ldg128.gpu"}),
    dict(name="words that are polled one after another", source=STAGES, since="80",
         changes=[(WORDS, POLL, "load_relaxed_2x64(from + i * step + (i > 0 && got[i - 1].x == 1))")],
         caught={"two_stages_stay": "expected together"}),
    dict(name="words with a fence before each", source=STAGES, since="80",
         changes=[(WORDS, PUT, "__threadfence();\n    " + PUT)],
         caught={"two_stages_shared": "expected membar.gpu=1"}),
    dict(name="a poll that sleeps", source=STAGES, since="80",
         changes=[(WORDS, "        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;",
                   "        __nanosleep(20);\n        if (polls % GRID_BARRIER_POLLS != 0)\n"
                   "            continue;")],
         caught={"two_stages_stay": "expected no sleep", "two_stages_shared": "expected no sleep"}),
    dict(name="a slot that is given back without a fence", source=STAGES, since="80",
         changes=[(STAGES, "    __threadfence();\n    red_relaxed(counter", "    red_relaxed(counter")],
         caught={"two_stages_shared": "expected membar.gpu=1"}),
    dict(name="a slot that is given back by an addition that answers", source=STAGES, since="80",
         changes=[(STAGES, "    red_relaxed(counter(a, STAGES_TAKEN + item % a.slots), 1);",
                   "    if (add_relaxed(counter(a, STAGES_TAKEN + item % a.slots), 1) == ~0u)\n        __trap();")],
         caught={"two_stages_shared": "expected reds=1"}),
    dict(name="y handed over by words without epochs", source=STAGES, since="80",
         changes=[(STAGES, "                         words.put(row, __float_as_uint(y));",
                   "                         ((volatile uint32_t *)words.mail)[2 * row] = __float_as_uint(y);")],
         caught={"two_stages_shared": "expected stg64.gpu=2"}),
    # From 10.0 on the contract of the kernel that stays is of its loops alone.
    dict(name="a slot that is given back without a fence, with a ring", source=STAGES, since="90a", without=["100", "120"],
         changes=[(STAGES, "    __threadfence();\n    red_relaxed(counter", "    red_relaxed(counter")],
         caught={"two_stages_stay": "expected membar.gpu=1"}),
    dict(name="a dependent that waits for nobody", source=STAGES, since="90a",
         changes=[(STAGES, "    dependent_wait();\n", "")],
         caught={"two_stages_up_dependent": "expected acqbulk=1", "two_stages_down_dependent": "expected acqbulk=1"}),
    dict(name="a dependent that lets nobody begin", source=STAGES, since="90a",
         changes=[(STAGES, "    dependent_release();\n", "")],
         caught={"two_stages_up_dependent": "expected preexit=1", "two_stages_down_dependent": "expected preexit=1"}),
    dict(name="weights that wait for the kernel before", source=STAGES, since="90a",
         changes=[(STAGES, "        rows_fill(source.ring, rows, a.shape);\n        return false;",
                   "        if (IS_DEPENDENT)\n            dependent_wait();\n"
                   "        rows_fill(source.ring, rows, a.shape);\n        return false;")],
         caught={"two_stages_up_dependent": "expected acqbulk=1", "two_stages_down_dependent": "expected acqbulk=1"}),
    dict(name="weights that stay in the L2", source=STAGES, since="90a",
         changes=[(RING, "bulk_load_once(", "bulk_load(")],
         caught={"two_stages_stay": "ublkcp.hinted", "two_stages_up": "ublkcp.hinted",
                 "two_stages_down_dependent": "ublkcp.hinted"}),
    dict(name="a ring of half as many rows", source=STAGES, since="90a",
         changes=[(ROWS, "rows_from_ring<B, 4, WATCHED>", "rows_from_ring<B, 2, WATCHED>"),
                  (ROWS, "rows_from_ring<B, 3, WATCHED>", "rows_from_ring<B, 2, WATCHED>")],
         caught={"two_stages_stay": "expected lds128=18", "two_stages_up": "expected lds128=18",
                 "two_stages_down_dependent": "expected lds128=18"}),
    dict(name="weights that are not in shared memory", source=STAGES, since="80",
         changes=[(STAGES, "        rows.weights = (const char *)two_stages_memory + own.of[stage].kept;",
                   "        rows.weights = begin_of(own.of[stage], stage == 0 ? a.up : a.down);")],
         caught={"two_stages_shared": "expected lds128=18"}),
    # Before 9.0 there is no ring.
    dict(name="weights through the L1", source=STAGES, since="80", without=["90a", "100", "120"],
         changes=[(GENERAL, "ld.global.nc.L1::no_allocate.v4.u32", "ld.global.nc.v4.u32")],
         caught={"two_stages_stay": "ldg128na", "two_stages_up": "ldg128na"}),
    dict(name="half of the rows at a time", source=STAGES, since="80", without=["90a", "100", "120"],
         changes=[(ROWS, "        if (q * DECODER_TILE_ROWS < left)\n            rows_load",
                   "        if (q < 2 && q * DECODER_TILE_ROWS < left)\n            rows_load"),
                  (ROWS, "            if (q * DECODER_TILE_ROWS < left)\n                rows_multiply",
                   "            if (q < 2 && q * DECODER_TILE_ROWS < left)\n                rows_multiply")],
         caught={"two_stages_stay": "expected ldg128na=16", "two_stages_up": "expected ldg128na=16"}),
    dict(name="registers that are spilled", source=STAGES, since="80",
         changes=[(STAGES, "__launch_bounds__(THREADS, BLOCKS)\n    two_stages_stay",
                   "__launch_bounds__(THREADS, 4)\n    two_stages_stay")],
         caught={"two_stages_stay": "expected local=0"}),
    # Sampling by one exchange.
    dict(name="a second barrier of the cluster", source=SAMPLING, keep=ONLY_ONCE, since="90a",
         without=["100", "120"],
         changes=[(ONCE, "    team.receive(room, SENT, ONCE_BYTES);\n",
                   "    cluster_arrive();\n    cluster_wait();\n    team.receive(room, SENT, ONCE_BYTES);\n")],
         caught={"sampling_cluster_once": "expected ucgabar_arv=1"}),
    dict(name="candidates sent in two halves", source=SAMPLING, keep=ONLY_ONCE, since="90a",
         without=["100", "120"],
         changes=[(ONCE, "        if (lane < 2)\n            cluster_send_32(",
                   "        if (lane == 1)\n            cluster_send_32(cluster_map(shared_address(to), 0), word, barrier);\n"
                   "        if (lane == 0)\n            cluster_send_32(")],
         caught={"sampling_cluster_once": "expected stas=17"}),
    dict(name="logits through the L1", source=SAMPLING, keep=ONLY_ONCE, since="90a",
         changes=[(GENERAL, "ld.global.nc.L1::no_allocate.v4.u32", "ld.global.nc.v4.u32")],
         caught={"sampling_cluster_once": "ldg128na"}),
    dict(name="half of the row", source=SAMPLING, keep=ONLY_ONCE, since="90a", without=["100", "120"],
         changes=[(ONCE, "        if (4 * (first + i * ONCE_TURN) < a.vocabulary)\n            x[i] = load_once",
                   "        if (i < ONCE_VECTORS / 2 && 4 * (first + i * ONCE_TURN) < a.vocabulary)\n"
                   "            x[i] = load_once")],
         caught={"sampling_cluster_once": "expected ldg128na=8"}),
    # From 10.0 on the contract of this kernel is of a loop alone, which has no wait in it.
    dict(name="a wait that sleeps", source=SAMPLING, keep=ONLY_ONCE, since="90a", without=["100", "120"],
         changes=[(ONCE, "    team.receive(room, SENT, ONCE_BYTES);\n",
                   "    __nanosleep(100);\n    team.receive(room, SENT, ONCE_BYTES);\n")],
         caught={"sampling_cluster_once": "expected no sleep"}),
]
