#define _POSIX_C_SOURCE 200809L
#include "contract.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Words -------------------------------------------------------------------------------- */

/* Classes that are a sum of mnemonics; every other class is one mnemonic. */
static const struct {
    const char *name, *members[5];
} sums[] = {
    {"loads", {"LDG", "LDS", "LD", "LDSM"}},
    {"stores", {"STG", "STS", "ST", "STSM"}},
    {"atom", {"ATOM", "ATOMG", "ATOMS"}},
    {"reds", {"RED", "REDG"}},
};

/* ldg128 is LDG with 128 bits; ldg128na is ldg128.na. */
static bool parse_width(struct word *w)
{
    static const char *const names[] = {"LDG", "STG", "LDS", "STS", "LD", "ST"};
    size_t n = strcspn(w->mnemonic, "0123456789");
    char *end;

    w->width = (unsigned)strtoul(w->mnemonic + n, &end, 10);
    if (!strcmp(end, "NA") && w->modifier_count < MAX_MODIFIERS)
        strcpy(w->modifiers[w->modifier_count++], "na");
    else if (*end)
        return false;
    w->mnemonic[n] = 0;
    if (w->width != 32 && w->width != 64 && w->width != 128 && w->width != 256)
        return false;
    for (size_t i = 0; i < COUNT(names); i++)
        if (!strcmp(names[i], w->mnemonic))
            return true;
    return false;
}

static bool parse_modifiers(struct word *w, const char *text)
{
    while (*text == '.') {
        size_t n = strcspn(++text, ".");
        char *to = w->modifiers[w->modifier_count];

        if (w->modifier_count == MAX_MODIFIERS || n >= sizeof(w->modifiers[0]))
            return false;
        memcpy(to, text, n);
        to[n] = 0;
        if (!modifier_exists(to))
            return false;
        w->modifier_count++;
        text += n;
    }
    return true;
}

