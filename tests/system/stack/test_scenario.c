/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole scenario on the rig config/rigs/ss2-awsim.json: a client built from the published schema spawns, attaches, drives frame by
 * frame and despawns; a DDS program steers the ego along a curve; what the answers, the objects and the sensors say is held
 * against a vehicle model of our own at each frame, in every version of the protocol, and is the same in ten runs.
 */
#include "stack.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <zmq.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/VehicleControl.h>
#include <sim/sim.h>

#include "../../../tools/sources/vehicle/vehicle.h"
#include "../../support/ros_tree.h"
#include "../../support/ss2_peer.h"
#include "../ros2/reader.h"
#include "../ros2/typed.h"
#include "rnd.h"

#define PORT   "45555"
#define FRAMES 60
#define LIMIT  20000

enum { OBJECTS, DETECTED, TRUTH, ODOMETRY, IMU, CONTROL, HEARD };

static struct {
	pid_t simd;
	void *zmq, *req;
	struct sim_client *client;
	struct sim_subscriber *sub[HEARD];
	dds_entity_t participant, writer;
	struct typed *type;
	struct peer_buf q;
	struct peer_answer a;
	int version;
	int64_t t_ns;
	struct vehicle ego; /* what it ought to do */
	double speed_before;
	bool known;   /* it has moved since it was spawned */
	uint64_t log; /* of all that was heard */
	unsigned looks, tracked, felt;
} s;

/* ---- the scenario's side ---- */

static bool answer(void)
{
	static uint8_t bytes[65536];
	int n = zmq_recv(s.req, bytes, sizeof(bytes), 0);

	if (n < 0)
		fail_msg("no answer: %s", zmq_strerror(zmq_errno()));
	assert_true(peer_read(bytes, (size_t)n, &s.a));
	return s.a.success;
}

static void ask(uint32_t number)
{
	if (!peer_has(s.version, number))
		return;
	assert_int_equal(zmq_send(s.req, s.q.data, s.q.len, 0), s.q.len);
	if (!answer())
		fail_msg("request %u: %s", number, s.a.description);
	assert_int_equal(s.a.number, number);
}

static void attach_all(void)
{
	static const uint32_t all[] = { PEER_ATTACH_IMU, PEER_ATTACH_LIDAR, PEER_ATTACH_DETECTION, PEER_ATTACH_GRID,
					PEER_ATTACH_LIGHT_DETECTOR };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		peer_attach(&s.q, all[i], "ego");
		ask(all[i]);
	}
}

static const struct peer_pose START = { .x = 100, .y = 200, .z = 5, .qz = 0.6, .qw = 0.8 };

static struct peer_pose npc_at(int frame)
{
	return (struct peer_pose){ .x = 130 + frame * 0.25, .y = 220, .z = 5, .qw = 1 };
}

static void begin_scenario(void)
{
	struct peer_pose npc = npc_at(0);

	s.t_ns = 0;
	peer_initialize(&s.q, 1.0 / 30, 0);
	ask(PEER_INITIALIZE);
	peer_spawn_vehicle(&s.q, "ego", true, &START);
	ask(PEER_SPAWN_VEHICLE);
	attach_all();
	peer_spawn_vehicle(&s.q, "car_1", false, &npc);
	ask(PEER_SPAWN_VEHICLE);
}

/* The frame's own part; ret: what was answered of the ego. */
static struct peer_answer_status status(int frame)
{
	const struct peer_status all[] = {
		{ .name = "ego", .action = "driving", .pose = START },
		{ .name = "car_1", .type = 1, .subtype = 1, .pose = npc_at(frame), .speed = 7.5 },
	};

	peer_update_status(&s.q, s.version, all, 2, true, false);
	ask(PEER_UPDATE_STATUS);
	assert_int_equal(s.a.n, 2);
	assert_string_equal(s.a.status[0].name, "ego");
	assert_true(s.a.status[1].pose.x == npc_at(frame).x);
	return s.a.status[0];
}

