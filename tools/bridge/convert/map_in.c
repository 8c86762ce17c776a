/* SPDX-License-Identifier: Apache-2.0 */
/* Incoming commands, and the table of all incoming messages: see map_in.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "sim/msg/EmergencyCommand.h"
#include "sim/msg/EngageCommand.h"
#include "sim/msg/Gear.h"
#include "sim/msg/GearCommand.h"
#include "sim/msg/HazardCommand.h"
#include "sim/msg/Turn.h"
#include "sim/msg/TurnCommand.h"
#include "sim/msg/VehicleControl.h"
#include "sim/msg/VehicleMode.h"
#include "sim/msg/VehicleState.h"
#include "dec_watch.h"
#include "map.h"
#include "map_in_private.h"

/* ---- Autoware ---- */

/* Sets an optional field. Fields that the sender has not defined stay 0, without their bit. */
static void set(struct sim_VehicleControl *m, float *field, float v, uint32_t bit)
{
	*field = v;
	m->present |= bit;
}

static void lateral(struct sim_dec *d, struct sim_VehicleControl *m)
{
	float rate;

	sim_dec_begin(d, "lateral");
	sim_dec_time(d, "stamp");
	sim_dec_time(d, "control_time");
	m->steer_angle = sim_dec_f32(d, "steering_tire_angle");
	m->present |= SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE;
	rate = sim_dec_f32(d, "steering_tire_rotation_rate");
	if (sim_dec_bool(d, "is_defined_steering_tire_rotation_rate"))
		set(m, &m->steer_angular_velocity, rate, SIM_VEHICLE_CONTROL_HAS_STEER_ANGULAR_VELOCITY);
	sim_dec_end(d);
}

static void longitudinal(struct sim_dec *d, struct sim_VehicleControl *m)
{
	float acceleration, jerk;

	sim_dec_begin(d, "longitudinal");
	sim_dec_time(d, "stamp");
	sim_dec_time(d, "control_time");
	m->velocity = sim_dec_f32(d, "velocity");
	m->present |= SIM_VEHICLE_CONTROL_HAS_VELOCITY;
	acceleration = sim_dec_f32(d, "acceleration");
	jerk = sim_dec_f32(d, "jerk");
	if (sim_dec_bool(d, "is_defined_acceleration"))
		set(m, &m->target_acceleration, acceleration, SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION);
	if (sim_dec_bool(d, "is_defined_jerk"))
		set(m, &m->jerk, jerk, SIM_VEHICLE_CONTROL_HAS_JERK);
	sim_dec_end(d);
}

static int read_control(struct sim_dec *d, struct message_in *to)
{
	START(VehicleControl);

	m->stamp = map_in_stamp(d, "stamp", to);
	m->present = SIM_VEHICLE_CONTROL_HAS_STAMP;
	sim_dec_time(d, "control_time");
	lateral(d, m);
	longitudinal(d, m);
	return map_in_finish(&builder, to);
}

uint8_t map_in_autoware_gear(uint8_t gear)
{
	return gear == 1    ? SIM_GEAR_NEUTRAL
	       : gear <= 19 ? SIM_GEAR_DRIVE
	       : gear <= 21 ? SIM_GEAR_REVERSE
	       : gear == 22 ? SIM_GEAR_PARKING
			    : SIM_GEAR_LOW;
}

static int read_gear(struct sim_dec *d, struct message_in *to)
{
	uint8_t gear;

	START(GearCommand);
	m->stamp = map_in_stamp(d, "stamp", to);
	gear = sim_dec_u8(d, "command");
	if (gear == 0)
		return 1;
	m->gear = map_in_autoware_gear(gear);
	return gear > 24 ? -ERANGE : map_in_finish(&builder, to);
}

