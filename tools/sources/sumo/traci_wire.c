/* SPDX-License-Identifier: Apache-2.0 */
/* TraCI bytes: writer and hostile-proof reader. See traci_wire.h. */
#include "traci_wire.h"

#include <errno.h>
#include <string.h>

/* A command's length is one byte; 0 announces an int32, which we always use for commands that may be long. */
#define LONG_HEADER 6 /* 0, int32 length, identifier */

/* ---- writing ---- */

static uint8_t *room(struct traci_out *o, size_t n)
{
	uint8_t *p;

	if (o->failed || n > o->cap - o->len) {
		o->failed = true;
		return NULL;
	}
	p = o->buf + o->len;
	o->len += n;
	return p;
}

static void put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

void traci_out_init(struct traci_out *o, uint8_t *buf, size_t cap)
{
	*o = (struct traci_out){ .buf = buf, .cap = cap };
	(void)room(o, 4);
}

void traci_out_begin(struct traci_out *o, unsigned command)
{
	uint8_t *p;

	o->start = o->len;
	p = room(o, LONG_HEADER);
	if (!p)
		return;
	p[0] = 0;
	p[5] = (uint8_t)command;
}

void traci_out_end(struct traci_out *o)
{
	if (!o->failed)
		put_be32(o->buf + o->start + 1, (uint32_t)(o->len - o->start));
}

void traci_out_u8(struct traci_out *o, unsigned value)
{
	uint8_t *p = room(o, 1);

	if (p)
		*p = (uint8_t)value;
}

void traci_out_i32(struct traci_out *o, int32_t value)
{
	uint8_t *p = room(o, 4);

	if (p)
		put_be32(p, (uint32_t)value);
}

void traci_out_f64(struct traci_out *o, double value)
{
	uint8_t *p = room(o, 8);
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (!p)
		return;
	put_be32(p, (uint32_t)(bits >> 32));
	put_be32(p + 4, (uint32_t)bits);
}

void traci_out_str(struct traci_out *o, const char *text)
{
	size_t n = strlen(text);
	uint8_t *p;

	if (n > o->cap) {
		o->failed = true;
		return;
	}
	traci_out_i32(o, (int32_t)n);
	p = room(o, n);
	if (p)
		memcpy(p, text, n);
}

int traci_out_finish(struct traci_out *o)
{
	if (o->failed || o->len > INT32_MAX)
		return -EMSGSIZE;
	put_be32(o->buf, (uint32_t)o->len);
	return (int)o->len;
}

void traci_out_get(struct traci_out *o, enum traci_domain domain, enum traci_var var, const char *id)
{
	traci_out_begin(o, TRACI_GET | (unsigned)domain);
	traci_out_u8(o, var);
	traci_out_str(o, id);
	traci_out_end(o);
}

static void out_vars(struct traci_out *o, const uint8_t *vars, size_t n)
{
	if (n > UINT8_MAX)
		o->failed = true;
	traci_out_u8(o, (unsigned)n);
	for (size_t i = 0; i < n; i++)
		traci_out_u8(o, vars[i]);
}

void traci_out_subscribe(struct traci_out *o, enum traci_domain domain, const char *id, double from_s, double to_s,
			 const uint8_t *vars, size_t n)
{
	traci_out_begin(o, TRACI_SUBSCRIBE | (unsigned)domain);
	traci_out_f64(o, from_s);
	traci_out_f64(o, to_s);
	traci_out_str(o, id);
	out_vars(o, vars, n);
	traci_out_end(o);
}

void traci_out_subscribe_context(struct traci_out *o, enum traci_domain domain, const char *id, double from_s,
				 double to_s, enum traci_domain around, double range_m, const uint8_t *vars, size_t n)
{
	traci_out_begin(o, TRACI_SUBSCRIBE_CONTEXT | (unsigned)domain);
	traci_out_f64(o, from_s);
	traci_out_f64(o, to_s);
	traci_out_str(o, id);
	traci_out_u8(o, TRACI_GET | (unsigned)around);
	traci_out_f64(o, range_m);
	out_vars(o, vars, n);
	traci_out_end(o);
}

/* ---- reading ---- */

static const uint8_t *eat(struct traci_in *in, size_t n)
{
	const uint8_t *p = in->p;

	if (in->failed || n > (size_t)(in->end - in->p)) {
		in->failed = true;
		return NULL;
	}
	in->p += n;
	return p;
}

void traci_in_init(struct traci_in *in, const void *data, size_t size)
{
	*in = (struct traci_in){ .p = data, .end = (const uint8_t *)data + size };
}

