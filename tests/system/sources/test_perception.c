/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scene of config/rigs/perception.json with real processes: simd, RouDi, sim-sumo, sim-lidar. The chain's arithmetic
 * (libclient/examples/perception) is in this test, as a participant of lock-step behind the lidar: without its orders the ego drives through
 * people; with them it stops for each, and goes on; and a run repeats bit for bit.
 */
#include "tests/support/stack.h"

#include <math.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/VehicleControl.h>
#include <sim/point_cloud.h>
#include <sim/sim.h>

#include "libclient/examples/perception/braking.h"
#include "libclient/examples/perception/grid.h"
#include "libclient/examples/perception/tracks.h"

#define RIG      "config/rigs/perception.json"
#define RANK     200 /* of the chain */
#define TURN_NS  (30 * NS_PER_S)
#define FRONT_M  3.6 /* the ego, from base_link */
#define REAR_M   1.0
#define HALF_M   0.92
#define STANDING 0.05 /* m/s */
#define DRIVING  5.0

struct chain {
	struct sim_client *client;
	struct sim_step *step;
	struct sim_subscriber *clouds, *odometry, *objects;
	struct sim_publisher *orders;
	bool silent; /* it gives no orders */

	struct grid *grid;
	struct tracks *tracks;
	struct braking braking;
	struct sim_GpsOdometry ego;
	int64_t ego_sim_ns;

	/* what came of it */
	unsigned clouds_seen, brakings, stops, goings_on;
	bool stood;
	double nearest_m,
		hit_speed; /* to somebody ahead in our way; the highest speed at which somebody was under the car */
	int64_t first_stop_sim_ns;
	uint64_t hash;
};

/* ---- the rig ---- */

/* The rig as it is shipped, without what the test does itself; time stands until everybody is there. */
static pid_t start(void)
{
	json_error_t e;
	json_t *rig = json_load_file(RIG, 0, &e), *kept = json_array(), *p;
	char conf[8192], *text;
	size_t i;

	if (!rig)
		fail_msg("%s:%d: %s", RIG, e.line, e.text);
	json_array_foreach(json_object_get(rig, "processes"), i, p)
		if (strcmp(json_string_value(json_object_get(p, "name")), "chain") != 0)
			json_array_append(kept, p);
	json_object_set_new(rig, "processes", kept);
	text = json_dumps(rig, 0);
	assert_true(snprintf(conf, sizeof(conf), "\"TimeSource\":\"unity\",\"TimeScale\":0,\"rigs\":[%s]", text) <
		    (int)sizeof(conf));
	free(text);
	json_decref(rig);
	return stack_start(conf);
}

static size_t participants(void)
{
	json_t *j = stack_call("GetClock", NULL);
	size_t n = json_array_size(json_object_get(json_object_get(j, "clock"), "participants"));

	json_decref(j);
	return n;
}

static struct sim_subscriber *listen_to(struct chain *c, const char *channel, unsigned depth,
					const struct sim_type *type)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = depth };
	struct sim_subscriber *s;

	if (sim_subscribe(c->client, channel, type, &o, &s) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return s;
}

static void chain_open(struct chain *c)
{
	struct sim_client_options co = { .size = sizeof(co), .name = "chain", .socket = STACK_SOCKET };
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = sizeof(struct sim_VehicleControl) };
	struct grid_params gp = grid_params_default();
	struct tracks_params tp = tracks_params_default();
	struct braking_params bp = braking_params_default();
	const char *why;

	assert_int_equal(grid_create(&gp, &c->grid, &why) + tracks_create(&tp, &c->tracks, &why) +
				 braking_init(&c->braking, &bp, &why),
			 0);
	if (sim_connect(&co, &c->client) < 0)
		fail_msg("%s", sim_why());
	c->clouds = listen_to(c, "lidar/top", 2, &sim_PointCloud_type);
	c->odometry = listen_to(c, "gps_odometry", 8, &sim_GpsOdometry_type);
	c->objects = listen_to(c, "objects", 8, &sim_Detected3DObjects_type);
	if (sim_advertise(c->client, "control", &sim_VehicleControl_type, &po, &c->orders) < 0)
		fail_msg("%s", sim_why());
	assert_int_equal(sim_step_join(c->client, RANK, &c->step), 0);
	c->nearest_m = INFINITY;
	c->hash = 14695981039346656037u;
}

