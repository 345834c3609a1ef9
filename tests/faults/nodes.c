/* What kernels of links/all_reduce that are a node do, on the CPU: ranks are processes, and meet
 * before and behind what each leaves in the others' mailboxes. With STAND_IN_NODES=right they, and
 * the kernels of the harness that fill vectors, do their work; with STAND_IN_NODES=astray one that
 * works in place leaves what it found, and all others are right. See stand_in.h. */
#include <stdlib.h>
#include <string.h>

#include "core/device/harness.h"
#include "core/half.h"
#include "links/all_reduce/args.h"
#include "tests/faults/stand_in.h"

static bool is(const char *state)
{
    const char *text = getenv("STAND_IN_NODES");
    return text && (!state || !strcmp(text, state));
}

static float get(const void *from, size_t i, bool is_bf16)
{
    return is_bf16 ? (float)half_bf16(((const uint16_t *)from)[i]) : ((const float *)from)[i];
}

static void put(void *to, size_t i, bool is_bf16, float x)
{
    if (is_bf16)
        ((uint16_t *)to)[i] = half_to_bf16(x);
    else
        ((float *)to)[i] = x;
}

/* Numbers from -1 to 1, others for each place and seed. */
static void fill(const struct harness_fill_args *a, bool is_bf16)
{
    for (uint64_t i = 0; i < a->count; i++) {
        const uint64_t mixed = (a->seed * 0x9e3779b97f4a7c15u + i + 1) * 0xbf58476d1ce4e5b9u;
        put(a->out, i, is_bf16, (float)(mixed >> 40) * 0x1p-23f - 1);
    }
}

/* In the mailbox of rank `owner`, what rank `from` leaves there. */
static char *mail(const struct exchange_box *box, uint32_t owner, uint32_t from)
{
    return box->of[owner] + from * box->slots * EXCHANGE_SLOT;
}

static void leave(const struct exchange_args *a, const struct exchange_box *box, size_t bytes,
                  bool scatters)
{
    for (uint32_t k = 0; k < a->x.team.ranks; k++)
        memcpy(mail(box, k, a->x.team.rank), (const char *)a->from + (scatters ? k * bytes : 0),
               bytes);
}

static void add(const struct exchange_args *a, const struct exchange_box *box, size_t bytes,
                bool is_bf16)
{
    const uint32_t me = a->x.team.rank;
    for (size_t i = 0; i < bytes / (is_bf16 ? 2 : 4); i++) {
        float sum = 0;
        for (uint32_t k = 0; k < a->x.team.ranks; k++)
            sum += get(mail(box, me, k), i, is_bf16);
        put(a->to, i, is_bf16, sum * a->scale);
    }
}

void stand_in_node(const char *name, const void *args)
{
    const struct exchange_args *a = args;
    const bool packed = strstr(name, "_packets_") != NULL;
    const struct exchange_box *box = packed ? &a->x.packets : &a->x.plain;
    const size_t bytes = a->units * (packed ? PACKET_PAYLOAD : PLAIN_PAYLOAD);

    leave(a, box, bytes, strstr(name, "reduce_scatter") != NULL);
    stand_in_cross(&a->x.team);
    if (strstr(name, "all_gather"))
        for (uint32_t k = 0; k < a->x.team.ranks; k++)
            memcpy((char *)a->to + k * bytes, mail(box, a->x.team.rank, k), bytes);
    else if (a->from != a->to || !is("astray"))
        add(a, box, bytes, strstr(name, "_bf16_") != NULL);
    stand_in_cross(&a->x.team);
}

bool stand_in_is_node(const char *name)
{
    return is(NULL) && !strncmp(name, "node_", strlen("node_"));
}

void stand_in_fill(const struct stand_in_kernel *kernel, const void *args)
{
    if (is(NULL) && !strcmp(kernel->name, "harness_fill_bf16"))
        fill(args, true);
    if (is(NULL) && !strcmp(kernel->name, "harness_fill_fp32"))
        fill(args, false);
}
