/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is around the ego: one context subscription for vehicles and one for persons, made again each
 * time with an end before the next step, so that sumo answers once and forgets it.
 */
#include "world_internal.h"

#include <string.h>

static const uint8_t VARS[] = { TRACI_VAR_POSITION_3D, TRACI_VAR_ANGLE,  TRACI_VAR_SPEED, TRACI_VAR_LENGTH,
				TRACI_VAR_WIDTH,       TRACI_VAR_HEIGHT, TRACI_VAR_CLASS };

static const struct {
	const char *vclass;
	enum world_kind kind;
} KINDS[] = {
	{ "passenger", WORLD_CAR },
	{ "private", WORLD_CAR },
	{ "taxi", WORLD_CAR },
	{ "evehicle", WORLD_CAR },
	{ "vip", WORLD_CAR },
	{ "hov", WORLD_CAR },
	{ "emergency", WORLD_CAR },
	{ "authority", WORLD_CAR },
	{ "army", WORLD_TRUCK },
	{ "delivery", WORLD_TRUCK },
	{ "truck", WORLD_TRUCK },
	{ "trailer", WORLD_TRUCK },
	{ "bus", WORLD_BUS },
	{ "coach", WORLD_BUS },
	{ "bicycle", WORLD_BICYCLE },
	{ "moped", WORLD_MOTORCYCLE },
	{ "motorcycle", WORLD_MOTORCYCLE },
	{ "pedestrian", WORLD_PEDESTRIAN },
};

static enum world_kind kind_of(const char *vclass)
{
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(*KINDS); i++) {
		if (strcmp(KINDS[i].vclass, vclass) == 0)
			return KINDS[i].kind;
	}
	return WORLD_OTHER;
}

static uint64_t hash(struct traci_str s, uint64_t h)
{
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
	return h;
}

static void fill(struct world_object *obj, const struct traci_item *it)
{
	char vclass[24];

	if (it->var == TRACI_VAR_POSITION_3D && it->value.type == TRACI_XYZ)
		memcpy(obj->pos, it->value.pos, sizeof(obj->pos));
	if (it->var == TRACI_VAR_CLASS && it->value.type == TRACI_STRING)
		obj->kind = kind_of(traci_str_copy(it->value.s, vclass, sizeof(vclass)));
	if (it->value.type != TRACI_DOUBLE)
		return;
	if (it->var == TRACI_VAR_ANGLE)
		obj->angle_deg = it->value.d;
	else if (it->var == TRACI_VAR_SPEED)
		obj->speed = it->value.d;
	else if (it->var == TRACI_VAR_LENGTH)
		obj->length = it->value.d;
	else if (it->var == TRACI_VAR_WIDTH)
		obj->width = it->value.d;
	else if (it->var == TRACI_VAR_HEIGHT)
		obj->height = it->value.d;
}

static void on_object(void *user, const struct traci_item *it)
{
	struct world *w = user;

	if (!it->context)
		return;
	if (it->var == VARS[0]) { /* the first variable of the next object */
		w->filling = NULL;
		if (w->nobjects == WORLD_OBJECTS_MAX)
			return;
		if (it->around == TRACI_VEHICLE && traci_str_is(it->object, w->o.ego))
			return;
		w->filling = &w->objects[w->nobjects++];
		*w->filling = (struct world_object){
			.key = hash(it->object, 14695981039346656037u + (unsigned)it->around),
			.kind = it->around == TRACI_PERSON ? WORLD_PEDESTRIAN : WORLD_OTHER,
		};
	}
	if (w->filling && it->ok)
		fill(w->filling, it);
}

static int scan_domain(struct world *w, enum traci_domain around)
{
	double now_s = (double)world_time_sim_ns(w) / 1e9;
	double half_step_s = (double)w->o.sumo.step_dur_ns / 2e9;

	w->filling = NULL;
	traci_out_subscribe_context(traci_request(w->t), TRACI_VEHICLE, w->o.ego, 0, now_s + half_step_s, around,
				    w->o.range_m, VARS, sizeof(VARS));
	return traci_subscribed(w->t, TRACI_SUBSCRIBE_CONTEXT | TRACI_VEHICLE, on_object, w, w->said, sizeof(w->said));
}

int world_scan(struct world *w, const struct world_object **ret, size_t *ret_n)
{
	int r;

	w->nobjects = 0;
	r = scan_domain(w, TRACI_VEHICLE);
	if (r == 0)
		r = scan_domain(w, TRACI_PERSON);
	if (r < 0)
		return world_fail(w, r, "looking around the ego");
	*ret = w->objects;
	*ret_n = w->nobjects;
	return 0;
}
