/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-lidar: a process that simulates a lidar. For each /objects message, ray-casts its boxes, the buildings around the pose\n * that /tf has for the same stamp, and the road directly into a loaned slot, and publishes it with the stamp of the objects.
 *
 * A cloud that is still being delivered to a bridge holds the channel's exclusive token: the next one is then dropped and\n * counted, so that a bridge never gets clouds out of order or a growing backlog.
 *
 * With --rank it takes part in lock-step: time waits for the clouds of each moment, and a run repeats bit for bit.
 *
 * Threads: main, "stop" (signals), and the library's (completions count; parameters are set).
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <sim/param.h>
#include <sim/point_cloud.h>
#include <sim/sim.h>

#include "../outlet.h"
#include "../rate.h"
#include "../scene/scan.h"
#include "../scene/scene.h"
#include "../stop.h"
#include "log.h"
#include "opt.h"

LOG_TOPIC("lidar");

#define FRAME_MAP     "map"
#define FRAME_BASE    "base_link"
#define WAIT_NS       100000000 /* wall time: how often stopping is checked */
#define RETRY_MS      20        /* while simd reconnects */
#define NO_RANK       (-1)
#define TF_DEPTH      16 /* at 50 Hz, poses up to 0.3 s old are still available */
#define STOP_GRACE_MS 1000
/* interval of the mounting frame, in turns: for bridges that connect late; subscribers get the latched one */
#define FRAME_EVERY 10
#define FRAME_CAP   sim_Transforms_size(1, 2 * sim_string_size(SIM_FRAME_ID_MAX))
#define SCENE_RANGE 200.0 /* m: buildings further away are skipped */
#define RATE_MIN_HZ 1.0
#define RATE_MAX_HZ 100.0

struct args {
	const char *socket, *name, *channel, *objects, *tf, *frame, *buildings;
	int64_t beams, columns, seed, scans, rank;
	double rate_hz, lowest_deg, highest_deg, range, x, y, z, noise;
};

#define OPT_VALUES                                  struct args
#define DOUBLE(opt_name, field, meta, lo, hi, text) OPT(opt_name, 0, DOUBLE, field, meta, text, .min = lo, .max = hi)
#define STRING(opt_name, field, meta, text)         OPT(opt_name, 0, STRING, field, meta, text)

static const struct opt OPTS[] = {
	STRING("simd-socket", socket, "PATH", "control socket of simd"),
	STRING("name", name, "NAME", "name shown by simctl [sim-lidar]"),
	STRING("channel", channel, "CHANNEL", "channel of the clouds [lidar/top]"),
	STRING("objects", objects, "CHANNEL", "objects around the vehicle, in base_link [objects]"),
	STRING("tf", tf, "CHANNEL", "pose of the vehicle, for buildings [tf]"),
	STRING("frame", frame, "NAME", "frame of the sensor [lidar_top]"),
	OPT("buildings", 'b', STRING, buildings, "FILE", "JSON file of buildings in the map", .complete = "file"),
	DOUBLE("rate", rate_hz, "HZ", RATE_MIN_HZ, RATE_MAX_HZ,
	       "turns per second of simulated time, at most one for each message of objects [10]"),
	OPT("beams", 0, INT, beams, "N", "lasers [64]", .min = 1, .max = SCAN_BEAMS_MAX),
	OPT("columns", 0, INT, columns, "N", "directions of a turn [1800]", .min = 8, .max = SCAN_COLUMNS_MAX),
	DOUBLE("lowest", lowest_deg, "DEG", -85, 85, "elevation of the lowest laser [-24.8]"),
	DOUBLE("highest", highest_deg, "DEG", -85, 85, "elevation of the highest laser [2]"),
	DOUBLE("max-range", range, "M", 2, 10000, "maximum range [120]"),
	DOUBLE("x", x, "M", -50, 50, "place on the vehicle, forward of the rear axle [1.4]"),
	DOUBLE("y", y, "M", -50, 50, "left of the middle [0]"),
	DOUBLE("z", z, "M", 0, 50, "above the road [1.9]"),
	DOUBLE("noise", noise, "M", 0, 10, "standard deviation of the distance [0]"),
	OPT("seed", 0, INT, seed, "N", "seed of the noise [1]", .min = 0, .max = INT32_MAX),
	OPT("scans", 0, INT, scans, "N", "exit after this many turns [0: never]", .min = 0, .max = INT64_MAX),
	OPT("rank", 0, INT, rank, "N", "take part in lock-step, with this rank in each step [-1: no]", .min = NO_RANK,
	    .max = SIM_STEP_RANK_MAX),
	{ 0 }
};

