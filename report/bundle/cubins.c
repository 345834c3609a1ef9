#include "report/bundle/cubins.h"

#include <stdbool.h>
#include <string.h>

static const char *architecture(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot : "";
}

size_t cubins_changed(const json_t *old, const json_t *new)
{
    const char *key, *other;
    json_t *hash, *candidate;
    size_t n = 0;

    json_object_foreach((json_t *)old, key, hash) {
        bool is_built = false, is_there = false;
        json_object_foreach((json_t *)new, other, candidate) {
            const bool is_same = !strcmp(architecture(key), architecture(other));
            is_built = is_built || is_same;
            is_there = is_there || (is_same && json_equal(hash, candidate));
        }
        n += is_built && !is_there;
    }
    return n;
}
