/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incoming messages of Apollo over ROS (pb_msgs), with axes, angles and times converted back, the inverse of
 * map_apollo.c. See map_in.h.
 */
#include <math.h>
#include <string.h>

#include "apollo_frames.h"
#include "dec_watch.h"
#include "map_in_private.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/CorrectedImu.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Imu.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/TrafficSignals.h"

#define WORD_MAX 255u

/* A time of 0 means no stamp: unlike over Cyber RT, an unset field cannot be told from 0 here. */
static void header_into(struct sim_dec *d, struct message_in *to)
{
	int64_t stamp_sim_ns;
	const char *frame;
	double seconds;
	size_t len;

	sim_dec_begin(d, "header");
	seconds = sim_dec_f64(d, "timestamp_sec");
	stamp_sim_ns = map_in_ns(d, seconds);
	sim_dec_string(d, "module_name", WORD_MAX, &len);
	sim_dec_u32(d, "sequence_num");
	frame = sim_dec_string(d, "frame_id", WORD_MAX, &len);
	if (to)
		dec_watch_note(d, seconds != 0 ? stamp_sim_ns : MESSAGE_IN_NO_STAMP, frame, len, to);
	sim_dec_end(d);
}

int64_t map_in_apollo_header(struct sim_dec *d, struct message_in *to)
{
	header_into(d, to);
	return to->stamp_sim_ns;
}

/* A duration from seconds: 0 or more. */
static int64_t span_ns(struct sim_dec *d, double seconds)
{
	return map_in_ns(d, seconds < 0 ? 0 : seconds);
}

/* Converts right, forward, up to forward, left, up. */
static struct sim_Vector3 flu(struct sim_dec *d, const char *name)
{
	struct sim_Vector3 v = map_in_vector(d, name);

	return (struct sim_Vector3){ .x = v.y, .y = -v.x, .z = v.z };
}

/* Reads an orientation: the inverse of apollo_turn(). */
static struct sim_Quaternion turned_back(struct sim_dec *d)
{
	double s = sqrt(0.5), x, y, z, w;

	sim_dec_begin(d, "orientation");
	x = map_in_f64(d, "qx");
	y = map_in_f64(d, "qy");
	z = map_in_f64(d, "qz");
	w = map_in_f64(d, "qw");
	sim_dec_end(d);
	return (struct sim_Quaternion){ .x = s * (x + y), .y = s * (y - x), .z = s * (z + w), .w = s * (w - z) };
}

/* ---- navigation ---- */

static double squared(double v)
{
	return v * v;
}

MAP_IN(pb_msgs, GnssBestPose, Gps)
{
	bool computed;

	START(Gps);
	map_in_apollo_header(d, to);
	map_in_f64(d, "measurement_time");
	computed = sim_dec_i32(d, "sol_status") == 0;
	m->status = sim_dec_i32(d, "sol_type") != 0 && computed ? SIM_GPS_STATUS_FIX : SIM_GPS_STATUS_NO_FIX;
	m->service = 1; /* GPS */
	m->latitude = map_in_f64(d, "latitude");
	m->longitude = map_in_f64(d, "longitude");
	m->altitude = map_in_f64(d, "height_msl");
	sim_dec_i32(d, "datum_id");
	m->position_covariance[4] = squared((double)map_in_f32(d, "latitude_std_dev"));
	m->position_covariance[0] = squared((double)map_in_f32(d, "longitude_std_dev"));
	m->position_covariance[8] = squared((double)map_in_f32(d, "height_std_dev"));
	return map_in_finish(&builder, to);
}

