/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-join: makes this simd's rig a host of a world. The world's ticks drive simd's clock, other hosts' objects are
 * published on channels here, and the ego that a channel here describes is put into the world.
 *
 * A turn: advances the clock to the world's next tick, with all participants of steps; sends the ego's pose then to the
 * world; waits for the tick; and publishes the other objects with that tick's time.
 *
 * Threads: main; "sim-world" handles the connection; "stop" waits for signals; the library's "sim-io" runs completions,
 * which only count.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Transforms.h>
#include <sim/sim.h>

#include "../outlet.h"
#include "../stop.h"
#include "err.h"
#include "log.h"
#include "opt.h"
#include "others.h"
#include "timeutil.h"

LOG_TOPIC("join");

#define WAIT_NS       (100 * NS_PER_MS) /* wall time: how often stopping is checked */
#define RETRY_MS      50
#define STOP_GRACE_MS 1000
#define LEAP_MAX_NS   (3600 * NS_PER_S) /* limit of one advance */
#define EGO           0                 /* its object number in the world */

struct args {
	const char *world, *keys, *socket, *name, *ego, *objects, *tf, *role, *model;
	double length, width, height, forward, radius;
	int64_t most;
	bool datagrams;
};

#define OPT_VALUES                        struct args
#define METRES(opt_name, field, hi, text) OPT(opt_name, 0, DOUBLE, field, "METRES", text, .min = 0, .max = hi)

static const struct opt OPTS[] = {
	OPT("world", 'w', STRING, world, "HOST:PORT", "the world's server [127.0.0.1:8082]"),
	OPT("keys", 'k', STRING, keys, "DIR[:NAME]", "connect by TLS 1.3, with these keys of sim-world --make-keys",
	    .complete = "file"),
	OPT("datagrams", 0, FLAG, datagrams, NULL, "receive ticks by UDP, if that gets through"),
	OPT("role", 0, STRING, role, "ROLE",
	    "regulating: the world waits for this host; constrained; observer [regulating]"),
	OPT("ego", 0, STRING, ego, "CHANNEL",
	    "channel with the ego's pose, a sim/GpsOdometry; \"\": no ego [gps_odometry]"),
	OPT("objects", 0, STRING, objects, "CHANNEL",
	    "channel for others' objects, a sim/Detected3DObjects; \"\": none [objects]"),
	OPT("tf", 0, STRING, tf, "CHANNEL", "channel for their frames, a sim/Transforms; \"\": none [tf]"),
	METRES("radius", radius, 1000000000,
	       "radius around the ego within which objects are seen; 0: the server's [0]"),
	OPT("most", 0, INT, most, "N", "most objects in one message: the nearest [250]", .min = 1, .max = 10000),
	OPT("model", 0, STRING, model, "NAME", "model of the ego, for others [car]"),
	METRES("length", length, 1000, "length of the ego [4.6]"),
	METRES("width", width, 1000, "width of the ego [1.84]"),
	METRES("height", height, 1000, "height of the ego [1.5]"),
	METRES("forward", forward, 1000, "distance of its centre in front of base_link [1.3]"),
	OPT("simd-socket", 0, STRING, socket, "PATH", "control socket of simd", .complete = "file"),
	OPT("name", 0, STRING, name, "NAME", "name shown by simctl, and in the world [sim-join]"),
	{ 0 },
};

static const struct opt_program PROGRAM = {
	.name = "sim-join",
	.section = 1,
	.summary = "make this simd a host of a world",
	.version = SIM_VERSION,
	.opts = OPTS,
};

struct app {
	struct args args;
	struct stop stop;
	enum sim_world_role role;
	struct sim_client *client;
	struct sim_driver *driver;
	struct sim_subscriber *odometry; /* NULL: no ego */
	struct outlet objects, tf;       /* pub NULL: not published */
	struct sim_world *world;
	struct sim_world_tick tick;
	int64_t offset_dur_ns; /* simd's time minus the world's */
	struct join_ego ego;
	int64_t put_sim_ns; /* stamp of the ego's last update to the world */
	bool absolute;      /* a warning that its position is absolute was logged */
	bool paused;        /* simd is paused, and the world has been notified */
	bool refused;       /* a warning that the world refuses it was logged */
	unsigned char body[160];
	int body_size;
	struct others others;
	bool full; /* out of memory was logged */
};

