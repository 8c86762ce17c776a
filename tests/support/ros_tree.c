/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_tree.h. */
#include "ros_tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
	uint8_t *p;
	size_t at, len;
	bool bad;
	bool packed;  /* no gaps, no NUL */
	bool counted; /* arrays of fixed size too */
};

static const uint8_t sizes[ROS_PRIM_END] = {
#define X(id, bytes) [ROS_##id] = bytes,
	ROS_PRIMS(X)
#undef X
};

/* Where n bytes of a number lie, behind the gap that aligns them. */
static uint8_t *step(struct cursor *c, size_t n)
{
	static uint8_t nowhere[8];
	size_t pad = n && !c->packed ? -c->at & (n - 1) : 0;

	if (c->bad || c->at + pad + n > c->len) {
		c->bad = true;
		memset(nowhere, 0, sizeof(nowhere));
		return nowhere;
	}
	c->at += pad + n;
	return c->p + c->at - n;
}

static uint32_t get_u32(struct cursor *c)
{
	uint32_t v;

	memcpy(&v, step(c, 4), 4);
	return v;
}

static void put_u32(struct cursor *c, uint32_t v)
{
	memcpy(step(c, 4), &v, 4);
}

/* ---- reading ---- */

static json_t *real(double v)
{
	return isnan(v) ? json_string("nan") : isinf(v) ? json_string(v > 0 ? "inf" : "-inf") : json_real(v);
}

json_t *ros_tree_number(unsigned prim, const void *at)
{
	union {
		int8_t i8;
		int16_t i16;
		int32_t i32;
		int64_t i64;
		float f32;
		double f64;
	} v = { .i64 = 0 };

	memcpy(&v, at, sizes[prim]);
	switch (prim) {
	case ROS_FLOAT32:
		return real((double)v.f32);
	case ROS_FLOAT64:
		return real(v.f64);
	case ROS_INT8:
		return json_integer(v.i8);
	case ROS_INT16:
		return json_integer(v.i16);
	case ROS_INT32:
		return json_integer(v.i32);
	case ROS_BOOL:
		return json_boolean(v.i64);
	default:
		return json_integer(v.i64);
	}
}

static json_t *read_number(struct cursor *c, unsigned prim)
{
	const uint8_t *at = step(c, sizes[prim]);

	c->bad = c->bad || (prim == ROS_BOOL && *at > 1);
	return ros_tree_number(prim, at);
}

static json_t *read_string(struct cursor *c)
{
	uint32_t n = get_u32(c);

	if (c->bad || n > c->len - c->at || (!c->packed && (!n || c->p[c->at + n - 1]))) {
		c->bad = true;
		return json_null();
	}
	c->at += n;
	return json_stringn((const char *)c->p + c->at - n, c->packed ? n : n - 1);
}

static json_t *read_time(struct cursor *c)
{
	int32_t sec = (int32_t)get_u32(c);
	uint32_t nanosec = get_u32(c);

	c->bad = c->bad || nanosec >= 1000000000;
	return json_pack("{si,sI}", "sec", (int)sec, "nanosec", (json_int_t)nanosec);
}

static json_t *read_type(struct cursor *c, const struct ros_type *t);

static json_t *read_one(struct cursor *c, const struct ros_field *f)
{
	switch (f->prim) {
	case ROS_NESTED:
		return read_type(c, f->type);
	case ROS_STRING:
		return read_string(c);
	case ROS_TIME:
	case ROS_DURATION:
		return read_time(c);
	default:
		return read_number(c, f->prim);
	}
}

static json_t *read_field(struct cursor *c, const struct ros_field *f)
{
	uint32_t n;
	json_t *a;

	if (f->array == ROS_ONE)
		return read_one(c, f);
	n = f->array == ROS_FIXED && !c->counted ? f->count : get_u32(c);
	a = json_array();
	if (n > c->len || (f->array == ROS_FIXED && n != f->count))
		c->bad = true;
	for (uint32_t i = 0; i < n && !c->bad; i++)
		json_array_append_new(a, read_one(c, f));
	return a;
}

static json_t *read_type(struct cursor *c, const struct ros_type *t)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < t->n_fields && !c->bad; i++)
		json_object_set_new(o, t->fields[i].name, read_field(c, &t->fields[i]));
	if (!t->n_fields && !c->packed)
		step(c, 1);
	return o;
}

static json_t *read_packed(const struct ros_type *t, const uint8_t *data, size_t len, bool counted)
{
	uint8_t *copy = malloc(len + 1);
	struct cursor c = { .p = copy, .len = len, .bad = !copy, .packed = true, .counted = counted };
	json_t *tree;

	if (copy)
		memcpy(copy, data, len);
	tree = read_type(&c, t);
	if (c.bad || c.at != c.len) {
		json_decref(tree);
		tree = NULL;
	}
	free(copy);
	return tree;
}

