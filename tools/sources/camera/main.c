/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-camera: a process that renders cameras. For each /objects message, draws its boxes, the buildings and streets around the\n * pose that /tf has for the same stamp, and the last known traffic lights, for every due camera; reads the images back into\n * loaned slots, and publishes them with the stamp of the objects.
 *
 * Without lock-step nothing waits for the device: an image that is due while earlier ones are pending is dropped and counted.\n * With --rank the step includes its images.
 *
 * Threads: main draws; "stop" (signals); "sim-jpeg" and "sim-readback" (workers); the library's (completions count; parameters are set).
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <sim/param.h>
#include <sim/sim.h>

#include "../outlet.h"
#include "../rate.h"
#include "../stop.h"
#include "cameras.h"
#include "capture.h"
#include "err.h"
#include "log.h"
#include "number.h"
#include "opt.h"
#include "render.h"
#include "stage.h"
#include "snapshot.h"
#include "streets.h"
#include "sun.h"

LOG_TOPIC("camera");

#define FRAME_MAP     "map"
#define FRAME_BASE    "base_link"
#define WAIT_NS       100000000   /* wall time: how often stopping is checked */
#define PENDING_NS    2000000     /* wall time: how often pending images are checked */
#define STEP_NS       10000000000 /* wall time: how long a step waits for the device */
#define RETRY_MS      20          /* while simd reconnects */
#define NO_RANK       (-1)
#define TF_DEPTH      16 /* at 50 Hz, poses up to 0.3 s old are still available */
#define STOP_GRACE_MS 1000
/* interval of the mounting frames, in messages: for bridges that connect late; subscribers get the latched one */
#define FRAME_EVERY 10
#define FRAME_CAP   sim_Transforms_size(CAMERAS_MAX, CAMERAS_MAX * 2 * sim_string_size(SIM_FRAME_ID_MAX))
#define DAY_NS      86400000000000
#define DEG         (M_PI / 180)
/* exit status for an error that a restart cannot mend (EX_CONFIG of sysexits.h): simd does not restart it for ever */
#define NO_DRIVER 78

struct args {
	const char *socket, *name, *cameras, *channel, *kind, *frame, *compressed, *boxes, *objects, *tf, *signals,
		*buildings, *net, *device, *png, *at;
	int64_t width, height, samples, images, rank, day;
	double rate_hz, hfov_deg, x, y, z, roll_deg, pitch_deg, yaw_deg, haze, hour, latitude, longitude;
};

#define OPT_VALUES                                  struct args
#define DOUBLE(opt_name, field, meta, lo, hi, text) OPT(opt_name, 0, DOUBLE, field, meta, text, .min = lo, .max = hi)
#define INT(opt_name, field, meta, lo, hi, text)    OPT(opt_name, 0, INT, field, meta, text, .min = lo, .max = hi)
#define STRING(opt_name, field, meta, text)         OPT(opt_name, 0, STRING, field, meta, text)
#define NOWHERE                                     1000 /* not a latitude or longitude: use the network's */

