#!/usr/bin/env python3
"""operators.py BUILD: each operator that baselines/fused_peers.py measures is right by its judge, and each planted
fault is wrong by it. On the CPU, where this python3 has torch, and else skipped.

The CPU has another layout of int4 weights, and another product. They stand in for those of the GPU: the reference,
the quantisation and the judge are held here; that PyTorch's packing for GPUs takes the even column in the upper
nibble is seen by fused_peers.py --check, on a GPU."""
import importlib.util
import os
import sys

from common import ROOT, check, finish, skip

SEEDS = 3


def stand_ins(torch, operators):
    aten = torch.ops.aten

    def pack(x, nibbles, scales):
        codes = torch.stack((nibbles >> 4, nibbles & 15), -1).flatten(-2).int()
        pairs = torch.stack((scales.T, torch.zeros_like(scales.T)), -1).contiguous()
        return x, aten._convert_weight_to_int4pack_for_cpu(codes, operators.INNER_TILES), pairs

    def multiply(x, packed, pairs):
        return aten._weight_int4pack_mm_for_cpu(x, packed, operators.GROUP, pairs)
    operators.pack_int4, operators.multiply_int4 = pack, multiply


def check_operator(torch, operator, seed):
    torch.manual_seed(seed)
    made = operator.make()
    result = operator.function(*operator.pack(*made))
    name = f"{operator.name}, {operator.rows}x{operator.cols}, seed {seed}"
    judged = operator.judge(made, result)
    check(operator.passes(judged), f"{name}: right", str(judged))
    faults = list(operator.faults(operator, made, result))
    check(faults, f"{name}: has faults")
    for what, wrong in faults:
        judged = operator.judge(made, wrong)
        check(not operator.passes(judged), f"{name}: {what}: seen", str(judged))


def check_nearly_right(torch, operators):
    """One wrong code among 32768, a row's scale that is 0.4 % off, scales of the next group, one token by another
    uniform number."""
    by_name = {operator.name: operator for operator in reversed(operators.operators(True, "cpu"))}
    torch.manual_seed(1)
    codes = by_name["rmsnorm_residual_fp8"]
    made = codes.make()
    code, scale, sum_ = codes.function(*made)
    bits = code.view(torch.uint8).clone()
    bits[3, 5] ^= 1
    check(codes.judge(made, (bits.view(code.dtype), scale, sum_))[1] == 1, "one code of another step is seen")
    scale = scale.clone()
    scale[7] *= 1.004
    check(not codes.passes(codes.judge(made, (code, scale, sum_))), "a scale that is 0.4 % off is seen")

    int4 = by_name["quantized_int4"]
    x, nibbles, scales = made = int4.make()
    wrong = int4.function(*int4.pack(x, nibbles, scales.roll(1, 1)))
    check(not int4.passes(int4.judge(made, wrong)), "scales of the next group are seen")

    sampling = by_name["sampling"]
    made = sampling.make()
    tokens = sampling.function(*made)
    again = sampling.function(made[0], made[1], made[2] * 0.5)
    differ = (again != tokens).nonzero()
    check(len(differ) > 0, "another uniform number draws other tokens")
    one = tokens.clone()
    one[differ[0]] = again[differ[0]]
    check(sampling.judge(made, one)[1] == 1, "one token of another uniform number is seen")


def main():
    try:
        import torch
    except Exception as error:  # a broken installation raises more than ImportError
        skip("the operators of fused_peers.py", f"needs torch in this python3: {str(error).splitlines()[0]}")
        return finish()
    path = os.path.join(ROOT, "baselines", "fused_operators.py")
    spec = importlib.util.spec_from_file_location("fused_operators", path)
    operators = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(operators)
    stand_ins(torch, operators)
    torch.set_num_threads(1)
    for seed in range(SEEDS):
        for operator in operators.operators(True, "cpu"):
            check_operator(torch, operator, seed)
    check_nearly_right(torch, operators)
    return finish()


sys.exit(main())
