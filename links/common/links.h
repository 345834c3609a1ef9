/* Several GPUs of one machine, as one program sees them. Each has a process of its own, a *rank*:
 * the program itself is rank 0, and starts the others as copies of itself. Those are its hands:
 * they allocate, launch and copy when it asks, and do nothing else. So a program reads as one
 * story:
 *
 *     static void measure(struct probe_run *r)
 *     {
 *         struct links *l = links_open(r);
 *         if (!l)
 *             return; // this process was a hand, and has done what rank 0 asked
 *         struct links_memory ring = links_alloc(l, 1 << 20, "a ring");
 *         int chase = links_kernel(l, &image_x, "x_chase", sizeof(struct chase_args));
 *         struct chase_args a[LINKS_MOST];
 *         for (int rank = 0; rank < links_gpus(l); rank++)
 *             a[rank].ring = ring.at[rank][links_next(l, rank)]; // the next GPU's piece
 *         ...
 *             links_launch(l, chase, &shape, a, sizeof *a); // one launch on each GPU
 *             links_wait(l);
 *         links_close(l);
 *     }
 *
 * links_open() skips the run with the reason where ranks cannot reach each other's memory: one GPU,
 * MIG, no peer access, no CUDA IPC, or memory that does not keep what a peer writes (then ACS or an
 * IOMMU is in the way). Each rank's memory is written by every other rank, read by it, and compared
 * before anything is timed.
 *
 * Time. No two GPUs share a clock. A time is a round trip on one GPU, or what each GPU says that
 * its own work took; of each repetition the longest of the ranks' times is the sample. links_meet()
 * begins the work of all ranks within one trip between them.
 *
 * With --set loopback=1 all ranks use GPU 0, for checking results where there is one GPU: their
 * kernels then take turns, so that it needs --check and gives no times.
 *
 * Every wait has a limit. If a rank ends, or does not answer, the run ends in one line with what it
 * said last; if this process is in a call that then never returns, some seconds later and without
 * that. Kernels must end by themselves: a wait in a kernel has a budget by %globaltimer, and says
 * so in struct links_meeting's `late`, after which links_wait() ends the run. */
#ifndef LINKS_COMMON_LINKS_H
#define LINKS_COMMON_LINKS_H

#include "core/gpu.h"
#include "core/device/sides.h"
#include "core/nccl.h"
#include "links/common/meeting.h"

/* The first parameters of every program of links/, and the words of the first. */
extern const char *const links_gpus_words[];
#define LINKS_PARAMETERS                                                                           \
    {.name = "gpus", .max = 2, .words = links_gpus_words,                                          \
     .what = "GPUs that take part, or most: 4 where there are as many, else 2"},                   \
    {.name = "loopback", .max = 1,                                                                 \
     .what = "1: every rank on one GPU, to check results without a second (with --check)"},        \
    {.name = "rank", .max = LINKS_MOST - 1,                                                        \
     .what = "which of these processes this is (set by the program itself)"}

struct links;

/* Starts the other ranks and proves that all reach each other's memory. NULL in those ranks
 * themselves, when rank 0 needs them no longer: return at once. */
struct links *links_open(struct probe_run *r);

/* Another process for each of the same GPUs, rank 0's included, with a variable of the environment
 * that a library reads once; here it stays what it was. All calls below take it as they take the
 * first. Close both. */
struct links *links_open_beside(struct links *l, const char *variable, const char *value);

/* Asks all ranks to end, which check their guard bands, and waits for them. */
void links_close(struct links *l);

int links_gpus(const struct links *l);           /* ranks: 2 or 4 */
int links_next(const struct links *l, int rank); /* the rank after that one, round the ring */
bool links_is_loopback(const struct links *l);
const char *links_pci_bus(const struct links *l, int rank);

/* --- memory ---------------------------------------------------------------------------------- */

/* A piece of the same size on every GPU, and every piece's address in every rank. Each lies between
 * guard bands, and all its bytes are 0xff. It lives until the end of the run. */
struct links_memory {
    size_t bytes;
    char *at[LINKS_MOST][LINKS_MOST]; /* at[rank][owner]: in `rank`, the piece on `owner`'s GPU */
    char *here; /* of links_share_host(): the pieces, one behind the other, in this process */
};
struct links_memory links_alloc(struct links *l, size_t bytes, const char *what);

/* The same, of which each rank has its own piece's address only, at[rank][rank]. */
struct links_memory links_alloc_own(struct links *l, size_t bytes, const char *what);

/* In stream order of that rank. The last two wait for the stream; `to` or `from` on the device is
 * an address of that rank, at[rank][...]. */
void links_fill(struct links *l, int rank, void *to, int byte, size_t bytes);
void links_write(struct links *l, int rank, void *to, const void *from, size_t bytes);
void links_read(struct links *l, int rank, void *to, const void *from, size_t bytes);

/* A copy by that rank's copy engine, queued in its stream; one end may be a peer's. */
void links_copy(struct links *l, int rank, void *to, const void *from, size_t bytes);

/* Fills memory with words that are another for every place and seed, by a kernel of that rank; and
 * counts the words that are not those. The second waits. Both use loads and stores of the system's
 * scope; `bytes` is a multiple of 4. */
