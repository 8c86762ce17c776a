/* SPDX-License-Identifier: Apache-2.0 */
/* Units, axes, signs and numbers that a target has otherwise than we: each mapping that turns something, by value. */

#include "tests/support/test.h"

#include <errno.h>
#include <math.h>

#include "apollo_frames.h"
#include "map.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/Gear.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Image.h"
#include "sim/msg/Imu.h"
#include "sim/msg/LaserScan.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/TrafficSignals.h"
#include "sim/msg/Ultrasonic.h"
#include "sim/msg/VehicleMode.h"
#include "sim/msg/VehicleOdometry.h"
#include "sim/point_cloud.h"

#define SEEN_MAX 128

struct record { /* an encoder that records its values */
	struct sim_enc enc;
	struct {
		const char *name;
		double number;
		char text[32];
	} seen[SEEN_MAX];
	unsigned n;
	enum sim_kind filled; /* of what the last room was for */
	uint8_t room[1024];
};

static struct record *record_of(struct sim_enc *e)
{
	return (struct record *)(void *)e;
}

static double number_of(enum sim_kind kind, const void *v);

static void remember(struct sim_enc *e, const char *name, double number, const char *text)
{
	struct record *r = record_of(e);

	assert_true(r->n < SEEN_MAX);
	if (r->filled && r->n) /* by now the room has been filled */
		r->seen[r->n - 1].number = number_of(r->filled, r->room);
	r->filled = (enum sim_kind)0;
	r->seen[r->n].name = name;
	r->seen[r->n].number = number;
	strncpy(r->seen[r->n++].text, text, sizeof(r->seen[0].text) - 1);
}

static double number_of(enum sim_kind kind, const void *v)
{
	float f32;
	double f64;
	int64_t i64 = 0;
	int32_t i32;

	switch (kind) {
	case SIM_KIND_FLOAT32:
		memcpy(&f32, v, 4);
		return (double)f32;
	case SIM_KIND_FLOAT64:
		memcpy(&f64, v, 8);
		return f64;
	case SIM_KIND_INT64:
		memcpy(&i64, v, 8);
		return (double)i64;
	case SIM_KIND_INT32:
		memcpy(&i32, v, 4);
		return i32;
	case SIM_KIND_INT8:
		return *(const int8_t *)v;
	default:
		memcpy(&i64, v, kind == SIM_KIND_UINT32 ? 4 : kind == SIM_KIND_UINT16 ? 2 : 1);
		return (double)i64;
	}
}

static void on_value(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v)
{
	remember(e, name, number_of(kind, v), "");
}
static void on_string(struct sim_enc *e, const char *name, const char *s, size_t len)
{
	(void)len;
	remember(e, name, 0, s);
}
static void on_time(struct sim_enc *e, const char *name, enum sim_kind kind, int64_t ns)
{
	(void)kind;
	remember(e, name, (double)ns, "");
}
static void on_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed)
{
	(void)fixed;
	remember(e, name, n ? number_of(kind, data) : 0, "");
}
static void *on_room(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed)
{
	(void)fixed;
	if (n > sizeof(record_of(e)->room))
		return NULL;
	remember(e, name, 0, "");
	record_of(e)->filled = kind;
	return record_of(e)->room;
}
static void on_begin(struct sim_enc *e, const char *name)
{
	if (name)
		remember(e, name, 0, "");
}
static void on_end(struct sim_enc *e)
{
	(void)e;
}
static void on_list(struct sim_enc *e, const char *name, uint32_t n, int fixed)
{
	(void)fixed;
	remember(e, name, n, "");
}
static void on_header(struct sim_enc *e, const char *name, const struct sim_enc_header *h)
{
	remember(e, name, (double)h->stamp_sim_ns, h->frame);
}

static const struct sim_enc_ops record_ops = {
	.value = on_value,
	.string = on_string,
	.time = on_time,
	.array = on_array,
	.room = on_room,
	.begin = on_begin,
	.end = on_end,
	.list = on_list,
	.list_end = on_end,
	.header = on_header,
};

