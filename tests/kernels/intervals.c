/* The checks of "sass:", between reads of the clock. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* From the clock read at first to the one at last; the set holds the instructions in between. */
struct interval {
    size_t first, last;
    unsigned char *set;
};

/* Does the contract cover intervals that hold nothing of its classes? */
static bool keeps_empty(const struct contract *c)
{
    for (size_t i = 0; c->class_count > 0 && i < c->classes[0].count; i++) {
        bool zero = true;

        for (size_t w = 0; w < c->class_count; w++)
            zero = zero && c->classes[w].numbers[i] == 0;
        if (zero)
            return true;
    }
    return c->class_count == 0;
}

/* The intervals that the contract covers: see the top of this file. */
static size_t list_intervals(const struct check *k, struct interval *list)
{
    size_t count = 0, n = k->kernel->n, previous = n;
    const struct instruction *code = k->kernel->code;

    for (size_t i = 0; i < n; i++) {
        bool wanted = keeps_empty(k->contract);

        if (!is_clock(&code[i]))
            continue;
        for (size_t j = previous + 1; j < i && !wanted; j++)
            wanted = counted(k->contract, &code[j]);
        if (previous < n && wanted) {
            list[count] = (struct interval){previous, i, allocate(n, 1)};
            memset(list[count++].set + previous + 1, 1, i - previous - 1);
        }
        previous = i;
    }
    return count;
}

/* Does j hold everything behind it back until i has delivered? It waits on the scoreboard of i, or,
 * where the latency of i is fixed and it has none, uses the result of i. */
static bool holds_back(const struct kernel *k, size_t j, size_t i)
{
    unsigned scoreboard = write_scoreboard(&k->code[i]);
    struct places result, used;

    if (scoreboard < 6)
        return waits_on(&k->code[j], scoreboard);
    result = writes_of(&k->code[i]), used = reads_of(&k->code[j]);
    return meet(&result, &used);
}

/* Is there anything to wait for? A store or a barrier brings nothing. */
static bool delivers(const struct instruction *i)
{
    struct places result = writes_of(i);

    return write_scoreboard(i) < 6 || meet(&result, &result);
}

/* Can the instruction at `clock` issue before the one at i has delivered? Follows all paths from i
 * up to where something holds them back. */
static bool outruns(const struct kernel *k, size_t i, size_t clock)
{
    unsigned char *seen = allocate(k->n, 1);
    size_t *stack = allocate(2 * k->n + 2, sizeof(*stack)), depth = 0, at = i;
    bool reached = false;

    for (;;) {
        const struct instruction *x = &k->code[at];

        if (x->falls)
            stack[depth++] = at + 1;
        if (x->jump >= 0)
            stack[depth++] = (size_t)x->jump;
        while (depth > 0 && (seen[stack[depth - 1]] || holds_back(k, stack[depth - 1], i)))
            depth--;
        if (depth == 0)
            break;
        at = stack[--depth];
        seen[at] = 1;
        reached = reached || at == clock;
    }
    free(stack);
    free(seen);
    return reached;
}

/* What the first counted instruction of the interval begins with. */
static struct places beginning(const struct check *k, const struct interval *v)
{
    struct places none = {{0}};

    for (size_t i = v->first + 1; i < v->last; i++)
        if (counted(k->contract, &k->kernel->code[i]))
            return needs_of(&k->kernel->code[i]);
    return none;
}

/* Says what the opening clock read does not wait for; NULL: for nothing that is counted. Of
 * instructions with a fixed latency, which also serve as moves and for addresses, only those matter
 * whose result the interval begins with. */
static const char *opens_early(const struct check *k, const struct interval *v)
{
    const struct kernel *kernel = k->kernel;
    struct places begins = beginning(k, v);

    for (size_t i = 0; i < kernel->n; i++) {
        const struct instruction *x = &kernel->code[i];
        struct places result = writes_of(x);

        if (!counted(k->contract, x) || (write_scoreboard(x) >= 6 && !meet(&result, &begins)))
            continue;
        if (outruns(kernel, i, v->first))
            return "one before the opening clock is not waited for";
    }
    return NULL;
}

/* Says why the bracket holds other time than its counted instructions take; NULL: it does not. */
static const char *not_waited(const struct check *k, const struct interval *v)
{
    const struct instruction *code = k->kernel->code;
    size_t last = v->last;

    for (size_t i = v->first + 1; i < v->last; i++)
        if (counted(k->contract, &code[i]))
            last = i;
    if (last == v->last)
        return "there is nothing to wait for";
    if (!delivers(&code[last]))
        return "the last counted instruction brings nothing";
    for (size_t i = last + 1; i <= v->last; i++) {
        if (holds_back(k->kernel, i, last))
            return NULL;
        if (leaves(&code[i]))
            return "a branch comes before the wait";
    }
    return "the last load is not waited for";
}

