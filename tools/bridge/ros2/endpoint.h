/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and writers of our topics. Thread: any, but only one at a time for each endpoint. */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>

struct ros_type;

struct endpoint {
	const char *name; /* DDS name, such as "rt/clock" */
	const struct ros_type *type;
	dds_qos_t *qos;           /* takes; NULL: no memory */
	dds_listener_t *listener; /* takes; NULL: none */
	bool reads;               /* a reader, else a writer */
	bool keeps_origin;        /* whether to call sertype_keep_origin() */
	size_t taken_max;         /* for sertype_take_at_most(); 0: not called */
	dds_entity_t topic;       /* topic of that name; 0: endpoint_create() creates it, and the caller deletes it */
	struct ddsi_sertype *sertype;
};

/* Returns the reader or writer, or a negative DDS code. */
dds_entity_t endpoint_create(dds_entity_t participant, struct endpoint *e);

struct endpoint_sample { /* borrows; bytes: the CDR with its header; len 0: the message was too large */
	const struct ddsi_serdata *data;
	const void *bytes;
	size_t len;
	const dds_sample_info_t *info;
};
typedef void endpoint_sample_fn(void *arg, const struct endpoint_sample *s);

/* Takes all samples of the reader. */
void endpoint_take(dds_entity_t reader, endpoint_sample_fn *fn, void *arg);

#endif