static _Alignas(64) uint8_t body[8192];
static struct sim_builder builder;
static struct record rec;
static const struct map_options plain;
static const char *slot_frame = "frame";
static int64_t slot_ns = 2000000000;

static int emit_with(const char *sim, const char *ros, const struct map_options *options)
{
	struct map_message in = { body, sim_builder_size(&builder), { slot_ns, 0, slot_frame }, options, false };

	memset(&rec, 0, sizeof(rec));
	rec.enc.ops = &record_ops;
	return map_find(sim, ros)->emit(&in, &rec.enc);
}

static void emit(const char *sim, const char *ros)
{
	assert_int_equal(emit_with(sim, ros, &plain), 0);
}

/* The k-th value behind the first field of that name: 1 is the field itself. */
static double after(const char *name, unsigned k)
{
	for (unsigned i = 0; i < rec.n; i++)
		if (strcmp(rec.seen[i].name, name) == 0)
			return rec.seen[i + k - 1].number;
	fail_msg("'%s' was not said", name);
	return 0;
}
static double said(const char *name)
{
	return after(name, 1);
}
static const char *text(const char *name)
{
	for (unsigned i = 0; i < rec.n; i++)
		if (strcmp(rec.seen[i].name, name) == 0)
			return rec.seen[i].text;
	fail_msg("'%s' was not said", name);
	return "";
}

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-6)

TEST(steering_is_positive_to_the_left_and_negated_for_svl)
{
	struct sim_CanBus *m = sim_CanBus_init(body, sizeof(body), &builder);
	struct sim_VehicleOdometry *o;

	m->steering = 0.5f;
	m->steering_angle = 0.25f;
	emit("sim/CanBus", NULL);
	NEAR(said("steer_pct"), -0.5);
	emit("sim/CanBus", "autoware_vehicle_msgs/SteeringReport");
	NEAR(said("steering_tire_angle"), 0.25);
	o = sim_VehicleOdometry_init(body, sizeof(body), &builder);
	o->front_wheel_angle = 0.125f;
	o->rear_wheel_angle = -0.0625f;
	o->yaw_rate = 0.5f;
	emit("sim/VehicleOdometry", NULL);
	NEAR(said("front_wheel_angle"), -0.125);
	NEAR(said("rear_wheel_angle"), 0.0625);
	emit("sim/VehicleOdometry", "autoware_vehicle_msgs/SteeringReport");
	NEAR(said("steering_tire_angle"), 0.125);
	emit("sim/VehicleOdometry", "autoware_vehicle_msgs/VelocityReport");
	NEAR(said("heading_rate"), 0.5);
}

TEST(gears_modes_and_lamps_have_autowares_numbers)
{
	static const uint8_t gears[][2] = { { SIM_GEAR_NEUTRAL, 1 },  { SIM_GEAR_DRIVE, 2 }, { SIM_GEAR_REVERSE, 20 },
					    { SIM_GEAR_PARKING, 22 }, { SIM_GEAR_LOW, 23 },  { SIM_GEAR_NONE, 0 } };
	static const uint8_t modes[][2] = { { SIM_VEHICLE_MODE_MANUAL, 4 },     { SIM_VEHICLE_MODE_AUTO, 1 },
					    { SIM_VEHICLE_MODE_AUTO_STEER, 2 }, { SIM_VEHICLE_MODE_AUTO_SPEED, 3 },
					    { SIM_VEHICLE_MODE_EMERGENCY, 5 },  { 200, 4 } };
	struct sim_CanBus *m = sim_CanBus_init(body, sizeof(body), &builder);

	for (size_t i = 0; i < sizeof(gears) / sizeof(gears[0]); i++) {
		m->gear = gears[i][0];
		emit("sim/CanBus", "autoware_vehicle_msgs/GearReport");
		assert_int_equal((int)said("report"), gears[i][1]);
	}
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		m->mode = modes[i][0];
		emit("sim/CanBus", "autoware_vehicle_msgs/ControlModeReport");
		assert_int_equal((int)said("mode"), modes[i][1]);
	}
	for (int i = 0; i < 4; i++) {
		m->left_turn_signal = i & 1 ? 2 : 0;
		m->right_turn_signal = i & 2 ? 1 : 0;
		emit("sim/CanBus", "autoware_vehicle_msgs/TurnIndicatorsReport");
		assert_int_equal((int)said("report"), i == 1 ? 2 : i == 2 ? 3 : 1);
	}
	m->hazard_lights = 1;
	emit("sim/CanBus", "autoware_vehicle_msgs/HazardLightsReport");
	assert_int_equal((int)said("report"), 2);
	NEAR(said("stamp"), 2e9);
}