static int read_turn(struct sim_dec *d, struct message_in *to)
{
	static const uint8_t turns[] = { 0, SIM_TURN_OFF, SIM_TURN_LEFT, SIM_TURN_RIGHT };
	uint8_t v;

	START(TurnCommand);
	m->stamp = map_in_stamp(d, "stamp", to);
	v = sim_dec_u8(d, "command");
	if (v >= sizeof(turns))
		return -ERANGE;
	m->turn = turns[v];
	return v == 0 ? 1 : map_in_finish(&builder, to);
}

static int read_hazard(struct sim_dec *d, struct message_in *to)
{
	uint8_t v;

	START(HazardCommand);
	m->stamp = map_in_stamp(d, "stamp", to);
	v = sim_dec_u8(d, "command");
	m->on = v == 2;
	return v > 2 ? -ERANGE : v == 0 ? 1 : map_in_finish(&builder, to);
}

static int read_emergency(struct sim_dec *d, struct message_in *to)
{
	START(EmergencyCommand);
	m->stamp = map_in_stamp(d, "stamp", to);
	m->emergency = sim_dec_bool(d, "emergency");
	return map_in_finish(&builder, to);
}

static int read_engage(struct sim_dec *d, struct message_in *to)
{
	START(EngageCommand);
	m->stamp = map_in_stamp(d, "stamp", to);
	m->engage = sim_dec_bool(d, "engage");
	return map_in_finish(&builder, to);
}

/* ---- Autoware.AI ---- */

/* Skips a command in units specific to one vehicle, with its own header. */
static void skip_command(struct sim_dec *d, const char *name, const char *value)
{
	sim_dec_begin(d, name);
	sim_dec_header(d, "header");
	sim_dec_i32(d, value);
	sim_dec_end(d);
}

static struct sim_Twist read_linear_angular(struct sim_dec *d)
{
	struct sim_Twist t;

	t.linear = map_in_finite(d, "linear");
	t.angular = map_in_finite(d, "angular");
	return t;
}

static struct sim_Twist read_twist(struct sim_dec *d)
{
	struct sim_Twist t;

	sim_dec_begin(d, "twist_cmd");
	sim_dec_header(d, "header");
	sim_dec_begin(d, "twist");
	t = read_linear_angular(d);
	sim_dec_end(d);
	sim_dec_end(d);
	return t;
}

static void drive_by_twist(struct sim_VehicleControl *m, const struct sim_Twist *t)
{
	m->present &= ~SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE;
	set(m, &m->velocity, (float)t->linear.x, SIM_VEHICLE_CONTROL_HAS_VELOCITY);
	set(m, &m->yaw_rate, (float)t->angular.z, SIM_VEHICLE_CONTROL_HAS_YAW_RATE);
}

/* Contents of an autoware_msgs/VehicleCmd, without the pedals and steer_cmd. */
struct vehicle_cmd {
	int64_t stamp_sim_ns;
	uint8_t gear; /* of autoware_msgs/Gear */
	bool left, right, emergency;
	struct sim_Twist twist;
	float velocity, acceleration, steering_angle;
};

enum { AI_GEAR_REVERSE = 2, AI_GEAR_LOW = 5 };

static uint8_t read_ai_gear(struct sim_dec *d)
{
	uint8_t gear;

	sim_dec_begin(d, "gear_cmd");
	gear = sim_dec_u8(d, "gear");
	sim_dec_end(d);
	if (gear > AI_GEAR_LOW)
		sim_dec_fail(d, -ERANGE);
	return gear;
}

static void read_lamps(struct sim_dec *d, struct vehicle_cmd *c)
{
	sim_dec_begin(d, "lamp_cmd");
	sim_dec_header(d, "header");
	c->left = sim_dec_i32(d, "l");
	c->right = sim_dec_i32(d, "r");
	sim_dec_end(d);
}

static struct vehicle_cmd read_vehicle_cmd(struct sim_dec *d, struct message_in *to)
{
	struct vehicle_cmd c = { .stamp_sim_ns = map_in_header(d, to) };

