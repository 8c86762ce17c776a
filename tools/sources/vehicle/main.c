/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-vehicle: a vehicle that obeys VehicleControl. It is a step participant: a driver's steps wait for it; with a
 * wall-driven source it follows the clock in steps of its own.
 *
 *
 *
 * Threads: main (all of the model), "ahead" (moves it before time does), "stop" (signals), and the library's (services,
 * completions).
 */
#include <errno.h>
#include <stdio.h>

#include <sim/sim.h>

#include "../stop.h"
#include "err.h"
#include "attach.h"
#include "log.h"
#include "opt.h"

LOG_TOPIC("vehicle");

#define RANK_DEFAULT  100
#define PERIOD_NS     INT64_C(10000000)  /* of the model, with a wall-driven source */
#define WAIT_NS       INT64_C(100000000) /* wall: how often a stop is checked for */
#define POLL_NS       INT64_C(2000000)   /* wall: how often a wall-driven clock is read */
#define RETRY_MS      50
#define STOP_GRACE_MS 1000
#define RATE_MAX_HZ   10000.0

struct args {
	const char *params, *socket, *name, *origin, *odom;
	int64_t rank;
	double x, y, z, yaw, rate_hz;
};

#define OPT_VALUES                                  struct args
#define DOUBLE(opt_name, field, meta, lo, hi, text) OPT(opt_name, 0, DOUBLE, field, meta, text, .min = lo, .max = hi)

static const struct opt OPTS[] = {
	OPT("params", 'p', STRING, params, "FILE", "JSON file of the vehicle's parameters (required)",
	    .complete = "file"),
	DOUBLE("x", x, "M", -1000000000, 1000000000, "where it stands in the map [0]"),
	DOUBLE("y", y, "M", -1000000000, 1000000000, "where it stands in the map [0]"),
	DOUBLE("z", z, "M", -100000, 100000, "height of the ground [0]"),
	DOUBLE("yaw", yaw, "RAD", -7, 7, "where it looks, 0 is east, anticlockwise [0]"),
	OPT("origin", 0, STRING, origin, "LAT,LON",
	    "the map's origin in degrees; without it there is no satellite fix"),
	OPT("odom", 0, STRING, odom, "SCALE[,TURN]",
	    "tf is map to odom to base_link: the wheels' distances are off by that part, and the heading by TURN rad a metre"),
	OPT("rank", 0, INT, rank, "N", "its turn in each step [100]", .min = 0, .max = SIM_STEP_RANK_MAX),
	DOUBLE("rate", rate_hz, "HZ", 0, RATE_MAX_HZ, "messages a second of each channel [0: at every step]"),
	OPT("simd-socket", 0, STRING, socket, "PATH", "control socket of simd", .complete = "file"),
	OPT("name", 0, STRING, name, "NAME", "name shown by simctl [sim-vehicle]"),
	{ 0 }
};

static const struct opt_program PROGRAM = {
	.name = "sim-vehicle",
	.section = 1,
	.summary = "a vehicle that obeys control messages",
	.version = SIM_VERSION,
	.opts = OPTS,
};

struct app {
	struct args args;
	struct stop stop;
	struct sim_client *client;
	struct sim_step *step;
	struct vehicle_link link;
	struct sim_params *params; /* NULL: another client has the same name */
	struct vehicle vehicle;
	struct origin origin;
	struct odom odom;
};

/* ---- steps ---- */

static bool runs_by_itself(const struct app *a, struct sim_clock_sample *ret)
{
	sim_now_sample(a->client, ret);
	return !(ret->flags & (SIM_CLOCK_DRIVEN | SIM_CLOCK_PAUSED | SIM_CLOCK_STEPPING | SIM_CLOCK_STALE)) &&
	       (ret->flags & SIM_CLOCK_STARTED) && ret->rate_e6 > 0;
}

/* Follows the wall clock: a model step every 10 ms, at multiples of 10 ms, as soon as this thread runs. */
static void follow(struct app *a, struct sim_clock_sample now)
{
	const struct vehicle *v = &a->vehicle;

	now.sim_ns -= now.sim_ns % PERIOD_NS;
	if (!v->started || v->clock_generation != now.clock_generation || now.sim_ns >= v->at_sim_ns + PERIOD_NS)
		vehicle_link_turn(&a->link, &now);
}