static void chain_close(struct chain *c)
{
	sim_step_leave(c->step);
	sim_subscriber_destroy(c->clouds);
	sim_subscriber_destroy(c->odometry);
	sim_subscriber_destroy(c->objects);
	sim_publisher_destroy(c->orders);
	sim_disconnect(c->client);
	grid_destroy(c->grid);
	tracks_destroy(c->tracks);
}

/* ---- what is true ---- */

/* The ego among the people as SUMO has them. */
static void judge(struct chain *c, const struct sim_message *m)
{
	const struct sim_Detected3DObjects *all = sim_Detected3DObjects_from(m->body, m->body_size);
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(all, m->body_size, &n);

	for (uint32_t i = 0; i < n; i++) {
		double x = o[i].pose.position.x, y = o[i].pose.position.y;

		if (strcmp(sim_Detected3DObject_label_in(all, m->body_size, &o[i]), "Pedestrian") != 0 ||
		    fabs(y) > HALF_M + 0.2)
			continue;
		if (x > FRONT_M)
			c->nearest_m = fmin(c->nearest_m, x - FRONT_M);
		else if (x > -REAR_M)
			c->hit_speed = fmax(c->hit_speed, (double)c->ego.forward_speed);
	}
}

static void hear(struct chain *c)
{
	const struct sim_message *m;

	for (; sim_take(c->odometry, &m) == 0; (void)sim_release(c->odometry, m)) {
		c->ego = *sim_GpsOdometry_from(m->body, m->body_size);
		c->ego_sim_ns = m->header.stamp_sim_ns;
	}
	for (; sim_take(c->objects, &m) == 0; (void)sim_release(c->objects, m))
		judge(c, m);
	if (!c->stood && (double)c->ego.forward_speed < STANDING && c->braking.braking) {
		c->stood = true;
		c->stops++;
		c->first_stop_sim_ns = c->first_stop_sim_ns ? c->first_stop_sim_ns : c->ego_sim_ns;
	} else if (c->stood && (double)c->ego.forward_speed > DRIVING) {
		c->stood = false;
		c->goings_on++;
	}
}

