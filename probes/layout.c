/* layout: what does the layout of the data cost?
 *
 * Method. Reads and copies that use every byte, and others that do not; rates are of useful bytes.
 *     strided_rate   4 bytes of every stride-th 4-byte element, 16 loads of each of 1024 threads on
 *                    every SM in flight. The sector model: a sector of 32 bytes is fetched whole,
 *                    so that stride s gives 1 / min(s, 8) of stride 1
 *     gather_rate    4 bytes of each granule of that many bytes, the granules in random order
 *     read_rate      streaming, by loads of `width` bytes a lane, in_flight bytes an SM whatever
 *                    the width; offset: bytes from an aligned address to where all of it begins
 *     copy_rate      the same as a copy; bytes counted are those read
 *     rows_rate      rows of `columns` floats that lie `ld` floats apart, by the widest load that
 *                    ld allows and by 4 bytes
 *     struct_rate    an array of structures of 8 floats, each lane reads all of its structure field
 *                    by field, by loads of `width` bytes, through L1
 *     faults         a load of `width` bytes at an address that is only `offset`-aligned, in a
 *                    process of its own: 1 when that ends with a misaligned address
 *
 * Inside the timed region: events around one launch; slope over N and 2N turns. level=l2 reads 16
 * MiB again and again, level=hbm a buffer of more than 64 x L2, and goes on where the last launch
 * stopped. Before it is timed, each kernel reads once with all values XORed, and the host knows
 * what must come out; copies are compared byte by byte, outputs poisoned before.
 * Expected on an H200: stride 8 at an eighth of the rate, 16 at half of that, as device memory is
 * fetched in 64 bytes; widths alike once enough is in flight.
 *
 * Traps. 1- and 2-byte loads meet the limit of how many can be issued, not the memory's. Buffers a
 * power of two apart copy at two thirds of the rate: ours are not. A fault costs its process a
 * second: two of the cases do that, in the first and last round. */
#include "probes/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"

PROBE_IMAGE(layout);
GPU_ARGS_SIZE(struct layout_stream_args, 48);
GPU_ARGS_SIZE(struct layout_gather_args, 40);

enum { STRIDED, GATHER, READ, COPY, FOOTPRINT, ROWS, STRUCT, FAULTS };
static const struct probe_metric metrics[] = {
    [STRIDED] = {"strided_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "level,stride",
                 "useful bytes of every stride-th float"},
    [GATHER] = {"gather_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "level,granule",
                "useful bytes of one float from each of so many bytes, in random order"},
    [READ] = {"read_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL,
              "level,offset,width,in_flight", "by loads of so many bytes a lane"},
    [COPY] = {"copy_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL,
              "level,offset,width,in_flight", "bytes read, and as many written"},
    [FOOTPRINT] = {"footprint_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "bytes,width",
                   "the same from a buffer of this size, 64 KiB an SM in flight"},
    [ROWS] = {"rows_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "level,columns,ld,width",
              "rows of floats with this leading dimension"},
    [STRUCT] = {"struct_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "level,fields,width",
                "structures of floats, each read whole by its lane"},
    [FAULTS] = {"faults", "count", PROBE_EXACT, PROBE_EACH, NULL, "offset,width",
                "1: a load of this width at this offset is a misaligned address"},
};

static const struct probe_parameter parameters[] = {
    {"fault", 0, 0, 16 * 16 + 16, "16 x offset + width: only this load, which may end the process"},
};

enum {
    L2_BUFFER = 16 << 20,
    KIB_64 = 64 << 10,
    KIB_16 = 16 << 10,
    GAP = (3 << 20) + 4352, /* between the buffers, which are a power of two long */
    CHILD_MS = 20000,
};
static const double TARGET_NS = 300e3, RATE_GUESS = 4e12;

struct data {
    char *in, *out;   /* device; `bytes` each and some more, out well away from in */
    size_t bytes;     /* a power of two */
    const char *host; /* the first of `in` */
    uint32_t *check;
};

/* --- one launch, timed ------------------------------------------------------------------------ */

static double launch_ns(struct probe_run *r, cudaKernel_t kernel, const void *args)
{
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1},
                                    .block = LAYOUT_THREADS};
    return gpu_launch_ns(r, kernel, &shape, args);
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

