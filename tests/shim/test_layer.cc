// faults: thread lane rounding named full empty left epoch single arrival row column kv_head twice alone near own uncounted local
//
// A decoder's layers that two and four ranks share: the kernel that stays on all ranks at once, its edges
// all-reduces; the same from a copy of the weights that lies near; the steps as kernels, with ours and with a sum as NCCL gives it; on shares that the deal
// kernel makes of whole layers. And whole steps, whose tokens are chosen among all ranks' rows. Compared with float64 of the whole layers, and between ranks bit by bit.
#define SHIM_ARCH 900
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/common/decoder_reference.c"
#include "links/layer/deal.cu"
#include "links/layer/layer.cu"
#include "links/layer/nodes.cu"

enum { MOST_SHARED = 66 << 10, BEYOND = 3 /* rows of the cache behind the context, NaN */ };
thread_local uint4 decoder_memory[MOST_SHARED / 16];

struct problem {
    struct decoder_shape shape; // whole
    uint32_t ranks, context, splits, blocks, layers, sets, stages;
};

/* --- planted faults ----------------------------------------------------------------------------- */

struct packets_any_number : packets { // words of another exchange are taken for this one's
    static bool is_there(slot s, uint32_t) { return s.x >> 32 != 0 && s.y >> 32 != 0; }
};
struct packets_single : packets { // the next exchange has the same slots
    enum { GENERATIONS = 1 };
};
struct fp32_arrival : fp32 {};
template <> struct exchange_sum<fp32_arrival> { // what a rank has first is added first
    template <typename UNIT, int PEERS>
    static UNIT of(UNIT own, const UNIT (&got)[PEERS], uint32_t, float)
    {
        for (uint32_t w = 0; w < 2; w++) {
            float s = __uint_as_float(own.word[w]);
            for (int p = 0; p < PEERS; p++)
                s += __uint_as_float(got[p].word[w]);
            own.word[w] = __float_as_uint(s);
        }
        return own;
    }
};
template <int RANKS> struct edge_left_out : edge_ranks<RANKS> { // no all-reduce behind down
    template <int N>
    void take_sum(uint32_t from, uint32_t step, uint32_t end, uint2 (&word)[N])
    {
        if (from >= this->down / 2)
            this->take(from, step, end, word);
        else
            edge_ranks<RANKS>::take_sum(from, step, end, word);
    }
};

template <int RANKS> struct edge_own : edge_ranks<RANKS> { // a choice among this rank's rows
    template <typename BETTER> void take_best(uint32_t first, uint32_t block, const BETTER &better)
    {
        edge_alone<edge_values>::take_best(first, block, better);
    }
};
template <int RANKS> struct edge_uncounted : edge_ranks<RANKS> { // a choice is no exchange
    void chosen(void) {}
};
template <int RANKS> struct edge_local : edge_ranks<RANKS> { // rows that count from the rank's first
    void put_best(uint32_t i, uint32_t block, uint32_t logit, uint32_t row, uint32_t)
    {
        edge_ranks<RANKS>::put_best(i, block, logit, row, 0);
    }
};

typedef void layer_kernel(const struct layer_args);
template <typename EDGE> static void stays(const struct layer_args a) 
{
    layers_of<EDGE, home_any, 128, 4>(a);
}

template <int RANKS> static layer_kernel *kernel_of(layer_kernel *kernel)
{
    return shim_fault("left")      ? stays<edge_left_out<RANKS>>
           : shim_fault("own")     ? stays<edge_own<RANKS>>
           : shim_fault("uncounted") ? stays<edge_uncounted<RANKS>>
           : shim_fault("local")   ? stays<edge_local<RANKS>>
           : shim_fault("epoch")   ? stays<edge_ranks<RANKS, packets_any_number>>
           : shim_fault("single")  ? stays<edge_ranks<RANKS, packets_single>>
           : shim_fault("arrival") ? stays<edge_ranks<RANKS, packets, fp32_arrival>>
                                   : kernel;
}

/* --- whole layers, and what each rank has of them ------------------------------------------------ */

