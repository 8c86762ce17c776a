/* SPDX-License-Identifier: Apache-2.0 */
/* A radar in a known world: positions, speeds, hidden objects, noise. */
#include "world.h"

#include <sim/msg/RadarObjects.h>

/* 2 m ahead of base_link, looking ahead. */
static struct sensor_config config(void)
{
	return (struct sensor_config){
		.kind = SENSOR_RADAR, .channel = "radar", .x = 2, .z = 1, .fov_deg = 60, .up_deg = 20, .range = 100
	};
}

static const struct sim_RadarObject *measure(struct unit *u, const struct moment *m, uint32_t *ret_n)
{
	size_t size = look_at(u, m, sizeof(out_body));
	const struct sim_RadarObjects *all = sim_RadarObjects_from(out_body, size);

	assert_non_null(all);
	return sim_RadarObjects_objects(all, size, ret_n);
}

static double doppler(const struct sim_RadarObject *o)
{
	const struct sim_Vector3 *p = &o->relative_position, *v = &o->relative_velocity;

	return (p->x * v->x + p->y * v->y + p->z * v->z) / sqrt(p->x * p->x + p->y * p->y + p->z * p->z);
}

TEST(radar_positions_and_speeds_match_the_map)
{
	/* 20 m ahead of the radar, in the map to the north, coming towards us at 5 m/s; and one that stands, 30 degrees left of it */
	const struct thing t[] = { { "Car", 22, 0, 0, -5 }, { "Car", 2 + 20 * cos(M_PI / 6), 10, 0, 0.1 } };
	struct sensor_config c = config();
	struct motion at = north();
	struct moment m = world(t, 2, &at);
	const struct sim_RadarObject *o;
	struct unit u;
	uint32_t n;

	assert_int_equal(unit_init(&u, &c), 0);
	o = measure(&u, &m, &n);
	assert_int_equal(n, 2);
	near(o[0].sensor_aim.x, 0);
	near(o[0].sensor_aim.y, 1);
	near(o[0].sensor_right.x, 1);
	near(o[0].sensor_position.x, 100);
	near(o[0].sensor_position.y, 52);
	near(o[0].sensor_position.z, 1);
	/* the turn moves the radar to the left, 2 m * 0.5 rad/s: to the west */
	near(o[0].sensor_velocity.x, -1);
	near(o[0].sensor_velocity.y, 10);
	near(o[0].relative_position.x, 0);
	near(o[0].relative_position.y, 20);
	near(o[0].position.y, 72);
	near(o[0].relative_velocity.x, 1);
	near(o[0].relative_velocity.y, -15);
	near(o[0].velocity.y, -5);
	near(doppler(&o[0]), -15); /* it comes nearer */
	near(o[0].sensor_angle, 0);
	assert_int_equal(o[0].id, 1);
	assert_int_equal(o[0].state, SIM_RADAR_OBJECT_STATE_MOVING);
	near(o[1].sensor_angle, M_PI / 6);
	near(o[1].relative_position.x, -10); /* left of north is west */
	assert_int_equal(o[1].state, SIM_RADAR_OBJECT_STATE_STATIONARY);
	near(o[1].size.x, 2);
	assert_memory_equal(&o[0].new_detection + 1, "\0\0", 2); /* the gap at the end */
	unit_finish(&u);
}

TEST(a_radar_measures_in_its_mounting_direction)
{
	const struct thing t[] = { { "Car", -30, 0, 0, 20 }, { "Car", 30, 0, 0, 20 } };
	struct sensor_config c = config();
	struct motion at = north();
	struct moment m = world(t, 2, &at);
	const struct sim_RadarObject *o;
	struct unit u;
	uint32_t n;

	c.x = -1;
	c.yaw_deg = 180;
	assert_int_equal(unit_init(&u, &c), 0);
	o = measure(&u, &m, &n);
	assert_int_equal(n, 1);
	assert_int_equal(o[0].id, 1);
	near(o[0].sensor_aim.y, -1);
	near(o[0].relative_position.y, -29);
	near(doppler(&o[0]), -10);         /* it catches up */
	near(o[0].sensor_velocity.x, 0.5); /* an object behind the axle swings the other way */
	unit_finish(&u);
}

TEST(small_objects_are_lost_at_a_distance)
{
	const struct thing t[] = { { "Car", 92, 6, 0, 0 },         { "Pedestrian", 92, 3, 0, 0 },
				   { "Pedestrian", 57, -6, 0, 0 }, { "Pedestrian", 60.3, -9, 0, 0 },
				   { "Truck", 106, -20, 0, 0 },    { "Unknown", 92, 12, 0, 0 } };
	struct sensor_config c = config();
	struct motion at = north();
	struct moment m = world(t, 6, &at);
	const struct sim_RadarObject *o;
	struct unit u;
	uint32_t n;

	assert_int_equal(unit_init(&u, &c), 0);
	o = measure(&u, &m, &n); /* 100 m for a car, 56.2 for people; a truck is not seen beyond the range either */
	assert_int_equal(n, 3);
	assert_int_equal(o[0].id, 1);
	assert_int_equal(o[1].id, 3);
	assert_int_equal(o[2].id, 6);
	near(radar_cross_section("Bus"), 100);
	unit_finish(&u);
}

