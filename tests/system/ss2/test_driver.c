/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole scenario run against the real sim-ss2: simd starts it when the source is selected, our client walks through
 * the protocol over ZeroMQ, and clients of simd see the effects.
 */
#include "system/simd/run.h"

#include "tests/support/ss2_peer.h"
#include "tests/support/strike.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/step.h>

#define MS   INT64_C(1000000)
#define STEP (33 * MS)

/* Nothing is ever detected. */
#define PARAMETERS "/tmp/test-parameters.json"
static const char NOTHING_SEEN[] =
	"{\"/**\": {\"ros__parameters\": {\"/perception/object_recognition/detection/objects\": {\"noise\": {"
	"\"model\": {\"version\": 2}, \"v2\": {\"ellipse_y_radii\": [1000], \"true_positive\": {\"rate\": {\"values\": [0]}}}}}}}}";

struct stage {
	struct simd_run simd;
	int port;
	void *zmq, *req;
	struct sim_client *client;
	struct sim_subscriber *objects, *signals, *detected, *truth;
	struct sim_publisher *odometry;
	struct peer_buf q;
	struct peer_answer a;
	int64_t t_ns; /* of the scenario */
};

static struct stage stage;

/* ---- the peer ---- */

static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	close(fd);
	return ntohs(at.sin_port);
}

static void connect_peer(struct stage *s)
{
	int linger = 0;
	char endpoint[64];

	s->req = zmq_socket(s->zmq, ZMQ_REQ);
	assert_non_null(s->req);
	zmq_setsockopt(s->req, ZMQ_LINGER, &linger, sizeof(linger));
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%d", s->port);
	assert_int_equal(zmq_connect(s->req, endpoint), 0);
}

static bool receive(struct stage *s)
{
	static uint8_t bytes[65536];
	int n = zmq_recv(s->req, bytes, sizeof(bytes), 0);

	if (n < 0)
		fail_msg("no answer: %s; simd says: %s", zmq_strerror(errno), run_errors(&s->simd));
	assert_true(peer_read(bytes, (size_t)n, &s->a));
	return s->a.success;
}

static bool ask_bytes(struct stage *s, const void *data, size_t len)
{
	assert_int_equal(zmq_send(s->req, data, len, 0), len);
	return receive(s);
}

static void ask(struct stage *s, uint32_t number)
{
	if (!ask_bytes(s, s->q.data, s->q.len))
		fail_msg("request %u: %s", number, s->a.description);
	assert_int_equal(s->a.number, number);
}

static void initialize(struct stage *s, int64_t t_ns)
{
	s->t_ns = t_ns;
	peer_initialize(&s->q, 1.0 / 30, t_ns);
	ask(s, PEER_INITIALIZE);
}

static void spawn(struct stage *s, const char *name, bool ego, double x, double y)
{
	struct peer_pose at = { x, y, 0, 0, 1, 0, 0 };

	peer_spawn_vehicle(&s->q, name, ego, &at);
	ask(s, PEER_SPAWN_VEHICLE);
}

/* One frame, as scenario_simulator_v2 makes it: status, lights, time. */
static void frame(struct stage *s)
{
	const struct peer_status all[] = {
		{ .name = "ego", .action = "driving", .pose = { 1, 2, 0, 0, 1, 0, 0 } },
		{ .name = "car_1", .type = 1, .subtype = 1, .pose = { 20, 20, 0, 0, 1, 0, 0 }, .speed = 5 },
	};
	const struct peer_light light = { .id = 34802, .relation = { 34806 }, .n = 1, .bulb = { { 2, 0, 2, 1 } } };

	peer_update_status(&s->q, 250020, all, 2, true, false);
	ask(s, PEER_UPDATE_STATUS);
	assert_int_equal(s->a.n, 2);
	peer_lights(&s->q, 250020, &light, 1);
	{
		struct peer_answer status = s->a;

		ask(s, PEER_UPDATE_LIGHTS);
		s->t_ns += STEP;
		peer_frame(&s->q, (double)s->t_ns / 1e9, (double)NAN, s->t_ns);
		ask(s, PEER_UPDATE_FRAME);
		s->a = status; /* what the test looks at */
	}
	assert_int_equal(sim_now(s->client), s->t_ns);
}

