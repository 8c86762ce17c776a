/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simd that is a host of a world, with real processes: simd, RouDi, sim-vehicle, sim-join, sim-world. The other host is this test.
 */
#include "tests/support/stack.h"

#include <math.h>
#include <signal.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Transforms.h>
#include <sim/sim.h>
#include <sim/world.h>

#include "server.h"

static struct server server;

/* simd with the rig's processes. */
static pid_t start(const char *processes)
{
	char conf[1024];

	snprintf(conf, sizeof(conf), "\"TimeSource\":\"unity\",\"rigs\":[{\"name\":\"rig\",\"processes\":[%s]}]",
		 processes);
	return stack_start(conf);
}

static struct sim_world *join(struct sim_world_tick *ret_tick)
{
	const struct sim_world_options o = {
		.size = sizeof(o), .address = server.address, .name = "test", .timeout_ms = SERVER_NO_LIMIT_MS
	};
	struct sim_world *w;

	if (sim_world_connect(&o, &w) < 0 || sim_world_wait(w, -1, ret_tick) < 0)
		fail_msg("%s", sim_world_why());
	return w;
}

/* Along x, a hundred metres a tick, so that its place says of which tick it is. */
static void step(struct sim_world *w, struct sim_world_tick *t)
{
	static const struct sim_world_shape shape = { .model = "van", .size = { 6, 2, 3 }, .offset = { 2, 0, 1.5 } };
	unsigned char body[128];
	int n = sim_world_shape_write(SIM_WORLD_VEHICLE, &shape, body, sizeof(body));
	const struct sim_world_object o = { .id = 7,
					    .code = SIM_WORLD_VEHICLE,
					    .time_sim_ns = t->time_sim_ns + t->step_dur_ns,
					    .position = { (double)(t->time_sim_ns + t->step_dur_ns) / 1e7, 50, 0 },
					    .velocity = { 100, 0, 0 },
					    .body = body,
					    .body_size = (size_t)n };

	assert_int_equal(sim_world_put(w, &o), 0);
	assert_int_equal(sim_world_step(w, -1, t), 0);
}

static bool is_ego(void *user, const struct sim_world_object *o)
{
	*(struct sim_world_object *)user = *o;
	return true;
}

/* The van as the ego has it, which stands at 100 0 and looks north. */
static void check(const struct sim_message *m)
{
	const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(m->body, m->body_size);
	double at = (double)m->header.stamp_sim_ns / 1e7;
	const struct sim_Detected3DObject *o;
	uint32_t n;

	assert_non_null(all);
	o = sim_Detected3DObjects_objects(all, m->body_size, &n);
	assert_int_equal(n, 1);
	assert_true(fabs(o->map_position.x - (at + 2)) < 0.01); /* the world's time is time here */
	assert_true(fabs(o->map_position.y - 50) < 0.01);
	assert_true(fabs(o->pose.position.x - 50) < 0.01);
	assert_true(fabs(o->pose.position.y - (100 - at - 2)) < 0.01);
	assert_true(fabs(o->pose.position.z - 1.5) < 0.01);
	assert_true(fabs(o->pose.orientation.z + sqrt(0.5)) < 0.001); /* a quarter to the right */
	assert_true(fabs(o->size.x - 6) < 0.01);
	assert_true(fabs(o->velocity.linear.x - 100) < 0.01);
	assert_true(fabs(o->heading) < 0.001);
	assert_string_equal(sim_Detected3DObject_label_in(all, m->body_size, o), "Car");
}

