/* Fused operators: what one kernel gains over several, and where it loses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "report/claims/fused_predictions.h"
#include "report/page/sections.h"
#include "report/page/take.h"

/* --- what is shown ---------------------------------------------------------------------------- */

/* Operators that articles name, each by its largest case, two by one row, too; then fusions made to
 * lose, of each kind the worst. */
enum {
    PLAIN,
    ACTIVATED,
    INT4,
    SOFTMAX,
    SOFTMAX_ROW,
    GELU,
    GELU_ROW,
    SAMPLING,
    EPILOGUE,
    NORM,
    NORM_FP8,
    MLP,
    STREAMS,
    WIDE,
    PHASES,
    SERIAL,
    SHOWN,
    HARM = STREAMS,
    PREDICTED = SHOWN,
    TIME,
    COPY,
    LOCAL,
    BLOCKS,
    PEERS,
};
#define GAIN "derived.fusion_gain{probe="
#define LARGE "*type=%s,l2=cold}"
const char *const fusion_needs[] = {
    [PLAIN] = GAIN "elementwise_chain,*chain=plain,operations=16," LARGE,
    [ACTIVATED] = GAIN "elementwise_chain,*chain=activated,operations=16," LARGE,
    [INT4] = GAIN "quantized,*batch=1,type=int4,l2=cold}",
    [SOFTMAX] = GAIN "softmax," LARGE,
    [SOFTMAX_ROW] = GAIN "softmax,rows=1,*type=%s,l2=warm}",
    [GELU] = GAIN "bias_gelu_scale," LARGE,
    [GELU_ROW] = GAIN "bias_gelu_scale,rows=1,*type=%s,l2=warm}",
    [SAMPLING] = GAIN "sampling," LARGE,
    [EPILOGUE] = GAIN "epilogue,m=1,*op=bias_gelu," LARGE,
    [NORM] = GAIN "norm,op=rmsnorm_residual," LARGE,
    [NORM_FP8] = GAIN "norm,op=rmsnorm_residual_fp8," LARGE,
    [MLP] = GAIN "two_gemv,*batch=1," LARGE,
    [STREAMS] = GAIN "harm,what=streams,*}",
    [WIDE] = GAIN "harm,what=wide,*}",
    [PHASES] = GAIN "harm,what=phases,*}",
    [SERIAL] = GAIN "harm,what=serial,*}",
    [PREDICTED] = "derived.predicted_gain{probe=*}", /* these of the gain's case */
    [TIME] = "*.time{*,impl=%s,mode=graph,l2=%s,timer=event}",
    [COPY] = "*.share_of_copy{*,impl=%s,mode=graph,l2=%s}",
    [LOCAL] = "harm.local{*,impl=%s,mode=graph,l2=%s}",
    [BLOCKS] = "harm.blocks{*,impl=%s,mode=graph,l2=%s,kernel=0}",
    [PEERS] = "fused_peers.time{op=%s,rows=%s,cols=%s,type=%s,impl=%s,l2=%s,*}",
    NULL,
};

static const struct {
    const char *label;
    const char *size[2]; /* keys that say how large it is: rows and cols of fused_peers */
    const char *peer;    /* fused_peers' name of it; NULL: PyTorch is not asked */
} shown[SHOWN] = {
    [PLAIN] = {"16 plain operators", {"rows", "cols"}, NULL},
    [ACTIVATED] = {"16 operators with gelu, silu", {"rows", "cols"}, NULL},
    [INT4] = {"int4 weights into a product", {"rows", "cols"}, "quantized_int4"},
    [SOFTMAX] = {"scale + mask + softmax", {"rows", "cols"}, "softmax"},
    [SOFTMAX_ROW] = {"scale + mask + softmax", {"rows", "cols"}, "softmax"},
    [GELU] = {"scale * gelu(x + bias)", {"rows", "cols"}, "bias_gelu_scale"},
    [GELU_ROW] = {"scale * gelu(x + bias)", {"rows", "cols"}, "bias_gelu_scale"},
    [SAMPLING] = {"sampling, top-k, top-p", {"batch", "vocabulary"}, "sampling"},
    [EPILOGUE] = {"product + bias + gelu, 1 row", {"k", "n"}, "epilogue_bias_gelu"},
    [NORM] = {"residual + RMSNorm", {"rows", "cols"}, "rmsnorm_residual"},
    [NORM_FP8] = {"residual + RMSNorm, to fp8", {"rows", "cols"}, "rmsnorm_residual_fp8"},
    [MLP] = {"up, silu, down of an MLP", {"model", "hidden"}, "two_gemv"},
    [STREAMS] = {"softmax over arrays", {"rows", "columns"}, NULL},
    [WIDE] = {"softmax, one block a row", {"rows", "columns"}, NULL},
    [PHASES] = {"two phases, one tile held", {"rows", "columns"}, NULL},
    [SERIAL] = {"norm, one block a row", {"rows", "columns"}, NULL},
};

