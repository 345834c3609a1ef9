/* The sections of products, operators and right results: their findings are formed from rows, so
 * that other rows give another sentence, and none where no row supports it. */
#include "tests/unit/test_report_help.h"

#include <math.h>
#include <stdio.h>

#include "report/bundle/quality.h"
#include "report/page/emit.h"
#include "report/page/sections.h"

enum { ROUNDS = 7 };

/* A board of 100 SMs at 2000 MHz. */
static void begin(struct bundle *bundle)
{
    *bundle =
        (struct bundle){.head = json_pack("{s:{s:{s:s, s:i, s:i}}}", "environment", "gpu", "name",
                                          "Test", "n_sm", 100, "sm_clock_max_mhz", 2000)};
}

static void build(section_builder *builder, struct bundle *bundle, struct section *s)
{
    const struct summary summary = {.bundle = bundle};
    rows_finish(&bundle->rows);
    *s = (struct section){0};
    builder(&summary, s);
    assert_non_null(s->name);
    assert_non_null(s->title);
}

static void end(struct bundle *bundle, struct section *s)
{
    section_free(s);
    rows_free(&bundle->rows);
    json_decref(bundle->head);
}

static void put(struct bundle *bundle, const char *id, const char *unit, double value, double mhz)
{
    struct row *row = put_spread(&bundle->rows, id, unit, ROW_LOWER, value, value / 1000, ROUNDS);
    for (int round = 0; round < ROUNDS; round++)
        row_put_clock(row, round, mhz);
}

/* Does a text of the section, whichever, contain these words? */
static bool says(const struct section *s, const char *words)
{
    if (s->finding && strstr(s->finding, words))
        return true;
    for (size_t i = 0; i < s->n_notes; i++)
        if (strstr(s->note[i], words))
            return true;
    for (size_t g = 0; g < s->n_grids; g++)
        for (size_t i = 0; i < s->grid[g].n_cells; i++)
            if (s->grid[g].cell[i].text && strstr(s->grid[g].cell[i].text, words))
                return true;
    return false;
}

static const struct number *number_at(const struct grid *grid, size_t row, size_t column)
{
    return &grid->cell[row * grid->n_columns + column].number;
}

/* --- bytes in flight -------------------------------------------------------------------------- */

/* Of the ways with as much in flight the fastest is shown, and that of fewest warps; what lies
 * between only where it is all that there is. */
static void ways_to_read(void **unused)
{
    static const char loads[] = "occupancy.read_rate{level=hbm,warps=16,loads=8}";
    static const char four[] = "occupancy.path_rate{level=hbm,path=bulk,warps=4,in_flight=65536}";
    static const char one[] =
        "occupancy.path_rate{level=hbm,path=cp_async,warps=1,in_flight=65536}";
    struct bundle bundle;
    struct section s;
    (void)unused;

    for (int with_one = 0; with_one < 2; with_one++) {
        begin(&bundle);
        put(&bundle, loads, "bytes/s", 4.58e12, NAN);
        put(&bundle, four, "bytes/s", 4.56e12, NAN);
        if (with_one)
            put(&bundle, one, "bytes/s", 4.53e12, NAN);
        build(section_flight, &bundle, &s);
        assert_int_equal(s.grid[0].n_rows, 2);
        assert_true(says(&s, "16 warps"));
        assert_true(says(&s, with_one ? "cp.async copies" : "bulk copies"));
        assert_false(says(&s, with_one ? "bulk copies" : "cp.async copies"));
        end(&bundle, &s);
    }
}

/* --- sizes ------------------------------------------------------------------------------------ */

static void put_size(struct bundle *bundle, int n, double cublas, double ours, double mhz)
{
    static const char *const impls[] = {"cublas,tile=auto", "own,tile=best"};
    const double ns[] = {cublas, ours}, flops = 2.0 * n * n * n;
    char id[200], keys[160];

    for (int i = 0; i < 2; i++) {
        snprintf(keys, sizeof keys,
                 "{m=%d,n=%d,k=%d,type=fp16,acc=fp32,layout=nn,impl=%s,l2=warm,timer=event}", n, n,
                 n, impls[i]);
        snprintf(id, sizeof id, "gemm_sizes.time%s", keys);
        put(bundle, id, "ns", ns[i], mhz);
        snprintf(id, sizeof id, "derived.flops%s", keys);
        put(bundle, id, "flop/s", flops / ns[i] * 1e9, NAN);
    }
    snprintf(id, sizeof id,
             "gemm_sizes.over_library{m=%d,n=%d,k=%d,type=fp16,acc=fp32,layout=nn,impl=own,"
             "tile=best,l2=warm}",
             n, n, n);
    put(bundle, id, "ratio", ours / cublas, NAN);
}

