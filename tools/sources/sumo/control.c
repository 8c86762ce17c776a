/* SPDX-License-Identifier: Apache-2.0 */
/* From VehicleControl to what the bicycle model wants. See control.h. */
#include "control.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "../space.h"

static bool finite_all(const struct sim_VehicleControl *m)
{
	const float all[] = {
		m->acceleration,           m->braking,    m->velocity,     m->target_acceleration, m->steer_angle,
		m->steer_angular_velocity, m->steer_rate, m->steer_target, m->steer_input,         m->yaw_rate
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!isfinite(all[i]))
			return false;
	}
	return true;
}

static void take_pedals(struct ego_command *c, const struct sim_VehicleControl *m)
{
	if (m->present & SIM_VEHICLE_CONTROL_HAS_ACCELERATION)
		c->throttle = (double)m->acceleration;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_BRAKING)
		c->brake = (double)m->braking;
	if (m->present & (SIM_VEHICLE_CONTROL_HAS_ACCELERATION | SIM_VEHICLE_CONTROL_HAS_BRAKING))
		c->has_accel = c->has_speed = false;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION) {
		c->has_accel = true;
		c->accel = (double)m->target_acceleration;
	}
	if (m->present & SIM_VEHICLE_CONTROL_HAS_VELOCITY) {
		c->has_speed = true;
		c->speed = (double)m->velocity;
	}
}

static void take_wheel(struct ego_command *c, const struct sim_VehicleControl *m, const struct ego_params *p)
{
	double lock = p->max_wheel_angle;

	if (m->present & SIM_VEHICLE_CONTROL_HAS_STEER_INPUT)
		c->wheel_angle = (double)m->steer_input * lock;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_STEER_TARGET)
		c->wheel_angle = (double)m->steer_target * lock;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE)
		c->wheel_angle = (double)m->steer_angle;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_YAW_RATE)
		c->wheel_angle = space_wheel_angle(p->wheelbase, c->has_speed ? c->speed : 0, (double)m->yaw_rate);
	if (m->present & SIM_VEHICLE_CONTROL_HAS_STEER_RATE)
		c->wheel_rate = fabs((double)m->steer_rate) * lock;
	if (m->present & SIM_VEHICLE_CONTROL_HAS_STEER_ANGULAR_VELOCITY)
		c->wheel_rate = fabs((double)m->steer_angular_velocity);
}

/* Gears in the order of a lever: P R N D L. */
static const enum ego_gear LEVER[] = { EGO_PARKING, EGO_REVERSE, EGO_NEUTRAL, EGO_DRIVE, EGO_LOW };
#define LEVER_N 5

static enum ego_gear shifted(enum ego_gear gear, int by)
{
	int at = 0;

	while (at < LEVER_N - 1 && LEVER[at] != gear)
		at++;
	at += by;
	return LEVER[at < 0 ? 0 : at >= LEVER_N ? LEVER_N - 1 : at];
}

static void take_gear(struct ego_command *c, const struct sim_VehicleControl *m)
{
	if ((m->present & SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR) && m->target_gear <= EGO_LOW)
		c->gear = (enum ego_gear)m->target_gear;
	if ((m->present & SIM_VEHICLE_CONTROL_HAS_SHIFT_GEAR_UP) && m->shift_gear_up)
		c->gear = shifted(c->gear, 1);
	if ((m->present & SIM_VEHICLE_CONTROL_HAS_SHIFT_GEAR_DOWN) && m->shift_gear_down)
		c->gear = shifted(c->gear, -1);
}

int control_take(struct control *c, const struct sim_VehicleControl *m, const struct ego_params *p, int64_t now_sim_ns)
{
	struct sim_VehicleControl copy = *m; /* read once, since it lies in shared memory */

	if (!finite_all(&copy)) {
		c->refused++;
		return -EINVAL;
	}
	if (!c->active)
		c->command = (struct ego_command){ .gear = EGO_DRIVE };
	c->active = true;
	c->last_sim_ns = now_sim_ns;
	c->messages++;
	take_pedals(&c->command, &copy);
	take_wheel(&c->command, &copy, p);
	take_gear(&c->command, &copy);
	return 0;
}

bool control_expired(struct control *c, int64_t now_sim_ns)
{
	int64_t age = now_sim_ns - c->last_sim_ns;

	if (!c->active || (age >= 0 && age <= CONTROL_STALE_NS))
		return false;
	c->active = false;
	return true;
}
