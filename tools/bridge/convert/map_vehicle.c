/* SPDX-License-Identifier: Apache-2.0 */
/* The vehicle's state, for users of SVL and Autoware. See map.h. */
#include <math.h>

#include "can_info.h"
#include "map_private.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Gear.h"
#include "sim/msg/VehicleMode.h"
#include "sim/msg/VehicleOdometry.h"

/* values of Autoware */
enum { GEAR_NONE = 0, GEAR_NEUTRAL = 1, GEAR_DRIVE = 2, GEAR_REVERSE = 20, GEAR_PARK = 22, GEAR_LOW = 23 };
enum { MODE_AUTONOMOUS = 1, MODE_STEER_ONLY = 2, MODE_VELOCITY_ONLY = 3, MODE_MANUAL = 4, MODE_DISENGAGED = 5 };
enum { DISABLE = 1, ENABLE = 2, ENABLE_LEFT = 2, ENABLE_RIGHT = 3 };

static int8_t lgsvl_gear(uint8_t gear)
{
	return gear <= SIM_GEAR_LOW ? (int8_t)gear : 0; /* both enums have the same values; unknown becomes neutral */
}

static void can_bus_lamps(struct sim_enc *e, const struct sim_CanBus *m)
{
	sim_enc_bool(e, "parking_brake_active", m->parking_brake);
	sim_enc_bool(e, "high_beams_active", m->high_beam);
	sim_enc_bool(e, "low_beams_active", m->low_beam);
	sim_enc_bool(e, "hazard_lights_active", m->hazard_lights);
	sim_enc_bool(e, "fog_lights_active", m->fog_lights);
	sim_enc_bool(e, "left_turn_signal_active", m->left_turn_signal);
	sim_enc_bool(e, "right_turn_signal_active", m->right_turn_signal);
	sim_enc_bool(e, "wipers_active", m->wipers);
	sim_enc_bool(e, "reverse_gear_active", m->in_reverse);
}

/*
 * SVL reports no brake, beams or turn signals, and only two gears; its velocity is in its engine's axes: south, up,
 * east.
 */
struct sim_CanBus map_svl_can_bus(const struct sim_CanBus *m)
{
	struct sim_CanBus v = *m;

	v.parking_brake = v.high_beam = v.low_beam = v.left_turn_signal = v.right_turn_signal = false;
	v.gear = m->in_reverse ? SIM_GEAR_REVERSE : SIM_GEAR_DRIVE;
	v.velocity = (struct sim_Vector3){ .x = -m->velocity.y, .y = m->velocity.z, .z = m->velocity.x };
	return v;
}

MAP(CanBus, lgsvl_msgs, CanBusData)
{
	struct sim_CanBus svl;

	if (map_is_svl(in)) {
		svl = map_svl_can_bus(m);
		m = &svl;
	}
	map_header(e, in);
	sim_enc_f32(e, "speed_mps", m->speed);
	sim_enc_f32(e, "throttle_pct", m->throttle);
	sim_enc_f32(e, "brake_pct", m->braking);
	sim_enc_f32(e, "steer_pct", -m->steering); /* in their message positive is right */
	can_bus_lamps(e, m);
	sim_enc_i8(e, "selected_gear", lgsvl_gear(m->gear));
	sim_enc_bool(e, "engine_active", m->engine_on);
	sim_enc_f32(e, "engine_rpm", m->engine_rpm);
	sim_enc_f64(e, "gps_latitude", m->latitude);
	sim_enc_f64(e, "gps_longitude", m->longitude);
	sim_enc_f64(e, "gps_altitude", m->altitude);
	map_quaternion(e, "orientation", &m->orientation);
	map_vector(e, "linear_velocities", &m->velocity);
	return 0;
}

MAP(VehicleOdometry, lgsvl_msgs, VehicleOdometry)
{
	map_header(e, in);
	sim_enc_f32(e, "velocity", m->speed);
	sim_enc_f32(e, "front_wheel_angle", -m->front_wheel_angle); /* in their message positive is right */
	sim_enc_f32(e, "rear_wheel_angle", -m->rear_wheel_angle);
	return 0;
}

