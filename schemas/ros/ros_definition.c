/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_definition.h. */
#include "ros/ros_definition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ros/ros_definition_data.h"
#include "ros/ros_text.h"

#define NAME_MAX_BYTES 256

/* ---- look-up ---- */

static struct ros_definition at(uint32_t offset)
{
	struct ros_definition d = { .name = ros_definition_at(offset) };

	d.kind = d.name + strlen(d.name) + 1;
	d.text = d.kind + strlen(d.kind) + 1;
	return d;
}

bool ros_definition_nth(const struct ros_type *const *known, unsigned i, struct ros_definition *ret)
{
	bool ros1 = known == ros1_types;

	if (i >= (ros1 ? ros1_n_definitions : ros2_n_definitions))
		return false;
	*ret = at((ros1 ? ros1_definitions : ros2_definitions)[i]);
	return true;
}

/* Splits "pkg/kind/Name" into "pkg/Name" and the kind; a name without a kind stays as it is. */
static bool split(const char *name, char bare[NAME_MAX_BYTES], char kind[NAME_MAX_BYTES])
{
	const char *first = strchr(name, '/'), *last = strrchr(name, '/');

	if (!first || last == first + 1 || strlen(name) >= NAME_MAX_BYTES)
		return false;
	snprintf(bare, NAME_MAX_BYTES, "%.*s%s", (int)(first - name), name, last);
	snprintf(kind, NAME_MAX_BYTES, "%.*s", last > first ? (int)(last - first - 1) : 0, first + 1);
	return true;
}

bool ros_definition_find(const struct ros_type *const *known, const char *name, struct ros_definition *ret)
{
	char bare[NAME_MAX_BYTES], kind[NAME_MAX_BYTES];
	unsigned from = 0, to = known == ros1_types ? ros1_n_definitions : ros2_n_definitions;
	struct ros_definition d;

	if (!split(name, bare, kind))
		return false;
	while (from < to) {
		unsigned mid = (from + to) / 2;
		int order;

		ros_definition_nth(known, mid, &d);
		order = strcmp(bare, d.name);
		if (order == 0 && (!*kind || strcmp(kind, d.kind) == 0)) {
			*ret = d;
			return true;
		}
		if (order == 0)
			return false;
		from = order > 0 ? mid + 1 : from;
		to = order < 0 ? mid : to;
	}
	return false;
}

/* ---- a type ---- */

/*
 * Joins the parts of a .srv or .action file, which are the types with these name suffixes, to its text; NULL: no such
 * file, or no memory.
 */
static char *joined(const struct ros_type *const *known, const char *file, const char *const *parts, unsigned n)
{
	char name[NAME_MAX_BYTES + 16], *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	bool all = f != NULL;
	struct ros_definition d;

	for (unsigned i = 0; all && i < n; i++) {
		snprintf(name, sizeof(name), "%s_%s", file, parts[i]);
		all = ros_definition_find(known, name, &d);
		if (all)
			fprintf(f, "%s%s", i ? "---\n" : "", d.text);
	}
	if (f && fclose(f) != 0)
		all = false;
	if (all)
		return text;
	free(text);
	return NULL;
}

/* The text of a derived message's file, whose name precedes one of the underscores. */
static char *file_of(const struct ros_type *const *known, const char *name)
{
	static const char *const service[] = { "Request", "Response" }, *const action[] = { "Goal", "Result",
											    "Feedback" };
	char file[NAME_MAX_BYTES], *text = NULL, *under;

	snprintf(file, sizeof(file), "%s", name);
	while (!text && (under = strrchr(file, '_')) && !strchr(under, '/')) {
		*under = '\0';
		text = joined(known, file, service, 2);
		if (!text)
			text = joined(known, file, action, 3);
	}
	return text;
}

static int make(const struct ros_type *const *known, const char *name, const char *text, const struct ros_type **ret,
		struct ros_text **ret_made)
{
	char why[256];
	int r = ros_text_create(name, text, known, why, sizeof(why), ret_made);

	if (r == 0)
		*ret = ros_text_type(*ret_made);
	return r == 0 || r == -ENOMEM || r == -ENOTSUP ? r : -ENOENT;
}

int ros_definition_type(const struct ros_type *const *known, const char *name, const struct ros_type **ret,
			struct ros_text **ret_made)
{
	const struct ros_type *t = ros_type_find(known, name);
	char full[NAME_MAX_BYTES + 16], *text;
	struct ros_definition d;
	int r;

	*ret_made = NULL;
	if (t) {
		*ret = t;
		return 0;
	}
	if (strlen(name) >= NAME_MAX_BYTES)
		return -ENOENT;
	if (ros_definition_find(known, name, &d)) {
		int package = (int)strcspn(d.name, "/");

		snprintf(full, sizeof(full), "%.*s/%s%s", package, d.name, d.kind, d.name + package);
		return make(known, full, d.text, ret, ret_made);
	}
	text = file_of(known, name);
	r = text ? make(known, name, text, ret, ret_made) : -ENOENT;
	free(text);
	return r;
}

int ros_definition_of_jazzy(const char *name, const struct ros_type **ret, struct ros_text **ret_made)
{
	struct ros_definition d;
	char *text = NULL;
	int r;

	*ret_made = NULL;
	if (!ros_definition_find(ros2_types, name, &d) || strcmp(d.name, "sensor_msgs/Range") != 0)
		return -ENOENT;
	if (asprintf(&text, "%sfloat32 variance\n", d.text) < 0)
		return -ENOMEM;
	r = make(ros2_types, "sensor_msgs/msg/Range", text, ret, ret_made);
	free(text);
	return r;
}

int ros_definition_like(const struct ros_type *like, const struct ros_type *const *known, const struct ros_type **ret,
			struct ros_text **ret_made)
{
	const struct ros_type *t;
	struct ros_text *made;
	const char *field;
	int r = ros_definition_type(known, like->name, &t, &made);

	if (r < 0)
		return r;
	if (!ros_type_same(like, t, &field)) {
		ros_text_destroy(made);
		return -ENOENT;
	}
	*ret = t;
	*ret_made = made;
	return 0;
}