/* A vehicle that looks north (90 degrees left of east) and drives north has its speed along x. */
TEST(pedals_of_autoware_ai_are_whole_percent)
{
	static const struct {
		float share;
		int percent;
	} cases[] = { { 0.5f, 50 }, { 1, 100 }, { 3e9f, 100 }, { INFINITY, 100 }, { -1, 0 }, { NAN, 0 } };
	struct sim_CanBus *m = sim_CanBus_init(body, sizeof(body), &builder);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		m->throttle = m->braking = cases[i].share;
		emit("sim/CanBus", "autoware_msgs/VehicleStatus");
		assert_int_equal((int)said("drivepedal"), cases[i].percent);
		assert_int_equal((int)said("brakepedal"), cases[i].percent);
	}
}

TEST(velocities_are_converted_from_map_to_vehicle_axes)
{
	struct sim_GpsOdometry *m = sim_GpsOdometry_init(body, sizeof(body), &builder);
	struct sim_CanBus *c;

	m->orientation.z = m->orientation.w = sqrt(0.5);
	m->velocity.x = -1; /* west: to the left */
	m->velocity.y = 5;
	m->velocity.z = 0.5;
	m->forward_speed = 5;
	m->easting = 10;
	m->northing = 20;
	m->altitude = 30;
	emit("sim/GpsOdometry", NULL);
	NEAR(after("position", 2), 10);
	NEAR(after("position", 3), 20);
	NEAR(after("position", 4), 30);
	NEAR(after("linear", 2), 5);
	NEAR(after("linear", 3), 1);
	NEAR(after("linear", 4), 0.5);
	c = sim_CanBus_init(body, sizeof(body), &builder);
	c->orientation.z = c->orientation.w = sqrt(0.5);
	c->velocity.x = -1;
	c->velocity.y = 5;
	c->speed = 5;
	emit("sim/CanBus", "autoware_vehicle_msgs/VelocityReport");
	NEAR(said("longitudinal_velocity"), 5);
	NEAR(said("lateral_velocity"), 1);
}

TEST(radar_for_svl_is_sensor_minus_object_in_degrees)
{
	struct sim_RadarObjects *m = sim_RadarObjects_init(body, sizeof(body), &builder);
	struct sim_RadarObject *o = sim_RadarObjects_objects_alloc(&builder, 1);

	assert_non_null(m);
	o->relative_velocity.x = 3;
	o->relative_position.x = 4;
	o->sensor_angle = 3.14159265358979323846 / 4;
	o->id = -2;
	emit("sim/RadarObjects", NULL);
	NEAR(after("object_relative_velocity", 2), -3);
	NEAR(after("object_relative_position", 2), 4);
	NEAR(said("sensor_angle"), 45);
	NEAR(said("id"), -2);
}