static void lights_and_time(int frame)
{
	const struct peer_light light = { .id = 34802,
					  .n = 2,
					  .bulb = { { frame / 20 % 3, 0, 1, 1 }, { 2, 1, 1, 1 } } };

	peer_lights(&s.q, s.version, &light, 1);
	ask(PEER_UPDATE_LIGHTS);
	s.t_ns += 33333333;
	peer_frame(&s.q, (double)s.t_ns / 1e9, (double)s.t_ns / 1e9, s.t_ns);
	ask(PEER_UPDATE_FRAME);
	assert_int_equal(sim_now(s.client), s.t_ns);
}

/* ---- the vehicle that it ought to be ---- */

static void near(double a, double b, double eps, const char *what, int frame)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%d, frame %d: %s is %.9f, not %.9f", s.version, frame, what, a, b);
}

static void spawn_model(void)
{
	struct sim_VehiclePlacement p = { .action = SIM_VEHICLE_PLACEMENT_SPAWN,
					  .pose = { .position = { START.x, START.y, START.z },
						    .orientation = { .z = START.qz, .w = START.qw } },
					  .size = { 4.4, 1.8, 1.5 },
					  .wheel_base = 2.8,
					  .max_steering = 0.52 };
	struct vehicle_params params;

	if (params_load("config/rigs/vehicle/car.json", &params) < 0)
		fail_msg("parameters");
	vehicle_init(&s.ego, &params, &(struct model_place){ 0 });
	assert_int_equal(vehicle_place(&s.ego, &p), 0);
	s.known = false;
	vehicle_begin(&s.ego, &(struct sim_clock_sample){ .sim_ns = 33333333, .clock_generation = 1 });
	vehicle_end(&s.ego);
}

static void move_model(int64_t sim_ns)
{
	s.speed_before = s.ego.model.s.speed;
	s.known = true;
	vehicle_begin(&s.ego, &(struct sim_clock_sample){ .sim_ns = sim_ns, .clock_generation = 1 });
	vehicle_end(&s.ego);
}

/* ---- the DDS program: an order, and the wait until the vehicle's channel has it ---- */

static void order(double accel, double steer)
{
	json_t *tree = json_pack("{s:{s:f}, s:{s:f, s:f, s:b}}", "lateral", "steering_tire_angle", steer,
				 "longitudinal", "velocity", 20.0, "acceleration", accel, "is_defined_acceleration", 1);
	const struct sim_message *m;
	void *sample = typed_sample(s.type);

	assert_non_null(tree);
	assert_int_equal(typed_fill(s.type, tree, sample), 0);
	assert_int_equal(dds_write(s.writer, sample), 0);
	assert_int_equal(sim_wait(s.sub[CONTROL], LIMIT * NS_PER_MS), 1);
	assert_int_equal(sim_take(s.sub[CONTROL], &m), 0);
	assert_int_equal(m->header.stamp_sim_ns, s.t_ns);
	assert_int_equal(vehicle_control(&s.ego, sim_VehicleControl_from(m->body, m->body_size), s.t_ns), 0);
	sim_release(s.sub[CONTROL], m);
	json_decref(tree);
}

/* ---- what is heard in the frame itself ---- */

static bool take(int which, const struct sim_message **ret)
{
	if (sim_take(s.sub[which], ret) != 0)
		return false;
	s.log = hash64(s.log, (*ret)->body, (*ret)->body_size);
	s.log = hash64(s.log, &(*ret)->header.stamp_sim_ns, sizeof(int64_t));
	return true;
}

static void check_objects(int frame)
{
	const struct sim_Detected3DObject *o;
	const struct model_state *e = &s.ego.model.s;
	double dx = npc_at(frame).x - e->x, dy = npc_at(frame).y - e->y, c = cos(e->yaw), n = sin(e->yaw);
	const struct sim_message *m;
	uint32_t k;

	if (!take(OBJECTS, &m))
		fail_msg("%d, frame %d: no objects", s.version, frame);
	assert_int_equal(m->header.stamp_sim_ns, s.t_ns);
	assert_string_equal(m->header.frame_id, "base_link");
	o = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(m->body, m->body_size), m->body_size, &k);
	assert_int_equal(k, 1);
	/* the box is 2.2 m before the car's origin */
	near(o->pose.position.x, (dx + 2.2) * c + dy * n, 1e-6, "x of the object", frame);
	near(o->pose.position.y, -(dx + 2.2) * n + dy * c, 1e-6, "y of the object", frame);
	sim_release(s.sub[OBJECTS], m);
}

