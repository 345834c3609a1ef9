#include "core/mps.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A file of the folder in which CUDA looks for the control daemon of MPS. */
static const char *pipe_path(char path[PATH_MAX], const char *name)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    snprintf(path, PATH_MAX, "%s/%s", folder && *folder ? folder : "/tmp/nvidia-mps", name);
    return path;
}

/* The daemon writes its number beside its pipes. */
static bool daemon_is_seen(void)
{
    char path[PATH_MAX];
    int pid = 0;
    FILE *file = fopen(pipe_path(path, "nvidia-cuda-mps-control.pid"), "re");
    const bool read = file && fscanf(file, "%d", &pid) == 1;

    if (file)
        fclose(file);
    return read && pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* Without a pipe to the daemon no process becomes its client. A pipe may outlive its daemon. */
int mps_is_on(int n_mps, const char **why)
{
    char path[PATH_MAX];

    if (n_mps > 0)
        return 1;
    if (access(pipe_path(path, "control"), F_OK) != 0)
        return 0;
    if (daemon_is_seen())
        return 1;
    if (n_mps == 0)
        return 0;
    *why = "there is a pipe to the control daemon of MPS, which is not seen to run";
    return -1;
}