/* simd is away, or this participant was late: joins again. -ECANCELED: stop; -EIO: permanent failure. */
static int rejoin(struct app *a, int why)
{
	if (why == -ECONNABORTED) {
		log_warn("late, and dropped out of the step: joining again");
		sim_step_leave(a->step);
		a->step = NULL;
	}
	do {
		if (sim_client_state(a->client) == SIM_CLIENT_FAILED)
			return err_set(-EIO, "simd is lost: %s", sim_client_why(a->client));
		if (a->step || sim_step_join(a->client, (uint32_t)a->args.rank, &a->step) == 0)
			return stop_wait(&a->stop, a->step && why == -ENOTCONN ? RETRY_MS : 0) ? -ECANCELED : 0;
	} while (!stop_wait(&a->stop, RETRY_MS));
	return -ECANCELED;
}

static int loop(struct app *a)
{
	while (!stop_requested(&a->stop)) {
		struct sim_clock_sample now;
		struct sim_step_turn turn;
		bool free_run = runs_by_itself(a, &now);
		int r;

		if (free_run)
			follow(a, now);
		r = sim_step_wait(a->step, free_run ? POLL_NS : WAIT_NS, &turn);
		if (r == 0) {
			vehicle_link_turn(&a->link, &turn.now);
			r = sim_step_done(a->step);
		}
		if (r < 0 && r != -ETIMEDOUT && (r = rejoin(a, r)) < 0)
			return r == -ECANCELED ? 0 : r;
	}
	return 0;
}

/* ---- start and end ---- */

static int open_vehicle(struct app *a)
{
	const struct model_place at = { .x = a->args.x, .y = a->args.y, .z = a->args.z, .yaw = a->args.yaw };
	struct vehicle_params p;
	int r = origin_parse(&a->origin, a->args.origin);

	if (r < 0)
		return err_prefix(r, "--origin");
	r = odom_parse(&a->odom, a->args.odom);
	if (r < 0)
		return err_prefix(r, "--odom");
	r = params_load(a->args.params, &p);
	if (r < 0)
		return r;
	vehicle_init(&a->vehicle, &p, &at);
	log_info("%s, %g m between the axles", params_models[p.model], p.wheel_base);
	return 0;
}

static void open_params(struct app *a)
{
	const struct rate_param rate = { .name = "frequency",
					 .description = "[Hz] messages a second of each channel; 0: at every step",
					 .initial = a->args.rate_hz,
					 .max = RATE_MAX_HZ };

	a->params = rate_params(a->client, a->args.name);
	if (a->params && rate_declare(&a->link.rate, a->params, &rate) < 0)
		log_warn("the frequency cannot be set: %s", sim_why());
}

static int attach(struct app *a)
{
	struct sim_client_options co = { .size = sizeof(co), .name = a->args.name, .socket = a->args.socket };
	int r = sim_connect(&co, &a->client);

	if (r < 0)
		return err_set(r, "connecting to simd: %s", source_why(r));
	r = vehicle_link_open(&a->link, a->client, a->args.rate_hz, &a->vehicle, &a->origin, &a->odom);
	if (r == 0)
		r = vehicle_link_serve_ahead(&a->link);
	if (r < 0)
		return r;
	open_params(a);
	r = sim_step_join(a->client, (uint32_t)a->args.rank, &a->step);
	return r < 0 ? err_set(r, "taking part in steps: %s", source_why(r)) : 0;
}

static void detach(struct app *a)
{
	if (!a->client)
		return;
	sim_step_leave(a->step);
	vehicle_link_report(&a->link);
	sim_params_destroy(a->params);
	vehicle_link_close(&a->link);
	sim_disconnect(a->client);
}

int main(int argc, char *argv[])
{
	static struct app a = { .args = { .name = "sim-vehicle", .odom = "", .rank = RANK_DEFAULT } };
	int r;

	opt_parse_or_exit(&PROGRAM, argc, argv, &a.args);
	if (!a.args.params) {
		fprintf(stderr, "sim-vehicle: which vehicle? Give --params FILE.json\n");
		return 2;
	}
	(void)log_setup("sim-vehicle");
	r = stop_init(&a.stop, STOP_GRACE_MS);
	if (r == 0)
		r = open_vehicle(&a);
	if (r == 0)
		r = attach(&a);
	if (r == 0)
		r = loop(&a);
	if (r < 0)
		log_error("%s", *err_why() ? err_why() : err_text(r));
	detach(&a);
	return r < 0 ? 1 : 0;
}
