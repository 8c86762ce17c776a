/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of protobuf in logs: Cyber RT's ProtoDesc, a tree of files with all that each needs, and the FileDescriptorSet that MCAP has,
 * each file once, behind those that it needs. One from the other. Nothing of it is trusted. Pure functions: any thread.
 */
#ifndef PROTO_DESC_H
#define PROTO_DESC_H

#include <stddef.h>

#include "convert/iov_buf.h"

#define PROTO_DESC_FILES 1024u /* in one definition; of a tree each as often as it is needed */

/* Append the FileDescriptorSet of these files, one FileDescriptorProto each. Errors: -E2BIG, -ENOMEM. */
int proto_desc_join(const struct iovec *files, size_t n, struct iov_buf *out);

/* Append the ProtoDesc of the message `type` ("apollo.drivers.Image"). Errors: -EBADMSG no such set, -ENOENT it has no such message, -E2BIG, -ENOMEM. */
int proto_desc_of_set(const void *set, size_t size, const char *type, struct iov_buf *out);

/* Append the FileDescriptorSet. Errors as above. */
int proto_desc_to_set(const void *desc, size_t size, struct iov_buf *out);

#endif