/* ---- the ego ---- */

/* Rotates the angular velocity from the vehicle's axes to the world's. */
static void spin_of(const struct sim_GpsOdometry *m, double ret[3])
{
	const double w = m->orientation.w, x = m->orientation.x, y = m->orientation.y, z = m->orientation.z;
	const double a = m->angular_velocity.x, b = m->angular_velocity.y, c = m->angular_velocity.z;

	ret[0] = (1 - 2 * (y * y + z * z)) * a + 2 * (x * y - w * z) * b + 2 * (x * z + w * y) * c;
	ret[1] = 2 * (x * y + w * z) * a + (1 - 2 * (x * x + z * z)) * b + 2 * (y * z - w * x) * c;
	ret[2] = 2 * (x * z - w * y) * a + 2 * (y * z + w * x) * b + (1 - 2 * (x * x + y * y)) * c;
}

static void take_odometry(struct app *a, const struct sim_GpsOdometry *m, int64_t stamp_sim_ns)
{
	struct join_ego *e = &a->ego;

	if (m->ignore_map_origin) {
		if (!a->absolute)
			log_warn("%s: its place is absolute, not in the map: the ego is not in the world", a->args.ego);
		a->absolute = true;
		return;
	}
	*e = (struct join_ego){ .known = true,
				.stamp_sim_ns = stamp_sim_ns,
				.position = { m->easting, m->northing, m->altitude },
				.rotation = { m->orientation.w, m->orientation.x, m->orientation.y, m->orientation.z },
				.velocity = { m->velocity.x, m->velocity.y, m->velocity.z } };
	spin_of(m, e->spin);
}

static void hear_ego(struct app *a)
{
	const struct sim_message *msg;

	while (a->odometry && sim_take(a->odometry, &msg) == 0) {
		const struct sim_GpsOdometry *m = sim_GpsOdometry_from(msg->body, msg->body_size);

		if (m)
			take_odometry(a, m, msg->header.stamp_sim_ns);
		(void)sim_release(a->odometry, msg);
	}
}

static void put(struct app *a, bool stands)
{
	struct sim_world_object o = {
		.id = EGO, .code = SIM_WORLD_VEHICLE, .body = a->body, .body_size = (size_t)a->body_size
	};

	o.time_sim_ns = a->ego.stamp_sim_ns - a->offset_dur_ns;
	memcpy(o.position, a->ego.position, sizeof(o.position));
	memcpy(o.rotation, a->ego.rotation, sizeof(o.rotation));
	if (!stands) {
		memcpy(o.velocity, a->ego.velocity, sizeof(o.velocity));
		memcpy(o.spin, a->ego.spin, sizeof(o.spin));
	}
	if (sim_world_put(a->world, &o) < 0) {
		if (!a->refused)
			log_warn("the ego is not sent to the world: %s", sim_world_why());
		a->refused = true;
	}
	a->put_sim_ns = a->ego.stamp_sim_ns;
}

/* Without a new pose, the world extrapolates the ego. */
static void put_ego(struct app *a)
{
	hear_ego(a);
	if (a->ego.known && a->ego.stamp_sim_ns != a->put_sim_ns)
		put(a, false);
}

/* ---- other objects ---- */

static bool on_other(void *user, const struct sim_world_object *o)
{
	struct app *a = user;

	return others_put(&a->others, o, &a->ego) == 0;
}

static void send(struct outlet *o, size_t most, size_t (*fill)(const struct app *a, void *body, size_t cap),
		 const struct app *a)
{
	struct sim_slot *slot;
	int r;

	if (!o->pub)
		return;
	r = sim_loan(o->pub, most, &slot);
	if (r == 0)
		r = outlet_send(o, slot, fill(a, sim_slot_body_mut(slot), most), NULL);
	outlet_count(o, r);
}

static size_t fill_objects(const struct app *a, void *body, size_t cap)
{
	return others_objects(&a->others, &a->ego, body, cap);
}

static size_t fill_tf(const struct app *a, void *body, size_t cap)
{
	return others_tf(&a->others, body, cap);
}