static uint16_t *normal_bf16(uint64_t count)
{
    uint16_t *to = (uint16_t *)shim_alloc(2 * count);
    for (uint64_t i = 0; i < count; i++)
        to[i] = (uint16_t)(bf16::narrow(make_float2((float)shim_normal(), 0)) & 0xffff);
    return to;
}

struct whole {
    char *weights, *cache; // sets of them
    float *rope, *input;
};

static struct layer_deal_args deal_of(const struct problem &p, int part, uint32_t rank,
                                      uint32_t ranks)
{
    struct layer_deal_args a = {};
    a.whole = p.shape;
    a.part = (uint32_t)part, a.rank = rank, a.ranks = ranks;
    a.capacity = p.context + BEYOND, a.known = p.context - 1;
    a.scale = 1;
    if (shim_fault("row") && part == DECODER_GATE_UP && ranks > 1) // another rank's part
        a.rank = (rank + 1) % ranks;
    if (shim_fault("column") && part == DECODER_O)
        a.rank = 0;
    if (shim_fault("kv_head") && part == LAYER_CACHE && ranks > 1)
        a.rank = (rank + 1) % ranks;
    return a;
}

// The shares of one layer, or with 1 rank all of it in its place.
static void deal_layer(const struct problem &p, uint32_t rank, uint32_t ranks, char *drawn,
                       char *drawn_cache, char *weights, char *cache)
{
    const struct decoder_shape share = layer_share(p.shape, ranks);
    const uint64_t from_half = decoder_cache_half(&p.shape, 1, p.context + BEYOND);
    const uint64_t to_half = decoder_cache_half(&share, 1, p.context + BEYOND);
    for (int m = 0; m < DECODER_MATRICES; m++) {
        const enum decoder_matrix matrix = (enum decoder_matrix)m;
        struct layer_deal_args a = deal_of(p, m, rank, ranks);
        a.from = (const uint32_t *)(drawn + decoder_place(&p.shape, m));
        a.to = (uint32_t *)(weights + decoder_place(&share, m));
        a.rows = decoder_units(&share, matrix) * decoder_unit_rows(matrix);
        a.columns = decoder_columns(&share, matrix);
        a.whole_columns = decoder_columns(&p.shape, matrix);
        a.scale = 1 / sqrtf((float)a.whole_columns);
        shim_launch(layer_deal, a, 3, LAYER_DEAL_THREADS, 0);
    }
    for (int which = 0; which < 2; which++) {
        struct layer_deal_args a = deal_of(p, LAYER_NORM, rank, ranks);
        a.from = (const uint32_t *)(drawn + decoder_norm_place(&p.shape, which));
        a.to = (uint32_t *)(weights + decoder_norm_place(&share, which));
        a.rows = 1, a.columns = a.whole_columns = p.shape.hidden;
        a.scale = 0.125f, a.mean = 1;
        shim_launch(layer_deal, a, 1, LAYER_DEAL_THREADS, 0);
        a = deal_of(p, LAYER_CACHE, rank, ranks);
        a.from = (const uint32_t *)(drawn_cache + which * from_half);
        a.to = (uint32_t *)(cache + which * to_half);
        a.rows = share.kv_heads * a.capacity, a.columns = a.whole_columns = share.head_dim;
        shim_launch(layer_deal, a, 2, LAYER_DEAL_THREADS, 0);
    }
}

static uint64_t cache_bytes(const struct decoder_shape &s, const struct problem &p)
{
    return 2 * decoder_cache_half(&s, 1, p.context + BEYOND);
}

// Every rank's arguments, and the whole layers for float64.
static struct whole make(const struct problem &p, struct layer_args a[LINKS_MOST])
{
    const struct decoder_shape s = layer_share(p.shape, p.ranks);
    const uint64_t all = decoder_layer_bytes(&p.shape), each = decoder_layer_bytes(&s);
    const uint64_t all_cache = cache_bytes(p.shape, p), each_cache = cache_bytes(s, p);
    const uint32_t words = decoder_mail_of(&s, 1, p.splits, p.blocks).words;
    const uint64_t slots = exchange_slots(s.hidden / 2, p.ranks);
    const uint64_t box = PACKET_GENERATIONS * p.ranks * slots * EXCHANGE_SLOT;
    struct whole w = {(char *)normal_bf16(p.sets * all / 2),
                      (char *)normal_bf16(p.sets * all_cache / 2),
                      (float *)shim_alloc(4 * s.head_dim), (float *)shim_alloc(4 * s.hidden)};
    struct team_state *state[LINKS_MOST];
    char *packet[LINKS_MOST];

