"""Barriers and flags: other barriers than the name says, polls that sleep, missing fences."""

BARRIERS = "probes/barriers/barriers.cu"
FLAGS = "probes/sm_to_sm/sm_to_sm.cu"
EDGES = "probes/edges/edges.cu"
GRID = "core/device/grid_barrier.cuh"
ARRIVE = "    __threadfence();\n    grid_barrier_add(b.counter, b.share);"
POLL = "            if (WAY::came(mine, k))\n                return true;"

FAULTS = [
    dict(name="a named barrier of one warp", source=BARRIERS,
         changes=[(BARRIERS, """asm volatile("bar.sync 1, %0;" ::"r"(s.threads) : "memory");
    }
};""", """asm volatile("bar.sync 1, 32;" ::: "memory");
    }
};""")],
         caught={"barriers_block_named": "expected bar.sync.counted=*,32,64"}),
    dict(name="barrier 0 in place of a named one", source=BARRIERS,
         changes=[(BARRIERS, """asm volatile("bar.sync 1, %0;" ::"r"(s.threads) : "memory");
    }
};""", """__syncthreads();
    }
};""")],
         caught={"barriers_block_named": "expected bar.sync.counted=*,32,64"}),
    dict(name="an mbarrier without its arrivals", source=BARRIERS, since="80",
         changes=[(BARRIERS, """        if (s.leads)
            asm volatile("{ .reg .b64 phase; mbarrier.arrive""", """        if (s.leads && i < 8)
            asm volatile("{ .reg .b64 phase; mbarrier.arrive""")],
         caught={"barriers_block_mbarrier_test": "found"}),
    dict(name="a poll that sleeps", source=FLAGS,
         changes=[(FLAGS, POLL, POLL + "\n            else\n                __nanosleep(20);")],
         caught={"sm_to_sm_flag_relaxed": "expected no sleep", "sm_to_sm_flag_acq_rel": "expected no sleep"}),
    dict(name="a flag without its fence", source=FLAGS,
         changes=[(FLAGS, "store_release(theirs, k);", "store_relaxed(theirs, k);")],
         caught={"sm_to_sm_flag_acq_rel": "expected membar.gpu=3"}),
    dict(name="a flag with a fence too many", source=FLAGS,
         changes=[(FLAGS, "        store_relaxed(theirs, k);", "        store_release(theirs, k);")],
         caught={"sm_to_sm_flag_relaxed": "expected membar=0"}),
    dict(name="a flag that is read from the L1", source=FLAGS,
         changes=[(FLAGS, "return load_relaxed(mine) == k;",
                   'uint32_t v; asm volatile("ld.weak.global.u32 %0, [%1];" : "=r"(v) : "l"(mine) : '
                   '"memory"); return v == k;')],
         caught={"sm_to_sm_flag_relaxed": "ldg32.gpu"}),
    dict(name="a grid barrier without its fence", source=EDGES,
         changes=[(GRID, ARRIVE, "    grid_barrier_add(b.counter, b.share);")],
         caught={"edges_counter": "expected membar.gpu=1"}),
    dict(name="a grid barrier without its fence, alone", source=BARRIERS,
         changes=[(GRID, ARRIVE, "    grid_barrier_add(b.counter, b.share);")],
         caught={"barriers_grid_twin": "expected membar.gpu=1"}),
    dict(name="a grid barrier whose poll sleeps", source=EDGES,
         changes=[(GRID, "        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;",
                   "        __nanosleep(20);\n        if (polls % GRID_BARRIER_POLLS != 0)\n"
                   "            continue;")],
         caught={"edges_counter": "expected no sleep"}),
    dict(name="a grid barrier without the block's", source=EDGES,
         changes=[(GRID, "    __syncthreads();\n    if (threadIdx.x == 0)\n        grid_barrier_arrive(b);",
                   "    if (threadIdx.x == 0)\n        grid_barrier_arrive(b);")],
         caught={"edges_counter": "expected bar.block=2"}),
    dict(name="a step without its barrier", source=EDGES,
         changes=[(EDGES, "chain(a, in_shared{cells}, [] { __syncthreads(); });",
                   "chain(a, in_shared{cells}, [] { __syncwarp(); });")],
         caught={"edges_block_shared": "expected bar.block=1"}),
]