/* ---- simd's side ---- */

static uint32_t generation(const struct stage *s)
{
	struct sim_clock_sample now;

	sim_now_sample(s->client, &now);
	return now.clock_generation;
}

/* Newest message of a subscriber, NULL: none within a moment. */
static const struct sim_message *newest(struct sim_subscriber *sub)
{
	const struct sim_message *slot = NULL, *next;

	if (sim_wait(sub, 10 * MS) <= 0)
		return NULL;
	while (sim_take(sub, &next) == 0) {
		if (slot)
			sim_release(sub, slot);
		slot = next;
	}
	return slot;
}

/* Frames until both channels are through: their ports find each other in their own time. */
static bool heard(struct sim_subscriber *sub)
{
	const struct sim_message *slot = newest(sub);

	if (slot)
		sim_release(sub, slot);
	return slot != NULL;
}

static void frames_until_heard(struct stage *s)
{
	bool objects = false, signals = false;

	while (!(objects && signals)) {
		frame(s);
		objects = heard(s->objects) || objects;
		signals = heard(s->signals) || signals;
	}
}

static int64_t driver_pid(void)
{
	json_t *j = run_call("GetClock", NULL), *driver = json_object_get(json_object_get(j, "clock"), "driver");
	int64_t pid = json_is_object(driver) ? json_integer_value(json_object_get(driver, "pid")) : 0;

	json_decref(j);
	return pid;
}

static void assert_driver(bool right, int64_t pid)
{
	if (right)
		return;
	fprintf(stderr, "%s", run_errors(&stage.simd)); /* whole: cmocka truncates texts longer than 1 KiB */
	fail_msg("the driver is %lld", (long long)pid);
}

/* An UpdateFrame without a word about entities. */
static void tick(struct stage *s)
{
	s->t_ns += STEP;
	peer_frame(&s->q, 1, 1, s->t_ns);
	ask(s, PEER_UPDATE_FRAME);
}

/* The process of the driver; above 0. */
static int64_t driving(void)
{
	int64_t pid = driver_pid();

	assert_driver(pid > 0, pid);
	return pid;
}

/* A driver other than `but`; 0: with want false, none at all. */
static int64_t until_driver(bool want, int64_t but)
{
	int64_t pid;

	AWAIT((pid = driver_pid(), want ? pid && pid != but : !pid));
	return pid;
}

static bool another_drives(int64_t but)
{
	int64_t pid = driver_pid();

	return pid > 0 && pid != but;
}

static void select_source(const char *name)
{
	char params[64];

	snprintf(params, sizeof(params), "{\"source\": \"%s\"}", name);
	json_decref(run_call("SetSource", params));
}

/* ---- set-up ---- */

/* silence: seconds without a request, after which it lets go of time. kept: its connections outlive it. */
static void open_stage(const char *silence, bool kept)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };
	struct sim_publisher_options po = {
		.size = sizeof(po), .frame_id = "map", .flags = SIM_PUB_LOCAL, .max_body = sim_GpsOdometry_size(16)
	};
	struct stage *s = &stage;
	char config[768];
	FILE *f = fopen(PARAMETERS, "w");

	assert_non_null(f);
	assert_true(fputs(NOTHING_SEEN, f) >= 0 && fclose(f) == 0);
	s->port = free_port();
	snprintf(config, sizeof(config),
		 "{\"TimeSource\": \"simulation\", \"step\": {\"deadline_ms\": 2000}, \"pools\": [{\"size\": 1024, \"count\": 2000}, "
		 "{\"size\": 66048, \"count\": 800}],"
		 "\"process\": {\"restart_ms\": 10, \"restart_max_ms\": 100}, "
		 "\"ss2\": {\"command\": [%s\"%s\", \"--port\", \"%d\", \"--origin\", \"500000,4000000\", "
		 "\"--silence\", \"%s\", \"--parameters\", \"" PARAMETERS "\"]}}",
		 kept ? "" : "\"env\", \"-u\", \"SIMD_KEEP\", ", run_program("sim-ss2"), s->port, silence);
	run_start(&s->simd, config, NULL);
	assert_true(run_ready(&s->simd));
	s->client = run_client("walk");
	assert_int_equal(sim_subscribe(s->client, "/objects", &sim_Detected3DObjects_type, &so, &s->objects), 0);
	assert_int_equal(sim_subscribe(s->client, "/signals", &sim_TrafficSignals_type, &so, &s->signals), 0);
	assert_int_equal(sim_subscribe(s->client, "/perception/objects", &sim_Detected3DObjects_type, &so,
				       &s->detected),
			 0);
	assert_int_equal(sim_subscribe(s->client, "/perception/ground_truth", &sim_Detected3DObjects_type, &so,
				       &s->truth),
			 0);
	assert_int_equal(sim_advertise(s->client, "/gps_odometry", &sim_GpsOdometry_type, &po, &s->odometry), 0);
	s->zmq = zmq_ctx_new();
	connect_peer(s);
}

