/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of Apollo's messages, their definitions, and parts common to many of them. See apollo.h, apollo_private.h.
 */
#include "apollo.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "apollo_in.h"
#include "apollo_private.h"

#include "sim/msg/all.h"

struct apollo_type {
	const char *name, *channel;
	const struct sim_type *sim;
	int (*encode)(struct apollo_out *o);
	int (*decode)(struct apollo_in *d);
	enum apollo_release release;
};

#define X(T, f, name, channel) { name, channel, &sim_##T##_type, apollo_out_##f, NULL, RELEASE },
#define Y(name, f, T, channel) { name, channel, &sim_##T##_type, NULL, apollo_in_##f, RELEASE },
#define RELEASE                APOLLO_5
static const struct apollo_type out_5[] = { APOLLO_OUT(X) }, in_5[] = { APOLLO_IN(Y) };
#undef RELEASE
#define RELEASE APOLLO_10
static const struct apollo_type out_10[] = { APOLLO_OUT(X) }, in_10[] = { APOLLO_IN(Y) };
#undef X
#undef Y

int apollo_release_named(const char *name, enum apollo_release *ret)
{
	static const char *const of_5[] = { "5", "5.0", "5.5", "6", "6.0", "7", "7.0" }, *const of_10[] = {
		"8", "8.0", "9", "9.0", "10", "10.0"
	};

	for (unsigned i = 0; i < sizeof(of_5) / sizeof(of_5[0]); i++)
		if (strcmp(name, of_5[i]) == 0) {
			*ret = APOLLO_5;
			return 0;
		}
	for (unsigned i = 0; i < sizeof(of_10) / sizeof(of_10[0]); i++)
		if (strcmp(name, of_10[i]) == 0) {
			*ret = APOLLO_10;
			return 0;
		}
	return -EINVAL;
}

const struct apollo_type *apollo_type_at(enum apollo_release r, bool in, unsigned i)
{
	const struct apollo_type *out = r == APOLLO_5 ? out_5 : out_10, *from = r == APOLLO_5 ? in_5 : in_10;
	size_t n = in ? sizeof(in_5) / sizeof(in_5[0]) : sizeof(out_5) / sizeof(out_5[0]);

	return i >= n ? NULL : in ? &from[i] : &out[i];
}

static const struct apollo_type *find(enum apollo_release r, bool in, const char *name, const char *sim)
{
	const struct apollo_type *t;

	for (unsigned i = 0; (t = apollo_type_at(r, in, i)); i++)
		if ((!name || !strcmp(t->name, name)) && (!sim || !strcmp(t->sim->name, sim)))
			return t;
	return NULL;
}

const struct apollo_type *apollo_type_for(enum apollo_release r, const char *sim_type, const char *wanted)
{
	return find(r, false, wanted, sim_type);
}

const struct apollo_type *apollo_type_named(enum apollo_release r, const char *name, const char *sim_type)
{
	return find(r, true, name, sim_type);
}

const char *apollo_type_name(const struct apollo_type *t)
{
	return t->name;
}

const struct sim_type *apollo_type_sim(const struct apollo_type *t)
{
	return t->sim;
}

const char *apollo_type_channel(const struct apollo_type *t)
{
	return t->channel;
}

/* ---- errors ---- */

int apollo_no_body(struct apollo_out *o, const char *type)
{
	return apollo_refuse(o, -EBADMSG, "the message is not a valid %s: it ends after %zu bytes", type, o->in->size);
}

int apollo_refuse(struct apollo_out *o, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (o->why_size)
		vsnprintf(o->why, o->why_size, fmt, ap);
	va_end(ap);
	return error;
}

int apollo_drop(struct apollo_in *d, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (d->why_size)
		vsnprintf(d->why, d->why_size, fmt, ap);
	va_end(ap);
	return error;
}

/* ---- out ---- */

int apollo_encode(const struct apollo_type *t, const struct apollo_message *in, struct iov_buf *out, char *why,
		  size_t why_size)
{
	static const struct apollo_options none;
	struct apollo_out o = { .in = in,
				.options = in->options ? in->options : &none,
				.release = t->release,
				.why = why,
				.why_size = why_size };
	int r, e;

	if (why_size)
		*why = '\0';
	pb_begin(&o.w, out);
	r = t->encode(&o);
	e = pb_end(&o.w);
	if (r == 0 && e < 0)
		r = apollo_refuse(&o, e, e == -E2BIG ? "the message is larger than 2 GiB" : "no memory");
	return r;
}

void apollo_text(struct apollo_out *o, uint32_t field, const char *s)
{
	pb_string(&o->w, field, s, strlen(s));
}

size_t apollo_body_len(const struct apollo_out *o, const char *s)
{
	size_t at = (uintptr_t)s - (uintptr_t)o->in->body;

	return at < o->in->size ? strnlen(s, o->in->size - at) : strlen(s); /* or a constant of ours */
}

