/* SPDX-License-Identifier: Apache-2.0 */
/* The sensors that a scenario attaches: range, delay, noise and loss as configured, the same with the same seed. */
#include "world.h"

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Imu.h>
#include <sim/msg/OccupancyGrid.h>

#include "rnd.h"
#include "tests/support/reckon.h"
#include "tools/sources/ss2/messages.h"

#define S     INT64_C(1000000000)
#define FRAME INT64_C(33333333)

struct sight {
	struct store store;
	struct scene scene;
	struct sensors sensors;
	const struct sensors_look *detected, *truth;
};

static struct scene_entity *put(struct sight *t, const char *name, enum scene_kind kind, double x, double z)
{
	struct scene_entity *e;

	assert_ok(scene_spawn(&t->scene, name, kind, &e));
	e->pose.position = (struct sim_Vector3){ .x = x, .z = z };
	return e;
}

static void open_sight(struct sight *t)
{
	memset(t, 0, sizeof(*t));
	assert_ok(store_open(&t->store, NULL, 0));
	scene_init(&t->scene, t->store.scene);
	sensors_init(&t->sensors);
	put(t, "ego", SCENE_EGO, 0, 0);
	put(t, "near", SCENE_VEHICLE, 30, 0);
	put(t, "far", SCENE_VEHICLE, 60, 0);
}

static void close_sight(struct sight *t)
{
	sensors_finish(&t->sensors);
	store_close(&t->store);
}

static void look(struct sight *t, int64_t sim_ns)
{
	sensors_time(&t->sensors, sim_ns);
	sensors_detect(&t->sensors, &t->scene, sim_ns, &t->detected, &t->truth);
}

TEST(objects_too_far_or_on_another_level_are_not_seen)
{
	struct sensors_detection c = { .all = true, .update_s = 0.1, .range = 50 };
	struct sight t;

	open_sight(&t);
	look(&t, 0);
	assert_null(t.detected); /* nothing is attached */
	assert_ok(sensors_attach_detection(&t.sensors, &c));
	put(&t, "bridge", SCENE_VEHICLE, 20, 6);
	put(&t, "tunnel", SCENE_VEHICLE, 20, -6);
	put(&t, "dip", SCENE_VEHICLE, 20, -0.9);
	look(&t, S);
	assert_int_equal(t.detected->n, 3);
	assert_string_equal(t.detected->object[0].name, "near");
	assert_string_equal(t.detected->object[1].name, "bridge");
	assert_string_equal(t.detected->object[2].name, "dip");
	assert_int_equal(t.truth->n, 3);
	t.scene.entity[0].pose.orientation = (struct sim_Quaternion){ .y = 0.2, .w = sqrt(1 - 0.04) }; /* downhill */
	look(&t, 2 * S);
	assert_int_equal(t.detected->n, 4); /* the tunnel is above the plane of the ego */
	assert_ok(scene_despawn(&t.scene, "ego"));
	look(&t, 3 * S);
	assert_null(t.detected);
	close_sight(&t);
}

/* The car ahead came after 300 that are farther: each sensor has it, and the nearest of the others. */
TEST(of_a_crowd_the_nearest_are_seen)
{
	struct sensors_detection c = { .all = true, .update_s = 0.1, .range = 10000 };
	const struct sensors_look *l;
	struct sight t;
	char name[16];

	open_sight(&t);
	assert_ok(sensors_attach_detection(&t.sensors, &c));
	for (int i = 300; i > 0; i--) {
		snprintf(name, sizeof(name), "row_%d", i);
		put(&t, name, SCENE_VEHICLE, 100 + i, 0);
	}
	put(&t, "ahead", SCENE_VEHICLE, 10, 0);
	look(&t, S);
	l = t.detected;
	assert_int_equal(l->n, SENSORS_OBJECTS_MAX);
	assert_int_equal(t.truth->n, SENSORS_OBJECTS_MAX);
	assert_string_equal(l->object[0].name, "ahead");
	for (uint32_t i = 3; i < l->n; i++) {
		snprintf(name, sizeof(name), "row_%u", i - 2);
		assert_string_equal(l->object[i].name, name);
	}
	close_sight(&t);
}

