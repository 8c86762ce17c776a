/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of message definitions: see msgdef.h. Line by line, no recursion, no look-ahead. */
#include "gen/msgdef.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gen/arena.h"
#include "msg/typedesc.h"

#define COMMENT_MAX 4096 /* bytes after which further comment lines are dropped */

struct cut { /* a part of the text */
	const char *s;
	size_t len;
};

struct parser {
	struct arena *arena;
	struct msgdef *d;
	struct msgdef_error *err;
	int line;
	char *above;    /* comment lines since the last declaration or empty line, joined; NULL: none */
	bool head_done; /* the position is after the definition's own comment */
};

/* clang-format off */
static const char *const prim_names[MSGDEF_PRIM_END] = {
	[MSGDEF_NESTED] = "nested",
#define X(id, name) [MSGDEF_##id] = name,
	MSGDEF_PRIMS(X)
#undef X
};
/* clang-format on */

const char *msgdef_prim_name(enum msgdef_prim prim)
{
	return (unsigned)prim < MSGDEF_PRIM_END ? prim_names[prim] : "?";
}

__attribute__((format(printf, 2, 3))) static int fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	p->err->line = p->line;
	va_start(ap, fmt);
	vsnprintf(p->err->text, sizeof(p->err->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* ---- parts of the text ---- */

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static struct cut trim(struct cut c)
{
	while (c.len && blank(c.s[0])) {
		c.s++;
		c.len--;
	}
	while (c.len && blank(c.s[c.len - 1]))
		c.len--;
	return c;
}

static struct cut skip(struct cut c, size_t n)
{
	return trim((struct cut){ c.s + n, c.len - n });
}

static bool starts(struct cut c, const char *s)
{
	size_t n = strlen(s);

	return c.len >= n && memcmp(c.s, s, n) == 0;
}

/* Length of the leading part without any of `stop` and without blanks. */
static size_t word_len(struct cut c, const char *stop)
{
	size_t n = 0;

	while (n < c.len && !blank(c.s[n]) && !strchr(stop, c.s[n]))
		n++;
	return n;
}

static int shown(struct cut c)
{
	return c.len > 60 ? 60 : (int)c.len;
}

static const char *keep(struct parser *p, struct cut c)
{
	return arena_text(p->arena, c.s, c.len);
}

static const char *comment_of(struct parser *p, struct cut c)
{
	while (c.len && c.s[0] == '#')
		c = skip(c, 1);
	return keep(p, trim(c));
}

/* ---- types ---- */

static int parse_count(struct parser *p, struct cut digits, const char *what, uint32_t *ret)
{
	uint64_t v = 0;

	if (!digits.len)
		return fail(p, "%s is missing a number", what);
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.s[i] < '0' || digits.s[i] > '9')
			return fail(p, "%s '%.*s' is not a number", what, shown(digits), digits.s);
		v = v * 10 + (uint64_t)(digits.s[i] - '0');
		if (v > MSGDEF_COUNT_MAX)
			return fail(p, "%s is above %u", what, MSGDEF_COUNT_MAX);
	}
	if (v == 0)
		return fail(p, "%s is 0: at least 1 is needed", what);
	*ret = (uint32_t)v;
	return 0;
}

static int parse_array(struct parser *p, struct cut in, struct msgdef_type *t)
{
	if (in.len < 2 || in.s[in.len - 1] != ']')
		return fail(p, "array '%.*s' is not closed: write [], [n] or [<=n]", shown(in), in.s);
	in = (struct cut){ in.s + 1, in.len - 2 };
	if (!in.len) {
		t->array = MSGDEF_VARIABLE;
		return 0;
	}
	if (starts(in, "<=")) {
		t->array = MSGDEF_BOUNDED;
		return parse_count(p, (struct cut){ in.s + 2, in.len - 2 }, "array bound", &t->count);
	}
	t->array = MSGDEF_FIXED;
	return parse_count(p, in, "array size", &t->count);
}

