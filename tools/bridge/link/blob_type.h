/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DDS type whose samples are blobs (blob.h). When sending, a large body stays in its slot until Cyclone no longer
 * needs it. When receiving, the body is copied once, from the network buffers to the address from place(): the slot in
 * which it will be published.
 */
#ifndef BLOB_TYPE_H
#define BLOB_TYPE_H

#include <stdbool.h>

#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>

#include "blob.h"

#define BLOB_COPIED_MAX (64u << 10) /* longer bodies are referenced, not copied */

/*
 * Argument of dds_write(). Memory must stay valid until dds_write() returns; a body above BLOB_COPIED_MAX, with up to 3
 * readable bytes after it, until released() is called.
 */
struct blob_out {
	struct blob_head head; /* head.body_size is the size of body */
	const void *body;
	void (*released)(
		/*
		 * called once if the body is above BLOB_COPIED_MAX, on any thread, possibly before dds_write() returns;
		 * may be NULL
		 */
		void *arg);
	void *arg;
};

/*
 * Where to put received bodies. Called on Cyclone's thread, or on several of them at once; must not block, except to
 * add slots to a channel.
 */
struct blob_place {
	size_t taken_max; /* a longer body is not received: -EMSGSIZE */
	/*
	 * Returns room for the body, or NULL with *ret_r. If place is NULL or gives -ENOBUFS, the body goes to the
	 * heap.
	 */
	void *(*place)(void *arg, const struct blob_head *h, int *ret_r);
	/* gives room back that is not used after all */
	void (*unplace)(void *arg, const struct blob_head *h, void *body);
	void *arg;
};

struct blob_in {         /* a received message */
	int r;           /* 0, or -ERR: invalid or no room; then there is no body */
	const char *why; /* static; NULL: no more than r */
	struct blob_head head;
	void *body;
	bool placed; /* body is from place(); a caller that keeps it sets this to false */
};

/* Creates a topic; *place is copied. Returns the entity or a negative DDS code. */
dds_entity_t blob_topic_create(dds_entity_t participant, const char *name, const char *type_name,
			       const struct blob_place *place);

/* For data from dds_takecdr() of such a topic; the result borrows from d. */
struct blob_in *blob_in(struct ddsi_serdata *d);

/* Takes all that a reader has. writer: the instance handle of the message's writer. */
typedef void blob_take_fn(void *arg, struct blob_in *in, dds_instance_handle_t writer);
void blob_take(dds_entity_t reader, blob_take_fn *fn, void *arg);

#endif
