#include "report/cli/home.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { IN_TREE, INSTALLED, ALONE, N_KINDS };

/* From the folder of this program; what does not begin with a point is from the current folder. A
 * program that was copied alone has the tree's places, where nothing will be found. */
static const char *const places[][N_KINDS] = {
    [HOME_PROGRAMS] = {".", "../libexec/gpufloor", "."},
    [HOME_BASELINES] = {"../../baselines", "../libexec/gpufloor/baselines", "../../baselines"},
    [HOME_RESULTS] = {"../../results", "../share/gpufloor/results", "../../results"},
    [HOME_DATA] = {"../..", "../share/gpufloor", "../.."},
    [HOME_RUNS] = {"../run", "gpufloor-run", "gpufloor-run"},
};

/* Goes on from `folder` along `way`: "..", ".", or names. */
static char *follow(char path[PATH_MAX], const char *folder, const char *way)
{
    char from[PATH_MAX], *slash;

    snprintf(from, sizeof from, "%s", folder);
    for (; !strncmp(way, "..", 2) && (slash = strrchr(from, '/')); way += way[2] == '/' ? 3 : 2)
        *slash = '\0';
    way += !strcmp(way, ".");
    if (snprintf(path, PATH_MAX, "%s%s%s", from, *way ? "/" : "", way) >= PATH_MAX)
        path[0] = '\0';
    return path;
}

static char *own_folder(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    char *slash;

    folder[n > 0 ? n : 0] = '\0';
    if ((slash = strrchr(folder, '/')))
        *slash = '\0';
    return folder;
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static enum kind kind_of(const char *own)
{
    static const char *const beside[] = {"probes", "matmul", "fused", "links"};
    char path[PATH_MAX];

    if (is_folder(follow(path, own, places[HOME_PROGRAMS][INSTALLED])))
        return INSTALLED;
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
        if (is_folder(follow(path, own, beside[i])))
            return IN_TREE;
    return ALONE;
}

char *home_path(char path[PATH_MAX], enum home_part part, const char *below)
{
    char own[PATH_MAX], folder[PATH_MAX];
    const char *place = places[part][kind_of(own_folder(own))];

    if (*place == '.')
        follow(folder, own, place);
    else
        snprintf(folder, sizeof folder, "%s", place);
    if (snprintf(path, PATH_MAX, "%s%s%s", folder, *below ? "/" : "", below) >= PATH_MAX)
        path[0] = '\0';
    return path;
}

char *home_looked(char *text, size_t size, enum home_part part)
{
    char own[PATH_MAX], tree[PATH_MAX], installed[PATH_MAX];

    own_folder(own);
    snprintf(text, size, "%.200s and %.200s", follow(tree, own, places[part][IN_TREE]),
             follow(installed, own, places[part][INSTALLED]));
    return text;
}
