/* Mailboxes for exchanges of vectors between ranks, for C and CUDA alike; exchange.cuh has the
 * code and the protocol. */
#ifndef LINKS_COMMON_EXCHANGE_H
#define LINKS_COMMON_EXCHANGE_H

#include "links/common/team.h"

/* A slot is 16 bytes. How a vector travels in slots: */
enum {
    PACKET_PAYLOAD = 8,     /* bytes of the vector in a slot: the rest is the round's number,
                             * twice */
    PACKET_GENERATIONS = 2, /* rounds after which a slot is used again */
    PLAIN_PAYLOAD = 16,     /* nothing but data: a word that no vector holds says "not yet" */
    PLAIN_GENERATIONS = 4,
    EXCHANGE_SLOT = 16,
};

/* A vector of `payload`-sized units needs this many slots from each rank, for either way to reduce
 * it: those of the one-shot way, or those of both halves of the two-shot way. */
ARGS_BOTH uint64_t exchange_slots(uint64_t units, uint32_t ranks)
{
    return units + ranks;
}

/* A mailbox of each rank: generations x ranks x slots. Packets start as zeros, plain data as
 * 0xff. */
struct exchange_box {
    char *of[LINKS_MOST]; /* of each rank, as this one addresses it */
    uint64_t slots;       /* that each rank has in each generation */
};
ARGS_SIZE(struct exchange_box, 40);

struct exchange {
    struct team team;
    struct exchange_box packets, plain;
};
ARGS_SIZE(struct exchange, 136);

#endif
