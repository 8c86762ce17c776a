/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages field by field: every field of the field table, in its order, under its own name, for types without a
 * mapping or converter; ros/ros_generic.h gives the ROS message. A field of the type std_msgs/Header, with a stamp and
 * a frame_id, is a header; its seq in ROS 1 is 0. Pure functions: any thread.
 */
#ifndef GENERIC_H
#define GENERIC_H

#include <stddef.h>

#include <sim/decode.h>
#include <sim/encode.h>

/*
 * Encodes a body (at any multiple of its alignment) to an encoder. Whatever a peer has written, or still writes
 * meanwhile, nothing outside the body is read, and no more is encoded than its bytes can hold. 0, or -EBADMSG for a
 * body that sim_msg_check() refuses.
 */
int generic_emit(const struct sim_type *t, const void *body, size_t size, struct sim_enc *e);

/*
 * Reads such a message into a body of at most `room` bytes, aligned to 64. 0 and its size, -ENOBUFS, -EMSGSIZE; or
 * d->err.
 */
int generic_read(const struct sim_type *t, struct sim_dec *d, void *buf, size_t room, size_t *ret_size);

#endif