/* Why a fusion loses, as its rows tell. */
enum cause { CAUSE_NONE, CAUSE_IDLE, CAUSE_SPILL };

struct fusion {
    int which;
    const struct row *gain, *fused, *apart;
    enum cause cause;
    char probe[32], keys[DOCUMENT_ID], impl[32], l2[8]; /* of the gain's case */
};

/* A gain within 3 % of 1 is neither a gain nor a loss, as in C80. */
static const double NOTHING = 0.03;

/* --- taking ----------------------------------------------------------------------------------- */

/* "derived.fusion_gain{probe=P,KEYS,l2=L}", with ",impl=I" before l2 where I is not "fused". */
static bool case_of(const struct row *gain, struct fusion *f)
{
    const char *keys = strchr(gain->id, ','), *end = strstr(gain->id, ",impl=");

    end = end ? end : strstr(gain->id, ",l2=");
    if (!keys || !end || end <= keys || !row_key(gain, "probe", f->probe, sizeof f->probe) ||
        !row_key(gain, "l2", f->l2, sizeof f->l2))
        return false;
    if (!row_key(gain, "impl", f->impl, sizeof f->impl))
        snprintf(f->impl, sizeof f->impl, "fused");
    snprintf(f->keys, sizeof f->keys, "%.*s", (int)(end - keys - 1), keys + 1);
    return true;
}

/* `metric` of the form `impl` of that case; NULL: it is not usable. */
static const struct row *of_case(const struct summary *summary, const struct fusion *f,
                                 const char *metric, const char *impl, const char *end)
{
    char id[3 * DOCUMENT_ID];
    snprintf(id, sizeof id, "%s.%s{%s,impl=%s,mode=graph,l2=%s%s}", f->probe, metric, f->keys, impl,
             f->l2, end);
    const struct row *row = rows_find(&summary->bundle->rows, id);
    return row && row_usable(row) ? row : NULL;
}

static enum cause cause_of(const struct summary *summary, const struct fusion *f)
{
    const struct row *local = of_case(summary, f, "local", f->impl, "");
    const struct row *blocks = of_case(summary, f, "blocks", f->impl, ",kernel=0");

    if (local && local->centre > 0)
        return CAUSE_SPILL;
    return blocks && blocks->centre < summary_sms(summary) ? CAUSE_IDLE : CAUSE_NONE;
}

/* The times that a gain compares; what a fused form is compared with has one of two names. */
static bool fusion_of(const struct summary *summary, const struct row *gain, struct fusion *f)
{
    if (!case_of(gain, f))
        return false;
    f->gain = gain;
    f->fused = of_case(summary, f, "time", f->impl, ",timer=event");
    f->apart = of_case(summary, f, "time", "unfused", ",timer=event");
    if (!f->apart)
        f->apart = of_case(summary, f, "time", "twice", ",timer=event");
    return f->fused && f->apart;
}

/* Of an operator its largest case, fused and not some other form; of a harm the worst. */
static bool take_fusion(const struct summary *summary, int which, struct fusion *out)
{
    const struct row *gain;
    bool found = false;

    for (size_t next = 0; (gain = take_next(summary, fusion_needs[which], &next));) {
        struct fusion f = {.which = which};
        if (!fusion_of(summary, gain, &f) || (which < HARM && strcmp(f.impl, "fused")))
            continue;
        if (found && (which < HARM ? f.apart->centre <= out->apart->centre
                                   : f.gain->centre >= out->gain->centre))
            continue;
        *out = f;
        found = true;
    }
    if (found && which >= HARM)
        out->cause = cause_of(summary, out);
    return found;
}

