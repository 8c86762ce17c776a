/* SPDX-License-Identifier: Apache-2.0 */
/* See stage.h. */
#include "stage.h"

#include <math.h>
#include <string.h>

#include "../frames.h"
#include "../scene/scene.h"
#include "err.h"

#define EXTENT_MAX  10000.0 /* m: larger things are invalid */
#define COORD_MAX   1e8
#define VAN_HEIGHT  1.9    /* m: a higher car is a van */
#define BRAKING     (-0.7) /* m/s^2 along its heading */
#define NIGHT_UP    0.04   /* sine of the sun's elevation */
#define LIGHT_SHIFT 0.42   /* m between lights at one position */

#define RGB(r, g, b) ((uint32_t)(r) | (uint32_t)(g) << 8 | (uint32_t)(b) << 16)

/* linear, 0 to 255 */
static const uint32_t CARS[] = {
	RGB(176, 178, 180), RGB(96, 99, 104),   RGB(30, 32, 35), RGB(9, 9, 10),    RGB(14, 30, 78),
	RGB(116, 8, 8),     RGB(190, 188, 180), RGB(12, 50, 40), RGB(24, 66, 120), RGB(130, 84, 24),
};
static const uint32_t LORRIES[] = { RGB(130, 18, 12), RGB(20, 60, 130), RGB(150, 150, 150), RGB(20, 84, 50),
				    RGB(160, 100, 10) };
static const uint32_t BUSES[] = { RGB(150, 26, 20), RGB(30, 80, 150), RGB(176, 140, 20) };
static const uint32_t CLOTHES[] = {
	RGB(120, 20, 24), RGB(20, 50, 110),  RGB(150, 140, 120), RGB(30, 80, 40),
	RGB(40, 40, 46),  RGB(160, 110, 30), RGB(90, 40, 90),
};
static const uint32_t PLASTER[] = {
	RGB(150, 132, 100), RGB(160, 150, 130), RGB(128, 92, 62),  RGB(112, 60, 44),
	RGB(134, 134, 130), RGB(120, 124, 104), RGB(164, 128, 84),
};

static uint32_t mixed(uint32_t v)
{
	v ^= v >> 16;
	v *= 0x7FEB352Du;
	v ^= v >> 15;
	v *= 0x846CA68Bu;
	return v ^ v >> 16;
}

#define PICK(list, id) ((list)[mixed(id) % (sizeof(list) / sizeof(*(list)))])

/* ---- classes ---- */

static const struct class
{
	const char *name;
	uint8_t label, form;
} CLASSES[] = {
	{ "Car", LABEL_CAR, FORM_CAR },
	{ "Truck", LABEL_TRUCK, FORM_TRUCK },
	{ "Bus", LABEL_BUS, FORM_BUS },
	{ "Bicycle", LABEL_BICYCLE, FORM_BICYCLE },
	{ "Motorcycle", LABEL_MOTORCYCLE, FORM_MOTORCYCLE },
	{ "Pedestrian", LABEL_PERSON, FORM_PERSON },
};

static const struct class *class_of(const char *name)
{
	static const struct class OTHER = { "", LABEL_DYNAMIC, FORM_BLOCK };

	for (size_t i = 0; name && i < sizeof(CLASSES) / sizeof(*CLASSES); i++) {
		if (strcmp(CLASSES[i].name, name) == 0)
			return &CLASSES[i];
	}
	return &OTHER;
}

const char *stage_label_name(uint8_t label)
{
	for (size_t i = 0; i < sizeof(CLASSES) / sizeof(*CLASSES); i++) {
		if (CLASSES[i].label == label)
			return CLASSES[i].name;
	}
	return "Unknown";
}

static uint32_t colour_of(uint8_t form, uint32_t id)
{
	switch (form) {
	case FORM_TRUCK:
		return PICK(LORRIES, id);
	case FORM_BUS:
		return PICK(BUSES, id);
	case FORM_PERSON:
	case FORM_BICYCLE:
	case FORM_MOTORCYCLE:
		return PICK(CLOTHES, id);
	case FORM_BUILDING:
		return PICK(PLASTER, id);
	case FORM_BLOCK:
		return RGB(120, 90, 60);
	default:
		return PICK(CARS, id);
	}
}

