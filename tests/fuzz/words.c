/* Command lines. The program itself says which commands it has and which options they take, so that
 * a new one is tried without being named here. How often, and with which inputs,
 * is a line below. */
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw.h"

/* What a mutant is given to. %o: some options of the command; the rest are words, m.json the mutant
 * and o.json what it was before. A command that is not here gets "NAME %o m.json". */
static const struct shape {
    const char *words;
    enum kind kind;
    int weight;
    bool spawns; /* it starts programs: slow */
} shapes[] = {
    {"report %o m.json", KIND_BUNDLE, 720, false},
    {"report %o a.json m.json", KIND_BUNDLE, 160, false},
    {"report %o m.json o.json", KIND_BUNDLE, 160, false},
    {"report --all m.json a.json b.json", KIND_BUNDLE, 40, false},
    {"report %o --results results m.json", KIND_BUNDLE, 80, false},
    {"report %o --history folder", KIND_BUNDLE, 80, false},
    {"report %o --fleet folder", KIND_BUNDLE, 40, false},
    {"check %o m.json", KIND_BUNDLE, 160, false},
    {"check a.json m.json", KIND_BUNDLE, 20, false},
    {"floor %o m.json", KIND_BUNDLE, 120, false},
    {"report %o folder", KIND_BUNDLE, 1, true},
    {"claims %o m.json", KIND_BUNDLE, 560, false},
    {"claims %o m.json a.json", KIND_BUNDLE, 80, false},
    {"claims %o folder", KIND_BUNDLE, 1, true},
    {"compare %o o.json m.json", KIND_BUNDLE, 320, false},
    {"compare %o --allow board --allow n_sm m.json o.json", KIND_BUNDLE, 160, false},
    {"compare %o a.json m.json", KIND_BUNDLE, 32, false},
    {"compare %o folder a.json", KIND_BUNDLE, 1, true},
    {"report k.json", KIND_COUNTERS, 160, false},
    {"report %o k.json", KIND_COUNTERS, 40, false},
    {"claims %o --counters k.json a.json", KIND_COUNTERS, 160, false},
    {"claims %o --counters c.json --counters k.json m.json", KIND_COUNTERS, 40, false},
    {"list %o", KIND_LIST, 1, true},
    {"run --quick -o new.json good", KIND_RUN, 1, true},
    {"run -r 2 -o new.json --raw", KIND_RUN, 1, true},
    {"run --continue part.json", KIND_PART, 1, true},
    {"run --continue part.json --shared", KIND_RAW, 1, true},
    {"counters --counters sm,loads -o new.json good", KIND_RUN, 1, true},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0], SHAPES_MAX = 64 };

/* What options take, by the name of the option, else by that of its argument. The first `right`
 * values are right ones. */
