/* SPDX-License-Identifier: Apache-2.0 */
/* See keyless.h. */
#include "keyless.h"

#include <string.h>

bool keyless_eqkey(const struct ddsi_serdata *a, const struct ddsi_serdata *b)
{
	(void)a;
	(void)b;
	return true;
}

void keyless_keyhash(const struct ddsi_serdata *d, struct ddsi_keyhash *buf, bool force_md5)
{
	(void)d;
	(void)force_md5;
	memset(buf->value, 0, sizeof(buf->value));
}

bool keyless_to_sample(const struct ddsi_serdata *d, void *sample, void **bufptr, void *buflim)
{
	(void)d;
	(void)sample;
	(void)bufptr;
	(void)buflim;
	return false;
}

bool keyless_untyped_to_sample(const struct ddsi_sertype *t, const struct ddsi_serdata *d, void *sample, void **bufptr,
			       void *buflim)
{
	(void)t;
	return keyless_to_sample(d, sample, bufptr, buflim);
}

void keyless_zero(const struct ddsi_sertype *t, void *samples, size_t count)
{
	(void)t;
	(void)samples;
	(void)count;
}

void keyless_realloc(void **ptrs, const struct ddsi_sertype *t, void *old, size_t oldcount, size_t count)
{
	(void)t;
	(void)old;
	(void)oldcount;
	for (size_t i = 0; i < count; i++)
		ptrs[i] = NULL;
}

void keyless_free_samples(const struct ddsi_sertype *t, void **ptrs, size_t count, dds_free_op_t op)
{
	(void)t;
	(void)ptrs;
	(void)count;
	(void)op;
}

uint32_t keyless_hash(const struct ddsi_sertype *t)
{
	(void)t;
	return 0;
}

bool keyless_gather(const struct nn_rdata *chain, size_t from, size_t to, uint8_t *ret)
{
	size_t at = from;

	for (; chain && at < to; chain = chain->nextfrag) {
		const uint8_t *p = NN_RMSG_PAYLOADOFF(chain->rmsg, NN_RDATA_PAYLOAD_OFF(chain));
		size_t end = chain->maxp1 < to ? chain->maxp1 : to;

		if (chain->min > at)
			return false;
		if (end <= at)
			continue;
		memcpy(ret + (at - from), p + (at - chain->min), end - at);
		at = end;
	}
	return at == to;
}
