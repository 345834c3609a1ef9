"""The operators of fused_peers.py: operands, the function as one writes it in PyTorch, and what its
result must be. Imported only where torch is installed. Each computes what the program of fused/
computes that the report shows beside it, with the same constants; rows and cols are the keys of its
rows:

    bias_gelu_scale, rmsnorm_residual, layernorm     rows x cols of fp16
    softmax                scale 2.5, and each row masked beyond its own length, of rows x cols of
                           fp16; the mask takes up to an eighth of a row, and never all of it
    rmsnorm_residual_fp8   codes of e4m3; a row's scale: its greatest magnitude over 448
    sampling               rows x cols logits, a token a row: penalty 1.2 on half of the vocabulary,
                           temperature 0.3, the 50 highest, of these the first that have 0.9 of
                           the probability, of those the one that a given uniform number selects
    two_gemv               W2 silu(W1 x / sqrt(rows)), one x of `rows`, an intermediate of `cols`
    epilogue_bias_gelu     gelu(W x + bias), one x: rows is k, cols is n
    quantized_int4         W x, W of rows x cols in int4, a bf16 scale for 128 columns of a row, one
                           x; _batch16, _batch256: as many
    attention_prefill, attention_decode     rows: heads; cols: keys

References are written out in float64. Judges are of three kinds. Numbers: the relative Frobenius
norm of the difference. Codes: each must be a nearest one, apart from the roundings before it.
Tokens: float64 must draw the same, apart from borders within rounding.

What prepares operands is not timed: pack(). Its layout of int4 weights is PyTorch's own, and takes
the even column in the upper nibble. Only a GPU can show that: there --check must find the result
right, and that of weights with their nibbles exchanged wrong."""
import math

import torch

f = torch.nn.functional
HALF, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32
EPSILON, E4M3_MAX, SOFTMAX_SCALE = 1e-5, 448, 2.5
FP16_UNIT, FP16_TINY = 2 ** -11, 2 ** -25  # half a last place of 1, half of the smallest number
PENALTY, TEMPERATURE, TOP_K, TOP_P = 1.2, 0.3, 50, 0.9
GROUP, INNER_TILES = 128, 8  # columns that share a scale; a choice of the layout, the usual one
CHUNK = 2 ** 26  # elements that float64 looks at in one go


class Operator:
    """make() gives the operands that the judge takes, pack() makes of them what the function takes.
    judge(made, result) is (error, results beyond their bound); the largest error passes.
    faults(operator, made, result) gives results that must be found wrong, and what they are.
    options: by the name of an implementation, options of the compiler beyond its own choices."""

    def __init__(self, name, rows, cols, kind, make, function, judge, error_max, **more):
        self.name, self.rows, self.cols, self.type = name, rows, cols, kind
        self.make, self.function, self.judge, self.error_max = make, function, judge, error_max
        self.pack = more.get("pack", lambda *operands: operands)
        self.faults = more.get("faults", faults_of_numbers)
        self.least_sets = more.get("least_sets", 1)
        self.backends = more.get("backends")
        self.options = more.get("options", {})

    def passes(self, judged):
        error, beyond = judged
        return error <= self.error_max and beyond == 0


def several(result):
    return result if isinstance(result, tuple) else (result,)


# --- numbers --------------------------------------------------------------------------------------

def relative(pairs):
    """The relative Frobenius norm of the difference, over pairs of what is and what must be."""
    off = whole = 0.0
    for is_, must in pairs:
        off += (is_.double() - must).square().sum().item()
        whole += must.square().sum().item()
    return math.sqrt(off / whole)