/* Positions are in UTM. */
MAP_IN(pb_msgs, Gps, GpsOdometry)
{
	struct sim_Vector3 at, forward = { .x = 1 };

	START(GpsOdometry);
	map_in_apollo_header(d, to);
	sim_dec_begin(d, "localization");
	at = map_in_vector(d, "position");
	m->easting = at.x;
	m->northing = at.y;
	m->altitude = at.z;
	m->ignore_map_origin = true;
	m->orientation = turned_back(d);
	m->velocity = map_in_vector(d, "linear_velocity");
	map_in_f64(d, "heading");
	sim_dec_end(d);
	forward = map_in_from_body(&m->orientation, &forward);
	m->forward_speed = (float)(forward.x * m->velocity.x + forward.y * m->velocity.y + forward.z * m->velocity.z);
	return map_in_finish(&builder, to);
}

MAP_IN(pb_msgs, Imu, Imu)
{
	START(Imu);
	map_in_apollo_header(d, to);
	map_in_f64(d, "measurement_time");
	m->measurement_span = span_ns(d, (double)map_in_f32(d, "measurement_span"));
	m->linear_acceleration = flu(d, "linear_acceleration");
	m->angular_velocity = flu(d, "angular_velocity");
	return map_in_finish(&builder, to);
}

MAP_IN(pb_msgs, CorrectedImu, CorrectedImu)
{
	struct sim_Vector3 velocity;

	START(CorrectedImu);
	map_in_apollo_header(d, to);
	sim_dec_begin(d, "imu");
	m->imu.position = map_in_vector(d, "position");
	m->imu.orientation = turned_back(d);
	velocity = map_in_vector(d, "linear_velocity");
	m->imu.linear_velocity = map_to_body(&m->imu.orientation, &velocity);
	m->global_acceleration = map_in_vector(d, "linear_acceleration");
	m->global_angular_velocity = map_in_vector(d, "angular_velocity");
	map_in_f64(d, "heading");
	m->imu.linear_acceleration = flu(d, "linear_acceleration_vrf");
	m->imu.angular_velocity = flu(d, "angular_velocity_vrf");
	map_in_vector(d, "euler_angles");
	sim_dec_end(d);
	return map_in_finish(&builder, to);
}

/* ---- the vehicle ---- */

/* Orientation from a heading, clockwise from north. */
static struct sim_Quaternion level(double heading_deg)
{
	double yaw = (90 - heading_deg) / APOLLO_DEG_PER_RAD;

	return (struct sim_Quaternion){ .z = sin(yaw / 2), .w = cos(yaw / 2) };
}

static void chassis_gps(struct sim_dec *d, struct sim_CanBus *m)
{
	static const char *const date[] = { "year", "month", "day", "hours", "minutes", "seconds" };

	sim_dec_begin(d, "chassis_gps");
	m->latitude = map_in_f64(d, "latitude");
	m->longitude = map_in_f64(d, "longitude");
	sim_dec_bool(d, "gps_valid");
	for (unsigned i = 0; i < sizeof(date) / sizeof(date[0]); i++)
		sim_dec_i32(d, date[i]);
	map_in_f64(d, "compass_direction");
	m->altitude = map_in_f64(d, "altitude");
	m->orientation = level(map_in_f64(d, "heading"));
	map_in_f64(d, "gps_speed");
	sim_dec_end(d);
}

MAP_IN(pb_msgs, Chassis, CanBus)
{
	struct sim_Vector3 ahead = { 0 };
	int32_t mode, gear;

	START(CanBus);
	m->engine_on = sim_dec_bool(d, "engine_started");
	m->engine_rpm = map_in_f32(d, "engine_rpm");
	m->speed = map_in_f32(d, "speed_mps");
	m->throttle = map_in_f32(d, "throttle_percentage");
	m->braking = map_in_f32(d, "brake_percentage");
	m->steering = map_in_f32(d, "steering_percentage");
	m->parking_brake = sim_dec_bool(d, "parking_brake");
	m->high_beam = sim_dec_bool(d, "high_beam_signal");
	m->low_beam = sim_dec_bool(d, "low_beam_signal");
	m->left_turn_signal = sim_dec_bool(d, "left_turn_signal");
	m->right_turn_signal = sim_dec_bool(d, "right_turn_signal");
	m->wipers = sim_dec_bool(d, "wiper");
	mode = sim_dec_i32(d, "driving_mode");
	gear = sim_dec_i32(d, "gear_location");
	apollo_finish_chassis(m, mode, gear);
	map_in_apollo_header(d, to);
	chassis_gps(d, m);
	ahead.x = (double)m->speed;
	m->velocity = map_in_from_body(&m->orientation, &ahead);
	return map_in_finish(&builder, to);
}