static void put_fixed(struct bundle *bundle, const char *impl, double ns)
{
    char id[160];
    snprintf(id, sizeof id,
             "derived.fixed_time{type=fp16,acc=fp32,layout=nn,impl=%s,l2=warm,timer=event}", impl);
    put(bundle, id, "ns", ns, NAN);
}

static void put_throughput(struct bundle *bundle, const char *op, const char *shape, double value)
{
    char id[160];
    snprintf(id, sizeof id, "instructions.throughput{op=%s,shape=%s,type=fp16,acc=fp32%s}", op,
             shape, !strcmp(op, "wgmma") ? ",a=shared" : "");
    put(bundle, id, "ops/cycle", value, NAN);
}

static void sizes(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_size(&bundle, 2048, 20000, 19999, 1500); /* these two: no matter, within the spread */
    put_size(&bundle, 4096, 160000, 160008, 1500);
    put_size(&bundle, 256, 2500, 2000, 2000);
    put_size(&bundle, 1024, 5000, 5200, 1900);
    put_size(&bundle, 512, 3000, 2600, 2000);
    put_fixed(&bundle, "cublas,tile=auto", 1500);
    put_fixed(&bundle, "own,tile=best", 1000);
    put_throughput(&bundle, "mma", "m16n8k16", 500);
    put_throughput(&bundle, "wgmma", "m64n256k16", 1000);
    build(section_sizes, &bundle, &s);
    assert_string_equal(
        s.finding, "To N = 512 over a third is the time at N = 0; from 2048 the clock is under "
                   "85 %.");
    assert_int_equal(s.grid[0].n_rows, 5);
    assert_string_equal(s.grid[0].cell[0].text, "256");
    assert_true(says(&s, "Ours is faster at 256 to 512; slower at 1024."));
    assert_true(says(&s, "MHz; 1500 at worst."));
    assert_true(says(&s, "alone") == false); /* tensor_peak is not there */
    /* 2 x 256^3 in 2 us, of 100 SMs x 1000 x 2 at 2 GHz */
    assert_close(number_at(&s.grid[0], 0, 6)->value, 2.0 * 256 * 256 * 256 / 2e-6 / 400e12, 1e-9);
    end(&bundle, &s);
}

static void without_wgmma(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_size(&bundle, 256, 2500, 2000, 2000);
    put_throughput(&bundle, "mma", "m16n8k16", 500);
    put(&bundle, "instructions.tensor_peak{op=mma,shape=m16n8k16,type=fp16,acc=fp32}", "flop/s",
        150e12, NAN);
    build(section_sizes, &bundle, &s);
    assert_close(number_at(&s.grid[0], 0, 6)->value, 2.0 * 256 * 256 * 256 / 2e-6 / 200e12, 1e-9);
    assert_true(says(&s, "mma.sync alone keeps up 150 TFLOP/s."));
    assert_false(says(&s, "wgmma"));
    assert_string_equal(s.finding, "N = 256 runs at 16.8 TFLOP/s.");
    end(&bundle, &s);
}

static void cublas_wins(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_size(&bundle, 256, 2000, 2500, NAN);
    put_size(&bundle, 512, 2400, 2600, NAN);
    put_fixed(&bundle, "cublas,tile=auto", 100);
    put_fixed(&bundle, "own,tile=best", 2400);
    build(section_sizes, &bundle, &s);
    assert_true(says(&s, "Ours is slower at 256 to 512."));
    assert_string_equal(s.finding, "N = 512 runs at 112 TFLOP/s."); /* cuBLAS has no fixed cost */
    assert_false(number_there(number_at(&s.grid[0], 0, 6)));
    assert_false(number_there(number_at(&s.grid[0], 0, 8)));
    end(&bundle, &s);
}

/* --- fusion ----------------------------------------------------------------------------------- */

static void put_fusion(struct bundle *bundle, const char *probe, const char *keys, const char *impl,
                       double apart, double fused)
{
    const bool is_fused = !strcmp(impl, "fused");
    char id[300];

    snprintf(id, sizeof id, "%s.time{%s,impl=unfused,mode=graph,l2=cold,timer=event}", probe, keys);
    put(bundle, id, "ns", apart, NAN);
    snprintf(id, sizeof id, "%s.time{%s,impl=%s,mode=graph,l2=cold,timer=event}", probe, keys,
             impl);
    put(bundle, id, "ns", fused, NAN);
    snprintf(id, sizeof id, "derived.fusion_gain{probe=%s,%s%s%s,l2=cold}", probe, keys,
             is_fused ? "" : ",impl=", is_fused ? "" : impl);
    put(bundle, id, "ratio", apart / fused, NAN);
}