static uint8_t traci_in_u8(struct traci_in *in)
{
	const uint8_t *p = eat(in, 1);

	return p ? *p : 0;
}

static uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int32_t traci_in_i32(struct traci_in *in)
{
	const uint8_t *p = eat(in, 4);

	return p ? (int32_t)get_be32(p) : 0;
}

double traci_in_f64(struct traci_in *in)
{
	const uint8_t *p = eat(in, 8);
	uint64_t bits;
	double d;

	if (!p)
		return 0;
	bits = (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
	memcpy(&d, &bits, sizeof(d));
	return d;
}

struct traci_str traci_in_str(struct traci_in *in)
{
	int32_t n = traci_in_i32(in);
	const uint8_t *p;

	if (n < 0)
		in->failed = true;
	p = eat(in, n < 0 ? 0 : (size_t)n);
	return p ? (struct traci_str){ .p = (const char *)p, .len = (size_t)n } : (struct traci_str){ .p = "" };
}

int traci_in_command(struct traci_in *in, unsigned *ret_id, struct traci_in *ret_body)
{
	size_t header = 2, size;
	const uint8_t *p;
	unsigned id;

	if (in->p == in->end && !in->failed)
		return -ENODATA;
	size = traci_in_u8(in);
	if (size == 0) {
		int32_t n = traci_in_i32(in);

		header = LONG_HEADER;
		size = n < 0 ? 0 : (size_t)n;
	}
	id = traci_in_u8(in);
	if (in->failed || size < header)
		return -EBADMSG;
	p = eat(in, size - header);
	if (!p)
		return -EBADMSG;
	*ret_id = id;
	traci_in_init(ret_body, p, size - header);
	return 0;
}

int traci_in_status(struct traci_in *in, unsigned command, struct traci_str *ret_text)
{
	struct traci_in body;
	struct traci_str text;
	unsigned id, result;

	if (traci_in_command(in, &id, &body) < 0 || id != command)
		return -EBADMSG;
	result = traci_in_u8(&body);
	text = traci_in_str(&body);
	if (body.failed)
		return -EBADMSG;
	*ret_text = text;
	return result == TRACI_OK ? 0 : -EREMOTEIO;
}

static int skip_value(struct traci_in *in, int depth);

/* Checks that all `count` elements are present, and leaves a cursor over them. */
static int take_list(struct traci_in *in, uint8_t type, int32_t count, int depth, struct traci_value *ret)
{
	const uint8_t *from = in->p;

	if (count < 0 || (size_t)count > (size_t)(in->end - in->p))
		return -EBADMSG; /* every element has at least one byte */
	for (int32_t i = 0; i < count && !in->failed; i++) {
		if (type == TRACI_STRING_LIST)
			(void)traci_in_str(in);
		else if (type == TRACI_DOUBLE_LIST)
			(void)eat(in, 8);
		else if (type == TRACI_POLYGON)
			(void)eat(in, 16);
		else if (skip_value(in, depth + 1) < 0)
			return -EBADMSG;
	}
	if (in->failed)
		return -EBADMSG;
	ret->list.count = (uint32_t)count;
	traci_in_init(&ret->list.body, from, (size_t)(in->p - from));
	return 0;
}

static int32_t polygon_count(struct traci_in *in)
{
	int32_t n = traci_in_u8(in);

	return n ? n : traci_in_i32(in); /* 0 announces an int32 */
}

static int take_value(struct traci_in *in, int depth, struct traci_value *ret)
{
	struct traci_value v = { 0 };
	int r = 0;

	if (depth > TRACI_NEST_MAX)
		return -EBADMSG;
	v.type = traci_in_u8(in);
	switch (v.type) {
	case TRACI_UBYTE:
		v.i = traci_in_u8(in);
		break;
	case TRACI_BYTE:
		v.i = (int8_t)traci_in_u8(in);
		break;
	case TRACI_INTEGER:
		v.i = traci_in_i32(in);
		break;
	case TRACI_DOUBLE:
		v.d = traci_in_f64(in);
		break;
	case TRACI_STRING:
		v.s = traci_in_str(in);
		break;
	case TRACI_XYZ:
	case TRACI_LON_LAT_ALT:
	case TRACI_XY:
	case TRACI_LON_LAT:
		v.pos[0] = traci_in_f64(in);
		v.pos[1] = traci_in_f64(in);
		v.pos[2] = v.type == TRACI_XYZ || v.type == TRACI_LON_LAT_ALT ? traci_in_f64(in) : 0;
		break;
	case TRACI_ROAD_POS: /* edge, distance, lane: only skipped */
		v.s = traci_in_str(in);
		(void)eat(in, 9);
		break;
	case TRACI_COLOR:
		(void)eat(in, 4);
		break;
	case TRACI_POLYGON:
		r = take_list(in, v.type, polygon_count(in), depth, &v);
		break;
	case TRACI_STRING_LIST:
	case TRACI_DOUBLE_LIST:
	case TRACI_COMPOUND:
		r = take_list(in, v.type, traci_in_i32(in), depth, &v);
		break;
	default:
		r = -EBADMSG;
	}
	if (r < 0 || in->failed)
		return -EBADMSG;
	*ret = v;
	return 0;
}

static int skip_value(struct traci_in *in, int depth)
{
	struct traci_value v;

	return take_value(in, depth, &v);
}

int traci_in_value(struct traci_in *in, struct traci_value *ret)
{
	return take_value(in, 0, ret);
}

int traci_in_get(struct traci_in *in, enum traci_domain domain, enum traci_var var, struct traci_value *ret,
		 struct traci_str *ret_text)
{
	struct traci_in body;
	unsigned id;
	int r;

	r = traci_in_status(in, TRACI_GET | (unsigned)domain, ret_text);
	if (r < 0)
		return r;
	if (traci_in_command(in, &id, &body) < 0 || id != (TRACI_ANSWER_GET | (unsigned)domain))
		return -EBADMSG;
	if (traci_in_u8(&body) != var)
		return -EBADMSG;
	(void)traci_in_str(&body);
	return traci_in_value(&body, ret);
}

/* The variables of one object. */
static int take_vars(struct traci_in *body, unsigned n, struct traci_item *item, traci_item_fn fn, void *user)
{
	for (unsigned i = 0; i < n; i++) {
		item->var = traci_in_u8(body);
		item->ok = traci_in_u8(body) == TRACI_OK;
		if (traci_in_value(body, &item->value) < 0)
			return -EBADMSG;
		fn(user, item);
	}
	return 0;
}

static int take_context(struct traci_in *body, struct traci_item *item, traci_item_fn fn, void *user)
{
	unsigned nvars;
	int32_t n;

	item->around = (enum traci_domain)(traci_in_u8(body) & 0x0f);
	nvars = traci_in_u8(body);
	n = traci_in_i32(body);
	if (body->failed || n < 0)
		return -EBADMSG;
	for (int32_t i = 0; i < n; i++) {
		item->object = traci_in_str(body);
		item->index = (uint32_t)i;
		if (body->failed || take_vars(body, nvars, item, fn, user) < 0)
			return -EBADMSG;
	}
	return 0;
}

int traci_in_subscription(struct traci_in *in, traci_item_fn fn, void *user)
{
	struct traci_item item = { 0 };
	struct traci_in body;
	unsigned id, n;

	if (traci_in_command(in, &id, &body) < 0)
		return -EBADMSG;
	item.domain = (enum traci_domain)(id & 0x0f);
	item.context = (id & 0xf0) == TRACI_ANSWER_CONTEXT;
	if (!item.context && (id & 0xf0) != TRACI_ANSWER_SUBSCRIBE)
		return -EBADMSG;
	item.centre = item.object = traci_in_str(&body);
	if (body.failed)
		return -EBADMSG;
	if (item.context)
		return take_context(&body, &item, fn, user);
	n = traci_in_u8(&body);
	return body.failed ? -EBADMSG : take_vars(&body, n, &item, fn, user);
}

int traci_in_step(struct traci_in *in, traci_item_fn fn, void *user, struct traci_str *ret_text)
{
	int32_t n;
	int r;

	r = traci_in_status(in, TRACI_SIM_STEP, ret_text);
	if (r < 0)
		return r;
	n = traci_in_i32(in);
	if (in->failed || n < 0)
		return -EBADMSG;
	for (int32_t i = 0; i < n; i++) {
		if (traci_in_subscription(in, fn, user) < 0)
			return -EBADMSG;
	}
	return 0;
}

char *traci_str_copy(struct traci_str s, char *ret, size_t cap)
{
	size_t n = s.len < cap ? s.len : cap - 1;

	memcpy(ret, s.p, n);
	ret[n] = '\0';
	return ret;
}

bool traci_str_is(struct traci_str s, const char *text)
{
	return strlen(text) == s.len && memcmp(s.p, text, s.len) == 0;
}
