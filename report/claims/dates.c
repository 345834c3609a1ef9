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
    {"C02", "2026-11-21", "50f398c99ea2"},
    {"C02b", "2026-11-22", "def5665d84ea"},
    {"C03", "2026-11-24T10:20Z", "35145613f88c"},
    {"C04", "2026-11-24T10:20Z", "acfda3fbde70"},
    {"C05", "2026-11-22", "f03435e12956"},
    {"C06", "2026-11-22", "8a3e35003039"},
    {"C07", "2026-11-23", "b397e6509be4"},
    {"C08", "2026-11-28T19:00Z", "7b6791d65ef3"},
    {"C10", "2026-11-21", "0a2798b6e428"},
    {"C11", "2026-11-21", "8de0b6016a8f"},
    {"C12", "2026-11-22", "d4053fcb4256"},
    {"C13", "2026-11-22", "ff817086c7b2"},
    {"C14", "2026-11-22T13:00Z", "2e5a5783da4f"},
    {"C14b", "2026-11-22", "b3429fb386d3"},
    {"C15", "2026-11-29T03:00Z", "998c3fe1da7a"},
    {"C15b", "2026-11-22", "ed8ee6dc5e46"},
    {"C16", "2026-11-21", "959f7e7c128f"},
    {"C17", "2026-11-22", "2460a8a612c5"},
    {"C17b", "2026-11-22", "52c715f65e44"},
    {"C18", "2026-11-23", "76aa774763b9"},
    {"C19", "2026-11-28T19:00Z", "e9d8dfc79fa9"},
    {"C20", "2026-11-22", "b1b371db5d38"},
    {"C21", "2026-11-22", "7698fffa8dce"},
    {"C22", "2026-11-22", "52effc15cc51"},
    {"C23", "2026-11-22", "703509aea860"},
    {"C24", "2026-11-22T13:00Z", "d8c16dce31a8"},
    {"C24b", "2026-11-28", "ba1e9296ef2e"},
    {"C25", "2026-11-22", "16bc75501f34"},
    {"C25b", "2026-11-22", "21ececb128ec"},
    {"C26", "2026-11-22", "cac8abe2b873"},
    {"C27", "2026-11-22", "27802105da66"},
    {"C28", "2026-11-29T18:40Z", "ef8587a1ff20"},
    {"C28a", "2026-11-22", "1b09a60c56d2"},
    {"C29", "2026-11-22T13:00Z", "70395ad21d50"},
    {"C29b", "2026-11-29T03:00Z", "63e65921539c"},
    {"C29c", "2026-11-29T03:00Z", "0639b7044118"},
    {"C30", "2026-11-24T10:35Z", "fc7cded9d689"},
    {"C31", "2026-11-24T10:35Z", "5ad44bc5b10e"},
    {"C31b", "2026-11-24T10:35Z", "51dc1aa6c4e6"},
    {"C32", "2026-11-23", "c023b96b489d"},
    {"C33", "2026-11-22T13:00Z", "e62f3d4f5d8c"},
    {"C34", "2026-11-22T13:20Z", "44f4b0b281b0"},
    {"C35", "2026-11-23T14:40Z", "d7affbbd7d06"},
    {"C36", "2026-11-24T10:35Z", "ba20b5689eea"},
    {"C37", "2026-11-22", "f069a562406c"},
    {"C37a", "2026-11-22", "b959378d6064"},
    {"C38", "2026-11-29T18:40Z", "c115a00014cb"},
    {"C38b", "2026-11-22", "c37dfdd3408b"},
    {"C39", "2026-11-22T13:00Z", "93baab692998"},
    {"C39b", "2026-11-22T13:00Z", "99c3bfe1756b"},
    {"C40", "2026-11-29T18:40Z", "ba65c033bfbb"},
    {"C40a", "2026-11-22", "374ab94276f6"},
    {"C40b", "2026-11-22", "53218e9c2910"},
    {"C41", "2026-11-29T18:40Z", "4c8f67eaf03d"},
    {"C41b", "2026-11-22", "14f650bd28dc"},
    {"C42", "2026-11-29T18:40Z", "4453a9fc3f9d"},
    {"C42a", "2026-11-29T18:40Z", "b919c8efcd1b"},
    {"C42b", "2026-11-22", "dd64a5b9cf8d"},
    {"C43", "2026-11-22", "17e08ba79d8f"},
    {"C43b", "2026-11-22", "ae9ebebae887"},
    {"C44", "2026-11-22", "b0ebfdf1db50"},
    {"C44b", "2026-11-22", "d138e3902d70"},
    {"C45", "2026-11-21", "37a842ef99a6"},
    {"C46", "2026-11-22", "d3cac7c7dfbe"},
    {"C47", "2026-11-23T14:40Z", "b563b22c4c2b"},
    {"C47b", "2026-11-28T19:10Z", "e512cb96cc90"},
    {"C48", "2026-11-27T09:05Z", "c84b0497308b"},
    {"C49", "2026-11-23T14:40Z", "d61ab6f5c589"},
    {"C50", "2026-11-22", "876c4633cb91"},
    {"C50b", "2026-11-22", "e4ac54f260b1"},
    {"C50c", "2026-11-22", "c9e3e09daf59"},
    {"C50d", "2026-11-22", "b0d4c17b2baf"},
    {"C51", "2026-11-29T18:00Z", "1464cac48bba"},
    {"C52", "2026-11-22", "bde726132d4d"},
    {"C53", "2026-11-24T10:35Z", "f6ff17a3a5bd"},
    {"C54", "2026-11-22", "f536068bbb5f"},
    {"C54b", "2026-11-22", "c3e1299d7d1f"},
    {"C54c", "2026-11-29T03:00Z", "5b77cf748a86"},
    {"C55", "2026-11-22", "4edec7ba17b7"},
    {"C55a", "2026-11-22", "b307bd36227f"},
    {"C55c", "2026-11-22", "827e599fce9a"},
    {"C56", "2026-11-22", "f7aac78266a4"},
    {"C57", "2026-11-22", "bc8aa5551049"},
    {"C58", "2026-11-22", "cde996b9aa89"},
    {"C59", "2026-11-22", "cff5718e5aa2"},
    {"C60", "2026-11-22", "fca19726f02f"},
    {"C61", "2026-11-21", "95da64e5f67f"},
    {"C61a", "2026-11-22", "f1c86805fc23"},
    {"C62", "2026-11-23T14:40Z", "23a0b11ceb0c"},
    {"C63", "2026-11-22T12:20Z", "118537200d61"},
    {"C64", "2026-11-22", "ddd899202152"},
    {"C65", "2026-11-22", "dab42afea5f3"},
    {"C66", "2026-11-22", "9358ac764d38"},
    {"C67", "2026-11-22", "5d977f9c448b"},
    {"C67b", "2026-11-22", "0094e637cdcb"},
    {"C68", "2026-11-22T13:00Z", "7c96310cf120"},
    {"C69", "2026-11-22T13:00Z", "2dd65761357c"},
    {"C70", "2026-11-28T18:55Z", "6bbeb580f7d2"},
    {"C71", "2026-11-22", "9033fa6ae3cc"},
    {"C72", "2026-11-24T10:35Z", "d34ce4ffe46a"},
    {"C74", "2026-11-28T18:55Z", "fc047a7030f8"},
    {"C75", "2026-11-22", "176b2d65c961"},
    {"C75b", "2026-11-22", "8f227f815b49"},
    {"C76", "2026-11-21", "fd8ad5dc9df5"},
    {"C77", "2026-11-22", "0da73900cb08"},
    {"C77b", "2026-11-22", "cacc05a0f58e"},
    {"C78", "2026-11-22", "d4db4ecde4c9"},
    {"C78b", "2026-11-22", "f39e654482b2"},
    {"C79", "2026-11-22", "8f8d0aafecf6"},
    {"C79b", "2026-11-22", "6c75d1068e66"},
    {"C79c", "2026-11-22", "c459db572d4f"},
    {"C80", "2026-11-22", "d748bcddf171"},
    {"C81", "2026-11-21", "d9eaf5f4455f"},
    {"C82", "2026-11-21", "0e9b8d07b1b5"},
    {"C83", "2026-11-21", "52c736354ce2"},
    {"C84", "2026-11-29T03:00Z", "4daf2b0760ec"},
    {"C84b", "2026-11-22", "93717524fb61"},
    {"C85", "2026-11-22T13:00Z", "acc2063c3f23"},
    {"C86", "2026-11-22", "73babc537aa1"},
    {"C87", "2026-11-22", "1b63107dff09"},
    {"C88", "2026-11-28T18:55Z", "6b666b3ce2a7"},
    {"C88b", "2026-11-27T15:02Z", "aae5a4c88519"},
    {"C89", "2026-11-22", "d49de0aa7610"},
    {"C89b", "2026-11-22", "d8df45ad0a12"},
    {"C90", "2026-11-29T03:00Z", "de81e678fb28"},
    {"C90b", "2026-11-29T03:00Z", "0421aad9d787"},
    {"C91", "2026-11-22", "0d3945ea4533"},
    {"C91b", "2026-11-22", "4e5027ba0184"},
    {"C92", "2026-11-27T15:02Z", "9f96a7bc12e7"},
    {"C94", "2026-11-27T15:02Z", "b1fa87ad36a8"},
    {"C95", "2026-11-27T15:02Z", "d00d5987c689"},
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
    enum { DAY = 10, MINUTE = 16 }; /* "2026-11-22", "2026-11-22T12:20" */

    text[0] = '\0';
    if (!claim->judge || !since)
        return text;
    for (const struct need *const *list = claim->needs; *list; list++)
        for (const struct need *need = *list; need->id; need++)
            from = older(from, measured(bundle, need));
    if (!from) {
        snprintf(text, CLAIM_DATES, "rule of %.*s", DAY, since);
        return text;
    }
    const int length = strlen(since) > DAY ? MINUTE : DAY;
    const int order = strncmp(since, from, (size_t)length);
    snprintf(text, CLAIM_DATES, "rule of %.*s, bundle of %.*s%s", length, since, length, from,
             order < 0    ? ""
             : order == 0 ? ": same day"
                          : ": rule changed after the measurement");
    return text;
}
