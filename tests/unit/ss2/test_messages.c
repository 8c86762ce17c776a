/* SPDX-License-Identifier: Apache-2.0 */
/* The messages that sim-ss2 makes of a scene, and of the vehicle's own messages. */
#include "tests/support/test.h"

#include "ss2/ss2.pb-c.h"
#include "err.h"
#include "tools/sources/ss2/messages.h"
#include "tools/sources/ss2/store.h"
#include "tools/sources/ss2/vehicle.h"
#include "tools/bridge/convert/geo.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <sim/introspect.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/TrafficSignals.h>
#include <sim/msg/VehicleMode.h>

#define S    INT64_C(1000000000)
#define HALF 0.70710678118654752

static void near(double a, double b)
{
	if (!(fabs(a - b) < 1e-6))
		fail_msg("%.9f is not %.9f", a, b);
}

static void open_scene(struct scene *s)
{
	static struct store store;

	store_close(&store);
	assert_ok(store_open(&store, NULL, 0));
	scene_init(s, store.scene);
}

static struct scene_entity *put(struct scene *s, const char *name, enum scene_kind kind, double x, double y)
{
	struct scene_entity *e;

	assert_int_equal(scene_spawn(s, name, kind, &e), 0);
	e->pose.position = (struct sim_Vector3){ .x = x, .y = y };
	return e;
}

static const struct sim_Detected3DObject *objects(const struct scene *s, int64_t now_sim_ns, uint32_t *ret_n)
{
	static _Alignas(8) uint8_t body[65536];
	size_t size = message_objects(s, now_sim_ns, body,
				      message_objects_max(s->n_entities < MESSAGE_OBJECTS_MAX ? s->n_entities
											      : MESSAGE_OBJECTS_MAX));

	assert_true(size > 0);
	assert_int_equal(sim_msg_check(&sim_Detected3DObjects_type, body, size), 0);
	return sim_Detected3DObjects_objects(sim_Detected3DObjects_from(body, size), size, ret_n);
}

TEST(objects_are_relative_to_the_ego)
{
	const struct sim_Detected3DObject *o;
	struct scene_entity *e;
	struct scene s;
	uint32_t n;

	open_scene(&s);
	e = put(&s, "car", SCENE_VEHICLE, 10, 20);
	e->subtype = SS2__ENTITY_SUBTYPE__ENUM__BUS;
	e->pose.orientation = (struct sim_Quaternion){ .w = 1 };
	e->box_center = (struct sim_Vector3){ .x = 1.5, .z = 0.7 };
	e->box_size = (struct sim_Vector3){ .x = 4, .y = 2, .z = 1.4 };
	e->twist.linear.x = 5;
	e->accel.linear.x = 1;
	e->shown = true;
	e->first_sim_ns = 2 * S;
	e = put(&s, "ego", SCENE_EGO, 10, 10); /* looks north: the car is straight ahead */
	e->pose.orientation = (struct sim_Quaternion){ .z = HALF, .w = HALF };
	o = objects(&s, 5 * S, &n);
	assert_int_equal(n, 1);
	assert_string_equal(message_frame(&s), "base_link");
	near(o[0].pose.position.x, 10);
	near(o[0].pose.position.y, -1.5);
	near(o[0].pose.position.z, 0.7);
	near(2 * atan2(o[0].pose.orientation.z, o[0].pose.orientation.w), -M_PI / 2);
	near(o[0].map_position.x, 11.5);
	near(o[0].map_position.y, 20);
	near(o[0].map_velocity.x, 5);
	near(o[0].map_acceleration.x, 1);
	near(o[0].velocity.linear.x, 5);
	near(o[0].heading, 0);
	near(o[0].size.x, 4);
	assert_int_equal(o[0].tracking_time, 3 * S);
	assert_int_equal(o[0].id, 1);
}

TEST(a_box_rotates_with_its_object)
{
	const struct sim_Detected3DObject *o;
	struct scene_entity *e;
	struct scene s;
	uint32_t n;

	open_scene(&s);
	e = put(&s, "car", SCENE_VEHICLE, 10, 20);
	e->pose.orientation = (struct sim_Quaternion){ .z = HALF, .w = HALF };
	e->box_center.x = 1.5;
	e->twist.linear.x = 2;
	o = objects(&s, 0, &n);
	near(o[0].pose.position.x, 10);
	near(o[0].pose.position.y, 21.5);
	near(o[0].map_velocity.y, 2);
	near(o[0].heading, M_PI / 2);
}

