/* Shared-memory addresses, mbarriers and asynchronous copies, for the twin of
 * core/device/async.cuh. shim.h explains the shim. */
#ifndef TESTS_SHIM_ASYNC_H
#define TESTS_SHIM_ASYNC_H

/* --- addresses ------------------------------------------------------------------------------- */

/* Shared memory is this program's thread-local memory. An address counts from 64 KiB below it or
 * less, so that it is aligned as the pointer is. */
static uintptr_t shim_shared_base()
{
    return (uintptr_t)shim.block->shared & ~(uintptr_t)0xffff;
}

static char *shim_shared_at(uint32_t address, uint32_t bytes, uint32_t alignment)
{
    const shim_block *b = shim.block;
    const uint64_t at = shim_shared_base() + address, begin = (uintptr_t)b->shared;
    if (!b->shared || at < begin || at + bytes > begin + b->shared_bytes)
        shim_die("thread %u: %u bytes at %#x are not in shared memory", shim_index(), bytes,
                 address);
    if (at % alignment)
        shim_die("thread %u: %#x is not %u-byte aligned", shim_index(), address, alignment);
    return (char *)at;
}

static uint32_t shim_shared_address(const void *p)
{
    const uint32_t address = (uint32_t)((uintptr_t)p - shim_shared_base());
    if (shim_shared_at(address, 1, 1) != p)
        shim_die("thread %u: %p is not in shared memory", shim_index(), p);
    return address;
}
static inline size_t __cvta_generic_to_shared(const void *p) { return shim_shared_address(p); }

/* --- mbarriers -------------------------------------------------------------------------------- */

enum { SHIM_MOST_ARRIVALS = (1 << 20) - 1, SHIM_MOST_BYTES = (1 << 20) - 1 };

struct shim_mbarrier { /* what is never written is all ones: not made */
    uint64_t is_unmade : 1, phase : 1, is_announced : 1, expected : 20, pending : 20;
    int64_t bytes : 21; /* announced and not yet there */
};
static_assert(sizeof(shim_mbarrier) == 8, "as on the GPU");

static shim_mbarrier *shim_mbarrier_at(uint32_t address)
{
    shim_mbarrier *m = (shim_mbarrier *)shim_shared_at(address, sizeof *m, 8);
    if (m->is_unmade)
        shim_die("thread %u uses an mbarrier that nobody has made", shim_index());
    return m;
}

static void shim_mbarrier_make(uint32_t address, uint32_t arrivals)
{
    shim_mbarrier *m = (shim_mbarrier *)shim_shared_at(address, sizeof *m, 8);
    if (arrivals < 1 || arrivals > SHIM_MOST_ARRIVALS)
        shim_die("an mbarrier of %u arrivals", arrivals);
    *m = {0, 0, 0, arrivals, arrivals, 0};
    shim_progress();
}

/* Counts arrivals, and bytes that are announced (more than 0) or there (less). */
static void shim_mbarrier_count(shim_mbarrier *m, unsigned arrivals, int64_t bytes)
{
    const int64_t then = m->bytes + bytes;
    if (arrivals > m->pending)
        shim_die("more arrive at an mbarrier than the %u of its phase", (unsigned)m->expected);
    if (then > SHIM_MOST_BYTES || then < -SHIM_MOST_BYTES)
        shim_die("an mbarrier waits for %lld bytes", (long long)then);
    m->pending -= arrivals;
    m->bytes = then;
    if (bytes > 0)
        m->is_announced = 1;
    if (m->pending == 0 && m->bytes == 0) {
        m->phase ^= 1;
        m->pending = m->expected;
    }
    shim_progress();
}

static bool shim_mbarrier_over(const shim_mbarrier *m, unsigned parity)
{
    return m->phase != (parity & 1) || shim_fault(m->is_announced ? "full" : "empty");
}

static bool shim_mbarrier_try(uint32_t address, unsigned parity)
{
    if (shim_mbarrier_over(shim_mbarrier_at(address), parity))
        return true;
    shim_poll();
    return shim_mbarrier_over(shim_mbarrier_at(address), parity);
}

static void shim_mbarrier_wait(uint32_t address, unsigned parity)
{
    shim.now->at = shim_mbarrier_at(address);
    shim.now->parity = parity;
    if (!shim_mbarrier_over(shim.now->at, parity))
        shim_wait(SHIM_AT_MBARRIER);
}

/* --- copies ----------------------------------------------------------------------------------- */

enum { SHIM_LATE = 64 };
enum shim_copy_kind { SHIM_LOAD, SHIM_STORE, SHIM_BULK_LOAD }; /* the first two have groups */

struct shim_copy {
    shim_copy_kind kind;
    char *to;
    const char *from;
    uint32_t bytes;
    shim_mbarrier *barrier;  /* of a bulk load */
    const shim_fiber *owner; /* this and the rest is set by shim_copy_begin() */
    unsigned group;          /* of the owner's groups of that kind */
    unsigned age;            /* in rounds */
    char *read;              /* what a store has read, and not yet written */
};

