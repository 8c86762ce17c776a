/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo's definitions (schemas/apollo), one FileDescriptorSet a family, in which every file stands behind those that it needs.
 */
#include <string.h>

#include "apollo_private.h"
#include "apollo_definitions.h"

struct file {
	const void *blob, *name;
	size_t size, name_len;
	bool needed;
};

static bool is(const struct pb_reader *r, const char *s, size_t len)
{
	return r->wire == PB_LENGTH && r->len == len && !memcmp(r->data, s, len);
}

/* Whether a FileDescriptorProto has the message `name` with its package. */
static bool defines(const struct file *f, const char *name)
{
	const char *dot = strrchr(name, '.');
	struct pb_reader r, in;
	bool package = false, message = false;
	int error = 0;

	if (!dot)
		return false;
	pb_read_begin(&r, f->blob, f->size, &error);
	while (pb_next(&r)) {
		if (r.field == 2)
			package = is(&r, name, (size_t)(dot - name));
		if (r.field == 4)
			for (pb_enter(&r, &in); pb_next(&in);)
				message |= in.field == 1 && is(&in, dot + 1, strlen(dot + 1));
	}
	return package && message;
}

static void need(struct file *files, size_t n, const struct file *of)
{
	struct pb_reader r;
	int error = 0;

	pb_read_begin(&r, of->blob, of->size, &error);
	while (pb_next(&r))
		for (size_t i = 0; r.field == 3 && i < n; i++)
			files[i].needed |= is(&r, files[i].name, files[i].name_len);
}

static size_t read_set(enum apollo_release release, struct file files[APOLLO_DEFINITIONS_MAX])
{
	struct pb_reader r, in;
	int error = 0;
	size_t n = 0;

	if (release == APOLLO_5)
		pb_read_begin(&r, apollo_definitions_5, apollo_definitions_5_size, &error);
	else
		pb_read_begin(&r, apollo_definitions_10, apollo_definitions_10_size, &error);
	for (; n < APOLLO_DEFINITIONS_MAX && pb_next(&r); n++) {
		files[n] = (struct file){ .blob = r.data, .size = r.len };
		for (pb_enter(&r, &in); pb_next(&in);)
			if (in.field == 1)
				pb_get_bytes(&in, &files[n].name, &files[n].name_len);
	}
	return n;
}

size_t apollo_files(enum apollo_release release, const char *name, struct iovec ret[APOLLO_FILES_MAX])
{
	struct file files[APOLLO_DEFINITIONS_MAX];
	size_t n = read_set(release, files), out = 0;

	for (size_t i = n; i-- > 0;) {
		files[i].needed |= defines(&files[i], name);
		if (files[i].needed)
			need(files, i, &files[i]);
	}
	for (size_t i = 0; i < n && out < APOLLO_FILES_MAX; i++)
		if (files[i].needed)
			ret[out++] = (struct iovec){ .iov_base = (void *)(uintptr_t)files[i].blob,
						     .iov_len = files[i].size };
	return out;
}