/* Publishes the objects at the present tick. */
static void publish(struct app *a)
{
	others_begin(&a->others);
	(void)sim_world_each(a->world, a->tick.time_sim_ns, on_other, a);
	if (others_end(&a->others) < 0) {
		if (!a->full)
			log_error("out of memory: others are not published");
		a->full = true;
		return;
	}
	if (!a->odometry || a->ego.known) /* objects are relative to base_link, whose pose must be known */
		send(&a->objects, others_objects_max(a->others.n_near), fill_objects, a);
	if (a->others.n_near)
		send(&a->tf, others_tf_max(a->others.n_near), fill_tf, a);
}

/* ---- time ---- */

/* While simd is unavailable or another source is active, waits for the lease. -ECANCELED: stop; -EIO: permanent. */
static int regain(struct app *a, int why)
{
	if (why == -EPERM) {
		log_info("another time source is active: waiting");
		sim_driver_release(a->driver);
		a->driver = NULL;
	}
	while (!stop_wait(&a->stop, RETRY_MS)) {
		if (sim_client_state(a->client) == SIM_CLIENT_FAILED)
			return err_set(-EIO, "simd is lost: %s", sim_client_why(a->client));
		if (a->driver || sim_driver_acquire(a->client, 0, &a->driver) == 0)
			return 0;
	}
	return -ECANCELED;
}

/* Notifies the world, once per pause, so that it neither extrapolates the ego nor waits for it. */
static void tell_pause(void *app)
{
	struct app *a = app;
	struct sim_clock_sample now;

	sim_now_sample(a->client, &now);
	if (a->paused || !(now.flags & SIM_CLOCK_PAUSED))
		return;
	if (a->role != SIM_WORLD_OBSERVER && a->ego.known)
		put(a, true);
	(void)!sim_world_pause(a->world); /* if the server is unavailable, it is notified when it reconnects */
	a->paused = true;
}

/* Advances exactly to that time, at the world's pace. */
static int advance_to(struct app *a, int64_t to_sim_ns)
{
	int64_t left, granted;

	while ((left = to_sim_ns - sim_now(a->client)) > 0) {
		int r;

		if (stop_requested(&a->stop))
			return -ECANCELED;
		r = stop_advance(&a->stop, a->driver, left < LEAP_MAX_NS ? left : LEAP_MAX_NS, tell_pause, a, &granted);
		if (r == -ENOTCONN || r == -EPERM)
			r = regain(a, r);
		else if (r < 0 && r != -ECANCELED)
			err_tell("time cannot be advanced: %s", source_why(r));
		if (r < 0)
			return r;
	}
	return 0;
}

/* If simd's time is ahead of the world's, increases the offset between the two instead of jumping. */
static void meet(struct app *a, int64_t world_sim_ns)
{
	int64_t ahead = sim_now(a->client) - (world_sim_ns + a->offset_dur_ns);

	if (ahead <= 0)
		return;
	a->offset_dur_ns += ahead;
	a->put_sim_ns = INT64_MIN;
	log_info("this host's time is %.3f s ahead of the world's", (double)a->offset_dur_ns / 1e9);
}

/* Waits for a tick, or a stop. */
static int next_tick(struct app *a)
{
	int r;

	a->paused = false; /* sim_world_step() ends the pause in the world */
	r = sim_world_step(a->world, WAIT_NS, &a->tick);

	while (r == -ETIMEDOUT && !stop_requested(&a->stop))
		r = sim_world_wait(a->world, WAIT_NS, &a->tick);
	if (r < 0 && stop_requested(&a->stop))
		return -ECANCELED;
	return r < 0 ? err_set(r, "the world: %s", sim_world_why()) : 0;
}

static int loop(struct app *a)
{
	int r = 0;

	a->put_sim_ns = INT64_MIN;
	while (r == 0 && !stop_requested(&a->stop)) {
		meet(a, a->tick.time_sim_ns);
		publish(a);
		r = advance_to(a, a->tick.time_sim_ns + a->offset_dur_ns + a->tick.step_dur_ns);
		if (r < 0)
			break;
		meet(a, a->tick.time_sim_ns + a->tick.step_dur_ns); /* another engine may have jumped in between */
		if (a->role != SIM_WORLD_OBSERVER)
			put_ego(a);
		else
			hear_ego(a);
		r = next_tick(a);
	}
	return r == -ECANCELED ? 0 : r;
}

/* ---- start and end ---- */

