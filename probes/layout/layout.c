/* layout: what does the layout of the data cost?
 *
 * Method. Reads and copies that use every byte, and others that do not. Rates count useful bytes.
 *     strided_rate   4 bytes of every stride-th 4-byte element; 1024 threads on every SM, each with
 *                    16 loads in flight. The sector model: a sector of 32 bytes is fetched whole,
 *                    so that stride s reaches 1 / min(s, 8) of the rate of stride 1
 *     gather_rate    4 bytes of each granule of the given size, the granules in random order
 *     read_rate      streaming, by loads of `width` bytes per lane, with in_flight bytes per SM
 *                    whatever the width; offset: bytes from an aligned address to the beginning
 *     copy_rate      the same as a copy; the bytes read and the bytes written are both counted
 *     rows_rate      rows of `columns` floats that are `ld` floats apart, by the widest load that
 *                    ld allows and by 4 bytes
 *     struct_rate    an array of structures of 8 floats; each lane reads all of its structure field
 *                    by field, by loads of `width` bytes, through L1
 *     footprint_rate reads of an area of the given size of each SM's own
 *     faults         a load of `width` bytes at an address that is only `offset`-aligned, in a
 *                    process of its own: 1 when that ends with a misaligned address
 *
 * Inside the timed region: one launch between two events; slope over N and 2N turns. level=hbm goes
 * through a buffer of more than 64 x L2. It reads no place twice in a launch, and continues where
 * the last launch stopped. level=l2 reads 128 KiB of each SM's own again and again. Before the
 * timing each kernel reads and XORs all values, and the host knows the right result. Copies are
 * compared byte by byte, with the outputs poisoned before.
 * Expected on an H200: stride 8 reaches an eighth of the rate, and 16 half of that, as device
 * memory is fetched in units of 64 bytes. All widths are alike once enough bytes are in flight.
 *
 * Traps. SMs that read the same buffer from the L2 fall into step, and one answer then serves
 * several: 10 TB/s and more seem to arrive where 9 are sent. Hence each SM has an area of its own.
 * There are no strides from L2, because the places of one turn would share sectors. A stride of 64
 * uses every second line: the L2 could hold a thirtieth of the lines that it walks. [In a buffer of
 * 16 GiB, where it could hold a hundredth, the rate is the same within 0.5 %.] 1- and 2-byte loads
 * are limited by how many can be issued, not by the memory. The distance of a copy's buffers is no
 * power of two. A fault costs its process a second: two of the cases do that, in the first and last
 * round. */
#include "probes/layout/args.h"

#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"

PROBE_IMAGE(layout);

