"""Throughputs: loops that do less, one after another, elsewhere, or are timed to the wrong end."""

BANDWIDTH = "probes/bandwidth/bandwidth.cu"
OCCUPANCY = "probes/occupancy/occupancy.cu"
CONTENTION = "probes/contention/contention.cu"
GENERAL = "core/device/load.cuh"
CG_128 = '"ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"'
WAIT_SLOT = "cp_async_wait<ASYNC_SLOTS - 1>();"
TURN = "        w.next(a.walk);\n    }\n    hand_over_block(a.sum, sum);"
WRITE = "uint32_t e = w.at + threadIdx.x + i * STREAM_THREADS;"
PASSES = "        body(pass);\n    __syncthreads();\n"
TURNS = "    sum += turns<WORK>(a, p, 2 * a.turns);\n    __syncthreads();\n"
FIRST_TURNS = "    sum += turns<WORK>(a, p, a.turns);\n    __syncthreads();\n"
READ = "    uint32_t sum = 0;\n\n#pragma unroll 1\n    for (uint32_t turn = 0; turn < a.turns; turn++) {\n" \
       "        LOAD v[LOADS];"
STREAM_LOADS = """        for (int i = 0; i < STREAM_LOADS; i++)
            v[i] = load_cg_128(in + w.at + i * STREAM_THREADS);
#pragma unroll
        for (int i = 0; i < STREAM_LOADS; i++)
            add(sum, v[i]);
"""
BULK_ORDER = """        if (use >= BULK_SLOTS && a.sum)
            read_piece(r, use - BULK_SLOTS, sum);
        else if (use >= BULK_SLOTS)
            r.wait(use - BULK_SLOTS);
        if (use < a.walk.turns && threadIdx.x == 0) {
            r.load(use, in + w.at);
            w.next(a.walk);
        }
"""

