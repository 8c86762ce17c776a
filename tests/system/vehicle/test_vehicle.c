/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-vehicle as a step participant: this test drives time and the vehicle, and compares its messages in each step with
 * the circle that its orders describe.
 */
#include "system/simd/run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/msg/CanBus.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Param.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/VehicleControl.h>
#include <sim/msg/VehiclePlacement.h>
#include <sim/srv/ControlModeCommand.h>
#include <sim/srv/PlaceVehicle.h>
#include <sim/srv/SetParam.h>

#include "rnd.h"

#define MS     INT64_C(1000000)
#define STEP   (10 * MS)
#define STEPS  300
#define PARAMS "/tmp/car.json"
#define WB     2.79

struct stage {
	struct simd_run simd;
	struct sim_client *client;
	struct sim_driver *driver;
	struct sim_subscriber *odometry, *can_bus;
	struct sim_publisher *control, *place;
	struct sim_GpsOdometry last;
	uint64_t log; /* hash of all bodies */
};

static void write_params(const char *text)
{
	int fd = open(PARAMS, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static size_t participants(void)
{
	json_t *j = run_call("GetClock", NULL);
	size_t n = json_array_size(json_object_get(json_object_get(j, "clock"), "participants"));

	json_decref(j);
	return n;
}

static void listen_and_talk(struct stage *s)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL };

	s->client = run_client("test");
	assert_int_equal(sim_subscribe(s->client, "/gps_odometry", &sim_GpsOdometry_type, &so, &s->odometry), 0);
	assert_int_equal(sim_subscribe(s->client, "/can_bus", &sim_CanBus_type, &so, &s->can_bus), 0);
	assert_int_equal(sim_advertise(s->client, "/control", &sim_VehicleControl_type, &po, &s->control), 0);
	assert_int_equal(sim_advertise(s->client, "/place_ego", &sim_VehiclePlacement_type, &po, &s->place), 0);
}

/* more: further words of sim-vehicle's command. */
static void open_stage_with(struct stage *s, const char *source, const char *more)
{
	char config[512];

	memset(s, 0, sizeof(*s));
	snprintf(config, sizeof(config),
		 "{\"TimeSource\": \"%s\", \"pools\": [{\"size\": 1280, \"count\": 2000}], \"rigs\": [{\"name\": \"rig\", "
		 "\"processes\": [{\"name\": \"car\", \"command\": [\"sim-vehicle\", \"--params\", \"" PARAMS
		 "\", \"--x\", \"10\", \"--y\", \"20\"%s]}]}]}",
		 source, more);
	run_start(&s->simd, config, NULL);
	if (!run_ready(&s->simd))
		fail_msg("%s", run_errors(&s->simd));
	listen_and_talk(s);
	AWAIT(participants() == 1);
}

static void open_stage(struct stage *s, const char *source)
{
	open_stage_with(s, source, "");
}

static void close_stage(struct stage *s)
{
	sim_driver_release(s->driver);
	sim_publisher_destroy(s->control);
	sim_publisher_destroy(s->place);
	sim_subscriber_destroy(s->odometry);
	sim_subscriber_destroy(s->can_bus);
	sim_disconnect(s->client);
	run_stop(&s->simd);
}

/* What the vehicle has published in this step; it is there when the step is over. False: nothing. */
static bool heard(struct stage *s)
{
	const struct sim_message *m;
	int64_t now = sim_now(s->client);
	bool any = false;

	while (sim_take(s->odometry, &m) == 0) {
		const struct sim_GpsOdometry *o = sim_GpsOdometry_from(m->body, m->body_size);

		assert_non_null(o);
		s->last = *o;
		any = m->header.stamp_sim_ns == now;
		s->log = hash64(s->log, m->body, m->body_size);
		sim_release(s->odometry, m);
	}
	return any;
}

static void step(struct stage *s)
{
	int64_t granted;

	assert_int_equal(sim_driver_advance(s->driver, STEP, &granted), 0);
	assert_int_equal(granted, STEP);
}

/* Steps until messages come through: ports find each other in their own time. */
static void drive(struct stage *s)
{
	assert_int_equal(sim_driver_acquire(s->client, SIM_DRIVER_FREEWHEEL, &s->driver), 0);
	do
		step(s);
	while (!heard(s) || !sim_publisher_has_subscribers(s->control) || !sim_publisher_has_subscribers(s->place));
}

static void order(struct stage *s, double accel, double steer)
{
	struct sim_VehicleControl c = { .present = SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION |
						   SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE,
					.target_acceleration = (float)accel,
					.steer_angle = (float)steer };

	assert_int_equal(sim_publish_local_copy(s->control, &c, sizeof(c), 0), 0);
}