#define GELU_KEYS "rows=16384,cols=8192,type=fp16"
#define STREAM_KEYS "what=streams,rows=32,columns=2000000,type=fp32"
#define SERIAL_KEYS "what=serial,rows=1,columns=262144,type=fp16"

static void fusing_gains_and_loses(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_fusion(&bundle, "bias_gelu_scale", GELU_KEYS, "fused", 400, 100);
    put_fusion(&bundle, "bias_gelu_scale", "rows=64,cols=64,type=fp16", "fused", 40, 4);
    put_fusion(&bundle, "harm", STREAM_KEYS, "fused", 200, 100);
    put_fusion(&bundle, "harm", STREAM_KEYS, "cap_32", 200, 400);
    put(&bundle, "harm.local{" STREAM_KEYS ",impl=cap_32,mode=graph,l2=cold}", "bytes", 1336, NAN);
    put_fusion(&bundle, "harm", SERIAL_KEYS, "fused", 4, 16);
    put(&bundle, "harm.blocks{" SERIAL_KEYS ",impl=fused,mode=graph,l2=cold,kernel=0}", "count", 1,
        NAN);
    build(section_fusion, &bundle, &s);
    assert_string_equal(s.finding,
                        "Fusing gains up to 4.00 times; it loses most by idle SMs or spills.");
    assert_int_equal(s.grid[0].n_cells / s.grid[0].n_columns, 3);
    assert_string_equal(s.grid[0].cell[1].text, "16384x8192"); /* the larger case, not the better */
    assert_true(says(&s, "softmax over arrays, cap_32: spills"));
    assert_true(says(&s, "norm, one block a row: idles SMs"));
    assert_non_null(s.grid[0].split[1]);
    end(&bundle, &s);
}

static void fusing_loses_everywhere(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_fusion(&bundle, "bias_gelu_scale", GELU_KEYS, "fused", 90, 100);
    put_fusion(&bundle, "harm", STREAM_KEYS, "fused", 50, 100);
    build(section_fusion, &bundle, &s);
    assert_string_equal(s.finding, "No fusion shown gains: the best runs at 0.900 of the speed "
                                   "apart, the worst at 0.500.");
    assert_null(s.grid[0].split[0]);
    end(&bundle, &s);
}

static void fusing_never_loses(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_fusion(&bundle, "bias_gelu_scale", GELU_KEYS, "fused", 300, 100);
    put_fusion(&bundle, "harm", STREAM_KEYS, "fused", 98, 100); /* less than 3 %: no loss */
    build(section_fusion, &bundle, &s);
    assert_string_equal(s.finding, "Fusing gains up to 3.00 times and loses in no case shown.");
    assert_false(says(&s, "idles"));
    assert_false(says(&s, "right sign")); /* too few fusions */
    assert_false(says(&s, "torch.compile"));
    end(&bundle, &s);
}

/* PyTorch's times of the operators whose sizes have other names than rows and cols; none of another
 * type, which moves other bytes. */