enum { STRIDED, GATHER, READ, COPY, FOOTPRINT, ROWS, STRUCT, FAULTS };
static const struct probe_metric metrics[] = {
    [STRIDED] = {"strided_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "level,stride", .what = "useful bytes of every stride-th float"},
    [GATHER] = {"gather_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "level,granule",
        .what = "useful bytes of one float from each of so many bytes, in random order"},
    [READ] = {"read_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "level,offset,width,in_flight", .what = "by loads of so many bytes a lane"},
    [COPY] = {"copy_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "level,offset,width,in_flight",
        .what = "the same as a copy: bytes read and bytes written, both counted"},
    [FOOTPRINT] = {"footprint_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "bytes_per_sm,width",
        .what = "read from an area of this size of each SM's own, 64 KiB an SM in flight"},
    [ROWS] = {"rows_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "level,columns,ld,width", .what = "rows of floats with this leading dimension"},
    [STRUCT] = {"struct_rate", "bytes/s", PROBE_HIGHER, .form = PROBE_SLOPE,
        .keys = "level,fields,width", .what = "structures of floats, each read whole by its lane"},
    [FAULTS] = {"faults", "count", PROBE_EXACT, .keys = "offset,width",
        .what = "1: a load of this width at this offset is a misaligned address"},
};

static const struct probe_parameter parameters[] = {
    {.name = "fault", .max = 16 * 16 + 16,
     .what = "16 x offset + width: only this load, which may end the process"},
};

enum {
    HOST_BYTES = 16 << 20, /* the host knows at least these: strides are checked in them */
    KIB_64 = 64 << 10,
    KIB_16 = 16 << 10,
    L2_CHUNKS = 2,   /* of 64 KiB, in each SM's area of level=l2 */
    CHECK_TURNS = 3, /* turns of a check, and where it begins, in chunks or places */
    CHECK_FIRST = 1,
    GAP = (3 << 20) + 4352, /* between the buffers, whose length is a power of two */
    CHILD_MS = 20000,
};
static const double TARGET_NS = 300e3, RATE_GUESS = 4e12;

struct data {
    char *in, *out;   /* device; `bytes` each and some more, far apart */
    size_t bytes;     /* a power of two */
    const char *host; /* the first bytes of `in` */
    uint32_t *check;
};

/* --- one launch, timed ------------------------------------------------------------------------ */

static double launch_ns(struct probe_run *r, cudaKernel_t kernel, const void *args)
{
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1},
                                    .block = LAYOUT_THREADS};
    return gpu_launch_ns(r, kernel, &shape, args);
}

/* Turns for a launch of the given duration. The longer of two launches has twice as many, and reads
 * no place twice. */
static uint32_t turns_of(size_t bytes_of_turn, size_t turns_of_walk)
{
    size_t turns = (size_t)(TARGET_NS * 1e-9 * RATE_GUESS / (double)bytes_of_turn) + 1;
    size_t most = turns_of_walk / 2;
    return (uint32_t)(most < 1 ? 1 : most < turns ? most : turns);
}

/* What one launch XORs into *check. */
static uint32_t xor_of(struct probe_run *r, const struct data *d, cudaKernel_t kernel,
                       const void *args)
{
    uint32_t found;
    CUDA(cudaMemsetAsync(d->check, 0, sizeof found, gpu_stream(r)));
    gpu_launch(r, kernel, (unsigned)gpu_facts(r)->n_sm, LAYOUT_THREADS, 0, args);
    gpu_to_host(r, &found, d->check, sizeof found);
    return found;
}

/* How many bytes of the input the host knows: what a check reads. */
static size_t host_bytes(const struct probe_run *r)
{
    size_t streams = ((size_t)gpu_facts(r)->n_sm * CHECK_TURNS + 1) * (KIB_64 + KIB_16);
    return streams > HOST_BYTES ? streams : HOST_BYTES;
}

/* --- streaming -------------------------------------------------------------------------------- */

struct stream {
    const char *kernel; /* "read", "copy", "struct" */
    int offset, width;
    bool own;                  /* each block has `room` bytes to itself */
    size_t room, chunk, pitch; /* bytes: to walk; of a turn; from one turn to the next */
};

/* When a case runs: in every round, in the first and last, or with --deep. --check has
 * everything. */
enum show { ALWAYS, ONCE, DEEP };

static unsigned flags_of(const struct probe_run *r, enum show show)
{
    static const unsigned flags[] = {0, PROBE_THRICE, PROBE_DEEP};
    return PROBE_POWER_BOUND | (probe_is_check_run(r) ? 0 : flags[show]);
}

static size_t chunks_of(const struct stream *s)
{
    size_t chunks = 1;
    while (2 * chunks * s->pitch <= s->room)
        chunks *= 2;
    return chunks;
}

static size_t area_of(const struct stream *s)
{
    return s->own ? chunks_of(s) * s->pitch : 0;
}

/* Turns of a check: in an area of two chunks, a third turn would read the first chunk again and XOR
 * it away. */
static uint32_t check_turns(const struct stream *s)
{
    return s->own ? L2_CHUNKS : CHECK_TURNS;
}

/* Where block `i % n_blocks` reads in turn `i / n_blocks` of a check, from the buffer's start. */
static size_t place_of(const struct stream *s, size_t i, size_t n_blocks)
{
    size_t block = i % n_blocks, step = s->own ? 1 : n_blocks;
    size_t chunk = (CHECK_FIRST + i / n_blocks * step + block) & (chunks_of(s) - 1);
    return (size_t)s->offset + block * area_of(s) + chunk * s->pitch;
}

/* All that a check reads, XORed and folded to the width of a load. */
static uint32_t stream_on_host(const struct data *d, const struct stream *s, size_t n_blocks)
{
    uint32_t sum = 0, word;
    for (size_t k = 0; k < check_turns(s) * n_blocks; k++)
        for (size_t i = 0; i < s->chunk; i += sizeof word) {
            memcpy(&word, d->host + place_of(s, k, n_blocks) + i, sizeof word);
            sum ^= word;
        }
    if (s->width < 4)
        sum = (sum ^ sum >> 16) & 0xffff;
    return s->width < 2 ? (sum ^ sum >> 8) & 0xff : sum;
}

/* All chunks must arrive, and nothing else: the bytes between them must stay poisoned. */
static void check_copy(struct probe_run *r, const struct data *d, const struct stream *s,
                       cudaKernel_t kernel, const struct layout_stream_args *a)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm, bytes = host_bytes(r), amiss = 0;
    char *copy = probe_host_alloc(r, bytes), *expected = probe_host_alloc(r, bytes);

    gpu_poison(r, d->out, bytes);
    memset(expected, 0xff, bytes);
    for (size_t k = 0; k < check_turns(s) * n_sm; k++) {
        size_t at = place_of(s, k, n_sm);
        memcpy(expected + at, d->host + at, s->chunk);
    }
    xor_of(r, d, kernel, a);
    gpu_to_host(r, copy, d->out, bytes);
    for (size_t i = 0; i < bytes; i++)
        amiss += copy[i] != expected[i];
    probe_require(r, amiss == 0, "of %zu bytes %zu are not as a copy leaves them", bytes, amiss);
    free(copy);
    free(expected);
}

