/* SPDX-License-Identifier: Apache-2.0 */
/* The table of mappings and the geometry they share: see map.h. */

#include "map_private.h"

const struct map map_table[] = {
#define X(sim, package, ros) { "sim/" #sim, #package "/" #ros, MAP_NAME(sim, package, ros), false },
	MAPS(X)
#undef X
#define X(sim, package, ros) { "sim/" #sim, #package "/" #ros, MAP_NAME(sim, package, ros), true },
		MAPS_OUT_ONLY(X)
#undef X
			{ NULL, NULL, NULL, false },
};

bool map_same_ros(const char *have, const char *want)
{
	size_t package = strcspn(have, "/") + 1;

	if (strncmp(have, want, package) != 0)
		return false;
	want += package;
	if (strncmp(want, "msg/", 4) == 0)
		want += 4;
	return strcmp(have + package, want) == 0;
}

const struct map *map_find(const char *sim, const char *ros)
{
	for (const struct map *m = map_table; m->sim; m++)
		if (strcmp(m->sim, sim) == 0 && (ros ? map_same_ros(m->ros, ros) : !m->out_only))
			return m;
	return NULL;
}

void map_header(struct sim_enc *e, const struct map_message *in)
{
	struct sim_enc_header h = in->header;

	if (in->options->frame)
		h.frame = in->options->frame;
	sim_enc_header(e, "header", &h);
}

size_t map_text_length(const struct map_message *in, const char *s)
{
	size_t at = (uintptr_t)s - (uintptr_t)in->body;

	return at < in->size ? strnlen(s, in->size - at) : strlen(s); /* or a constant of ours */
}

void map_text(struct sim_enc *e, const char *name, const struct map_message *in, const char *s)
{
	e->ops->string(e, name, s, map_text_length(in, s));
}

void map_vector(struct sim_enc *e, const char *name, const struct sim_Vector3 *v)
{
	sim_enc_begin(e, name);
	sim_enc_f64(e, "x", v->x);
	sim_enc_f64(e, "y", v->y);
	sim_enc_f64(e, "z", v->z);
	sim_enc_end(e);
}

void map_quaternion(struct sim_enc *e, const char *name, const struct sim_Quaternion *q)
{
	sim_enc_begin(e, name);
	sim_enc_f64(e, "x", q->x);
	sim_enc_f64(e, "y", q->y);
	sim_enc_f64(e, "z", q->z);
	sim_enc_f64(e, "w", q->w);
	sim_enc_end(e);
}

void map_pose(struct sim_enc *e, const char *name, const struct sim_Vector3 *position, const struct sim_Quaternion *q)
{
	sim_enc_begin(e, name);
	map_vector(e, "position", position);
	map_quaternion(e, "orientation", q);
	sim_enc_end(e);
}

void map_twist(struct sim_enc *e, const char *name, const struct sim_Vector3 *linear, const struct sim_Vector3 *angular)
{
	sim_enc_begin(e, name);
	map_vector(e, "linear", linear);
	map_vector(e, "angular", angular);
	sim_enc_end(e);
}

/* v + 2 w (-q x v) + 2 (-q x (-q x v)): the conjugate rotates from the map into the body. */
struct sim_Vector3 map_to_body(const struct sim_Quaternion *q, const struct sim_Vector3 *v)
{
	double x = -q->x, y = -q->y, z = -q->z;
	double tx = 2 * (y * v->z - z * v->y), ty = 2 * (z * v->x - x * v->z), tz = 2 * (x * v->y - y * v->x);

	return (struct sim_Vector3){
		.x = v->x + q->w * tx + y * tz - z * ty,
		.y = v->y + q->w * ty + z * tx - x * tz,
		.z = v->z + q->w * tz + x * ty - y * tx,
	};
}