TEST_WITH(a_rig_joins_a_world_as_a_host, NULL, stack_sweep)
{
	const struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };
	struct sim_client_options co = { .size = sizeof(co), .name = "test", .socket = STACK_SOCKET };
	struct sim_world_object ego = { .id = 0 };
	char processes[512];
	struct sim_subscriber *objects;
	const struct sim_message *m;
	struct sim_world_tick t;
	struct sim_client *c;
	struct sim_world *w;
	unsigned checked = 0;
	pid_t simd;

	server_start(&server, 0, (const char *const[]){ "--pace", "0", "--step", "1s", NULL }); /* no host is late */
	snprintf(
		processes, sizeof(processes),
		"{\"name\":\"car\",\"command\":[\"sim-vehicle\",\"--params\",\"config/rigs/vehicle/car.json\",\"--x\",\"100\","
		"\"--yaw\",\"1.5707963267948966\"]},{\"name\":\"join\",\"command\":[\"sim-join\",\"--world\",\"%s\",\"--most\",\"200\"]}",
		server.address);
	simd = start(processes);
	w = join(&t);
	assert_int_equal(sim_connect(&co, &c), 0);
	assert_int_equal(sim_subscribe(c, "/objects", &sim_Detected3DObjects_type, &so, &objects), 0);
	while (checked < 20) {
		step(w, &t);
		while (sim_take(objects, &m) == 0) {
			const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(m->body, m->body_size);
			uint32_t n;

			(void)sim_Detected3DObjects_objects(all, m->body_size, &n);
			if (n) {
				check(m);
				checked++;
			}
			assert_int_equal(sim_release(objects, m), 0);
		}
	}
	assert_int_equal(sim_world_each(w, t.time_sim_ns, is_ego, &ego), 1);
	assert_true(fabs(ego.position[0] - 100) < 0.01 && fabs(ego.position[1]) < 0.01);
	assert_true(fabs(ego.rotation[3] - sqrt(0.5)) < 0.001);
	assert_int_equal(ego.code, SIM_WORLD_VEHICLE);
	sim_world_disconnect(w);
	sim_subscriber_destroy(objects);
	sim_disconnect(c);
	/* not stack_stop(): this process is a client, and leaves its runtime's files when it ends */
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- a pause ---- */

#define TICKS_OUT 60 /* after which a late client is dropped: ten times five */

static struct sim_world *look_on(void)
{
	const struct sim_world_options o = { .size = sizeof(o),
					     .address = server.address,
					     .name = "test",
					     .role = SIM_WORLD_CONSTRAINED,
					     .timeout_ms = SERVER_NO_LIMIT_MS };
	struct sim_world *w;

	if (sim_world_connect(&o, &w) < 0)
		fail_msg("%s", sim_world_why());
	return w;
}

/* At so many ticks. */
static void ego_is_there(struct sim_world *w, unsigned ticks)
{
	struct sim_world_object ego;
	struct sim_world_tick t;

	for (unsigned i = 0; i < ticks; i++) {
		assert_int_equal(sim_world_wait(w, -1, &t), 0);
		assert_int_equal(sim_world_each(w, t.time_sim_ns, is_ego, &ego), 1);
		assert_true(fabs(ego.position[0] - 100) < 0.01);
	}
}

/*
 * The rig's host becomes an observer at once, and is not dropped; its ego stays in the world; when time continues it is
 * in its role again.
 */
