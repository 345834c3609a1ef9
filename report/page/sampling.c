/* Sampling a token from its logits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/sections.h"
#include "report/page/take.h"

enum { FUSED, APART, KERNELS, GAIN, PEERS };
const char *const sampling_needs[] = {
    [FUSED] = "sampling.time{vocabulary=%s,batch=%s,k=%s,p=%s,*impl=fused,mode=graph,l2=warm,*}",
    [APART] = "sampling.time{*,impl=unfused,mode=graph,l2=warm,*}", /* these beside FUSED */
    [KERNELS] = "sampling.kernels{*,impl=%s,mode=graph,l2=warm}",
    [GAIN] = TAKE_GAIN,
    [PEERS] = "fused_peers.time{op=sampling,rows=%s,cols=%s,type=fp32,impl=%s,l2=%s,*}",
    NULL,
};

enum { CASES_MAX = 12 };

/* "top-k 50, top-p 0.9"; k is 0 where only top-p cuts. */
static const char *cut_of(const struct row *fused, struct section *s)
{
    char p[16] = "", k[16] = "";
    row_key(fused, "k", k, sizeof k);
    row_key(fused, "p", p, sizeof p);
    return take_key(fused, "k") > 0 ? section_text(s, "top-k %s, top-p %s", k, p)
                                    : section_text(s, "top-p %s alone", p);
}

static const char *tokens_of(const struct row *fused, struct section *s)
{
    const double batch = take_key(fused, "batch");
    return batch == 1 ? "a token" : section_text(s, "%.0f tokens", batch);
}

/* The case of one token that has both forms, else any of one token, else the first. */
static const struct row *told(const struct summary *summary, const struct row *const *fused,
                              size_t n)
{
    const struct row *one = NULL;

    for (size_t i = n; i-- > 0;) {
        const struct number apart = take_apart(summary, fused[i]);
        if (take_key(fused[i], "batch") != 1)
            continue;
        if (!one || number_there(&apart))
            one = fused[i];
    }
    return one ? one : fused[0];
}

static void find(const struct summary *summary, const struct row *fused, struct section *s)
{
    const struct number one = number_of(fused), apart = take_apart(summary, fused);
    const struct number kernels = take_apart_beside(summary, fused, "kernels");
    const char *tokens = tokens_of(fused, s);

    section_rests(s, &one);
    if (number_there(&apart) && number_there(&kernels)) {
        section_rests(s, &apart);
        section_rests(s, &kernels);
    }
    s->finding = section_text(
        s, "%c%s of %.0f logits, %s: %s in one kernel", *tokens == 'a' ? 'A' : *tokens, tokens + 1,
        take_key(fused, "vocabulary"), cut_of(fused, s), section_say(s, &one, NULL));
    if (number_there(&apart) && number_there(&kernels))
        s->finding = section_text(s, "%s, %s in %.0f", s->finding, section_say(s, &apart, NULL),
                                  kernels.value);
    s->finding = section_text(s, "%s.", s->finding);
}

/* PyTorch's, which has one cut only; where no warm time was measured, the cold one. */
static struct number peer_of(const struct summary *summary, const struct row *fused,
                             const char *impl)
{
    char batch[16], vocabulary[16];

    if (!take_has(fused, "k", "50") || !take_has(fused, "p", "0.9") ||
        !row_key(fused, "batch", batch, sizeof batch) ||
        !row_key(fused, "vocabulary", vocabulary, sizeof vocabulary))
        return number_none();
    const struct number warm =
        take_number(summary, sampling_needs[PEERS], batch, vocabulary, impl, "warm");
    return number_there(&warm)
               ? warm
               : take_number(summary, sampling_needs[PEERS], batch, vocabulary, impl, "cold");
}

static void tabulate(const struct summary *summary, const struct row *const *fused, size_t n,
                     struct section *s)
{
    static const struct column columns[] = {
        {NULL, "warm", NULL, 'l'},
        {NULL, "cut", NULL, 'l'},
        {NULL, "kernels", "", 'r'},
        {NULL, "apart, us", "us", 'r'},
        {NULL, "fused, us", "us", 'r'},
        {NULL, "gain", "x", 'r'},
        {NULL, "PyTorch, us", "us", 'r'},
        {NULL, "comp., us", "us", 'r'},
    };
    struct grid *grid = section_grid(s, columns, sizeof columns / sizeof columns[0]);

    for (size_t i = 0; i < n; i++) {
        const struct number number[] = {
            take_apart_beside(summary, fused[i], "kernels"),
            take_apart(summary, fused[i]),
            number_of(fused[i]),
            take_gain(summary, fused[i]),
            peer_of(summary, fused[i], "eager"),
            peer_of(summary, fused[i], "compile"),
        };
        grid_text(grid, tokens_of(fused[i], s));
        grid_text(grid, cut_of(fused[i], s));
        for (size_t k = 0; k < sizeof number / sizeof number[0]; k++)
            grid_number(grid, &number[k]);
    }
}

/* Which of PyTorch's times are cold, and why. */
static void note_size(const struct summary *summary, const struct row *const *fused, size_t n,
                      struct section *s)
{
    const double l2 = summary_fact(summary, "l2_bytes");

    for (size_t i = 0; i < n; i++) {
        const double bytes =
            take_key(fused[i], "batch") * take_key(fused[i], "vocabulary") * sizeof(float);
        const struct number peer = peer_of(summary, fused[i], "compile");
        if (number_there(&peer) && strstr(peer.id, ",l2=cold,"))
            section_note(s, "%s: %.0f MB of logits%s; PyTorch's times are behind an empty L2.",
                         tokens_of(fused[i], s), bytes / 1e6,
                         bytes > l2 ? ", more than the L2 holds" : "");
    }
}

void section_sampling(const struct summary *summary, struct section *s)
{
    const struct row *fused[CASES_MAX], *row;
    size_t n = 0;

    s->name = "sampling";
    s->title = "SAMPLING";
    for (size_t next = 0;
         n < CASES_MAX && (row = take_next(summary, sampling_needs[FUSED], &next));)
        fused[n++] = row;
    if (n == 0) {
        section_missing(s, summary, sampling_needs[FUSED]);
        return;
    }
    find(summary, told(summary, fused, n), s);
    tabulate(summary, fused, n, s);
    note_size(summary, fused, n, s);
    section_doubts(s);
    s->claims = "C66";
}