/* ---- poses ---- */

static bool axes_of(const struct sim_Quaternion *q, double ret[9])
{
	double l = q->w * q->w + q->x * q->x + q->y * q->y + q->z * q->z, s;

	if (!(l > 1e-12) || !(l < 1e12))
		return false;
	s = 2 / l;
	ret[0] = 1 - s * (q->y * q->y + q->z * q->z);
	ret[1] = s * (q->x * q->y - q->w * q->z);
	ret[2] = s * (q->x * q->z + q->w * q->y);
	ret[3] = s * (q->x * q->y + q->w * q->z);
	ret[4] = 1 - s * (q->x * q->x + q->z * q->z);
	ret[5] = s * (q->y * q->z - q->w * q->x);
	ret[6] = s * (q->x * q->z - q->w * q->y);
	ret[7] = s * (q->y * q->z + q->w * q->x);
	ret[8] = 1 - s * (q->x * q->x + q->y * q->y);
	return true;
}

static bool pose_of(const struct sim_Vector3 *at, const struct sim_Quaternion *q, struct pose *ret)
{
	struct pose p = { .at = { at->x, at->y, at->z } };

	if (!(fabs(at->x) < COORD_MAX) || !(fabs(at->y) < COORD_MAX) || !(fabs(at->z) < COORD_MAX) ||
	    !axes_of(q, p.axes))
		return false;
	*ret = p;
	return true;
}

bool pose_find(const struct sim_Transforms *m, size_t body_size, const char *parent, const char *child,
	       struct pose *ret)
{
	struct pose sum = { .axes = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } }, one;

	for (int i = 0; i < FRAMES_DEEP; i++) {
		const struct sim_Transform *t = frames_up(m, body_size, parent, &child);

		if (!t || !pose_of(&t->translation, &t->rotation, &one))
			break;
		sum = pose_in(&one, &sum);
		if (strcmp(child, parent) == 0) {
			*ret = sum;
			return true;
		}
	}
	return false;
}

struct pose pose_in(const struct pose *a, const struct pose *b)
{
	struct pose r;

	for (int i = 0; i < 3; i++) {
		const double *row = &a->axes[3 * i];

		r.at[i] = a->at[i] + row[0] * b->at[0] + row[1] * b->at[1] + row[2] * b->at[2];
		for (int k = 0; k < 3; k++)
			r.axes[3 * i + k] = row[0] * b->axes[k] + row[1] * b->axes[3 + k] + row[2] * b->axes[6 + k];
	}
	return r;
}

/* Divides by the largest component, for numerical stability. */
void pose_quaternion(const struct pose *p, struct sim_Quaternion *ret)
{
	const double *a = p->axes;
	double q[4] = { 1 + a[0] + a[4] + a[8], 1 + a[0] - a[4] - a[8], 1 - a[0] + a[4] - a[8],
			1 - a[0] - a[4] + a[8] };
	int top = 0;
	double s;

	for (int i = 1; i < 4; i++)
		top = q[i] > q[top] ? i : top;
	s = sqrt(q[top]) / 2;
	switch (top) {
	case 0:
		*ret = (struct sim_Quaternion){
			.w = s, .x = (a[7] - a[5]) / (4 * s), .y = (a[2] - a[6]) / (4 * s), .z = (a[3] - a[1]) / (4 * s)
		};
		break;
	case 1:
		*ret = (struct sim_Quaternion){
			.w = (a[7] - a[5]) / (4 * s), .x = s, .y = (a[1] + a[3]) / (4 * s), .z = (a[2] + a[6]) / (4 * s)
		};
		break;
	case 2:
		*ret = (struct sim_Quaternion){
			.w = (a[2] - a[6]) / (4 * s), .x = (a[1] + a[3]) / (4 * s), .y = s, .z = (a[5] + a[7]) / (4 * s)
		};
		break;
	default:
		*ret = (struct sim_Quaternion){
			.w = (a[3] - a[1]) / (4 * s), .x = (a[2] + a[6]) / (4 * s), .y = (a[5] + a[7]) / (4 * s), .z = s
		};
	}
}

