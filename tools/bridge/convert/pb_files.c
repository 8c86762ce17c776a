/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pb_files.h. Field numbers are those of google/protobuf/descriptor.proto: FileDescriptorSet 1 file; FileDescriptorProto 1 name, 2 package,
 * 3 dependency, 4 message_type, 5 enum_type, 12 syntax; DescriptorProto 1 name, 3 nested_type, 4 enum_type.
 */
#include "pb_files.h"

#include <errno.h>
#include <stdlib.h>

#include "gen/arena.h"
#include "proto_file.h"

struct pb_reader pb_text_reader(struct pb_text message, int *error)
{
	struct pb_reader r;

	pb_read_begin(&r, message.at, message.len, error);
	return r;
}

struct pb_text pb_text_of(struct pb_text message, uint32_t field)
{
	struct pb_text ret = { NULL, 0 };
	int error = 0;
	struct pb_reader r = pb_text_reader(message, &error);

	while (pb_next(&r))
		if (r.field == field)
			pb_get_bytes(&r, &ret.at, &ret.len);
	return ret;
}

bool pb_text_is(struct pb_text a, const char *s)
{
	return a.len == strlen(s) && (!a.len || memcmp(a.at, s, a.len) == 0);
}

/* ---- names ---- */

static const char *full_name(struct pb_files *s, const char *scope, struct pb_text blob)
{
	struct pb_text name = pb_text_of(blob, 1);

	if (!name.len || name.len > PROTO_NAME_MAX || strlen(scope) + 1 + name.len > PROTO_NAME_MAX)
		return NULL;
	return arena_printf(s->arena, "%s%s%.*s", scope, *scope ? "." : "", (int)name.len, (const char *)name.at);
}

static int add_symbol(struct pb_files *s, const char *scope, struct pb_text blob, bool is_enum, const char **ret)
{
	const struct pb_file *file = &s->file[s->n - 1];
	const char *name = full_name(s, scope, blob);
	struct pb_symbol *more;

	if (!name || s->n_symbols == PB_SYMBOLS_MAX)
		return name ? -E2BIG : -EBADMSG;
	more = arena_grow(s->arena, s->symbol, s->n_symbols, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->symbol = more;
	more[s->n_symbols++] = (struct pb_symbol){
		.name = name, .package_len = file->package.len, .blob = blob, .file = s->n - 1, .is_enum = is_enum
	};
	*ret = name;
	return 0;
}

/* Adds a message and the types defined within it; the reader limits the depth. */
static int add_message(struct pb_files *s, const char *scope, const struct pb_reader *at)
{
	struct pb_reader r;
	const char *name, *enum_name;
	int e = add_symbol(s, scope, (struct pb_text){ at->data, at->len }, false, &name);

	for (pb_enter(at, &r); e == 0 && pb_next(&r);) {
		if (r.field == 3 && r.wire == PB_LENGTH)
			e = add_message(s, name, &r);
		else if (r.field == 4 && r.wire == PB_LENGTH)
			e = add_symbol(s, name, (struct pb_text){ r.data, r.len }, true, &enum_name);
	}
	return e;
}

static int by_name(const void *a, const void *b)
{
	const struct pb_symbol *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->blob.at > y->blob.at) - (x->blob.at < y->blob.at);
}

/* ---- files ---- */

static int add_file(struct pb_files *s, const struct pb_reader *at)
{
	struct pb_text blob = { at->data, at->len };
	struct pb_file *more = s->n < PB_FILES_MAX ? arena_grow(s->arena, s->file, s->n, sizeof(*more)) : NULL;
	const char *package, *name;
	struct pb_reader r;
	int e = 0;

	if (!more)
		return s->n < PB_FILES_MAX ? -ENOMEM : -E2BIG;
	s->file = more;
	more[s->n++] = (struct pb_file){ .blob = blob,
					 .name = pb_text_of(blob, 1),
					 .package = pb_text_of(blob, 2),
					 .syntax = pb_text_of(blob, 12) };
	if (more[s->n - 1].package.len > PROTO_NAME_MAX ||
	    (more[s->n - 1].package.len && memchr(more[s->n - 1].package.at, '\0', more[s->n - 1].package.len)))
		return -EBADMSG;
	package = more[s->n - 1].package.len
			  ? arena_text(s->arena, more[s->n - 1].package.at, more[s->n - 1].package.len)
			  : "";
	for (pb_enter(at, &r); package && e == 0 && pb_next(&r);) {
		if (r.field == 4 && r.wire == PB_LENGTH)
			e = add_message(s, package, &r);
		else if (r.field == 5 && r.wire == PB_LENGTH)
			e = add_symbol(s, package, (struct pb_text){ r.data, r.len }, true, &name);
	}
	return package ? e : -ENOMEM;
}

int pb_files_read(struct pb_files *s, struct arena *arena, const void *set, size_t size)
{
	int error = 0, e = 0;
	struct pb_reader r = pb_text_reader((struct pb_text){ set, size }, &error);

	*s = (struct pb_files){ .arena = arena };
	while (e == 0 && pb_next(&r))
		if (r.field == 1 && r.wire == PB_LENGTH)
			e = add_file(s, &r);
	if (e < 0 || error)
		return e < 0 ? e : error;
	if (s->n_symbols)
		qsort(s->symbol, s->n_symbols, sizeof(*s->symbol), by_name);
	return 0;
}

struct key {
	const char *name;
	size_t len;
};

static int by_key(const void *key, const void *symbol)
{
	const struct key *k = key;
	const char *name = ((const struct pb_symbol *)symbol)->name;
	int r = strncmp(k->name, name, k->len);

	return r ? r : name[k->len] ? -1 : 0;
}

const struct pb_symbol *pb_files_find(const struct pb_files *s, const void *name, size_t len)
{
	struct key k = { name, len };

	if (k.len && *k.name == '.') {
		k.name++;
		k.len--;
	}
	if (!k.len || !s->n_symbols || memchr(k.name, '\0', k.len))
		return NULL;
	return bsearch(&k, s->symbol, s->n_symbols, sizeof(*s->symbol), by_key);
}

static bool need_imports(struct pb_files *s, const struct pb_file *f)
{
	bool more = false;
	int error = 0;
	struct pb_reader r = pb_text_reader(f->blob, &error);

	while (pb_next(&r))
		for (unsigned i = 0; r.field == 3 && r.wire == PB_LENGTH && i < s->n; i++)
			if (!s->file[i].needed && s->file[i].name.len == r.len &&
			    (!r.len || memcmp(s->file[i].name.at, r.data, r.len) == 0))
				more = s->file[i].needed = true;
	return more;
}

void pb_files_need(struct pb_files *s, const struct pb_symbol *symbol)
{
	bool more = true;

	s->file[symbol->file].needed = true;
	while (more) {
		more = false;
		for (unsigned i = 0; i < s->n; i++) {
			if (!s->file[i].needed || s->file[i].followed)
				continue;
			s->file[i].followed = true;
			more |= need_imports(s, &s->file[i]);
		}
	}
}
