/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and writers of our topics. Thread: each thing by one at a time. */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>

struct ros_type;

struct endpoint {
	const char *name; /* as DDS has it, "rt/clock" */
	const struct ros_type *type;
	dds_qos_t *qos;           /* takes; NULL: no memory */
	dds_listener_t *listener; /* takes; NULL: none */
	bool reads;               /* a reader, else a writer */
	bool keeps_origin;        /* sertype_keep_origin() */
	size_t taken_max;         /* sertype_take_at_most(); 0: not called */
	dds_entity_t topic;       /* of that name, 0: it is created, and the caller's */
	struct ddsi_sertype *sertype;
};

/* Returns the reader or writer, or a negative DDS code. */
dds_entity_t endpoint_create(dds_entity_t participant, struct endpoint *e);

struct endpoint_sample { /* borrows; bytes: the CDR, its header included, of length 0: it was too large */
	const struct ddsi_serdata *data;
	const void *bytes;
	size_t len;
	const dds_sample_info_t *info;
};
typedef void endpoint_sample_fn(void *arg, const struct endpoint_sample *s);

/* Take all that a reader has. */
void endpoint_take(dds_entity_t reader, endpoint_sample_fn *fn, void *arg);

#endif