static void close_stage(void)
{
	struct stage *s = &stage;

	zmq_close(s->req);
	zmq_ctx_term(s->zmq);
	sim_publisher_destroy(s->odometry);
	sim_subscriber_destroy(s->objects);
	sim_subscriber_destroy(s->signals);
	sim_subscriber_destroy(s->detected);
	sim_subscriber_destroy(s->truth);
	unlink(PARAMETERS);
	sim_disconnect(s->client);
	run_stop(&s->simd);
}

/* No machine is away for so long that the server takes it for silence. */
static int set_up(void **state)
{
	(void)state;
	open_stage("3600", true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close_stage();
	return 0;
}

/* ---- the walk: each test goes on where the one before has ended ---- */

TEST(selecting_the_source_starts_the_server)
{
	struct stage *s = &stage;

	assert_int_equal(driver_pid(), 0);
	select_source("ss2");
	initialize(s, 0); /* waits in ZeroMQ until there is a listener */
	assert_true(driver_pid() > 0);
	assert_int_equal(sim_now(s->client), 0);
}

TEST(a_scenario_is_seen_on_the_channels)
{
	static const uint32_t sensors[] = { PEER_ATTACH_IMU, PEER_ATTACH_LIDAR, PEER_ATTACH_DETECTION, PEER_ATTACH_GRID,
					    PEER_ATTACH_LIGHT_DETECTOR };
	const struct sim_Detected3DObject *o;
	const struct sim_TrafficSignal *t;
	const struct sim_message *slot;
	struct stage *s = &stage;
	uint32_t n;

	spawn(s, "ego", true, 1, 2);
	for (size_t i = 0; i < sizeof(sensors) / sizeof(sensors[0]); i++) {
		peer_attach(&s->q, sensors[i], "ego");
		if (sensors[i] ==
		    PEER_ATTACH_LIDAR) { /* there is no room for clouds; those that come next are attached all the same */
			assert_false(ask_bytes(s, s->q.data, s->q.len));
			assert_non_null(strstr(s->a.description, "/perception/pointcloud"));
			continue;
		}
		ask(s, sensors[i]);
	}
	spawn(s, "car_1", false, 20, 20);
	frames_until_heard(s);
	frame(s);
	slot = newest(s->objects);
	assert_non_null(slot);
	assert_int_equal(slot->header.stamp_sim_ns, s->t_ns);
	assert_string_equal(slot->header.frame_id, "base_link");
	o = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(slot->body, slot->body_size), slot->body_size, &n);
	assert_int_equal(n, 1);
	assert_true(fabs(o->pose.position.x - (20 + 2.2 - 1)) < 1e-9 && fabs(o->pose.position.y - 18) < 1e-9);
	assert_true(o->map_velocity.x == 5);
	assert_string_equal(sim_Detected3DObject_label_in(slot->body, slot->body_size, o), "Car");
	sim_release(s->objects, slot);
	slot = newest(s->signals);
	assert_non_null(slot);
	t = sim_TrafficSignals_signals(sim_TrafficSignals_from(slot->body, slot->body_size), slot->body_size, &n);
	assert_int_equal(n, 1);
	assert_int_equal(t->color, SIM_TRAFFIC_SIGNAL_COLOR_GREEN);
	assert_true(t->blink);
	assert_string_equal(sim_TrafficSignal_id_in(slot->body, slot->body_size, t), "34806");
	sim_release(s->signals, slot);
}