static const struct opt_program PROGRAM = {
	.name = "sim-lidar",
	.section = 1,
	.summary = "ray-cast a lidar from objects and buildings",
	.version = SIM_VERSION,
	.opts = OPTS,
};

struct app {
	struct args args;
	struct stop stop;
	struct sim_client *client;
	struct outlet clouds, frames;
	struct sim_subscriber *objects;
	struct sim_reader *tf;
	struct sim_token *token;
	struct sim_step *step;     /* NULL: not in lock-step */
	struct sim_params *params; /* NULL: the name is used by another node */
	struct rate rate;
	struct scan *scan;
	struct scene_mount mount;
	struct scene_buildings buildings;
	struct scan_box boxes[SCENE_BOXES_MAX];
	uint64_t looks, skipped, without_pose;
};

/* ---- one turn ---- */

/* The vehicle's pose at that stamp. */
static int pose_at(struct app *a, int64_t stamp_sim_ns, struct scene_pose *ret)
{
	(void)sim_reader_observe(a->tf);
	for (unsigned i = 0; i < TF_DEPTH; i++) {
		const struct sim_message *s = sim_reader_get(a->tf, i);
		const struct sim_Transforms *m;

		if (!s)
			break;
		m = s->header.stamp_sim_ns == stamp_sim_ns ? sim_Transforms_from(s->body, s->body_size) : NULL;
		if (m && scene_pose_of(m, s->body_size, FRAME_MAP, FRAME_BASE, ret) == 0)
			return 0;
	}
	return -ENOENT;
}

static size_t look(struct app *a, const struct sim_message *msg)
{
	const struct sim_Detected3DObjects *m = sim_Detected3DObjects_from(msg->body, msg->body_size);
	struct scene_pose base;
	size_t n = 0;

	if (m)
		n = scene_add_objects(m, msg->body_size, &a->mount, a->boxes, n);
	if (a->buildings.n == 0)
		return n;
	if (pose_at(a, msg->header.stamp_sim_ns, &base) == 0)
		return scene_add_buildings(&a->buildings, &base, &a->mount, SCENE_RANGE, a->boxes, n);
	a->without_pose++;
	return n;
}

/* Publishes the sensor's mounting position. */
static int send_frame(struct app *a)
{
	size_t cap = FRAME_CAP;
	struct sim_Transforms *all;
	struct sim_Transform *t;
	struct sim_builder b;
	struct sim_slot *slot;
	int r = sim_loan(a->frames.pub, cap, &slot);

	if (r < 0)
		return r;
	all = sim_Transforms_init(sim_slot_body_mut(slot), cap, &b);
	t = all ? sim_Transforms_transforms_alloc(&b, 1) : NULL;
	if (!t || sim_Transform_parent_frame_set_in(&b, t, FRAME_BASE) < 0 ||
	    sim_Transform_child_frame_set_in(&b, t, a->args.frame) < 0)
		return outlet_send(&a->frames, slot, 0, NULL);
	all->is_static = 1;
	t->translation = (struct sim_Vector3){ .x = a->mount.x, .y = a->mount.y, .z = a->mount.z };
	t->rotation.w = 1;
	return outlet_send(&a->frames, slot, sim_builder_size(&b), NULL);
}

static int turn(struct app *a, const struct sim_message *objects)
{
	size_t n_boxes = look(a, objects), max = scan_points_max(a->scan), cap = sim_point_cloud_size(max);
	struct sim_builder b;
	struct sim_Point *points;
	struct sim_slot *slot;
	int r = sim_loan(a->clouds.pub, cap, &slot);

	if (r < 0)
		return r;
	slot->stamp_sim_ns = objects->header.stamp_sim_ns;
	points = sim_point_cloud_begin(sim_slot_body_mut(slot), cap, (uint32_t)max, &b);
	if (!points)
		return outlet_send(&a->clouds, slot, 0, NULL);
	sim_point_cloud_trim(&b, (uint32_t)scan_turn(a->scan, a->boxes, n_boxes, points));
	return outlet_send(&a->clouds, slot, sim_builder_size(&b), a->token);
}

