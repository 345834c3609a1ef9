/* The checks of "sass-loop:", in the body of a loop, and of "sass-all:", in the whole kernel. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stdlib.h>
#include <string.h>

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
        append(k->wrong,
               "; expected together, found a wait for the %s at 0x%zx before the one at "
               "0x%zx",
               class->name, 16 * i, 16 * j);
    free(after);
    free(late);
    return j < n;
}

/* Loads of shared memory return in order, and only the last of several may set a scoreboard: those
 * without are as late as it. But one of the class must set one. */
static bool sets_scoreboard(const struct check *k, const unsigned char *set)
{
    const struct word *class = &k->contract->classes[0];
    size_t first = k->kernel->n;

    for (size_t i = k->kernel->n; i-- > 0;) {
        if (!set[i] || !in_class(&k->kernel->code[i], class))
            continue;
        if (write_scoreboard(&k->kernel->code[i]) < 6)
            return true;
        first = i;
    }
    if (first < k->kernel->n)
        append(k->wrong, "; expected together, found that the %s at 0x%zx sets no scoreboard",
               class->name, 16 * first);
    return false;
}

/* first: the loop's header, which closes the turn; the kernel's size for a whole kernel. */
static void check_together(const struct check *k, const unsigned char *set, size_t first)
{
    size_t n = k->kernel->n;
    unsigned char *within = allocate(n, 1);
    bool right = sets_scoreboard(k, set);

    memcpy(within, set, n);
    if (first < n)
        within[first] = 0;
    for (size_t i = 0; i < n && right; i++) {
        const struct instruction *x = &k->kernel->code[i];

        if (set[i] && in_class(x, &k->contract->classes[0]) && write_scoreboard(x) < 6)
            right = !waits_too_early(k, within, i);
    }
    append(k->found, " together");
    free(within);
}

/* Counted instructions that run only where a predicate holds: none, where the line names no
 * number. */
static void expect_guarded(const struct check *k, const unsigned char *set)
{
    const struct word *w = limit(k->contract, "guarded");
    long count = 0;

    for (size_t i = 0; i < k->kernel->n; i++)
        count += set[i] && is_guarded(&k->kernel->code[i]) &&
                 counted(k->contract, &k->kernel->code[i]) && !leaves(&k->kernel->code[i]);
    if (w)
        expect(k, w, count);
    else if (count > 0 && k->contract->kind == LOOP)
        append(k->wrong, "; expected guarded=0, found %ld", count);
}

static void check_set(const struct check *k, const unsigned char *set, size_t first)
{
    const struct contract *c = k->contract;
    const struct word *other = limit(c, "other");

    for (size_t w = 0; w < c->class_count; w++)
        expect(k, &c->classes[w], count_class(k, set, &c->classes[w]));
    if (other)
        expect(k, other, count_other(k, set));
    expect_guarded(k, set);
    check_sleep(k, set);
    if (c->together)
        check_together(k, set, first);
}

/* The header of the innermost loop with the most of the first class, or of the outermost one where
 * the line says so; n where there is none. */
static size_t choose_loop(const struct check *k)
{
    const struct kernel *kernel = k->kernel;
    size_t n = kernel->n, chosen = n;
    long *counts = allocate(n, sizeof(*counts)), best = 0; /* by header */
    unsigned char *body = allocate(n, 1), *inside = allocate(n, 1);

    for (size_t i = 0; i < n; i++) {
        long h = kernel->code[i].jump;

        if (h >= 0 && counts[h] == 0 && natural_loop(kernel, (size_t)h, body))
            counts[h] = count_class(k, body, &k->contract->classes[0]);
        for (size_t j = 0; h >= 0 && counts[h] > 0 && j < n; j++)
            inside[j] = inside[j] || (body[j] && j != (size_t)h);
    }
    for (size_t h = 0; h < n; h++) {
        bool wanted = !k->contract->outer || !inside[h];

        if (counts[h] <= best)
            continue;
        natural_loop(kernel, h, body);
        for (size_t j = 0; j < n && wanted && !k->contract->outer; j++)
            wanted = !(j != h && body[j] && counts[j] > 0);
        if (wanted)
            best = counts[h], chosen = h;
    }
    free(counts);
    free(inside);
    free(body);
    return chosen;
}

/* In one turn, the first instruction of class `to` behind one of class `from`, on a path without
 * one of class `without`, if that is not NULL; the kernel's size where there is none. What runs
 * only where a predicate holds does not stand in the way. */
static size_t comes_behind(const struct check *k, const unsigned char *body, size_t header,
                           const struct word *from, const struct word *without,
                           const struct word *to)
{
    size_t n = k->kernel->n, i = 0;
    unsigned char *within = allocate(n, 1), *after = allocate(n, 1);

    for (size_t j = 0; j < n; j++) {
        const struct instruction *x = &k->kernel->code[j];

        within[j] = body[j] && j != header &&
                    (!without || is_guarded(x) || !in_class(x, without));
        after[j] = body[j] && in_class(x, from);
    }
    spread(k->kernel, after, within);
    while (i < n && !(after[i] && in_class(&k->kernel->code[i], to)))
        i++;
    free(after);
    free(within);
    return i;
}

static void check_ahead(const struct check *k, const unsigned char *body, size_t header)
{
    const struct word *classes = k->contract->classes;
    const size_t i = comes_behind(k, body, header, &classes[0], NULL, &classes[1]);

    if (i < k->kernel->n)
        append(k->wrong, "; expected ahead, found the %s at 0x%zx behind the %s of its turn",
               classes[1].name, 16 * i, classes[0].name);
    append(k->found, " ahead");
}

static void check_between(const struct check *k, const unsigned char *body, size_t header)
{
    const struct word *class = k->contract->classes;
    const struct word *last = &class[k->contract->class_count - 1];
    size_t n = k->kernel->n, i = n;

    append(k->found, " between");
    if (comes_behind(k, body, header, class, NULL, last) == n) {
        append(k->wrong, "; expected between, found no way from the %s to the %s", class->name,
               last->name);
        return;
    }
    for (; class + 1 < last && i == n; class++)
        i = comes_behind(k, body, header, class, class + 1, last);
    if (i < n)
        append(k->wrong,
               "; expected between, found a way from the %s to the %s at 0x%zx without the %s",
               class[-1].name, last->name, 16 * i, class->name);
}

void check_loop(const struct check *k)
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
        if (k->contract->ahead)
            check_ahead(k, body, header);
        if (k->contract->between)
            check_between(k, body, header);
        if (k->contract->moving)
            check_moving(k, body, header);
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

void check_whole(const struct check *k)
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
        if (leaves(x) && !is(x, "BRA") && !is(x, "EXIT") && !(k->contract->calls && is(x, "CALL")))
            append(k->wrong, "; expected a straight line, found %s at 0x%zx", x->name, 16 * i);
    }
    check_set(k, reached, kernel->n);
    free(reached);
}
