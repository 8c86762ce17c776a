/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages as they are: every field of the field table, in its order, under its own name. For types that no mapping and no converter
 * knows; ros/ros_generic.h says which message that is. A field of the type std_msgs/Header, of a stamp and a frame_id, is a header:
 * ROS 1 has a number besides, which is 0. Pure functions: any thread.
 */
#ifndef GENERIC_H
#define GENERIC_H

#include <stddef.h>

#include <sim/decode.h>
#include <sim/encode.h>

/*
 * Encode a body (at any multiple of its alignment) to an encoder. Whatever a peer wrote, or goes on writing, nothing outside
 * the body is read, and no more is encoded than its bytes can hold. 0, or -EBADMSG what sim_msg_check() refuses.
 */
int generic_emit(const struct sim_type *t, const void *body, size_t size, struct sim_enc *e);

/* Read such a message into a body of at most `room` bytes, aligned to 64. 0 and its size, -ENOBUFS, -EMSGSIZE; d->err too. */
int generic_read(const struct sim_type *t, struct sim_dec *d, void *buf, size_t room, size_t *ret_size);

#endif
