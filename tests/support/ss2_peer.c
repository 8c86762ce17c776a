/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_simulator_v2's end of its protocol. See ss2_peer.h. */
#include "ss2_peer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)

/* ---- writing: proto3 leaves out what is zero, but not a submessage that was set ---- */

static void put(struct peer_buf *b, const void *data, size_t len)
{
	assert(b->len + len <= sizeof(b->data));
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void put_varint(struct peer_buf *b, uint64_t v)
{
	do {
		uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));

		put(b, &byte, 1);
		v >>= 7;
	} while (v);
}

static void put_tag(struct peer_buf *b, uint32_t field, unsigned wire)
{
	put_varint(b, (uint64_t)field << 3 | wire);
}

static void put_int(struct peer_buf *b, uint32_t field, int64_t v)
{
	if (!v)
		return;
	put_tag(b, field, 0);
	put_varint(b, (uint64_t)v);
}

static void put_double(struct peer_buf *b, uint32_t field, double v)
{
	static const double zero;

	if (memcmp(&v, &zero, sizeof(v)) == 0)
		return;
	put_tag(b, field, 1);
	put(b, &v, sizeof(v));
}

static void put_float(struct peer_buf *b, uint32_t field, float v)
{
	static const float zero;

	if (memcmp(&v, &zero, sizeof(v)) == 0)
		return;
	put_tag(b, field, 5);
	put(b, &v, sizeof(v));
}

static void put_text(struct peer_buf *b, uint32_t field, const char *s)
{
	if (!s || !*s)
		return;
	put_tag(b, field, 2);
	put_varint(b, strlen(s));
	put(b, s, strlen(s));
}

/* A submessage: what is written between begin and end. */
static size_t begin(struct peer_buf *b, uint32_t field)
{
	put_tag(b, field, 2);
	return b->len;
}

static void end(struct peer_buf *b, size_t at)
{
	static struct peer_buf tmp;
	size_t len = b->len - at;

	memcpy(tmp.data, b->data + at, len);
	b->len = at;
	put_varint(b, len);
	put(b, tmp.data, len);
}

static size_t envelope(struct peer_buf *b, uint32_t number)
{
	b->len = 0;
	return begin(b, number);
}

static void put_vector(struct peer_buf *b, uint32_t field, double x, double y, double z)
{
	size_t m = begin(b, field);

	put_double(b, 1, x);
	put_double(b, 2, y);
	put_double(b, 3, z);
	end(b, m);
}

static void put_pose(struct peer_buf *b, uint32_t field, const struct peer_pose *p)
{
	size_t m = begin(b, field), q;

	put_vector(b, 1, p->x, p->y, p->z);
	q = begin(b, 2);
	put_double(b, 1, p->qx);
	put_double(b, 2, p->qy);
	put_double(b, 3, p->qz);
	put_double(b, 4, p->qw);
	end(b, q);
	end(b, m);
}

static void put_time(struct peer_buf *b, uint32_t field, int64_t t_ns)
{
	size_t m = begin(b, field);

	put_int(b, 1, t_ns / NS_PER_S);
	put_int(b, 2, t_ns % NS_PER_S);
	end(b, m);
}

static void put_box(struct peer_buf *b, uint32_t field, double length, double width, double height)
{
	size_t m = begin(b, field);

	put_vector(b, 1, length / 2, 0, height / 2);
	put_vector(b, 2, length, width, height);
	end(b, m);
}

/* ---- requests ---- */

void peer_initialize(struct peer_buf *b, double step_s, int64_t t_ns)
{
	size_t m = envelope(b, PEER_INITIALIZE);

	put_double(b, 1, 1.0);
	put_double(b, 2, step_s);
	put_time(b, 4, t_ns); /* initialize_time is 0 and so absent */
	put_text(b, 5, "/maps/kashiwanoha/lanelet2_map.osm");
	end(b, m);
}

void peer_frame(struct peer_buf *b, double simulation_s, double scenario_s, int64_t t_ns)
{
	size_t m = envelope(b, PEER_UPDATE_FRAME);

	put_double(b, 1, simulation_s);
	put_double(b, 2, scenario_s);
	put_time(b, 3, t_ns);
	end(b, m);
}

