/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors of others as their drivers really send them: layouts of points, gaps between rows, sentences, lamps; see map_in.h. */
#include "support/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conversion.h"
#include "enc_wire.h"
#include "json_reader.h"
#include "map.h"
#include "map_in.h"
#include "sim/msg/CameraInfo.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Float32.h"
#include "sim/msg/Float64.h"
#include "sim/msg/Gps.h"
#include "sim/msg/Image.h"
#include "sim/msg/Imu.h"
#include "sim/msg/PointCloud.h"
#include "sim/msg/TrafficSignals.h"

#define ROOM (8u << 20)

static uint8_t *wire, *body;
static struct enc_wire w;
static struct iov_buf o;

static struct sim_enc *begin(enum wire_format format)
{
	iov_buf_init(&o);
	wire_begin(&w, format, &o);
	return &w.enc;
}

static int end(const char *ros, enum wire_format format, struct message_in *to)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	assert_int_equal(wire_finish(&w), 0);
	for (unsigned i = 0, n = iov_buf_iov(&o, iov); i < n; at += iov[i++].iov_len)
		memcpy(wire + at, iov[i].iov_base, iov[i].iov_len);
	iov_buf_finish(&o);
	return map_in_read(map_in_find(ros), format, wire, at, to);
}

static struct message_in all_of_it(void)
{
	return (struct message_in){ .buf = body, .room = ROOM };
}

static void put_header(struct sim_enc *e)
{
	const struct sim_enc_header h = { .stamp_sim_ns = 1250000000, .frame = "velodyne" };

	sim_enc_header(e, "header", &h);
}

/* ---- clouds ---- */

struct cloud {
	uint32_t height, width, point_step, row_step, n_data, count;
	uint8_t datatype;
	bool big_endian;
};

/* velodyne's: x, y, z, intensity float32, ring uint16, time float32, in 22 bytes */
static const struct cloud velodyne = { .height = 2, .width = 3, .point_step = 22, .row_step = 66, .n_data = 132 };
static uint8_t points[256];

static int read_cloud(const struct cloud *c, enum wire_format format, struct message_in *to)
{
	static const struct {
		const char *name;
		uint32_t offset;
		uint8_t datatype;
	} f[] = { { "x", 0, 7 },          { "y", 4, 7 },     { "z", 8, 7 },
		  { "intensity", 12, 7 }, { "ring", 16, 4 }, { "time", 18, 7 } };
	struct sim_enc *e = begin(format);

	for (unsigned i = 0; i < sizeof(points); i++)
		points[i] = (uint8_t)i;
	put_header(e);
	sim_enc_u32(e, "height", c->height);
	sim_enc_u32(e, "width", c->width);
	sim_enc_list(e, "fields", 6);
	for (unsigned i = 0; i < 6; i++) {
		sim_enc_begin(e, NULL);
		sim_enc_text(e, "name", f[i].name);
		sim_enc_u32(e, "offset", f[i].offset);
		sim_enc_u8(e, "datatype", c->datatype ? c->datatype : f[i].datatype);
		sim_enc_u32(e, "count", c->count);
		sim_enc_end(e);
	}
	sim_enc_list_end(e);
	sim_enc_bool(e, "is_bigendian", c->big_endian);
	sim_enc_u32(e, "point_step", c->point_step);
	sim_enc_u32(e, "row_step", c->row_step);
	sim_enc_array(e, "data", SIM_KIND_UINT8, points, c->n_data);
	sim_enc_bool(e, "is_dense", 1);
	return end("sensor_msgs/PointCloud2", format, to);
}

static void check_cloud(const struct message_in *to, uint32_t step)
{
	const struct sim_PointCloud *m = to->buf;
	const struct sim_PointField *f;
	const uint8_t *data;
	uint32_t n;

	assert_int_equal(sim_msg_check(&sim_PointCloud_type, to->buf, to->size), 0);
	assert_string_equal(to->frame, "velodyne");
	assert_int_equal(m->row_step, 66);
	assert_int_equal(m->is_dense, 1);
	f = sim_PointCloud_fields(m, to->size, &n);
	assert_int_equal(n, 6);
	assert_string_equal(sim_PointField_name_in(m, to->size, &f[4]), "ring");
	assert_int_equal(f[4].offset, 16);
	assert_int_equal(f[4].datatype, SIM_POINT_FIELD_UINT16);
	assert_int_equal(f[4].count, 1); /* also where the driver says 0 */
	data = sim_PointCloud_data(m, to->size, &n);
	assert_int_equal(n, 132);
	assert_memory_equal(data, points, 66);
	assert_memory_equal(data + 66, points + step, 66);
}