static struct sim_Quaternion pitched(double rad)
{
	return (struct sim_Quaternion){ .y = sin(rad / 2), .w = cos(rad / 2) };
}

static uint32_t seen(struct sight *t, int64_t sim_ns)
{
	look(t, sim_ns);
	return t->detected->n;
}

/* Down a slope of 10 %, cars on it are up to 6 m lower; one under it is not seen. */
TEST(objects_on_the_slope_of_the_ego_are_seen)
{
	struct sensors_detection c = { .all = true, .update_s = 0.1, .range = 100 };
	const double slope = atan(0.1);
	struct sight t;

	open_sight(&t);
	assert_ok(sensors_attach_detection(&t.sensors, &c));
	t.scene.entity[0].pose = (struct sim_Pose){ .position.z = 100, .orientation = pitched(slope) };
	t.scene.entity[1].pose.position.z = 100 - 3;
	t.scene.entity[2].pose.position.z = 100 - 6;
	put(&t, "under", SCENE_VEHICLE, 40, 100 - 4.1);
	assert_int_equal(seen(&t, S), 2);
	assert_string_equal(t.detected->object[1].name, "far");
	close_sight(&t);
}

/* The reference's plane is the one of when it was first asked for, until the ego has turned by more than 0.04 rad. */
TEST(the_plane_of_the_ego_is_kept_until_it_has_turned)
{
	struct sensors_detection c = { .all = true, .update_s = 0.1, .range = 100 };
	struct scene_entity *ego;
	struct sight t;

	open_sight(&t);
	assert_ok(sensors_attach_detection(&t.sensors, &c));
	ego = &t.scene.entity[0];
	ego->pose = (struct sim_Pose){ .position.z = 10, .orientation = pitched(0.1) };
	t.scene.entity[1].pose.position.z = 10 - 30 * tan(0.12); /* lower than that plane: 0.6 m */
	t.scene.entity[2].pose.position.z = 10 - 60 * tan(0.08);
	assert_int_equal(seen(&t, S), 1);
	ego->pose.orientation = pitched(0.135); /* it would see both, and has not turned enough */
	assert_int_equal(seen(&t, 2 * S), 1);
	ego->pose.orientation = pitched(0.145);
	assert_int_equal(seen(&t, 3 * S), 2);
	ego->pose.orientation = pitched(0.11);
	assert_int_equal(seen(&t, 4 * S), 2);
	ego->pose.orientation = pitched(0.1);
	assert_int_equal(seen(&t, 5 * S), 1);
	close_sight(&t);
}

TEST(detections_have_their_rate_and_delay)
{
	struct sensors_detection c = {
		.all = true, .update_s = 0.1, .range = 500, .delay_s = 0.2, .truth_delay_s = 0.5
	};
	struct sight t;
	int n = 0;

	open_sight(&t);
	assert_ok(sensors_attach_detection(&t.sensors, &c));
	for (int i = 0; i < 90; i++) { /* 3 s at 30 Hz */
		t.scene.entity[1].pose.position.x = i;
		look(&t, i * FRAME);
		if (i % 3)
			assert_true(!t.detected && !t.truth);
		else if (i < 9) /* the first look is one period after attaching */
			assert_null(t.detected);
		else
			assert_true(t.detected->object[0].pose.position.x == i - 6);
		if (i % 3 == 0 && i >= 18)
			assert_true(t.truth->object[0].pose.position.x == i - 15);
		n += t.detected != NULL;
	}
	assert_int_equal(n, 27);
	close_sight(&t);
}

