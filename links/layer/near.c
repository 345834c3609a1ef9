/* layer: a copy of each rank's weights, near its SMs. */
#include "links/layer/bench.h"

#include <stdio.h>

/* Where each rank's copy begins, and which of it is near whom; false with the reason. */
static bool find_near(struct bench *b, size_t bytes, char *start[LINKS_MOST],
                      struct sides_map map[LINKS_MOST])
{
    char *why = b->lacks[NEAR];
    const size_t size = sizeof b->lacks[NEAR];
    const double all =
        (double)bytes + decoder_problem_bytes(&b->share) + 2.0 * (double)b->head.bytes;
    const double free_bytes = (double)gpu_facts(b->r)->free_bytes,
                 each = free_bytes / (links_is_loopback(b->links) ? b->gpus : 1);

    if (all > 0.9 * each)
        return snprintf(why, size, "with a copy of the weights it takes %.1f GB, of %.1f",
                        all / 1e9, each / 1e9),
               false;
    b->copy = links_alloc_own(b->links, bytes + SIDES_BOTH, "a copy of the weights");
    for (int rank = 0; rank < b->gpus; rank++)
        start[rank] = (char *)(((uintptr_t)bench_at(&b->copy, rank, 0) + SIDES_BOTH - 1) /
                               SIDES_BOTH * SIDES_BOTH);
    if (!links_sides(b->links, start, bytes, map, why, size))
        return false;
    for (int rank = 0; rank < b->gpus; rank++)
        if (!decoder_near_suits(&b->share.model.shape, &map[rank]))
            return snprintf(why, size, "rank %d: a side of the L2 has more SMs than rows", rank),
                   false;
    return true;
}

void bench_copy_near(struct bench *b)
{
    const struct decoder_shape *s = &b->share.model.shape;
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(b->r)->n_sm * DEALERS, 1, 1},
                                    .block = LAYER_DEAL_THREADS};
    const uint64_t layer = decoder_near_layer_bytes(s), layers = b->share.sets * layer;
    struct sides_map map[LINKS_MOST];
    char *start[LINKS_MOST];

    if (!find_near(b, layers + decoder_near_bytes(s, DECODER_HEAD), start, map))
        return;
    for (int rank = 0; rank < b->gpus; rank++) {
        struct decoder_move_args move = {
            bench_head(b, rank), start[rank] + layers, *s, DECODER_HEAD, 0, map[rank]};
        b->near[rank] = (struct decoder_near){start[rank], move.to, layer, map[rank]};
        links_launch_at(b->links, rank, b->move, &shape, &move, sizeof move);
        for (uint32_t i = 0; i < b->share.sets * DECODER_MATRICES; i++) {
            const uint32_t set = i / DECODER_MATRICES, m = i % DECODER_MATRICES;
            move.from = bench_at(&b->weights, rank,
                                 set * decoder_layer_bytes(s) + decoder_place(s, (int)m));
            move.to = start[rank] + set * layer + decoder_near_place(s, (int)m);
            move.m = m;
            links_launch_at(b->links, rank, b->move, &shape, &move, sizeof move);
        }
    }
    links_wait(b->links);
}
