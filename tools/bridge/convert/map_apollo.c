/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo's messages over ROS, as in its fork of ROS 1 (pb_msgs, over rosbridge). Its vehicle frame is right, forward,
 * up (the vehicle looks along y); a quaternion rotates from there to the map. Times are seconds. See map.h.
 */
#include <math.h>
#include <time.h>

#include "apollo_frames.h"
#include "map_private.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/CorrectedImu.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/Gear.h"
#include "sim/msg/Gps.h"
#include "sim/msg/GpsOdometry.h"
#include "sim/msg/Imu.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/TrafficSignals.h"
#include "sim/msg/VehicleMode.h"

/* GPS time; SVL truncated it to whole ms. */
static double gps_seconds(const struct map_message *in)
{
	int64_t ns = apollo_gps_ns(in->header.stamp_sim_ns);

	return apollo_seconds(map_is_svl(in) ? ns - ns % 1000000 : ns);
}

static void header_at(struct sim_enc *e, const struct map_message *in, double timestamp_sec)
{
	const char *frame = in->options->frame ? in->options->frame : in->header.frame;

	sim_enc_begin(e, "header");
	sim_enc_f64(e, "timestamp_sec", timestamp_sec);
	sim_enc_text(e, "module_name", "simd");
	sim_enc_u32(e, "sequence_num", in->header.seq);
	sim_enc_text(e, "frame_id", frame);
	sim_enc_end(e);
}

static void header(struct sim_enc *e, const struct map_message *in)
{
	header_at(e, in, apollo_seconds(in->header.stamp_sim_ns));
}

static void put_turn(struct sim_enc *e, const struct sim_Quaternion *q)
{
	struct sim_Quaternion r = apollo_turn(q);

	sim_enc_begin(e, "orientation");
	sim_enc_f64(e, "qx", r.x);
	sim_enc_f64(e, "qy", r.y);
	sim_enc_f64(e, "qz", r.z);
	sim_enc_f64(e, "qw", r.w);
	sim_enc_end(e);
}

static void put_rfu(struct sim_enc *e, const char *name, const struct sim_Vector3 *v)
{
	struct sim_Vector3 r = apollo_rfu(v);

	map_vector(e, name, &r);
}

/* From the map to UTM, which is all that Apollo knows: the map's origin is an option of the rig. */
static struct sim_Vector3 in_utm(const struct map_message *in, const struct sim_Vector3 *v)
{
	const double *at = in->options->origin;

	return at ? (struct sim_Vector3){ .x = v->x + at[0], .y = v->y + at[1], .z = v->z + at[2] } : *v;
}

/* ---- navigation ---- */

/* Whether there is a fix, and its deviations. SVL had GPS time in the header, too. */
MAP(Gps, pb_msgs, GnssBestPose)
{
	double gps = gps_seconds(in);
	bool fix = m->status >= SIM_GPS_STATUS_FIX;
	struct sim_Vector3 sure = apollo_deviations(m->position_covariance);

	header_at(e, in, map_is_svl(in) ? gps : apollo_seconds(in->header.stamp_sim_ns));
	sim_enc_f64(e, "measurement_time", gps);
	sim_enc_i32(e, "sol_status", fix ? 0 : 1);
	sim_enc_i32(e, "sol_type", fix ? 50 : 0);
	sim_enc_f64(e, "latitude", m->latitude);
	sim_enc_f64(e, "longitude", m->longitude);
	sim_enc_f64(e, "height_msl", m->altitude - in->options->undulation);
	sim_enc_i32(e, "datum_id", 61);
	sim_enc_f32(e, "latitude_std_dev", (float)sure.y);
	sim_enc_f32(e, "longitude_std_dev", (float)sure.x);
	sim_enc_f32(e, "height_std_dev", (float)sure.z);
	return 0;
}

MAP(GpsOdometry, pb_msgs, Gps)
{
	struct map_place p;
	int r = map_place_of(in, MAP_FIX_OF(m), &p);

	if (r < 0)
		return r;
	header_at(e, &p.in, map_is_svl(in) ? gps_seconds(in) : apollo_seconds(in->header.stamp_sim_ns));
	sim_enc_begin(e, "localization");
	map_vector(e, "position", &p.at);
	put_turn(e, &m->orientation);
	map_vector(e, "linear_velocity", &m->velocity);
	sim_enc_f64(e, "heading", apollo_heading(&m->orientation));
	sim_enc_end(e);
	return 0;
}

/* In SVL measurement_time was the header's stamp. */
MAP(Imu, pb_msgs, Imu)
{
	header(e, in);
	sim_enc_f64(e, "measurement_time", map_is_svl(in) ? apollo_seconds(in->header.stamp_sim_ns) : gps_seconds(in));
	sim_enc_f32(e, "measurement_span", (float)apollo_seconds(m->measurement_span));
	put_rfu(e, "linear_acceleration", &m->linear_acceleration);
	put_rfu(e, "angular_velocity", &m->angular_velocity);
	return 0;
}

