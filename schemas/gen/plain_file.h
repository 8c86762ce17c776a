/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A google.protobuf.FileDescriptorProto in the form that a protobuf program has in memory: without the JSON names and
 * the source locations that protoc adds to its output. A descriptor pool accepts the same file twice only in this form.
 * Pure: any thread.
 */
#ifndef PLAIN_FILE_H
#define PLAIN_FILE_H

#include <stddef.h>

/*
 * Writes the file to out, which has room for len bytes and may be the file itself. Returns its size, or -EBADMSG:
 * malformed, out is undefined.
 */
long plain_file(const void *file, size_t len, void *out);

#endif