	skip_command(d, "steer_cmd", "steer");
	skip_command(d, "accel_cmd", "accel");
	skip_command(d, "brake_cmd", "brake");
	read_lamps(d, &c);
	c.gear = read_ai_gear(d);
	sim_dec_i32(d, "mode");
	c.twist = read_twist(d);
	sim_dec_begin(d, "ctrl_cmd");
	c.velocity = (float)sim_dec_f64(d, "linear_velocity");
	c.acceleration = (float)sim_dec_f64(d, "linear_acceleration");
	c.steering_angle = (float)sim_dec_f64(d, "steering_angle");
	sim_dec_end(d);
	c.emergency = sim_dec_i32(d, "emergency");
	return c;
}

/*
 * In manual mode Autoware.AI's twist_gate cancels ctrl_cmd with a speed of -1 m/s, straight ahead, and leaves the old
 * acceleration; its twist_cmd may go on. Such a ctrl_cmd is ignored.
 */
static void drop_taken_back(struct vehicle_cmd *c)
{
	if (c->velocity == -1 && c->steering_angle == 0 && c->gear != AI_GEAR_REVERSE)
		c->velocity = c->acceleration = 0;
}

static void set_ai_gear(struct sim_VehicleControl *m, uint8_t gear)
{
	static const uint8_t gears[] = {
		0, SIM_GEAR_PARKING, SIM_GEAR_REVERSE, SIM_GEAR_NEUTRAL, SIM_GEAR_DRIVE, SIM_GEAR_LOW
	};

	if (gear == 0 || gear > AI_GEAR_LOW)
		return;
	m->target_gear = gears[gear];
	m->present |= SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
}

/*
 * Uses ctrl_cmd, or twist_cmd if only that is filled in. An acceleration of 0 counts as not set: the target speed
 * decides.
 */
static int read_vehicle_cmd_control(struct sim_dec *d, struct message_in *to)
{
	struct vehicle_cmd c = read_vehicle_cmd(d, to);

	START(VehicleControl);
	drop_taken_back(&c);
	m->stamp = c.stamp_sim_ns;
	m->present = SIM_VEHICLE_CONTROL_HAS_STAMP;
	set_ai_gear(m, c.gear);
	set(m, &m->velocity, c.velocity, SIM_VEHICLE_CONTROL_HAS_VELOCITY);
	set(m, &m->steer_angle, c.steering_angle, SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE);
	if (c.velocity == 0 && c.acceleration == 0 && c.steering_angle == 0 &&
	    (c.twist.linear.x != 0 || c.twist.angular.z != 0))
		drive_by_twist(m, &c.twist);
	if (c.emergency) {
		m->velocity = 0;
		set(m, &m->braking, 1, SIM_VEHICLE_CONTROL_HAS_BRAKING);
	} else if (c.acceleration < 0 || c.acceleration > 0) {
		set(m, &m->target_acceleration, c.acceleration, SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION);
	}
	return map_in_finish(&builder, to);
}

/* Both lamps together are the hazard lights, which are a separate command. */
static int read_vehicle_cmd_turn(struct sim_dec *d, struct message_in *to)
{
	struct vehicle_cmd c = read_vehicle_cmd(d, to);

	START(TurnCommand);
	m->stamp = c.stamp_sim_ns;
	m->turn = c.left == c.right ? SIM_TURN_OFF : c.left ? SIM_TURN_LEFT : SIM_TURN_RIGHT;
	return map_in_finish(&builder, to);
}

static int read_vehicle_cmd_hazard(struct sim_dec *d, struct message_in *to)
{
	struct vehicle_cmd c = read_vehicle_cmd(d, to);

	START(HazardCommand);
	m->stamp = c.stamp_sim_ns;
	m->on = c.left && c.right;
	return map_in_finish(&builder, to);
}

/* ---- robots: Nav2, teleop ---- */

