/* SPDX-License-Identifier: Apache-2.0 */
/* ZMTP in bytes. See zmtp.h. */
#include "zmtp.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "err.h"

#define FLAG_MORE    1u
#define FLAG_LONG    2u
#define FLAG_COMMAND 4u

#define AT_VERSION   10
#define AT_MECHANISM 12
#define MECHANISM    20 /* bytes, padded with zeros */
#define NAME_MAX_    255

/* ---- the greeting ---- */

static const uint8_t ours[ZMTP_GREETING] = { 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 1, 'N', 'U', 'L', 'L' };

void zmtp_greeting(uint8_t ret[ZMTP_GREETING])
{
	memcpy(ret, ours, sizeof(ours));
}

/* Not checked: the bytes between the first and the tenth, the minor version, and all after the mechanism. */
int zmtp_greeting_check(const uint8_t *bytes, size_t len)
{
	if ((len > 0 && bytes[0] != 0xff) || (len > 9 && !(bytes[9] & 1)))
		return err_set(-EPROTO, "it does not speak ZeroMQ");
	if (len > AT_VERSION && bytes[AT_VERSION] < 3)
		return err_set(-EPROTO, "it speaks ZMTP %d; libzmq 4.0 or later is needed",
			       bytes[AT_VERSION] == 0 ? 1 : 2);
	if (len < ZMTP_GREETING)
		return 0;
	if (memcmp(bytes + AT_MECHANISM, ours + AT_MECHANISM, MECHANISM) != 0)
		return err_set(-EPROTO, "it asks for the security mechanism \"%.*s\"; only NULL is supported",
			       MECHANISM, (const char *)bytes + AT_MECHANISM);
	return 1;
}

/* ---- frames ---- */

struct frame {
	uint8_t flags;
	size_t header;
	uint64_t len;
};

/* Returns 1; 0: the header is not complete yet. */
static int frame_header(const uint8_t *bytes, size_t len, struct frame *ret)
{
	*ret = (struct frame){ .flags = len ? bytes[0] : 0 };
	if (ret->flags & ~(FLAG_MORE | FLAG_LONG | FLAG_COMMAND))
		return err_set(-EPROTO, "a frame has the flags 0x%02x, which ZeroMQ does not have", ret->flags);
	ret->header = ret->flags & FLAG_LONG ? 9 : 2;
	if (len < ret->header)
		return 0;
	for (size_t i = 1; i < ret->header; i++)
		ret->len = ret->len << 8 | bytes[i];
	return 1;
}

static int check_frame(const struct zmtp_unit *u, const struct frame *f)
{
	if (f->len > ZMTP_REQUEST_MAX || u->size + f->header + f->len > ZMTP_REQUEST_MAX)
		return err_set(-EMSGSIZE, "it sends a request of more than %zu bytes", ZMTP_REQUEST_MAX);
	if ((f->flags & FLAG_COMMAND) && (u->size > 0 || (f->flags & FLAG_MORE)))
		return err_set(-EPROTO, "a command comes in the middle of a request");
	return 0;
}

/* The frame is whole. True: it was the last one. */
static bool take_frame(struct zmtp_unit *u, const struct frame *f)
{
	size_t body = u->size + f->header;
	bool more = f->flags & FLAG_MORE;

	u->size = body + f->len;
	u->command = f->flags & FLAG_COMMAND;
	if (!u->command && !u->envelope) {
		if (f->len == 0 && more)
			u->envelope = u->size;
		return !more;
	}
	if (u->parts++ == 0) {
		u->at = body;
		u->len = f->len;
	}
	return !more;
}

