"""A chain of products: barriers that order less, x from elsewhere, weights that come another way or later."""

CHAIN = "fused/product_chain/product_chain.cu"
ARGS = "fused/product_chain/args.h"
GENERAL = "core/device/load.cuh"
ORDER = "core/device/order.cuh"
GRID = "core/device/grid_barrier.cuh"
NA_128 = "ld.global.nc.L1::no_allocate.v4.u32"
ARRIVE = "    __threadfence();\n    grid_barrier_add(b.counter, b.share);"
BOTH = {"product_chain": "ldg128na", "product_chain_read": "ldg128na"}
NEXT = "        if (!over || !is_late(a))\n            ask(w, a, over ? behind : set, over ? first : p);\n"
LATE = "        if (is_late(a) && rows_of_warp().first < a.n)\n"
FIRST = "    if (!is_late(a) && rows_of_warp().first < a.n)\n" \
        "        ask(w, a, set, {rows_of_warp().first, threadIdx.x % 32});\n"
BARRIER = "        if (product > 0 && !(a.blind & BLIND_BARRIER))\n"
TAKE = "        take_x<LOADS>(a, product);\n        __syncthreads();\n"
WORDS = "        sum += words_of(w, p.at, vectors);\n"
SECOND_HALF = "        mma_bf16(sum[1], w[i].x, w[i].y, w[i].z, w[i].w, v.z, v.w);\n"