static void check_stream(struct probe_run *r, const struct data *d, const struct stream *s,
                         cudaKernel_t kernel, struct layout_stream_args a)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm;
    uint32_t found, expected;

    a.turns = check_turns(s);
    a.first = CHECK_FIRST;
    a.check = d->check;
    if (!strcmp(s->kernel, "copy")) {
        check_copy(r, d, s, kernel, &a);
        return;
    }
    found = xor_of(r, d, kernel, &a);
    expected = stream_on_host(d, s, n_sm);
    probe_require(r, found == expected, "%zu bytes read XOR to %08x, as on the host (%08x)",
                  check_turns(s) * n_sm * s->chunk, found, expected);
}

/* The current case. */
static void measure_stream(struct probe_run *r, const struct data *d, int metric,
                           const struct stream *s)
{
    char name[40];
    size_t n_sm = (size_t)gpu_facts(r)->n_sm;
    uint32_t turns = turns_of(n_sm * s->chunk, s->own ? SIZE_MAX : chunks_of(s) / n_sm);

    if (!strcmp(s->kernel, "struct"))
        snprintf(name, sizeof name, "layout_struct_%d", s->width);
    else
        snprintf(name, sizeof name, "layout_%s_%d_%zu", s->kernel, s->width, s->chunk >> 10);
    cudaKernel_t kernel =
        gpu_kernel_if_any(r, &image_layout, name, sizeof(struct layout_stream_args));
    if (!kernel) {
        probe_missing(r, metric, "loads of 32 bytes need a kernel for compute capability 10.0 from "
                                 "CUDA 12.9 or newer");
        return;
    }
    struct layout_stream_args a = {.in = d->in + s->offset,
                                   .out = d->out + s->offset,
                                   .pitch = s->pitch,
                                   .area = area_of(s),
                                   .mask = (uint32_t)(chunks_of(s) - 1),
                                   .step = s->own ? 1 : (uint32_t)n_sm};
    size_t moved = (metric == COPY ? 2 : 1) * n_sm * s->chunk;  /* per turn */
    if (probe_in_full(r) && n_sm * area_of(s) <= host_bytes(r)) /* larger ones: the kernel was */
        check_stream(r, d, s, kernel, a);
    while (probe_more(r))
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            double ns = launch_ns(r, kernel, &a);
            probe_sample(r, metric, (double)(a.turns * moved), ns);
            a.first = (a.first + a.turns * a.step) & a.mask;
        }
    /* Streams reach 0.94 of it: left out, 6 % show here, and less in the XOR of check_stream(). */
    if (!s->own)
        gpu_require_below_pins(r, metric, 1);
}