static void fusing_beside_pytorch(void **unused)
{
    static const struct {
        const char *probe, *keys, *peer;
    } both[] = {
        {"epilogue", "m=1,n=4096,k=2048,op=bias_gelu,type=bf16",
         "op=epilogue_bias_gelu,rows=2048,cols=4096,type=bf16"},
        {"norm", "op=rmsnorm_residual_fp8,rows=64,cols=32,type=fp16",
         "op=rmsnorm_residual_fp8,rows=64,cols=32,type=fp16"},
        {"quantized", "rows=64,cols=128,batch=1,type=int4",
         "op=quantized_int4,rows=64,cols=128,type=int4"},
        {"sampling", "vocabulary=1000,batch=8,k=50,p=0.9,type=fp32",
         "op=sampling,rows=8,cols=1000,type=fp32"},
        {"two_gemv", "model=64,hidden=256,batch=1,type=bf16",
         "op=two_gemv,rows=64,cols=256,type=bf16"},
        {"softmax", "rows=64,cols=32,type=bf16", "op=softmax,rows=64,cols=32,type=fp16"},
    };
    enum { EAGER = 7, COMPILED, TWO_GEMV = 4, OTHER_TYPE = CHECK_LENGTH(both) - 1 };
    struct bundle bundle;
    struct section s;
    char id[200];
    (void)unused;

    begin(&bundle);
    for (size_t i = 0; i < CHECK_LENGTH(both); i++) {
        put_fusion(&bundle, both[i].probe, both[i].keys, "fused", 900 - 100 * (double)i, 100);
        for (int way = 0; way < 2; way++) {
            snprintf(id, sizeof id, "fused_peers.time{%s,impl=%s,l2=cold,timer=event}",
                     both[i].peer, way ? "compile" : "eager");
            put(&bundle, id, "ns", 1000 * (double)(i + 1) + way, NAN);
        }
    }
    snprintf(id, sizeof id, "fused_peers.time{%s,impl=multi_kernel,l2=cold,timer=event}",
             both[TWO_GEMV].peer);
    put(&bundle, id, "ns", 2340, NAN);
    snprintf(id, sizeof id, "fused_peers.time{%s,impl=multi_kernel,l2=cold,timer=event}",
             both[0].peer);
    put(&bundle, id, "ns", 1000, NAN); /* a nanosecond less than by its own choice: not told */
    build(section_fusion, &bundle, &s);
    assert_int_equal(s.grid[0].n_rows, CHECK_LENGTH(both));
    for (size_t i = 0; i < OTHER_TYPE; i++) {
        assert_close(number_at(&s.grid[0], i, EAGER)->value, 1000 * (double)(i + 1), 1e-9);
        assert_close(number_at(&s.grid[0], i, COMPILED)->value, 1000 * (double)(i + 1) + 1, 1e-9);
    }
    assert_false(number_there(number_at(&s.grid[0], OTHER_TYPE, EAGER)));
    assert_true(says(&s, "comp.: torch.compile as it comes."));
    assert_true(says(&s, "With triton.multi_kernel two_gemv 64x256 takes 2.34 us."));
    assert_false(says(&s, "2048x4096 takes"));
    end(&bundle, &s);
}

/* --- attention, weights, sampling ------------------------------------------------------------- */

static void attention(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put(&bundle,
        "attention_prefill.time{heads=32,context=2048,mask=causal,type=bf16,impl=fused,"
        "mode=graph,l2=cold,timer=event}",
        "ns", 100, NAN);
    put(&bundle,
        "attention_prefill.time{heads=32,context=2048,mask=causal,type=bf16,impl=unfused,"
        "mode=graph,l2=cold,timer=event}",
        "ns", 250, NAN);
    put(&bundle,
        "attention_prefill.time{heads=32,context=4096,mask=causal,type=bf16,impl=fused,"
        "mode=graph,l2=cold,timer=event}",
        "ns", 100, NAN); /* without its other form */
    put(&bundle,
        "attention_prefill.time{heads=32,context=8192,mask=causal,type=bf16,impl=fused,"
        "mode=graph,l2=cold,timer=event}",
        "ns", 100, NAN);
    put(&bundle,
        "attention_prefill.time{heads=32,context=8192,mask=causal,type=bf16,impl=unfused,"
        "mode=graph,l2=cold,timer=event}",
        "ns", 400, NAN);
    put(&bundle, /* the derived row is told, not another ratio */
        "derived.fusion_gain{probe=attention_prefill,heads=32,context=8192,mask=causal,type=bf16,"
        "l2=cold}",
        "ratio", 4.1, NAN);
    build(section_attention, &bundle, &s);
    assert_string_equal(s.finding, "A fused prompt is 2.50 to 4.10 times as fast.");
    assert_int_equal(s.n_grids, 1);
    assert_int_equal(s.grid[0].n_rows, 2);
    end(&bundle, &s);

    begin(&bundle);
    put(&bundle,
        "attention_decode.time{batch=1,context=8192,heads=32,kv_heads=8,d=128,type=bf16,"
        "impl=attention,mode=graph,l2=cold,timer=event}",
        "ns", 12000, NAN);
    put(&bundle,
        "attention_decode.share_of_read{batch=1,context=8192,heads=32,kv_heads=8,d=128,"
        "type=bf16,impl=attention,mode=graph,l2=cold}",
        "ratio", 0.7, NAN);
    build(section_attention, &bundle, &s);
    assert_string_equal(s.finding, "Decode runs at 70.0 % of a read.");
    end(&bundle, &s);
}

static void put_weights(struct bundle *bundle, int batch, double full, double int4)
{
    char id[200];
    snprintf(id, sizeof id,
             "quantized.time{rows=64,cols=32,batch=%d,type=bf16,impl=full,"
             "mode=graph,l2=cold,timer=event}",
             batch);
    put(bundle, id, "ns", full, NAN);
    snprintf(id, sizeof id,
             "quantized.time{rows=64,cols=32,batch=%d,type=int4,impl=fused,"
             "mode=graph,l2=cold,timer=event}",
             batch);
    put(bundle, id, "ns", int4, NAN);
}