TEST_WITH(a_rig_whose_simd_is_paused_stays_in_the_world, NULL, stack_sweep)
{
	struct sim_world_object ego;
	struct sim_world_tick t;
	char processes[512];
	struct sim_world *w;
	pid_t simd;

	server_start(&server, 0, (const char *const[]){ "--step", "50ms", NULL });
	snprintf(processes, sizeof(processes),
		 "{\"name\":\"car\",\"command\":[\"sim-vehicle\",\"--params\",\"config/rigs/vehicle/car.json\",\"--x\",\"100\"]},"
		 "{\"name\":\"join\",\"command\":[\"sim-join\",\"--world\",\"%s\"]}",
		 server.address);
	simd = start(processes);
	w = look_on();
	do
		assert_int_equal(sim_world_wait(w, -1, &t), 0);
	while (sim_world_each(w, t.time_sim_ns, is_ego, &ego) == 0);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	server_says(&server, "sim-join: paused: its time stands: it is an observer meanwhile");
	ego_is_there(w, TICKS_OUT);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	server_says(&server, "sim-join: paused: its time continues");
	server_says(&server, "sim-join: in time: it has caught up, and is in its role again");
	assert_null(strstr(server.text, "sim-join: disconnected"));
	sim_world_disconnect(w);
	stack_stop(simd);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- an engine that jumps ---- */

#define EGO_M_S 10.0

/* An ego that drives along y since time was 0: where it is says which time it is here. */
static void say_ego(struct sim_client *c, struct sim_publisher *p)
{
	struct sim_clock_sample now;
	struct sim_GpsOdometry *m;
	struct sim_builder b;
	struct sim_slot *slot;

	sim_now_sample(c, &now);
	assert_int_equal(sim_loan(p, sizeof(*m), &slot), 0);
	m = sim_GpsOdometry_init(sim_slot_body_mut(slot), sizeof(*m), &b);
	m->northing = EGO_M_S * (double)now.sim_ns / 1e9;
	m->velocity.y = EGO_M_S;
	m->orientation.w = 1;
	slot->stamp_sim_ns = now.sim_ns;
	slot->clock_generation = now.clock_generation;
	assert_int_equal(sim_publish_local(p, slot), 0);
}

static struct sim_world_info info_of(struct sim_world *w)
{
	struct sim_world_info i;

	sim_world_get_info(w, &i);
	return i;
}

static pid_t pid_of_join(void)
{
	json_t *all = stack_call("ListClients", NULL), *client;
	pid_t pid = 0;
	size_t i;

	json_array_foreach(json_object_get(all, "clients"), i, client)
		if (!strcmp(json_string_value(json_object_get(client, "name")), "sim-join"))
			pid = (pid_t)json_integer_value(json_object_get(client, "pid"));
	json_decref(all);
	return pid;
}

/*
 * It takes the lease that sim-join has lost, in the middle of an advance, jumps, says where its ego is then, and gives the lease back.
 */
static void engine_jumps(struct sim_world *w, struct sim_world_tick *t, struct sim_client *c,
			 struct sim_publisher *odometry, int64_t to_sim_ns)
{
	pid_t join = pid_of_join();
	struct sim_driver *d;

	assert_true(join > 0);
	assert_int_equal(stack_ctl("clock", "pause", "--no-wait", NULL)->code, 0);
	step(w, t); /* for which it asks for more */
	AWAIT(stack_int("GetClock", "clock/paused") == 1);
	assert_int_equal(kill(join, SIGSTOP), 0);
	assert_int_equal(stack_ctl("clock", "source", "simulation", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "source", "unity", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	assert_int_equal(sim_driver_jump(d, to_sim_ns), 0);
	say_ego(c, odometry);
	sim_driver_release(d);
	assert_int_equal(kill(join, SIGCONT), 0);
}

struct seen {
	unsigned n;
	struct sim_world_object ego;
};

static bool see(void *user, const struct sim_world_object *o)
{
	struct seen *s = user;

	s->n++;
	s->ego = *o;
	return true;
}

/*
 * Others, published for an instant of the time that it is here now, are one van; and the ego is in the world once, where it was at that time here, or is:
 * nowhere between. Time here less the world's was before_s, and is what is returned.
 */
static double goes_on(struct sim_world *w, struct sim_client *c, struct sim_publisher *odometry,
		      struct sim_subscriber *objects, double before_s)
{
	const struct sim_message *m;
	struct sim_clock_sample now;
	struct sim_world_tick t;
	unsigned messages = 0, same = 0, n_told = 0;
	double offset_s = 0, told_s[1000];

	t = info_of(w).tick;
	while (messages < 10 || same < 10) {
		struct seen s = { 0 };
		double at_s;

		say_ego(c, odometry);
		step(w, &t);
		(void)sim_world_each(w, t.time_sim_ns, see, &s);
		assert_true(s.n <= 1);
		at_s = s.ego.position[1] / EGO_M_S - (double)t.time_sim_ns / 1e9;
		same = s.n && s.ego.how != SIM_WORLD_HELD && fabs(at_s - offset_s) < 0.01 ? same + 1 : 0;
		offset_s = at_s;
		if (s.n && s.ego.how != SIM_WORLD_HELD && n_told < 1000)
			told_s[n_told++] = at_s;
		sim_now_sample(c, &now);
		while (sim_take(objects, &m) == 0) {
			const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(m->body, m->body_size);
			uint32_t n;

			(void)sim_Detected3DObjects_objects(all, m->body_size, &n);
			assert_true(n <= 1);
			messages += n == 1 && m->header.clock_generation == now.clock_generation;
			assert_int_equal(sim_release(objects, m), 0);
		}
	}
	for (unsigned i = 0; i < n_told; i++)
		if (fabs(told_s[i] - before_s) > 0.01 && fabs(told_s[i] - offset_s) > 0.01)
			fail_msg("%g s, between %g s and %g s", told_s[i], before_s, offset_s);
	return offset_s;
}

TEST_WITH(an_engine_may_jump_in_a_world, NULL, stack_sweep)
{
	const struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };
	struct sim_client_options co = { .size = sizeof(co), .name = "test", .socket = STACK_SOCKET };
	const struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL };
	struct sim_publisher *odometry;
	struct sim_subscriber *objects;
	struct sim_world_tick t;
	char processes[256];
	struct sim_client *c;
	struct sim_world *w;
	char control[TEST_PATH_MAX];
	const struct ctl_result *status;
	double offset_s;
	pid_t simd;

	test_path(control, "control");
	server_start(&server, 0, (const char *const[]){ "--pace", "0", "--step", "1s", "--control", control, NULL });
	snprintf(processes, sizeof(processes), "{\"name\":\"join\",\"command\":[\"sim-join\",\"--world\",\"%s\"]}",
		 server.address);
	simd = start(processes);
	w = join(&t);
	assert_int_equal(sim_connect(&co, &c), 0);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(sim_advertise(c, "/gps_odometry", &sim_GpsOdometry_type, &po, &odometry), 0);
	assert_int_equal(sim_subscribe(c, "/objects", &sim_Detected3DObjects_type, &so, &objects), 0);
	offset_s = goes_on(w, c, odometry, objects, 0);
	assert_true(fabs(offset_s) < 0.01);
	t = info_of(w).tick;
	engine_jumps(w, &t, c, odometry, sim_now(c) + 500 * NS_PER_S);
	offset_s = goes_on(w, c, odometry, objects, offset_s);
	assert_true(offset_s > 490 && offset_s < 501);
	t = info_of(w).tick;
	engine_jumps(w, &t, c, odometry, 0); /* time here catches up */
	assert_true(fabs(goes_on(w, c, odometry, objects, offset_s) - offset_s) < 0.01);
	status = stack_ctl("world", "status", "--world", control, "--json", NULL);
	if (!strstr(status->out, "\"ahead\":0")) /* of no time that the world had not come to */
		fail_msg("%s%s", status->out, status->err);
	assert_int_equal(unlink(control), 0);
	sim_world_disconnect(w);
	sim_subscriber_destroy(objects);
	sim_publisher_destroy(odometry);
	sim_disconnect(c);
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- messages that are logged once ---- */

/* For a turn of sim-join that begins later: the one that makes the first tick may have heard its ego before. */
static void say_and_hear(struct sim_world *w, struct sim_world_tick *t, struct sim_publisher *p, bool absolute,
			 double easting)
{
	struct sim_GpsOdometry *m;
	struct sim_builder b;
	struct sim_slot *slot;

	assert_int_equal(sim_loan(p, sizeof(*m), &slot), 0);
	m = sim_GpsOdometry_init(sim_slot_body_mut(slot), sizeof(*m), &b);
	m->ignore_map_origin = absolute;
	m->easting = easting;
	m->orientation.w = 1;
	slot->stamp_sim_ns = t->time_sim_ns;
	assert_int_equal(sim_publish_local(p, slot), 0);
	step(w, t);
	step(w, t);
}

/* An ego that it cannot put: it tries with each message, and does not say so each time. */
TEST_WITH(the_reason_why_an_ego_is_missing_is_reported_once, NULL, stack_sweep)
{
	struct sim_client_options co = { .size = sizeof(co), .name = "test", .socket = STACK_SOCKET };
	const struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL };
	struct sim_publisher *odometry;
	struct sim_world_tick t;
	char processes[256];
	struct sim_client *c;
	struct sim_world *w;
	pid_t simd;

	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, NULL });
	snprintf(processes, sizeof(processes), "{\"name\":\"join\",\"command\":[\"sim-join\",\"--world\",\"%s\"]}",
		 server.address);
	simd = start(processes);
	server_says(&server, "sim-join: connected");
	w = join(&t);
	assert_int_equal(sim_connect(&co, &c), 0);
	assert_int_equal(sim_advertise(c, "/gps_odometry", &sim_GpsOdometry_type, &po, &odometry), 0);
	while (!stack_said("its place is absolute, not in the map"))
		say_and_hear(w, &t, odometry, true, 0);
	for (unsigned i = 0; i < 5; i++)
		say_and_hear(w, &t, odometry, true, 0);
	while (!stack_said("the ego is not sent to the world: object 0: a number is beyond the protocol's range"))
		say_and_hear(w, &t, odometry, false, 2e9);
	for (unsigned i = 0; i < 5; i++)
		say_and_hear(w, &t, odometry, false, 2e9);
	sim_world_disconnect(w);
	sim_publisher_destroy(odometry);
	sim_disconnect(c);
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0); /* all that it had to say is in the log */
	assert_int_equal(stack_count("its place is absolute", ""), 1);
	assert_int_equal(stack_count("the ego is not sent to the world", ""), 1);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- SUMO ---- */

