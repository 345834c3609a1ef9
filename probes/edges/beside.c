/* edges: where do words wait that all SMs hand over to all SMs while the memory streams, and what
 * does the stream lose by them?
 *
 * The exchanges by values of exchange.c, in a kernel whose stream can be another one: from the
 * memory or from the L2 (stream=hbm, l2), in tiles of so many bytes (tile), with so many bytes on
 * their way to each SM that streams (in_flight). The L2 is two halves, with half of the memory
 * behind each, and a link between them (core/sides.h): with stream=near an SM reads only what lies
 * behind its own half, in pieces of 4 KiB, and with stream=far only the rest. Who exchanges:
 *     all         all SMs, which stream, too
 *     quarter     those of every fourth TPC, which stream nothing; the others stream
 *     pair        two SMs of different TPCs, four words; all SMs stream
 *     quiet_pair  the same two, which with their neighbours in the TPC stream nothing
 * exchange_beside is the time of an exchange, streamed_beside what all SMs read meanwhile, and
 * streamed_alone what they read where nobody exchanges, in the same kernel and for as long.
 *
 * Inside the timed region: one launch, between two events; exchange_beside is the slope over two
 * lengths, the rates are those of the longer launch.
 *
 * The thoughts, and what each says of an H200. With 64 KiB an SM exchanges of 2048 words take 5.7
 * us, and 0.96 without a stream. A tile is on its way for bytes in flight / rate: 2.7 us at the 3.2
 * TB/s that the stream then reads, and 0.4 where nothing waits. 5.7 is 0.96 and twice 2.3: a wait
 * for the put, and one for the poll.
 *     as tiles    Words wait where tiles do, and as long. Bytes in flight decide: 1.1, 2.7, 4.1,
 *                 5.7 and 11 us with 16, 32, 48, 64 and 128 KiB, and tiles of 4 KiB change nothing,
 *                 but that a stream of 16 KiB then has no pause between two tiles (1.4)
 *     copies      Most of an SM's copies wait in the SM until they may ask: more than some bytes
 *                 change nothing, and with 128 KiB it is 5.7 us again
 *     memory      In the slices of the L2, behind what the memory has yet to bring: l2 disturbs
 *                 little (1.2 us), although it brings twice as much, and quiet SMs wait like others
 *     L2          In the slices or on the way from there, behind data of any kind: l2 takes 3.1 us
 *     own way     On the way to their own SM, behind its tiles: quiet_pair takes what a pair takes
 *                 without a stream (0.6 us), and quarter 0.9; else 3.6 and 3.5
 *     link        On the link between the halves of the L2, over which half of a stream comes, and
 *                 words for the other half, too: near takes 1.2 us, and far more than 5.7
 *     crowd       It is the slowest of many, or polls stand behind polls: pair takes 0.6 us, too;
 *                 else 3.6
 * Expected: as tiles, and memory. Streams alone 2.9, 4.1, 4.4, 4.5 and 4.6 TB/s for 16 to 128 KiB;
 * 3.6 with 16 KiB in tiles of 4, 8.5 from the L2. What exchanges of all SMs take from them is what
 * the polls bring: 2 to 3 times 16 KiB for each SM and exchange, 0.8 to 1.2 TB/s. A first trial, on
 * another card, said link: near 1.4 us and 4.57 TB/s alone, far 5.4 and 2.47, anywhere 3.8 to 4.9.
 * Found: near 1.3 and 3.1 us with 32 and 64 KiB, far 6.8, l2 2.95, anywhere 2.6 and 4.4: the link
 * is one of the places (docs/FINDINGS.md).
 *
 * Traps. Those of exchange.c, whose checks are made here, too; and a stream alone must have read
 * what the memory holds. Of 256 MiB, read again and again, a near stream finds so much in the L2
 * that its rate is that of the pins; of 1 GiB it finds some per cent. A rate has the launch and the
 * start of the stream in it, 1 to 2 %, more where exchanges are quick; the stream alone therefore
 * lasts as long as the exchanges before it.
 * What is to lie in the L2 is 16 MiB, which one side of it holds. Who has no share of the words
 * looks every 2 us whether the others are through, in a line that has no words. Roles go by %smid,
 * whose numbers must have no gap: a census says whether they have. */
