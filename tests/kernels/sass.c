/*
 * sass SOURCE.cu CUBIN [CUBIN...]
 *
 * Compares what ptxas made of the kernels of SOURCE.cu with the contracts above them: how many
 * loads are between two clock reads, whether the last one is waited for, what the body of a main
 * loop consists of, whether loads are in flight together, whether anything spills. It needs neither
 * a GPU nor a tool of the vendor's: it reads the cubins itself. Their names end in .sm_ARCH.cubin.
 *
 * A contract is a comment above the definition of the kernel. Several are allowed, and all must
 * hold:
 *
 *   // sass: clocks=3 loads=32,64 other<=3 local=0 waited regs<=40   prose after two blanks
 *   // sass-loop: hmma>=32 ldg128=4 local=0 arch=80+
 *   // sass-all: ldg128=4 stg128=4 local=0 together
 *   // sass: none REASON                               this kernel has nothing to prove
 *
 * WORDS OF ALL. An operator OP is =, <= or >=.
 *   kernel=GLOB   the kernels of the cubin that GLOB matches, at least one, wherever the line is:
 *                 for kernels that a macro makes
 *   arch=LIST     of 75 80 86 89 90a 100 120, or ARCH+ for that and every later one; default all
 *   local OP n    local-memory instructions (LDL, STL) in the whole kernel
 *   regs OP n     registers a thread;   smem OP n   bytes of static shared memory (without the
 *                 kilobyte that the system reserves from sm_90 on)
 *   clocks OP n   reads of the SM clock in the whole kernel; under sass-loop a class like others
 *   CLASS OP ...  counts of instructions. A class is a mnemonic in lower case (hmma, hgmma, ldg,
 *                 lds, ldsm, ldgsts, ffma, imad, mufu, bar, shfl, ...; they are counted apart), or
 *                 ldg, stg, lds, sts, ld, st followed by the bits a lane (ldg128), or by both that
 *                 and the hint L1::no_allocate (ldg128na), or a sum: loads = LDG LDS LD LDSM,
 *                 stores = STG STS ST STSM, atom = ATOM ATOMG ATOMS, reds = RED REDG
 *   other OP n    instructions that belong to no class of the line (NOP left out)
 *
 * "sass:" COUNTS BETWEEN CLOCK READS. An interval reaches from one read of the SM clock
 * (SR_CLOCKLO, not the global timer, not SR_CLOCKHI) to the next, in the order of addresses.
 *   CLASS OP n,n,..  one number for each interval that holds an instruction of the line's classes;
 *                 the others (bookkeeping between two samples) are left out, unless some place
 *                 is 0 in every list of the line. A * instead of a number: the interval exists, and
 *                 is not checked. A line without classes checks every interval.
 *   waited        the closing clock read cannot issue before the last instruction of the line's
 *                 classes (loads, if it names none) has delivered: an instruction from there up to
 *                 and including the clock read waits on its scoreboard, before any branch. And
 *                 neither clock is read through a scoreboard (S2R, S2UR): where only 32 bits of a
 *                 reading count, ptxas may do that at one end of a bracket and use CS2R at the
 *                 other end, and then the detour does not cancel in a difference.
 *   looped        a backward branch inside an interval is allowed. Without this word it is a
 *                 failure, because static counts of a loop say nothing.
 *
 * "sass-loop:" COUNTS IN A LOOP BODY: the innermost natural loop that holds the line's first class;
 * if there are several, the one that holds the most. A bare CLASS means at least one. The paths of
 * a diverged warp (BRA.DIV) do not belong to it.
 *
 * "sass-all:" COUNTS IN THE WHOLE KERNEL, in everything that can be reached from its entry (so
 * without padding): for straight code without clocks. A loop is a failure without the word looped;
 * a call or an indirect branch always is, because its target is unknown here.
 *
 *   together      (sass-loop, sass-all) all instructions of the line's first class are issued
 *                 before any instruction waits for one of them: no path leads from one, over an
 *                 instruction that waits on its scoreboard, to another; in a loop, in one turn.
 *
 * FAILURES are also: a kernel of the source or of the cubin without any contract, a contract whose
 * kernel is missing in the cubin, and any instruction of a contracted kernel whose opcode is not in
 * the table for that architecture. A word that is not understood, and a file that is no proper
 * cubin, is trouble. Exit: 0 all passed, 1 some failed, 2 trouble.
 *
 * LIMITS. The check covers what is issued, in the order of addresses; which cache level answers is
 * for the hardware counters. Indirect branches (BRX) and calls have no known target here: a loop
 * that goes through one is not seen, its count is then too low, and that is a failure. Preprocessor
 * conditions are not evaluated: a kernel under #if needs a fitting arch= word.
 *
 * contract.c reads the source, cubin.c the cubins; this file has the checks.
 */
