#include "links/common/links.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/nvml.h"
#include "core/respawn.h"
#include "core/sides.h"
#include "links/common/hand.h"
#include "links/common/wire.h"

PROBE_IMAGE(meet);

const char *const links_gpus_words[] = {"most", "2", "4", NULL};

enum { PROVED_BYTES = 4 << 20, BLOCKS = 256, THREADS = 256, MEET_BUDGET_NS = 400000000 };
enum { BUS = 32, SAID = 300, LAST_WORDS_MS = 2000, LEAVE_MS = 20000 };
/* A process that starts loads the driver. Any order ends by itself sooner than the second. */
static const uint64_t START_NS = 60000000000u, ANSWER_NS = 30000000000u;

struct links {
    struct probe_run *r;
    int ranks;
    int first_far; /* 1; 0 where rank 0 has a process of its own, too: links_open_beside() */
    int device[LINKS_MOST];
    bool loopback;
    char bus[LINKS_MOST][BUS];
    struct {
        struct respawned process;
        int socket; /* -1: none, or closed */
    } far[LINKS_MOST]; /* of those from first_far on */
    struct hand own;   /* rank 0, where that is this process */
    uint32_t n_kernels;
    char kernel[HAND_KERNELS][128]; /* image and name: who asks again gets the same */
    bool has_graph[HAND_GRAPHS];
    char nccl_version[32];
    struct links_memory inboxes;
    uint32_t *late[LINKS_MOST];
    uint32_t meetings;
    int meet, write, count;    /* kernels */
    uint32_t *wrong[LINKS_MOST]; /* mapped: what `count` found */
};

/* --- asking ranks ---------------------------------------------------------------------------- */

/* What a process said when it ended, without its name. */
static const char *last_words(const char *said)
{
    const size_t name = strlen(probe.name);
    if (!strncmp(said, probe.name, name) && !strncmp(said + name, ": ", 2))
        said += name + 2;
    return !strncmp(said, "skipped: ", 9) ? said + 9 : said;
}

/* Ends the run: a rank ended, or is silent. What it cannot do here, this run cannot. */
_Noreturn static void lost(struct links *l, int rank, enum wire how)
{
    char said[SAID];
    const int limit_ms = how == WIRE_LATE || how == WIRE_FOREIGN ? 0 : LAST_WORDS_MS;

    close(l->far[rank].socket);
    l->far[rank].socket = -1;
    const int status = respawn_end(l->far[rank].process, limit_ms, said, sizeof said);
    if (status == 77)
        probe_skip(l->r, "rank %d: %s", rank, last_words(said));
    probe_fail(l->r, "rank %d %s%s%s", rank, wire_says(how), *said ? ": " : "", last_words(said));
}

static void say(struct links *l, int rank, const struct order *order, const void *data,
                size_t bytes)
{
    const enum wire how = wire_send(l->far[rank].socket, order, sizeof *order, data, bytes,
                                    probe_host_ns() + ANSWER_NS);
    if (how != WIRE_OK)
        lost(l, rank, how);
}

static struct answer hear(struct links *l, int rank, void *data, size_t bytes, uint64_t limit_ns)
{
    struct answer answer;
    const enum wire how = wire_receive(l->far[rank].socket, &answer, sizeof answer, data, bytes,
                                       probe_host_ns() + limit_ns);
    if (how != WIRE_OK)
        lost(l, rank, how);
    return answer;
}

/* One rank does what it is asked; `data` goes with the order, and what is read comes there. */
static struct answer ask(struct links *l, int rank, const struct order *order, void *data,
                         size_t bytes)
{
    const bool reads = hand_reads(order->kind);
    struct answer answer = {0};
    if (rank < l->first_far) {
        hand_do(&l->own, order, data, &answer);
        return answer;
    }
    say(l, rank, order, data, reads ? 0 : bytes);
    if (hand_answers(order->kind))
        answer = hear(l, rank, data, reads ? bytes : 0, ANSWER_NS);
    return answer;
}

