"""A decoder's layer: weights and words that come another way than is said, edges with other fences."""

STAYS = "fused/decoder_layer/decoder_layer.cu"
STEPS = "fused/decoder_layer/kernels.cu"
THAT_STAYS = "fused/common/decoder/stays.cuh"
A_STEP = "fused/common/decoder/steps.cuh"
EDGE = "fused/common/decoder/edge.cuh"
WORDS = "core/device/words.cuh"
ORDER = "core/device/order.cuh"
RING = "fused/common/decoder/ring.cuh"
ROWS = "fused/common/decoder/rows.cuh"
GRID = "core/device/grid_barrier.cuh"
MMA = "core/device/mma.cuh"
QUANTIZED = "fused/quantized/quantized.cu"
GENERAL = "core/device/load.cuh"
NEARBY = "fused/common/decoder/near.cuh"
SIDES = "core/device/sides.cuh"
UNIT = "(uint32_t)(at >> SIDES_BOTH_BITS) & map.mask"
ONE_OF = "DECODER_RING|DECODER_BARRIER("
VALUES = ONE_OF + "values, 64_4"
NEAR = ONE_OF + "near, 64_4"
WITH_RING = ONE_OF + "ring, 64_4"
BARRIER = ONE_OF + "64_4"
STEPS_OF_1 = "STEPS|MULTIPLY|KERNEL(, false"
DEPENDENT = "STEPS|MULTIPLY|KERNEL(_dependent"
POLL = "load_relaxed_2x64(from + i * step)"
PUT = "store_relaxed_64(words + i, (uint64_t)epoch << 32 | bits);"
BULK = "bulk_load_once("
ARRIVE = "    __threadfence();\n    grid_barrier_add(b.counter, b.share);"
FIRST_HALF = "    mma_bf16(sum, first.x, second.x, first.y, second.y, x.x, x.y);\n"
PAIR = ("                ring_fill(ring, pieces, sides_piece(map, r.weights, r.side, pair * r.chunks + c),\n"
        "                          2 * rows_chunk_bytes(r, c));\n")
ONE_ROW = ("                const char *piece = sides_piece(map, r.weights, r.side, pair * r.chunks + c);\n"
           "                ring_fill(ring, pieces, piece, rows_chunk_bytes(r, c));\n"
           "                ring_fill(ring, pieces, piece + rows_chunk_bytes(r, c), rows_chunk_bytes(r, c));\n")

