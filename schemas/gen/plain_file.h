/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A google.protobuf.FileDescriptorProto as a program of protobuf has it in memory: without the names in JSON and the places in the source,
 * which protoc adds to what it writes. A descriptor pool takes the same file twice, but only in this form. Pure: any thread.
 */
#ifndef PLAIN_FILE_H
#define PLAIN_FILE_H

#include <stddef.h>

/* Write the file to out, which has room for len bytes and may be the file itself. The size, or -EBADMSG: no such message, out is void. */
long plain_file(const void *file, size_t len, void *out);

#endif