    for (uint32_t i = 0; i < s.head_dim / 2; i++) {
        const double angle = (p.context - 1) * pow(500000, -2.0 * i / s.head_dim);
        w.rope[2 * i] = (float)cos(angle);
        w.rope[2 * i + 1] = (float)sin(angle);
    }
    for (uint32_t i = 0; i < s.hidden; i++)
        w.input[i] = (float)shim_normal();
    for (uint32_t rank = 0; rank < p.ranks; rank++) {
        state[rank] = (struct team_state *)shim_alloc(sizeof *state[rank]);
        memset(state[rank], 0, sizeof *state[rank]);
        packet[rank] = (char *)shim_alloc(box);
        memset(packet[rank], 0, box);
    }
    for (uint32_t rank = 0; rank < p.ranks; rank++) {
        struct decoder_args &d = a[rank].decoder;
        struct exchange &x = a[rank].exchange;
        char *weights = (char *)shim_alloc(p.sets * each);
        char *cache = (char *)shim_alloc(p.sets * each_cache);
        a[rank] = {};
        for (uint32_t set = 0; set < p.sets; set++)
            deal_layer(p, rank, p.ranks, w.weights + set * all, w.cache + set * all_cache,
                       weights + set * each, cache + set * each_cache);
        d.weights = weights, d.cache = cache, d.rope = w.rope, d.input = w.input;
        d.output = (float *)shim_alloc(4 * s.hidden);
        d.mail = shim_alloc(8ull * 2 * words);
        memset(d.mail, 0, 8ull * 2 * words);
        d.barrier = (struct grid_barrier_state *)shim_alloc(sizeof *d.barrier);
        memset(d.barrier, 0, sizeof *d.barrier);
        d.shape = s;
        d.layers = p.layers, d.sets = p.sets, d.steps = 1, d.batch = 1, d.generations = 2;
        d.context = p.context, d.capacity = p.context + BEYOND, d.splits = p.splits;
        d.stages = p.stages, d.in_flight = 2, d.budget_ns = 1u << 31, d.epsilon = 1e-5f;
        d.blocks = p.blocks;
        a[rank].share = (float *)shim_alloc(4 * s.hidden);
        x.team.rank = rank, x.team.ranks = p.ranks, x.team.budget_ns = 1000000000;
        x.packets.slots = slots;
        for (uint32_t k = 0; k < p.ranks; k++) {
            x.team.state[k] = state[k];
            x.packets.of[k] = packet[k];
        }
        x.team.mine = state[rank];
    }
    for (uint32_t set = 0; set < p.sets; set++)
        deal_layer(p, 0, 1, w.weights + set * all, w.cache + set * all_cache, w.weights + set * all,
                   w.cache + set * all_cache);
    return w;
}

/* --- float64 ------------------------------------------------------------------------------------- */

// The residual behind so many layers, with the kernels' roundings, of the whole shape.
static double *expected(const struct problem &p, const struct whole &w, const float *input,
                        uint32_t layers)
{
    const struct decoder_shape &s = p.shape;
    const struct reference_values values = {
        (double *)shim_alloc(8 * (s.heads + 2 * s.kv_heads) * s.head_dim),
        (double *)shim_alloc(8 * s.heads * s.head_dim), (double *)shim_alloc(8 * s.hidden),
        (double *)shim_alloc(8 * s.ffn), (double *)shim_alloc(8 * s.hidden)};
    double *residual = (double *)shim_alloc(8 * s.hidden);
    for (uint32_t i = 0; i < s.hidden; i++)
        residual[i] = input[i];
    for (uint32_t l = 0; l < layers; l++) {
        const uint32_t set = l % p.sets;
        const struct reference_layer layer = {&s, 1, p.context, p.context + BEYOND,
                                              w.weights + set * decoder_layer_bytes(&s),
                                              w.cache + set * cache_bytes(s, p), w.rope, 1e-5f,
                                              ROUNDS_BEFORE};
        reference_whole_layer(&layer, residual, &values);
    }
    return residual;
}

