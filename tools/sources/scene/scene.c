/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes around the sensor. See scene.h. */
#include "scene.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frames.h"

static const struct {
	const char *label;
	double reflectivity;
} MATERIALS[] = {
	{ "Pedestrian", 0.45 }, { "Bicycle", 0.50 }, { "Motorcycle", 0.55 },
	{ "Truck", 0.70 },      { "Bus", 0.75 },     { "Car", 0.65 },
};

static double reflectivity_of(const char *label)
{
	for (size_t i = 0; label && i < sizeof(MATERIALS) / sizeof(*MATERIALS); i++) {
		if (strcmp(MATERIALS[i].label, label) == 0)
			return MATERIALS[i].reflectivity;
	}
	return 0.5;
}

/* ---- buildings ---- */

static bool number(const json_t *o, const char *key, double fallback, bool required, double *ret)
{
	json_t *v = json_object_get(o, key);

	if (!v && !required) {
		*ret = fallback;
		return true;
	}
	if (!json_is_number(v))
		return false;
	*ret = json_number_value(v);
	return true;
}

static bool read_building(const json_t *o, struct scan_box *b)
{
	double ground;

	if (!json_is_object(o) || !number(o, "x", 0, true, &b->x) || !number(o, "y", 0, true, &b->y) ||
	    !number(o, "length", 0, true, &b->length) || !number(o, "width", 0, true, &b->width) ||
	    !number(o, "height", 0, true, &b->height) || !number(o, "yaw", 0, false, &b->yaw) ||
	    !number(o, "z", 0, false, &ground) || !number(o, "reflectivity", 0.35, false, &b->reflectivity))
		return false;
	b->z = ground + b->height / 2;
	return b->length > 0 && b->width > 0 && b->height > 0 && b->reflectivity >= 0 && b->reflectivity <= 1;
}

static int read_list(const json_t *list, const char *path, struct scene_buildings *ret, char *why, size_t cap)
{
	size_t n = json_array_size(list);

	if (!json_is_array(list)) {
		snprintf(why, cap, "%s: there is no list \"buildings\"", path);
		return -EINVAL;
	}
	if (n > SCENE_BUILDINGS_MAX) {
		snprintf(why, cap, "%s: %zu buildings, %d at most", path, n, SCENE_BUILDINGS_MAX);
		return -E2BIG;
	}
	ret->boxes = calloc(n ? n : 1, sizeof(*ret->boxes));
	if (!ret->boxes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (read_building(json_array_get(list, i), &ret->boxes[i]))
			continue;
		snprintf(
			why, cap,
			"%s: buildings[%zu] needs numbers x, y, length, width, height (sizes above 0, reflectivity 0 to 1)",
			path, i);
		scene_buildings_free(ret);
		return -EINVAL;
	}
	ret->n = n;
	return 0;
}

int scene_buildings_load(const char *path, struct scene_buildings *ret, char *why, size_t cap)
{
	struct scene_buildings b = { 0 };
	json_error_t e;
	json_t *j = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
	int r;

	if (!j) {
		bool missing = json_error_code(&e) == json_error_cannot_open_file;

		snprintf(why, cap, missing ? "%s: cannot be opened" : "%s:%d: %s", path, e.line, e.text);
		return missing ? -ENOENT : -EINVAL;
	}
	r = read_list(json_object_get(j, "buildings"), path, &b, why, cap);
	json_decref(j);
	if (r == 0)
		*ret = b;
	return r;
}

void scene_buildings_free(struct scene_buildings *b)
{
	free(b->boxes);
	*b = (struct scene_buildings){ 0 };
}

/* ---- a turn's boxes ---- */

double scene_yaw_of(const struct sim_Quaternion *q)
{
	return atan2(2 * (q->w * q->z + q->x * q->y), 1 - 2 * (q->y * q->y + q->z * q->z));
}

/* What is at p in the transform's child is there in its parent. */
static struct scene_pose pose_out_of(const struct sim_Transform *t, const struct scene_pose *p)
{
	double yaw = scene_yaw_of(&t->rotation), c = cos(yaw), s = sin(yaw);

	return (struct scene_pose){ .x = t->translation.x + c * p->x - s * p->y,
				    .y = t->translation.y + s * p->x + c * p->y,
				    .z = t->translation.z + p->z,
				    .yaw = yaw + p->yaw };
}

int scene_pose_of(const struct sim_Transforms *m, size_t body_size, const char *parent, const char *child,
		  struct scene_pose *ret)
{
	struct scene_pose p = { 0 };

	for (int i = 0; i < FRAMES_DEEP; i++) {
		const struct sim_Transform *t = frames_up(m, body_size, parent, &child);

		if (!t)
			break;
		p = pose_out_of(t, &p);
		if (strcmp(child, parent) == 0) {
			*ret = p;
			return 0;
		}
	}
	return -ENOENT;
}

/* Transform a box from base_link to the sensor's frame. */
static void mounted(const struct scene_mount *m, struct scan_box *box)
{
	double dx = box->x - m->x, dy = box->y - m->y, c = cos(m->yaw), s = sin(m->yaw);

	box->x = c * dx + s * dy;
	box->y = c * dy - s * dx;
	box->z -= m->z;
	box->yaw -= m->yaw;
}

size_t scene_add_objects(const struct sim_Detected3DObjects *m, size_t body_size, const struct scene_mount *mount,
			 struct scan_box *boxes, size_t n)
{
	uint32_t count;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(m, body_size, &count);

	for (uint32_t i = 0; i < count && n < SCENE_BOXES_MAX; i++) {
		boxes[n] = (struct scan_box){
			.x = o[i].pose.position.x,
			.y = o[i].pose.position.y,
			.z = o[i].pose.position.z,
			.yaw = scene_yaw_of(&o[i].pose.orientation),
			.length = o[i].size.x,
			.width = o[i].size.y,
			.height = o[i].size.z,
			.reflectivity = reflectivity_of(sim_Detected3DObject_label_in(m, body_size, &o[i])),
		};
		mounted(mount, &boxes[n++]);
	}
	return n;
}

size_t scene_add_buildings(const struct scene_buildings *b, const struct scene_pose *base,
			   const struct scene_mount *mount, double range_m, struct scan_box *boxes, size_t n)
{
	double c = cos(base->yaw), s = sin(base->yaw);

	for (size_t i = 0; i < b->n && n < SCENE_BOXES_MAX; i++) {
		struct scan_box box = b->boxes[i];
		double dx = box.x - base->x, dy = box.y - base->y;

		if (hypot(dx, dy) - hypot(box.length, box.width) / 2 > range_m)
			continue;
		box.x = c * dx + s * dy;
		box.y = c * dy - s * dx;
		box.z -= base->z;
		box.yaw -= base->yaw;
		mounted(mount, &box);
		boxes[n++] = box;
	}
	return n;
}
