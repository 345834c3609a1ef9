/*
 * Decodes cubins as far as contracts need it: kernels, their resources, their instructions, and
 * where control goes from each. It needs neither a GPU nor a tool of the vendor's.
 *
 * The encoding is not documented. It was derived from nvdisasm's output (opcodes.sh), and a new
 * architecture needs that again. From sm_75 on an instruction has 16 bytes. Opcode: bits 0-11.
 * Guard predicate: bits 12-15. Bits 105-125: stall count 4, yield 1, write scoreboard 3, read
 * scoreboard 3, wait mask 6.
 */
#ifndef CUBIN_H
#define CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { ARCHS = 7, ALL_ARCHS = (1 << ARCHS) - 1, NO_SCOREBOARD = 7 };
extern const char *const arch_names[ARCHS];

extern const char *forgotten; /* --forget=MNEMONIC, for the test that an unknown opcode fails */

_Noreturn void trouble(const char *format, ...); /* prints, exits 2 */
void *allocate(size_t count, size_t size);       /* zeroed, never NULL */

struct file {
    const char *path;
    unsigned char *bytes; /* a NUL follows, so that text can be searched */
    size_t size;
};

struct file read_file(const char *path);

struct cubin {
    struct file file;
    unsigned arch;     /* index into arch_names, from the file's name */
    unsigned sections; /* some of them are kernels */
};

struct instruction {
    uint64_t lo, hi;
    const char *name; /* the mnemonic, "" where the table lacks the opcode */
    long jump;        /* BRA: index of its target; -1: no BRA, or a target outside the kernel */
    bool falls;       /* the next instruction can follow */
    unsigned arch;    /* index into arch_names */
};

struct kernel {
    char name[512];
    long regs, smem; /* regs is -1 where the cubin does not say */
    struct instruction *code;
    size_t n;
};

struct cubin open_cubin(const char *path); /* free file.bytes */

/* False if the section is no kernel; otherwise free code. */
bool load_kernel(const struct cubin *c, unsigned index, struct kernel *k);

bool mnemonic_exists(const char *name);
bool is(const struct instruction *i, const char *name);
bool is_clock(const struct instruction *i);
bool is_direct_clock(const struct instruction *i); /* CS2R, 64 bits: takes no scoreboard */
bool is_filler(const struct instruction *i);       /* NOP, or under a guard that never holds */
bool is_guarded(const struct instruction *i);      /* runs only where a predicate holds */
bool leaves(const struct instruction *i);       /* BRA, EXIT, CALL and the like, guarded or not */
unsigned width_of(const struct instruction *i); /* of a memory access: bits a lane, 0: others */
unsigned write_scoreboard(const struct instruction *i);
bool waits_on(const struct instruction *i, unsigned scoreboard);

/* Control flow. A set has a byte for each instruction; where it may be NULL, that means all. */
bool leads_to(const struct kernel *k, size_t from, size_t to); /* in one step */
/* Adds to the set what can run after its members, step by step, without leaving `within`. */
void spread(const struct kernel *k, unsigned char *set, const unsigned char *within);
/* Makes body the natural loop of the header: everything that reaches a jump back to it without
 * passing the header. A jump back is one from a place that only the header leads to. A jump to a
 * lower address alone makes no loop: the out-of-line block of a rare case has one, too. False: no
 * loop. */
bool natural_loop(const struct kernel *k, size_t header, unsigned char *body);

#endif
