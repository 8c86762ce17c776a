/* SPDX-License-Identifier: Apache-2.0 */
/* See plot_field.h. */
#include "plot_field.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool plot_split(const char *text, unsigned nth, char channel[SIM_CHANNEL_MAX + 1], const char **field)
{
	const size_t len = strcspn(text, "["); /* names of channels hold no [ */

	for (size_t i = len; i-- > 1;) {
		if (text[i] != '.' || i > SIM_CHANNEL_MAX || !text[i + 1] || nth--)
			continue;
		memcpy(channel, text, i);
		channel[i] = '\0';
		*field = text + i + 1;
		return true;
	}
	return false;
}

/* ---- list of fields ---- */

struct list {
	char *text;
	size_t size, len;
	bool full;
};

static void add(struct list *l, const char *path)
{
	const size_t n = strlen(path);

	if (l->full)
		return;
	l->full = l->len + n + sizeof(", , ...") > l->size;
	if (l->full)
		l->len += (size_t)snprintf(l->text + l->len, l->size - l->len, "%s", l->len ? ", ..." : "...");
	else
		l->len += (size_t)snprintf(l->text + l->len, l->size - l->len, "%s%s", l->len ? ", " : "", path);
}

static void add_fields(struct list *l, const struct sim_type *type, const char *prefix, unsigned depth)
{
	char path[256];

	for (uint32_t i = 0; i < type->n_fields && !l->full; i++) {
		const struct sim_field *f = &type->fields[i];
		const int n = snprintf(path, sizeof(path), "%s%s%s%s", prefix, *prefix ? "." : "", f->name,
				       f->array == SIM_ARRAY_NONE ? "" : "[0]");

		if (n >= (int)sizeof(path))
			continue;
		if (f->kind == SIM_KIND_MESSAGE && depth < SIM_PATH_STEPS)
			add_fields(l, f->type, path, depth + 1);
		else if (f->kind < SIM_KIND_STRING)
			add(l, path);
	}
}

void plot_field_list(const struct sim_type *type, char *ret, size_t size)
{
	struct list l = { .text = ret, .size = size };

	*ret = '\0';
	add_fields(&l, type, "", 1);
}

/* ---- one field ---- */

/* What the field is instead of a number; NULL: it is a number. */
static const char *what_else(const struct sim_field_path *path)
{
	const struct sim_field *f = path->step[path->n - 1].field;

	if (f->array != SIM_ARRAY_NONE && path->step[path->n - 1].index < 0)
		return "an array";
	if (f->kind == SIM_KIND_MESSAGE)
		return "a message";
	return f->kind < SIM_KIND_STRING ? NULL : "text";
}

int plot_field_find(const struct sim_type *type, const char *field, char why[512], struct sim_field_path *ret)
{
	struct sim_field_path path;
	char list[320];
	const char *what;

	if (sim_field_find(type, field, &path) < 0) {
		snprintf(why, 512, "%s", sim_why());
		return -EINVAL;
	}
	what = what_else(&path);
	if (!what) {
		*ret = path;
		return 0;
	}
	plot_field_list(type, list, sizeof(list));
	snprintf(why, 512, "%.80s is %s, and only a number is plotted; %s has %s", field, what, type->name,
		 *list ? list : "none");
	return -EINVAL;
}

const char *plot_field_unit(const struct sim_field_path *path)
{
	for (uint32_t i = path->n; i-- > 0;)
		if (*path->step[i].field->unit)
			return path->step[i].field->unit;
	return "";
}