/* --- streaming -------------------------------------------------------------------------------- */

struct stream {
    const char *kernel; /* "read", "copy", "struct" */
    int offset, width;
    size_t room, chunk, pitch; /* bytes: of the buffer, of a block's turn, from one to the next */
};

static size_t room_of(const struct data *d, bool in_l2)
{
    return in_l2 ? L2_BUFFER : d->bytes;
}

/* In every round, or in the first and last, or by --deep; --check has everything. */
enum show { ALWAYS, ONCE, DEEP };

static unsigned flags_of(const struct probe_run *r, enum show show)
{
    static const unsigned flags[] = {0, PROBE_ONCE, PROBE_DEEP};
    return PROBE_POWER_BOUND | (probe_checking(r) ? 0 : flags[show]);
}

static size_t chunks_of(const struct stream *s)
{
    size_t chunks = 1;
    while (2 * chunks * s->pitch <= s->room)
        chunks *= 2;
    return chunks;
}

/* Words of the first chunks of all blocks, XORed, and folded to the width of a load. */
static uint32_t stream_on_host(const struct data *d, const struct stream *s, size_t n_blocks)
{
    uint32_t sum = 0, word;
    for (size_t block = 0; block < n_blocks; block++)
        for (size_t i = 0; i < s->chunk; i += sizeof word) {
            size_t chunk = block & (chunks_of(s) - 1);
            memcpy(&word, d->host + (size_t)s->offset + chunk * s->pitch + i, sizeof word);
            sum ^= word;
        }
    if (s->width < 4)
        sum = (sum ^ sum >> 16) & 0xffff;
    return s->width < 2 ? (sum ^ sum >> 8) & 0xff : sum;
}

static void check_stream(struct probe_run *r, const struct data *d, const struct stream *s,
                         cudaKernel_t kernel, struct layout_stream_args a)
{
    size_t n_sm = (size_t)gpu_facts(r)->n_sm, bytes = n_sm * s->chunk;
    uint32_t found, expected;

    a.turns = 1;
    a.check = d->check;
    if (!strcmp(s->kernel, "copy")) {
        char *copy = probe_host_alloc(r, bytes);
        gpu_poison(r, a.out, bytes);
        xor_of(r, d, kernel, &a);
        gpu_to_host(r, copy, a.out, bytes);
        probe_check(r, !memcmp(copy, d->host + s->offset, bytes), "%zu bytes arrived", bytes);
        free(copy);
        return;
    }
    found = xor_of(r, d, kernel, &a);
    expected = stream_on_host(d, s, n_sm);
    probe_check(r, found == expected, "%zu bytes read XOR to %08x, as on the host (%08x)",
                n_sm * s->chunk, found, expected);
}

/* The current case. */
static void measure_stream(struct probe_run *r, const struct data *d, int metric,
                           const struct stream *s)
{
    char name[40];
    size_t n_sm = (size_t)gpu_facts(r)->n_sm;
    uint32_t turns = (uint32_t)(TARGET_NS * 1e-9 * RATE_GUESS / (double)(n_sm * s->chunk)) + 1;

    if (!strcmp(s->kernel, "struct"))
        snprintf(name, sizeof name, "layout_struct_%d", s->width);
    else
        snprintf(name, sizeof name, "layout_%s_%d_%zu", s->kernel, s->width, s->chunk >> 10);
    cudaKernel_t kernel =
        gpu_kernel_if_any(r, &image_layout, name, sizeof(struct layout_stream_args));
    if (!kernel) {
        probe_missing(r, metric, "loads of 32 bytes need compute capability 10.0");
        return;
    }
    struct layout_stream_args a = {.in = d->in + s->offset,
                                   .out = d->out + s->offset,
                                   .pitch = s->pitch,
                                   .mask = (uint32_t)(chunks_of(s) - 1)};
    if (probe_in_full(r))
        check_stream(r, d, s, kernel, a);
    while (probe_more(r))
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            double ns = launch_ns(r, kernel, &a);
            probe_sample(r, metric, (double)(a.turns * n_sm * s->chunk), ns);
            a.first = (a.first + a.turns * (uint32_t)n_sm) & a.mask;
        }
}

