/* SPDX-License-Identifier: Apache-2.0 */
/* See dec.h. */
#include "dec.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define FRAME_MAX 255u

void dec_fail(struct dec *d, int err)
{
	if (!d->err)
		d->err = err;
}

void dec_begin(struct dec *d, enum wire_format format, const void *data, size_t len)
{
	*d = (struct dec){ .p = data, .len = len, .cdr = format == WIRE_CDR };
	if (!d->cdr)
		return;
	if (len < 4 || d->p[0] != 0 || d->p[1] > 1) {
		d->len = 0;
		dec_fail(d, len < 4 ? -EBADMSG : -ENOTSUP);
		return;
	}
	if (d->p[1] == 0)
		dec_fail(d, -ENOTSUP);
	d->p += 4;
	d->len -= 4;
}

int dec_end(struct dec *d)
{
	if (d->len - d->at > (d->cdr ? 3u : 0u))
		dec_fail(d, -EBADMSG);
	return d->err;
}

static void take(struct dec *d, void *to, size_t n)
{
	size_t pad = d->cdr ? -d->at & (n - 1) : 0;

	memset(to, 0, n);
	if (d->err)
		return;
	if (pad > d->len - d->at || n > d->len - d->at - pad) {
		dec_fail(d, -EBADMSG);
		return;
	}
	memcpy(to, d->p + d->at + pad, n);
	d->at += pad + n;
}

uint8_t dec_u8(struct dec *d)
{
	uint8_t v;

	take(d, &v, sizeof(v));
	return v;
}
uint32_t dec_u32(struct dec *d)
{
	uint32_t v;

	take(d, &v, sizeof(v));
	return v;
}
float dec_f32(struct dec *d)
{
	float v;

	take(d, &v, sizeof(v));
	if (isfinite(v))
		return v;
	dec_fail(d, -EDOM);
	return 0;
}
double dec_f64(struct dec *d)
{
	double v;

	take(d, &v, sizeof(v));
	if (isfinite(v))
		return v;
	dec_fail(d, -EDOM);
	return 0;
}

bool dec_bool(struct dec *d)
{
	uint8_t v = dec_u8(d);

	if (v > 1)
		dec_fail(d, -EBADMSG);
	return v == 1;
}

int64_t dec_time(struct dec *d)
{
	uint32_t sec = dec_u32(d), rest = dec_u32(d);
	int64_t whole = d->cdr ? (int64_t)(int32_t)sec : (int64_t)sec;

	if (rest >= 1000000000)
		dec_fail(d, -EBADMSG);
	return d->err ? 0 : whole * 1000000000 + rest;
}

const char *dec_string(struct dec *d, size_t max, size_t *ret_len)
{
	uint32_t n = dec_u32(d);
	const char *s = (const char *)d->p + d->at;
	size_t nul = d->cdr ? 1 : 0;

	*ret_len = 0;
	if (d->err)
		return "";
	if (n > d->len - d->at || n < nul || (nul && s[n - 1] != '\0') || memchr(s, '\0', n - nul)) {
		dec_fail(d, -EBADMSG);
		return "";
	}
	if (n - nul > max) {
		dec_fail(d, -EMSGSIZE);
		return "";
	}
	d->at += n;
	*ret_len = n - nul;
	return s;
}

uint32_t dec_count(struct dec *d, size_t min)
{
	uint32_t n = dec_u32(d);

	if (n > (d->len - d->at) / min)
		dec_fail(d, -EBADMSG);
	return d->err ? 0 : n;
}

int64_t dec_header(struct dec *d)
{
	int64_t stamp_sim_ns;
	size_t len;

	if (!d->cdr)
		dec_u32(d); /* seq */
	stamp_sim_ns = dec_time(d);
	dec_string(d, FRAME_MAX, &len);
	return stamp_sim_ns;
}