/* A branch inside an interval; where a loop is allowed, so is the branch past it. An EXIT is none:
 * a thread that leaves records nothing. */
static void check_straight(const struct check *k, const struct interval *v, size_t index)
{
    for (size_t i = v->first + 1; i < v->last && !k->contract->looped; i++) {
        const struct instruction *x = &k->kernel->code[i];

        if (leaves(x) && !is(x, "EXIT"))
            append(k->wrong, "; expected a straight line, found a %s in interval %zu at 0x%zx",
                   x->jump >= 0 && (size_t)x->jump <= i ? "loop" : "branch", index + 1, 16 * i);
    }
}

/* Is the last counted instruction one of the first class: the barrier behind what is timed? */
static void check_closed(const struct check *k, const struct interval *v, size_t index)
{
    size_t last = v->last;

    for (size_t i = v->first + 1; i < v->last; i++)
        if (counted(k->contract, &k->kernel->code[i]))
            last = i;
    if (last < v->last && !in_class(&k->kernel->code[last], &k->contract->classes[0]))
        append(k->wrong, "; expected closed, found the %s at 0x%zx behind the %s, in interval %zu",
               k->kernel->code[last].name, 16 * last, k->contract->classes[0].name, index + 1);
}

static void check_interval(const struct check *k, const struct interval *v, size_t index)
{
    const char *why = k->contract->waited ? not_waited(k, v) : NULL;

    if (why)
        append(k->wrong, "; expected waited, found that %s in interval %zu (0x%zx to 0x%zx)", why,
               index + 1, 16 * v->first, 16 * v->last);
    why = k->contract->waited && !why ? opens_early(k, v) : NULL;
    if (why)
        append(k->wrong, "; expected waited, found that %s in interval %zu (0x%zx to 0x%zx)", why,
               index + 1, 16 * v->first, 16 * v->last);
    if (k->contract->chain)
        check_chain(k, v->set, index);
    if (k->contract->closed)
        check_closed(k, v, index);
    check_straight(k, v, index);
    check_sleep(k, v->set);
}

static bool skipped(const struct contract *c, size_t interval)
{
    return c->class_count > 0 && interval < c->classes[0].count &&
           c->classes[0].numbers[interval] < 0;
}

static void append_list(struct text *t, const long *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        append(t, numbers[i] < 0 ? "%s*" : "%s%ld", i ? "," : "", numbers[i]);
}

/* One number for all intervals, or one for each. */
static void expect_list(const struct check *k, const struct word *w, const long *found, size_t n)
{
    bool one = w->count == 1 && limit(k->contract, w->name) == w, right = one || w->count == n;

    for (size_t i = 0; i < n && right; i++) {
        long number = w->numbers[one ? 0 : i];
        right = number < 0 || found[i] < 0 || holds(w->relation, found[i], number);
    }
    append(k->found, " %s=", w->name);
    append_list(k->found, found, n);
    if (right)
        return;
    append(k->wrong, "; expected %s%s", w->name, relation_signs[w->relation]);
    append_list(k->wrong, w->numbers, w->count);
    append(k->wrong, ", found %s", n ? "" : "none");
    append_list(k->wrong, found, n);
}

void check_intervals(const struct check *k)
{
    const struct contract *c = k->contract;
    const struct word *other = limit(c, "other");
    struct interval *list;
    long *found;
    size_t n;

    if (c->class_count == 0 && !other && !c->waited)
        return;
    list = allocate(k->kernel->n, sizeof(*list));
    found = allocate(k->kernel->n, sizeof(*found));
    n = list_intervals(k, list);
    if (n == 0)
        append(k->wrong, "; expected counted instructions between clock reads, found none");
    for (size_t w = 0; w < c->class_count; w++) {
        for (size_t i = 0; i < n; i++)
            found[i] = count_class(k, list[i].set, &c->classes[w]);
        expect_list(k, &c->classes[w], found, n);
    }
    for (size_t i = 0; i < n; i++)
        if (!skipped(c, i))
            check_interval(k, &list[i], i);
    for (size_t i = 0; i < n && other; i++)
        found[i] = skipped(c, i) ? -1 : count_other(k, list[i].set);
    if (other)
        expect_list(k, other, found, n);
    append(k->found, c->waited ? " waited" : "");
    append(k->found, c->chain ? " chain" : "");
    append(k->found, c->closed ? " closed" : "");
    for (size_t i = 0; i < n; i++)
        free(list[i].set);
    free(found);
    free(list);
}
