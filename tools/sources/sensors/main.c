/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-sensors: sensors from a configuration file, in one process: radar, ultrasonic, planar laser, ground truth, grid,
 * satellite receiver, IMU.
 *
 * Sensors that look at objects do so when a message of objects comes. They use its stamp, and the vehicle's pose at
 * exactly that stamp from its exact IMU. A receiver and an IMU follow each fix and each measurement of the vehicle.
 *
 * With --rank it takes part in lock-step: time waits for it, and a run repeats bit for bit.
 *
 * Threads: main, "stop" (signals), and the library's (completions count; parameters are set; descriptors are made
 * readable).
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <sim/msg/Transforms.h>
#include <sim/param.h>
#include <sim/sim.h>

#include "../outlet.h"
#include "../rate.h"
#include "../stop.h"
#include "err.h"
#include "log.h"
#include "opt.h"
#include "unit.h"

LOG_TOPIC("sensors");

#define FRAME_BASE    "base_link"
#define WAIT_MS       100 /* wall: interval of the check for a lost simd */
#define RETRY_MS      20
#define NO_RANK       (-1)
#define IMU_DEPTH     32 /* at 100 Hz the pose of 0.3 s ago is still available */
#define DEPTH         32
#define STOP_GRACE_MS 1000
#define FRAME_EVERY   10 /* looks between messages, for bridges that start late; subscribers get the latched message */
#define FRAME_CAP     sim_Transforms_size(SENSORS_MAX, SENSORS_MAX * 2 * sim_string_size(SIM_FRAME_ID_MAX))
#define RATE_MAX_HZ   1000.0

struct args {
	const char *socket, *name, *sensors, *buildings, *objects, *imu, *gps;
	int64_t looks, rank;
};

#define OPT_VALUES                          struct args
#define STRING(opt_name, field, meta, text) OPT(opt_name, 0, STRING, field, meta, text)

static const struct opt OPTS[] = {
	OPT("sensors", 's', STRING, sensors, "FILE", "JSON file of the sensors (required)", .complete = "file"),
	OPT("buildings", 'b', STRING, buildings, "FILE", "JSON file of buildings in the map", .complete = "file"),
	STRING("simd-socket", socket, "PATH", "control socket of simd"),
	STRING("name", name, "NAME", "name shown by simctl [sim-sensors]"),
	STRING("objects", objects, "CHANNEL", "objects around the vehicle, in base_link [objects]"),
	STRING("imu", imu, "CHANNEL", "exact IMU at base_link, with pose and motion of the vehicle [imu]"),
	STRING("gps", gps, "CHANNEL", "exact fix of base_link [gps]"),
	OPT("looks", 0, INT, looks, "N", "exit after this many messages of objects [0: never]", .min = 0,
	    .max = INT64_MAX),
	OPT("rank", 0, INT, rank, "N", "take part in lock-step, with this rank in each step [-1: no]", .min = NO_RANK,
	    .max = SIM_STEP_RANK_MAX),
	{ 0 }
};

static const struct opt_program PROGRAM = {
	.name = "sim-sensors",
	.section = 1,
	.summary = "radar, ultrasonic, laser, ground truth, satellite receiver and IMU of a vehicle",
	.version = SIM_VERSION,
	.opts = OPTS,
};

struct sensor {
	struct unit unit;
	struct outlet out, also;
	struct rate rate;
	char parameter[SIM_PARAM_NAME_MAX + 1];
};

struct app {
	struct args args;
	struct stop stop;
	struct sensors_config config;
	struct scene_buildings buildings;
	struct sensor sensor[SENSORS_MAX];
	struct scan_box boxes[SCENE_BOXES_MAX];
	struct sim_client *client;
	struct outlet frames;
	struct sim_subscriber *objects, *imu, *gps; /* NULL: no sensor uses it */
	struct sim_reader *motion;
	struct sim_step *step;     /* NULL: it does not take part in lock-step */
	struct sim_params *params; /* NULL: another client has our name */
	uint64_t looks, skipped, without_pose;
};