static uint32_t objects_in_the_next(struct stage *s, struct sim_subscriber *sub)
{
	const struct sim_message *slot = NULL;
	uint32_t n;

	for (; !slot; slot = newest(sub))
		frame(s);
	(void)sim_Detected3DObjects_objects(sim_Detected3DObjects_from(slot->body, slot->body_size), slot->body_size,
					    &n);
	sim_release(sub, slot);
	return n;
}

TEST(detections_are_lost_as_configured)
{
	assert_int_equal(objects_in_the_next(&stage, stage.truth), 1);
	assert_int_equal(objects_in_the_next(&stage, stage.detected), 0);
}

TEST(time_stands_between_frames_and_pause_is_refused)
{
	struct stage *s = &stage;
	char *reply = NULL;

	assert_int_equal(sim_now(s->client), s->t_ns);
	assert_true(sim_call_within(s->client, "PauseClock", "{}", -1, &reply) < 0);
	free(reply);
	frame(s);
	peer_step_time(&s->q, 0.1);
	ask(s, PEER_UPDATE_STEP_TIME);
	frame(s);
}

static void publish_vehicle(struct stage *s)
{
	_Alignas(8) uint8_t body[2048];
	struct sim_builder b;
	struct sim_GpsOdometry *m = sim_GpsOdometry_init(body, sizeof(body), &b);

	m->easting = 500010;
	m->northing = 4000020;
	m->ignore_map_origin = 1;
	m->orientation.w = 1;
	m->forward_speed = 7;
	assert_int_equal(sim_publish_local_copy(s->odometry, body, sim_builder_size(&b), s->t_ns), 0);
}

TEST(the_ego_is_where_its_vehicle_says)
{
	struct stage *s = &stage;

	frame(s);
	assert_true(s->a.status[0].pose.x == 1); /* no vehicle: the scenario's word */
	do {
		publish_vehicle(s);
		frame(s);
		pace_us(5000);
	} while (s->a.status[0].pose.x == 1);
	assert_string_equal(s->a.status[0].name, "ego");
	assert_true(s->a.status[0].pose.x == 10 && s->a.status[0].pose.y == 20 && s->a.status[0].speed == 7);
	assert_true(s->a.status[1].pose.x == 20);
	for (int i = 0; i < 32; i++) /* it falls silent: more than a second of the scenario */
		frame(s);
	assert_true(s->a.status[0].pose.x == 1);
}

static void junk(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)port) };
	char bytes[1000];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(bytes, 0xa5, sizeof(bytes));
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_true(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0);
	close(fd);
}

TEST(malformed_requests_are_refused_and_the_run_continues)
{
	const struct peer_status nobody = { .name = "nobody", .pose = { .qw = 1 } };
	static uint8_t big[1200000];
	struct stage *s = &stage;

	peer_update_status(&s->q, 250020, &nobody, 1, true, false);
	assert_false(ask_bytes(s, s->q.data, s->q.len));
	assert_int_equal(s->a.number, PEER_UPDATE_STATUS);
	assert_non_null(strstr(s->a.description, "nobody"));
	peer_unknown(&s->q, 99);
	assert_false(ask_bytes(s, s->q.data, s->q.len));
	assert_int_equal(s->a.number, 99);
	assert_false(ask_bytes(s, "", 0));
	assert_false(ask_bytes(s, "\x12\x7f\x00", 3));
	assert_false(ask_bytes(s, big, sizeof(big)));
	assert_int_equal(zmq_send(s->req, "\x0a\x00", 2, ZMQ_SNDMORE), 2);
	assert_false(ask_bytes(s, "\x0a\x00", 2));
	assert_non_null(strstr(s->a.description, "part"));
	junk(s->port);
	frame(s);
}

