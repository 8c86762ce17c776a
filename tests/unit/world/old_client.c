/* SPDX-License-Identifier: Apache-2.0 */
/* old_client.h */
#include "old_client.h"

#include "support/test.h"

#include <math.h>

typedef ChronoMessages__VehicleMessage vehicle_message;
typedef ChronoMessages__VehicleMessage__MVector vector;
typedef ChronoMessages__VehicleMessage__MQuaternion quaternion;

/* ---- sending ---- */

static vector wheel_of(const struct old_vehicle *v, double ahead, double left)
{
	vector w = CHRONO_MESSAGES__VEHICLE_MESSAGE__MVECTOR__INIT;

	w.x = v->x + cos(v->yaw) * ahead - sin(v->yaw) * left;
	w.y = v->y + sin(v->yaw) * ahead + cos(v->yaw) * left;
	w.z = v->z;
	return w;
}

size_t old_update_of(int32_t id, const struct old_vehicle *v, uint8_t ret[1 + OLD_SIZE])
{
	vehicle_message m = CHRONO_MESSAGES__VEHICLE_MESSAGE__INIT;
	quaternion rot = CHRONO_MESSAGES__VEHICLE_MESSAGE__MQUATERNION__INIT;
	vector com = wheel_of(v, 0, 0), fl = wheel_of(v, 2, 1), fr = wheel_of(v, 2, -1), rl = wheel_of(v, -2, 1),
	       rr = wheel_of(v, -2, -1);

	rot.e0 = cos(v->yaw / 2);
	rot.e3 = sin(v->yaw / 2);
	m.timestamp = 1466000000; /* of June 2016 */
	m.vehicleid = id;
	m.chtime = 12.5;
	m.speed = v->speed;
	m.chassiscom = &com;
	m.wheelflcom = &fl;
	m.wheelfrcom = &fr;
	m.wheelrlcom = &rl;
	m.wheelrrcom = &rr;
	m.chassisrot = m.wheelflrot = m.wheelfrrot = m.wheelrlrot = m.wheelrrrot = &rot;
	assert_int_equal(protobuf_c_message_get_packed_size(&m.base), OLD_SIZE);
	*ret = 2;
	return 1 + protobuf_c_message_pack(&m.base, ret + 1);
}

size_t old_update(const struct old_client *c, const struct old_vehicle *v, uint8_t ret[1 + OLD_SIZE])
{
	return old_update_of(c->number, v, ret);
}

/* ---- reading ---- */

static void see(struct old_client *c, const uint8_t *data)
{
	vehicle_message *m = chrono_messages__vehicle_message__unpack(NULL, OLD_SIZE, data);
	struct old_seen *s = &c->coming[c->n_coming++];
	const vector *wheels[4];

	assert_non_null(m); /* proto2: all that is required is there */
	assert_true(c->n_coming < OLD_VEHICLES);
	*s = (struct old_seen){
		m->vehicleid,     m->timestamp,
		m->chtime,        m->chassiscom->x,
		m->chassiscom->y, m->chassiscom->z,
		m->speed,         { m->chassisrot->e0, m->chassisrot->e1, m->chassisrot->e2, m->chassisrot->e3 },
		{ { 0 } }
	};
	memcpy(wheels, (const vector *[]){ m->wheelflcom, m->wheelfrcom, m->wheelrlcom, m->wheelrrcom },
	       sizeof(wheels));
	for (unsigned i = 0; i < 4; i++)
		memcpy(s->wheel[i], (const double[]){ wheels[i]->x, wheels[i]->y, wheels[i]->z }, sizeof(s->wheel[i]));
	chrono_messages__vehicle_message__free_unpacked(m, NULL);
}

/* Bytes that it takes at once; 0: more are needed. */
static size_t take(struct old_client *c, const uint8_t *at, size_t len)
{
	if (!c->numbered) {
		if (len < 4)
			return 0;
		memcpy(&c->number, at, 4);
		c->numbered = true;
		return 4;
	}
	if (!len || (*at == 2 && len < 1 + OLD_SIZE))
		return 0;
	assert_false(c->disconnected);
	switch (*at) {
	case 2:
		see(c, at + 1);
		return 1 + OLD_SIZE;
	case 3:
		memcpy(c->seen, c->coming, sizeof(c->seen));
		c->n_seen = c->n_coming;
		c->n_coming = 0;
		c->replies++;
		return 1;
	case 5:
		c->beats++;
		return 1;
	default:
		assert_int_equal(*at, 1);
		c->disconnected = true;
		return 1;
	}
}

void old_take(struct old_client *c, const void *data, size_t len)
{
	size_t at = 0, n;

	assert_true(c->n_in + len <= sizeof(c->in));
	memcpy(c->in + c->n_in, data, len);
	c->n_in += len;
	while ((n = take(c, c->in + at, c->n_in - at)))
		at += n;
	c->n_in -= at;
	memmove(c->in, c->in + at, c->n_in);
}

const struct old_seen *old_find(const struct old_client *c, int32_t id)
{
	for (unsigned i = 0; i < c->n_seen; i++)
		if (c->seen[i].id == id)
			return &c->seen[i];
	return NULL;
}