#define FOR_EACH_SENSOR(a, s) for (struct sensor *s = (a)->sensor; s < (a)->sensor + (a)->config.n; s++)

static struct sim_clock_sample instant_of(const struct sim_message *msg)
{
	return (struct sim_clock_sample){ .sim_ns = msg->header.stamp_sim_ns,
					  .clock_generation = msg->header.clock_generation };
}

/* ---- sensors that look at objects ---- */

/* Position and motion of the vehicle at exactly that stamp. False: no IMU message has it. */
static bool motion_at(struct app *a, int64_t stamp_sim_ns, struct motion *ret)
{
	(void)sim_reader_observe(a->motion);
	for (unsigned i = 0; i < IMU_DEPTH; i++) {
		const struct sim_message *s = sim_reader_get(a->motion, i);
		const struct sim_Imu *m;

		if (!s)
			return false;
		m = s->header.stamp_sim_ns == stamp_sim_ns ? sim_Imu_from(s->body, s->body_size) : NULL;
		if (m) {
			*ret = motion_of(m);
			return true;
		}
	}
	return false;
}

static int look(struct sensor *s, const struct moment *m)
{
	size_t cap = unit_size(&s->unit);
	struct sim_slot *slot;
	int r = sim_loan(s->out.pub, cap, &slot);

	if (r < 0)
		return r;
	slot->stamp_sim_ns = m->stamp_sim_ns;
	return outlet_send(&s->out, slot, unit_look(&s->unit, m, sim_slot_body_mut(slot), cap), NULL);
}

static int fill_frames(struct app *a, struct sim_builder *b)
{
	struct sim_Transform *t = sim_Transforms_transforms_alloc(b, (uint32_t)a->config.n);

	FOR_EACH_SENSOR(a, s)
	{
		if (!t)
			return -EMSGSIZE;
		*t = unit_frame(&s->unit);
		if (sim_Transform_parent_frame_set_in(b, t, FRAME_BASE) < 0 ||
		    sim_Transform_child_frame_set_in(b, t, s->unit.c->frame) < 0)
			return -EMSGSIZE;
		t++;
	}
	return 0;
}

/* Where the sensors are on the vehicle. */
static int send_frames(struct app *a)
{
	struct sim_Transforms *all;
	struct sim_builder b;
	struct sim_slot *slot;
	int r = sim_loan(a->frames.pub, FRAME_CAP, &slot);

	if (r < 0)
		return r;
	all = sim_Transforms_init(sim_slot_body_mut(slot), FRAME_CAP, &b);
	if (all)
		all->is_static = 1;
	return outlet_send(&a->frames, slot, all && fill_frames(a, &b) == 0 ? sim_builder_size(&b) : 0, NULL);
}

static void on_objects(struct app *a, const struct sim_message *msg)
{
	const struct sim_Detected3DObjects *objects = sim_Detected3DObjects_from(msg->body, msg->body_size);
	/* The stamp of the objects counts, not the time at which they are handled. */
	struct sim_clock_sample at = instant_of(msg);
	struct motion motion;
	struct moment m = { .objects = objects,
			    .body_size = msg->body_size,
			    .buildings = &a->buildings,
			    .boxes = a->boxes,
			    .stamp_sim_ns = at.sim_ns,
			    .clock_generation = at.clock_generation };

	if (!objects)
		return;
	m.motion = motion_at(a, at.sim_ns, &motion) ? &motion : NULL;
	if (a->looks++ % FRAME_EVERY == 0)
		(void)send_frames(a); /* on failure it is sent again later */
	FOR_EACH_SENSOR(a, s)
	{
		if (!unit_looks(&s->unit) || !rate_due(&s->rate, &at))
			continue;
		if (m.motion || !unit_needs_motion(&s->unit, &m))
			outlet_count(&s->out, look(s, &m));
		else
			a->without_pose++;
	}
}

/* Only the newest message is used; older ones that have accumulated are skipped. */
static void drain_objects(struct app *a)
{
	const struct sim_message *msg, *newest = NULL;

	while (a->objects && sim_take(a->objects, &msg) == 0) {
		if (newest) {
			a->skipped++;
			(void)sim_release(a->objects, newest);
		}
		newest = msg;
	}
	if (!newest)
		return;
	on_objects(a, newest);
	(void)sim_release(a->objects, newest);
}