/* ---- surroundings ---- */

#define LABEL_MAX    63u
#define OBSTACLE_MIN (4 + 24 + 8 + 24 + 24 + 4 + 8 + 4 + 8) /* bytes of an obstacle without corners */

static void skip_corners(struct sim_dec *d)
{
	uint32_t n = sim_dec_list(d, "polygon_point", 24);

	for (uint32_t i = 0; i < n && !d->err; i++)
		map_in_vector(d, NULL);
	sim_dec_list_end(d);
}

static void obstacle(struct sim_dec *d, struct sim_builder *b, struct sim_Detected3DObject *o)
{
	struct apollo_kind kind = { 0 };

	sim_dec_begin(d, NULL);
	o->id = (uint32_t)sim_dec_i32(d, "id");
	o->map_position = map_in_finite(d, "position");
	o->heading = sim_dec_f64(d, "theta");
	o->map_velocity = map_in_finite(d, "velocity");
	o->size.x = sim_dec_f64(d, "length");
	o->size.y = sim_dec_f64(d, "width");
	o->size.z = sim_dec_f64(d, "height");
	skip_corners(d);
	o->tracking_time = span_ns(d, sim_dec_f64(d, "tracking_time"));
	kind.type = sim_dec_i32(d, "type");
	if (!d->err)
		(void)sim_builder_text(b, &o->label, apollo_label_of(kind), LABEL_MAX);
	sim_dec_f64(d, "timestamp");
	sim_dec_end(d);
}

MAP_IN(pb_msgs, PerceptionObstacles, Detected3DObjects)
{
	struct sim_Detected3DObject *o;
	uint32_t n;

	START(Detected3DObjects);
	n = sim_dec_list(d, "perception_obstacle", OBSTACLE_MIN);
	o = sim_Detected3DObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++)
		obstacle(d, &builder, &o[i]);
	sim_dec_list_end(d);
	if (!o)
		return map_in_finish(&builder, to);
	map_in_apollo_header(d, to);
	sim_dec_i32(d, "error_code");
	return map_in_finish(&builder, to);
}

#define RADAR_OBS_MIN (8 + 4 + 4 + 4 + 1 + 4 + 32 + 4 + 8 + 4 + 24)

/*
 * The message does not give the radar's pose: it is placed at 0, looking along x. The object's orientation has no field
 * in our type.
 */
static void radar_obs(struct sim_dec *d, struct sim_RadarObject *o)
{
	sim_dec_begin(d, NULL);
	header_into(d, NULL);
	o->sensor_aim.x = 1;
	o->sensor_right.y = -1;
	sim_dec_bool(d, "clusterortrack");
	o->id = sim_dec_i32(d, "obstacle_id");
	o->relative_position.x = map_in_f64(d, "longitude_dist");
	o->relative_position.y = map_in_f64(d, "lateral_dist");
	o->relative_velocity.x = map_in_f64(d, "longitude_vel");
	o->relative_velocity.y = map_in_f64(d, "lateral_vel");
	o->position = o->relative_position;
	o->velocity = o->relative_velocity;
	o->sensor_angle = atan2(o->relative_position.y, o->relative_position.x);
	o->state = sim_dec_i32(d, "dynprop") == 1 ? SIM_RADAR_OBJECT_STATE_STATIONARY : SIM_RADAR_OBJECT_STATE_MOVING;
	map_in_f64(d, "probexist");
	o->new_detection = sim_dec_i32(d, "meas_state") == 1;
	map_in_f64(d, "oritation_angle");
	o->size.x = map_in_f64(d, "length");
	o->size.y = map_in_f64(d, "width");
	sim_dec_end(d);
}

