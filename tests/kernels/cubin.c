#define _POSIX_C_SOURCE 200809L
#include "cubin.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opcodes.h"

const char *const arch_names[ARCHS] = {"75", "80", "86", "89", "90a", "100", "120"};
const char *forgotten;

enum { MAX_FILE = 256 << 20, EM_CUDA_GPU = 190 };

void trouble(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fflush(stdout);
    fputs("sass: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory)
        trouble("out of memory");
    return memory;
}

struct file read_file(const char *path)
{
    struct file f = {.path = path};
    FILE *in = fopen(path, "rb");
    size_t room = 1 << 16, n;

    if (!in)
        trouble("%s: cannot be opened", path);
    f.bytes = allocate(room, 1);
    while ((n = fread(f.bytes + f.size, 1, room - 1 - f.size, in)) > 0) {
        f.size += n;
        if (f.size < room - 1)
            continue;
        room *= 2;
        f.bytes = room > MAX_FILE ? NULL : realloc(f.bytes, room);
        if (!f.bytes)
            trouble("%s: too large", path);
    }
    if (ferror(in))
        trouble("%s: cannot be read", path);
    fclose(in);
    f.bytes[f.size] = 0;
    return f;
}

/* ---- The ELF file ------------------------------------------------------------------------- */

struct bytes {
    const unsigned char *at;
    size_t size;
};

static Elf64_Ehdr header(const struct cubin *c)
{
    Elf64_Ehdr h;

    memcpy(&h, c->file.bytes, sizeof(h));
    return h;
}

static Elf64_Shdr section(const struct cubin *c, unsigned index)
{
    Elf64_Shdr s;

    memcpy(&s, c->file.bytes + header(c).e_shoff + (size_t)index * sizeof(s), sizeof(s));
    return s;
}

/* The contents of a section; empty if it has none or does not lie inside the file. */
static struct bytes contents(const struct cubin *c, const Elf64_Shdr *s)
{
    if (s->sh_type == SHT_NOBITS || s->sh_offset > c->file.size ||
        s->sh_size > c->file.size - s->sh_offset)
        return (struct bytes){c->file.bytes, 0};
    return (struct bytes){c->file.bytes + s->sh_offset, s->sh_size};
}

/* A NUL-terminated string of a string table, or "" if there is none. */
static const char *string_at(struct bytes table, size_t offset)
{
    if (offset >= table.size || !memchr(table.at + offset, 0, table.size - offset))
        return "";
    return (const char *)table.at + offset;
}

static const char *section_name(const struct cubin *c, const Elf64_Shdr *s)
{
    Elf64_Shdr names = section(c, header(c).e_shstrndx);

    return string_at(contents(c, &names), s->sh_name);
}

static bool find_section(const struct cubin *c, const char *prefix, const char *name, Elf64_Shdr *s)
{
    size_t n = strlen(prefix);

    for (unsigned i = 1; i < c->sections; i++) {
        const char *found;

        *s = section(c, i);
        found = section_name(c, s);
        if (!strncmp(found, prefix, n) && !strcmp(found + n, name))
            return true;
    }
    return false;
}

static unsigned arch_of_name(const char *path)
{
    size_t length = strlen(path);

    for (unsigned i = 0; i < COUNT(arch_names); i++) {
        char tail[32];
        size_t n = (size_t)snprintf(tail, sizeof(tail), ".sm_%s.cubin", arch_names[i]);

        if (length >= n && !strcmp(path + length - n, tail))
            return i;
    }
    trouble("%s: the name does not end in .sm_ARCH.cubin with a known architecture", path);
}

struct cubin open_cubin(const char *path)
{
    struct cubin c = {.arch = arch_of_name(path), .file = read_file(path)};
    Elf64_Ehdr h;
    unsigned sm;

    if (c.file.size < sizeof(h))
        trouble("%s: not a cubin: only %zu bytes", path, c.file.size);
    h = header(&c);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_CUDA_GPU)
        trouble("%s: not a cubin: no 64-bit ELF file for a GPU", path);
    if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum == 0 || h.e_shstrndx >= h.e_shnum ||
        h.e_shoff > c.file.size || h.e_shnum * sizeof(Elf64_Shdr) > c.file.size - h.e_shoff)
        trouble("%s: a broken or truncated cubin: no section table inside the file", path);
    c.sections = h.e_shnum;
    for (unsigned i = 1; i < c.sections; i++) {
        Elf64_Shdr s = section(&c, i);

        if (s.sh_type != SHT_NOBITS && s.sh_size > 0 && contents(&c, &s).size != s.sh_size)
            trouble("%s: a broken or truncated cubin: section %u ends outside the file", path, i);
    }
    /* The sm number moved from the lowest byte of e_flags to the second with ABI version 8. */
    sm = h.e_ident[EI_ABIVERSION] >= 8 ? h.e_flags >> 8 & 0xff : h.e_flags & 0xff;
    if (sm != strtoul(arch_names[c.arch], NULL, 10))
        trouble("%s: the file is for sm_%u, its name says sm_%s", path, sm, arch_names[c.arch]);
    return c;
}

