/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROS 2's type description service, type_description_interfaces/srv/GetTypeDescription: a node's description of one of
 * its types, turned into a definition that ros_text.h reads. Pure functions: any thread.
 */
#ifndef TYPE_DESCRIPTION_H
#define TYPE_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iov_buf.h"
#include "rpc.h"

struct type_description {
	char *sources; /* the .msg files with comments and constants; NULL: missing or incomplete */
	/* types and names alone, which the hash covers; NULL: a field has a kind that .msg cannot express */
	char *fields;
	char why[200]; /* reason for a refusal, or why both are NULL */
};

/* Writes a request for "pkg/msg/Name" with that hash. id NULL: no identity, as with rmw_fastrtps. 0 or -ENOMEM. */
int type_description_ask(const char *type, const char *hash, const struct rpc_id *id, struct iov_buf *out);

/*
 * Reads a reply. id: identity that it must begin with; NULL: it has none. 0, also for a refusal or a description of
 * another type: then sources and fields are NULL, and why has the reason. -ENOENT: the answer to another request;
 * -EBADMSG: malformed; -ENOMEM. Call type_description_finish(), also on failure.
 */
int type_description_read(const char *type, const struct rpc_id *id, const void *cdr, size_t len,
			  struct type_description *ret);
void type_description_finish(struct type_description *d);

#endif
