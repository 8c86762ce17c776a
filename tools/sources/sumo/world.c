/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SUMO scenario over TraCI. See world.h.
 *
 * The ego is subscribed to: its state comes with every step's answer. Surroundings and lights are asked
 * for when they are due (10 Hz), so that a step of 10 ms stays one short round trip.
 */
#include "world.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../origin.h"
#include "traci.h"
#include "world_internal.h"

#define START_TRIES    3 /* the chosen port may be taken before sumo binds it */
#define CLOSE_GRACE_MS 2000
#define WAITS_STEPS    100 /* interval of waits() calls while the ego has not departed ... */
#define WAITS_FIRST    10  /* ... and the first call: an ego that departs at once is there in the second step */
#define SPAN_M         1000.0
#define DEGREE_M       111320.0
/* limit of a projection's scale, either way: Mercator's is 11 at the highest latitude of cities */
#define SCALE_MOST 20.0
#define NAMES_MAX  4 /* vehicles named in the error if there is no ego */
/* TraCI: for a time, no begin or end; for a vehicle, it is on no road (SUMO teleports it). */
#define NO_VALUE (-1073741824.0)

static const uint8_t EGO_VARS[] = { TRACI_VAR_POSITION_3D, TRACI_VAR_ANGLE, TRACI_VAR_SPEED, TRACI_VAR_SIGNALS };

int world_fail(struct world *w, int r, const char *what)
{
	const char *words = w->proc ? sumo_proc_last_words(w->proc) : "";

	if (r == -EREMOTEIO)
		snprintf(w->why, sizeof(w->why), "%s: sumo refuses: %.400s", what, w->said);
	else if (r == -EPIPE)
		snprintf(w->why, sizeof(w->why), "%s: sumo has exited%s%.400s", what, *words ? ": " : "", words);
	else if (r == -EBADMSG || r == -EPROTO)
		snprintf(w->why, sizeof(w->why), "%s: sumo's answer makes no sense (another program on its port?)",
			 what);
	else
		snprintf(w->why, sizeof(w->why), "%s: %s", what, strerror(-r));
	return r;
}

int world_get(struct world *w, enum traci_domain domain, enum traci_var var, const char *id, enum traci_type type,
	      struct traci_value *ret)
{
	int r = traci_get(w->t, domain, var, id, ret, w->said, sizeof(w->said));

	return r == 0 && ret->type != type ? -EBADMSG : r;
}

/* Without a value from SUMO the ego is off the road, and keeps its last state. */
static void on_ego(void *user, const struct traci_item *it)
{
	struct world *w = user;

	if (!it->ok || it->context || it->domain != TRACI_VEHICLE)
		return;
	if (it->var == TRACI_VAR_POSITION_3D && (it->value.type == TRACI_XYZ || it->value.type == TRACI_XY)) {
		w->ego.known = true;
		w->ego.present = it->value.pos[0] != NO_VALUE;
		if (w->ego.present)
			memcpy(w->ego.pos, it->value.pos, sizeof(w->ego.pos));
	} else if (it->var == TRACI_VAR_ANGLE && it->value.type == TRACI_DOUBLE) {
		if (it->value.d != NO_VALUE)
			w->ego.angle_deg = it->value.d;
	} else if (it->var == TRACI_VAR_SPEED && it->value.type == TRACI_DOUBLE) {
		w->ego.speed = it->value.d != NO_VALUE ? it->value.d : 0;
	} else if (it->var == TRACI_VAR_SIGNALS && it->value.type == TRACI_INTEGER) {
		w->ego.signals = it->value.i;
	}
}

static int get_number(struct world *w, enum traci_var var, double *ret)
{
	struct traci_value v;
	int r = world_get(w, TRACI_VEHICLE, var, w->o.ego, TRACI_DOUBLE, &v);

	if (r == 0)
		*ret = v.d;
	return r;
}

/* Keeps the route, to put the ego back on it after external control. */
static int keep_route(struct world *w)
{
	struct traci_value v;
	int r = world_get(w, TRACI_VEHICLE, TRACI_VAR_EDGES, w->o.ego, TRACI_STRING_LIST, &v);

	if (r < 0)
		return r;
	w->route = calloc(v.list.count ? v.list.count : 1, sizeof(*w->route));
	if (!w->route)
		return -ENOMEM;
	for (uint32_t i = 0; i < v.list.count; i++) {
		struct traci_str s = traci_in_str(&v.list.body);

		w->route[i] = strndup(s.p, s.len);
		if (!w->route[i])
			return -ENOMEM;
		w->route_len = i + 1;
	}
	return 0;
}