static void weights(void **unused)
{
    static const double int4[][2] = {{50, 99}, {50, 50}, {99, 50}};
    static const char *const found[] = {"int4 pays up to batch 1, not at 16.",
                                        "int4 pays up to batch 16, the largest.",
                                        "int4 does not pay at batch 1."};
    (void)unused;

    for (size_t i = 0; i < CHECK_LENGTH(found); i++) {
        struct bundle bundle;
        struct section s;
        begin(&bundle);
        put_weights(&bundle, 16, 100, int4[i][1]);
        put_weights(&bundle, 1, 100, int4[i][0]);
        build(section_weights, &bundle, &s);
        assert_string_equal(s.finding, found[i]);
        assert_int_equal(s.grid[0].n_rows, 2);
        end(&bundle, &s);
    }
}

static void weights_by_pytorch(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_weights(&bundle, 1, 100, 50);
    put_weights(&bundle, 4, 100, 50);
    put_weights(&bundle, 16, 100, 50);
    put(&bundle,
        "fused_peers.time{op=quantized_int4,rows=64,cols=32,type=int4,impl=eager,l2=cold,"
        "timer=event}",
        "ns", 70, NAN);
    put(&bundle,
        "fused_peers.time{op=quantized_int4_batch16,rows=64,cols=32,type=int4,impl=eager,l2=cold,"
        "timer=event}",
        "ns", 90, NAN);
    build(section_weights, &bundle, &s);
    assert_string_equal(s.grid[0].cell[2 * s.grid[0].n_columns].text, "int4 by PyTorch");
    assert_close(number_at(&s.grid[0], 2, 1)->value, 70, 1e-9);
    assert_false(number_there(number_at(&s.grid[0], 2, 2)));
    assert_close(number_at(&s.grid[0], 2, 3)->value, 90, 1e-9);
    end(&bundle, &s);
}

static void put_token(struct bundle *bundle, const char *cut, const char *impl, double ns,
                      double kernels)
{
    char id[200];
    snprintf(id, sizeof id,
             "sampling.time{vocabulary=1000,batch=1,%s,type=fp32,impl=%s,mode=graph,l2=warm,"
             "timer=event}",
             cut, impl);
    put(bundle, id, "ns", ns, NAN);
    snprintf(id, sizeof id,
             "sampling.kernels{vocabulary=1000,batch=1,%s,type=fp32,impl=%s,mode=graph,l2=warm}",
             cut, impl);
    put(bundle, id, "count", kernels, NAN);
}

static void sampling(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put(&bundle,
        "sampling.time{vocabulary=1000,batch=8,k=0,p=0.9,type=fp32,impl=fused,mode=graph,"
        "l2=warm,timer=event}",
        "ns", 5000, NAN);
    build(section_sampling, &bundle, &s);
    assert_string_equal(s.finding, "8 tokens of 1000 logits, top-p 0.9 alone: 5 us in one kernel.");
    end(&bundle, &s);

    begin(&bundle);
    put_token(&bundle, "k=50,p=0.9", "fused", 5000, 1);
    put_token(&bundle, "k=50,p=0.9", "unfused", 12000, 4);
    put_token(&bundle, "k=0,p=0.9", "fused", 9000, 1);
    put(&bundle,
        "fused_peers.time{op=sampling,rows=1,cols=1000,type=fp32,impl=compile,l2=warm,timer=event}",
        "ns", 30000, NAN);
    put(&bundle,
        "fused_peers.time{op=sampling,rows=1,cols=1000,type=fp32,impl=compile,l2=cold,timer=event}",
        "ns", 40000, NAN);
    build(section_sampling, &bundle, &s);
    assert_string_equal(s.finding, "A token of 1000 logits, top-k 50, top-p 0.9: 5 us in one "
                                   "kernel, 12 us in 4.");
    assert_int_equal(s.grid[0].n_rows, 2);
    for (size_t i = 0; i < 2; i++) { /* of the cut that PyTorch's form has */
        const bool is_cut = !strcmp(s.grid[0].cell[8 * i + 1].text, "top-k 50, top-p 0.9");
        assert_true(number_there(number_at(&s.grid[0], i, 7)) == is_cut);
        assert_false(number_there(number_at(&s.grid[0], i, 6)));
    }
    assert_true(number_at(&s.grid[0], 0, 7)->value == 30000 ||
                number_at(&s.grid[0], 1, 7)->value == 30000); /* warm beside warm */
    assert_false(says(&s, "behind an empty L2"));
    end(&bundle, &s);

    begin(&bundle);
    put_token(&bundle, "k=50,p=0.9", "fused", 5000, 1);
    put(&bundle,
        "fused_peers.time{op=sampling,rows=1,cols=1000,type=fp32,impl=compile,l2=cold,timer=event}",
        "ns", 40000, NAN);
    build(section_sampling, &bundle, &s);
    assert_true(number_at(&s.grid[0], 0, 7)->value == 40000);
    assert_true(says(&s, "a token: 0 MB of logits; PyTorch's times are behind an empty L2."));
    end(&bundle, &s);
}

