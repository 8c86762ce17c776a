/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DDS type whose samples are blobs (blob.h). On the way out a large body stays where it is, in its slot, until Cyclone has done with
 * it; on the way in the body is copied once, from the network's buffers to where place() says: into the slot in which it is published.
 */
#ifndef BLOB_TYPE_H
#define BLOB_TYPE_H

#include <stdbool.h>

#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>

#include "blob.h"

#define BLOB_COPIED_MAX (64u << 10) /* of a body: what is longer is referred to */

/* For dds_write(): borrowed until it returns, but for a body above BLOB_COPIED_MAX, and up to 3 bytes behind it: until released(). */
struct blob_out {
	struct blob_head head; /* body_size is that of body */
	const void *body;
	void (*released)(
		void *arg); /* of such a body, once, on any thread, also before dds_write() returns; NULL: nobody asks */
	void *arg;
};

/* Where the bodies go that come in. Thread: Cyclone's, also for several at a time: neither may wait, but for the slots of a channel that grows. */
struct blob_place {
	size_t taken_max; /* of a body: what is longer comes in without */
	/* Room for the body: NULL and *ret_r. place NULL, or -ENOBUFS: it comes in on the heap. */
	void *(*place)(void *arg, const struct blob_head *h, int *ret_r);
	void (*unplace)(void *arg, const struct blob_head *h, void *body); /* it is not wanted any more */
	void *arg;
};

struct blob_in {         /* one that came */
	int r;           /* 0; negative errno: it is not valid, or found no room; then there is no body */
	const char *why; /* static; NULL: as r */
	struct blob_head head;
	void *body;
	bool placed; /* by place(): whoever takes it sets this to false */
};

/* A topic; place: copied. Returns the entity or a negative DDS code. */
dds_entity_t blob_topic_create(dds_entity_t participant, const char *name, const char *type_name,
			       const struct blob_place *place);

/* Of what dds_takecdr() returned for such a topic: borrows from d. */
struct blob_in *blob_in(struct ddsi_serdata *d);

/* Take all that a reader has. writer: the instance handle of its writer. */
typedef void blob_take_fn(void *arg, struct blob_in *in, dds_instance_handle_t writer);
void blob_take(dds_entity_t reader, blob_take_fn *fn, void *arg);

#endif