TEST(the_point_layout_is_kept)
{
	struct cloud c = velodyne;
	struct message_in to = all_of_it();

	for (enum wire_format f = WIRE_CDR; f <= WIRE_ROS1; f++) {
		assert_int_equal(read_cloud(&c, f, &to), 0);
		check_cloud(&to, 66);
	}
	c.n_data = 140; /* what lies behind the last row */
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), 0);
	check_cloud(&to, 66);
	c.row_step = 70, c.n_data = 136; /* a gap, that the last row has not */
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), 0);
	check_cloud(&to, 70);
	c.row_step = 0, c.n_data = 132; /* a driver that does not fill it in */
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), 0);
	check_cloud(&to, 66);
}

TEST(inconsistent_clouds_are_refused)
{
	struct message_in to = all_of_it(), few = { .buf = body, .room = 300 };
	struct cloud c = velodyne;

	c.n_data = 131;
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), -EBADMSG);
	c = velodyne, c.row_step = 65;
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), -EBADMSG);
	c = velodyne, c.width = 0x40000000;
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), -EBADMSG);
	c = velodyne, c.point_step = 21; /* the last field ends behind it */
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), -EBADMSG);
	c = velodyne, c.count = UINT32_MAX;
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), -EBADMSG);
	c = velodyne, c.datatype = 9;
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), -EBADMSG);
	c = velodyne, c.big_endian = true;
	assert_int_equal(read_cloud(&c, WIRE_CDR, &to), -ENOTSUP);
	assert_int_equal(read_cloud(&velodyne, WIRE_CDR, &few), -ENOBUFS);
}

/* ---- images ---- */

TEST(a_large_image_is_received_completely)
{
	static uint8_t pixels[6u << 20];
	struct message_in to = all_of_it();
	struct sim_enc *e = begin(WIRE_ROS1);
	const struct sim_Image *m;
	const uint8_t *data;
	uint32_t n;

	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)(i * 7 + (i >> 11));
	put_header(e);
	sim_enc_u32(e, "height", 1024);
	sim_enc_u32(e, "width", 2048);
	sim_enc_text(e, "encoding", "bgr8");
	sim_enc_u8(e, "is_bigendian", 0);
	sim_enc_u32(e, "step", 6144);
	sim_enc_array(e, "data", SIM_KIND_UINT8, pixels, sizeof(pixels));
	assert_int_equal(end("sensor_msgs/Image", WIRE_ROS1, &to), 0);
	m = to.buf;
	data = sim_Image_data(m, to.size, &n);
	assert_int_equal(n, sizeof(pixels));
	assert_memory_equal(data, pixels, n);
	assert_true(to.stamp_sim_ns == 1250000000);
}

/* ROS 1 has D, K, R and P where a format has names. */
TEST(camera_info_of_ros_1_has_capital_field_names)
{
	static const char text[] =
		"{\"header\":{\"frame_id\":\"cam\"},\"D\":[0.5],\"K\":[1,2,3,4,5,6,7,8,9],\"P\":[3]}";
	struct message_in to = all_of_it();
	struct named_reader r;
	const struct sim_CameraInfo *m = (const void *)body;
	uint32_t n;

	named_reader_init(&r);
	json_reader_begin(&r, text, strlen(text));
	assert_int_equal(map_in_take(map_in_find("sensor_msgs/CameraInfo"), &r.dec, &to), 0);
	named_reader_finish(&r);
	assert_true(sim_CameraInfo_d(m, to.size, &n)[0] == 0.5 && n == 1);
	assert_true(m->k[8] == 9 && m->p[0] == 3 && m->p[1] == 0 && m->r[0] == 0);
	assert_string_equal(to.frame, "cam");
}

/* ---- a number by itself ---- */

