/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text into a sink: see json_out.h. */
#include "json_out.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

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

/* Length of the UTF-8 sequence at s, 0 if it is none: overlong forms and surrogates are none. */
static size_t utf8_len(const uint8_t *s, size_t left)
{
	uint8_t c = s[0], lo = 0x80, hi = 0xbf;
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (n == 0 || n > left)
		return 0;
	if (c == 0xe0)
		lo = 0xa0;
	else if (c == 0xed)
		hi = 0x9f;
	else if (c == 0xf0)
		lo = 0x90;
	else if (c == 0xf4)
		hi = 0x8f;
	for (size_t i = 1; i < n; i++, lo = 0x80, hi = 0xbf)
		if (s[i] < lo || s[i] > hi)
			return 0;
	return n;
}

static void put_control(struct json_out *o, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
	const char *brief = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : NULL;

	json_out_raw(o, brief ? brief : text, brief ? 2 : sizeof(text));
}

void json_out_string(struct json_out *o, const char *text, size_t len)
{
	json_out_raw(o, "\"", 1);
	for (size_t i = 0; i < len;) {
		uint8_t piece[4] = { 0 };
		size_t left = len - i < 4 ? len - i : 4, n;

		memcpy(piece, text + i, left); /* shared memory may change: check and write the same bytes */
		n = utf8_len(piece, left);
		if (n == 0)
			json_out_raw(o, "\xef\xbf\xbd", 3);
		else if (piece[0] == '"' || piece[0] == '\\')
			json_out_raw(o, piece[0] == '"' ? "\\\"" : "\\\\", 2);
		else if (piece[0] < 0x20 || piece[0] == 0x7f)
			put_control(o, piece[0]);
		else
			json_out_raw(o, (const char *)piece, n);
		i += n ? n : 1;
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
