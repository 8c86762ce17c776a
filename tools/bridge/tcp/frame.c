/* SPDX-License-Identifier: Apache-2.0 */
/* See frame.h. */
#include "frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sim/message.h>

SIM_STATIC_ASSERT(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "lengths go out as they are");

static size_t put_text(uint8_t *out, const char *text, size_t len)
{
	uint32_t n = (uint32_t)len;

	memcpy(out, &n, sizeof(n));
	memcpy(out + sizeof(n), text, len);
	return sizeof(n) + len;
}

const struct frame_dialect frame_lgsvl = { "lgsvl_bridge", 1, 2, 3 };
const struct frame_dialect frame_cyber = { "cyber_bridge", 2, 3, 4 };

size_t frame_add(uint8_t op, const char *topic, const char *type, uint8_t *out, size_t room)
{
	size_t a = strlen(topic), b = strlen(type), n = 1;

	if (a > FRAME_TOPIC_MAX || b > FRAME_TOPIC_MAX || room < 1 + 4 + a + 4 + b)
		return 0;
	out[0] = op;
	n += put_text(out + n, topic, a);
	return n + put_text(out + n, type, b);
}

size_t frame_publish(const struct frame_dialect *d, const char *topic, uint32_t len, uint8_t *out, size_t room)
{
	size_t a = strlen(topic), n = 1;

	if (a > FRAME_TOPIC_MAX || room < 1 + 4 + a + 4)
		return 0;
	out[0] = d->publish;
	n += put_text(out + n, topic, a);
	memcpy(out + n, &len, sizeof(len));
	return n + sizeof(len);
}

/* Guesses which program sends data that is not of this protocol. */
static int not_ours(const struct frame_dialect *d, const uint8_t *data, size_t n, char *why, size_t why_size)
{
	if (n >= 4 && memcmp(data, "HTTP", 4) == 0)
		snprintf(why, why_size, "a web server answers there, perhaps a rosbridge server, but no %s", d->peer);
	else if (data[0] >= 1 && data[0] < d->publish)
		snprintf(why, why_size, "it sends op %u, as a client (a simulator) does%s: it is no %s", data[0],
			 data[0] == frame_lgsvl.publish ? ", or lgsvl_bridge" : "", d->peer);
	else
		snprintf(why, why_size, "it sends op %u, which %s does not", data[0], d->peer);
	return -EPROTO;
}

static int too_long(uint32_t len, char *why, size_t why_size)
{
	snprintf(why, why_size, "it sends a topic name of %u bytes; at most %u are allowed", len, FRAME_TOPIC_MAX);
	return -EPROTO;
}

int frame_parse(const struct frame_dialect *d, const uint8_t *data, size_t n, uint32_t max, struct frame *ret,
		char *why, size_t why_size)
{
	size_t at = 1 + sizeof(uint32_t);
	struct frame f;

	if (n && data[0] != d->publish)
		return n < 4 && data[0] == 'H' ? 0 : not_ours(d, data, n, why, why_size);
	if (n < at)
		return 0;
	memcpy(&f.topic_len, data + 1, sizeof(f.topic_len));
	if (f.topic_len > FRAME_TOPIC_MAX)
		return too_long(f.topic_len, why, why_size);
	f.topic = (const char *)data + at;
	at += f.topic_len;
	if (n < at + sizeof(f.len))
		return 0;
	memcpy(&f.len, data + at, sizeof(f.len));
	at += sizeof(f.len);
	if (f.len <= max && n < at + f.len)
		return 0;
	f.message = f.len <= max ? data + at : NULL;
	f.total = f.message ? at + f.len : at;
	*ret = f;
	return 1;
}
