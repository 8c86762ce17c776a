/* SPDX-License-Identifier: Apache-2.0 */
/* See apollo_tree.h. */
#include "apollo_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apollo_private.h"
#include "proto_file.h"

#define TEXT_MAX    (1u << 20)
#define IMPORTS_MAX 128u

struct file {
	char *name, *text;
	size_t len;
	unsigned import[IMPORTS_MAX], n_imports;
	bool bad;
};

struct name {
	char *text;
	unsigned file, line;
	bool is_enum;
};

struct tree {
	const char *folder;
	const struct apollo_set_log *log;
	struct file *file;
	unsigned n, now; /* now: the file being read */
	struct name *name;
	size_t n_names, room;
	bool visible[APOLLO_SET_MAX]; /* to `now` */
	int error;
};

static void say(const struct tree *t, const char *sentence)
{
	char text[700];

	snprintf(text, sizeof(text), "%.200s/%.480s", t->folder, sentence);
	t->log->say(t->log->arg, false, text);
}

/* ---- files ---- */

static char *read_text(const char *folder, const char *name, size_t *ret_len)
{
	char path[4096];
	FILE *f = snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) ? fopen(path, "re") : NULL;
	char *text = f ? malloc(TEXT_MAX) : NULL, *less;

	*ret_len = text ? fread(text, 1, TEXT_MAX, f) : 0;
	if (text && (ferror(f) || *ret_len == TEXT_MAX)) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	less = text ? realloc(text, *ret_len + 1) : NULL;
	return less ? less : text;
}

/* Returns the file's number, reading it if necessary; -1: it cannot be read. */
static int find_or_add(struct tree *t, const char *name)
{
	struct file *f = &t->file[t->n];
	char *text;
	size_t len;

	for (unsigned i = 0; i < t->n; i++)
		if (strcmp(t->file[i].name, name) == 0)
			return (int)i;
	if (t->n == APOLLO_SET_MAX)
		return -1;
	text = read_text(t->folder, name, &len);
	if (!text)
		return -1;
	*f = (struct file){ .text = text, .len = len, .name = strdup(name) };
	if (!f->name) {
		free(text);
		t->error = -ENOMEM;
		return -1;
	}
	return (int)t->n++;
}

static void leave_out(struct tree *t, unsigned line, const char *why, const char *what)
{
	char text[480];

	t->file[t->now].bad = true;
	snprintf(text, sizeof(text), "%.160s:%u: %s%.160s: it is left out", t->file[t->now].name, line, why, what);
	say(t, text);
}

static void on_import(void *arg, const char *name, unsigned line)
{
	struct tree *t = arg;
	int i = find_or_add(t, name);
	struct file *f = &t->file[t->now];

	if (i < 0)
		leave_out(t, line, "it imports a file that is missing or too large: ", name);
	else if (f->n_imports == IMPORTS_MAX)
		leave_out(t, line, "it has too many imports: ", name);
	else
		f->import[f->n_imports++] = (unsigned)i;
}

/* ---- names ---- */

static const struct name *find_name(const struct tree *t, const char *text, bool all)
{
	for (size_t i = 0; i < t->n_names; i++)
		if ((all || t->visible[t->name[i].file]) && strcmp(t->name[i].text, text) == 0)
			return &t->name[i];
	return NULL;
}

static void on_declare(void *arg, const char *text, bool is_enum, unsigned line)
{
	struct tree *t = arg;
	const struct name *other = find_name(t, text, true);
	struct name *more = t->name;
	char where[400];

	if (other) {
		snprintf(where, sizeof(where), "%.160s, as in %.160s:%u", text, t->file[other->file].name, other->line);
		leave_out(t, line, "it defines ", where);
		return;
	}
	if (t->n_names == t->room) {
		more = realloc(t->name, (2 * t->room + 256) * sizeof(*more));
		if (more) {
			t->name = more;
			t->room = 2 * t->room + 256;
		}
	}
	if (!more || !(more[t->n_names].text = strdup(text))) {
		t->error = -ENOMEM;
		return;
	}
	more[t->n_names].file = t->now;
	more[t->n_names].line = line;
	more[t->n_names++].is_enum = is_enum;
}

/* A package exists if a visible name is in it. */
static bool on_find(void *arg, const char *text, bool *ret_enum)
{
	struct tree *t = arg;
	const struct name *name = find_name(t, text, false);
	size_t n = strlen(text);

	*ret_enum = name && name->is_enum;
	for (size_t i = 0; !name && i < t->n_names; i++)
		if (t->visible[t->name[i].file] && strncmp(t->name[i].text, text, n) == 0 && t->name[i].text[n] == '.')
			return true;
	return name != NULL;
}