TEST(a_despawned_object_is_no_longer_published)
{
	const struct sim_message *slot;
	struct stage *s = &stage;
	uint32_t n;

	peer_despawn(&s->q, "car_1");
	ask(s, PEER_DESPAWN);
	assert_false(ask_bytes(s, s->q.data, s->q.len));
	(void)heard(s->objects);
	tick(s);
	slot = newest(s->objects);
	assert_non_null(slot);
	assert_int_equal(slot->header.stamp_sim_ns, s->t_ns);
	(void)sim_Detected3DObjects_objects(sim_Detected3DObjects_from(slot->body, slot->body_size), slot->body_size,
					    &n);
	assert_int_equal(n, 0);
	sim_release(s->objects, slot);
}

TEST(initialising_again_is_a_jump)
{
	struct stage *s = &stage;
	uint32_t g = generation(s);

	initialize(s, 0);
	assert_int_equal(generation(s), g + 1);
	assert_int_equal(sim_now(s->client), 0);
	spawn(s, "ego", true, 1, 2); /* the old one was dropped */
	spawn(s, "car_1", false, 20, 20);
	frame(s);
	initialize(s, 5000 * MS); /* forward is a jump as well */
	assert_int_equal(generation(s), g + 2);
	assert_int_equal(sim_now(s->client), 5000 * MS);
}

TEST(selecting_another_source_ends_the_server)
{
	struct stage *s = &stage;
	int64_t old = driving();

	select_source("system");
	AWAIT(!run_alive((pid_t)old));
	assert_int_equal(driver_pid(), 0);
	select_source("ss2");
	until_driver(true, old);
	initialize(s, MS);
	assert_int_equal(sim_now(s->client), MS);
}

TEST(the_run_continues_when_roudi_dies)
{
	struct stage *s = &stage;
	int64_t old = run_number("GetInfo", "roudi_pid");

	spawn(s, "ego", true, 1, 2);
	spawn(s, "car_1", false, 20, 20);
	frames_until_heard(s);
	assert_int_equal(kill((pid_t)old, SIGKILL), 0);
	while (run_number("GetInfo", "roudi_pid") == old)
		frame(s);
	while (heard(s->objects) || heard(s->signals)) /* of the life before */
		;
	frames_until_heard(s);
}

TEST(a_killed_server_is_restarted_with_its_scene)
{
	struct stage *s = &stage;
	int64_t old = driving();
	uint32_t g = generation(s);

	assert_int_equal(kill((pid_t)old, SIGKILL), 0);
	until_driver(true, old);
	assert_int_equal(sim_now(s->client), s->t_ns); /* time held meanwhile */
	frame(s);
	frame(s);
	assert_int_equal(generation(s), g);
	initialize(s, 0);
	assert_true(generation(s) > g);
}

/* A participant that steps after sim-ss2 has a frame's objects in the step of that frame. */
TEST(a_frame_is_published_in_its_own_step)
{
	struct sim_client *other = run_client("sensor");
	struct stage *s = &stage;
	const struct sim_message *m;
	struct sim_step_turn turn;
	struct sim_step *step;
	int64_t stamp = 0;

	spawn(s, "ego", true, 1, 2);
	assert_int_equal(sim_step_join(other, 300, &step), 0);
	for (int i = 0; i < 10; i++) {
		s->t_ns += STEP;
		peer_frame(&s->q, 1, 1, s->t_ns);
		assert_int_equal(zmq_send(s->req, s->q.data, s->q.len, 0), s->q.len);
		assert_int_equal(sim_step_wait(step, -1, &turn), 0);
		assert_int_equal(turn.now.sim_ns, s->t_ns);
		for (; sim_take(s->objects, &m) == 0; sim_release(s->objects, m))
			stamp = m->header.stamp_sim_ns;
		if (i > 1) /* sim-ss2 joins when it sees a participant */
			assert_int_equal(stamp, s->t_ns);
		assert_int_equal(sim_step_done(step), 0);
		assert_true(receive(s));
	}
	sim_step_leave(step);
	sim_disconnect(other);
	peer_despawn(&s->q, "ego");
	ask(s, PEER_DESPAWN);
}

/* ---- kills: no request is lost, whatever was under way ---- */

