/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole line of real processes: simd, RouDi, sim-sumo with a real sumo, sim-lidar, and this test as client: the
 * order of messages, equal repeated runs, the ego driven by orders, and an orderly exit of every process.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Param.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/VehicleControl.h>
#include <sim/point_cloud.h>
#include <sim/srv/SetParam.h>
#include <sim/sim.h>

#include "tools/bridge/convert/geo.h"

struct line {
	pid_t simd, sumo, lidar;
	struct sim_client *client;
	char dir[TEST_PATH_MAX], socket[TEST_PATH_MAX + 16];
};

static const char *program(char buf[PATH_MAX], const char *name)
{
	char self[PATH_MAX - 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	snprintf(buf, PATH_MAX, "%s/../bin/%s", dirname(self), name);
	return buf;
}

static pid_t start(const char *name, char *const argv[])
{
	char path[PATH_MAX];
	pid_t pid;

	(void)program(path, name);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		execv(path, argv);
		_exit(127);
	}
	return pid;
}

static int end(pid_t pid, int sig)
{
	int st = -1;

	if (sig)
		assert_int_equal(kill(pid, sig), 0);
	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/* simd says when it is ready. */
static void await_ready(int fd)
{
	char text[256];
	ssize_t n;

	do {
		n = recv(fd, text, sizeof(text) - 1, 0);
		assert_true(n > 0);
		text[n] = '\0';
	} while (!strstr(text, "READY=1"));
}

/* Start simd and wait until it says that it is ready. */
static void start_simd_with(struct line *l, const char *option, const char *value)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char *argv[] = { "simd", "--runtime-dir", l->dir, (char *)option, (char *)value, NULL };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%.90s.notify", l->dir);
	(void)unlink(a.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
	l->simd = start("simd", argv);
	unsetenv("NOTIFY_SOCKET");
	await_ready(fd);
	close(fd);
}

static void start_simd(struct line *l, const char *scale)
{
	char time_scale[64];

	snprintf(time_scale, sizeof(time_scale), "TimeScale=%s", scale);
	start_simd_with(l, "--set", time_scale);
}

static void line_open_of(struct line *l, const char *run, const char *option, const char *value)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = l->socket, .timeout_ms = PATIENT_MS
	};

	memset(l, 0, sizeof(*l));
	snprintf(l->dir, sizeof(l->dir), "/tmp/%s", run);
	snprintf(l->socket, sizeof(l->socket), "%s/control", l->dir);
	start_simd_with(l, option, value);
	if (sim_connect(&o, &l->client) < 0)
		fail_msg("connect: %s", sim_why());
}

static void line_open(struct line *l, const char *run, const char *scale)
{
	char time_scale[64];

	snprintf(time_scale, sizeof(time_scale), "TimeScale=%s", scale);
	line_open_of(l, run, "--set", time_scale);
}

static void start_sumo_behind(struct line *l)
{
	char *argv[] = { "sim-sumo",  "--config", "config/rigs/demo/town.sumocfg", "--simd-socket", l->socket,
			 "--vehicle", NULL };

	l->sumo = start("sim-sumo", argv);
}

static pid_t start_vehicle(struct line *l)
{
	char *argv[] = { "sim-vehicle", "--simd-socket", l->socket, "--params", "config/rigs/vehicle/car.json", NULL };

	return start("sim-vehicle", argv);
}

/* As fast as it goes, in lock-step. */
static void start_sumo_free(struct line *l, const char *steps)
{
	char *argv[] = { "sim-sumo",
			 "--config",
			 "config/rigs/demo/town.sumocfg",
			 "--simd-socket",
			 l->socket,
			 "--free-run",
			 "--lockstep",
			 "--steps",
			 (char *)steps,
			 NULL };

	l->sumo = start("sim-sumo", argv);
}

static void start_sumo(struct line *l, const char *steps)
{
	char *argv[] = { "sim-sumo",
			 "--config",
			 "config/rigs/demo/town.sumocfg",
			 "--simd-socket",
			 l->socket,
			 "--seed",
			 "3",
			 "--steps",
			 (char *)steps,
			 NULL };

	l->sumo = start("sim-sumo", argv);
}