/* --- right results ---------------------------------------------------------------------------- */

static void put_errors(struct bundle *bundle, const char *size, double unfused, double fused)
{
    char id[160];
    snprintf(id, sizeof id, "norm.error{rows=%s,impl=fused,mode=graph}", size);
    put_spread(&bundle->rows, id, "ratio", ROW_LOWER, fused, 0, ROUNDS);
    snprintf(id, sizeof id, "norm.error{rows=%s,impl=unfused,mode=graph}", size);
    put_spread(&bundle->rows, id, "ratio", ROW_LOWER, unfused, 0, ROUNDS);
}

static void right(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_errors(&bundle, "1", 1e-3, 1.02e-3); /* within 3 % */
    put_errors(&bundle, "2", 1e-3, 1.04e-3);
    put_errors(&bundle, "3", 1e-3, 0.5e-3);
    put_spread(&bundle.rows, "norm.error{rows=4,impl=fused,mode=graph}", "ratio", ROW_LOWER, 1, 0,
               ROUNDS); /* beside nothing */
    put_spread(&bundle.rows, "norm.differ{rows=1}", "ratio", ROW_EXACT, 0, 0, ROUNDS);
    put_spread(&bundle.rows, "norm.differ{rows=2}", "ratio", ROW_EXACT, 0.1, 0, ROUNDS);
    put_spread(&bundle.rows, "norm.caught{rows=1}", "ratio", ROW_HIGHER, 1, 0, ROUNDS);
    put_spread(&bundle.rows, "norm.caught{rows=2}", "ratio", ROW_HIGHER, 0.99, 0, ROUNDS);
    const struct quality q = quality_count(&bundle.rows);
    assert_true(q.errors == 3 && q.worse == 1 && q.compared == 2 && q.same == 1 && q.planted == 2 &&
                q.seen == 1);
    build(section_right, &bundle, &s);
    assert_string_equal(s.finding,
                        "Fused results err more than unfused ones (float64, by over 3 %) in "
                        "1 of 3 cases.");
    assert_true(says(&s, "unfused: 1 of 2 kernels"));
    assert_true(says(&s, "seen in 1 of 2."));
    assert_false(says(&s, "atomics"));
    end(&bundle, &s);
}

static void sums(void **unused)
{
    struct bundle bundle;
    struct section s;
    (void)unused;

    begin(&bundle);
    put_errors(&bundle, "1", 1e-3, 1e-3);
    put_spread(&bundle.rows, "repeatability.distinct{order=arrival,runs=50}", "count", ROW_EXACT,
               40, 0, ROUNDS);
    put_spread(&bundle.rows, "repeatability.distinct{order=last_arriver,runs=50}", "count",
               ROW_EXACT, 1, 0, ROUNDS);
    put_spread(&bundle.rows, "repeatability.distinct{order=two_kernels,runs=50}", "count",
               ROW_EXACT, 2, 0, ROUNDS);
    put(&bundle, "repeatability.time{order=arrival,timer=event}", "ns", 100, NAN);
    put(&bundle, "repeatability.time{order=last_arriver,timer=event}", "ns", 90, NAN);
    put(&bundle, "repeatability.time{order=two_kernels,timer=event}", "ns", 120, NAN);
    build(section_right, &bundle, &s);
    assert_true(says(&s, "Sums by atomics: 40 results in 50 runs; in a fixed order 1, in 10 % less "
                         "time."));
    end(&bundle, &s);
}

/* --- claims ----------------------------------------------------------------------------------- */

/* Rows that decide C10: a hit of L1 takes so many cycles. */
static void put_c10(struct bundle *bundle, double cycles)
{
    struct rows *rows = &bundle->rows;
    begin(bundle);
    put_spread(rows, "spin.waited{asked=20000}", "cycles", ROW_LOWER, 20010, 5, ROUNDS);
    put_spread(rows, "memory_latency.load{level=l1}", "cycles", ROW_LOWER, cycles, 0.2, ROUNDS);
    put_spread(rows, "memory_latency.load{level=shared}", "cycles", ROW_LOWER, 23, 0.2, ROUNDS);
    put_spread(rows, "memory_latency.control{path=l2}", "cycles", ROW_LOWER, 270, 2, ROUNDS);
    rows_finish(rows);
}