#define _POSIX_C_SOURCE 200809L
#include "contract.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows by printf and silently stops at its end: reports only. */
struct text {
    char bytes[2048];
    size_t length;
};

static void append(struct text *t, const char *format, ...)
{
    size_t room = sizeof(t->bytes) - t->length;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->bytes + t->length, room, format, args);
    va_end(args);
    if (n > 0)
        t->length += (size_t)n < room ? (size_t)n : room - 1;
}

/* A contract and one kernel that it covers. */
struct check {
    const struct contract *contract;
    const struct kernel *kernel;
    unsigned arch;
    struct text *found, *wrong; /* one line per kernel, shared by its contracts */
};

static const char *const relation_signs[] = { "=", "<=", ">=" };

static bool holds(enum relation relation, long found, long expected)
{
    return relation == EQUAL ? found == expected
                             : relation == AT_MOST ? found <= expected : found >= expected;
}

static void expect(const struct check *k, const struct word *w, long found)
{
    append(k->found, " %s=%ld", w->name, found);
    if (!holds(w->relation, found, w->numbers[0]))
        append(k->wrong, "; expected %s%s%ld, found %ld", w->name, relation_signs[w->relation],
               w->numbers[0], found);
}

static bool counted(const struct contract *c, const struct instruction *i)
{
    for (size_t w = 0; w < c->class_count; w++)
        if (in_class(i, &c->classes[w]))
            return true;
    return c->class_count == 0 && c->waited &&
           (is(i, "LDG") || is(i, "LDS") || is(i, "LD") || is(i, "LDSM"));
}

static const struct word *limit(const struct contract *c, const char *name)
{
    for (size_t i = 0; i < c->limit_count; i++)
        if (!strcmp(c->limits[i].name, name))
            return &c->limits[i];
    return NULL;
}

static long count_class(const struct check *k, const unsigned char *set, const struct word *class)
{
    long count = 0;

    for (size_t i = 0; i < k->kernel->n; i++)
        count += set[i] && in_class(&k->kernel->code[i], class);
    return count;
}

static long count_other(const struct check *k, const unsigned char *set)
{
    const struct instruction *code = k->kernel->code;
    long count = 0;

    for (size_t i = 0; i < k->kernel->n; i++)
        count += set[i] && !is(&code[i], "NOP") && !counted(k->contract, &code[i]);
    return count;
}

static void check_limits(const struct check *k)
{
    long local = 0, clocks = 0;

    for (size_t i = 0; i < k->kernel->n; i++) {
        local += is(&k->kernel->code[i], "LDL") || is(&k->kernel->code[i], "STL");
        clocks += is_clock(&k->kernel->code[i]);
    }
    for (size_t i = 0; i < k->contract->limit_count; i++) {
        const struct word *w = &k->contract->limits[i];

        if (!strcmp(w->name, "local"))
            expect(k, w, local);
        else if (!strcmp(w->name, "clocks"))
            expect(k, w, clocks);
        else if (!strcmp(w->name, "regs"))
            expect(k, w, k->kernel->regs);
        else if (!strcmp(w->name, "smem"))
            expect(k, w, k->kernel->smem);
        if (!strcmp(w->name, "regs") && k->kernel->regs < 0)
            append(k->wrong, "; expected a register count, found none in the cubin");
    }
}

/* ---- sass: -------------------------------------------------------------------------------- */

/* From the clock read at first to the one at last; the set holds the instructions in between. */
struct interval {
    size_t first, last;
    unsigned char *set;
};

/* Does the contract cover intervals that hold nothing of its classes? */
static bool keeps_empty(const struct contract *c)
{
    for (size_t i = 0; c->class_count > 0 && i < c->classes[0].count; i++) {
        bool zero = true;

        for (size_t w = 0; w < c->class_count; w++)
            zero = zero && c->classes[w].numbers[i] == 0;
        if (zero)
            return true;
    }
    return c->class_count == 0;
}