static void measure_width(struct probe_run *r, const struct data *d, enum show show, int metric,
                          bool in_l2, int offset, int width, size_t in_flight)
{
    const char *kernel = metric == COPY ? "copy" : "read";
    size_t room = in_l2 ? L2_CHUNKS * KIB_64 : d->bytes;
    struct stream s = {kernel, offset, width, in_l2, room, in_flight, in_flight};
    if (width > 16 && gpu_facts(r)->cc < 100)
        return;
    if (probe_begin_case(r, flags_of(r, show), "level=%s,offset=%d,width=%d,in_flight=%zu",
                         in_l2 ? "l2" : "hbm", offset, width, in_flight))
        measure_stream(r, d, metric, &s);
}

static void measure_widths(struct probe_run *r, const struct data *d, bool in_l2)
{
    for (int width = 1; width <= 16; width *= 2) {
        bool shown = width == 16 || width == (in_l2 ? 1 : 4);
        measure_width(r, d, shown ? ALWAYS : DEEP, READ, in_l2, 0, width, KIB_16);
    }
    for (int width = 2; width <= 32; width *= 2)
        measure_width(r, d, width == 4 || width >= 16 ? ALWAYS : DEEP, READ, in_l2, 0, width,
                      KIB_64);
    for (int width = 1; width <= 8; width *= 2) /* the widest load that an offset allows */
        measure_width(r, d, width < 4 ? DEEP : ONCE, READ, in_l2, width, width,
                      width < 2 ? KIB_16 : KIB_64);
    for (int width = 1; width <= 32; width *= 2)
        measure_width(r, d, !in_l2 && (width == 4 || width == 16) ? ONCE : DEEP, COPY, in_l2, 0,
                      width, width < 4 ? KIB_16 : KIB_64);
}

/* Rows of 64 KiB, one for each turn of a block. */
static void measure_rows(struct probe_run *r, const struct data *d, enum show show, bool in_l2,
                         int gap, int width)
{
    int columns = KIB_64 / 4, ld = columns + gap;
    size_t pitch = 4 * (size_t)ld, room = in_l2 ? L2_CHUNKS * pitch : d->bytes;
    struct stream s = {"read", 0, width, in_l2, room, KIB_64, pitch};
    if (probe_begin_case(r, flags_of(r, show), "level=%s,columns=%d,ld=%d,width=%d",
                         in_l2 ? "l2" : "hbm", columns, ld, width))
        measure_stream(r, d, ROWS, &s);
}

static void measure_struct(struct probe_run *r, const struct data *d, enum show show, int width)
{
    struct stream s = {"struct", 0, width, false, d->bytes, KIB_64, KIB_64};
    if (probe_begin_case(r, flags_of(r, show), "level=hbm,fields=8,width=%d", width))
        measure_stream(r, d, STRUCT, &s);
}

static void measure_footprints(struct probe_run *r, const struct data *d)
{
    size_t most = probe_is_check_run(r) ? KIB_64 : d->bytes / (size_t)gpu_facts(r)->n_sm;
    for (size_t room = KIB_64; room <= most; room *= 2)
        for (int width = 4; width <= 16; width *= 4) {
            struct stream s = {"read", 0, width, true, room, KIB_64, KIB_64};
            if (probe_begin_case(r, flags_of(r, DEEP), "bytes_per_sm=%zu,width=%d", room, width))
                measure_stream(r, d, FOOTPRINT, &s);
        }
}

/* --- strides and gathers ---------------------------------------------------------------------- */