#include "probes/edges/edges.h"

#include "core/sides.h"

PROBE_IMAGE(edges_beside);

enum {
    WORDS = 2048,
    WORDS_OF_PAIR = 4,
    TILE = 16384,
    L2_BYTES = 16 << 20,
    ALONE_CHECK_NS = 100000,
    FEW = 32, /* exchanges */
    MANY = 256,
};

enum among { ALL, QUARTER, PAIR, QUIET_PAIR };
static const char *const among_names[] = {"all", "quarter", "pair", "quiet_pair"};

enum from { FROM_NOWHERE, FROM_MEMORY, FROM_L2, FROM_NEAR, FROM_FAR };
static const char *const from_names[] = {"none", "hbm", "l2", "near", "far"};

static const struct beside {
    enum among among;
    enum from from;
    uint32_t tile_bytes, in_flight;
    bool alone; /* the stream is timed by itself, too */
} besides[] = {
    {ALL, FROM_MEMORY, TILE, 16384, true},
    {ALL, FROM_MEMORY, TILE, 32768, true},
    {ALL, FROM_MEMORY, TILE, 65536, true},
    {ALL, FROM_MEMORY, TILE, 131072, true},
    {ALL, FROM_MEMORY, 4096, 16384, true},
    {ALL, FROM_L2, TILE, 65536, true},
    {ALL, FROM_NEAR, TILE, 32768, true},
    {ALL, FROM_NEAR, TILE, 65536, true},
    {ALL, FROM_FAR, TILE, 65536, true},
    {QUARTER, FROM_MEMORY, TILE, 65536, true},
    {PAIR, FROM_NOWHERE, 0, 0, false},
    {PAIR, FROM_MEMORY, TILE, 65536, false},
    {QUIET_PAIR, FROM_MEMORY, TILE, 65536, false},
};

struct site {
    struct exchange_site x;
    struct beside_args a; /* without .x */
    uint32_t blocks;      /* one on every SM */
    uint32_t *sm, *roles; /* host: the census; the role of each SM */
    uint32_t *device_roles;
    cudaKernel_t kernel;
    struct gpu_shape shape;
    struct sides sides; /* of the body, once a case asks for it */
    bool has_sides;
};

/* --- what must come of a launch --------------------------------------------------------------- */

/* Of a block that ran where the census has it. */
static uint32_t role_of(const struct site *s, uint32_t block)
{
    if (!s->a.roles)
        return block;
    return s->sm[block] < s->blocks ? s->roles[s->sm[block]] : BESIDE_NO_SHARE;
}

/* Did all threads take all words, in as many blocks as there are shares? */
static bool check_words(struct probe_run *r, const struct site *s, uint32_t exchanges)
{
    const struct exchange_site *x = &s->x;
    uint32_t taking = 0, wrong = 0;

    exchange_digests(x, x->a.words, exchanges);
    gpu_to_host(r, x->digests, x->a.digests, s->blocks * EXCHANGE_THREADS * sizeof *x->digests);
    for (uint32_t b = 0; b < s->blocks; b++) {
        const bool takes = (role_of(s, b) & ~(uint32_t)BESIDE_QUIET) < s->a.shares;
        taking += takes;
        for (uint32_t t = 0; t < EXCHANGE_THREADS && takes; t++)
            wrong += x->digests[b * EXCHANGE_THREADS + t] != x->expected[t];
    }
    return probe_require(r, taking == s->a.shares && wrong == 0,
                         "all threads of %u blocks take all words of %u exchanges", s->a.shares,
                         exchanges);
}

