/* The sweeps of peer_memory's rates. */
#ifndef LINKS_PEER_MEMORY_SIZES_H
#define LINKS_PEER_MEMORY_SIZES_H

#include <stddef.h>

/* The i-th size of the sweep: 16 B, 64 B, ... 256 MiB; 0 behind the last. */
size_t rates_size(int i);

/* Of n SMs, the i-th count of the sweep: 1, 2, 4, ..., and n itself at last; 0 behind it. */
unsigned rates_sms(unsigned n, int i);

#endif