/* ---- sensors that follow the vehicle ---- */

static int publish(struct outlet *o, int64_t stamp_sim_ns, const void *message, size_t size)
{
	struct sim_slot *slot;
	int r = sim_loan(o->pub, size, &slot);

	if (r < 0)
		return r;
	slot->stamp_sim_ns = stamp_sim_ns;
	memcpy(sim_slot_body_mut(slot), message, size);
	return outlet_send(o, slot, size, NULL);
}

static void on_gps(struct sensor *s, const void *body, size_t size, const struct sim_clock_sample *at)
{
	const struct sim_Gps *truth = sim_Gps_from(body, size);
	struct sim_GpsIns ins;
	struct sim_Gps fix;

	if (!truth)
		return;
	gnss_measure(&s->unit.gnss, truth, at->sim_ns, at->clock_generation, &fix);
	outlet_count(&s->out, publish(&s->out, at->sim_ns, &fix, sizeof(fix)));
	if (!s->also.pub)
		return;
	gnss_ins(&s->unit.gnss, at->sim_ns, &ins);
	outlet_count(&s->also, publish(&s->also, at->sim_ns, &ins, sizeof(ins)));
}

static void on_imu(struct sensor *s, const void *body, size_t size, const struct sim_clock_sample *at)
{
	const struct sim_Imu *truth = sim_Imu_from(body, size);
	struct sim_CorrectedImu corrected;
	struct sim_Imu measured;

	if (!truth)
		return;
	inertial_measure(&s->unit.inertial, truth, at->clock_generation, &measured);
	inertial_correct(&measured, &corrected);
	outlet_count(&s->out, publish(&s->out, at->sim_ns, &corrected, sizeof(corrected)));
	if (s->also.pub)
		outlet_count(&s->also, publish(&s->also, at->sim_ns, &measured, sizeof(measured)));
}

static void hear_imu(struct sensor *s, const struct sim_message *msg)
{
	const struct sim_Imu *truth = sim_Imu_from(msg->body, msg->body_size);

	if (truth)
		inertial_hear(&s->unit.inertial, truth, instant_of(msg).clock_generation);
}

static void drain_each(struct app *a, struct sim_subscriber *from, enum sensor_kind kind,
		       void (*on)(struct sensor *, const void *, size_t, const struct sim_clock_sample *))
{
	const struct sim_message *msg;

	while (from && sim_take(from, &msg) == 0) {
		struct sim_clock_sample at = instant_of(msg);

		FOR_EACH_SENSOR(a, s)
		{
			if (s->unit.c->kind != kind)
				continue;
			if (kind == SENSOR_IMU)
				hear_imu(s, msg);
			if (rate_due(&s->rate, &at))
				on(s, msg->body, msg->body_size, &at);
		}
		(void)sim_release(from, msg);
	}
}

static void drain(struct app *a)
{
	drain_each(a, a->imu, SENSOR_IMU, on_imu);
	drain_each(a, a->gps, SENSOR_GNSS, on_gps);
	drain_objects(a);
}

/* ---- the loop ---- */

static bool ended(struct app *a)
{
	return stop_requested(&a->stop) || (a->args.looks && a->looks >= (uint64_t)a->args.looks);
}

/*
 * While the library reconnects it is not lost, and the library makes a descriptor readable afterwards; a failed
 * connection is final.
 */
static bool lost(const struct app *a)
{
	if (sim_client_state(a->client) != SIM_CLIENT_FAILED)
		return false;
	log_error("simd is lost: %s", sim_client_why(a->client));
	return true;
}

static int loop(struct app *a)
{
	struct sim_subscriber *all[] = { a->objects, a->imu, a->gps };
	struct pollfd p[4] = { { .fd = a->stop.fd, .events = POLLIN } };
	nfds_t n = 1;

	for (int i = 0; i < 3; i++)
		if (all[i])
			p[n++] = (struct pollfd){ .fd = sim_subscriber_fd(all[i]), .events = POLLIN };
	while (!ended(a)) {
		(void)poll(p, n, WAIT_MS);
		drain(a);
		if (lost(a))
			return -EIO;
	}
	return 0;
}

