/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming vehicle states: see map_in.h. A report of only a part sets only that part. */
#include "can_info.h"
#include "map_in_private.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Gear.h"
#include "sim/msg/VehicleMode.h"
#include "sim/msg/VehicleOdometry.h"

/* ---- SVL ---- */

MAP_IN(lgsvl_msgs, CanBusData, CanBus)
{
	int8_t gear;

	START(CanBus);
	map_in_header(d, to);
	m->speed = map_in_f32(d, "speed_mps");
	m->throttle = map_in_f32(d, "throttle_pct");
	m->braking = map_in_f32(d, "brake_pct");
	m->steering = -map_in_f32(d, "steer_pct"); /* in their message positive is right */
	m->parking_brake = sim_dec_bool(d, "parking_brake_active");
	m->high_beam = sim_dec_bool(d, "high_beams_active");
	m->low_beam = sim_dec_bool(d, "low_beams_active");
	m->hazard_lights = sim_dec_bool(d, "hazard_lights_active");
	m->fog_lights = sim_dec_bool(d, "fog_lights_active");
	m->left_turn_signal = sim_dec_bool(d, "left_turn_signal_active");
	m->right_turn_signal = sim_dec_bool(d, "right_turn_signal_active");
	m->wipers = sim_dec_bool(d, "wipers_active");
	m->in_reverse = sim_dec_bool(d, "reverse_gear_active");
	gear = sim_dec_i8(d, "selected_gear");
	if (gear < 0 || gear > SIM_GEAR_LOW)
		sim_dec_fail(d, -ERANGE);
	m->gear = (uint8_t)gear; /* both enums have the same values */
	m->engine_on = sim_dec_bool(d, "engine_active");
	m->engine_rpm = map_in_f32(d, "engine_rpm");
	m->latitude = map_in_f64(d, "gps_latitude");
	m->longitude = map_in_f64(d, "gps_longitude");
	m->altitude = map_in_f64(d, "gps_altitude");
	m->orientation = map_in_quaternion(d, "orientation");
	m->velocity = map_in_vector(d, "linear_velocities");
	return map_in_finish(&builder, to);
}

MAP_IN(lgsvl_msgs, VehicleOdometry, VehicleOdometry)
{
	START(VehicleOdometry);
	map_in_header(d, to);
	m->speed = map_in_f32(d, "velocity");
	m->front_wheel_angle = -map_in_f32(d, "front_wheel_angle"); /* in their message positive is right */
	m->rear_wheel_angle = -map_in_f32(d, "rear_wheel_angle");
	return map_in_finish(&builder, to);
}

/* ---- Autoware ---- */

/* Without an orientation the velocity is in the vehicle's axes, by convention. */
MAP_IN(autoware_vehicle_msgs, VelocityReport, CanBus)
{
	START(CanBus);
	map_in_header(d, to);
	m->speed = map_in_f32(d, "longitudinal_velocity");
	m->velocity = (struct sim_Vector3){ .x = (double)m->speed, .y = (double)map_in_f32(d, "lateral_velocity") };
	m->yaw_rate = map_in_f32(d, "heading_rate");
	return map_in_finish(&builder, to);
}

MAP_IN(autoware_vehicle_msgs, VelocityReport, VehicleOdometry)
{
	START(VehicleOdometry);
	map_in_header(d, to);
	m->speed = map_in_f32(d, "longitudinal_velocity");
	map_in_f32(d, "lateral_velocity"); /* not measured by wheels */
	m->yaw_rate = map_in_f32(d, "heading_rate");
	return map_in_finish(&builder, to);
}

MAP_IN(autoware_vehicle_msgs, SteeringReport, CanBus)
{
	START(CanBus);
	map_in_stamp(d, "stamp", to);
	m->steering_angle = map_in_f32(d, "steering_tire_angle");
	return map_in_finish(&builder, to);
}

MAP_IN(autoware_vehicle_msgs, SteeringReport, VehicleOdometry)
{
	START(VehicleOdometry);
	map_in_stamp(d, "stamp", to);
	m->front_wheel_angle = map_in_f32(d, "steering_tire_angle");
	return map_in_finish(&builder, to);
}

/* NO_COMMAND and NOT_READY both become manual. */
MAP_IN(autoware_vehicle_msgs, ControlModeReport, CanBus)
{
	static const uint8_t modes[] = { SIM_VEHICLE_MODE_MANUAL,     SIM_VEHICLE_MODE_AUTO,
					 SIM_VEHICLE_MODE_AUTO_STEER, SIM_VEHICLE_MODE_AUTO_SPEED,
					 SIM_VEHICLE_MODE_MANUAL,     SIM_VEHICLE_MODE_EMERGENCY,
					 SIM_VEHICLE_MODE_MANUAL };
	uint8_t mode;

	START(CanBus);
	map_in_stamp(d, "stamp", to);
	mode = sim_dec_u8(d, "mode");
	if (mode >= sizeof(modes))
		return -ERANGE;
	m->mode = modes[mode];
	return map_in_finish(&builder, to);
}