static enum msgdef_prim find_prim(struct cut c)
{
	for (int i = 1; i < MSGDEF_PRIM_END; i++)
		if (strlen(prim_names[i]) == c.len && memcmp(prim_names[i], c.s, c.len) == 0)
			return (enum msgdef_prim)i;
	return MSGDEF_NESTED;
}

static int parse_nested(struct parser *p, struct cut base, struct msgdef_type *t)
{
	const char *slash = memchr(base.s, '/', base.len);
	struct cut name = base, package = { NULL, 0 };

	if (slash) {
		package = (struct cut){ base.s, (size_t)(slash - base.s) };
		name = (struct cut){ slash + 1, base.len - package.len - 1 };
		if (!typedesc_ident_ok(package.s, package.len))
			return fail(p, "'%.*s' is not a package name", shown(package), package.s);
		if (starts(name, "msg/")) /* ROS 2's long form */
			name = (struct cut){ name.s + 4, name.len - 4 };
	}
	if (!typedesc_ident_ok(name.s, name.len))
		return fail(p, "'%.*s' is not a type: letters, digits and '_', a letter first, at most %u", shown(base),
			    base.s, TYPEDESC_IDENT_MAX);
	t->prim = MSGDEF_NESTED;
	t->name = keep(p, name);
	t->package = slash ? keep(p, package) : NULL;
	return t->name && (!slash || t->package) ? 0 : -ENOMEM;
}

static int parse_type(struct parser *p, struct cut word, struct msgdef_type *t)
{
	struct cut base = { word.s, word_len(word, "[<") };
	struct cut rest = { word.s + base.len, word.len - base.len };
	int r;

	t->prim = find_prim(base);
	if (t->prim == MSGDEF_NESTED) {
		r = parse_nested(p, base, t);
		if (r < 0)
			return r;
	}
	if (rest.len && rest.s[0] == '<') {
		size_t n = word_len(rest, "[");

		if (t->prim != MSGDEF_STRING && t->prim != MSGDEF_WSTRING)
			return fail(p, "only string and wstring take a bound: '%.*s'", shown(word), word.s);
		if (!starts(rest, "<="))
			return fail(p, "bound '%.*s' of a string does not begin with '<='", shown(rest), rest.s);
		r = parse_count(p, (struct cut){ rest.s + 2, n - 2 }, "string bound", &t->string_max);
		if (r < 0)
			return r;
		rest = (struct cut){ rest.s + n, rest.len - n };
	}
	return rest.len ? parse_array(p, rest, t) : 0;
}

/* ---- declarations ---- */

static int check_name(struct parser *p, struct cut name)
{
	struct msgdef *d = p->d;

	if (!typedesc_ident_ok(name.s, name.len))
		return fail(p, "'%.*s' is not a name: letters, digits and '_', a letter first, at most %u", shown(name),
			    name.s, TYPEDESC_IDENT_MAX);
	for (uint32_t i = 0; i < d->n_fields; i++)
		if (strlen(d->fields[i].name) == name.len && memcmp(d->fields[i].name, name.s, name.len) == 0)
			return fail(p, "'%.*s' is declared twice, first in line %d", shown(name), name.s,
				    d->fields[i].line);
	for (uint32_t i = 0; i < d->n_constants; i++)
		if (strlen(d->constants[i].name) == name.len && memcmp(d->constants[i].name, name.s, name.len) == 0)
			return fail(p, "'%.*s' is declared twice, first in line %d", shown(name), name.s,
				    d->constants[i].line);
	return 0;
}

/* Length of a value that may be in quotes, up to the comment. */
static size_t value_len(struct cut c)
{
	char quote = c.len && (c.s[0] == '"' || c.s[0] == '\'') ? c.s[0] : 0;
	size_t n = quote ? 1 : 0;

	if (!quote) {
		const char *hash = memchr(c.s, '#', c.len);

		return hash ? (size_t)(hash - c.s) : c.len;
	}
	while (n < c.len && c.s[n] != quote)
		n += c.s[n] == '\\' && n + 1 < c.len ? 2 : 1;
	return n < c.len ? n + 1 : c.len;
}

