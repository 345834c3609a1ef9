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

/* Does a file begin like this, up to one character that is read? A FIFO or a device is not looked
 * into. */
static bool begins(const char *path, const char *format)
{
    struct stat facts;
    FILE *in = stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? fopen(path, "r") : NULL;
    char last;

    if (!in)
        return false;
    const bool does = fscanf(in, format, &last) == 1;
    fclose(in);
    return does;
}

/* What every document begins with, also one that another program has laid out anew. */
static const char document[] = " { \"schema\" : %c";

FILE *made_open(const char *path, char why[DOCUMENT_WHY])
{
    if (begins(path, " { %c")) { /* nothing that the report makes does */
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
    bool found = begins(path, document);

    for (size_t i = 0; i < n && !found; i++)
        found = begins(paths[i], document);
    paths_free(paths, n);
    return found;
}