static const struct values {
    const char *name;
    int right;
    const char *values[18];
} values[] = {
    {"section", 16, {"vital", "verdict", "memory", "curve", "flight", "ladder", "small", "sizes",
                     "fusion", "attention", "weights", "sampling", "right", "claims", "layer",
                     "links", "", "Memory"}},
    {"metric", 6, {"*", "launch.*", "memory*", "derived.*", "*[lt]*", "gemv*", "[", ""}},
    {"id", 5, {"C41", "C4*", "*", "C1", "C50b", "[", "", "no"}},
    {"search", 3, {"latency", "the", "L2", "", "zzz"}},
    {"map", 2, {"m.map", "sm_to_sm.latency", "", "x.y{z=1}"}},
    {"history", 3, {"folder", "results", "results/nvidia-h200", "bad", "empty", "a.json", "no",
                    "nested"}},
    {"fleet", 2, {"folder", "results/nvidia-h200", "bad", "empty", "a.json", "no", "nested"}},
    {"model", 4, {"llama-1b", "llama-70b", "speech", "model.json", "a.json", "no", "", "folder"}},
    {"context", 2, {"1", "32768", "0", "-1", "16777217", "1.5", ""}},
    {"batch", 2, {"1", "64", "0", "1025", "x", ""}},
    {"results", 2, {"results", "folder", "empty", "no", "a.json", ""}},
    {"allow", 5, {"board", "n_sm", "ecc", "mig", "commit", "", "boards", "x"}},
    {"threshold", 4, {"1", "0", "2.5%", "1000", "-1", "1001", "nan", "inf", "1e999", "", "%",
                      "0x10"}},
    {"counters", 2, {"c.json", "k.json", "a.json", "no.json", "fifo.json", "sm", "sm,loads",
                     "sm,,", ""}},
    {"continue", 1, {"part.json", "a.json", "fifo.json", "broken.json", "folder", "no.json", ""}},
    {"with", 1, {"peer.sh", "a.json", "no", "folder", ""}},
    {"case", 2, {"*", "level=*", "[", ""}},
    {"set", 2, {"form=1", "a=b", "a", "=", ""}},
    {"each", 2, {"0", "0,1", "0,0", "", ",", "256", "-1",
                 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"}},
    {"rounds", 2, {"1", "2", "0", "33", "-1", "1.5", ""}},
    {"timeout", 2, {"30", "86400", "0", "86401", ""}},
    {"N", 3, {"0", "1", "2", "-1", "256", "99999999999999999999", "", "1x", " 1", "0x1", "+1"}},
    {"FILE", 2, {"new.json", "new.html", "a.json", "folder", "no/such.json", "broken.json", "",
                 "/dev/full", "/dev/null"}},
    {"DIR", 2, {"new", "folder", "a.json", "no/such", "", "broken.json"}},
};

/* What stands where a bundle is expected. */
static const char *const inputs[] = {
    "a.json", "b.json", "m.json", "o.json", "c.json", "k.json", "part.json", "folder", "folder/",
    "bad", "empty", "nested", "results", "results/nvidia-h200", "folder.json", "fifo.json",
    "broken.json", "loop.json", "null.json", "memory.json", "unreadable.json", "empty.json",
    "not.json", "cut.json", "newer.json", "bytes\xff\xc3.json", "no.json", "a.json/b", "", "-", ".",
    "..", "/", "/dev/full", "/dev/zero",
};

static size_t below(uint64_t *state, size_t n)
{
    return n ? (size_t)draw_below(state, n) : 0;
}

/* --- words of an attempt ---------------------------------------------------------------------- */

static void add_bytes(struct attempt *a, const char *bytes, size_t size)
{
    if (a->n_words == WORDS_MAX || a->n_text + size + 1 > TEXT_MAX)
        return;
    char *word = a->text + a->n_text;
    memcpy(word, bytes, size);
    word[size] = '\0';
    a->n_text += size + 1;
    a->words[a->n_words++] = word;
    a->words[a->n_words] = NULL;
}

static void add(struct attempt *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct attempt *a, const char *format, ...)
{
    char word[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(word, sizeof word, format, arguments);
    va_end(arguments);
    add_bytes(a, word, strlen(word));
}

static void begin(struct attempt *a, const char *command)
{
    a->n_words = a->n_text = 0;
    a->writes = a->spawns = false;
    add(a, "gpufloor");
    if (command)
        add(a, "%s", command);
}

/* Text that no option expects: control characters, broken UTF-8, very long. No slash: it may become
 * the name of a file, which must be one of the folder. */
static void add_hostile(struct attempt *a, uint64_t *state)
{
    static const char *const texts[] = {
        "\033[31mred\033[0m", "a\nb", "\r\n", "\t", "\x7f", "\xc2\x9b", "\xff", "\xe2\x80\xae",
        "%s%s%n", "$(x)", "'", "\"", " ", "--", "-", "---", "=", "--=", "-\xff", "*"};
    static char text[100000];
    size_t length = below(state, 4) ? 1 + below(state, 40) : below(state, sizeof text);

    if (below(state, 2)) {
        add(a, "%s", texts[below(state, sizeof texts / sizeof texts[0])]);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)(1 + below(state, 255));
        text[i] = text[i] == '/' ? '_' : text[i];
    }
    add_bytes(a, text, length);
}

/* --- options ---------------------------------------------------------------------------------- */

static size_t count_options(const struct command *command)
{
    size_t n = 0;
    while (command->options && (command->options[n].name || command->options[n].key))
        n++;
    return n;
}

static const struct values *values_of(const struct argp_option *option)
{
    for (int by = 0; by < 2; by++)
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
            if (by ? !strncmp(option->arg, values[i].name, strlen(values[i].name))
                   : option->name && !strcmp(option->name, values[i].name))
                return &values[i];
    return NULL;
}

/* One of "text|md|json", or of the table; a wrong one now and then, where that is wanted. */
static void value_text(char *text, size_t size, const struct argp_option *option, bool wrong,
                       uint64_t *state)
{
    const struct values *of = values_of(option);
    size_t n = 0, at;

    if (strchr(option->arg, '|')) {
        const char *one = option->arg;
        for (at = below(state, 4); at > 0 && strchr(one, '|'); at--)
            one = strchr(one, '|') + 1;
        snprintf(text, size, "%.*s", (int)strcspn(one, "|"), one);
    } else if (of) {
        while (n < sizeof of->values / sizeof of->values[0] && of->values[n])
            n++;
        snprintf(text, size, "%s", of->values[below(state, wrong ? n : (size_t)of->right)]);
    } else {
        snprintf(text, size, "%s", below(state, 2) ? "1" : "a");
    }
}

/* Does it name what is written? That may be an input of the next attempt. */
static bool writes(const struct argp_option *option)
{
    static const char *const read_only[] = {"history", "results", "counters", "with"};
    for (size_t i = 0; i < sizeof read_only / sizeof read_only[0]; i++)
        if (option->name && !strcmp(option->name, read_only[i]))
            return false;
    return option->arg && (!strncmp(option->arg, "FILE", 4) || !strncmp(option->arg, "DIR", 3));
}

static void add_option(struct attempt *a, const struct argp_option *option, bool wrong,
                       uint64_t *state)
{
    char value[512] = "";
    size_t shown = option->name ? strlen(option->name) : 0;

    if (option->arg)
        value_text(value, sizeof value, option, wrong, state);
    a->writes |= writes(option);
    if (wrong && below(state, 4) == 0) /* an abbreviation, that may be of several */
        shown = 1 + below(state, shown);
    if (!option->name || (option->key > ' ' && option->key < 127 && below(state, 2)))
        add(a, "-%c%s", option->key, below(state, 2) ? value : "");
    else if (!option->arg || (wrong && below(state, 8) == 0)) /* lacks its argument */
        add(a, "--%.*s%s", (int)shown, option->name, wrong && below(state, 16) == 0 ? "=x" : "");
    else if (below(state, 2))
        add(a, "--%.*s=%s", (int)shown, option->name, value);
    else {
        add(a, "--%.*s", (int)shown, option->name);
        add(a, "%s", value);
    }
}

static void add_options(struct attempt *a, const struct command *command, size_t n, bool wrong,
                        uint64_t *state)
{
    const size_t of = count_options(command);
    for (; of > 0 && n > 0; n--)
        add_option(a, &command->options[below(state, of)], wrong, state);
}

/* --- attempts --------------------------------------------------------------------------------- */

static const struct command *command_of(const char *words)
{
    const size_t length = strcspn(words, " ");
    for (size_t i = 0; i < fuzz->n_commands; i++)
        if (strlen(fuzz->commands[i].name) == length &&
            !strncmp(words, fuzz->commands[i].name, length))
            return &fuzz->commands[i];
    return NULL;
}

static void add_shape(struct attempt *a, const char *words, uint64_t *state)
{
    const struct command *command = command_of(words);
    begin(a, NULL);
    while (*words) {
        const size_t length = strcspn(words, " ");
        if (!strncmp(words, "%o", 2) && command)
            add_options(a, command, below(state, 2) * (1 + below(state, 2)), false, state);
        else
            add_bytes(a, words, length);
        words += length + (words[length] == ' ');
    }
}

/* Those of the table, and one for each command that it does not name. */
static size_t all_shapes(struct shape *all, char names[][48])
{
    size_t n = N_SHAPES;
    memcpy(all, shapes, sizeof shapes);
    for (size_t i = 0; i < fuzz->n_commands && n < SHAPES_MAX; i++) {
        bool named = false;
        for (size_t k = 0; k < N_SHAPES; k++)
            named |= command_of(shapes[k].words) == &fuzz->commands[i];
        if (named)
            continue;
        snprintf(names[i], 48, "%s %%o m.json", fuzz->commands[i].name);
        all[n++] = (struct shape){names[i], KIND_BUNDLE, 60, false};
    }
    return n;
}

void words_mutant(struct attempt *a, uint64_t *state)
{
    static char names[COMMANDS_MAX][48];
    struct shape all[SHAPES_MAX];
    const size_t n = all_shapes(all, names);
    size_t whole = 0, i = 0;

    for (size_t k = 0; k < n; k++)
        whole += (size_t)all[k].weight;
    for (size_t at = below(state, whole); at >= (size_t)all[i].weight; i++)
        at -= (size_t)all[i].weight;
    add_shape(a, all[i].words, state);
    a->kind = all[i].kind;
    a->spawns = all[i].spawns;
    a->writes |= a->spawns;
}

/* Each starts every stand-in. */
static bool is_slow(const struct command *command)
{
    static const char *const slow[] = {"run", "list", "counters"};
    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++)
        if (!strcmp(command->name, slow[i]))
            return true;
    return false;
}

/* The first lines are each command with each input, alone and before a bundle. False: all were. */
static bool add_pair(struct attempt *a, size_t number)
{
    const size_t n_inputs = sizeof inputs / sizeof inputs[0];
    const struct command *command = &fuzz->commands[number % fuzz->n_commands];
    const size_t at = number / fuzz->n_commands;

    if (at >= 2 * n_inputs)
        return false;
    begin(a, command->name);
    a->spawns = is_slow(command);
    add(a, "%s", inputs[at % n_inputs]);
    if (at >= n_inputs)
        add(a, "a.json");
    return true;
}

void words_line(struct attempt *a, uint64_t *state)
{
    if (add_pair(a, fuzz->n_lines))
        return;
    const struct command *command = &fuzz->commands[below(state, fuzz->n_commands)];
    if (is_slow(command) && below(state, 4))
        command = &fuzz->commands[below(state, fuzz->n_commands)];
    begin(a, below(state, 40) ? command->name : NULL);
    a->spawns = is_slow(command);
    for (size_t n = below(state, 8); n > 0; n--)
        switch (below(state, 12)) {
        case 0: add_hostile(a, state); break;
        case 1: add(a, "%s", below(state, 2) ? "--no-such" : "-Z"); break;
        case 2: case 3: case 4: case 5:
            add(a, "%s", inputs[below(state, sizeof inputs / sizeof inputs[0])]);
            break;
        case 6: add_options(a, command, 2, false, state); break;
        case 7: /* the same once more */
            if (a->n_words > 2)
                add(a, "%.500s", a->words[2 + below(state, a->n_words - 2)]);
            break;
        default: add_options(a, command, 1, below(state, 3) == 0, state);
        }
    if (below(state, 64) == 0)
        add(a, "%s", below(state, 2) ? "--help" : "--usage");
    if (!strcmp(command->name, "run") && below(state, 8))
        add(a, "--quick");
}
