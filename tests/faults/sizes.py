#!/usr/bin/env python3
"""sizes.py BUILD: the sizes of every operator by --set: 1, primes, the greatest, and those that do not fit.

The programs run on a stand-in for the CUDA runtime (stand_in.h) that pretends an H200. Most kernels do nothing there,
which the programs see: what counts is that a size is taken, so that cases of that name are there, or that it is
refused in one line which says what fits. tests/shim runs the kernels themselves at odd sizes."""
import json
import os
import subprocess
import sys
import tempfile

from stand_in import StandIn

LIMIT_S = 60
passed = failed = 0

# Of each program: what is set, and what the cases are called; or, after "no", what the refusal says.
SIZES = {
    "fused/attention_decode": [
        ("batch=1 context=1 heads=1 kv_heads=1", "batch=1,context=1,heads=1,kv_heads=1,d=128,"),
        ("heads=7 kv_heads=3", "no", "heads: expected 1 to 8 for each of kv_heads"),
        ("d=100", "no", "d: expected 128, or with a bf16 cache 64")],
    "fused/attention_prefill": [
        ("heads=7 kv_heads=7 context=1009", "heads=7,kv_heads=7,depth=128,context=1009,"),
        ("heads=7 kv_heads=2", "no", "heads: expected a multiple of kv_heads")],
    "fused/batched_layer": [("batch=7 context=1009", "model=8b,context=1009,batch=7,")],
    "fused/bias_gelu_scale": [
        ("rows=1 cols=8", "rows=1,cols=8,"), ("rows=1009 cols=8", "rows=1009,cols=8,"),
        ("rows=1 cols=1", "no", "cols: expected a power of two from 8 on")],
    "fused/decoder_layer": [
        ("model=1b context=64", "model=1b,context=64,"), ("model=3b context=1009", "model=3b,context=1009,"),
        ("ffn=4096 vocabulary=1009", "model=given,context=1024,"),
        ("batch=3", "no", "batch=3: expected 1, 2 or 4"), ("hidden=7", "no", "hidden=7: expected a multiple of 8")],
    "fused/elementwise_chain": [
        ("rows=1009 cols=8", "rows=1009,cols=8,"), ("cols=1", "no", "cols: rows must be whole vectors of 16 bytes")],
    "fused/epilogue": [
        ("m=7", "m=7,n=4096,k=4096,"), ("m=7 n=1009 k=8", "no", "expected n and k in multiples of 8"),
        ("m=1 n=8 k=8", "no", "32 sets of operands and results would stay in the L2")],
    "fused/fixed_sizes": [
        ("context=1", "context=1,impl=fixed,"), ("context=4093", "context=4093,impl=capped,"),
        ("context=4096", "context=4096,impl=again,"), ("context=4097", "context=4097,impl=beyond,"),
        ("context=131072", "context=131072,impl=given,"),
        ("context=131073", "no", "expected a whole number from 0 to 131072")],
    "fused/harm": [
        ("what=streams rows=4 columns=4", "what=streams,rows=4,columns=4,"),
        ("what=streams rows=96 columns=1012", "what=streams,rows=96,columns=1012,"),
        ("what=wide rows=1", "what=wide,rows=1,columns=131072,"),
        ("what=phases rows=1", "what=phases,rows=1,columns=24576,"),
        ("what=phases rows=7", "what=phases,rows=7,columns=24576,"),
        ("what=serial rows=1 columns=8", "what=serial,rows=1,columns=8,"),
        ("what=serial rows=65535 columns=8", "what=serial,rows=65535,columns=8,"),
        ("what=memory columns=4", "what=memory,rows=0,columns=4,"),
        ("what=compute columns=4052", "what=compute,rows=0,columns=4052,"),
        ("rows=5", "no", "--set what says of which"),
        ("what=streams rows=5", "no", "expected 4, 32 or 96 rows, and a multiple of 4 columns"),
        ("what=streams columns=5", "no", "expected 4, 32 or 96 rows, and a multiple of 4 columns"),
        ("what=wide columns=8", "no", "expected 131072 columns"),
        ("what=phases rows=8193", "no", "expected 8192 rows at most of 24576 columns"),
        ("what=serial columns=12", "no", "expected a multiple of 8 columns"),
        ("what=compute rows=3", "no", "expected no rows, and a multiple of 4 columns")],
    "fused/norm": [
        ("rows=1 cols=8", "op=rmsnorm_residual,rows=1,cols=8,"), ("cluster=3", "no", "cluster=3 is no power of two"),
        ("rows=1 cols=1009", "no", "cols must be a multiple of 8")],
    "fused/product_chain": [("n=8", "n=8,"), ("n=7", "no", "n=7: expected a multiple of 8")],
    "fused/quantized": [
        ("rows=7", "rows=7,cols=14336,"), ("rows=1 cols=1 batch=1", "no", "cols: expected a multiple of 128")],
    "fused/sampling": [
        ("vocabulary=1", "vocabulary=1,batch=1,"), ("vocabulary=1009 batch=7 k=0", "vocabulary=1009,batch=7,k=0,")],
    "fused/shared_room": [
        ("rows=1 columns=8", "what=plain,rows=1,columns=8,"),
        ("rows=131 columns=8", "what=pipe,rows=131,columns=8,"),
        ("rows=139 columns=8", "what=cached,rows=139,columns=8,"),
        ("rows=139 columns=29048", "what=plain,rows=139,columns=29048,"),
        ("rows=139 columns=58096", "what=sum,rows=139,columns=58096,"),
        ("columns=58104", "no", "columns=58104: expected a multiple of 8 up to 58096"),
        ("columns=1009", "no", "columns=1009: expected a multiple of 8 up to 58096")],
    "fused/softmax": [("rows=1 cols=1", "rows=1,cols=1,"), ("rows=7 cols=1009", "rows=7,cols=1009,")],
    "fused/two_gemv": [
        ("model=8 hidden=8", "model=8,hidden=8,"), ("model=7", "no", "model=7: expected a multiple of 8 up to 8192")],
    "fused/two_layers": [
        ("model=8 hidden=8", "model=8,hidden=8,impl=barrier"),
        ("model=8072 hidden=31744", "model=8072,hidden=31744,impl=halves"),
        ("model=31744 hidden=8", "model=31744,hidden=8,impl=unwaited"),
        ("model=31752", "no", "model=31752: expected a multiple of 8 up to 31744"),
        ("hidden=1009", "no", "hidden=1009: expected a multiple of 8 up to 31744")],
    "fused/two_stages": [
        ("model=8 hidden=8", "model=8,hidden=8,"), ("hidden=7", "no", "hidden=7: expected a multiple of 8")],
    "links/all_reduce": [
        ("bytes=64", "gpus=2,op=all_gather,bytes=32,"), ("bytes=64704", "gpus=2,op=all_reduce,bytes=64704,"),
        ("bytes=67108864 type=fp32", "gpus=2,op=all_reduce,bytes=67108864,type=fp32,"),
        ("bytes=1009", "no", "bytes=1009: expected a multiple of 64")],
    "matmul/block_count": [
        ("m=64 n=64 k=64", "m=64,n=64,k=64,"), ("m=448 n=832 k=1088", "m=448,n=832,k=1088,"),
        ("m=1009 n=64 k=64", "no", "expected multiples of 64"), ("m=64", "no", "m, n and k must all be given")],
    "matmul/gemm_chain": [
        ("m=256 n=512", "m=256,n=512,k=512,"), ("n=1408", "products=8,m=1024,n=1408,"),
        ("m=4096 n=4096", "m=4096,n=4096,k=4096,"),
        ("m=257", "no", "m=257, n=1024: expected a multiple of 256, and one of 128 from 512 on"),
        ("n=384", "no", "m=1024, n=384: expected a multiple of 256, and one of 128 from 512 on")],
    "matmul/gemm_sizes": [
        ("m=1 n=1 k=1", "m=1,n=1,k=1,"), ("m=7 n=1009 k=13", "m=7,n=1009,k=13,"),
        ("m=7", "no", "m, n and k must all be given"), ("layout=tn", "no", "m, n and k must all be given")],
    "matmul/gemv": [
        ("m=1009 k=4096", "m=1009,k=4096,"), ("m=1", "no", "both must be given, and k be a multiple of 8"),
        ("m=1 k=8", "no", "must be 3 x the L2")],
    "matmul/small_gemm": [
        ("m=1 n=1 k=1", "m=1,n=1,k=1,type=fp16,"), ("m=101 n=103 k=107 type=bf16", "m=101,n=103,k=107,type=bf16,"),
        ("m=128", "no", "m, n and k must all be given"), ("type=bf16", "no", "m, n and k must all be given"),
        ("m=65536 n=65536 k=8", "no", "each of A, B and C must have fewer than 2^31 elements")],
}


