/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a channel of simd into a log: which channel of the log it becomes, and its messages as bytes of an encoding.
 *
 *   native   a std_msgs/Header and the fields of the type, as CDR: lossless. The type stands in the channel's metadata, as `sim_type`
 *            and `sim_hash`, and of one's own types the definition, as `sim_definition`. A type with a field `header` gets
 *            `sim_header` in front instead.
 *   ros2     the message that the type is mapped to, as CDR, with `offered_qos_profiles` as rosbag2 wants them
 *   ros1     the same in ROS 1
 *   packed   native with the arrays of records shuffled (pack.h), for archives that our tools read: points of clouds, pixels of images,
 *            numbers. The channel's metadata says how, as `packing`.
 *   apollo   the message of Apollo's Cyber RT that the type is mapped to, in protobuf, on the channel that Apollo has for it; a type that
 *            has none as the message of its fields. The schema is a FileDescriptorSet, of which a .record makes a ProtoDesc.
 *   json     the same fields as native in JSON, with a JSON Schema, for what reads neither CDR nor ROS: times are {"sec","nsec"}, bytes base64, NaN
 *            null. Texts that are not UTF-8 do not come back as they were.
 *
 * Thread: one codec is one thread's at a time.
 */
#ifndef CODEC_OUT_H
#define CODEC_OUT_H

#include <sim/slot.h>

#include "convert/iov_buf.h"
#include "log.h"

struct sim_type;

enum codec_kind { CODEC_NATIVE, CODEC_ROS2, CODEC_ROS1, CODEC_PACKED, CODEC_APOLLO, CODEC_JSON };

/* log_write_options.level of a file of packed messages with zstd: a tenth larger than with the default, and half as fast again. */
#define CODEC_PACKED_ZSTD_LEVEL (-3)

struct codec_apollo;
struct codec_out;

/*
 * For messages of that type on that channel; apollo: of CODEC_APOLLO, NULL: 10.0's; borrows both until codec_out_destroy(), the name is copied. Errors, with
 * a sentence: -ENOTSUP there is no way to say it in that encoding, -ENOMEM.
 */
int codec_out_create(enum codec_kind kind, const struct codec_apollo *apollo, const char *channel,
		     const struct sim_type *type, struct codec_out **ret, char *why, size_t why_size);
void codec_out_destroy(struct codec_out *c); /* NULL is fine */

/* Its last message is for who comes later too: said in the channel's metadata, where the encoding has a word for it. Before codec_out_channel(). */
void codec_out_set_latched(struct codec_out *c);

/* Of two channels of ours that Apollo has one name for: whether `a` is called so, whichever came first: it has that name already, or is the first of them by name. */
bool codec_out_goes_before(const char *a, const char *b, const char *name);

/* As log_writer_add_channel() takes it. Borrows from c. */
const struct log_channel *codec_out_channel(const struct codec_out *c);

/*
 * Resets out, which then refers to m's body: valid while that is, until out is used again. Large arrays are not copied, but for
 * packed. Errors, with a sentence: -EBADMSG the body does not hold together, -ERANGE a time that the encoding cannot hold, -ENOMEM, or the mapping's.
 */
int codec_out_encode(struct codec_out *c, const struct sim_message *m, struct iov_buf *out, char *why, size_t why_size);

#endif
