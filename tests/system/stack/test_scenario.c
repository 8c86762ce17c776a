/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole scenario on the rig config/rigs/ss2-awsim.json: a client built from the published schema spawns, attaches,
 * drives frame by frame and despawns; a DDS program steers the ego along a curve and reads what Autoware would;
 * answers, channels and topics are compared at each frame with the objects that the client placed and with a vehicle
 * model of our own, in every version of the protocol, and is the same in ten runs, and where the vehicle is a process
 * of the rig instead of on board of sim-ss2.
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
#include <sim/srv/ControlModeCommand.h>

#include "../../../tools/sources/vehicle/vehicle.h"
#include "../../support/ros_tree.h"
#include "../../support/ss2_peer.h"
#include "../../support/strike.h"
#include "../ros2/typed.h"
#include "autoware.h"
#include "npcs.h"
#include "rnd.h"

#define PORT   "45555"
#define FRAMES 60
#define STEP   33333333 /* ns */

enum { OBJECTS, DETECTED, TRUTH, ODOMETRY, IMU, CONTROL, HEARD };

struct run_log {
	uint64_t at[FRAMES][HEARD + AW_TOPICS]; /* of the messages received in a frame: channels, then topics */
};

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
	struct vehicle ego; /* its expected state */
	double speed_before;
	bool known; /* it has moved since it was spawned */
	struct run_log log;
	int frame; /* that is logged */
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

static void spawn_npc(int i)
{
	struct peer_pose at = npc_at(i, 0);

	if (npcs[i].spawn == PEER_SPAWN_VEHICLE)
		peer_spawn_vehicle(&s.q, npcs[i].name, false, &at);
	else
		peer_spawn(&s.q, npcs[i].spawn, npcs[i].name, &at);
	ask(npcs[i].spawn);
}

static void begin_scenario(int64_t from_ns)
{
	s.t_ns = from_ns;
	peer_initialize(&s.q, 1.0 / 30, from_ns);
	ask(PEER_INITIALIZE);
	peer_spawn_vehicle(&s.q, "ego", true, &START);
	ask(PEER_SPAWN_VEHICLE);
	attach_all();
	for (int i = 0; i < NPCS; i++)
		spawn_npc(i);
}

/* The frame's own part; ret: the answered state of the ego. */
static struct peer_answer_status status(int frame)
{
	struct peer_status all[NPCS + 1] = { { .name = "ego", .action = "driving", .pose = START } };

	for (int i = 0; i < NPCS; i++)
		all[i + 1] = (struct peer_status){ .name = npcs[i].name,
						   .type = npcs[i].type,
						   .subtype = npcs[i].subtype,
						   .pose = npc_at(i, frame),
						   .speed = npcs[i].speed };
	peer_update_status(&s.q, s.version, all, NPCS + 1, true, false);
	ask(PEER_UPDATE_STATUS);
	assert_int_equal(s.a.n, NPCS + 1);
	assert_string_equal(s.a.status[0].name, "ego");
	for (int i = 0; i < NPCS; i++)
		assert_true(s.a.status[i + 1].pose.x == npc_at(i, frame).x);
	return s.a.status[0];
}

/* A light with two bulbs, of which the first changes its colour and then flashes; and one that goes out. */
static void lights_at(int frame, struct peer_light ret[2])
{
	ret[0] = (struct peer_light){ .id = 34802,
				      .n = 2,
				      .bulb = { { frame / 20 % 3, 0, frame < 50 ? 1 : 2, 1 }, { 2, 1, 1, 0.5F } } };
	ret[1] = (struct peer_light){ .id = 34836, .n = 1, .bulb = { { 3, 9, frame < 30, 1 } } };
}

static void lights_and_time(int frame)
{
	struct peer_light lights[2];

	lights_at(frame, lights);
	peer_lights(&s.q, s.version, lights, 2);
	ask(PEER_UPDATE_LIGHTS);
	s.t_ns += STEP;
	peer_frame(&s.q, (double)s.t_ns / 1e9, (double)s.t_ns / 1e9, s.t_ns);
	ask(PEER_UPDATE_FRAME);
	assert_int_equal(sim_now(s.client), s.t_ns);
	peer_lights(&s.q, s.version, lights, 2);
	ask(PEER_UPDATE_LIGHTS); /* the same again: answered when the step is over, so that all of it is published */
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
	vehicle_begin(&s.ego, &(struct sim_clock_sample){ .sim_ns = s.t_ns, .clock_generation = 1 });
	vehicle_end(&s.ego);
}

