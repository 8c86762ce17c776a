/* SPDX-License-Identifier: Apache-2.0 */
/* The network's lanes, found once: shapes, widths and allowed vehicle classes, some hundred answers per request. */
#include "world_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

LOG_TOPIC("sumo");

#define BATCH      128 /* lanes per request, three gets each */
#define POINTS_MAX 4096

typedef char lane_name[sizeof(((struct lane *)0)->id)];

/*
 * Names are copied first, because each further request reuses the answer's memory. Lanes inside junctions have no
 * markings and are left out.
 */
static int names_of(struct world *w, lane_name **ret, size_t *ret_n)
{
	struct traci_value v;
	size_t n = 0;
	int r = world_get(w, TRACI_LANE, TRACI_VAR_ID_LIST, "", TRACI_STRING_LIST, &v);

	if (r < 0)
		return r;
	*ret = calloc(v.list.count ? v.list.count : 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (uint32_t i = 0; i < v.list.count && n < LANES_MAX; i++) {
		struct traci_str s = traci_in_str(&v.list.body);

		w->inner_lanes |= s.len && s.p[0] == ':';
		if (s.len && s.len < sizeof(lane_name) && s.p[0] != ':')
			traci_str_copy(s, (*ret)[n++], sizeof(lane_name));
	}
	if (v.list.count > LANES_MAX)
		log_warn("the network has %u lanes: lines of %u of them are known", v.list.count, LANES_MAX);
	*ret_n = n;
	return 0;
}

static int next(struct world *w, struct traci_in *in, enum traci_var var, enum traci_type type, struct traci_value *v)
{
	struct traci_str text = { .p = "" };
	int r = traci_in_get(in, TRACI_LANE, var, v, &text);

	if (r == -EREMOTEIO)
		traci_str_copy(text, w->said, sizeof(w->said));
	return r == 0 && v->type != type ? -EBADMSG : r;
}

/* An empty list allows all classes. */
static bool for_cars(struct traci_value *allowed)
{
	bool found = allowed->list.count == 0;

	for (uint32_t i = 0; i < allowed->list.count; i++)
		found = traci_str_is(traci_in_str(&allowed->list.body), "passenger") || found;
	return found;
}

static int read_lane(struct world *w, struct traci_in *in, const char *name, double (*points)[2])
{
	struct traci_value width, allowed, shape;
	size_t n;
	int r = next(w, in, TRACI_VAR_WIDTH, TRACI_DOUBLE, &width);

	if (r == 0)
		r = next(w, in, TRACI_VAR_ALLOWED, TRACI_STRING_LIST, &allowed);
	if (r == 0)
		r = next(w, in, TRACI_VAR_SHAPE, TRACI_POLYGON, &shape);
	if (r < 0)
		return r;
	n = shape.list.count < POINTS_MAX ? shape.list.count : POINTS_MAX;
	for (size_t i = 0; i < n; i++) {
		points[i][0] = traci_in_f64(&shape.list.body);
		points[i][1] = traci_in_f64(&shape.list.body);
	}
	return lanes_add(&w->lanes, name, width.d, for_cars(&allowed), (const double(*)[2])points, n);
}

static int read_batch(struct world *w, const lane_name *names, size_t n, double (*points)[2])
{
	struct traci_out *o = traci_request(w->t);
	struct traci_in in;
	int r;

	for (size_t i = 0; i < n; i++) {
		traci_out_get(o, TRACI_LANE, TRACI_VAR_WIDTH, names[i]);
		traci_out_get(o, TRACI_LANE, TRACI_VAR_ALLOWED, names[i]);
		traci_out_get(o, TRACI_LANE, TRACI_VAR_SHAPE, names[i]);
	}
	r = traci_exchange(w->t, &in);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = read_lane(w, &in, names[i], points);
	return r;
}

int world_lanes_find(struct world *w)
{
	double(*points)[2] = calloc(POINTS_MAX, sizeof(*points));
	lane_name *names = NULL;
	size_t n = 0;
	int r = points ? names_of(w, &names, &n) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i += BATCH)
		r = read_batch(w, (const lane_name *)names + i, n - i < BATCH ? n - i : BATCH, points);
	free(names);
	free(points);
	lanes_sort(&w->lanes);
	return r < 0 ? world_fail(w, r, "finding the lanes") : 0;
}

bool world_has_inner_lanes(const struct world *w)
{
	return w->inner_lanes;
}

const struct lanes *world_lanes(const struct world *w)
{
	return &w->lanes;
}
