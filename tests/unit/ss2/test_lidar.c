/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lidar that a scenario attaches: rays as configured, at its rate, after its delay; and the objects that a
 * detection sensor sees by it.
 */
#include "world.h"

#include <sim/point_cloud.h>

#include "tools/sources/ss2/messages.h"

#define DEG   (M_PI / 180)
#define FRAME INT64_C(33333333)

struct sight {
	struct store store;
	struct scene scene;
	struct sensors sensors;
};

/* A wall of 1 m x 4 m x 2 m, its front 10 m ahead of an ego that looks along y at (100, 200, 5). */
static void open_sight(struct sight *t)
{
	struct scene_entity *ego, *wall;

	memset(t, 0, sizeof(*t));
	assert_int_equal(store_open(&t->store, NULL, 0), 0);
	scene_init(&t->scene, t->store.scene);
	sensors_init(&t->sensors);
	assert_int_equal(scene_spawn(&t->scene, "ego", SCENE_EGO, &ego), 0);
	ego->pose = (struct sim_Pose){ .position = { 100, 200, 5 },
				       .orientation = { .z = sin(M_PI / 4), .w = cos(M_PI / 4) } };
	assert_int_equal(scene_spawn(&t->scene, "wall", SCENE_OBJECT, &wall), 0);
	wall->pose = (struct sim_Pose){ .position = { 100, 210, 5 }, .orientation = ego->pose.orientation };
	wall->box_center = (struct sim_Vector3){ .x = 0.5, .z = 1 };
	wall->box_size = (struct sim_Vector3){ 1, 4, 2 };
}

static void close_sight(struct sight *t)
{
	sensors_finish(&t->sensors);
	store_close(&t->store);
}

static const struct lidar_cloud *scan_at(struct sight *t, int64_t sim_ns)
{
	sensors_time(&t->sensors, sim_ns);
	return sensors_scan(&t->sensors, &t->scene, sim_ns);
}

static struct lidar_config three(void)
{
	return (struct lidar_config){
		.scan_s = 0.1, .resolution_rad = DEG, .beams = 3, .elevation_rad = { -5 * DEG, 5 * DEG, 15 * DEG }
	};
}

TEST(rays_follow_the_configuration)
{
	struct lidar_config c = three();
	const struct lidar_cloud *cloud;
	struct sight t;
	uint32_t n = 0;

	open_sight(&t);
	assert_null(scan_at(&t, 0)); /* nothing is attached */
	assert_int_equal(sensors_attach_lidar(&t.sensors, &c), 0);
	cloud = scan_at(&t, 3 * FRAME);
	assert_non_null(cloud);
	for (int deg = -11; deg <= 11;
	     deg++, n++) { /* the wall ends at 11.3; what looks up more than 11 passes above it */
		const struct sim_Point *p = &cloud->point[n];

		assert_true(fabs((double)p->x - 10) < 1e-4);
		assert_true(fabs((double)p->y - 10 * tan(deg * DEG)) < 1e-4);
		assert_true(fabs((double)p->z - 10 / cos(deg * DEG) * tan(5 * DEG)) < 1e-4);
		assert_int_equal(p->ring, 1); /* below, there is no wall, and no road either */
	}
	assert_int_equal(cloud->n, n);
	close_sight(&t);
}

TEST(clouds_have_their_rate_and_delay)
{
	struct lidar_config c = three();
	struct sight t;

	c.delay_s = 0.2;
	c.elevation_rad[1] = 1 * DEG; /* so that it is seen far away */
	open_sight(&t);
	assert_int_equal(sensors_attach_lidar(&t.sensors, &c), 0);
	for (int i = 0; i < 30; i++) {
		const struct lidar_cloud *cloud;

		t.scene.entity[1].pose.position.y = 210 + i;
		cloud = scan_at(&t, i * FRAME);
		if (i % 3 || i < 9) {
			assert_null(cloud);
			continue;
		}
		assert_int_equal(cloud->sim_ns, (i - 6) * FRAME);
		assert_true(cloud->n > 0);
		for (uint32_t k = 0; k < cloud->n; k++)
			assert_true(fabs((double)cloud->point[k].x - (10 + i - 6)) < 1e-3);
	}
	close_sight(&t);
}