static const struct opt OPTS[] = {
	STRING("simd-socket", socket, "PATH", "control socket of simd"),
	STRING("name", name, "NAME", "name shown by simctl [sim-camera]"),
	OPT("cameras", 'c', STRING, cameras, "FILE",
	    "JSON file of several cameras, instead of the next eleven options:", .complete = "file"),
	STRING("channel", channel, "CHANNEL",
	       "channel of the images; CHANNEL/info has their calibration [camera/front]"),
	STRING("kind", kind, "KIND", "colour, depth, semantic or instance [colour]"),
	STRING("frame", frame, "NAME", "its optical frame [the channel's name with _optical appended]"),
	STRING("compressed", compressed, "CHANNEL", "channel of the images as JPEG, in addition"),
	STRING("boxes", boxes, "CHANNEL", "channel of the objects' boxes in an instance image, in addition"),
	INT("width", width, "PX", 1, LENS_SIDE_MAX, "width of the image [640]"),
	INT("height", height, "PX", 1, LENS_SIDE_MAX, "height of the image [480]"),
	DOUBLE("hfov", hfov_deg, "DEG", 1, 179, "field of view from the left to the right edge [90]"),
	DOUBLE("rate", rate_hz, "HZ", 0, 1000,
	       "images per second of simulated time, at most one for each message of objects [10]"),
	DOUBLE("x", x, "M", -50, 50, "place on the vehicle, forward of the rear axle [1.6]"),
	DOUBLE("y", y, "M", -50, 50, "left of the middle [0]"),
	DOUBLE("z", z, "M", -50, 50, "above the road [1.35]"),
	DOUBLE("roll", roll_deg, "DEG", -360, 360, "turned to the right about its axis [0]"),
	DOUBLE("pitch", pitch_deg, "DEG", -360, 360, "turned down [0]"),
	DOUBLE("yaw", yaw_deg, "DEG", -360, 360, "turned to the left [0]"),
	STRING("objects", objects, "CHANNEL", "objects around the vehicle, in base_link [objects]"),
	STRING("tf", tf, "CHANNEL", "pose of the vehicle in the map [tf]"),
	STRING("signals", signals, "CHANNEL", "traffic lights, in base_link [signals]"),
	OPT("net", 'n', STRING, net, "FILE", "SUMO network whose streets are drawn", .complete = "file"),
	OPT("buildings", 'b', STRING, buildings, "FILE", "JSON file of buildings in the map", .complete = "file"),
	INT("samples", samples, "N", 0, 4,
	    "samples per pixel of colour: 1, or 4 for smooth edges [0: 4 with a GPU, 1 if the CPU draws]"),
	DOUBLE("haze", haze, "M", 10, 1000000, "distance in which haze takes 63 % of the light [2500]"),
	DOUBLE("hour", hour, "H", -1, 24, "solar hour of the day at the first image [-1: from simulated time]"),
	INT("day", day, "N", 0, 366, "day of the year at the first image [0: from simulated time]"),
	DOUBLE("latitude", latitude, "DEG", -90, NOWHERE, "latitude for the sun's position [the network's]"),
	DOUBLE("longitude", longitude, "DEG", -180, NOWHERE, "longitude, east, for the sun's position [the network's]"),
	STRING("device", device, "TEXT", "draw with the device of Vulkan that has TEXT in its name"),
	INT("images", images, "N", 0, INT64_MAX, "exit after this many images of the first camera [0: never]"),
	OPT("png", 0, STRING, png, "FILE", "write one picture of the first camera, and exit", .complete = "file"),
	STRING("at", at, "X,Y,DEG", "with --png: draw from this pose of base_link in the map, without simd"),
	INT("rank", rank, "N", NO_RANK, SIM_STEP_RANK_MAX,
	    "take part in lock-step, with this rank in each step [-1: no]"),
	{ 0 }
};

static const struct opt_program PROGRAM = {
	.name = "sim-camera",
	.section = 1,
	.summary = "draw what cameras see of objects, buildings and streets",
	.version = SIM_VERSION,
	.opts = OPTS,
};

struct app {
	struct args args;
	struct stop stop;
	struct sim_client *client;
	struct outlet frames;
	struct sim_subscriber *objects;
	struct sim_reader *tf, *signals;
	struct sim_step *step;     /* NULL: not in lock-step */
	struct sim_params *params; /* NULL: the name is used by another node */
	struct cameras cameras;
	struct capture captures[CAMERAS_MAX];
	struct pose mounts[CAMERAS_MAX]; /* optical frames in base_link */
	struct gpu gpu;
	struct render *render;
	struct streets streets;
	bool has_streets;
	double latitude, longitude;
	struct stage scene;
	size_t n_fixed; /* number of buildings in the scene, which come first */
	struct stage lights;
	int64_t lights_sim_ns; /* their stamp */
	bool lights_known, sun_known;
	int64_t sun_ahead_ns; /* added to simulated time */
	uint64_t looks, skipped, without_pose, busy;
	bool done; /* the picture is written */
	int r;     /* negative errno that ends the process; 0: none */
};

/* ---- light ---- */

static double solar_hour(int64_t time_ns, double longitude)
{
	double h = fmod((double)(time_ns % DAY_NS) / 3.6e12 + longitude / 15, 24);

	return h < 0 ? h + 24 : h;
}

/* A year is taken as 365.2425 days, which is accurate enough for the sun. */
static double day_of_year(int64_t time_ns)
{
	return fmod((double)(time_ns / DAY_NS), 365.2425);
}

