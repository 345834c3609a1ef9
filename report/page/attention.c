/* Attention: a prompt, fused and apart; one query over a cache of keys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/sections.h"
#include "report/page/take.h"

enum { FUSED, APART, RATE, MEMORY, DECODE, TOKEN, READ, PEERS, GAIN };
const char *const attention_needs[] = {
    [FUSED] = "attention_prefill.time{*mask=causal,*impl=fused,mode=graph,l2=cold,*}",
    [APART] = "attention_prefill.time{*mask=causal,*impl=unfused,mode=graph,l2=cold,*}",
    [RATE] = "attention_prefill.rate{*mask=causal,*impl=fused,mode=graph,l2=cold}",
    [MEMORY] = "attention_prefill.memory{*mask=causal,*impl=%s,mode=graph,l2=cold}",
    [DECODE] = "attention_decode.time{batch=1,*d=128,*impl=attention,mode=graph,l2=cold,*}",
    [TOKEN] = "attention_decode.share_of_token{shape=8b,context=%s}",
    [READ] = "attention_decode.share_of_read{batch=1,*d=128,*impl=attention,mode=graph,l2=cold}",
    [PEERS] = "fused_peers.time{op=%s,*cols=%s,type=%s,impl=%s,*}",
    [GAIN] = TAKE_GAIN,
    NULL,
};

enum { PROMPTS_MAX = 5, CONTEXTS_MAX = 8 };

static int by_context(const void *a, const void *b)
{
    const double x = take_key(*(const struct row *const *)a, "context");
    const double y = take_key(*(const struct row *const *)b, "context");
    return (x > y) - (x < y);
}

/* The rows of a need that fit into `out`, by context; is_kept chooses. */
static size_t by_length(const struct summary *summary, int need,
                        bool (*is_kept)(const struct summary *, const struct row *),
                        const struct row **out, size_t most)
{
    const struct row *row;
    size_t n = 0;

    for (size_t next = 0; n < most && (row = take_next(summary, attention_needs[need], &next));)
        if (is_kept(summary, row))
            out[n++] = row;
    qsort(out, n, sizeof *out, by_context);
    return n;
}

static struct number peer_of(const struct summary *summary, const struct row *row, const char *op,
                             const char *impl)
{
    char context[32], type[16];
    row_key(row, "context", context, sizeof context);
    row_key(row, "type", type, sizeof type);
    return take_number(summary, attention_needs[PEERS], op, context, type, impl);
}

/* --- a prompt --------------------------------------------------------------------------------- */

static bool has_both(const struct summary *summary, const struct row *fused)
{
    const struct number apart = take_apart(summary, fused);
    return number_there(&apart);
}

/* GPU memory with the operands, fused over apart. */
static struct number memory_of(const struct summary *summary, const struct row *fused)
{
    const struct number one = take_beside(summary, fused, "memory");
    const struct number all = take_apart_beside(summary, fused, "memory");
    return number_ratio(&one, &all);
}

static void tabulate_prompts(const struct summary *summary, const struct row *const *fused,
                             size_t n, struct section *s)
{
    static const struct column columns[] = {
        {NULL, "prompt, causal", NULL, 'l'}, {"apart", "us", "us", 'r'},
        {"fused", "us", "us", 'r'},          {NULL, "gain", "x", 'r'},
        {NULL, "TFLOP/s", "TFLOP/s", 'r'},   {"memory", "of apart", "x", 'r'},
        {"flash", "us", "us", 'r'},          {"cuDNN", "us", "us", 'r'},
    };
    struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);
    struct series *gains = section_series(s, "gain of a prompt", "tokens");

    for (size_t i = 0; i < n; i++) {
        char context[32], type[16];
        const struct number gain = take_gain(summary, fused[i]);
        const struct number number[] = {
            take_apart(summary, fused[i]),
            number_of(fused[i]),
            gain,
            take_beside(summary, fused[i], "rate"),
            memory_of(summary, fused[i]),
            peer_of(summary, fused[i], "attention_prefill", "flash"),
            peer_of(summary, fused[i], "attention_prefill", "cudnn"),
        };
        row_key(fused[i], "context", context, sizeof context);
        row_key(fused[i], "type", type, sizeof type);
        grid_text(grid, section_text(s, "%s tokens %s", context, type));
        for (size_t k = 0; k < sizeof number / sizeof number[0]; k++)
            grid_number(grid, &number[k]);
        series_put(gains, take_key(fused[i], "context"), &gain, NULL);
    }
}

/* --- decode ----------------------------------------------------------------------------------- */

static bool is_bf16(const struct summary *summary, const struct row *row)
{
    (void)summary;
    return take_has(row, "type", "bf16");
}

static struct number share_of_read(const struct summary *summary, const struct row *time)
{
    return take_beside(summary, time, "share_of_read");
}

static struct number share_of_token(const struct summary *summary, const struct row *time)
{
    char context[32];
    row_key(time, "context", context, sizeof context);
    return take_number(summary, attention_needs[TOKEN], context);
}

/* What a read of the cache takes: its rate as it was measured beside the longest context. */
static void draw_read(const struct summary *summary, const struct row *const *time, size_t n,
                      struct series *series)
{
    struct number whole = number_none(), share = number_none();
    double keys = NAN;

    for (size_t i = 0; i < n; i++) {
        const struct number of_read = share_of_read(summary, time[i]);
        if (!number_there(&of_read))
            continue;
        whole = number_of(time[i]);
        share = of_read;
        keys = take_key(time[i], "context");
    }
    for (size_t i = 0; i < n; i++) {
        const double part = take_key(time[i], "context") / keys;
        const struct number read = number_formed(part * share.value * whole.value, "ns", &share);
        if (number_there(&read))
            series_put(series, take_key(time[i], "context"), &read, NULL);
    }
}

