#include "report/page/made.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "report/bundle/folder.h"

static bool fail(const char *path, const char *what, char why[DOCUMENT_WHY])
{
    snprintf(why, DOCUMENT_WHY, "%.300s: %s", path, what);
    return false;
}

/* Nothing that the report makes begins like this. A FIFO or a device is not looked into. */
static bool holds_json(const char *path)
{
    struct stat facts;
    FILE *in = stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? fopen(path, "r") : NULL;
    char first = '\0';

    if (!in)
        return false;
    const bool is_json = fscanf(in, " %c", &first) == 1 && first == '{';
    fclose(in);
    return is_json;
}

FILE *made_open(const char *path, char why[DOCUMENT_WHY])
{
    if (holds_json(path)) {
        fail(path, "holds JSON, as a bundle does, and is not overwritten", why);
        return NULL;
    }
    FILE *out = fopen(path, "w");
    if (!out)
        fail(path, strerror(errno), why);
    return out;
}

bool made_close(FILE *out, const char *path, char why[DOCUMENT_WHY])
{
    const bool fine = !ferror(out);
    return (fclose(out) == 0 && fine) || fail(path, "cannot be written", why);
}

bool made_folder(const char *folder, char why[DOCUMENT_WHY])
{
    return mkdir(folder, 0777) == 0 || errno == EEXIST || fail(folder, strerror(errno), why);
}

bool made_of_bundles(const char *path)
{
    size_t n = 0;
    char **paths = paths_in(path, &n);
    bool found = holds_json(path);

    for (size_t i = 0; i < n && !found; i++)
        found = holds_json(paths[i]);
    paths_free(paths, n);
    return found;
}