/* ---- Autoware ---- */

static void velocity_report(const struct map_message *in, struct sim_enc *e, float longitudinal, float lateral,
			    float yaw_rate)
{
	map_header(e, in);
	sim_enc_f32(e, "longitudinal_velocity", longitudinal);
	sim_enc_f32(e, "lateral_velocity", lateral);
	sim_enc_f32(e, "heading_rate", yaw_rate);
}

MAP(CanBus, autoware_vehicle_msgs, VelocityReport)
{
	velocity_report(in, e, m->speed, (float)map_to_body(&m->orientation, &m->velocity).y, m->yaw_rate);
	return 0;
}

MAP(VehicleOdometry, autoware_vehicle_msgs, VelocityReport)
{
	velocity_report(in, e, m->speed, 0, m->yaw_rate);
	return 0;
}

static int steering_report(const struct map_message *in, struct sim_enc *e, float angle)
{
	sim_enc_time(e, "stamp", in->header.stamp_sim_ns);
	sim_enc_f32(e, "steering_tire_angle", angle);
	return 0;
}

MAP(CanBus, autoware_vehicle_msgs, SteeringReport)
{
	return steering_report(in, e, m->steering_angle);
}

MAP(VehicleOdometry, autoware_vehicle_msgs, SteeringReport)
{
	return steering_report(in, e, m->front_wheel_angle);
}

static int report(const struct map_message *in, struct sim_enc *e, const char *name, uint8_t v)
{
	sim_enc_time(e, "stamp", in->header.stamp_sim_ns);
	sim_enc_u8(e, name, v);
	return 0;
}

MAP(CanBus, autoware_vehicle_msgs, ControlModeReport)
{
	static const uint8_t modes[] = {
		[SIM_VEHICLE_MODE_MANUAL] = MODE_MANUAL,         [SIM_VEHICLE_MODE_AUTO] = MODE_AUTONOMOUS,
		[SIM_VEHICLE_MODE_AUTO_STEER] = MODE_STEER_ONLY, [SIM_VEHICLE_MODE_AUTO_SPEED] = MODE_VELOCITY_ONLY,
		[SIM_VEHICLE_MODE_EMERGENCY] = MODE_DISENGAGED,
	};
	uint8_t mode = m->mode;

	return report(in, e, "mode", mode < sizeof(modes) ? modes[mode] : MODE_MANUAL);
}

MAP(CanBus, autoware_vehicle_msgs, GearReport)
{
	static const uint8_t gears[] = {
		[SIM_GEAR_NEUTRAL] = GEAR_NEUTRAL, [SIM_GEAR_DRIVE] = GEAR_DRIVE, [SIM_GEAR_REVERSE] = GEAR_REVERSE,
		[SIM_GEAR_PARKING] = GEAR_PARK,    [SIM_GEAR_LOW] = GEAR_LOW,
	};
	uint8_t gear = m->gear;

	return report(in, e, "report", gear < sizeof(gears) ? gears[gear] : GEAR_NONE);
}

MAP(CanBus, autoware_vehicle_msgs, TurnIndicatorsReport)
{
	bool left = m && m->left_turn_signal, right = m && m->right_turn_signal;

	/* both together are the hazard lights, which have a separate report */
	return report(in, e, "report", left == right ? DISABLE : left ? ENABLE_LEFT : ENABLE_RIGHT);
}

MAP(CanBus, autoware_vehicle_msgs, HazardLightsReport)
{
	return report(in, e, "report", m->hazard_lights ? ENABLE : DISABLE);
}

/* ---- Autoware.AI ---- */

enum { AI_GEAR_NONE, AI_GEAR_PARK, AI_GEAR_REVERSE, AI_GEAR_NEUTRAL, AI_GEAR_DRIVE, AI_GEAR_LOW };
enum { AI_LAMP_LEFT = 1, AI_LAMP_RIGHT = 2, AI_LAMP_HAZARD = 3 };