/* All ranks do the same at once; `bytes` of data go with each order. A rank may take so long. */
static void ask_all_with(struct links *l, const struct order *order, const void *data, size_t bytes,
                         struct answer answer[LINKS_MOST], uint64_t limit_ns)
{
    for (int rank = l->first_far; rank < l->ranks; rank++) {
        struct order one = *order;
        one.rank = (uint32_t)rank;
        say(l, rank, &one, data, bytes);
    }
    if (l->first_far > 0) {
        answer[0] = (struct answer){0};
        hand_do(&l->own, order, (void *)(uintptr_t)data, &answer[0]);
    }
    for (int rank = l->first_far; rank < l->ranks && hand_answers(order->kind); rank++)
        answer[rank] = hear(l, rank, NULL, 0, limit_ns);
}

static void ask_all(struct links *l, const struct order *order, struct answer answer[LINKS_MOST])
{
    ask_all_with(l, order, NULL, 0, answer, ANSWER_NS);
}

static void tell_all(struct links *l, enum order_kind kind, uint32_t index)
{
    struct answer unused[LINKS_MOST];
    ask_all(l, &(struct order){.kind = kind, .index = index}, unused);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* --- what is missing here -------------------------------------------------------------------- */

/* The driver shows one GPU of a board with MIG, however many there are. */
static bool has_mig(struct probe_run *r)
{
    char why[NVML_WHY];
    struct nvml *nvml = nvml_open(gpu_pci_bus(r), why);
    const bool on = nvml_facts(nvml).mig == 1;
    nvml_close(nvml);
    return on;
}

static int ranks_here(struct probe_run *r, bool loopback)
{
    const int64_t asked = probe_parameter(r, "gpus");
    int n = 0;

    CUDA(cudaGetDeviceCount(&n));
    if (loopback)
        n = LINKS_MOST;
    const int ranks = asked == 2 || (asked == 0 && n >= 4 && !loopback) ? 4 : 2;
    if (!loopback && has_mig(r))
        probe_skip(r, "MIG is on: its instances cannot reach another GPU's memory");
    if (n < 2)
        probe_skip(r, "one GPU: links need a second (--set loopback=1 --check tries the code)");
    if (n < ranks)
        probe_skip(r, "%d GPUs, %d were asked for", n, ranks);
    return ranks;
}

/* The devices of all ranks: this one, then the others in their order. */
static void choose(struct links *l)
{
    int *device = l->device, next = 0, can;

    CUDA(cudaGetDevice(&device[0]));
    for (int rank = 1; rank < l->ranks; rank++) {
        next += !l->loopback && next == device[0];
        device[rank] = l->loopback ? device[0] : next++;
    }
    for (int rank = 0; rank < l->ranks; rank++)
        CUDA(cudaDeviceGetPCIBusId(l->bus[rank], BUS, device[rank]));
    if (!l->loopback)
        gpu_describe_peers(l->r, device, l->ranks);
    for (int from = 0; from < l->ranks; from++)
        for (int to = 0; to < l->ranks; to++) {
            if (device[from] == device[to])
                continue;
            CUDA(cudaDeviceCanAccessPeer(&can, device[from], device[to]));
            if (!can)
                probe_skip(l->r, "no peer access: GPU %d cannot reach the memory of GPU %d",
                           device[from], device[to]);
        }
}

/* --- open and close -------------------------------------------------------------------------- */

static void start(struct links *l, int rank)
{
    char number[16], set[16];
    char *argv[] = {(char *)(uintptr_t)probe.name, "--device", number, "--set", set, NULL};
    int ends[2];

    snprintf(number, sizeof number, "%d", l->device[rank]);
    snprintf(set, sizeof set, "rank=%d", rank);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        probe_fail(l->r, "no socket to another process: %s", strerror(errno));
    l->far[rank].process = respawn_start(l->r, argv, ends[1]);
    l->far[rank].socket = ends[0];
    close(ends[1]);
}

/* All processes at once, and all of them there. */
static void start_all(struct links *l)
{
    respawn_watch();
    for (int rank = l->first_far; rank < l->ranks; rank++)
        start(l, rank);
    for (int rank = l->first_far; rank < l->ranks; rank++) {
        say(l, rank, &(struct order){.kind = ORDER_HELLO}, NULL, 0);
        hear(l, rank, NULL, 0, START_NS);
    }
}

/* A peer's memory may be there and lose what is written to it, where an IOMMU or PCIe's access
 * control is in the way. Each rank writes into each piece. Its owner counts what is wrong, and so
 * does the writer, by loads across the link. */
static void prove(struct links *l)
{
    struct links_memory m = links_alloc(l, PROVED_BYTES, "memory to be proved");

    for (int writer = 0; writer < l->ranks; writer++)
        for (int owner = 0; owner < l->ranks; owner++) {
            const uint64_t seed = probe_seed(l->r) + (uint64_t)(LINKS_MOST * writer + owner);
            links_pattern(l, writer, m.at[writer][owner], m.bytes, seed);
            links_wait(l);
            const uint64_t seen_there = links_wrong(l, owner, m.at[owner][owner], m.bytes, seed),
                           seen_here = links_wrong(l, writer, m.at[writer][owner], m.bytes, seed);
            if (seen_there + seen_here > 0)
                probe_skip(l->r,
                           "rank %d's memory does not keep what rank %d writes: of %zu words %llu "
                           "are wrong there, %llu from here (PCIe access control or an IOMMU?)",
                           owner, writer, m.bytes / sizeof(uint32_t),
                           (unsigned long long)seen_there, (unsigned long long)seen_here);
        }
}

static void open_inboxes(struct links *l)
{
    struct answer answer[LINKS_MOST];

    ask_all(l, &(struct order){.kind = ORDER_HELLO}, answer);
    for (int rank = 0; rank < l->ranks; rank++)
        l->late[rank] = (uint32_t *)(uintptr_t)answer[rank].address;
    l->inboxes = links_alloc(l, LINKS_MOST * LINKS_APART, "inboxes");
    for (int rank = 0; rank < l->ranks; rank++)
        links_fill(l, rank, l->inboxes.at[rank][rank], 0, l->inboxes.bytes);
    l->meet = links_kernel(l, &image_meet, "meet", sizeof(struct meet_args));
    l->write = links_kernel(l, &image_meet, "meet_write", sizeof(struct meet_words_args));
    l->count = links_kernel(l, &image_meet, "meet_count", sizeof(struct meet_words_args));
    for (int rank = 0; rank < l->ranks; rank++)
        l->wrong[rank] = links_mapped(l, rank, sizeof *l->wrong[rank]);
    links_wait(l);
}

struct links *links_open(struct probe_run *r)
{
    const bool loopback = probe_parameter(r, "loopback") == 1;
    int type;
    socklen_t size = sizeof type;

    if (probe_parameter_given(r, "rank")) {
        if (getsockopt(RESPAWN_GIVEN, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
            probe_usage(r, "--set rank: only the program itself sets it");
        hand_serve(r, RESPAWN_GIVEN);
        return NULL;
    }
    if (loopback && !probe_is_check_run(r))
        probe_usage(r, "--set loopback=1: one GPU shows no times of links; add --check");
    if (probe_is_counted(r))
        probe_skip(r, "hardware counters are read in one process, and links have one for each GPU");
    struct links *l = probe_host_alloc(r, sizeof *l);
    *l = (struct links){
        .r = r, .first_far = 1, .loopback = loopback, .ranks = ranks_here(r, loopback)};
    choose(l);
    start_all(l);
    l->own = hand_open(r);
    open_inboxes(l);
    prove(l);
    return l;
}

/* NULL takes it away. Returns a copy of what it was, or NULL. */
static char *set_variable(struct probe_run *r, const char *variable, const char *value)
{
    const char *was = getenv(variable);
    char *copy = was ? strdup(was) : NULL;

    if ((was && !copy) || (value ? setenv(variable, value, 1) : unsetenv(variable)) != 0)
        probe_fail(r, "no memory for a variable of the environment");
    return copy;
}

struct links *links_open_beside(struct links *l, const char *variable, const char *value)
{
    struct links *beside = probe_host_alloc(l->r, sizeof *beside);

    *beside = (struct links){.r = l->r, .loopback = l->loopback, .ranks = l->ranks};
    memcpy(beside->device, l->device, sizeof l->device);
    memcpy(beside->bus, l->bus, sizeof l->bus);
    char *before = set_variable(l->r, variable, value);
    start_all(beside);
    free(set_variable(l->r, variable, before));
    free(before);
    open_inboxes(beside);
    return beside;
}

void links_close(struct links *l)
{
    char said[SAID];

    links_wait(l);
    respawn_may_end(true);
    for (int rank = l->first_far; rank < l->ranks; rank++)
        say(l, rank, &(struct order){.kind = ORDER_LEAVE}, NULL, 0);
    for (int rank = l->first_far; rank < l->ranks; rank++) {
        const int status = respawn_end(l->far[rank].process, LEAVE_MS, said, sizeof said);
        close(l->far[rank].socket);
        probe_require(l->r, status == 0, "rank %d ends well: %s", rank,
                      status == -1 ? "it does not end" : last_words(said));
    }
    respawn_may_end(false);
}

int links_gpus(const struct links *l)
{
    return l->ranks;
}

int links_next(const struct links *l, int rank)
{
    return (rank + 1) % l->ranks;
}

bool links_is_loopback(const struct links *l)
{
    return l->loopback;
}

const char *links_pci_bus(const struct links *l, int rank)
{
    return l->bus[rank];
}

/* --- memory ---------------------------------------------------------------------------------- */

struct links_memory links_alloc(struct links *l, size_t bytes, const char *what)
{
    struct links_memory m = {.bytes = bytes};
    struct answer own[LINKS_MOST];

    (void)what;
    ask_all(l, &(struct order){.kind = ORDER_ALLOCATE, .bytes = bytes}, own);
    for (int rank = 0; rank < l->ranks; rank++)
        for (int owner = 0; owner < l->ranks; owner++) {
            struct order open = {.kind = ORDER_OPEN,
                                 .at = (uint64_t)own[owner].number,
                                 .memory = own[owner].memory};
            const uint64_t at =
                rank == owner ? own[owner].address : ask(l, rank, &open, NULL, 0).address;
            m.at[rank][owner] = (char *)(uintptr_t)at;
        }
    return m;
}

struct links_memory links_alloc_own(struct links *l, size_t bytes, const char *what)
{
    struct links_memory m = {.bytes = bytes};
    struct answer own[LINKS_MOST];

    (void)what;
    ask_all(l, &(struct order){.kind = ORDER_ALLOCATE_OWN, .bytes = bytes}, own);
    for (int rank = 0; rank < l->ranks; rank++)
        m.at[rank][rank] = (char *)(uintptr_t)own[rank].address;
    return m;
}

void links_fill(struct links *l, int rank, void *to, int byte, size_t bytes)
{
    struct order order = {
        .kind = ORDER_FILL, .at = address(to), .from = (uint64_t)byte, .bytes = bytes};
    ask(l, rank, &order, NULL, 0);
}

void links_write(struct links *l, int rank, void *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += HAND_DATA) {
        const size_t n = bytes - at < HAND_DATA ? bytes - at : HAND_DATA;
        struct order order = {.kind = ORDER_WRITE, .at = address(to) + at, .bytes = n};
        ask(l, rank, &order, (char *)(uintptr_t)from + at, n);
    }
}

void links_read(struct links *l, int rank, void *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += HAND_DATA) {
        const size_t n = bytes - at < HAND_DATA ? bytes - at : HAND_DATA;
        struct order order = {.kind = ORDER_READ, .from = address(from) + at, .bytes = n};
        ask(l, rank, &order, (char *)to + at, n);
    }
}

void links_copy(struct links *l, int rank, void *to, const void *from, size_t bytes)
{
    struct order order = {
        .kind = ORDER_COPY, .at = address(to), .from = address(from), .bytes = bytes};
    ask(l, rank, &order, NULL, 0);
}

static const struct gpu_shape words_shape = {.grid = {BLOCKS, 1, 1}, .block = THREADS};

void links_pattern(struct links *l, int rank, void *to, size_t bytes, uint64_t seed)
{
    struct meet_words_args a = {.words = to, .n = bytes / sizeof(uint32_t), .seed = seed};
    links_launch_at(l, rank, l->write, &words_shape, &a, sizeof a);
}

uint64_t links_wrong(struct links *l, int rank, const void *at, size_t bytes, uint64_t seed)
{
    struct meet_words_args a = {.words = (uint32_t *)(uintptr_t)at,
                                .n = bytes / sizeof(uint32_t),
                                .seed = seed,
                                .wrong = l->wrong[rank]};
    uint32_t n = 0;

    links_write(l, rank, l->wrong[rank], &n, sizeof n);
    links_launch_at(l, rank, l->count, &words_shape, &a, sizeof a);
    links_read(l, rank, &n, l->wrong[rank], sizeof n);
    return n;
}

void links_sweep_l2(struct links *l, int rank)
{
    ask(l, rank, &(struct order){.kind = ORDER_SWEEP}, NULL, 0);
}

void links_fill_normal(struct links *l, int rank, void *to, enum gpu_type type, size_t count,
                       uint64_t seed)
{
    struct order order = {.kind = ORDER_NORMAL,
                          .at = address(to),
                          .from = (uint64_t)type,
                          .bytes = count,
                          .seed = seed};
    ask(l, rank, &order, NULL, 0);
}

bool links_sides(struct links *l, char *const at[LINKS_MOST], size_t bytes,
                 struct sides_map map[LINKS_MOST], char *why, size_t size)
{
    struct sides found;

    for (int rank = 0; rank < l->ranks; rank++) {
        const struct order order = {.kind = ORDER_SIDES,
                                    .at = address(at[rank]),
                                    .from = bytes,
                                    .bytes = sizeof found};
        ask(l, rank, &order, &found, sizeof found);
        if (found.why[0]) {
            snprintf(why, size, "rank %d: %s", rank, found.why);
            return false;
        }
        map[rank] = found.map;
    }
    return true;
}

void *links_mapped(struct links *l, int rank, size_t bytes)
{
    struct order order = {.kind = ORDER_MAPPED, .bytes = bytes};
    return (void *)(uintptr_t)ask(l, rank, &order, NULL, 0).address;
}

/* A file without a name, which the others open as one of this process: nothing stays behind,
 * however the run ends. */
bool links_share_host(struct links *l, size_t bytes, struct links_memory *shared, char *why,
                      size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 whole = (bytes * (size_t)l->ranks + page - 1) / page * page;
    struct order order = {.kind = ORDER_SHARE, .bytes = whole};
    struct answer answer[LINKS_MOST];
    bool everywhere = true;
    char *here = MAP_FAILED;

    const int file = memfd_create("gpufloor", MFD_CLOEXEC);
    snprintf(order.image, sizeof order.image, "/proc/%ld/fd/%d", (long)getpid(), file);
    if (file >= 0 && ftruncate(file, (off_t)whole) == 0)
        here = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (here == MAP_FAILED) {
        snprintf(why, size, "no shared memory of the host: %s", strerror(errno));
        everywhere = false;
    } else {
        ask_all(l, &order, answer);
    }
    if (file >= 0)
        close(file);
    *shared = (struct links_memory){.bytes = bytes};
    for (int rank = 0; rank < l->ranks && everywhere; rank++) {
        if (!answer[rank].address) {
            snprintf(why, size, "rank %d cannot map memory of the host that others share", rank);
            everywhere = false;
        }
        for (int owner = 0; owner < l->ranks; owner++)
            shared->at[rank][owner] =
                (char *)(uintptr_t)answer[rank].address + (size_t)owner * bytes;
    }
    shared->here = everywhere ? here : NULL;
    return everywhere;
}

/* --- kernels --------------------------------------------------------------------------------- */

int links_kernel_if_any(struct links *l, const struct gpu_image *image, const char *name,
                        size_t args_size)
{
    struct order order = {.kind = ORDER_KERNEL, .index = l->n_kernels, .bytes = args_size};
    struct answer answer[LINKS_MOST];
    bool everywhere = true;
    char whole[sizeof *l->kernel];

    snprintf(whole, sizeof whole, "%s %s", image->name, name);
    for (uint32_t i = 0; i < l->n_kernels; i++)
        if (!strcmp(l->kernel[i], whole))
            return (int)i;
    snprintf(order.image, sizeof order.image, "%s", image->name);
    snprintf(order.kernel, sizeof order.kernel, "%s", name);
    ask_all(l, &order, answer);
    for (int rank = 0; rank < l->ranks; rank++)
        everywhere = everywhere && answer[rank].number > 0;
    if (!everywhere)
        return -1;
    memcpy(l->kernel[l->n_kernels], whole, sizeof whole);
    return (int)l->n_kernels++;
}

int links_kernel(struct links *l, const struct gpu_image *image, const char *name,
                 size_t args_size)
{
    const int kernel = links_kernel_if_any(l, image, name, args_size);
    if (kernel < 0)
        probe_skip(l->r, "this build has no code of %s for all of these GPUs", name);
    return kernel;
}

void links_kernel_shared(struct links *l, int kernel, size_t shared, int carveout)
{
    struct answer unused[LINKS_MOST];
    struct order order = {.kind = ORDER_SHARED,
                          .index = (uint32_t)kernel,
                          .from = (uint64_t)(int64_t)carveout,
                          .bytes = shared};
    ask_all(l, &order, unused);
}

void links_launch_at(struct links *l, int rank, int kernel, const struct gpu_shape *shape,
                     const void *args, size_t args_size)
{
    struct order order = {.kind = ORDER_LAUNCH, .index = (uint32_t)kernel, .shape = *shape};
    order.shape.stream = NULL;
    ask(l, rank, &order, (void *)(uintptr_t)args, args_size);
}

/* The others first: their orders are under way while this process launches its own. */
void links_launch(struct links *l, int kernel, const struct gpu_shape *shape, const void *args,
                  size_t args_size)
{
    for (int rank = l->ranks - 1; rank >= 0; rank--)
        links_launch_at(l, rank, kernel, shape, (const char *)args + (size_t)rank * args_size,
                        args_size);
}

void links_wait(struct links *l)
{
    struct answer answer[LINKS_MOST];

    ask_all(l, &(struct order){.kind = ORDER_WAIT}, answer);
    for (int rank = 0; rank < l->ranks; rank++)
        if (answer[rank].number > HAND_WELL)
            probe_fail(l->r, "rank %d: %s", rank,
                       answer[rank].number > HAND_STUCK
                           ? "a kernel waited for its peers for longer than its budget"
                           : "its GPU still works after ten seconds");
}

void links_graph_begin(struct links *l)
{
    tell_all(l, ORDER_CAPTURE, 0);
}

int links_graph_end(struct links *l)
{
    uint32_t i = 0;
    while (i < HAND_GRAPHS && l->has_graph[i])
        i++;
    tell_all(l, ORDER_CAPTURED, i);
    l->has_graph[i] = true;
    return (int)i;
}

void links_replay(struct links *l, int graph)
{
    tell_all(l, ORDER_REPLAY, (uint32_t)graph);
}

void links_graph_free(struct links *l, int graph)
{
    tell_all(l, ORDER_FREE, (uint32_t)graph);
    l->has_graph[graph] = false;
}

struct gpu_node links_first_kernel(struct links *l, int graph)
{
    struct gpu_node node;
    ask(l, 0,
        &(struct order){.kind = ORDER_NODE, .index = (uint32_t)graph, .bytes = sizeof node}, &node,
        sizeof node);
    return node;
}

/* --- NCCL ------------------------------------------------------------------------------------ */

static bool all_say_yes(const struct links *l, const struct answer answer[LINKS_MOST])
{
    bool yes = true;
    for (int rank = 0; rank < l->ranks; rank++)
        yes = yes && answer[rank].number != 0;
    return yes;
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const size_t n = strcspn(x, "="), m = strcspn(y, "=");
    const int order = strncmp(x, y, n < m ? n : m);
    return order != 0 ? order : (n > m) - (n < m);
}

/* Variables of the user's by which NCCL may do otherwise than by itself: their names alone, since a
 * value may be an address. Asked before NCCL is opened, for which more are set. */
static void name_variables(char *names, size_t size)
{
    enum { MOST = 64 };
    static const char prefix[] = "NCCL_";
    char *found[MOST];
    size_t n = 0, used = 0;

    names[0] = '\0';
    for (char **one = environ; *one && n < MOST; one++)
        if (!strncmp(*one, prefix, sizeof prefix - 1))
            found[n++] = *one;
    qsort(found, n, sizeof *found, by_name);
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(names + used, size - used, "%s%.*s", i > 0 ? ", " : "",
                                 (int)strcspn(found[i], "="), found[i]);
}

/* Opens NCCL in all ranks and connects them. NULL, or what it does not do. */
static const char *connect_nccl(struct links *l)
{
    unsigned char id[NCCL_ID_BYTES];
    struct answer answer[LINKS_MOST];

    if (l->loopback)
        return "NCCL has no two ranks on one GPU";
    ask_all(l, &(struct order){.kind = ORDER_NCCL_OPEN}, answer);
    if (!all_say_yes(l, answer))
        return "NCCL is not to be had";
    const struct order draw = {.kind = ORDER_NCCL_ID, .bytes = sizeof id};
    if (ask(l, 0, &draw, id, sizeof id).number == 0)
        return "NCCL does not start";
    ask_all_with(l, &(struct order){.kind = ORDER_NCCL_JOIN, .bytes = (uint64_t)l->ranks}, id,
                 sizeof id, answer, START_NS);
    const bool joined = all_say_yes(l, answer);
    if (!joined) /* so that those that were refused wait for more */
        ask_all(l, &(struct order){.kind = ORDER_HELLO}, answer);
    return joined ? NULL : "NCCL does not connect the ranks";
}

bool links_nccl_open(struct links *l, char *why, size_t size)
{
    char names[300];
    name_variables(names, sizeof names);
    const char *refused = connect_nccl(l);

    if (refused) {
        snprintf(why, size, "%s", refused);
        return false;
    }
    if (names[0] && l->first_far > 0) /* others run beside these, in the same environment */
        probe_note(l->r, "NCCL ran with variables that were set for it: %s", names);
    ask(l, 0, &(struct order){.kind = ORDER_NCCL_VERSION, .bytes = sizeof l->nccl_version},
        l->nccl_version, sizeof l->nccl_version);
    return true;
}

bool links_nccl_window(struct links *l, size_t bytes, struct links_memory *window)
{
    struct answer answer[LINKS_MOST];
    bool everywhere = true;

    *window = (struct links_memory){.bytes = bytes};
    ask_all_with(l, &(struct order){.kind = ORDER_NCCL_WINDOW, .bytes = bytes}, NULL, 0, answer,
                 START_NS);
    for (int rank = 0; rank < l->ranks; rank++) {
        window->at[rank][rank] = (char *)(uintptr_t)answer[rank].address;
        everywhere = everywhere && answer[rank].address;
    }
    return everywhere;
}

const char *links_nccl_version(const struct links *l)
{
    return l->nccl_version;
}

void links_nccl(struct links *l, const struct nccl_call call[LINKS_MOST])
{
    for (int rank = l->ranks - 1; rank >= 0; rank--) {
        struct nccl_call one = call[rank];
        ask(l, rank, &(struct order){.kind = ORDER_NCCL}, &one, sizeof one);
    }
}

/* --- time ------------------------------------------------------------------------------------ */

void links_meeting(struct links *l, struct links_meeting meeting[LINKS_MOST])
{
    l->meetings++;
    for (int rank = 0; rank < l->ranks; rank++) {
        struct links_meeting *m = &meeting[rank];
        *m = (struct links_meeting){.inbox = (uint32_t *)(void *)l->inboxes.at[rank][rank],
                                    .late = l->late[rank],
                                    .number = l->meetings,
                                    .rank = (uint32_t)rank,
                                    .ranks = (uint32_t)l->ranks,
                                    .budget_ns = MEET_BUDGET_NS};
        for (int to = 0; to < l->ranks; to++)
            m->theirs[to] = (uint32_t *)(void *)(l->inboxes.at[rank][to] + rank * LINKS_APART);
    }
}

void links_meet(struct links *l)
{
    struct meet_args a[LINKS_MOST];
    struct links_meeting meeting[LINKS_MOST];

    links_meeting(l, meeting);
    for (int rank = 0; rank < l->ranks; rank++)
        a[rank].meeting = meeting[rank];
    links_launch(l, l->meet, &(struct gpu_shape){.grid = {1, 1, 1}, .block = 32}, a, sizeof *a);
}

static void numbers(struct links *l, enum order_kind kind, double number[LINKS_MOST])
{
    struct answer answer[LINKS_MOST];

    ask_all(l, &(struct order){.kind = kind}, answer);
    for (int rank = 0; rank < l->ranks; rank++)
        number[rank] = answer[rank].number;
}

void links_time_start(struct links *l)
{
    tell_all(l, ORDER_HOLD, 0);
    links_meet(l);
    tell_all(l, ORDER_CLOCK_START, 0);
    links_meet(l);
    tell_all(l, ORDER_START, 0);
}

struct links_time links_time_stop(struct links *l)
{
    struct links_time t = {.longest = 0, .mhz = INFINITY};
    double mhz[LINKS_MOST];

    tell_all(l, ORDER_STOP, 0);
    tell_all(l, ORDER_CLOCK_END, 0);
    tell_all(l, ORDER_GO, 0);
    links_wait(l);
    numbers(l, ORDER_ELAPSED, t.ns);
    numbers(l, ORDER_CLOCK_READ, mhz);
    for (int rank = 0; rank < l->ranks; rank++) {
        t.longest = fmax(t.longest, t.ns[rank]);
        t.mhz = fmin(t.mhz, mhz[rank]);
    }
    probe_clock(l->r, t.mhz);
    return t;
}