static void set_sun(struct app *a, int64_t stamp_sim_ns)
{
	double hours = 0;

	a->sun_known = true;
	if (a->args.day > 0)
		hours += 24 * round((double)a->args.day - 1 - day_of_year(stamp_sim_ns));
	if (a->args.hour >= 0)
		hours += a->args.hour - solar_hour(stamp_sim_ns, a->longitude);
	a->sun_ahead_ns = (int64_t)(hours * 3.6e12);
}

/* ---- one message ---- */

/* The vehicle's pose at that stamp. */
static bool pose_at(struct app *a, int64_t stamp_sim_ns, struct pose *ret)
{
	for (unsigned i = 0; i < TF_DEPTH; i++) {
		const struct sim_message *s = sim_reader_get(a->tf, i);
		const struct sim_Transforms *m;

		if (!s)
			break;
		m = s->header.stamp_sim_ns == stamp_sim_ns ? sim_Transforms_from(s->body, s->body_size) : NULL;
		if (m && pose_find(m, s->body_size, FRAME_MAP, FRAME_BASE, ret))
			return true;
	}
	return false;
}

/* Their positions are relative to the vehicle; converts them to the map, where they stay. */
static void look_at_lights(struct app *a)
{
	const struct sim_message *s;
	const struct sim_TrafficSignals *m;
	struct pose base;

	(void)sim_reader_observe(a->signals);
	s = sim_reader_get(a->signals, 0);
	if (!s || (a->lights_known && s->header.stamp_sim_ns == a->lights_sim_ns))
		return;
	m = sim_TrafficSignals_from(s->body, s->body_size);
	if (!m || !pose_at(a, s->header.stamp_sim_ns, &base))
		return;
	a->lights.n = 0;
	stage_add_signals(&a->lights, m, s->body_size, &base);
	a->lights_sim_ns = s->header.stamp_sim_ns;
	a->lights_known = true;
}

static void build_scene(struct app *a, const struct sim_message *msg, const struct pose *base)
{
	const struct sim_Detected3DObjects *m = msg ? sim_Detected3DObjects_from(msg->body, msg->body_size) : NULL;

	a->scene.n = a->n_fixed;
	for (size_t i = 0; i < a->lights.n && a->scene.n < STAGE_THINGS_MAX; i++)
		a->scene.things[a->scene.n++] = a->lights.things[i];
	if (m)
		stage_add_objects(&a->scene, m, msg->body_size, base);
}

static int draw(struct app *a, const struct pose *base, int64_t stamp_sim_ns, uint32_t due)
{
	struct pose views[CAMERAS_MAX];
	struct render_moment m = { .stage = &a->scene, .ground = base->at[2], .views = views, .due = due };

	if (!a->sun_known)
		set_sun(a, stamp_sim_ns);
	sun_direction(stamp_sim_ns + a->sun_ahead_ns, a->latitude, a->longitude, m.sun);
	stage_light(&a->scene, m.sun);
	for (size_t i = 0; i < a->cameras.n; i++)
		views[i] = pose_in(base, &a->mounts[i]);
	return render_draw(a->render, &m);
}

/* A frame shared by several cameras is published once. */
static bool told_before(const struct app *a, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (strcmp(a->cameras.at[k].frame_id, a->cameras.at[i].frame_id) == 0)
			return true;
	}
	return false;
}

static uint32_t count_frames(const struct app *a)
{
	uint32_t n = 0;

	for (size_t i = 0; i < a->cameras.n; i++)
		n += !told_before(a, i);
	return n;
}

/* Mounting positions of the cameras. */
static int send_frames(struct app *a)
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
	t = all ? sim_Transforms_transforms_alloc(&b, count_frames(a)) : NULL;
	if (!t)
		return outlet_send(&a->frames, slot, 0, NULL);
	all->is_static = 1;
	for (size_t i = 0; i < a->cameras.n; i++) {
		const struct pose *p = &a->mounts[i];

		if (told_before(a, i))
			continue;
		if (sim_Transform_parent_frame_set_in(&b, t, FRAME_BASE) < 0 ||
		    sim_Transform_child_frame_set_in(&b, t, a->cameras.at[i].frame_id) < 0)
			return outlet_send(&a->frames, slot, 0, NULL);
		t->translation = (struct sim_Vector3){ .x = p->at[0], .y = p->at[1], .z = p->at[2] };
		pose_quaternion(p, &t++->rotation);
	}
	return outlet_send(&a->frames, slot, sim_builder_size(&b), NULL);
}