static void start_lidar(struct line *l)
{
	char *argv[] = { "sim-lidar", "--simd-socket", l->socket, "--buildings", "config/rigs/demo/town.buildings.json",
			 NULL };

	l->lidar = start("sim-lidar", argv);
}

static void line_close(struct line *l)
{
	sim_disconnect(l->client);
	assert_int_equal(end(l->simd, SIGTERM), 0);
	while (waitpid(-1, NULL, WNOHANG) > 0) /* RouDi, when the simd that started it was killed */
		;
	assert_int_equal(errno, ECHILD); /* no process lives on */
}

static struct sim_subscriber *listen_to(struct line *l, const char *channel, unsigned depth,
					const struct sim_type *type)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = depth };
	struct sim_subscriber *s;

	if (sim_subscribe(l->client, channel, type, &o, &s) < 0)
		fail_msg("%s: %s", channel, sim_why());
	return s;
}

static const struct sim_message *next(struct sim_subscriber *s)
{
	const struct sim_message *slot;
	int r;

	while ((r = sim_take(s, &slot)) == -EAGAIN)
		if (sim_wait(s, -1) != 1)
			fail_msg("no message comes: %s", sim_why());
	if (r < 0)
		fail_msg("take: %s", sim_why());
	return slot;
}

/* ---- the rhythm of messages ---- */

static void check_rhythm(struct sim_subscriber *s, int64_t period_ns, int n)
{
	struct sim_slot last = { 0 };

	for (int i = 0; i < n; i++) {
		const struct sim_message *slot = next(s);

		if (i) /* a slow reader misses some, and their numbers */
			assert_int_equal(slot->header.stamp_sim_ns - last.stamp_sim_ns,
					 period_ns * (int64_t)(slot->header.sequence - last.sequence));
		last = slot->header;
		assert_int_equal(sim_release(s, slot), 0);
	}
}

static void check_cloud(struct sim_subscriber *clouds)
{
	const struct sim_message *slot = next(clouds);
	const struct sim_PointCloud *m = sim_PointCloud_from(slot->body, slot->body_size);
	const struct sim_Point *p;
	unsigned high = 0;
	uint32_t n;

	assert_non_null(m);
	assert_string_equal(slot->header.frame_id, "lidar_top");
	assert_int_equal(slot->header.stamp_sim_ns % 100000000,
			 10000000); /* the stamp of its objects: first tick, then 10 Hz */
	p = sim_point_cloud_points(m, slot->body_size, &n);
	assert_true(n > 90000 && n <= 115200);
	for (uint32_t i = 0; i < n; i++) {
		double d = sqrt((double)(p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z));

		assert_true(fabs(d - (double)p[i].distance) < 0.01 && d < 120.1);
		assert_true(p[i].z > -1.91f && p[i].ring < 64 && p[i].time_offset == 0);
		high += p[i].z > -1.0f; /* higher than the road: buildings, vehicles */
	}
	assert_true(high > 1000);
	assert_int_equal(sim_release(clouds, slot), 0);
}

TEST(every_channel_keeps_its_rate)
{
	struct sim_subscriber *imu, *gps, *can, *objects, *clouds;
	struct line l;

	line_open(&l, "rhythm", "2");
	imu = listen_to(&l, "imu", 64, &sim_Imu_type);
	gps = listen_to(&l, "gps", 16, &sim_Gps_type);
	can = listen_to(&l, "can_bus", 16, &sim_CanBus_type);
	objects = listen_to(&l, "objects", 16, &sim_Detected3DObjects_type);
	clouds = listen_to(&l, "lidar/top", 2, &sim_PointCloud_type);
	start_lidar(&l);
	start_sumo(&l, "0");
	check_rhythm(imu, 10000000, 50);
	check_rhythm(gps, 80000000, 6);
	check_rhythm(can, 100000000, 5);
	check_rhythm(objects, 100000000, 5);
	check_cloud(clouds);
	assert_int_equal(end(l.sumo, SIGTERM), 0);
	assert_int_equal(end(l.lidar, SIGTERM), 0);
	sim_subscriber_destroy(imu);
	sim_subscriber_destroy(gps);
	sim_subscriber_destroy(can);
	sim_subscriber_destroy(objects);
	sim_subscriber_destroy(clouds);
	line_close(&l);
}

