"""Groups of loads that choose: a branch for a predicate, loads that do not choose, loads of the other kind."""

GROUP = "fused/common/load_group.cuh"
COPY = "fused/common/copy.cu"
CHAIN = "fused/elementwise_chain/elementwise_chain.cu"
SOFTMAX = "fused/softmax/softmax.cu"
ORDINARY = "            group([](const void *p) { return load_ordinary(p); });\n        else\n"

FAULTS = [
    dict(name="a copy that chooses by a branch", source=COPY,
         changes=[(COPY, "LOAD_BY_PREDICATE", "LOAD_BY_BRANCH")], caught={"copy_long": "expected ldg128.guarded=8"}),
    dict(name="a copy that does not choose", source=COPY,
         changes=[(COPY, "LOAD_BY_PREDICATE", "LOAD_ONCE")], caught={"copy_long": "expected ldg128=8"}),
    dict(name="chains without a bias that choose by a branch", source=CHAIN,
         changes=[(CHAIN, ": LOAD_BY_PREDICATE;", ": LOAD_BY_BRANCH;")],
         caught={"chain_fmas_4_fp32": "expected ldg128.guarded=8"}),
    dict(name="a softmax whose loads do not choose", source=SOFTMAX,
         changes=[(GROUP, ORDINARY, "            group([](const void *p) { return load_once(p); });\n        else\n")],
         caught={"softmax_row_fp16": "expected ldg128na=4", "softmax_scale_fp16": "expected ldg128na=4",
                 "softmax_add_fp32": "expected ldg128na=8"}),
]