TEST(hidden_objects_give_no_echo)
{
	const struct thing t[] = { { "Bus", 12, 0, 0, 0 }, { "Pedestrian", 20, 0, 0, 0 } };
	struct scan_box wall = { .x = 100, .y = 58, .z = 5, .length = 20, .width = 1, .height = 10 };
	struct scene_buildings walls = { .boxes = &wall, .n = 1 };
	struct sensor_config c = config();
	struct motion at = north();
	struct moment m = world(t, 2, &at);
	const struct sim_RadarObject *o;
	struct unit u;
	uint32_t n;

	assert_int_equal(unit_init(&u, &c), 0);
	o = measure(&u, &m, &n);
	assert_int_equal(n, 1);
	assert_int_equal(o[0].id, 1);
	m.buildings = &walls;
	(void)measure(&u, &m, &n);
	assert_int_equal(n, 0);
	m.motion = NULL;
	assert_int_equal(look_at(&u, &m, sizeof(out_body)), 0); /* the position is unknown */
	unit_finish(&u);
}

static bool is_new(struct unit *u, const struct moment *m, uint32_t i)
{
	uint32_t n;
	const struct sim_RadarObject *o = measure(u, m, &n);

	assert_true(i < n);
	return o[i].new_detection != 0;
}

TEST(a_new_object_is_marked_new_once)
{
	const struct thing one[] = { { "Car", 22, 0, 0, 0 } },
			   two[] = { { "Car", 22, 0, 0, 0 }, { "Car", 30, 6, 0, 0 } };
	struct sensor_config c = config();
	struct motion at = north();
	struct moment m = world(one, 1, &at);
	struct unit u;

	assert_int_equal(unit_init(&u, &c), 0);
	assert_true(is_new(&u, &m, 0));
	assert_false(is_new(&u, &m, 0));
	m = world(two, 2, &at);
	assert_true(is_new(&u, &m, 1));
	assert_false(is_new(&u, &m, 0));
	assert_false(is_new(&u, &m, 1));
	m = world(one, 1, &at);
	assert_false(is_new(&u, &m, 0));
	m = world(two, 2, &at);
	assert_true(is_new(&u, &m, 1)); /* it was away */
	m.clock_generation = 2;
	assert_true(is_new(&u, &m, 0)); /* another run */
	unit_finish(&u);
}

TEST(noise_acts_along_the_measured_directions)
{
	const struct thing t[] = { { "Car", 42, 0, 0, -5 }, { "Car", 30, 6, 0, 0 } };
	struct sensor_config c = config();
	struct motion at = north();
	struct moment m = world(t, 2, &at);
	double sum[3] = { 0 }, square[3] = { 0 };
	const struct sim_RadarObject *o;
	struct sim_RadarObject first;
	struct unit u;
	uint32_t n;

	c.noise = 0.5;
	c.noise_deg = 1;
	c.noise_speed = 0.2;
	c.seed = 3;
	assert_int_equal(unit_init(&u, &c), 0);
	for (int i = 0; i < 4000; i++) {
		double e[3];

		m.stamp_sim_ns = STAMP + i * 100000000LL;
		o = measure(&u, &m, &n);
		e[0] = hypot(o[0].relative_position.x, o[0].relative_position.y) - 40;
		e[1] = o[0].sensor_angle * 180 / M_PI;
		e[2] = doppler(&o[0]) - (-15 * cos(o[0].sensor_angle) - sin(o[0].sensor_angle));
		for (int k = 0; k < 3; k++) {
			sum[k] += e[k];
			square[k] += e[k] * e[k];
		}
		near_within(atan2(-o[0].relative_position.x, o[0].relative_position.y), o[0].sensor_angle, 1e-9);
	}
	for (int k = 0; k < 3; k++)
		near_within(sum[k] / 4000, 0, 0.05);
	near_within(sqrt(square[0] / 4000), 0.5, 0.03);
	near_within(sqrt(square[1] / 4000), 1, 0.06);
	near_within(sqrt(square[2] / 4000), 0.2, 0.012);
	/* the same again, also when the other one has gone; another seed is another noise */
	m.stamp_sim_ns = STAMP;
	first = *measure(&u, &m, &n);
	m = world(t, 1, &at);
	o = measure(&u, &m, &n);
	assert_memory_equal(&first.relative_position, &o->relative_position, sizeof(first.relative_position));
	unit_finish(&u);
	c.seed = 4;
	assert_int_equal(unit_init(&u, &c), 0);
	o = measure(&u, &m, &n);
	assert_true(first.relative_position.y != o->relative_position.y);
	unit_finish(&u);
}