/* ---- paused and stepped ---- */

/* What time it is then. */
static int64_t control(struct line *l, const char *method, const char *params)
{
	const char *at;
	int64_t sim_ns;
	char *json;

	if (sim_call_within(l->client, method, params, -1, &json) < 0)
		fail_msg("%s: %s", method, sim_why());
	at = strstr(json, "\"sim_ns\":");
	assert_non_null(at);
	sim_ns = strtoll(at + strlen("\"sim_ns\":"), NULL, 10);
	free(json);
	return sim_ns;
}

static void expect_all(struct sim_subscriber *s, int64_t period_ns, int64_t *last_sim_ns, int64_t until_sim_ns)
{
	while (*last_sim_ns < until_sim_ns) {
		const struct sim_message *slot = next(s);

		if (*last_sim_ns >= 0)
			assert_int_equal(slot->header.stamp_sim_ns - *last_sim_ns, period_ns);
		*last_sim_ns = slot->header.stamp_sim_ns;
		assert_int_equal(sim_release(s, slot), 0);
	}
	assert_int_equal(*last_sim_ns, until_sim_ns);
}

/* When it is paused, or a step has ended, all that the engine measures at that moment is published. */
TEST_FULL(pauses_lose_nothing)
{
	struct sim_subscriber *imu;
	int64_t last_sim_ns = -1;
	struct line l;

	line_open(&l, "pauses", "1");
	imu = listen_to(&l, "imu", 256, &sim_Imu_type);
	start_sumo(&l, "0");
	for (int i = 0; i < 5; i++) {
		const struct sim_message *slot = next(imu);

		last_sim_ns = slot->header.stamp_sim_ns;
		assert_int_equal(sim_release(imu, slot), 0);
	}
	for (int i = 0; i < 10; i++) {
		expect_all(imu, 10000000, &last_sim_ns, control(&l, "PauseClock", "{\"wait\": true}"));
		expect_all(imu, 10000000, &last_sim_ns, control(&l, "StepClock", "{\"dur_ns\": 20000000}"));
		control(&l, "ResumeClock", "{}");
	}
	assert_int_equal(end(l.sumo, SIGTERM), 0);
	sim_subscriber_destroy(imu);
	line_close(&l);
}

/* ---- how often ---- */

/* "": it is set; else the sentence. Static. */
static const char *set_frequency(struct line *l, const char *name, double hz)
{
	static _Alignas(64) unsigned char q[1024], a[1024];
	const struct sim_SetParamResponse *response = (const struct sim_SetParamResponse *)a;
	struct sim_SetParamRequest *to;
	struct sim_builder b;
	size_t n;

	to = sim_SetParamRequest_init(q, sizeof(q), &b);
	to->param.type = SIM_PARAM_DOUBLE;
	to->param.double_value = hz;
	assert_int_equal(sim_Param_name_set_in(&b, &to->param, name), 0);
	if (sim_service_call(l->client, "sim-sumo/set_parameter", &sim_SetParam_service, q, sim_builder_size(&b), 0, a,
			     sizeof(a), &n) < 0)
		fail_msg("%s", sim_why());
	return response->success ? "" : sim_SetParamResponse_message(response, n);
}

