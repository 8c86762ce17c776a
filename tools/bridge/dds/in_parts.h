/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message that is sent in parts: Cyclone sends a whole one at once, fragment after fragment, and returns each to its type, which
 * reports it here. Thread: that of write().
 */
#ifndef IN_PARTS_H
#define IN_PARTS_H

#include <stddef.h>

#include <dds/dds.h>

/*
 * As dds_write(). Behind each `part` bytes that have been sent, but for the last ones, between() is called, on this thread and with
 * no lock held but that of the writer's entity: it may sleep. Not when anything is sent again.
 */
typedef void in_parts_between_fn(void *arg);
dds_return_t in_parts_write(dds_entity_t writer, const void *sample, size_t part, in_parts_between_fn *between,
			    void *arg);

/*
 * From to_ser_unref() of the type: bytes begin to end of `size` have been sent. Cyclone holds no lock of its own only there: in to_ser_ref() it has the
 * writer's, and a sleep would keep its receive thread from reading what readers answer. What is sent again goes out on Cyclone's threads,
 * which never write.
 */
void in_parts_sent(size_t begin, size_t end, size_t size);

#endif
