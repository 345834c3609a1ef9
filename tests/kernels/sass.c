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
 *   // sass: clocks=3 ldg64.gpu=32,64 other<=3 local=0 waited chain   prose after two blanks
 *   // sass-loop: hmma>=32 ldg128=4 local=0 arch=80+
 *   // sass-all: ldg128=4 stg128=4 local=0 together
 *   // sass-and: regs<=40                            goes on with the line above
 *   // sass: none not a timed kernel                 the only reason to check nothing
 *
 * WORDS OF ALL. An operator OP is =, <= or >=.
 *   kernel=GLOB   the kernels of the cubin that GLOB matches, at least one, wherever the line is:
 *                 for kernels that a macro makes
 *   arch=LIST     of 75 80 86 89 90a 100 120, or ARCH+ for that and every later one; default all
 *   local OP n    local-memory instructions (LDL, STL) in the whole kernel
 *   regs OP n     registers a thread;   smem OP n   bytes of static shared memory (without the
 *                 kilobyte that the system reserves from sm_90 on)
 *   exits OP n    places where a thread can leave the kernel: one more is an early return
 *   clocks OP n   reads of the SM clock in the whole kernel; under sass-loop a class like others
 *   CLASS OP ...  counts of instructions. A class is a mnemonic in lower case (hmma, hgmma, ldg,
 *                 lds, ldsm, ldgsts, ffma, imad, mufu, bar, shfl, ...; they are counted apart: ld,
 *                 a load by a generic address, is not ldg), or ldg, stg, lds, sts, ld, st followed
 *                 by the bits a lane (ldg128; ldg128na is ldg128.na), or a sum: loads = LDG LDS LD
 *                 LDSM, stores = STG STS ST STSM, atom = ATOM ATOMG ATOMS, reds = RED REDG
 *   CLASS.M.M     only those with these modifiers:
 *                   weak constant cta gpu sys mmio   the scope of an access, as the machine has it:
 *                       ld.global is weak, .nc constant, .ca cta, .cg gpu, .relaxed.sys and
 *                       .volatile sys. A class that names a scope takes no cache hint, unless it
 *                       names that, too. membar.cta membar.gpu membar.sys: how far a fence reaches
 *                   ef el lu eu na     the cache hint (.cs, L1::evict_last, ..., L1::no_allocate)
 *                   bypass             an LDGSTS past the L1
 *                   hinted             an UBLKCP that names a cache policy
 *                   indexed            its address is in a register (an LDC that is no argument)
 *                   sync arv red, block counted    a BAR: what it does; for all threads of the
 *                       block (__syncthreads), or with the count of threads in a register
 *                   0 1 2 ...          a DEPBAR that lets so many groups of copies be in flight
 *                   guarded            runs only where a predicate holds
 *   other OP n    instructions that belong to no class of the line. Left out are NOP and what
 *                 stands under a guard that never holds (@!PT), which ptxas uses as NOP
 *
 * "sass:" COUNTS BETWEEN CLOCK READS. An interval reaches from one read of the SM clock
 * (SR_CLOCKLO, not the global timer, not SR_CLOCKHI) to the next, in the order of addresses.
 *   CLASS OP n,n,..  one number for each interval that holds an instruction of the line's classes;
 *                 the others (bookkeeping between two samples) are left out, unless some place
 *                 is 0 in every list of the line. A * instead of a number: the interval exists, and
 *                 is not checked. A line without classes checks every interval. What runs only
 *                 where a predicate holds is of no class without the modifier guarded.
 *   other OP n,n,..  one number for each, as above, or one for all. It is what the shipped cubins
 *                 have: architectures that differ by more than two instructions have lines of
 *                 their own. In loops, whose other work grows with what is counted, one line holds
 *                 for those within a quarter.
 *   waited        the closing clock read cannot issue before the last instruction of the line's
 *                 classes (loads, if it names none) has delivered: an instruction from there up to
 *                 and including the clock read waits on its scoreboard, before any branch. Where
 *                 its latency is fixed and it has no scoreboard, an instruction in between uses its
 *                 result. And the opening clock read cannot issue before those of the line's
 *                 classes that can run before it have delivered, on whatever path.
 *   chain         each instruction of the line's classes that brings a value needs what the one
 *                 before it brought: a load in its address, an atomic operation in its address or
 *                 operands, others in an operand. Moves and arithmetic in between are followed
 *                 through registers, and copies to shared memory through it.
 *   closed        the last instruction of the line's classes is one of the first class: a barrier
 *                 stands behind what is timed, in the order of addresses
 *   looped        a branch inside an interval is allowed. Without this word it is a failure,
 *                 because static counts of a loop, or of what a branch may pass by, say nothing.
 *
 * "sass-loop:" COUNTS IN A LOOP BODY: the innermost natural loop that holds the line's first class;
 * if there are several, the one that holds the most. A bare CLASS means at least one. The paths of
 * a diverged warp (BRA.DIV) do not belong to it.
 *   outer         the outermost loop instead
 *   guarded OP n  counted instructions that run only where a predicate holds; without the word none
 *                 may. (Also for sass-all, where it is not checked without the word.)
 *   moving        each instruction of the first class has an address that changes from turn to turn
 *                 and, if it is not a bulk copy by one thread, differs from thread to thread
 *   ahead         in one turn, nothing of the second class comes behind the first: what is waited
 *                 for was asked for in an earlier turn
 *   between       in one turn, every path from the line's first class to its last goes over those
 *                 named between them, in the line's order, and there is one: two fences behind an
 *                 atomic operation and before the store that tells. A guarded one is none that it
 *                 goes over
 *
 * "sass-all:" COUNTS IN THE WHOLE KERNEL, in everything that can be reached from its entry (so
 * without padding): for straight code without clocks. A loop is a failure without the word looped;
 * a call is one without the word calls, and what is called is not counted (the rare case of a
 * division, the shuffle of a diverged warp); an indirect branch always is one.
 *
 *   together      (sass-loop, sass-all) all instructions of the line's first class are issued
 *                 before any instruction waits for one of them: no path leads from one, over an
 *                 instruction that waits on its scoreboard, to another; in a loop, in one turn.
 *
 * FAILURES are also: a kernel of the source or of the cubin without any contract; a kernel that is
 * built for an architecture for which its contracts are not; one whose contracts have no number
 * that a class must reach, only limits; a contract whose kernel is missing in the cubin; a clock
 * read by anything but CS2R in 64 bits; a NANOSLEEP that no class of the line names; and any
 * instruction of a contracted kernel whose opcode is not in the table for that architecture. A word
 * that is not understood, and a file that is no proper cubin, is trouble. Exit: 0 all passed, 1
 * some failed, 2 trouble.
 *
 * LIMITS. The check covers what is issued, in the order of addresses; which cache level answers is
 * for the hardware counters. Indirect branches (BRX) and calls have no known target here: a loop
 * that goes through one is not seen, its count is then too low, and that is a failure. Preprocessor
 * conditions are not evaluated: a kernel under #if needs a fitting arch= word. That a kernel is not
 * timed is its author's word.
 *
 * contract.c reads the source, cubin.c the cubins, operands.c says what instructions read and
 * write; intervals.c, loops.c and flow.c have the checks. planted.py puts faults into the shipped
 * kernels that these checks must catch.
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void append(struct text *t, const char *format, ...)
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

