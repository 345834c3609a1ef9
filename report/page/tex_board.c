/* Conditions and named numbers as LaTeX. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/page/tex.h"

char *tex_board_name(const struct summary *summary, char *text, size_t size)
{
    size_t n = 0;

    for (const char *at = summary->bundle->board ? summary->bundle->board : "host";
         *at && n + 3 < size; at++)
        text[n++] = (unsigned char)*at > 127 || !isalnum((unsigned char)*at) ? '-' : *at;
    if (summary->letter) {
        text[n++] = '-';
        text[n++] = summary->letter;
    }
    text[n] = '\0';
    return text;
}

/* --- conditions ------------------------------------------------------------------------------- */

/* "WORDS FACT", if the bundle has it. */
static void put_fact(FILE *out, const struct summary *summary, const char *words, const char *part,
                     const char *key)
{
    char fact[200];

    if (!*bundle_fact(summary->bundle, part, key, fact, sizeof fact, ""))
        return;
    fputs(words, out);
    tex_put(out, fact);
}

static void put_number(FILE *out, const char *words, double value, const char *unit,
                       const char *shown, const char *after)
{
    const struct number number = number_fact(value, unit);
    char text[64];

    if (!number_there(&number))
        return;
    fputs(words, out);
    tex_put(out, number_say(text, sizeof text, &number, shown));
    fputs(after, out);
}

static void put_gpu(FILE *out, const struct summary *summary)
{
    char cards[BUNDLE_CARDS];

    put_fact(out, summary, bundle_gpus(summary->bundle) > 1 ? "Measured on " : "Measured on an ",
             "gpu", "name");
    put_fact(out, summary, " (compute capability ", "gpu", "cc");
    put_number(out, ", ", summary_sms(summary), "count", "", " SMs");
    put_number(out, " at ", summary_clock_mhz(summary) * 1e6, "hertz", "MHz", "");
    put_number(out, ", L2 of ", summary_fact(summary, "l2_bytes"), "bytes", NULL, "");
    fprintf(out, ", %s", summary_memory_name(summary));
    put_number(out, " of ", summary_fact(summary, "memory_bytes"), "bytes", NULL, "");
    put_number(out, ", ", summary_pins(summary), "bytes/s", NULL, " at its pins");
    put_number(out, ", power limit ", summary_fact(summary, "power_limit_w"), "watts", "", "~W");
    if (*bundle_cards(summary->bundle->head, CARD_WHOLE, cards)) {
        fputs(strchr(cards, '+') ? ", cards " : ", card ", out);
        tex_put(out, cards);
    }
    fputs(")", out);
    put_fact(out, summary, " with driver ", "driver", "version");
    put_fact(out, summary, " and CUDA ", "runtime", "cuda");
    put_fact(out, summary, "; host: ", "host", "cpu");
}

static void put_suite(FILE *out, const struct summary *summary)
{
    const struct bundle *bundle = summary->bundle;
    const json_t *suite = json_object_get(bundle->head, "suite");
    char text[24], others[BUNDLE_LINE];

    snprintf(text, sizeof text, "%.10s", document_get_text(bundle->head, "started", "undated"));
    fputs(". Date ", out);
    tex_put(out, text);
    fprintf(out, ", %d round%s; each number is the median of its rounds. gpufloor ",
            bundle->n_rounds, bundle->n_rounds == 1 ? "" : "s");
    tex_put(out, document_get_text(suite, "version", "of no version"));
    fputs(", commit ", out);
    snprintf(text, sizeof text, "%.12s", document_get_text(suite, "commit", "unknown"));
    tex_put(out, text); /* gpufloor.bib has all of it */
    if (json_is_true(json_object_get(suite, "dirty")))
        fputs(" with changes", out);
    put_fact(out, summary, ", built with ", "suite", "build");
    fputs(".", out);
    if (json_is_false(json_object_get(bundle->head, "complete")))
        fputs(" The run is not complete.", out);
    if (*bundle_others(bundle, others, sizeof others))
        fputs(" Some programs were measured by other commits or on other cards; each table says by "
              "which.",
              out);
    fputc('\n', out);
}