static void put_axle(struct peer_buf *b, uint32_t field, double position)
{
	size_t m = begin(b, field);

	put_double(b, 1, 0.52);
	put_double(b, 2, 0.78);
	put_double(b, 3, 1.63);
	put_double(b, 4, position);
	put_double(b, 5, 0.39);
	end(b, m);
}

static void put_vehicle_parameters(struct peer_buf *b, uint32_t field, const char *name)
{
	size_t m = begin(b, field), k;

	put_text(b, 1, name);
	k = begin(b, 2);
	for (uint32_t i = 1; i <= 5; i++)
		put_double(b, i, 10.0 * i);
	end(b, k);
	put_box(b, 3, 4.4, 1.8, 1.5);
	k = begin(b, 4);
	put_axle(b, 1, 2.8);
	put_axle(b, 2, 0);
	end(b, k);
	end(b, begin(b, 5));
	end(b, m);
}

void peer_spawn_vehicle(struct peer_buf *b, const char *name, bool ego, const struct peer_pose *at)
{
	size_t m = envelope(b, PEER_SPAWN_VEHICLE);

	put_vehicle_parameters(b, 1, name);
	put_int(b, 2, ego);
	put_text(b, 3, "sample_vehicle");
	put_pose(b, 4, at);
	end(b, m);
}

void peer_spawn(struct peer_buf *b, uint32_t number, const char *name, const struct peer_pose *at)
{
	size_t m = envelope(b, number), p = begin(b, 1);

	put_text(b, 1, name);
	put_box(b, 2, 0.8, 0.8, 2.0);
	end(b, p);
	put_text(b, 2, "human");
	put_pose(b, 3, at);
	end(b, m);
}

void peer_despawn(struct peer_buf *b, const char *name)
{
	size_t m = envelope(b, PEER_DESPAWN);

	put_text(b, 1, name);
	end(b, m);
}

static void put_status(struct peer_buf *b, const struct peer_status *s)
{
	size_t m = begin(b, 1), k;

	k = begin(b, 1);
	put_int(b, 1, s->type);
	end(b, k);
	k = begin(b, 2);
	put_int(b, 1, s->subtype);
	end(b, k);
	put_double(b, 3, s->time_s);
	put_text(b, 4, s->name);
	k = begin(b, 5);
	put_text(b, 1, s->action);
	{
		size_t t = begin(b, 2);

		put_vector(b, 1, s->speed, 0, 0);
		put_vector(b, 2, 0, 0, s->yaw_rate);
		end(b, t);
		t = begin(b, 3);
		put_vector(b, 1, s->accel, 0, 0);
		put_vector(b, 2, 0, 0, 0);
		end(b, t);
	}
	put_double(b, 4, 0.25);
	end(b, k);
	put_pose(b, 6, &s->pose);
	end(b, m);
}

void peer_update_status(struct peer_buf *b, int version, const struct peer_status *s, size_t n, bool npc_started,
			bool overwrite_ego)
{
	size_t m = envelope(b, PEER_UPDATE_STATUS);

	for (size_t i = 0; i < n; i++)
		put_status(b, &s[i]);
	put_int(b, 2, npc_started);
	if (version >= 10400)
		put_int(b, 3, overwrite_ego);
	end(b, m);
}

struct peer_status peer_turning(const char *name, int i)
{
	/* 0.1 rad up, and around as it likes */
	const double yaw = 0.01 * (i + 1), pitch = -0.1;

	return (struct peer_status){
		.name = name,
		.action = "follow_lane",
		.type = strcmp(name, "ego") != 0,
		.subtype = 1,
		.pose = { .x = 5.0 * (i + 1),
			  .y = 1 + 0.1 * (i % 100),
			  .z = 0.5 * (i + 1),
			  .qx = -sin(pitch / 2) * sin(yaw / 2),
			  .qy = sin(pitch / 2) * cos(yaw / 2),
			  .qz = cos(pitch / 2) * sin(yaw / 2),
			  .qw = cos(pitch / 2) * cos(yaw / 2) },
		.speed = 8,
		.yaw_rate = 0.2,
		.accel = 0.5,
		.time_s = 1.5,
	};
}