static int by_gain(const void *a, const void *b)
{
    const double x = (*(struct fusion *const *)a)->gain->centre;
    const double y = (*(struct fusion *const *)b)->gain->centre;
    return (x < y) - (x > y);
}

/* --- the table -------------------------------------------------------------------------------- */

static struct number peer_of(const struct summary *summary, const struct fusion *f,
                             const char *impl)
{
    const char *const *size = shown[f->which].size;
    char rows[32], cols[32], type[16];

    if (!shown[f->which].peer || !row_key(f->gain, size[0], rows, sizeof rows) ||
        !row_key(f->gain, size[1], cols, sizeof cols) ||
        !row_key(f->gain, "type", type, sizeof type))
        return number_none();
    return take_number(summary, fusion_needs[PEERS], shown[f->which].peer, rows, cols, type, impl,
                       f->l2);
}

static const char *label_of(const struct fusion *f, struct section *s)
{
    static const char *const causes[] = {"", ": idles SMs", ": spills"};
    const bool is_fused = !strcmp(f->impl, "fused"); /* else a form of it, such as cap_32 */
    return section_text(s, "%s%s%s%s", shown[f->which].label, is_fused ? "" : ", ",
                        is_fused ? "" : f->impl, causes[f->cause]);
}

static const char *shape_of(const struct fusion *f, struct section *s)
{
    char rows[32], cols[32];
    row_key(f->gain, shown[f->which].size[0], rows, sizeof rows);
    row_key(f->gain, shown[f->which].size[1], cols, sizeof cols);
    return section_text(s, "%sx%s%s", rows, cols, !strcmp(f->l2, "warm") ? " warm" : "");
}

static void put(const struct summary *summary, struct grid *grid, const struct fusion *f,
                struct section *s)
{
    const struct row *share = of_case(summary, f, "share_of_copy", f->impl, "");
    const struct number number[] = {
        number_of(f->apart),
        number_of(f->fused),
        number_of(f->gain),
        number_of(
            rows_beside(&summary->bundle->rows, f->gain, "derived.predicted_gain", NULL, NULL)),
        share ? number_of(share) : number_none(),
        peer_of(summary, f, "eager"),
        peer_of(summary, f, "compile"),
    };

    grid_text(grid, label_of(f, s));
    grid_text(grid, shape_of(f, s));
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        grid_number(grid, &number[i]);
}

static void tabulate(const struct summary *summary, const struct fusion *const *sorted, size_t n,
                     struct section *s)
{
    static const struct column columns[] = {
        {NULL, "operators", NULL, 'l'}, {NULL, "shape", NULL, 'l'},   {"apart", "us", "us", 'r'},
        {"fused", "us", "us", 'r'},     {NULL, "gain", "x", 'r'},     {NULL, "model", "x", 'r'},
        {"of a", "copy %", "%", 'r'},   {"PyTorch", "us", "us", 'r'}, {"comp.", "us", "us", 'r'},
    };
    struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);
    struct series *gains = section_series(s, "gain", "rank");
    struct series *model = section_series(s, "model", "rank");

    for (size_t i = 0; i < n; i++) {
        const struct number gain = number_of(sorted[i]->gain);
        const struct number predicted = number_of(rows_beside(
            &summary->bundle->rows, sorted[i]->gain, "derived.predicted_gain", NULL, NULL));
        if (i > 0 && gain.value < 1 && sorted[i - 1]->gain->centre >= 1)
            grid_split(grid, "below 1.00 fusing loses");
        put(summary, grid, sorted[i], s);
        series_put(gains, (double)i, &gain, label_of(sorted[i], s));
        if (number_there(&predicted))
            series_put(model, (double)i, &predicted, NULL);
    }
}

/* --- the finding and the notes ---------------------------------------------------------------- */

static bool loses(const struct fusion *f)
{
    return f->gain->centre < 1 - NOTHING;
}