const char *const relation_signs[] = {"=", "<=", ">="};

bool holds(enum relation relation, long found, long expected)
{
    return relation == EQUAL     ? found == expected
           : relation == AT_MOST ? found <= expected
                                 : found >= expected;
}

void expect(const struct check *k, const struct word *w, long found)
{
    append(k->found, " %s=%ld", w->name, found);
    if (!holds(w->relation, found, w->numbers[0]))
        append(k->wrong, "; expected %s%s%ld, found %ld", w->name, relation_signs[w->relation],
               w->numbers[0], found);
}

bool counted(const struct contract *c, const struct instruction *i)
{
    for (size_t w = 0; w < c->class_count; w++)
        if (in_class(i, &c->classes[w]))
            return true;
    return c->class_count == 0 && c->waited &&
           (is(i, "LDG") || is(i, "LDS") || is(i, "LD") || is(i, "LDSM"));
}

const struct word *limit(const struct contract *c, const char *name)
{
    for (size_t i = 0; i < c->limit_count; i++)
        if (!strcmp(c->limits[i].name, name))
            return &c->limits[i];
    return NULL;
}

long count_class(const struct check *k, const unsigned char *set, const struct word *class)
{
    long count = 0;

    for (size_t i = 0; i < k->kernel->n; i++)
        count += set[i] && in_class(&k->kernel->code[i], class);
    return count;
}

