/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every source of an ego, as a receiver takes it: the gyro's integral is the yaw, and gyro and speed lead to the place. The real programs: simd, RouDi,
 * sim-sumo with a real sumo, sim-vehicle, sim-ss2 with the vehicle on board, sim-join in a world; this test listens, takes part in steps, and steers.
 */
#include "tests/support/stack.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <sim/msg/VehicleControl.h>
#include <sim/sim.h>

#include "reckon.h"
#include "scenario.h"
#include "ss2_peer.h"
#include "system/world/server.h"

#define RANK      1000 /* behind the vehicle */
#define CAR       "config/rigs/vehicle/car.json"
#define TOWN      "config/rigs/demo/town.sumocfg"
#define VEHICLE   "{\"name\":\"car\",\"command\":[\"sim-vehicle\",\"--params\",\"" CAR "\"]}"
#define TOWN_WAY  400 /* m in a minute of the town, at least: it waits at lights */
#define DRIVE_S   60
#define DRIVE_WAY 150 /* m */

struct ride {
	pid_t simd;
	struct sim_client *client;
	struct sim_subscriber *imu;
	struct sim_publisher *control;
	struct reckon reckon;
	int64_t begun_sim_ns; /* of the drive; 0: nothing has come yet */
};

/* ---- riding ---- */

static void get_in(struct ride *r, const char *conf)
{
	const struct sim_subscriber_options so = { .size = sizeof(so), .depth = 256 };
	const struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL };
	const struct sim_client_options co = { .size = sizeof(co), .name = "test", .socket = STACK_SOCKET };

	memset(r, 0, sizeof(*r));
	r->simd = stack_start(conf);
	assert_int_equal(sim_connect(&co, &r->client), 0);
	assert_int_equal(sim_subscribe(r->client, "/imu", &sim_Imu_type, &so, &r->imu), 0);
	assert_int_equal(sim_advertise(r->client, "/control", &sim_VehicleControl_type, &po, &r->control), 0);
}

static void get_out(struct ride *r)
{
	sim_publisher_destroy(r->control);
	sim_subscriber_destroy(r->imu);
	sim_disconnect(r->client);
	/* not stack_stop(): this process is a client, and leaves its runtime's files when it ends */
	assert_int_equal(kill(r->simd, SIGTERM), 0);
	assert_int_equal(stack_wait(r->simd), 0);
}

/* The IMU's messages since. */
static void hear(struct ride *r)
{
	const struct sim_message *m;

	for (; sim_take(r->imu, &m) == 0; (void)sim_release(r->imu, m)) {
		const struct sim_Imu *imu = sim_Imu_from(m->body, m->body_size);

		assert_non_null(imu);
		if (!r->begun_sim_ns)
			r->begun_sim_ns = m->header.stamp_sim_ns;
		reckon_imu(&r->reckon, imu, m->header.stamp_sim_ns);
	}
}

/* Slower and faster, to the left and to the right. */
static void steer(struct ride *r)
{
	double t = (double)sim_now(r->client) / 1e9;
	const struct sim_VehicleControl c = { .present = SIM_VEHICLE_CONTROL_HAS_VELOCITY |
							 SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE,
					      .velocity = (float)(6 + 4 * sin(t / 5)),
					      .steer_angle = (float)(0.1 + 0.3 * sin(t / 2)) };

	assert_int_equal(sim_publish_local_copy(r->control, &c, sizeof(c), 0), 0);
}

static bool has_driven(const struct ride *r, int64_t dur_s)
{
	return r->begun_sim_ns && r->reckon.at_sim_ns - r->begun_sim_ns >= dur_s * NS_PER_S;
}

/* Another one moves time, which waits for the test in each step. */
static void ride(struct ride *r, int64_t dur_s)
{
	struct sim_step_turn turn;
	struct sim_step *step;

	assert_int_equal(sim_step_join(r->client, RANK, &step), 0);
	while (!has_driven(r, dur_s)) {
		assert_int_equal(sim_step_wait(step, -1, &turn), 0);
		hear(r);
		steer(r);
		assert_int_equal(sim_step_done(step), 0);
	}
	sim_step_leave(step);
}

static void check(const struct ride *r, double least_way)
{
	if (!(r->reckon.way > least_way && fabs(r->reckon.turned) > 1))
		fail_msg("it has driven %.0f m and turned by %.1f rad", r->reckon.way, r->reckon.turned);
	reckon_check(&r->reckon);
}

/* ---- the sources ---- */

/* Orders come on a channel that sim-sumo does not hear: SUMO drives. */
static void drive_in_town(int64_t dur_s, double least_way)
{
	static struct ride r;

	get_in(&r,
	       "\"TimeSource\":\"unity\",\"rigs\":[{\"name\":\"rig\",\"processes\":[{\"name\":\"sumo\",\"command\":["
	       "\"sim-sumo\",\"--free-run\",\"--control\",\"\",\"--config\",\"" TOWN "\"]}]}]");
	ride(&r, dur_s);
	check(&r, least_way);
	get_out(&r);
}

TEST_WITH(gyro_and_speed_of_sim_sumo_lead_to_its_positions, NULL, stack_sweep)
{
	drive_in_town(60, TOWN_WAY);
}