TEST(without_an_ego_objects_are_relative_to_the_map)
{
	static const char *const labels[] = { "Unknown",    "Car",     "Truck",      "Bus",    "Trailer",
					      "Motorcycle", "Bicycle", "Pedestrian", "Unknown" };
	static _Alignas(8) uint8_t body[8192];
	const struct sim_Detected3DObject *o;
	struct scene_entity *e;
	struct scene s;
	size_t size;
	uint32_t n;

	open_scene(&s);
	assert_string_equal(message_frame(&s), "map");
	(void)objects(&s, 0, &n);
	assert_int_equal(n, 0);
	for (uint32_t i = 0; i < 9; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%u", i);
		e = put(&s, name, SCENE_VEHICLE, i, 0);
		e->subtype = i;
	}
	put(&s, "bob", SCENE_PEDESTRIAN, 0, 0);
	size = message_objects(&s, 0, body, sizeof(body));
	o = sim_Detected3DObjects_objects(sim_Detected3DObjects_from(body, size), size, &n);
	assert_int_equal(n, 10);
	for (uint32_t i = 0; i < 9; i++) {
		assert_string_equal(sim_Detected3DObject_label_in(body, size, &o[i]), labels[i]);
		near(o[i].pose.position.x, i);
		assert_int_equal(o[i].tracking_time, 0);
	}
	assert_string_equal(sim_Detected3DObject_label_in(body, size, &o[9]), "Pedestrian");
	assert_int_equal(message_objects(&s, 0, body, 100), 0); /* no room */
}

TEST(of_a_crowd_the_nearest_objects_are_published)
{
	static _Alignas(8) uint8_t body[65536];
	const struct sim_Detected3DObject *o;
	struct scene s;
	uint32_t n;

	open_scene(&s);
	put(&s, "ego", SCENE_EGO, 0, 0)->pose.orientation.w = 1;
	for (int i = 0; i < MESSAGE_OBJECTS_MAX + 100; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%d", i);
		put(&s, name, SCENE_PEDESTRIAN, 1000 - i, 0);
	}
	assert_true(message_objects_max(MESSAGE_OBJECTS_MAX) <= sizeof(body));
	o = objects(&s, 0, &n);
	assert_int_equal(n, MESSAGE_OBJECTS_MAX);
	near(o[0].pose.position.x, 1000 - MESSAGE_OBJECTS_MAX - 99);
	near(o[n - 1].pose.position.x, 1000 - 100);
	for (int i = 0; i < MESSAGE_BULBS_MAX + 7; i++)
		s.bulb[i].group = s.bulb[i].light = INT32_MIN + i;
	s.n_bulbs = MESSAGE_BULBS_MAX + 7;
	assert_true(message_signals_max(MESSAGE_BULBS_MAX) <= sizeof(body));
	assert_true(message_signals(&s, body, message_signals_max(MESSAGE_BULBS_MAX)) > 0);
}

TEST(traffic_lights_have_the_ids_of_the_map)
{
	static _Alignas(8) uint8_t body[4096];
	const struct sim_TrafficSignal *t;
	struct scene s;
	size_t size;
	uint32_t n;

	open_scene(&s);
	s.bulb[0] = (struct scene_bulb){
		.group = 34806, .light = 34802, .color = SIM_TRAFFIC_SIGNAL_COLOR_GREEN, .blink = true, .score = 0.5f
	};
	s.bulb[1] = (struct scene_bulb){ .group = -1 };
	s.n_bulbs = 2;
	size = message_signals(&s, body, message_signals_max(2));
	assert_int_equal(sim_msg_check(&sim_TrafficSignals_type, body, size), 0);
	t = sim_TrafficSignals_signals(sim_TrafficSignals_from(body, size), size, &n);
	assert_int_equal(n, 2);
	assert_string_equal(sim_TrafficSignal_id_in(body, size, &t[0]), "34806");
	assert_string_equal(sim_TrafficSignal_id_in(body, size, &t[1]), "-1");
	assert_int_equal(t[0].seq_id, 34802);
	assert_int_equal(t[0].color, SIM_TRAFFIC_SIGNAL_COLOR_GREEN);
	assert_true(t[0].blink && t[0].score == 0.5f && t[0].pose.orientation.w == 1);
}