static int join(struct app *a)
{
	return sim_step_join(a->client, (uint32_t)a->args.rank, &a->step);
}

/* The same in lock-step: what has come before our turn is handled in it. */
static int loop_steps(struct app *a)
{
	while (!ended(a)) {
		struct sim_step_turn turn;
		int r = a->step ? 0 : join(a);

		if (r == 0)
			r = sim_step_wait(a->step, (int64_t)WAIT_MS * 1000000, &turn);
		if (r == 0) {
			drain(a);
			r = sim_step_done(a->step);
		}
		if (r == -ECONNABORTED) {
			log_warn("late, and dropped out of the step: joining again");
			sim_step_leave(a->step);
			a->step = NULL;
		} else if (r < 0 && r != -ETIMEDOUT) {
			if (lost(a))
				return r;
			(void)stop_wait(&a->stop, RETRY_MS);
		}
	}
	return 0;
}

/* ---- start and end ---- */

static int fail(int r, const char *what)
{
	log_error("%s: %s", what, source_why(r));
	return r;
}

static int open_units(struct app *a)
{
	char why[512] = "no memory";
	int r = sensors_config_load(a->args.sensors, &a->config);

	for (size_t i = 0; r == 0 && i < a->config.n; i++)
		r = unit_init(&a->sensor[i].unit, &a->config.sensor[i]);
	if (r < 0) {
		log_error("%s", err_why());
		return r;
	}
	r = a->args.buildings ? scene_buildings_load(a->args.buildings, &a->buildings, why, sizeof(why)) : 0;
	if (r < 0)
		log_error("%s", why);
	return r;
}

static int advertise(struct app *a, struct outlet *o, const char *channel, const struct sim_type *type,
		     const char *frame, size_t max)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = max, .frame_id = frame };
	int r;

	o->name = channel;
	r = sim_advertise(a->client, channel, type, &po, &o->pub);
	return r < 0 ? fail(r, channel) : 0;
}

static int open_sensor(struct app *a, struct sensor *s)
{
	const struct sensor_config *c = s->unit.c;
	int r = advertise(a, &s->out, c->channel, unit_type(&s->unit), c->frame, unit_size(&s->unit));

	if (r == 0 && c->also)
		r = advertise(a, &s->also, c->also, unit_also_type(&s->unit), c->frame,
			      unit_also_type(&s->unit)->fixed_size);
	if (r == 0 && (r = rate_init(&s->rate, c->rate)) < 0)
		return fail(r, c->channel);
	return r;
}

static int open_frames(struct app *a)
{
	struct sim_publisher_options o = {
		.size = sizeof(o), .max_body = FRAME_CAP, .frame_id = FRAME_BASE, .flags = SIM_PUB_LATCH
	};
	int r;

	a->frames.name = "tf_static";
	r = sim_advertise(a->client, "tf_static", &sim_Transforms_type, &o, &a->frames.pub);
	return r < 0 ? fail(r, "tf_static") : 0;
}

static int subscribe(struct app *a, const char *channel, const struct sim_type *type, struct sim_subscriber **ret)
{
	struct sim_subscriber_options o = { .size = sizeof(o),
					    .depth = DEPTH,
					    .flags = a->args.rank == NO_RANK ? SIM_SUB_FD : 0 };
	int r = *ret ? 0 : sim_subscribe(a->client, channel, type, &o, ret);

	return r < 0 ? fail(r, channel) : 0;
}

static int open_inputs(struct app *a)
{
	int r = sim_reader_create(a->client, a->args.imu, &sim_Imu_type, IMU_DEPTH, &a->motion);

	if (r < 0)
		return fail(r, a->args.imu);
	FOR_EACH_SENSOR(a, s)
	{
		if (r == 0 && s->unit.c->kind == SENSOR_GNSS)
			r = subscribe(a, a->args.gps, &sim_Gps_type, &a->gps);
		else if (r == 0 && s->unit.c->kind == SENSOR_IMU)
			r = subscribe(a, a->args.imu, &sim_Imu_type, &a->imu);
		else if (r == 0)
			r = subscribe(a, a->args.objects, &sim_Detected3DObjects_type, &a->objects);
	}
	return r;
}