def measured(stand_in, path, settings):
    """Exit status, what it says on stderr but for failed checks, and its cases."""
    done = subprocess.run([path, "--json", *(f"--set={word}" for word in settings.split())], capture_output=True,
                          text=True, timeout=LIMIT_S, check=False, cwd=stand_in.work,
                          env=stand_in.environment(STAND_IN_GPUS=2, STAND_IN_PEERS=1))
    said = [line for line in done.stderr.splitlines() if ": check failed: " not in line and
            not line.endswith(": a check failed")]
    cases = [one["case"] for one in json.loads(done.stdout)["cases"]] if done.stdout else []
    return done.returncode, said, cases


def complaint(name, due, outcome):
    """What is wrong with how a size was taken or refused; None if nothing is."""
    status, said, cases = outcome
    if due[0] == "no":
        if status != 2 or cases:
            return f"expected to be refused: exit {status}, {len(cases)} cases"
        # What the option itself refuses points at --help in a second line.
        if not said or len(said) > 1 + said[-1].startswith("Try ") or not said[0].startswith(name + ": "):
            return f"expected one line: {said}"
        return None if due[1] in said[0] else f"expected '{due[1]}' in: {said[0]}"
    if status not in (0, 1) or said:
        return f"expected to be taken: exit {status}, {said}"
    return None if any(case.startswith(due[0]) for case in cases) else f"no case {due[0]} in {cases[:4]}"