int zmtp_scan(struct zmtp_unit *u, const uint8_t *bytes, size_t len)
{
	for (bool last = false; !last;) {
		struct frame f;
		int r = frame_header(bytes + u->size, len - u->size, &f);

		if (r == 1)
			r = check_frame(u, &f);
		else if (r == 0)
			return 0;
		if (r < 0)
			return r;
		if (len - u->size < f.header + f.len)
			return 0;
		last = take_frame(u, &f);
		if (!u->command && (u->envelope ? u->envelope : u->size) > ZMTP_ENVELOPE_MAX)
			return err_set(-EPROTO, "the envelope of its request does not end: is it not a REQ socket?");
	}
	if (!u->command && !u->parts)
		return err_set(-EPROTO, "its request has no envelope: is it not a REQ socket?");
	u->whole = true;
	return 1;
}

size_t zmtp_header(size_t len, uint8_t ret[ZMTP_HEADER_MAX])
{
	bool is_long = len > UINT8_MAX;

	ret[0] = is_long ? FLAG_LONG : 0;
	for (size_t i = is_long ? 8 : 1; i > 0; i--, len >>= 8)
		ret[i] = (uint8_t)len;
	return is_long ? 9 : 2;
}

/* ---- commands: one byte with the length of the name, the name, the data ---- */

/* The data after the name; NULL: it is another command. */
static const uint8_t *named(const char *name, const uint8_t *command, size_t len)
{
	size_t n = strlen(name);

	return len > n && command[0] == n && memcmp(command + 1, name, n) == 0 ? command + 1 + n : NULL;
}

struct property {
	const uint8_t *name, *value;
	size_t name_len, value_len;
};

/* Where the next property begins; NULL: malformed. */
static const uint8_t *next_property(const uint8_t *at, const uint8_t *end, struct property *ret)
{
	ret->name_len = *at++;
	if ((size_t)(end - at) < ret->name_len + 4)
		return NULL;
	ret->name = at;
	at += ret->name_len;
	ret->value_len = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
	ret->value = at + 4;
	return (size_t)(end - ret->value) < ret->value_len ? NULL : ret->value + ret->value_len;
}

static bool is_text(const char *text, const uint8_t *bytes, size_t len)
{
	return len == strlen(text) && strncasecmp(text, (const char *)bytes, len) == 0;
}

int zmtp_ready_check(const uint8_t *command, size_t len)
{
	const uint8_t *at = named("READY", command, len), *end = command + len;
	struct property p;

	if (!at)
		return err_set(-EPROTO, "it does not send READY");
	while (at < end) {
		at = next_property(at, end, &p);
		if (!at)
			return err_set(-EPROTO, "its READY is malformed");
		if (!is_text("Socket-Type", p.name, p.name_len))
			continue;
		if (is_text("REQ", p.value, p.value_len) || is_text("DEALER", p.value, p.value_len))
			return 0;
		return err_set(-EPROTO, "it is a %.*s socket; a REQ or DEALER socket is needed",
			       (int)(p.value_len < 20 ? p.value_len : 20), (const char *)p.value);
	}
	return err_set(-EPROTO, "its READY does not say which socket it is");
}

size_t zmtp_ready(uint8_t ret[ZMTP_READY_MAX])
{
	static const char body[] = "\5READY\13Socket-Type\0\0\0\3REP";

	ret[0] = FLAG_COMMAND;
	ret[1] = sizeof(body) - 1;
	memcpy(ret + 2, body, sizeof(body) - 1);
	return sizeof(body) + 1;
}

int zmtp_command(const uint8_t *command, size_t len, uint8_t ret[ZMTP_PONG_MAX])
{
	const uint8_t *ping = named("PING", command, len);
	size_t context;

	if (named("PONG", command, len))
		return 0;
	/* a time to live of 2 bytes, a context of up to 16 */
	if (!ping || command + len - ping < 2 || command + len - ping > 2 + 16)
		return err_set(-EPROTO, "it sends the command \"%.*s\"", len > 1 && len < NAME_MAX_ ? (int)len - 1 : 0,
			       (const char *)command + 1);
	context = (size_t)(command + len - ping - 2);
	ret[0] = FLAG_COMMAND;
	ret[1] = (uint8_t)(5 + context);
	memcpy(ret + 2, "\4PONG", 5);
	memcpy(ret + 7, ping + 2, context);
	return (int)(7 + context);
}
