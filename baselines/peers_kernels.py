"""The kernels of peers.py, for Triton. Imported only where Triton is installed."""
import triton
import triton.language as tl
from triton.language.extra.cuda import smid


@triton.jit
def product(a, b, c, seen, m, n, k, lda, ldb, ldc, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
            STEP: tl.constexpr, GROUP: tl.constexpr, COUNTED: tl.constexpr):
    """C = A x B, row-major, by the method of Triton's tutorial 03: a program a tile, sums in fp32,
    K in steps whose loads the compiler runs ahead by num_stages. Programs walk down bands of GROUP
    tile rows, so that those that run at once share what they read."""
    tiles_m = tl.cdiv(m, TILE_M)
    tiles_n = tl.cdiv(n, TILE_N)
    band = tl.program_id(0) // (GROUP * tiles_n)
    within = tl.program_id(0) % (GROUP * tiles_n)
    height = min(tiles_m - band * GROUP, GROUP)
    rows = (band * GROUP + within % height) * TILE_M + tl.arange(0, TILE_M)
    columns = within // height * TILE_N + tl.arange(0, TILE_N)
    steps = tl.arange(0, STEP)
    if COUNTED:
        tl.atomic_add(seen + smid(), 1)

    # Rows and columns beyond the matrix wrap round: they are read, and not stored.
    from_a = a + (rows % m)[:, None] * lda + steps[None, :]
    from_b = b + steps[:, None] * ldb + (columns % n)[None, :]
    sums = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, STEP)):
        left = k - step * STEP
        x = tl.load(from_a, mask=steps[None, :] < left, other=0.0)
        y = tl.load(from_b, mask=steps[:, None] < left, other=0.0)
        sums = tl.dot(x, y, sums)
        from_a += STEP
        from_b += STEP * ldb
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * ldc + columns[None, :], sums.to(c.dtype.element_ty), mask=inside)
