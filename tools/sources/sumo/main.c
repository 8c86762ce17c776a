/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-sumo: a SUMO scenario as the engine of simd. Holds the driver lease of the `unity` source,
 * computes one step of SUMO, advances simulated time by it (paced at the clock's scale), then
 * publishes what is due at the new time. A pause, a step and the scale are simd's affair: the
 * advance blocks, or grants less.
 *
 * Threads: main (all of the above), "stop" (signals), and the library's.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sim/msg/GpsOdometry.h>
#include <sim/msg/VehiclePlacement.h>
#include <sim/sim.h>

#include "../origin.h"
#include "../space.h"
#include "../stop.h"
#include "control.h"
#include "feed.h"
#include "err.h"
#include "log.h"
#include "opt.h"
#include "share.h"
#include "world.h"

LOG_TOPIC("sumo");

#define STEP_NS         10000000
#define RETRY_MS        50 /* retry interval while simd, or the lease, is unavailable */
#define STOP_GRACE_MS   1500
#define SUMO_TIMEOUT_MS 30000
#define STEPS_A_S       100
#define EGO_WAIT_STEPS  (60 * STEPS_A_S)
#define BESIDE_M        100.0 /* distance over which a direction is measured: enough digits, and still straight */

struct args {
	const char *config, *socket, *binary, *ego, *name, *control, *world, *keys;
	const char *origin, *odom;
	int64_t steps, seed, range_m;
	bool free_run, lockstep, vehicle, datagrams;
};

#define OPT_VALUES struct args
static const struct opt OPTS[] = {
	OPT("config", 'c', STRING, config, "FILE", "scenario to run, a .sumocfg file (required)", .complete = "file"),
	OPT("simd-socket", 0, STRING, socket, "PATH", "control socket of simd", .complete = "file"),
	OPT("name", 0, STRING, name, "NAME", "name shown by simctl [sim-sumo]"),
	OPT("ego", 0, STRING, ego, "ID", "vehicle that carries the sensors [ego]"),
	OPT("seed", 0, INT, seed, "N", "seed of the scenario: the same one gives the same messages [1]", .min = 0,
	    .max = INT32_MAX),
	OPT("steps", 0, INT, steps, "N", "end after so many steps of 10 ms [0: never]", .min = 0, .max = INT64_MAX),
	OPT("range", 0, INT, range_m, "M", "how far objects and lights are seen, in metres [100]", .min = 1,
	    .max = 1000),
	OPT("origin", 0, STRING, origin, "LAT,LON",
	    "the map's origin in degrees, for a network without a projection, or instead of its own"),
	OPT("odom", 0, STRING, odom, "SCALE[,TURN]",
	    "tf is map to odom to base_link: the wheels' distances are off by that part, and the heading by TURN rad a metre"),
	OPT("control", 0, STRING, control, "CHANNEL",
	    "channel of VehicleControl that drives the ego; empty: none [control]"),
	OPT("vehicle", 0, FLAG, vehicle, NULL,
	    "a vehicle program, such as sim-vehicle, is the ego: SUMO's one follows it"),
	OPT("world", 0, STRING, world, "HOST:PORT",
	    "be a host of a world that others share, see sim-world(1): in step with it, and all that moves is there"),
	OPT("keys", 0, STRING, keys, "DIR[:NAME]", "with --world: by TLS 1.3, with these keys of sim-world --make-keys",
	    .complete = "file"),
	OPT("datagrams", 0, FLAG, datagrams, NULL, "with --world: what comes each tick by UDP, where it gets through"),
	OPT("free-run", 0, FLAG, free_run, NULL, "as fast as it goes instead of at the clock's scale"),
	OPT("lockstep", 0, FLAG, lockstep, NULL,
	    "each step waits until all of the last one is delivered, in one order: the same logs in each run"),
	OPT("sumo", 0, STRING, binary, "PROGRAM", "SUMO program [sumo]", .complete = "file"),
	{ 0 }
};

static const struct opt_program PROGRAM = {
	.name = "sim-sumo",
	.section = 1,
	.summary = "drive simd with a SUMO traffic scenario",
	.version = SIM_VERSION,
	.opts = OPTS,
};

struct app {
	struct args args;
	struct stop stop;
	struct sim_client *client;
	struct sim_driver *driver;
	struct sim_subscriber *orders;
	struct sim_subscriber *vehicle; /* receives the pose of the vehicle program */
	struct sim_publisher *place;
	int64_t placed_sim_ns; /* poses with a later stamp count from its placement; INT64_MAX: not placed yet */
	bool follows;          /* the ego takes the vehicle program's pose */
	bool stranded;         /* control has ended where SUMO cannot drive the ego */
	bool released;         /* control has ended in this step: SUMO may put the ego on a lane elsewhere */
	bool away;             /* SUMO has taken the ego off the road: its channels are not published */
	bool carried;          /* the ego was carried over a junction without lanes at least once */
	struct world *world;
	bool waits;           /* simd was told that time waits for the ego to depart */
	struct origin origin; /* origin of the map; unset: neither the network nor the user gives it */
	struct ego ego;
	struct odom odom;
	uint32_t odom_jumps; /* ego.jumps that odom has seen */
	struct control control;
	struct tracks tracks;
	struct feed feed;
	struct share *share;       /* NULL: the scenario is not part of a shared world */
	struct sim_params *params; /* NULL: another client has the same name */
	int64_t steps;
	struct {
		int64_t steps;
		double turned;
	} measured; /* up to when the gyro has measured */
};

/* ---- one step ---- */

/* Applies all control messages that have arrived. */
static void hear(struct app *a, int64_t now_sim_ns)
{
	const struct sim_message *msg;

	while (a->orders && sim_take(a->orders, &msg) == 0) {
		const struct sim_VehicleControl *m = sim_VehicleControl_from(msg->body, msg->body_size);

		if (m && control_take(&a->control, m, &a->ego.p, now_sim_ns) < 0 && a->control.refused == 1)
			log_warn("%s: a message has values that are no numbers, ignoring it", a->args.control);
		(void)sim_release(a->orders, msg);
	}
}

/* ---- a vehicle program ---- */

/* Takes the ego's pose from the vehicle program for exactly this instant: it has already run its step. */
static void hear_vehicle(struct app *a)
{
	const struct sim_message *msg;

	for (; a->vehicle && sim_take(a->vehicle, &msg) == 0; (void)sim_release(a->vehicle, msg)) {
		const struct sim_GpsOdometry *m = sim_GpsOdometry_from(msg->body, msg->body_size);
		struct ego_state s;

		if (!m || msg->header.stamp_sim_ns <= a->placed_sim_ns || !isfinite(m->easting) ||
		    !isfinite(m->northing) || !isfinite(m->altitude))
			continue;
		s = (struct ego_state){ .pos = { m->easting, m->northing, m->altitude },
					.yaw = space_yaw(m->orientation),
					.speed = (double)m->forward_speed,
					.yaw_rate = m->angular_velocity.z,
					.wheel_angle = (double)m->wheel_angle };
		if (!isfinite(s.yaw) || !isfinite(s.speed) || !isfinite(s.wheel_angle))
			continue;
		ego_set(&a->ego, &s);
		a->follows = true;
	}
}

/* Places the vehicle where SUMO has let the ego depart: not before, and not while the ego is off the road. */
static void place_vehicle(struct app *a)
{
	const struct ego *e = &a->ego;
	size_t cap = sim_VehiclePlacement_size(64);
	struct sim_VehiclePlacement *p;
	struct sim_builder b;
	struct sim_slot *slot;

	if (!a->args.vehicle || a->placed_sim_ns != INT64_MAX || a->away || !e->started)
		return;
	if (!sim_publisher_has_subscribers(a->place) || sim_loan(a->place, cap, &slot) < 0)
		return;
	p = sim_VehiclePlacement_init(sim_slot_body_mut(slot), cap, &b);
	p->action = SIM_VEHICLE_PLACEMENT_SPAWN;
	p->pose = (struct sim_Pose){ .position = { .x = e->pos[0], .y = e->pos[1], .z = e->pos[2] },
				     .orientation = { .z = sin(e->yaw / 2), .w = cos(e->yaw / 2) } };
	p->velocity.linear.x = e->speed;
	(void)sim_VehiclePlacement_name_set(&b, "ego");
	if (sim_slot_set_size(slot, sim_builder_size(&b)) < 0 || sim_publish_local(a->place, slot) < 0)
		return;
	a->placed_sim_ns = sim_now(a->client);
	log_info("the ego is left to the vehicle program");
}

/* Control messages have ended: SUMO drives, or, if it cannot, the ego brakes. */
static int release_ego(struct app *a)
{
	int r;

	if (a->control.active)
		a->stranded = false;
	if (!control_expired(&a->control, sim_now(a->client)))
		return 0;
	log_info("no order for %d ms: SUMO drives", CONTROL_STALE_NS / 1000000);
	a->released = true;
	r = world_release_ego(a->world);
	a->stranded = r == 1;
	return r < 0 ? r : 0;
}

/* Control messages may come before SUMO has given the ego a position; until then they do not drive it. */
static bool driven_here(const struct app *a)
{
	return a->ego.started && (a->follows || a->control.active || a->stranded);
}

/* Puts SUMO's ego where our model is. */
static int drive_ego(struct app *a, double dt_s)
{
	static const struct ego_command braking = { .gear = EGO_DRIVE, .brake = 1 };
	double x, y;

	if (!driven_here(a))
		return 0;
	if (!a->follows)
		ego_drive(&a->ego, a->stranded ? &braking : &a->control.command, dt_s);
	ego_front(&a->ego, &x, &y);
	return world_place_ego(a->world, x, y, ego_angle_deg(&a->ego), a->ego.speed);
}

/*
 * The ego has jumped from the end of a lane to the begin of the next in one step: carries it over, and logs that once.
 * An ego that SUMO teleports is taken off the road first.
 */
static void carry_over_junction(struct app *a, const struct world_ego *we, double dt_s)
{
	double gap = ego_gap(&a->ego, we->pos);

	if (gap <= EGO_JUMP_M)
		return;
	if (!a->carried)
		log_warn("the network has no lanes inside of its junctions: the ego jumps over each of them, here by %.0f m "
			 "(netconvert makes them, without --no-internal-links)",
			 gap);
	a->carried = true;
	ego_carry(&a->ego, we->pos, we->angle_deg, we->speed, dt_s);
}

/* SUMO drives: the ego takes its position. Jumps are logged. */
static void follow(struct app *a, const struct world_ego *we, double dt_s)
{
	bool over_junction = !world_has_inner_lanes(a->world) && !a->away && !a->released;
	double gap;
	uint32_t jumps;

	if (a->away != !we->present)
		log_warn("%s", we->present ? "the ego is on the road again"
					   : "SUMO has taken the ego off the road: nothing is published of it until it "
					     "is there again");
	a->away = !we->present;
	if (a->away)
		return;
	if (over_junction)
		carry_over_junction(a, we, dt_s);
	gap = ego_gap(&a->ego, we->pos);
	jumps = a->ego.jumps;
	ego_follow(&a->ego, we->pos, we->angle_deg, we->speed, dt_s);
	if (a->ego.jumps != jumps && !a->released)
		log_warn("SUMO has teleported the ego by %.0f m: it has waited too long, has collided, or its route has a "
			 "gap (timeToTeleport=\"-1\" of its vType, and collision.action, stop that)",
			 gap);
}

/* Computes the next state, before time reaches it. */
static int compute(struct app *a)
{
	const double dt_s = STEP_NS / 1e9;
	const struct world_ego *we;
	int r;

	a->released = false;
	hear(a, sim_now(a->client));
	r = release_ego(a);
	if (r == 0)
		r = drive_ego(a, dt_s);
	if (r == 0)
		r = world_step(a->world);
	if (r < 0)
		return r;
	we = world_ego(a->world);
	if (!we->known)
		return -ENODATA;
	if (driven_here(a))
		a->away = false;
	else
		follow(a, we, dt_s);
	place_vehicle(a);
	return 0;
}

static int find_fix(struct app *a, struct moment *m)
{
	const double *at = a->ego.pos;
	int r;

	if (*a->args.origin) {
		m->has_fix = origin_degrees(&a->origin, at[0], at[1], &m->lat_deg, &m->lon_deg);
		return 0;
	}
	r = world_lonlat(a->world, at[0], at[1], &m->lon_deg, &m->lat_deg);
	m->has_fix = r == 0;
	return r == -ENODATA ? 0 : r;
}

/* Requests from SUMO what the due channels need besides the ego. */
static int gather(struct app *a, unsigned due, struct moment *m)
{
	int r = 0;

	if (due & (1u << FEED_OBJECTS))
		r = world_scan(a->world, &m->objects, &m->nobjects);
	if (r == 0 && (due & (1u << FEED_SIGNALS)))
		r = world_lights(a->world, &m->lights, &m->nlights);
	if (r == 0 && (due & (1u << FEED_GPS | 1u << FEED_GPS_ODOMETRY | 1u << FEED_CAN_BUS)))
		r = find_fix(a, m);
	return r;
}

static bool is_stopped(void *app)
{
	return stop_requested(&((struct app *)app)->stop);
}

static int share(struct app *a, const struct moment *m)
{
	int r = share_turn(a->share, m, is_stopped, a);

	if (r < 0 && r != -ECANCELED)
		log_error("the world: %s", share_why());
	return r == 0 || r == -ECANCELED ? r : -EIO;
}

/* The mean yaw rate, so that its integral is the yaw, however rarely the IMU is published. */
static void measure_turning(struct app *a, struct moment *m)
{
	m->span_dur_ns = (a->steps + 1 - a->measured.steps) * STEP_NS;
	m->gyro = (a->ego.turned - a->measured.turned) / ((double)m->span_dur_ns / 1e9);
	a->measured.steps = a->steps + 1;
	a->measured.turned = a->ego.turned;
}

static void measure_odom(struct app *a)
{
	const struct ego *e = &a->ego;
	const struct odom_pose at = { .x = e->pos[0], .y = e->pos[1], .z = e->pos[2], .yaw = e->yaw };

	if (!a->odom.on || a->away)
		return;
	odom_move(&a->odom, &at, e->jumps != a->odom_jumps);
	a->odom_jumps = e->jumps;
}

static int publish(struct app *a)
{
	struct sim_clock_sample now;
	struct moment m;
	unsigned due;
	int r;

	hear_vehicle(a);
	measure_odom(a);
	sim_now_sample(a->client, &now);
	m = (struct moment){
		.stamp_sim_ns = now.sim_ns,
		.ego = &a->ego,
		.odom = a->odom.on ? &a->odom : NULL,
		.signals = world_ego(a->world)->signals,
		.external = a->control.active,
		.away = a->away,
		.altitude = a->ego.pos[2],
		.origin_easting = a->origin.easting,
		.origin_northing = a->origin.northing,
		.origin_turn = a->origin.turn,
		.tracks = &a->tracks,
		.roads = world_lanes(a->world),
		.range_m = (double)a->args.range_m,
	};
	due = feed_due(&a->feed, &now) & (a->away ? 1u << FEED_TF_STATIC : ~0u);
	if (!a->origin.given)
		due &= ~(1u << FEED_TF_STATIC);
	if (due & 1u << FEED_IMU)
		measure_turning(a, &m);
	r = gather(a, due | (a->share && !a->away ? 1u << FEED_OBJECTS : 0), &m);
	if (r == 0)
		feed_publish(&a->feed, due, &m);
	return r == 0 && a->share ? share(a, &m) : r;
}

/* ---- time ---- */

static unsigned driver_flags(const struct app *a)
{
	unsigned flags = a->args.lockstep ? SIM_DRIVER_LOCKSTEP : 0;

	if (a->args.world)
		return flags; /* the world sets the pace */
	return flags | (a->args.free_run ? SIM_DRIVER_FREEWHEEL : SIM_DRIVER_PACED);
}

/* simd is away, or another source is active: waits for the lease. -ECANCELED: stop; -EIO: permanent failure. */
static int regain(struct app *a, int why)
{
	if (why == -EPERM) {
		log_info("another time source is active: waiting");
		sim_driver_release(a->driver);
		a->driver = NULL;
	}
	while (!stop_wait(&a->stop, RETRY_MS)) {
		if (sim_client_state(a->client) == SIM_CLIENT_FAILED) {
			log_error("simd is lost: %s", sim_client_why(a->client));
			return -EIO;
		}
		if (a->driver || sim_driver_acquire(a->client, driver_flags(a), &a->driver) == 0)
			return 0;
	}
	return -ECANCELED;
}

/*
 * The scenario begins at 0, in a second run too: that is a jump, if the source can jump. In a shared world time goes
 * on; simulated time that no driver has moved yet needs no jump.
 */
static int begin_run(struct app *a)
{
	struct sim_clock_sample now;
	int r;

	sim_now_sample(a->client, &now);
	if (a->args.world || now.sim_ns == 0 || !(now.flags & SIM_CLOCK_STARTED))
		return 0;
	r = stop_jump(&a->stop, a->driver, 0);
	return r == -EOPNOTSUPP ? 0 : r;
}

/*
 * What was published for the last step goes out in its order too, before the lease goes. An advance that is still asked
 * for has seen to that, or is answered when a pause ends: that is not waited for (begin says -EBUSY).
 */
static void end_run(struct app *a)
{
	if (a->args.lockstep && a->driver && sim_driver_begin(a->driver, sim_now(a->client), false) == 0)
		(void)!sim_driver_end(a->driver, -1);
}

/* Tells the world that time stands still here, as it would wait for this host. */
static void tell_pause(void *app)
{
	const struct app *a = app;
	struct sim_clock_sample now;

	sim_now_sample(a->client, &now);
	if (now.flags & SIM_CLOCK_PAUSED)
		share_pause(a->share);
}

/* Advances by a whole step, in as many pieces as simd grants. */
static int advance(struct app *a)
{
	int64_t left = STEP_NS, granted;

	while (left > 0) {
		int r;

		if (stop_requested(&a->stop))
			return -ECANCELED;
		r = stop_advance(&a->stop, a->driver, left, a->share ? tell_pause : NULL, a, &granted);
		if (r == 0)
			left -= granted;
		else if (r == -ENOTCONN || r == -EPERM)
			r = regain(a, r);
		else if (r != -ECANCELED)
			log_error("time cannot be advanced: %s", source_why(r));
		if (r < 0)
			return r;
	}
	return 0;
}

static int loop(struct app *a)
{
	while (!a->args.steps || a->steps < a->args.steps) {
		int r = compute(a);

		if (r == -ENODATA) {
			log_info("the ego has left the scenario after %lld steps", (long long)a->steps);
			return 0;
		}
		if (r == 0 && (r = advance(a)) < 0)
			return r;
		if (r == 0)
			r = publish(a);
		if (r < 0) {
			if (r != -ECANCELED && *world_why(a->world))
				log_error("%s", world_why(a->world));
			return r;
		}
		a->steps++;
	}
	return 0;
}

/* ---- start and end ---- */

/*
 * Without one there is nothing to say of where "utm" is. It is found where the ego is: the map's point 0, 0 is often no
 * part of the network, and lies where the projection has no meaning.
 */
static int find_origin(struct app *a)
{
	const double *pos = world_ego(a->world)->pos;
	struct origin_point at = { .x = pos[0], .y = pos[1] }, beside = { .x = pos[0] + BESIDE_M, .y = pos[1] };
	int r;

	if (*a->args.origin)
		return 0; /* main() has it */
	r = world_lonlat(a->world, at.x, at.y, &at.lon_deg, &at.lat_deg);
	if (r == 0)
		r = world_lonlat(a->world, beside.x, beside.y, &beside.lon_deg, &beside.lat_deg);
	if (r == -ENODATA)
		log_warn(
			"the network has no projection: no satellite fix, latitude and longitude are 0; give its origin with "
			"--origin LAT,LON");
	else if (r < 0)
		log_error("%s", world_why(a->world));
	else if (origin_fit(&a->origin, &at, &beside) < 0)
		log_warn("where the ego is, at %g %g degrees, there are no UTM coordinates: tf_static has no frame utm",
			 at.lat_deg, at.lon_deg);
	return r == -ENODATA ? 0 : r;
}

/* Tells simd why time does not begin. A failure is ignored. */
static void tell_waits(struct app *a, const char *what)
{
	json_t *params = json_pack("{s:s}", "what", what);
	char *text = params ? json_dumps(params, 0) : NULL, *reply = NULL;

	if (text && sim_call(a->client, "DriverWaits", text, &reply) < 0)
		log_debug("simd is not told what is waited for: %s", sim_why());
	free(reply);
	free(text);
	json_decref(params);
}

static void on_waits(void *app, int64_t waited_dur_ns)
{
	struct app *a = app;
	char what[160];

	snprintf(what, sizeof(what), "vehicle \"%.60s\" to depart: %lld of %d s of the scenario have passed",
		 a->args.ego, (long long)(waited_dur_ns / 1000000000), EGO_WAIT_STEPS / STEPS_A_S);
	if (!a->waits)
		log_info("time waits for %s", what);
	a->waits = true;
	tell_waits(a, what);
}

static int open_world(struct app *a)
{
	struct world_options o = {
		.sumo = { .binary = a->args.binary,
			  .config = a->args.config,
			  .step_dur_ns = STEP_NS,
			  .seed = (uint32_t)a->args.seed },
		.ego = a->args.ego,
		.range_m = (double)a->args.range_m,
		.stop_fd = a->stop.fd,
		.timeout_ms = SUMO_TIMEOUT_MS,
		.ego_wait_steps = EGO_WAIT_STEPS,
		.waits = on_waits,
		.user = a,
	};
	char why[SUMO_WHY_MAX] = "";
	struct ego_params p;
	int r = world_open(&o, &a->world, why);

	if (r < 0) {
		if (r != -ECANCELED)
			log_error("%s", *why ? why : strerror(-r));
		return r;
	}
	if (a->waits)
		tell_waits(a, "");
	r = find_origin(a);
	if (r < 0)
		return r;
	p = ego_params_for(world_ego(a->world)->length);
	ego_init(&a->ego, &p);
	tracks_init(&a->tracks);
	return 0;
}

static int fail_client(int r, const char *what)
{
	log_error("%s: %s", what, source_why(r));
	return r;
}

static int attach_vehicle(struct app *a)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 16 };
	struct sim_publisher_options po = { .size = sizeof(po),
					    .max_body = sim_VehiclePlacement_size(64),
					    .frame_id = FRAME_MAP,
					    .flags = SIM_PUB_LOCAL };
	int r = sim_subscribe(a->client, "gps_odometry", &sim_GpsOdometry_type, &so, &a->vehicle);

	a->placed_sim_ns = INT64_MAX;
	return r < 0 ? r : sim_advertise(a->client, "place_ego", &sim_VehiclePlacement_type, &po, &a->place);
}

