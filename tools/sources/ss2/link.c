/* SPDX-License-Identifier: Apache-2.0 */
/* sim-ss2's side towards simd. See link.h. */
#include "link.h"

#include <errno.h>
#include <string.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/TrafficSignals.h>

#include "err.h"
#include "log.h"
#include "messages.h"

LOG_TOPIC("link");

static const struct {
	const char *name;
	const struct sim_type *type;
	size_t most;
	size_t (*room)(size_t n);
} CHANNELS[LINK_CHANNELS] = {
	[LINK_OBJECTS] = { "objects", &sim_Detected3DObjects_type, SCENE_ENTITIES_MAX, message_objects_max },
	[LINK_SIGNALS] = { "signals", &sim_TrafficSignals_type, SCENE_SIGNALS_MAX, message_signals_max },
};

/* ---- time ---- */

static int hand_on(int r)
{
	return err_set(r, "%s", source_why(r));
}

static int take_lease(struct link *l)
{
	uint32_t source = __atomic_load_n(&sim_clock_page(l->client)->source, __ATOMIC_RELAXED);

	/* never take it from an engine that is about to attach to another driven source */
	if (source != SIM_SOURCE_SS2)
		return err_set(-EOPNOTSUPP, "simd's time source is %s; `simctl clock source ss2` selects this one",
			       sim_time_source_name((enum sim_time_source)source));
	if (sim_driver_acquire(l->client, 0, &l->driver) < 0)
		return hand_on(-EBUSY);
	log_info("time is driven from here");
	return 0;
}

static void drop_lease(struct link *l)
{
	sim_driver_release(l->driver);
	l->driver = NULL;
}

/* The source may have been switched away and back since the lease was taken: then it is taken again, once. */
static int drive(struct link *l, int (*say)(struct sim_driver *d, int64_t sim_ns), int64_t sim_ns)
{
	int r = -EPERM;

	for (int tries = 0; r == -EPERM && tries < 2; tries++) {
		int e = l->driver ? 0 : take_lease(l);

		if (e < 0)
			return e;
		r = say(l->driver, sim_ns);
		if (r == -EPERM)
			drop_lease(l);
	}
	return r < 0 ? hand_on(r) : 0;
}

static int on_jump(void *ctx, int64_t sim_ns)
{
	return drive(ctx, sim_driver_jump, sim_ns);
}

static int on_set(void *ctx, int64_t sim_ns)
{
	return drive(ctx, sim_driver_set, sim_ns);
}

void link_idle(struct link *l)
{
	if (!l->driver && sim_client_state(l->client) == SIM_CLIENT_CONNECTED &&
	    __atomic_load_n(&sim_clock_page(l->client)->source, __ATOMIC_RELAXED) == SIM_SOURCE_SS2)
		(void)take_lease(l);
}

/* ---- what is shown ---- */

static int publish(struct link *l, enum link_channel ch, const struct scene *s, int64_t sim_ns)
{
	size_t cap = CHANNELS[ch].room(ch == LINK_OBJECTS ? s->n_entities : s->n_signals), size;
	struct sim_slot *slot;
	int r = sim_loan(l->out[ch].pub, cap, &slot);

	if (r < 0)
		return r;
	slot->stamp_sim_ns = sim_ns;
	if (ch == LINK_OBJECTS) {
		memset(slot->frame_id, 0, sizeof(slot->frame_id));
		strncpy(slot->frame_id, message_frame(s), sizeof(slot->frame_id) - 1);
		size = message_objects(s, sim_ns, sim_slot_body_mut(slot), cap);
	} else {
		size = message_signals(s, sim_slot_body_mut(slot), cap);
	}
	return outlet_send(&l->out[ch], slot, size, NULL);
}

static void on_show(void *ctx, const struct scene *s, int64_t sim_ns)
{
	struct link *l = ctx;

	for (int i = 0; i < LINK_CHANNELS; i++)
		outlet_count(&l->out[i], publish(l, (enum link_channel)i, s, sim_ns));
}

/* ---- the vehicle ---- */

static void hear(struct link *l)
{
	const struct sim_message *msg;

	while (sim_take(l->odometry, &msg) == 0) {
		const struct sim_GpsOdometry *m = sim_GpsOdometry_from(msg->body, msg->body_size);

		if (m)
			(void)vehicle_odometry(&l->vehicle, m, msg->header.stamp_sim_ns, msg->header.clock_generation);
		(void)sim_release(l->odometry, msg);
	}
	while (sim_take(l->can_bus, &msg) == 0) {
		const struct sim_CanBus *m = sim_CanBus_from(msg->body, msg->body_size);

		if (m)
			(void)vehicle_can_bus(&l->vehicle, m, msg->header.stamp_sim_ns, msg->header.clock_generation);
		(void)sim_release(l->can_bus, msg);
	}
}

static bool on_vehicle(void *ctx, struct vehicle_state *ret)
{
	struct link *l = ctx;
	struct sim_clock_sample now;

	hear(l);
	sim_now_sample(l->client, &now);
	return vehicle_now(&l->vehicle, now.sim_ns, now.clock_generation, ret);
}

const struct server_ops link_ops = {
	.jump = on_jump,
	.set = on_set,
	.show = on_show,
	.vehicle = on_vehicle,
};

/* ---- life ---- */

static int subscribe(struct link *l)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 16 };
	int r = sim_subscribe(l->client, "gps_odometry", &sim_GpsOdometry_type, &so, &l->odometry);

	return r < 0 ? r : sim_subscribe(l->client, "can_bus", &sim_CanBus_type, &so, &l->can_bus);
}

static int advertise(struct link *l, enum link_channel ch)
{
	/* a bridge that is behind must not hold the scenario up */
	struct sim_publisher_options po = { .size = sizeof(po),
					    .max_body = CHANNELS[ch].room(CHANNELS[ch].most),
					    .frame_id = FRAME_MAP,
					    .flags = SIM_PUB_NO_WAIT };

	l->out[ch].name = CHANNELS[ch].name;
	return sim_advertise(l->client, CHANNELS[ch].name, CHANNELS[ch].type, &po, &l->out[ch].pub);
}

int link_open(struct link *l, const char *name, const char *socket, const struct vehicle_origin *origin)
{
	struct sim_client_options co = {
		.size = sizeof(co), .name = name, .socket = socket, .flags = SIM_CLIENT_SOURCE
	};
	int r;

	*l = (struct link){ .vehicle.origin = *origin };
	r = sim_connect(&co, &l->client);
	for (int i = 0; r == 0 && i < LINK_CHANNELS; i++)
		r = advertise(l, (enum link_channel)i);
	if (r == 0)
		r = subscribe(l);
	return r;
}

void link_close(struct link *l)
{
	sim_driver_release(l->driver);
	sim_subscriber_destroy(l->odometry);
	sim_subscriber_destroy(l->can_bus);
	for (int i = 0; i < LINK_CHANNELS; i++)
		sim_publisher_destroy(l->out[i].pub);
	sim_disconnect(l->client);
}
