/* bandwidth: how fast can each level of the memory be read, written and copied, and how long does a
 * dependent load take while the rest of the chip streams?
 *
 * Method. Each instruction moves 16 bytes per lane. The data are random. The paths:
 *     ld        loads and stores; loads of global memory are ld.global.cg, of L1 .ca
 *     cp_async  cp.async into a ring in shared memory that nobody reads (compute capability 8.0)
 *     bulk      bulk copies of 16 KiB between global and shared memory, by one thread (9.0)
 *     driver    cudaMemcpyAsync and cudaMemsetAsync, for comparison
 *     ffma      fused multiply-adds, three operands of 4 bytes per lane: how registers are read
 * `bytes` is the size of one buffer. If a level belongs to an SM, it is the size in that SM. A copy
 * counts the bytes that it reads plus those that it writes. The levels:
 *     hbm       the buffer is dealt out in order to short-lived blocks; slope over n and 2n passes
 *     l2        one block per SM; each goes round a slice of its own, so that no two blocks ask for
 *               the same line; slope over n and 2n rounds
 *     l1, shared, register   each SM uses its own; slope over n and 2n passes; also in bytes per
 *               cycle of the SM's clock, over the 2n passes, which take about 1.3 million cycles
 * in_step reads the L2 by SMs that ask for the same lines at the same time, and counts the bytes
 * that arrive at the SMs. The n and 2n measurements take turns in coming first, so that a drift of
 * the clock does not favour one of them.
 *
 * Verified: every timed read by ld sums the words that it got. The sum must equal that of a plain
 * kernel, which the host checks. In every other stream each block marks the pieces that it has
 * done; over all timed launches together every piece must be marked exactly as often as was asked.
 * One launch before the timing and one after it are checked word by word: in memory, and for a ring
 * in shared memory by the same kernel with its reading switched on. Stores write a different
 * pattern in each round of a slice, and each call of the driver writes something different: the
 * last must remain.
 *
 * loaded_latency: on one SM a thread chases pointers as in memory_latency, through a ring of 4 x L2
 * (hbm) or 4 MiB (l2). On all other SMs 16 warps read: together a buffer of 4 GiB (hbm), or each
 * warp 8 KiB of its own (l2). At load=100 each lane asks for the next four elements as soon as it
 * has the last four. The rate of that is 100 %. Lower loads wait between turns to reach their share
 * of it. loaded_rate is the rate of the streams during the chase. The knee is looked for at 25, 75,
 * 90 and 95 %, in three rounds: below three quarters an H200's HBM answers within a tenth of its
 * idle 335 ns; at full rate it takes 600.
 *
 * power, energy: the same launches again and again, by loads, for a third of a second, from one
 * step of NVML's energy counter to another; and op=none, nothing at all, the control, which must
 * take less than three quarters. Reads of HBM; with --deep its copies and reads of the L2, too.
 * Expected on an H200 of 700 W: idle with its clock held 120 to 150 W, HBM read 450 to 550 W, or
 * 0.1 nJ a byte; not over the limit.
 *
 * Inside the timed region: one launch between two events; for bytes per cycle, two clock reads in
 * it.
 * Expected on an H200, whose memory pins give 4.81 TB/s, in TB/s: HBM 4.7 read, 4.7 written, 4.2
 * copied; L2 9.2 read, 4.8 written, 7.8 copied. L1 and shared memory: 128 bytes per cycle and SM.
 * Registers: 1024 bytes per cycle, not the 1536 of a full rate of ffma, because the register file
 * delivers two of the three operands per cycle and the third must come from the reuse cache.
 *
 * Traps. Persistent blocks that walk a buffer repeatedly drift apart, until some find in the L2
 * what others read a pass before: 512 MiB then reads at 5.4 TB/s, above the pins. SMs that read the
 * same lines in step are served together: 20 TB/s arrive where the L2 sends 9. SMs that walk the
 * same lines fall into step by themselves, the more the longer they walk. SMs do not get equal
 * shares of the L2, and with equal slices the slowest SM ends the measurement: while all of them
 * read, the rate is 9.15 TB/s (loaded_rate). Shared memory is taken from the L1, which then has
 * less room for loads in flight: with all of it taken, ld.cg in step drops from 20 to 10 TB/s. The
 * L1 keeps no writes, so the l2 row gives their cost. One addition to memory per warp slows a
 * stream by 2 %. At load=100 the latency depends on how many loads the other SMs keep in flight;
 * that number is a fact of the case. */
#include "probes/bandwidth/bandwidth.h"

#include "core/gpu.h"

PROBE_IMAGE(bandwidth);

static const struct probe_metric metrics[] = {
    [RATE] = {"rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = "level,op,path,bytes",
        .what = "sustained rate of the whole GPU; a copy counts bytes read and bytes written"},
    [SM_RATE] = {"sm_rate", "bytes/cycle", PROBE_HIGHER, .keys = "level,op,path,bytes",
        .what = "the same of one SM, by its clock"},
    [IN_STEP] = {"in_step", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = "level,sms,bytes",
        .what = "bytes that arrive at SMs of which so many read the same lines at the same time"},
    [CURVE] = {"curve", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = "bytes",
        .what = "a buffer of this size read again and again, dealt out to blocks"},
    [POWER] = {"power", "watts", PROBE_LOWER, .keys = "level,op,path,bytes",
        .what = "of the board while it does so all the time, by NVML's energy counter"},
    [ENERGY] = {"energy", "joules", PROBE_LOWER, .keys = "level,op,path,bytes",
        .what = "that the board takes for going through the buffer once"},
    [LOADED] = {"loaded_latency", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "device",
        .keys = "level,load",
        .what = "dependent load while the other SMs stream at so many per cent of what they can"},
    [LOADED_RATE] = {"loaded_rate", "bytes/s", PROBE_HIGHER, .keys = "level,load",
        .what = "rate of those streams during the chase"},
    [CAPACITY] = {"capacity", "bytes", PROBE_EXACT, .keys = "level",
        .what = "of all SMs together, as the device states it"},
};