/* Rank and side of the SM where the census has a block. */
static uint32_t sm_of(const struct site *s, uint32_t block)
{
    return s->a.pieces > 1 && s->sm[block] < s->blocks ? s->sides.sms[s->sm[block]] : 0;
}

/* The last tiles that a block had, xored. */
static uint32_t tiles_sum(const struct ladder *l, const struct site *s, uint32_t block,
                          uint32_t tiles)
{
    const uint32_t bytes = s->a.tile_bytes / s->a.pieces, both = sm_of(s, block);
    uint32_t sum = 0;

    for (uint32_t i = tiles < s->a.stages ? 0 : tiles - s->a.stages; i < tiles; i++)
        for (uint32_t piece = 0; piece < s->a.pieces; piece++) {
            const uint32_t step = s->a.pieces > 1 ? s->sides.map.count[both & 1] : s->blocks;
            const uint32_t all = s->a.pieces > 1 ? s->x.a.body_tiles / 2 : s->x.a.body_tiles;
            const uint32_t tile =
                (uint32_t)(((uint64_t)i * step + (s->a.pieces > 1 ? both / 2 : block)) % all);
            const size_t from = s->a.pieces > 1 ? sides_offset(&s->sides, s->x.a.body, both & 1,
                                                               tile * s->a.pieces + piece)
                                                : (size_t)tile * bytes;
            for (size_t at = from; at < from + bytes; at += EDGES_CHUNK)
                sum ^= edges_chunk_sum(l, (uint32_t)(at / EDGES_CHUNK));
        }
    return sum;
}

/* Blocks that stream have their tiles, the others have none. */
static bool check_stream(struct probe_run *r, const struct ladder *l, const struct site *s)
{
    uint32_t *tiles = s->x.found, *sums = tiles + s->blocks, wrong = 0;

    gpu_to_host(r, tiles, s->x.tiles, s->blocks * sizeof *tiles);
    gpu_to_host(r, sums, s->x.sums, s->blocks * sizeof *sums);
    for (uint32_t b = 0; b < s->blocks; b++)
        wrong += (tiles[b] == 0) != ((role_of(s, b) & BESIDE_QUIET) != 0) ||
                 tiles[b] >= EXCHANGE_TILES_MOST || sums[b] != tiles_sum(l, s, b, tiles[b]);
    return probe_require(r, wrong == 0, "the last tiles of all %u blocks are the memory's",
                         s->blocks);
}

/* --- launches --------------------------------------------------------------------------------- */

static struct beside_args args_of(struct site *s, uint32_t exchanges)
{
    struct beside_args a = s->a;
    a.x = s->x.a;
    a.x.exchanges = exchanges;
    s->x.a.epoch += exchanges;
    return a;
}

/* Nobody exchanges; who streams beside exchanges does so for so long. */
static struct beside_args alone(struct site *s, double ns)
{
    struct beside_args a = args_of(s, 0);
    a.shares = 0;
    a.alone_ns = (uint32_t)ns;
    return a;
}

/* How many bytes the last launch streamed. */
static double streamed_bytes(struct probe_run *r, const struct site *s)
{
    double tiles = 0;
    gpu_to_host(r, s->x.found, s->x.tiles, s->blocks * sizeof *s->x.found);
    for (uint32_t b = 0; b < s->blocks; b++)
        tiles += s->x.found[b];
    return tiles * s->a.tile_bytes;
}

/* Launches with everything poisoned, and gets the census. */
static void launch_once(struct probe_run *r, const struct ladder *l, const struct site *s,
                        struct beside_args a)
{
    gpu_poison(r, a.x.mail, 2 * sizeof(uint64_t) * EXCHANGE_WORDS_MOST);
    gpu_poison(r, a.x.digests, s->blocks * EXCHANGE_THREADS * sizeof *a.x.digests);
    gpu_poison(r, s->x.tiles, s->blocks * sizeof *s->x.tiles);
    gpu_poison(r, s->x.sums, s->blocks * sizeof *s->x.sums);
    gpu_poison(r, l->census, s->blocks * sizeof *l->census);
    a.x.census = l->census;
    a.x.tile_sums = s->x.sums;
    gpu_launch_shape(r, s->kernel, &s->shape, &a);
    gpu_to_host(r, s->sm, l->census, s->blocks * sizeof *s->sm);
}