static uint32_t due_cameras(struct app *a, const struct sim_message *msg)
{
	/* uses the stamp of the objects, not the time of processing */
	struct sim_clock_sample at = { .sim_ns = msg->header.stamp_sim_ns,
				       .clock_generation = msg->header.clock_generation };
	uint32_t due = 0;

	for (size_t i = 0; i < a->cameras.n; i++)
		due |= (uint32_t)rate_due(&a->captures[i].rate, &at) << i;
	return due;
}

static void picture(struct app *a, const struct pose *base, int64_t stamp_sim_ns)
{
	a->r = draw(a, base, stamp_sim_ns, 1);
	if (a->r == 0)
		a->r = snapshot_write(&a->gpu, a->render, 0, &a->cameras.at[0], a->args.png);
	if (a->r < 0)
		log_error("%s", err_why());
	a->done = true;
}

static void capture(struct app *a, const struct pose *base, int64_t stamp_sim_ns, uint32_t due)
{
	int r = draw(a, base, stamp_sim_ns, due);

	if (r == -EAGAIN) {
		for (size_t i = 0; i < a->cameras.n; i++)
			a->captures[i].dropped += due >> i & 1;
		a->busy++;
		return;
	}
	if (r < 0) {
		log_error("%s", err_why());
		a->r = r;
		return;
	}
	for (size_t i = 0; i < a->cameras.n; i++) {
		if (due & 1u << i)
			capture_start(&a->captures[i], render_image(a->render, i), stamp_sim_ns, &a->scene);
	}
}

static void process(struct app *a)
{
	for (size_t i = 0; i < a->cameras.n; i++)
		capture_process(&a->captures[i]);
}

static void on_objects(struct app *a, const struct sim_message *msg)
{
	int64_t stamp = msg->header.stamp_sim_ns;
	struct pose base;
	uint32_t due;

	(void)sim_reader_observe(a->tf);
	look_at_lights(a);
	due = due_cameras(a, msg);
	if (!due)
		return;
	if (a->looks++ % FRAME_EVERY == 0)
		(void)send_frames(a); /* on failure it is sent again later */
	if (!pose_at(a, stamp, &base)) {
		a->without_pose++;
		return;
	}
	build_scene(a, msg, &base);
	if (a->args.png)
		picture(a, &base, stamp);
	else
		capture(a, &base, stamp, due);
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
	return a->r < 0 || a->done || stop_requested(&a->stop) ||
	       (a->args.images && a->captures[0].images.published >= (uint64_t)a->args.images);
}

/* For r < 0: waits while the library reconnects; gives up if the client has failed for good. */
static int hold_on(struct app *a, int r)
{
	if (a->args.png) {
		log_error("%s: no picture: disconnected from simd", a->args.png);
		return r;
	}
	if (sim_client_state(a->client) != SIM_CLIENT_FAILED) {
		(void)stop_wait(&a->stop, RETRY_MS);
		return 0;
	}
	log_error("simd is lost: %s", sim_client_why(a->client));
	return r;
}

static bool pending(const struct app *a)
{
	for (size_t i = 0; i < a->cameras.n; i++) {
		if (capture_pending(&a->captures[i]))
			return true;
	}
	return false;
}

static int loop(struct app *a)
{
	while (!ended(a)) {
		int r = sim_wait(a->objects, pending(a) ? PENDING_NS : WAIT_NS);

		process(a); /* before new images are drawn */
		if (r > 0)
			drain(a);
		if (r < 0 && (r = hold_on(a, r)) < 0)
			return r;
	}
	return a->r;
}

static int join(struct app *a)
{
	return sim_step_join(a->client, (uint32_t)a->args.rank, &a->step);
}

/* Publishes in this step all images that are due in it. */
static void finish_step(struct app *a)
{
	for (size_t i = 0; i < a->cameras.n; i++) {
		if (!capture_drain(&a->captures[i], STEP_NS))
			log_warn("%s: the device has not drawn the image in time for the step",
				 a->cameras.at[i].channel);
	}
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
			finish_step(a);
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
	return a->r;
}

/* ---- start and end ---- */

static void copy(char *to, size_t cap, const char *from)
{
	snprintf(to, cap, "%s", from ? from : "");
}