MAP(CorrectedImu, pb_msgs, CorrectedImu)
{
	const struct sim_Quaternion *q = &m->imu.orientation;
	struct sim_Vector3 velocity = apollo_to_map(q, &m->imu.linear_velocity), euler = apollo_euler(q),
			   at = in_utm(in, &m->imu.position);

	header(e, in);
	sim_enc_begin(e, "imu");
	map_vector(e, "position", &at);
	put_turn(e, q);
	map_vector(e, "linear_velocity", &velocity);
	map_vector(e, "linear_acceleration", &m->global_acceleration);
	map_vector(e, "angular_velocity", &m->global_angular_velocity);
	sim_enc_f64(e, "heading", apollo_heading(q));
	put_rfu(e, "linear_acceleration_vrf", &m->imu.linear_acceleration);
	put_rfu(e, "angular_velocity_vrf", &m->imu.angular_velocity);
	map_vector(e, "euler_angles", &euler);
	sim_enc_end(e);
	return 0;
}

/* ---- the vehicle ---- */

static void chassis_gps(struct sim_enc *e, const struct map_message *in, const struct sim_CanBus *m)
{
	int64_t ns = in->header.stamp_sim_ns;
	time_t s = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
	struct tm utc = { 0 };

	if (map_is_svl(in)) /* GPS seconds since 1980-01-06, with 18 leap seconds, taken as Unix time */
		s -= INT64_C(315964782);
	gmtime_r(&s, &utc);
	sim_enc_begin(e, "chassis_gps");
	sim_enc_f64(e, "latitude", m->latitude);
	sim_enc_f64(e, "longitude", m->longitude);
	sim_enc_bool(e, "gps_valid", 1);
	sim_enc_i32(e, "year", utc.tm_year + 1900);
	sim_enc_i32(e, "month", utc.tm_mon + 1);
	sim_enc_i32(e, "day", utc.tm_mday);
	sim_enc_i32(e, "hours", utc.tm_hour);
	sim_enc_i32(e, "minutes", utc.tm_min);
	sim_enc_i32(e, "seconds", utc.tm_sec);
	sim_enc_f64(e, "compass_direction", apollo_compass(&m->orientation));
	sim_enc_f64(e, "altitude", m->altitude - in->options->undulation);
	sim_enc_f64(e, "heading", apollo_compass(&m->orientation));
	sim_enc_f64(e, "gps_speed", (double)m->speed);
	sim_enc_end(e);
}

/*
 * In SVL the vehicle was always automatic, drove forward or backward, and sent fractions where Apollo expects percent.
 */
MAP(CanBus, pb_msgs, Chassis)
{
	static const uint8_t modes[] = { [SIM_VEHICLE_MODE_MANUAL] = 0,
					 [SIM_VEHICLE_MODE_AUTO] = 1,
					 [SIM_VEHICLE_MODE_AUTO_STEER] = 2,
					 [SIM_VEHICLE_MODE_AUTO_SPEED] = 3,
					 [SIM_VEHICLE_MODE_EMERGENCY] = 4 };
	struct sim_CanBus old;
	bool svl = map_is_svl(in);
	float percent = svl ? 1 : 100;
	uint8_t mode, gear;

	if (svl) {
		old = map_svl_can_bus(m);
		m = &old;
	}
	mode = svl ? SIM_VEHICLE_MODE_AUTO : m->mode;
	gear = m->gear;
	sim_enc_bool(e, "engine_started", m->engine_on);
	sim_enc_f32(e, "engine_rpm", m->engine_rpm);
	sim_enc_f32(e, "speed_mps", m->speed);
	sim_enc_f32(e, "throttle_percentage", m->throttle * percent);
	sim_enc_f32(e, "brake_percentage", m->braking * percent);
	sim_enc_f32(e, "steering_percentage", m->steering * 100);
	sim_enc_bool(e, "parking_brake", m->parking_brake);
	sim_enc_bool(e, "high_beam_signal", m->high_beam);
	sim_enc_bool(e, "low_beam_signal", m->low_beam);
	sim_enc_bool(e, "left_turn_signal", m->left_turn_signal);
	sim_enc_bool(e, "right_turn_signal", m->right_turn_signal);
	sim_enc_bool(e, "wiper", m->wipers);
	sim_enc_i32(e, "driving_mode", mode < sizeof(modes) ? modes[mode] : 0);
	sim_enc_i32(e, "gear_location", gear <= SIM_GEAR_LOW ? gear : 6); /* both enums have the same values; 6: none */
	header(e, in);
	chassis_gps(e, in, m);
	return 0;
}

/* ---- surroundings ---- */