static void build_claims(struct bundle *bundle, struct bundle *committed, struct section *s)
{
    const struct summary summary = {.bundle = bundle, .committed = committed};
    *s = (struct section){0};
    section_claims(&summary, s);
}

/* A verdict that differs from the committed one comes first; one that is not decided there does
 * not differ. */
static void claims(void **unused)
{
    struct bundle bundle, committed, nothing;
    struct section s;
    (void)unused;

    put_c10(&bundle, 28);
    put_c10(&committed, 32.5);
    begin(&nothing);
    build_claims(&bundle, &committed, &s);
    assert_non_null(strstr(s.finding, " claims: "));
    assert_non_null(strstr(s.finding, "1 does not"));
    assert_int_equal(s.n_grids, 2);
    assert_string_equal(s.grid[1].cell[0].text, "C10");
    assert_string_equal(s.grid[1].cell[1].text, "no");
    assert_true(says(&s, "not measured here: ") && says(&s, " claims; no run can tell: C81."));
    assert_true(says(&s, "committed results of this board: C10."));
    section_free(&s);
    build_claims(&bundle, &nothing, &s);
    assert_string_equal(s.grid[1].cell[0].text, "C10"); /* the only one that is decided */
    assert_false(says(&s, "committed results"));
    section_free(&s);
    build_claims(&nothing, NULL, &s);
    assert_null(s.finding);
    assert_non_null(strstr(s.missing, "no claim can be told"));
    end(&bundle, &s);
    end(&committed, &s);
    end(&nothing, &s);
}

/* --- nothing ---------------------------------------------------------------------------------- */

static void no_rows(void **unused)
{
    section_builder *const builders[] = {section_sizes,   section_fusion,   section_attention,
                                         section_weights, section_sampling, section_right,
                                         section_layer,   section_links};
    (void)unused;

    for (size_t i = 0; i < CHECK_LENGTH(builders); i++) {
        struct bundle bundle;
        struct section s;
        begin(&bundle);
        build(builders[i], &bundle, &s);
        assert_null(s.finding);
        assert_non_null(s.missing);
        assert_non_null(strstr(s.missing, "not measured: "));
        assert_int_equal(s.n_grids + s.n_notes + s.n_lines, 0);
        end(&bundle, &s);
    }
}

/* --- small products --------------------------------------------------------------------------- */

#define CUBLAS_TIME                                                                                \
    "small_gemm.time{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,impl=cublas,tile=auto,"    \
    "split=auto,l2=warm,timer=event}"

static void put_counted(struct bundle *bundle, const char *figure, double value, bool stale)
{
    char id[300];
    snprintf(id, sizeof id, "%s of " CUBLAS_TIME, figure);
    struct row *row = rows_get(&bundle->counted, id, "count", ROW_EXACT);
    assert_non_null(row);
    row_put(row, 0, value, value);
    row->centre = row->low = row->high = value;
    row->status = stale ? ROW_STALE : ROW_OK;
    row->stale = stale;
}

/* A library's idle SMs, of a board of 100, by how many blocks an SM had at least and at most. */
static void idle_by_counters(void **unused)
{
    static const struct {
        double blocks, least, most;
        bool stale;
        double idle; /* NAN: not known */
    } table[] = {
        {96, 0, 1, false, 4},      {100, 1, 1, false, 0},
        {200, 2, 2, false, 0},     {150, 1, 2, false, 0},
        {150, 0, 2, false, NAN},   /* 75 SMs have two, or some have one: not known */
        {96, 0, 1.5, false, NAN},  /* of two products, a block is not always on the same SM */
        {96, 0.5, 1, false, NAN},
        {96, 0, 1, true, NAN},     /* other kernels were counted */
    };
    (void)unused;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct bundle bundle;
        struct section s;
        begin(&bundle);
        put(&bundle, CUBLAS_TIME, "ns", 5000, 1900);
        put_counted(&bundle, "blocks", table[i].blocks, table[i].stale);
        put_counted(&bundle, "blocks_least", table[i].least, table[i].stale);
        put_counted(&bundle, "blocks_most", table[i].most, table[i].stale);
        build(section_small, &bundle, &s);
        const struct number *idle = number_at(&s.grid[0], 0, 3);
        assert_true(number_there(idle) == !isnan(table[i].idle));
        assert_true(isnan(table[i].idle) || idle->value == table[i].idle);
        assert_true(says(&s, "by counters") == !isnan(table[i].idle));
        rows_free(&bundle.counted);
        end(&bundle, &s);
    }
}