/* ---- reading ---- */

static void read_first(struct tree *t)
{
	static const struct proto_ops ops = { .import = on_import, .declare = on_declare };
	struct file *f = &t->file[t->now];
	struct iov_buf nowhere;
	char why[400];

	iov_buf_init(&nowhere);
	if (proto_file_describe(f->name, f->text, f->len, &ops, t, &nowhere, why, sizeof(why)) < 0 && !f->bad) {
		f->bad = true;
		say(t, why);
	}
	iov_buf_finish(&nowhere);
}

/* Marks files as bad that import a bad one. Returns true if there were any: call again. */
static bool spread_bad(struct tree *t)
{
	bool more = false;

	for (t->now = 0; t->now < t->n; t->now++)
		for (unsigned i = 0; i < t->file[t->now].n_imports && !t->file[t->now].bad; i++)
			if (t->file[t->file[t->now].import[i]].bad) {
				leave_out(t, 1, "it imports ", t->file[t->file[t->now].import[i]].name);
				more = true;
			}
	return more;
}

static int describe(struct tree *t, struct iov_buf *out)
{
	static const struct proto_ops ops = { .find = on_find };
	struct file *f = &t->file[t->now];
	struct iov_buf one;
	struct iovec iov[IOV_BUF_PIECES];
	struct pb_writer w;
	char why[400];
	void *to;
	int r;

	memset(t->visible, 0, sizeof(t->visible));
	t->visible[t->now] = true;
	for (unsigned i = 0; i < f->n_imports; i++)
		t->visible[f->import[i]] = true;
	iov_buf_init(&one);
	r = proto_file_describe(f->name, f->text, f->len, &ops, t, &one, why, sizeof(why));
	if (r < 0) {
		f->bad = true;
		say(t, why);
	} else if (iov_buf_iov(&one, iov) == 1) {
		pb_begin(&w, out);
		to = pb_bytes_room(&w, 1, iov[0].iov_len);
		if (to)
			memcpy(to, iov[0].iov_base, iov[0].iov_len);
		r = pb_end(&w);
	}
	iov_buf_finish(&one);
	return r == -ENOMEM ? r : 0;
}

static void add_roots(struct tree *t, enum apollo_release r)
{
	struct iovec files[APOLLO_FILES_MAX];
	const struct apollo_type *type;
	struct apollo_file own;
	char name[256];

	for (unsigned i = 0; (type = apollo_type_at(r, false, i)); i++) {
		size_t n = apollo_type_files(type, files); /* the last one defines the message itself */

		if (!n || !apollo_file_read(files[n - 1].iov_base, files[n - 1].iov_len, &own) ||
		    own.name_len >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)own.name_len, (const char *)own.name);
		(void)find_or_add(t, name);
	}
}

/* Reads the roots and all that they import, and describes them. Frees t. */
static int read_all(struct tree *t, struct iov_buf *out)
{
	int error;

	for (t->now = 0; !t->error && t->now < t->n; t->now++)
		read_first(t);
	while (!t->error && spread_bad(t))
		;
	for (t->now = 0; !t->error && t->now < t->n; t->now++)
		if (!t->file[t->now].bad)
			t->error = describe(t, out);
	error = t->error;
	for (unsigned i = 0; i < t->n; i++) {
		free(t->file[i].name);
		free(t->file[i].text);
	}
	for (size_t i = 0; i < t->n_names; i++)
		free(t->name[i].text);
	free(t->file);
	free(t->name);
	free(t);
	return error;
}

static struct tree *create(const char *folder, const struct apollo_set_log *log)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->folder = folder;
	t->log = log;
	t->file = calloc(APOLLO_SET_MAX + 1, sizeof(*t->file));
	if (!t->file)
		t->error = -ENOMEM;
	return t;
}

int apollo_tree_read(const char *folder, enum apollo_release r, const struct apollo_set_log *log, struct iov_buf *out)
{
	struct tree *t = create(folder, log);

	if (t && !t->error)
		add_roots(t, r);
	return t ? read_all(t, out) : -ENOMEM;
}

int apollo_tree_read_file(const char *folder, const char *name, const struct apollo_set_log *log, struct iov_buf *out)
{
	struct tree *t = create(folder, log);

	if (t && !t->error && find_or_add(t, name) < 0 && !t->error)
		say(t, "the file is missing or too large");
	return t ? read_all(t, out) : -ENOMEM;
}