/* Of errors and warnings in simd's log. */
static int said(const char *what)
{
	int n = 0;

	for (const char *at = run_errors(&stage.simd); (at = strstr(at, what)); at++)
		n++;
	return n;
}

struct hold {
	struct sim_client *client;
	struct sim_step *step;
};

/* An UpdateFrame is asked for, and a step that does not end holds its answer back. */
static void hold_frame(struct stage *s, struct hold *h)
{
	int before = said("the step is not over");
	struct sim_step_turn turn;

	h->client = run_client("holds");
	assert_int_equal(sim_step_join(h->client, 1, &h->step), 0);
	s->t_ns += STEP;
	peer_frame(&s->q, 1, 1, s->t_ns);
	assert_int_equal(zmq_send(s->req, s->q.data, s->q.len, 0), s->q.len);
	assert_int_equal(sim_step_wait(h->step, -1, &turn), 0);
	AWAIT(said("the step is not over") > before);
}

static void let_go(struct hold *h)
{
	assert_int_equal(sim_step_done(h->step), 0);
	sim_step_leave(h->step);
	sim_disconnect(h->client);
}

TEST(a_request_in_progress_in_a_killed_server_is_answered_by_the_next)
{
	struct stage *s = &stage;
	uint32_t g = generation(s);
	int64_t old = driving();
	struct hold h;

	spawn(s, "ego", true, 1, 2);
	spawn(s, "car_1", false, 20, 20);
	hold_frame(s, &h);
	assert_int_equal(kill((pid_t)old, SIGKILL), 0);
	until_driver(true, old);
	let_go(&h);
	assert_true(receive(s));
	assert_int_equal(sim_now(s->client), s->t_ns);
	assert_int_equal(generation(s), g);
	frame(s);
	assert_int_equal(said("waits for that answer"), 0);
}

/* The request is in the socket of a process that never reads it. */
TEST(a_request_unread_by_a_killed_server_is_answered_by_the_next)
{
	struct stage *s = &stage;
	int64_t old = driving();

	assert_int_equal(kill((pid_t)old, SIGSTOP), 0);
	s->t_ns += STEP;
	peer_frame(&s->q, 1, 1, s->t_ns);
	assert_int_equal(zmq_send(s->req, s->q.data, s->q.len, 0), s->q.len);
	AWAIT(strstr(run_errors(&s->simd), "which drives time, is stopped"));
	assert_int_equal(kill((pid_t)old, SIGKILL), 0);
	assert_true(receive(s));
	assert_int_equal(sim_now(s->client), s->t_ns);
	frame(s);
}

/* A request that crashes each server that reads it does not do so for ever. */
TEST(a_request_that_ends_one_server_after_another_is_refused)
{
	struct stage *s = &stage;
	int64_t old;
	struct hold h;

	hold_frame(s, &h);
	for (int lives = 1; lives <= 4; lives++) {
		int held = said("the step is not over");

		old = driving();
		assert_int_equal(kill((pid_t)old, SIGKILL), 0);
		until_driver(true, old);
		AWAIT(lives == 4 || said("the step is not over") > held);
	}
	assert_false(receive(s));
	assert_non_null(strstr(s->a.description, "have ended with this request"));
	let_go(&h);
	frame(s);
}

/* Whether a request was worked on twice, or not at all, shows: an entity is despawned once, and there is one of each name. */
static void walk(struct stage *s)
{
	frame(s);
	spawn(s, "passer-by", false, 30, 30);
	frame(s);
	peer_despawn(&s->q, "passer-by");
	ask(s, PEER_DESPAWN);
	tick(s);
	assert_int_equal(sim_now(s->client), s->t_ns);
}

TEST(twenty_kills_never_block_the_scenario)
{
	struct stage *s = &stage;
	uint32_t g = generation(s);

	for (unsigned i = 0; i < 20; i++) {
		int64_t old = driving();
		struct strike k;

		strike_begin(&k, (pid_t)old, i * 311);
		do
			walk(s);
		while (!strike_over(&k));
		AWAIT((walk(s), another_drives(old)));
	}
	assert_int_equal(generation(s), g);
	assert_int_equal(said("was lost with it"), 0);
}