static void move_model(int64_t sim_ns)
{
	s.speed_before = s.ego.model.s.speed;
	s.known = true;
	vehicle_begin(&s.ego, &(struct sim_clock_sample){ .sim_ns = sim_ns, .clock_generation = 1 });
	vehicle_end(&s.ego);
}

/* ---- the DDS program: an order, and the wait until the vehicle has it ---- */

static void write_order(const void *sample, bool obeyed)
{
	const struct sim_message *m;

	assert_int_equal(dds_write(s.writer, sample), 0);
	assert_int_equal(sim_wait(s.sub[CONTROL], -1), 1);
	assert_int_equal(sim_take(s.sub[CONTROL], &m), 0);
	assert_int_equal(m->header.stamp_sim_ns, s.t_ns);
	if (obeyed)
		assert_int_equal(vehicle_control(&s.ego, sim_VehicleControl_from(m->body, m->body_size), s.t_ns), 0);
	sim_release(s.sub[CONTROL], m);
}

/* Twice: the bridge gives a message to one subscriber after the other, so with the second one here the vehicle has the first. */
static void order(double accel, double steer)
{
	json_t *tree = json_pack("{s:{s:f}, s:{s:f, s:f, s:b}}", "lateral", "steering_tire_angle", steer,
				 "longitudinal", "velocity", 20.0, "acceleration", accel, "is_defined_acceleration", 1);
	void *sample = typed_sample(s.type);

	assert_non_null(tree);
	assert_int_equal(typed_fill(s.type, tree, sample), 0);
	write_order(sample, true);
	write_order(sample, false);
	json_decref(tree);
}

/* ---- messages within the frame ---- */

static void note(int which, const void *data, size_t size)
{
	uint64_t *log = &s.log.at[s.frame][which];

	*log = hash64(*log, data, size);
}

static bool take(int which, const struct sim_message **ret)
{
	if (sim_take(s.sub[which], ret) != 0)
		return false;
	note(which, (*ret)->body, (*ret)->body_size);
	note(which, &(*ret)->header.stamp_sim_ns, sizeof(int64_t));
	return true;
}

static void check_objects(int frame)
{
	const struct sim_Detected3DObject *o;
	const struct model_state *e = &s.ego.model.s;
	double c = cos(e->yaw), n = sin(e->yaw);
	const struct sim_message *m;
	uint32_t k;

	if (!take(OBJECTS, &m))
		fail_msg("%d, frame %d: no objects", s.version, frame);
	assert_int_equal(m->header.stamp_sim_ns, s.t_ns);
	assert_string_equal(m->header.frame_id, "base_link");
	o = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(m->body, m->body_size), m->body_size, &k);
	assert_int_equal(k, NPCS);
	for (int i = 0; i < NPCS; i++, o++) {
		double dx = npc_center(i, frame).x - e->x, dy = npc_center(i, frame).y - e->y;

		near(o->pose.position.x, dx * c + dy * n, 1e-6, "x of the object", frame);
		near(o->pose.position.y, -dx * n + dy * c, 1e-6, "y of the object", frame);
	}
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

/* The detection is without noise here; the IMU's has a seed. Whether there was a look in this frame. */
static bool check_sensors(int frame)
{
	const struct sim_Detected3DObject *o;
	const struct sim_message *m;
	unsigned before = s.looks;
	uint32_t k;

	while (take(DETECTED, &m)) {
		assert_int_equal(m->header.stamp_sim_ns, s.t_ns);
		o = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(m->body, m->body_size), m->body_size, &k);
		assert_int_equal(k, NPCS);
		for (int i = 0; i < NPCS; i++)
			near(o[i].pose.position.x, npc_center(i, frame).x, 1e-9, "x of the detection", frame);
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
	return s.looks > before;
}

/* ---- what the DDS program reads of the frame ---- */

