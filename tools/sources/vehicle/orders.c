/* SPDX-License-Identifier: Apache-2.0 */
/* Orders from messages. See orders.h. */
#include "orders.h"

#include <errno.h>
#include <math.h>

#include <sim/msg/Turn.h>
#include <sim/msg/VehicleMode.h>

#include "../space.h"
#include "err.h"

#define SPEED_GAIN 2.0 /* 1/s: acceleration per speed difference, for a model by acceleration */
#define FAR_M      1e9 /* positions further from the map's origin are invalid */
#define STANDS     0.2 /* cosine of the steepest ground on which a vehicle stands */
/* distance within which a message about the ground is valid: some frames of a scenario on a motorway */
#define GROUND_M 20.0

void orders_init(struct orders *o)
{
	*o = (struct orders){ .gear = GEAR_DRIVE, .mode = SIM_VEHICLE_MODE_AUTO };
}

static bool finite_all(const struct sim_VehicleControl *m)
{
	const float all[] = {
		m->acceleration, m->braking,      m->velocity,    m->target_acceleration,    m->jerk,    m->steer_angle,
		m->steer_rate,   m->steer_target, m->steer_input, m->steer_angular_velocity, m->yaw_rate
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!isfinite(all[i]))
			return false;
	}
	return true;
}

static double part(float x)
{
	return x < 0 ? 0 : x > 1 ? 1 : (double)x;
}

static void take_pedals(struct orders *o, const struct sim_VehicleControl *m, bool by_speed)
{
	if (m->present & SIM_VEHICLE_CONTROL_HAS_ACCELERATION)
		o->throttle = part(m->acceleration);
	if (m->present & SIM_VEHICLE_CONTROL_HAS_BRAKING)
		o->brake = part(m->braking);
	if (m->present & SIM_VEHICLE_CONTROL_HAS_VELOCITY)
		o->speed = (double)m->velocity;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION)
		o->accel = (double)m->target_acceleration;
	if (m->present & (SIM_VEHICLE_CONTROL_HAS_ACCELERATION | SIM_VEHICLE_CONTROL_HAS_BRAKING))
		o->drive = DRIVE_PEDALS;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_VELOCITY)
		o->drive = DRIVE_SPEED;
	if ((m->present & SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION) && !by_speed)
		o->drive = DRIVE_ACCEL;
}

static void take_wheel(struct orders *o, const struct sim_VehicleControl *m, const struct vehicle_params *p)
{
	double lock = p->steer_lim;

	if (m->present & SIM_VEHICLE_CONTROL_HAS_STEER_INPUT)
		o->steer = (double)m->steer_input * lock;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_STEER_TARGET)
		o->steer = (double)m->steer_target * lock;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE)
		o->steer = (double)m->steer_angle;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_YAW_RATE)
		o->steer =
			space_wheel_angle(p->wheel_base, o->drive == DRIVE_SPEED ? o->speed : 0, (double)m->yaw_rate);
}

/* Gears in the order of a lever: P R N D L. */
static enum model_gear shifted(enum model_gear gear, int by)
{
	static const enum model_gear lever[] = { GEAR_PARKING, GEAR_REVERSE, GEAR_NEUTRAL, GEAR_DRIVE, GEAR_LOW };
	const int n = sizeof(lever) / sizeof(lever[0]);
	int at = 0;

	while (at < n - 1 && lever[at] != gear)
		at++;
	at += by;
	return lever[at < 0 ? 0 : at >= n ? n - 1 : at];
}

int orders_gear(struct orders *o, uint8_t gear)
{
	if (gear > GEAR_LOW) {
		o->refused++;
		return err_set(-EINVAL, "gear %u is not one of sim/Gear", gear);
	}
	o->gear = (enum model_gear)gear;
	o->messages++;
	return 0;
}

int orders_control(struct orders *o, const struct sim_VehicleControl *m, const struct vehicle_params *p)
{
	struct sim_VehicleControl copy = *m;

	if (!finite_all(&copy) ||
	    ((copy.present & SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR) && copy.target_gear > GEAR_LOW)) {
		o->refused++;
		return err_set(-EINVAL, "a value of the order is not finite, or its gear is unknown");
	}
	take_pedals(o, &copy, params_by_speed(p));
	take_wheel(o, &copy, p);
	if (copy.present & SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR)
		o->gear = (enum model_gear)copy.target_gear;
	if ((copy.present & SIM_VEHICLE_CONTROL_HAS_SHIFT_GEAR_UP) && copy.shift_gear_up)
		o->gear = shifted(o->gear, 1);
	if ((copy.present & SIM_VEHICLE_CONTROL_HAS_SHIFT_GEAR_DOWN) && copy.shift_gear_down)
		o->gear = shifted(o->gear, -1);
	o->messages++;
	return 0;
}

int orders_turn(struct orders *o, uint8_t turn)
{
	if (turn > SIM_TURN_HAZARD) {
		o->refused++;
		return err_set(-EINVAL, "turn signal %u is not one of sim/Turn", turn);
	}
	if (turn == SIM_TURN_HAZARD)
		o->hazard = true;
	else
		o->turn = turn;
	o->messages++;
	return 0;
}

