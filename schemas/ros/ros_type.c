/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the tables that rosgen writes: see ros_type.h. Pure functions, any thread. */
#include "ros/ros_type.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "pkg/Name" of a table against "pkg/Name" or "pkg/<kind>/Name". */
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