static void measure_width(struct probe_run *r, const struct data *d, enum show show, int metric,
                          bool in_l2, int offset, int width, size_t in_flight)
{
    struct stream s = {
        metric == COPY ? "copy" : "read", offset, width, room_of(d, in_l2), in_flight, in_flight};
    if (width > 16 && gpu_facts(r)->cc < 100)
        return;
    if (probe_case(r, flags_of(r, show), "level=%s,offset=%d,width=%d,in_flight=%zu",
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
    struct stream s = {"read", 0, width, room_of(d, in_l2), KIB_64, 4 * (size_t)ld};
    if (probe_case(r, flags_of(r, show), "level=%s,columns=%d,ld=%d,width=%d", in_l2 ? "l2" : "hbm",
                   columns, ld, width))
        measure_stream(r, d, ROWS, &s);
}

static void measure_struct(struct probe_run *r, const struct data *d, enum show show, bool in_l2,
                           int width)
{
    struct stream s = {"struct", 0, width, room_of(d, in_l2), KIB_64, KIB_64};
    if (probe_case(r, flags_of(r, show), "level=%s,fields=8,width=%d", in_l2 ? "l2" : "hbm", width))
        measure_stream(r, d, STRUCT, &s);
}

static void measure_footprints(struct probe_run *r, const struct data *d)
{
    for (size_t room = KIB_64; room <= d->bytes; room *= 4)
        for (int width = 4; width <= 16; width *= 4) {
            struct stream s = {"read", 0, width, room, KIB_64, KIB_64};
            bool shown = room == 4 * KIB_64;
            if (probe_case(r, flags_of(r, shown ? ALWAYS : DEEP), "bytes=%zu,width=%d", room,
                           width))
                measure_stream(r, d, FOOTPRINT, &s);
        }
}

/* --- strides and gathers ---------------------------------------------------------------------- */

/* The kernel's own places, followed by the host through the part of the buffer that it has. */
static uint32_t gather_on_host(const struct data *d, const struct layout_gather_args *a, size_t n)
{
    uint32_t sum = 0, word, mask = (1u << a->bits) - 1;
    for (uint32_t i = 0; i < n; i++) {
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

/* The current case. stride in elements; its places, strided or at random. */
static void measure_places(struct probe_run *r, const struct data *d, int metric, bool in_l2,
                           uint32_t stride)
{
    bool random = metric == GATHER;
    size_t turn = (size_t)gpu_facts(r)->n_sm * LAYOUT_THREADS * LAYOUT_GATHER;
    size_t room = in_l2 ? L2_BUFFER : d->bytes, sector = stride < 8 ? 4 * stride : 32;
    uint32_t turns = (uint32_t)(TARGET_NS * 1e-9 * RATE_GUESS / (double)(turn * sector)) + 1;
    cudaKernel_t kernel = gpu_kernel(r, &image_layout, random ? "layout_random" : "layout_strided",
                                     sizeof(struct layout_gather_args));
    struct layout_gather_args a = {.in = (const uint32_t *)(const void *)d->in,
                                   .stride = stride,
                                   .mask = L2_BUFFER / 4 - 1,
                                   .bits = random ? log2_of(L2_BUFFER / 4 / stride) : 0,
                                   .check = d->check,
                                   .turns = 1};

    if (probe_in_full(r)) {
        uint32_t found = xor_of(r, d, kernel, &a), expected = gather_on_host(d, &a, turn);
        probe_check(r, found == expected, "%zu places XOR to %08x, as on the host (%08x)", turn,
                    found, expected);
    }
    a.check = NULL;
    a.mask = (uint32_t)(room / 4 - 1);
    a.bits = random ? log2_of(room / 4 / stride) : 0;
    while (probe_more(r))
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            double ns = launch_ns(r, kernel, &a);
            probe_sample(r, metric, 4.0 * (double)(a.turns * turn), ns);
            a.first += a.turns * (uint32_t)turn;
        }
}

static void measure_strides(struct probe_run *r, const struct data *d, bool in_l2)
{
    static const uint32_t strides[] = {1, 8, 16, 32, 2, 4, 64, 3, 7, 33};
    const char *level = in_l2 ? "l2" : "hbm";
    for (size_t i = 0; i < PROBE_LENGTH(strides); i++)
        if (probe_case(r,
                       flags_of(r, in_l2 || i >= 7 ? DEEP
                                   : i >= 4        ? ONCE
                                                   : ALWAYS),
                       "level=%s,stride=%u", level, strides[i]))
            measure_places(r, d, STRIDED, in_l2, strides[i]);
    for (uint32_t granule = 32; granule <= 256; granule *= 2)
        if (probe_case(r, flags_of(r, in_l2 || granule > 32 ? DEEP : ONCE), "level=%s,granule=%u",
                       level, granule))
            measure_places(r, d, GATHER, in_l2, granule / 4);
}

/* --- what alignment forbids ------------------------------------------------------------------- */

/* In a child, which ends here when the load faults. */
static void load_misaligned(struct probe_run *r, int64_t fault)
{
    char name[40];
    struct data d = {.in = gpu_alloc(r, L2_BUFFER, "the buffer"),
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
    bool again = probe_checking(r) && offset != 4; /* one will do for --check */
    if (!probe_case(r, show == DEEP || again ? PROBE_DEEP : PROBE_ONCE, "offset=%d,width=%d",
                    offset, width))
        return;
    int status = probe_again(r, "fault", 16 * offset + width % 16, CHILD_MS, said, sizeof said);
    bool fault = status == 1 && strstr(said, "cudaErrorMisalignedAddress");
    probe_check(r, fault || status == 0, "the child ended as understood: status %d, %s", status,
                said);
    probe_value(r, FAULTS, fault);

    struct layout_stream_args a = {.in = d->in, .pitch = KIB_64, .mask = L2_BUFFER / KIB_64 - 1};
    struct stream s = {"read", 0, 16, L2_BUFFER, KIB_64, KIB_64};
    cudaKernel_t kernel = gpu_kernel(r, &image_layout, "layout_read_16_64", sizeof a);
    if (probe_in_full(r))
        check_stream(r, d, &s, kernel, a); /* this process is none the worse for it */
}

/* --- the sweep -------------------------------------------------------------------------------- */

static struct data prepare(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    struct data d = {.bytes = L2_BUFFER};
    size_t host = (size_t)gpu->n_sm * 2 * KIB_64 + L2_BUFFER;

    while (d.bytes < 64 * gpu->l2_bytes)
        d.bytes *= 2;
    while (probe_checking(r) ? d.bytes > 8 * L2_BUFFER : d.bytes > gpu->free_bytes / 4)
        d.bytes /= 2;
    d.in = gpu_alloc(r, 2 * d.bytes + GAP + 2 * KIB_64, "the buffers");
    d.out = d.in + d.bytes + GAP;
    gpu_fill_normal(r, d.in, GPU_FP32, d.bytes / 4 + KIB_64 / 4, probe_seed(r));
    d.check = gpu_alloc(r, sizeof *d.check, "a check sum");
    if (probe_in_full(r)) {
        char *copy = probe_host_alloc(r, host);
        gpu_to_host(r, copy, d.in, host);
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
    for (int in_l2 = 0; in_l2 <= 1; in_l2++) {
        measure_strides(r, &d, in_l2);
        measure_widths(r, &d, in_l2);
        measure_rows(r, &d, in_l2 ? DEEP : ALWAYS, in_l2, 4, 16);
        measure_rows(r, &d, in_l2 ? DEEP : ONCE, in_l2, 4, 4);
        measure_rows(r, &d, in_l2 ? DEEP : ONCE, in_l2, 1, 4);
        measure_struct(r, &d, in_l2 ? DEEP : ALWAYS, in_l2, 4);
        measure_struct(r, &d, in_l2 ? DEEP : ONCE, in_l2, 16);
    }
    measure_footprints(r, &d);
    measure_fault(r, &d, ONCE, 4, 16);
    measure_fault(r, &d, ONCE, 8, 16);
    measure_fault(r, &d, DEEP, 1, 2);
    measure_fault(r, &d, DEEP, 2, 4);
}

const struct probe probe = {
    .name = "layout",
    .what = "What does the layout of the data cost?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