static Elf64_Sym symbol_at(struct bytes table, size_t index)
{
    Elf64_Sym s;

    memset(&s, 0, sizeof(s));
    if (index < table.size / sizeof(s))
        memcpy(&s, table.at + index * sizeof(s), sizeof(s));
    return s;
}

static uint32_t u32_at(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* .nv.info is a list of attributes: format, number, and 2 bytes of value or, with format 4, of size
 * before the value. Number 0x2f holds pairs of a symbol's index and its register count. */
static long register_count(const struct cubin *c, const char *kernel)
{
    Elf64_Shdr s, symtab, strtab;
    struct bytes info, symbols, strings;

    if (!find_section(c, ".nv.info", "", &s) || !find_section(c, ".symtab", "", &symtab) ||
        !find_section(c, ".strtab", "", &strtab))
        return -1;
    info = contents(c, &s), symbols = contents(c, &symtab), strings = contents(c, &strtab);
    for (size_t i = 0; i + 4 <= info.size;) {
        const unsigned char *p = info.at + i;
        size_t size = p[0] == 4 ? (size_t)p[2] | (size_t)p[3] << 8 : 0;

        if (size > info.size - i - 4)
            return -1;
        if (p[0] == 4 && p[1] == 0x2f && size == 8 &&
            !strcmp(string_at(strings, symbol_at(symbols, u32_at(p + 4)).st_name), kernel))
            return (long)u32_at(p + 8);
        i += 4 + size;
    }
    return -1;
}

/* ---- Instructions ------------------------------------------------------------------------- */

bool mnemonic_exists(const char *name)
{
    for (size_t i = 0; i < COUNT(opcodes); i++)
        if (!strcmp(opcodes[i].name, name))
            return true;
    return false;
}

/* By architecture and opcode; filled once, because every instruction of every cubin is looked
 * up. */
static const char *mnemonics[ARCHS][1 << 12];

static const char *mnemonic(unsigned code, unsigned arch)
{
    static bool filled;

    for (size_t i = 0; i < COUNT(opcodes) && !filled; i++)
        for (unsigned a = 0; a < ARCHS; a++)
            if (opcodes[i].archs >> a & 1)
                mnemonics[a][opcodes[i].code] = opcodes[i].name;
    filled = true;
    if (!mnemonics[arch][code] || (forgotten && !strcmp(mnemonics[arch][code], forgotten)))
        return "";
    return mnemonics[arch][code];
}

bool is(const struct instruction *i, const char *name)
{
    return !strcmp(i->name, name);
}

/* CS2R and CS2UR read the clock in one step, S2R and S2UR through a scoreboard; all name the
 * special register in bits 72-79: 0x50 SR_CLOCKLO, 0x51 SR_CLOCKHI, 0x52 SR_GLOBALTIMERLO. */
bool is_clock(const struct instruction *i)
{
    return (i->hi >> 8 & 0xff) == 0x50 &&
           (is(i, "CS2R") || is(i, "CS2UR") || is(i, "S2R") || is(i, "S2UR"));
}

/* Bit 80: both halves. CS2UR is that of the uniform data path (sm_120). */
bool is_direct_clock(const struct instruction *i)
{
    return is_clock(i) && (is(i, "CS2R") || is(i, "CS2UR")) && (i->hi >> 16 & 1);
}

/* Bits 12-15: the predicate's number, 7 for none, and bit 15 for its opposite. */
bool is_guarded(const struct instruction *i)
{
    return (i->lo >> 12 & 15) != 7;
}

/* 15 is !PT: sm_80 to sm_89 put "@!UPT UIADD3 URZ, URZ, URZ, URZ" between matrix products, and LDS
 * of that kind stand before a wait for copies. */
bool is_filler(const struct instruction *i)
{
    return is(i, "NOP") || (i->lo >> 12 & 15) == 15;
}

bool leaves(const struct instruction *i)
{
    static const char *const names[] = {"BRA", "BRX", "CALL", "EXIT", "JMP", "JMX", "RET"};

    for (size_t k = 0; k < COUNT(names); k++)
        if (is(i, names[k]))
            return true;
    return false;
}

/* Bits 73-75 hold the width: 4, 5, 6 for 32, 64, 128 bits; 256 bits have opcodes of their own. */
unsigned width_of(const struct instruction *i)
{
    unsigned code = i->lo & 0xfff, field = i->hi >> 9 & 7;

    if (code == 0x97e || code == 0x97f)
        return 256;
    return field == 4 ? 32 : field == 5 ? 64 : field == 6 ? 128 : 0;
}

unsigned write_scoreboard(const struct instruction *i)
{
    return i->hi >> 46 & 7;
}

/* The wait mask stalls an instruction whatever its guard says. DEPBAR.LE SBn,0 waits by itself:
 * bit 47 set, scoreboard in bits 44-46, tolerated count in bits 38-43. */
bool waits_on(const struct instruction *i, unsigned scoreboard)
{
    if (i->hi >> (52 + scoreboard) & 1)
        return true;
    return is(i, "DEPBAR") && (i->lo >> 47 & 1) && (i->lo >> 44 & 7) == scoreboard &&
           (i->lo >> 38 & 63) == 0;
}

static int64_t sign_extend(uint64_t value, unsigned bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* The target of the BRA at index i, or -1 if it lies outside the kernel. The offset counts from the
 * next instruction. Up to sm_89 it is in bytes, in bits 32-81 (bits 32 and 33 are modifiers). From
 * sm_90 on it is in words of 4 bytes, the low 8 bits in bits 16-23, the others in bits 34-81. */
static long branch_target(const struct kernel *k, size_t i, bool old)
{
    uint64_t lo = k->code[i].lo, high = k->code[i].hi & 0x3ffff;
    int64_t offset = old ? sign_extend((lo >> 32 & 0xfffffffc) | high << 32, 50)
                         : 4 * sign_extend((lo >> 16 & 0xff) | lo >> 34 << 8 | high << 38, 56);
    int64_t at = (int64_t)(16 * (i + 1)) + offset;

    return at >= 0 && at % 16 == 0 && at / 16 < (int64_t)k->n ? (long)(at / 16) : -1;
}

/* Where control goes from the instruction at i. Calls return; where calls and BRX go is unknown. */
static void find_successors(struct kernel *k, size_t i, bool old)
{
    struct instruction *x = &k->code[i];
    bool plain = (x->lo & 0xfff) == 0x947, guarded = is_guarded(x);
    /* BRA.DIV leaves for an out-of-line copy of what follows, a shuffle or a vote, where the warp
     * has diverged; that copy is not followed. */
    bool divergent = plain && (old ? (x->lo >> 32 & 3) == 2 : x->hi >> 27 & 1);
    /* No guard, no second predicate, none of .U .DIV .CONV .ANY. */
    bool always = plain && !guarded && !(old && (x->lo >> 32 & 3)) &&
                  (x->hi >> 18 & 0x7fffff) == 0x03800000 >> 18;

    x->jump = is(x, "BRA") && !divergent ? branch_target(k, i, old) : -1;
    x->falls = i + 1 < k->n && (is(x, "BRA") ? !always : !leaves(x) || is(x, "CALL") || guarded);
}

static void decode(struct kernel *k, struct bytes text, unsigned arch)
{
    k->n = text.size / 16;
    k->code = allocate(k->n, sizeof(*k->code));
    for (size_t i = 0; i < k->n; i++) {
        struct instruction *x = &k->code[i];

        memcpy(&x->lo, text.at + 16 * i, 8);
        memcpy(&x->hi, text.at + 16 * i + 8, 8);
        x->arch = arch;
        x->name = mnemonic(x->lo & 0xfff, arch);
        find_successors(k, i, strtol(arch_names[arch], NULL, 10) < 90);
    }
}

bool load_kernel(const struct cubin *c, unsigned index, struct kernel *k)
{
    static const char prefix[] = ".text.";
    Elf64_Shdr s = section(c, index), shared;
    const char *name = section_name(c, &s);
    long reserved = strtol(arch_names[c->arch], NULL, 10) >= 90 ? 1024 : 0;
    struct bytes text = contents(c, &s);

    if (strncmp(name, prefix, sizeof(prefix) - 1) || s.sh_type != SHT_PROGBITS)
        return false;
    name += sizeof(prefix) - 1;
    if (strlen(name) >= sizeof(k->name))
        trouble("%s: a kernel's name is too long", c->file.path);
    strcpy(k->name, name);
    if (text.size == 0 || text.size % 16)
        trouble("%s: %s: its code is no sequence of 16-byte instructions", c->file.path, k->name);
    decode(k, text, c->arch);
    k->regs = register_count(c, k->name);
    k->smem = 0;
    if (find_section(c, ".nv.shared.", k->name, &shared) && shared.sh_size <= 1 << 20)
        k->smem = (long)shared.sh_size > reserved ? (long)shared.sh_size - reserved : 0;
    return true;
}

/* ---- Control flow ------------------------------------------------------------------------- */

bool leads_to(const struct kernel *k, size_t from, size_t to)
{
    return k->code[from].jump == (long)to || (k->code[from].falls && from + 1 == to);
}

void spread(const struct kernel *k, unsigned char *set, const unsigned char *within)
{
    size_t *stack = allocate(k->n, sizeof(*stack)), depth = 0;

    for (size_t i = 0; i < k->n; i++)
        if (set[i])
            stack[depth++] = i;
    while (depth > 0) {
        size_t i = stack[--depth];
        long next[2] = {k->code[i].falls ? (long)i + 1 : -1, k->code[i].jump};

        for (size_t e = 0; e < 2; e++) {
            long to = next[e];

            if (to >= 0 && !set[to] && (!within || within[to])) {
                set[to] = 1;
                stack[depth++] = (size_t)to;
            }
        }
    }
    free(stack);
}

bool natural_loop(const struct kernel *k, size_t head, unsigned char *body)
{
    unsigned char *reached = allocate(k->n, 1), *others = allocate(k->n, 1);
    unsigned char *without = allocate(k->n, 1); /* all but the header */
    bool found = false;

    memset(body, 0, k->n);
    memset(without, 1, k->n);
    reached[0] = 1;
    others[0] = head != 0;
    without[head] = 0;
    spread(k, reached, NULL);
    spread(k, others, without);
    for (size_t i = 0; i < k->n; i++)
        if (reached[i] && !others[i] && leads_to(k, i, head))
            body[i] = found = true;
    for (bool changed = found; changed;) {
        changed = false;
        for (size_t i = k->n; i-- > 0;) {
            const struct instruction *x = &k->code[i];
            bool falls = x->falls && i + 1 != head && body[i + 1];
            bool jumps = x->jump >= 0 && x->jump != (long)head && body[x->jump];

            if (i != head && reached[i] && !body[i] && (falls || jumps))
                body[i] = changed = true;
        }
    }
    body[head] = found;
    free(reached);
    free(others);
    free(without);
    return found;
}
