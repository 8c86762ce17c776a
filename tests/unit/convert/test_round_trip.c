/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ways: random messages of each mapped type become a foreign message, which is read again. All fields that
 * COMING_BACK.md does not name must have come back, the named ones must really be lost, and the message read gives the
 * same foreign message again.
 */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "apollo_frames.h"
#include "conversion.h"
#include "enc_wire.h"
#include "map_in.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Clock.h"
#include "sim/msg/CorrectedImu.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Image.h"
#include "sim/msg/Imu.h"
#include "sim/msg/LaserScan.h"
#include "sim/msg/OccupancyGrid.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/TrafficSignals.h"
#include "sim/msg/Ultrasonic.h"
#include "unit/introspect/random_msg.h"

#include "rows.h" /* its body would stand in the way of theirs */

#define LIST   "tools/bridge/convert/COMING_BACK.md"
#define ROUNDS 60

static _Alignas(64) uint8_t back[65536];
static uint8_t wire[65536];
static char list[65536];

/* ---- messages that make sense: what a mapping may refuse, or cannot tell from another value, is made so ---- */

static double within(double v, double max)
{
	return fmod(v, max);
}

static void unit(struct sim_Quaternion *q)
{
	double n = sqrt(q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w);

	*q = (struct sim_Quaternion){ .x = q->x / n, .y = q->y / n, .z = q->z / n, .w = q->w / n };
}

static struct sim_Vector3 small(struct sim_Vector3 v)
{
	return (struct sim_Vector3){ .x = within(v.x, 50), .y = within(v.y, 50), .z = within(v.z, 50) };
}

static void sane_imu(struct sim_Imu *m)
{
	unit(&m->orientation);
	m->linear_velocity = small(m->linear_velocity);
	m->measurement_span = (m->measurement_span & 7) * 1000000;
}

static void sane_gps(struct sim_Gps *m)
{
	m->latitude = 1 + fabs(within(m->latitude, 88));
	m->longitude = -1 - fabs(within(m->longitude, 178));
	m->altitude = 10 + fabs(within(m->altitude, 1000));
	m->status = m->status & 1 ? -1 : 0;
	unit(&m->orientation);
	for (int i = 0; i < 9; i++)
		m->position_covariance[i] = fabs(m->position_covariance[i]);
}

/* Forwards as fast as a float32 can say. */
static void sane_odometry(struct sim_GpsOdometry *m)
{
	struct sim_Vector3 own = small(m->velocity);

	unit(&m->orientation);
	m->forward_speed = (float)own.x;
	own.x = (double)m->forward_speed;
	m->velocity = apollo_to_map(&m->orientation, &own);
}

static void sane_can_bus(struct sim_CanBus *m)
{
	unit(&m->orientation);
	m->gear %= 5;
	m->mode %= 5;
	m->in_reverse = m->gear == 2;
	m->throttle = (float)fabs(within((double)m->throttle, 1));
	m->braking = (float)fabs(within((double)m->braking, 1));
	if (m->hazard_lights)
		m->left_turn_signal = m->right_turn_signal = 0;
	if (m->left_turn_signal)
		m->right_turn_signal = 0;
}

static void sane_scan(struct sim_LaserScan *m, size_t size)
{
	uint32_t n;
	float *ranges = (float *)(uintptr_t)sim_LaserScan_ranges(m, size, &n);

	m->range_min = 0;
	m->range_max = 100;
	m->time_increment = (m->time_increment & 7) * 1000000;
	m->scan_time = (m->scan_time & 7) * 1000000;
	for (uint32_t i = 0; i < n; i++)
		ranges[i] = (float)fabs(within((double)ranges[i], 100));
	if (m->intensities.count != n)
		m->intensities.count = m->intensities.offset = 0;
}

