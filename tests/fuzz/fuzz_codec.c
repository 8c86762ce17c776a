/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels of logs on their way into simd. Two bytes choose encoding and type; for a type that only the file defines
 * its definition follows, up to a NUL; the rest is a message. An accepted message is a valid body of its type, and its
 * frame a string. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "convert/apollo.h"
#include "tools/record/codec.h"
#include "tools/record/codec_out.h"
#include "tools/record/proto_desc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(const struct log_channel *ch, const void *data, size_t size)
{
	static _Alignas(64) uint8_t body[16384];
	struct message_in to = { .buf = body, .room = sizeof(body) };
	const struct log_message m = { .data = data, .size = size };
	struct codec_in *c;
	char why[300] = "";
	int r = codec_in_create(ch, &c, why, sizeof(why));

	if (r < 0 && !*why)
		abort();
	if (r < 0)
		return;
	r = codec_in_decode(c, &m, &to);
	if (r == 0 &&
	    (sim_msg_check(codec_in_type(c), body, to.size) != 0 || !memchr(to.frame, '\0', sizeof(to.frame))))
		abort();
	codec_in_destroy(c);
}

/* As codec_out writes that type. */
static void ours(enum codec_kind kind, unsigned n, const void *data, size_t size)
{
	const struct sim_type *const *t = sim_type_builtins();
	struct codec_out *c;
	unsigned all = 0;
	char why[300];

	while (t[all])
		all++;
	if (codec_out_create(kind, NULL, n & 64 ? "/tf_static" : "/a", t[n % all], &c, why, sizeof(why)) < 0)
		return;
	decode(codec_out_channel(c), data, size);
	codec_out_destroy(c);
}

/* A definition of protobuf, either way. */
static void described(const void *data, size_t size)
{
	struct iov_buf o;

	iov_buf_init(&o);
	if (proto_desc_to_set(data, size, &o) == 0) {
		struct iovec iov[IOV_BUF_PIECES];
		struct iov_buf tree;

		iov_buf_init(&tree);
		if (iov_buf_iov(&o, iov) == 1)
			(void)!proto_desc_of_set(iov[0].iov_base, iov[0].iov_len, "a.B", &tree);
		iov_buf_finish(&tree);
	}
	iov_buf_reset(&o);
	(void)!proto_desc_of_set(data, size, "a.B", &o);
	iov_buf_finish(&o);
}

static void apollo(unsigned n, const void *data, size_t size)
{
	const struct apollo_type *t = apollo_type_at(APOLLO_10, true, n % 64);
	struct log_channel ch = { .topic = n & 64 ? "/tf_static" : "/a",
				  .message_encoding = "protobuf",
				  .schema_name = t ? apollo_type_name(t) : "sim_msgs.LaneLines",
				  .schema_encoding = "" };

	decode(&ch, data, size);
}

static void defined(bool ros1, const char *name, const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\0', size);
	struct log_channel ch = { .topic = "/a",
				  .message_encoding = ros1 ? "ros1" : "cdr",
				  .schema_name = name,
				  .schema_encoding = ros1 ? "ros1msg" : "ros2msg" };

	if (!end)
		return;
	ch.schema = (struct log_bytes){ data, (size_t)(end - data) };
	decode(&ch, end + 1, (size_t)(data + size - end) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum codec_kind kinds[] = { CODEC_NATIVE, CODEC_ROS2, CODEC_ROS1, CODEC_PACKED, CODEC_APOLLO };

	if (size < 2)
		return 0;
	if (data[0] == 255)
		described(data + 1, size - 1);
	else if (data[0] % 8 < 5)
		ours(kinds[data[0] % 8], data[1], data + 2, size - 2);
	else if (data[0] % 8 == 5)
		apollo(data[1], data + 2, size - 2);
	else
		defined(data[0] % 8 == 6,
			data[1] & 2   ? "pb_msgs/Chassis"
			: data[1] & 1 ? "autoware_perception_msgs/TrafficLightGroupArray"
				      : "car_msgs/Thing",
			data + 2, size - 2);
	return 0;
}