/* For senders that have no gears. */
static void gear_by_velocity(struct sim_VehicleControl *m)
{
	m->target_gear = m->velocity < 0 ? SIM_GEAR_REVERSE : SIM_GEAR_DRIVE;
	m->present |= SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
}

static void take_twist(struct sim_dec *d, struct sim_VehicleControl *m)
{
	struct sim_Twist t = read_linear_angular(d);

	drive_by_twist(m, &t);
	gear_by_velocity(m);
}

static int read_robot_twist(struct sim_dec *d, struct message_in *to)
{
	START(VehicleControl);
	message_in_clear(to);
	take_twist(d, m);
	return map_in_finish(&builder, to);
}

static int read_robot_twist_stamped(struct sim_dec *d, struct message_in *to)
{
	START(VehicleControl);
	m->stamp = map_in_header(d, to);
	m->present = SIM_VEHICLE_CONTROL_HAS_STAMP;
	sim_dec_begin(d, "twist");
	take_twist(d, m);
	sim_dec_end(d);
	return map_in_finish(&builder, to);
}

/*
 * A steering_angle_velocity of 0 means as fast as possible. Acceleration and jerk, which limit the change of speed, are
 * ignored: the vehicle has its own limits.
 */
static void take_ackermann(struct sim_dec *d, struct sim_VehicleControl *m)
{
	float rate;

	set(m, &m->steer_angle, sim_dec_f32(d, "steering_angle"), SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE);
	rate = sim_dec_f32(d, "steering_angle_velocity");
	if (rate < 0 || rate > 0)
		set(m, &m->steer_angular_velocity, rate, SIM_VEHICLE_CONTROL_HAS_STEER_ANGULAR_VELOCITY);
	set(m, &m->velocity, sim_dec_f32(d, "speed"), SIM_VEHICLE_CONTROL_HAS_VELOCITY);
	sim_dec_f32(d, "acceleration");
	sim_dec_f32(d, "jerk");
	gear_by_velocity(m);
}

static int read_ackermann(struct sim_dec *d, struct message_in *to)
{
	START(VehicleControl);
	message_in_clear(to);
	take_ackermann(d, m);
	return map_in_finish(&builder, to);
}

static int read_ackermann_stamped(struct sim_dec *d, struct message_in *to)
{
	START(VehicleControl);
	m->stamp = map_in_header(d, to);
	m->present = SIM_VEHICLE_CONTROL_HAS_STAMP;
	sim_dec_begin(d, "drive");
	take_ackermann(d, m);
	sim_dec_end(d);
	return map_in_finish(&builder, to);
}

/* ---- SVL ---- */

static float share(struct sim_dec *d, const char *name)
{
	float v = sim_dec_f32(d, name);

	if (v < 0 || v > 1)
		sim_dec_fail(d, -ERANGE);
	return v;
}

static uint8_t at_most(struct sim_dec *d, const char *name, uint8_t max)
{
	uint8_t v = sim_dec_u8(d, name);

	if (v > max)
		sim_dec_fail(d, -ERANGE);
	return v;
}

static int read_lgsvl_control(struct sim_dec *d, struct message_in *to)
{
	START(VehicleControl);
	m->stamp = map_in_header(d, to);
	m->acceleration = share(d, "acceleration_pct");
	m->braking = share(d, "braking_pct");
	m->steer_angle = -sim_dec_f32(d, "target_wheel_angle"); /* in their message positive is right */
	m->steer_angular_velocity = -sim_dec_f32(d, "target_wheel_angular_rate");
	m->target_gear = at_most(d, "target_gear", SIM_GEAR_LOW);
	m->present = SIM_VEHICLE_CONTROL_HAS_STAMP | SIM_VEHICLE_CONTROL_HAS_ACCELERATION |
		     SIM_VEHICLE_CONTROL_HAS_BRAKING | SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE |
		     SIM_VEHICLE_CONTROL_HAS_STEER_ANGULAR_VELOCITY | SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
	return map_in_finish(&builder, to);
}