/* Set in a pause: the next message is that of the next step, and then they come in the new rhythm. Other channels keep theirs. */
TEST_FULL(a_channels_frequency_is_set_while_it_runs)
{
	struct sim_subscriber *imu, *can;
	int64_t imu_sim_ns = -1, can_sim_ns = -1, paused;
	struct line l;

	line_open(&l, "frequency", "2");
	imu = listen_to(&l, "imu", 256, &sim_Imu_type);
	can = listen_to(&l, "can_bus", 256, &sim_CanBus_type);
	start_sumo(&l, "0");
	expect_all(imu, 10000000, &imu_sim_ns, 50000000);
	paused = control(&l, "PauseClock", "{\"wait\": true}");
	assert_string_equal(set_frequency(&l, "imu.frequency", 101),
			    "parameter imu.frequency: 101 is more than 100, the most that it may be");
	assert_string_equal(set_frequency(&l, "camera.frequency", 1),
			    "node sim-sumo has no parameter camera.frequency");
	expect_all(imu, 10000000, &imu_sim_ns, paused);
	assert_string_equal(set_frequency(&l, "imu.frequency", 20), "");
	control(&l, "ResumeClock", "{}");
	expect_all(imu, 10000000, &imu_sim_ns, paused + 10000000);
	check_rhythm(imu, 50000000, 10);
	paused = control(&l, "PauseClock", "{\"wait\": true}");
	expect_all(can, 100000000, &can_sim_ns, paused - (paused - 10000000) % 100000000);
	assert_int_equal(end(l.sumo, SIGTERM), 0);
	sim_subscriber_destroy(imu);
	sim_subscriber_destroy(can);
	line_close(&l);
}

/* ---- where ---- */

struct place {
	int64_t stamp_sim_ns;
	struct sim_Vector3 at;
};

static struct place tf_of(struct sim_subscriber *s, const char *child)
{
	const struct sim_message *slot = next(s);
	const struct sim_Transforms *m = sim_Transforms_from(slot->body, slot->body_size);
	const struct sim_Transform *t;
	struct place p = { .stamp_sim_ns = slot->header.stamp_sim_ns };
	uint32_t n;

	t = sim_Transforms_transforms(m, slot->body_size, &n);
	assert_int_equal(n, 1);
	assert_string_equal(sim_Transform_parent_frame_in(m, slot->body_size, t), "map");
	assert_string_equal(sim_Transform_child_frame_in(m, slot->body_size, t), child);
	p.at = t->translation;
	assert_int_equal(sim_release(s, slot), 0);
	return p;
}

static void near_cm(const char *what, double a, double b)
{
	if (!(fabs(a - b) < 0.01))
		fail_msg("%s: %.4f, %.4f", what, a, b);
}

/* The tree's place of that stamp, from those that have come and come. */
static struct place tf_at(struct sim_subscriber *s, int64_t stamp_sim_ns)
{
	struct place p;

	do
		p = tf_of(s, "base_link");
	while (p.stamp_sim_ns < stamp_sim_ns);
	assert_int_equal(p.stamp_sim_ns, stamp_sim_ns);
	return p;
}

/* One odometry: against the tree of frames and, by latitude and longitude, UTM and what the tree knows of it, the earth. */
static void check_place(struct sim_subscriber *odometry, struct sim_subscriber *tf, struct sim_Vector3 utm_in_map)
{
	const struct sim_message *slot = next(odometry);
	const struct sim_GpsOdometry *o = sim_GpsOdometry_from(slot->body, slot->body_size);
	struct geo_utm utm;
	struct place p;

	assert_string_equal(slot->header.frame_id, "map");
	assert_false(o->ignore_map_origin);
	assert_int_equal(geo_utm(o->longitude, o->latitude, &utm), 0);
	near_cm("x by the earth", utm.easting + utm_in_map.x, o->easting);
	near_cm("y by the earth", utm.northing + utm_in_map.y, o->northing);
	p = tf_at(tf, slot->header.stamp_sim_ns); /* 50 Hz from the first tick on: each fourth */
	near_cm("x", p.at.x, o->easting);
	near_cm("y", p.at.y, o->northing);
	near_cm("z", p.at.z, o->altitude);
	assert_int_equal(sim_release(odometry, slot), 0);
}

