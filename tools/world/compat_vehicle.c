/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See compat.h: converts a client's messages, vehicles of four wheels in the world's axes, to objects of the world, and
 * its objects to the reply.
 */
#include <errno.h>
#include <string.h>

#include <sim/world.h>

#include "compat_private.h"
#include "err.h"
#include "log.h"
#include "world/body.h"
#include "world/little.h"

LOG_TOPIC("compat");

#define BODY_ROOM    (200 + 48 * COMPAT_WHEELS)
#define CAR_HEIGHT   1.5 /* [m] */
#define WHEEL_RADIUS 0.35

/* ---- rotation: quaternions w x y z ---- */

static void turn(const double q[4], const double v[3], double ret[3])
{
	const double w = q[0], x = q[1], y = q[2], z = q[3];

	ret[0] = v[0] * (1 - 2 * (y * y + z * z)) + v[1] * 2 * (x * y - w * z) + v[2] * 2 * (x * z + w * y);
	ret[1] = v[0] * 2 * (x * y + w * z) + v[1] * (1 - 2 * (x * x + z * z)) + v[2] * 2 * (y * z - w * x);
	ret[2] = v[0] * 2 * (x * z - w * y) + v[1] * 2 * (y * z + w * x) + v[2] * (1 - 2 * (x * x + y * y));
}