static int advertise(struct app *a, struct outlet *o, const char *channel, const struct sim_type *type,
		     const char *frame, size_t most)
{
	const struct sim_publisher_options po = { .size = sizeof(po), .max_body = most, .frame_id = frame };

	o->name = channel;
	return *channel ? sim_advertise(a->client, channel, type, &po, &o->pub) : 0;
}

static int attach(struct app *a)
{
	const struct sim_client_options co = { .size = sizeof(co), .name = a->args.name, .socket = a->args.socket };
	const struct sim_subscriber_options so = { .size = sizeof(so), .depth = 16 };
	int r = sim_connect(&co, &a->client);

	if (r < 0)
		return err_set(r, "connecting to simd: %s", source_why(r));
	r = advertise(a, &a->objects, a->args.objects, &sim_Detected3DObjects_type,
		      *a->args.ego ? FRAME_BASE : FRAME_MAP, others_objects_max(a->others.most));
	if (r == 0)
		r = advertise(a, &a->tf, a->args.tf, &sim_Transforms_type, FRAME_MAP, others_tf_max(a->others.most));
	if (r == 0 && *a->args.ego)
		r = sim_subscribe(a->client, a->args.ego, &sim_GpsOdometry_type, &so, &a->odometry);
	if (r == 0)
		r = sim_driver_acquire(a->client, 0, &a->driver);
	return r < 0 ? err_set(r, "%s", source_why(r)) : 0;
}

static int join(struct app *a)
{
	const struct sim_world_options o = { .size = sizeof(o),
					     .address = a->args.world,
					     .keys = a->args.keys,
					     .flags = a->args.datagrams ? SIM_WORLD_DATAGRAMS : 0,
					     .name = a->args.name,
					     .role = a->role,
					     .radius = a->args.radius };
	struct sim_world_shape shape = { .size = { a->args.length, a->args.width, a->args.height },
					 .offset = { a->args.forward, 0, a->args.height / 2 } };
	int r;

	snprintf(shape.model, sizeof(shape.model), "%s", a->args.model);
	r = a->body_size = sim_world_shape_write(SIM_WORLD_VEHICLE, &shape, a->body, sizeof(a->body));
	if (r >= 0)
		r = sim_world_connect(&o, &a->world);
	if (r == 0)
		r = sim_world_wait(a->world, 5 * NS_PER_S, &a->tick);
	if (r < 0)
		return err_set(r, "the world: %s", sim_world_why());
	log_info("joined the world at %.3f s", (double)a->tick.time_sim_ns / 1e9);
	return 0;
}

static int role_of(const char *name, enum sim_world_role *ret)
{
	static const char *const names[] = {
		[SIM_WORLD_REGULATING] = "regulating", [SIM_WORLD_CONSTRAINED] = "constrained", [SIM_WORLD_OBSERVER] = "observer"
	};

	for (int i = SIM_WORLD_REGULATING; i <= SIM_WORLD_OBSERVER; i++)
		if (!strcmp(name, names[i])) {
			*ret = (enum sim_world_role)i;
			return 0;
		}
	return err_set(-EINVAL, "--role %s: regulating, constrained or observer", name);
}

static void detach(struct app *a)
{
	sim_world_disconnect(a->world);
	if (a->objects.pub)
		outlet_report(&a->objects);
	sim_disconnect(a->client);
	others_finish(&a->others);
}

int main(int argc, char *argv[])
{
	static struct app a = { .args = { .name = "sim-join",
					  .role = "regulating",
					  .ego = "gps_odometry",
					  .objects = "objects",
					  .tf = "tf",
					  .model = "car",
					  .most = 250,
					  .length = 4.6,
					  .width = 1.84,
					  .height = 1.5,
					  .forward = 1.3 } };
	int r;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a.args);
	(void)log_setup("sim-join");
	r = stop_init(&a.stop, STOP_GRACE_MS);
	if (r == 0)
		r = role_of(a.args.role, &a.role);
	a.others.most = (uint32_t)a.args.most;
	if (r == 0)
		r = attach(&a);
	if (r == 0)
		r = join(&a);
	if (r == 0)
		r = loop(&a);
	if (r < 0)
		log_error("%s", *err_why() ? err_why() : err_text(r));
	detach(&a);
	return r < 0 ? 1 : 0;
}