/* By the scenario's own time it is 10 Hz, however its ROS time jitters: 30 frames a second, 10 s, +-8 ms. */
TEST(jitter_of_ros_time_does_not_change_the_rates)
{
	static const uint32_t sensors[] = { PEER_ATTACH_LIDAR, PEER_ATTACH_DETECTION, PEER_ATTACH_GRID };
	const struct peer_pose at = { .qw = 1 };
	unsigned clouds = 0, looks = 0, grids = 0;
	struct rnd rnd;
	struct world w;

	world_init(&w);
	rnd_seed(&rnd, 44);
	peer_initialize(&w.q, 1.0 / 30, 7 * S);
	assert_true(world_ask(&w, PEER_INITIALIZE));
	peer_spawn_vehicle(&w.q, "ego", true, &at);
	assert_true(world_ask(&w, PEER_SPAWN_VEHICLE));
	for (size_t i = 0; i < sizeof(sensors) / sizeof(sensors[0]); i++) {
		peer_attach(&w.q, sensors[i], "ego");
		assert_true(world_ask(&w, sensors[i]));
	}
	for (int i = 1; i <= 300; i++) {
		int64_t jitter_ns = (int64_t)(rnd_u64(&rnd) % 16000000) - 8000000;

		w.scanned = w.drawn = false;
		w.detected = -1;
		peer_frame(&w.q, i / 30.0, (double)NAN, 7 * S + i * FRAME + jitter_ns);
		assert_true(world_ask(&w, PEER_UPDATE_FRAME));
		assert_true(w.scanned == (i % 3 == 0));
		clouds += w.scanned;
		looks += w.detected >= 0;
		grids += w.drawn;
	}
	assert_true(clouds == 100 && looks == 100 && grids == 100);
	world_finish(&w);
}

struct measured {
	double sum, square;
	int seen, all;
	uint64_t hash;
};

static struct measured measure(int32_t seed)
{
	struct sensors_detection c = {
		.all = true, .update_s = 0.1, .range = 500, .noise = 0.5, .lost = 0.25, .seed = seed
	};
	struct measured m = { .hash = HASH64_INIT };
	struct sight t;

	open_sight(&t);
	assert_ok(sensors_attach_detection(&t.sensors, &c));
	for (int i = 0; i < 4000; i++) {
		look(&t, (i + 1) * S);
		assert_int_equal(t.truth->n, 2);
		assert_true(t.truth->object[0].pose.position.x == 30); /* without noise */
		m.all += 2;
		for (uint32_t k = 0; k < t.detected->n; k++) {
			const struct scene_entity *e = &t.detected->object[k];
			double d = e->pose.position.x - (strcmp(e->name, "near") ? 60 : 30);

			m.sum += d;
			m.square += d * d;
			m.seen++;
			m.hash = hash64(m.hash, &e->pose, sizeof(e->pose));
		}
	}
	close_sight(&t);
	return m;
}

TEST(noise_and_loss_are_as_configured_and_repeat)
{
	struct measured a = measure(17), b = measure(17), c = measure(18);

	assert_int_equal(a.hash, b.hash);
	assert_true(a.hash != c.hash);
	assert_true(fabs(a.sum / a.seen) < 0.03);
	assert_true(fabs(sqrt(a.square / a.seen) - 0.5) < 0.02);
	assert_true(fabs(1 - (double)a.seen / a.all - 0.25) < 0.02);
}

TEST(an_imu_has_noise_gravity_and_its_frame)
{
	static _Alignas(8) uint8_t body[1024];
	struct sensors_imu c = { .gravity = true, .seed = 3, .noise_acceleration = 0.1, .frame = "imu_link" };
	struct sensors_measure m = { .orientation.w = 0 };
	double sum = 0, square = 0;
	const struct sim_Imu *i;
	struct sight t;

	open_sight(&t);
	assert_false(sensors_imu(&t.sensors, &t.scene, &m));
	assert_ok(sensors_attach_imu(&t.sensors, &c));
	t.scene.entity[0].twist.angular.z = 0.25;
	t.scene.entity[0].accel.linear.x = 2;
	for (int k = 0; k < 4000; k++) {
		assert_true(sensors_imu(&t.sensors, &t.scene, &m));
		sum += m.linear_acceleration.x;
		square += (m.linear_acceleration.x - 2) * (m.linear_acceleration.x - 2);
	}
	assert_true(fabs(sum / 4000 - 2) < 0.01 && fabs(sqrt(square / 4000) - 0.1) < 0.005);
	assert_true(fabs(m.linear_acceleration.z + 9.81) < 0.6 && m.angular_velocity.z == 0.25);
	i = sim_Imu_from(body, message_sensed_imu(&m, &c, body, sizeof(body)));
	assert_true(fabs(i->linear_acceleration_covariance[4] - 0.01) < 1e-15);
	assert_true(i->angular_velocity.z == 0.25);
	close_sight(&t);
}

