/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One .proto file as protoc describes it: its google.protobuf.FileDescriptorProto, identical byte for byte, in the form
 * of gen/plain_file.h. proto2 and proto3, but no custom options, which are refused. The caller resolves types of other
 * files and calls it twice for each file: first to learn its imports and declarations. The file is untrusted. Pure: any
 * thread.
 */
#ifndef PROTO_FILE_H
#define PROTO_FILE_H

#include <stdbool.h>

#include "iov_buf.h"

#define PROTO_NAME_MAX 511u /* bytes of a full name */

struct proto_ops { /* any may be NULL */
	void (*import)(void *arg, const char *file, unsigned line);
	/* "apollo.common.Header": called for each message or enum that the file declares. */
	void (*declare)(void *arg, const char *name, bool is_enum, unsigned line);
	/* Whether that full name exists; if NULL, each name is taken for a message. */
	bool (*find)(void *arg, const char *name, bool *ret_enum);
};

/*
 * Appends the descriptor. 0, or with the reason "NAME:LINE: ...": -EBADMSG the file is invalid, -ENOMEM; the appended
 * bytes are then invalid.
 */
int proto_file_describe(const char *name, const char *text, size_t len, const struct proto_ops *ops, void *arg,
			struct iov_buf *out, char *why, size_t why_size);

#endif
