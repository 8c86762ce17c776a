/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic lights: their positions are found once; their letters are read when due, one get per junction, all in one
 * request.
 */
#include "world_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUNCTIONS_MAX 256
#define LANE_MAX      64

/* A link of a light: the lane it comes from; "" for a footway. */
struct link_found {
	uint32_t index;
	char lane[LANE_MAX];
};

static bool take_int(struct traci_in *in, int32_t *ret)
{
	struct traci_value v;

	if (traci_in_value(in, &v) < 0 || v.type != TRACI_INTEGER)
		return false;
	*ret = v.i;
	return true;
}

/* Reads one signal group: a number of links, each a list (from, to, via). Takes the lane of the first link. */
static int take_group(struct traci_in *in, char lane[LANE_MAX])
{
	struct traci_value v;
	int32_t n;

	lane[0] = '\0';
	if (!take_int(in, &n) || n < 0)
		return -EBADMSG;
	for (int32_t i = 0; i < n; i++) {
		if (traci_in_value(in, &v) < 0 || v.type != TRACI_STRING_LIST)
			return -EBADMSG;
		if (i == 0 && v.list.count)
			traci_str_copy(traci_in_str(&v.list.body), lane, LANE_MAX);
	}
	if (lane[0] == ':') /* a crossing for pedestrians */
		lane[0] = '\0';
	return 0;
}

/* Reads the lanes of a junction's links. Returns how many, or a negative errno. */
static int links_of(struct world *w, const char *junction, struct link_found *found, size_t cap)
{
	struct traci_value v;
	int32_t groups;
	size_t n = 0;
	int r = world_get(w, TRACI_LIGHT, TRACI_VAR_LIGHT_LINKS, junction, TRACI_COMPOUND, &v);

	if (r < 0)
		return r;
	if (!take_int(&v.list.body, &groups) || groups < 0)
		return -EBADMSG;
	for (int32_t i = 0; i < groups; i++) {
		struct link_found f = { .index = (uint32_t)i };

		if (take_group(&v.list.body, f.lane) < 0)
			return -EBADMSG;
		if (f.lane[0] && n < cap)
			found[n++] = f;
	}
	return (int)n;
}

/* Finds the end of a lane and its direction there. */
static int lane_end(struct world *w, const char *lane, struct world_light *l)
{
	double a[2] = { 0, 0 }, b[2] = { 0, 0 };
	struct traci_value v;
	int r = world_get(w, TRACI_LANE, TRACI_VAR_SHAPE, lane, TRACI_POLYGON, &v);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < v.list.count; i++) {
		memcpy(a, b, sizeof(a));
		b[0] = traci_in_f64(&v.list.body);
		b[1] = traci_in_f64(&v.list.body);
	}
	l->pos[0] = b[0];
	l->pos[1] = b[1];
	l->angle_deg = atan2(b[0] - a[0], b[1] - a[1]) * 180 / M_PI;
	return 0;
}

static int add_light(struct world *w, const char *junction, const struct link_found *f)
{
	struct world_light *l = &w->lights[w->nlights];
	struct world_link *k = &w->light_links[w->nlights];
	int r;

	memset(l, 0, sizeof(*l));
	r = lane_end(w, f->lane, l);
	if (r < 0)
		return r;
	snprintf(l->id, sizeof(l->id), "%.36s:%u", junction, f->index);
	snprintf(k->junction, sizeof(k->junction), "%s", junction);
	k->index = f->index;
	l->state = 'o';
	w->nlights++;
	return 0;
}

static int add_junction(struct world *w, const char *junction)
{
	static const size_t cap = 128;
	struct link_found *found = calloc(cap, sizeof(*found));
	int n, r = 0;

	if (!found)
		return -ENOMEM;
	n = links_of(w, junction, found, cap);
	for (int i = 0; i < n && r == 0 && w->nlights < WORLD_LIGHTS_MAX; i++)
		r = add_light(w, junction, &found[i]);
	free(found);
	return n < 0 ? n : r;
}

/* Names are copied first, because each further request reuses the answer's memory. */
static int junctions(struct world *w, char (*names)[40], size_t cap, size_t *ret_n)
{
	struct traci_value v;
	size_t n = 0;
	int r = world_get(w, TRACI_LIGHT, TRACI_VAR_ID_LIST, "", TRACI_STRING_LIST, &v);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < v.list.count && n < cap; i++) {
		struct traci_str s = traci_in_str(&v.list.body);

		if (s.len < sizeof(*names)) /* a longer name cannot be requested */
			traci_str_copy(s, names[n++], sizeof(*names));
	}
	*ret_n = n;
	return 0;
}

int world_lights_find(struct world *w)
{
	char(*names)[40] = calloc(JUNCTIONS_MAX, sizeof(*names));
	size_t n = 0;
	int r = -ENOMEM;

	w->lights = calloc(WORLD_LIGHTS_MAX, sizeof(*w->lights));
	w->light_links = calloc(WORLD_LIGHTS_MAX, sizeof(*w->light_links));
	if (names && w->lights && w->light_links)
		r = junctions(w, names, JUNCTIONS_MAX, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_junction(w, names[i]);
	free(names);
	return r < 0 ? world_fail(w, r, "finding the traffic lights") : 0;
}

/* Returns the end of the run of lights of one junction, which share one get. */
static size_t run_end(const struct world *w, size_t from)
{
	size_t i = from;

	while (i < w->nlights && strcmp(w->light_links[i].junction, w->light_links[from].junction) == 0)
		i++;
	return i;
}

static int read_states(struct world *w, struct traci_in *in)
{
	for (size_t i = 0, end; i < w->nlights; i = end) {
		struct traci_str text = { .p = "" };
		struct traci_value v;
		int r = traci_in_get(in, TRACI_LIGHT, TRACI_VAR_LIGHT_STATE, &v, &text);

		if (r == -EREMOTEIO)
			traci_str_copy(text, w->said, sizeof(w->said));
		if (r == 0 && v.type != TRACI_STRING)
			r = -EBADMSG;
		if (r < 0)
			return r;
		end = run_end(w, i);
		for (size_t k = i; k < end; k++)
			w->lights[k].state = w->light_links[k].index < v.s.len ? v.s.p[w->light_links[k].index] : 'o';
	}
	return 0;
}

int world_lights(struct world *w, const struct world_light **ret, size_t *ret_n)
{
	struct traci_out *o = traci_request(w->t);
	struct traci_in in;
	int r = 0;

	for (size_t i = 0; i < w->nlights; i = run_end(w, i))
		traci_out_get(o, TRACI_LIGHT, TRACI_VAR_LIGHT_STATE, w->light_links[i].junction);
	if (w->nlights) {
		r = traci_exchange(w->t, &in);
		if (r == 0)
			r = read_states(w, &in);
	}
	if (r < 0)
		return world_fail(w, r, "reading the traffic lights");
	*ret = w->lights;
	*ret_n = w->nlights;
	return 0;
}