FAULTS = [
    dict(name="words that are polled in the L1", source=STAYS, keep=VALUES, since="90a",
         changes=[(ORDER, "ld.relaxed.gpu.global.v2.u64", "ld.weak.global.v2.u64")],
         caught={"decoder_values_64_4": "expected ldg128.gpu="}),
    dict(name="words that are polled by ordinary loads past the L1", source=STAYS, keep=VALUES, since="90a",
         changes=[(WORDS, "got[i] = " + POLL + ";",
                   'asm volatile("ld.global.cv.v2.u64 {%0, %1}, [%2];" : "=l"(got[i].x), '
                   '"=l"(got[i].y) : "l"(from + i * step) : "memory");')],
         caught={"decoder_values_64_4": "expected ldg128.gpu="}),
    dict(name="one word polled, and the rest loaded then", source=STAYS, keep=VALUES, since="90a",
         changes=[(WORDS, "        missing |= (first + i * step < end) << i;", "        missing |= 0;"),
                  (WORDS, "    for (int i = 0; i < N; i++)\n        word[i] =",
                   "    for (int i = 1; i < N; i++)\n        if (first + i * step < end)\n"
                   "            got[i] = " + POLL + ";\n#pragma unroll\n"
                   "    for (int i = 0; i < N; i++)\n        word[i] =")],
         caught={"decoder_values_64_4": "expected ldg128.gpu=2"}),
    dict(name="words with a fence before each", source=STAYS, keep=VALUES, since="90a",
         changes=[(WORDS, PUT, "__threadfence();\n    " + PUT)],
         caught={"decoder_values_64_4": "expected membar=0"}),
    dict(name="words with a fence behind the last poll", source=STAYS, keep=VALUES, since="90a",
         changes=[(WORDS, "        if (missing == 0 || given_up)\n            break;",
                   "        if (missing == 0 || given_up) {\n            fence_acquire();\n"
                   "            break;\n        }")],
         caught={"decoder_values_64_4": "expected cctl=0"}),
    dict(name="words that any block of another GPU would see", source=STAYS, keep=VALUES, since="90a",
         changes=[(WORDS, PUT, '{ uint64_t w = (uint64_t)epoch << 32 | bits; asm volatile("st.relaxed.sys.global.u64 '
                   '[%0], %1;" ::"l"(words + i), "l"(w) : "memory"); }')],
         caught={"decoder_values_64_4": "expected stg64.gpu>="}),
    dict(name="a poll of words that sleeps", source=STAYS, keep=VALUES, since="90a",
         changes=[(WORDS, "        if (polls % GRID_BARRIER_POLLS != 0)\n            continue;",
                   "        __nanosleep(20);\n        if (polls % GRID_BARRIER_POLLS != 0)\n"
                   "            continue;")],
         caught={"decoder_values_64_4": "expected no sleep"}),
    dict(name="a barrier of the grid without its fence", source=STAYS, keep=WITH_RING, since="90a",
         changes=[(GRID, ARRIVE, "    grid_barrier_add(b.counter, b.share);")],
         caught={"decoder_ring_64_4": "expected membar.gpu=3"}),
    dict(name="a barrier of the grid without its fence, weights from memory", source=STAYS, keep=BARRIER,
         since="90a", changes=[(GRID, ARRIVE, "    grid_barrier_add(b.counter, b.share);")],
         caught={"decoder_barrier_64_4": "expected membar.gpu=3"}),
    dict(name="a barrier whose fence reaches the system", source=STAYS, keep=BARRIER, since="90a",
         changes=[(GRID, ARRIVE, ARRIVE.replace("__threadfence()", "__threadfence_system()"))],
         caught={"decoder_barrier_64_4": "expected membar.gpu=3"}),
    dict(name="one counter of the barrier's two", source=STAYS, keep=BARRIER, since="90a",
         changes=[(GRID, "    grid_barrier_add(b.twin, b.share);\n", "")],
         caught={"decoder_barrier_64_4": "expected reds=6"}),
    dict(name="words of a barrier through the L1", source=STAYS, keep=BARRIER, since="90a",
         changes=[(EDGE, "load_cg((const uint2 *)mail + first + i * step)",
                   "*((const volatile uint64_t *)mail + first + i * step)")],
         caught={"decoder_barrier_64_4": "expected ldg64.gpu>=41"}),
    dict(name="tiles that the L2 keeps", source=STAYS, keep=WITH_RING, since="90a",
         changes=[(RING, BULK, "bulk_load(")], caught={"decoder_ring_64_4": "expected ublkcp.hinted=2"}),
    dict(name="tiles that the L2 keeps, with words", source=STAYS, keep=VALUES, since="90a",
         changes=[(RING, BULK, "bulk_load(")], caught={"decoder_values_64_4": "expected ublkcp.hinted=2"}),
    dict(name="tiles that the L2 keeps, step by step", source=STEPS, keep=STEPS_OF_1, since="90a",
         changes=[(RING, BULK, "bulk_load(")], caught={"decoder_qkv_b1": "ublkcp.hinted",
                                                       "decoder_head_b1": "ublkcp.hinted"}),
    dict(name="tiles that the L2 keeps, from near memory", source=STAYS, keep=NEAR, since="90a",
         changes=[(RING, BULK, "bulk_load(")], caught={"decoder_near_64_4": "expected ublkcp.hinted=2"}),
    dict(name="near memory that is not told by the parity of its address", source=STAYS, keep=NEAR, since="90a",
         changes=[(SIDES, "(__popc(" + UNIT + ") ^ bits", "(" + UNIT + " ^ bits")],
         caught={"decoder_near_64_4": "expected popc>=1"}),
    dict(name="near memory by pieces of one row", source=STAYS, keep=NEAR, since="90a",
         changes=[(NEARBY, PAIR, ONE_ROW)], caught={"decoder_near_64_4": "expected ublkcp.hinted=2"}),
    dict(name="near memory with a fence before each word", source=STAYS, keep=NEAR, since="90a",
         changes=[(WORDS, PUT, "__threadfence();\n    " + PUT)],
         caught={"decoder_near_64_4": "expected membar=0"}),
    dict(name="one tile after the other", source=STAYS, keep=VALUES, since="90a",
         changes=[(RING, "    ring::step(r.stages, r.stage, r.parity);\n}",
                   "    mbarrier_wait(full, r.parity);\n    ring::step(r.stages, r.stage, r.parity);\n}")],
         caught={"decoder_values_64_4": "expected syncs<=57"}),
    dict(name="norms' weights that nobody asked for", source=STAYS, keep=VALUES, since="90a",
         changes=[(THAT_STAYS, "                prefetch_bulk(decoder_norm_of(k, threadIdx.x % 32), 2 * s.hidden);",
                   "                ;")],
         caught={"decoder_values_64_4": "expected ublkpf=1"}),
    dict(name="a dependent product that asks for nothing ahead", source=STEPS, keep=DEPENDENT, since="90a",
         changes=[(A_STEP, "        prefetch_bulk(norm, 2 * a.shape.hidden);", "        ;")],
         caught={"decoder_qkv_b1_dependent": "expected ublkpf=1", "decoder_head_b2_dependent": "expected ublkpf=1"}),
    dict(name="keys that nobody asked for", source=STEPS, keep=DEPENDENT, since="90a",
         changes=[(A_STEP, "        step_prefetch_keys<D>(k, batch);", "        ;")],
         caught={"decoder_attention_64_4_dependent": "expected ublkpf=1"}),
    dict(name="a dependent that waits for nobody", source=STEPS, keep=DEPENDENT, since="90a",
         changes=[(A_STEP, "    if (IS_DEPENDENT)\n        dependent_wait();\n", "")],
         caught={"decoder_down_b1_dependent": "expected acqbulk=1", "decoder_merge_dependent": "expected acqbulk=1"}),
    dict(name="a dependent that lets nobody begin", source=STEPS, keep=DEPENDENT, since="90a",
         changes=[(A_STEP, "    if (IS_DEPENDENT)\n        dependent_release();\n", "")],
         caught={"decoder_qkv_b2_dependent": "expected preexit=1", "decoder_choose_dependent": "expected preexit=1"}),
    dict(name="rows that are loaded one after another", source=STAYS, keep=BARRIER, since="80",
         changes=[(ROWS, "            w[l][h] = SOURCE::load(row + min(rows_offset(l, h ^ swap), bytes - 16));",
                   "            w[l][h] = SOURCE::load(row + min(rows_offset(l, h ^ swap), bytes - 16) +\n"
                   "                                   (l + h ? w[(l + h - 1) / 2][(l + h - 1) % 2].x == 0x12345 : 0));")],
         caught={"decoder_barrier_64_4": "expected "}),
    dict(name="weights through the L1", source=STAYS, keep=BARRIER, since="80",
         changes=[(GENERAL, "ld.global.nc.L1::no_allocate.v4.u32", "ld.global.nc.v4.u32")],
         caught={"decoder_barrier_64_4": "ldg128na"}),
    dict(name="half of the rows at a time", source=STAYS, keep=WITH_RING, since="90a",
         changes=[(ROWS, "rows_from_ring<B, 4, WATCHED>(sum, source, r, x);",
                   "rows_from_ring<B, 2, WATCHED>(sum, source, r, x);")],
         caught={"decoder_ring_64_4": "expected lds128=18"}),
    # From 10.0 on ptxas spills by an opcode that the table lacks, which fails by another word.
    dict(name="registers that are spilled", source=STAYS, keep=BARRIER, since="80", without=["100", "120"],
         changes=[(STAYS, "__launch_bounds__(DECODER_THREADS, 1)                               \\\n"
                   "        decoder_barrier_", "__launch_bounds__(DECODER_THREADS, 4)                "
                   "               \\\n        decoder_barrier_")],
         caught={"decoder_barrier_64_4": "expected local=0"}),
    # The warp's matrix instruction (core/device/mma.cuh).
    dict(name="products of half the columns", source=STAYS, keep=WITH_RING, since="90a",
         changes=[(ROWS, FIRST_HALF, "")], caught={"decoder_ring_64_4": "expected hmma=16"}),
    dict(name="products in two instructions each", source=STAYS, keep=WITH_RING, since="90a",
         changes=[(MMA, """    asm("mma.sync.aligned.m16n8k16""", """    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                 "{%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(b0));
    asm("mma.sync.aligned.m16n8k16""")],
         caught={"decoder_ring_64_4": "expected hmma=16"}),
    dict(name="products that are made twice, weights from memory", source=STAYS, keep=BARRIER, since="80",
         changes=[(ROWS, FIRST_HALF, FIRST_HALF + FIRST_HALF)],
         caught={"decoder_barrier_64_4": "expected hmma=16"}),
    dict(name="an FFMA beside each product", source=QUANTIZED, keep="PRODUCTS(int4", since="80",
         changes=[(MMA, """    asm("mma.sync.aligned.m16n8k16""", """    asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(c[1]));
    asm("mma.sync.aligned.m16n8k16""")],
         caught={"quantized_int4_1": "expected other<=110", "quantized_int4_8": "expected other<="}),
    dict(name="every second product left out", source=QUANTIZED, keep="PRODUCTS(int4", since="80",
         changes=[(QUANTIZED, "            mma_bf16(sum[1], operand[0], operand[1], operand[2], operand[3], b[pair].z, "
                   "b[pair].w);\n", ""),
                  (QUANTIZED, "                    mma_bf16(part[m][n], operand[0]",
                   "                    if (!half) mma_bf16(part[m][n], operand[0]")],
         caught={"quantized_int4_1": "expected a loop with ldg128=6", "quantized_int4_64": "expected hmma=256"}),
]