/* The place jumps over each of its junctions, which no gyro and no speed tell; the yaw does not. */
TEST_WITH(gyro_of_sim_sumo_leads_to_the_yaw_where_junctions_have_no_lanes, NULL, stack_sweep)
{
	static struct ride r;

	scenario_write(&(struct scenario){ .bare = "--no-internal-links" });
	get_in(&r,
	       "\"TimeSource\":\"unity\",\"rigs\":[{\"name\":\"rig\",\"processes\":[{\"name\":\"sumo\",\"command\":["
	       "\"sim-sumo\",\"--free-run\",\"--control\",\"\",\"--config\",\"" SCENARIO "\"]}]}]");
	ride(&r, 45);
	assert_true(fabs(r.reckon.turned) > 1.5);
	reckon_check_yaw(&r.reckon, RECKON_DEGREES);
	get_out(&r);
}

TEST_FULL_WITH(gyro_and_speed_of_sim_sumo_lead_to_its_positions_after_ten_minutes, NULL, stack_sweep)
{
	drive_in_town(600, 3000);
}

TEST_WITH(gyro_and_speed_of_sim_vehicle_lead_to_its_positions, NULL, stack_sweep)
{
	struct sim_driver *driver;
	static struct ride r;
	int64_t granted;

	get_in(&r, "\"TimeSource\":\"unity\",\"rigs\":[{\"name\":\"rig\",\"processes\":[" VEHICLE "]}]");
	assert_int_equal(sim_driver_acquire(r.client, SIM_DRIVER_FREEWHEEL, &driver), 0);
	while (!has_driven(&r, DRIVE_S)) {
		assert_int_equal(sim_driver_advance(driver, 10 * NS_PER_MS, &granted), 0);
		hear(&r);
		steer(&r);
	}
	sim_driver_release(driver);
	check(&r, DRIVE_WAY);
	get_out(&r);
}

/* ---- sim-join: the world's ticks are the vehicle's steps ---- */

TEST_WITH(gyro_and_speed_of_sim_join_lead_to_its_positions, NULL, stack_sweep)
{
	static struct server server;
	static struct ride r;
	char conf[512];

	server_start(&server, 0, (const char *const[]){ "--pace", "0", "--step", "50ms", NULL });
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"unity\",\"rigs\":[{\"name\":\"rig\",\"processes\":[" VEHICLE
		 ",{\"name\":\"join\",\"command\":[\"sim-join\",\"--world\",\"%s\"]}]}]",
		 server.address);
	get_in(&r, conf);
	ride(&r, DRIVE_S);
	check(&r, DRIVE_WAY);
	get_out(&r);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- sim-ss2: a scenario's frames are ---- */

struct ss2_run {
	void *zmq, *req;
	struct peer_buf q;
	int64_t t_sim_ns;
};

static void ask(struct ss2_run *s)
{
	static uint8_t bytes[65536];
	struct peer_answer a;
	int n;

	assert_int_equal(zmq_send(s->req, s->q.data, s->q.len, 0), s->q.len);
	n = zmq_recv(s->req, bytes, sizeof(bytes), 0);
	assert_true(n > 0 && peer_read(bytes, (size_t)n, &a));
	if (!a.success)
		fail_msg("request %u: %s", a.number, a.description);
}

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

static void begin_scenario(struct ss2_run *s, int port)
{
	const struct peer_pose at = { .qw = 1 };
	char endpoint[64];

	memset(s, 0, sizeof(*s));
	s->zmq = zmq_ctx_new();
	s->req = zmq_socket(s->zmq, ZMQ_REQ);
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%d", port);
	assert_int_equal(zmq_connect(s->req, endpoint), 0);
	peer_initialize(&s->q, 1.0 / 30, 0);
	ask(s);
	peer_spawn_vehicle(&s->q, "ego", true, &at);
	ask(s);
}

static void frame(struct ss2_run *s)
{
	const struct peer_status ego = { .name = "ego", .action = "driving", .pose = { .qw = 1 } };

	peer_update_status(&s->q, 250020, &ego, 1, true, false);
	ask(s);
	s->t_sim_ns += 33 * NS_PER_MS;
	peer_frame(&s->q, (double)s->t_sim_ns / 1e9, (double)NAN, s->t_sim_ns);
	ask(s);
}

TEST_WITH(gyro_and_speed_of_sim_ss2_lead_to_its_positions, NULL, stack_sweep)
{
	static struct ss2_run s;
	static struct ride r;
	int port = free_port();
	char conf[512];

	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"ss2\",\"ss2\":{\"command\":[\"sim-ss2\",\"--port\",\"%d\",\"--silence\",\"3600\","
		 "\"--vehicle\",\"" CAR "\"]}",
		 port);
	get_in(&r, conf);
	begin_scenario(&s, port);
	while (!has_driven(&r, DRIVE_S)) {
		frame(&s);
		hear(&r);
		steer(&r);
	}
	zmq_close(s.req);
	zmq_ctx_term(s.zmq);
	check(&r, DRIVE_WAY);
	get_out(&r);
}

/*
 * Each test in a process of its own, as real clients are: mappings of a data plane are only released when the process
 * exits.
 */
TEST_PROCESSES()
