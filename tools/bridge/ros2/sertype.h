/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DDS type whose samples are messages that are encoded already: dds_write() takes a struct iov_buf and copies its pieces once,
 * straight into what Cyclone sends. Readers take bytes, with dds_takecdr(): none for a message over 4 MiB. Thread: any.
 */
#ifndef SERTYPE_H
#define SERTYPE_H

#include <dds/dds.h>

/* A topic of the DDS type `type_name`. Returns the entity or a negative DDS code; ret_type lives as long as it, NULL: not wanted. */
struct ddsi_sertype;
dds_entity_t sertype_topic_create(dds_entity_t participant, const char *name, const char *type_name,
				  struct ddsi_sertype **ret_type);

/* What comes in is remembered with where it came from: for rtps_identity_open()'s domain, before the first reader. */
void sertype_keep_origin(struct ddsi_sertype *type);
/* Of messages with more bytes nothing comes in; 4 MiB at least. Topics of one type share the largest. Before the first reader. */
void sertype_take_at_most(struct ddsi_sertype *type, size_t size);
/* Where it came from: borrows from d. NULL: that is not known. */
struct ddsi_serdata;
struct rtps_origin;
const struct rtps_origin *sertype_origin(const struct ddsi_serdata *d);

/* As dds_write(), with the identity of a request as inline QoS: of a writer that was given to rtps_identity_add(). */
struct rtps_id;
struct iov_buf;
dds_return_t sertype_write_to(dds_entity_t writer, const struct ddsi_sertype *type, const struct iov_buf *o,
			      const struct rtps_id *to);

#endif