struct pose pose_from_rpy(const double at[3], double roll, double pitch, double yaw)
{
	double cr = cos(roll), sr = sin(roll), cp = cos(pitch), sp = sin(pitch), cy = cos(yaw), sy = sin(yaw);

	return (struct pose){ .at = { at[0], at[1], at[2] },
			      .axes = { cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr, /**/
					sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr, /**/
					-sp, cp * sr, cp * cr } };
}

/* ---- things ---- */

bool thing_ok(const struct thing *t)
{
	for (int i = 0; i < 3; i++) {
		if (!(t->size[i] > 0) || !(t->size[i] < EXTENT_MAX) || !(fabs(t->at[i]) < COORD_MAX))
			return false;
	}
	return isfinite(t->yaw);
}

static void add(struct stage *s, const struct thing *t)
{
	if (s->n < STAGE_THINGS_MAX && thing_ok(t))
		s->things[s->n++] = *t;
	else
		s->left_out++;
}

/* Sets the thing's pose from a box given in base: the centre of its floor. */
static bool stand(const struct sim_Pose *p, const struct sim_Vector3 *size, const struct pose *base, struct thing *t)
{
	struct sim_Vector3 at = { .x = p->position.x, .y = p->position.y, .z = p->position.z };
	struct pose in;

	if (!pose_of(&at, &p->orientation, &in))
		return false;
	in = pose_in(base, &in);
	memcpy(t->at, in.at, sizeof(t->at));
	t->at[2] -= size->z / 2;
	t->yaw = atan2(in.axes[3], in.axes[0]);
	t->size[0] = size->x;
	t->size[1] = size->y;
	t->size[2] = size->z;
	return true;
}

void stage_add_objects(struct stage *s, const struct sim_Detected3DObjects *m, size_t body_size,
		       const struct pose *base)
{
	uint32_t n;
	const struct sim_Detected3DObject *o = sim_Detected3DObjects_objects(m, body_size, &n);

	for (uint32_t i = 0; i < n; i++) {
		const struct class *c = class_of(sim_Detected3DObject_label_in(m, body_size, &o[i]));
		struct thing t = { .id = o[i].id, .label = c->label, .form = c->form };
		double along =
			o[i].map_acceleration.x * cos(o[i].heading) + o[i].map_acceleration.y * sin(o[i].heading);

		if (!stand(&o[i].pose, &o[i].size, base, &t)) {
			s->left_out++;
			continue;
		}
		if (t.form == FORM_CAR && t.size[2] > VAN_HEIGHT)
			t.form = FORM_VAN;
		if (along < BRAKING)
			t.lit |= LIT_BRAKE;
		t.colour = colour_of(t.form, t.id);
		add(s, &t);
	}
}

static uint8_t lamp_of(uint8_t colour)
{
	switch (colour) {
	case SIM_TRAFFIC_SIGNAL_COLOR_RED:
		return LIT_RED;
	case SIM_TRAFFIC_SIGNAL_COLOR_YELLOW:
		return LIT_YELLOW;
	case SIM_TRAFFIC_SIGNAL_COLOR_GREEN:
		return LIT_GREEN;
	default:
		return 0;
	}
}

/*
 * Number of lights at that position. A lane has one light per direction, shown side by side; messages for one direction
 * are lamps of the same light.
 */
static unsigned beside_others(const struct stage *s, size_t first, const struct thing *t)
{
	unsigned n = 0;

	for (size_t i = first; i < s->n; i++)
		n += hypot(s->things[i].at[0] - t->at[0], s->things[i].at[1] - t->at[1]) < LIGHT_SHIFT / 2;
	return n;
}

