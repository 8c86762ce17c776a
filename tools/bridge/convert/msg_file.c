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
	char *text[TEXTS_MAX]; /* texts borrowed by the set */
	unsigned n;
	const struct sim_type *type;
	struct sim_service_type service;
};

/* Reads at most one byte more than a definition may have, so that a longer one is detected. NULL: cannot be read. */
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

/* The definition of a type of ours, without those of nested types. */
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

static int create(const char *name, const char *path, char *why, size_t why_size, struct msg_file **ret)
{
	struct msg_file *f = calloc(1, sizeof(*f));
	size_t package = strcspn(name, "/");

	snprintf(why, why_size, "%s: no memory", path);
	if (!f || !(f->set = typeset_create())) {
		free(f);
		return -ENOMEM;
	}
	f->path = path;
	snprintf(f->package, sizeof(f->package), "%.*s", (int)package, name);
	snprintf(f->root, sizeof(f->root), "%s", name[package] ? name + package + 1 : "");
	typeset_source(f->set, source, f, false);
	*ret = f;
	return 0;
}

/* Common end of both readers: frees f on failure. */
static int done(struct msg_file *f, int r, char *why, size_t why_size, struct msg_file **ret)
{
	if (r < 0) {
		snprintf(why, why_size, "%s: %s", f->path,
			 *typeset_why(f->set) ? typeset_why(f->set) : "cannot be read, or is not a definition");
		msg_file_destroy(f);
		return r;
	}
	f->path = NULL; /* owned by the caller */
	*ret = f;
	return 0;
}

int msg_file_read(const char *name, const char *path, char *why, size_t why_size, struct msg_file **ret)
{
	const struct typeset_entry *e = NULL;
	struct msg_file *f;
	int r = create(name, path, why, why_size, &f);

	if (r < 0)
		return r;
	r = typeset_take(f->set, f->package, f->root, &e);
	if (r == 0)
		f->type = &e->type;
	return done(f, r, why, why_size, ret);
}

int msg_file_read_service(const char *name, const char *path, char *why, size_t why_size, struct msg_file **ret)
{
	const struct typeset_service *v;
	struct msg_file *f;
	int r = create(name, path, why, why_size, &f);

	if (r < 0)
		return r;
	r = typeset_add(f->set, f->package, path, NULL);
	if (r < 0)
		return done(f, r, why, why_size, ret);
	v = typeset_service(f->set, 0);
	if (!v || strcmp(v->name, f->root) != 0) {
		snprintf(why, why_size, "%s: is not named %.80s.srv", path, f->root);
		msg_file_destroy(f);
		return -EINVAL;
	}
	f->service = (struct sim_service_type){ .abi = SIM_TYPE_ABI,
						.size = sizeof(f->service),
						.name = v->full,
						.comment = v->comment,
						.request = &v->request->type,
						.response = &v->response->type };
	return done(f, 0, why, why_size, ret);
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

const struct sim_service_type *msg_file_service(const struct msg_file *f)
{
	return f->service.name ? &f->service : NULL;
}
