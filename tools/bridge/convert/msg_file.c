/* SPDX-License-Identifier: Apache-2.0 */
/* See msg_file.h. */
#include "msg_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/typeset.h"
#include "ros/ros_generic.h"
#include "sim/introspect.h"

#define TEXTS_MAX 64

struct msg_file {
	struct typeset *set;
	const char *path;
	char package[SIM_TYPE_NAME_MAX + 1], root[SIM_TYPE_NAME_MAX + 1];
	char *text[TEXTS_MAX]; /* what the set borrows */
	unsigned n;
	const struct sim_type *type;
};

/* At most one byte more than a definition may have, so that one that is too long is found to be so. NULL: not there. */
static char *read_text(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(MSGDEF_TEXT_MAX + 2) : NULL;

	if (text) {
		*ret_len = fread(text, 1, MSGDEF_TEXT_MAX + 1, f);
		text[*ret_len] = '\0';
	}
	if (text && ferror(f)) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/* Of a type of ours: up to what it nests. */
static char *builtin_text(const char *name, size_t *ret_len)
{
	char full[SIM_TYPE_NAME_MAX + 8];
	const struct sim_type *t;
	char *text, *end;

	snprintf(full, sizeof(full), "sim/%.*s", SIM_TYPE_NAME_MAX, name);
	t = sim_type_builtin(full);
	text = t ? ros_generic_text(t, ROS_GENERIC_OURS) : NULL;
	end = text ? strstr(text, "\n====") : NULL;
	*ret_len = end ? (size_t)(end - text) + 1 : text ? strlen(text) : 0;
	return text;
}

static const char *source(void *arg, const char *package, const char *name, size_t *ret_len)
{
	struct msg_file *f = arg;
	const char *slash = strrchr(f->path, '/');
	char path[4096];

	if (f->n == TEXTS_MAX)
		return NULL;
	if (strcmp(package, "sim") == 0)
		f->text[f->n] = builtin_text(name, ret_len);
	else if (strcmp(package, f->package) != 0)
		return NULL;
	else if (strcmp(name, f->root) == 0)
		f->text[f->n] = read_text(f->path, ret_len);
	else if (snprintf(path, sizeof(path), "%.*s%s.msg", slash ? (int)(slash - f->path) + 1 : 0, f->path, name) <
		 (int)sizeof(path))
		f->text[f->n] = read_text(path, ret_len);
	return f->text[f->n] ? f->text[f->n++] : NULL;
}

int msg_file_read(const char *name, const char *path, char *why, size_t why_size, struct msg_file **ret)
{
	struct msg_file *f = calloc(1, sizeof(*f));
	const struct typeset_entry *e = NULL;
	size_t package = strcspn(name, "/");
	int r = -ENOMEM;

	snprintf(why, why_size, "%s: no memory", path);
	if (!f || !(f->set = typeset_create()))
		goto err;
	f->path = path;
	snprintf(f->package, sizeof(f->package), "%.*s", (int)package, name);
	snprintf(f->root, sizeof(f->root), "%s", name[package] ? name + package + 1 : "");
	typeset_source(f->set, source, f, false);
	r = typeset_take(f->set, f->package, f->root, &e);
	if (r < 0) {
		snprintf(why, why_size, "%s: %s", path,
			 *typeset_why(f->set) ? typeset_why(f->set) : "cannot be read, or is not a message definition");
		goto err;
	}
	f->type = &e->type;
	f->path = NULL; /* the caller's */
	*ret = f;
	return 0;
err:
	msg_file_destroy(f);
	return r;
}

void msg_file_destroy(struct msg_file *f)
{
	if (!f)
		return;
	typeset_destroy(f->set);
	while (f->n)
		free(f->text[--f->n]);
	free(f);
}

const struct sim_type *msg_file_type(const struct msg_file *f)
{
	return f->type;
}