static void remember(enum autoware_topic t, json_t *tree)
{
	char *text = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);

	note(HEARD + (int)t, text, strlen(text));
	free(text);
	json_decref(tree);
}

/* `from` of that object, or of the message itself. */
static void figure(const json_t *tree, int i, const char *from, double want, double eps, int frame)
{
	char path[128];

	if (i < 0)
		snprintf(path, sizeof(path), "%s", from);
	else
		snprintf(path, sizeof(path), "objects/%d/%s", i, from);
	near(autoware_number(tree, path), want, eps, path, frame);
}

#define POSE  "kinematics/pose_with_covariance/pose/"
#define TWIST "kinematics/twist_with_covariance/twist/"

static void read_objects(enum autoware_topic t, int frame)
{
	json_t *tree = autoware_tree(t, autoware_take(t, s.t_ns));

	assert_string_equal(autoware_text(tree, "header/frame_id"), "map");
	assert_int_equal(json_array_size(json_object_get(tree, "objects")), NPCS);
	for (int i = 0; i < NPCS; i++) {
		struct npc_place p = npc_center(i, frame);

		figure(tree, i, POSE "position/x", p.x, 1e-9, frame);
		figure(tree, i, POSE "position/y", p.y, 1e-9, frame);
		figure(tree, i, POSE "position/z", p.z, 1e-9, frame);
		figure(tree, i, POSE "orientation/z", sin(p.yaw / 2), 1e-9, frame);
		figure(tree, i, POSE "orientation/w", cos(p.yaw / 2), 1e-9, frame);
		figure(tree, i, TWIST "linear/x", npcs[i].speed, 1e-6, frame);
		figure(tree, i, "classification/0/label", npcs[i].class, 0, frame);
		figure(tree, i, "shape/dimensions/x", npcs[i].length, 1e-6, frame);
		figure(tree, i, "shape/dimensions/y", npcs[i].width, 1e-6, frame);
		figure(tree, i, "shape/dimensions/z", npcs[i].height, 1e-6, frame);
	}
	remember(t, tree);
}

/* Autoware's numbers are scenario_simulator_v2's plus one; a light that is off has neither colour nor shape. */
static void read_lights(int frame)
{
	json_t *tree = autoware_tree(AW_LIGHTS, autoware_take(AW_LIGHTS, s.t_ns));
	struct peer_light lights[2];
	char path[128];

	lights_at(frame, lights);
	assert_int_equal(json_array_size(json_object_get(tree, "traffic_light_groups")), 2);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "traffic_light_groups/%d/traffic_light_group_id", i);
		figure(tree, -1, path, lights[i].id, 0, frame);
		for (int k = 0; k < lights[i].n; k++) {
			const struct peer_bulb *b = &lights[i].bulb[k];
			const double want[] = { b->status ? b->color + 1 : 0, b->status ? b->shape + 1 : 1,
						b->status + 1, (double)b->confidence };
			const char *const what[] = { "color", "shape", "status", "confidence" };

			for (int f = 0; f < 4; f++) {
				snprintf(path, sizeof(path), "traffic_light_groups/%d/elements/%d/%s", i, k, what[f]);
				figure(tree, -1, path, want[f], 0, frame);
			}
		}
	}
	remember(AW_LIGHTS, tree);
}

static json_t *read_pose(enum autoware_topic t, int frame)
{
	json_t *tree = autoware_tree(t, autoware_take(t, s.t_ns));
	const struct model_state *e = &s.ego.model.s;

	assert_string_equal(autoware_text(tree, "header/frame_id"), "map");
	figure(tree, -1, "pose/pose/position/x", e->x, 1e-9, frame);
	figure(tree, -1, "pose/pose/position/y", e->y, 1e-9, frame);
	figure(tree, -1, "pose/pose/position/z", e->z, 1e-9, frame);
	figure(tree, -1, "pose/pose/orientation/z", sin(e->yaw / 2), 1e-9, frame);
	figure(tree, -1, "pose/pose/orientation/w", cos(e->yaw / 2), 1e-9, frame);
	return tree;
}