static const size_t GAP = (37 << 20) + 20480; /* between buffers: no power of two */

const char *const bandwidth_op_names[] = {[READ] = "read", [WRITE] = "write", [COPY] = "copy"};

static struct mover prepare(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    struct mover m = {.room = probe_is_check_run(r) ? 16 * MIB : 4 * GIB,
                      .salt = (uint32_t)probe_seed(r)};

    while (m.room > 512 * MIB && m.room > gpu->free_bytes / 4)
        m.room /= 2;
    bandwidth_find_forms(r, m.kernel);
    m.verify =
        gpu_kernel(r, &image_bandwidth, "bandwidth_verify", sizeof(struct bandwidth_verify_args));
    m.in = gpu_alloc(r, 2 * m.room + GAP, "the buffers to stream through");
    m.out = m.in + m.room + GAP;
    gpu_fill_normal(r, m.in, GPU_FP32, (2 * m.room + GAP) / 4, probe_seed(r));
    m.sum = gpu_alloc(r, SUM_BYTES, "sums");
    m.log = gpu_alloc(r, SUM_BYTES, "marks of turns");
    m.result = gpu_alloc(r, 2 * sizeof *m.result, "what a check finds");
    m.blocks = gpu_mapped(r, (size_t)gpu->n_sm * sizeof *m.blocks);
    return m;
}

/* --- checks ----------------------------------------------------------------------------------- */

uint64_t bandwidth_run_verifier(struct probe_run *r, const struct mover *m,
                                struct bandwidth_verify_args a, uint64_t *sum)
{
    uint64_t found[2];
    a.result = m->result;
    CUDA(cudaMemsetAsync(m->result, 0, sizeof found, gpu_stream(r)));
    gpu_launch(r, m->verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    gpu_to_host(r, found, m->result, sizeof found);
    *sum = found[1];
    return found[0];
}

uint64_t bandwidth_sum_of(struct probe_run *r, const struct mover *m, size_t bytes)
{
    uint64_t sum;
    bandwidth_run_verifier(
        r, m, (struct bandwidth_verify_args){.in = m->in, .out = m->in, .elements = bytes / 16},
        &sum);
    return sum;
}

/* Compares that kernel's sum with the host's. */
static void check_reference(struct probe_run *r, const struct mover *m)
{
    size_t bytes = 8 * MIB;
    uint32_t *copy = probe_host_alloc(r, bytes);
    uint64_t by_host = 0;

    gpu_to_host(r, copy, m->in, bytes);
    for (size_t i = 0; i < bytes / sizeof *copy; i++)
        by_host += copy[i];
    probe_require(r, bandwidth_sum_of(r, m, bytes) == by_host,
                  "host and GPU agree on the sum of %zu bytes", bytes);
}

void bandwidth_clear_sums(struct probe_run *r, const struct mover *m)
{
    CUDA(cudaMemsetAsync(m->sum, 0, SUM_BYTES, gpu_stream(r)));
    CUDA(cudaMemsetAsync(m->log, 0, SUM_BYTES, gpu_stream(r)));
}

void bandwidth_check_sum(struct probe_run *r, const uint32_t *gathered, uint32_t must,
                         const char *what)
{
    uint32_t words[SUM_WORDS * SUM_SPACING], sum = 0;
    gpu_to_host(r, words, gathered, sizeof words);
    for (size_t i = 0; i < SUM_WORDS; i++)
        sum += words[i * SUM_SPACING];
    probe_require(r, sum == must, "%s add up to %08x, must be %08x", what, sum, must);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void measure_capacity(struct probe_run *r, const char *level, size_t bytes)
{
    if (probe_begin_case(r, PROBE_TWICE, "level=%s", level))
        probe_value(r, CAPACITY, (double)bytes);
}

static void measure(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    struct mover m = prepare(r);
    int registers, device;

    if (probe_in_full(r))
        check_reference(r, &m);
    bandwidth_measure_locals(r, &m);
    bandwidth_measure_streams(r, &m);
    bandwidth_measure_loaded(r, &m);
    if (!probe_is_check_run(r))
        bandwidth_measure_powers(r, &m); /* last: half a second of work each */

    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&registers, cudaDevAttrMaxRegistersPerMultiprocessor, device));
    measure_capacity(r, "register", 4 * (size_t)registers * (size_t)gpu->n_sm);
    measure_capacity(r, "shared", gpu->shared_per_sm * (size_t)gpu->n_sm);
    measure_capacity(r, "l2", gpu->l2_bytes);
    measure_capacity(r, "hbm", gpu->memory_bytes);
}

const struct probe probe = {
    .name = "bandwidth",
    .what = "How fast can each level be read, written and copied, and what is a load under load?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
