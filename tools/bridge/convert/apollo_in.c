/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of Apollo to the vehicle. One ControlCommand covers several of our types; each function extracts one of
 * them. See apollo.h.
 */
#include <math.h>
#include <string.h>

#include "apollo_in_private.h"
#include "sim/msg/Gear.h"
#include "sim/msg/GearCommand.h"
#include "sim/msg/HazardCommand.h"
#include "sim/msg/Turn.h"
#include "sim/msg/TurnCommand.h"
#include "sim/msg/VehicleControl.h"
#include "sim/msg/VehicleMode.h"
#include "sim/msg/VehicleState.h"

/* ---- the header ---- */

void apollo_read_header(const struct pb_reader *field, struct apollo_stamp *ret)
{
	struct pb_reader r;

	for (pb_enter(field, &r); pb_next(&r);)
		if (r.field == 1)
			pb_get_f64(&r, &ret->s);
		else if (r.field == 9)
			pb_get_bytes(&r, &ret->frame, &ret->frame_len);
}

int apollo_check_stamp(struct apollo_in *d, const struct apollo_stamp *h, int64_t *ret_ns)
{
	const struct apollo_limits *l = d->limits;
	int64_t ns;

	*ret_ns = 0;
	d->frame = h->frame;
	d->frame_len = h->frame_len;
	if (l->vehicle && h->frame_len &&
	    (h->frame_len != strlen(l->vehicle) || memcmp(h->frame, l->vehicle, h->frame_len) != 0))
		return apollo_drop(d, -EXDEV, "it is for the vehicle %.*s, not for %s", (int)(h->frame_len & 127),
				   (const char *)h->frame, l->vehicle);
	if (!(fabs(h->s) <= APOLLO_STAMP_MAX_S))
		return apollo_drop(d, -ERANGE, "header.timestamp_sec is %g", h->s);
	if (!(h->s < 0 || h->s > 0))
		return 0;
	*ret_ns = d->stamp_ns = ns = apollo_ns(h->s);
	if (!l->max_age_ns)
		return 0;
	if (ns < l->now_sim_ns && l->now_sim_ns - ns > l->max_age_ns)
		return apollo_drop(d, -ETIME, "it is %g s old, and %g s are allowed",
				   apollo_seconds(l->now_sim_ns - ns), apollo_seconds(l->max_age_ns));
	if (ns > l->now_sim_ns && ns - l->now_sim_ns > l->max_age_ns)
		return apollo_drop(d, -ETIME,
				   "its stamp is %g s ahead of simulated time: Apollo needs clock_mode: MODE_MOCK",
				   apollo_seconds(ns - l->now_sim_ns));
	return 0;
}

/* ---- ControlCommand ---- */

struct lights { /* of VehicleSignal, or of the older fields before it existed */
	int32_t turn;
	bool has, has_turn, high_beam, low_beam, horn, emergency;
};

struct command {
	struct apollo_stamp header;
	int64_t stamp_ns;
	double throttle, brake, steering_rate, steering_target, speed, acceleration;
	bool has_throttle, has_brake, has_rate, has_target, has_speed, has_acceleration, has_gear, has_mode;
	bool parking_brake, left, right;
	int32_t gear, mode;
	struct lights lights;
};

static void read_signal(const struct pb_reader *field, struct lights *ret)
{
	struct pb_reader r;

	ret->has = true;
	for (pb_enter(field, &r); pb_next(&r);)
		switch (r.field) {
		case 1:
			ret->has_turn |= pb_get_i32(&r, &ret->turn);
			break;
		case 2:
			pb_get_bool(&r, &ret->high_beam);
			break;
		case 3:
			pb_get_bool(&r, &ret->low_beam);
			break;
		case 4:
			pb_get_bool(&r, &ret->horn);
			break;
		case 5:
			pb_get_bool(&r, &ret->emergency);
			break;
		}
}

/* The fields used before VehicleSignal existed, 11 to 15 and 21. */
static void read_old_signal(const struct pb_reader *r, struct command *c)
{
	struct lights *l = &c->lights;

	switch (r->field) {
	case 11:
		l->has |= pb_get_bool(r, &l->high_beam);
		break;
	case 12:
		l->has |= pb_get_bool(r, &l->low_beam);
		break;
	case 13:
		l->has |= pb_get_bool(r, &c->left);
		break;
	case 14:
		l->has |= pb_get_bool(r, &c->right);
		break;
	case 15:
		l->has |= pb_get_bool(r, &l->horn);
		break;
	case 21:
		l->has_turn |= pb_get_i32(r, &l->turn);
		break;
	}
}