/* ---- the chain ---- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static void order(struct chain *c, const struct braking_order *o)
{
	struct sim_VehicleControl *m;
	struct sim_builder b;
	struct sim_slot *slot;

	c->brakings += o->began;
	if (!o->brake || c->silent)
		return;
	assert_int_equal(sim_loan(c->orders, sizeof(*m), &slot), 0);
	m = sim_VehicleControl_init(sim_slot_body_mut(slot), sizeof(*m), &b);
	m->present = SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION | SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE;
	m->target_acceleration = (float)-o->decel;
	m->steer_angle = (float)o->wheel_angle;
	c->hash = mix(c->hash, m, sizeof(*m));
	assert_int_equal(sim_publish_local(c->orders, slot), 0);
}

static void see(struct chain *c, const struct sim_message *m)
{
	static struct obstacle seen[OBSTACLES_MAX];
	static struct track shown[OBSTACLES_MAX];
	static struct braking_object objects[OBSTACLES_MAX];
	const struct sim_PointCloud *cloud = sim_PointCloud_from(m->body, m->body_size);
	const struct sim_GpsOdometry *g = &c->ego;
	struct tracks_motion ego = { .stamp_sim_ns = c->ego_sim_ns,
				     .x = g->easting,
				     .y = g->northing,
				     .yaw = 2 * atan2(g->orientation.z, g->orientation.w),
				     .vx = g->velocity.x,
				     .vy = g->velocity.y,
				     .yaw_rate = g->angular_velocity.z };
	struct braking_ego driven = { .speed = (double)g->forward_speed, .wheel_angle = (double)g->wheel_angle };
	struct braking_order o;
	uint32_t points;
	const struct sim_Point *p = sim_point_cloud_points(cloud, m->body_size, &points);
	size_t n;

	assert_non_null(p);
	c->clouds_seen++;
	n = grid_cluster(c->grid, p, points, seen);
	n = tracks_update(c->tracks, &ego, m->header.stamp_sim_ns, seen, n, shown);
	for (size_t i = 0; i < n; i++) {
		objects[i] = (struct braking_object){ .id = shown[i].id,
						      .box = shown[i].box,
						      .vx = shown[i].vx,
						      .vy = shown[i].vy,
						      .age_s = (double)shown[i].age_dur_ns / 1e9 };
		c->hash = mix(c->hash, &shown[i].id, sizeof(shown[i].id));
		c->hash = mix(c->hash, &shown[i].map_x, sizeof(shown[i].map_x));
	}
	o = braking_decide(&c->braking, m->header.stamp_sim_ns, &driven, objects, n);
	if (o.began)
		print_message("%.2f s: braking at %.1f m/s for %u, %.1f m ahead\n",
			      (double)m->header.stamp_sim_ns / 1e9, driven.speed, o.id, o.distance_m);
	order(c, &o);
}

/* Turn after turn, until then. */
static void drive(struct chain *c, int64_t until_sim_ns)
{
	struct sim_step_turn turn = { 0 };
	const struct sim_message *m;

	UNTIL(30000, participants() == 2); /* the lidar, and we */
	json_decref(stack_call("SetScale", "{s:f}", "scale", 100.0));
	while (turn.now.sim_ns < until_sim_ns) {
		if (sim_step_wait(c->step, TURN_NS, &turn) < 0)
			fail_msg("no turn comes: %s", sim_why());
		hear(c);
		for (; sim_take(c->clouds, &m) == 0; (void)sim_release(c->clouds, m))
			see(c, m);
		assert_int_equal(sim_step_done(c->step), 0);
	}
}

static struct chain run(bool silent, int64_t dur_ns)
{
	struct chain c = { .silent = silent };
	pid_t simd = start();

	chain_open(&c);
	drive(&c, dur_ns);
	chain_close(&c);
	stack_stop(simd);
	print_message("%u clouds, braked %u times, stood %u times, went on %u times, %.1f m left, %.1f m/s\n",
		      c.clouds_seen, c.brakings, c.stops, c.goings_on, c.nearest_m, c.hit_speed);
	return c;
}

TEST_WITH(without_orders_the_ego_drives_through_people, NULL, stack_sweep)
{
	struct chain c = run(true, 10 * NS_PER_S);

	assert_true(c.clouds_seen > 90 && c.brakings > 0);
	assert_true(c.hit_speed > 10); /* SUMO's driver does not see them */
}

TEST_WITH(it_stops_for_each_of_them_and_goes_on, NULL, stack_sweep)
{
	struct chain c = run(false, 60 * NS_PER_S);

	assert_true(c.clouds_seen > 590);
	assert_true(c.hit_speed < STANDING);
	assert_true(c.brakings >= 2 && c.stops >= 1 && c.goings_on >= 1);
	assert_true(c.nearest_m > 0.5);
	assert_true(c.first_stop_sim_ns < 12 * NS_PER_S); /* within a short demo */
}

TEST_WITH(a_run_repeats_bit_for_bit, NULL, stack_sweep)
{
	struct chain first = run(false, 20 * NS_PER_S), second = run(false, 20 * NS_PER_S);

	assert_true(first.brakings > 0 && first.clouds_seen == second.clouds_seen);
	assert_true(first.hash == second.hash);
}

TEST_PROCESSES()