static void open_params(struct app *a)
{
	int r = 0;

	a->params = rate_params(a->client, a->args.name);
	if (!a->params)
		return;
	FOR_EACH_SENSOR(a, s)
	{
		const struct rate_param rate = {
			.name = s->parameter,
			.description = "[Hz] messages per second of simulated time; 0: at every message received",
			.initial = s->unit.c->rate,
			.max = RATE_MAX_HZ
		};

		snprintf(s->parameter, sizeof(s->parameter), "%.40s.frequency", s->unit.c->channel);
		if (r == 0)
			r = rate_declare(&s->rate, a->params, &rate);
	}
	if (r < 0)
		log_warn("not all parameters can be set: %s", source_why(r));
}

static int attach(struct app *a)
{
	struct sim_client_options co = { .size = sizeof(co), .name = a->args.name, .socket = a->args.socket };
	int r = sim_connect(&co, &a->client);

	if (r < 0)
		return fail(r, "connecting to simd");
	FOR_EACH_SENSOR(a, s)
	{
		if (r == 0)
			r = open_sensor(a, s);
	}
	if (r == 0)
		r = open_frames(a);
	if (r == 0)
		r = open_inputs(a);
	if (r < 0)
		return r;
	open_params(a);
	if (a->args.rank != NO_RANK)
		return (r = join(a)) < 0 ? fail(r, "taking part in lock-step") : 0;
	r = sim_client_ready(a->client);
	return r < 0 ? fail(r, "reporting to simd that it is ready") : 0;
}

static void detach(struct app *a)
{
	sim_step_leave(a->step);
	sim_params_destroy(a->params);
	sim_subscriber_destroy(a->objects);
	sim_subscriber_destroy(a->imu);
	sim_subscriber_destroy(a->gps);
	sim_reader_destroy(a->motion);
	FOR_EACH_SENSOR(a, s)
	{
		sim_publisher_destroy(s->out.pub);
		sim_publisher_destroy(s->also.pub);
	}
	sim_publisher_destroy(a->frames.pub);
	sim_disconnect(a->client);
	FOR_EACH_SENSOR(a, s)
	unit_finish(&s->unit);
	scene_buildings_free(&a->buildings);
	sensors_config_free(&a->config);
}

static void report(const struct app *a)
{
	for (size_t i = 0; i < a->config.n; i++) {
		const struct sensor *s = &a->sensor[i];

		outlet_report(&s->out);
		if (s->also.pub)
			outlet_report(&s->also);
		if (s->unit.left_out)
			log_info("%s: %llu objects left out, more than %d", s->out.name,
				 (unsigned long long)s->unit.left_out, RADAR_OBJECTS_MAX);
	}
	log_info("%llu looks, %llu skipped, %llu messages not made since the pose was unknown",
		 (unsigned long long)a->looks, (unsigned long long)a->skipped, (unsigned long long)a->without_pose);
}

int main(int argc, char *argv[])
{
	static struct app a = {
		.args = { .name = "sim-sensors", .objects = "objects", .imu = "imu", .gps = "gps", .rank = NO_RANK }
	};
	bool attached;
	int r;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a.args);
	if (!a.args.sensors) {
		fprintf(stderr, "sim-sensors: which sensors? Give --sensors FILE.json\n");
		return 2;
	}
	(void)log_setup("sim-sensors");
	r = stop_init(&a.stop, STOP_GRACE_MS);
	if (r == 0)
		r = open_units(&a);
	if (r == 0)
		r = attach(&a);
	attached = r == 0;
	if (attached)
		r = a.step ? loop_steps(&a) : loop(&a);
	if (attached)
		report(&a);
	detach(&a);
	return r == 0 ? 0 : 1;
}
