"""Chases: what makes a latency too short, or that of something else."""

LATENCY = "probes/memory_latency/memory_latency.cu"
CHASE = "core/device/chase.cuh"
LOADS = "probes/common/loads.cuh"
GENERAL = "core/device/load.cuh"
L2_STEP = 'asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");'
L1_STEP = 'asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory");'
SHARED_STEP = 'asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory");'
STEPS = """    for (int i = 0; i < STEPS; i++)
        load.step(p);
"""
HELD_BACK = "expected waited, found that one before the opening clock is not waited for"

FAULTS = [
    # The first stretch then holds 33 latencies: 3 % that no other check sees.
    dict(name="the opening clock is not held back", source=LATENCY,
         changes=[(CHASE, "        load.step(p);\n        consume(p);\n        uint64_t t0",
                   "        load.step(p);\n        uint64_t t0")],
         caught={"memory_latency_l1": HELD_BACK, "memory_latency_l2": HELD_BACK,
                 "memory_latency_shared": HELD_BACK, "memory_latency_constant": HELD_BACK}),
    dict(name="the opening clock of a pair is not held back", source="probes/memory_map/memory_map.cu",
         changes=[("probes/memory_map/memory_map.cu", "        load.step(p);\n        consume(p);\n"
                   "        consume(asked);", "        load.step(p);\n        consume(asked);")],
         caught={"memory_map_ask_l1": HELD_BACK, "memory_map_ask_l2": HELD_BACK}),
    dict(name="the opening clock of an atomic is not held back", source="probes/common/home.cu",
         changes=[("probes/common/home.cu", "        consume(p);\n        consume(again);",
                   "        consume(again);"),
                  ("probes/common/home.cu", "        a.cycles[i] = t1 - t0;",
                   "        a.cycles[i] = t1 - t0;\n        consume(p);")],
         caught={"home_ask": HELD_BACK}),
    dict(name="the opening clock of a bank's chase is not held back",
         source="probes/contention/contention.cu",
         changes=[("probes/contention/contention.cu", "        stretch<1, LOAD>(p);\n",
                   "        LOAD::step(p);\n")],
         caught={"contention_bank_chase": HELD_BACK, "contention_sector_chase_l2": HELD_BACK}),
    dict(name="the opening clock of an SM's own ring is not held back", source="probes/sm_to_sm/sm_to_sm.cu",
         changes=[("probes/sm_to_sm/sm_to_sm.cu", "    stretch<1, LOAD>(p);\n", "    LOAD::step(p);\n")],
         caught={"sm_to_sm_own": HELD_BACK, "sm_to_sm_l2": HELD_BACK}),
    dict(name="the opening clock under load is not held back", source="probes/bandwidth/loaded_chase.cu",
         changes=[(CHASE, "        load.step(p);\n        consume(p);\n        uint64_t t0",
                   "        load.step(p);\n        uint64_t t0")],
         caught={"loaded_chase": HELD_BACK}),
    dict(name="the opening clock of a map is not held back", source="probes/memory_map/memory_map.cu",
         changes=[(CHASE, "        load.step(p);\n        consume(p);\n        uint64_t t0",
                   "        load.step(p);\n        uint64_t t0")],
         caught={"memory_map_load": HELD_BACK, "memory_map_atomic": HELD_BACK,
                 "memory_map_both": HELD_BACK}),
    dict(name="the closing clock is not held back", source=LATENCY,
         changes=[(CHASE, "steps<LONG>(load, p);\n        consume(p);", "steps<LONG>(load, p);")],
         caught={"memory_latency_l2": "expected waited, found that the last load is not waited for"}),
    # Volatile: each is executed, but none waits for the one before.
    dict(name="independent volatile loads", source=LATENCY,
         changes=[(LOADS, L2_STEP, 'uint64_t v; asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(v) '
                   ': "l"(p) : "memory"); if (v == 1) p = v;')],
         caught={"memory_latency_l2": "expected "}),
    dict(name="independent volatile loads, all of them used", source=LATENCY,
         changes=[(CHASE, STEPS, """    POINTER first = p, all = 0;
    for (int i = 0; i < STEPS; i++) {
        p = first + 8 * i;
        load.step(p);
        all ^= p;
    }
    p = all;
""")],
         caught={"memory_latency_l1": "expected chain", "memory_latency_l2": "expected chain",
                 "memory_latency_shared": "expected chain"}),
    dict(name="two chains joined by one LOP3", source=LATENCY,
         changes=[(CHASE, STEPS, """    POINTER q = p + 8;
    for (int i = 0; i < STEPS; i += 2) {
        load.step(p);
        load.step(q);
    }
    p = p & q | p & 8;
""")],
         caught={"memory_latency_l1": "expected chain", "memory_latency_l2": "expected chain",
                 "memory_latency_shared": "expected chain"}),
    dict(name="two chains one behind the other", source=LATENCY,
         changes=[(CHASE, STEPS, """    POINTER q = p + 8;
    for (int i = 0; i < STEPS / 2; i++)
        load.step(p);
    for (int i = 0; i < STEPS / 2; i++)
        load.step(q);
    p = p & q | p & 8;
""")],
         caught={"memory_latency_l2": "expected chain", "memory_latency_shared": "expected chain"}),
    dict(name="a forward branch past 24 of 32 loads", source=LATENCY,
         changes=[(CHASE, STEPS, """    for (int i = 0; i < STEPS; i++) {
        if (i == STEPS / 4 && (p & 2))
            break;
        load.step(p);
    }
""")],
         caught={"memory_latency_shared": "expected a straight line, found a branch in interval"}),
    dict(name="every second load under a predicate", source=LATENCY,
         changes=[(LOADS, SHARED_STEP, 'asm volatile("{ .reg .pred q; setp.ne.u32 q, %0, 3; @q '
                   'ld.shared.u32 %0, [%0]; }" : "+r"(p)::"memory");')],
         caught={"memory_latency_shared": "lds32=*,32,64, found"}),
    # Another level of memory, or another kind of access to it.
    dict(name="l1 by .cg", source=LATENCY, changes=[(LOADS, L1_STEP, L2_STEP)],
         caught={"memory_latency_l1": "expected ldg64.cta=*,32,64"}),
    dict(name="l2 by .ca", source=LATENCY, changes=[(LOADS, L2_STEP, L1_STEP)],
         caught={"memory_latency_l2": "expected ldg64.gpu=*,32,64"}),
    dict(name="l2 by .nc", source=LATENCY,
         changes=[(LOADS, L2_STEP, L2_STEP.replace("global.cg", "global.nc"))],
         caught={"memory_latency_l2": "expected ldg64.gpu=*,32,64"}),
    dict(name="l2 by .cs", source=LATENCY,
         changes=[(LOADS, L2_STEP, L2_STEP.replace("global.cg", "global.cs"))],
         caught={"memory_latency_l2": "expected ldg64.gpu=*,32,64"}),
    dict(name="l2 by .relaxed.sys", source=LATENCY,
         changes=[(LOADS, L2_STEP, L2_STEP.replace("ld.global.cg", "ld.relaxed.sys.global"))],
         caught={"memory_latency_l2": "expected ldg64.gpu=*,32,64"}),
    dict(name="l1 by .relaxed.sys", source=LATENCY,
         changes=[(LOADS, L1_STEP, L1_STEP.replace("ld.global.ca", "ld.relaxed.sys.global"))],
         caught={"memory_latency_l1": "expected ldg64.cta=*,32,64"}),
    dict(name="l2 by a generic load", source=LATENCY,
         changes=[(LOADS, L2_STEP, L2_STEP.replace("ld.global.cg", "ld.relaxed.gpu"))],
         caught={"memory_latency_l2": "expected ldg64.gpu=*,32,64"}),
    dict(name="cp.async through the L1 in place of past it", source=LATENCY, since="80",
         changes=[("core/device/async.cuh", "cp.async.cg.shared.global [%0], [%1], 16;",
                   "cp.async.ca.shared.global [%0], [%1], 16;")],
         caught={"memory_latency_cp_async": "expected ldgsts.bypass=*,32,64"}),
    dict(name="cp.async without its wait", source=LATENCY, since="80",
         changes=[(LATENCY, "        cp_async_wait<0>();\n", "")],
         caught={"memory_latency_cp_async": "expected depbar.0=*,32,64"}),
    dict(name="the host's memory by a cached load", source="probes/host_link/host_link.cu",
         changes=[("probes/host_link/host_link.cu", "ld.relaxed.sys.global.u64 %0, [%0];",
                   "ld.relaxed.gpu.global.u64 %0, [%0];")],
         caught={"host_link_load": "expected ldg64.sys=16,32"}),
    dict(name="half of the clock kept", source=LATENCY,
         changes=[(CHASE, "samples[i] = {t1 - t0, t2 - t1};",
                   "samples[i] = {(uint32_t)(t1 - t0), (uint32_t)(t2 - t1)};")],
         caught={"memory_latency_l2": "expected clocks in 64 bits by CS2R"}),
    dict(name="an extra instruction in each step", source=LATENCY,
         changes=[(CHASE, "        load.step(p);\n}", "        load.step(p), p ^= i & 8;\n}")],
         caught={"memory_latency_shared": "expected other<="}),
    dict(name="a sleep in each step", source="probes/sm_to_sm/sm_to_sm.cu",
         changes=[(LOADS, SHARED_STEP, SHARED_STEP + " __nanosleep(0);")],
         caught={"sm_to_sm_own": "expected no sleep"}),
]
