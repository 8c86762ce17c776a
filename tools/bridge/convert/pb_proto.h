/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .proto for a message that has none of its own: the format that enc_pb.h writes and dec_pb.h reads, as text and as
 * the descriptor that protoc makes of it. One self-contained file for each type: nested types are defined within, so
 * that two types that nest the same one do not conflict in the peer's pool. proto2. Constants become comments.
 *
 * Pure functions of a definition as ros_text.h makes it: any thread.
 */
#ifndef PB_PROTO_H
#define PB_PROTO_H

#include "iov_buf.h"
#include "ros/ros_type.h"

/* "sim_msgs.LaneLines" for sim_msgs/LaneLines. 0, or -ENAMETOOLONG. */
int pb_proto_name(const struct ros_type *t, char *out, size_t size);

/*
 * Appends the google.protobuf.FileDescriptorProto, identical to protoc's; its file name is "sim_msgs/LaneLines.proto".
 * Errors: -E2BIG it nests more than 64 types, -ENOMEM.
 */
int pb_proto_descriptor(const struct ros_type *t, struct iov_buf *out);

/* The text of the .proto; free with free(). Errors as above. */
int pb_proto_text(const struct ros_type *t, char **ret);

#endif
