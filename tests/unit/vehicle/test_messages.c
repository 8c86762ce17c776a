/* SPDX-License-Identifier: Apache-2.0 */
/* The vehicle's own messages, and the position of its map on the earth. */
#include "car.h"

#include <sim/msg/CanBus.h>
#include <sim/msg/Gps.h>
#include <sim/msg/GpsOdometry.h>
#include <sim/msg/Imu.h>
#include <sim/msg/Transforms.h>
#include <sim/msg/Turn.h>
#include <sim/msg/VehicleMode.h>
#include <sim/msg/VehicleOdometry.h>

#include "tools/bridge/convert/geo.h"
#include "tools/sources/vehicle/messages.h"

static struct vehicle v;
static _Alignas(64) unsigned char body[2048];

static struct moment moment_of(const struct origin *o)
{
	struct vehicle_params p = car("{" CAR ", \"steer_lim\": 0.8, \"steer_bias\": 0.01}");

	vehicle_init(&v, &p,
		     &(struct model_place){ .x = 10, .y = 20, .z = 3, .yaw = M_PI / 2, .speed = 5, .steer = 0.2 });
	return (struct moment){
		.model = &v.model, .orders = &v.orders, .origin = o, .gyro = 5 * tan(0.2) / WB, .span_dur_ns = 10 * MS
	};
}

TEST(the_can_bus_reports_gear_brake_and_lamps)
{
	struct origin o = { 0 };
	struct moment m = moment_of(&o);
	const struct sim_CanBus *c;

	assert_ok(orders_turn(&v.orders, SIM_TURN_LEFT));
	v.orders.hazard = true;
	v.orders.gear = GEAR_REVERSE;
	v.orders.hand_brake = true;
	c = sim_CanBus_from(body, message_can_bus(&m, body, sizeof(body)));
	assert_non_null(c);
	assert_int_equal(c->gear, GEAR_REVERSE);
	assert_true(c->in_reverse && c->parking_brake && c->hazard_lights && c->left_turn_signal && c->engine_on);
	assert_false(c->right_turn_signal);
	assert_int_equal(c->mode, SIM_VEHICLE_MODE_AUTO);
	near((double)c->speed, 5, 0);
	near((double)c->steering_angle, 0.21, 1e-7); /* as its sensor shows it */
	near((double)c->steering, 0.25, 1e-7);
	near(c->velocity.x, 0, 1e-12);
	near(c->velocity.y, 5, 1e-12);
	v.orders.emergency = true;
	c = sim_CanBus_from(body, message_can_bus(&m, body, sizeof(body)));
	assert_int_equal(c->mode, SIM_VEHICLE_MODE_EMERGENCY);
	assert_int_equal(message_can_bus(&m, body, 10), 0); /* no room */
}

TEST(imu_odometry_and_frames_agree)
{
	struct origin o = { 0 };
	struct moment m = moment_of(&o);
	double rate = 5 * tan(0.2) / WB;
	const struct sim_GpsOdometry *g;
	const struct sim_Transform *t;
	const struct sim_Imu *i;
	uint32_t n;
	size_t size;

	i = sim_Imu_from(body, message_imu(&m, body, sizeof(body)));
	near(i->angular_velocity.z, rate, 1e-12);
	near(i->linear_acceleration.y, rate * 5, 1e-12);
	near(i->linear_acceleration.z, 9.80665, 0);
	g = sim_GpsOdometry_from(body, message_gps_odometry(&m, body, message_gps_odometry_max()));
	near(g->easting, 10, 0);
	near(g->northing, 20, 0);
	near(g->velocity.y, 5, 1e-12);
	assert_false(g->ignore_map_origin);
	size = message_tf(&m, body, message_tf_max());
	t = sim_Transforms_transforms(sim_Transforms_from(body, size), size, &n);
	assert_int_equal(n, 1);
	near(t->translation.y, 20, 0);
	near(2 * atan2(t->rotation.z, t->rotation.w), M_PI / 2, 1e-12);
	assert_string_equal(sim_Transform_child_frame_in(body, size, t), "base_link");
	assert_true(message_odometry(&m, body, sizeof(body)) == sizeof(struct sim_VehicleOdometry));
}

