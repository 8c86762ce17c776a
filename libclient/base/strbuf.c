/* SPDX-License-Identifier: Apache-2.0 */
/* Growing buffer, see strbuf.h. Thread: the owner's. */
#include "strbuf.h"

#include "mem.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char empty[1]; /* never written: cap 0 marks it */

void strbuf_init(struct strbuf *b, size_t max)
{
	*b = (struct strbuf){ .data = empty, .max = max ? max : STRBUF_MAX_DEFAULT };
}

void strbuf_finish(struct strbuf *b)
{
	if (b->cap)
		mem_free(b->data);
	strbuf_init(b, b->max);
}

void strbuf_clear(struct strbuf *b)
{
	b->len = 0;
	b->err = 0;
	if (b->cap)
		b->data[0] = '\0';
}

int strbuf_reserve(struct strbuf *b, size_t n)
{
	size_t want, cap;
	char *p;

	if (b->err)
		return b->err;
	if (n > b->max - b->len)
		return b->err = -EMSGSIZE;
	want = b->len + n + 1;
	if (want <= b->cap)
		return 0;
	for (cap = b->cap ? b->cap : 64; cap < want;)
		cap *= 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	p = mem_realloc(b->cap ? b->data : NULL, cap);
	if (!p)
		return b->err = -ENOMEM;
	b->data = p;
	b->cap = cap;
	b->data[b->len] = '\0';
	return 0;
}

void strbuf_commit(struct strbuf *b, size_t n)
{
	assert(b->len + n < b->cap || n == 0);
	b->len += n;
	if (b->cap)
		b->data[b->len] = '\0';
}

void strbuf_consume(struct strbuf *b, size_t n)
{
	if (n >= b->len) {
		b->len = 0;
	} else {
		memmove(b->data, b->data + n, b->len - n);
		b->len -= n;
	}
	if (b->cap)
		b->data[b->len] = '\0';
}

int strbuf_add(struct strbuf *b, const void *data, size_t len)
{
	int r = strbuf_reserve(b, len);

	if (r < 0 || !len)
		return r;
	memcpy(b->data + b->len, data, len);
	strbuf_commit(b, len);
	return 0;
}

int strbuf_puts(struct strbuf *b, const char *s)
{
	return strbuf_add(b, s, strlen(s));
}

int strbuf_putc(struct strbuf *b, char c)
{
	return strbuf_add(b, &c, 1);
}

int strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n, r;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return b->err = -EINVAL;
	r = strbuf_reserve(b, (size_t)n);
	if (r < 0)
		return r;
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	strbuf_commit(b, (size_t)n);
	return 0;
}

int strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = strbuf_vprintf(b, fmt, ap);
	va_end(ap);
	return r;
}

/* Length of the valid UTF-8 sequence at s (1..4), 0 if there is none. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	static const struct {
		unsigned char mask, lead;
		size_t n;
		unsigned min;
	} form[] = {
		{ 0x80, 0x00, 1, 0 }, { 0xe0, 0xc0, 2, 0x80 }, { 0xf0, 0xe0, 3, 0x800 }, { 0xf8, 0xf0, 4, 0x10000 }
	};

	for (size_t f = 0; f < 4; f++) {
		unsigned cp;

		if ((s[0] & form[f].mask) != form[f].lead)
			continue;
		if (left < form[f].n)
			return 0;
		cp = s[0] & (unsigned char)~form[f].mask;
		for (size_t i = 1; i < form[f].n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			cp = cp << 6 | (s[i] & 0x3fu);
		}
		return cp < form[f].min || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000) ? 0 : form[f].n;
	}
	return 0;
}

int strbuf_json_string(struct strbuf *b, const char *s, size_t len)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";

	strbuf_putc(b, '"');
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len((const unsigned char *)s + i, len - i);
		const char *esc = s[i] ? strchr(from, s[i]) : NULL;

		if (esc)
			strbuf_printf(b, "\\%c", to[esc - from]);
		else if (!n)
			strbuf_puts(b, "\xef\xbf\xbd");
		else if ((unsigned char)s[i] < 0x20)
			strbuf_printf(b, "\\u%04x", (unsigned)s[i]);
		else
			strbuf_add(b, s + i, n);
		i += n ? n : 1;
	}
	return strbuf_putc(b, '"');
}

int strbuf_error(const struct strbuf *b)
{
	return b->err;
}

char *strbuf_steal(struct strbuf *b)
{
	char *s;

	if (b->err || (!b->cap && strbuf_reserve(b, 0) < 0))
		return NULL;
	s = b->data;
	strbuf_init(b, b->max);
	return s;
}
