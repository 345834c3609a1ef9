/* What an instruction reads and writes, and how: operands, scopes, cache hints. operands.c says
 * what is decoded from where. */
#ifndef OPERANDS_H
#define OPERANDS_H

#include "cubin.h"

/* A set of places that hold values: registers R0 to R254 from 0, uniform registers from 256,
 * predicates from 512, uniform predicates from 520, and all of shared memory as one place, 528. */
enum { UNIFORM = 256, PREDICATE = 512, UNIFORM_PREDICATE = 520, SHARED = 528, PLACES = 576 };

struct places {
    uint64_t bits[PLACES / 64];
};

void add_place(struct places *set, unsigned place);
bool has_place(const struct places *set, unsigned place);
bool meet(const struct places *a, const struct places *b);
bool add_places(struct places *set, const struct places *more); /* true: it grew */
void remove_places(struct places *set, const struct places *less);

struct places writes_of(const struct instruction *i);
struct places reads_of(const struct instruction *i);
/* What a counted instruction has to get from its predecessor in a chain: its address where it
 * accesses memory (an atomic operation's operands too), else any operand. */
struct places needs_of(const struct instruction *i);

struct places address_of(const struct instruction *i); /* of the memory that it accesses */
bool reads_thread(const struct instruction *i); /* S2R of the thread's or the lane's number */
bool is_memory(const struct instruction *i);    /* an access with an address in registers */

/* Modifiers of a class, without the dot: "gpu", "na", "block", ... A number is a modifier, too. */
bool modifier_exists(const char *name);
bool has_modifier(const struct instruction *i, const char *name);
bool is_scope(const char *name);
bool is_hint(const char *name);
bool has_usual_hint(const struct instruction *i);

#endif
