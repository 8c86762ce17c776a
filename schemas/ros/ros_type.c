/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the tables that rosgen writes: see ros_type.h. Pure functions, any thread. */
#include "ros/ros_type.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Compares "pkg/Name" of a table with "pkg/Name" or "pkg/<kind>/Name". */
static bool same_name(const struct ros_type *t, const char *name)
{
	size_t package = strcspn(t->name, "/"), kind = strlen(t->kind);

	if (strcmp(t->name, name) == 0)
		return true;
	return strncmp(t->name, name, package + 1) == 0 && strncmp(name + package + 1, t->kind, kind) == 0 &&
	       name[package + 1 + kind] == '/' && strcmp(name + package + kind + 2, t->name + package + 1) == 0;
}

const struct ros_type *ros_type_find(const struct ros_type *const *types, const char *name)
{
	for (; *types; types++)
		if (same_name(*types, name))
			return *types;
	return NULL;
}

int ros_type_dds_name(const struct ros_type *t, char *out, size_t size)
{
	int package = (int)strcspn(t->name, "/");
	int n = snprintf(out, size, "%.*s::%s::dds_::%s_", package, t->name, t->kind, t->name + package + 1);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- the same on the wire ---- */

static unsigned prim_of(const struct ros_field *f)
{
	return f->prim == ROS_BYTE || f->prim == ROS_CHAR ? ROS_UINT8 : f->prim;
}

/* A bound does not change the encoding. */
static unsigned array_of(const struct ros_field *f)
{
	return f->array == ROS_BOUNDED ? ROS_VARIABLE : f->array;
}

static bool same_field(const struct ros_field *a, const struct ros_field *b)
{
	const char *nested;

	if (strcmp(a->name, b->name) != 0 || prim_of(a) != prim_of(b) || array_of(a) != array_of(b) ||
	    (a->array == ROS_FIXED && a->count != b->count))
		return false;
	return a->prim != ROS_NESTED || ros_type_same(a->type, b->type, &nested);
}

bool ros_type_same(const struct ros_type *a, const struct ros_type *b, const char **ret_field)
{
	for (uint32_t i = 0; i < a->n_fields || i < b->n_fields; i++) {
		if (i < a->n_fields && i < b->n_fields && same_field(&a->fields[i], &b->fields[i]))
			continue;
		*ret_field = i < a->n_fields ? a->fields[i].name : b->fields[i].name;
		return false;
	}
	return true;
}
