/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and decodes fields and records of MCAP. Thread: as log.h. */
#include <libdeflate.h>
#include <string.h>

#include "mcap_private.h"
#include "mem.h"

uint32_t mcap_crc(uint32_t crc, const void *data, size_t n)
{
	return n ? libdeflate_crc32(crc, data, n) : crc; /* for n 0 libdeflate_crc32() would return its initial value */
}

void mcap_buf_finish(struct mcap_buf *b)
{
	mem_free(b->p);
	*b = (struct mcap_buf){ 0 };
}

uint8_t *mcap_buf_room(struct mcap_buf *b, size_t n)
{
	size_t cap = b->cap;
	uint8_t *p;

	if (b->failed)
		return NULL;
	if (n <= cap - b->n)
		return b->p + b->n;
	if (n > SIZE_MAX / 2 - b->n) {
		b->failed = true;
		return NULL;
	}
	cap = cap < 512 ? 1024 : cap * 2;
	if (cap < b->n + n)
		cap = b->n + n;
	p = mem_realloc(b->p, cap);
	if (!p) {
		b->failed = true;
		return NULL;
	}
	b->p = p;
	b->cap = cap;
	return p + b->n;
}

void mcap_put(struct mcap_buf *b, const void *data, size_t n)
{
	uint8_t *p = mcap_buf_room(b, n);

	if (!p || !n)
		return;
	memcpy(p, data, n);
	b->n += n;
}

void mcap_put_int(struct mcap_buf *b, uint64_t v, unsigned bytes)
{
	uint8_t le[8];

	for (unsigned i = 0; i < 8; i++)
		le[i] = (uint8_t)(v >> 8 * i);
	mcap_put(b, le, bytes);
}

void mcap_put_str(struct mcap_buf *b, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	mcap_put_int(b, n, 4);
	mcap_put(b, s, n);
}

void mcap_put_map(struct mcap_buf *b, const struct log_pair *pairs, size_t n)
{
	size_t at = b->n;
	uint32_t bytes;

	mcap_put_int(b, 0, 4);
	for (size_t i = 0; i < n; i++) {
		mcap_put_str(b, pairs[i].key);
		mcap_put_str(b, pairs[i].value);
	}
	if (b->failed)
		return;
	bytes = (uint32_t)(b->n - at - 4);
	for (unsigned i = 0; i < 4; i++)
		b->p[at + i] = (uint8_t)(bytes >> 8 * i);
}

size_t mcap_begin(struct mcap_buf *b, enum mcap_op op)
{
	size_t at = b->n;

	mcap_put_int(b, op, 1);
	mcap_put_int(b, 0, 8);
	return at;
}

void mcap_end(struct mcap_buf *b, size_t at)
{
	uint64_t bytes;

	if (b->failed)
		return;
	bytes = b->n - at - MCAP_HEAD;
	for (unsigned i = 0; i < 8; i++)
		b->p[at + 1 + i] = (uint8_t)(bytes >> 8 * i);
}