/* Each run of a scenario begins with Initialize: the clock jumps, and spawned entities are removed. */
TEST(kills_while_a_scenario_begins_do_not_block_it)
{
	struct stage *s = &stage;

	for (unsigned i = 0; i < 10; i++) {
		int64_t old = driving();
		struct strike k;

		strike_begin(&k, (pid_t)old, i * 100);
		initialize(s, 0);
		spawn(s, "ego", true, 1, 2);
		spawn(s, "car_1", false, 20, 20);
		do
			frame(s);
		while (!strike_over(&k));
		AWAIT((frame(s), another_drives(old)));
	}
}

/* Another client begins: the log names both, and requests of the first one are refused. */
TEST(a_second_client_takes_the_scenario_over)
{
	struct stage *s = &stage;
	void *first = s->req;

	initialize(s, 0);
	connect_peer(s);
	initialize(s, 0);
	AWAIT(strstr(run_errors(&s->simd), "begins a scenario while that of 127.0.0.1:"));
	tick(s);
	peer_frame(&s->q, 1, 1, s->t_ns + STEP);
	assert_int_equal(zmq_send(first, s->q.data, s->q.len, 0), s->q.len);
	{
		void *second = s->req;

		s->req = first;
		assert_false(receive(s));
		s->req = second;
	}
	assert_non_null(strstr(s->a.description, "the scenario is that of 127.0.0.1:"));
	assert_int_equal(sim_now(s->client), s->t_ns);
	zmq_close(first);
	tick(s);
}

/* A stopped process does not answer: simd says why time stands. */
TEST(a_stopped_server_is_named)
{
	struct stage *s = &stage;
	int before = said("which drives time, is stopped");
	int64_t pid = driving();
	char *json;

	assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
	AWAIT(said("which drives time, is stopped") > before);
	assert_int_equal(sim_call_within(s->client, "GetClock", NULL, -1, &json), 0);
	assert_non_null(strstr(json, "\"driver_stopped\":true"));
	free(json);
	assert_int_equal(kill((pid_t)pid, SIGCONT), 0);
	tick(s);
	assert_int_equal(sim_call_within(s->client, "GetClock", NULL, -1, &json), 0);
	assert_non_null(strstr(json, "\"driver_stopped\":false"));
	free(json);
}

/*
 * A supervisor that does not keep the connections takes them away: killed before it had answered, sim-ss2 has no
 * successor that drives, and the log says so.
 */
TEST(without_kept_connections_a_lost_request_is_reported)
{
	struct stage *s = &stage;
	struct hold h;
	int64_t old;

	close_stage();
	open_stage("3600", false);
	select_source("ss2");
	initialize(s, 0);
	old = driving();
	hold_frame(s, &h);
	assert_int_equal(kill((pid_t)old, SIGKILL), 0);
	AWAIT(!run_alive((pid_t)old));
	let_go(&h);
	AWAIT(strstr(run_errors(&s->simd), "waits for that answer"));
	assert_int_equal(driver_pid(), 0);
	zmq_close(s->req); /* it would wait for ever; the user ends the scenario */
	connect_peer(s);
	initialize(s, 0);
	old = driving();
	assert_int_equal(kill((pid_t)old, SIGKILL), 0); /* and nothing comes */
	until_driver(true, old);
	AWAIT(strstr(run_errors(&s->simd), "was lost with it"));
	until_driver(false, 0);
}

/* A client exits without a message: time has no driver, the log says so, and the next request is served. */
TEST(a_scenario_that_falls_silent_is_seen)
{
	struct stage *s = &stage;

	close_stage();
	open_stage("1", true);
	select_source("ss2");
	initialize(s, 0);
	AWAIT(strstr(run_errors(&s->simd), "no request for 1 s"));
	until_driver(false, 0);
	tick(s);
	assert_int_equal(sim_now(s->client), s->t_ns);
	AWAIT((tick(s), driver_pid() > 0)); /* or it has let go again by then, on a slow machine */
}

TEST_GROUP(set_up, tear_down)
