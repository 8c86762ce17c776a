/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes over a connection to lgsvl_bridge (github.com/lgsvl/ros2-lgsvl-bridge) or cyber_bridge (Apollo): an op
 * byte, then strings and a message, each preceded by its length as uint32, little-endian. There is no greeting, version
 * or acknowledgement.
 *
 *                   lgsvl  cyber
 *     RegisterDesc         1   count, then that many FileDescriptorProto
 *     AddReader     1      2   topic  type       we subscribe to a topic
 *     AddWriter     2      3   topic  type       we will publish a topic; type: "sensor_msgs/Imu", "apollo.drivers.Image"
 *     Publish       3      4   topic  message    in both directions
 *
 * Pure functions of their arguments: any thread.
 */
#ifndef FRAME_H
#define FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_TOPIC_MAX 1024u
#define FRAME_HEAD_MAX  (1 + 4 + FRAME_TOPIC_MAX + 4)

/* Op codes of one kind of peer. */
struct frame_dialect {
	const char *peer; /* "lgsvl_bridge" */
	uint8_t reader, writer, publish;
};

extern const struct frame_dialect frame_lgsvl, frame_cyber;

/*
 * Writes a frame without a message, or the head of a Publish, into out. Returns its length; 0: no room, or a string
 * longer than FRAME_TOPIC_MAX.
 */
size_t frame_add(uint8_t op, const char *topic, const char *type, uint8_t *out, size_t room);
size_t frame_publish(const struct frame_dialect *d, const char *topic, uint32_t len, uint8_t *out, size_t room);

struct frame { /* a received Publish; borrows */
	const char *topic;
	uint32_t topic_len;
	const uint8_t *message; /* NULL: longer than `max`; its len bytes follow in the stream */
	uint32_t len;
	size_t total; /* bytes of the frame in data */
};

/*
 * Returns 1 if *ret is a frame, complete unless its message is longer than max bytes; 0 if more data is needed, at most
 * FRAME_HEAD_MAX + max bytes in all. -EPROTO, with the reason in why: not this protocol; the stream cannot be read
 * further.
 */
int frame_parse(const struct frame_dialect *d, const uint8_t *data, size_t n, uint32_t max, struct frame *ret,
		char *why, size_t why_size);

#endif
