/* SPDX-License-Identifier: Apache-2.0 */
/* See rpc.h. */
#include "rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdr_reader.h"
#include "enc_wire.h"
#include "generic.h"
#include "ros/ros_generic.h"

/* ---- which service ---- */

const struct ros_service *rpc_service(const struct ros_service *known, const char *sim)
{
	static const struct {
		const char *ours, *theirs;
	} standard[] = {
		{ "sim/Empty", "std_srvs/Empty" },
		{ "sim/SetBool", "std_srvs/SetBool" },
		{ "sim/Trigger", "std_srvs/Trigger" },
		{ "sim/ControlModeCommand", "autoware_vehicle_msgs/ControlModeCommand" },
	};
	const char *name = sim;

	for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
		if (strcmp(sim, standard[i].ours) == 0)
			name = standard[i].theirs;
	for (const struct ros_service *s = known; s->name; s++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

int rpc_own_type(const char *service, const struct sim_type *half, const char *half_name,
		 const struct ros_type *const *known, struct ros_text **ret, char *why, size_t why_size)
{
	bool ros1 = known == ros1_types;
	char msg[ROS_GENERIC_NAME_MAX], name[ROS_GENERIC_NAME_MAX + 16], text[256] = "";
	char *definition = ros_generic_text(half, ros1 ? ROS_GENERIC_ROS1 : ROS_GENERIC_ROS2);
	int package, r = -ENOMEM;

	ros_generic_name(service, msg);
	package = (int)strcspn(msg, "/");
	snprintf(name, sizeof(name), "%.*s/srv/%s_%s", package, msg, msg + package + 5, half_name);
	if (definition)
		r = ros_text_create(name, definition, known, text, sizeof(text), ret);
	free(definition);
	if (r == 0 || r == -ENOMEM)
		return r;
	snprintf(why, why_size, "%s cannot be converted to %s: %s", half->name, name, text);
	return -ENOTSUP;
}

static bool same_kind(uint8_t kind, uint8_t prim)
{
	static const uint8_t prims[SIM_KIND_END] = {
		[SIM_KIND_BOOL] = ROS_BOOL,         [SIM_KIND_INT8] = ROS_INT8,       [SIM_KIND_UINT8] = ROS_UINT8,
		[SIM_KIND_INT16] = ROS_INT16,       [SIM_KIND_UINT16] = ROS_UINT16,   [SIM_KIND_INT32] = ROS_INT32,
		[SIM_KIND_UINT32] = ROS_UINT32,     [SIM_KIND_INT64] = ROS_INT64,     [SIM_KIND_UINT64] = ROS_UINT64,
		[SIM_KIND_FLOAT32] = ROS_FLOAT32,   [SIM_KIND_FLOAT64] = ROS_FLOAT64, [SIM_KIND_TIME] = ROS_TIME,
		[SIM_KIND_DURATION] = ROS_DURATION, [SIM_KIND_STRING] = ROS_STRING,   [SIM_KIND_MESSAGE] = ROS_NESTED,
	};

	if (kind == SIM_KIND_UINT8 && (prim == ROS_BYTE || prim == ROS_CHAR))
		return true;
	return kind < SIM_KIND_END && prims[kind] == prim;
}

bool rpc_same_fields(const struct sim_type *ours, const struct ros_type *theirs)
{
	if (ours->n_fields != theirs->n_fields)
		return false;
	for (uint32_t i = 0; i < ours->n_fields; i++) {
		const struct sim_field *a = &ours->fields[i];
		const struct ros_field *b = &theirs->fields[i];

		if (strcmp(a->name, b->name) != 0 || !same_kind(a->kind, b->prim) || a->array != b->array ||
		    a->count != b->count || a->string_max != b->string_max ||
		    (a->type && !rpc_same_fields(a->type, b->type)))
			return false;
	}
	return true;
}

/* ---- bytes ---- */

int rpc_read_request(const struct sim_type *t, const void *data, size_t len, struct rpc_id *ret_id, void *body,
		     size_t room, size_t *ret_size)
{
	struct cdr_reader d;
	int r;

	cdr_reader_begin(&d, WIRE_CDR, data, len);
	if (ret_id) {
		ret_id->client = sim_dec_u64(&d.dec, "client_guid");
		ret_id->sequence = sim_dec_i64(&d.dec, "sequence_number");
	}
	r = generic_read(t, &d.dec, body, room, ret_size);
	if (!t->n_fields && d.at < d.len)
		(void)sim_dec_u8(&d.dec, "structure_needs_at_least_one_member");
	if (d.dec.err)
		return d.dec.err;
	return r < 0 ? r : cdr_reader_end(&d);
}

int rpc_read_id(const void *data, size_t len, struct rpc_id *ret)
{
	struct cdr_reader d;

	cdr_reader_begin(&d, WIRE_CDR, data, len);
	ret->client = sim_dec_u64(&d.dec, "client_guid");
	ret->sequence = sim_dec_i64(&d.dec, "sequence_number");
	return d.dec.err;
}

int rpc_write_response(const struct sim_type *t, const struct rpc_id *id, const void *body, size_t size,
		       struct iov_buf *o)
{
	struct enc_wire w;
	int r;

	wire_begin(&w, WIRE_CDR, o);
	if (id) {
		sim_enc_u64(&w.enc, "client_guid", id->client);
		sim_enc_i64(&w.enc, "sequence_number", id->sequence);
	}
	r = generic_emit(t, body, size, &w.enc);
	if (!t->n_fields)
		sim_enc_u8(&w.enc, "structure_needs_at_least_one_member", 0);
	return r < 0 ? r : wire_finish(&w);
}

int rpc_read_ros1(const struct sim_type *t, const void *data, size_t len, void *body, size_t room, size_t *ret_size)
{
	struct cdr_reader d;
	int r;

	cdr_reader_begin(&d, WIRE_ROS1, data, len);
	r = generic_read(t, &d.dec, body, room, ret_size);
	if (d.dec.err)
		return d.dec.err;
	return r < 0 ? r : cdr_reader_end(&d);
}

int rpc_write_ros1(const struct sim_type *t, const void *body, size_t size, struct iov_buf *o)
{
	struct enc_wire w;
	int r;

	wire_begin(&w, WIRE_ROS1, o);
	r = generic_emit(t, body, size, &w.enc);
	return r < 0 ? r : wire_finish(&w);
}

static const struct sim_field *field(const struct sim_type *t, const char *name, enum sim_kind kind)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (strcmp(t->fields[i].name, name) == 0)
			return t->fields[i].kind == kind && t->fields[i].array == SIM_ARRAY_NONE ? &t->fields[i] : NULL;
	return NULL;
}

int rpc_refusal(const struct sim_type *t, const char *why, void *body, size_t room, size_t *ret_size)
{
	const struct sim_field *message = field(t, "message", SIM_KIND_STRING);
	struct sim_builder b;
	struct sim_span span;
	uint8_t *s;

	if (!field(t, "success", SIM_KIND_BOOL) || !message || message->string_max)
		return -ENOTSUP;
	s = sim_builder_begin(&b, body, room, t->fixed_size, t->align);
	if (!s || sim_builder_text(&b, &span, why, 0) < 0)
		return -ENOBUFS;
	memcpy(s + message->offset, &span, sizeof(span));
	*ret_size = sim_builder_size(&b);
	return 0;
}