FAULTS = [
    dict(name="a closing barrier removed", source=BANDWIDTH,
         changes=[(BANDWIDTH, PASSES, "        body(pass);\n")],
         caught={"bandwidth_l1_read": "bar.block=1", "bandwidth_shared_read": "bar.block=1",
                 "bandwidth_shared_write": "bar.block=1", "bandwidth_register_read": "bar.block=1"}),
    dict(name="a closing barrier in front of the loop", source=BANDWIDTH,
         changes=[(BANDWIDTH, PASSES, "        body(pass);\n"),
                  (BANDWIDTH, "    uint64_t began = clock_cycles();\n#pragma unroll 1\n    for (uint32_t pass",
                   "    uint64_t began = clock_cycles();\n    __syncthreads();\n#pragma unroll 1\n"
                   "    for (uint32_t pass")],
         caught={"bandwidth_shared_read": "expected closed", "bandwidth_register_read": "expected closed"}),
    dict(name="the last closing barrier removed", source=CONTENTION,
         changes=[(CONTENTION, TURNS, "    sum += turns<WORK>(a, p, 2 * a.turns);\n")],
         caught={"contention_bank_load": "expected bar.block=1,1",
                 "contention_bank_store": "expected bar.block=1,1",
                 "contention_sector_load_l2": "expected bar.block=1,1"}),
    dict(name="the middle closing barrier removed", source=CONTENTION,
         changes=[(CONTENTION, FIRST_TURNS, "    sum += turns<WORK>(a, p, a.turns);\n")],
         caught={"contention_bank_load": "expected bar.block=1,1"}),
    dict(name="a stream through the L1", source=BANDWIDTH,
         changes=[(GENERAL, CG_128, CG_128.replace(".cg", ".ca"))],
         caught={"bandwidth_read": "ldg128.gpu=4", "bandwidth_copy": "ldg128.gpu=2"}),
    dict(name="a stream by .nc", source=BANDWIDTH,
         changes=[(GENERAL, CG_128, CG_128.replace(".cg", ".nc"))],
         caught={"bandwidth_read": "ldg128.gpu"}),
    dict(name="stores that go to the system", source=BANDWIDTH,
         changes=[(BANDWIDTH, '"st.global.v4.u32 [%0]', '"st.global.wt.v4.u32 [%0]')],
         caught={"bandwidth_write": "stg128.weak"}),
    dict(name="the L1's rate by .cg", source=BANDWIDTH,
         changes=[(BANDWIDTH, '"ld.global.ca.v4.u32', '"ld.global.cg.v4.u32')],
         caught={"bandwidth_l1_read": "ldg128.cta"}),
    dict(name="one load after another", source=BANDWIDTH,
         changes=[(BANDWIDTH, STREAM_LOADS, STREAM_LOADS.replace("""
#pragma unroll
        for (int i = 0; i < STREAM_LOADS; i++)
            add(sum, v[i]);
""", "\n").replace("STREAM_THREADS);", "STREAM_THREADS + (i ? v[i - 1].x & 1 : 0)), add(sum, v[i]);"))],
         caught={"bandwidth_read": "expected together"}),
    dict(name="all stores of a thread to one place", source=BANDWIDTH,
         changes=[(BANDWIDTH, WRITE, "uint32_t e = threadIdx.x + i * STREAM_THREADS;")],
         caught={"bandwidth_write": "at the same address in each turn"}),
    dict(name="all stores of a turn to one place", source=BANDWIDTH,
         changes=[(BANDWIDTH, WRITE, "uint32_t e = w.at + i * STREAM_THREADS;")],
         caught={"bandwidth_write": "at the same address in each thread"}),
    dict(name="cp.async waits for all", source=BANDWIDTH, since="80",
         changes=[(BANDWIDTH, WAIT_SLOT, "cp_async_wait<0>();")],
         caught={"bandwidth_read_cp_async": "expected depbar.3=1"}),
    dict(name="cp.async sleeps in each turn", source=BANDWIDTH, since="80",
         changes=[(BANDWIDTH, WAIT_SLOT, WAIT_SLOT + " __nanosleep(100);")],
         caught={"bandwidth_read_cp_async": "expected no sleep"}),
    dict(name="cp.async of occupancy waits for all", source=OCCUPANCY, since="80",
         changes=[(OCCUPANCY, "cp_async_wait<OCCUPANCY_STAGES - 1>();", "cp_async_wait<0>();")],
         caught={"occupancy_cp_async_4": "depbar.3=1"}),
    dict(name="bulk copies from one place", source=BANDWIDTH, since="90a",
         changes=[(BANDWIDTH, "            r.load(use, in + w.at);", "            r.load(use, in);")],
         caught={"bandwidth_read_bulk": "at the same address in each turn"}),
    dict(name="bulk copies to one place", source=BANDWIDTH, since="90a",
         changes=[(BANDWIDTH, "bulk_store(out + w.at, shared", "bulk_store(out, shared")],
         caught={"bandwidth_write_bulk": "at the same address in each turn"}),
    dict(name="a copy to one place", source=BANDWIDTH,
         changes=[(BANDWIDTH, "store_128(out + w.at + i * blockDim.x, v[i]);",
                   "store_128(out + i * blockDim.x, v[i]);")],
         caught={"bandwidth_copy": "at the same address in each turn"}),
    dict(name="bulk copies sleep in each turn", source=BANDWIDTH, since="90a",
         changes=[(BANDWIDTH, "            r.load(use, in + w.at);\n            w.next(a.walk);",
                   "            r.load(use, in + w.at);\n            w.next(a.walk), __nanosleep(100);")],
         caught={"bandwidth_read_bulk": "expected no sleep"}),
    dict(name="bulk copies one after another", source=BANDWIDTH, since="90a",
         changes=[(BANDWIDTH, BULK_ORDER, """        if (use < a.walk.turns && threadIdx.x == 0) {
            r.load(use, in + w.at);
            w.next(a.walk);
        }
        if (use < a.walk.turns && a.sum)
            read_piece(r, use, sum);
        else if (use < a.walk.turns)
            r.wait(use);
""")],
         caught={"bandwidth_read_bulk": "expected ahead"}),
    dict(name="banks read one after another", source=CONTENTION,
         changes=[(CONTENTION, '    TURN_LOAD("ld.shared.u32", uint32_t, "r")\n', """    typedef uint32_t address;
    static __device__ __forceinline__ uint32_t turn(uint32_t p, uint32_t)
    {
        uint32_t v = 0, sum = 0;
        for (int set = 0; set < SETS; set++) {
            asm volatile("ld.shared.u32 %0, [%1];"
                         : "=r"(v)
                         : "r"(p + set * SET_BYTES + (v >> 31))
                         : "memory");
            sum += v;
        }
        return sum;
    }
    static __device__ __forceinline__ void finish(uint32_t) {}
""")],
         caught={"contention_bank_load": "expected together"}),
    dict(name="an early exit", source=OCCUPANCY,
         changes=[(OCCUPANCY, READ, "    if (a.turns > 7 && blockIdx.x % 4 == 3)\n        return;\n" + READ)],
         caught={"occupancy_read_1": "expected exits<=", "occupancy_read_4": "expected exits<=",
                 "occupancy_read_16": "expected exits<="}),
    dict(name="squares() one vector at a time", source="fused/harm/harm.cu",
         changes=[("fused/harm/harm.cu", "    float sum = 0;\n#pragma unroll 4\n",
                   "    float sum = 0;\n#pragma unroll 1\n")],
         caught={"harm_serial_row": "ldg128na", "harm_serial_sums": "ldg128na"}),
    dict(name="two vectors in flight for eight, half of the trials", source="fused/harm/harm.cu",
         changes=[("fused/harm/harm.cu", "scale<8>(a)", "scale<2>(a)"),
                  ("fused/harm/harm.cu", "#pragma unroll 16\n", "#pragma unroll 8\n")],
         caught={"harm_phases_deep": "expected ldg128na=8", "harm_compute": "expected ffma=64"}),
    dict(name="a layer's loads one at a time", source="probes/jitter/jitter.cu",
         changes=[("probes/jitter/jitter.cu", "#pragma unroll 8\n", "#pragma unroll 1\n")],
         caught={"jitter_layer": "ldg128.gpu=8"}),
    dict(name="matrix-vector products with half of the loads in a turn",
         source="fused/attention_decode/attention_decode.cu",
         changes=[("fused/attention_decode/attention_decode.cu",
                   "enum { TURNS = DECODE_GEMV_TURN / 256,", "enum { TURNS = DECODE_GEMV_TURN / 512,"),
                  ("fused/attention_decode/attention_decode.cu", "enum { TURNS = 16, COLUMNS",
                   "enum { TURNS = 8, COLUMNS")],
         caught={"attention_decode_gemv_along": "expected ldg128=8",
                 "attention_decode_gemv_across": "expected ldg"}),
]