TEST_FULL(all_positions_are_in_one_map)
{
	struct sim_subscriber *odometry, *tf, *fixed;
	struct place utm;
	struct line l;

	line_open(&l, "where", "3");
	odometry = listen_to(&l, "gps_odometry", 16, &sim_GpsOdometry_type);
	tf = listen_to(&l, "tf", 64, &sim_Transforms_type);
	fixed = listen_to(&l, "tf_static", 4, &sim_Transforms_type);
	start_sumo(&l, "0");
	utm = tf_of(fixed, "utm");
	near_cm("origin", utm.at.x, -691500); /* as config/rigs/demo/README.md says */
	near_cm("origin", utm.at.y, -5335500);
	for (int i = 0; i < 20; i++)
		check_place(odometry, tf, utm.at);
	assert_int_equal(end(l.sumo, SIGTERM), 0);
	sim_subscriber_destroy(odometry);
	sim_subscriber_destroy(tf);
	sim_subscriber_destroy(fixed);
	line_close(&l);
}

/* ---- the same twice ---- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static uint64_t take_hashed(struct sim_subscriber *s, uint64_t h)
{
	const struct sim_message *slot = next(s);

	h = mix(h, &slot->header.stamp_sim_ns, sizeof(slot->header.stamp_sim_ns));
	h = mix(h, slot->body, slot->body_size);
	assert_int_equal(sim_release(s, slot), 0);
	return h;
}

static uint64_t hash_of_a_run(const char *run)
{
	struct sim_subscriber *imu, *objects, *signals;
	uint64_t h = 14695981039346656037u;
	struct line l;

	line_open(&l, run, "4");
	imu = listen_to(&l, "imu", 64, &sim_Imu_type);
	objects = listen_to(&l, "objects", 16, &sim_Detected3DObjects_type);
	signals = listen_to(&l, "signals", 16, &sim_TrafficSignals_type);
	start_sumo(&l, "201");
	for (int i = 0; i <= 20; i++) {
		for (int k = 0; k < (i < 20 ? 10 : 1); k++)
			h = take_hashed(imu, h);
		h = take_hashed(objects, h);
		h = take_hashed(signals, h);
	}
	assert_int_equal(end(l.sumo, 0), 0); /* 201 steps, then by itself */
	sim_subscriber_destroy(imu);
	sim_subscriber_destroy(objects);
	sim_subscriber_destroy(signals);
	line_close(&l);
	return h;
}

TEST_FULL(the_same_seed_gives_the_same_messages)
{
	assert_true(hash_of_a_run("first") == hash_of_a_run("second"));
}

/* A second run on the same simd: time goes back, and existing subscriptions continue. */
TEST_FULL(a_second_run_begins_at_0)
{
	struct sim_clock_jump jump;
	struct sim_subscriber *imu;
	uint32_t generation = 0;
	struct line l;

	line_open(&l, "rerun", "4");
	imu = listen_to(&l, "imu", 64, &sim_Imu_type);
	(void)sim_clock_jumped(l.client, &generation, &jump);
	for (int run = 0; run < 3; run++) {
		const struct sim_message *slot;

		start_sumo(&l, "50");
		for (int64_t i = 1; i <= 50; i++) {
			slot = next(imu);
			assert_int_equal(slot->header.stamp_sim_ns, i * 10000000);
			assert_int_equal(slot->header.clock_generation, generation + (uint32_t)run);
			assert_int_equal(sim_release(imu, slot), 0);
		}
		assert_int_equal(end(l.sumo, 0), 0);
	}
	assert_int_equal(sim_clock_jumped(l.client, &generation, &jump), 1);
	assert_int_equal(jump.old_sim_ns, 500000000);
	assert_int_equal(jump.new_sim_ns, 0);
	sim_subscriber_destroy(imu);
	line_close(&l);
}

/* ---- as fast as it goes ---- */

static uint64_t hash_of_file(const char *path)
{
	uint64_t h = 14695981039346656037u;
	FILE *f = fopen(path, "rb");
	long n = 0;
	int c;

	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	for (; (c = getc(f)) != EOF; n++)
		h = (h ^ (uint64_t)c) * 1099511628211u;
	fclose(f);
	assert_true(n > 10000);
	return h;
}

static void write_rig(const char *path, const char *run)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f,
		"{\"TimeSource\": \"unity\", \"rigs\": [{\"name\": \"car\", \"wait_for\": [\"log\"], \"bridges\": [{\"name\": \"log\", "
		"\"plugin\": \"logging\", \"connection\": \"/tmp/%s-log\"}]}]}",
		run);
	assert_int_equal(fclose(f), 0);
}

