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

/* The same; ret_type lives as long as the topic. */
struct ddsi_sertype;
dds_entity_t bytes_topic_create_typed(dds_entity_t participant, const char *name, const char *type_name,
				      const dds_qos_t *qos, struct ddsi_sertype **ret_type);

/*
 * What is larger than a receive buffer goes out in parts, a moment apart. For the type of a best-effort writer, before its
 * first message.
 */
void bytes_send_in_parts(struct ddsi_sertype *type);

/*
 * As dds_write(), but not before the readers have acknowledged what was written earlier, or wait_dur_ns have passed; the copy
 * is made meanwhile. type: that of the writer's topic.
 */
struct out;
dds_return_t bytes_write_paced(dds_entity_t writer, const struct ddsi_sertype *type, const struct out *o,
			       dds_duration_t wait_dur_ns);

#endif