/* Ten minutes of frames in bends; with noise the gyro is off the yaw by as much as that explains. */
static void drive(struct reckon *ret, double noise, int seed)
{
	static _Alignas(8) uint8_t body[1024];
	struct sensors_imu c = { .seed = seed, .noise_twist = noise };
	double yaw = 0, from = 0;
	struct sight t;

	*ret = (struct reckon){ 0 };
	open_sight(&t);
	assert_ok(sensors_attach_imu(&t.sensors, &c));
	for (int i = 0; i < 18000; i++) {
		double rate = 0.6 * sin(i * 0.04);
		struct sensors_measure m;

		yaw += (from + rate) / 2 * 0.033;
		from = rate;
		t.scene.entity[0].twist.angular.z = rate;
		t.scene.entity[0].pose.orientation = (struct sim_Quaternion){ .z = sin(yaw / 2), .w = cos(yaw / 2) };
		assert_true(sensors_imu(&t.sensors, &t.scene, &m));
		reckon_imu(ret, sim_Imu_from(body, message_sensed_imu(&m, &c, body, sizeof(body))),
			   i * INT64_C(33000000));
	}
	close_sight(&t);
}

TEST(integrating_the_gyro_gives_the_yaw)
{
	struct reckon r;

	drive(&r, 0, 1);
	reckon_check_yaw(&r, RECKON_DEGREES);
	for (int seed = 1; seed < 10; seed++) {
		drive(&r, 0.02, seed);
		assert_true(r.worst > 0);
		reckon_check_noisy(&r);
	}
}

TEST(a_grid_is_published_as_a_message)
{
	struct grid g = { .resolution = 0.5, .width = 40, .height = 20 };
	static _Alignas(8) uint8_t body[2048];
	static struct sensors_look l = { .ego = { .position = { 100, 200, 3 }, .orientation.w = 1 }, .n = 1 };
	const struct sim_OccupancyGrid *m;
	const int8_t *cell;
	size_t size;
	uint32_t n;

	l.object[0].pose = (struct sim_Pose){ .position = { 104, 200, 3 }, .orientation.w = 1 };
	l.object[0].box_size = (struct sim_Vector3){ 1.9, 1.9, 1 };
	size = message_grid(&g, &l, body, sizeof(body));
	assert_true(size > 0 && size <= message_grid_size(&g));
	m = sim_OccupancyGrid_from(body, size);
	cell = sim_OccupancyGrid_data(m, size, &n);
	assert_int_equal(n, 800);
	assert_true(m->origin.position.x == 90 && m->origin.position.y == 195 && m->origin.position.z == 3);
	for (int row = 0; row < 20; row++)
		for (int col = 0; col < 40; col++)
			if (row >= 8 && row < 12 && col >= 26 && col < 30)
				assert_int_equal(cell[row * 40 + col], 100);
			else
				assert_in_range(cell[row * 40 + col], 0, col < 26 ? 0 : 50);
	assert_int_equal(cell[10 * 40 + 39], 50);
	assert_int_equal(message_grid(&g, &l, body, 100), 0);
}