static bool check(struct probe_run *r, const struct ladder *l, struct site *s, uint32_t exchanges)
{
    launch_once(r, l, s, args_of(s, exchanges));
    const bool in_time = edges_check_waits(r, l);
    return check_words(r, s, exchanges) && in_time &&
           (s->x.a.body_tiles == 0 || check_stream(r, l, s));
}

static bool check_alone(struct probe_run *r, const struct ladder *l, struct site *s)
{
    launch_once(r, l, s, alone(s, ALONE_CHECK_NS));
    return check_stream(r, l, s);
}

/* --- cases ------------------------------------------------------------------------------------ */

static void set_stream(struct probe_run *r, struct ladder *l, struct site *s,
                       const struct beside *b)
{
    const uint64_t all = (uint64_t)l->body_chunks * EDGES_CHUNK * MEMORY_BODIES;
    const uint64_t bytes = b->from == FROM_L2 && all > L2_BYTES ? L2_BYTES : all;
    const bool streams = b->from != FROM_NOWHERE;

    s->x.a.body = streams ? edges_memory(r, l) : NULL;
    s->x.a.body_tiles = streams ? (uint32_t)(bytes / b->tile_bytes) : 0;
    s->a.tile_bytes = b->tile_bytes;
    s->a.stages = streams ? b->in_flight / b->tile_bytes : 0;
    s->a.pieces = 1;
    if (b->from != FROM_NEAR && b->from != FROM_FAR)
        return;
    if (!s->has_sides)
        s->sides = sides_of(r, edges_memory(r, l), (size_t)all);
    s->has_sides = true;
    s->sides.map.is_swapped = b->from == FROM_FAR;
    s->a.sides = s->sides.map;
    s->a.pieces = b->tile_bytes / SIDES_PIECE;
}

/* Has every SM a block, by its number, after a launch? */
static bool has_all_sms(const struct site *s)
{
    for (uint32_t sm = 0; sm < s->blocks; sm++) {
        bool seen = false;
        for (uint32_t b = 0; b < s->blocks; b++)
            seen = seen || s->sm[b] == sm;
        if (!seen)
            return false;
    }
    return true;
}

/* Who exchanges, and who streams. False if that cannot be said, since it goes by the numbers of the
 * SMs. */
static bool set_roles(struct probe_run *r, const struct ladder *l, struct site *s, enum among among)
{
    const uint32_t second = s->blocks / 4 * 2; /* the first is SM 0; SMs 2t and 2t + 1 are a TPC */

    s->a.roles = NULL;
    s->a.shares = s->blocks;
    if (among == ALL)
        return true;
    launch_once(r, l, s, alone(s, 0));
    if (!has_all_sms(s))
        return false;
    s->a.shares = 0;
    for (uint32_t sm = 0; sm < s->blocks; sm++) {
        const bool is_near = sm / 2 == 0 || sm / 2 == second / 2;
        const bool exchanges = among == QUARTER ? sm / 2 % 4 == 0 : is_near && sm % 2 == 0;
        const bool quiet = among == QUARTER ? exchanges : among == QUIET_PAIR && is_near;
        s->roles[sm] = exchanges ? s->a.shares++ : BESIDE_NO_SHARE;
        s->roles[sm] |= quiet ? BESIDE_QUIET : 0;
    }
    gpu_to_device(r, s->device_roles, s->roles, s->blocks * sizeof *s->roles);
    s->a.roles = s->device_roles;
    return true;
}