/* ---- the vehicle ---- */

static struct sim_GpsOdometry odometry(double east, double north, float speed)
{
	return (struct sim_GpsOdometry){ .easting = east,
					 .northing = north,
					 .altitude = 40,
					 .orientation.w = 1,
					 .forward_speed = speed,
					 .angular_velocity.z = 0.3,
					 .ignore_map_origin = 1 };
}

/* A can_bus from before the order says nothing about its effect. */
TEST(a_mode_reported_before_the_placement_is_ignored)
{
	struct sim_CanBus c = {
		.longitude = 139.9, .latitude = 35.2, .orientation.w = 1, .mode = SIM_VEHICLE_MODE_AUTO
	};
	struct vehicle v = { .origin.mgrs = true };
	struct vehicle_state s;

	assert_true(vehicle_can_bus(&v, &c, 100, 1));
	vehicle_ordered(&v, true, 200, 1);
	assert_true(vehicle_can_bus(&v, &c, 200, 1));
	assert_true(vehicle_now(&v, 300, 1, &s) && s.manual);
	assert_true(vehicle_can_bus(&v, &c, 201, 1));
	assert_true(vehicle_now(&v, 300, 1, &s) && !s.manual);
	vehicle_ordered(&v, true, 400, 1);
	assert_true(vehicle_can_bus(&v, &c, 10, 2)); /* time has jumped back */
	assert_true(vehicle_now(&v, 20, 2, &s) && !s.manual);
	c.mode = SIM_VEHICLE_MODE_MANUAL;
	assert_true(vehicle_can_bus(&v, &c, 11, 2));
	assert_true(vehicle_now(&v, 20, 2, &s) && s.manual);
}

TEST(origins_are_parsed)
{
	struct vehicle_origin o;

	assert_int_equal(vehicle_origin_parse(&o, NULL), 0);
	assert_true(o.mgrs);
	assert_int_equal(vehicle_origin_parse(&o, "381000.5,3940000"), 0);
	assert_true(!o.mgrs && o.easting == 381000.5 && o.northing == 3940000 && o.altitude == 0);
	assert_int_equal(vehicle_origin_parse(&o, "1,2,-3"), 0);
	assert_true(o.altitude == -3);
	for (const char *const *bad = (const char *const[]){ "1", "1,", "1,2x", "1,2,", "1,2,3,4", "nan,1", "x", NULL };
	     *bad; bad++)
		assert_int_equal(vehicle_origin_parse(&o, *bad), -EINVAL);
	assert_true(o.altitude == -3);
}

/* The reference's jerk is the change of the speed over the step. */
TEST(jerk_is_computed_as_in_the_reference)
{
	struct vehicle v = { .origin.mgrs = true };
	struct sim_GpsOdometry m = odometry(381816.0, 3973739.0, 8);
	struct vehicle_state s;

	for (int i = 0; i < 3; i++, m.forward_speed += 0.25f)
		assert_true(vehicle_odometry(&v, &m, (10 + i) * S / 10, 1));
	assert_true(vehicle_now(&v, 12 * S / 10, 1, &s));
	assert_true(fabs(s.accel.linear.x - 2.5) < 1e-9 && fabs(s.jerk - 2.5) < 1e-9);
}

/* Theirs: sideways wz vx, about z what wz has changed by over the step. */
TEST(lateral_and_angular_acceleration_match_the_reference)
{
	struct vehicle v = { .origin.mgrs = true };
	struct sim_GpsOdometry m = odometry(381816.0, 3973739.0, 8);
	struct vehicle_state s;

	for (int i = 0; i < 2; i++) /* the same report once more changes nothing */
		assert_true(vehicle_odometry(&v, &m, S, 1));
	assert_true(vehicle_now(&v, S, 1, &s));
	near(s.accel.linear.y, 0.3 * 8);
	near(s.accel.angular.z, 0);
	m.forward_speed = 10;
	m.angular_velocity.z = -0.2;
	for (int i = 0; i < 2; i++)
		assert_true(vehicle_odometry(&v, &m, 11 * S / 10, 1));
	assert_true(vehicle_now(&v, 11 * S / 10, 1, &s));
	near(s.accel.linear.y, -0.2 * 10);
	near(s.accel.angular.z, (-0.2 - 0.3) / 0.1);
	assert_true(vehicle_odometry(&v, &m, 11 * S / 10, 2)); /* time has jumped */
	assert_true(vehicle_now(&v, 11 * S / 10, 2, &s));
	near(s.accel.angular.z, 0);
}