TEST(unknown_values_are_written_as_ros_defines)
{
	struct sim_Imu *i = sim_Imu_init(body, sizeof(body), &builder);
	struct sim_Gps *g;
	struct sim_Ultrasonic *u;

	emit("sim/Imu", NULL);
	NEAR(said("orientation_covariance"), -1);
	i->orientation.w = 1;
	emit("sim/Imu", NULL);
	NEAR(said("orientation_covariance"), 0);
	g = sim_Gps_init(body, sizeof(body), &builder);
	emit("sim/Gps", NULL);
	NEAR(said("position_covariance_type"), 0);
	g->position_covariance[4] = 2;
	emit("sim/Gps", NULL);
	NEAR(said("position_covariance_type"), 2);
	g->position_covariance[1] = 1;
	emit("sim/Gps", NULL);
	NEAR(said("position_covariance_type"), 3);
	u = sim_Ultrasonic_init(body, sizeof(body), &builder);
	u->minimum_distance = -7;
	emit("sim/Ultrasonic", NULL);
	NEAR(said("minimum_distance"), -1);
}

/* SVL gives 0.0001 everywhere: "covariance" of the rig, where the sensor gives none itself. */
TEST(a_covariance_of_the_rig_fills_unknown_ones)
{
	static const struct map_options svl = { .covariance = 0.5 };
	struct sim_Imu *i = sim_Imu_init(body, sizeof(body), &builder);

	i->linear_acceleration_covariance[8] = 3;
	assert_int_equal(emit_with("sim/Imu", NULL, &svl), 0);
	NEAR(said("orientation_covariance"), -1); /* no orientation stays none */
	NEAR(said("angular_velocity_covariance"), 0.5);
	NEAR(said("linear_acceleration_covariance"), 0);
	sim_Gps_init(body, sizeof(body), &builder);
	assert_int_equal(emit_with("sim/Gps", NULL, &svl), 0);
	NEAR(said("position_covariance"), 0.5);
	NEAR(said("position_covariance_type"), 2);
}

/*
 * As scenario_simulator_v2 gives objects: a covariance of 1, the front and the back may be confused, and unknown
 * objects have no orientation.
 */
TEST(a_rig_may_publish_objects_with_more_uncertainty)
{
	static const struct map_options ss2 = { .covariance = 1, .sign_unknown = true };
	static const char *const types[] = { "autoware_perception_msgs/DetectedObjects",
					     "autoware_perception_msgs/TrackedObjects" };

	for (int i = 0; i < 4; i++) {
		struct sim_Detected3DObjects *m = sim_Detected3DObjects_init(body, sizeof(body), &builder);
		struct sim_Detected3DObject *o = sim_Detected3DObjects_objects_alloc(&builder, 1);

		assert_non_null(m);
		assert_int_equal(sim_Detected3DObject_label_set_in(&builder, o, i & 1 ? "Car" : "Unknown"), 0);
		assert_int_equal(emit_with("sim/Detected3DObjects", types[i / 2], &ss2), 0);
		assert_int_equal((int)said("orientation_availability"), i & 1);
		NEAR(said("covariance"), 1);
		emit("sim/Detected3DObjects", types[i / 2]);
		assert_int_equal((int)said("orientation_availability"), 2);
		NEAR(said("covariance"), 0);
	}
}

TEST(scan_times_are_in_seconds)
{
	struct sim_LaserScan *m = sim_LaserScan_init(body, sizeof(body), &builder);

	m->scan_time = 100000000;
	m->time_increment = 1000;
	emit("sim/LaserScan", NULL);
	NEAR(said("scan_time"), 0.1);
	assert_true(fabs(said("time_increment") - 1e-6) < 1e-12);
}

/* A scan that marks "nothing hit" as ROS does is sent without a copy; one that has an intensity for it is not. */
TEST(a_ray_without_a_hit_has_no_intensity)
{
	struct sim_LaserScan *m = sim_LaserScan_init(body, sizeof(body), &builder);
	float *ranges = sim_LaserScan_ranges_alloc(&builder, 2), *intensities;
	float got[2];

	m->range_min = 1;
	m->range_max = 10;
	ranges[0] = INFINITY;
	ranges[1] = 5;
	intensities = sim_LaserScan_intensities_alloc(&builder, 2);
	intensities[1] = 0.5f;
	emit("sim/LaserScan", NULL);
	assert_true(isinf(said("ranges")) && said("ranges") > 0);
	assert_int_equal(rec.filled, 0); /* no room was asked for */
	intensities[0] = 0.25f;
	emit("sim/LaserScan", NULL);
	memcpy(got, rec.room, sizeof(got));
	assert_true(rec.filled == SIM_KIND_FLOAT32 && got[0] == 0 && got[1] == 0.5f);
	intensities[0] = 0;
	ranges[0] = -INFINITY;
	emit("sim/LaserScan", NULL);
	assert_true(isinf(said("ranges")) && said("ranges") > 0);
	ranges[0] = NAN;
	emit("sim/LaserScan", NULL);
	assert_true(isinf(said("ranges")) && said("ranges") > 0);
}