static uint64_t log_of_a_free_run(const char *run)
{
	char path[128];
	struct line l;

	snprintf(path, sizeof(path), "/tmp/%s.json", run);
	write_rig(path, run);
	line_open_of(&l, run, "--config", path);
	start_sumo_free(&l, "300");
	assert_int_equal(end(l.sumo, 0), 0);
	line_close(&l);
	snprintf(path, sizeof(path), "/tmp/%s-log.txt.gz", run);
	return hash_of_file(path);
}

/* Every channel in one order, of which nobody says more than the scenario. */
TEST_FULL(free_runs_in_lock_step_write_the_same_log)
{
	uint64_t first = log_of_a_free_run("free-1");

	assert_true(log_of_a_free_run("free-2") == first);
	assert_true(log_of_a_free_run("free-3") == first);
}

/* ---- orders ---- */

static void order(struct sim_publisher *p, double speed, double wheel)
{
	struct sim_slot *slot;
	struct sim_builder b;
	struct sim_VehicleControl *m;

	assert_int_equal(sim_loan(p, sizeof(*m), &slot), 0);
	m = sim_VehicleControl_init(sim_slot_body_mut(slot), sizeof(*m), &b);
	assert_non_null(m);
	m->present = SIM_VEHICLE_CONTROL_HAS_VELOCITY | SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE;
	m->velocity = (float)speed;
	m->steer_angle = (float)wheel;
	assert_int_equal(sim_publish_local(p, slot), 0);
}

/* Until the vehicle's buses tell it; give orders meanwhile. */
static void until(struct sim_subscriber *can, struct sim_publisher *orders, uint8_t mode, double speed, double steering)
{
	for (bool there = false; !there;) {
		const struct sim_message *slot = next(can);
		const struct sim_CanBus *c = sim_CanBus_from(slot->body, slot->body_size);

		there = c->mode == mode;
		if (orders) {
			order(orders, speed, steering);
			there = there && fabs((double)c->speed - speed) < 0.2 &&
				fabs((double)c->steering_angle - steering) < 0.01;
		}
		assert_int_equal(sim_release(can, slot), 0);
	}
}

TEST(control_commands_drive_the_ego)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = sizeof(struct sim_VehicleControl) };
	struct sim_publisher *orders;
	struct sim_subscriber *can;
	struct line l;

	line_open(&l, "orders", "4");
	can = listen_to(&l, "can_bus", 16, &sim_CanBus_type);
	assert_int_equal(sim_advertise(l.client, "control", &sim_VehicleControl_type, &po, &orders), 0);
	start_sumo(&l, "0");
	until(can, NULL, 0, 0, 0);
	until(can, orders, 1, 3, 0.1); /* an eighth of the speed, and a turn to the left */
	until(can, orders, 1, 0, 0);
	until(can, NULL, 0, 0, 0); /* silence: SUMO drives again */
	assert_int_equal(end(l.sumo, SIGTERM), 0);
	sim_publisher_destroy(orders);
	sim_subscriber_destroy(can);
	line_close(&l);
}

struct sight {
	double x, y, speed;
};

/* Where the ego is when time has been stepped so far. */
static struct sight stepped(struct line *l, struct sim_subscriber *odometry)
{
	int64_t now_sim_ns = control(l, "StepClock", "{\"dur_ns\": 400000000}"), at_sim_ns;
	struct sight ret;

	do {
		const struct sim_message *slot = next(odometry);
		const struct sim_GpsOdometry *m = sim_GpsOdometry_from(slot->body, slot->body_size);

		assert_non_null(m);
		ret = (struct sight){ .x = m->easting, .y = m->northing, .speed = (double)m->forward_speed };
		at_sim_ns = slot->header.stamp_sim_ns;
		assert_int_equal(sim_release(odometry, slot), 0);
		assert_true(fabs(ret.x) < 1e4 && fabs(ret.y) < 1e4 && ret.speed > -0.1 && ret.speed < 100);
	} while (at_sim_ns + 100000000 <= now_sim_ns);
	return ret;
}

