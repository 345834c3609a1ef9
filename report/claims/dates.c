/* When each rule got its present form, and whether that was before the measurement that it judges.
 * tests/contract/rules.py holds the list against the rules, and writes it (--update): a rule or a
 * threshold that changes needs a new date. */
#include <stdio.h>
#include <string.h>

#include "report/bundle/counted.h"
#include "report/claims/claims.h"

// clang-format off
static const struct {
    const char *id, *since, *hash; /* hash: of the rule's text and thresholds */
} dates[] = {
    {"C01", "2026-11-21", "e048ed591998"},
    {"C02", "2026-11-21", "b79286104615"},
    {"C02b", "2026-11-21", "ea0d6c9954d4"},
    {"C05", "2026-11-22", "f03435e12956"},
    {"C06", "2026-11-21", "e141a126ce7c"},
    {"C10", "2026-11-21", "0a2798b6e428"},
    {"C11", "2026-11-21", "8de0b6016a8f"},
    {"C12", "2026-11-21", "2c6bc54c9c9c"},
    {"C13", "2026-11-21", "2a5cb2c0aeee"},
    {"C14", "2026-11-21", "f13d8dbc3747"},
    {"C15", "2026-11-21", "ed8ee6dc5e46"},
    {"C16", "2026-11-21", "959f7e7c128f"},
    {"C17", "2026-11-21", "23bb02045a5f"},
    {"C20", "2026-11-21", "b461d2c97c43"},
    {"C21", "2026-11-21", "53cede9d9b85"},
    {"C22", "2026-11-21", "f4d0adea6553"},
    {"C23", "2026-11-21", "db5d0fe4a2a7"},
    {"C24", "2026-11-21", "9884513d1688"},
    {"C25", "2026-11-21", "89d6e1c02bee"},
    {"C26", "2026-11-21", "1997879ab146"},
    {"C27", "2026-11-21", "4ebc5fd51dbb"},
    {"C28", "2026-11-21", "09ae6552cc11"},
    {"C29", "2026-11-21", "5de4f76efb1f"},
    {"C33", "2026-11-21", "3bcb6fc0f3b7"},
    {"C34", "2026-11-21", "5a4877b682cb"},
    {"C37", "2026-11-21", "387701853b69"},
    {"C38", "2026-11-21", "5908bda2c1a0"},
    {"C39", "2026-11-21", "a68c743b6c96"},
    {"C40", "2026-11-21", "50d31a9b0d0c"},
    {"C41", "2026-11-21", "92387413be05"},
    {"C42", "2026-11-21", "c52996cc3479"},
    {"C43", "2026-11-21", "d2b172989dab"},
    {"C43b", "2026-11-21", "d868c39684ae"},
    {"C44", "2026-11-21", "295297b00dd4"},
    {"C45", "2026-11-21", "37a842ef99a6"},
    {"C46", "2026-11-22", "310a238b956b"},
    {"C50", "2026-11-21", "0c90dec2a97c"},
    {"C50b", "2026-11-21", "2433b4b88461"},
    {"C50c", "2026-11-21", "3958ef3360d4"},
    {"C52", "2026-11-21", "1afe4b28088c"},
    {"C54", "2026-11-21", "8a2bd5b915f3"},
    {"C55", "2026-11-21", "ae26d4bfae0d"},
    {"C56", "2026-11-21", "e35974d53022"},
    {"C57", "2026-11-21", "0d1a6ef37b4c"},
    {"C58", "2026-11-21", "bac08cc46749"},
    {"C59", "2026-11-21", "c4381c8bd271"},
    {"C60", "2026-11-21", "740e27e6644d"},
    {"C61", "2026-11-21", "95da64e5f67f"},
    {"C61a", "2026-11-21", "fdaa341e0f5a"},
    {"C63", "2026-11-21", "5215924577e3"},
    {"C64", "2026-11-21", "da7a8c724a50"},
    {"C65", "2026-11-21", "af032c8492da"},
    {"C66", "2026-11-21", "76366f7995e8"},
    {"C67", "2026-11-21", "3e6511c75d32"},
    {"C68", "2026-11-21", "76f903c7b8e9"},
    {"C69", "2026-11-21", "f67ad646cb0b"},
    {"C71", "2026-11-21", "7181f1ffb377"},
    {"C75", "2026-11-21", "d2cc54a43302"},
    {"C76", "2026-11-21", "fd8ad5dc9df5"},
    {"C77", "2026-11-21", "fe8e8c91e0a2"},
    {"C78", "2026-11-21", "2f71fadf67b8"},
    {"C79", "2026-11-21", "5b445090f240"},
    {"C80", "2026-11-22", "598a88d76672"},
    {"C81", "2026-11-21", "d9eaf5f4455f"},
    {"C82", "2026-11-21", "0e9b8d07b1b5"},
    {"C83", "2026-11-21", "52c736354ce2"},
    {"C84", "2026-11-21", "e7e962d9b534"},
    {"C85", "2026-11-21", "b43426dd6aa9"},
    {"C86", "2026-11-21", "8ab92fe551bd"},
    {"C87", "2026-11-21", "621e0419d820"},
    {"C89", "2026-11-21", "909d6035a30d"},
    {"C90", "2026-11-21", "4af7347ce6d1"},
    {"C91", "2026-11-21", "775013872831"},
};
// clang-format on

const char *claim_since(const struct claim *claim)
{
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++)
        if (!strcmp(dates[i].id, claim->id))
            return dates[i].since;
    return claim->since;
}

/* Is a need's metric one of that program? "*" stands for any program. */
static bool is_of(const char *need, const char *program)
{
    const size_t length = strcspn(need, ".");
    return (length == 1 && need[0] == '*') ||
           (strlen(program) == length && !strncmp(need, program, length));
}

/* The older of two moments, of which the first may be missing. */
static const char *older(const char *a, const char *b)
{
    return a && (!b || strcmp(a, b) <= 0) ? a : b;
}

/* When what a need takes was measured, or counted: the oldest of it; NULL: it is not there. */
static const char *measured(const struct bundle *bundle, const struct need *need)
{
    const char *oldest = NULL;
    size_t n;

    if (need->kind == NEED_COUNTED) {
        const char *of = counted_split(need->id, &n);
        const struct counted *from = of ? counted_find(bundle, of, strcspn(of, ".")) : NULL;
        return from ? from->from : NULL;
    }
    if (is_of(need->id, "derived"))
        oldest = document_get_text(bundle->head, "started", NULL);
    for (size_t i = 0; i < bundle->n_parts; i++)
        if (is_of(need->id, bundle->parts[i].name))
            oldest = older(oldest, bundle->parts[i].from);
    return oldest;
}

char *claim_dates(const struct claim *claim, const struct bundle *bundle, char text[CLAIM_DATES])
{
    const char *since = claim_since(claim), *from = NULL;
    enum { DAY = 10 }; /* "2026-11-22" */

    text[0] = '\0';
    if (!claim->judge || !since)
        return text;
    for (const struct need *const *list = claim->needs; *list; list++)
        for (const struct need *need = *list; need->id; need++)
            from = older(from, measured(bundle, need));
    if (!from) {
        snprintf(text, CLAIM_DATES, "rule of %.10s", since);
        return text;
    }
    const int order = strncmp(since, from, DAY);
    snprintf(text, CLAIM_DATES, "rule of %.10s, bundle of %.10s%s", since, from,
             order < 0    ? ""
             : order == 0 ? ": same day"
                          : ": rule changed after the measurement");
    return text;
}