static void read_field(const struct pb_reader *r, struct command *c)
{
	switch (r->field) {
	case 1:
		apollo_read_header(r, &c->header);
		break;
	case 3:
		c->has_throttle |= pb_get_f64(r, &c->throttle);
		break;
	case 4:
		c->has_brake |= pb_get_f64(r, &c->brake);
		break;
	case 6:
		c->has_rate |= pb_get_f64(r, &c->steering_rate);
		break;
	case 7:
		c->has_target |= pb_get_f64(r, &c->steering_target);
		break;
	case 8:
		pb_get_bool(r, &c->parking_brake);
		break;
	case 9:
		c->has_speed |= pb_get_f64(r, &c->speed);
		break;
	case 10:
		c->has_acceleration |= pb_get_f64(r, &c->acceleration);
		break;
	case 19:
		c->has_mode |= pb_get_i32(r, &c->mode);
		break;
	case 20:
		c->has_gear |= pb_get_i32(r, &c->gear);
		break;
	case 23:
		read_signal(r, &c->lights);
		break;
	default:
		read_old_signal(r, c);
	}
}

static int check(struct apollo_in *d, const char *name, bool has, double v, double least, double most)
{
	if (has && !(v >= least && v <= most))
		return apollo_drop(d, -ERANGE, "%s is %g: %g to %g is allowed", name, v, least, most);
	return 0;
}

#define ACCELERATION_MAX 100.0 /* m/s^2 */
#define SPEED_MAX        200.0 /* m/s */
#define RATE_MAX         1e6   /* percent/s */

/* Checks all fields: a command is accepted as a whole or not at all. */
static int read_command(struct apollo_in *d, struct command *c)
{
	struct pb_reader r;
	int e;

	memset(c, 0, sizeof(*c));
	pb_read_begin(&r, d->data, d->len, &d->error);
	while (pb_next(&r))
		read_field(&r, c);
	if (d->error)
		return d->error;
	e = apollo_check_stamp(d, &c->header, &c->stamp_ns);
	if (e == 0)
		e = check(d, "throttle", c->has_throttle, c->throttle, 0, 100);
	if (e == 0)
		e = check(d, "brake", c->has_brake, c->brake, 0, 100);
	if (e == 0)
		e = check(d, "steering_target", c->has_target, c->steering_target, -100, 100);
	if (e == 0)
		e = check(d, "steering_rate", c->has_rate, c->steering_rate, -RATE_MAX, RATE_MAX);
	if (e == 0)
		e = check(d, "speed", c->has_speed, c->speed, -SPEED_MAX, SPEED_MAX);
	if (e == 0)
		e = check(d, "acceleration", c->has_acceleration, c->acceleration, -ACCELERATION_MAX, ACCELERATION_MAX);
	if (e == 0)
		e = check(d, "gear_location", c->has_gear, c->gear, 0, 6);
	if (e == 0)
		e = check(d, "driving_mode", c->has_mode, c->mode, 0, SIM_VEHICLE_MODE_EMERGENCY);
	if (e == 0)
		e = check(d, "turn_signal", c->lights.has_turn, c->lights.turn, 0, SIM_TURN_HAZARD);
	return e;
}

static void set(struct sim_VehicleControl *m, float *field, double v, uint32_t bit)
{
	*field = (float)v;
	m->present |= bit;
}

/* Pedals take precedence; acceleration and speed are used only without them. */
static void take_pedals(struct sim_VehicleControl *m, const struct command *c)
{
	if (c->parking_brake) {
		set(m, &m->acceleration, 0, SIM_VEHICLE_CONTROL_HAS_ACCELERATION);
		set(m, &m->braking, 1, SIM_VEHICLE_CONTROL_HAS_BRAKING);
		return;
	}
	if (c->has_throttle)
		set(m, &m->acceleration, c->throttle / 100, SIM_VEHICLE_CONTROL_HAS_ACCELERATION);
	if (c->has_brake)
		set(m, &m->braking, c->brake / 100, SIM_VEHICLE_CONTROL_HAS_BRAKING);
	if (c->has_throttle || c->has_brake)
		return;
	if (c->has_acceleration)
		set(m, &m->target_acceleration, c->acceleration, SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION);
	if (c->has_speed)
		set(m, &m->velocity, c->speed, SIM_VEHICLE_CONTROL_HAS_VELOCITY);
}

