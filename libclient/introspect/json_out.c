/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text into a sink: see json_out.h. */
#include "json_out.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "printable.h"

void json_out_init(struct json_out *o, int (*write)(void *user, const char *data, size_t len), void *user)
{
	o->write = write;
	o->user = user;
	o->err = 0;
	o->n = 0;
}

int json_out_flush(struct json_out *o)
{
	if (!o->err && o->n)
		o->err = o->write(o->user, o->buf, o->n);
	o->n = 0;
	return o->err;
}

char *json_out_room(struct json_out *o, size_t len)
{
	if (len > sizeof(o->buf) - o->n)
		json_out_flush(o);
	return o->err ? NULL : o->buf + o->n;
}

void json_out_raw(struct json_out *o, const char *s, size_t len)
{
	while (len && !o->err) {
		size_t room = sizeof(o->buf) - o->n, now = len < room ? len : room;

		memcpy(o->buf + o->n, s, now);
		o->n += now;
		s += now;
		len -= now;
		if (o->n == sizeof(o->buf))
			json_out_flush(o);
	}
}

void json_out_text(struct json_out *o, const char *s)
{
	json_out_raw(o, s, strlen(s));
}

/* ---- strings ---- */

void json_out_string(struct json_out *o, const char *text, size_t len)
{
	json_out_raw(o, "\"", 1);
	for (size_t i = 0; i < len;) {
		char piece[4] = { 0 }, out[PRINTABLE_ESCAPE_MAX];
		size_t left = len - i < 4 ? len - i : 4;
		int32_t code;

		/* copied, since text in shared memory may change between check and write */
		memcpy(piece, text + i, left);
		i += printable_next(piece, left, &code);
		json_out_raw(o, out, printable_json_code(out, code));
	}
	json_out_raw(o, "\"", 1);
}

/* ---- base64 ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *put_triple(char *at, const uint8_t *d)
{
	uint32_t v = (uint32_t)d[0] << 16 | (uint32_t)d[1] << 8 | d[2];

	at[0] = alphabet[v >> 18];
	at[1] = alphabet[v >> 12 & 63];
	at[2] = alphabet[v >> 6 & 63];
	at[3] = alphabet[v & 63];
	return at + 4;
}

void json_out_base64(struct json_out *o, const uint8_t *data, size_t len)
{
	json_out_raw(o, "\"", 1);
	while (len >= 3) {
		char *at = json_out_room(o, 4), *start = at;
		size_t room = at ? (sizeof(o->buf) - o->n) / 4 : 0;

		if (!at)
			return;
		for (; room && len >= 3; room--, data += 3, len -= 3)
			at = put_triple(at, data);
		json_out_added(o, (size_t)(at - start));
	}
	if (len) {
		uint8_t rest[3] = { data[0], len > 1 ? data[1] : 0, 0 };
		char text[4];

		put_triple(text, rest);
		text[3] = '=';
		if (len == 1)
			text[2] = '=';
		json_out_raw(o, text, 4);
	}
	json_out_raw(o, "\"", 1);
}

/* ---- into memory ---- */

int json_text_write(void *json_text, const char *data, size_t len)
{
	struct json_text *t = json_text;

	if (t->room - t->len <= len) {
		size_t room = (t->room ? t->room : 256) * 2;
		char *more;

		while (room - t->len <= len)
			room *= 2;
		more = realloc(t->data, room);
		if (!more)
			return err_nomem();
		t->data = more;
		t->room = room;
	}
	memcpy(t->data + t->len, data, len);
	t->len += len;
	t->data[t->len] = '\0';
	return 0;
}