static int32_t ai_lamp(const struct sim_CanBus *m)
{
	return m->hazard_lights       ? AI_LAMP_HAZARD
	       : m->left_turn_signal  ? AI_LAMP_LEFT
	       : m->right_turn_signal ? AI_LAMP_RIGHT
				      : 0;
}

/* In whole percent, clamped to 0 to 100; NaN is 0. */
static int32_t percent(float share)
{
	return share > 0 ? (int32_t)((share < 1 ? share : 1) * 100) : 0;
}

static int32_t ai_drives(const struct sim_CanBus *m)
{
	return m->mode == SIM_VEHICLE_MODE_AUTO || m->mode == SIM_VEHICLE_MODE_AUTO_SPEED;
}

static int32_t ai_steers(const struct sim_CanBus *m)
{
	return m->mode == SIM_VEHICLE_MODE_AUTO || m->mode == SIM_VEHICLE_MODE_AUTO_STEER;
}

MAP(CanBus, autoware_msgs, VehicleStatus)
{
	static const uint8_t gears[] = {
		[SIM_GEAR_NEUTRAL] = AI_GEAR_NEUTRAL, [SIM_GEAR_DRIVE] = AI_GEAR_DRIVE,
		[SIM_GEAR_REVERSE] = AI_GEAR_REVERSE, [SIM_GEAR_PARKING] = AI_GEAR_PARK,
		[SIM_GEAR_LOW] = AI_GEAR_LOW,
	};
	uint8_t gear = m->gear;

	map_header(e, in);
	sim_enc_text(e, "tm", "");
	sim_enc_i32(e, "drivemode", ai_drives(m));
	sim_enc_i32(e, "steeringmode", ai_steers(m));
	sim_enc_begin(e, "current_gear");
	sim_enc_u8(e, "gear", gear < sizeof(gears) ? gears[gear] : AI_GEAR_NONE);
	sim_enc_end(e);
	sim_enc_f64(e, "speed", (double)m->speed * 3.6); /* km/h */
	sim_enc_i32(e, "drivepedal", percent(m->throttle));
	sim_enc_i32(e, "brakepedal", percent(m->braking));
	sim_enc_f64(e, "angle", (double)m->steering_angle);
	sim_enc_i32(e, "lamp", ai_lamp(m));
	sim_enc_i32(e, "light", m->low_beam || m->high_beam);
	return 0;
}

/*
 * The fields that Autoware.AI reads (can_status_translator; op_planner speed and angle): km/h along the gear, and
 * degrees of the steering wheel, whose full lock is a parameter of the reader. We have no steering wheel, so the angle
 * is that of the front wheels. can_status_translator copies the pedals to VehicleStatus.
 */
MAP(CanBus, autoware_can_msgs, CANInfo)
{
	static const uint8_t shifts[] = {
		[SIM_GEAR_NEUTRAL] = CAN_INFO_NEUTRAL, [SIM_GEAR_DRIVE] = CAN_INFO_DRIVE,
		[SIM_GEAR_REVERSE] = CAN_INFO_REVERSE, [SIM_GEAR_PARKING] = CAN_INFO_PARKING,
		[SIM_GEAR_LOW] = CAN_INFO_DRIVE,
	};
	uint8_t gear = m->gear;
	const struct can_info v = { .devmode = ai_drives(m),
				    .strmode = ai_steers(m),
				    .drivepedal = percent(m->throttle),
				    .brakepedal = percent(m->braking),
				    .driveshift = gear < sizeof(shifts) ? shifts[gear] : 0,
				    .speed = (double)m->speed * (gear == SIM_GEAR_REVERSE ? -3.6 : 3.6),
				    .angle = (double)m->steering_angle * 180 / M_PI,
				    .light = m->low_beam || m->high_beam };

	map_header(e, in);
	sim_enc_text(e, "tm", "");
#define I(name) sim_enc_i32(e, #name, v.name);
#define F(name) sim_enc_f64(e, #name, v.name);
	CAN_INFO_FIELDS(I, F)
#undef I
#undef F
	return 0;
}