double peer_lidar_elevation(int beam)
{
	return (15 - 2 * beam) * 0.0174532925199433;
}

static void put_vertical_angles(struct peer_buf *b, uint32_t field)
{
	size_t m = begin(b, field);

	for (int i = 0; i < PEER_LIDAR_BEAMS; i++) {
		double angle = -peer_lidar_elevation(i);

		put(b, &angle, sizeof(angle));
	}
	end(b, m);
}

void peer_attach(struct peer_buf *b, uint32_t number, const char *entity)
{
	size_t m = envelope(b, number), c = begin(b, 1);

	if (number != PEER_ATTACH_LIGHT_DETECTOR)
		put_text(b, 1, entity);
	switch (number) {
	case PEER_ATTACH_LIDAR:
		put_double(b, 2, PEER_LIDAR_RESOLUTION);
		put_vertical_angles(b, 3);
		put_double(b, 4, 0.1);
		put_text(b, 5, "awf/universe");
		break;
	case PEER_ATTACH_DETECTION:
		put_double(b, 2, 0.1);
		put_double(b, 3, 300);
		put_text(b, 4, "awf/universe");
		put_int(b, 5, true);
		put_int(b, 7, 17);
		break;
	case PEER_ATTACH_GRID:
		put_double(b, 2, 0.1);
		put_double(b, 3, 0.5);
		put_int(b, 4, PEER_GRID_CELLS);
		put_int(b, 5, PEER_GRID_CELLS);
		put_text(b, 6, "awf/universe");
		put_double(b, 7, 300);
		break;
	case PEER_ATTACH_IMU:
		put_text(b, 2, "tamagawa/imu_link");
		put_int(b, 3, true);
		put_double(b, 7, 0.001);
		break;
	default:
		put_text(b, 1, "awf/universe/20240605");
		break;
	}
	end(b, c);
	end(b, m);
}

void peer_lights(struct peer_buf *b, int version, const struct peer_light *l, size_t n)
{
	size_t m = envelope(b, PEER_UPDATE_LIGHTS);

	for (size_t i = 0; i < n; i++) {
		size_t s = begin(b, 1);

		put_int(b, 1, l[i].id);
		for (int k = 0; k < l[i].n; k++) {
			size_t t = begin(b, 2);

			put_int(b, 1, l[i].bulb[k].color);
			put_int(b, 2, l[i].bulb[k].shape);
			put_int(b, 3, l[i].bulb[k].status);
			put_float(b, 4, l[i].bulb[k].confidence);
			end(b, t);
		}
		if (version >= 50000 && l[i].relation[0]) {
			size_t t = begin(b, 3);

			for (int k = 0; k < 4 && l[i].relation[k]; k++)
				put_varint(b, (uint64_t)(int64_t)l[i].relation[k]);
			end(b, t);
		}
		end(b, s);
	}
	end(b, m);
}

void peer_follow(struct peer_buf *b, const char *name)
{
	size_t m = envelope(b, PEER_FOLLOW), k;

	put_text(b, 1, name);
	k = begin(b, 2);
	put_double(b, 1, 3.5);
	end(b, k);
	end(b, m);
}

void peer_step_time(struct peer_buf *b, double step_s)
{
	size_t m = envelope(b, PEER_UPDATE_STEP_TIME);

	put_double(b, 1, step_s);
	end(b, m);
}

void peer_unknown(struct peer_buf *b, uint32_t number)
{
	size_t m = envelope(b, number);

	put_text(b, 1, "whatever comes next");
	end(b, m);
}

bool peer_has(int version, uint32_t number)
{
	switch (number) {
	case PEER_FOLLOW:
		return version < 10400;
	case PEER_ATTACH_LIGHT_DETECTOR:
		return version >= 900;
	case PEER_UPDATE_STEP_TIME:
		return version >= 10000;
	case PEER_ATTACH_IMU:
		return version >= 30402;
	default:
		return number < PEER_REQUESTS;
	}
}

/* ---- reading ---- */

struct in {
	const uint8_t *at, *end;
};

struct value {
	uint32_t field;
	unsigned wire;
	uint64_t number;
	struct in bytes;
};