static void check_ranks(const struct problem &p, const struct layer_args *a, const double *residual,
                        const float *first, const char *which)
{
    const uint32_t n = p.shape.hidden;
    double *wide = (double *)shim_alloc(8 * n);
    uint32_t differ = 0;
    for (uint32_t i = 0; i < n; i++)
        wide[i] = a[0].decoder.output[i];
    const double error = reference_distance(wide, residual, n);
    shim_check(error <= 1e-3, "%s of %u ranks: error %.2g", which, p.ranks, error);
    for (uint32_t rank = 0; rank < p.ranks; rank++) {
        differ += memcmp(a[rank].decoder.output, a[0].decoder.output, 4 * n) != 0;
        shim_check(a[rank].exchange.team.mine->lost == 0 && a[rank].decoder.barrier->aborted == 0,
                   "%s: rank %u of %u gave up", which, rank, p.ranks);
    }
    shim_check(differ == 0, "%s: %u of %u ranks have other bits", which, differ, p.ranks);
    shim_check(!first || memcmp(first, a[0].decoder.output, 4 * n) == 0,
               "%s of %u ranks: the same bits as push", which, p.ranks);
}

/* --- whole steps --------------------------------------------------------------------------------- */

enum { STEPS = 2 };

struct ends {
    uint16_t *embedding, *head, *norm;
};

// The first token, and the logits and tokens that follow; every rank has its rows of the head.
static struct ends with_head(const struct problem &p, struct layer_args *a)
{
    const uint64_t count = (uint64_t)p.shape.vocabulary * p.shape.hidden;
    const uint32_t rows = p.shape.vocabulary / p.ranks;
    struct ends e = {normal_bf16(count), normal_bf16(count), normal_bf16(p.shape.hidden)};
    assert(p.shape.vocabulary % p.ranks == 0);
    for (uint32_t rank = 0; rank < p.ranks; rank++) {
        struct decoder_args &d = a[rank].decoder;
        d.embedding = e.embedding, d.head_norm = e.norm, d.steps = STEPS;
        d.head = e.head + (uint64_t)rank * rows * p.shape.hidden;
        d.logits = (float *)shim_alloc(4 * rows);
        d.tokens = (uint32_t *)shim_alloc(4 * (STEPS + 1));
        d.tokens[0] = 5;
    }
    return e;
}

// The tokens of all steps in float64, and the last one's logits.
static double *expected_steps(const struct problem &p, const struct whole &w, const struct ends &e,
                              uint32_t (&token)[STEPS + 1])
{
    const uint32_t n = p.shape.hidden;
    const struct reference_layer layer = {&p.shape, 1,      p.context, p.context + BEYOND, NULL,
                                          NULL,     w.rope, 1e-5f,     ROUNDS_BEFORE};
    double *logits = (double *)shim_alloc(8 * p.shape.vocabulary);
    float *input = (float *)shim_alloc(4 * n);
    token[0] = 5;
    for (uint32_t step = 0; step < STEPS; step++) {
        for (uint32_t i = 0; i < n; i++)
            input[i] = (float)reference_bf16(e.embedding[(uint64_t)token[step] * n + i]);
        reference_head(&layer, e.head, e.norm, expected(p, w, input, p.layers), logits);
        token[step + 1] = reference_choice(logits, p.shape.vocabulary);
    }
    return logits;
}

static void check_steps(const struct problem &p, struct layer_args *a, const double *logits,
                        const uint32_t (&token)[STEPS + 1], float *first, const char *which)
{
    const uint32_t all = p.shape.vocabulary, rows = all / p.ranks;
    double *wide = (double *)shim_alloc(8 * all);
    bool is_same = true;
    for (uint32_t rank = 0; rank < p.ranks; rank++) {
        struct decoder_args &d = a[rank].decoder;
        for (uint32_t i = 0; i < rows; i++)
            wide[rank * rows + i] = d.logits[i];
        for (uint32_t i = 0; i <= STEPS; i++)
            shim_check(d.tokens[i] == token[i], "%s: token %u of rank %u is %u, expected %u", which, i,
                       rank, d.tokens[i], token[i]);
        is_same = is_same && (!first || memcmp(d.logits, first + rank * rows, 4 * rows) == 0);
        shim_check(a[rank].exchange.team.mine->lost == 0 && d.barrier->aborted == 0,
                   "%s: rank %u gave up", which, rank);
        memset(d.logits, 0xff, 4 * rows);
        memset(d.tokens + 1, 0xff, 4 * STEPS);
    }
    const double error = reference_distance(wide, logits, all);
    shim_check(error <= 1e-3, "%s: logits of %u ranks: error %.2g", which, p.ranks, error);
    shim_check(is_same, "%s: the same logits as push", which);
}

