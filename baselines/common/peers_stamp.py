"""The kernel that holds a stream and reads the SMs' clocks, for Triton. Imported only where Triton is
installed."""
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer, smid

TURNS_MAX = tl.constexpr(1 << 20)  # of a polling loop, 20 ms or more, should the timer stand still


@triton.jit
def cycles_now():
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64,
                                     is_pure=False, pack=1)


@triton.jit(do_not_specialize=["hold_ns"])
def stamp(out, hold_ns):
    """Holds the stream for a while; then each SM writes both its clocks as the shared one ticks."""
    began = globaltimer()
    before = began
    turns = 0
    while (before - began < hold_ns) & (turns < TURNS_MAX):
        before = globaltimer()
        turns += 1
    now = before
    cycles = cycles_now()
    turns = 0
    while (now == before) & (turns < TURNS_MAX):
        now = globaltimer()
        cycles = cycles_now()
        turns += 1
    tl.store(out + 2 * smid(), cycles)
    tl.store(out + 2 * smid() + 1, now)