/* "idle SMs, spills or held shared memory": why those that lose do; "" if none does. */
static const char *reasons(const struct fusion *const *sorted, size_t n, struct section *s)
{
    static const char *const words[] = {"idle SMs", "spills", "held shared memory"};
    bool is_there[3] = {false};
    const char *said = "";
    int left = 0;

    for (size_t i = 0; i < n; i++)
        if (loses(sorted[i])) {
            is_there[0] |= sorted[i]->cause == CAUSE_IDLE;
            is_there[1] |= sorted[i]->cause == CAUSE_SPILL;
            is_there[2] |= sorted[i]->which == PHASES;
        }
    for (int i = 0; i < 3; i++)
        left += is_there[i];
    for (int i = 0; i < 3; i++)
        if (is_there[i]) {
            left--;
            said = section_text(s, "%s%s%s", said, !*said ? "" : left ? ", " : " or ", words[i]);
        }
    return said;
}

static void find(const struct fusion *const *sorted, size_t n, struct section *s)
{
    const struct number most = number_of(sorted[0]->gain), least = number_of(sorted[n - 1]->gain);
    const char *best = section_say(s, &most, ""), *why = reasons(sorted, n, s);
    size_t n_lose = 0;

    for (size_t i = 0; i < n; i++) {
        n_lose += loses(sorted[i]);
        section_rests_on(s, sorted[i]->gain);
    }
    if (most.value < 1)
        s->finding = section_text(s,
                                  "No fusion shown gains: the best runs at %s of the speed "
                                  "apart, the worst at %s.",
                                  best, section_say(s, &least, ""));
    else if (n_lose == 0)
        s->finding =
            section_text(s, "Fusing gains up to %s times and loses in no case shown.", best);
    else if (*why)
        s->finding =
            section_text(s, "Fusing gains up to %s times; it loses most by %s.", best, why);
    else
        s->finding = section_text(s,
                                  "Fusing gains up to %s times and loses in %zu of %zu "
                                  "cases.",
                                  best, n_lose, n);
}

/* Where the compiler has an option that makes its kernel faster than what it chooses by itself, the
 * note says so: nobody shall take the column for the best that it can do. */
static void note_compiled(const struct summary *summary, const struct fusion *const *sorted,
                          size_t n, struct section *s)
{
    bool is_said = false;

    for (size_t i = 0; i < n; i++) {
        const struct number compiled = peer_of(summary, sorted[i], "compile");
        const struct number by_option = peer_of(summary, sorted[i], "multi_kernel");
        if (!number_there(&compiled))
            continue;
        if (!is_said)
            section_go_on(s, "comp.: torch.compile as it comes.");
        is_said = true;
        if (number_there(&by_option) && by_option.value < (1 - NOTHING) * compiled.value)
            section_go_on(s, "With triton.multi_kernel %s %s takes %s.",
                          shown[sorted[i]->which].peer, shape_of(sorted[i], s),
                          section_say(s, &by_option, NULL));
    }
}

static void note(const struct summary *summary, const struct fusion *const *sorted, size_t n,
                 struct section *s)
{
    struct fused_predictions told;

    note_compiled(summary, sorted, n, s);
    if (!fused_predictions(summary->bundle, &told))
        return;
    section_go_on(
        s,
        "apart: each operator a kernel. of a copy: the best of as many bytes. model: by "
        "counts, none fitted; right sign in %zu of %zu fusions, off by %.0f %% in the median (C80; "
        "below %.0f %%: no gain).",
        told.right, told.n, 100 * told.error, 100 * NOTHING);
}

void section_fusion(const struct summary *summary, struct section *s)
{
    struct fusion all[SHOWN];
    const struct fusion *sorted[SHOWN];
    size_t n = 0;

    s->name = "fusion";
    s->title = "FUSION";
    for (int which = 0; which < SHOWN; which++)
        if (take_fusion(summary, which, &all[n])) {
            sorted[n] = &all[n];
            n++;
        }
    if (n == 0) {
        section_missing(s, summary, fusion_needs[GELU]);
        return;
    }
    qsort(sorted, n, sizeof sorted[0], by_gain);
    find(sorted, n, s);
    tabulate(summary, sorted, n, s);
    note(summary, sorted, n, s);
    section_doubts(s);
    s->claims = "C33 C37 C38 C60 C61 C63 C80";
}