static void forget(const struct problem &p, struct layer_args *a)
{
    for (uint32_t rank = 0; rank < p.ranks; rank++)
        memset(a[rank].decoder.output, 0xff, 4 * p.shape.hidden);
}

/* --- the ways ------------------------------------------------------------------------------------ */

static void by_push(const struct problem &p, const struct layer_args *a, uint32_t present)
{
    const uint32_t shared = decoder_shared_of(&a->decoder.shape, 1, p.stages, 1).bytes;
    assert(shared <= MOST_SHARED);
    shim_launch_ranks(p.ranks == 2 ? kernel_of<2>(layer_push_128_4_2)
                                   : kernel_of<4>(layer_push_128_4_4),
                      a, present, p.blocks, DECODER_THREADS + 32, shared);
}

// A copy of each rank's weights, two thirds of whose SMs are on side 1. Which piece is home where, is as
// the address says with these bits; they need not be a GPU's.
static void copy_near(const struct problem &p, struct layer_args *a)
{
    const struct decoder_shape &s = a->decoder.shape;
    const uint64_t layer = decoder_near_layer_bytes(&s), layers = p.sets * layer;
    const uint64_t bytes = layers + decoder_near_bytes(&s, DECODER_HEAD);
    const uint64_t words = ((bytes >> SIDES_PAGE_BITS) + 2) / 32 + 1;
    for (uint32_t rank = 0; rank < p.ranks; rank++) {
        char *room = (char *)shim_alloc(bytes + SIDES_BOTH);
        char *weights = (char *)(((uintptr_t)room + SIDES_BOTH - 1) / SIDES_BOTH * SIDES_BOTH);
        uint32_t *bits = (uint32_t *)shim_alloc(4 * words);
        uint32_t *sms = (uint32_t *)shim_alloc(4 * p.blocks);
        struct sides_map map = {bits, sms, (uint64_t)weights >> SIDES_PAGE_BITS, 0x55, {0, 0}, 0};
        for (uint64_t i = 0; i < words; i++)
            bits[i] = 0x5a3c96e1;
        for (uint32_t sm = 0; sm < p.blocks; sm++) {
            const uint32_t side = sm % 3 > 0;
            sms[sm] = 2 * map.count[side]++ + side;
        }
        a[rank].decoder.near = {weights, weights + layers, layer, map};
        memset(room, 0xff, bytes + SIDES_BOTH);
        for (uint32_t i = 0; i < p.sets * DECODER_MATRICES; i++) {
            const uint32_t set = i / DECODER_MATRICES, m = i % DECODER_MATRICES;
            const struct decoder_move_args move = {
                (const char *)a[rank].decoder.weights + set * decoder_layer_bytes(&s) +
                    decoder_place(&s, m),
                weights + set * layer + decoder_near_place(&s, m), s, m, 0, map};
            shim_launch(layer_move_near, move, 3, LAYER_DEAL_THREADS, 0);
        }
        if (a[rank].decoder.head) {
            const struct decoder_move_args move = {(const char *)a[rank].decoder.head,
                                                   weights + layers, s, DECODER_HEAD, 0, map};
            shim_launch(layer_move_near, move, 3, LAYER_DEAL_THREADS, 0);
        }
        if (shim_fault("near")) // an SM takes the other side's pieces for its own
            sms[0] ^= 1;
    }
}

static void by_near(const struct problem &p, const struct layer_args *from)
{
    const uint32_t shared = decoder_shared_of(&from->decoder.shape, 1, p.stages, 1).bytes;
    struct layer_args a[LINKS_MOST];
    for (uint32_t rank = 0; rank < p.ranks; rank++)
        a[rank] = from[rank];
    copy_near(p, a);
    shim_launch_ranks(p.ranks == 2 ? layer_near_128_4_2 : layer_near_128_4_4, a, p.ranks, p.blocks,
                      DECODER_THREADS + 32, shared);
}