def chunks(result):
    step = max(1, CHUNK // result.shape[-1])
    return [slice(at, at + step) for at in range(0, result.shape[0], step)]


def by_rows(reference):
    """A judge; the reference says what these rows of each result must be."""
    def judge(made, result):
        results = several(result)
        return relative((is_[rows], must) for rows in chunks(results[0])
                        for is_, must in zip(results, several(reference(rows, *made)))), 0
    return judge


def faults_of_numbers(_operator, _made, result):
    """Columns that are not written; rows beside their place, or columns where there is one row."""
    results = several(result)
    for i, right in enumerate(results):
        unwritten = right.clone()
        unwritten[..., :right.shape[-1] // 8] = 0
        moved = right.roll(1, -2 if right.shape[-2] > 1 else -1)
        for what, wrong in (("missing columns", unwritten), ("results beside their place", moved)):
            all_ = results[:i] + (wrong,) + results[i + 1:]
            yield what, all_ if len(all_) > 1 else wrong


# --- rows of fp16 ---------------------------------------------------------------------------------

def gelu_scale(x, bias):
    return f.gelu(x + bias, approximate="tanh") * 1.25


def gelu_of(z):
    return 0.5 * z * (1 + (math.sqrt(2 / math.pi) * (z + 0.044715 * z ** 3)).tanh())


def right_gelu_scale(rows, x, bias):
    return gelu_of(x[rows].double() + bias.double()) * 1.25


def rmsnorm(x, residual, weight):
    sum_ = x + residual
    return f.rms_norm(sum_, (x.shape[-1],), weight, EPSILON), sum_


def over_deviation(x):
    return x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt()


def right_rmsnorm(rows, x, residual, weight):
    sum_ = x[rows].double() + residual[rows].double()
    return over_deviation(sum_) * weight.double(), sum_


def layernorm(x, weight, bias):
    return f.layer_norm(x, (x.shape[-1],), weight, bias, EPSILON)


def right_layernorm(rows, x, weight, bias):
    x = x[rows].double()
    return over_deviation(x - x.mean(-1, keepdim=True)) * weight.double() + bias.double()


# The eager form rounds what it has scaled to fp16: a probability is off by 2^-8 at most, as long as
# logits are below 16.
def softmax(x, lengths):
    beyond = torch.arange(x.shape[-1], device=x.device) >= lengths
    return torch.softmax((x * SOFTMAX_SCALE).masked_fill(beyond, -math.inf), -1)


def right_softmax(rows, x, lengths):
    z = x[rows].double() * SOFTMAX_SCALE
    z[torch.arange(x.shape[-1], device=x.device) >= lengths[rows]] = -math.inf
    e = (z - z.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def faults_of_softmax(operator, made, result):
    x, lengths = made
    yield "rows without their mask", operator.function(x, torch.full_like(lengths, x.shape[-1]))
    yield from faults_of_numbers(operator, made, result)


# --- codes ----------------------------------------------------------------------------------------

def rmsnorm_fp8(x, residual, weight):
    y, sum_ = rmsnorm(x, residual, weight)
    scale = y.abs().amax(-1, keepdim=True).float() / E4M3_MAX
    return (y / scale).to(torch.float8_e4m3fn), scale, sum_


def judge_codes(made, result):
    """Judges codes x scale; what is normalised is the sum as it was stored. A code may be off by
    half a step, and by three roundings to fp16: of the sum, which a compiler may normalise before
    it is rounded, of the normalised number, and of the greatest one."""
    x, residual, weight = made
    roundings, beyond = 3.03 * FP16_UNIT, 0

    def pairs():
        nonlocal beyond
        for rows in chunks(x):
            codes, scale, sum_ = (part[rows].float().double() for part in result)
            exact = x[rows].double() + residual[rows].double()
            must = over_deviation(sum_) * weight.double()
            must_scale = must.abs().amax(-1, keepdim=True) / E4M3_MAX
            power = (must / must_scale).frexp().exponent - 1  # codes are 2^(power - 3) apart
            half_step = (power.clamp(min=-6) - 4.0).double().exp2() * must_scale
            for is_, right, bound in (
                    (sum_, exact, 1.001 * FP16_UNIT * exact.abs()),
                    (scale, must_scale, roundings * must_scale),
                    (codes * scale, must, half_step + roundings * must.abs())):
                beyond += (~((is_ - right).abs() <= bound + FP16_TINY)).sum().item()
            yield codes * scale, must
    error = relative(pairs())
    return error, beyond


def faults_of_codes(_operator, _made, result):
    codes, scale, sum_ = result
    bits = codes.view(torch.uint8)
    unwritten = bits.clone()
    unwritten[:, :bits.shape[1] // 8] = 0
    for what, wrong in (("missing codes", unwritten), ("codes beside their place", bits.roll(1, 0)),
                        ("codes of another step", bits ^ 1)):
        yield what, (wrong.view(codes.dtype), scale, sum_)
    yield "a scale of twice as much", (codes, 2 * scale, sum_)
    yield "a sum beside its place", (codes, scale, sum_.roll(1, 0))


# --- tokens ---------------------------------------------------------------------------------------

# Of a logit: fp32 rounds each of two that are compared three times. Of all probability: what this
# makes of logits up to 20 in the exponent, and the sums of 50 masses.
LOGIT_TOLERANCE, SHARE_TOLERANCE = 2 ** -21, 2 ** -16


def sample(logits, seen, uniform):
    penalised = torch.where(logits > 0, logits / PENALTY, logits * PENALTY)
    logits = torch.where(seen, penalised, logits) / TEMPERATURE
    highest, tokens = torch.topk(logits, TOP_K)
    mass = torch.softmax(highest, -1)
    kept = mass.masked_fill(mass.cumsum(-1) - mass > TOP_P, 0)
    sums = kept.cumsum(-1)
    drawn = (sums <= uniform * sums[:, -1:]).sum(-1, keepdim=True).clamp(max=TOP_K - 1)
    return tokens.gather(-1, drawn).squeeze(-1)


def judge_tokens(made, tokens):
    """As fused/sampling/reference.h has it: a token is right if the share of the probability that
    the uniform number takes lies between the tokens before it and those up to it. Within the
    tolerances top-p may keep one more or fewer, and two logits may stand in either order. The error
    is the share of wrong tokens."""
    logits, seen, uniform = made[0].double(), made[1], made[2].double()
    penalised = torch.where(logits > 0, logits / PENALTY, logits * PENALTY)
    logits = torch.where(seen, penalised, logits) / TEMPERATURE
    highest = logits.topk(TOP_K).values
    mass = (highest - highest[:, :1]).exp()
    sums = mass.cumsum(-1)
    whole = sums[:, -1:]
    off = SHARE_TOLERANCE * whole

    def last_kept(border):
        return (sums <= border).sum(-1, keepdim=True).clamp(max=TOP_K - 1)
    least, most = last_kept(TOP_P * whole - off), last_kept(TOP_P * whole + off)
    own = logits.gather(-1, tokens.unsqueeze(-1))
    near = LOGIT_TOLERANCE * own.abs()
    before = mass.masked_fill(highest <= own + near, 0).sum(-1, keepdim=True)
    up_to = mass.masked_fill(highest < own - near, 0).sum(-1, keepdim=True)
    right = (own >= highest.gather(-1, most) - near) & \
        (before <= uniform * sums.gather(-1, most) + off) & \
        (up_to > uniform * sums.gather(-1, least) - off)
    wrong = (~right).sum().item()
    return wrong / tokens.numel(), wrong


def faults_of_tokens(operator, made, tokens):
    logits, seen, uniform = made
    yield "a token beside it", (tokens + 1) % logits.shape[1]
    if tokens.numel() > 1:
        yield "tokens beside their place", tokens.roll(1, 0)
        yield "no penalty", operator.function(logits, torch.zeros_like(seen), uniform)


# --- products -------------------------------------------------------------------------------------

def mlp(x, up, down):
    return f.linear(f.silu(f.linear(x, up) * x.shape[-1] ** -0.5), down)


def right_mlp(rows, x, up, down):
    z = x[rows].double() @ up.double().T / math.sqrt(x.shape[-1])
    return (z / (1 + (-z).exp())) @ down.double().T


def linear_gelu(x, weights, bias):
    return f.gelu(f.linear(x, weights, bias), approximate="tanh")


def right_linear_gelu(rows, x, weights, bias):
    return gelu_of(x[rows].double() @ weights.double().T + bias.double())


def quantise(weights):
    """(nibbles, scales): codes 1 to 15 for -7 to 7, the even column in the upper nibble."""
    groups = weights.float().unflatten(-1, (-1, GROUP))
    scales = (groups.abs().amax(-1) / 7).to(BF16)
    codes = (groups / scales.float().unsqueeze(-1)).round().clamp(-7, 7).add(8)
    codes = codes.to(torch.uint8).flatten(-2)
    return codes[:, ::2] << 4 | codes[:, 1::2], scales


def pack_int4(x, nibbles, scales):
    """A weight is (code - 8) x scale + zero."""
    pairs = torch.stack((scales.T, torch.zeros_like(scales.T)), -1).contiguous()
    return x, torch.ops.aten._convert_weight_to_int4pack(nibbles, INNER_TILES), pairs


def multiply_int4(x, packed, pairs):
    return torch.ops.aten._weight_int4pack_mm(x, packed, GROUP, pairs)


def right_int4(rows, x, nibbles, scales):
    codes = torch.stack((nibbles >> 4, nibbles & 15), -1).flatten(-2)
    weights = (codes.double() - 8) * scales.double().repeat_interleave(GROUP, -1)
    return x[rows].double() @ weights.T


def faults_of_int4(operator, made, result):
    x, nibbles, scales = made
    exchanged = nibbles << 4 | nibbles >> 4
    yield "nibbles exchanged", operator.function(*operator.pack(x, exchanged, scales))
    yield from faults_of_numbers(operator, made, result)


# --- attention ------------------------------------------------------------------------------------

def judge_attention(made, result):
    """Causal if there are several queries. By blocks of query rows, or the scores would not fit."""
    q, k, v = (t.double() for t in made)
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    queries, block = q.shape[2], min(16, q.shape[2])

    def pairs():
        for at in range(0, queries, max(1, queries // 8)):
            rows = slice(min(at, queries - block), min(at, queries - block) + block)
            scores = q[:, :, rows] @ k.mT / math.sqrt(q.shape[-1])
            if queries > 1:
                columns = torch.arange(k.shape[2], device=q.device)
                line = torch.arange(rows.start, rows.stop, device=q.device)
                scores = scores.masked_fill(columns[None, :] > line[:, None], -math.inf)
            yield result[:, :, rows], torch.softmax(scores, -1) @ v
    return relative(pairs()), 0


# --- all of them ----------------------------------------------------------------------------------

def operators(check, device="cuda"):
    """At the sizes of the programs' bars; small under --check."""
    def normal(*shape, dtype=HALF):
        return torch.randn(*shape, dtype=dtype, device=device)

    def bf16(*shape):
        return normal(*shape, dtype=BF16)

    def operator(name, r, c, kind, make, function, judge, error_max, **more):
        r, c = (min(r, 64), 512) if check else (r, c)
        return Operator(name, r, c, kind, lambda: make(r, c), function, judge, error_max, **more)

    def of_rows(name, r, c, vectors, function, reference, error_max=1e-3):
        return operator(name, r, c, "fp16", lambda r, c: (normal(r, c),) + vectors(r, c), function,
                        by_rows(reference), error_max)

    def vector(_, c):
        return (normal(c),)

    def two_vectors(_, c):
        return normal(c), normal(c)

    def residual(r, c):
        return normal(r, c), normal(c)

    def of_softmax(r, c):
        def make(r, c):
            lengths = c - torch.randint(c // 8 + 1, (r, 1), dtype=torch.int32, device=device)
            return normal(r, c), lengths
        return operator("softmax", r, c, "fp16", make, softmax, by_rows(right_softmax), 5e-3,
                        faults=faults_of_softmax,
                        options={"multi_kernel": {"triton.multi_kernel": 1}})

    def of_sampling(r, c):
        def make(r, c):
            return (normal(r, c, dtype=FP32), torch.rand(r, c, device=device) < 0.5,
                    torch.rand(r, 1, device=device))
        return operator("sampling", r, c, "fp32", make, sample, judge_tokens, 0,
                        faults=faults_of_tokens)

    def of_int4(name, batch):
        return operator(name, 4096, 14336, "int4",
                        lambda r, c: (bf16(batch, c),) + quantise(bf16(r, c)), multiply_int4,
                        by_rows(right_int4), 5e-3, pack=pack_int4, faults=faults_of_int4)

    def attention(name, queries, keys, kv_heads):
        heads = 32
        queries, keys = (min(queries, 128), 128) if check else (queries, keys)

        def attend(q, k, v):
            return f.scaled_dot_product_attention(q, k, v, is_causal=queries > 1,
                                                  enable_gqa=heads != kv_heads)
        return Operator(name, heads, keys, "bf16",
                        lambda: (bf16(1, heads, queries, 128), bf16(1, kv_heads, keys, 128),
                                 bf16(1, kv_heads, keys, 128)),
                        attend, judge_attention, 1e-2, backends=("flash", "cudnn"))

    return [
        of_rows("bias_gelu_scale", 16384, 8192, vector, gelu_scale, right_gelu_scale),
        of_rows("rmsnorm_residual", 16384, 8192, residual, rmsnorm, right_rmsnorm),
        operator("rmsnorm_residual_fp8", 16384, 8192, "fp16",
                 lambda r, c: (normal(r, c),) + residual(r, c), rmsnorm_fp8, judge_codes, 0.05,
                 faults=faults_of_codes),
        of_rows("layernorm", 16384, 8192, two_vectors, layernorm, right_layernorm),
        of_softmax(131072, 4096), of_softmax(1, 131072), of_softmax(32, 32768),
        of_sampling(256, 128256), of_sampling(1, 128256),
        operator("two_gemv", 4096, 14336, "bf16",
                 lambda r, c: (bf16(1, r), bf16(c, r), bf16(r, c)), mlp, by_rows(right_mlp), 1e-2,
                 least_sets=4),
        operator("epilogue_bias_gelu", 4096, 4096, "bf16",
                 lambda r, c: (bf16(1, r), bf16(c, r) * 2 ** -6, bf16(c)), linear_gelu,
                 by_rows(right_linear_gelu), 5e-3),
        of_int4("quantized_int4", 1), of_int4("quantized_int4_batch16", 16),
        of_int4("quantized_int4_batch256", 256),
        attention("attention_prefill", 8192, 8192, 32), attention("attention_decode", 1, 8192, 8)]
