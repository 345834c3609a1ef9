#include "report/bundle/index.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 64 };

static uint32_t hash_of(const char *name, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)name[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32);
}

/* The slot of a name, or the free one where it belongs. */
static struct index_slot *slot_of(const struct index *index, const char *name, size_t length,
                                  uint32_t hash)
{
    size_t at = hash & (index->room - 1);
    for (; index->slot[at].name; at = (at + 1) & (index->room - 1))
        if (index->slot[at].hash == hash && index->slot[at].length == length &&
            !memcmp(index->slot[at].name, name, length))
            break;
    return &index->slot[at];
}

static bool make_room(struct index *index)
{
    struct index more = {.n = index->n, .room = index->room ? 2 * index->room : ROOM_LEAST};

    if (2 * index->n < index->room)
        return true;
    more.slot = calloc(more.room, sizeof *more.slot);
    if (!more.slot)
        return false;
    for (size_t i = 0; i < index->room; i++) {
        const struct index_slot *old = &index->slot[i];
        if (old->name)
            *slot_of(&more, old->name, old->length, old->hash) = *old;
    }
    free(index->slot);
    *index = more;
    return true;
}

ptrdiff_t index_find_part(const struct index *index, const char *name, size_t length)
{
    if (index->n == 0)
        return INDEX_NONE;
    const struct index_slot *slot = slot_of(index, name, length, hash_of(name, length));
    return slot->name ? (ptrdiff_t)slot->place : INDEX_NONE;
}

ptrdiff_t index_find(const struct index *index, const char *name)
{
    return index_find_part(index, name, strlen(name));
}

bool index_put(struct index *index, const char *name, size_t place)
{
    const size_t length = strlen(name);
    const uint32_t hash = hash_of(name, length);

    if (length > UINT32_MAX || !make_room(index))
        return false;
    struct index_slot *slot = slot_of(index, name, length, hash);
    index->n += slot->name == NULL;
    *slot = (struct index_slot){name, hash, (uint32_t)length, place};
    return true;
}

void index_free(struct index *index)
{
    free(index->slot);
    *index = (struct index){0};
}