json_t *ros_tree_read_lgsvl(const struct ros_type *t, const uint8_t *data, size_t len)
{
	return read_packed(t, data, len, true);
}

json_t *ros_tree_read_ros1(const struct ros_type *t, const uint8_t *data, size_t len)
{
	return read_packed(t, data, len, false);
}

json_t *ros_tree_read(const struct ros_type *t, const uint8_t *cdr, size_t len)
{
	static const uint8_t header[4] = { 0, 1 };
	uint8_t *copy = malloc(len);
	struct cursor c = { .p = copy + 4, .len = len < 4 ? 0 : len - 4, .bad = true };
	json_t *tree;

	if (copy) {
		memcpy(copy, cdr, len);
		c.bad = len < 4 || memcmp(copy, header, 4) != 0;
	}
	tree = read_type(&c, t);
	if (c.bad || c.len - c.at > 3) {
		json_decref(tree);
		tree = NULL;
	}
	free(copy);
	return tree;
}

/* ---- writing ---- */

static void write_number(struct cursor *c, unsigned prim, json_t *j)
{
	double f64 = json_is_string(j) ? strtod(json_string_value(j), NULL) : json_number_value(j);
	json_int_t i64 = json_is_boolean(j) ? json_is_true(j) : json_integer_value(j);
	uint8_t *at = step(c, sizes[prim]);
	float f32 = (float)f64;

	c->bad = c->bad || json_is_object(j) || json_is_array(j);
	if (prim == ROS_FLOAT32)
		memcpy(at, &f32, 4);
	else if (prim == ROS_FLOAT64)
		memcpy(at, &f64, 8);
	else
		memcpy(at, &i64, sizes[prim]);
}

static void write_string(struct cursor *c, json_t *j)
{
	const char *s = j ? json_string_value(j) : "";
	size_t n = s ? strlen(s) + !c->packed : 0;

	put_u32(c, (uint32_t)n);
	if (!s || c->bad || n > c->len - c->at) {
		c->bad = true;
		return;
	}
	memcpy(c->p + c->at, s, n);
	c->at += n;
}

static void write_type(struct cursor *c, const struct ros_type *t, json_t *j);

static void write_one(struct cursor *c, const struct ros_field *f, json_t *j)
{
	if (f->prim == ROS_NESTED) {
		write_type(c, f->type, j);
	} else if (f->prim == ROS_STRING) {
		write_string(c, j);
	} else if (f->prim == ROS_TIME || f->prim == ROS_DURATION) {
		put_u32(c, (uint32_t)json_integer_value(json_object_get(j, "sec")));
		put_u32(c, (uint32_t)json_integer_value(json_object_get(j, "nanosec")));
	} else {
		write_number(c, f->prim, j);
	}
}

static json_t *element(json_t *a, uint32_t i)
{
	char key[16];

	snprintf(key, sizeof(key), "%u", i);
	return json_is_object(a) ? json_object_get(a, key) : json_array_get(a, i);
}

static void write_field(struct cursor *c, const struct ros_field *f, json_t *j)
{
	uint32_t n = f->array == ROS_FIXED ? f->count : (uint32_t)json_array_size(j);

	if (f->array == ROS_ONE) {
		write_one(c, f, j);
		return;
	}
	if (f->array != ROS_FIXED || c->counted)
		put_u32(c, n);
	for (uint32_t i = 0; i < n && !c->bad; i++)
		write_one(c, f, element(j, i));
}

static void write_type(struct cursor *c, const struct ros_type *t, json_t *j)
{
	size_t known = 0;

	for (uint32_t i = 0; i < t->n_fields && !c->bad; i++) {
		json_t *v = json_object_get(j, t->fields[i].name);

		known += v != NULL;
		write_field(c, &t->fields[i], v);
	}
	c->bad = c->bad || (j && json_object_size(j) != known);
	if (!t->n_fields && !c->packed)
		*step(c, 1) = 0;
}

size_t ros_tree_write(const struct ros_type *t, json_t *tree, uint8_t *cdr, size_t room)
{
	struct cursor c = { .p = cdr + 4, .len = room < 4 ? 0 : room - 4, .bad = room < 8 };

	if (c.bad)
		return 0;
	memset(cdr, 0, room);
	cdr[1] = 1;
	write_type(&c, t, tree);
	while (c.at % 4)
		step(&c, 1);
	return c.bad ? 0 : c.at + 4;
}

static size_t write_packed(const struct ros_type *t, json_t *tree, uint8_t *data, size_t room, bool counted)
{
	struct cursor c = { .p = data, .len = room, .packed = true, .counted = counted };

	memset(data, 0, room);
	write_type(&c, t, tree);
	return c.bad ? 0 : c.at;
}

size_t ros_tree_write_lgsvl(const struct ros_type *t, json_t *tree, uint8_t *data, size_t room)
{
	return write_packed(t, tree, data, room, true);
}