TEST(an_invalid_sensor_configuration_is_refused)
{
	const struct sensors_detection bad[] = {
		{ .update_s = (double)NAN },   { .range = -1 },   { .lost = 1.5 },
		{ .noise = (double)INFINITY }, { .delay_s = 61 }, { .update_s = 0.1, .delay_s = 60 }
	};
	struct sight t;

	open_sight(&t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(sensors_attach_detection(&t.sensors, &bad[i]) < 0);
		assert_non_null(strstr(err_why(), "attach_detection_sensor"));
	}
	assert_true(sensors_attach_imu(&t.sensors, &(struct sensors_imu){ .noise_twist = (double)NAN }) < 0);
	assert_true(sensors_attach_grid(&t.sensors, &(struct sensors_grid){ .grid = { 0.5, 5000, 5000, 0 } }) < 0);
	assert_non_null(strstr(err_why(), "5000 x 5000"));
	assert_true(sensors_attach_grid(&t.sensors, &(struct sensors_grid){ .grid = { 0, 5, 5, 0 } }) < 0);
	assert_true(sensors_attach_grid(&t.sensors, &(struct sensors_grid){ .grid = { 1, 0, 5, 0 } }) < 0);
	assert_false(t.sensors.config.detection.attached || t.sensors.config.imu.attached ||
		     t.sensors.config.grid.attached);
	close_sight(&t);
}

TEST(a_scenario_attaches_all_sensors)
{
	static const uint32_t all[] = { PEER_ATTACH_LIDAR, PEER_ATTACH_DETECTION, PEER_ATTACH_IMU, PEER_ATTACH_GRID,
					PEER_ATTACH_LIGHT_DETECTOR };
	const struct peer_pose at = { .qw = 1 };
	struct world w;

	world_init(&w);
	peer_initialize(&w.q, 1.0 / 30, 0);
	assert_true(world_ask(&w, PEER_INITIALIZE));
	peer_spawn_vehicle(&w.q, "ego", true, &at);
	assert_true(world_ask(&w, PEER_SPAWN_VEHICLE));
	peer_spawn_vehicle(&w.q, "car_1", false, &at);
	assert_true(world_ask(&w, PEER_SPAWN_VEHICLE));
	assert_int_equal(w.sensed, 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		peer_attach(&w.q, all[i], "ego");
		assert_true(world_ask(&w, all[i]));
	}
	assert_true(w.attached.detection.attached && w.attached.imu.attached && w.attached.lights);
	assert_true(w.attached.lidar.attached && w.attached.lidar.scan_s == 0.1 && w.attached.lidar.beams == 16);
	assert_true(w.attached.lidar.resolution_rad == 0.00698 &&
		    w.attached.lidar.elevation_rad[0] > 0.26); /* downwards */
	assert_true(w.attached.detection.range == 300 && w.attached.detection.update_s == 0.1);
	assert_int_equal(w.attached.detection.seed, 17);
	assert_string_equal(w.attached.imu.frame, "tamagawa/imu_link");
	peer_frame(&w.q, 0.1, 0.1, S / 10);
	assert_true(world_ask(&w, PEER_UPDATE_FRAME));
	assert_int_equal(w.detected, 1);
	assert_int_equal(w.truth, 1);
	assert_true(w.measured && w.lights && w.drawn && w.scanned);
	assert_true(w.attached.grid.grid.width == 200 && w.attached.grid.grid.resolution == 0.5);
	server_remember(w.server, 7, 7);
	server_answered(w.server);
	server_destroy(w.server); /* killed: the next one has them too */
	memset(&w.attached, 0, sizeof(w.attached));
	assert_int_equal(server_create(&world_ops, &w, &w.store, &w.server), 0);
	assert_int_equal(server_restore(w.server, 7, 7), 1);
	assert_true(w.attached.lidar.attached && w.attached.lidar.beams == 16);
	assert_true(w.attached.detection.attached && w.attached.imu.attached && w.attached.lights);
	peer_initialize(&w.q, 1.0 / 30, 0);
	assert_true(world_ask(&w, PEER_INITIALIZE));
	w.sensed = 0;
	peer_frame(&w.q, 0.1, 0.1, S / 10);
	assert_true(world_ask(&w, PEER_UPDATE_FRAME));
	assert_int_equal(w.sensed, 0); /* a run begins without */
	world_finish(&w);
}
