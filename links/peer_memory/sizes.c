#include "links/peer_memory/sizes.h"

size_t rates_size(int i)
{
    return i < 13 ? (size_t)16 << 2 * i : 0;
}

unsigned rates_sms(unsigned n, int i)
{
    if (i < 31 && 1u << i < n)
        return 1u << i;
    return i == 0 || 1u << (i - 1) < n ? n : 0;
}
