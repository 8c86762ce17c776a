/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types that Apollo has no message for: by a converter of the rig, else as the message of the same fields. Either way it is a protobuf message
 * that is numbered in the order of its definition, with a descriptor made of that. Thread: one that is open is constant; what comes in is
 * one thread's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conversion.h"
#include "cyber.h"
#include "dec_pb.h"
#include "enc_pb.h"
#include "pb_proto.h"
#include "ros/ros_generic.h"

struct cyber_own { /* one way or the other */
	struct conversion_out out;
	struct conversion_in in;
	char name[CYBER_NAME_MAX + 1]; /* "example.FloatArray" */
	void *file;                    /* its descriptor */
	size_t file_size;
	struct dec_pb *decoder;
	bool failure_logged;
};

/* "example.FloatArray", as Cyber RT has it, as the ROS name that converters and definitions go by; those as they are. */
static int ros_name(const char *name, char ret[CYBER_NAME_MAX + 1], char *why, size_t why_size)
{
	char *dot;

	if ((size_t)snprintf(ret, CYBER_NAME_MAX + 1, "%s", name) > CYBER_NAME_MAX) {
		snprintf(why, why_size, "the type \"%.40s...\" has more than %u bytes", name, CYBER_NAME_MAX);
		return -EINVAL;
	}
	dot = strchr(ret, '/') ? NULL : strrchr(ret, '.');
	if (dot)
		*dot = '/';
	return 0;
}

/* ---- what the peer is told ---- */

static int describe(struct cyber_own *o, const struct ros_type *type, char *why, size_t why_size)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf file;
	uint8_t *at;
	int r = pb_proto_name(type, o->name, sizeof(o->name));

	iov_buf_init(&file);
	if (r == 0)
		r = pb_proto_descriptor(type, &file);
	o->file = at = r == 0 ? malloc(file.total + 1) : NULL;
	if (r == 0 && !at)
		r = -ENOMEM;
	for (unsigned i = 0, n = r == 0 ? iov_buf_iov(&file, iov) : 0; i < n; i++) {
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	o->file_size = file.total;
	iov_buf_finish(&file);
	if (r < 0)
		snprintf(why, why_size, "no definition for Cyber RT can be made of %.80s: %s", type->name,
			 r == -E2BIG ? "it nests too many types" : strerror(-r));
	return r;
}

const char *cyber_own_name(const struct cyber_own *o)
{
	return o->name;
}

struct iovec cyber_own_file(const struct cyber_own *o)
{
	return (struct iovec){ o->file, o->file_size };
}

const struct sim_type *cyber_own_type(const struct cyber_own *o)
{
	return o->in.sim;
}

void cyber_own_close(struct cyber_own *o)
{
	if (!o)
		return;
	conversion_out_close(&o->out);
	conversion_in_close(&o->in);
	if (o->decoder)
		dec_pb_finish(o->decoder);
	free(o->decoder);
	free(o->file);
	free(o);
}

/* ---- out ---- */

bool cyber_own_converts(const struct sim_bridge *b, const char *sim, const char *wanted)
{
	char name[CYBER_NAME_MAX + 1], why[80];

	if (!SIM_BRIDGE_HOST_HAS(b->host, converter) || (wanted && ros_name(wanted, name, why, sizeof(why)) < 0))
		return false;
	return b->host->converter(b->host->ctx, sim, wanted ? name : NULL, 0) != NULL;
}

int cyber_own_open(const struct sim_bridge *b, const struct sim_type *type, const char *wanted, struct cyber_own **ret,
		   char *why, size_t why_size)
{
	struct cyber_own *o = calloc(1, sizeof(*o));
	char name[CYBER_NAME_MAX + 1];
	int r = o ? 0 : -ENOMEM;

	if (r == 0 && wanted)
		r = ros_name(wanted, name, why, why_size);
	else if (r == 0 && !cyber_own_converts(b, type->name, NULL))
		ros_generic_name(type->name, name); /* not what a mapping to ROS makes of it */
	else
		name[0] = '\0';
	if (r == 0)
		r = conversion_out_open(b->host, ros2_types, type, name[0] ? name : NULL, &o->out, why, why_size);
	if (r == 0)
		r = describe(o, o->out.type, why, why_size);
	if (r < 0)
		cyber_own_close(o);
	else
		*ret = o;
	return r;
}

int cyber_own_encode(struct cyber_topic *t, const struct sim_message *m, struct iov_buf *out)
{
	const struct map_options options = { .frame = t->frame };
	const struct map_message in = { .body = m->body,
					.size = m->body_size,
					.header = { .stamp_sim_ns = m->header.stamp_sim_ns,
						    .seq = (uint32_t)m->header.sequence,
						    .frame = m->header.frame_id },
					.options = &options };
	struct enc_pb e;
	char why[300];
	int r, end;

	enc_pb_begin(&e, out);
	r = conversion_out_emit(&t->own->out, &in, &e.enc, why, sizeof(why));
	end = enc_pb_finish(&e);
	if (r == -EPROTO && !__atomic_exchange_n(&t->own->failure_logged, true, __ATOMIC_RELAXED))
		log_error(t->bridge, "%s: its converter fails: %s", t->name,
			  why[0] ? why : "it does not follow its definition");
	return r < 0 ? r : end;
}

/* ---- in ---- */

int cyber_own_in_open(const struct sim_bridge *b, const char *type, const char *definition, struct cyber_own **ret,
		      char *why, size_t why_size)
{
	struct cyber_own *o = calloc(1, sizeof(*o));
	char name[CYBER_NAME_MAX + 1];
	int r = o ? ros_name(type, name, why, why_size) : -ENOMEM;

	if (r == 0)
		r = conversion_in_open(b->host, ros2_types, name, definition, &o->in, why, why_size);
	if (r == 0)
		r = describe(o, o->in.type, why, why_size);
	if (r == 0 && !(o->decoder = malloc(sizeof(*o->decoder))))
		r = -ENOMEM;
	if (r == 0)
		dec_pb_init(o->decoder);
	if (r < 0)
		cyber_own_close(o);
	else
		*ret = o;
	return r;
}

int cyber_own_decode(struct cyber_own *o, const void *data, size_t len, struct message_in *ret)
{
	dec_pb_begin(o->decoder, data, len);
	return conversion_in_take(&o->in, &o->decoder->dec, ret);
}