struct town {
	unsigned vehicles, people, moving;
	double sum;
	bool said;
};

static bool count(void *user, const struct sim_world_object *o)
{
	struct sim_world_shape s;
	struct town *t = user;

	t->vehicles += o->code == SIM_WORLD_VEHICLE;
	t->people += o->code == SIM_WORLD_PEDESTRIAN;
	t->moving += hypot(o->velocity[0], o->velocity[1]) > 1;
	t->sum += o->position[0] + o->position[1];
	t->said &= o->how == SIM_WORLD_SAID;
	assert_int_equal(sim_world_shape_read(o->code, o->body, o->body_size, &s), 0);
	assert_true(s.size[0] > 0.1 && s.size[0] < 30 && *s.model);
	return true;
}

/* A constrained host looks on: SUMO keeps time. A datagram may be lost or late, and then an object is guessed at that tick: such a tick is not counted. */
TEST_WITH(a_sumo_scenario_joins_a_world_as_a_host, NULL, stack_sweep)
{
	const struct sim_world_options o = { .size = sizeof(o),
					     .address = server.address,
					     .name = "test",
					     .role = SIM_WORLD_CONSTRAINED,
					     .timeout_ms = SERVER_NO_LIMIT_MS };
	struct town town, before = { .sum = 0 };
	struct sim_world_tick t;
	char processes[512], control[TEST_PATH_MAX];
	struct sim_world *w;
	unsigned moved = 0;
	pid_t simd;

	test_path(control, "control");
	server_start(&server, 0, (const char *const[]){ "--pace", "0", "--control", control, NULL });
	snprintf(
		processes, sizeof(processes),
		"{\"name\":\"sumo\",\"command\":[\"sim-sumo\",\"--config\",\"config/rigs/demo/town.sumocfg\",\"--datagrams\",\"--world\",\"%s\"]}",
		server.address);
	simd = start(processes);
	assert_int_equal(sim_world_connect(&o, &w), 0);
	while (moved < 50 || !server_sends_datagrams(control, "sim-sumo")) { /* once both have heard each other */
		assert_int_equal(sim_world_wait(w, -1, &t), 0);
		town = (struct town){ .said = true };
		if (sim_world_each(w, t.time_sim_ns, count, &town) < 3)
			continue;
		assert_true(town.vehicles > 1);
		moved += town.said && town.moving && town.sum != before.sum;
		before = town;
	}
	assert_int_equal(unlink(control), 0); /* stack_stop() checks for leftovers, and the server lives longer */
	sim_world_disconnect(w);
	stack_stop(simd);
	assert_int_equal(server_stop(&server), 0);
}