static void shim_note_loads(const shim_block *b)
{
    unsigned n = 0;
    for (unsigned i = 0; i < b->n_copies; i++) {
        bool is_new = b->copies[i].kind == SHIM_BULK_LOAD;
        for (unsigned k = 0; k < i; k++)
            is_new = is_new && b->copies[k].barrier != b->copies[i].barrier;
        n += is_new;
    }
    shim.most_loads = n > shim.most_loads ? n : shim.most_loads;
}

/* What it is a copy of, it reads here once, so that ASan sees who asked for it. Until it is
 * complete, its destination in shared memory is NaN. */
static void shim_copy_begin(shim_copy copy)
{
    shim_block *b = shim.block;
    if ((uintptr_t)copy.from % 16 || (uintptr_t)copy.to % 16 || copy.bytes % 16)
        shim_die("thread %u copies %u bytes, from %p to %p: not all multiples of 16", shim_index(),
                 copy.bytes, (const void *)copy.from, (void *)copy.to);
    if (copy.kind != SHIM_STORE) {
        memcpy(copy.to, copy.from, copy.bytes);
        memset(copy.to, 0xff, copy.bytes);
    }
    if (b->n_copies == b->room) {
        b->room = 2 * b->room + 16;
        b->copies = (shim_copy *)realloc(b->copies, b->room * sizeof *b->copies);
        if (!b->copies)
            shim_die("no room for %u copies", b->room);
    }
    copy.owner = shim.now;
    copy.group = copy.kind == SHIM_BULK_LOAD ? 0 : shim.now->groups[copy.kind];
    b->copies[b->n_copies++] = copy;
    if (copy.kind == SHIM_BULK_LOAD)
        shim_note_loads(b);
    shim_progress();
}

static void shim_copy_read(shim_copy *copy) /* a store: from here on its source may change */
{
    if (copy->read)
        return;
    copy->read = (char *)malloc(copy->bytes + 1);
    if (!copy->read)
        shim_die("no room for a copy of %u bytes", copy->bytes);
    memcpy(copy->read, copy->from, copy->bytes);
}

static void shim_copy_end(unsigned i)
{
    shim_block *b = shim.block;
    const shim_copy copy = b->copies[i];
    memcpy(copy.to, copy.read ? copy.read : copy.from, copy.bytes);
    if (copy.barrier)
        shim_mbarrier_count(copy.barrier, 0, -(int64_t)copy.bytes);
    free(copy.read);
    memmove(b->copies + i, b->copies + i + 1, (--b->n_copies - i) * sizeof *b->copies);
    shim_progress();
}

/* The end of a round. Bulk loads arrive when the block has nothing else to do, or at once and the
 * newest first, or by chance. A block that polls always has something to do: hence the age. */
static void shim_copies_arrive(bool is_stuck)
{
    shim_block *b = shim.block;
    for (unsigned i = b->n_copies; i-- > 0 && shim.order > 0;)
        if (b->copies[i].kind == SHIM_BULK_LOAD && (shim.order == 1 || shim_toss())) {
            shim_copy_end(i);
            is_stuck = false;
        }
    for (unsigned i = 0; i < b->n_copies; i++)
        if (b->copies[i].kind == SHIM_BULK_LOAD && (is_stuck || b->copies[i].age++ > SHIM_LATE)) {
            shim_copy_end(i);
            return;
        }
}

/* Is this copy in one of this thread's groups but for the last `pending` closed ones? */
static bool shim_copy_is_due(const shim_copy *copy, shim_copy_kind kind, unsigned pending)
{
    return copy->kind == kind && copy->owner == shim.now &&
           copy->group + pending < shim.now->groups[kind];
}

static void shim_copies_commit(shim_copy_kind kind)
{
    shim.now->groups[kind]++;
    if (kind != SHIM_STORE || shim.order == 0 || (shim.order == 2 && shim_toss()))
        return; /* a store may happen at the last moment, or at the first */
    for (unsigned i = 0; i < shim.block->n_copies;)
        if (shim_copy_is_due(&shim.block->copies[i], SHIM_STORE, 0))
            shim_copy_end(i);
        else
            i++;
}

static void shim_copies_wait(shim_copy_kind kind, unsigned pending)
{
    for (unsigned i = 0; i < shim.block->n_copies;)
        if (shim_copy_is_due(&shim.block->copies[i], kind, pending))
            shim_copy_end(i);
        else
            i++;
}

static void shim_copies_read_wait(unsigned pending)
{
    for (unsigned i = 0; i < shim.block->n_copies; i++)
        if (shim_copy_is_due(&shim.block->copies[i], SHIM_STORE, pending))
            shim_copy_read(&shim.block->copies[i]);
}

/* This thread has ended. */
static void shim_copies_of_ended()
{
    shim_block *b = shim.block;
    for (unsigned i = b->n_copies; i-- > 0;) {
        if (b->copies[i].owner != shim.now || b->copies[i].kind == SHIM_BULK_LOAD)
            continue;
        if (b->copies[i].kind == SHIM_STORE && !b->copies[i].read)
            shim_die("thread %u ends while a copy still reads its shared memory", shim_index());
        shim_copy_end(i);
    }
}

#endif