static void check_odometry(int frame)
{
	const struct model_state *e = &s.ego.model.s;
	const struct sim_GpsOdometry *g;
	const struct sim_message *m;

	if (!take(ODOMETRY, &m))
		fail_msg("%d, frame %d: no odometry", s.version, frame);
	assert_int_equal(m->header.stamp_sim_ns, s.t_ns);
	g = sim_GpsOdometry_from(m->body, m->body_size);
	near(g->easting, e->x, 1e-9, "easting", frame);
	near(g->northing, e->y, 1e-9, "northing", frame);
	sim_release(s.sub[ODOMETRY], m);
}

/* The detection is without noise here; the IMU's has a seed. */
static void check_sensors(int frame)
{
	const struct sim_Detected3DObject *o;
	const struct sim_message *m;
	uint32_t k;

	while (take(DETECTED, &m)) {
		assert_int_equal(m->header.stamp_sim_ns, s.t_ns);
		o = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(m->body, m->body_size), m->body_size, &k);
		assert_int_equal(k, 1);
		near(o->pose.position.x, npc_at(frame).x + 2.2, 1e-9, "x of the detection", frame);
		s.looks++;
		sim_release(s.sub[DETECTED], m);
	}
	for (; take(TRUTH, &m); sim_release(s.sub[TRUTH], m))
		s.tracked++;
	while (take(IMU, &m)) {
		/* what the speed has changed by since the frame before; noise of 0.001 is of the yaw rate */
		near(sim_Imu_from(m->body, m->body_size)->linear_acceleration.x,
		     s.known ? (s.ego.model.s.speed - s.speed_before) / 0.033333333 : 0, 1e-4, "the IMU", frame);
		near(sim_Imu_from(m->body, m->body_size)->angular_velocity.z, s.ego.model.s.yaw_rate, 0.01,
		     "its yaw rate", frame);
		s.felt++;
		sim_release(s.sub[IMU], m);
	}
}

/* ---- a run ---- */

static void drain(void)
{
	const struct sim_message *m;

	for (int i = 0; i < HEARD; i++)
		while (sim_take(s.sub[i], &m) == 0)
			sim_release(s.sub[i], m);
}

/* Ports find each other in their own time: frames of a run that is thrown away. */
static void warm_up(void)
{
	const struct sim_message *m;
	unsigned heard = 0;

	begin_scenario();
	for (int64_t end = mono_now_ns() + LIMIT * NS_PER_MS; heard != (1u << CONTROL) - 1;) {
		(void)status(0);
		lights_and_time(0);
		for (int i = 0; i < CONTROL; i++)
			while (sim_take(s.sub[i], &m) == 0) {
				heard |= 1u << i;
				sim_release(s.sub[i], m);
			}
		if (mono_now_ns() > end)
			fail_msg("only channels 0x%x are heard", heard);
	}
}

static uint64_t run(int version)
{
	struct peer_answer_status ego;

	s.version = version;
	s.looks = s.tracked = s.felt = 0;
	begin_scenario();
	drain();
	s.log = HASH64_INIT;
	ego = status(0);
	near(ego.pose.x, START.x, 0, "the ego where it was spawned", 0);
	lights_and_time(0);
	spawn_model();
	for (int frame = 1; frame <= FRAMES; frame++) {
		if (frame % 10 == 1)
			order(frame < 40 ? 2 : -3, 0.02 * (frame / 10));
		check_odometry(frame - 1);
		check_objects(frame - 1);
		check_sensors(frame - 1);
		ego = status(frame);
		near(ego.pose.x, s.ego.model.s.x, 1e-9, "x of the ego", frame);
		near(ego.pose.y, s.ego.model.s.y, 1e-9, "y of the ego", frame);
		near(ego.speed, s.ego.model.s.speed, 1e-5, "its speed", frame);
		near(ego.yaw_rate, s.ego.model.s.yaw_rate, 1e-9, "its yaw rate", frame);
		lights_and_time(frame);
		move_model(s.t_ns);
	}
	assert_true(hypot(s.ego.model.s.x - START.x, s.ego.model.s.y - START.y) > 1);
	peer_despawn(&s.q, "car_1");
	ask(PEER_DESPAWN);
	peer_despawn(&s.q, "ego");
	ask(PEER_DESPAWN);
	assert_in_range(s.looks, FRAMES / 3 - 2, FRAMES / 3 + 2);
	assert_int_equal(s.tracked, s.looks);
	assert_int_equal(s.felt, peer_has(version, PEER_ATTACH_IMU) ? FRAMES : 0);
	return s.log;
}