static int subscribe_ego(struct world *w)
{
	traci_out_subscribe(traci_request(w->t), TRACI_VEHICLE, w->o.ego, NO_VALUE, NO_VALUE, EGO_VARS,
			    sizeof(EGO_VARS));
	return traci_subscribed(w->t, TRACI_SUBSCRIBE | TRACI_VEHICLE, on_ego, w, w->said, sizeof(w->said));
}

/* Some of the vehicles on the road, "a, b, c, ...": the ego may be among them by another name. */
static void name_vehicles(struct world *w, char *ret, size_t size)
{
	struct traci_value v;
	size_t len = 0;

	snprintf(ret, size, "nobody");
	if (world_get(w, TRACI_VEHICLE, TRACI_VAR_ID_LIST, "", TRACI_STRING_LIST, &v) < 0)
		return;
	for (uint32_t i = 0; i < v.list.count && i <= NAMES_MAX && len < size; i++) {
		struct traci_str s = traci_in_str(&v.list.body);
		char name[40];

		(void)traci_str_copy(s, name, sizeof(name));
		len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? ", " : "", i < NAMES_MAX ? name : "...");
	}
}

static int no_ego(struct world *w)
{
	int64_t waited_dur_ns = w->o.ego_wait_steps * w->o.sumo.step_dur_ns;
	char names[NAMES_MAX * 44 + 1];

	name_vehicles(w, names, sizeof(names));
	snprintf(w->why, sizeof(w->why),
		 "vehicle \"%.60s\" is not on the road in the first %.3g s of the scenario%s: let it depart earlier, or "
		 "name another one with --ego; there is %s",
		 w->o.ego, (double)waited_dur_ns / 1e9,
		 w->ego.known ? "" : ", in which none of that name has come up so far", names);
	return -ESRCH;
}

/*
 * SUMO lists a vehicle when it has read its definition, long before it departs; until then it cannot be subscribed to.
 */
static int look_for_ego(struct world *w)
{
	int r = world_step(w);

	if (r < 0 || w->subscribed)
		return r;
	r = subscribe_ego(w);
	w->subscribed = r == 0;
	return r < 0 && r != -EREMOTEIO ? world_fail(w, r, "looking for the ego") : 0;
}

static int find_ego(struct world *w)
{
	for (int i = 0; i < w->o.ego_wait_steps; i++) {
		int r = look_for_ego(w);

		if (r < 0)
			return r;
		w->subscribed &= w->ego.known; /* it may have come and gone */
		if (w->ego.present)
			return 0;
		if (w->o.waits && i % WAITS_STEPS == WAITS_FIRST)
			w->o.waits(w->o.user, (i + 1) * w->o.sumo.step_dur_ns);
	}
	return no_ego(w);
}

/* Reads SUMO's time at the scenario's begin, which need not be 0. */
static int find_begin(struct world *w)
{
	struct traci_value v;
	int r = world_get(w, TRACI_SIM, TRACI_VAR_TIME, "", TRACI_DOUBLE, &v);

	if (r < 0)
		return world_fail(w, r, "asking for the scenario's time");
	w->begin_sim_ns = llround(v.d * 1e9);
	return 0;
}

static int meet_ego(struct world *w)
{
	int r = find_ego(w);

	if (r < 0)
		return r;
	r = get_number(w, TRACI_VAR_LENGTH, &w->ego.length);
	if (r == 0)
		r = get_number(w, TRACI_VAR_WIDTH, &w->ego.width);
	if (r == 0)
		r = get_number(w, TRACI_VAR_HEIGHT, &w->ego.height);
	if (r == 0)
		r = keep_route(w);
	return r < 0 ? world_fail(w, r, "asking about the ego") : 0;
}

/* One attempt to start and connect. -EADDRINUSE: another process took the port meanwhile. */
static int start_once(struct world *w)
{
	struct traci_options to = { .stop_fd = w->o.stop_fd, .timeout_ms = w->o.timeout_ms };
	int r = sumo_proc_start(&w->o.sumo, &w->proc, w->why);

	if (r < 0)
		return r;
	to.port = sumo_proc_port(w->proc);
	to.alive_fd = sumo_proc_pidfd(w->proc);
	r = traci_connect(&to, &w->t);
	if (r < 0)
		r = world_fail(w, r, "starting sumo");
	if (r == -EPIPE && strstr(w->why, "in use"))
		r = -EADDRINUSE;
	return r;
}

static int start(struct world *w)
{
	int r = -EADDRINUSE;

	for (int i = 0; i < START_TRIES && r == -EADDRINUSE; i++) {
		sumo_proc_destroy(w->proc, 0);
		w->proc = NULL;
		r = start_once(w);
	}
	return r;
}

