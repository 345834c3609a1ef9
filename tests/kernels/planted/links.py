"""Links between GPUs: accesses of a narrower scope, fences and clocks in other places."""

PEER = "links/peer_memory/peer_memory.cu"
RATES = "links/peer_memory/rates.cu"
SIGNAL = "links/signal/signal.cu"
CHAIN = "links/all_reduce/all_reduce.cu"
NODES = "links/all_reduce/nodes.cu"
EXCHANGE = "links/common/exchange.cuh"
TEAM = "links/common/team.cuh"
CHASE = "core/device/chase.cuh"
SYS = "core/device/order_sys.cuh"
GENERAL = "core/device/load.cuh"
HELD_BACK = "expected waited, found that one before the opening clock is not waited for"
LOAD = "ld.relaxed.sys.global.u64 %0, [%0];"
CROSS = "    crossings<GRID, ORDERED>(a, barrier, SIGNAL_WARM);\n    uint64_t t0 = clock_cycles();\n"
TURNS = "    turns<ORDER>(a, watch, number, value, SIGNAL_WARM);\n    uint64_t t0 = clock_cycles();\n"
MET = "    team_barrier<true, false>(a.x.team, barrier);\n    uint64_t t1"
EACH_ROUND = "        turn.round++;\n        __syncthreads();\n"
OF_2 = "CHAINS_OF(packets, 2"
OF_4 = "CHAINS_OF(plain, 4"
NODES_2 = "NODES_OF(packets, 2"
CG_128 = 'asm volatile("ld.global.cg.v4.u32'