void apollo_body_text(struct apollo_out *o, uint32_t field, const char *s)
{
	pb_string(&o->w, field, s, apollo_body_len(o, s));
}

static const char *frame_of(const struct apollo_out *o)
{
	return o->options->frame ? o->options->frame : o->in->frame_id ? o->in->frame_id : "";
}

void apollo_frame_id(struct apollo_out *o, uint32_t field)
{
	apollo_text(o, field, frame_of(o));
}

void apollo_header_framed(struct apollo_out *o, uint32_t field, uint32_t sensor, const char *frame, size_t len)
{
	int64_t ns = o->in->stamp_sim_ns;

	pb_open(&o->w, field);
	pb_f64(&o->w, 1, apollo_seconds(ns));
	pb_string(&o->w, 2, "simd", 4);
	pb_u64(&o->w, 3, o->in->sequence);
	if (sensor && ns >= 0) /* not for times before 1970 */
		pb_u64(&o->w, sensor, (uint64_t)ns);
	pb_string(&o->w, 9, frame, len);
	pb_close(&o->w);
}

void apollo_header(struct apollo_out *o, uint32_t field, uint32_t sensor)
{
	const char *frame = frame_of(o);

	apollo_header_framed(o, field, sensor, frame, strlen(frame));
}

void apollo_point(struct apollo_out *o, uint32_t field, const struct sim_Vector3 *v)
{
	pb_f64_message(&o->w, field, (const double[]){ v->x, v->y, v->z }, 3);
}

void apollo_quaternion(struct apollo_out *o, uint32_t field, const struct sim_Quaternion *q)
{
	pb_f64_message(&o->w, field, (const double[]){ q->x, q->y, q->z, q->w }, 4);
}

/* ---- in ---- */

static int decode(const struct apollo_type *t, struct apollo_in *d)
{
	int r;

	if (d->why_size)
		*d->why = '\0';
	r = t->decode(d);
	if (d->error)
		return apollo_drop(d, d->error, "%zu bytes that are not a valid %s", d->len, t->name);
	if (r == -ENOBUFS)
		return apollo_drop(d, r, "a %s does not fit into %zu bytes", t->sim->name, d->room);
	if (r == -EMSGSIZE && d->why_size && !*d->why)
		return apollo_drop(d, r, "a name in it is too long for %s", t->sim->name);
	if (r == 0 && d->frame_len && strnlen(d->frame, d->frame_len) > SIM_FRAME_ID_MAX)
		return apollo_drop(d, -EMSGSIZE, "its frame has more than %d bytes", SIM_FRAME_ID_MAX);
	return r;
}

static const struct apollo_options no_options;
static const struct apollo_limits no_limits;

int apollo_decode(const struct apollo_type *t, const struct apollo_limits *l, const struct apollo_options *o,
		  const void *data, size_t len, struct message_in *ret, char *why, size_t why_size)
{
	struct apollo_in d = { .limits = l ? l : &no_limits,
			       .options = o ? o : &no_options,
			       .data = data,
			       .len = len,
			       .release = t->release,
			       .body = ret->buf,
			       .room = ret->room,
			       .stamp_ns = MESSAGE_IN_NO_STAMP,
			       .why = why,
			       .why_size = why_size };
	int r = decode(t, &d);

	if (r)
		return r;
	ret->size = d.size;
	ret->stamp_sim_ns = d.stamp_ns;
	message_in_set_frame(ret, d.frame, d.frame_len);
	return 0;
}

const struct apollo_type *apollo_in_find(enum apollo_release r, const char *apollo_type)
{
	return find(r, true, apollo_type, NULL);
}

int apollo_in_read(const struct apollo_type *t, const struct apollo_options *o, const void *data, size_t len,
		   struct message_in *ret, char *why, size_t why_size)
{
	return apollo_decode(t, NULL, o, data, len, ret, why, why_size);
}

enum apollo_release apollo_release_of(const void *proto_desc, size_t size)
{
	static const char new_place[] = "modules/common_msgs/", any[] = "modules/";

	if (!size || memmem(proto_desc, size, new_place, sizeof(new_place) - 1))
		return APOLLO_10;
	return memmem(proto_desc, size, any, sizeof(any) - 1) ? APOLLO_5 : APOLLO_10;
}

size_t apollo_type_all_files(const struct apollo_type *t, struct iovec files[APOLLO_FILES_MAX])
{
	return apollo_files(t->release, t->name, files);
}

size_t apollo_type_files(const struct apollo_type *t, struct iovec files[APOLLO_FILES_MAX])
{
	if (t->release == APOLLO_10 && !strcmp(t->name, "apollo.cyber.proto.Clock"))
		return 0;
	return apollo_files(t->release, t->name, files);
}
