/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo's definitions (schemas/apollo), one FileDescriptorSet for each family, in which each file comes after those
 * that it imports.
 */
#include <string.h>

#include "apollo_private.h"
#include "apollo_definitions.h"

static bool is(const struct pb_reader *r, const char *s, size_t len)
{
	return r->wire == PB_LENGTH && r->len == len && !memcmp(r->data, s, len);
}

/* Whether a FileDescriptorProto defines the message `name`, which includes the package. */
static bool defines(const struct apollo_file *f, const char *name)
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

static void need(const struct apollo_file *files, size_t n, const struct apollo_file *of, bool *needed)
{
	struct pb_reader r;
	int error = 0;

	pb_read_begin(&r, of->blob, of->size, &error);
	while (pb_next(&r))
		for (size_t i = 0; r.field == 3 && i < n; i++)
			needed[i] |= is(&r, files[i].name, files[i].name_len);
}

bool apollo_file_read(const void *blob, size_t size, struct apollo_file *ret)
{
	struct pb_reader in;
	int error = 0; /* per file: the next one may be valid */

	*ret = (struct apollo_file){ .blob = blob, .size = size };
	pb_read_begin(&in, blob, size, &error);
	while (pb_next(&in))
		if (in.field == 1)
			pb_get_bytes(&in, &ret->name, &ret->name_len);
	return ret->name_len > 0 && error == 0;
}

size_t apollo_choose(const struct apollo_file *files, size_t n, const char *name, struct iovec ret[APOLLO_FILES_MAX])
{
	bool needed[APOLLO_SET_MAX] = { false };
	size_t out = 0;

	for (size_t i = n; i-- > 0;) {
		needed[i] |= defines(&files[i], name);
		if (needed[i])
			need(files, i, &files[i], needed);
	}
	for (size_t i = 0; i < n; i++) {
		if (needed[i] && out < APOLLO_FILES_MAX)
			ret[out] = (struct iovec){ .iov_base = (void *)(uintptr_t)files[i].blob,
						   .iov_len = files[i].size };
		out += needed[i];
	}
	return out <= APOLLO_FILES_MAX ? out : 0;
}

size_t apollo_own_files(enum apollo_release release, struct apollo_file files[APOLLO_DEFINITIONS_MAX])
{
	struct pb_reader r;
	int error = 0;
	size_t n = 0;

	if (release == APOLLO_5)
		pb_read_begin(&r, apollo_definitions_5, apollo_definitions_5_size, &error);
	else
		pb_read_begin(&r, apollo_definitions_10, apollo_definitions_10_size, &error);
	while (n < APOLLO_DEFINITIONS_MAX && pb_next(&r))
		n += apollo_file_read(r.data, r.len, &files[n]);
	return n;
}

size_t apollo_files(enum apollo_release release, const char *name, struct iovec ret[APOLLO_FILES_MAX])
{
	struct apollo_file files[APOLLO_DEFINITIONS_MAX];

	return apollo_choose(files, apollo_own_files(release, files), name, ret);
}