/* The intervals that the contract covers: see the top of this file. */
static size_t list_intervals(const struct check *k, struct interval *list)
{
    size_t count = 0, n = k->kernel->n, previous = n;
    const struct instruction *code = k->kernel->code;

    for (size_t i = 0; i < n; i++) {
        bool wanted = keeps_empty(k->contract);

        if (!is_clock(&code[i]))
            continue;
        for (size_t j = previous + 1; j < i && !wanted; j++)
            wanted = counted(k->contract, &code[j]);
        if (previous < n && wanted) {
            list[count] = (struct interval){ previous, i, allocate(n, 1) };
            memset(list[count++].set + previous + 1, 1, i - previous - 1);
        }
        previous = i;
    }
    return count;
}

/* Says why the bracket holds other time than its counted instructions take; NULL: it does not. */
static const char *not_waited(const struct check *k, const struct interval *v)
{
    const struct instruction *code = k->kernel->code;
    size_t last = v->last;
    unsigned scoreboard;

    for (size_t i = v->first + 1; i < v->last; i++)
        if (counted(k->contract, &code[i]))
            last = i;
    if (last == v->last)
        return "there is nothing to wait for";
    if (is(&code[v->first], "S2R") || is(&code[v->first], "S2UR") || is(&code[v->last], "S2R") ||
        is(&code[v->last], "S2UR"))
        return "a clock is read through a scoreboard";
    scoreboard = write_scoreboard(&code[last]);
    if (scoreboard >= 6)
        return "the last counted instruction sets no scoreboard";
    for (size_t i = last + 1; i <= v->last; i++) {
        if (waits_on(&code[i], scoreboard))
            return NULL;
        if (leaves(&code[i]))
            return "a branch comes before the wait";
    }
    return "the last load is not waited for";
}

static void check_interval(const struct check *k, const struct interval *v, size_t index)
{
    const char *why = k->contract->waited ? not_waited(k, v) : NULL;

    if (why)
        append(k->wrong, "; expected waited, found that %s in interval %zu (0x%zx to 0x%zx)", why,
               index + 1, 16 * v->first, 16 * v->last);
    for (size_t i = v->first + 1; i < v->last && !k->contract->looped; i++) {
        long target = k->kernel->code[i].jump;

        if (target >= 0 && (size_t)target <= i)
            append(k->wrong, "; expected a straight line, found a loop in interval %zu at 0x%zx",
                   index + 1, 16 * i);
    }
}

static bool skipped(const struct contract *c, size_t interval)
{
    return c->class_count > 0 && interval < c->classes[0].count &&
           c->classes[0].numbers[interval] < 0;
}

static void append_list(struct text *t, const long *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        append(t, numbers[i] < 0 ? "%s*" : "%s%ld", i ? "," : "", numbers[i]);
}

static void expect_list(const struct check *k, const struct word *w, const long *found, size_t n)
{
    bool right = w->count == n;

    for (size_t i = 0; i < n && right; i++)
        right = w->numbers[i] < 0 || holds(w->relation, found[i], w->numbers[i]);
    append(k->found, " %s=", w->name);
    append_list(k->found, found, n);
    if (right)
        return;
    append(k->wrong, "; expected %s%s", w->name, relation_signs[w->relation]);
    append_list(k->wrong, w->numbers, w->count);
    append(k->wrong, ", found %s", n ? "" : "none");
    append_list(k->wrong, found, n);
}

static void check_intervals(const struct check *k)
{
    const struct contract *c = k->contract;
    const struct word *other = limit(c, "other");
    struct interval *list;
    long *found;
    size_t n;

    if (c->class_count == 0 && !other && !c->waited)
        return;
    list = allocate(k->kernel->n, sizeof(*list));
    found = allocate(k->kernel->n, sizeof(*found));
    n = list_intervals(k, list);
    if (n == 0)
        append(k->wrong, "; expected counted instructions between clock reads, found none");
    for (size_t w = 0; w < c->class_count; w++) {
        for (size_t i = 0; i < n; i++)
            found[i] = count_class(k, list[i].set, &c->classes[w]);
        expect_list(k, &c->classes[w], found, n);
    }
    for (size_t i = 0; i < n; i++)
        if (!skipped(c, i))
            check_interval(k, &list[i], i);
    for (size_t i = 0; i < n && other; i++) {
        found[i] = skipped(c, i) ? -1 : count_other(k, list[i].set);
        if (!skipped(c, i) && !holds(other->relation, found[i], other->numbers[0]))
            append(k->wrong, "; expected other%s%ld, found %ld in interval %zu",
                   relation_signs[other->relation], other->numbers[0], found[i], i + 1);
    }
    if (other) {
        append(k->found, " other=");
        append_list(k->found, found, n);
    }
    append(k->found, c->waited ? " waited" : "");
    for (size_t i = 0; i < n; i++)
        free(list[i].set);
    free(found);
    free(list);
}

