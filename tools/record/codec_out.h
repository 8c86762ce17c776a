/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From channels of simd to channels of a log: describes the log's channel, and encodes its messages.
 *
 *   native   a std_msgs/Header and the fields of the type, as CDR: lossless. The channel's metadata has the type as\n *            `sim_type` and `sim_hash`, and the definition of a type that simd does not have as `sim_definition`. For a\n *            type with a field `header` the header is called `sim_header`.
 *   ros2     the message that the type is mapped to, as CDR, with `offered_qos_profiles` as rosbag2 expects them
 *   ros1     the same in ROS 1
 *   packed   native with the arrays of records shuffled (pack.h), for archives that our tools read: points of clouds, pixels of images,
 *            numbers. The channel's metadata says how, as `packing`.
 *   apollo   the message of Apollo's Cyber RT that the type is mapped to, in protobuf, on the channel that Apollo has for it; a type without a mapping as a message of its fields. The schema is a FileDescriptorSet; a\n *            .record converts it to a ProtoDesc.
 *   json     the same fields as native in JSON, with a JSON Schema, for tools that read neither CDR nor ROS: times are {"sec","nsec"}, bytes base64, NaN
 *            null. Texts that are not UTF-8 do not come back as they were.
 *
 * Thread: one codec may be used by one thread at a time.
 */
#ifndef CODEC_OUT_H
#define CODEC_OUT_H

#include <sim/slot.h>

#include "convert/iov_buf.h"
#include "log.h"

struct sim_type;

enum codec_kind { CODEC_NATIVE, CODEC_ROS2, CODEC_ROS1, CODEC_PACKED, CODEC_APOLLO, CODEC_JSON };

/* log_write_options.level for packed messages with zstd: half as fast again as the default, for a tenth more bytes. */
#define CODEC_PACKED_ZSTD_LEVEL (-3)

struct codec_apollo;
struct codec_out;

/*
 * Encoder for messages of that type on that channel. apollo: for CODEC_APOLLO, NULL: 10.0's. Borrows type and apollo
 * until codec_out_destroy(); copies the name. Errors, with the reason in why: -ENOTSUP the encoding cannot hold the
 * type, -ENOMEM.
 */
int codec_out_create(enum codec_kind kind, const struct codec_apollo *apollo, const char *channel,
		     const struct sim_type *type, struct codec_out **ret, char *why, size_t why_size);
void codec_out_destroy(struct codec_out *c); /* NULL-safe */

/* Marks the channel as latched in its metadata, if the encoding has a key for that. Call before codec_out_channel(). */
void codec_out_set_latched(struct codec_out *c);

/*
 * If two channels of simd map to the same Apollo name: whether `a` gets that name, independent of their order: it has
 * that name already, or comes first in alphabetical order.
 */
bool codec_out_goes_before(const char *a, const char *b, const char *name);

/* For log_writer_add_channel(). Borrows from c. */
const struct log_channel *codec_out_channel(const struct codec_out *c);

/*
 * Resets out, which then refers to m's body: valid until the body is released or out is used again. Large arrays are
 * not copied, except by packed. Errors, with the reason in why: -EBADMSG inconsistent body, -ERANGE a time that the
 * encoding cannot hold, -ENOMEM, or those of the mapping.
 */
int codec_out_encode(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why, size_t why_size);

#endif
