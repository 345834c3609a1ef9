/*
 * Operands and modifiers of instructions, as far as contracts need them. Derived from nvdisasm's
 * output, like the opcodes: destination in bits 16-23, first source 24-31, second 32-39 (where bits
 * 9-11 of the opcode say that it is a register), third 64-71; predicates in 81-83, 84-86 (written)
 * and 87-89 (read). Where an instruction's form is not known in all detail, too much is taken for
 * read or written, never too little: a chain may then be found where a test with values is needed,
 * but what the shipped chases are made of (loads, moves, plain arithmetic) is exact.
 */
#define _POSIX_C_SOURCE 200809L
#include "operands.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sets --------------------------------------------------------------------------------- */

void add_place(struct places *set, unsigned place)
{
    set->bits[place / 64] |= (uint64_t)1 << place % 64;
}

bool has_place(const struct places *set, unsigned place)
{
    return set->bits[place / 64] >> place % 64 & 1;
}

bool meet(const struct places *a, const struct places *b)
{
    for (size_t i = 0; i < COUNT(a->bits); i++)
        if (a->bits[i] & b->bits[i])
            return true;
    return false;
}

bool add_places(struct places *set, const struct places *more)
{
    bool grew = false;

    for (size_t i = 0; i < COUNT(set->bits); i++) {
        grew = grew || (more->bits[i] & ~set->bits[i]);
        set->bits[i] |= more->bits[i];
    }
    return grew;
}

void remove_places(struct places *set, const struct places *less)
{
    for (size_t i = 0; i < COUNT(set->bits); i++)
        set->bits[i] &= ~less->bits[i];
}

/* ---- Operands ----------------------------------------------------------------------------- */

static bool among(const struct instruction *i, const char *const *names, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (is(i, names[k]))
            return true;
    return false;
}

