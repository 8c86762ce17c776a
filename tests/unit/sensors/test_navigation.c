/* SPDX-License-Identifier: Apache-2.0 */
/* A satellite receiver and an IMU: exact without noise, and as noisy as they shall be. */
#include "world.h"

#include "tests/support/reckon.h"
#include "tools/bridge/convert/geo.h"

#define RUNS 20000

static struct sim_Gps truth(void)
{
	struct sim_Gps g = { .latitude = 48.14,
			     .longitude = 11.58,
			     .altitude = 500,
			     .easting = 100,
			     .northing = 50,
			     .orientation = { .z = sqrt(0.5), .w = sqrt(0.5) },
			     .status = SIM_GPS_STATUS_FIX,
			     .service = 1 };

	g.position_covariance[0] = 1e-4;
	return g;
}

TEST(without_noise_a_fix_is_exact)
{
	struct sensor_config c = { .kind = SENSOR_GNSS };
	struct sim_Gps t = truth(), fix;
	struct sim_GpsIns ins;
	struct gnss g;

	gnss_init(&g, &c);
	gnss_measure(&g, &t, STAMP, 1, &fix);
	assert_memory_equal(&fix, &t, sizeof(t));
	gnss_ins(&g, STAMP, &ins);
	assert_int_equal(ins.status, 3);
	assert_int_equal(ins.position_type, 56);
}

/* The vehicle points north: ahead is north, in the map and on the earth. */
TEST(the_antenna_offset_is_applied)
{
	struct sensor_config c = { .kind = SENSOR_GNSS, .x = 3, .y = 1, .z = 2 };
	struct sim_Gps t = truth(), fix;
	struct geo_utm a, b;
	struct gnss g;

	gnss_init(&g, &c);
	gnss_measure(&g, &t, STAMP, 1, &fix);
	near(fix.easting, 99);
	near(fix.northing, 53);
	near(fix.altitude, 502);
	assert_int_equal(geo_utm(t.longitude, t.latitude, &a), 0);
	assert_int_equal(geo_utm(fix.longitude, fix.latitude, &b), 0);
	near_within(b.easting - a.easting, -1, 1e-3);
	near_within(b.northing - a.northing, 3, 1e-3);
}

TEST(errors_have_the_configured_size_and_correlation)
{
	struct sensor_config c = { .kind = SENSOR_GNSS, .noise = 1.5, .noise_up = 3, .drift_s = 10, .seed = 5 };
	double square[3] = { 0 }, with_last = 0, last = 0;
	struct sim_Gps t = truth(), fix;
	struct sim_GpsIns ins;
	struct gnss g;

	gnss_init(&g, &c);
	for (int i = 0; i < RUNS; i++) { /* each 5 s: exp(-0.5) of it is left */
		double e;

		gnss_measure(&g, &t, STAMP + i * 5000000000LL, 1, &fix);
		e = fix.easting - 100;
		square[0] += e * e;
		square[1] += (fix.northing - 50) * (fix.northing - 50);
		square[2] += (fix.altitude - 500) * (fix.altitude - 500);
		with_last += e * last;
		last = e;
	}
	near_within(sqrt(square[0] / RUNS), 1.5, 0.06);
	near_within(sqrt(square[1] / RUNS), 1.5, 0.06);
	near_within(sqrt(square[2] / RUNS), 3, 0.12);
	near_within(with_last / square[0], exp(-0.5), 0.03);
	near(fix.position_covariance[0], 2.25);
	near(fix.position_covariance[8], 9);
	near(fix.position_covariance[1], 0);
	gnss_ins(&g, STAMP, &ins);
	assert_int_equal(ins.position_type, GNSS_INS_SINGLE);
	c.noise_up = 1;
	gnss_ins(&g, STAMP, &ins);
	assert_int_equal(ins.position_type, GNSS_INS_DIFFERENTIAL);
	c.noise = c.noise_up = 0.3;
	gnss_ins(&g, STAMP, &ins);
	assert_int_equal(ins.position_type, GNSS_INS_RTK_FLOAT);
}

TEST(a_seed_gives_the_same_fixes_in_each_run)
{
	struct sensor_config c = { .kind = SENSOR_GNSS, .noise = 1, .drift_s = 10, .seed = 5 };
	struct sim_Gps t = truth(), first, fix;
	struct gnss g;

	gnss_init(&g, &c);
	gnss_measure(&g, &t, STAMP, 1, &first);
	gnss_measure(&g, &t, STAMP + 80000000, 1, &fix);
	assert_true(fix.easting != first.easting && fabs(fix.easting - first.easting) < 0.8); /* it drifts */
	gnss_measure(&g, &t, STAMP, 2, &fix);                                                 /* time has begun again */
	assert_memory_equal(&fix, &first, sizeof(fix));
	c.seed = 6;
	gnss_init(&g, &c);
	gnss_measure(&g, &t, STAMP, 1, &fix);
	assert_true(fix.easting != first.easting);
}