static void put(struct stage *s, double x, uint8_t action)
{
	_Alignas(8) unsigned char body[512];
	struct sim_builder b;
	struct sim_VehiclePlacement *p = sim_VehiclePlacement_init(body, sizeof(body), &b);

	p->pose.position.x = x;
	p->pose.orientation.w = 1;
	p->action = action;
	assert_int_equal(sim_publish_local_copy(s->place, body, sim_builder_size(&b), 0), 0);
}

static void near(double a, double b, double eps)
{
	if (!(fabs(a - b) <= eps))
		fail_msg("%.12g is not %.12g within %g", a, b, eps);
}

/* From a spawn on: an order of one instant is in force in all of the step behind it. */
static void circle(struct stage *s)
{
	double steer = (double)0.2f, radius = WB / tan(steer);

	put(s, 0, SIM_VEHICLE_PLACEMENT_SPAWN);
	step(s);
	assert_true(heard(s));
	near(s->last.easting, 0, 0);
	s->log = HASH64_INIT;
	order(s, 1, steer);
	for (int i = 1; i <= STEPS; i++) {
		double t = i * 0.01, way = t * t / 2;

		step(s);
		assert_true(heard(s)); /* in this very step */
		near((double)s->last.forward_speed, t, 1e-6);
		near(s->last.easting, radius * sin(way / radius), 1e-9);
		near(s->last.northing, radius * (1 - cos(way / radius)), 1e-9);
	}
}

#define IDEAL "{\"wheel_base\": 2.79, \"vehicle_model_type\": \"IDEAL_STEER_ACC_GEARED\"}"

TEST(each_step_is_on_the_circle_and_a_run_repeats)
{
	static struct stage s;
	uint64_t first;

	write_params(IDEAL);
	open_stage(&s, "unity");
	drive(&s);
	circle(&s);
	first = s.log;
	circle(&s);
	assert_int_equal(s.log, first);
	close_stage(&s);
	open_stage(&s, "unity");
	drive(&s);
	circle(&s);
	assert_int_equal(s.log, first); /* other processes, the same bytes */
	close_stage(&s);
}

/* ---- services, bad orders ---- */

static struct sim_PlaceVehicleResponse ask_place(struct stage *s, double x, char why[200])
{
	_Alignas(64) unsigned char q[1024], a[1024];
	struct sim_PlaceVehicleResponse *response = (struct sim_PlaceVehicleResponse *)a;
	struct sim_PlaceVehicleRequest *p;
	struct sim_builder b;
	size_t n;
	int r;

	p = sim_PlaceVehicleRequest_init(q, sizeof(q), &b);
	p->placement.pose.position.x = x;
	p->placement.action = SIM_VEHICLE_PLACEMENT_OVERWRITE;
	r = sim_service_call(s->client, "/place_ego", &sim_PlaceVehicle_service, q, sim_builder_size(&b), 0, a,
			     sizeof(a), &n);
	if (r < 0)
		fail_msg("place_ego: %d %s", r, sim_why());
	snprintf(why, 200, "%s", sim_PlaceVehicleResponse_message(response, n));
	return *response;
}

static uint8_t mode(struct stage *s)
{
	const struct sim_message *m;
	uint8_t ret = 99;

	for (; sim_take(s->can_bus, &m) == 0; sim_release(s->can_bus, m))
		ret = sim_CanBus_from(m->body, m->body_size)->mode;
	return ret;
}

TEST(services_place_the_vehicle_and_switch_its_control_mode)
{
	struct sim_ControlModeCommandRequest q = { .mode = SIM_CONTROL_MODE_COMMAND_REQUEST_MANUAL };
	struct sim_ControlModeCommandResponse a = { 0 };
	static struct stage s;
	char why[200];

	write_params(IDEAL);
	open_stage(&s, "unity");
	drive(&s);
	assert_true(ask_place(&s, 77, why).success);
	step(&s);
	assert_true(heard(&s));
	near(s.last.easting, 77, 0);
	assert_false(ask_place(&s, (double)1e30, why).success);
	assert_non_null(strstr(why, "pose"));
	step(&s);
	assert_true(heard(&s));
	near(s.last.easting, 77, 0);
	assert_int_equal(sim_service_call(s.client, "/control/control_mode_request", &sim_ControlModeCommand_service,
					  &q, sizeof(q), 0, &a, sizeof(a), NULL),
			 0);
	assert_true(a.success);
	step(&s);
	assert_int_equal(mode(&s), 0);
	q.mode = 77;
	assert_int_equal(sim_service_call(s.client, "/control/control_mode_request", &sim_ControlModeCommand_service,
					  &q, sizeof(q), 0, &a, sizeof(a), NULL),
			 0);
	assert_false(a.success);
	/* by AWSIM's name */
	q.mode = SIM_CONTROL_MODE_COMMAND_REQUEST_AUTONOMOUS;
	assert_int_equal(sim_service_call(s.client, "/input/control_mode_request", &sim_ControlModeCommand_service, &q,
					  sizeof(q), 0, &a, sizeof(a), NULL),
			 0);
	assert_true(a.success);
	step(&s);
	assert_int_equal(mode(&s), 1);
	close_stage(&s);
}

