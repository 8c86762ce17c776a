/* SPDX-License-Identifier: Apache-2.0 */
/* Ultrasonic, ground truth, planar laser and grid in worlds whose answer is known. */
#include "world.h"

#include <sim/msg/LaserScan.h>
#include <sim/msg/OccupancyGrid.h>
#include <sim/msg/Ultrasonic.h>

static double distance(struct unit *u, const struct moment *m)
{
	size_t size = look_at(u, m, sizeof(out_body));
	const struct sim_Ultrasonic *d = sim_Ultrasonic_from(out_body, size);

	assert_non_null(d);
	return (double)d->minimum_distance;
}

TEST(an_echo_comes_from_the_nearest_surface)
{
	const struct thing t[] = { { "Car", 6, 0, 0, 0 }, { "Pedestrian", 8, 1, 0, 0 } };
	struct scan_box wall = { .x = 100, .y = 58.5, .z = 5, .length = 40, .width = 1, .height = 10 };
	struct scene_buildings walls = { .boxes = &wall, .n = 1 };
	struct sensor_config c = { .kind = SENSOR_ULTRASONIC,
				   .channel = "u",
				   .x = 3.5,
				   .z = 0.5,
				   .fov_deg = 60,
				   .up_deg = 30,
				   .min_range = 0.3,
				   .range = 5 };
	struct motion at = north();
	struct moment m = world(t, 2, &at);
	struct unit u;

	assert_int_equal(unit_init(&u, &c), 0);
	near_within(distance(&u, &m), 1.5, 1e-6);
	m = world(t, 0, &at);
	near(distance(&u, &m), -1);
	m.buildings = &walls; /* 8 m ahead of base_link, so 4.5 m of the sensor */
	near_within(distance(&u, &m), 4.5, 1e-6);
	unit_finish(&u);
	c.yaw_deg = 45; /* the nearest point of the wall is at the edge of the view, 15 degrees off the wall's normal */
	assert_int_equal(unit_init(&u, &c), 0);
	near_within(distance(&u, &m), 4.5 / cos(M_PI / 12), 1e-6);
	unit_finish(&u);
	c.yaw_deg = 0;
	c.x = 7.9; /* nearer than it can tell */
	assert_int_equal(unit_init(&u, &c), 0);
	near_within(distance(&u, &m), 0.3, 1e-6);
	unit_finish(&u);
}

TEST(echoes_have_noise)
{
	const struct thing t[] = { { "Car", 6, 0, 0, 0 } };
	struct sensor_config c = {
		.kind = SENSOR_ULTRASONIC, .channel = "u", .x = 3, .fov_deg = 60, .up_deg = 60, .range = 5, .noise = 0.1
	};
	struct moment m = world(t, 1, NULL);
	double sum = 0, square = 0;
	struct unit u;

	assert_int_equal(unit_init(&u, &c), 0);
	for (int i = 0; i < 4000; i++) {
		double e;

		m.stamp_sim_ns = STAMP + i * 66666667LL;
		e = distance(&u, &m) - 2;
		sum += e;
		square += e * e;
	}
	near_within(sum / 4000, 0, 0.008);
	near_within(sqrt(square / 4000), 0.1, 0.006);
	unit_finish(&u);
}

TEST(ground_truth_has_the_objects_in_view)
{
	const struct thing t[] = { { "Car", 12, 0, 0, 0 }, { "Pedestrian", 22, 0, 0, 0 }, { "Bus", 2, 15, 1, 2 } };
	struct sensor_config c = { .kind = SENSOR_OBJECTS,
				   .channel = "o",
				   .x = 2,
				   .z = 1,
				   .fov_deg = 90,
				   .up_deg = 60,
				   .range = 50,
				   .occlusion = true };
	struct moment m = world(t, 3, NULL);
	const struct sim_Detected3DObjects *all;
	const struct sim_Detected3DObject *o;
	struct unit u;
	uint32_t n;
	size_t size;

	assert_int_equal(unit_init(&u, &c), 0);
	size = look_at(&u, &m, sizeof(out_body));
	o = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(out_body, size), size, &n);
	assert_int_equal(n, 1); /* one is behind the car, the other one beside the view */
	assert_int_equal(o[0].id, 1);
	unit_finish(&u);
	c.occlusion = false;
	c.yaw_deg = 45;
	assert_int_equal(unit_init(&u, &c), 0);
	size = look_at(&u, &m, sizeof(out_body));
	all = sim_Detected3DObjects_from(out_body, size);
	o = sim_Detected3DObjects_objects(all, size, &n);
	assert_int_equal(n, 3); /* the edges of the view go ahead and to the left: through the middle of all three */
	near(o[0].pose.position.x, 10 * sqrt(0.5));
	near(o[0].pose.position.y, -10 * sqrt(0.5));
	near(o[0].pose.position.z, 0);
	near(o[0].pose.orientation.z, -sin(M_PI / 8));
	near(o[0].pose.orientation.w, cos(M_PI / 8));
	near(o[2].map_velocity.y, 2);
	assert_string_equal(sim_Detected3DObject_label_in(all, size, &o[2]), "Bus");
	assert_string_equal(sim_Detected3DObject_label_in(all, size, &o[1]), "Pedestrian");
	unit_finish(&u);
}

