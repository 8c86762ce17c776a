/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .proto of a message that has none of its own: what enc_pb.h writes and dec_pb.h reads, as a text and as the descriptor
 * that protoc makes of it. One file for each type, which needs no other: what it nests is defined within, so that
 * two types that nest the same one do not meet in the peer's pool. proto2. Constants are comments.
 *
 * Pure functions of a definition as ros_text.h makes it: any thread.
 */
#ifndef PB_PROTO_H
#define PB_PROTO_H

#include "iov_buf.h"
#include "ros/ros_type.h"

/* "sim_msgs.LaneLines" of sim_msgs/LaneLines. 0, or -ENAMETOOLONG. */
int pb_proto_name(const struct ros_type *t, char *out, size_t size);

/*
 * Append the google.protobuf.FileDescriptorProto, byte by byte that of protoc; its file is called "sim_msgs/LaneLines.proto".
 * Errors: -E2BIG it nests more than 64 types, -ENOMEM.
 */
int pb_proto_descriptor(const struct ros_type *t, struct iov_buf *out);

/* The text. returns a string: free(). Errors as above. */
int pb_proto_text(const struct ros_type *t, char **ret);

#endif
