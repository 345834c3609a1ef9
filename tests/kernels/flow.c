/* Where values come from: chains of dependent instructions, and addresses that move. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* ---- chain -------------------------------------------------------------------------------- */

/* In the order of addresses; result holds what derives from the last counted instruction. Those that
 * bring nothing, like a wait, are no links. */
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

/* What each place of a loop derives from within it, in whatever order. */
static void derive(const struct kernel *k, const unsigned char *body, struct places *from)
{
    memset(from, 0, PLACES * sizeof(*from));
    for (size_t i = 0; i < k->n; i++) {
        struct places writes, reads;

        if (!body[i])
            continue;
        writes = writes_of(&k->code[i]), reads = reads_of(&k->code[i]);
        for (unsigned p = 0; p < PLACES; p++)
            if (has_place(&writes, p))
                add_places(&from[p], &reads);
    }
    for (unsigned via = 0; via < PLACES; via++)
        for (unsigned p = 0; p < PLACES; p++)
            if (has_place(&from[p], via))
                add_places(&from[p], &from[via]);
}

/* The places that change from turn to turn: those that derive from their own value in an earlier
 * turn, and what derives from them. */
static struct places find_variables(const struct kernel *k, const unsigned char *body)
{
    struct places *from = allocate(PLACES, sizeof(*from)), carried = {{0}}, result;

    derive(k, body, from);
    for (unsigned p = 0; p < PLACES; p++)
        if (has_place(&from[p], p))
            add_place(&carried, p);
    result = carried;
    for (unsigned p = 0; p < PLACES; p++)
        if (meet(&from[p], &carried))
            add_place(&result, p);
    free(from);
    return result;
}

/* The places that differ from thread to thread before each instruction. */
static struct places *find_threads(const struct kernel *k)
{
    struct places *before = allocate(k->n + 1, sizeof(*before));

    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < k->n; i++) {
            const struct instruction *x = &k->code[i];
            struct places after = before[i], writes = writes_of(x), reads = reads_of(x);

            if (reads_thread(x) || meet(&reads, &before[i]))
                add_places(&after, &writes);
            else if (!is_guarded(x))
                remove_places(&after, &writes);
            if (x->falls)
                changed = add_places(&before[i + 1], &after) || changed;
            if (x->jump >= 0)
                changed = add_places(&before[x->jump], &after) || changed;
        }
    }
    return before;
}

void check_moving(const struct check *k, const unsigned char *body)
{
    struct places variables = find_variables(k->kernel, body);
    struct places *threads = find_threads(k->kernel);

    for (size_t i = 0; i < k->kernel->n; i++) {
        const struct instruction *x = &k->kernel->code[i];
        struct places address;
        bool turns, lanes;

        if (!body[i] || !in_class(x, &k->contract->classes[0]))
            continue;
        address = address_of(x);
        turns = meet(&address, &variables);
        lanes = meet(&address, &threads[i]) || !is_memory(x);
        if (turns && lanes)
            continue;
        append(k->wrong, "; expected moving, found the %s at 0x%zx at the same address in each %s",
               x->name, 16 * i, turns ? "thread" : "turn");
        break;
    }
    append(k->found, " moving");
    free(threads);
}
