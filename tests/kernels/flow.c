/* Where values come from: chains of dependent instructions, and addresses that move. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- chain -------------------------------------------------------------------------------- */

/* In the order of addresses; result holds what derives from the last counted instruction. Those
 * that bring nothing, like a wait, are no links. */
void check_chain(const struct check *k, const unsigned char *set, size_t interval)
{
    struct places result = {{0}};
    bool begun = false;

    for (size_t i = 0; i < k->kernel->n; i++) {
        const struct instruction *x = &k->kernel->code[i];
        struct places reads, writes;

        if (!set[i])
            continue;
        writes = writes_of(x);
        if (counted(k->contract, x) && meet(&writes, &writes)) {
            reads = needs_of(x);
            if (begun && !meet(&reads, &result)) {
                append(k->wrong,
                       "; expected chain, found that the %s at 0x%zx does not need what the "
                       "one before it brought, in interval %zu",
                       x->name, 16 * i, interval + 1);
                return;
            }
            result = writes;
            begun = true;
            continue;
        }
        reads = reads_of(x);
        if (meet(&reads, &result))
            add_places(&result, &writes);
        else if (!is_guarded(x))
            remove_places(&result, &writes);
    }
}

/* ---- moving ------------------------------------------------------------------------------- */

/* One step forward: what has the property behind an instruction, given what has it before. A
 * guarded write leaves the old value in other threads. */
static struct places carry(const struct instruction *x, struct places before)
{
    struct places writes = writes_of(x), reads = reads_of(x);

    if (meet(&reads, &before))
        add_places(&before, &writes);
    else if (!is_guarded(x))
        remove_places(&before, &writes);
    return before;
}

/* Does control go from i to j inside the turn? The way back to the header ends it. */
static bool in_turn(const unsigned char *body, size_t header, long j)
{
    return j >= 0 && body[j] && (size_t)j != header;
}

/* The places that a turn takes over from the one before: it writes them, and some path reads them
 * before it writes them. */
static struct places taken_over(const struct kernel *k, const unsigned char *body, size_t header)
{
    struct places *live = allocate(k->n + 1, sizeof(*live)), result = {{0}};
    struct places written = {{0}};

    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = k->n; i-- > 0;) {
            const struct instruction *x = &k->code[i];
            struct places reads, writes, before = {{0}};

            if (!body[i])
                continue;
            reads = reads_of(x), writes = writes_of(x);
            if (x->falls && in_turn(body, header, (long)i + 1))
                add_places(&before, &live[i + 1]);
            if (in_turn(body, header, x->jump))
                add_places(&before, &live[x->jump]);
            if (!is_guarded(x))
                remove_places(&before, &writes);
            add_places(&before, &reads);
            add_places(&written, &writes);
            changed = add_places(&live[i], &before) || changed;
        }
    }
    for (unsigned p = 0; p < PLACES; p++)
        if (has_place(&live[header], p) && has_place(&written, p))
            add_place(&result, p);
    free(live);
    return result;
}

/* The places that change from turn to turn, before each instruction of the loop: those that a turn
 * takes over, and what is computed from them. */
static struct places *find_variables(const struct kernel *k, const unsigned char *body,
                                     size_t header)
{
    struct places *before = allocate(k->n + 1, sizeof(*before));

    before[header] = taken_over(k, body, header);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < k->n; i++) {
            const struct instruction *x = &k->code[i];
            struct places after;

            if (!body[i])
                continue;
            after = carry(x, before[i]);
            if (x->falls && in_turn(body, header, (long)i + 1))
                changed = add_places(&before[i + 1], &after) || changed;
            if (in_turn(body, header, x->jump))
                changed = add_places(&before[x->jump], &after) || changed;
        }
    }
    return before;
}

/* The places that differ from thread to thread before each instruction. */
static struct places *find_threads(const struct kernel *k)
{
    struct places *before = allocate(k->n + 1, sizeof(*before));

    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < k->n; i++) {
            const struct instruction *x = &k->code[i];
            struct places after = carry(x, before[i]), writes = writes_of(x);

            if (reads_thread(x))
                add_places(&after, &writes);
            if (x->falls)
                changed = add_places(&before[i + 1], &after) || changed;
            if (x->jump >= 0)
                changed = add_places(&before[x->jump], &after) || changed;
        }
    }
    return before;
}

void check_moving(const struct check *k, const unsigned char *body, size_t header)
{
    struct places *variables = find_variables(k->kernel, body, header);
    struct places *threads = find_threads(k->kernel);

    for (size_t i = 0; i < k->kernel->n; i++) {
        const struct instruction *x = &k->kernel->code[i];
        struct places address;
        bool turns, lanes;

        if (!body[i] || !in_class(x, &k->contract->classes[0]))
            continue;
        address = address_of(x);
        turns = meet(&address, &variables[i]);
        lanes = meet(&address, &threads[i]) || !is_memory(x);
        if (turns && lanes)
            continue;
        append(k->wrong, "; expected moving, found the %s at 0x%zx at the same address in each %s",
               x->name, 16 * i, turns ? "thread" : "turn");
        break;
    }
    append(k->found, " moving");
    free(variables);
    free(threads);
}