MAP_IN(pb_msgs, ContiRadar, RadarObjects)
{
	struct sim_RadarObject *o;
	uint32_t n;

	START(RadarObjects);
	map_in_apollo_header(d, to);
	n = sim_dec_list(d, "contiobs", RADAR_OBS_MIN);
	o = sim_RadarObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++) {
		memset(&o[i], 0, sizeof(o[i]));
		radar_obs(d, &o[i]);
	}
	sim_dec_list_end(d);
	sim_dec_begin(d, "object_list_status");
	sim_dec_i32(d, "nof_objects");
	sim_dec_i32(d, "meas_counter");
	sim_dec_i32(d, "interface_version");
	sim_dec_end(d);
	return map_in_finish(&builder, to);
}

#define LIGHT_MIN (4 + 4 + 8 + 1)

static void light(struct sim_dec *d, struct sim_builder *b, struct sim_TrafficSignal *s)
{
	int32_t color;

	sim_dec_begin(d, NULL);
	color = sim_dec_i32(d, "color");
	/* both enums have the same values */
	s->color = color >= 0 && color <= SIM_TRAFFIC_SIGNAL_COLOR_BLACK ? (uint8_t)color : 0;
	map_in_text(d, b, "id", &s->id, LABEL_MAX);
	s->score = apollo_confidence(map_in_f64(d, "confidence"));
	s->blink = sim_dec_bool(d, "blink");
	s->shape = SIM_TRAFFIC_SIGNAL_SHAPE_UNKNOWN;
	sim_dec_end(d);
}

MAP_IN(pb_msgs, TrafficLightDetection, TrafficSignals)
{
	struct sim_TrafficSignal *s;
	uint32_t n;

	START(TrafficSignals);
	n = sim_dec_list(d, "traffic_light", LIGHT_MIN);
	s = sim_TrafficSignals_signals_alloc_in(&builder, m, n);
	for (uint32_t i = 0; s && i < n && !d->err; i++) {
		light(d, &builder, &s[i]);
		s[i].seq_id = i; /* each is a separate light */
	}
	sim_dec_list_end(d);
	if (!s)
		return map_in_finish(&builder, to);
	map_in_apollo_header(d, to);
	sim_dec_bool(d, "contain_lights");
	return map_in_finish(&builder, to);
}

/* ---- with options of the rig ---- */

static void take_off(struct sim_Vector3 *at, const double *origin)
{
	at->x -= origin[0];
	at->y -= origin[1];
	at->z -= origin[2];
}

static void place_objects(struct message_in *to, const double *origin)
{
	const struct sim_Detected3DObjects *m = to->buf;
	struct sim_Detected3DObject *o =
		(struct sim_Detected3DObject *)(void *)((uint8_t *)to->buf + m->objects.offset);

	for (uint32_t i = 0; i < m->objects.count; i++)
		take_off(&o[i].map_position, origin);
}

static void place_odometry(struct sim_GpsOdometry *m, const double *origin)
{
	m->easting -= origin[0];
	m->northing -= origin[1];
	m->ignore_map_origin = false;
}

void map_in_place(const struct map_in *m, struct message_in *to, double undulation, const double *origin)
{
	if (strcmp(m->ros, "pb_msgs/Chassis") == 0)
		((struct sim_CanBus *)to->buf)->altitude += undulation;
	else if (strcmp(m->ros, "pb_msgs/GnssBestPose") == 0)
		((struct sim_Gps *)to->buf)->altitude += undulation;
	else if (!origin)
		return;
	else if (strcmp(m->ros, "pb_msgs/PerceptionObstacles") == 0)
		place_objects(to, origin);
	else if (strcmp(m->ros, "pb_msgs/CorrectedImu") == 0)
		take_off(&((struct sim_CorrectedImu *)to->buf)->imu.position, origin);
	else if (strcmp(m->ros, "pb_msgs/Gps") == 0)
		place_odometry(to->buf, origin);
}