static int one_camera(struct app *a)
{
	struct camera_spec c = camera_default();
	const struct args *o = &a->args;
	const struct lens_params p =
		lens_from_fov(LENS_PLUMB_BOB, (uint32_t)o->width, (uint32_t)o->height, o->hfov_deg * DEG);
	int r;

	copy(c.channel, sizeof(c.channel), o->channel);
	copy(c.frame_id, sizeof(c.frame_id), o->frame);
	copy(c.compressed, sizeof(c.compressed), o->compressed);
	copy(c.boxes, sizeof(c.boxes), o->boxes);
	if (!camera_kind_from(o->kind, &c.kind))
		return err_set(-EINVAL, "--kind %s: colour, depth, semantic or instance", o->kind);
	c.at[0] = o->x;
	c.at[1] = o->y;
	c.at[2] = o->z;
	c.roll = o->roll_deg * DEG;
	c.pitch = o->pitch_deg * DEG;
	c.yaw = o->yaw_deg * DEG;
	c.rate_hz = o->rate_hz;
	r = camera_complete(&c, &p, "the camera");
	a->cameras.at[0] = c;
	a->cameras.n = 1;
	return r;
}

static int open_cameras(struct app *a)
{
	/* forward, left and up are z, -x and -y of the optical frame */
	const struct pose optical = { .axes = { 0, 0, 1, -1, 0, 0, 0, -1, 0 } };
	int r = a->args.cameras ? cameras_load(a->args.cameras, &a->cameras) : one_camera(a);

	for (size_t i = 0; i < a->cameras.n && r == 0; i++) {
		const struct camera_spec *c = &a->cameras.at[i];
		struct pose mount = pose_from_rpy(c->at, c->roll, c->pitch, c->yaw);

		a->mounts[i] = pose_in(&mount, &optical);
	}
	return r;
}

static int open_world(struct app *a)
{
	struct net net = { .latitude = NAN, .longitude = NAN };
	int r = a->args.net ? net_load(a->args.net, &net) : 0;

	if (r == 0 && a->args.net) {
		r = streets_build(&net, &a->streets);
		a->has_streets = r == 0;
	}
	if (r == 0 && a->args.buildings)
		r = stage_add_buildings(&a->scene, a->args.buildings);
	a->n_fixed = a->scene.n;
	a->latitude = a->args.latitude < NOWHERE ? a->args.latitude : isfinite(net.latitude) ? net.latitude : 0;
	a->longitude = a->args.longitude < NOWHERE ? a->args.longitude : isfinite(net.longitude) ? net.longitude : 0;
	net_free(&net);
	return r;
}

static int open_render(struct app *a)
{
	struct render_camera cameras[CAMERAS_MAX];
	const struct render_options o = { .cameras = cameras,
					  .n = a->cameras.n,
					  .streets = a->has_streets ? &a->streets : NULL,
					  .samples = (unsigned)a->args.samples,
					  .haze_m = a->args.haze };

	for (size_t i = 0; i < a->cameras.n; i++)
		cameras[i] = (struct render_camera){ a->cameras.at[i].kind, a->cameras.at[i].lens };
	return render_create(&a->gpu, &o, &a->render);
}

static void open_params(struct app *a)
{
	char names[CAMERAS_MAX][CAMERAS_NAME + 16];
	int r = 0;

	a->params = rate_params(a->client, a->args.name);
	for (size_t i = 0; i < a->cameras.n && a->params && r == 0; i++) {
		const struct rate_param p = { .name = a->cameras.n == 1 ? "frequency" : names[i],
					      .description = "[Hz] images per second of simulated time",
					      .initial = a->cameras.at[i].rate_hz,
					      .min = 0.001,
					      .max = 1000 };

		snprintf(names[i], sizeof(names[i]), "%s.frequency", a->cameras.at[i].channel);
		for (char *s = names[i]; *s; s++)
			*s = *s == '/' ? '.' : *s;
		r = rate_declare(&a->captures[i].rate, a->params, &p);
	}
	if (r < 0)
		log_warn("not all parameters can be set: %s", source_why(r));
}