FAULTS = [
    # peer_memory
    dict(name="a peer's memory by a load of the GPU's scope", source=PEER,
         changes=[(PEER, LOAD, LOAD.replace(".sys", ".gpu"))],
         caught={"peer_memory_load": "expected ldg64.sys", "peer_memory_first": "expected ldg64.sys",
                 "peer_memory_map": "expected ldg64.sys"}),
    dict(name="a peer's memory through the L1", source=PEER,
         changes=[(PEER, LOAD, LOAD.replace("ld.relaxed.sys.global", "ld.global.ca"))],
         caught={"peer_memory_load": "expected ldg64.sys", "peer_memory_map": "expected ldg64.sys"}),
    dict(name="an atomic of the GPU's scope", source=PEER,
         changes=[(PEER, "atom.relaxed.sys.global.add.u64", "atom.relaxed.gpu.global.add.u64")],
         caught={"peer_memory_atomic": "expected atomg.sys"}),
    dict(name="the opening clock of a chase is not held back", source=PEER,
         changes=[(CHASE, "        load.step(p);\n        consume(p);\n        uint64_t t0",
                   "        load.step(p);\n        uint64_t t0")],
         caught={"peer_memory_load": HELD_BACK, "peer_memory_atomic": HELD_BACK, "peer_memory_map": HELD_BACK}),
    dict(name="the first load's clock is not held back", source=PEER,
         changes=[(PEER, "    steps<1>(load, p);\n    consume(p);\n    uint64_t t1",
                   "    steps<1>(load, p);\n    uint64_t t1")],
         caught={"peer_memory_first": "expected waited"}),
    dict(name="the first load before its clock", source=PEER,
         changes=[(PEER, "    uint64_t t0 = clock_cycles();\n    steps<1>(load, p);\n    consume(p);\n",
                   "    steps<1>(load, p);\n    consume(p);\n    uint64_t t0 = clock_cycles();\n")],
         caught={"peer_memory_first": "found a loop in interval 1"}),
    dict(name="independent loads of a peer", source=PEER,
         changes=[(PEER, 'asm volatile("ld.relaxed.sys.global.u64 %0, [%0];" : "+l"(p)::"memory");',
                   'uint64_t v; asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) '
                   ': "memory"); if (v == 1) p = v;')],
         caught={"peer_memory_load": "expected ", "peer_memory_first": "expected "}),
    dict(name="a fence of the block", source=PEER,
         changes=[(PEER, "fence.acq_rel.gpu;", "fence.acq_rel.cta;")],
         caught={"peer_memory_fence_gpu": "expected membar.gpu=*,32,64"}),
    dict(name="a fence of the GPU for the system's", source=PEER,
         changes=[(PEER, "fence.acq_rel.sys;", "fence.acq_rel.gpu;")],
         caught={"peer_memory_fence_sys": "expected membar.sys=*,32,64"}),
    dict(name="a fence without its store", source=PEER,
         changes=[(PEER, """        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(++n) : "memory");
        asm volatile("fence.acq_rel.gpu;" ::: "memory");""", """        n++;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");""")],
         caught={"peer_memory_fence_gpu": "expected stg64.sys=*,32,64"}),
    dict(name="a fence that no clock waits for", source=PEER,
         changes=[(PEER, "    consume(load_cg(&here->bytes));", "    ;")],
         caught={"peer_memory_fence_gpu": "expected ", "peer_memory_fence_sys": "expected "}),
    dict(name="a copy through the L1", source=RATES,
         changes=[(GENERAL, CG_128, CG_128.replace(".cg.", ".ca."))], caught={"rates_copy": "ldg128.gpu=4"}),
    dict(name="a copy one load at a time", source=RATES,
         changes=[(RATES, "        to[i] = v0;\n        to[i + step] = v1;\n", "        to[i + step] = v1;\n"),
                  (RATES, "        uint4 v0 = load_cg_128(from + i), v1",
                   "        uint4 v0 = load_cg_128(from + i);\n        to[i] = v0;\n        uint4 v1")],
         caught={"rates_copy": "expected together"}),
    dict(name="a copy of half of the vector", source=RATES,
         changes=[(RATES, "        to[i + 3 * step] = v3;\n", ""),
                  (RATES, "        to[i + 2 * step] = v2;\n", "")],
         caught={"rates_copy": "expected stg128.weak=4"}),
    dict(name="a copy to one place", source=RATES,
         changes=[(RATES, "    for (; i + 3 * step < n; i += 4 * step) {\n",
                   "    const uint64_t at = i;\n#pragma unroll 1\n    for (uint64_t j = i; j + 3 * step < n; "
                   "j += 4 * step) {\n")],
         caught={"rates_copy": "expected "}),
    dict(name="bulk stores that are all waited for", source=RATES, since="90a",
         changes=[(RATES, "bulk_store_read_wait<BULK_STAGES / 2 - 1>();", "bulk_store_wait<0>();")],
         caught={"rates_bulk": "expected depbar.3=1"}),
    dict(name="bulk copies one after another", source=RATES, since="90a",
         changes=[(RATES, "                  barrier + 8 * stage);\n",
                   "                  barrier + 8 * stage);\n"
                   "        mbarrier_wait(barrier + 8 * stage, (uint32_t)(k / BULK_STAGES) & 1);\n")],
         caught={"rates_bulk": "expected syncs<=12"}),
    dict(name="stores that are never waited for", source=RATES, since="90a",
         changes=[(RATES, "    bulk_store_wait<0>();\n", "")], caught={"rates_bulk": "expected depbar.0=1"}),
    # signal
    dict(name="the ring's clock before the turns that warm", source=SIGNAL, since="80",
         changes=[(SIGNAL, TURNS, "    uint64_t t0 = clock_cycles();\n"
                   "    turns<ORDER>(a, watch, number, value, SIGNAL_WARM);\n")],
         caught={"signal_ring_relaxed": "expected ldg32.sys=2,2,2", "signal_ring_acquire": "expected ldg32.sys=2,2,2",
                 "signal_ring_packet": "expected ldg64.sys=1,1,1"}),
    dict(name="the barriers' clock before those that warm", source=SIGNAL, since="80",
         changes=[(SIGNAL, CROSS, "    uint64_t t0 = clock_cycles();\n"
                   "    crossings<GRID, ORDERED>(a, barrier, SIGNAL_WARM);\n")],
         caught={"signal_barrier_block": "expected bar.block=2,2,2", "signal_barrier_grid": "expected bar.block=2,2,2",
                 "signal_barrier_grid_ordered": "expected bar.block=2,2,2"}),
    dict(name="no barrier between the first two clocks", source=SIGNAL, since="80",
         changes=[(SIGNAL, "    crossings<GRID, ORDERED>(a, barrier, a.rounds);\n    uint64_t t1 = clock_cycles();\n",
                   "    uint64_t t1 = clock_cycles();\n    crossings<GRID, ORDERED>(a, barrier, a.rounds);\n")],
         caught={"signal_barrier_block": "expected bar.block=2,2,2"}),
    dict(name="a flag of the GPU's scope", source=SIGNAL, since="80",
         changes=[(SYS, "ld.relaxed.sys.global.u32", "ld.relaxed.gpu.global.u32")],
         caught={"signal_ring_relaxed": "expected ldg32.sys", "signal_barrier_grid": "expected ldg32.sys"}),
    dict(name="a packet that is polled in the L1", source=SIGNAL, since="80",
         changes=[(SYS, "ld.relaxed.sys.global.u64 %0, [%1];", "ld.weak.global.u64 %0, [%1];")],
         caught={"signal_ring_packet": "expected ldg64.sys"}),
    dict(name="polls that acquire", source=SIGNAL, since="80",
         changes=[(SYS, "ld.relaxed.sys.global.u32", "ld.acquire.sys.global.u32")],
         caught={"signal_ring_relaxed": "expected cctl=0", "signal_barrier_block": "expected cctl=0"}),
    dict(name="a value that is not released", source=SIGNAL, since="80",
         changes=[(SIGNAL, "        store_release_sys(&next->flag, number);", "        store_relaxed_sys(&next->flag, number);")],
         caught={"signal_ring_acquire": "expected membar.sys"}),
    dict(name="a value that is released to the GPU", source=SIGNAL, since="80",
         changes=[(SYS, "st.release.sys.global.u32", "st.release.gpu.global.u32")],
         caught={"signal_ring_acquire": "expected membar.sys"}),
    dict(name="a value that is not acquired", source=SIGNAL, since="90a",
         changes=[(SIGNAL, "        fence_acquire_sys();\n        value = a.mine->value;", "        value = a.mine->value;")],
         caught={"signal_ring_acquire": "expected cctl=1"}),
    dict(name="a barrier with order that releases nothing", source=SIGNAL, since="80",
         changes=[(TEAM, "            if (ORDERED)\n                fence_release_sys();\n", "")],
         caught={"signal_barrier_block_ordered": "expected membar.sys",
                 "signal_barrier_grid_ordered": "expected membar.sys"}),
    dict(name="a barrier with order that acquires nothing", source=SIGNAL, since="90a",
         changes=[(TEAM, "        if (ORDERED)\n            fence_acquire_sys();\n", "")],
         caught={"signal_barrier_block_ordered": "expected cctl=1", "signal_barrier_grid_ordered": "expected cctl=3"}),
    dict(name="a grid's barrier that tells what it has not acquired", source=SIGNAL, since="80",
         changes=[(TEAM, "                fence_acquire_sys();\n                __syncwarp();\n", "")],
         caught={"signal_barrier_grid_ordered": "expected "}),
    dict(name="a grid's barrier that releases before it acquires", source=SIGNAL, since="90a",
         changes=[(TEAM, """            if (GRID && ORDERED) {
                fence_acquire_sys();
                __syncwarp();
            }
            if (ORDERED)
                fence_release_sys();
""", """            if (ORDERED)
                fence_release_sys();
            if (GRID && ORDERED) {
                fence_acquire_sys();
                __syncwarp();
            }
""")],
         caught={"signal_barrier_grid_ordered": "expected between, found a way from the cctl to the stg32.sys.guarded"}),
    dict(name="a grid's barrier without the blocks' fence", source=SIGNAL, since="80",
         changes=[(TEAM, "            if (ORDERED)\n                __threadfence();\n", "")],
         caught={"signal_barrier_grid_ordered": "expected membar.gpu=1"}),
    dict(name="a barrier without order that has a fence", source=SIGNAL, since="80",
         changes=[(TEAM, "            if (ORDERED)\n                fence_release_sys();\n",
                   "            fence_release_sys();\n")],
         caught={"signal_barrier_block": "expected membar=0", "signal_barrier_grid": "expected membar=0"}),
    dict(name="a barrier without the block's last", source=SIGNAL, since="80",
         changes=[(TEAM, "            fence_acquire_sys();\n    }\n    __syncthreads();",
                   "            fence_acquire_sys();\n    }\n    __syncwarp();")],
         caught={"signal_barrier_block": "expected bar.block=2", "signal_barrier_grid_ordered": "expected bar.block=2"}),
    dict(name="polls that sleep", source=SIGNAL, since="80",
         changes=[(TEAM, "    if (++w.polls % TEAM_POLLS != 0)\n        return false;",
                   "    __nanosleep(20);\n    if (++w.polls % TEAM_POLLS != 0)\n        return false;")],
         caught={"signal_ring_relaxed": "expected no sleep", "signal_ring_packet": "expected no sleep",
                 "signal_barrier_grid": "expected no sleep"}),
    # all_reduce
    dict(name="the chain's clock before the rounds that warm", source=CHAIN, keep=OF_2, since="80",
         changes=[(CHAIN, """    rounds<OP, UNIT>(a, turn, EXCHANGE_WARM);
    team_barrier<true, false>(a.x.team, barrier);
    uint64_t t0 = clock_cycles();
""", """    uint64_t t0 = clock_cycles();
    rounds<OP, UNIT>(a, turn, EXCHANGE_WARM);
    team_barrier<true, false>(a.x.team, barrier);
""")],
         caught={"chain_push_packets_bf16_2": "expected bar.block=3,3,3",
                 "chain_all_gather_packets_any_2": "expected bar.block=3,3,3"}),
    dict(name="the chain's clock before all have met", source=CHAIN, keep=OF_2, since="80",
         changes=[(CHAIN, MET + " = clock_cycles();\n", "    uint64_t t1 = clock_cycles();\n"
                   "    team_barrier<true, false>(a.x.team, barrier);\n")],
         caught={"chain_push_packets_bf16_2": "expected bar.block=3,3,3",
                 "chain_two_shot_packets_fp32_2": "expected bar.block=3,3,3"}),
    dict(name="rounds that do not wait for the block", source=CHAIN, keep=OF_2, since="80",
         changes=[(CHAIN, EACH_ROUND, "        turn.round++;\n")],
         caught={"chain_push_packets_bf16_2": "expected bar.block=3,3,3",
                 "chain_reduce_scatter_packets_bf16_2": "expected bar.block=3,3,3"}),
    dict(name="a round with a fence", source=CHAIN, keep=OF_2, since="80",
         changes=[(CHAIN, EACH_ROUND, EACH_ROUND + "        __threadfence_system();\n")],
         caught={"chain_push_packets_bf16_2": "expected membar=0"}),
    dict(name="slots that are polled in the GPU's scope", source=CHAIN, keep=OF_2, since="80",
         changes=[(SYS, "ld.relaxed.sys.global.v2.u64", "ld.relaxed.gpu.global.v2.u64")],
         caught={"chain_push_packets_bf16_2": "expected ldg128.sys"}),
    dict(name="plain slots that are polled in the L1", source=CHAIN, keep=OF_4, since="80",
         changes=[(SYS, "ld.relaxed.sys.global.v4.u32", "ld.weak.global.v4.u32")],
         caught={"chain_push_plain_bf16_4": "ldg128.sys", "chain_two_shot_plain_fp32_4": "ldg128.sys"}),
    dict(name="peers that are asked one after another", source=CHAIN, keep=OF_4, since="80",
         changes=[(EXCHANGE, "                    s[p] = WIRE::get(mine[p] + i);\n",
                   "                {\n                    s[p] = WIRE::get(mine[p] + i);\n"
                   "                    if (!WIRE::is_there(s[p], number))\n                        break;\n"
                   "                }\n")],
         caught={"chain_push_plain_bf16_4": "expected ", "chain_all_gather_plain_any_4": "expected "}),
    dict(name="data sent by ordinary stores", source=NODES, keep=NODES_2, since="80",
         changes=[(SYS, "st.relaxed.sys.global.v2.u64", "st.global.v2.u64")],
         caught={"node_push_packets_bf16_2": "expected stg128.sys"}),
    dict(name="a node with a fence", source=NODES, keep=NODES_2, since="80",
         changes=[(NODES, "    OP::round(a.x, turn, a.units, a.scale, from, to);",
                   "    OP::round(a.x, turn, a.units, a.scale, from, to);\n    __threadfence_system();")],
         caught={"node_push_packets_bf16_2": "expected membar=0"}),
    dict(name="a node that acquires each poll", source=NODES, keep=NODES_2, since="90a",
         changes=[(EXCHANGE, "            there = awaited == RANKS;\n",
                   "            there = awaited == RANKS;\n            fence_acquire_sys();\n")],
         caught={"node_push_packets_bf16_2": "expected cctl=0"}),
    dict(name="a poll of slots that sleeps", source=NODES, keep=NODES_2, since="80",
         changes=[(EXCHANGE, "            there = awaited == RANKS;\n",
                   "            there = awaited == RANKS;\n            __nanosleep(20);\n")],
         caught={"node_push_packets_bf16_2": "expected no sleep", "node_two_shot_packets_fp32_2": "expected no sleep"}),
]