void emit_tex_board(FILE *out, const struct summary *summary)
{
    char name[160];

    fputs("% Conditions, for the text. Written by gpufloor report --tex.\n", out);
    if (*bundle_fact(summary->bundle, "gpu", "name", name, sizeof name, "")) {
        put_gpu(out, summary);
    } else {
        fputs("Measured without a GPU", out);
        put_fact(out, summary, " on ", "host", "cpu");
    }
    put_fact(out, summary, ", ", "host", "kernel");
    put_suite(out, summary);
}

/* --- macros ----------------------------------------------------------------------------------- */

static const char definitions[] =
    "% \\gpufloor{NAME}          the number with its unit: 4.63~TB/s\n"
    "% \\gpufloorinterval{NAME}  its interval of 95 % or more, from least to greatest\n"
    "% \\gpufloorid{NAME}        the metric that it is\n"
    "% Another board's in the same paper: \\gpufloorof{BOARD}{NAME}, and \\gpufloorboard chooses "
    "the\n"
    "% board of \\gpufloor: that of the macros.tex which came last. NAME: as below. Each is "
    "expandable.\n"
    "% Written by gpufloor report --tex. LaTeX needs no package for it.\n"
    "\\makeatletter\n"
    "\\providecommand*\\gpufloor@take[2]{\\ifcsname gpufloor@#1@#2\\endcsname"
    "\\csname gpufloor@#1@#2\\endcsname\\else\\gpufloor@none{#1}{#2}\\fi}\n"
    "\\providecommand*\\gpufloor@none[2]{\\@latex@error{gpufloor: no number '#2' of board '#1'}"
    "{macros.tex lists the names.}}\n"
    "\\providecommand*\\gpufloor@missing[3]{\\@latex@error{gpufloor: '#2' of board '#1' is not "
    "measured: "
    "#3}{}}\n"
    "\\providecommand*\\gpufloorof[2]{\\gpufloor@take{#1}{#2}}\n"
    "\\providecommand*\\gpufloor[1]{\\gpufloor@take{\\gpufloorboard}{#1}}\n"
    "\\providecommand*\\gpufloorinterval[1]{\\gpufloor@take{\\gpufloorboard}{#1@interval}}\n"
    "\\providecommand*\\gpufloorid[1]{\\gpufloor@take{\\gpufloorboard}{#1@id}}\n";

static void put_define(FILE *out, const char *board, const char *name, const char *what)
{
    fprintf(out, "\\expandafter\\def\\csname gpufloor@%s@%s%s\\endcsname{", board, name, what);
}

/* "4.62--4.64~TB/s": both in the unit of the number. */
static void put_interval(FILE *out, const struct number *number, const char *shown)
{
    struct number low = *number, high = *number;
    char text[64];

    low.value = number->low;
    high.value = number->high;
    tex_put(out, number_cell(text, sizeof text, &low, shown));
    fputs("--", out);
    tex_put(out, number_say(text, sizeof text, &high, shown));
}

static void put_macro(FILE *out, const struct summary *summary, const struct summary_entry *entry,
                      const char *board)
{
    const struct number number = summary_number(summary, entry->name);
    char text[200];

    put_define(out, board, entry->name, "");
    if (!number_there(&number)) {
        fprintf(out, "\\gpufloor@missing{%s}{%s}{", board, entry->name);
        tex_put(out, summary_why(summary, entry->glob, text, sizeof text));
        fputs("}}\n", out);
        return;
    }
    const char *shown = *entry->shown ? entry->shown : number.unit;
    tex_put(out, number_say(text, sizeof text, &number, shown));
    fputs("}\n", out);
    if (isfinite(number.low) && isfinite(number.high)) {
        put_define(out, board, entry->name, "@interval");
        put_interval(out, &number, shown);
        fputs("}\n", out);
    }
    put_define(out, board, entry->name, "@id");
    tex_put(out, number.id);
    fputs("}\n", out);
}

void emit_tex_macros(FILE *out, const struct summary *summary)
{
    const struct summary_entry *entry;
    char board[80];

    tex_board_name(summary, board, sizeof board);
    fputs(definitions, out);
    fprintf(out, "\\def\\gpufloorboard{%s}\n", board);
    for (size_t i = 0; (entry = summary_at(i)); i++)
        put_macro(out, summary, entry, board);
    fputs("\\makeatother\n", out);
}
