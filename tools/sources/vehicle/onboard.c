/* SPDX-License-Identifier: Apache-2.0 */
/* A vehicle inside another program. See onboard.h. */
#include "onboard.h"

#include <errno.h>

#include "err.h"
#include "attach.h"
#include "log.h"
#include "mem.h"

LOG_TOPIC("vehicle");

#define BODY_MAX 4096 /* bytes of its own state message */

struct onboard {
	struct vehicle *vehicle; /* contains no pointers */
	struct vehicle_params params;
	struct vehicle_link link;
	struct origin origin;
	_Alignas(8) unsigned char odometry[BODY_MAX], can_bus[BODY_MAX];
};

static struct moment moment_of(const struct onboard *o)
{
	return (struct moment){ .model = &o->vehicle->model, .orders = &o->vehicle->orders, .origin = &o->origin };
}

void onboard_step(struct onboard *o, const struct sim_clock_sample *now)
{
	vehicle_link_turn(&o->link, now);
}

int onboard_ahead(struct onboard *o, int64_t to_sim_ns)
{
	return vehicle_link_ahead(&o->link, to_sim_ns);
}

int onboard_ground(struct onboard *o, const struct sim_Pose *p)
{
	return vehicle_ground(o->vehicle, p);
}

const struct sim_GpsOdometry *onboard_odometry(struct onboard *o)
{
	const struct moment m = moment_of(o);

	return sim_GpsOdometry_from(o->odometry, message_gps_odometry(&m, o->odometry, sizeof(o->odometry)));
}

const struct sim_CanBus *onboard_can_bus(struct onboard *o)
{
	const struct moment m = moment_of(o);

	return sim_CanBus_from(o->can_bus, message_can_bus(&m, o->can_bus, sizeof(o->can_bus)));
}

size_t onboard_size(void)
{
	return sizeof(struct vehicle);
}

void onboard_init(struct onboard *o)
{
	vehicle_init(o->vehicle, &o->params, &(struct model_place){ 0 });
}

int onboard_open(struct sim_client *c, const char *params, const char *origin, void *memory, struct onboard **ret)
{
	struct onboard *o = MEM_NEW(struct onboard);
	int r = o ? origin_parse(&o->origin, origin) : err_nomem();

	if (r == 0)
		r = params_load(params, &o->params);
	if (r == 0) {
		o->vehicle = memory;
		r = vehicle_link_open(&o->link, c, 0, o->vehicle, &o->origin, NULL);
	}
	if (r < 0) {
		onboard_close(o);
		return r;
	}
	log_info("on board: %s, %g m between the axles", params_models[o->params.model], o->params.wheel_base);
	*ret = o;
	return 0;
}

void onboard_close(struct onboard *o)
{
	if (!o)
		return;
	if (o->link.client) {
		vehicle_link_report(&o->link);
		vehicle_link_close(&o->link);
	}
	mem_free(o);
}