/* --- evidence --------------------------------------------------------------------------------- */

/* A number stands in the unit that its column is headed with. */
static void evidence_of_a_column(void **unused)
{
    static const struct {
        double value;
        const char *unit, *shown, *said;
    } table[] = {
        {0.4527, "ratio", "%", "45.27 %, no interval, ok"},
        {-0.1134, "ratio", "%", "-11.34 %, no interval, ok"},
        {0.00002551, "ratio", "%", "0.002551 %, no interval, ok"},
        {1.873e9, "hertz", "MHz", "1873 MHz, no interval, ok"},
        {1320000, "ns", "us", "1320 us, no interval, ok"},
        {1143, "ns", "ns", "1143 ns, no interval, ok"},
        {512, "bytes", "KiB", "0.5000 KiB, no interval, ok"},
        {8192, "bytes", "KiB", "8 KiB, no interval, ok"},
        {55.55e9, "bytes/s", "TB/s", "0.05555 TB/s, no interval, ok"},
        {2.761, "ratio", "x", "2.761, no interval, ok"},
        {32, "cycles", "", "32 cycles, no interval, ok"},
        {1320000, "ns", NULL, "1.320 ms, no interval, ok"},
        {0.4527, "ratio", NULL, "0.4527, no interval, ok"},
    };
    char text[200];
    (void)unused;

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct number number = number_fact(table[i].value, table[i].unit);
        emit_evidence(text, sizeof text, &number, table[i].shown);
        assert_string_equal(text, table[i].said);
    }
}

/* An axis is named, a unit follows its number, and a label says what a number of order stands
 * for. */
static void evidence_of_a_point(void **unused)
{
    static const struct {
        double x;
        const char *x_unit, *label, *said;
    } table[] = {
        {3072, "N", NULL, "N = 3072"},
        {0, "part", "qkv", "part = 0 (qkv)"},
        {8192, "keys", NULL, "8192 keys"},
        {33554432, "bytes", NULL, "33554432 bytes"},
        {30537.9, "bytes", "L1", "30537.9 bytes (L1)"},
        {96, "tiles", "96", "96 tiles"},
        {133, "tiles", "sm+1", "133 tiles (sm+1)"},
    };
    const struct number ns = number_fact(2000, "ns");
    char text[100];
    (void)unused;

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct series series = {.name = "ours", .x_unit = table[i].x_unit};
        const struct point point = {.x = table[i].x, .y = ns, .label = table[i].label};
        assert_string_equal(emit_place(text, sizeof text, &series, &point), table[i].said);
    }
    assert_string_equal(emit_series_unit(&(struct series){.name = "load, ns"}, &ns), "ns");
    assert_null(emit_series_unit(&(struct series){.name = "cuBLASLt, best"}, &ns));
}

/* A heading that spans columns belongs to each of them where they are told one by one. */
static void evidence_of_a_span(void **unused)
{
    static const struct column columns[] = {{NULL, "step", NULL, 'l'},
                                            {"8B", "J", "", 'r'},
                                            {NULL, "W", "", 'r'},
                                            {NULL, "ns", "ns", 'r'}};
    struct section s = {0};
    char text[100];
    (void)unused;

    struct grid *grid = section_grid(&s, columns, 4);
    grid_span(grid, 1, 2);
    assert_string_equal(emit_column(text, sizeof text, grid, 1), "8B, J");
    assert_string_equal(emit_column(text, sizeof text, grid, 2), "8B, W");
    assert_string_equal(emit_column(text, sizeof text, grid, 3), "ns");
    assert_string_equal(emit_heading(text, sizeof text, grid, 2), "W");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_to_read),
        cmocka_unit_test(sizes),
        cmocka_unit_test(without_wgmma),
        cmocka_unit_test(cublas_wins),
        cmocka_unit_test(fusing_gains_and_loses),
        cmocka_unit_test(fusing_loses_everywhere),
        cmocka_unit_test(fusing_never_loses),
        cmocka_unit_test(fusing_beside_pytorch),
        cmocka_unit_test(attention),
        cmocka_unit_test(weights),
        cmocka_unit_test(weights_by_pytorch),
        cmocka_unit_test(sampling),
        cmocka_unit_test(right),
        cmocka_unit_test(sums),
        cmocka_unit_test(claims),
        cmocka_unit_test(idle_by_counters),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(evidence_of_a_column),
        cmocka_unit_test(evidence_of_a_point),
        cmocka_unit_test(evidence_of_a_span),
    };
    return cmocka_run_group_tests_name("sections of products and operators", tests, NULL, NULL);
}