def check(what, wrong):
    global passed, failed
    if wrong:
        failed += 1
        print(f"FAIL {what}\n    {wrong}"[:600])
    else:
        passed += 1


def planted():
    """Sizes that are taken and must not be, that are refused and must not be, and others than those asked for."""
    good = {("n=8,",): (0, [], ["n=8,l2=warm"]), ("no", "a multiple"): (2, ["chain: n=7: expected a multiple"], [])}
    for due, outcome in good.items():
        check("planted: what is right", complaint("chain", due, outcome))
    for due, outcome in ((("n=8,",), (2, ["chain: n=8: expected"], [])), (("n=8,",), (0, [], ["n=80,l2=warm"])),
                         (("n=8,",), (-11, [], [])), (("no", "x"), (0, [], ["n=7,l2=warm"])),
                         (("no", "x"), (2, ["chain: y"], [])), (("no", "x"), (2, ["chain: x", "more"], [])),
                         (("no", "x"), (1, ["chain: x"], [])), (("no", "x"), (2, [], []))):
        check(f"planted: {due} and {outcome} is seen", None if complaint("chain", due, outcome) else "it is not")


def main():
    with tempfile.TemporaryDirectory() as work:
        stand_in = StandIn(sys.argv[1], work)
        planted()
        for program, lines in SIZES.items():
            path = stand_in.link(program)
            for settings, *due in lines:
                check(f"{program} --set {settings}",
                      complaint(os.path.basename(program), due, measured(stand_in, path, settings)))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