size_t ros_tree_write_ros1(const struct ros_type *t, json_t *tree, uint8_t *data, size_t room)
{
	return write_packed(t, tree, data, room, false);
}

/* ---- comparing ---- */

static bool is_nothing(json_t *j)
{
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_object(j)) {
		json_object_foreach(j, key, v)
			if (!is_nothing(v))
				return false;
		return true;
	}
	if (json_is_array(j)) {
		json_array_foreach(j, i, v)
			if (!is_nothing(v))
				return false;
		return true;
	}
	return !j || json_is_false(j) || json_is_null(j) || (json_is_string(j) && !*json_string_value(j)) ||
	       (json_is_number(j) && !(json_number_value(j) < 0 || json_number_value(j) > 0));
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 2e-7 * (fabs(a) + fabs(b)) || fabs(a - b) < 1e-12;
}

static bool same_value(json_t *want, json_t *got)
{
	if (json_is_integer(want) && json_is_integer(got))
		return json_integer_value(want) == json_integer_value(got);
	if (json_is_number(want) && json_is_number(got))
		return near(json_number_value(want), json_number_value(got));
	return json_equal(want, got);
}

static int compare(json_t *want, json_t *got, char *path, size_t at, char *why, size_t size);

/* One member or element; its name is put behind the path for as long. */
static int compare_at(json_t *want, json_t *got, const char *name, char *path, size_t at, char *why, size_t size)
{
	int n = snprintf(path + at, 256 - at, "%s%s", at ? "." : "", name);

	return compare(want, got, path, n < 0 || (size_t)n >= 256 - at ? at : at + (size_t)n, why, size);
}

static int compare_all(json_t *want, json_t *got, char *path, size_t at, char *why, size_t size)
{
	char index[32];
	const char *key;
	json_t *v;
	int r = 0;

	if (json_is_object(got)) {
		json_object_foreach(got, key, v)
			if (!r)
				r = compare_at(json_object_get(want, key), v, key, path, at, why, size);
		return r;
	}
	for (uint32_t i = 0; !r && i < json_array_size(got); i++) {
		snprintf(index, sizeof(index), "%u", i);
		r = compare_at(element(want, i), json_array_get(got, i), index, path, at, why, size);
	}
	return r;
}

/* What is wanted but not there at all. */
static const char *unknown_key(json_t *want, json_t *got)
{
	const char *key;
	json_t *v;

	json_object_foreach(want, key, v) {
		(void)v;
		if (json_is_object(got) ? !json_object_get(got, key)
					: !json_array_get(got, (size_t)strtoul(key, NULL, 10)))
			return key;
	}
	return NULL;
}

static int differ(const char *path, json_t *want, json_t *got, char *why, size_t size)
{
	char *a = want ? json_dumps(want, JSON_ENCODE_ANY) : NULL, *b = got ? json_dumps(got, JSON_ENCODE_ANY) : NULL;

	snprintf(why, size, "%.200s is %.200s, not %.200s", path, b ? b : "not there", a ? a : "0 or empty");
	free(a);
	free(b);
	return -1;
}

static int compare(json_t *want, json_t *got, char *path, size_t at, char *why, size_t size)
{
	const char *key;

	path[at] = '\0';
	if (!want)
		return is_nothing(got) ? 0 : differ(path, want, got, why, size);
	if (!json_is_object(got) && !json_is_array(got))
		return same_value(want, got) ? 0 : differ(path, want, got, why, size);
	if ((json_is_array(want) && json_array_size(want) != json_array_size(got)) ||
	    (!json_is_array(want) && !json_is_object(want)))
		return differ(path, want, got, why, size);
	key = unknown_key(want, got);
	if (key)
		return compare_at(json_object_get(want, key), NULL, key, path, at, why, size) ? -1 : -1;
	return compare_all(want, got, path, at, why, size);
}

int ros_tree_compare(json_t *want, json_t *got, char *why, size_t size)
{
	char path[256] = "";

	return compare(want, got, path, 0, why, size);
}

void ros_tree_expand(json_t *j, int sec, int nanosec)
{
	const char *key, *text;
	json_t *v;
	size_t i;
	void *next;

	json_object_foreach_safe(j, next, key, v) {
		text = json_string_value(v);
		if (text && !strcmp(text, "S"))
			json_object_set_new(j, key, json_pack("{si,si}", "sec", sec, "nanosec", nanosec));
		else if (text && !strcmp(text, "H"))
			json_object_set_new(j, key,
					    json_pack("{s{si,si},ss}", "stamp", "sec", sec, "nanosec", nanosec,
						      "frame_id", "here"));
		else
			ros_tree_expand(v, sec, nanosec);
	}
	json_array_foreach(j, i, v)
		ros_tree_expand(v, sec, nanosec);
}