static void on_objects(struct app *a, const struct sim_message *msg)
{
	/* uses the stamp of the objects, not the time of processing */
	struct sim_clock_sample at = { .sim_ns = msg->header.stamp_sim_ns,
				       .clock_generation = msg->header.clock_generation };

	if (!rate_due(&a->rate, &at))
		return;
	if (a->looks++ % FRAME_EVERY == 0)
		(void)send_frame(a); /* on failure it is sent again later */
	outlet_count(&a->clouds, turn(a, msg));
}

/* Only the newest message is processed; older ones in the queue are skipped. */
static void drain(struct app *a)
{
	const struct sim_message *msg, *newest = NULL;

	while (sim_take(a->objects, &msg) == 0) {
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

static bool ended(struct app *a)
{
	return stop_requested(&a->stop) || (a->args.scans && a->clouds.published >= (uint64_t)a->args.scans);
}

/* For r < 0: waits while the library reconnects; gives up if the client has failed for good. */
static int hold_on(struct app *a, int r)
{
	if (sim_client_state(a->client) != SIM_CLIENT_FAILED) {
		(void)stop_wait(&a->stop, RETRY_MS);
		return 0;
	}
	log_error("simd is lost: %s", sim_client_why(a->client));
	return r;
}

static int loop(struct app *a)
{
	while (!ended(a)) {
		int r = sim_wait(a->objects, WAIT_NS);

		if (r > 0)
			drain(a);
		if (r < 0 && (r = hold_on(a, r)) < 0)
			return r;
	}
	return 0;
}

static int join(struct app *a)
{
	return sim_step_join(a->client, (uint32_t)a->args.rank, &a->step);
}

/* In lock-step: processes in its turn what has arrived by then. */
static int loop_steps(struct app *a)
{
	while (!ended(a)) {
		struct sim_step_turn turn;
		int r = a->step ? 0 : join(a);

		if (r == 0)
			r = sim_step_wait(a->step, WAIT_NS, &turn);
		if (r == 0) {
			drain(a);
			r = sim_step_done(a->step);
		}
		if (r == -ECONNABORTED) {
			log_warn("late, and dropped out of the step: joining again");
			sim_step_leave(a->step);
			a->step = NULL;
		} else if (r < 0 && r != -ETIMEDOUT && (r = hold_on(a, r)) < 0) {
			return r;
		}
	}
	return 0;
}

/* ---- start and end ---- */

static int open_scan(struct app *a)
{
	struct scan_params p = scan_params_default();
	const char *why = "no memory";
	int r;

	p.beams = (unsigned)a->args.beams;
	p.columns = (unsigned)a->args.columns;
	p.lowest_rad = a->args.lowest_deg * M_PI / 180;
	p.highest_rad = a->args.highest_deg * M_PI / 180;
	p.range_max = a->args.range;
	p.height = a->args.z;
	p.noise_sigma = a->args.noise;
	p.seed = (uint64_t)a->args.seed;
	a->mount = (struct scene_mount){ .x = a->args.x, .y = a->args.y, .z = a->args.z };
	r = scan_create(&p, &a->scan, &why);
	if (r < 0)
		log_error("invalid parameters of the sensor: %s", why);
	return r;
}

static int open_buildings(struct app *a)
{
	char why[512] = "no memory";
	int r;

	if (!a->args.buildings)
		return 0;
	r = scene_buildings_load(a->args.buildings, &a->buildings, why, sizeof(why));
	if (r < 0)
		log_error("%s", why);
	return r;
}

static int declare_int(struct app *a, const char *name, int64_t i, const char *description)
{
	struct sim_param_options o = { .size = sizeof(o), .description = description, .read_only = true };
	struct sim_param_value v = sim_param_int(i);

	return sim_params_declare(a->params, name, &v, &o);
}

static void open_params(struct app *a)
{
	const struct rate_param rate = { .name = "frequency",
					 .description = "[Hz] turns per second of simulated time",
					 .initial = a->args.rate_hz,
					 .min = RATE_MIN_HZ,
					 .max = RATE_MAX_HZ };
	int r;

	a->params = rate_params(a->client, a->args.name);
	if (!a->params)
		return;
	r = rate_declare(&a->rate, a->params, &rate);
	if (r == 0)
		r = declare_int(a, "beams", a->args.beams, "[-] lasers");
	if (r == 0)
		r = declare_int(a, "columns", a->args.columns, "[-] directions of a turn");
	if (r < 0)
		log_warn("not all parameters can be set: %s", source_why(r));
}

static int attach(struct app *a)
{
	struct sim_client_options co = { .size = sizeof(co), .name = a->args.name, .socket = a->args.socket };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 4 };
	struct sim_publisher_options po = { .size = sizeof(po), .frame_id = a->args.frame };
	struct sim_publisher_options fo = {
		.size = sizeof(fo), .max_body = FRAME_CAP, .frame_id = FRAME_BASE, .flags = SIM_PUB_LATCH
	};
	const char *what = "connecting to simd";
	int r = sim_connect(&co, &a->client);

	if (r == 0) {
		what = a->clouds.name = a->args.channel;
		po.max_body = sim_point_cloud_size(scan_points_max(a->scan));
		r = sim_advertise(a->client, a->args.channel, &sim_PointCloud_type, &po, &a->clouds.pub);
	}
	if (r == 0)
		r = sim_token_open(a->client, a->args.name, &a->token);
	if (r == 0) {
		what = "tf_static";
		r = sim_advertise(a->client, "tf_static", &sim_Transforms_type, &fo, &a->frames.pub);
	}
	if (r == 0 && a->buildings.n) {
		what = a->args.tf;
		r = sim_reader_create(a->client, a->args.tf, &sim_Transforms_type, TF_DEPTH, &a->tf);
	}
	if (r == 0) {
		what = a->args.objects;
		r = sim_subscribe(a->client, a->args.objects, &sim_Detected3DObjects_type, &so, &a->objects);
	}
	if (r == 0)
		r = rate_init(&a->rate, a->args.rate_hz);
	if (r == 0)
		open_params(a);
	if (r == 0 && a->args.rank != NO_RANK) {
		what = "taking part in lock-step";
		r = join(a);
	} else if (r == 0) {
		what = "reporting to simd that it is ready";
		r = sim_client_ready(a->client);
	}
	if (r < 0)
		log_error("%s: %s", what, source_why(r));
	return r;
}

static void detach(struct app *a)
{
	sim_step_leave(a->step);
	sim_params_destroy(a->params);
	sim_subscriber_destroy(a->objects);
	sim_reader_destroy(a->tf);
	sim_publisher_destroy(a->clouds.pub);
	sim_publisher_destroy(a->frames.pub);
	if (a->token)
		sim_token_close(a->token);
	sim_disconnect(a->client);
	scan_destroy(a->scan);
	scene_buildings_free(&a->buildings);
}

int main(int argc, char *argv[])
{
	static struct app a = { .args = { .name = "sim-lidar",
					  .channel = "lidar/top",
					  .objects = "objects",
					  .tf = "tf",
					  .frame = "lidar_top",
					  .beams = 64,
					  .columns = 1800,
					  .seed = 1,
					  .rank = NO_RANK,
					  .rate_hz = 10,
					  .lowest_deg = -24.8,
					  .highest_deg = 2,
					  .range = 120,
					  .x = 1.4,
					  .z = 1.9 } };
	int r;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a.args);
	(void)log_setup("sim-lidar");
	r = stop_init(&a.stop, STOP_GRACE_MS);
	if (r == 0)
		r = open_scan(&a);
	if (r == 0)
		r = open_buildings(&a);
	if (r == 0)
		r = attach(&a);
	if (r == 0)
		r = a.step ? loop_steps(&a) : loop(&a);
	log_info(
		"%llu turns published, %llu refused, %llu looks skipped, %llu without a pose, %llu delivered, %llu not delivered",
		(unsigned long long)a.clouds.published, (unsigned long long)a.clouds.refused,
		(unsigned long long)a.skipped, (unsigned long long)a.without_pose,
		(unsigned long long)atomic_load(&a.clouds.done), (unsigned long long)atomic_load(&a.clouds.failed));
	detach(&a);
	return r == 0 ? 0 : 1;
}