static double read_number(const char *ros, enum wire_format format, double v)
{
	bool wide = strstr(ros, "64");
	struct message_in to = all_of_it();
	struct sim_enc *e = begin(format);

	if (wide)
		sim_enc_f64(e, "data", v);
	else
		sim_enc_f32(e, "data", (float)v);
	assert_int_equal(end(ros, format, &to), 0);
	return wide ? ((const struct sim_Float64 *)(const void *)body)->data
		    : (double)((const struct sim_Float32 *)(const void *)body)->data;
}

static double read_json(const char *ros, const char *text)
{
	struct message_in to = all_of_it();
	struct named_reader r;

	named_reader_init(&r);
	json_reader_begin(&r, text, strlen(text));
	assert_int_equal(map_in_take(map_in_find(ros), &r.dec, &to), 0);
	named_reader_finish(&r);
	return strstr(ros, "64") ? ((const struct sim_Float64 *)(const void *)body)->data
				 : (double)((const struct sim_Float32 *)(const void *)body)->data;
}

/*
 * NaN has a meaning on such a channel, e.g. "no reading". A rosbridge server turns values that are not finite into
 * null.
 */
TEST(a_plain_number_may_be_nan_or_infinite)
{
	static const char *const types[] = { "std_msgs/Float32", "std_msgs/msg/Float64" };

	for (int i = 0; i < 2; i++) {
		for (int f = WIRE_CDR; f <= WIRE_ROS1; f++) {
			assert_true(isnan(read_number(types[i], (enum wire_format)f, NAN)));
			assert_true(read_number(types[i], (enum wire_format)f, INFINITY) == (double)INFINITY);
			assert_true(read_number(types[i], (enum wire_format)f, -INFINITY) == -(double)INFINITY);
			assert_true(read_number(types[i], (enum wire_format)f, 0.5) == 0.5);
		}
		assert_true(isnan(read_json(types[i], "{\"data\":NaN}")));
		assert_true(isnan(read_json(types[i], "{\"data\":null}")));
		assert_true(read_json(types[i], "{\"data\":-Infinity}") == -(double)INFINITY);
	}
}

/* ---- navigation ---- */

TEST(an_unknown_orientation_stays_unknown)
{
	static const double none[9] = { -1 }, zero[9] = { 0 };
	struct message_in to = all_of_it();
	struct sim_enc *e = begin(WIRE_CDR);
	const struct sim_Imu *m = (const void *)body;

	put_header(e);
	for (int i = 0; i < 4; i++)
		sim_enc_f64(e, "orientation", i == 3);
	sim_enc_f64s(e, "orientation_covariance", none, 9);
	for (int i = 0; i < 3; i++)
		sim_enc_f64(e, "angular_velocity", NAN);
	sim_enc_f64s(e, "angular_velocity_covariance", zero, 9);
	for (int i = 0; i < 3; i++)
		sim_enc_f64(e, "linear_acceleration", i);
	sim_enc_f64s(e, "linear_acceleration_covariance", zero, 9);
	assert_int_equal(end("sensor_msgs/Imu", WIRE_CDR, &to), 0);
	assert_true(m->orientation.w == 0 && m->orientation_covariance[0] == 0);
	assert_true(isnan(m->angular_velocity.x) && m->linear_acceleration.z == 2);
}

static int read_sentence(const char *s, struct sim_Gps *ret)
{
	struct message_in to = all_of_it();
	struct sim_enc *e = begin(WIRE_CDR);
	int r;

	put_header(e);
	sim_enc_text(e, "sentence", s);
	r = end("nmea_msgs/Sentence", WIRE_CDR, &to);
	*ret = *(const struct sim_Gps *)(const void *)body;
	return r;
}