static void sample(struct probe_run *r, struct site *s, const struct beside *b, const uint32_t n[2])
{
    double ns = 0;

    for (int i = 0; i < 2; i++) {
        const struct beside_args a = args_of(s, n[i]);
        ns = gpu_launch_ns(r, s->kernel, &s->shape, &a);
        probe_sample(r, BESIDE, n[i], ns);
    }
    if (b->from != FROM_NOWHERE)
        probe_sample(r, STREAMED_BESIDE, streamed_bytes(r, s), ns);
    if (b->alone) {
        const struct beside_args a = alone(s, ns);
        ns = gpu_launch_ns(r, s->kernel, &s->shape, &a);
        probe_sample(r, STREAMED_ALONE, streamed_bytes(r, s), ns);
    }
}

static void measure_beside(struct probe_run *r, struct ladder *l, struct site *s,
                           const struct beside *b)
{
    const bool is_check = probe_is_check_run(r),
               is_pair = b->among == PAIR || b->among == QUIET_PAIR;
    const uint32_t n[2] = {is_check ? 1 : FEW, is_check ? FEW : MANY};

    s->x.a.words = is_pair ? WORDS_OF_PAIR : is_check ? WORDS / 4 : WORDS;
    if (!probe_begin_case(r, PROBE_THRICE | (b->from != FROM_NOWHERE ? PROBE_POWER_BOUND : 0),
                          "among=%s,words=%u,stream=%s,tile=%u,in_flight=%u,span=%u-%u",
                          among_names[b->among], s->x.a.words, from_names[b->from], b->tile_bytes,
                          b->in_flight, n[0], n[1]))
        return;
    set_stream(r, l, s, b);
    if (s->a.pieces > 1 && s->sides.why[0]) {
        probe_missing(r, BESIDE, s->sides.why);
        return;
    }
    if (!set_roles(r, l, s, b->among)) {
        probe_missing(r, BESIDE, "the numbers of the SMs have gaps, or two blocks share one");
        return;
    }
    probe_fact(r, "exchanging", "%u", s->a.shares);
    bool right =
        check(r, l, s, n[0]) && check(r, l, s, n[1]) && (!b->alone || check_alone(r, l, s));
    edges_note_sms(r, l, s->blocks);
    while (right && probe_more(r))
        sample(r, s, b, n);
    if (right)
        check(r, l, s, n[1]);
}

/* --- preparation ------------------------------------------------------------------------------ */

static struct site prepare(struct probe_run *r, const struct ladder *l)
{
    const uint32_t blocks = (uint32_t)gpu_facts(r)->n_sm;
    const size_t word = sizeof(uint32_t);
    struct site s = {
        .x = exchange_prepare(r, l),
        .blocks = blocks,
        .kernel =
            gpu_kernel_if_any(r, &image_edges_beside, "edges_beside", sizeof(struct beside_args)),
        .shape = {.grid = {blocks, 1, 1}, .block = EXCHANGE_THREADS + 32, .cooperative = true}};
    s.sm = probe_host_alloc(r, blocks * word);
    s.roles = probe_host_alloc(r, blocks * word);
    s.device_roles = gpu_alloc(r, blocks * word, "the roles of the SMs");
    s.a.over = gpu_alloc(r, word, "the number of the launch that is over");
    gpu_poison(r, s.a.over, word);
    return s;
}

void edges_measure_beside(struct probe_run *r, struct ladder *l)
{
    struct site s = prepare(r, l);

    if (!s.kernel || gpu_facts(r)->cc < 90 || s.blocks > WORDS / 4)
        return;
    for (size_t i = 0; i < PROBE_LENGTH(besides); i++) {
        s.shape.shared = besides[i].in_flight + 2 * sizeof(uint32_t) * WORDS;
        if (s.shape.shared + BESIDE_STATIC > gpu_facts(r)->shared_per_block)
            continue;
        gpu_kernel_shared(s.kernel, s.shape.shared, 100);
        measure_beside(r, l, &s, &besides[i]);
    }
    sides_free(r, &s.sides);
}
