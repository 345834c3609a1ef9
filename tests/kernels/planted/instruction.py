"""Instructions: chains that are none, steps that hold more than the one instruction."""

PROBE = "probes/instructions/instructions.cu"
TENSOR = "probes/instructions/tensor_chains.cuh"
MMA = '            asm volatile("mma.sync.aligned." TEXT : SUMS(d) : __VA_ARGS__);                       \\\n'
EXTRA = '            asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(*(float *)&d[0]));  \\\n'
THROUGHPUT = "    c[0].end();\n    __syncthreads();\n"

FAULTS = [
    dict(name="an FFMA beside each HMMA", source=PROBE, keep="m16n8k8_fp16_fp32",
         changes=[(TENSOR, MMA, MMA + EXTRA)],
         caught={"instructions_latency_mma_m16n8k8_fp16_fp32": "other<="}),
    dict(name="half of the clock kept", source=PROBE, keep="m16n8k8_fp16_fp32",
         changes=[(PROBE, "args.cycles[1 + 2 * turn] = t1 - t0;\n        args.cycles[2 + 2 * turn] = t2 - t1;",
                   "args.cycles[1 + 2 * turn] = (uint32_t)(t1 - t0);\n"
                   "        args.cycles[2 + 2 * turn] = (uint32_t)(t2 - t1);"),
                  (PROBE, "args.cycles[0] = t2 - began;", "args.cycles[0] = (uint32_t)(t2 - began);")],
         caught={"instructions_latency_mma_m16n8k8_fp16_fp32": "expected clocks in 64 bits by CS2R"}),
    dict(name="the opening clock is not held back", source=PROBE, keep="ex2_fp32",
         changes=[(PROBE, "        steps<LEAD, 0>(c);\n        hold(c.word(0));", "        steps<LEAD, 0>(c);")],
         caught={"instructions_latency_ex2_fp32":
                 "expected waited, found that one before the opening clock is not waited for"}),
    dict(name="the closing clock is not held back", source=PROBE, keep="fma_fp32",
         changes=[(PROBE, "steps<LONG, LEAD + SHORT>(c);\n        hold(c.word(0));",
                   "steps<LONG, LEAD + SHORT>(c);")],
         caught={"instructions_latency_fma_fp32": "expected waited"}),
    dict(name="two chains in turn", source=PROBE, keep="fma_fp32",
         changes=[(PROBE, "        OP::apply(x, operand[i % 2 * OP::ODD], operand[i % 2 * OP::ODD + 1]);",
                   "        OP::apply(i % 2 ? other : x, operand[0], operand[1]);"),
                  (PROBE, "    T x, operand[SCALAR_OPERANDS];", "    T x, other, operand[SCALAR_OPERANDS];"),
                  (PROBE, "        x = of_bits<T>(in[(SCALAR_OPERANDS + chain) * 32]);",
                   "        x = of_bits<T>(in[(SCALAR_OPERANDS + chain) * 32]);\n"
                   "        other = of_bits<T>(in[(SCALAR_OPERANDS + chain + 1) * 32]);"),
                  (PROBE, "{ return word_of(&x, i); }", "{ return word_of(&x, i) ^ word_of(&other, i); }")],
         caught={"instructions_latency_fma_fp32": "expected chain"}),
    dict(name="the closing barrier removed", source=PROBE, keep="fma_fp32",
         changes=[(PROBE, THROUGHPUT, "    c[0].end();\n")],
         caught={"instructions_throughput_fma_fp32": "bar.block=1"}),
]
