/* Messages between the processes of one run, over a stream socket. A message is a head, which says
 * how many bytes follow, and these bytes. Every call has a deadline: nobody waits for ever for a
 * process that died, that is silent, or that sent half a message. */
#ifndef LINKS_COMMON_WIRE_H
#define LINKS_COMMON_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum wire {
    WIRE_OK,
    WIRE_ENDED,   /* the other process closed the socket, or ended, between two messages */
    WIRE_SHORT,   /* the same in the middle of a message */
    WIRE_LATE,    /* the deadline has passed */
    WIRE_FOREIGN, /* what came is no message, or has another length than expected */
};
const char *wire_says(enum wire how); /* "ended in the middle of a message" */

/* One message from two parts, either of which may be empty. The deadline is a time of
 * probe_host_ns(). */
enum wire wire_send(int socket, const void *first, size_t first_bytes, const void *rest,
                    size_t rest_bytes, uint64_t deadline_ns);

/* The next message, which must have exactly these two lengths together. */
enum wire wire_receive(int socket, void *first, size_t first_bytes, void *rest, size_t rest_bytes,
                       uint64_t deadline_ns);

/* The same where the second part may have any length up to `room`; *rest_bytes gets it. */
enum wire wire_receive_upto(int socket, void *first, size_t first_bytes, void *rest, size_t room,
                            size_t *rest_bytes, uint64_t deadline_ns);

#endif