int orders_state(struct orders *o, const struct sim_VehicleState *m)
{
	struct sim_VehicleState copy = *m;

	if (copy.gear > GEAR_LOW || copy.blinker > SIM_TURN_HAZARD || copy.mode > SIM_VEHICLE_MODE_EMERGENCY) {
		o->refused++;
		return err_set(-EINVAL, "a state has no such gear, turn signal or mode");
	}
	o->gear = (enum model_gear)copy.gear;
	o->hazard = copy.blinker == SIM_TURN_HAZARD;
	o->turn = o->hazard ? SIM_TURN_OFF : copy.blinker;
	o->mode = copy.mode;
	o->hand_brake = copy.hand_brake != 0;
	o->low_beam = copy.headlight != SIM_VEHICLE_STATE_HEADLIGHT_OFF;
	o->high_beam = copy.headlight == SIM_VEHICLE_STATE_HEADLIGHT_HIGH;
	o->wipers = copy.wiper != SIM_VEHICLE_STATE_WIPER_OFF;
	o->messages++;
	return 0;
}

static double wanted_accel(const struct orders *o, const struct model *m)
{
	double way = o->gear == GEAR_REVERSE ? -1 : 1;

	switch (o->drive) {
	case DRIVE_ACCEL:
		return o->accel;
	case DRIVE_SPEED:
		return (o->speed - m->s.speed) * SPEED_GAIN * way;
	case DRIVE_PEDALS:
		break;
	}
	return (o->throttle - o->brake) * m->p.vel_rate_lim;
}

struct model_order orders_now(const struct orders *o, const struct model *m)
{
	bool stop = o->emergency || o->mode == SIM_VEHICLE_MODE_EMERGENCY || o->mode == SIM_VEHICLE_MODE_MANUAL;

	return (struct model_order){ .accel = stop ? -m->p.vel_rate_lim : wanted_accel(o, m),
				     .speed = stop ? 0 : o->speed,
				     .steer = o->steer,
				     .gear = o->gear,
				     .hand_brake = o->hand_brake };
}

/* ---- placements ---- */

static bool near_enough(const struct sim_Vector3 *v)
{
	return fabs(v->x) <= FAR_M && fabs(v->y) <= FAR_M && fabs(v->z) <= FAR_M;
}

/* Yaw of a vehicle, and the slopes of the ground under it. */
struct stance {
	double yaw, slope_x, slope_y;
};

/*
 * Yaw and slopes from a rotation; all zero counts as the identity. A vehicle on its side or roof gets level ground.
 * Returns false if it is not a rotation.
 */
static bool stance_of(const struct sim_Quaternion *q, struct stance *ret)
{
	double n = q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w;
	double up = n - 2 * (q->x * q->x + q->y * q->y);

	*ret = (struct stance){ 0 };
	if (n == 0)
		return true;
	if (!(n > 1e-12 && n < 1e12))
		return false;
	ret->yaw = space_yaw(*q);
	if (up > STANDS * n) {
		ret->slope_x = 0 - 2 * (q->x * q->z + q->w * q->y) / up;
		ret->slope_y = 2 * (q->w * q->x - q->y * q->z) / up;
	}
	return true;
}

int orders_ground(const struct sim_Pose *p, const struct model_state *at, struct model_plane *ret)
{
	struct sim_Pose c = *p;
	struct stance s;

	if (!near_enough(&c.position) || !stance_of(&c.orientation, &s))
		return err_set(-EINVAL, "the ground has an invalid pose");
	if (hypot(c.position.x - at->x, c.position.y - at->y) > GROUND_M)
		return err_set(-ERANGE, "the ground more than %g m away is not that under the vehicle", GROUND_M);
	*ret = (struct model_plane){ c.position.x, c.position.y, c.position.z, s.slope_x, s.slope_y };
	return 0;
}

int orders_placement(const struct sim_VehiclePlacement *m, double wheel_base, struct model_place *ret,
		     struct params_size *ret_size)
{
	struct sim_VehiclePlacement c = *m;
	struct stance s;

	if (c.action < SIM_VEHICLE_PLACEMENT_SPAWN || c.action > SIM_VEHICLE_PLACEMENT_TAKE_OVER)
		return err_set(-EINVAL, "a placement asks for action %u, 1 to 4 are", c.action);
	if (!near_enough(&c.pose.position) || !stance_of(&c.pose.orientation, &s))
		return err_set(-EINVAL, "a placement has an invalid pose");
	if (!near_enough(&c.velocity.linear) || !near_enough(&c.velocity.angular) || !near_enough(&c.acceleration))
		return err_set(-EINVAL, "a placement has an invalid velocity or acceleration");
	*ret = (struct model_place){ .x = c.pose.position.x,
				     .y = c.pose.position.y,
				     .z = c.pose.position.z,
				     .yaw = s.yaw,
				     .slope_x = s.slope_x,
				     .slope_y = s.slope_y,
				     .speed = c.velocity.linear.x,
				     .accel = c.acceleration.x };
	if (c.wheel_base > 0)
		wheel_base = c.wheel_base;
	ret->steer = space_wheel_angle(wheel_base, ret->speed, c.velocity.angular.z);
	*ret_size = (struct params_size){ .length = c.size.x,
					  .width = c.size.y,
					  .height = c.size.z,
					  .center_x = c.center.x,
					  .wheel_base = c.wheel_base,
					  .steer_lim = c.max_steering };
	return 0;
}
