/* An index: where something stands in a list, by its name. Open addressing; nothing is ever
 * removed. */
#ifndef REPORT_BUNDLE_INDEX_H
#define REPORT_BUNDLE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_slot {
    const char *name; /* the caller's, who keeps it; NULL: free */
    uint32_t hash, length;
    size_t place;
};

struct index {
    struct index_slot *slot;
    size_t n, room; /* room: a power of two, or 0 */
};

enum { INDEX_NONE = -1 };

/* The place of a name, or of the first `length` bytes of one; INDEX_NONE if it has none. */
ptrdiff_t index_find(const struct index *index, const char *name);
ptrdiff_t index_find_part(const struct index *index, const char *name, size_t length);

/* Gives a name a place, or another place; the name must stay where it is. False when memory is
 * short. */
bool index_put(struct index *index, const char *name, size_t place);

void index_free(struct index *index);

#endif
