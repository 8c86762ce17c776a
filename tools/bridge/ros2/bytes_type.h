/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DDS type whose samples are messages that are encoded already: dds_write() takes a struct out and copies its pieces once,
 * straight into what Cyclone sends. Readers take bytes, with dds_takecdr(): none for a message over 4 MiB. Thread: any.
 */
#ifndef BYTES_TYPE_H
#define BYTES_TYPE_H

#include <dds/dds.h>

/* A topic of the DDS type `type_name`. qos borrows, NULL: default. Returns the entity or a negative DDS code. */
dds_entity_t bytes_topic_create(dds_entity_t participant, const char *name, const char *type_name,
				const dds_qos_t *qos);

/*
 * As dds_write(). Behind each `part` bytes that have been sent, but for the last ones, between() is called, on this thread and with
 * no lock held but that of the writer's entity: it may sleep. Not when anything is sent again.
 */
struct out;
typedef void bytes_between_fn(void *arg);
dds_return_t bytes_write_in_parts(dds_entity_t writer, const struct out *o, size_t part, bytes_between_fn *between,
				  void *arg);

#endif