/* The kernel's own places, followed by the host through the part of the buffer that it holds. */
static uint32_t gather_on_host(const struct data *d, const struct layout_gather_args *a, size_t n)
{
    uint32_t sum = 0, word, mask = (1u << a->bits) - 1;
    for (uint32_t i = a->first; i < a->first + n; i++) {
        uint32_t at = i;
        if (a->bits) {
            at = i * 0x9e3779b1u & mask;
            at ^= at >> (a->bits / 2);
            at = at * 0x85ebca6bu & mask;
            at ^= at >> (a->bits / 2);
        }
        memcpy(&word, d->host + 4 * (size_t)(at * a->stride & a->mask), sizeof word);
        sum ^= word;
    }
    return sum;
}

static uint32_t log2_of(size_t power)
{
    uint32_t bits = 0;
    while ((size_t)2 << bits <= power)
        bits++;
    return bits;
}

/* The current case. stride is in elements; places are strided or random. */
static void measure_places(struct probe_run *r, const struct data *d, int metric, uint32_t stride)
{
    bool random = metric == GATHER;
    size_t turn = (size_t)gpu_facts(r)->n_sm * LAYOUT_THREADS * LAYOUT_GATHER;
    size_t fetched = turn * (stride < 8 ? 4 * stride : 32);
    uint32_t turns = turns_of(fetched, d->bytes / 4 / stride / turn);
    cudaKernel_t kernel = gpu_kernel(r, &image_layout, random ? "layout_random" : "layout_strided",
                                     sizeof(struct layout_gather_args));
    struct layout_gather_args a = {.in = (const uint32_t *)(const void *)d->in,
                                   .stride = stride,
                                   .mask = HOST_BYTES / 4 - 1,
                                   .bits = random ? log2_of(HOST_BYTES / 4 / stride) : 0,
                                   .check = d->check,
                                   .first = CHECK_FIRST,
                                   .turns = CHECK_TURNS};

    if (probe_in_full(r)) {
        uint32_t found = xor_of(r, d, kernel, &a);
        uint32_t expected = gather_on_host(d, &a, CHECK_TURNS * turn);
        probe_require(r, found == expected, "%zu places XOR to %08x, as on the host (%08x)",
                      CHECK_TURNS * turn, found, expected);
    }
    a.check = NULL;
    a.first = 0; /* else every warp of stride 1 would read from two lines */
    a.mask = (uint32_t)(d->bytes / 4 - 1);
    a.bits = random ? log2_of(d->bytes / 4 / stride) : 0;
    probe_fact(r, "footprint_bytes", "%zu", d->bytes);
    while (probe_more(r))
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            double ns = launch_ns(r, kernel, &a);
            probe_sample(r, metric, 4.0 * (double)(a.turns * turn), ns);
            a.first += a.turns * (uint32_t)turn;
        }
    gpu_require_below_pins(r, metric, stride < 8 ? stride : 8); /* sectors of 32 bytes */
}

static void measure_strides(struct probe_run *r, const struct data *d)
{
    static const uint32_t strides[] = {1, 8, 16, 32, 2, 4, 64, 3, 7, 33};
    for (size_t i = 0; i < PROBE_LENGTH(strides); i++) {
        enum show show = i < 4 ? ALWAYS : i < 7 ? ONCE : DEEP;
        if (probe_begin_case(r, flags_of(r, show), "level=hbm,stride=%u", strides[i]))
            measure_places(r, d, STRIDED, strides[i]);
    }
    for (uint32_t granule = 32; granule <= 256; granule *= 2)
        if (probe_begin_case(r, flags_of(r, granule > 32 ? DEEP : ONCE), "level=hbm,granule=%u",
                             granule))
            measure_places(r, d, GATHER, granule / 4);
}

/* --- what alignment forbids ------------------------------------------------------------------- */