TEST(objects_have_autowares_classes_and_shapes)
{
	static const struct {
		const char *label;
		int class, shape;
	} cases[] = { { "Car", 1, 0 }, { "boxtruck", 2, 0 }, { "Pedestrian", 7, 1 }, { "Unicorn", 0, 0 }, { "", 0, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_Detected3DObjects *m = sim_Detected3DObjects_init(body, sizeof(body), &builder);
		struct sim_Detected3DObject *o = sim_Detected3DObjects_objects_alloc(&builder, 1);

		assert_non_null(m);
		assert_int_equal(sim_Detected3DObject_label_set_in(&builder, o, cases[i].label), 0);
		emit("sim/Detected3DObjects", "autoware_perception_msgs/DetectedObjects");
		assert_int_equal((int)said("label"), cases[i].class);
		assert_int_equal((int)said("type"), cases[i].shape);
		assert_int_equal((int)said("has_twist"), 1);
	}
}

TEST(an_apollo_receiver_keeps_its_precision)
{
	static const struct map_options svl = { .compat = MAP_COMPAT_SVL };
	struct sim_Gps *m = sim_Gps_init(body, sizeof(body), &builder);

	slot_ns = INT64_C(1700000000250400000);
	m->position_covariance[0] = -1; /* there is no such variance */
	m->position_covariance[4] = 9;
	emit("sim/Gps", "pb_msgs/GnssBestPose");
	NEAR(said("measurement_time"), 1700000000.2504 - 315964782);
	assert_true(said("longitude_std_dev") == 0);
	NEAR(said("latitude_std_dev"), 3);
	assert_int_equal(emit_with("sim/Gps", "pb_msgs/GnssBestPose", &svl), 0);
	NEAR(said("measurement_time"), 1700000000.25 - 315964782);
	slot_ns = 2000000000;
}

/* An object of another Autoware class never becomes a car for Apollo. */
TEST(labels_mean_the_same_to_autoware_and_apollo)
{
	static const struct {
		const char *label;
		int class, type, sub_type;
	} cases[] = { { "Car", 1, 5, 3 },
		      { "van", 1, 5, 4 },
		      { "Truck", 2, 5, 5 },
		      { "BoxTruck", 2, 5, 5 },
		      { "Bus", 3, 5, 6 },
		      { "SchoolBus", 3, 5, 6 },
		      { "Trailer", 4, 5, 5 },
		      { "Motorcycle", 5, 4, 8 },
		      { "Bicycle", 6, 4, 7 },
		      { "Pedestrian", 7, 3, 10 },
		      { "Animal", 8, 0, 0 },
		      { "Hazard", 9, 0, 0 },
		      { "OverDrivable", 10, 0, 0 },
		      { "UnderDrivable", 11, 0, 0 },
		      { "", 0, 0, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_Detected3DObjects *m = sim_Detected3DObjects_init(body, sizeof(body), &builder);
		struct sim_Detected3DObject *o = sim_Detected3DObjects_objects_alloc(&builder, 1);
		struct apollo_kind kind;

		assert_non_null(m);
		assert_int_equal(sim_Detected3DObject_label_set_in(&builder, o, cases[i].label), 0);
		emit("sim/Detected3DObjects", "autoware_perception_msgs/DetectedObjects");
		assert_int_equal((int)said("label"), cases[i].class);
		emit("sim/Detected3DObjects", "pb_msgs/PerceptionObstacles");
		assert_int_equal((int)said("type"), cases[i].type);
		kind = apollo_kind_of(body, sim_builder_size(&builder), o);
		assert_int_equal(kind.type, cases[i].type);
		assert_int_equal(kind.sub_type, cases[i].sub_type);
	}
}

TEST(lights_have_names_or_numbers)
{
	static const struct {
		const char *id, *label;
		uint8_t color, blink;
		int group, aw_color, aw_status;
	} cases[] = {
		{ "4711", "red", SIM_TRAFFIC_SIGNAL_COLOR_RED, 0, 4711, 1, 2 },
		{ "north", "green", SIM_TRAFFIC_SIGNAL_COLOR_GREEN, 1, 9, 3, 3 },
		{ "12x", "yellow", SIM_TRAFFIC_SIGNAL_COLOR_YELLOW, 0, 9, 2, 2 },
		{ "", "black", SIM_TRAFFIC_SIGNAL_COLOR_BLACK, 1, 9, 0, 1 },
		{ "", "", 77, 0, 9, 0, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_TrafficSignals *m = sim_TrafficSignals_init(body, sizeof(body), &builder);
		struct sim_TrafficSignal *s = sim_TrafficSignals_signals_alloc(&builder, 1);

		assert_non_null(m);
		s->seq_id = 9;
		s->color = cases[i].color;
		s->blink = cases[i].blink;
		assert_int_equal(sim_TrafficSignal_id_set_in(&builder, s, cases[i].id), 0);
		emit("sim/TrafficSignals", NULL);
		assert_string_equal(text("label"), cases[i].label);
		emit("sim/TrafficSignals", "autoware_perception_msgs/TrafficLightGroupArray");
		assert_int_equal((int)said("traffic_light_group_id"), cases[i].group);
		assert_int_equal((int)said("color"), cases[i].aw_color);
		assert_int_equal((int)said("status"), cases[i].aw_status);
	}
}

/* Lamps of one light are one group; another light of the same group in the map is a group of its own. */
TEST(lights_of_one_group_stay_separate)
{
	static const uint32_t light[] = { 7, 7, 8 };
	struct sim_TrafficSignals *m = sim_TrafficSignals_init(body, sizeof(body), &builder);
	struct sim_TrafficSignal *s = sim_TrafficSignals_signals_alloc(&builder, 3);

	assert_non_null(m);
	for (int i = 0; i < 3; i++) {
		s[i].seq_id = light[i];
		assert_int_equal(sim_TrafficSignal_id_set_in(&builder, &s[i], "4711"), 0);
	}
	emit("sim/TrafficSignals", "autoware_perception_msgs/TrafficLightGroupArray");
	assert_int_equal((int)said("traffic_light_groups"), 2);
	assert_int_equal((int)said("elements"), 2);
}

/* What PROJ has for that point of the town: 691965, 5335940 in zone 32; its map begins at 691500, 5335500. */
static void in_town(bool absolute)
{
	struct sim_GpsOdometry *m = sim_GpsOdometry_init(body, sizeof(body), &builder);

	m->longitude = 11.580883324096;
	m->latitude = 48.147716513009;
	m->altitude = 520;
	m->easting = absolute ? 691965 : 465;
	m->northing = absolute ? 5335940 : 440;
	m->ignore_map_origin = absolute;
}

#define CM(a, b) assert_true(fabs((a) - (b)) < 0.002)

static void expect_place(const struct map_options *o, double x, double y, double z, const char *frame)
{
	static const char *const messages[] = { "nav_msgs/Odometry", "geometry_msgs/PoseStamped", "pb_msgs/Gps" };

	for (int i = 0; i < 3; i++) {
		assert_int_equal(emit_with("sim/GpsOdometry", messages[i], o), 0);
		CM(after("position", 2), x);
		CM(after("position", 3), y);
		CM(after("position", 4), z);
		assert_string_equal(text(i == 2 ? "frame_id" : "header"), frame);
	}
}

TEST(positions_use_the_configured_grid_and_origin)
{
	static const double origin[3] = { 691500, 5335500, 500 };
	static const struct map_options map = { .position = MAP_POSITION_MAP }, utm = { .position = MAP_POSITION_UTM },
					mgrs = { .position = MAP_POSITION_MGRS }, from = { .origin = origin },
					named = { .position = MAP_POSITION_UTM, .frame = "earth" };

	for (int absolute = 0; absolute < 2; absolute++) {
		in_town(absolute);
		expect_place(&utm, 691965, 5335940, 520, "utm");
		expect_place(&mgrs, 91965, 35940, 520, "map");
		expect_place(&from, 465, 440, 20, "map");
		expect_place(&named, 691965, 5335940, 520, "earth");
	}
	expect_place(&plain, 691965, 5335940, 520, "frame");
	slot_frame = "map"; /* which that is not */
	expect_place(&plain, 691965, 5335940, 520, "utm");
	assert_int_equal(emit_with("sim/GpsOdometry", NULL, &map), -ENOTSUP);
	in_town(false);
	expect_place(&plain, 465, 440, 520, "map");
	slot_frame = "frame";
	expect_place(&plain, 465, 440, 520, "frame");
	expect_place(&map, 465, 440, 520, "map");
	((struct sim_GpsOdometry *)(void *)body)->latitude = NAN;
	assert_int_equal(emit_with("sim/GpsOdometry", NULL, &utm), -EBADMSG);
	expect_place(&map, 465, 440, 520, "map");
}

TEST(positions_of_a_receiver_use_the_configured_grid)
{
	static const struct map_options mgrs = { .position = MAP_POSITION_MGRS };
	static const char *const messages[] = { "geometry_msgs/PoseStamped", "geometry_msgs/Pose",
						"geometry_msgs/PoseWithCovarianceStamped" };
	struct sim_Gps *m = sim_Gps_init(body, sizeof(body), &builder);

	m->longitude = 11.580883324096;
	m->latitude = 48.147716513009;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(emit_with("sim/Gps", messages[i], &mgrs), 0);
		CM(after("position", 2), 91965);
		CM(after("position", 3), 35940);
		if (i != 1)
			assert_string_equal(text("header"), "map");
	}
	m->longitude = 181;
	assert_int_equal(emit_with("sim/Gps", "geometry_msgs/Pose", &mgrs), -EBADMSG);
}

TEST(images_swap_their_channels_on_request)
{
	static const struct map_options bgr = { .encoding = "bgr8" }, mono = { .encoding = "mono8" };
	static const uint8_t pixels[] = { 1, 2, 3, 4, 5, 6, 99, 99 }, want[] = { 3, 2, 1, 6, 5, 4, 0, 0 };
	struct sim_Image *m = sim_Image_init(body, sizeof(body), &builder);

	m->height = 1;
	m->width = 2;
	m->step = 8;
	assert_int_equal(sim_Image_encoding_set(&builder, "rgb8"), 0);
	memcpy(sim_Image_data_alloc(&builder, 8), pixels, 8);
	assert_int_equal(emit_with("sim/Image", NULL, &bgr), 0);
	assert_string_equal(text("encoding"), "bgr8");
	assert_memory_equal(rec.room, want, 8);
	assert_int_equal(emit_with("sim/Image", NULL, &mono), -ENOTSUP);
	m->width = 3; /* more than a row holds */
	assert_int_equal(emit_with("sim/Image", NULL, &bgr), -ENOTSUP);
	m->height = 2; /* more than there is */
	assert_int_equal(emit_with("sim/Image", NULL, &plain), -EBADMSG);
}

/* Every width, so that vectors, their rest and the ends of rows are met. */
TEST(channels_are_swapped_at_every_width)
{
	static const struct map_options rgb = { .encoding = "rgb8" };

	for (uint32_t width = 1; width < 64; width++) {
		struct sim_Image *m = sim_Image_init(body, sizeof(body), &builder);
		uint8_t *data;

		m->height = 2;
		m->width = width;
		m->step = width * 3 + width % 3;
		assert_int_equal(sim_Image_encoding_set(&builder, "bgr8"), 0);
		data = sim_Image_data_alloc(&builder, m->step * 2);
		for (uint32_t i = 0; i < m->step * 2; i++)
			data[i] = (uint8_t)(i * 37 + 11);
		assert_int_equal(emit_with("sim/Image", NULL, &rgb), 0);
		for (uint32_t i = 0; i < m->step * 2; i++) {
			uint32_t x = i % m->step, from = i - x + x / 3 * 3 + 2 - x % 3;

			assert_int_equal(rec.room[i], x < width * 3 ? data[from] : 0);
		}
		assert_int_equal(rec.room[m->step * 2], 0);
	}
}

TEST(clouds_can_have_the_layouts_of_other_systems)
{
	static const struct map_options awsim = { .points = MAP_POINTS_AWSIM48 }, svl = { .points = MAP_POINTS_SVL32 },
					autoware = { .points = MAP_POINTS_XYZIRCAEDT };
	struct sim_Point *p = sim_point_cloud_begin(body, sizeof(body), 2, &builder);
	struct sim_PointCloud *m = (struct sim_PointCloud *)(void *)body;
	float x, intensity, azimuth, distance;
	uint16_t ring;
	double stamp;

	memset(p, 0, 2 * sizeof(*p));
	p[1] = (struct sim_Point){ .x = 1.5f,
				   .intensity = 0.5f,
				   .ring = 3,
				   .return_type = 2,
				   .time_offset = 250000000,
				   .azimuth = 0.25f,
				   .distance = 8 };
	assert_int_equal(emit_with("sim/PointCloud", NULL, &awsim), 0);
	memcpy(&x, rec.room + 48, 4);
	memcpy(&ring, rec.room + 48 + 20, 2);
	memcpy(&intensity, rec.room + 48 + 16, 4);
	memcpy(&azimuth, rec.room + 48 + 24, 4);
	memcpy(&distance, rec.room + 48 + 28, 4);
	memcpy(&stamp, rec.room + 48 + 40, 8);
	assert_true(intensity == 0.5f && azimuth == 0.25f);
	assert_true(x == 1.5f && ring == 3 && distance == 8.0f && rec.room[48 + 32] == 2);
	NEAR(stamp, 2.25);
	p[0].intensity = NAN;
	assert_int_equal(emit_with("sim/PointCloud", NULL, &svl), 0);
	assert_int_equal(rec.room[16], 0);
	assert_int_equal(rec.room[32 + 16], 127);
	p[0].intensity = 7;
	p[1].intensity = -7;
	assert_int_equal(emit_with("sim/PointCloud", NULL, &svl), 0);
	assert_int_equal(rec.room[16], 255);
	assert_int_equal(rec.room[32 + 16], 0);
	assert_int_equal(emit_with("sim/PointCloud", NULL, &autoware), 0); /* a clamped one, and to the right */
	memcpy(&azimuth, rec.room + 16, 4);
	NEAR((double)azimuth, 0);
	assert_int_equal(rec.room[12], 255);
	p[0].azimuth = -0.5f;
	assert_int_equal(emit_with("sim/PointCloud", NULL, &autoware), 0);
	memcpy(&azimuth, rec.room + 16, 4);
	NEAR((double)azimuth, 2 * M_PI - 0.5);
	m->row_step--; /* sizes that contradict one another */
	assert_int_equal(emit_with("sim/PointCloud", NULL, &svl), -EBADMSG);
	m->row_step++;
	m->fields.count--; /* no longer the default point */
	assert_int_equal(emit_with("sim/PointCloud", NULL, &svl), -ENOTSUP);
	assert_int_equal(emit_with("sim/PointCloud", NULL, &plain), 0);
}