TEST(a_planar_scan_has_a_ray_for_each_direction)
{
	const struct thing t[] = { { "Car", 13, 0, 0, 0 }, { "Car", 2, 8, 0, 0 } };
	struct sensor_config c = { .kind = SENSOR_LASER,
				   .channel = "l",
				   .x = 2,
				   .z = 1,
				   .fov_deg = 180,
				   .range = 30,
				   .min_range = 0.1,
				   .rays = 720,
				   .rate = 10 };
	struct moment m = world(t, 2, NULL);
	const struct sim_LaserScan *s;
	const float *r;
	struct unit u;
	uint32_t n;
	size_t size;

	assert_int_equal(unit_init(&u, &c), 0);
	size = look_at(&u, &m, unit_size(&u));
	s = sim_LaserScan_from(out_body, size);
	assert_non_null(s);
	r = sim_LaserScan_ranges(s, size, &n);
	assert_int_equal(n, 361);
	near_within((double)s->angle_min, -M_PI / 2, 1e-6);
	near_within((double)s->angle_max, M_PI / 2, 1e-6);
	near_within((double)s->angle_increment, M_PI / 360, 1e-8);
	assert_int_equal(s->scan_time, 100000000);
	near_within((double)r[180], 10, 1e-5);
	near_within((double)r[360], 7, 1e-5);
	near_within((double)r[190], 10 / cos(10 * M_PI / 360),
		    1e-4); /* along the car's back: it is seen to atan(1 / 10) */
	near_within((double)r[191], 10 / cos(11 * M_PI / 360), 1e-4);
	assert_true(isinf(r[192]) && isinf(r[0]) && isinf(r[300]));
	assert_true(sim_LaserScan_intensities(s, size, &n)[180] > 0.3f);
	assert_true(sim_LaserScan_intensities(s, size, &n)[192] == 0);
	assert_int_equal(n, 361);
	assert_int_equal(look_at(&u, &m, size - 8), 0); /* no room */
	unit_finish(&u);
	c.fov_deg = 360;
	assert_int_equal(unit_init(&u, &c), 0);
	size = look_at(&u, &m, unit_size(&u));
	(void)sim_LaserScan_ranges(sim_LaserScan_from(out_body, size), size, &n);
	assert_int_equal(n, 720);
	unit_finish(&u);
}

static int8_t cell(double x, double y)
{
	const struct sim_OccupancyGrid *g = (const struct sim_OccupancyGrid *)(const void *)out_body;
	uint32_t n;
	const int8_t *c = sim_OccupancyGrid_data(g, sizeof(out_body), &n);
	uint32_t col = (uint32_t)((x - g->origin.position.x) / (double)g->resolution);
	uint32_t row = (uint32_t)((y - g->origin.position.y) / (double)g->resolution);

	assert_int_equal(n, g->width * g->height);
	assert_true(col < g->width && row < g->height);
	return c[row * g->width + col];
}

TEST(a_grid_is_aligned_with_the_map)
{
	/* ahead, which is north: in the map from (99, 59) to (101, 61) */
	const struct thing t[] = { { "Car", 10, 0, 0, 0 } };
	struct sensor_config c = { .kind = SENSOR_GRID, .channel = "g", .cells = 80, .resolution = 0.5, .range = 50 };
	struct motion at = north();
	struct moment m = world(t, 1, &at);
	struct unit u;

	assert_int_equal(unit_init(&u, &c), 0);
	assert_true(look_at(&u, &m, unit_size(&u)) > 0);
	assert_int_equal(cell(100.2, 60.2), SIM_OCCUPANCY_GRID_OCCUPIED);
	assert_int_equal(cell(99.2, 59.2), SIM_OCCUPANCY_GRID_OCCUPIED);
	assert_int_equal(cell(98.8, 60.2), SIM_OCCUPANCY_GRID_HIDDEN); /* the shadow begins at 98.83 there */
	assert_int_equal(cell(98.2, 60.2), SIM_OCCUPANCY_GRID_FREE);
	assert_int_equal(cell(100.2, 58.8), SIM_OCCUPANCY_GRID_FREE);
	assert_int_equal(cell(100.2, 65.2), SIM_OCCUPANCY_GRID_HIDDEN);
	assert_int_equal(cell(110.2, 50.2), SIM_OCCUPANCY_GRID_FREE);
	m.motion = NULL;
	assert_int_equal(look_at(&u, &m, unit_size(&u)), 0);
	unit_finish(&u);
	c.range = 9; /* its middle is further */
	assert_int_equal(unit_init(&u, &c), 0);
	m.motion = &at;
	assert_true(look_at(&u, &m, unit_size(&u)) > 0);
	assert_int_equal(cell(100.2, 60.2), SIM_OCCUPANCY_GRID_FREE);
	unit_finish(&u);
}

TEST(a_frame_is_at_its_mounting_position)
{
	struct sensor_config c = { .kind = SENSOR_ULTRASONIC,
				   .x = 1,
				   .y = -2,
				   .z = 0.5,
				   .yaw_deg = 90,
				   .fov_deg = 10,
				   .up_deg = 10,
				   .range = 5 };
	struct sim_Transform t;
	struct unit u;

	assert_int_equal(unit_init(&u, &c), 0);
	t = unit_frame(&u);
	near(t.translation.y, -2);
	near(t.rotation.z, sqrt(0.5));
	near(t.rotation.w, sqrt(0.5));
	unit_finish(&u);
}