/* Worked out by hand: 48 degrees 7.038 minutes, and so on; a geoid 46.9 m above the ellipsoid. */
TEST(nmea_sentences_of_any_receiver_are_read)
{
	struct sim_Gps m;

	assert_int_equal(read_sentence("$GNGGA,123519,4807.038,N,01131.000,W,4,08,0.9,545.4,M,46.9,M,,\r\n", &m), 0);
	assert_true(fabs(m.latitude - 48.1173) < 1e-9 && fabs(m.longitude + 11.0 + 31.0 / 60) < 1e-9);
	assert_true(fabs(m.altitude - 592.3) < 1e-9);
	assert_int_equal(m.status, SIM_GPS_STATUS_GBAS_FIX);
	assert_int_equal(read_sentence("$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47", &m), 0);
	assert_int_equal(m.status, SIM_GPS_STATUS_FIX);
	assert_int_equal(read_sentence("$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*48", &m),
			 -EBADMSG);
	assert_int_equal(read_sentence("$GPGGA,,,,,,0,,,,,,,,", &m), 0); /* no fix yet */
	assert_int_equal(m.status, SIM_GPS_STATUS_NO_FIX);
	assert_int_equal(read_sentence("$GPGGA,1,9107.038,N,1,E,1,8,1,1,M,1,M,,", &m), -EBADMSG);
	assert_int_equal(read_sentence("$GPGGA,1,48O7.038,N,1,E,1,8,1,1,M,1,M,,", &m), -EBADMSG);
	assert_int_equal(read_sentence("$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A", &m), 1);
	assert_int_equal(read_sentence("", &m), 1);
	/* level, to the east */
	assert_int_equal(read_sentence("QQ02C,INSATT,V,000000.000,0.000,0.000,90.000,", &m), 0);
	assert_true(fabs(m.orientation.w - 1) < 1e-9 && m.status == SIM_GPS_STATUS_NO_FIX);
	/* nose up by 90 degrees: -90 about y */
	assert_int_equal(read_sentence("QQ02C,INSATT,V,000000.000,0.000,90.000,90.000,", &m), 0);
	assert_true(fabs(m.orientation.y + sqrt(0.5)) < 1e-9 && fabs(m.orientation.w - sqrt(0.5)) < 1e-9);
}

/* ---- what Apollo leaves unset ---- */

static int again(const char *sim, const char *ros, const void *sent, size_t size, struct message_in *to)
{
	static const struct map_options plain;
	const struct map_message out = { .body = sent, .size = size, .header = { .frame = "f" }, .options = &plain };

	assert_int_equal(map_find(sim, ros)->emit(&out, begin(WIRE_CDR)), 0);
	return end(ros, WIRE_CDR, to);
}

/* NaN there, over ROS as over Cyber RT. */
TEST(unset_values_of_a_chassis_read_as_0)
{
	static const struct sim_CanBus sent = { .engine_rpm = NAN, .speed = NAN, .throttle = NAN, .steering = NAN };
	struct message_in to = all_of_it();
	const struct sim_CanBus *m = to.buf;

	assert_int_equal(again("sim/CanBus", "pb_msgs/Chassis", &sent, sizeof(sent), &to), 0);
	assert_true(m->engine_rpm == 0 && m->speed == 0 && m->throttle == 0 && m->steering == 0);
}

/* ---- traffic lights ---- */

static _Alignas(64) uint8_t lit[1024];

static struct sim_TrafficSignal *one_signal(size_t *ret_size)
{
	struct sim_builder b;
	struct sim_TrafficSignal *s;

	assert_non_null(sim_TrafficSignals_init(lit, sizeof(lit), &b));
	s = sim_TrafficSignals_signals_alloc(&b, 1);
	memset(s, 0, sizeof(*s));
	*ret_size = sim_builder_size(&b);
	return s;
}

TEST(a_nan_confidence_reads_as_0)
{
	struct message_in to = all_of_it();
	size_t size;
	uint32_t n;

	one_signal(&size)->score = NAN;
	assert_int_equal(again("sim/TrafficSignals", "pb_msgs/TrafficLightDetection", lit, size, &to), 0);
	assert_true(sim_TrafficSignals_signals(to.buf, to.size, &n)->score == 0);
}

TEST(signals_without_a_finite_position_are_dropped)
{
	static const char array[] = "lgsvl_msgs/SignalArray";
	struct message_in to = all_of_it();
	size_t size;

	one_signal(&size);
	assert_int_equal(again("sim/TrafficSignals", array, lit, size, &to), 0);
	one_signal(&size)->pose.position.y = NAN;
	assert_int_equal(again("sim/TrafficSignals", array, lit, size, &to), -EDOM);
	one_signal(&size)->pose.orientation.w = INFINITY;
	assert_int_equal(again("sim/TrafficSignals", array, lit, size, &to), -EDOM);
	one_signal(&size)->size.z = NAN;
	assert_int_equal(again("sim/TrafficSignals", array, lit, size, &to), -EDOM);
}