static void sane_cloud(struct sim_PointCloud *m, size_t size)
{
	uint32_t n;
	struct sim_PointField *f = (struct sim_PointField *)(uintptr_t)sim_PointCloud_fields(m, size, &n);

	m->point_step = 4;
	m->width = m->data.count / 4;
	m->data.count = 4 * m->width;
	m->row_step = m->data.count;
	m->height = 1;
	for (uint32_t i = 0; i < n; i++) {
		f[i].offset %= 3;
		f[i].count = 1 + f[i].count % 2;
		f[i].datatype = 1 + f[i].datatype % 2;
	}
}

static void sane_objects(struct sim_Detected3DObjects *m, size_t size)
{
	uint32_t n;
	struct sim_Detected3DObject *o =
		(struct sim_Detected3DObject *)(uintptr_t)sim_Detected3DObjects_objects(m, size, &n);

	for (uint32_t i = 0; i < n; i++) {
		unit(&o[i].pose.orientation);
		o[i].tracking_time = (int64_t)((uint64_t)o[i].tracking_time % 1000000000000u);
		o[i].map_acceleration = small(o[i].map_acceleration);
	}
}

static void sane_radar(struct sim_RadarObjects *m, size_t size)
{
	uint32_t n;
	struct sim_RadarObject *o = (struct sim_RadarObject *)(uintptr_t)sim_RadarObjects_objects(m, size, &n);

	for (uint32_t i = 0; i < n; i++) {
		o[i].state &= 1;
		o[i].velocity = o[i].relative_velocity; /* of a radar that stands */
	}
}

static void sane_signals(struct sim_TrafficSignals *m, size_t size)
{
	uint32_t n;
	struct sim_TrafficSignal *s = (struct sim_TrafficSignal *)(uintptr_t)sim_TrafficSignals_signals(m, size, &n);

	for (uint32_t i = 0; i < n; i++) {
		s[i].color %= 5;
		s[i].shape %= 11;
		s[i].score = (float)(s[i].seq_id % 1000) / 999;
		s[i].blink = s[i].blink && s[i].color != SIM_TRAFFIC_SIGNAL_COLOR_BLACK;
	}
}

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static void sane(const char *sim, void *at, size_t size)
{
	struct sim_Image *image = at;
	struct sim_OccupancyGrid *grid = at;
	struct sim_Ultrasonic *sound = at;

	if (is(sim, "sim/Clock"))
		((struct sim_Clock *)at)->clock &= INT64_C(0x7fffffff) << 20;
	else if (is(sim, "sim/Image"))
		image->height = 1, image->step = image->data.count;
	else if (is(sim, "sim/OccupancyGrid"))
		grid->height = 1, grid->width = grid->data.count;
	else if (is(sim, "sim/Ultrasonic"))
		sound->minimum_distance = (float)fabs((double)sound->minimum_distance);
	else if (is(sim, "sim/Imu"))
		sane_imu(at);
	else if (is(sim, "sim/CorrectedImu"))
		sane_imu(&((struct sim_CorrectedImu *)at)->imu);
	else if (is(sim, "sim/Gps"))
		sane_gps(at);
	else if (is(sim, "sim/GpsOdometry"))
		sane_odometry(at);
	else if (is(sim, "sim/CanBus"))
		sane_can_bus(at);
	else if (is(sim, "sim/LaserScan"))
		sane_scan(at, size);
	else if (is(sim, "sim/PointCloud"))
		sane_cloud(at, size);
	else if (is(sim, "sim/Detected3DObjects"))
		sane_objects(at, size);
	else if (is(sim, "sim/RadarObjects"))
		sane_radar(at, size);
	else if (is(sim, "sim/TrafficSignals"))
		sane_signals(at, size);
}

/* ---- what the list names ---- */

struct lost {
	unsigned n;
	char path[32][64];
	bool seen[32]; /* it really differed */
};