/* Without a projection SUMO returns the point unchanged. */
static int convert(struct world *w, double x, double y, double *ret_lon_deg, double *ret_lat_deg)
{
	struct traci_out *o = traci_request(w->t);
	struct traci_str text = { .p = "" };
	struct traci_value v;
	struct traci_in in;
	int r;

	traci_out_begin(o, TRACI_GET | TRACI_SIM);
	traci_out_u8(o, TRACI_VAR_CONVERT_POSITION);
	traci_out_str(o, "");
	traci_out_u8(o, TRACI_COMPOUND);
	traci_out_i32(o, 2);
	traci_out_u8(o, TRACI_XY);
	traci_out_f64(o, x);
	traci_out_f64(o, y);
	traci_out_u8(o, TRACI_UBYTE);
	traci_out_u8(o, TRACI_LON_LAT);
	traci_out_end(o);
	r = traci_exchange(w->t, &in);
	if (r == 0)
		r = traci_in_get(&in, TRACI_SIM, TRACI_VAR_CONVERT_POSITION, &v, &text);
	if (r == -EREMOTEIO)
		traci_str_copy(text, w->said, sizeof(w->said));
	if (r == 0 && v.type != TRACI_LON_LAT)
		r = -EBADMSG;
	if (r < 0)
		return world_fail(w, r, "converting a position");
	*ret_lon_deg = v.pos[0];
	*ret_lat_deg = v.pos[1];
	return 0;
}

/*
 * By a projection a metre of the map is about a metre on the earth, whichever way it is turned, and also where east and
 * west meet. Without one the two points are a thousand degrees apart. It is looked at where the ego is: a projection
 * has no meaning everywhere.
 */
static int find_projection(struct world *w)
{
	double lon_deg, lat_deg, east_lon_deg, east_lat_deg, m;
	int r = convert(w, w->ego.pos[0], w->ego.pos[1], &lon_deg, &lat_deg);

	if (r == 0)
		r = convert(w, w->ego.pos[0] + SPAN_M, w->ego.pos[1], &east_lon_deg, &east_lat_deg);
	if (r < 0)
		return r;
	m = DEGREE_M *
	    hypot(remainder(east_lon_deg - lon_deg, 360) * cos(lat_deg * M_PI / 180), east_lat_deg - lat_deg);
	w->projected = origin_is_on_earth(lat_deg, lon_deg) && origin_is_on_earth(east_lat_deg, east_lon_deg) &&
		       m > SPAN_M / SCALE_MOST && m < SPAN_M * SCALE_MOST;
	return 0;
}

int world_open(const struct world_options *o, struct world **ret, char *why)
{
	struct world *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->o = *o;
	r = start(w);
	if (r == 0)
		r = find_begin(w);
	if (r == 0)
		r = meet_ego(w);
	if (r == 0)
		r = find_projection(w);
	if (r == 0)
		r = world_lights_find(w);
	if (r == 0)
		r = world_lanes_find(w);
	if (r < 0) {
		memcpy(why, w->why, sizeof(w->why));
		world_close(w);
		return r;
	}
	*ret = w;
	return 0;
}

void world_close(struct world *w)
{
	if (!w)
		return;
	traci_close(w->t, true);
	sumo_proc_destroy(w->proc, w->t ? CLOSE_GRACE_MS : 0);
	for (size_t i = 0; i < w->route_len; i++)
		free(w->route[i]);
	free(w->route);
	free(w->lights);
	free(w->light_links);
	lanes_free(&w->lanes);
	free(w);
}

const char *world_why(const struct world *w)
{
	return w->why;
}

int world_step(struct world *w)
{
	int r;

	w->ego.known = w->ego.present = false;
	r = traci_step(w->t, on_ego, w, w->said, sizeof(w->said));
	if (r < 0)
		return world_fail(w, r, "stepping sumo");
	sumo_proc_drain(w->proc);
	w->steps++;
	return w->lost_route && w->steps >= w->look_step ? world_find_route(w) : 0;
}

int64_t world_time_sim_ns(const struct world *w)
{
	return w->begin_sim_ns + w->steps * w->o.sumo.step_dur_ns;
}

const struct world_ego *world_ego(const struct world *w)
{
	return &w->ego;
}

int world_lonlat(struct world *w, double x, double y, double *ret_lon_deg, double *ret_lat_deg)
{
	double lon_deg, lat_deg;
	int r = w->projected ? convert(w, x, y, &lon_deg, &lat_deg) : -ENODATA;

	if (r == 0 && !origin_is_on_earth(lat_deg, lon_deg))
		r = -ENODATA;
	if (r < 0)
		return r;
	*ret_lon_deg = lon_deg;
	*ret_lat_deg = lat_deg;
	return 0;
}
