/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See proto_desc.h. Field numbers: FileDescriptorSet 1 file; FileDescriptorProto 1 name, 2 package, 3 dependency, 4
 * message_type, whose 1 is its name; ProtoDesc 1 desc, 2 dependencies.
 */
#include "proto_desc.h"

#include "convert/pb_reader.h"
#include "convert/pb_writer.h"
#include "mem.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct text {
	const void *at;
	size_t len;
};

struct file {
	struct text blob, name;
};

struct files {
	struct file list[PROTO_DESC_FILES];
	size_t n;
	unsigned nodes; /* of the tree so far */
};

static bool same(const struct text *a, const struct text *b)
{
	return a->len == b->len && (!a->len || memcmp(a->at, b->at, a->len) == 0);
}

static struct text name_of(const struct text *blob)
{
	struct pb_reader r;
	struct text name = { NULL, 0 };
	int error = 0;

	pb_read_begin(&r, blob->at, blob->len, &error);
	while (pb_next(&r))
		if (r.field == 1)
			pb_get_bytes(&r, &name.at, &name.len);
	return name;
}

static const struct file *find(const struct files *f, const struct text *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (same(&f->list[i].name, name))
			return &f->list[i];
	return NULL;
}

/* Adds a file, if it is not there yet. */
static int add(struct files *f, const struct text *blob)
{
	struct text name = name_of(blob);

	if (find(f, &name))
		return 0;
	if (f->n == PROTO_DESC_FILES)
		return -E2BIG;
	f->list[f->n++] = (struct file){ *blob, name };
	return 0;
}

static void put_blob(struct pb_writer *w, const struct text *blob)
{
	void *to = pb_bytes_room(w, 1, blob->len);

	if (to)
		memcpy(to, blob->at, blob->len);
}

/* ---- set to tree ---- */

static int read_set(struct files *f, const void *set, size_t size)
{
	struct pb_reader r;
	struct text blob;
	int error = 0, e = 0;

	pb_read_begin(&r, set, size, &error);
	while (e == 0 && pb_next(&r))
		if (r.field == 1 && pb_get_bytes(&r, &blob.at, &blob.len))
			e = add(f, &blob);
	return e < 0 ? e : error;
}

/* Whether the file defines the message: its package, a dot, and the name or that of an outer message. */
static bool defines(const struct file *f, const char *type)
{
	struct pb_reader r, in;
	struct text package = { NULL, 0 }, name;
	const char *rest = type;
	bool found = false;
	int error = 0;

	pb_read_begin(&r, f->blob.at, f->blob.len, &error);
	while (pb_next(&r))
		if (r.field == 2)
			pb_get_bytes(&r, &package.at, &package.len);
	if (package.len) {
		if (strncmp(type, package.at, package.len) != 0 || type[package.len] != '.')
			return false;
		rest = type + package.len + 1;
	}
	pb_read_begin(&r, f->blob.at, f->blob.len, &error);
	while (pb_next(&r))
		for (pb_enter(&r, &in); r.field == 4 && pb_next(&in);)
			found |= in.field == 1 && pb_get_bytes(&in, &name.at, &name.len) &&
				 strcspn(rest, ".") == name.len && memcmp(rest, name.at, name.len) == 0;
	return found;
}

static void put_tree(struct pb_writer *w, struct files *f, const struct file *file)
{
	struct pb_reader r;
	struct text name;
	int error = 0;

	if (++f->nodes > PROTO_DESC_FILES)
		w->error = w->error ? w->error : -E2BIG;
	if (w->error)
		return;
	put_blob(w, &file->blob);
	pb_read_begin(&r, file->blob.at, file->blob.len, &error);
	while (pb_next(&r)) {
		const struct file *needed =
			r.field == 3 && pb_get_bytes(&r, &name.at, &name.len) ? find(f, &name) : NULL;

		if (!needed)
			continue;
		pb_open(w, 2);
		put_tree(w, f, needed);
		pb_close(w);
	}
}

int proto_desc_of_set(const void *set, size_t size, const char *type, struct iov_buf *out)
{
	struct files *f = mem_calloc(1, sizeof(*f));
	int r = f ? read_set(f, set, size) : -ENOMEM;
	struct pb_writer w;
	size_t i = 0;

	while (r == 0 && i < f->n && !defines(&f->list[i], type))
		i++;
	if (r == 0 && i == f->n)
		r = -ENOENT;
	if (r == 0) {
		pb_begin(&w, out);
		put_tree(&w, f, &f->list[i]);
		r = pb_end(&w);
	}
	mem_free(f);
	return r;
}

/* ---- tree to set ---- */

/* Adds a file after its dependencies; pb_reader limits the depth. */
static int read_tree(struct files *f, const struct pb_reader *node, int *error)
{
	struct pb_reader r = *node, in;
	struct text blob = { NULL, 0 };
	int e = 0;

	while (e == 0 && pb_next(&r)) {
		if (r.field == 1)
			pb_get_bytes(&r, &blob.at, &blob.len);
		if (r.field != 2)
			continue;
		pb_enter(&r, &in);
		e = read_tree(f, &in, error);
	}
	if (e < 0 || *error)
		return e < 0 ? e : *error;
	return blob.len ? add(f, &blob) : 0;
}

int proto_desc_to_set(const void *desc, size_t size, struct iov_buf *out)
{
	struct files *f = mem_calloc(1, sizeof(*f));
	struct pb_reader r;
	struct pb_writer w;
	int error = 0, e = -ENOMEM;

	if (f) {
		pb_read_begin(&r, desc, size, &error);
		e = read_tree(f, &r, &error);
	}
	if (e == 0) {
		pb_begin(&w, out);
		for (size_t i = 0; i < f->n; i++)
			put_blob(&w, &f->list[i].blob);
		e = pb_end(&w);
	}
	mem_free(f);
	return e;
}

int proto_desc_join(const struct iovec *files, size_t n, struct iov_buf *out)
{
	struct pb_writer w;

	pb_begin(&w, out);
	for (size_t i = 0; i < n; i++) {
		void *to = pb_bytes_room(&w, 1, files[i].iov_len);

		if (to)
			memcpy(to, files[i].iov_base, files[i].iov_len);
	}
	return pb_end(&w);
}