/* Up a slope of 10 % to the north, with the left side higher by 5 %: each message is tilted as the car. */
TEST(messages_of_a_car_on_a_slope_are_tilted)
{
	struct origin o = { 0 };
	struct moment m = moment_of(&o);
	double long_way = sqrt(1.01), all = sqrt(1 + 0.01 + 0.0025);
	const struct sim_GpsOdometry *g;
	struct sim_Quaternion q;
	const struct sim_Imu *i;

	v.model.s.slope_y = 0.1;
	v.model.s.slope_x = -0.05;
	g = sim_GpsOdometry_from(body, message_gps_odometry(&m, body, message_gps_odometry_max()));
	q = g->orientation;
	near(2 * (q.x * q.y + q.w * q.z), 1 / long_way, 1e-12); /* its x axis, in the map */
	near(2 * (q.x * q.z - q.w * q.y), 0.1 / long_way, 1e-12);
	near(1 - 2 * (q.y * q.y + q.z * q.z), 0, 1e-12);
	near(2 * (q.x * q.z + q.w * q.y), 0.05 / all, 1e-12); /* its z axis */
	near(2 * (q.y * q.z - q.w * q.x), -0.1 / all, 1e-12);
	near(1 - 2 * (q.x * q.x + q.y * q.y), 1 / all, 1e-12);
	near(g->velocity.y, 5 / long_way, 1e-12);
	near(g->velocity.z, 0.5 / long_way, 1e-12);
	i = sim_Imu_from(body, message_imu(&m, body, sizeof(body)));
	near(i->linear_acceleration.x, 9.80665 * 0.1 / long_way, 1e-12); /* it leans back */
	near(i->linear_acceleration.z, 9.80665 / all, 1e-12);
}

TEST(degrees_match_the_utm_grid)
{
	struct origin o;
	struct geo_utm at;
	double lat, lon;

	assert_ok(origin_parse(&o, "35.238094,139.900773"));
	for (double x = -20000; x <= 20000; x += 5000) {
		assert_true(origin_degrees(&o, x, -x / 2 + 77, &lat, &lon));
		assert_ok(geo_utm(lon, lat, &at));
		near(at.easting, o.easting + x, 1e-3);
		near(at.northing, o.northing - x / 2 + 77, 1e-3);
	}
}

/* Across the borders of zones, of the hemispheres and of the date; beyond the end of the grid there is no fix. */
TEST(degrees_stay_in_their_range)
{
	static const char *const origins[] = { "35.2,139.9", "0.001,5.999", "-0.001,-0.001",
					       "10,179.999", "83.9,20",     "-79.9,-180" };
	struct origin o;
	double lat, lon;
	unsigned fixes = 0, none = 0;

	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		assert_ok(origin_parse(&o, origins[i]));
		for (double far = 1; far < 1e12; far *= 10)
			for (int side = 0; side < 8; side++) {
				bool fix = origin_degrees(&o, far * cos(side * M_PI / 4), far * sin(side * M_PI / 4),
							  &lat, &lon);

				assert_true(origin_is_on_earth(lat, lon));
				fixes += fix;
				none += !fix;
				if (fix && far <= 1000) {
					near(lat, o.lat_deg, 0.01);
					near(remainder(lon - o.lon_deg, 360), 0, 0.1);
				} else if (!fix) {
					near(fabs(lat) + fabs(lon), 0, 0);
				}
			}
	}
	assert_true(fixes > 100 && none > 100);
	assert_false(origin_is_on_earth(NAN, 0) || origin_is_on_earth(0, 181) || origin_is_on_earth(-91, 0));
}

TEST(without_an_origin_there_is_no_fix)
{
	struct origin o = { 0 };
	struct moment m = moment_of(&o);
	const struct sim_Gps *g;

	assert_ok(origin_parse(&o, NULL));
	g = sim_Gps_from(body, message_gps(&m, body, sizeof(body)));
	assert_int_equal(g->status, SIM_GPS_STATUS_NO_FIX);
	near(g->latitude, 0, 0);
	assert_ok(origin_parse(&o, "48,11"));
	g = sim_Gps_from(body, message_gps(&m, body, sizeof(body)));
	assert_int_equal(g->status, SIM_GPS_STATUS_FIX);
	v.model.s.y = 1e8; /* the map has no end, the earth has */
	g = sim_Gps_from(body, message_gps(&m, body, sizeof(body)));
	assert_int_equal(g->status, SIM_GPS_STATUS_NO_FIX);
	near(fabs(g->latitude) + fabs(g->longitude), 0, 0);
	assert_true(origin_parse(&o, "north,east") < 0);
	assert_true(origin_parse(&o, "35.2") < 0);
	assert_true(origin_parse(&o, "95,0") < 0);
	assert_true(origin_parse(&o, "35,139x") < 0);
	assert_true(origin_parse(&o, "nan,0") < 0);
}
