/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTM against coordinates that PROJ gives for the same points, yaws of attitudes, and tracks of objects.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <math.h>

#include "tools/bridge/convert/geo.h"
#include "tools/sources/origin.h"
#include "tools/sources/space.h"
#include "tools/sources/sumo/track.h"

static struct sim_Quaternion about(double x, double y, double z, double rad)
{
	return (struct sim_Quaternion){
		.x = x * sin(rad / 2), .y = y * sin(rad / 2), .z = z * sin(rad / 2), .w = cos(rad / 2)
	};
}

/* A vehicle on a slope is turned by as much as one on level ground; how long its quaternion is says nothing. */
TEST(the_yaw_is_extracted_at_any_pitch_and_roll)
{
	for (double yaw = -3; yaw <= 3; yaw += 0.5) {
		for (double pitch = -1.5; pitch <= 1.5; pitch += 0.5) {
			struct sim_Quaternion q = space_mul(space_mul(about(0, 0, 1, yaw), about(0, 1, 0, pitch)),
							    about(1, 0, 0, 1 - pitch));

			assert_true(fabs(space_yaw(q) - yaw) < 1e-12);
			q = (struct sim_Quaternion){ .x = 3 * q.x, .y = 3 * q.y, .z = 3 * q.z, .w = 3 * q.w };
			assert_true(fabs(space_yaw(q) - yaw) < 1e-12);
		}
	}
	assert_true(space_yaw((struct sim_Quaternion){ 0 }) == 0);
}

TEST(utm_agrees_with_proj)
{
	static const struct {
		double lon, lat;
		int zone;
		double e, n;
	} points[] = {
		{ 11.574440254230, 48.143902005560, 32, 691500, 5335500 },
		{ 11.580883324096, 48.147716513009, 32, 691965, 5335940 },
		{ 8.918147324687, 21.120626625311, 32, 491500, 2335500 },
		{ 9, 0, 32, 500000, 0 },
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		struct geo_utm u;

		assert_int_equal(geo_utm(points[i].lon, points[i].lat, &u), 0);
		assert_int_equal(u.zone, points[i].zone);
		if (fabs(u.easting - points[i].e) > 1e-3 || fabs(u.northing - points[i].n) > 1e-3)
			fail_msg("point %zu: %.4f %.4f", i, u.easting, u.northing);
	}
}

/* A map that is turned by 0.3 rad, is 1.6 as large and has its own zero. */
static struct origin_point point_of_map(double east, double north)
{
	struct origin_point p = { .x = 1.6 * (cos(0.3) * east + sin(0.3) * north) + 2e6,
				  .y = 1.6 * (cos(0.3) * north - sin(0.3) * east) - 7e5 };

	assert_int_equal(geo_of_utm(32, false, 691500 + east, 5335500 + north, &p.lon_deg, &p.lat_deg), 0);
	return p;
}

TEST(any_map_projection_meets_the_utm_grid_at_a_position)
{
	struct origin_point at = point_of_map(100, 200), beside = point_of_map(180, 260);
	struct origin o = { 0 };
	double lat, lon;

	assert_int_equal(origin_fit(&o, &at, &at), -EINVAL);
	assert_false(o.given);
	assert_int_equal(origin_fit(&o, &at, &beside), 0);
	assert_true(o.given && o.zone == 32 && fabs(o.turn - 0.3) < 1e-9);
	assert_true(origin_degrees(&o, at.x, at.y, &lat, &lon));
	assert_true(fabs(lat - at.lat_deg) < 1e-9 && fabs(lon - at.lon_deg) < 1e-9);
	assert_true(origin_degrees(&o, at.x + (beside.x - at.x) / 1.6, at.y + (beside.y - at.y) / 1.6, &lat, &lon));
	assert_true(fabs(lat - beside.lat_deg) < 1e-9 && fabs(lon - beside.lon_deg) < 1e-9);
}

TEST(a_forced_zone_agrees_with_proj_on_both_sides_of_its_borders)
{
	static const struct {
		int zone;
		bool south;
		double lon, lat, e, n;
	} points[] = {
		{ 10, false, -122.0143, 37.4148, 587226.1303, 4141344.9947 },
		{ 10, false, -119.98, 37.4148, 767273.7033, 4145171.0719 }, /* in zone 11 */
		{ 11, false, -119.98, 37.4148, 236267.1934, 4145058.3220 },
		{ 56, true, 151.2093, -33.8688, 334368.6336, 6250948.3454 },
		{ 55, true, 150.001, -33.8688, 777609.6511, 6248337.1907 },
		{ 10, false, -122.5, -0.002, 555638.1924, -221.0686 },
		{ 10, true, -122.5, 0.002, 555638.1924, 10000221.0686 },
		{ 60, false, -179.99, 10, 830026.1186, 1106918.8578 },
		{ 1, false, 179.99, -10, 169973.8814, -1106918.8578 },
		{ 32, false, 25, 60, 1386534.7283, 6759666.5410 },
		{ 32, false, 28.9, 10, 2723591.6717, 1174564.4459 },
	};
	struct geo_utm u;

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		assert_int_equal(geo_utm_in(points[i].zone, points[i].south, points[i].lon, points[i].lat, &u), 0);
		if (fabs(u.easting - points[i].e) > 1e-3 || fabs(u.northing - points[i].n) > 1e-3)
			fail_msg("point %zu: %.4f %.4f", i, u.easting, u.northing);
	}
	assert_int_equal(geo_utm_in(32, false, 29.1, 10, &u), -EINVAL);
	assert_int_equal(geo_utm_in(0, false, -179, 10, &u), -EINVAL);
	assert_int_equal(geo_utm_in(61, false, -179, 10, &u), -EINVAL);
}