static void open_params(struct app *a)
{
	int r;

	a->params = rate_params(a->client, a->args.name);
	r = a->params ? feed_declare(&a->feed, a->params) : 0;
	if (r < 0)
		log_warn("not all parameters can be set: %s", source_why(r));
}

static int attach(struct app *a)
{
	struct sim_client_options co = { .size = sizeof(co), .name = a->args.name, .socket = a->args.socket };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 16 };
	int r = sim_connect(&co, &a->client);

	if (r < 0)
		return fail_client(r, "connecting to simd");
	r = feed_open(&a->feed, a->client, !a->args.vehicle, a->odom.on);
	if (r < 0)
		return fail_client(r, "advertising");
	open_params(a);
	if (a->args.vehicle) {
		r = attach_vehicle(a);
		if (r < 0)
			return fail_client(r, "the vehicle's channels");
	} else if (*a->args.control) {
		r = sim_subscribe(a->client, a->args.control, &sim_VehicleControl_type, &so, &a->orders);
		if (r < 0)
			return fail_client(r, a->args.control);
	}
	r = sim_driver_acquire(a->client, driver_flags(a), &a->driver);
	if (r < 0)
		return fail_client(r, "taking the driver's lease");
	r = begin_run(a);
	return r < 0 && r != -ECANCELED ? fail_client(r, "setting time back") : r;
}

