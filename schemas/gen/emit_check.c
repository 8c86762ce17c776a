/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks which names cannot be used in C: see emit.h. C++ compilers read the header too, so their keywords count as
 * well.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "gen/emit.h"
#include "msg/typedesc.h"

/* clang-format off */
static const char *const words[] = {
	"alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
	"char", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit", "const_cast",
	"continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
	"dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
	"if", "inline", "int", "linux", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
	"nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
	"requires", "restrict", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
	"struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid",
	"typename", "typeof", "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
	"while", "xor", "xor_eq",
};
/* clang-format on */

static bool reserved(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], name) == 0)
			return true;
	return false;
}

/* Suffixes of the functions that a type and its fields get: sim_T_init, sim_T_data_alloc. */
static const char *const of_type[] = { "init", "from", "size", "type", "hash" };
static const char *const of_field[] = { "_alloc", "_alloc_in", "_in", "_set", "_set_in" };

static bool has_accessor(const struct sim_field *f)
{
	return typedesc_is_span(f) || f->kind == SIM_KIND_STRING;
}

static const char *collision(const struct sim_type *t, const struct sim_field *f)
{
	for (size_t i = 0; i < sizeof(of_type) / sizeof(of_type[0]); i++)
		if (strcmp(f->name, of_type[i]) == 0)
			return of_type[i];
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const char *other = t->fields[i].name;
		size_t len = strlen(other);

		if (&t->fields[i] == f || !has_accessor(&t->fields[i]) || strncmp(f->name, other, len) != 0)
			continue;
		for (size_t k = 0; k < sizeof(of_field) / sizeof(of_field[0]); k++)
			if (strcmp(f->name + len, of_field[k]) == 0)
				return other;
	}
	return NULL;
}

static int check_field(const struct sim_type *t, const struct sim_field *f, char ret_why[256])
{
	size_t len = strlen(f->name);
	const char *other;

	if (reserved(f->name)) {
		snprintf(ret_why, 256, "'%s' is a word of C or C++: choose another name", f->name);
		return -EINVAL;
	}
	if (f->name[len - 1] == '_' || strstr(f->name, "__")) {
		snprintf(ret_why, 256, "'%s': a name may not end in '_' or hold '__'", f->name);
		return -EINVAL;
	}
	other = has_accessor(f) ? collision(t, f) : NULL;
	if (other) {
		snprintf(ret_why, 256, "the accessor of '%s' would have the name of one of '%s': choose another name",
			 f->name, other);
		return -EINVAL;
	}
	return 0;
}

int emit_check(const struct typeset_entry *e, int *ret_line, char ret_why[256])
{
	const char *name = e->def->name;

	*ret_line = 0;
	if (!isupper((unsigned char)name[0]) || strchr(name, '_')) {
		snprintf(ret_why, 256, "'%s': a type's name begins with a capital letter and has no '_'", name);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < e->type.n_constants; i++) {
		const char *c = e->type.constants[i].name;

		*ret_line = e->def->constants[i].line;
		if (strcmp(c, "HASH") == 0 || strcmp(c, "MSG_H") == 0) {
			snprintf(ret_why, 256, "the macro of constant '%s' would have a name that every type uses", c);
			return -EINVAL;
		}
	}
	for (uint32_t i = 0; i < e->type.n_fields; i++) {
		*ret_line = e->def->fields[i].line;
		if (check_field(&e->type, &e->type.fields[i], ret_why) < 0)
			return -EINVAL;
	}
	return 0;
}