static int read_lgsvl_state(struct sim_dec *d, struct message_in *to)
{
	START(VehicleState);
	m->stamp = map_in_header(d, to);
	m->blinker = at_most(d, "blinker_state", SIM_TURN_HAZARD);
	m->headlight = at_most(d, "headlight_state", SIM_VEHICLE_STATE_HEADLIGHT_HIGH);
	m->wiper = at_most(d, "wiper_state", SIM_VEHICLE_STATE_WIPER_HIGH);
	m->gear = at_most(d, "current_gear", SIM_GEAR_LOW);
	m->mode = at_most(d, "vehicle_mode", SIM_VEHICLE_MODE_EMERGENCY);
	m->hand_brake = sim_dec_bool(d, "hand_brake_active");
	m->horn = sim_dec_bool(d, "horn_active");
	m->autonomous = sim_dec_bool(d, "autonomous_mode_active");
	return map_in_finish(&builder, to);
}

/* ---- Apollo ---- */

/* Reads a percentage from `least` to 100 as a fraction; a field that the sender left out stays unset. */
static void percent(struct sim_dec *d, const char *name, float least, struct sim_VehicleControl *m, float *field,
		    uint32_t bit)
{
	bool has = sim_dec_has(d, name);
	double v = sim_dec_f64(d, name);

	if (v < (double)least || v > 100)
		sim_dec_fail(d, -ERANGE);
	if (has)
		set(m, field, (float)(v / 100), bit);
}

static int read_apollo_control(struct sim_dec *d, struct message_in *to)
{
	int64_t stamp_sim_ns;
	bool has_gear;
	double rate;
	int32_t gear;

	START(VehicleControl);
	stamp_sim_ns = map_in_apollo_header(d, to);
	if (stamp_sim_ns != MESSAGE_IN_NO_STAMP) {
		m->stamp = stamp_sim_ns;
		m->present |= SIM_VEHICLE_CONTROL_HAS_STAMP;
	}
	percent(d, "throttle", 0, m, &m->acceleration, SIM_VEHICLE_CONTROL_HAS_ACCELERATION);
	percent(d, "brake", 0, m, &m->braking, SIM_VEHICLE_CONTROL_HAS_BRAKING);
	rate = sim_dec_f64(d, "steering_rate"); /* percent/s; 0: not set */
	if (rate < 0 || rate > 0)
		set(m, &m->steer_rate, (float)(fabs(rate) / 100), SIM_VEHICLE_CONTROL_HAS_STEER_RATE);
	percent(d, "steering_target", -100, m, &m->steer_target, SIM_VEHICLE_CONTROL_HAS_STEER_TARGET);
	has_gear = sim_dec_has(d, "gear_location");
	gear = sim_dec_i32(d, "gear_location");
	if (gear < 0 || gear > 6)
		return -ERANGE;
	if (has_gear && gear <= SIM_GEAR_LOW) { /* both enums have the same values; above are INVALID and NONE */
		m->target_gear = (uint8_t)gear;
		m->present |= SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
	}
	return map_in_finish(&builder, to);
}

