#include "fused/decoder_layer/near.h"

#include <stdio.h>

#include "core/gpu.h"
#include "fused/decoder_layer/args.h"

PROBE_IMAGE(decoder_layer_fill);

static void move(struct probe_run *r, const struct decoder_near_copy *copy,
                 const struct decoder_shape *s, enum decoder_matrix m, const char *from, char *to)
{
    const struct decoder_move_args a = {from, to, *s, m, 0, copy->args.map};
    gpu_launch(r, gpu_kernel(r, &image_decoder_layer_fill, "decoder_move_near", sizeof a),
               (unsigned)gpu_facts(r)->n_sm * 8, FILL_THREADS, 0, &a);
}

static void move_all(struct probe_run *r, const struct decoder_problem *p,
                     const struct decoder_near_copy *copy, const char *weights, const void *head)
{
    const struct decoder_shape *s = &p->model.shape;
    for (uint32_t set = 0; set < p->sets; set++)
        for (int m = 0; m < DECODER_MATRICES; m++)
            move(r, copy, s, (enum decoder_matrix)m,
                 weights + set * decoder_layer_bytes(s) + decoder_place(s, m),
                 copy->weights + set * decoder_near_layer_bytes(s) + decoder_near_place(s, m));
    if (head)
        move(r, copy, s, DECODER_HEAD, head, copy->weights + p->sets * decoder_near_layer_bytes(s));
}

/* The copy's memory, and where its sides are; false with the reason. */
static bool make_room(struct probe_run *r, const struct decoder_problem *p, size_t bytes,
                      struct decoder_near_copy *copy)
{
    size_t left, all;
    if (p->stages == 0 || p->blocks != (uint32_t)gpu_facts(r)->n_sm)
        return snprintf(copy->why, sizeof copy->why, "a ring and a block on each SM are needed"),
               false;
    CUDA(cudaMemGetInfo(&left, &all));
    if ((double)bytes > 0.9 * (double)left)
        return snprintf(copy->why, sizeof copy->why, "a copy of the weights takes %.1f GB, of %.1f",
                        (double)bytes / 1e9, (double)left / 1e9),
               false;
    copy->room = gpu_alloc(r, bytes + SIDES_BOTH, "a copy of the weights");
    copy->weights = (char *)(((uintptr_t)copy->room + SIDES_BOTH - 1) / SIDES_BOTH * SIDES_BOTH);
    copy->sides = sides_of(r, copy->weights, bytes);
    if (copy->sides.why[0])
        return snprintf(copy->why, sizeof copy->why, "%s", copy->sides.why), false;
    if (!decoder_near_suits(&p->model.shape, &copy->sides.map))
        return snprintf(copy->why, sizeof copy->why, "a side of the L2 has more SMs than rows"),
               false;
    return true;
}

struct decoder_near_copy decoder_near_copy_of(struct probe_run *r, const struct decoder_problem *p,
                                              const char *weights, const void *head)
{
    const struct decoder_shape *s = &p->model.shape;
    const size_t layers = p->sets * decoder_near_layer_bytes(s);
    struct decoder_near_copy copy = {.why = ""};

    if (!make_room(r, p, layers + (head ? decoder_near_bytes(s, DECODER_HEAD) : 0), &copy))
        return copy;
    copy.args = (struct decoder_near){copy.weights, copy.weights + layers,
                                      decoder_near_layer_bytes(s), copy.sides.map};
    move_all(r, p, &copy, weights, head);
    return copy;
}

void decoder_near_free(struct probe_run *r, struct decoder_near_copy *copy)
{
    if (copy->room)
        gpu_release(r, copy->room);
    sides_free(r, &copy->sides);
    *copy = (struct decoder_near_copy){.why = ""};
}

void decoder_near_swap(struct probe_run *r, const struct decoder_problem *p,
                       struct decoder_near_copy *copy, const char *weights, const void *head)
{
    copy->args.map.is_swapped ^= 1;
    move_all(r, p, copy, weights, head);
}
