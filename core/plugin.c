#include "core/plugin.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* build/bin/NAME.so, seen from build/bin/matmul/PROBE. */
static void plugin_path(char path[PATH_MAX], const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *folder = dirname(dirname(self));
    if (snprintf(path, PATH_MAX, "%s/%s.so", folder, name) >= PATH_MAX)
        path[0] = '\0';
}

const void *plugin_open(const char *name, const char *symbol, char *why, size_t size)
{
    char path[PATH_MAX];
    plugin_path(path, name);
    if (access(path, R_OK) != 0) {
        snprintf(why, size, "%s.so was not built", name);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const void *plugin = library ? dlsym(library, symbol) : NULL;
    if (!plugin)
        snprintf(why, size, "%s", dlerror());
    return plugin;
}