static void tabulate_decode(const struct summary *summary, const struct row *const *time, size_t n,
                            struct section *s)
{
    static const struct column columns[] = {
        {NULL, "decode, one query", NULL, 'l'},
        {"bf16", "us", "us", 'r'},
        {"of a read", "%", "%", 'r'},
        {"fp8", "us", "us", 'r'},
        {"int8", "us", "us", 'r'},
        {"of a token", "%", "%", 'r'},
        {"flash", "us", "us", 'r'},
        {"cuDNN", "us", "us", 'r'},
    };
    struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);
    static const char *const names[] = {"one query, bf16", NULL, "one query, fp8",
                                        "one query, int8", NULL, "FlashAttention", "cuDNN"};
    struct series *times[sizeof names / sizeof names[0]] = {NULL};

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        times[k] = names[k] ? section_series(s, names[k], "keys") : NULL;

    for (size_t i = 0; i < n; i++) {
        const struct number bf16 = number_of(time[i]);
        const struct number number[] = {
            bf16,
            share_of_read(summary, time[i]),
            take_other(summary, time[i], "type", "e4m3"),
            take_other(summary, time[i], "type", "int8"),
            share_of_token(summary, time[i]),
            peer_of(summary, time[i], "attention_decode", "flash"),
            peer_of(summary, time[i], "attention_decode", "cudnn"),
        };
        grid_text(grid, section_text(s, "%.0f keys", take_key(time[i], "context")));
        for (size_t k = 0; k < sizeof number / sizeof number[0]; k++) {
            grid_number(grid, &number[k]);
            if (times[k] && number_there(&number[k]))
                series_put(times[k], take_key(time[i], "context"), &number[k], NULL);
        }
    }
    draw_read(summary, time, n, section_series(s, "a read of the cache", "keys"));
}

/* --- the finding and the notes ---------------------------------------------------------------- */

/* "3.23 to 4.65", of a number for each row, on all of which it rests; "" if there is none. */
static const char *say_range(const struct summary *summary, const struct row *const *row, size_t n,
                             struct number (*of)(const struct summary *, const struct row *),
                             const char *shown, struct section *s)
{
    struct number least = number_none(), most = number_none();

    for (size_t i = 0; i < n; i++) {
        const struct number number = of(summary, row[i]);
        if (!number_there(&number))
            continue;
        section_rests(s, &number);
        if (!number_there(&least) || number.value < least.value)
            least = number;
        if (!number_there(&most) || number.value > most.value)
            most = number;
    }
    if (!number_there(&least))
        return "";
    if (least.value == most.value)
        return section_say(s, &most, shown);
    char text[32];
    return section_text(s, "%s to %s", number_cell(text, sizeof text, &least, shown),
                        section_say(s, &most, shown));
}

static void find(const struct summary *summary, const struct row *const *fused, size_t n_fused,
                 const struct row *const *time, size_t n_time, struct section *s)
{
    const char *prompt = say_range(summary, fused, n_fused, take_gain, "", s);
    const char *decode = say_range(summary, time, n_time, share_of_read, "%", s);
    const char *said = "";

    if (*prompt)
        said = section_text(s, "A fused prompt is %s times as fast", prompt);
    if (*decode)
        said = section_text(s, "%s%s at %s of a read", said,
                            *prompt ? "; decode runs" : "Decode runs", decode);
    if (*said)
        s->finding = section_text(s, "%s.", said);
}

static void note(const struct row *const *time, size_t n, struct section *s)
{
    char heads[16], kv_heads[16], depth[16];

    if (n > 0 && row_key(time[0], "heads", heads, sizeof heads) &&
        row_key(time[0], "kv_heads", kv_heads, sizeof kv_heads) &&
        row_key(time[0], "d", depth, sizeof depth))
        section_note(s,
                     "Decode: %s heads over %s, %s wide, cold. Of a read: of its cache, where "
                     "timed. Of a token: attention's share of an 8B step, the rest at the memory's "
                     "rate. flash, cuDNN: PyTorch's, flash by FlashAttention-2.",
                     heads, kv_heads, depth);
}

/* Of prompts in bf16, which one is not. */
static void note_types(const struct row *const *fused, size_t n, struct section *s)
{
    size_t n_bf16 = 0;
    char type[16];

    for (size_t i = 0; i < n; i++)
        n_bf16 += take_has(fused[i], "type", "bf16");
    for (size_t i = 0; i < n && n_bf16 > 1; i++)
        if (row_key(fused[i], "type", type, sizeof type) && strcmp(type, "bf16") != 0)
            section_go_on(s, "%.0f tokens: %s.", take_key(fused[i], "context"), type);
}

void section_attention(const struct summary *summary, struct section *s)
{
    const struct row *fused[PROMPTS_MAX], *time[CONTEXTS_MAX];
    const size_t n_fused = by_length(summary, FUSED, has_both, fused, PROMPTS_MAX);
    const size_t n_time = by_length(summary, DECODE, is_bf16, time, CONTEXTS_MAX);

    s->name = "attention";
    s->title = "ATTENTION";
    if (n_fused == 0 && n_time == 0) {
        section_missing(s, summary, attention_needs[FUSED]);
        return;
    }
    find(summary, fused, n_fused, time, n_time, s);
    if (n_fused > 0)
        tabulate_prompts(summary, fused, n_fused, s);
    if (n_time > 0)
        tabulate_decode(summary, time, n_time, s);
    note(time, n_time, s);
    note_types(fused, n_fused, s);
    section_doubts(s);
    s->claims = "C43 C44 C55 C67";
}
