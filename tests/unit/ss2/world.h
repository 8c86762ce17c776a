/* SPDX-License-Identifier: Apache-2.0 */
/* The server over a world that records its calls. Include first. Thread: the test's. */
#ifndef UNIT_SS2_WORLD_H
#define UNIT_SS2_WORLD_H

#include "tests/support/test.h"

#include "err.h"
#include "mem.h"
#include "tests/support/ss2_peer.h"
#include "tools/sources/ss2/codec.h"
#include "tools/sources/ss2/server.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct world {
	struct server *server;
	struct store store;
	int64_t now_sim_ns;
	unsigned jumps, sets, shows;
	int refuse; /* errno of the next change of time; 0: none */
	size_t shown_entities, shown_signals;
	bool has_vehicle;
	struct vehicle_state vehicle;
	bool placeable;
	unsigned places, advances, grounds;
	struct sim_Pose ground; /* the last */
	int64_t advanced_sim_ns;
	struct server_place place; /* the last one; its ego is a copy */
	struct scene_entity placed;
	struct sensors_config attached;
	unsigned sensed;
	int detected, truth; /* objects of the last, -1: none left */
	bool measured, lights, drawn, scanned;
	struct peer_buf q;
	struct peer_answer a;
	struct mem_stats before;
};

static inline int world_time(struct world *w, int64_t sim_ns)
{
	if (w->refuse)
		return err_set(w->refuse, "simd is elsewhere");
	w->now_sim_ns = sim_ns;
	return 0;
}

static inline int world_jump(void *ctx, int64_t sim_ns)
{
	struct world *w = ctx;

	w->jumps++;
	return world_time(w, sim_ns);
}

static inline int world_set(void *ctx, int64_t sim_ns)
{
	struct world *w = ctx;

	w->sets++;
	return world_time(w, sim_ns);
}

static inline void world_show(void *ctx, const struct scene *s, int64_t sim_ns)
{
	struct world *w = ctx;

	assert_int_equal(sim_ns, w->now_sim_ns);
	w->shows++;
	w->shown_entities = s->n_entities;
	w->shown_signals = s->n_bulbs;
}

static inline bool world_vehicle(void *ctx, struct vehicle_state *ret)
{
	struct world *w = ctx;

	if (w->has_vehicle)
		*ret = w->vehicle;
	return w->has_vehicle;
}

static inline void world_ground(void *ctx, const struct sim_Pose *p)
{
	struct world *w = ctx;

	w->grounds++;
	w->ground = *p;
}

static inline void world_advance(void *ctx, int64_t to_sim_ns)
{
	struct world *w = ctx;

	w->advances++;
	w->advanced_sim_ns = to_sim_ns;
}

static inline bool world_place(void *ctx, const struct server_place *p)
{
	struct world *w = ctx;

	w->places++;
	w->placed = *p->ego;
	w->place = *p;
	w->place.ego = &w->placed;
	return w->placeable;
}

static inline int world_attach(void *ctx, const struct sensors_config *c)
{
	struct world *w = ctx;

	w->attached = *c;
	return 0;
}

static inline void world_sense(void *ctx, const struct server_sensed *x, int64_t sim_ns)
{
	struct world *w = ctx;

	assert_int_equal(sim_ns, w->now_sim_ns);
	w->sensed++;
	w->detected = x->detected ? (int)x->detected->n : -1;
	w->truth = x->truth ? (int)x->truth->n : -1;
	w->measured = x->imu != NULL;
	w->lights = x->lights != NULL;
	w->drawn = x->drawn != NULL;
	w->scanned = x->cloud != NULL;
}

static const struct server_ops world_ops = { .jump = world_jump,
					     .set = world_set,
					     .show = world_show,
					     .vehicle = world_vehicle,
					     .ground = world_ground,
					     .advance = world_advance,
					     .attach = world_attach,
					     .sense = world_sense,
					     .place = world_place };

static inline void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	mem_stats(&w->before);
	assert_int_equal(store_open(&w->store, NULL, 0), 0);
	assert_int_equal(server_create(&world_ops, w, &w->store, &w->server), 0);
}

static inline void world_finish(struct world *w)
{
	struct mem_stats after;

	server_destroy(w->server);
	store_close(&w->store);
	mem_stats(&after);
	assert_int_equal(after.blocks, w->before.blocks);
}

/* Send bytes; the answer is in w->a. Returns whether it says success. */
static inline bool world_send(struct world *w, const void *data, size_t len)
{
	uint8_t *bytes;
	size_t n;
	int r = server_handle(w->server, data, len, &bytes, &n);

	assert_in_range(r, 0, 1);
	assert_true(peer_read(bytes, n, &w->a));
	mem_free(bytes);
	assert_int_equal(w->a.success, r);
	if (!r)
		assert_true(*w->a.description);
	return w->a.success;
}

/* Send w->q: the answer must stand under `number`. */
static inline bool world_ask(struct world *w, uint32_t number)
{
	bool ok = world_send(w, w->q.data, w->q.len);

	assert_int_equal(w->a.number, number);
	return ok;
}

static inline const struct scene *world_scene(const struct world *w)
{
	struct server_info i;

	server_info(w->server, &i);
	return i.scene;
}

#endif
