/* SPDX-License-Identifier: Apache-2.0 */
/* See blob.h. */
#include "blob.h"

#include <errno.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bodies are sent exactly as in memory");

static const uint8_t begin[] = { 0, 1, 0, 0, 'S', 'L', 'N', 'K' };

static void put(uint8_t *to, size_t at, const void *v, size_t size)
{
	memcpy(to + at, v, size);
}

void blob_write(const struct blob_head *h, uint8_t ret[BLOB_HEAD])
{
	const uint16_t version = BLOB_VERSION, flags = (uint16_t)h->flags;

	memset(ret, 0, BLOB_HEAD);
	put(ret, 0, begin, sizeof(begin));
	put(ret, 8, &version, 2);
	put(ret, 10, &flags, 2);
	put(ret, 16, &h->type_hash, 8);
	put(ret, 24, &h->host, 8);
	put(ret, 32, &h->sequence, 8);
	put(ret, 40, &h->stamp_sim_ns, 8);
	put(ret, 48, &h->body_size, 8);
	put(ret, 56, &h->confirm, 8);
	memcpy(ret + 64, h->frame, strnlen(h->frame, BLOB_FRAME_MAX));
	put(ret, 104, &h->exporter, 8);
	put(ret, 112, &h->number, 8);
	put(ret, 120, &h->step, 8);
}

static int refuse(const char **ret_why, int r, const char *why)
{
	*ret_why = why;
	return r;
}

int blob_read(const uint8_t *bytes, size_t have, size_t size, struct blob_head *ret, const char **ret_why)
{
	uint16_t version, flags;

	if (have < BLOB_HEAD || size < BLOB_HEAD)
		return refuse(ret_why, -EBADMSG, "it is shorter than a head");
	if (memcmp(bytes, begin, sizeof(begin)) != 0)
		return refuse(ret_why, -EBADMSG, "it does not begin like a message of a link");
	memcpy(&version, bytes + 8, 2);
	if (version != BLOB_VERSION)
		return refuse(ret_why, -EPROTO, "it is of another version of the link: update the older simd");
	memcpy(&flags, bytes + 10, 2);
	*ret = (struct blob_head){ .flags = flags };
	memcpy(&ret->type_hash, bytes + 16, 8);
	memcpy(&ret->host, bytes + 24, 8);
	memcpy(&ret->sequence, bytes + 32, 8);
	memcpy(&ret->stamp_sim_ns, bytes + 40, 8);
	memcpy(&ret->body_size, bytes + 48, 8);
	memcpy(&ret->confirm, bytes + 56, 8);
	memcpy(ret->frame, bytes + 64, BLOB_FRAME_MAX);
	memcpy(&ret->exporter, bytes + 104, 8);
	memcpy(&ret->number, bytes + 112, 8);
	memcpy(&ret->step, bytes + 120, 8);
	if (!ret->host || !ret->sequence || (ret->step && (!ret->exporter || !ret->number)))
		return refuse(ret_why, -EBADMSG, "it does not say where it is from");
	if (ret->body_size > BLOB_BODY_MAX || blob_size(ret->body_size) != size)
		return refuse(ret_why, -EBADMSG, "its length is not the one in its head");
	return 0;
}