static void read_odometry(int frame)
{
	const struct model_state *e = &s.ego.model.s;
	json_t *tree = read_pose(AW_ODOMETRY, frame);

	remember(AW_POSE, read_pose(AW_POSE, frame));
	assert_string_equal(autoware_text(tree, "child_frame_id"), "base_link");
	figure(tree, -1, "twist/twist/linear/x", e->speed, 1e-5, frame);
	figure(tree, -1, "twist/twist/angular/z", e->yaw_rate, 1e-9, frame);
	remember(AW_ODOMETRY, tree);
}

static void read_grid(int frame)
{
	const struct autoware_grid *g = autoware_take(AW_GRID, s.t_ns);
	const struct model_state *e = &s.ego.model.s;

	assert_string_equal(g->frame_id, "map");
	assert_int_equal(g->width, PEER_GRID_CELLS);
	near(g->x, e->x - g->width * (double)g->resolution / 2, 1e-9, "x of the grid", frame);
	near(g->y, e->y - g->height * (double)g->resolution / 2, 1e-9, "y of the grid", frame);
	npcs_check_grid(g, frame, e->x, e->y);
	note(HEARD + AW_GRID, g->data._buffer, g->data._length);
}

static void read_cloud(int frame)
{
	const struct autoware_cloud *c = autoware_take(AW_CLOUD, s.t_ns);
	const struct model_state *e = &s.ego.model.s;

	assert_string_equal(c->frame_id, "base_link");
	npcs_check_cloud(c, frame, &(struct npc_place){ .x = e->x, .y = e->y, .z = e->z, .yaw = e->yaw });
	note(HEARD + AW_CLOUD, c->data._buffer, c->data._length);
}

/* looked: sensors that look ten times a second did so in this frame. */
static void read_topics(int frame, bool looked)
{
	read_odometry(frame);
	if (peer_has(s.version, PEER_ATTACH_LIGHT_DETECTOR))
		read_lights(frame);
	if (!looked)
		return;
	read_objects(AW_DETECTED, frame);
	read_objects(AW_TRUTH, frame);
	read_grid(frame);
	read_cloud(frame);
}

/* ---- a run ---- */

static void drain(void)
{
	const struct sim_message *m;

	for (int i = 0; i < HEARD; i++)
		while (sim_take(s.sub[i], &m) == 0)
			sim_release(s.sub[i], m);
}

static unsigned heard_now(void)
{
	const struct sim_message *m;
	unsigned heard = 0;

	for (int i = 0; i < CONTROL; i++)
		while (sim_take(s.sub[i], &m) == 0) {
			heard |= 1u << i;
			sim_release(s.sub[i], m);
		}
	for (int i = 0; i < AW_TOPICS; i++)
		heard |= autoware_hears((enum autoware_topic)i) ? 1u << (CONTROL + i) : 0;
	return heard;
}

/* Ports and readers find each other in their own time: frames of a run that is thrown away, of a time that no other run has. */
static void warm_up(void)
{
	unsigned heard = 0;

	begin_scenario(1000 * INT64_C(1000000000));
	for (unsigned frames = 0; heard != (1u << (CONTROL + AW_TOPICS)) - 1; frames++) {
		(void)status(0);
		lights_and_time(0);
		heard |= heard_now();
		if (frames == WAIT_SAYS)
			print_message("only 0x%x are heard so far\n", heard);
	}
}

static void check_ego(const struct peer_answer_status *ego, int frame)
{
	near(ego->pose.x, s.ego.model.s.x, 1e-9, "x of the ego", frame);
	near(ego->pose.y, s.ego.model.s.y, 1e-9, "y of the ego", frame);
	near(ego->speed, s.ego.model.s.speed, 1e-5, "its speed", frame);
	near(ego->yaw_rate, s.ego.model.s.yaw_rate, 1e-9, "its yaw rate", frame);
}