TEST(invalid_commands_move_nothing)
{
	static struct stage s;

	write_params(IDEAL);
	open_stage(&s, "unity");
	drive(&s);
	order(&s, (double)NAN, 0);
	order(&s, 1, (double)INFINITY);
	put(&s, (double)NAN, SIM_VEHICLE_PLACEMENT_SPAWN);
	put(&s, 5, 42);
	for (int i = 0; i < 20; i++)
		step(&s);
	assert_true(heard(&s));
	near(s.last.easting, 10, 0);
	near(s.last.northing, 20, 0);
	order(&s, 1, 0);
	step(&s);
	step(&s);
	assert_true(heard(&s));
	assert_true(s.last.forward_speed > 0);
	close_stage(&s);
}

/* ---- the frame "odom" ---- */

struct frames {
	struct sim_Transform odom, own; /* in the map; base_link in it */
	struct sim_GpsOdometry message;
};

/* Those of the step that is over. */
static struct frames take_frames(struct sim_subscriber *tf, struct sim_subscriber *odom)
{
	struct frames f = { .message = { 0 } };
	const struct sim_message *m;
	uint32_t n = 0;

	for (; sim_take(tf, &m) == 0; sim_release(tf, m)) {
		const struct sim_Transforms *all = sim_Transforms_from(m->body, m->body_size);
		const struct sim_Transform *t = sim_Transforms_transforms(all, m->body_size, &n);

		assert_int_equal(n, 2);
		f.odom = t[0];
		f.own = t[1];
		assert_string_equal(sim_Transform_child_frame_in(m->body, m->body_size, &t[0]), "odom");
		assert_string_equal(sim_Transform_parent_frame_in(m->body, m->body_size, &t[1]), "odom");
	}
	assert_int_equal(n, 2);
	for (; sim_take(odom, &m) == 0; sim_release(odom, m)) {
		assert_string_equal(m->header.frame_id, "odom");
		f.message = *sim_GpsOdometry_from(m->body, m->body_size);
	}
	near(f.message.easting, f.own.translation.x, 0);
	near(f.message.northing, f.own.translation.y, 0);
	return f;
}

static double yaw_of(const struct sim_Quaternion *q)
{
	return 2 * atan2(q->z, q->w);
}

/* Together they lead to where it is. */
static void check_frames(const struct stage *s, const struct frames *f)
{
	double yaw = yaw_of(&f->odom.rotation), c = cos(yaw), x = f->own.translation.x, y = f->own.translation.y;

	near(f->odom.translation.x + c * x - sin(yaw) * y, s->last.easting, 1e-9);
	near(f->odom.translation.y + sin(yaw) * x + c * y, s->last.northing, 1e-9);
	near(remainder(yaw + yaw_of(&f->own.rotation) - yaw_of(&s->last.orientation), 2 * M_PI), 0, 1e-9);
}

TEST(odom_drifts_and_stays_where_it_is_when_it_is_put_elsewhere)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 64 };
	struct sim_subscriber *tf, *odom;
	static struct stage s;
	struct frames f, before;

	write_params(IDEAL);
	open_stage_with(&s, "unity", ", \"--odom\", \"0.1\"");
	assert_int_equal(sim_subscribe(s.client, "/tf", &sim_Transforms_type, &so, &tf), 0);
	assert_int_equal(sim_subscribe(s.client, "/odom", &sim_GpsOdometry_type, &so, &odom), 0);
	drive(&s);
	put(&s, 0, SIM_VEHICLE_PLACEMENT_SPAWN);
	step(&s);
	f = take_frames(tf, odom);
	near(f.own.translation.x, 0, 0);
	order(&s, 1, 0);
	for (int i = 1; i <= STEPS; i++) {
		step(&s);
		assert_true(heard(&s));
		before = f = take_frames(tf, odom);
		check_frames(&s, &f);
	}
	near(f.own.translation.x, 1.1 * s.last.easting, 1e-9); /* of 4.5 m */
	assert_true(s.last.easting > 4);
	order(&s, -10, 0);
	for (int i = 0; i < STEPS; i++) {
		step(&s);
		assert_true(heard(&s));
		before = take_frames(tf, odom);
	}
	near((double)s.last.forward_speed, 0, 0);
	put(&s, 100, SIM_VEHICLE_PLACEMENT_OVERWRITE);
	step(&s);
	assert_true(heard(&s));
	f = take_frames(tf, odom);
	check_frames(&s, &f);
	near(s.last.easting, 100, 0);
	near(f.own.translation.x, before.own.translation.x, 0);
	put(&s, 50, SIM_VEHICLE_PLACEMENT_SPAWN);
	step(&s);
	assert_true(heard(&s));
	f = take_frames(tf, odom);
	check_frames(&s, &f);
	near(f.own.translation.x, 0, 0);
	sim_subscriber_destroy(tf);
	sim_subscriber_destroy(odom);
	close_stage(&s);
}

