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
        count += set[i] && !is(&code[i], "NOP") && !counted(k->contract, &code[i]);
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
