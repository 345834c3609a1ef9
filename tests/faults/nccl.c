/* A stand-in for libnccl.so.2. Its version tells by which protocol its process shall work
 * (NCCL_PROTO): 2.28.9, with LL .1, with LL128 .2, with Simple .3. A call leaves in its output who
 * called. With STAND_IN_NCCL=old there are no windows; with STAND_IN_NCCL=silent they are none, and
 * no error. With STAND_IN_NCCL=dies rank 1 is killed when it joins, and the others wait for it, for
 * ever. With =idless no id is drawn, with =refuses nobody may join; with =refuses_one rank 1 may
 * not, and the others wait for it, for ever. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct id {
    char bytes[128];
};
struct comm {
    int ranks, rank;
    struct id id;
};

static int is(const char *name, const char *value)
{
    const char *text = getenv(name);
    return text && !strcmp(text, value);
}

#define CALL(name, parameters) int name parameters; int name parameters
CALL(ncclGetVersion, (int *version))
{
    *version = is("NCCL_PROTO", "LL")       ? 22801
               : is("NCCL_PROTO", "LL128")  ? 22802
               : is("NCCL_PROTO", "Simple") ? 22803
                                            : 22809;
    return is("NCCL_NVLS_ENABLE", "0") ? 0 : 1;
}
const char *ncclGetErrorString(int status);
const char *ncclGetErrorString(int status) { return status ? "some error" : "no error"; }
CALL(ncclGetUniqueId, (struct id *id))
{
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "of process %d", (int)getpid());
    return is("STAND_IN_NCCL", "idless");
}
CALL(ncclCommInitRank, (struct comm **comm, int ranks, struct id id, int rank))
{
    if (is("STAND_IN_NCCL", "refuses") || (is("STAND_IN_NCCL", "refuses_one") && rank == 1))
        return 1;
    while (is("STAND_IN_NCCL", "refuses_one"))
        pause();
    *comm = malloc(sizeof **comm);
    **comm = (struct comm){ranks, rank, id};
    if (is("STAND_IN_NCCL", "dies") && rank == 1)
        raise(SIGKILL);
    while (is("STAND_IN_NCCL", "dies"))
        pause();
    return strncmp(id.bytes, "of process ", 11) != 0;
}
CALL(ncclCommDestroy, (struct comm *comm)) { free(comm); return 0; }

static int leave_mark(void *to, size_t count, const struct comm *comm, const char *what)
{
    snprintf(to, 64, "%.16s %zu %d/%d %.24s", what, count, comm->rank, comm->ranks, comm->id.bytes);
    return 0;
}
CALL(ncclAllReduce,
     (const void *from, void *to, size_t n, int type, int op, struct comm *c, void *s))
{
    (void)from, (void)type, (void)op, (void)s;
    return leave_mark(to, n, c, "all_reduce");
}
CALL(ncclAllGather, (const void *from, void *to, size_t n, int type, struct comm *c, void *s))
{
    (void)from, (void)type, (void)s;
    return leave_mark(to, n, c, "all_gather");
}
CALL(ncclReduceScatter,
     (const void *from, void *to, size_t n, int type, int op, struct comm *c, void *s))
{
    (void)from, (void)type, (void)op, (void)s;
    return leave_mark(to, n, c, "reduce_scatter");
}
CALL(ncclMemAlloc, (void **memory, size_t bytes)) { *memory = malloc(bytes); return 0; }
CALL(ncclCommWindowRegister, (struct comm *c, void *memory, size_t bytes, void **window, int flags))
{
    (void)c, (void)bytes;
    *window = is("STAND_IN_NCCL", "silent") ? NULL : memory;
    return is("STAND_IN_NCCL", "old") || flags != 1;
}
