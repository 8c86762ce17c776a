/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of protobuf in logs: Cyber RT's ProtoDesc, a tree of files with each one's dependencies, and MCAP's
 * FileDescriptorSet, each file once, after its dependencies. Converts each to the other. Input is not trusted. Pure
 * functions: any thread.
 */
#ifndef PROTO_DESC_H
#define PROTO_DESC_H

#include <stddef.h>

#include "convert/iov_buf.h"

#define PROTO_DESC_FILES 1024u /* limit of files in a definition; in a tree a file counts each time it occurs */

/* Appends the FileDescriptorSet of these files, one FileDescriptorProto each. Errors: -E2BIG, -ENOMEM. */
int proto_desc_join(const struct iovec *files, size_t n, struct iov_buf *out);

/*
 * Appends the ProtoDesc of the message `type` ("apollo.drivers.Image"). Errors: -EBADMSG malformed set, -ENOENT no such
 * message in it, -E2BIG, -ENOMEM.
 */
int proto_desc_of_set(const void *set, size_t size, const char *type, struct iov_buf *out);

/* Appends the FileDescriptorSet of a ProtoDesc. Errors as above. */
int proto_desc_to_set(const void *desc, size_t size, struct iov_buf *out);

#endif