static void multiply(const double a[4], const double b[4], double ret[4])
{
	ret[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
	ret[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
	ret[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
	ret[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

static void inverse(const double q[4], double ret[4])
{
	ret[0] = q[0];
	for (int i = 1; i < 4; i++)
		ret[i] = -q[i];
}

/* ---- to the world ---- */

/* Transforms a wheel from the world's axes to its vehicle's. */
static struct sim_world_part part_of(const struct compat_pose *chassis, const struct compat_pose *wheel)
{
	struct sim_world_part p = { .kind = SIM_WORLD_WHEEL };
	double back[4], way[3];

	inverse(chassis->rot, back);
	for (int i = 0; i < 3; i++)
		way[i] = wheel->com[i] - chassis->com[i];
	turn(back, way, p.position);
	multiply(back, wheel->rot, p.rotation);
	return p;
}

/* The message has no size. Assumes a car's box, which extends about this far beyond the centres of the wheels. */
static void guess_shape(const struct sim_world_part *parts, struct sim_world_shape *ret)
{
	static const double beyond[2] = { 1.6, 0.25 };

	for (int i = 0; i < 3; i++) {
		double least = parts[0].position[i], most = least;

		for (unsigned k = 1; k < COMPAT_WHEELS; k++) {
			least = parts[k].position[i] < least ? parts[k].position[i] : least;
			most = parts[k].position[i] > most ? parts[k].position[i] : most;
		}
		ret->size[i] = i < 2 ? most - least + beyond[i] : CAR_HEIGHT;
		ret->offset[i] = i < 2 ? (least + most) / 2 : least - WHEEL_RADIUS + CAR_HEIGHT / 2;
	}
}

static int body_of(const struct compat_vehicle *v, uint8_t body[BODY_ROOM])
{
	struct sim_world_vehicle as = { .shape.model = COMPAT_CERTIFICATE, .n_parts = COMPAT_WHEELS };
	struct sim_world_part parts[COMPAT_WHEELS];

	for (unsigned i = 0; i < COMPAT_WHEELS; i++)
		parts[i] = part_of(&v->chassis, &v->wheels[i]);
	guess_shape(parts, &as.shape);
	return sim_world_vehicle_write(&as, parts, body, BODY_ROOM);
}

/*
 * The message has a speed without direction: assumed to be along the vehicle's x axis. The client's clock is not the
 * world's: the pose is taken as that at the next tick.
 */
static int put(struct compat_client *cl, struct compat_vehicle *v)
{
	const struct side_tick *t = side_tick(cl->side);
	struct side_object o = { .code = SIM_WORLD_VEHICLE, .motion.time_sim_ns = t->time_sim_ns + t->step_dur_ns };
	uint8_t body[BODY_ROOM];
	double length = 0;
	int r;

	for (int i = 0; i < 4; i++)
		length += v->chassis.rot[i] * v->chassis.rot[i];
	if (!(length > 0.98 && length < 1.02))
		return err_set(-EINVAL, "chassisRot is not a unit quaternion");
	r = body_of(v, body);
	if (r < 0)
		return r;
	memcpy(o.motion.position, v->chassis.com, sizeof(v->chassis.com));
	memcpy(o.motion.rotation, v->chassis.rot, sizeof(v->chassis.rot));
	turn(v->chassis.rot, (const double[3]){ v->speed, 0, 0 }, o.motion.velocity);
	o.body = body;
	o.len = (size_t)r;
	return side_put(cl->side, &o);
}

/* ---- to the client ---- */

/* Reported once, as many vehicles may be affected. */
static void say_wheels(struct compat *c, const struct remote *o, size_t n)
{
	if (n == COMPAT_WHEELS || c->wheels_said)
		return;
	c->wheels_said = true;
	log_info("vehicle %llx has %zu wheels, and the message of tr2016 four: those that it lacks are said to be where its chassis is, and more "
		 "than four are left out; so it is with others like it",
		 (unsigned long long)o->id, n);
}

static void wheels_of(struct compat *c, const struct remote *o, const struct compat_pose *chassis,
		      struct compat_pose *wheels)
{
	struct sim_world_part parts[SIM_WORLD_PARTS_MAX];
	struct sim_world_vehicle v = { .n_parts = 0 };
	unsigned n = 0, all = 0;

	for (unsigned i = 0; i < COMPAT_WHEELS; i++)
		wheels[i] = *chassis;
	if (o->body && sim_world_vehicle_read(o->body->data, o->body->len, &v, parts, SIM_WORLD_PARTS_MAX) < 0)
		v.n_parts = 0;
	for (size_t i = 0; i < v.n_parts && i < SIM_WORLD_PARTS_MAX; i++) {
		if (parts[i].kind != SIM_WORLD_WHEEL || all++ >= COMPAT_WHEELS)
			continue;
		turn(chassis->rot, parts[i].position, wheels[n].com);
		for (int k = 0; k < 3; k++)
			wheels[n].com[k] += chassis->com[k];
		multiply(chassis->rot, parts[i].rotation, wheels[n++].rot);
	}
	say_wheels(c, o, all);
}

static void vehicle_of(struct compat *c, const struct remote *o, int number, struct compat_vehicle *ret)
{
	const struct motion_real *m = &o->states[o->newest];
	const double ahead[3] = { 1, 0, 0 };
	double forward[3];

	*ret = (struct compat_vehicle){ .timestamp = c->wall_s, .id = number, .ch_time = (double)m->time_sim_ns / 1e9 };
	memcpy(ret->chassis.com, m->position, sizeof(m->position));
	memcpy(ret->chassis.rot, m->rotation, sizeof(m->rotation));
	turn(m->rotation, ahead, forward);
	for (int i = 0; i < 3; i++)
		ret->speed += forward[i] * m->velocity[i];
	wheels_of(c, o, &ret->chassis, ret->wheels);
}

/* Uses the tick that this client is at, so all clients at that tick get the same message. */
static const struct compat_said *message_of(const struct compat_client *cl, const struct remote *o, int number)
{
	struct compat_said *s = &cl->c->said[number];
	const uint64_t tick = side_tick(cl->side)->tick;
	struct compat_vehicle v;

	if (s->id == o->id && s->tick == tick && s->wall_s == cl->c->wall_s)
		return s;
	vehicle_of(cl->c, o, number, &v);
	s->len = compat_vehicle_write(cl->c->fields, &v, s->message);
	s->id = o->id;
	s->tick = tick;
	s->wall_s = cl->c->wall_s;
	return s;
}

static void say_vehicle(struct compat_client *cl, const struct remote *o)
{
	static const uint8_t code = COMPAT_VEHICLE;
	const int number = compat_number_of(cl->c, o->id, o->owner, cl->now_mono_ns);
	const struct compat_said *s;

	if (number < 0) {
		cl->c->info.left_out++;
		return;
	}
	s = message_of(cl, o, number);
	wire_append(&cl->out, &code, 1);
	wire_append(&cl->out, s->message, s->len);
}

/* Sends all vehicles that it sees, except its own. */
static void reply(struct compat_client *cl)
{
	static const uint8_t code = COMPAT_VEHICLE_END;
	const struct remotes *seen = side_remotes(cl->side);
	const struct remote *o;
	size_t at = 0;

	while ((o = remotes_next(seen, &at)))
		if (o->code == SIM_WORLD_VEHICLE && o->owner != side_connection(cl->side))
			say_vehicle(cl, o);
	wire_append(&cl->out, &code, 1);
	if (cl->out.failed)
		compat_end(cl, "out of memory");
}

/* ---- input: returns the bytes used; 0: incomplete; negative errno, with the reason in err_why() ---- */

static int on_vehicle(struct compat_client *cl)
{
	struct compat_vehicle v = { .id = 0 };
	int len = compat_vehicle_read(cl->c->fields, cl->in + 1, cl->n_in - 1, &v), r = 0;

	if (len < 0)
		return err_set(len, "malformed VehicleMessage (--compat-fields sets the numbers of its fields)");
	if (len == 0)
		return 0;
	if (v.id == (int32_t)cl->number) {
		cl->c->info.updates++;
		r = put(cl, &v);
	} else {
		cl->c->info.foreign++;
	}
	return r < 0 && r != -ENOTCONN ? r : 1 + len;
}

static int on_message(struct compat_client *cl)
{
	int r;

	if (cl->in[0] == COMPAT_DISCONNECT) {
		compat_bye(cl, cl->now_mono_ns);
		return 1;
	}
	if (cl->in[0] != COMPAT_VEHICLE && cl->in[0] != COMPAT_VEHICLE_KEEP)
		return err_set(-EBADMSG, "unknown code %u: clients of tr2016 do not send it", cl->in[0]);
	r = cl->in[0] == COMPAT_VEHICLE ? on_vehicle(cl) : cl->n_in < 5 ? 0 : 5;
	if (r <= 0)
		return r;
	cl->spoken = true;
	(void)!side_done(cl->side, side_tick(cl->side)->tick, cl->now_mono_ns);
	compat_pump(cl, cl->now_mono_ns);
	if (!cl->ends)
		reply(cl);
	return r;
}

void compat_take(struct compat_client *cl, int64_t now_mono_ns)
{
	int r = 1;

	cl->now_mono_ns = now_mono_ns;
	while (r > 0 && cl->n_in && !cl->ends && cl->out.len - cl->sent < COMPAT_QUEUE_MAX) {
		r = on_message(cl);
		if (r > 0) {
			cl->n_in -= (size_t)r;
			memmove(cl->in, cl->in + r, cl->n_in);
		}
	}
	if (r < 0)
		compat_end(cl, err_why());
}