/* A quoted string without its quotes; the escapes are \\ and an escaped quote. */
static const char *unquote(struct parser *p, struct cut c)
{
	char *out = arena_alloc(p->arena, c.len + 1);
	size_t n = 0;

	for (size_t i = 1; out && i + 1 < c.len; i++) {
		if (c.s[i] == '\\' && i + 2 < c.len)
			i++;
		out[n++] = c.s[i];
	}
	return out;
}

static int check_value(struct parser *p, const struct msgdef_constant *c)
{
	char canon[TYPEDESC_VALUE_MAX];
	enum sim_kind kind = typedesc_kind(prim_names[c->type.prim], strlen(prim_names[c->type.prim]));
	int r;

	if (c->type.prim == MSGDEF_BYTE || c->type.prim == MSGDEF_CHAR) /* int8 in ROS 1, uint8 in ROS 2: accept both */
		kind = c->raw[0] == '-' ? SIM_KIND_INT8 : SIM_KIND_UINT8;
	else if (c->type.prim == MSGDEF_WSTRING)
		kind = SIM_KIND_STRING;
	if (!kind)
		return fail(p, "a constant cannot be of type %s", prim_names[c->type.prim]);
	r = typedesc_value(kind, c->value, strlen(c->value), canon);
	if (r == -ERANGE)
		return fail(p, "%s does not fit %s", c->raw, prim_names[c->type.prim]);
	if (r == -E2BIG)
		return fail(p, "the value of '%s' has more than %u characters", c->name, TYPEDESC_VALUE_MAX - 1);
	if (r < 0)
		return fail(p, "'%.60s' is not a value of type %s", c->raw, prim_names[c->type.prim]);
	return 0;
}

/* A declaration's own comment, else the lines directly above it. */
static const char *comment_for(struct parser *p, struct cut tail)
{
	if (tail.len)
		return comment_of(p, tail);
	return p->above ? p->above : "";
}

static int add_constant(struct parser *p, const struct msgdef_type *t, struct cut name, struct cut rest)
{
	struct msgdef *d = p->d;
	bool text = t->prim == MSGDEF_STRING || t->prim == MSGDEF_WSTRING;
	bool quoted = text && rest.len && (rest.s[0] == '"' || rest.s[0] == '\'');
	size_t n = text && !quoted ? rest.len : value_len(rest);
	struct cut value = trim((struct cut){ rest.s, n }), tail = skip(rest, n);
	struct msgdef_constant *c;

	if (t->prim == MSGDEF_NESTED || t->array != MSGDEF_ONE)
		return fail(p, "constant '%.*s' must be of a primitive type", shown(name), name.s);
	if (!value.len && !text)
		return fail(p, "constant '%.*s' has no value", shown(name), name.s);
	if (quoted && (value.len < 2 || value.s[value.len - 1] != value.s[0]))
		return fail(p, "the string is not closed");
	if (tail.len && tail.s[0] != '#')
		return fail(p, "unexpected '%.*s' after the value", shown(tail), tail.s);
	if (d->n_constants >= TYPEDESC_FIELDS_MAX)
		return fail(p, "more than %u constants", TYPEDESC_FIELDS_MAX);
	d->constants = arena_grow(p->arena, d->constants, d->n_constants, sizeof(*c));
	if (!d->constants)
		return -ENOMEM;
	c = &d->constants[d->n_constants];
	*c = (struct msgdef_constant){
		.type = *t,
		.name = keep(p, name),
		.comment = comment_for(p, tail),
		.raw = keep(p, value),
		.all = keep(p, text ? trim(rest) : value),
		.value = quoted ? unquote(p, value) : keep(p, value),
		.line = p->line,
	};
	if (!c->name || !c->comment || !c->raw || !c->all || !c->value)
		return -ENOMEM;
	d->n_constants++;
	return check_value(p, c);
}