/* ---- sass-loop: and sass-all: ------------------------------------------------------------- */

/* Does a path lead from the instruction at i, over one that waits for it, to another of the class
 * (which may itself be the one that waits)? */
static bool waits_too_early(const struct check *k, const unsigned char *within, size_t i)
{
    const struct instruction *code = k->kernel->code;
    const struct word *class = &k->contract->classes[0];
    unsigned char *after = allocate(k->kernel->n, 1), *late = allocate(k->kernel->n, 1);
    size_t n = k->kernel->n, j = 0;

    after[i] = 1;
    spread(k->kernel, after, within);
    for (size_t w = 0; w < n; w++)
        late[w] = w != i && after[w] && waits_on(&code[w], write_scoreboard(&code[i]));
    spread(k->kernel, late, within);
    while (j < n && (j == i || !late[j] || !in_class(&code[j], class)))
        j++;
    if (j < n)
        append(k->wrong, "; expected together, found a wait for the %s at 0x%zx before the one at "
               "0x%zx", class->name, 16 * i, 16 * j);
    free(after);
    free(late);
    return j < n;
}

/* first: the loop's header, which closes the turn; the kernel's size for a whole kernel. */
static void check_together(const struct check *k, const unsigned char *set, size_t first)
{
    size_t n = k->kernel->n;
    unsigned char *within = allocate(n, 1);
    bool right = true;

    memcpy(within, set, n);
    if (first < n)
        within[first] = 0;
    for (size_t i = 0; i < n && right; i++) {
        if (!set[i] || !in_class(&k->kernel->code[i], &k->contract->classes[0]))
            continue;
        right = write_scoreboard(&k->kernel->code[i]) < 6;
        if (!right)
            append(k->wrong, "; expected together, found that the %s at 0x%zx sets no scoreboard",
                   k->contract->classes[0].name, 16 * i);
        else
            right = !waits_too_early(k, within, i);
    }
    append(k->found, " together");
    free(within);
}

static void check_set(const struct check *k, const unsigned char *set, size_t first)
{
    const struct contract *c = k->contract;
    const struct word *other = limit(c, "other");

    for (size_t w = 0; w < c->class_count; w++)
        expect(k, &c->classes[w], count_class(k, set, &c->classes[w]));
    if (other)
        expect(k, other, count_other(k, set));
    if (c->together)
        check_together(k, set, first);
}

/* The header of the innermost loop with the most of the first class; n where there is none. */
static size_t choose_loop(const struct check *k)
{
    const struct kernel *kernel = k->kernel;
    size_t n = kernel->n, chosen = n;
    long *counts = allocate(n, sizeof(*counts)), best = 0; /* by header */
    unsigned char *body = allocate(n, 1);

    for (size_t i = 0; i < n; i++) {
        long h = kernel->code[i].jump;

        if (h >= 0 && counts[h] == 0 && natural_loop(kernel, (size_t)h, body))
            counts[h] = count_class(k, body, &k->contract->classes[0]);
    }
    for (size_t h = 0; h < n; h++) {
        bool innermost = true;

        if (counts[h] <= best)
            continue;
        natural_loop(kernel, h, body);
        for (size_t j = 0; j < n && innermost; j++)
            innermost = !(j != h && body[j] && counts[j] > 0);
        if (innermost)
            best = counts[h], chosen = h;
    }
    free(counts);
    free(body);
    return chosen;
}

static void check_loop(const struct check *k)
{
    const struct word *finder = &k->contract->classes[0];
    unsigned char *body = allocate(k->kernel->n, 1);
    size_t header = choose_loop(k);

    if (header == k->kernel->n) {
        append(k->wrong, "; expected a loop with %s%s%ld, found no loop with any", finder->name,
               relation_signs[finder->relation], finder->numbers[0]);
    } else {
        append(k->found, " loop@0x%zx", 16 * header);
        natural_loop(k->kernel, header, body);
        check_set(k, body, header);
    }
    free(body);
}

/* Does the jump at i close a cycle, rather than merely return from an out-of-line block? */
static bool closes_cycle(const struct kernel *k, size_t i)
{
    unsigned char *set;
    bool closed;

    if (k->code[i].jump < 0 || (size_t)k->code[i].jump > i)
        return false;
    set = allocate(k->n, 1);
    set[k->code[i].jump] = 1;
    spread(k, set, NULL);
    closed = set[i];
    free(set);
    return closed;
}

