/* SPDX-License-Identifier: Apache-2.0 */
/* See cameras.h. */
#include "cameras.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

#define DEG       (M_PI / 180)
#define MOUNT_MAX 50.0 /* m */

static const struct {
	const char *name, *encoding;
	size_t bytes;
} KINDS[] = {
	[KIND_COLOUR] = { "colour", "rgba8", 4 },
	[KIND_DEPTH] = { "depth", "32FC1", 4 },
	[KIND_SEMANTIC] = { "semantic", "mono8", 1 },
	[KIND_INSTANCE] = { "instance", "32SC1", 4 },
};

bool camera_kind_from(const char *name, unsigned *ret)
{
	for (unsigned i = 0; i < sizeof(KINDS) / sizeof(*KINDS); i++) {
		if (strcmp(KINDS[i].name, name) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

const char *camera_encoding(unsigned kind)
{
	return KINDS[kind].encoding;
}

size_t camera_pixel(unsigned kind)
{
	return KINDS[kind].bytes;
}

struct camera_spec camera_default(void)
{
	return (struct camera_spec){ .channel = "camera/front", .at = { 1.6, 0, 1.35 }, .rate_hz = 10, .quality = 80 };
}

/* ---- checks ---- */

static bool name_from(char *to, size_t cap, const char *a, const char *b)
{
	return snprintf(to, cap, "%s%s", a, b) < (int)cap;
}

int camera_complete(struct camera_spec *c, const struct lens_params *p, const char *where)
{
	char why[300];
	int r;

	if (!c->channel[0])
		return err_set(-EINVAL, "%s: no channel", where);
	if (!c->info[0] && !name_from(c->info, sizeof(c->info), c->channel, "/info"))
		return err_set(-EINVAL, "%s: channel: longer than %zu bytes; name an info as well", where,
			       sizeof(c->info) - 6);
	if (!c->frame_id[0]) {
		if (!name_from(c->frame_id, sizeof(c->frame_id), c->channel, "_optical"))
			return err_set(-EINVAL, "%s: no frame_id, and the channel's name is too long for one", where);
		for (char *s = c->frame_id; *s; s++)
			*s = *s == '/' ? '_' : *s;
	}
	if (c->compressed[0] && c->kind != KIND_COLOUR)
		return err_set(-EINVAL, "%s: compressed: only colour can be JPEG", where);
	if (c->boxes[0] && c->kind != KIND_INSTANCE)
		return err_set(-EINVAL, "%s: boxes: they are found in an image of kind instance", where);
	if (!(c->rate_hz > 0) || c->rate_hz > 1000)
		return err_set(-EINVAL, "%s: rate: above 0, up to 1000 Hz", where);
	for (int i = 0; i < 3; i++) {
		if (!(fabs(c->at[i]) <= MOUNT_MAX))
			return err_set(-EINVAL, "%s: x, y and z: %g m from base_link at most", where, MOUNT_MAX);
	}
	if (!isfinite(c->roll) || !isfinite(c->pitch) || !isfinite(c->yaw))
		return err_set(-EINVAL, "%s: roll, pitch and yaw: degrees", where);
	r = lens_init(&c->lens, p, why, sizeof(why));
	return r < 0 ? err_set(r, "%s: %s", where, why) : 0;
}

/* ---- the file ---- */

struct reading {
	char where[200];
	json_t *o;
	int r;
};

static void text(struct reading *d, const char *key, char *to, size_t cap)
{
	json_t *v = json_object_get(d->o, key);

	if (d->r < 0 || !v)
		return;
	if (!json_is_string(v) || json_string_length(v) >= cap || strlen(json_string_value(v)) != json_string_length(v))
		d->r = err_set(-EINVAL, "%s: %s: a text of up to %zu bytes", d->where, key, cap - 1);
	else
		memcpy(to, json_string_value(v), json_string_length(v) + 1);
}

/* Returns fallback, which may be NAN, if the key is missing. */
static double number(struct reading *d, const char *key, double fallback)
{
	json_t *v = json_object_get(d->o, key);

	if (!v || d->r < 0)
		return fallback;
	if (json_is_number(v) && isfinite(json_number_value(v)))
		return json_number_value(v);
	d->r = err_set(-EINVAL, "%s: %s: a number", d->where, key);
	return fallback;
}

static uint32_t pixels(struct reading *d, const char *key, uint32_t fallback)
{
	double v = number(d, key, fallback);

	if (d->r == 0 && (v != floor(v) || v < 1 || v > LENS_SIDE_MAX))
		d->r = err_set(-EINVAL, "%s: %s: 1 to %u pixels", d->where, key, LENS_SIDE_MAX);
	return d->r == 0 ? (uint32_t)v : 1;
}

static void known_keys(struct reading *d)
{
	static const char *const KEYS[] = {
		"channel", "info",  "compressed", "boxes", "frame_id",         "kind", "width", "height", "hfov",
		"fx",      "fy",    "cx",         "cy",    "distortion_model", "d",    "x",     "y",      "z",
		"roll",    "pitch", "yaw",        "rate",  "quality"
	};
	const char *key;
	json_t *v;

	json_object_foreach(d->o, key, v) {
		size_t i = 0;

		while (i < sizeof(KEYS) / sizeof(*KEYS) && strcmp(KEYS[i], key) != 0)
			i++;
		if (i == sizeof(KEYS) / sizeof(*KEYS) && d->r == 0)
			d->r = err_set(-EINVAL, "%s: %.60s: no such key; sim-camera(1) has them all", d->where, key);
	}
}

static void kind(struct reading *d, struct camera_spec *c)
{
	char name[32] = "colour";

	text(d, "kind", name, sizeof(name));
	if (d->r == 0 && !camera_kind_from(name, &c->kind))
		d->r = err_set(-EINVAL, "%s: kind: colour, depth, semantic or instance, not \"%s\"", d->where, name);
}

static void distortion(struct reading *d, struct lens_params *p)
{
	json_t *list = json_object_get(d->o, "d");

	if (d->r < 0 || !list)
		return;
	if (!json_is_array(list) || json_array_size(list) > LENS_D_MAX) {
		d->r = err_set(-EINVAL, "%s: d: a list of up to %u numbers", d->where, LENS_D_MAX);
		return;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *v = json_array_get(list, i);

		if (!json_is_number(v)) {
			d->r = err_set(-EINVAL, "%s: d[%zu]: a number", d->where, i);
			return;
		}
		p->d[i] = json_number_value(v);
	}
}

/* From the field of view, or from calibration numbers. */
static struct lens_params lens_params(struct reading *d)
{
	char name[32] = "plumb_bob";
	enum lens_model model = LENS_PLUMB_BOB;
	uint32_t w = pixels(d, "width", 640), h = pixels(d, "height", 480);
	double fov = number(d, "hfov", NAN), fx = number(d, "fx", NAN);
	struct lens_params p = { .model = LENS_PLUMB_BOB };

	text(d, "distortion_model", name, sizeof(name));
	if (d->r == 0 && !lens_model_from(name, &model))
		d->r = err_set(-EINVAL,
			       "%s: distortion_model: plumb_bob, rational_polynomial or equidistant, not \"%s\"",
			       d->where, name);
	if (d->r == 0 && isfinite(fov) && isfinite(fx))
		d->r = err_set(-EINVAL, "%s: hfov and fx: one of them", d->where);
	if (d->r == 0 && isfinite(fov) && !(fov > 0 && fov < (model == LENS_EQUIDISTANT ? 360 : 180)))
		d->r = err_set(-EINVAL, "%s: hfov: degrees, above 0 and below 180 (equidistant: 360)", d->where);
	if (d->r < 0)
		return p;
	p = lens_from_fov(model, w, h, (isfinite(fov) ? fov : 90) * DEG);
	p.fx = isfinite(fx) ? fx : p.fx;
	p.fy = number(d, "fy", isfinite(fx) ? fx : p.fy);
	p.cx = number(d, "cx", p.cx);
	p.cy = number(d, "cy", p.cy);
	distortion(d, &p);
	return p;
}

static void read_camera(struct reading *d, struct camera_spec *c)
{
	struct lens_params p;
	double quality;

	*c = camera_default();
	c->channel[0] = '\0';
	known_keys(d);
	text(d, "channel", c->channel, sizeof(c->channel));
	text(d, "info", c->info, sizeof(c->info));
	text(d, "compressed", c->compressed, sizeof(c->compressed));
	text(d, "boxes", c->boxes, sizeof(c->boxes));
	text(d, "frame_id", c->frame_id, sizeof(c->frame_id));
	kind(d, c);
	c->at[0] = number(d, "x", c->at[0]);
	c->at[1] = number(d, "y", c->at[1]);
	c->at[2] = number(d, "z", c->at[2]);
	c->roll = number(d, "roll", 0) * DEG;
	c->pitch = number(d, "pitch", 0) * DEG;
	c->yaw = number(d, "yaw", 0) * DEG;
	c->rate_hz = number(d, "rate", c->rate_hz);
	quality = number(d, "quality", c->quality);
	if (d->r == 0 && !(quality >= 1 && quality <= 100))
		d->r = err_set(-EINVAL, "%s: quality: 1 to 100", d->where);
	c->quality = d->r == 0 ? (int)quality : 1;
	p = lens_params(d);
	if (d->r == 0)
		d->r = camera_complete(c, &p, d->where);
}

static bool one_place(const struct camera_spec *a, const struct camera_spec *b)
{
	return a->at[0] == b->at[0] && a->at[1] == b->at[1] && a->at[2] == b->at[2] && a->roll == b->roll &&
	       a->pitch == b->pitch && a->yaw == b->yaw;
}

/* Cameras with the same frame_id must have the same mounting. */
static int check_frames(const struct cameras *all, const char *path)
{
	for (size_t i = 0; i < all->n; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct camera_spec *a = &all->at[i], *b = &all->at[k];

			if (strcmp(a->frame_id, b->frame_id) == 0 && !one_place(a, b))
				return err_set(-EINVAL,
					       "%s: cameras[%zu]: frame_id \"%s\" has another pose in cameras[%zu]",
					       path, i, a->frame_id, k);
		}
	}
	return 0;
}

/* No channel may occur twice. */
static int check_names(const struct cameras *all, const char *path)
{
	const char *names[4 * CAMERAS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct camera_spec *c = &all->at[i];
		const char *own[] = { c->channel, c->info, c->compressed, c->boxes };

		for (size_t k = 0; k < 4; k++) {
			for (size_t o = 0; o < n; o++) {
				if (*own[k] && strcmp(names[o], own[k]) == 0)
					return err_set(-EINVAL, "%s: cameras[%zu]: channel \"%s\" is used twice", path,
						       i, own[k]);
			}
			names[n++] = own[k];
		}
	}
	return 0;
}

static int read_list(const json_t *list, const char *path, struct cameras *ret)
{
	size_t n = json_array_size(list);
	int r;

	if (!json_is_array(list) || n == 0 || n > CAMERAS_MAX)
		return err_set(-EINVAL, "%s: it needs a list \"cameras\" of 1 to %d", path, CAMERAS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct reading d = { .o = json_array_get(list, i) };

		snprintf(d.where, sizeof(d.where), "%.150s: cameras[%zu]", path, i);
		if (!json_is_object(d.o))
			return err_set(-EINVAL, "%s: an object, {\"channel\": ...}", d.where);
		read_camera(&d, &ret->at[i]);
		if (d.r < 0)
			return d.r;
	}
	ret->n = n;
	r = check_names(ret, path);
	return r < 0 ? r : check_frames(ret, path);
}

int cameras_load(const char *path, struct cameras *ret)
{
	json_error_t e;
	json_t *j = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
	int r;

	if (!j && json_error_code(&e) == json_error_cannot_open_file)
		return err_set(-ENOENT, "%s: the file of cameras cannot be opened", path);
	if (!j)
		return err_set(-EINVAL, "%s:%d: %s", path, e.line, e.text);
	r = read_list(json_object_get(j, "cameras"), path, ret);
	json_decref(j);
	return r;
}