long count_other(const struct check *k, const unsigned char *set)
{
    const struct instruction *code = k->kernel->code;
    long count = 0;

    for (size_t i = 0; i < k->kernel->n; i++)
        count += set[i] && !is_filler(&code[i]) && !counted(k->contract, &code[i]);
    return count;
}

/* A poll that sleeps between two looks sees its flag late: by how much is up to the hardware. */
void check_sleep(const struct check *k, const unsigned char *set)
{
    for (size_t i = 0; i < k->kernel->n; i++)
        if (set[i] && is(&k->kernel->code[i], "NANOSLEEP") &&
            !counted(k->contract, &k->kernel->code[i])) {
            append(k->wrong, "; expected no sleep, found NANOSLEEP at 0x%zx", 16 * i);
            return;
        }
}

static long count_exits(const struct kernel *k)
{
    unsigned char *reached = allocate(k->n, 1);
    long count = 0;

    reached[0] = 1;
    spread(k, reached, NULL);
    for (size_t i = 0; i < k->n; i++)
        count += reached[i] && is(&k->code[i], "EXIT");
    free(reached);
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
        else if (!strcmp(w->name, "exits"))
            expect(k, w, count_exits(k->kernel));
        if (!strcmp(w->name, "regs") && k->kernel->regs < 0)
            append(k->wrong, "; expected a register count, found none in the cubin");
    }
}

/* ---- The run ------------------------------------------------------------------------------ */

struct tally {
    unsigned passed, failed;
};

/* The detour through a scoreboard does not cancel in a difference, and half a reading wraps. */
static void check_clocks(const struct kernel *kernel, struct text *wrong)
{
    for (size_t i = 0; i < kernel->n; i++) {
        const struct instruction *x = &kernel->code[i];

        if (!is_clock(x) || is_direct_clock(x))
            continue;
        append(wrong, "; expected clocks in 64 bits by CS2R, found %s at 0x%zx", x->name, 16 * i);
        return;
    }
}

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
    struct text found = {.length = 0}, wrong = {.length = 0};
    bool covered = false, excused = false, checked = false, says = false;

    for (size_t i = 0; i < s->contract_count; i++) {
        const struct contract *contract = &s->contracts[i];
        struct check k = {contract, kernel, c->arch, &found, &wrong};

        if (!speaks_of(contract, kernel->name))
            continue;
        covered = used[i] = true;
        if (!(contract->archs >> c->arch & 1))
            continue;
        excused = excused || contract->none;
        if (contract->none)
            continue;
        checked = true;
        says = says || says_something(contract);
        check_contract(&k);
    }
    if (checked)
        check_clocks(kernel, &wrong);
    if (!covered)
        append(&wrong, "; expected a contract in the source, found none");
    else if (!checked && !excused)
        append(&wrong, "; expected a contract for this architecture, found none");
    else if (checked && !says)
        append(&wrong, "; expected a contract that counts something, found only limits");
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
    struct tally tally = {0, 0};
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