/* The world waits for its hosts, so this one joins only when it can go on. */
static int join_world(struct app *a)
{
	const struct sim_world_options o = { .size = sizeof(o),
					     .address = a->args.world,
					     .keys = a->args.keys,
					     .name = a->args.name,
					     .flags = a->args.datagrams ? SIM_WORLD_DATAGRAMS : 0 };
	int r = a->args.world ? share_open(&o, sim_now(a->client), &a->share) : 0;

	if (r < 0)
		log_error("the world: %s", share_why());
	return r;
}

static void detach(struct app *a)
{
	world_close(a->world);
	tracks_finish(&a->tracks);
	share_close(a->share);
	sim_params_destroy(a->params);
	sim_driver_release(a->driver);
	sim_subscriber_destroy(a->orders);
	sim_subscriber_destroy(a->vehicle);
	sim_publisher_destroy(a->place);
	feed_close(&a->feed);
	sim_disconnect(a->client);
}

int main(int argc, char *argv[])
{
	static struct app a = { .args = { .binary = "sumo",
					  .ego = "ego",
					  .name = "sim-sumo",
					  .control = "control",
					  .origin = "",
					  .odom = "",
					  .seed = 1,
					  .range_m = 100 } };
	int r;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a.args);
	if (!a.args.config) {
		fprintf(stderr, "sim-sumo: which scenario? Give --config FILE.sumocfg\n");
		return 2;
	}
	(void)log_setup("sim-sumo");
	r = origin_parse(&a.origin, a.args.origin);
	if (r < 0) {
		fprintf(stderr, "sim-sumo: --origin: %s\n", err_why());
		return 2;
	}
	if (odom_parse(&a.odom, a.args.odom) < 0) {
		fprintf(stderr, "sim-sumo: --odom: %s\n", err_why());
		return 2;
	}
	if (a.odom.on && a.args.vehicle) {
		fprintf(stderr,
			"sim-sumo: --odom: with --vehicle the frames are the vehicle program's: give it to that one\n");
		return 2;
	}
	r = stop_init(&a.stop, STOP_GRACE_MS);
	if (r == 0)
		r = attach(&a);
	if (r == 0)
		r = open_world(&a);
	if (r == 0)
		r = join_world(&a);
	if (r == 0) {
		log_info("%s, seed %lld: SUMO drives time", a.args.config, (long long)a.args.seed);
		r = loop(&a);
		end_run(&a);
	}
	detach(&a);
	if (r == 0 || a.steps)
		feed_report(&a.feed);
	return r == 0 || r == -ECANCELED ? 0 : 1;
}
