/* Which SMs, and which memory, are on which side of the L2.
 *
 * The L2 of an H100 or H200 is two halves with a link between them. Each half stands in front of
 * half of the memory, its home, and of half of the SMs. Of what an SM reads from anywhere, half
 * comes through the link; and whoever reads only what is near leaves the link to others.
 *
 * How it is found out. An atomic is carried out at its word's home, so its latency tells near from
 * far, with a gap between them. SMs to which the same words are near are on one side. Of every
 * 8 KiB, the first 4 KiB have their home on one side and the other 4 KiB on the other: which way
 * round, is the parity of some bits of the address within its page of 2 MiB, exclusive or a bit of
 * the page. The bits are found by asking, and so is each page's, by seven words drawn in it, of
 * which at most two may say otherwise (a refresh of the memory may delay an atomic). Where a GPU's
 * memory does not obey this, no sides are found, with the reason. */
#ifndef GPUFLOOR_SIDES_H
#define GPUFLOOR_SIDES_H

#include <stddef.h>

#include "core/device/sides.h"
#include "core/probe.h"

enum { SIDES_SMS = 1024 }; /* of a GPU, at most */

struct sides {
    struct sides_map map;  /* for kernels: core/device/sides.cuh */
    uint32_t *sms, *pages; /* what the map points to, on the host */
    char why[96];          /* no sides were found, or "" */
};

/* Of device memory that begins at a multiple of SIDES_BOTH, has a multiple of that and two pages.
 * Its contents stay. */
struct sides sides_of(struct probe_run *r, const void *memory, size_t bytes);
void sides_free(struct probe_run *r, struct sides *sides);

/* What sides_of() does without CUDA: it fills in map, of which first_page is given, sms, and pages,
 * which are zero. The reason why not, or "". `ask` gets the cycles of n words: by every SM,
 * cycles[sm x n + i], or, where sm is given, by one SM each, sm[i]. */
typedef void (*sides_asker)(void *how, uint32_t *const *word, uint32_t n, uint32_t *cycles,
                            uint32_t *sm);
const char *sides_find(struct probe_run *r, sides_asker ask, void *how, uint32_t n_sm,
                       const void *memory, size_t bytes, struct sides *sides);
size_t sides_pages(const void *memory, size_t bytes); /* of SIDES_PAGE_BITS, that it lies in */

/* Where the k-th piece that is home on `side` begins: bytes from `memory` on, as sides_piece(). */
size_t sides_offset(const struct sides *sides, const void *memory, uint32_t side, size_t k);

#endif