/* ---- set-up ---- */

static void listen_to(int which, const char *channel, const struct sim_type *type)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };

	if (sim_subscribe(s.client, channel, type, &so, &s.sub[which]) < 0)
		fail_msg("%s: %s", channel, sim_why());
}

static void connect_client(void)
{
	struct sim_client_options co = { .size = sizeof(co), .name = "looks", .socket = STACK_SOCKET };

	if (sim_connect(&co, &s.client) < 0)
		fail_msg("%s", sim_why());
	UNTIL(LIMIT, stack_int("GetClock", "clock/participants/0/rank") == 100);
	listen_to(OBJECTS, "/objects", &sim_Detected3DObjects_type);
	listen_to(DETECTED, "/perception/objects", &sim_Detected3DObjects_type);
	listen_to(TRUTH, "/perception/ground_truth", &sim_Detected3DObjects_type);
	listen_to(ODOMETRY, "/gps_odometry", &sim_GpsOdometry_type);
	listen_to(IMU, "/perception/imu", &sim_Imu_type);
	listen_to(CONTROL, "/control", &sim_VehicleControl_type);
}

static void connect_scenario(void)
{
	int limit = LIMIT, linger = 0;

	s.zmq = zmq_ctx_new();
	s.req = zmq_socket(s.zmq, ZMQ_REQ);
	zmq_setsockopt(s.req, ZMQ_RCVTIMEO, &limit, sizeof(limit));
	zmq_setsockopt(s.req, ZMQ_LINGER, &linger, sizeof(linger));
	assert_int_equal(zmq_connect(s.req, "tcp://127.0.0.1:" PORT), 0);
}

static uint32_t matched(void)
{
	dds_publication_matched_status_t m;

	return dds_get_publication_matched_status(s.writer, &m) == 0 ? m.current_count : 0;
}

static void connect_autoware(void)
{
	struct reader_watch watch = { .topic = "rt/control/command/control_cmd" };

	s.type = typed_new(ros_type_find(ros2_types, "autoware_control_msgs/msg/Control"));
	assert_non_null(s.type);
	s.participant = reader_participant();
	s.writer = reader_write_to(s.participant, typed_descriptor(s.type), watch.topic);
	assert_true(s.writer > 0);
	assert_int_equal(reader_watch(s.participant, &watch, true), 0);
	UNTIL(LIMIT, matched() > 0);
}

static int set_up(void **state)
{
	char *text, *conf;
	json_t *rig = json_load_file("config/rigs/ss2-awsim.json", 0, NULL);

	(void)state;
	assert_non_null(rig);
	json_object_set_new(rig, "ss2", json_pack("{s:[sss]}", "command", "sim-ss2", "--port", PORT));
	text = json_dumps(rig, JSON_COMPACT);
	conf = strndup(text + 1, strlen(text) - 2);
	s.version = 250020;
	s.simd = stack_start(conf);
	connect_client();
	connect_scenario();
	connect_autoware();
	warm_up();
	free(text);
	free(conf);
	json_decref(rig);
	return 0;
}

static int tear_down(void **state)
{
	dds_delete(s.participant);
	zmq_close(s.req);
	zmq_ctx_term(s.zmq);
	for (int i = 0; i < HEARD; i++)
		sim_subscriber_destroy(s.sub[i]);
	sim_disconnect(s.client);
	kill(s.simd, SIGTERM); /* this process has been a client: what it has in /tmp goes with it */
	assert_int_equal(stack_wait(s.simd, LIMIT), 0);
	return stack_sweep(state);
}

TEST(every_version_walks_the_scenario)
{
#define X(v) (void)run(v);
	PEER_VERSIONS(X)
#undef X
}

TEST(ten_runs_are_the_same)
{
	uint64_t first = run(250020);

	for (int i = 1; i < 10; i++)
		assert_int_equal(run(250020), first);
}

TEST_GROUP(set_up, tear_down)