void stage_add_signals(struct stage *s, const struct sim_TrafficSignals *m, size_t body_size, const struct pose *base)
{
	uint32_t n;
	const struct sim_TrafficSignal *l = sim_TrafficSignals_signals(m, body_size, &n);
	const char *last = "";
	size_t first = s->n;

	for (uint32_t i = 0; i < n; i++) {
		const char *id = sim_TrafficSignal_id_in(m, body_size, &l[i]);
		struct thing t = {
			.id = l[i].seq_id, .label = LABEL_LIGHT, .form = FORM_SIGNAL, .lit = lamp_of(l[i].color)
		};
		double left[2];

		if (id && *id && strcmp(id, last) == 0 && s->n > first) {
			s->things[s->n - 1].lit |= t.lit;
			continue;
		}
		last = id ? id : "";
		if (!stand(&l[i].pose, &l[i].size, base, &t)) {
			s->left_out++;
			continue;
		}
		/* alternately right and left of the lane's centre, as seen by approaching traffic */
		left[0] = sin(t.yaw) * LIGHT_SHIFT;
		left[1] = -cos(t.yaw) * LIGHT_SHIFT;
		for (unsigned tries = 0, k = 1; tries < 8 && beside_others(s, first, &t); tries++, k++) {
			double by = tries % 2 ? -(double)k : (double)k;

			t.at[0] += left[0] * by;
			t.at[1] += left[1] * by;
		}
		add(s, &t);
	}
}

int stage_add_buildings(struct stage *s, const char *path)
{
	struct scene_buildings b;
	char why[ERR_WHY_MAX];
	int r = scene_buildings_load(path, &b, why, sizeof(why));

	if (r < 0)
		return err_set(r, "%s", r == -ENOMEM ? "no memory for the buildings" : why);
	for (size_t i = 0; i < b.n; i++) {
		const struct scan_box *x = &b.boxes[i];
		struct thing t = { .at = { x->x, x->y, x->z - x->height / 2 },
				   .yaw = x->yaw,
				   .size = { x->length, x->width, x->height },
				   .id = (uint32_t)i,
				   .label = LABEL_BUILDING,
				   .form = FORM_BUILDING,
				   .colour = colour_of(FORM_BUILDING, (uint32_t)i) };

		add(s, &t);
	}
	scene_buildings_free(&b);
	return 0;
}

/* ---- light ---- */

/* Whether a ray from p towards `sun` hits the box. */
static bool covers(const struct thing *b, const double p[3], const double sun[3])
{
	double c = cos(b->yaw), s = sin(b->yaw), dx = p[0] - b->at[0], dy = p[1] - b->at[1];
	double from[3] = { c * dx + s * dy, c * dy - s * dx, p[2] - b->at[2] };
	double to[3] = { c * sun[0] + s * sun[1], c * sun[1] - s * sun[0], sun[2] };
	double enter = 0, leave = INFINITY;

	for (int i = 0; i < 3; i++) {
		double low = i < 2 ? -b->size[i] / 2 : 0, high = i < 2 ? b->size[i] / 2 : b->size[2];
		double a = (low - from[i]) / to[i], z = (high - from[i]) / to[i];

		enter = fmax(enter, fmin(a, z));
		leave = fmin(leave, fmax(a, z));
	}
	return enter < leave;
}

static bool in_shade(const struct stage *s, const struct thing *t, const double sun[3])
{
	const double p[3] = { t->at[0], t->at[1], t->at[2] + t->size[2] / 2 };
	double reach = 60 / fmax(sun[2], 0.05); /* m: shadow length of a house of 60 m */

	for (size_t i = 0; i < s->n; i++) {
		const struct thing *b = &s->things[i];

		if (b->form == FORM_BUILDING && fabs(b->at[0] - p[0]) < reach && fabs(b->at[1] - p[1]) < reach &&
		    covers(b, p, sun))
			return true;
	}
	return false;
}

void stage_light(struct stage *s, const double sun[3])
{
	for (size_t i = 0; i < s->n; i++) {
		struct thing *t = &s->things[i];

		t->lit = (uint8_t)(t->lit & ~(unsigned)(IN_SHADE | LIT_NIGHT));
		if (sun[2] < NIGHT_UP)
			t->lit |= LIT_NIGHT;
		if (t->form != FORM_BUILDING && (sun[2] < NIGHT_UP || in_shade(s, t, sun)))
			t->lit |= IN_SHADE;
	}
}