static void each(const struct problem &p, layer_kernel *kernel, const struct layer_args *a,
                 uint32_t blocks, uint32_t threads)
{
    for (uint32_t rank = 0; rank < p.ranks; rank++)
        shim_launch(kernel, a[rank], blocks, threads, 0);
}

// What an all-reduce of another library leaves: the sum, in every rank's residual.
static void sum_elsewhere(const struct problem &p, const struct layer_args *a)
{
    for (uint32_t i = 0; i < p.shape.hidden; i++) {
        float sum = a[0].share[i];
        for (uint32_t rank = 1; rank < p.ranks; rank++)
            sum += a[rank].share[i];
        for (uint32_t rank = 0; rank < p.ranks; rank++)
            a[rank].decoder.output[i] = sum;
    }
}

static void add(const struct problem &p, const struct layer_args *a, bool ours)
{
    if (ours)
        shim_launch_ranks(p.ranks == 2 ? layer_add_2 : layer_add_4, a, p.ranks, 1, 64, 0);
    else
        sum_elsewhere(p, a);
}

// What each rank has chosen is gathered by another library.
static void choose_elsewhere(const struct problem &p, const struct layer_args *a)
{
    each(p, layer_best, a, 1, DECODER_THREADS);
    for (uint32_t rank = 0; rank < p.ranks; rank++)
        for (uint32_t k = 0; k < p.ranks; k++)
            memcpy(a[rank].share + LAYER_GATHERED_AT + 2 * k, a[k].share, 8);
    each(p, layer_choose_gathered, a, 1, DECODER_THREADS);
}

static void choose_by_kernels(const struct problem &p, const struct layer_args *a, bool ours)
{
    const uint32_t shared = decoder_shared_of(&a->decoder.shape, 1, 0, 0).bytes;
    each(p, layer_head, a, p.blocks, PRODUCT_THREADS);
    if (ours)
        shim_launch_ranks(p.ranks == 2 ? layer_choose_2 : layer_choose_4, a, p.ranks, 1,
                          DECODER_THREADS, shared);
    else
        choose_elsewhere(p, a);
}

static void by_kernels(const struct problem &p, const struct layer_args *from, bool ours)
{
    const uint32_t steps = from->decoder.head ? from->decoder.steps : 1;
    struct layer_args a[LINKS_MOST];
    for (uint32_t rank = 0; rank < p.ranks; rank++) {
        a[rank] = from[rank];
        a[rank].has_residual = !ours && (rank == 0 || shim_fault("twice"));
        a[rank].decoder.steps = 0;
        assert(decoder_shared_of(&a->decoder.shape, 1, p.stages, 0).bytes <= MOST_SHARED);
    }
    each(p, layer_embed, a, 1, DECODER_THREADS);
    for (uint32_t i = 0; i < steps * p.layers; i++) {
        for (uint32_t rank = 0; rank < p.ranks; rank++) {
            a[rank].decoder.layer = i % p.layers;
            a[rank].decoder.steps = i / p.layers;
        }
        each(p, layer_qkv, a, p.blocks, PRODUCT_THREADS);
        each(p, layer_attention_128_4, a, a->decoder.shape.kv_heads * p.splits, DECODER_THREADS);
        if (p.splits > 1)
            each(p, layer_merge, a, p.blocks, DECODER_THREADS);
        each(p, layer_o, a, p.blocks, PRODUCT_THREADS);
        add(p, a, ours);
        each(p, layer_gate_up, a, p.blocks, PRODUCT_THREADS);
        each(p, layer_down, a, p.blocks, PRODUCT_THREADS);
        add(p, a, ours);
        if (from->decoder.head && i % p.layers == p.layers - 1)
            choose_by_kernels(p, a, ours);
    }
}

