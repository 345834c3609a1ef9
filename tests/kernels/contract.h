/* Contracts, as written in the comments of a .cu; sass.c explains their meaning. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "operands.h"

enum { MAX_WORDS = 16, MAX_LIST = 64, MAX_MODIFIERS = 4 };

enum relation { EQUAL, AT_MOST, AT_LEAST };
enum kind { INTERVALS, LOOP, WHOLE };

struct word {
    char name[48];
    const char *const *sum; /* a class: the mnemonics that belong to it, up to NULL; or NULL, and */
    char mnemonic[32];      /* then the single mnemonic, */
    unsigned width;         /* with this many bits a lane, 0 for any, */
    char modifiers[MAX_MODIFIERS][12]; /* and only with these */
    size_t modifier_count;
    bool always; /* and only without a guard */
    enum relation relation;
    size_t count;           /* of the numbers */
    long numbers[MAX_LIST]; /* -1 means * */
};

struct contract {
    enum kind kind;
    unsigned line, last_line;
    size_t end;       /* offset in the source after the comment */
    char kernel[512]; /* from kernel=, or the definition below */
    bool glob;
    unsigned archs;
    bool none, waited, looped, together, chain, moving, outer, ahead, between, calls, closed;
    struct word classes[MAX_WORDS], limits[MAX_WORDS]; /* limits: see is_limit() */
    size_t class_count, limit_count;
};

struct source {
    struct file file;
    char *code; /* the file with comments, strings and preprocessor lines blanked */
    struct contract *contracts;
    size_t contract_count;
    unsigned bare; /* kernels without a contract; each was reported */
};

struct source read_source(const char *path); /* free contracts, code, file.bytes */
bool speaks_of(const struct contract *c, const char *kernel);
bool says_something(const struct contract *c);
bool in_class(const struct instruction *i, const struct word *class);

#endif
