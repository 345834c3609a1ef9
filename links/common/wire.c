#include "links/common/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "core/probe.h"

static const uint32_t MAGIC = 0x6c696e6b; /* "link" */

struct head {
    uint32_t magic, zero;
    uint64_t bytes;
};

const char *wire_says(enum wire how)
{
    static const char *const words[] = {"is well", "ended", "ended in the middle of a message",
                                        "was silent for too long", "sent what is no message"};
    return words[how];
}

/* Waits until the socket can be read or written. False when the deadline has passed. */
static bool is_ready(int socket, short what, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd ready = {.fd = socket, .events = what};
        const uint64_t now = probe_host_ns();
        if (now >= deadline_ns)
            return false;
        const int n = poll(&ready, 1, (int)((deadline_ns - now) / 1000000) + 1);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return true; /* the call that follows says what is wrong */
    }
}

static enum wire send_all(int socket, const void *from, size_t bytes, uint64_t deadline_ns)
{
    const char *at = from;
    while (bytes > 0) {
        if (!is_ready(socket, POLLOUT, deadline_ns))
            return WIRE_LATE;
        const ssize_t n = send(socket, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return WIRE_ENDED;
        at += n;
        bytes -= (size_t)n;
    }
    return WIRE_OK;
}

static enum wire receive_all(int socket, void *to, size_t bytes, uint64_t deadline_ns)
{
    char *at = to;
    const size_t whole = bytes;
    while (bytes > 0) {
        if (!is_ready(socket, POLLIN, deadline_ns))
            return WIRE_LATE;
        const ssize_t n = recv(socket, at, bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return bytes == whole ? WIRE_ENDED : WIRE_SHORT;
        at += n;
        bytes -= (size_t)n;
    }
    return WIRE_OK;
}

enum wire wire_send(int socket, const void *first, size_t first_bytes, const void *rest,
                    size_t rest_bytes, uint64_t deadline_ns)
{
    const struct head head = {MAGIC, 0, first_bytes + rest_bytes};
    enum wire how = send_all(socket, &head, sizeof head, deadline_ns);
    if (how == WIRE_OK)
        how = send_all(socket, first, first_bytes, deadline_ns);
    if (how == WIRE_OK)
        how = send_all(socket, rest, rest_bytes, deadline_ns);
    return how;
}

/* What ends behind the head ends in the middle. */
static enum wire behind_head(enum wire how)
{
    return how == WIRE_ENDED ? WIRE_SHORT : how;
}

enum wire wire_receive_upto(int socket, void *first, size_t first_bytes, void *rest, size_t room,
                            size_t *rest_bytes, uint64_t deadline_ns)
{
    struct head head;
    enum wire how = receive_all(socket, &head, sizeof head, deadline_ns);

    *rest_bytes = 0;
    if (how != WIRE_OK)
        return how;
    if (head.magic != MAGIC || head.zero != 0 || head.bytes < first_bytes ||
        head.bytes - first_bytes > room)
        return WIRE_FOREIGN;
    how = behind_head(receive_all(socket, first, first_bytes, deadline_ns));
    if (how == WIRE_OK)
        how = behind_head(receive_all(socket, rest, head.bytes - first_bytes, deadline_ns));
    if (how == WIRE_OK)
        *rest_bytes = head.bytes - first_bytes;
    return how;
}

enum wire wire_receive(int socket, void *first, size_t first_bytes, void *rest, size_t rest_bytes,
                       uint64_t deadline_ns)
{
    size_t came;
    const enum wire how =
        wire_receive_upto(socket, first, first_bytes, rest, rest_bytes, &came, deadline_ns);
    return how == WIRE_OK && came != rest_bytes ? WIRE_FOREIGN : how;
}