TEST(utm_works_in_the_south_and_at_zone_edges)
{
	struct geo_utm north, south;

	assert_int_equal(geo_utm(150, 34, &north), 0);
	assert_int_equal(geo_utm(150, -34, &south), 0);
	assert_true(fabs(north.northing + south.northing - 10000000) < 1e-6);
	assert_int_equal(geo_utm(180, 10, &north), 0);
	assert_int_equal(north.zone, 60);
	assert_int_equal(geo_utm(0, 84.5, &north), -EINVAL);
	assert_int_equal(geo_utm(NAN, 0, &north), -EINVAL);
	assert_int_equal(geo_utm(181, 0, &north), -EINVAL);
}

TEST(a_track_keeps_its_id)
{
	struct tracks *ts = calloc(1, sizeof(*ts));
	double v0[2] = { 1, 2 }, v1[2] = { 2, 1.5 };
	const struct track *t;

	assert_non_null(ts);
	tracks_init(ts);
	t = tracks_see(ts, 77, v0, 0.5, 1000000000);
	assert_int_equal(t->id, 1);
	assert_int_equal(tracks_see(ts, 78, v0, 0.5, 1000000000)->id, 2);
	t = tracks_see(ts, 77, v1, 0.75, 1500000000);
	assert_int_equal(t->id, 1);
	assert_int_equal(t->first_sim_ns, 1000000000);
	assert_true(fabs(t->acc[0] - 2) < 1e-12 && fabs(t->acc[1] + 1) < 1e-12);
	assert_true(fabs(t->yaw_rate - 0.5) < 1e-12);
	/* long away, and after a jump of time backwards: the same one, whose motion is not known */
	t = tracks_see(ts, 77, v0, 0.5, 9000000000);
	assert_true(t->id == 1 && t->first_sim_ns == 1000000000 && t->acc[0] == 0 && t->yaw_rate == 0);
	t = tracks_see(ts, 77, v1, 0.5, 2000000000);
	assert_true(t->id == 1 && t->first_sim_ns == 1000000000 && t->acc[0] == 0);
	assert_int_equal(tracks_see(ts, 79, v0, 0.5, 2000000000)->id, 3);
	tracks_finish(ts);
	free(ts);
}

TEST(a_full_table_drops_the_oldest_track)
{
	struct tracks *ts = calloc(1, sizeof(*ts));
	double v[2] = { 0, 0 }, fast[2] = { 9, 0 };

	assert_non_null(ts);
	tracks_init(ts);
	for (uint64_t k = 0; k < 33; k++) /* the same place in the table */
		(void)tracks_see(ts, 5 + k * TRACKS_MAX, v, 0.5, (int64_t)k);
	assert_int_equal(tracks_see(ts, 5 + 32 * TRACKS_MAX, v, 0.5, 40)->id, 33);
	assert_int_equal(tracks_see(ts, 5 + 1 * TRACKS_MAX, v, 0.5, 41)->id, 2);
	assert_int_equal(tracks_see(ts, 5, fast, 0.5, 42)->id, 1); /* it had to go, but not its id */
	assert_true(tracks_see(ts, 5, fast, 0.5, 42)->acc[0] == 0);
	assert_int_equal(tracks_see(ts, 0, v, 0.5, 42)->id, 34); /* 0 is a key as well */
	tracks_finish(ts);
	free(ts);
}

/* There and back, to the millimetre: in its zone and far from it, south and north. */
TEST(a_utm_position_converts_back_to_earth)
{
	for (int lat = -79; lat <= 83; lat += 3)
		for (int off = -18; off <= 18; off += 3) {
			double lon = remainder(off + 0.25 + 177, 360), at[2];
			struct geo_utm u;

			assert_int_equal(geo_utm_in(60, lat < 0, lon, lat + 0.125, &u), 0);
			assert_int_equal(geo_of_utm(60, lat < 0, u.easting, u.northing, &at[0], &at[1]), 0);
			assert_true(fabs(remainder(at[0] - lon, 360)) < 1e-8 && fabs(at[1] - lat - 0.125) < 1e-8);
		}
}

TEST(invalid_utm_positions_are_refused)
{
	double lon, lat;

	assert_int_equal(geo_of_utm(0, false, 500000, 0, &lon, &lat), -EINVAL);
	assert_int_equal(geo_of_utm(31, false, NAN, 0, &lon, &lat), -EINVAL);
	assert_int_equal(geo_of_utm(31, false, 500000, 1e9, &lon, &lat), -EINVAL);
	assert_int_equal(geo_of_utm(31, false, 9e6, 0, &lon, &lat), -EINVAL);
}
