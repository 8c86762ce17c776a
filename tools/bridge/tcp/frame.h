/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes over a connection to lgsvl_bridge (github.com/lgsvl/ros2-lgsvl-bridge) or cyber_bridge (Apollo): an op of a byte, then texts
 * and a message, each with its length before it as uint32, little-endian. No greeting, no version, no answer.
 *
 *                   lgsvl  cyber
 *     RegisterDesc         1   count, then so many FileDescriptorProto
 *     AddReader     1      2   topic  type       we ask for a topic
 *     AddWriter     2      3   topic  type       we are going to publish one; type: "sensor_msgs/Imu", "apollo.drivers.Image"
 *     Publish       3      4   topic  message    both ways
 *
 * Pure functions of their arguments: any thread.
 */
#ifndef FRAME_H
#define FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_TOPIC_MAX 1024u
#define FRAME_HEAD_MAX  (1 + 4 + FRAME_TOPIC_MAX + 4)

/* Who is on the other side. */
struct frame_dialect {
	const char *peer; /* "lgsvl_bridge" */
	uint8_t reader, writer, publish;
};

extern const struct frame_dialect frame_lgsvl, frame_cyber;

/* A frame without a message, or the head of a Publish, into out. Its length; 0: no room, or a text of more than FRAME_TOPIC_MAX. */
size_t frame_add(uint8_t op, const char *topic, const char *type, uint8_t *out, size_t room);
size_t frame_publish(const struct frame_dialect *d, const char *topic, uint32_t len, uint8_t *out, size_t room);

struct frame { /* a Publish that has come; borrows */
	const char *topic;
	uint32_t topic_len;
	const uint8_t *message; /* NULL: it is longer than was asked for, and its len bytes are still to come */
	uint32_t len;
	size_t total; /* bytes of it in data */
};

/*
 * 1: *ret is one, whole but for a message of more than max bytes; 0: more must come, at most FRAME_HEAD_MAX + max in all. -EPROTO,
 * with a sentence in why: it is none of this protocol, and nothing that follows can be read.
 */
int frame_parse(const struct frame_dialect *d, const uint8_t *data, size_t n, uint32_t max, struct frame *ret,
		char *why, size_t why_size);

#endif