/* In a child, which ends here when the load faults. */
static void load_misaligned(struct probe_run *r, int64_t fault)
{
    char name[40];
    struct data d = {.in = gpu_alloc(r, HOST_BYTES, "the buffer"),
                     .check = gpu_alloc(r, sizeof *d.check, "a check sum")};
    struct layout_stream_args a = {
        .in = d.in + fault / 16, .check = d.check, .turns = 1, .pitch = KIB_16};
    snprintf(name, sizeof name, "layout_read_%d_16", (int)(fault % 16 ? fault % 16 : 16));
    xor_of(r, &d, gpu_kernel(r, &image_layout, name, sizeof a), &a);
}

static void measure_fault(struct probe_run *r, const struct data *d, enum show show, int offset,
                          int width)
{
    char said[256];
    bool again = probe_is_check_run(r) && offset != 4; /* one is enough for --check */
    if (!probe_begin_case(r, show == DEEP || again ? PROBE_DEEP : PROBE_TWICE, "offset=%d,width=%d",
                          offset, width))
        return;
    int status = probe_respawn(r, "fault", 16 * offset + width % 16, CHILD_MS, said, sizeof said);
    bool fault = status == 1 && strstr(said, "cudaErrorMisalignedAddress");
    probe_require(r, fault || status == 0, "the child ended as understood: status %d, %s", status,
                  said);
    probe_value(r, FAULTS, fault);

    struct stream s = {"read", 0, 16, false, HOST_BYTES, KIB_64, KIB_64};
    struct layout_stream_args a = {.in = d->in,
                                   .pitch = KIB_64,
                                   .mask = HOST_BYTES / KIB_64 - 1,
                                   .step = (uint32_t)gpu_facts(r)->n_sm};
    cudaKernel_t kernel = gpu_kernel(r, &image_layout, "layout_read_16_64", sizeof a);
    if (probe_in_full(r))
        check_stream(r, d, &s, kernel, a); /* this process still works */
}

/* --- the sweep -------------------------------------------------------------------------------- */

static struct data prepare(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    size_t most = probe_is_check_run(r) ? (size_t)8 * HOST_BYTES : gpu->free_bytes / 4;
    struct data d = {.bytes = HOST_BYTES};

    while (d.bytes < 64 * gpu->l2_bytes && 2 * d.bytes <= most)
        d.bytes *= 2;
    d.in = gpu_alloc(r, 2 * d.bytes + GAP + 2 * KIB_64, "the buffers");
    d.out = d.in + d.bytes + GAP;
    gpu_fill_normal(r, d.in, GPU_FP32, d.bytes / 4 + KIB_64 / 4, probe_seed(r));
    d.check = gpu_alloc(r, sizeof *d.check, "a check sum");
    if (probe_in_full(r)) {
        char *copy = probe_host_alloc(r, host_bytes(r));
        gpu_to_host(r, copy, d.in, host_bytes(r));
        d.host = copy;
    }
    return d;
}

static void measure(struct probe_run *r)
{
    if (probe_parameter_given(r, "fault")) {
        load_misaligned(r, probe_parameter(r, "fault"));
        return;
    }
    struct data d = prepare(r);
    bool fits_l2 = (size_t)gpu_facts(r)->n_sm * L2_CHUNKS * KIB_64 <= gpu_facts(r)->l2_bytes / 2;
    measure_strides(r, &d);
    for (int in_l2 = 0; in_l2 <= fits_l2; in_l2++) {
        measure_widths(r, &d, in_l2);
        measure_rows(r, &d, in_l2 ? DEEP : ALWAYS, in_l2, 4, 16);
        measure_rows(r, &d, in_l2 ? DEEP : ONCE, in_l2, 4, 4);
        measure_rows(r, &d, in_l2 ? DEEP : ONCE, in_l2, 1, 4);
    }
    measure_struct(r, &d, ALWAYS, 4);
    measure_struct(r, &d, ONCE, 16);
    measure_footprints(r, &d);
    measure_fault(r, &d, ONCE, 4, 16);
    measure_fault(r, &d, ONCE, 8, 16);
    measure_fault(r, &d, DEEP, 1, 2);
    measure_fault(r, &d, DEEP, 2, 4);
}

const struct probe probe = {
    .name = "layout",
    .what = "What does the layout of the data cost?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