static void run(int version)
{
	struct peer_answer_status ego;

	s.version = version;
	s.looks = s.tracked = s.felt = 0;
	begin_scenario(0);
	drain();
	memset(&s.log, 0, sizeof(s.log));
	ego = status(0);
	near(ego.pose.x, START.x, 0, "the ego where it was spawned", 0);
	lights_and_time(0);
	spawn_model();
	for (int frame = 1; frame <= FRAMES; frame++) {
		if (frame % 10 == 1)
			order(frame < 40 ? 2 : -3, 0.02 * (frame / 10));
		s.frame = frame - 1;
		check_odometry(frame - 1);
		check_objects(frame - 1);
		read_topics(frame - 1, check_sensors(frame - 1));
		move_model(s.t_ns + STEP); /* it is asked where it is in this frame */
		ego = status(frame);
		check_ego(&ego, frame);
		lights_and_time(frame);
	}
	assert_true(hypot(s.ego.model.s.x - START.x, s.ego.model.s.y - START.y) > 1);
	for (int i = 0; i < NPCS; i++) {
		peer_despawn(&s.q, npcs[i].name);
		ask(PEER_DESPAWN);
	}
	peer_despawn(&s.q, "ego");
	ask(PEER_DESPAWN);
	assert_in_range(s.looks, FRAMES / 3 - 2, FRAMES / 3 + 2);
	assert_int_equal(s.tracked, s.looks);
	assert_int_equal(s.felt, peer_has(version, PEER_ATTACH_IMU) ? FRAMES : 0);
}

/* ---- set-up ---- */

static void listen_to(int which, const char *channel, const struct sim_type *type)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };

	if (sim_subscribe(s.client, channel, type, &so, &s.sub[which]) < 0)
		fail_msg("%s: %s", channel, sim_why());
}

