/* SPDX-License-Identifier: Apache-2.0 */
/* The ego driven from outside: put where the vehicle model says, and returned to its own driver. */
#include "world_internal.h"

#include <errno.h>
#include <string.h>

#define KEEP_EXACT_POSITION 2      /* moveToXY: the point given, on or off the road */
#define OWN_DRIVER          (-1.0) /* a speed that gives control back */

static void out_speed(struct traci_out *o, const char *id, double speed)
{
	traci_out_begin(o, TRACI_SET | TRACI_VEHICLE);
	traci_out_u8(o, TRACI_VAR_SPEED);
	traci_out_str(o, id);
	traci_out_u8(o, TRACI_DOUBLE);
	traci_out_f64(o, speed);
	traci_out_end(o);
}

static void out_move(struct traci_out *o, const char *id, double x, double y, double angle_deg)
{
	traci_out_begin(o, TRACI_SET | TRACI_VEHICLE);
	traci_out_u8(o, TRACI_VAR_MOVE_TO_XY);
	traci_out_str(o, id);
	traci_out_u8(o, TRACI_COMPOUND);
	traci_out_i32(o, 6);
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
	traci_out_u8(o, KEEP_EXACT_POSITION);
	traci_out_end(o);
}

int world_place_ego(struct world *w, double x, double y, double angle_deg, double speed)
{
	static const unsigned commands[] = { TRACI_SET | TRACI_VEHICLE, TRACI_SET | TRACI_VEHICLE };
	struct traci_out *o = traci_request(w->t);
	int r;

	out_move(o, w->o.ego, x, y, angle_deg);
	out_speed(o, w->o.ego, speed < 0 ? 0 : speed); /* sumo knows no negative speed */
	r = traci_set(w->t, commands, 2, w->said, sizeof(w->said));
	w->lost_route = false;
	return r < 0 ? world_fail(w, r, "placing the ego") : 0;
}

static void out_route(struct traci_out *o, const struct world *w, size_t from)
{
	traci_out_begin(o, TRACI_SET | TRACI_VEHICLE);
	traci_out_u8(o, TRACI_VAR_ROUTE);
	traci_out_str(o, w->o.ego);
	traci_out_u8(o, TRACI_STRING_LIST);
	traci_out_i32(o, (int32_t)(w->route_len - from));
	for (size_t i = from; i < w->route_len; i++)
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

/*
 * On an edge of the route: carry on from there. Elsewhere: drive to its start, and look again now and
 * then. Inside a junction the edge has a name with a colon and nothing can be decided yet.
 */
int world_release_ego(struct world *w)
{
	static const unsigned commands[] = { TRACI_SET | TRACI_VEHICLE, TRACI_SET | TRACI_VEHICLE };
	struct traci_value road;
	struct traci_out *o;
	size_t at, n = 1;
	int r = world_get(w, TRACI_VEHICLE, TRACI_VAR_ROAD, w->o.ego, TRACI_STRING, &road);

	if (r < 0)
		return world_fail(w, r, "giving the ego back");
	at = route_index(w, road.s);
	w->lost_route = at == w->route_len;
	o = traci_request(w->t);
	out_speed(o, w->o.ego, OWN_DRIVER);
	if (!w->lost_route) {
		out_route(o, w, at);
		n = 2;
	} else if (road.s.len && road.s.p[0] != ':' && w->route_len) {
		out_target(o, w->o.ego, w->route[0]);
		n = 2;
	}
	r = traci_set(w->t, commands, n, w->said, sizeof(w->said));
	if (r == -EREMOTEIO) /* no way from here: it keeps the road that it is on; we try again later */
		w->lost_route = true;
	return r < 0 && r != -EREMOTEIO ? world_fail(w, r, "giving the ego back") : 0;
}
