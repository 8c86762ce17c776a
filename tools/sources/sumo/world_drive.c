/* SPDX-License-Identifier: Apache-2.0 */
/* The ego driven externally: put where the vehicle model says, and returned to SUMO's driver. */
#include "world_internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "log.h"

LOG_TOPIC("sumo");

#define NEAREST_LANE        0                          /* moveToXY: on a lane near the point */
#define KEEP_EXACT_POSITION 2                          /* moveToXY: the point given, on or off the road */
#define FOLLOW_M            100                        /* moveToXY: includes lanes this near; SUMO's own default */
#define LOOK_STEPS          10                         /* how often to look for a way back to the route */
#define OWN_DRIVER          (-1.0)                     /* setSpeed value that returns control to SUMO's driver */
#define ROUTE_BYTES         (TRACI_REQUEST_MAX - 1024) /* bytes for the restored route, besides the rest of a request */

static void out_speed(struct traci_out *o, const char *id, double speed)
{
	traci_out_begin(o, TRACI_SET | TRACI_VEHICLE);
	traci_out_u8(o, TRACI_VAR_SPEED);
	traci_out_str(o, id);
	traci_out_u8(o, TRACI_DOUBLE);
	traci_out_f64(o, speed);
	traci_out_end(o);
}

static void out_move(struct traci_out *o, const char *id, double x, double y, double angle_deg, unsigned where)
{
	traci_out_begin(o, TRACI_SET | TRACI_VEHICLE);
	traci_out_u8(o, TRACI_VAR_MOVE_TO_XY);
	traci_out_str(o, id);
	traci_out_u8(o, TRACI_COMPOUND);
	traci_out_i32(o, 7);
	traci_out_u8(o, TRACI_STRING); /* edge and lane: find them */
	traci_out_str(o, "");
	traci_out_u8(o, TRACI_INTEGER);
	traci_out_i32(o, -1);
	traci_out_u8(o, TRACI_DOUBLE);
	traci_out_f64(o, x);
	traci_out_u8(o, TRACI_DOUBLE);
	traci_out_f64(o, y);
	traci_out_u8(o, TRACI_DOUBLE);
	traci_out_f64(o, angle_deg);
	traci_out_u8(o, TRACI_BYTE);
	traci_out_u8(o, where);
	traci_out_u8(o, TRACI_DOUBLE);
	traci_out_f64(o, where == NEAREST_LANE ? WORLD_RETURN_M : FOLLOW_M);
	traci_out_end(o);
}

int world_place_ego(struct world *w, double x, double y, double angle_deg, double speed)
{
	static const unsigned commands[] = { TRACI_SET | TRACI_VEHICLE, TRACI_SET | TRACI_VEHICLE };
	struct traci_out *o = traci_request(w->t);
	int r;

	out_move(o, w->o.ego, x, y, angle_deg, KEEP_EXACT_POSITION);
	out_speed(o, w->o.ego, speed < 0 ? 0 : speed); /* SUMO has no negative speeds */
	r = traci_set(w->t, commands, 2, w->said, sizeof(w->said));
	w->lost_route = w->put_back = false;
	return r < 0 ? world_fail(w, r, "placing the ego") : 0;
}

/* Returns the end of the part of the route that fits into a request: some thousand edges. */
static size_t route_end(const struct world *w, size_t from)
{
	size_t bytes = 0, i = from;

	for (; i < w->route_len; i++) {
		bytes += 4 + strlen(w->route[i]);
		if (bytes > ROUTE_BYTES)
			break;
	}
	return i;
}

static void out_route(struct traci_out *o, const struct world *w, size_t from)
{
	size_t to = route_end(w, from);

	traci_out_begin(o, TRACI_SET | TRACI_VEHICLE);
	traci_out_u8(o, TRACI_VAR_ROUTE);
	traci_out_str(o, w->o.ego);
	traci_out_u8(o, TRACI_STRING_LIST);
	traci_out_i32(o, (int32_t)(to - from));
	for (size_t i = from; i < to; i++)
		traci_out_str(o, w->route[i]);
	traci_out_end(o);
}

static void out_target(struct traci_out *o, const char *id, const char *edge)
{
	traci_out_begin(o, TRACI_SET | TRACI_VEHICLE);
	traci_out_u8(o, TRACI_CHANGE_TARGET);
	traci_out_str(o, id);
	traci_out_u8(o, TRACI_STRING);
	traci_out_str(o, edge);
	traci_out_end(o);
}