FAULTS = [
    # The barrier of the grid.
    dict(name="a barrier without its fence", source=CHAIN, since="80",
         changes=[(GRID, ARRIVE, "    grid_barrier_add(b.counter, b.share);")],
         caught={"product_chain": "expected membar.gpu=1"}),
    dict(name="a barrier whose fence reaches the system", source=CHAIN, since="80",
         changes=[(GRID, ARRIVE, ARRIVE.replace("__threadfence()", "__threadfence_system()"))],
         caught={"product_chain": "expected membar.gpu=1"}),
    dict(name="a barrier that acquires nothing", source=CHAIN, since="90a",
         changes=[(GRID, "    fence_acquire();\n", "")], caught={"product_chain": "expected cctl=2"}),
    dict(name="one counter of the barrier's two", source=CHAIN, since="80",
         changes=[(GRID, "    grid_barrier_add(b.twin, b.share);\n", "")],
         caught={"product_chain": "expected reds=2"}),
    dict(name="a barrier that is polled in the L1", source=CHAIN, since="80",
         changes=[(ORDER, "ld.relaxed.gpu.global.u32", "ld.weak.global.u32"),
                  (ORDER, "ld.acquire.gpu.global.u32", "ld.weak.global.u32")],
         caught={"product_chain": "expected ldg32.gpu=3"}),
    dict(name="a barrier whose poll sleeps", source=CHAIN, since="80",
         changes=[(GRID, "        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;",
                   "        __nanosleep(20);\n        if (polls % GRID_BARRIER_POLLS != 0)\n"
                   "            continue;")],
         caught={"product_chain": "expected no sleep"}),
    dict(name="a barrier without the block's", source=CHAIN, since="80",
         changes=[(GRID, "    __syncthreads();\n    if (threadIdx.x == 0)\n        grid_barrier_arrive(b);",
                   "    if (threadIdx.x == 0)\n        grid_barrier_arrive(b);")],
         caught={"product_chain": "expected bar.block=4"}),
    # x.
    dict(name="x that is used before all of it is there", source=CHAIN, since="80",
         changes=[(CHAIN, TAKE, "        take_x<LOADS>(a, product);\n        __syncwarp();\n")],
         caught={"product_chain": "expected bar.block=4"}),
    dict(name="x that is taken before the barrier", source=CHAIN, since="80",
         changes=[(CHAIN, TAKE, "        __syncthreads();\n"),
                  (CHAIN, BARRIER, "        take_x<LOADS>(a, product);\n" + BARRIER)],
         caught={"product_chain": "expected ahead"}),
    dict(name="x through the L1", source=CHAIN, since="80",
         changes=[(CHAIN, "load_cg_128(from + i)", "from[i]")],
         caught={"product_chain": "expected ldg128.weak=0"}),
    dict(name="x that is not in shared memory", source=CHAIN, since="80",
         changes=[(CHAIN, "        multiply(sum, w, product_chain_x + p.at);",
                   "        multiply(sum, w, (const uint4 *)a.y + (uint64_t)product * vectors + p.at);")],
         caught={"product_chain": "expected lds128=8"}),
    # The weights.
    dict(name="weights through the L1", source=CHAIN, since="80",
         changes=[(GENERAL, NA_128, "ld.global.nc.v4.u32")], caught=BOTH),
    # Of the read, ptxas then takes the loads out of the loop.
    dict(name="one piece of the weights again and again", source=CHAIN, since="80",
         changes=[(CHAIN, NEXT, "        ask(w, a, a.first, first);\n"),
                  (CHAIN, "        ask(w, a, set, p);\n",
                   "        ask(w, a, a.first, {rows.first, threadIdx.x % 32});\n")],
         caught={"product_chain": "at the same address in each turn",
                 "product_chain_read": "expected a loop with ldg128na=8"}),
    dict(name="weights that are asked for one after another", source=CHAIN, since="80",
         changes=[(CHAIN, "        w[i] = load_once(from + min(p.at + 32 * i, vectors - 1));",
                   "        w[i] = load_once(from + min(p.at + 32 * i, vectors - 1) +\n"
                   "                         (i > 0 && w[i - 1].x == 0x12345));")],
         caught={"product_chain": "expected together", "product_chain_read": "expected together"}),
    dict(name="half of a piece at a time", source=CHAIN, since="80",
         changes=[(ARGS, "CHAIN_LOADS = 8,", "CHAIN_LOADS = 4,")], caught=BOTH),
    dict(name="pieces of eight for rows that six fill", source=CHAIN, since="80",
         changes=[(ARGS, "CHAIN_LOADS_LESS = 6,", "CHAIN_LOADS_LESS = 8,")],
         caught={"product_chain_less": "ldg128na", "product_chain_read_less": "ldg128na"}),
    dict(name="weights that nobody asks for ahead", source=CHAIN, since="80",
         changes=[(CHAIN, FIRST, ""), (CHAIN, NEXT, NEXT.replace("!over || !is_late(a)", "!over")),
                  (CHAIN, LATE, LATE.replace("is_late(a) && ", ""))],
         caught={"product_chain": "expected ldg128na=24"}),
    dict(name="products of half the words", source=CHAIN, since="80",
         changes=[(CHAIN, SECOND_HALF, "")], caught={"product_chain": "expected hmma=16"}),
    dict(name="a read whose words nobody looks at", source=CHAIN, since="80",
         changes=[(CHAIN, WORDS, "")], caught={"product_chain_read": "expected a loop with ldg128na=8"}),
    dict(name="a read that waits for its block", source=CHAIN, since="80",
         changes=[(CHAIN, WORDS, WORDS + "        __syncthreads();\n")],
         caught={"product_chain_read": "expected bar=0"}),
    # What else is measured.
    dict(name="stamps by the SM's own clock", source=CHAIN, since="80",
         changes=[(CHAIN, "            a.stamps[product] = clock_ns();",
                   "            a.stamps[product] = clock_cycles();")],
         caught={"product_chain": "expected clocks="}),
    # The others have no room for two blocks' threads: there the bound says nothing.
    dict(name="registers that are spilled", source=CHAIN, since="80", without=["86", "89", "120"],
         changes=[(CHAIN, "__launch_bounds__(32 * CHAIN_WARPS, 1)\n    product_chain(",
                   "__launch_bounds__(32 * CHAIN_WARPS, 2)\n    product_chain(")],
         caught={"product_chain": "expected local=0"}),
]