/*
 * Far from any road SUMO cannot take the ego over: it brakes by itself within its time, and stands; orders move it
 * again.
 */
TEST_FULL(orders_that_end_far_from_any_road_leave_the_ego_standing)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = sizeof(struct sim_VehicleControl) };
	struct sim_subscriber *odometry;
	struct sim_publisher *orders;
	struct sight e = { 0 }, stop;
	struct line l;

	line_open(&l, "field", "50");
	odometry = listen_to(&l, "gps_odometry", 64, &sim_GpsOdometry_type);
	assert_int_equal(sim_advertise(l.client, "control", &sim_VehicleControl_type, &po, &orders), 0);
	start_sumo(&l, "0");
	assert_int_equal(sim_release(odometry, next(odometry)), 0);
	control(&l, "PauseClock", "{\"wait\": true}");
	for (int i = 0; i < 200 && e.x < 1600; i++) { /* the town ends at 465 */
		order(orders, 70, 0);
		e = stepped(&l, odometry);
	}
	assert_true(e.x >= 1600 && e.speed > 20);
	e = stepped(&l, odometry);
	for (int i = 0; i < 3; i++) { /* 0.8 s after the orders have ended, and 8 m/s^2 */
		double before = e.speed;

		e = stepped(&l, odometry);
		assert_true(e.speed > before - 4 && e.speed < before - 0.1);
	}
	for (int i = 0; i < 30; i++)
		e = stepped(&l, odometry);
	stop = e;
	e = stepped(&l, odometry);
	assert_true(e.speed == 0 && e.x == stop.x && e.y == stop.y && e.x > 1600);
	order(orders, 2, 0);
	e = stepped(&l, odometry);
	assert_true(e.speed > 0.1);
	assert_int_equal(end(l.sumo, SIGTERM), 0);
	sim_publisher_destroy(orders);
	sim_subscriber_destroy(odometry);
	line_close(&l);
}

/* ---- the ends ---- */

/* Objects lie around the ego as the vehicle is at that instant: both ways lead to the same place of the map. */
static unsigned check_around(const struct sim_message *objects, const struct sim_GpsOdometry *ego)
{
	const struct sim_Detected3DObjects *m = sim_Detected3DObjects_from(objects->body, objects->body_size);
	double yaw = 2 * atan2(ego->orientation.z, ego->orientation.w), c = cos(yaw), s = sin(yaw);
	const struct sim_Detected3DObject *o;
	uint32_t n;

	o = sim_Detected3DObjects_objects(m, objects->body_size, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct sim_Vector3 *p = &o[i].pose.position;

		near_cm("x around", ego->easting + p->x * c - p->y * s, o[i].map_position.x);
		near_cm("y around", ego->northing + p->x * s + p->y * c, o[i].map_position.y);
	}
	return n;
}

/* The odometry of the step in which these objects were seen. */
static struct sim_GpsOdometry odometry_at(struct sim_subscriber *s, int64_t stamp_sim_ns)
{
	struct sim_GpsOdometry ret;
	int64_t at;

	do {
		const struct sim_message *m = next(s);

		at = m->header.stamp_sim_ns;
		ret = *sim_GpsOdometry_from(m->body, m->body_size);
		assert_int_equal(sim_release(s, m), 0);
	} while (at < stamp_sim_ns);
	assert_int_equal(at, stamp_sim_ns);
	return ret;
}

/* Whether time waits for a participant. */
static bool in_lockstep(struct line *l)
{
	char *json;
	bool yes;

	if (sim_call_within(l->client, "GetClock", "{}", -1, &json) < 0)
		fail_msg("GetClock: %s", sim_why());
	yes = strstr(json, "\"rank\":") != NULL;
	free(json);
	return yes;
}

