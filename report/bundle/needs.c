#include "report/bundle/needs.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

void need_glob(char glob[DOCUMENT_ID], const char *need)
{
    size_t n = 0;

    while (*need && n + 1 < DOCUMENT_ID) {
        const bool is_conversion = *need == '%';
        glob[n++] = is_conversion ? '*' : *need;
        need += is_conversion ? 1 + strcspn(need + 1, "dsu") + 1 : 1;
    }
    glob[n] = '\0';
}

bool need_covers(const char *need, const char *id)
{
    char glob[DOCUMENT_ID];

    need_glob(glob, need);
    return !strcmp(glob, id) || fnmatch(glob, id, 0) == 0;
}

void need_metric(char metric[DOCUMENT_ID], const char *need)
{
    const char *name = !strncmp(need, "*.", 2) ? need + 2 : need;
    snprintf(metric, DOCUMENT_ID, "%.*s", (int)strcspn(name, "{"), name);
}
