"""Fixed sizes: kernels that know other sizes than they say, edges that order less, keys that come otherwise."""

SIZES = "fused/fixed_sizes/fixed_sizes.cu"
GENERAL = "core/device/load.cuh"
ORDER = "core/device/order.cuh"
GRID = "core/device/grid_barrier.cuh"
ROWS = "fused/common/decoder/rows.cuh"
ATTENTION = "fused/common/decoder/attention.cuh"
RING = "fused/common/decoder/ring.cuh"
EDGE = "fused/common/decoder/edge.cuh"
NA_128 = "ld.global.nc.L1::no_allocate.v4.u32"
ARRIVE = "    __threadfence();\n    grid_barrier_add(b.counter, b.share);"
FIRST_HALF = "    mma_bf16(sum, first.x, second.x, first.y, second.y, x.x, x.y);\n"
LOAD_ROW = "            w[l][h] = SOURCE::load(row + min(rows_offset(l, h ^ swap), bytes - 16));"
MERGES = "            merge<SIZES>(a, head, states, words);\n"
BARRIERS = "        edge.close();\n"
BY_LENGTH = "    static constexpr bool LOADS_ALL = false;\n    static __device__ __forceinline__ struct keys"
BY_ARGUMENTS = "    static constexpr bool LOADS_ALL = false;\n    static __device__ __forceinline__ uint32_t"
MASK = "first + mine + g < min(u.end, u.n)"
HALF_A_VALUE = "        for (uint32_t j = 0; j < 8; j++)\n            mma_bf16_8("
STATE = "            of[n] = two_of(load_cg(state));\n"
LEAVE = "    attention_leave<FIXED_DIM, FIXED_GROUP>(s, shared, FIXED_GROUP);\n    decoder_sync();\n"
X_IS_THERE = "                x[i + n * DECODER_THREADS] = word[n];\n    }\n    decoder_sync();\n"
OF_GIVEN = """    static __device__ __forceinline__ uint32_t %s(const fixed_sizes_args &a)
    {
        return a.%s;
    }
"""
OF_FIXED = """    static __device__ __forceinline__ uint32_t %s(const fixed_sizes_args &)
    {
        return %s;
    }
"""


def all_three(word):
    return dict.fromkeys(["fixed_sizes_fixed", "fixed_sizes_capped", "fixed_sizes_given"], word)


def given(size, constant):
    """The kernel that is given its sizes has this one from the build."""
    return (SIZES, OF_GIVEN % (size, size), OF_FIXED % (size, constant))


def fixed(size, constant):
    """The fixed kernels have this size from their arguments."""
    return (SIZES, OF_FIXED % (size, constant), OF_GIVEN % (size, size))