static void read_line(const char *ros, const char *sim, struct lost *ret)
{
	char want[200];
	const char *line, *end, *at;

	*ret = (struct lost){ .n = 0 };
	snprintf(want, sizeof(want), "\n| `%s` | `%s` | ", ros, sim);
	line = strstr(list, want);
	if (!line)
		return;
	at = line + strlen(want);
	end = strchr(at, '|');
	while ((at = memchr(at, '`', (size_t)(end - at)))) {
		const char *close = strchr(at + 1, '`');

		assert_true(ret->n < 32 && close - at - 1 < 64);
		memcpy(ret->path[ret->n++], at + 1, (size_t)(close - at - 1));
		at = close + 1;
	}
	assert_true(ret->n > 0);
}

/* Takes a field, "objects.id" of each element, out of both; whether it differed. */
static bool drop(json_t *a, json_t *b, const char *path)
{
	const char *dot = strchr(path, '.');
	char key[64];
	bool differs = false;
	json_t *x, *y;

	if (json_is_array(a)) {
		for (size_t i = 0; i < json_array_size(a); i++)
			differs = drop(json_array_get(a, i), json_array_get(b, i), path) || differs;
		return differs;
	}
	snprintf(key, sizeof(key), "%.*s", (int)(dot ? dot - path : (long)strlen(path)), path);
	x = json_object_get(a, key);
	y = json_object_get(b, key);
	if (!x || !y)
		fail_msg(LIST " names %s, which is no field", path);
	if (dot)
		return drop(x, y, dot + 1);
	differs = !json_equal(x, y);
	json_object_del(a, key);
	json_object_del(b, key);
	return differs;
}

static json_t *json_of(const struct sim_type *t, const void *from, size_t size)
{
	char *text = NULL;
	json_t *j;

	assert_int_equal(sim_msg_to_json_alloc(t, from, size, NULL, &text, NULL), 0);
	j = json_loads(text, 0, NULL);
	free(text);
	return j;
}

/* ---- there and back ---- */

