/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROS 2's type description service, type_description_interfaces/srv/GetTypeDescription: what a node says of a type that it has, as a definition
 * that ros_text.h reads. Pure functions: any thread.
 */
#ifndef TYPE_DESCRIPTION_H
#define TYPE_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iov_buf.h"
#include "rpc.h"

struct type_description {
	char *sources; /* the .msg files, with comments and constants; NULL: there are none, or not all */
	char *fields;  /* types and names alone, which the hash is of; NULL: a field of a kind that no .msg has */
	char why[200]; /* of a refusal, and where both are NULL */
};

/* A request for "pkg/msg/Name" of that hash; id NULL: without one, as rmw_fastrtps has it. 0 or -ENOMEM. */
int type_description_ask(const char *type, const char *hash, const struct rpc_id *id, struct iov_buf *out);

/*
 * A reply to it. id: what it must begin with, NULL: it has none. 0; -ENOENT it is to somebody else, or of another type; -EBADMSG it is malformed,
 * -ENOMEM. ret: type_description_finish(), also on failure.
 */
int type_description_read(const char *type, const struct rpc_id *id, const void *cdr, size_t len,
			  struct type_description *ret);
void type_description_finish(struct type_description *d);

#endif