const struct map_in map_in_table[] = {
	{ "autoware_control_msgs/Control", "sim/VehicleControl", read_control },
	{ "autoware_vehicle_msgs/GearCommand", "sim/GearCommand", read_gear },
	{ "autoware_vehicle_msgs/TurnIndicatorsCommand", "sim/TurnCommand", read_turn },
	{ "autoware_vehicle_msgs/HazardLightsCommand", "sim/HazardCommand", read_hazard },
	{ "tier4_vehicle_msgs/VehicleEmergencyStamped", "sim/EmergencyCommand", read_emergency },
	{ "autoware_vehicle_msgs/Engage", "sim/EngageCommand", read_engage },
	{ "autoware_msgs/VehicleCmd", "sim/VehicleControl", read_vehicle_cmd_control },
	{ "autoware_msgs/VehicleCmd", "sim/TurnCommand", read_vehicle_cmd_turn },
	{ "autoware_msgs/VehicleCmd", "sim/HazardCommand", read_vehicle_cmd_hazard },
	{ "geometry_msgs/Twist", "sim/VehicleControl", read_robot_twist },
	{ "geometry_msgs/TwistStamped", "sim/VehicleControl", read_robot_twist_stamped },
	{ "ackermann_msgs/AckermannDrive", "sim/VehicleControl", read_ackermann },
	{ "ackermann_msgs/AckermannDriveStamped", "sim/VehicleControl", read_ackermann_stamped },
	{ "lgsvl_msgs/VehicleControlData", "sim/VehicleControl", read_lgsvl_control },
	{ "pb_msgs/ControlCommand", "sim/VehicleControl", read_apollo_control },
	{ "lgsvl_msgs/VehicleStateData", "sim/VehicleState", read_lgsvl_state },
#define X(package, ros, T) { #package "/" #ros, "sim/" #T, MAP_IN_NAME(package, ros, T) },
	MAPS_IN(X)
#undef X
#define X(name, suffix) { "std_msgs/" #name, "sim/" #name, map_in_##name },
		MAP_IN_STD(X)
#undef X
			{ "std_msgs/String", "sim/String", map_in_String },
	{ NULL, NULL, NULL },
};

const struct map_in *map_in_find_to(const char *ros, const char *sim)
{
	for (const struct map_in *m = map_in_table; m->ros; m++)
		if (map_same_ros(m->ros, ros) && (!sim || strcmp(m->sim, sim) == 0))
			return m;
	return NULL;
}

const struct map_in *map_in_find(const char *ros)
{
	return map_in_find_to(ros, NULL);
}

void message_in_clear(struct message_in *to)
{
	to->size = 0;
	to->stamp_sim_ns = MESSAGE_IN_NO_STAMP;
	to->frame[0] = '\0';
}

int64_t map_in_header(struct sim_dec *d, struct message_in *to)
{
	const char *frame = "";
	size_t len = 0;
	int64_t stamp_sim_ns = d->ops->header(d, "header", &frame, &len);

	dec_watch_note(d, stamp_sim_ns, frame, len, to);
	return stamp_sim_ns;
}

int64_t map_in_stamp(struct sim_dec *d, const char *name, struct message_in *to)
{
	int64_t stamp_sim_ns = sim_dec_time(d, name);

	dec_watch_note(d, stamp_sim_ns, "", 0, to);
	return stamp_sim_ns;
}

int map_in_take(const struct map_in *m, struct sim_dec *d, struct message_in *to)
{
	int r;

	message_in_clear(to);
	r = m->read(d, to);
	if (d->err && (r >= 0 || (r == -ERANGE && d->err == -EBADMSG)))
		r = d->err; /* a malformed message cannot be out of range */
	return r;
}

int map_in_read(const struct map_in *m, enum wire_format format, const void *data, size_t len, struct message_in *to)
{
	struct cdr_reader d;
	int r, e;

	cdr_reader_begin(&d, format, data, len);
	r = map_in_take(m, &d.dec, to);
	e = cdr_reader_end(&d);
	return e < 0 && (r >= 0 || (r == -ERANGE && e == -EBADMSG)) ? e : r;
}

int map_in_clock(enum wire_format format, const void *data, size_t len, int64_t *ret_sim_ns)
{
	struct cdr_reader d;
	int64_t sim_ns;
	int r;

	cdr_reader_begin(&d, format, data, len);
	sim_ns = d.dec.ops->time(&d.dec, "clock", SIM_KIND_TIME);
	r = cdr_reader_end(&d);
	if (r == 0 && sim_ns < 0)
		r = -ERANGE;
	if (r == 0)
		*ret_sim_ns = sim_ns;
	return r;
}