static void put_lamp(struct sim_enc *e, uint8_t color, uint8_t shape, uint8_t status)
{
	sim_enc_begin(e, NULL);
	sim_enc_u8(e, "color", color);
	sim_enc_u8(e, "shape", shape);
	sim_enc_u8(e, "status", status);
	sim_enc_f32(e, "confidence", 0.5f);
	sim_enc_end(e);
}

static void put_prediction(struct sim_enc *e)
{
	sim_enc_begin(e, NULL);
	sim_enc_time(e, "predicted_stamp", 5);
	sim_enc_list(e, "simultaneous_elements", 1);
	put_lamp(e, 1, 1, 2);
	sim_enc_list_end(e);
	sim_enc_f32(e, "reliability", 1);
	sim_enc_text(e, "information_source", "V2I");
	sim_enc_end(e);
}

/* Two groups, of two lamps and of one, and the states that they will have. */
TEST(lamps_of_all_groups_become_one_list)
{
	struct message_in to = all_of_it();
	struct sim_enc *e = begin(WIRE_CDR);
	const struct sim_TrafficSignal *s;
	uint32_t n;

	sim_enc_time(e, "stamp", 1250000000);
	sim_enc_list(e, "traffic_light_groups", 2);
	for (int g = 0; g < 2; g++) {
		sim_enc_begin(e, NULL);
		sim_enc_i64(e, "traffic_light_group_id", g ? -7 : INT64_C(10000000001));
		sim_enc_list(e, "elements", g ? 1 : 2);
		put_lamp(e, 1, 2, 3);
		if (!g)
			put_lamp(e, 3, 0, 1);
		sim_enc_list_end(e);
		sim_enc_list(e, "predictions", 1);
		put_prediction(e);
		sim_enc_list_end(e);
		sim_enc_end(e);
	}
	sim_enc_list_end(e);
	assert_int_equal(end("autoware_perception_msgs/TrafficLightGroupArray", WIRE_CDR, &to), 0);
	assert_int_equal(sim_msg_check(&sim_TrafficSignals_type, body, to.size), 0);
	s = sim_TrafficSignals_signals(to.buf, to.size, &n);
	assert_int_equal(n, 3);
	assert_string_equal(sim_TrafficSignal_id_in(body, to.size, &s[0]), "10000000001");
	assert_string_equal(sim_TrafficSignal_id_in(body, to.size, &s[2]), "-7");
	assert_int_equal(s[0].color, SIM_TRAFFIC_SIGNAL_COLOR_RED);
	assert_int_equal(s[0].shape, SIM_TRAFFIC_SIGNAL_SHAPE_LEFT_ARROW);
	assert_true(s[0].blink && !s[1].blink && s[0].size.x == 0);
	assert_int_equal(s[1].color, SIM_TRAFFIC_SIGNAL_COLOR_BLACK);
	assert_int_equal(s[1].shape, SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN);
	to.room = 400;
	to.buf = body;
	assert_int_equal(map_in_read(map_in_find("autoware_perception_msgs/TrafficLightGroupArray"), WIRE_CDR, wire,
				     200, &to) < 0,
			 1);
}

/* One foreign type, two of ours: the rig chooses, the first is the default. */
TEST(the_rig_may_choose_among_several_types_of_simd)
{
	struct conversion_in c;
	char why[200] = "";

	assert_int_equal(conversion_in_open(NULL, ros2_types, "sensor_msgs/msg/Imu", NULL, &c, why, sizeof(why)), 0);
	assert_string_equal(c.sim->name, "sim/Imu");
	conversion_in_close(&c);
	assert_int_equal(conversion_in_open_as(NULL, ros1_types, "sensor_msgs/Imu", "sim/CorrectedImu", &c, why,
					       sizeof(why)),
			 0);
	assert_string_equal(c.sim->name, "sim/CorrectedImu");
	conversion_in_close(&c);
	assert_int_equal(conversion_in_open_as(NULL, ros2_types, "sensor_msgs/Imu", "sim/Gps", &c, why, sizeof(why)),
			 -ENOTSUP);
	assert_string_equal(why, "sim/Gps cannot be made from sensor_msgs/Imu");
}

static int setup(void **state)
{
	(void)state;
	wire = malloc(ROOM);
	body = aligned_alloc(64, ROOM);
	return wire && body ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(wire);
	free(body);
	return 0;
}

TEST_GROUP(setup, teardown)
