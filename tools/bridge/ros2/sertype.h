/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DDS type whose samples are messages that are already encoded: dds_write() takes a struct iov_buf and copies its
 * pieces once, straight into what Cyclone sends. Readers get bytes from dds_takecdr(), and no bytes for a message over
 * 4 MiB. Thread: any.
 */
#ifndef SERTYPE_H
#define SERTYPE_H

#include <dds/dds.h>

/*
 * Creates a topic of the DDS type `type_name`. Returns the entity or a negative DDS code. ret_type may be NULL; the
 * type lives as long as the topic.
 */
struct ddsi_sertype;
dds_entity_t sertype_topic_create(dds_entity_t participant, const char *name, const char *type_name,
				  struct ddsi_sertype **ret_type);

/*
 * Received samples remember their origin: for the domain of rtps_identity_open(). Call before the first reader is
 * created.
 */
void sertype_keep_origin(struct ddsi_sertype *type);
/*
 * Limits the bytes of a received message to `size`, at least 4 MiB; longer ones arrive without bytes. Topics of one
 * type share the largest limit. Call before the first reader is created.
 */
void sertype_take_at_most(struct ddsi_sertype *type, size_t size);
/* Returns the origin of a received sample; borrows from d. NULL: unknown. */
struct ddsi_serdata;
struct rtps_origin;
const struct rtps_origin *sertype_origin(const struct ddsi_serdata *d);

/* Like dds_write(), with a request's identity as inline QoS. The writer must be registered by rtps_identity_add(). */
struct rtps_id;
struct iov_buf;
dds_return_t sertype_write_to(dds_entity_t writer, const struct ddsi_sertype *type, const struct iov_buf *o,
			      const struct rtps_id *to);

#endif