static void corners(struct sim_enc *e, const struct sim_Detected3DObject *o, const struct sim_Vector3 *place)
{
	double c = cos(o->heading), s = sin(o->heading);

	sim_enc_list(e, "polygon_point", 4);
	for (int i = 0; i < 4; i++) { /* counterclockwise, starting front left */
		double x = (i == 0 || i == 3 ? 0.5 : -0.5) * o->size.x, y = (i < 2 ? 0.5 : -0.5) * o->size.y;
		struct sim_Vector3 at = { .x = place->x + c * x - s * y, .y = place->y + s * x + c * y, .z = place->z };

		map_vector(e, NULL, &at);
	}
	sim_enc_list_end(e);
}

static void obstacle(struct sim_enc *e, const struct map_message *in, const struct sim_Detected3DObject *o)
{
	struct sim_Vector3 at = in_utm(in, &o->map_position);

	sim_enc_begin(e, NULL);
	sim_enc_i32(e, "id", (int32_t)o->id);
	map_vector(e, "position", &at);
	sim_enc_f64(e, "theta", o->heading);
	map_vector(e, "velocity", &o->map_velocity);
	sim_enc_f64(e, "length", o->size.x);
	sim_enc_f64(e, "width", o->size.y);
	sim_enc_f64(e, "height", o->size.z);
	corners(e, o, &at);
	sim_enc_f64(e, "tracking_time", apollo_seconds(o->tracking_time));
	sim_enc_i32(e, "type", apollo_kind_of(in->body, in->size, o).type);
	sim_enc_f64(e, "timestamp", apollo_seconds(in->header.stamp_sim_ns));
	sim_enc_end(e);
}

MAP(Detected3DObjects, pb_msgs, PerceptionObstacles)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(m, in->size, &n);

	sim_enc_list(e, "perception_obstacle", n);
	for (uint32_t i = 0; i < n; i++)
		obstacle(e, in, &o[i]);
	sim_enc_list_end(e);
	header(e, in);
	sim_enc_i32(e, "error_code", 0);
	return 0;
}

/* Along the radar's line of sight, and to its left. */
static void radar_obs(struct sim_enc *e, const struct map_message *in, const struct sim_RadarObject *o)
{
	sim_enc_begin(e, NULL);
	header(e, in);
	sim_enc_bool(e, "clusterortrack", 0); /* a track */
	sim_enc_i32(e, "obstacle_id", o->id);
	sim_enc_f64(e, "longitude_dist", apollo_dot(&o->relative_position, &o->sensor_aim));
	sim_enc_f64(e, "lateral_dist", -apollo_dot(&o->relative_position, &o->sensor_right));
	sim_enc_f64(e, "longitude_vel", apollo_dot(&o->relative_velocity, &o->sensor_aim));
	sim_enc_f64(e, "lateral_vel", -apollo_dot(&o->relative_velocity, &o->sensor_right));
	sim_enc_i32(e, "dynprop", o->state == SIM_RADAR_OBJECT_STATE_STATIONARY ? 1 : 0);
	sim_enc_f64(e, "probexist", 1);
	sim_enc_i32(e, "meas_state", o->new_detection ? 1 : 2);
	sim_enc_f64(e, "oritation_angle",
		    map_is_svl(in) ? o->sensor_angle * APOLLO_DEG_PER_RAD : apollo_radar_orientation(o));
	sim_enc_f64(e, "length", o->size.x);
	sim_enc_f64(e, "width", o->size.y);
	sim_enc_end(e);
}

MAP(RadarObjects, pb_msgs, ContiRadar)
{
	uint32_t n;
	const struct sim_RadarObject *o = sim_RadarObjects_objects(m, in->size, &n);

	header(e, in);
	sim_enc_list(e, "contiobs", n);
	for (uint32_t i = 0; i < n; i++)
		radar_obs(e, in, &o[i]);
	sim_enc_list_end(e);
	sim_enc_begin(e, "object_list_status");
	sim_enc_i32(e, "nof_objects", (int32_t)n);
	sim_enc_i32(e, "meas_counter", (int32_t)in->header.seq);
	sim_enc_i32(e, "interface_version", 0);
	sim_enc_end(e);
	return 0;
}

static void light(struct sim_enc *e, const struct map_message *in, const struct sim_TrafficSignal *s)
{
	sim_enc_begin(e, NULL);
	/* both enums have the same values; white does not exist */
	sim_enc_i32(e, "color", s->color <= SIM_TRAFFIC_SIGNAL_COLOR_BLACK ? s->color : 0);
	map_text(e, "id", in, sim_TrafficSignal_id_in(in->body, in->size, s));
	sim_enc_f64(e, "confidence", (double)s->score);
	sim_enc_bool(e, "blink", s->blink);
	sim_enc_end(e);
}

MAP(TrafficSignals, pb_msgs, TrafficLightDetection)
{
	uint32_t n;
	const struct sim_TrafficSignal *s = sim_TrafficSignals_signals(m, in->size, &n);

	sim_enc_list(e, "traffic_light", n);
	for (uint32_t i = 0; i < n; i++)
		light(e, in, &s[i]);
	sim_enc_list_end(e);
	header(e, in);
	sim_enc_bool(e, "contain_lights", n > 0);
	return 0;
}
