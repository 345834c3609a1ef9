#include "report/cli/elsewhere.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/bundle/counted.h"
#include "report/bundle/folder.h"
#include "report/cli/catalogue.h"
#include "report/cli/home.h"

/* Cuts a path's last name off and returns that: "a/b/" becomes "a", and "b" is the name. */
static const char *cut(char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return "";
    *slash = '\0';
    return slash + 1;
}

/* The folder that holds a folder for each board. */
static void boards_of(const struct bundle *bundle, char folder[PATH_MAX])
{
    char path[PATH_MAX];
    struct stat facts;

    if (bundle->board && bundle->path && realpath(bundle->path, path) && stat(path, &facts) == 0) {
        if (!S_ISDIR(facts.st_mode))
            cut(path);
        if (!strcmp(cut(path), bundle->board)) {
            snprintf(folder, PATH_MAX, "%s", path);
            return;
        }
    }
    home_path(folder, HOME_RESULTS, "");
}

static bool has_bundles(const char *folder)
{
    size_t n = 0;
    char **paths = paths_in(folder, &n);
    paths_free(paths, n);
    return n > 0;
}

static void judge_all(const struct bundle *bundle, enum claim_verdict verdict[ELSEWHERE_CLAIMS])
{
    const struct claim *claim;
    struct finding *finding = malloc(sizeof *finding);
    size_t i = 0;
    for (claim = claim_after(NULL); finding && i < ELSEWHERE_CLAIMS && claim;
         claim = claim_after(claim)) {
        claim_judge(claim, bundle, finding);
        verdict[i++] = finding->verdict;
    }
    free(finding);
}

static void add_board(struct elsewhere *e, const char *path, const struct bundle *own)
{
    char why[DOCUMENT_WHY];
    struct bundle bundle = {0};

    if (catalogue_read(&bundle, path, why) && bundle_gpus(&bundle) == 1 &&
        counted_open(&bundle, NULL, 0, why) && bundle.board &&
        (!own->board || strcmp(bundle.board, own->board) != 0)) {
        snprintf(e->of[e->n].board, sizeof e->of[e->n].board, "%s", bundle.board);
        judge_all(&bundle, e->of[e->n++].verdict);
    }
    bundle_free(&bundle);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "schema") != 0;
}

struct elsewhere *elsewhere_open(const struct bundle *bundle)
{
    struct elsewhere *e = calloc(1, sizeof *e);
    char folder[PATH_MAX], path[2 * PATH_MAX];
    struct dirent **names = NULL;

    if (!e)
        return NULL;
    boards_of(bundle, folder);
    const int n = scandir(folder, &names, is_shown, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        const bool is_own = bundle->board && !strcmp(names[i]->d_name, bundle->board);
        if (!is_own && e->n < ELSEWHERE_BOARDS && has_bundles(path))
            add_board(e, path, bundle);
        free(names[i]);
    }
    free(names);
    return e;
}