// Steps go on in the same mailboxes: numbers of exchanges are contiguous over launches and ways.
static void test_steps(const struct problem &p)
{
    struct layer_args a[LINKS_MOST];
    if (shim.failed > 0)
        return;
    const struct whole w = make(p, a);
    const uint32_t all = p.shape.vocabulary, rows = all / p.ranks;
    const struct ends e = with_head(p, a);
    const uint64_t turn = a[0].exchange.team.mine->turn;
    float *first = (float *)shim_alloc(4 * all);
    uint32_t token[STEPS + 1];
    const double *logits = expected_steps(p, w, e, token);

    by_push(p, a, p.ranks);
    for (uint32_t rank = 0; rank < p.ranks; rank++)
        memcpy(first + rank * rows, a[rank].decoder.logits, 4 * rows);
    check_steps(p, a, logits, token, NULL, "steps by push");
    shim_check(a[0].exchange.team.mine->turn - turn == STEPS * (2ull * p.layers + 1),
               "a step is two exchanges a layer and one");
    by_near(p, a);
    check_steps(p, a, logits, token, first, "steps by near");
    by_kernels(p, a, true);
    check_steps(p, a, logits, token, first, "steps by kernels");
    if (shim.order == 1)
        return;
    by_kernels(p, a, false);
    check_steps(p, a, logits, token, NULL, "steps by kernels and another library");
}

static void test_chain(const struct problem &p)
{
    struct layer_args a[LINKS_MOST];
    const struct whole w = make(p, a);
    const double *residual = expected(p, w, w.input, p.layers);
    float *first = (float *)shim_alloc(4 * p.shape.hidden);

    by_push(p, a, p.ranks);
    check_ranks(p, a, residual, NULL, "push");
    memcpy(first, a[0].decoder.output, 4 * p.shape.hidden);
    shim_check(a[0].exchange.team.mine->turn == 2ull * p.layers, "%llu turns",
               (unsigned long long)a[0].exchange.team.mine->turn);
    if (shim.order == 2)
        return;
    forget(p, a);
    by_kernels(p, a, true); // numbers go on, in the same mailboxes
    check_ranks(p, a, residual, first, "kernels");
    forget(p, a);
    by_kernels(p, a, false);
    check_ranks(p, a, residual, NULL, "kernels and another sum");
    if (shim.order == 1)
        return;
    forget(p, a);
    by_near(p, a);
    check_ranks(p, a, residual, first, "near");
    forget(p, a);
    by_push(p, a, p.ranks);
    check_ranks(p, a, residual, first, "push again");
}

// The last rank does not come: the others end, and all know who waited for whom.
static void test_absent(const struct problem &p)
{
    struct layer_args a[LINKS_MOST];
    const uint32_t absent = p.ranks - 1;
    make(p, a);
    for (uint32_t rank = 0; rank < p.ranks; rank++)
        a[rank].exchange.team.budget_ns = 2000000;
    by_push(p, a, shim_fault("alone") ? p.ranks : absent);
    const uint32_t seen = a[0].exchange.team.mine->lost;
    for (uint32_t rank = 0; rank < p.ranks; rank++)
        shim_check(a[rank].exchange.team.mine->lost != 0, "rank %u knows of a lost one", rank);
    shim_check((seen & 255) == absent && (seen >> 8 & 255) != absent,
               "rank %u waited for rank %u, and %u was absent", seen >> 8 & 255, seen & 255, absent);
}

// A pass takes some of the shapes: all of them in each order of threads would take a minute.
static void shim_test(void)
{
    if (shim.order == 0)
        test_chain({{72, 4, 2, 128, 64, 52}, 2, 40, 2, 2, 2, 2, 2});
    if (shim.order == 1)
        test_chain({{40, 8, 4, 128, 64, 52}, 4, 21, 1, 1, 2, 1, 2});
    if (shim.order == 2)
        test_chain({{40, 4, 2, 128, 32, 52}, 2, 20, 1, 2, 1, 1, 2});
    if (shim.order == 0)
        test_steps({{40, 4, 2, 128, 32, 52}, 2, 20, 1, 2, 1, 1, 2});
    if (shim.order == 1)
        test_steps({{40, 8, 4, 128, 64, 52}, 4, 20, 1, 2, 1, 1, 2});
    if (shim.order == 0)
        test_absent({{40, 4, 2, 128, 32, 52}, 2, 20, 1, 1, 1, 1, 2});
}