int apollo_in_control(struct apollo_in *d)
{
	struct command c;
	int e = read_command(d, &c);

	APOLLO_START(d, e, VehicleControl);
	m->stamp = c.stamp_ns;
	if (c.stamp_ns)
		m->present |= SIM_VEHICLE_CONTROL_HAS_STAMP;
	take_pedals(m, &c);
	if (c.has_rate && (c.steering_rate < 0 || c.steering_rate > 0)) /* 0: not set */
		set(m, &m->steer_rate, fabs(c.steering_rate) / 100, SIM_VEHICLE_CONTROL_HAS_STEER_RATE);
	if (c.has_target) /* left is positive in both */
		set(m, &m->steer_target, c.steering_target / 100, SIM_VEHICLE_CONTROL_HAS_STEER_TARGET);
	if (c.has_gear && c.gear <= SIM_GEAR_LOW) { /* both enums have the same values; above are INVALID and NONE */
		m->target_gear = (uint8_t)c.gear;
		m->present |= SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
	}
	return apollo_made(d, &builder);
}

int apollo_in_gear(struct apollo_in *d)
{
	struct command c;
	int e = read_command(d, &c);

	APOLLO_START(d, e, GearCommand);
	if (!c.has_gear || c.gear > SIM_GEAR_LOW)
		return 1;
	m->stamp = c.stamp_ns;
	m->gear = (uint8_t)c.gear;
	return apollo_made(d, &builder);
}

/* TurnSignal has the same values as sim/Turn. */
static uint8_t turn_of(const struct command *c)
{
	if (c->lights.has_turn)
		return (uint8_t)c->lights.turn;
	return c->left == c->right ? SIM_TURN_OFF : c->left ? SIM_TURN_LEFT : SIM_TURN_RIGHT;
}

static bool hazard_of(const struct command *c)
{
	return c->lights.emergency || turn_of(c) == SIM_TURN_HAZARD || (c->left && c->right);
}

static bool says_turn(const struct command *c)
{
	return c->lights.has || c->lights.has_turn;
}

int apollo_in_turn(struct apollo_in *d)
{
	struct command c;
	int e = read_command(d, &c);

	APOLLO_START(d, e, TurnCommand);
	if (!says_turn(&c))
		return 1;
	m->stamp = c.stamp_ns;
	m->turn = turn_of(&c) == SIM_TURN_HAZARD ? SIM_TURN_OFF : turn_of(&c);
	return apollo_made(d, &builder);
}

int apollo_in_hazard(struct apollo_in *d)
{
	struct command c;
	int e = read_command(d, &c);

	APOLLO_START(d, e, HazardCommand);
	if (!says_turn(&c))
		return 1;
	m->stamp = c.stamp_ns;
	m->on = hazard_of(&c);
	return apollo_made(d, &builder);
}

/* A vehicle applies all of a VehicleState, so a command without a gear yields none. */
int apollo_in_state(struct apollo_in *d)
{
	struct command c;
	int e = read_command(d, &c);

	APOLLO_START(d, e, VehicleState);
	if (!c.has_gear || c.gear > SIM_GEAR_LOW)
		return 1;
	m->stamp = c.stamp_ns;
	m->blinker = hazard_of(&c) ? SIM_TURN_HAZARD : turn_of(&c);
	m->headlight = c.lights.high_beam  ? SIM_VEHICLE_STATE_HEADLIGHT_HIGH
		       : c.lights.low_beam ? SIM_VEHICLE_STATE_HEADLIGHT_LOW
					   : SIM_VEHICLE_STATE_HEADLIGHT_OFF;
	m->gear = (uint8_t)c.gear;
	m->mode = c.has_mode ? (uint8_t)c.mode : SIM_VEHICLE_MODE_AUTO; /* both enums have the same values */
	m->hand_brake = c.parking_brake;
	m->horn = c.lights.horn;
	m->autonomous = m->mode != SIM_VEHICLE_MODE_MANUAL;
	return apollo_made(d, &builder);
}