/* ---- how often ---- */

/* "": it is set; else the sentence. Static. */
static const char *set_frequency(struct stage *s, double hz)
{
	static _Alignas(64) unsigned char q[1024], a[1024];
	const struct sim_SetParamResponse *response = (const struct sim_SetParamResponse *)a;
	struct sim_SetParamRequest *to;
	struct sim_builder b;
	size_t n;

	to = sim_SetParamRequest_init(q, sizeof(q), &b);
	to->param.type = SIM_PARAM_DOUBLE;
	to->param.double_value = hz;
	assert_int_equal(sim_Param_name_set_in(&b, &to->param, "frequency"), 0);
	if (sim_service_call(s->client, "/sim-vehicle/set_parameter", &sim_SetParam_service, q, sim_builder_size(&b), 0,
			     a, sizeof(a), &n) < 0)
		fail_msg("%s", sim_why());
	return response->success ? "" : sim_SetParamResponse_message(response, n);
}

/* From the next step on a message in each of `every` steps, and in no other. */
static void expect_every(struct stage *s, int every)
{
	for (int i = 0; i < 4 * every; i++) {
		step(s);
		assert_int_equal(heard(s), i % every == 0);
	}
}

TEST(the_frequency_can_be_set_at_run_time)
{
	static struct stage s;

	write_params(IDEAL);
	open_stage(&s, "unity");
	drive(&s);
	expect_every(&s, 1);
	assert_string_equal(set_frequency(&s, 20), "");
	expect_every(&s, 5);
	assert_string_equal(set_frequency(&s, 50), "");
	expect_every(&s, 2);
	assert_string_equal(set_frequency(&s, 10001),
			    "parameter frequency: 10001 is more than 10000, the most that it may be");
	assert_string_equal(set_frequency(&s, -1), "parameter frequency: -1 is less than 0, the least that it may be");
	expect_every(&s, 2);
	assert_string_equal(set_frequency(&s, 0), "");
	expect_every(&s, 1);
	close_stage(&s);
}

/* ---- a clock that moves by itself; an invalid file ---- */

TEST(a_free_running_clock_is_followed)
{
	static struct stage s;
	const struct sim_message *m;
	int64_t last = 0;

	write_params(IDEAL);
	open_stage(&s, "simulation");
	for (int n = 0; n < 20; n++) {
		assert_int_equal(sim_wait(s.odometry, -1), 1);
		assert_int_equal(sim_take(s.odometry, &m), 0);
		assert_int_equal(m->header.stamp_sim_ns % STEP, 0);
		assert_true(m->header.stamp_sim_ns > last);
		last = m->header.stamp_sim_ns;
		sim_release(s.odometry, m);
	}
	close_stage(&s);
}

static int run_alone(const char *params, char *said, size_t cap)
{
	char command[PATH_MAX + 200];
	size_t n;
	FILE *f;

	write_params(params);
	snprintf(command, sizeof(command), "%s --params " PARAMS " --simd-socket /tmp/none 2>&1",
		 run_program("sim-vehicle"));
	f = popen(command, "r");
	n = fread(said, 1, cap - 1, f);
	said[n] = '\0';
	return WEXITSTATUS(pclose(f));
}

TEST(invalid_parameters_end_the_program_with_the_reason)
{
	char said[2000];

	assert_int_equal(run_alone("{}", said, sizeof(said)), 1);
	assert_non_null(strstr(said, "wheel_base is required"));
	assert_int_equal(run_alone("{\"wheel_base\": -3}", said, sizeof(said)), 1);
	assert_non_null(strstr(said, "wheel_base"));
	assert_int_equal(run_alone("{\"wheel_base\"", said, sizeof(said)), 1);
	assert_non_null(strstr(said, "car.json:1"));
	assert_int_equal(run_alone(IDEAL, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "connecting to simd"));
}
