/* SPDX-License-Identifier: Apache-2.0 */
/* The vehicle in simulated time. See vehicle.h. */
#include "vehicle.h"

#include <errno.h>

#include <sim/msg/VehicleMode.h>

#include "err.h"

#define FEEDBACK_NS INT64_C(10000000) /* how often a model by acceleration reads its target speed */

void vehicle_init(struct vehicle *v, const struct vehicle_params *p, const struct model_place *at)
{
	*v = (struct vehicle){ .base = *p };
	model_init(&v->model, p);
	orders_init(&v->orders);
	model_put(&v->model, at);
}

void vehicle_begin(struct vehicle *v, const struct sim_clock_sample *now)
{
	if (!v->started || v->clock_generation != now->clock_generation || (now->sim_ns < v->at_sim_ns && !v->ahead))
		v->at_sim_ns = v->step_sim_ns = now->sim_ns;
	v->started = true;
	v->clock_generation = now->clock_generation;
	v->step_dur_ns = now->sim_ns - v->step_sim_ns;
	v->step_sim_ns = now->sim_ns;
	if (now->sim_ns - v->at_sim_ns > VEHICLE_STEP_MAX_NS) {
		v->cut++;
		v->at_sim_ns = now->sim_ns - VEHICLE_STEP_MAX_NS;
	}
	v->ahead = v->at_sim_ns > now->sim_ns;
	v->until_sim_ns = v->ahead ? v->at_sim_ns : now->sim_ns;
}

int vehicle_begin_ahead(struct vehicle *v, int64_t to_sim_ns)
{
	if (!v->started)
		return err_set(-EAGAIN, "it has not been moved by steps yet");
	if (to_sim_ns < v->step_sim_ns || to_sim_ns - v->step_sim_ns > VEHICLE_AHEAD_MAX_NS)
		return err_set(-ERANGE, "%lld ns is not within a second after the last step", (long long)to_sim_ns);
	if (to_sim_ns > v->at_sim_ns) {
		v->until_sim_ns = to_sim_ns;
		v->ahead = true;
	}
	return 0;
}

static struct model_order order_of(const struct vehicle *v)
{
	struct model_order o = orders_now(&v->orders, &v->model);

	if (v->removed)
		o = (struct model_order){ .gear = GEAR_PARKING };
	return o;
}

static bool looks(const struct vehicle *v)
{
	return v->orders.drive == DRIVE_SPEED && !params_by_speed(&v->base);
}

static void move_to(struct vehicle *v, int64_t to_sim_ns)
{
	while (v->at_sim_ns < to_sim_ns) {
		struct model_order o = order_of(v);
		int64_t dur_ns = to_sim_ns - v->at_sim_ns;

		if (looks(v) && dur_ns > FEEDBACK_NS)
			dur_ns = FEEDBACK_NS;
		model_order(&v->model, &o);
		model_advance(&v->model, dur_ns);
		v->at_sim_ns += dur_ns;
	}
}

int vehicle_control(struct vehicle *v, const struct sim_VehicleControl *m, int64_t stamp_sim_ns)
{
	move_to(v, stamp_sim_ns < v->until_sim_ns ? stamp_sim_ns : v->until_sim_ns);
	return orders_control(&v->orders, m, &v->model.p);
}

void vehicle_end(struct vehicle *v)
{
	struct model_order o;

	move_to(v, v->until_sim_ns);
	o = order_of(v); /* a command of this very instant starts its dead time */
	model_order(&v->model, &o);
}

static void begin_to_measure(struct vehicle *v)
{
	v->measured.at_ns = v->model.now_ns;
	v->measured.turned = v->model.s.turned;
}

double vehicle_gyro(struct vehicle *v, int64_t *ret_span_dur_ns)
{
	int64_t span_ns = v->model.now_ns - v->measured.at_ns;
	double turned = v->model.s.turned - v->measured.turned;

	begin_to_measure(v);
	*ret_span_dur_ns = span_ns;
	return span_ns > 0 ? turned / ((double)span_ns / 1e9) : v->model.s.yaw_rate;
}

int vehicle_check_placement(const struct vehicle_params *base, const struct sim_VehiclePlacement *m)
{
	struct vehicle_params p = *base;
	struct params_size size;
	struct model_place at;
	int r = orders_placement(m, p.wheel_base, &at, &size);

	return r < 0 ? r : params_resize(&p, &size);
}

static int spawn(struct vehicle *v, const struct params_size *size)
{
	struct vehicle_params p = v->base;
	int r = params_resize(&p, size);

	if (r < 0)
		return r;
	model_init(&v->model, &p);
	orders_init(&v->orders);
	v->removed = false;
	return 0;
}

int vehicle_place(struct vehicle *v, const struct sim_VehiclePlacement *m)
{
	uint8_t action = m->action;
	struct params_size size;
	struct model_place at;
	int r = orders_placement(m, v->model.p.wheel_base, &at, &size);

	if (r < 0)
		return r;
	if (action == SIM_VEHICLE_PLACEMENT_REMOVE) {
		v->removed = true;
		orders_init(&v->orders);
		at = (struct model_place){ .x = v->model.s.x,
					   .y = v->model.s.y,
					   .z = v->model.s.z,
					   .yaw = v->model.s.yaw,
					   .slope_x = v->model.s.slope_x,
					   .slope_y = v->model.s.slope_y };
	}
	if (action == SIM_VEHICLE_PLACEMENT_SPAWN)
		r = spawn(v, &size);
	if (r < 0)
		return r;
	model_put(&v->model, &at);
	v->jumps++;
	v->spawns += action == SIM_VEHICLE_PLACEMENT_SPAWN;
	begin_to_measure(v);
	if (action == SIM_VEHICLE_PLACEMENT_TAKE_OVER)
		v->orders.mode = SIM_VEHICLE_MODE_MANUAL;
	return 0;
}

int vehicle_ground(struct vehicle *v, const struct sim_Pose *p)
{
	struct model_plane g;
	int r = orders_ground(p, &v->model.s, &g);

	if (r == 0)
		model_ground(&v->model, &g);
	return r;
}