TEST_FULL(the_ego_can_be_a_vehicle_program)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = sizeof(struct sim_VehicleControl) };
	struct sim_subscriber *odometry, *objects;
	struct sim_publisher *orders;
	struct sim_GpsOdometry ego = { 0 };
	unsigned seen = 0, moved = 0;
	struct line l;
	pid_t vehicle;

	line_open(&l, "vehicle", "4");
	odometry = listen_to(&l, "gps_odometry", 256, &sim_GpsOdometry_type);
	objects = listen_to(&l, "objects", 64, &sim_Detected3DObjects_type);
	assert_int_equal(sim_advertise(l.client, "control", &sim_VehicleControl_type, &po, &orders), 0);
	vehicle = start_vehicle(&l);
	AWAIT(sim_publisher_has_subscribers(orders) && in_lockstep(&l));
	start_sumo_behind(&l);
	for (int i = 0; i < 100 && !moved; i++) { /* 10 s of simulated time */
		const struct sim_message *m = next(objects);

		order(orders, 4, 0.1);
		ego = odometry_at(odometry, m->header.stamp_sim_ns);
		if (i > 1) /* it has been put where SUMO's ego departed */
			seen += check_around(m, &ego);
		moved = fabs((double)ego.forward_speed - 4) < 0.1 && fabs((double)ego.wheel_angle - 0.1) < 0.01;
		assert_int_equal(sim_release(objects, m), 0);
	}
	assert_true(moved && seen > 0);
	assert_true(hypot(ego.easting, ego.northing) > 10); /* in the town, not at the map's origin */
	assert_int_equal(end(l.sumo, SIGTERM), 0);
	assert_int_equal(end(vehicle, SIGTERM), 0);
	sim_publisher_destroy(orders);
	sim_subscriber_destroy(odometry);
	sim_subscriber_destroy(objects);
	line_close(&l);
}

TEST(sumo_ends_with_its_killed_driver)
{
	struct sim_subscriber *imu;
	char path[64];
	struct line l;
	int sumo = 0, how;
	FILE *f;

	line_open(&l, "killed", "1");
	imu = listen_to(&l, "imu", 64, &sim_Imu_type);
	start_sumo(&l, "0");
	assert_int_equal(sim_release(imu, next(imu)), 0);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)l.sumo, (int)l.sumo);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &sumo), 1);
	fclose(f);
	assert_int_equal(end(l.sumo, SIGKILL), 128 + SIGKILL);
	how = end(sumo, 0); /* it has become ours, and the kernel ended it, or it wrote to the one that is gone */
	assert_true(how == 128 + SIGKILL || how == 128 + SIGPIPE);
	sim_subscriber_destroy(imu);
	line_close(&l);
}

TEST_FULL(a_new_simd_is_served_as_the_old_one)
{
	const struct sim_message *slot;
	struct sim_subscriber *imu, *clouds;
	struct line l;
	int64_t last;

	line_open(&l, "again", "2");
	imu = listen_to(&l, "imu", 64, &sim_Imu_type);
	clouds = listen_to(&l, "lidar/top", 2, &sim_PointCloud_type);
	start_lidar(&l);
	start_sumo(&l, "0");
	assert_int_equal(sim_release(clouds, next(clouds)), 0);
	assert_int_equal(end(l.simd, SIGKILL), 128 + SIGKILL);
	start_simd(&l, "2");
	while (sim_take(imu, &slot) == 0) /* what the old one left */
		assert_int_equal(sim_release(imu, slot), 0);
	slot = next(imu);
	last = slot->header.stamp_sim_ns;
	assert_int_equal(sim_release(imu, slot), 0);
	slot = next(imu);
	assert_int_equal(slot->header.stamp_sim_ns - last, 10000000);
	assert_int_equal(sim_release(imu, slot), 0);
	assert_int_equal(sim_release(clouds, next(clouds)), 0);
	assert_int_equal(end(l.sumo, SIGTERM), 0);
	assert_int_equal(end(l.lidar, SIGTERM), 0);
	sim_subscriber_destroy(imu);
	sim_subscriber_destroy(clouds);
	line_close(&l);
}

/*
 * Each test in a process of its own, as real clients are: mappings of a data plane are only released when the process
 * exits.
 */
TEST_PROCESSES()

/* Orphaned processes become children of this one. */
static int adopt(void **state)
{
	(void)state;
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

TEST_GROUP(adopt, NULL)