static bool parse_class(struct word *w)
{
    size_t n = strcspn(w->name, ".");

    if (n == 0 || n >= sizeof(w->mnemonic) || !parse_modifiers(w, w->name + n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (isupper((unsigned char)w->name[i]))
            return false;
        w->mnemonic[i] = (char)toupper((unsigned char)w->name[i]);
    }
    for (size_t s = 0; s < COUNT(sums); s++)
        if (strlen(sums[s].name) == n && !strncmp(w->name, sums[s].name, n)) {
            w->sum = sums[s].members;
            return true;
        }
    return !strcmp(w->name, "clocks") || mnemonic_exists(w->mnemonic) || parse_width(w);
}

static bool has_modifiers(const struct instruction *i, const struct word *class)
{
    bool scope = false, hint = false;

    for (size_t m = 0; m < class->modifier_count; m++) {
        if (!has_modifier(i, class->modifiers[m]))
            return false;
        scope = scope || is_scope(class->modifiers[m]);
        hint = hint || is_hint(class->modifiers[m]);
    }
    return !scope || hint || has_usual_hint(i);
}

bool in_class(const struct instruction *i, const struct word *class)
{
    bool member =
        !class->sum && is(i, class->mnemonic) && (class->width == 0 || class->width == width_of(i));

    if (!strcmp(class->name, "clocks"))
        return is_clock(i);
    for (size_t m = 0; class->sum && class->sum[m]; m++)
        member = member || is(i, class->sum[m]);
    return member && !is_filler(i) && has_modifiers(i, class) && !(class->always && is_guarded(i));
}

/* A number that a class must reach, clock reads with nothing else between them, or spilling on
 * purpose: limits alone hold for a kernel that does something else, or nothing. */
bool says_something(const struct contract *c)
{
    bool clocks = false, other = false;

    for (size_t w = 0; w < c->class_count; w++)
        for (size_t i = 0; i < c->classes[w].count; i++)
            if (c->classes[w].relation != AT_MOST && c->classes[w].numbers[i] > 0)
                return true;
    for (size_t w = 0; w < c->limit_count; w++) {
        const struct word *l = &c->limits[w];

        clocks = clocks || (!strcmp(l->name, "clocks") && l->numbers[0] > 0);
        other = other || (!strcmp(l->name, "other") && l->relation != AT_LEAST);
        if (!strcmp(l->name, "local") && l->relation == AT_LEAST && l->numbers[0] > 0)
            return true;
    }
    return clocks && other;
}

static unsigned parse_archs(const char *list)
{
    unsigned archs = 0;

    while (*list) {
        size_t n = strcspn(list, ",+"), i = 0;

        while (i < ARCHS && (strlen(arch_names[i]) != n || strncmp(arch_names[i], list, n)))
            i++;
        if (i == ARCHS)
            return 0;
        list += n;
        archs |= *list == '+' ? ALL_ARCHS & ~((1u << i) - 1) : 1u << i;
        list += *list == '+';
        if (*list == ',' && list[1])
            list++;
        else if (*list)
            return 0;
    }
    return archs;
}

/* NAME, NAME=n, NAME<=n, NAME>=n,n,*: false if it is none of these. */
static bool parse_word(const char *text, struct word *w)
{
    size_t n = strcspn(text, "=<>");
    const char *p = text + n;

    memset(w, 0, sizeof(*w));
    if (n == 0 || n >= sizeof(w->name))
        return false;
    memcpy(w->name, text, n);
    if (!*p)
        return true;
    w->relation = *p == '<' ? AT_MOST : *p == '>' ? AT_LEAST : EQUAL;
    if (w->relation != EQUAL && *++p != '=')
        return false;
    do {
        char *end = (char *)(uintptr_t)++p + 1;

        if (w->count == MAX_LIST || (*p != '*' && !isdigit((unsigned char)*p)))
            return false;
        w->numbers[w->count++] = *p == '*' ? -1 : strtol(p, &end, 10);
        if (w->numbers[w->count - 1] > 1000000000)
            return false;
        p = end;
    } while (*p == ',');
    return !*p;
}

static bool is_limit(const struct contract *c, const char *name)
{
    static const char *const names[] = {"local", "regs",   "smem",   "exits",
                                        "other", "clocks", "guarded"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return c->kind == LOOP ? strcmp(name, "clocks")
                                   : c->kind == WHOLE || i + 1 < COUNT(names);
    return false;
}

/* Does the word's list of numbers skip the same intervals as the first class of the line? */
static bool fits_list(const struct contract *c, const struct word *w)
{
    if (c->class_count == 0)
        return true;
    if (w->count != c->classes[0].count)
        return false;
    for (size_t i = 0; i < w->count; i++)
        if ((w->numbers[i] < 0) != (c->classes[0].numbers[i] < 0))
            return false;
    return true;
}

static bool add_class(struct contract *c, struct word *w)
{
    if (!parse_class(w))
        return false;
    if (c->kind == LOOP && w->count == 0)
        w->count = 1, w->numbers[0] = 1, w->relation = AT_LEAST;
    if (w->count == 0 || (c->kind != INTERVALS && (w->count > 1 || w->numbers[0] < 0)))
        return false;
    /* A line has one list of intervals, so all its lists have one length and skip the same
     * places. */
    if (!fits_list(c, w))
        return false;
    w->always = c->kind == INTERVALS;
    for (size_t m = 0; m < w->modifier_count; m++)
        w->always = w->always && strcmp(w->modifiers[m], "guarded");
    c->classes[c->class_count++] = *w;
    return true;
}

static bool add_word(struct contract *c, const char *text)
{
    struct word w;

    if (!strncmp(text, "kernel=", 7) && text[7] && strlen(text + 7) < sizeof(c->kernel)) {
        strcpy(c->kernel, text + 7);
        return c->glob = true;
    }
    if (!strncmp(text, "arch=", 5))
        return (c->archs = parse_archs(text + 5)) != 0;
    if (!strcmp(text, "waited") && c->kind == INTERVALS)
        return c->waited = true;
    if (!strcmp(text, "chain") && c->kind == INTERVALS)
        return c->chain = true;
    if (!strcmp(text, "closed") && c->kind == INTERVALS)
        return c->closed = true;
    if (!strcmp(text, "moving") && c->kind == LOOP)
        return c->moving = true;
    if (!strcmp(text, "outer") && c->kind == LOOP)
        return c->outer = true;
    if (!strcmp(text, "ahead") && c->kind == LOOP)
        return c->ahead = true;
    if (!strcmp(text, "between") && c->kind == LOOP)
        return c->between = true;
    if (!strcmp(text, "calls") && c->kind == WHOLE)
        return c->calls = true;
    if (!strcmp(text, "looped") && c->kind != LOOP)
        return c->looped = true;
    if (!strcmp(text, "together") && c->kind != INTERVALS)
        return c->together = true;
    if (!parse_word(text, &w) || c->class_count == MAX_WORDS || c->limit_count == MAX_WORDS)
        return false;
    if (!is_limit(c, w.name))
        return add_class(c, &w);
    c->limits[c->limit_count++] = w;
    if (!strcmp(w.name, "other") && c->kind == INTERVALS && w.count > 1)
        return true; /* held against the classes at the line's end */
    return w.count == 1 && w.numbers[0] >= 0;
}

/* text: the rest of the line after the head. */
static void parse_contract(const struct source *s, struct contract *c, const char *text)
{
    static const char not_timed[] = "not a timed kernel";
    char word[600];

    text += strspn(text, " \t");
    while (*text && *text != '\n' && *text != '\r') {
        size_t n = strcspn(text, " \t\r\n");

        if (n >= sizeof(word))
            trouble("%s:%u: a contract's word is too long", s->file.path, c->line);
        memcpy(word, text, n);
        word[n] = 0;
        text += n;
        if (c->kind == INTERVALS && !strcmp(word, "none")) {
            c->none = true;
            text += strspn(text, " \t");
            if (strncmp(text, not_timed, strlen(not_timed)))
                trouble("%s:%u: 'none' is for kernels that are not timed: expected '%s' behind it",
                        s->file.path, c->line, not_timed);
            return;
        }
        if (!add_word(c, word))
            trouble("%s:%u: the word '%s' is not understood", s->file.path, c->line, word);
        if (*text == '\t' || (*text == ' ' && (text[1] == ' ' || text[1] == '\t')))
            break;
        text += *text == ' ';
    }
    if (c->class_count + c->limit_count == 0 && !c->waited)
        trouble("%s:%u: an empty contract", s->file.path, c->line);
    if (c->ahead && c->class_count < 2)
        trouble("%s:%u: 'ahead' needs two classes", s->file.path, c->line);
    if (c->between && c->class_count < 3)
        trouble("%s:%u: 'between' needs three classes", s->file.path, c->line);
    for (size_t i = 0; i < c->limit_count; i++)
        if (c->limits[i].count > 1 && !fits_list(c, &c->limits[i]))
            trouble("%s:%u: '%s' has other places than the classes", s->file.path, c->line,
                    c->limits[i].name);
    if ((c->kind == LOOP || c->together || c->chain || c->closed) && c->class_count == 0)
        trouble(
            "%s:%u: a sass-loop contract, 'together', 'chain' and 'closed' need a class to find "
            "instructions by",
            s->file.path, c->line);
}

/* ---- The source --------------------------------------------------------------------------- */

/* A line too long for the page goes on in the next. */
static void continue_contract(struct source *s, unsigned line, size_t end, const char *text)
{
    struct contract *c = s->contract_count > 0 ? &s->contracts[s->contract_count - 1] : NULL;

    if (!c || c->last_line + 1 != line || c->none)
        trouble("%s:%u: there is no contract above this line to go on with", s->file.path, line);
    c->last_line = line, c->end = end;
    parse_contract(s, c, text);
}

static void note_contract(struct source *s, size_t at, unsigned line)
{
    static const char *const heads[] = {
        "// sass:", "// sass-loop:", "// sass-all:", "// sass-and:"};
    const char *text = (const char *)s->file.bytes + at, *word = text + 2 + strspn(text + 2, " \t");
    size_t end = at + strcspn(text, "\n");

    for (size_t i = 0; i < COUNT(heads); i++) {
        struct contract *c;

        if (strncmp(text, heads[i], strlen(heads[i])))
            continue;
        if (i == COUNT(heads) - 1) {
            continue_contract(s, line, end, text + strlen(heads[i]));
            return;
        }
        s->contracts = realloc(s->contracts, (s->contract_count + 1) * sizeof(*s->contracts));
        if (!s->contracts)
            trouble("out of memory");
        c = &s->contracts[s->contract_count++];
        memset(c, 0, sizeof(*c));
        c->line = c->last_line = line, c->end = end, c->kind = (enum kind)i;
        c->archs = ALL_ARCHS;
        parse_contract(s, c, text + strlen(heads[i]));
        return;
    }
    /* A typing mistake in the head must not turn a contract into a comment. */
    if (!strncmp(word, "sass", 4) && memchr(text, ':', end - at) && strcspn(word, ":") <= 12)
        trouble("%s:%u: a comment that looks like a contract, but begins with none of '%s', '%s', "
                "'%s'",
                s->file.path, line, heads[0], heads[1], heads[2]);
}

/* The end of a string or character constant that begins at i. */
static size_t skip_constant(const char *text, size_t i, size_t n)
{
    char quote = text[i++];

    while (i < n && text[i] != quote && text[i] != '\n')
        i += text[i] == '\\' ? 2 : 1;
    return i < n ? i + 1 : n;
}

/* Blanks everything that is not code, byte for byte, and notes the contracts among the comments. */
static void split_source(struct source *s)
{
    const char *text = (const char *)s->file.bytes;
    size_t n = s->file.size, i = 0;
    unsigned line = 1;
    bool line_start = true;

    s->code = allocate(n + 1, 1);
    memset(s->code, ' ', n);
    while (i < n) {
        size_t end = i + 1;

        if (text[i] == '/' && text[i + 1] == '/') {
            note_contract(s, i, line);
            end = i + strcspn(text + i, "\n");
        } else if (text[i] == '/' && text[i + 1] == '*') {
            const char *close = strstr(text + i + 2, "*/");
            end = close ? (size_t)(close - text) + 2 : n;
        } else if (text[i] == '#' && line_start) {
            while (end < n && text[end] != '\n')
                end += text[end] == '\\' && end + 1 < n ? 2 : 1;
        } else if (text[i] == '"' || text[i] == '\'') {
            end = skip_constant(text, i, n);
            s->code[i] = '"';
        } else {
            s->code[i] = text[i];
        }
        end = end > n ? n : end > i ? end : i + 1;
        line_start = text[i] == '\n' || (line_start && isspace((unsigned char)text[i]));
        for (; i < end; i++)
            line += text[i] == '\n';
    }
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The name of the kernel whose __global__ ends at p: the first name before a '(' that is no
 * attribute (__launch_bounds__(256), __cluster_dims__(2, 1, 1), which begin with two bars). */
static bool definition_name(const char *p, char *name, size_t room)
{
    while (*p && *p != ';' && *p != '{') {
        size_t n = 0;

        while (name_char(p[n]))
            n++;
        if (n == 0) {
            p++;
            continue;
        }
        if (p[n + strspn(p + n, " \t\r\n")] == '(' && n < room) {
            memcpy(name, p, n);
            name[n] = 0;
            if (strncmp(name, "__", 2))
                return true;
            p = strchr(p + n, '(');
            for (int depth = 0; *p; p++) {
                depth += (*p == '(') - (*p == ')');
                if (depth == 0)
                    break;
            }
            continue;
        }
        p += n;
    }
    return false;
}

bool speaks_of(const struct contract *c, const char *kernel)
{
    return c->glob ? !fnmatch(c->kernel, kernel, 0) : !strcmp(c->kernel, kernel);
}

static bool has_contract(const struct source *s, const char *kernel)
{
    for (size_t i = 0; i < s->contract_count; i++)
        if (speaks_of(&s->contracts[i], kernel))
            return true;
    return false;
}

/* Gives each definition the contracts above it. */
static void attach_contracts(struct source *s)
{
    size_t next = 0;

    for (char *p = s->code; (p = strstr(p, "__global__")) != NULL; p += strlen("__global__")) {
        size_t at = (size_t)(p - s->code);
        char name[512];

        if (!definition_name(p + strlen("__global__"), name, sizeof(name)))
            continue;
        for (; next < s->contract_count && s->contracts[next].end < at; next++) {
            struct contract *c = &s->contracts[next];

            if (c->glob)
                continue;
            if (strcspn(s->code + c->end, ";{}") < at - c->end)
                trouble("%s:%u: this contract stands above no kernel", s->file.path, c->line);
            strcpy(c->kernel, name);
        }
        if (!has_contract(s, name)) {
            printf("FAIL %s %s  expected a contract above it, found none\n", s->file.path, name);
            s->bare++;
        }
    }
    for (; next < s->contract_count; next++)
        if (!s->contracts[next].glob)
            trouble("%s:%u: this contract stands above no kernel", s->file.path,
                    s->contracts[next].line);
}

struct source read_source(const char *path)
{
    struct source s = {.file = read_file(path)};

    split_source(&s);
    attach_contracts(&s);
    return s;
}