static bool get_varint(struct in *in, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		uint8_t byte = *in->at++;

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* False at the end; *ok turns false for bytes that make no sense. */
static bool next(struct in *in, struct value *v, bool *ok)
{
	uint64_t tag, len = 8;

	if (in->at == in->end)
		return false;
	*ok = *ok && get_varint(in, &tag);
	if (!*ok)
		return false;
	*v = (struct value){ .field = (uint32_t)(tag >> 3), .wire = tag & 7 };
	if (v->wire == 0 || v->wire == 2)
		*ok = get_varint(in, v->wire ? &len : &v->number);
	if (v->wire == 0 || !*ok)
		return *ok;
	if (v->wire == 5)
		len = 4;
	*ok = (v->wire == 1 || v->wire == 2 || v->wire == 5) && len <= (uint64_t)(in->end - in->at);
	if (!*ok)
		return false;
	v->bytes = (struct in){ in->at, in->at + len };
	in->at += len;
	return true;
}

static double as_double(const struct value *v)
{
	double d = 0;

	if (v->wire == 1)
		memcpy(&d, v->bytes.at, sizeof(d));
	return d;
}

static void as_text(const struct value *v, char *to, size_t cap)
{
	size_t n = (size_t)(v->bytes.end - v->bytes.at);

	if (v->wire != 2)
		return;
	n = n < cap ? n : cap - 1;
	memcpy(to, v->bytes.at, n);
	to[n] = '\0';
}

/* Member `field` of a message of doubles. */
static double member(struct in in, uint32_t field, bool *ok)
{
	struct value v;
	double d = 0;

	while (next(&in, &v, ok)) {
		if (v.field == field)
			d = as_double(&v);
	}
	return d;
}

static struct in sub(struct in in, uint32_t field, bool *ok)
{
	struct in found = { in.at, in.at };
	struct value v;

	while (next(&in, &v, ok)) {
		if (v.field == field && v.wire == 2)
			found = v.bytes;
	}
	return found;
}

static void read_action(struct in in, struct peer_answer_status *s, bool *ok)
{
	struct in twist = sub(in, 2, ok), accel = sub(in, 3, ok);
	struct value v;

	s->speed = member(sub(twist, 1, ok), 1, ok);
	s->yaw_rate = member(sub(twist, 2, ok), 3, ok);
	s->accel = member(sub(accel, 1, ok), 1, ok);
	while (next(&in, &v, ok)) {
		if (v.field == 1)
			as_text(&v, s->action, sizeof(s->action));
		else if (v.field == 4)
			s->jerk = as_double(&v);
	}
}

static void read_status(struct in in, struct peer_answer_status *s, bool *ok)
{
	struct value v;

	while (next(&in, &v, ok)) {
		if (v.field == 1)
			as_text(&v, s->name, sizeof(s->name));
		else if (v.field == 2)
			read_action(v.bytes, s, ok);
		else if (v.field == 3) {
			struct in p = sub(v.bytes, 1, ok), q = sub(v.bytes, 2, ok);

			s->has_pose = true;
			s->pose = (struct peer_pose){ member(p, 1, ok), member(p, 2, ok), member(p, 3, ok),
						      member(q, 3, ok), member(q, 4, ok), member(q, 1, ok),
						      member(q, 2, ok) };
		}
	}
}

bool peer_read(const void *data, size_t len, struct peer_answer *ret)
{
	struct in in = { data, (const uint8_t *)data + len }, body;
	struct value v;
	bool ok = true;

	memset(ret, 0, sizeof(*ret));
	if (!next(&in, &v, &ok) || v.wire != 2 || in.at != in.end)
		return false;
	ret->number = v.field;
	body = v.bytes;
	while (next(&body, &v, &ok)) {
		if (v.field == 1 && v.wire == 2) {
			struct in result = v.bytes;

			while (next(&result, &v, &ok)) {
				if (v.field == 1)
					ret->success = v.number != 0;
				else if (v.field == 2)
					as_text(&v, ret->description, sizeof(ret->description));
			}
		} else if (v.field == 2 && v.wire == 2) {
			if (ret->n < PEER_STATUSES)
				read_status(v.bytes, &ret->status[ret->n], &ok);
			ret->n++;
		} else {
			return false;
		}
	}
	return ok;
}