static int add_field(struct parser *p, const struct msgdef_type *t, struct cut name, struct cut rest)
{
	struct msgdef *d = p->d;
	size_t n = rest.len && rest.s[0] != '#' ? value_len(rest) : 0;
	struct cut value = trim((struct cut){ rest.s, n }), tail = skip(rest, n);
	struct msgdef_field *f;

	if (value.len && t->prim == MSGDEF_NESTED)
		return fail(p, "unexpected '%.*s' after the name: a nested type has no default", shown(value), value.s);
	if (tail.len && tail.s[0] != '#')
		return fail(p, "unexpected '%.*s' after the default value", shown(tail), tail.s);
	if (d->n_fields >= TYPEDESC_FIELDS_MAX)
		return fail(p, "more than %u fields", TYPEDESC_FIELDS_MAX);
	d->fields = arena_grow(p->arena, d->fields, d->n_fields, sizeof(*f));
	if (!d->fields)
		return -ENOMEM;
	f = &d->fields[d->n_fields];
	*f = (struct msgdef_field){
		.type = *t,
		.name = keep(p, name),
		.comment = comment_for(p, tail),
		.deflt = value.len ? keep(p, value) : NULL,
		.line = p->line,
	};
	if (!f->name || !f->comment || (value.len && !f->deflt))
		return -ENOMEM;
	d->n_fields++;
	return 0;
}

static int parse_declaration(struct parser *p, struct cut line)
{
	struct cut word = { line.s, word_len(line, "#") }, rest = skip(line, word.len);
	struct cut name = { rest.s, word_len(rest, "=#") };
	struct msgdef_type t = { 0 };
	int r = parse_type(p, word, &t);

	if (r < 0)
		return r;
	if (!name.len)
		return fail(p, "'%.*s' is not followed by a name", shown(word), word.s);
	r = check_name(p, name);
	if (r < 0)
		return r;
	rest = skip(rest, name.len);
	if (rest.len && rest.s[0] == '=')
		return add_constant(p, &t, name, skip(rest, 1));
	return add_field(p, &t, name, rest);
}

/* ---- lines ---- */

static int end_block(struct parser *p)
{
	if (!p->head_done && p->above)
		p->d->comment = p->above;
	p->head_done = p->head_done || p->above;
	p->above = NULL;
	return 0;
}

static int parse_line(struct parser *p, struct cut line)
{
	int r;

	line = trim(line);
	if (!line.len)
		return end_block(p);
	if (line.s[0] == '#') {
		const char *text = comment_of(p, line);

		if (!text)
			return -ENOMEM;
		if (strncmp(text, "SPDX-", 5) == 0 || (p->above && strlen(p->above) > COMMENT_MAX))
			return 0;
		p->above = p->above ? arena_printf(p->arena, "%s %s", p->above, text) : (char *)(uintptr_t)text;
		return p->above ? 0 : -ENOMEM;
	}
	r = parse_declaration(p, line);
	p->head_done = true;
	p->above = NULL;
	return r;
}

static int parse_text(struct parser *p, const char *text, size_t len)
{
	size_t at = 0;
	int r = 0;

	if (len > MSGDEF_TEXT_MAX) {
		p->line = 1;
		return fail(p, "the definition is longer than %u bytes", MSGDEF_TEXT_MAX);
	}
	while (r == 0 && at < len) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - text) - at : len - at;

		p->line++;
		if (memchr(text + at, '\0', n))
			return fail(p, "the line has a NUL byte: this is not a text file");
		r = parse_line(p, (struct cut){ text + at, n });
		at += n + 1;
	}
	return r < 0 ? r : end_block(p);
}

int msgdef_parse(struct arena *arena, const char *package, const char *name, const char *text, size_t len,
		 struct msgdef_error *ret_err, struct msgdef **ret)
{
	struct msgdef *d = arena_alloc(arena, sizeof(*d));
	struct parser p = { .arena = arena, .d = d, .err = ret_err };
	int r;

	if (!d)
		return -ENOMEM;
	d->comment = "";
	d->package = arena_text(arena, package, strlen(package));
	d->name = arena_text(arena, name, strlen(name));
	if (!d->package || !d->name)
		return -ENOMEM;
	r = parse_text(&p, text, len);
	if (r == 0)
		*ret = d;
	return r;
}