#define AMONG(i, ...)                                                                              \
    among(i, (const char *const[]){__VA_ARGS__},                                                   \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool is_new(const struct instruction *i)
{
    return strtol(arch_names[i->arch], NULL, 10) >= 100;
}

static bool is_load(const struct instruction *i)
{
    return AMONG(i, "LDG", "LDS", "LD", "LDL", "LDSM", "LDC");
}

static bool is_store(const struct instruction *i)
{
    return AMONG(i, "STG", "STS", "ST", "STL", "STSM", "STAS", "RED", "REDG", "REDS");
}

static bool is_atomic(const struct instruction *i)
{
    return AMONG(i, "ATOM", "ATOMG", "ATOMS");
}

bool is_memory(const struct instruction *i)
{
    return is_load(i) || is_store(i) || is_atomic(i) || is(i, "LDGSTS");
}

/* On the uniform data path; the asynchronous units (UBLKCP, UTMALDG, UCGABAR) only begin so. */
static bool is_uniform(const struct instruction *i)
{
    if (AMONG(i, "R2UR", "S2UR", "CS2UR", "REDUX", "CREDUX", "VOTEU", "LDCU"))
        return true;
    return i->name[0] == 'U' && strncmp(i->name, "UBLK", 4) && strncmp(i->name, "UTMA", 4) &&
           strncmp(i->name, "UCGA", 4) && strncmp(i->name, "UTC", 3);
}

static bool writes_nothing(const struct instruction *i)
{
    return is_store(i) || leaves(i) ||
           AMONG(i, "BAR", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL", "DEPBAR", "LDGDEPBAR",
                 "NOP", "BSSY", "BSYNC", "BREAK", "BMOV", "WARPSYNC", "YIELD", "NANOSLEEP",
                 "ARRIVES", "WARPGROUP", "FENCE", "ELECT", "PREEXIT", "ACQBULK", "KILL") ||
           !strncmp(i->name, "UTMA", 4) || !strncmp(i->name, "UCGA", 4);
}

static bool writes_predicates(const struct instruction *i)
{
    return AMONG(i, "ISETP", "FSETP", "DSETP", "HSETP2", "PLOP3", "IADD3", "LOP3", "LEA", "VOTE",
                 "SHFL", "SYNCS", "MATCH", "FCHK", "ATOM", "ATOMG", "ATOMS", "UISETP", "UPLOP3",
                 "UIADD3", "ULOP3", "ULEA", "VOTEU", "R2UR", "IMAD", "IADD");
}

static bool has_no_register(const struct instruction *i)
{
    return AMONG(i, "ISETP", "FSETP", "DSETP", "HSETP2", "PLOP3", "UISETP", "UPLOP3", "FCHK");
}

/* How many 32-bit registers the destination is: at most, where the form decides. */
static unsigned results(const struct instruction *i)
{
    static const unsigned of_width[] = {1, 1, 1, 1, 1, 2, 4, 4};

    if (AMONG(i, "LDG", "LDS", "LD", "LDL", "LDC", "ATOM", "ATOMG", "ATOMS", "ULDC", "LDCU"))
        return width_of(i) == 256 ? 4 : of_width[i->hi >> 9 & 7];
    if (AMONG(i, "HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "LDSM"))
        return 4;
    if (AMONG(i, "HGMMA", "QGMMA", "IGMMA"))
        return 1;
    if (AMONG(i, "DADD", "DMUL", "DFMA", "FADD2", "FMUL2", "FFMA2", "F2F", "I2F", "F2I", "FRND"))
        return 2;
    if (AMONG(i, "CS2R", "CS2UR"))
        return i->hi >> 16 & 1 ? 2 : 1;
    return AMONG(i, "IMAD", "UIMAD") && (i->lo & 0xff) == 0x25 ? 2 : 1;
}

/* A register of either kind; the last number of each is the one that is always zero. */
static void add_register(struct places *set, const struct instruction *i, bool uniform,
                         unsigned number, unsigned count)
{
    unsigned zero = !uniform || is_new(i) ? 255 : 63, first = uniform ? UNIFORM : 0;

    if (uniform && !is_new(i))
        number &= 63;
    for (unsigned r = number; r < number + count && number != zero && r < 255; r++)
        add_place(set, first + r);
}

static void add_predicate(struct places *set, const struct instruction *i, unsigned number)
{
    if ((number & 7) != 7)
        add_place(set, (is_uniform(i) ? UNIFORM_PREDICATE : PREDICATE) + (number & 7));
}

struct places writes_of(const struct instruction *i)
{
    struct places set = {{0}};

    if (AMONG(i, "LDGSTS", "UBLKCP")) {
        add_place(&set, SHARED);
        return set;
    }
    if (writes_nothing(i))
        return set;
    if (!has_no_register(i))
        add_register(&set, i, is_uniform(i), i->lo >> 16 & 255, results(i));
    if (width_of(i) == 256 && is_load(i)) /* the upper half has a register of its own */
        add_register(&set, i, false, (unsigned)i->hi & 255, 4);
    if (writes_predicates(i)) {
        add_predicate(&set, i, i->hi >> 17 & 7);
        add_predicate(&set, i, i->hi >> 20 & 7);
    }
    return set;
}

/* Instructions whose only operand is the second. */
static bool reads_second_only(const struct instruction *i)
{
    return AMONG(i, "MOV", "MUFU", "POPC", "FLO", "BREV", "F2F", "F2I", "I2F", "I2FP", "FRND",
                 "IABS", "NANOSLEEP", "UMOV", "UPOPC", "UFLO", "UBREV", "BAR");
}

static bool reads_third(const struct instruction *i)
{
    return AMONG(i, "FFMA", "DFMA", "HFMA2", "IMAD", "IADD3", "LOP3", "SHF", "LEA", "PRMT", "DADD",
                 "HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "HGMMA", "QGMMA", "IGMMA", "FFMA2",
                 "FADD2", "IDP", "VIMNMX3", "FMNMX3", "VIADDMNMX", "SHFL", "ATOM", "ATOMG", "ATOMS",
                 "UIMAD", "UIADD3", "ULOP3", "USHF", "ULEA", "UPRMT");
}

static bool reads_predicates_only(const struct instruction *i)
{
    return AMONG(i, "PLOP3", "UPLOP3", "VOTE", "VOTEU");
}

static bool reads_first_only(const struct instruction *i)
{
    return AMONG(i, "R2UR", "REDUX", "CREDUX");
}

static void add_sources(struct places *set, const struct instruction *i)
{
    unsigned form = i->lo >> 9 & 7, wide = AMONG(i, "DADD", "DMUL", "DFMA", "DSETP") ? 2 : 1;
    bool uniform = is_uniform(i) && !reads_first_only(i);

    if (!reads_second_only(i))
        add_register(set, i, uniform, i->lo >> 24 & 255, wide);
    if (reads_first_only(i))
        return;
    if (form == 1 && !is(i, "DADD"))
        add_register(set, i, uniform, i->lo >> 32 & 255, wide);
    if (form >= 6)
        add_register(set, i, true, i->lo >> 32 & 255, wide);
    if (reads_third(i))
        add_register(set, i, uniform, (unsigned)i->hi & 255,
                     is(i, "IMAD") && (i->lo & 0xff) == 0x25 ? 2 : wide);
}

struct places reads_of(const struct instruction *i)
{
    struct places set = {{0}};

    if ((i->lo >> 12 & 7) != 7)
        add_predicate(&set, i, i->lo >> 12 & 7);
    if (AMONG(i, "S2R", "CS2R", "S2UR", "CS2UR", "ULDC", "NOP", "EXIT", "BRA"))
        return set;
    if (is_memory(i)) {
        struct places address = needs_of(i);

        add_places(&set, &address);
        if (!is_load(i))
            add_register(&set, i, false, i->lo >> 32 & 255, 4);
        return set;
    }
    if (AMONG(i, "UBLKCP")) {
        add_register(&set, i, true, i->lo >> 24 & 255, 2);
        add_register(&set, i, true, i->lo >> 32 & 255, 2);
        return set;
    }
    if (!reads_predicates_only(i))
        add_sources(&set, i);
    if (AMONG(i, "SEL", "FSEL", "VOTE", "VOTEU", "PLOP3", "UPLOP3", "ISETP", "FSETP", "USEL",
              "IMNMX", "FMNMX", "IADD3", "LOP3"))
        add_predicate(&set, i, i->hi >> 23 & 7);
    return set;
}

/* Of an LDGSTS, where it comes from: bits 16-23 say where it goes. A UBLKCP has its source in bits
 * 24-31 and its target in bits 32-39, and bits 73-74 say which of them is global memory: 1 the
 * source, 2 the target, 3 neither. */
struct places address_of(const struct instruction *i)
{
    struct places set = {{0}};
    bool global = AMONG(i, "LDG", "LD", "STG", "ST", "ATOM", "ATOMG", "RED", "REDG", "LDGSTS");

    if (is(i, "UBLKCP")) {
        if ((i->hi >> 9 & 3) != 2)
            add_register(&set, i, true, i->lo >> 24 & 255, 2);
        if ((i->hi >> 9 & 3) != 1)
            add_register(&set, i, true, i->lo >> 32 & 255, 2);
    } else {
        add_register(&set, i, false, i->lo >> 24 & 255, global ? 2 : 1);
    }
    return set;
}

struct places needs_of(const struct instruction *i)
{
    struct places set;

    if (!is_memory(i))
        return reads_of(i);
    set = address_of(i);
    if (is_atomic(i)) {
        add_register(&set, i, false, i->lo >> 32 & 255, 2);
        add_register(&set, i, false, (unsigned)i->hi & 255, 2);
    }
    if (AMONG(i, "LDS", "LDSM"))
        add_place(&set, SHARED);
    return set;
}

bool reads_thread(const struct instruction *i)
{
    unsigned special = i->hi >> 8 & 255; /* 0 SR_LANEID, 0x21 to 0x23 SR_TID */

    return is(i, "S2R") && (special == 0 || (special >= 0x21 && special <= 0x23));
}

/* ---- Modifiers ---------------------------------------------------------------------------- */

enum { WEAK, CONSTANT, CTA, GPU, SYS, MMIO, SCOPES };

/* Bits 77-80 of a memory access. sm_75 writes .SYS behind a plain one. */
static const unsigned scope_codes[2][SCOPES] = {{7, 3, 8, 10, 11, 15}, {0, 4, 5, 7, 10, 12}};
static const char *const scopes[SCOPES] = {"weak", "constant", "cta", "gpu", "sys", "mmio"};

/* Bits 84-86: the hint for the cache. LDG, LD, ATOM and the like have 1 where none is given. */
static const char *const hints[] = {"ef", "", "el", "lu", "eu", "na"};

static const char *const others[] = {"guarded", "indexed", "bypass", "hinted", "block",
                                     "counted", "sync",    "arv",    "red"};

static long index_of(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (*name && !strcmp(names[i], name))
            return (long)i;
    return -1;
}

bool is_scope(const char *name)
{
    return index_of(scopes, SCOPES, name) >= 0;
}

bool is_hint(const char *name)
{
    return index_of(hints, COUNT(hints), name) >= 0;
}

static bool is_number(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name) && strlen(name) < 4;
}

bool modifier_exists(const char *name)
{
    return is_scope(name) || is_hint(name) || is_number(name) ||
           index_of(others, COUNT(others), name) >= 0;
}

bool has_usual_hint(const struct instruction *i)
{
    return !AMONG(i, "LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "RED", "REDG") ||
           (i->hi >> 20 & 7) == 1;
}

/* MEMBAR: bits 76-78, 0 CTA, 2 GPU, 3 SYS. */
static bool has_scope(const struct instruction *i, long scope)
{
    unsigned bits = i->hi >> 12 & 7;

    if (is(i, "MEMBAR"))
        return bits == 0 ? scope == CTA : bits == 2 ? scope == GPU : bits == 3 && scope == SYS;
    return is_memory(i) && (i->hi >> 13 & 15) == scope_codes[i->arch > 0][scope];
}

/* BAR: bits 77-78 are 0 SYNC, 1 ARV, 2 RED; bits 9-11 say where the barrier's number (bits 54-57)
 * and the count of threads (bits 42-53, or a register) are: 5 both constant, 4 the count in a
 * register, 2 the number, 1 both. */
static bool has_mode(const struct instruction *i, const char *name)
{
    unsigned form = i->lo >> 9 & 7, mode = i->hi >> 13 & 3;

    if (!is(i, "BAR"))
        return false;
    if (!strcmp(name, "block")) /* barrier 0, of all threads of the block */
        return form == 5 && (i->lo >> 42 & 0xffff) == 0;
    if (!strcmp(name, "counted"))
        return form == 4 || form == 1;
    return !strcmp(name, "sync") ? mode == 0 : !strcmp(name, "arv") ? mode == 1 : mode == 2;
}

bool has_modifier(const struct instruction *i, const char *name)
{
    if (is_scope(name))
        return has_scope(i, index_of(scopes, SCOPES, name));
    if (is_hint(name))
        return is_memory(i) && (long)(i->hi >> 20 & 7) == index_of(hints, COUNT(hints), name);
    if (is_number(name)) /* DEPBAR.LE SBn, this many: bit 47, bits 38-43 */
        return is(i, "DEPBAR") && (i->lo >> 47 & 1) &&
               (i->lo >> 38 & 63) == strtoul(name, NULL, 10);
    if (!strcmp(name, "guarded"))
        return is_guarded(i);
    if (!strcmp(name, "indexed"))
        return (i->lo >> 24 & 255) != 255;
    if (!strcmp(name, "bypass")) /* of the L1 */
        return is(i, "LDGSTS") && !(i->hi >> 17 & 1);
    if (!strcmp(name, "hinted")) /* a bulk copy with a cache policy in a register */
        return is(i, "UBLKCP") && (i->hi >> 12 & 1);
    return has_mode(i, name);
}
