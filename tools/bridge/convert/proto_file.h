/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One .proto file as protoc describes it: its google.protobuf.FileDescriptorProto, byte by byte, in the form of gen/plain_file.h. proto2 and
 * proto3, but for options of one's own, which are refused. Types of other files are the caller's, who reads each file twice: first for what it
 * imports and declares. Nothing of it is trusted. Pure: any thread.
 */
#ifndef PROTO_FILE_H
#define PROTO_FILE_H

#include <stdbool.h>

#include "iov_buf.h"

#define PROTO_NAME_MAX 511u /* bytes of a full name */

struct proto_ops { /* any may be NULL */
	void (*import)(void *arg, const char *file, unsigned line);
	/* "apollo.common.Header": of a message, or an enum. */
	void (*declare)(void *arg, const char *name, bool is_enum, unsigned line);
	/* Whether there is that full name; NULL: each is taken for a message's. */
	bool (*find)(void *arg, const char *name, bool *ret_enum);
};

/*
 * Append it. 0, or with a sentence "NAME:LINE: ...": -EBADMSG what is wrong with it, -ENOMEM; then what was appended is void.
 */
int proto_file_describe(const char *name, const char *text, size_t len, const struct proto_ops *ops, void *arg,
			struct iov_buf *out, char *why, size_t why_size);

#endif