TEST(during_an_outage_there_is_no_fix)
{
	struct sensor_config c = { .kind = SENSOR_GNSS, .outage = { { 10, 11 }, { 20, 21 } }, .n_outages = 2 };
	struct sim_Gps t = truth(), fix;
	struct sim_GpsIns ins;
	struct gnss g;

	gnss_init(&g, &c);
	gnss_measure(&g, &t, 9999999999, 1, &fix);
	assert_int_equal(fix.status, SIM_GPS_STATUS_FIX);
	t.easting = 777;
	t.latitude = 40;
	gnss_measure(&g, &t, 10000000000, 1, &fix);
	gnss_ins(&g, 10000000000, &ins);
	assert_int_equal(fix.status, SIM_GPS_STATUS_NO_FIX);
	near(fix.easting, 100); /* the last one that there was */
	near(fix.latitude, 48.14);
	assert_int_equal(ins.status, GNSS_INS_HIGH_VARIANCE);
	assert_int_equal(ins.position_type, GNSS_PROPAGATED);
	gnss_measure(&g, &t, 11000000000, 1, &fix);
	assert_int_equal(fix.status, SIM_GPS_STATUS_FIX);
	near(fix.easting, 777);
	gnss_measure(&g, &t, 20500000000, 1, &fix);
	assert_int_equal(fix.status, SIM_GPS_STATUS_NO_FIX);
}

/* At rest, tilted nose up by 30 degrees, and turned to the north: Rz(90) Ry(-30). */
TEST(gravity_is_removed_in_map_axes)
{
	struct sim_Imu imu = { .linear_acceleration = { .x = INERTIAL_GRAVITY * sin(M_PI / 6),
							.z = INERTIAL_GRAVITY * cos(M_PI / 6) },
			       .angular_velocity = { .x = 1 } };
	double cz = cos(M_PI / 4), sz = sin(M_PI / 4), cy = cos(-M_PI / 12), sy = sin(-M_PI / 12);
	struct sim_CorrectedImu out = { 0 };

	imu.orientation = (struct sim_Quaternion){ .x = -sz * sy, .y = cz * sy, .z = sz * cy, .w = cz * cy };
	inertial_correct(&imu, &out);
	near(out.global_acceleration.x, 0);
	near(out.global_acceleration.y, 0);
	near(out.global_acceleration.z, 0);
	near(out.global_angular_velocity.x, 0);
	near(out.global_angular_velocity.y, cos(M_PI / 6)); /* x of the vehicle: north, and up */
	near(out.global_angular_velocity.z, 0.5);
	/* 2 m/s^2 forwards, level */
	imu.orientation = (struct sim_Quaternion){ .z = sz, .w = cz };
	imu.linear_acceleration = (struct sim_Vector3){ .x = 2, .z = INERTIAL_GRAVITY };
	inertial_correct(&imu, &out);
	near(out.global_acceleration.x, 0);
	near(out.global_acceleration.y, 2);
	near(out.imu.linear_acceleration.x, 2);
}

TEST(an_imu_has_bias_and_noise)
{
	struct sensor_config c = { .kind = SENSOR_IMU,
				   .noise_acceleration = 0.1,
				   .noise_rotation = 0.02,
				   .bias_acceleration = 0.5,
				   .bias_rotation = 0.1,
				   .seed = 9 };
	struct sim_Imu t = { .linear_acceleration = { .z = 9.8 } }, out, first;
	double sum = 0, square = 0;
	struct inertial s;

	inertial_init(&s, &c);
	inertial_measure(&s, &t, 1, &first);
	for (int i = 0; i < RUNS; i++) {
		double e;

		inertial_measure(&s, &t, 1, &out);
		e = out.linear_acceleration.z - 9.8;
		sum += e;
		square += e * e;
	}
	near_within(sum / RUNS, s.bias_acceleration.z, 0.005);
	near_within(sqrt(square / RUNS - sum / RUNS * sum / RUNS), 0.1, 0.003);
	assert_true(s.bias_acceleration.z != 0 && fabs(s.bias_acceleration.z) < 2.5);
	near(out.linear_acceleration_covariance[0], 0.26);
	near(out.angular_velocity_covariance[8], 0.0104);
	inertial_measure(&s, &t, 2, &out); /* time has begun again */
	assert_memory_equal(&out, &first, sizeof(out));
	c = (struct sensor_config){ .kind = SENSOR_IMU };
	inertial_init(&s, &c);
	inertial_measure(&s, &t, 1, &out);
	assert_memory_equal(&out, &t, sizeof(t));
}