/* Objects in the way hide those behind them, unless the sensor is clairvoyant. */
TEST(only_objects_hit_by_the_lidar_are_detected)
{
	struct sensors_detection d = { .update_s = 0.1, .range = 100 };
	const struct sensors_look *detected, *truth;
	struct lidar_config c = three();
	struct scene_entity *e;
	struct sight t;

	open_sight(&t);
	assert_int_equal(scene_spawn(&t.scene, "hidden", SCENE_VEHICLE, &e), 0);
	e->pose = (struct sim_Pose){ .position = { 100, 230, 5 }, .orientation.w = 1 };
	e->box_size = (struct sim_Vector3){ 2, 2, 4 };
	e->box_center.z = 2;
	assert_int_equal(sensors_attach_lidar(&t.sensors, &c), 0);
	assert_int_equal(sensors_attach_detection(&t.sensors, &d), 0);
	(void)scan_at(&t, 3 * FRAME);
	sensors_detect(&t.sensors, &t.scene, 3 * FRAME, &detected, &truth);
	assert_int_equal(detected->n, 1);
	assert_string_equal(detected->object[0].name, "wall");
	assert_int_equal(truth->n, 1);
	t.scene.entity[2].pose.position.x = 110; /* beside the wall */
	(void)scan_at(&t, 6 * FRAME);
	sensors_detect(&t.sensors, &t.scene, 6 * FRAME, &detected, &truth);
	assert_int_equal(detected->n, 2);
	t.scene.entity[2].pose.position.x = 100;
	d.all = true;
	assert_int_equal(sensors_attach_detection(&t.sensors, &d), 0);
	(void)scan_at(&t, 9 * FRAME);
	sensors_detect(&t.sensors, &t.scene, 9 * FRAME, &detected, &truth);
	assert_int_equal(detected->n, 2);
	close_sight(&t);
}

TEST(a_cloud_is_published_as_a_message)
{
	static _Alignas(8) uint8_t body[8192];
	struct lidar_config c = three();
	const struct lidar_cloud *cloud;
	const uint8_t *data;
	struct sight t;
	uint32_t n;
	size_t size;

	open_sight(&t);
	assert_int_equal(sensors_attach_lidar(&t.sensors, &c), 0);
	cloud = scan_at(&t, 3 * FRAME);
	size = message_cloud(cloud, body, sizeof(body));
	assert_true(size > 0 && size <= message_cloud_size(cloud->n));
	assert_int_equal(sim_PointCloud_from(body, size)->width, cloud->n);
	data = sim_PointCloud_data(sim_PointCloud_from(body, size), size, &n);
	assert_int_equal(n, cloud->n * sizeof(struct sim_Point));
	assert_memory_equal(data, cloud->point, n);
	assert_int_equal(message_cloud(cloud, body, 200), 0);
	assert_int_equal(scene_despawn(&t.scene, "wall"), 0);
	cloud = scan_at(&t, 6 * FRAME);
	assert_int_equal(cloud->n, 0);
	size = message_cloud(cloud, body, sizeof(body));
	assert_true(size > 0); /* that there is nothing is a message too */
	assert_int_equal(sim_PointCloud_from(body, size)->width, 0);
	close_sight(&t);
}

TEST(an_invalid_lidar_is_refused)
{
	struct lidar_config bad[] = { three(), three(), three(), three(), three(), three() };
	struct sight t;

	bad[0].beams = 0;
	bad[1].resolution_rad = 0;
	bad[2].resolution_rad = (double)NAN;
	bad[3].elevation_rad[1] = 1.6;
	bad[4].delay_s = 61;
	bad[5].scan_s = -1;
	open_sight(&t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(sensors_attach_lidar(&t.sensors, &bad[i]) < 0);
		assert_non_null(strstr(err_why(), "attach_lidar_sensor"));
	}
	assert_false(t.sensors.config.lidar.attached);
	close_sight(&t);
}
