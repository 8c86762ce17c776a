/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a message in parts: Cyclone sends a message in one go, fragment by fragment, and reports each sent fragment to
 * the message's type, which calls in_parts_sent(). Thread: that of write().
 */
#ifndef IN_PARTS_H
#define IN_PARTS_H

#include <stddef.h>

#include <dds/dds.h>

/*
 * As dds_write(). Calls between() after each `part` bytes that were sent, except the last, on this thread and with no
 * lock held but that of the writer's entity: it may sleep. Not called for retransmissions.
 */
typedef void in_parts_between_fn(void *arg);
dds_return_t in_parts_write(dds_entity_t writer, const void *sample, size_t part, in_parts_between_fn *between,
			    void *arg);

/*
 * To be called from to_ser_unref() of the type: bytes begin to end of `size` have been sent. Only there Cyclone holds
 * no lock of its own: in to_ser_ref() it holds the writer's, and a sleep would keep its receive thread from processing
 * acknowledgements. Retransmissions are on Cyclone's threads, which never call in_parts_write().
 */
void in_parts_sent(size_t begin, size_t end, size_t size);

#endif