void links_pattern(struct links *l, int rank, void *to, size_t bytes, uint64_t seed);
uint64_t links_wrong(struct links *l, int rank, const void *at, size_t bytes, uint64_t seed);

/* gpu_sweep_l2() and gpu_fill_normal() on that rank's GPU, queued in its stream. */
void links_sweep_l2(struct links *l, int rank);
void links_fill_normal(struct links *l, int rank, void *to, enum gpu_type type, size_t count,
                       uint64_t seed);

/* Which SMs, and which memory, are on which side of each rank's L2, as sides_of() finds it: of
 * `bytes` from at[rank] on, on that rank's own GPU. Each map is for that rank's kernels. False,
 * with one line in why, where a rank has no sides. */
bool links_sides(struct links *l, char *const at[LINKS_MOST], size_t bytes,
                 struct sides_map map[LINKS_MOST], char *why, size_t size);

/* Host memory of that rank which its kernels write across the bus, zeroed; the address is the
 * rank's, and is read by links_read(). */
void *links_mapped(struct links *l, int rank, size_t bytes);

/* Memory of the host that all ranks share, zeroed: a piece for each, which every rank's kernels
 * read and write across the bus, at[rank][owner], and this process as memory of its own. False,
 * with one line in why, where it cannot be mapped. */
bool links_share_host(struct links *l, size_t bytes, struct links_memory *shared, char *why,
                      size_t size);

/* --- kernels --------------------------------------------------------------------------------- */

/* A kernel in every rank, as gpu_kernel(); what comes back names it in the calls below. -1 where
 * this build has no code of it for these GPUs. */
int links_kernel_if_any(struct links *l, const struct gpu_image *image, const char *name,
                        size_t args_size);
int links_kernel(struct links *l, const struct gpu_image *image, const char *name,
                 size_t args_size); /* skips the run instead */
void links_kernel_shared(struct links *l, int kernel, size_t shared, int carveout);

/* One launch in every rank's stream, or in one rank's. `args` holds the argument structs one after
 * another, a rank each. The shape's stream is ignored. */
void links_launch(struct links *l, int kernel, const struct gpu_shape *shape, const void *args,
                  size_t args_size);
void links_launch_at(struct links *l, int rank, int kernel, const struct gpu_shape *shape,
                     const void *args, size_t args_size);

/* Waits until every rank's stream is empty. It ends the run if one is not after ten seconds, or if
 * a kernel said that a wait of its own took longer than its budget. */
void links_wait(struct links *l);

/* What is launched in between becomes one graph in every rank, replayed once. links_replay() queues
 * it in every rank. A graph that is no longer needed is freed. */
void links_graph_begin(struct links *l);
int links_graph_end(struct links *l);
void links_replay(struct links *l, int graph);
void links_graph_free(struct links *l, int graph);

/* Name and grid of a graph's first kernel, as gpu_graph_first_kernel(): what a library chose. */
struct gpu_node links_first_kernel(struct links *l, int graph);

/* Opens NCCL in all ranks and connects them. False, with one line in why, where it is not to be
 * had, or refuses all ranks. If it refuses some, for whom the others wait, the run ends. A note
 * names the variables NCCL_* that are set. Then: one call in every rank's stream; `call` has one
 * for each, without the stream. */
bool links_nccl_open(struct links *l, char *why, size_t size);
const char *links_nccl_version(const struct links *l);

/* Memory of NCCL's own that all ranks register with it as symmetric: each its piece,
 * at[rank][rank], which no other rank of ours addresses. False where the library has no such
 * memory. */
bool links_nccl_window(struct links *l, size_t bytes, struct links_memory *window);
void links_nccl(struct links *l, const struct nccl_call call[LINKS_MOST]);

/* --- time ------------------------------------------------------------------------------------ */

/* The time of what is queued between the two calls, in every rank by its own events; as
 * gpu_time_start() and gpu_time_stop() of one GPU:
 *
 *     links_time_start(l);            holds, meets, reads the clock, meets, records an event
 *     links_launch(l, ...);
 *     t = links_time_stop(l);         records an event, reads the clock, lets go, waits
 *
 * The GPUs run what is queued already, and no host paces them. They meet ahead of the clock, which
 * else would have in it that the first one waits until the last one is let go; and behind it, since
 * it is not read in all at the same moment. The run ends if a gate opened by itself before; do not
 * queue more than a thousand launches in between. links_time_stop() passes the SM clock of the
 * slowest rank to the sample loop. */
struct links_time {
    double ns[LINKS_MOST], longest; /* each rank's own */
    double mhz;                     /* of the slowest */
};
void links_time_start(struct links *l);
struct links_time links_time_stop(struct links *l);

/* Queues a kernel of one warp in every rank, which ends when all ranks' have started. */
void links_meet(struct links *l);

/* For kernels that meet by themselves: what links_meet() gives its own. Fills in one for every
 * rank. Each call is another meeting, at which all ranks must appear. See meet.cuh. */
void links_meeting(struct links *l, struct links_meeting meeting[LINKS_MOST]);

#endif
