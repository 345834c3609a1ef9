/* nccl.so: NCCL for core/nccl.h. The library is opened by name, and its entries are declared here:
 * a build needs nothing of it. */
#include "core/nccl.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As NCCL's ABI has had them since 2.10. */
struct unique_id {
    char bytes[NCCL_ID_BYTES];
};
enum { NCCL_SUM = 0, NCCL_FLOAT32 = 7, NCCL_BFLOAT16 = 9, NCCL_SYMMETRIC = 1 };
static struct {
    int (*version)(int *);
    const char *(*says)(int);
    int (*draw_id)(struct unique_id *);
    int (*join)(void **comm, int ranks, struct unique_id, int rank);
    int (*leave)(void *comm);
    int (*all_reduce)(const void *, void *, size_t, int type, int op, void *comm, void *stream);
    int (*all_gather)(const void *, void *, size_t, int type, void *comm, void *stream);
    int (*reduce_scatter)(const void *, void *, size_t, int type, int op, void *comm, void *stream);
    int (*allocate)(void **, size_t);                                      /* NULL before 2.19 */
    int (*window)(void *comm, void *, size_t, void **window, int flags); /* NULL before 2.27 */
} entry;
static void *communicator;

/* The last of what the pattern matches: of several versions of Python, the newest one's. */
static void *open_packaged(const char *root)
{
    char pattern[PATH_MAX];
    void *library = NULL;
    glob_t found = {0};

    snprintf(pattern, sizeof pattern,
             "%s/lib/python3*/{site,dist}-packages/nvidia/nccl/lib/libnccl.so.2", root);
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
        library = dlopen(found.gl_pathv[found.gl_pathc - 1], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    return library;
}

static void *open_library(void)
{
    const char *named = getenv("GPUFLOOR_NCCL"), *home = getenv("HOME");
    const char *environment = getenv("VIRTUAL_ENV");
    char local[PATH_MAX];

    if (named && *named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("/usr/local/cuda/lib64/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library && environment)
        library = open_packaged(environment);
    if (!library && home) {
        snprintf(local, sizeof local, "%s/.local", home);
        library = open_packaged(local);
    }
    if (!library)
        library = open_packaged("/usr/local");
    return library ? library : open_packaged("/usr");
}

static bool open_entries(char *why, size_t size)
{
    const struct {
        const char *name;
        void *to;
    } entries[] = {{"ncclGetVersion", &entry.version},
                   {"ncclGetErrorString", &entry.says},
                   {"ncclGetUniqueId", &entry.draw_id},
                   {"ncclCommInitRank", &entry.join},
                   {"ncclCommDestroy", &entry.leave},
                   {"ncclAllReduce", &entry.all_reduce},
                   {"ncclAllGather", &entry.all_gather},
                   {"ncclReduceScatter", &entry.reduce_scatter},
                   {"ncclMemAlloc", &entry.allocate},
                   {"ncclCommWindowRegister", &entry.window}};
    enum { NEEDED = sizeof entries / sizeof entries[0] - 2 };
    if (setenv("NCCL_NVLS_ENABLE", "0", 1) != 0) {
        snprintf(why, size, "its multicast cannot be switched off");
        return false;
    }
    void *library = open_library();
    if (!library) {
        snprintf(why, size, "%s", "no libnccl.so.2 (GPUFLOOR_NCCL=FILE names one)");
        return false;
    }
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        void *address = dlsym(library, entries[i].name);
        memcpy(entries[i].to, &address, sizeof address);
        if (!address && i < NEEDED) {
            snprintf(why, size, "its library has no %s", entries[i].name);
            return false;
        }
    }
    return true;
}

static int draw_id(unsigned char id[NCCL_ID_BYTES])
{
    struct unique_id drawn = {{0}};
    const int status = entry.draw_id(&drawn);
    memcpy(id, drawn.bytes, NCCL_ID_BYTES);
    return status;
}

static int join(const unsigned char id[NCCL_ID_BYTES], int ranks, int rank)
{
    struct unique_id drawn;
    memcpy(drawn.bytes, id, NCCL_ID_BYTES);
    return entry.join(&communicator, ranks, drawn, rank);
}

static int enqueue(const struct nccl_call *c)
{
    const int type = c->type == NCCL_BF16 ? NCCL_BFLOAT16 : NCCL_FLOAT32;
    switch (c->op) {
    case NCCL_ALL_GATHER:
        return entry.all_gather(c->from, c->to, c->count, type, communicator, c->stream);
    case NCCL_REDUCE_SCATTER:
        return entry.reduce_scatter(c->from, c->to, c->count, type, NCCL_SUM, communicator,
                                    c->stream);
    default:
        return entry.all_reduce(c->from, c->to, c->count, type, NCCL_SUM, communicator, c->stream);
    }
}

static void leave(void)
{
    if (communicator)
        entry.leave(communicator);
    communicator = NULL;
}

/* A library that does not support it for these GPUs gives no window, and no error. */
static void *window(size_t bytes)
{
    void *memory = NULL, *registered = NULL;
    if (!entry.allocate || !entry.window || entry.allocate(&memory, bytes) != 0 ||
        entry.window(communicator, memory, bytes, &registered, NCCL_SYMMETRIC) != 0)
        return NULL;
    return registered ? memory : NULL;
}

static const char *version(void)
{
    static char text[32];
    int number = 0;
    entry.version(&number);
    snprintf(text, sizeof text, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
    return text;
}

static const char *says(int status)
{
    return entry.says(status);
}

extern __attribute__((visibility("default"))) const struct nccl_plugin gpufloor_nccl;
const struct nccl_plugin gpufloor_nccl = {
    .open = open_entries,
    .draw_id = draw_id,
    .join = join,
    .enqueue = enqueue,
    .leave = leave,
    .window = window,
    .version = version,
    .says = says,
};
