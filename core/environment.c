/* Facts of the host and of this program: an allow-list, never the process environment. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/run.h"
#include "core/version.h"

/* First line of a small file, or of its first line that starts with `prefix` (after the colon). */
static json_t *line_of(const char *path, const char *prefix)
{
    char line[256];
    json_t *found = NULL;
    FILE *file = fopen(path, "r");

    while (file && !found && fgets(line, sizeof line, file)) {
        if (prefix && strncmp(line, prefix, strlen(prefix)))
            continue;
        char *text = prefix ? strchr(line, ':') : line;
        text = text && prefix ? text + 1 : text;
        while (text && isspace((unsigned char)*text))
            text++;
        if (text) {
            text[strcspn(text, "\n")] = '\0';
            found = json_string(text);
        }
    }
    if (file)
        fclose(file);
    return found ? found : json_null();
}

json_t *environment_virtualisation(const struct utsname *system)
{
    char line[4096];
    bool hypervisor = false;
    FILE *file = fopen("/proc/cpuinfo", "r");

    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "flags", 5) && strstr(line, " hypervisor"))
            hypervisor = true;
    if (file)
        fclose(file);
    if (strstr(system->version, "gVisor"))
        return json_string("gvisor");
    /* "6.1.128-fc"; a release of Fedora has ".fc39" */
    if (strstr(system->release, "-fc"))
        return json_string("firecracker");
    return hypervisor ? json_string("hypervisor") : json_null();
}

static json_t *cpu_name(void)
{
    json_t *name = line_of("/proc/cpuinfo", "model name");
    if (json_is_null(name)) {
        json_decref(name);
        name = line_of("/proc/cpuinfo", "CPU implementer");
    }
    return name;
}

json_t *environment_host(void)
{
    struct utsname system;
    uname(&system);
    char kernel[160];
    snprintf(kernel, sizeof kernel, "%s %s", system.sysname, system.release);

    return json_pack("{s:{s:s, s:s, s:b, s:s}, s:{s:o, s:I, s:s, s:s, s:o, s:o}}", "suite",
                     "version", version_number, "commit", version_commit, "dirty", version_dirty,
                     "build", version_flags, "host", "cpu", cpu_name(), "n_cpu",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "kernel", kernel, "machine",
                     system.machine, "governor",
                     line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL),
                     "virtualisation", environment_virtualisation(&system));
}