static size_t emit(const struct map *m, enum wire_format format, const void *from, size_t size)
{
	static const struct map_options plain;
	const struct map_message in = { from, size, { STAMP, SEQ, "here" }, &plain, format == WIRE_ROS1 };
	struct iovec iov[IOV_BUF_PIECES];
	struct enc_wire w;
	struct iov_buf o;
	size_t at = 0;

	iov_buf_init(&o);
	wire_begin(&w, format, &o);
	if (m->emit(&in, &w.enc) < 0 || wire_finish(&w) < 0)
		fail_msg("%s to %s: it is not said", m->sim, m->ros);
	for (unsigned i = 0, n = iov_buf_iov(&o, iov); i < n; i++) {
		assert_true(iov[i].iov_len <= sizeof(wire) - at);
		memcpy(wire + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	iov_buf_finish(&o);
	return at;
}

static json_t *tree_of(const struct map *m, enum wire_format format, size_t len)
{
	json_t *j = format == WIRE_ROS1 ? ros_tree_read_ros1(ros_type_find(ros1_types, m->ros), wire, len)
					: ros_tree_read(ros_type_find(ros2_types, m->ros), wire, len);

	assert_non_null(j);
	return j;
}

static void check_header(const struct map *m, const struct message_in *to)
{
	bool none = is(m->ros, "geometry_msgs/Pose") || strncmp(m->ros, "std_msgs/", 9) == 0;
	bool bare = none || is(m->ros, "rosgraph_msgs/Clock") || is(m->ros, "tf2_msgs/TFMessage") ||
		    is(m->ros, "autoware_perception_msgs/TrafficLightGroupArray") ||
		    (strncmp(m->ros, "autoware_vehicle_msgs/", 22) == 0 &&
		     !is(m->ros, "autoware_vehicle_msgs/VelocityReport"));
	int64_t want = none ? MESSAGE_IN_NO_STAMP : STAMP;

	if (is(m->sim, "sim/Clock"))
		want = ((const struct sim_Clock *)to->buf)->clock;
	if (is(m->sim, "sim/Transforms") && to->stamp_sim_ns == MESSAGE_IN_NO_STAMP)
		want = MESSAGE_IN_NO_STAMP; /* there was none */
	if (to->stamp_sim_ns != want || strcmp(to->frame, bare ? "" : "here") != 0)
		fail_msg("%s to %s: stamp %lld in \"%s\"", m->ros, m->sim, (long long)to->stamp_sim_ns, to->frame);
}

static void once(const struct map *m, const struct map_in *back_in, enum wire_format format, size_t size,
		 struct lost *lost)
{
	const struct sim_type *t = sim_type_builtin(m->sim);
	struct message_in to = { .buf = back, .room = sizeof(back) };
	json_t *first, *second, *ours, *again;
	size_t len = emit(m, format, body, size);
	char why[512];
	int r = map_in_read(back_in, format, wire, len, &to);

	if (r != 0)
		fail_msg("%s to %s: it is not read: %d", m->ros, m->sim, r);
	assert_int_equal(sim_msg_check(t, back, to.size), 0);
	check_header(m, &to);
	first = tree_of(m, format, len);
	for (size_t cut = 0; cut + 4 < len; cut += 1 + len / 50) {
		struct message_in none = { .buf = wire + 32768, .room = 32768 };

		none.buf = (uint8_t *)none.buf + (-(uintptr_t)none.buf & 63);
		none.room -= 64;
		assert_true(map_in_read(back_in, format, wire, cut, &none) < 0);
	}
	ours = json_of(t, body, size);
	again = json_of(t, back, to.size);
	for (unsigned i = 0; i < lost->n; i++)
		lost->seen[i] = drop(ours, again, lost->path[i]) || lost->seen[i];
	if (ros_tree_compare(ours, again, why, sizeof(why)) < 0)
		fail_msg("%s to %s: %s", m->ros, m->sim, why);
	second = tree_of(m, format, emit(m, format, back, to.size));
	/* of CANInfo pedals and angle do not come in, as any vehicle's are in its own unit */
	if (!is(m->ros, "autoware_can_msgs/CANInfo") && ros_tree_compare(first, second, why, sizeof(why)) < 0)
		fail_msg("%s to %s and out again: %s", m->ros, m->sim, why);
	json_decref(first);
	json_decref(second);
	json_decref(ours);
	json_decref(again);
}

TEST(every_two_way_mapping_reads_back)
{
	uint64_t seed = 20261123;
	unsigned n = 0;

	for (const struct map *m = map_table; m->sim; m++, n++) {
		const struct map_in *in = map_in_find_to(m->ros, m->sim);
		struct lost lost;

		if (m->out_only) {
			assert_null(in);
			continue;
		}
		if (!in)
			fail_msg("%s does not come back as %s", m->ros, m->sim);
		read_line(m->ros, m->sim, &lost);
		for (unsigned i = 0; i < ROUNDS; i++) {
			size_t size = random_msg(&seed, sim_type_builtin(m->sim), body, sizeof(body));

			sane(m->sim, body, size);
			once(m, in, i & 1 ? WIRE_ROS1 : WIRE_CDR, size, &lost);
		}
		for (unsigned i = 0; i < lost.n; i++)
			if (!lost.seen[i])
				fail_msg(LIST ": %s of %s does come back", lost.path[i], m->ros);
	}
	assert_true(n > 50);
}

/* By the foreign name alone, the type that stands first. */
TEST(the_first_mapping_is_the_default)
{
	assert_string_equal(map_in_find("sensor_msgs/msg/Imu")->sim, "sim/Imu");
	assert_string_equal(map_in_find("geometry_msgs/PoseStamped")->sim, "sim/Gps");
	assert_string_equal(map_in_find("autoware_vehicle_msgs/VelocityReport")->sim, "sim/CanBus");
	assert_string_equal(map_in_find_to("sensor_msgs/Imu", "sim/CorrectedImu")->sim, "sim/CorrectedImu");
	assert_null(map_in_find_to("sensor_msgs/Imu", "sim/Image"));
}

static int setup(void **state)
{
	FILE *f = fopen(LIST, "re");

	(void)state;
	if (!f || fread(list, 1, sizeof(list) - 1, f) == 0)
		return -1;
	fclose(f);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return 0;
}

TEST_GROUP(setup, teardown)