static size_t route_index(const struct world *w, struct traci_str edge)
{
	size_t i = 0;

	while (i < w->route_len && !traci_str_is(edge, w->route[i]))
		i++;
	return i;
}

static void log_put_back(struct world *w, struct traci_str road)
{
	double dx = w->ego.pos[0] - w->left_from[0], dy = w->ego.pos[1] - w->left_from[1];

	if (w->put_back)
		log_info("the ego was off the road: it is put on edge %.*s, %.0f m from there", (int)road.len, road.p,
			 hypot(dx, dy));
	w->put_back = false;
}

/* No way leads to the route: stops the ego, because SUMO removes a vehicle at the end of its road. */
static int stand(struct world *w, const char *edge)
{
	static const unsigned command = TRACI_SET | TRACI_VEHICLE;
	int r;

	log_warn("no way leads from edge %s to the ego's route: it stands there until it is driven from outside", edge);
	w->lost_route = false;
	out_speed(traci_request(w->t), w->o.ego, 0);
	r = traci_set(w->t, &command, 1, w->said, sizeof(w->said));
	return r < 0 ? world_fail(w, r, "stopping the ego") : 0;
}

/*
 * On an edge of the route: goes on from there. Elsewhere: drives to the route's start, and searches again at intervals.
 * Inside a junction the edge's name begins with a colon, and nothing can be decided yet.
 */
int world_find_route(struct world *w)
{
	static const unsigned commands[] = { TRACI_SET | TRACI_VEHICLE, TRACI_SET | TRACI_VEHICLE };
	struct traci_value road;
	struct traci_out *o;
	char edge[64];
	size_t at, n = 1;
	int r = world_get(w, TRACI_VEHICLE, TRACI_VAR_ROAD, w->o.ego, TRACI_STRING, &road);

	if (r < 0)
		return world_fail(w, r, "giving the ego back");
	log_put_back(w, road.s);
	(void)traci_str_copy(road.s, edge, sizeof(edge));
	at = route_index(w, road.s);
	w->lost_route = at == w->route_len;
	w->look_step = w->steps + LOOK_STEPS;
	o = traci_request(w->t);
	out_speed(o, w->o.ego, OWN_DRIVER);
	if (!w->lost_route) {
		out_route(o, w, at);
		n = 2;
	} else if (edge[0] && edge[0] != ':' && w->route_len) {
		out_target(o, w->o.ego, w->route[0]);
		n = 2;
	}
	r = traci_set(w->t, commands, n, w->said, sizeof(w->said));
	if (r == -EREMOTEIO)
		return stand(w, edge);
	return r < 0 ? world_fail(w, r, "giving the ego back") : 0;
}

/*
 * SUMO leaves a vehicle that is off the road where it is, for ever, and has no values for it once it is no longer
 * placed. The edge that it is on afterwards is known, and its route found, only after the step.
 */
static int put_on_a_lane(struct world *w)
{
	static const unsigned commands[] = { TRACI_SET | TRACI_VEHICLE, TRACI_SET | TRACI_VEHICLE };
	const struct world_ego *e = &w->ego;
	struct traci_out *o = traci_request(w->t);
	int r;

	out_move(o, w->o.ego, e->pos[0], e->pos[1], e->angle_deg, NEAREST_LANE);
	out_speed(o, w->o.ego, OWN_DRIVER);
	r = traci_set(w->t, commands, 2, w->said, sizeof(w->said));
	if (r == -EREMOTEIO) {
		log_warn(
			"the ego is off the road and no lane is within %d m: it stops and stands there until it is driven",
			WORLD_RETURN_M);
		return 1;
	}
	if (r < 0)
		return world_fail(w, r, "giving the ego back");
	memcpy(w->left_from, e->pos, sizeof(w->left_from));
	w->put_back = w->lost_route = true;
	w->look_step = w->steps + 1;
	return 0;
}

/* For a vehicle off the road SUMO still names the last edge, but no lane. */
int world_release_ego(struct world *w)
{
	struct traci_value lane;
	int r = world_get(w, TRACI_VEHICLE, TRACI_VAR_LANE, w->o.ego, TRACI_STRING, &lane);

	if (r < 0)
		return world_fail(w, r, "giving the ego back");
	return lane.s.len ? world_find_route(w) : put_on_a_lane(w);
}