/* The same values as in GearCommand. */
MAP_IN(autoware_vehicle_msgs, GearReport, CanBus)
{
	uint8_t gear;

	START(CanBus);
	map_in_stamp(d, "stamp", to);
	gear = sim_dec_u8(d, "report");
	if (gear > 24)
		return -ERANGE;
	m->gear = gear ? map_in_autoware_gear(gear) : SIM_GEAR_NONE;
	m->in_reverse = m->gear == SIM_GEAR_REVERSE;
	return map_in_finish(&builder, to);
}

MAP_IN(autoware_vehicle_msgs, TurnIndicatorsReport, CanBus)
{
	uint8_t v;

	START(CanBus);
	map_in_stamp(d, "stamp", to);
	v = sim_dec_u8(d, "report");
	m->left_turn_signal = v == 2;
	m->right_turn_signal = v == 3;
	return v > 3 ? -ERANGE : map_in_finish(&builder, to);
}

MAP_IN(autoware_vehicle_msgs, HazardLightsReport, CanBus)
{
	uint8_t v;

	START(CanBus);
	map_in_stamp(d, "stamp", to);
	v = sim_dec_u8(d, "report");
	m->hazard_lights = v == 2;
	return v > 2 ? -ERANGE : map_in_finish(&builder, to);
}

/* ---- Autoware.AI ---- */

static uint8_t ai_mode(int32_t drive, int32_t steer)
{
	return drive && steer ? SIM_VEHICLE_MODE_AUTO
	       : drive        ? SIM_VEHICLE_MODE_AUTO_SPEED
	       : steer        ? SIM_VEHICLE_MODE_AUTO_STEER
			      : SIM_VEHICLE_MODE_MANUAL;
}

static void ai_gear(struct sim_dec *d, struct sim_CanBus *m)
{
	static const uint8_t gears[] = { SIM_GEAR_NONE,    SIM_GEAR_PARKING, SIM_GEAR_REVERSE,
					 SIM_GEAR_NEUTRAL, SIM_GEAR_DRIVE,   SIM_GEAR_LOW };
	uint8_t gear;

	sim_dec_begin(d, "current_gear");
	gear = sim_dec_u8(d, "gear");
	sim_dec_end(d);
	if (gear >= sizeof(gears))
		sim_dec_fail(d, -ERANGE);
	else
		m->gear = gears[gear];
	m->in_reverse = m->gear == SIM_GEAR_REVERSE;
}

MAP_IN(autoware_msgs, VehicleStatus, CanBus)
{
	int32_t drive, lamp;
	size_t len;

	START(CanBus);
	map_in_header(d, to);
	sim_dec_string(d, "tm", 255, &len);
	drive = sim_dec_i32(d, "drivemode");
	m->mode = ai_mode(drive, sim_dec_i32(d, "steeringmode"));
	ai_gear(d, m);
	m->speed = (float)(map_in_f64(d, "speed") / 3.6); /* km/h */
	m->throttle = (float)sim_dec_i32(d, "drivepedal") / 100;
	m->braking = (float)sim_dec_i32(d, "brakepedal") / 100;
	m->steering_angle = (float)map_in_f64(d, "angle");
	lamp = sim_dec_i32(d, "lamp");
	m->hazard_lights = lamp == 3;
	m->left_turn_signal = lamp == 1;
	m->right_turn_signal = lamp == 2;
	m->low_beam = sim_dec_i32(d, "light") != 0;
	return map_in_finish(&builder, to);
}

static uint8_t can_info_gear(int32_t shift)
{
	return shift == CAN_INFO_DRIVE     ? SIM_GEAR_DRIVE
	       : shift == CAN_INFO_NEUTRAL ? SIM_GEAR_NEUTRAL
	       : shift == CAN_INFO_REVERSE ? SIM_GEAR_REVERSE
	       : shift == CAN_INFO_PARKING ? SIM_GEAR_PARKING
					   : SIM_GEAR_NONE;
}

/* Pedals and angle are ignored: their units are specific to the sending vehicle. */
MAP_IN(autoware_can_msgs, CANInfo, CanBus)
{
	struct can_info v;
	size_t len;

	START(CanBus);
	map_in_header(d, to);
	sim_dec_string(d, "tm", 255, &len);
#define I(name) v.name = sim_dec_i32(d, #name);
#define F(name) v.name = map_in_f64(d, #name);
	CAN_INFO_FIELDS(I, F)
#undef I
#undef F
	m->mode = ai_mode(v.devmode, v.strmode);
	m->gear = can_info_gear(v.driveshift);
	m->in_reverse = m->gear == SIM_GEAR_REVERSE;
	m->speed = (float)(v.speed / (m->in_reverse ? -3.6 : 3.6)); /* km/h along the gear */
	m->low_beam = v.light != 0;
	return map_in_finish(&builder, to);
}