static void connect_client(bool apart)
{
	struct sim_client_options co = {
		.size = sizeof(co), .name = "looks", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	if (sim_connect(&co, &s.client) < 0)
		fail_msg("%s", sim_why());
	AWAIT(!apart || stack_int("GetClock", "clock/participants/0/rank") == 100);
	listen_to(OBJECTS, "/objects", &sim_Detected3DObjects_type);
	listen_to(DETECTED, "/perception/objects", &sim_Detected3DObjects_type);
	listen_to(TRUTH, "/perception/ground_truth", &sim_Detected3DObjects_type);
	listen_to(ODOMETRY, "/gps_odometry", &sim_GpsOdometry_type);
	listen_to(IMU, "/perception/imu", &sim_Imu_type);
	listen_to(CONTROL, "/control", &sim_VehicleControl_type);
}

static void connect_scenario(void)
{
	int linger = 0;

	s.zmq = zmq_ctx_new();
	s.req = zmq_socket(s.zmq, ZMQ_REQ);
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
	autoware_open(s.participant);
}

/* The rig as it is but for the port, or with the vehicle as one of its processes. */
static json_t *load_rig(bool apart)
{
	json_t *all = json_load_file("config/rigs/ss2-awsim.json", 0, NULL);
	json_t *command = json_object_get(json_object_get(all, "ss2"), "command");
	json_t *rig = json_array_get(json_object_get(all, "rigs"), 0);

	assert_non_null(rig);
	json_array_set_new(command, 2, json_string(PORT));
	json_object_set_new(all, "process", json_pack("{s:i, s:i}", "restart_ms", 10, "restart_max_ms", 100));
	if (apart) {
		while (json_array_size(command) > 3)
			json_array_remove(command, 3);
		json_object_set_new(rig, "processes",
				    json_pack("[{s:s, s:[sss]}]", "name", "vehicle", "command", "sim-vehicle",
					      "--params", "config/rigs/vehicle/car.json"));
	}
	return all;
}

/* The DDS program stays. */
static void begin(bool apart)
{
	json_t *rig = load_rig(apart);
	char *text = json_dumps(rig, JSON_COMPACT), *conf = strndup(text + 1, strlen(text) - 2);

	s.version = 250020;
	s.simd = stack_start(conf);
	connect_client(apart);
	connect_scenario();
	if (!s.participant)
		connect_autoware();
	AWAIT(matched() > 0);
	warm_up();
	free(text);
	free(conf);
	json_decref(rig);
}

static int set_up(void **state)
{
	(void)state;
	begin(false);
	return 0;
}

static void end(void)
{
	zmq_close(s.req);
	zmq_ctx_term(s.zmq);
	for (int i = 0; i < HEARD; i++)
		sim_subscriber_destroy(s.sub[i]);
	sim_disconnect(s.client);
	kill(s.simd, SIGTERM); /* this process has been a client: its files in /tmp are removed with it */
	assert_int_equal(stack_wait(s.simd), 0);
}

static int tear_down(void **state)
{
	end();
	dds_delete(s.participant);
	return stack_sweep(state);
}

TEST(every_peer_version_runs_the_scenario)
{
#define X(v) run(v);
	PEER_VERSIONS(X)
#undef X
}

static void assert_same(const struct run_log *first, int run)
{
	static const char *const names[HEARD + AW_TOPICS] = { "objects", "detected",  "truth",  "odometry", "imu",
							      "control", "/detected", "/truth", "/lights",  "/odometry",
							      "/pose",   "/grid",     "/cloud" };

	for (int f = 0; f < FRAMES; f++)
		for (int k = 0; k < HEARD + AW_TOPICS; k++)
			if (s.log.at[f][k] != first->at[f][k])
				fail_msg("run %d, frame %d: %s is another", run, f, names[k]);
}

TEST(ten_runs_are_identical)
{
	struct run_log first;

	run(250020);
	first = s.log;
	for (int i = 1; i < 10; i++) {
		run(250020);
		assert_same(&first, i);
	}
}

/* Killed twenty times, at any moment: the next process goes on with the scene, and with the vehicle in its curve. Again of a time of its own. */
TEST(a_vehicle_run_by_sim_ss2_survives_its_kills)
{
	struct peer_answer_status ego;
	struct strike blow;
	bool struck = false;
	unsigned blows = 0;
	int64_t pid = 0, now;

	begin_scenario(2000 * INT64_C(1000000000));
	drain();
	(void)status(0);
	lights_and_time(0);
	spawn_model();
	for (int frame = 1; blows < 20 || struck; frame++) {
		if (frame == 1)
			order(2, 0.05);
		now = frame > 5 && !struck ? stack_int("GetClock", "clock/driver/pid") : 0;
		if (now > 0 && now != pid) {
			pid = now;
			strike_begin(&blow, (pid_t)pid, blows++ * 173);
			struck = true;
		}
		move_model(s.t_ns + STEP);
		ego = status(frame);
		check_ego(&ego, frame);
		lights_and_time(frame);
		struck = struck && !strike_over(&blow);
	}
	assert_true(s.ego.model.s.speed > 0.5);
}

/* ---- a road that is not level ---- */

#define PITCH (-0.1) /* nose up, along the ego's heading at the start */

static struct peer_pose on_road(double x, double y)
{
	double yaw = 2 * atan2(START.qz, START.qw), c = cos(yaw / 2), n = sin(yaw / 2);
	double along = (x - START.x) * cos(yaw) + (y - START.y) * sin(yaw);

	return (struct peer_pose){ .x = x,
				   .y = y,
				   .z = START.z + along * tan(-PITCH),
				   .qx = -sin(PITCH / 2) * n,
				   .qy = sin(PITCH / 2) * c,
				   .qz = cos(PITCH / 2) * n,
				   .qw = cos(PITCH / 2) * c };
}

static struct peer_answer_status drive_at(const struct peer_pose *at, double speed, bool overwrite)
{
	const struct peer_status ego = { .name = "ego", .action = "driving", .pose = *at, .speed = speed };

	peer_update_status(&s.q, s.version, &ego, 1, true, overwrite);
	ask(PEER_UPDATE_STATUS);
	assert_int_equal(s.a.n, 1);
	return s.a.status[0];
}

/*
 * The scenario fits the answered position to its road and sends that with the next frame: height and slope are the
 * road's from then on.
 */
static void climb(void)
{
	struct peer_pose at = on_road(START.x, START.y);
	const struct sim_message *m = NULL;
	const struct sim_GpsOdometry *g;
	struct peer_answer_status ego;

	for (int frame = 0; frame < FRAMES; frame++) {
		if (frame == 1)
			order(2, 0);
		ego = drive_at(&at, 0, false);
		at = on_road(ego.pose.x, ego.pose.y);
		lights_and_time(0);
		if (frame == 0) /* it is spawned level */
			continue;
		near(ego.pose.z, at.z, 1e-6, "height", frame);
		near(ego.pose.qx, at.qx, 1e-9, "qx", frame);
		near(ego.pose.qy, at.qy, 1e-9, "qy", frame);
		near(ego.pose.qw, at.qw, 1e-9, "qw", frame);
	}
	assert_true(ego.pose.z > START.z + 0.1);
	for (; sim_take(s.sub[ODOMETRY], &m) == 0; sim_release(s.sub[ODOMETRY], m)) {
		g = sim_GpsOdometry_from(m->body, m->body_size);
		if (m->header.stamp_sim_ns < s.t_ns - 10 * STEP)
			continue;
		near(g->altitude, on_road(g->easting, g->northing).z, 1e-6, "altitude", FRAMES);
		near(g->orientation.y, at.qy, 1e-9, "orientation.y", FRAMES);
	}
}

TEST(the_ego_follows_the_slope_of_the_road)
{
	begin_scenario(3000 * INT64_C(1000000000));
	drain();
	climb();
}

static bool ask_mode(uint8_t mode)
{
	struct sim_ControlModeCommandRequest q = { .mode = mode };
	struct sim_ControlModeCommandResponse a = { 0 };
	int r = sim_service_call(s.client, "/control/control_mode_request", &sim_ControlModeCommand_service, &q,
				 sizeof(q), -1, &a, sizeof(a), NULL);

	if (r < 0)
		fail_msg("control_mode_request: %s", sim_why());
	return a.success;
}

/*
 * While orders of the scenario move the ego it has no driver; when the orders end it stays, until Autoware asks to
 * drive.
 */
TEST(an_ego_moved_by_the_scenario_waits_for_a_driver)
{
	struct peer_answer_status ego;
	struct peer_pose at = START;

	begin_scenario(4000 * INT64_C(1000000000));
	for (int frame = 0; frame < 10; frame++, at.x += 0.1) {
		ego = drive_at(&at, 3, true);
		near(ego.pose.x, at.x, 0, "the place ordered", frame);
		lights_and_time(0);
	}
	order(2, 0); /* from a driver that has not been asked */
	assert_false(ask_mode(SIM_CONTROL_MODE_COMMAND_REQUEST_MANUAL));
	at = ego.pose;
	for (int frame = 0; frame < 10; frame++) {
		ego = drive_at(&at, 0, false);
		near(ego.pose.x, at.x, 0, "where it stays", frame);
		lights_and_time(0);
	}
	assert_true(ask_mode(SIM_CONTROL_MODE_COMMAND_REQUEST_AUTONOMOUS));
	for (int frame = 0; frame < 60; frame++) {
		at = ego.pose;
		ego = drive_at(&at, ego.speed, false);
		lights_and_time(0);
	}
	assert_true(hypot(ego.pose.x - START.x, ego.pose.y - START.y) > 1.5);
}

/* Messages of a channel in so many frames. */
static unsigned heard_in(int which, int frames)
{
	const struct sim_message *m;
	unsigned n = 0;

	for (int frame = 0; frame < frames; frame++) {
		(void)status(0);
		lights_and_time(0);
		for (; sim_take(s.sub[which], &m) == 0; sim_release(s.sub[which], m))
			n++;
	}
	return n;
}

static void set_rate(const char *hz)
{
	const struct ctl_result *r = stack_ctl("param", "set", "sim-ss2", "objects.frequency", hz, NULL);

	if (r->code)
		fail_msg("%s", r->err);
}

/* The rate of the frames first, then 10 a second of the scenario's 30, then the rate of the frames again. */
TEST(sensor_rates_are_parameters)
{
	const struct ctl_result *r = stack_ctl("param", "list", "sim-ss2", NULL);

	assert_non_null(strstr(r->out, "perception/pointcloud.frequency"));
	begin_scenario(5000 * INT64_C(1000000000));
	drain();
	assert_int_equal(heard_in(OBJECTS, 12), 12);
	set_rate("10");
	assert_in_range(heard_in(OBJECTS, 30), 9, 11);
	set_rate("0");
	assert_int_equal(heard_in(OBJECTS, 12), 12);
}

TEST(a_vehicle_in_its_own_process_drives_the_same)
{
	struct run_log on_board;

	run(250020);
	on_board = s.log;
	end();
	AWAIT(matched() == 0);
	begin(true);
	run(250020);
	assert_same(&on_board, 1);
	begin_scenario(3000 * INT64_C(1000000000));
	drain();
	climb();
}

TEST_GROUP(set_up, tear_down)