static int attach_inputs(struct app *a, const char **what)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 4 };
	struct sim_publisher_options fo = {
		.size = sizeof(fo), .max_body = FRAME_CAP, .frame_id = FRAME_BASE, .flags = SIM_PUB_LATCH
	};
	int r;

	*what = "tf_static";
	r = sim_advertise(a->client, "tf_static", &sim_Transforms_type, &fo, &a->frames.pub);
	if (r == 0) {
		*what = a->args.tf;
		r = sim_reader_create(a->client, a->args.tf, &sim_Transforms_type, TF_DEPTH, &a->tf);
	}
	if (r == 0) {
		*what = a->args.signals;
		r = sim_reader_create(a->client, a->args.signals, &sim_TrafficSignals_type, 1, &a->signals);
	}
	if (r == 0) {
		*what = a->args.objects;
		r = sim_subscribe(a->client, a->args.objects, &sim_Detected3DObjects_type, &so, &a->objects);
	}
	return r;
}

static int attach(struct app *a)
{
	struct sim_client_options co = { .size = sizeof(co), .name = a->args.name, .socket = a->args.socket };
	const char *what = "connecting to simd";
	int r = sim_connect(&co, &a->client);

	if (r == 0)
		r = attach_inputs(a, &what);
	for (size_t i = 0; i < a->cameras.n && r == 0; i++) {
		r = capture_open(&a->captures[i], a->client, &a->cameras.at[i], &a->gpu, a->args.name);
		if (r < 0)
			return r; /* capture_open() has logged why */
	}
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
	sim_reader_destroy(a->signals);
	for (size_t i = 0; i < a->cameras.n && a->client; i++)
		capture_close(&a->captures[i]);
	sim_publisher_destroy(a->frames.pub);
	sim_disconnect(a->client);
	render_destroy(a->render);
	if (a->has_streets)
		streets_free(&a->streets);
	gpu_close(&a->gpu);
}

/* For --at: without simd. */
static int picture_alone(struct app *a)
{
	double at[3]; /* x, y, degrees; then x, y, z */
	double deg;
	struct pose base;

	if (number_f64s(a->args.at, at, 3) != 3) {
		log_error("--at %s: needs X,Y,DEG", a->args.at);
		return -EINVAL;
	}
	deg = at[2];
	at[2] = 0;
	base = pose_from_rpy(at, 0, 0, deg * DEG);
	build_scene(a, NULL, &base);
	picture(a, &base, 0);
	return a->r;
}

static int run(struct app *a)
{
	int r;

	if (a->args.at)
		return picture_alone(a);
	r = attach(a);
	if (r == 0)
		r = a->step ? loop_steps(a) : loop(a);
	log_info(
		"%llu looks, %llu skipped, %llu without a pose, %llu while the device was busy; %llu things left out for lack of room",
		(unsigned long long)a->looks, (unsigned long long)a->skipped, (unsigned long long)a->without_pose,
		(unsigned long long)a->busy, (unsigned long long)(a->scene.left_out + render_left_out(a->render)));
	return r;
}

static int check(const struct args *o)
{
	if (o->at && !o->png)
		return err_set(-EINVAL, "--at: only with --png");
	if (o->samples > 1 && o->samples != 4)
		return err_set(-EINVAL, "--samples: 0, 1 or 4");
	return 0;
}

int main(int argc, char *argv[])
{
	static struct app a = { .args = { .name = "sim-camera",
					  .channel = "camera/front",
					  .kind = "colour",
					  .objects = "objects",
					  .tf = "tf",
					  .signals = "signals",
					  .width = 640,
					  .height = 480,
					  .hfov_deg = 90,
					  .rate_hz = 10,
					  .x = 1.6,
					  .z = 1.35,
					  .haze = 2500,
					  .hour = -1,
					  .latitude = NOWHERE,
					  .longitude = NOWHERE,
					  .rank = NO_RANK } };
	bool no_driver = false;
	int r;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a.args);
	(void)log_setup("sim-camera");
	r = stop_init(&a.stop, STOP_GRACE_MS);
	if (r == 0)
		r = check(&a.args);
	if (r == 0)
		r = open_cameras(&a);
	if (r == 0)
		r = open_world(&a);
	if (r == 0) {
		r = gpu_open(&a.gpu, a.args.device);
		no_driver = r == -ENOENT || r == -EOPNOTSUPP;
	}
	if (r == 0)
		r = open_render(&a);
	if (r < 0)
		log_error("%s", err_why());
	if (r == 0) {
		log_info("drawing with %s", a.gpu.name);
		r = run(&a);
	}
	detach(&a);
	return r == 0 ? 0 : no_driver ? NO_DRIVER : 1;
}