#define TICKS_STANDING 10

static struct town town_at(struct sim_world *w, struct sim_world_tick *ret)
{
	struct town town = { .said = true };

	assert_int_equal(sim_world_wait(w, -1, ret), 0);
	(void)sim_world_each(w, ret->time_sim_ns, count, &town);
	return town;
}

/* From when all of it stands: nothing comes, goes or moves. */
static void town_stands(struct sim_world *w)
{
	struct sim_world_tick t;
	struct town first, town;

	do
		first = town_at(w, &t);
	while (first.moving);
	for (unsigned i = 0; i < TICKS_STANDING; i++) {
		town = town_at(w, &t);
		assert_int_equal(town.moving, 0);
		assert_int_equal(town.vehicles, first.vehicles);
		assert_int_equal(town.people, first.people);
		assert_true(fabs(town.sum - first.sum) < 0.01);
	}
}

/*
 * The scenario's host becomes an observer at once, and is not dropped. When time continues it is in its role again, and
 * the scenario continues where it was: the world time in between is not caught up.
 */
TEST_WITH(a_scenario_whose_simd_is_paused_stays_in_the_world, NULL, stack_sweep)
{
	struct sim_world_tick resumed, t;
	int64_t stood_sim_ns, now_sim_ns;
	char processes[512];
	struct sim_world *w;
	pid_t simd;

	server_start(&server, 0, (const char *const[]){ "--step", "200ms", NULL });
	snprintf(
		processes, sizeof(processes),
		"{\"name\":\"sumo\",\"command\":[\"sim-sumo\",\"--config\",\"config/rigs/demo/town.sumocfg\",\"--world\",\"%s\"]}",
		server.address);
	simd = start(processes);
	w = look_on();
	while (town_at(w, &t).moving < 3)
		;
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	server_says(&server, "sim-sumo: paused: its time stands: it is an observer meanwhile");
	town_stands(w);
	stood_sim_ns = stack_int("GetClock", "clock/sim_ns");
	resumed = info_of(w).tick;
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	server_says(&server, "sim-sumo: paused: its time continues");
	server_says(&server, "sim-sumo: in time: it has caught up, and is in its role again");
	while (town_at(w, &t).moving < 3)
		;
	now_sim_ns = stack_int("GetClock", "clock/sim_ns");
	t = info_of(w).tick;
	assert_true(now_sim_ns > stood_sim_ns);
	assert_true(now_sim_ns - stood_sim_ns <= t.time_sim_ns - resumed.time_sim_ns + 2 * t.step_dur_ns);
	assert_null(strstr(server.text, "sim-sumo: disconnected"));
	sim_world_disconnect(w);
	stack_stop(simd);
	assert_int_equal(server_stop(&server), 0);
}