FAULTS = [
    # Whose sizes are which.
    dict(name="a given number of columns and rows that is folded in", source=SIZES, since="80",
         changes=[given("kv_heads", "FIXED_KV_HEADS"), given("hidden", "FIXED_HIDDEN")],
         caught={"fixed_sizes_given": "expected other>="}),
    dict(name="a given number of parts that is folded in", source=SIZES, since="80",
         changes=[given("splits", "FIXED_SPLITS"),
                  (SIZES, "(a.context + a.splits - 1) / a.splits, first", "(a.context + FIXED_SPLITS - 1) / "
                   "FIXED_SPLITS, first")],
         caught={"fixed_sizes_given": "expected f2i="}),
    dict(name="fixed numbers of columns and rows that are read", source=SIZES, since="80",
         changes=[fixed("kv_heads", "KV_HEADS"), fixed("hidden", "HIDDEN")],
         caught={"fixed_sizes_fixed": "expected other<=", "fixed_sizes_capped": "expected other<="}),
    dict(name="a fixed number of parts that is read", source=SIZES, since="80",
         changes=[fixed("splits", "SPLITS")],
         caught={"fixed_sizes_fixed": "expected f2i=", "fixed_sizes_capped": "expected f2i="}),
    dict(name="padding that is not loaded", source=SIZES, since="80",
         changes=[(SIZES, "    static constexpr bool LOADS_ALL = true;", "    static constexpr bool LOADS_ALL = false;"),
                  (SIZES, "return {first, first + CONTEXT / SPLITS, a.context};",
                   "return {first, min(first + CONTEXT / SPLITS, a.context), a.context};")],
         caught={"fixed_sizes_fixed": "imnmx=0"}),
    dict(name="keys that are loaded beyond the length", source=SIZES, since="80",
         changes=[(SIZES, before, before.replace("false", "true")) for before in (BY_LENGTH, BY_ARGUMENTS)],
         caught={"fixed_sizes_capped": "imnmx=", "fixed_sizes_given": "imnmx="}),
    dict(name="keys beyond the context that count", source=SIZES, since="80",
         changes=[(SIZES, MASK, "true")], caught=all_three("expected fsel=1")),
    # Keys, values, and weights.
    dict(name="values of half their elements", source=SIZES, since="80",
         changes=[(ATTENTION, HALF_A_VALUE, HALF_A_VALUE.replace("j < 8", "j < 4"))], caught=all_three("hmma=20")),
    dict(name="tiles that stay in the L2", source=SIZES, since="90a",
         changes=[(RING, "bulk_load_once(", "bulk_load(")], caught=all_three("expected ublkcp.hinted=2")),
    # Before 9.0 there is no ring.
    dict(name="loads through the L1", source=SIZES, since="80", without=["90a", "100", "120"],
         changes=[(GENERAL, NA_128, "ld.global.nc.v4.u32")], caught=all_three("expected a loop with ldg128na=16")),
    dict(name="rows that are loaded one after another", source=SIZES, since="80", without=["90a", "100", "120"],
         changes=[(ROWS, LOAD_ROW, LOAD_ROW.replace("bytes - 16));", "bytes - 16) +\n"
                   "                                   (l + h ? w[(l + h - 1) / 2][(l + h - 1) % 2].x == 0x12345 : 0));"))],
         caught=all_three("expected together")),
    dict(name="products of half the columns", source=SIZES, since="80",
         changes=[(ROWS, FIRST_HALF, "")], caught=all_three("expected hmma=16")),
    dict(name="registers that are spilled", source=SIZES, since="80",
         changes=[(SIZES, "__launch_bounds__(THREADS, FIXED_BLOCKS)", "__launch_bounds__(THREADS, 3)")],
         caught=all_three("expected local=0")),
    # What blocks hand over.
    dict(name="parts that are merged one after another", source=SIZES, since="80",
         changes=[(SIZES, "MERGE_AT_ONCE = 8, ", "MERGE_AT_ONCE = 1, ")],
         caught={"fixed_sizes_fixed": "expected ldg64.gpu=16", "fixed_sizes_capped": "expected ldg64.gpu=16"}),
    dict(name="parts that wait for each other", source=SIZES, since="80",
         changes=[(SIZES, STATE, "            of[n] = two_of(load_cg(state + (n > 0 && of[n - 1].x == 0.125f)));\n")],
         caught={"fixed_sizes_fixed": "expected together", "fixed_sizes_capped": "expected together"}),
    dict(name="parts through the L1", source=SIZES, since="80",
         changes=[(SIZES, "two_of(load_cg(state))", "two_of(*(const uint64_t *)state)")],
         caught=all_three("expected ldg64.weak=0")),
    dict(name="x through the L1", source=SIZES, since="80",
         changes=[(EDGE, "= load_cg((const uint2 *)mail + first + i * step);",
                   "= *((const uint64_t *)mail + first + i * step);")],
         caught=all_three("expected ldg64.weak=0")),
    dict(name="a product that does not wait for the merge", source=SIZES, since="80",
         changes=[(SIZES, MERGES + BARRIERS, MERGES)], caught=all_three("expected membar.gpu=2")),
    dict(name="barriers without their fences", source=SIZES, since="80",
         changes=[(GRID, ARRIVE, "    grid_barrier_add(b.counter, b.share);")], caught=all_three("expected membar.gpu=2")),
    dict(name="barriers that acquire nothing", source=SIZES, since="90a",
         changes=[(GRID, "    fence_acquire();\n", "")], caught=all_three("expected cctl=4")),
    dict(name="one counter of a barrier's two", source=SIZES, since="80",
         changes=[(GRID, "    grid_barrier_add(b.twin, b.share);\n", "")], caught=all_three("expected reds=4")),
    dict(name="barriers that are polled in the L1", source=SIZES, since="80",
         changes=[(ORDER, "ld.relaxed.gpu.global.u32", "ld.weak.global.u32"),
                  (ORDER, "ld.acquire.gpu.global.u32", "ld.weak.global.u32")],
         caught=all_three("expected ldg32.gpu=5")),
    dict(name="barriers whose polls sleep", source=SIZES, since="80",
         changes=[(GRID, "        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;",
                   "        __nanosleep(20);\n        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;")],
         caught=all_three("expected no sleep")),
    dict(name="states of warps that are not there yet", source=SIZES, since="80",
         changes=[(SIZES, LEAVE, LEAVE.replace("decoder_sync", "__syncwarp"))], caught=all_three("expected bar=")),
    dict(name="x that is used before all of it is there", source=SIZES, since="80",
         changes=[(SIZES, X_IS_THERE, X_IS_THERE.replace("decoder_sync", "__syncwarp"))],
         caught=all_three("expected bar=")),
]