static void check_whole(const struct check *k)
{
    const struct kernel *kernel = k->kernel;
    unsigned char *reached = allocate(kernel->n, 1);

    reached[0] = 1;
    spread(kernel, reached, NULL);
    for (size_t i = 0; i < kernel->n; i++) {
        const struct instruction *x = &kernel->code[i];

        if (!reached[i])
            continue;
        if (!k->contract->looped && closes_cycle(kernel, i))
            append(k->wrong, "; expected a straight line, found a loop at 0x%zx", 16 * i);
        if (leaves(x) && !is(x, "BRA") && !is(x, "EXIT"))
            append(k->wrong, "; expected a straight line, found %s at 0x%zx", x->name, 16 * i);
    }
    check_set(k, reached, kernel->n);
    free(reached);
}

/* ---- The run ------------------------------------------------------------------------------ */

struct tally {
    unsigned passed, failed;
};

static void check_contract(const struct check *k)
{
    for (size_t i = 0; i < k->kernel->n; i++) {
        if (*k->kernel->code[i].name)
            continue;
        append(k->wrong, "; expected known opcodes, found opcode 0x%03x at 0x%zx, unknown on sm_%s",
               (unsigned)(k->kernel->code[i].lo & 0xfff), 16 * i, arch_names[k->arch]);
        return;
    }
    if (k->contract->kind == INTERVALS)
        check_intervals(k);
    else if (k->contract->kind == LOOP)
        check_loop(k);
    else
        check_whole(k);
    check_limits(k);
}

/* Checks all contracts of one kernel in one cubin: one line of output. */
static void check_kernel(const struct source *s, const struct cubin *c, const struct kernel *kernel,
                         bool *used, struct tally *tally)
{
    struct text found = { .length = 0 }, wrong = { .length = 0 };
    bool covered = false, checked = false;

    for (size_t i = 0; i < s->contract_count; i++) {
        const struct contract *contract = &s->contracts[i];
        struct check k = { contract, kernel, c->arch, &found, &wrong };

        if (!speaks_of(contract, kernel->name))
            continue;
        covered = used[i] = true;
        if (contract->none || !(contract->archs >> c->arch & 1))
            continue;
        checked = true;
        check_contract(&k);
    }
    if (!covered)
        append(&wrong, "; expected a contract in the source, found none");
    if (wrong.length > 0)
        printf("FAIL %s %s sm_%s  %s\n", s->file.path, kernel->name, arch_names[c->arch],
               wrong.bytes + 2);
    else if (checked)
        printf("ok   %s %s sm_%s %s\n", s->file.path, kernel->name, arch_names[c->arch],
               found.bytes);
    tally->failed += wrong.length > 0;
    tally->passed += wrong.length == 0 && checked;
}

static void check_cubin(const struct source *s, const char *path, struct tally *tally)
{
    struct cubin c = open_cubin(path);
    struct kernel *kernel = allocate(1, sizeof(*kernel));
    bool *used = allocate(s->contract_count, sizeof(*used));

    for (unsigned i = 1; i < c.sections; i++) {
        if (!load_kernel(&c, i, kernel))
            continue;
        check_kernel(s, &c, kernel, used, tally);
        free(kernel->code);
    }
    for (size_t i = 0; i < s->contract_count; i++) {
        if (used[i] || s->contracts[i].none || !(s->contracts[i].archs >> c.arch & 1))
            continue;
        printf("FAIL %s %s sm_%s  expected this kernel in the cubin, found none (line %u)\n",
               s->file.path, s->contracts[i].kernel, arch_names[c.arch], s->contracts[i].line);
        tally->failed++;
    }
    free(used);
    free(kernel);
    free(c.file.bytes);
}

int main(int argc, char **argv)
{
    struct tally tally = { 0, 0 };
    struct source s;
    int first = 1;

    if (argc > 1 && !strncmp(argv[1], "--forget=", 9))
        forgotten = argv[first++] + 9;
    if (argc < first + 2 || argv[first][0] == '-') {
        fputs("usage: sass SOURCE.cu CUBIN.sm_ARCH.cubin [CUBIN...]\n", stderr);
        return 2;
    }
    s = read_source(argv[first]);
    tally.failed = s.bare;
    for (int i = first + 1; i < argc; i++)
        check_cubin(&s, argv[i], &tally);
    printf("%u passed, %u failed\n", tally.passed, tally.failed);
    free(s.contracts);
    free(s.code);
    free(s.file.bytes);
    return tally.failed > 0;
}
