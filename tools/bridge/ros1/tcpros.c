/* SPDX-License-Identifier: Apache-2.0 */
/* See tcpros.h. */
#include "tcpros.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(int err, const char *what, char *why, size_t why_size)
{
	snprintf(why, why_size, "%s", what);
	return err;
}

static void put_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* Whether it is "GET ", "POST" or "HTTP": as a length that would be more than a gigabyte. */
static bool is_http(const uint8_t *p)
{
	return memcmp(p, "GET ", 4) == 0 || memcmp(p, "POST", 4) == 0 || memcmp(p, "HTTP", 4) == 0 ||
	       memcmp(p, "HEAD", 4) == 0;
}

static int read_fields(const uint8_t *p, size_t left, struct tcpros_header *h)
{
	while (left) {
		struct tcpros_field *f = &h->field[h->n];
		const uint8_t *equals;
		uint32_t len;

		if (left < 4 || h->n == TCPROS_FIELDS_MAX)
			return -EBADMSG;
		len = tcpros_u32(p);
		if (len > left - 4)
			return -EBADMSG;
		p += 4;
		equals = memchr(p, '=', len);
		if (!equals)
			return -EBADMSG;
		f->key = (const char *)p;
		f->key_len = (size_t)(equals - p);
		f->value = (const char *)equals + 1;
		f->value_len = len - f->key_len - 1;
		h->n++;
		p += len;
		left -= len + 4;
	}
	return 0;
}

int tcpros_parse(const void *data, size_t len, size_t max, struct tcpros_header *ret, char *why, size_t why_size)
{
	const uint8_t *p = data;
	uint32_t total;
	int r;

	if (len < 4)
		return 0;
	if (is_http(p))
		return fail(-EPROTO,
			    "HTTP instead of TCPROS: the port of TCPROS is another than that of the node's URI", why,
			    why_size);
	total = tcpros_u32(p);
	if (total > max)
		return fail(-EMSGSIZE, "a TCPROS header that is too long, or not TCPROS", why, why_size);
	if (len - 4 < total)
		return 0;
	ret->n = 0;
	ret->total = total + 4;
	r = read_fields(p + 4, total, ret);
	return r < 0 ? fail(r, "a TCPROS header that is malformed", why, why_size) : 1;
}

static const struct tcpros_field *find(const struct tcpros_header *h, const char *key)
{
	size_t n = strlen(key);

	for (unsigned i = 0; i < h->n; i++)
		if (h->field[i].key_len == n && memcmp(h->field[i].key, key, n) == 0)
			return &h->field[i];
	return NULL;
}

bool tcpros_get(const struct tcpros_header *h, const char *key, char *out, size_t size)
{
	const struct tcpros_field *f = find(h, key);

	snprintf(out, size, "%.*s", f ? (int)f->value_len : 0, f ? f->value : "");
	return f;
}

bool tcpros_is(const struct tcpros_header *h, const char *key, const char *value)
{
	const struct tcpros_field *f = find(h, key);

	return f && f->value_len == strlen(value) && memcmp(f->value, value, f->value_len) == 0;
}

/* ---- writing ---- */

static void add(struct tcpros_writer *w, const void *data, size_t n)
{
	size_t cap = w->cap ? w->cap : 512;
	uint8_t *p;

	if (!w->err && n > TCPROS_HEADER_MAX - w->len)
		w->err = -EMSGSIZE;
	if (w->err)
		return;
	while (cap < w->len + n)
		cap *= 2;
	p = cap == w->cap ? w->data : realloc(w->data, cap);
	if (!p) {
		w->err = -ENOMEM;
		return;
	}
	w->data = p;
	w->cap = cap;
	memcpy(w->data + w->len, data, n);
	w->len += n;
}

void tcpros_put(struct tcpros_writer *w, const char *key, const char *value)
{
	size_t k = strlen(key), v = strlen(value);
	uint8_t len[4] = { 0 };

	if (!w->len)
		add(w, len, 4);
	if (k + v + 1 > TCPROS_HEADER_MAX) {
		w->err = w->err ? w->err : -EMSGSIZE;
		return;
	}
	put_u32(len, (uint32_t)(k + v + 1));
	add(w, len, 4);
	add(w, key, k);
	add(w, "=", 1);
	add(w, value, v);
}

int tcpros_end(struct tcpros_writer *w)
{
	if (!w->len)
		add(w, "\0\0\0", 4);
	if (!w->err)
		put_u32(w->data, (uint32_t)(w->len - 4));
	return w->err;
}

void tcpros_writer_finish(struct tcpros_writer *w)
{
	free(w->data);
	*w = (struct tcpros_writer){ .data = NULL };
}