/* A mean never covers two runs, nor an invalid time. */
TEST(a_gyro_mean_never_spans_a_jump)
{
	const int64_t step = 10000000, odd[] = { -1, INT64_MIN, INT64_MAX };
	struct sim_Imu before = { .angular_velocity.z = 5, .measurement_span = step }, out;
	struct sim_Imu after = { .angular_velocity.z = 1, .measurement_span = step };
	const struct sensor_config c = { .kind = SENSOR_IMU };
	struct inertial s;

	inertial_init(&s, &c);
	for (uint32_t generation = 1; generation <= 4; generation++) {
		inertial_hear(&s, &before, generation);
		if (generation % 2) /* a message that is measured may be the first */
			inertial_hear(&s, &after, generation + 1);
		inertial_measure(&s, &after, generation + 1, &out);
		near(out.angular_velocity.z, 1);
		assert_int_equal(out.measurement_span, step);
	}
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		before.measurement_span = odd[i];
		inertial_hear(&s, &before, 9);
		inertial_hear(&s, &before, 9);
		inertial_measure(&s, &before, 9, &out);
		near(out.angular_velocity.z, 5);
		assert_int_equal(out.measurement_span, odd[i]);
	}
	for (int i = 0; i < 2; i++) {
		inertial_hear(&s, &before, 9);
		inertial_hear(&s, &after, 9);
	}
	inertial_measure(&s, &after, 9, &out);
	near(out.angular_velocity.z, 1);
	assert_int_equal(out.measurement_span, 2 * step);
}

/* Ten minutes in bends, measured at each `each`th of 100 messages a second. */
static void drive(const struct sensor_config *c, unsigned each, struct reckon *ret)
{
	struct inertial s;
	double yaw = 0;

	*ret = (struct reckon){ 0 };
	inertial_init(&s, c);
	for (unsigned i = 1; i <= 60000; i++) {
		struct sim_Imu t = { .angular_velocity.z = 0.6 * sin(i * 0.013), .measurement_span = 10000000 }, out;

		yaw += t.angular_velocity.z * 0.01;
		t.orientation = (struct sim_Quaternion){ .z = sin(yaw / 2), .w = cos(yaw / 2) };
		inertial_hear(&s, &t, 1);
		if (i % each)
			continue;
		inertial_measure(&s, &t, 1, &out);
		reckon_imu(ret, &out, i * INT64_C(10000000));
	}
}

TEST(integrating_the_gyro_gives_the_yaw_at_any_rate)
{
	struct sensor_config c = { .kind = SENSOR_IMU };
	struct reckon r;

	for (unsigned each = 1; each < 40; each += 6) {
		drive(&c, each, &r);
		reckon_check_yaw(&r, RECKON_DEGREES);
	}
}

TEST(with_noise_the_integrated_yaw_is_off_as_expected)
{
	struct sensor_config c = { .kind = SENSOR_IMU, .noise_rotation = 0.02 };
	struct reckon r;

	for (c.seed = 1; c.seed < 20; c.seed++) {
		drive(&c, 1 + (unsigned)c.seed % 5, &r);
		assert_true(r.worst > 0);
		reckon_check_noisy(&r);
	}
}

TEST(an_invalid_position_gives_no_fix)
{
	const struct sim_Gps bad[] = { { .status = SIM_GPS_STATUS_NO_FIX, .easting = 5 },
				       { .latitude = 198.4, .longitude = 20, .easting = 5 },
				       { .latitude = 20, .longitude = -180.1, .easting = 5 },
				       { .latitude = (double)NAN, .easting = 5 } };
	struct sensor_config c = { .kind = SENSOR_GNSS, .noise = 2, .noise_up = 3, .x = 1, .seed = 5 };
	struct sim_GpsIns ins;
	struct sim_Gps fix;
	struct gnss g;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		gnss_init(&g, &c);
		gnss_measure(&g, &bad[i], STAMP, 1, &fix);
		gnss_ins(&g, STAMP, &ins);
		assert_int_equal(fix.status, SIM_GPS_STATUS_NO_FIX);
		assert_true(fix.latitude == 0 && fix.longitude == 0 && fix.easting != 5);
		assert_int_equal(ins.status, GNSS_INS_INACTIVE);
		assert_int_equal(ins.position_type, GNSS_NONE);
	}
}