TEST(the_odometry_places_the_ego_on_the_map)
{
	struct vehicle v = { .origin.mgrs = true };
	struct sim_GpsOdometry m = odometry(381816.0, 3973739.0, 8);
	struct vehicle_state s;

	assert_false(vehicle_now(&v, 0, 1, &s));
	assert_true(vehicle_odometry(&v, &m, 1 * S, 1));
	assert_true(vehicle_now(&v, 1 * S, 1, &s));
	near(s.pose.position.x, 81816.0);
	near(s.pose.position.y, 73739.0);
	near(s.pose.position.z, 40);
	near(s.twist.linear.x, 8);
	near(s.twist.angular.z, 0.3);
	near(s.accel.linear.x, 0);
	v.origin = (struct vehicle_origin){ .easting = 381800, .northing = 3973700, .altitude = 30 };
	m.forward_speed = 9;
	assert_true(vehicle_odometry(&v, &m, 1 * S + S / 10, 1));
	assert_true(vehicle_now(&v, 1 * S + S / 10, 1, &s));
	near(s.pose.position.x, 16);
	near(s.pose.position.z, 10);
	near(s.accel.linear.x, 10);
	m.ignore_map_origin = 0; /* is on the map already */
	m.easting = 5;
	assert_true(vehicle_odometry(&v, &m, 1 * S + S / 5, 1));
	assert_true(vehicle_now(&v, 1 * S + S / 5, 1, &s));
	near(s.pose.position.x, 5);
}

TEST(a_vehicle_that_is_silent_for_too_long_is_ignored)
{
	struct vehicle v = { .origin.mgrs = true };
	struct sim_GpsOdometry m = odometry(500000, 4000000, 0);
	struct vehicle_state s;

	assert_true(vehicle_odometry(&v, &m, 5 * S, 3));
	assert_true(vehicle_now(&v, 5 * S + VEHICLE_FRESH_DUR_NS, 3, &s));
	assert_false(vehicle_now(&v, 5 * S + VEHICLE_FRESH_DUR_NS + 1, 3, &s));
	assert_false(vehicle_now(&v, 5 * S - 1, 3, &s)); /* from the future */
	assert_false(vehicle_now(&v, 5 * S, 4, &s));     /* of the run before */
	m.northing = (double)NAN;
	assert_false(vehicle_odometry(&v, &m, 6 * S, 3));
	m.northing = 0;
	m.orientation = (struct sim_Quaternion){ .x = (double)NAN };
	assert_false(vehicle_odometry(&v, &m, 6 * S, 3));
	assert_false(vehicle_now(&v, 7 * S, 3, &s)); /* nonsense is no sign of life */
}

TEST(without_odometry_the_can_bus_is_used)
{
	struct sim_CanBus m = { .latitude = 35.9, .longitude = 139.9, .altitude = 40, .orientation.w = 1, .speed = 3 };
	struct sim_GpsOdometry o = odometry(300001, 3000002, 1);
	struct vehicle v = { .origin.mgrs = true };
	struct vehicle_state s;
	struct geo_utm utm;

	assert_int_equal(geo_utm(139.9, 35.9, &utm), 0);
	assert_true(vehicle_can_bus(&v, &m, 1 * S, 1));
	assert_true(vehicle_now(&v, 1 * S, 1, &s));
	near(s.pose.position.x, fmod(utm.easting, 100000));
	near(s.pose.position.y, fmod(utm.northing, 100000));
	near(s.twist.linear.x, 3);
	assert_true(vehicle_odometry(&v, &o, 1 * S, 1));
	assert_true(vehicle_now(&v, 1 * S, 1, &s));
	near(s.pose.position.x, 1);
	m.latitude = 95;
	assert_false(vehicle_can_bus(&v, &m, 2 * S, 1));
}
