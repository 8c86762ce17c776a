/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of a .bag's records. Thread: any. */
#include <errno.h>

#include "bag_format.h"
#include "log_private.h"

int bag_field_next(const uint8_t *p, size_t n, size_t *at, struct bag_field *ret_name, struct bag_field *ret_value)
{
	const uint8_t *field, *equal;
	size_t size;

	if (*at == n)
		return 0;
	if (n - *at < 4)
		return -EBADMSG;
	size = log_u32(p + *at);
	if (size > n - *at - 4)
		return -EBADMSG;
	field = p + *at + 4;
	equal = memchr(field, '=', size);
	if (!equal)
		return -EBADMSG;
	*ret_name = (struct bag_field){ .data = field, .size = (size_t)(equal - field) };
	*ret_value = (struct bag_field){ .data = equal + 1, .size = size - ret_name->size - 1 };
	*at += 4 + size;
	return 1;
}

/* Stores a known field; a number whose field has the wrong size is ignored. */
static bool take(struct bag_head *h, const struct bag_field *name, const struct bag_field *value)
{
	const struct {
		const char *name;
		struct bag_field *to;
		size_t size; /* expected size; 0: any */
	} known[] = { { "conn", &h->conn, 4 },
		      { "time", &h->time, 8 },
		      { "topic", &h->topic, 0 },
		      { "compression", &h->compression, 0 },
		      { "size", &h->size, 4 },
		      { "index_pos", &h->index_pos, 8 },
		      { "conn_count", &h->conn_count, 4 },
		      { "chunk_count", &h->chunk_count, 4 },
		      { "chunk_pos", &h->chunk_pos, 8 },
		      { "start_time", &h->start_time, 8 },
		      { "end_time", &h->end_time, 8 },
		      { "count", &h->count, 4 },
		      { "ver", &h->ver, 4 },
		      { "encryptor", &h->encryptor, 0 } };

	if (bag_is_text(name, "op")) {
		h->op = value->size == 1 ? value->data[0] : -1;
		return value->size == 1;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!bag_is_text(name, known[i].name))
			continue;
		if (known[i].size && value->size != known[i].size)
			return false;
		*known[i].to = *value;
	}
	return true;
}

bool bag_head_parse(const uint8_t *p, size_t n, struct bag_head *ret)
{
	struct bag_field name, value;
	size_t at = 0;
	int r;

	*ret = (struct bag_head){ .op = -1 };
	while ((r = bag_field_next(p, n, &at, &name, &value)) > 0)
		if (!take(ret, &name, &value))
			return false;
	return r == 0 && ret->op >= 0;
}
