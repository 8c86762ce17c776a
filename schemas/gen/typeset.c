/* SPDX-License-Identifier: Apache-2.0 */
/* A set of types read from files: see typeset.h. */
#include "gen/typeset.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gen/arena.h"
#include "msg/typedesc.h"

#define TYPES_MAX    512
#define SERVICES_MAX 128

struct search {
	const char *package; /* NULL: any */
	const char *dir;
};

struct typeset {
	struct arena *arena;
	struct search *search;
	unsigned n_search;
	struct typeset_entry *entries[TYPES_MAX]; /* in the order in which they were found */
	unsigned n_entries;
	const struct typeset_entry *order[TYPES_MAX];
	unsigned n_order;
	struct typeset_service *services[SERVICES_MAX];
	unsigned n_services;
	typeset_source_fn source; /* NULL: only files */
	void *source_arg;
	bool strict, ros;
	unsigned depth;
	char why[1024];
};

struct typeset *typeset_create(void)
{
	struct typeset *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arena = arena_create();
	if (!s->arena) {
		free(s);
		return NULL;
	}
	return s;
}

void typeset_destroy(struct typeset *s)
{
	if (!s)
		return;
	arena_destroy(s->arena);
	free(s);
}

const char *typeset_why(const struct typeset *s)
{
	return s->why;
}
unsigned typeset_count(const struct typeset *s)
{
	return s->n_order;
}
void typeset_strict(struct typeset *s, bool on)
{
	s->strict = on;
}

void typeset_source(struct typeset *s, typeset_source_fn source, void *arg, bool ros)
{
	s->source = source;
	s->source_arg = arg;
	s->ros = ros;
}

const struct typeset_entry *typeset_entry(const struct typeset *s, unsigned i)
{
	return i < s->n_order ? s->order[i] : NULL;
}

/* "path:line: reason", "path: reason" for line 0. Only the first reason is kept: it is the cause of the rest. */
__attribute__((format(printf, 5, 6))) static int fail(struct typeset *s, int err, const char *path, int line,
						      const char *fmt, ...)
{
	size_t n;
	va_list ap;

	if (s->why[0])
		return err;
	snprintf(s->why, sizeof(s->why), line ? "%s:%d: " : "%s: ", path, line);
	n = strlen(s->why);
	va_start(ap, fmt);
	vsnprintf(s->why + n, sizeof(s->why) - n, fmt, ap);
	va_end(ap);
	return err;
}

unsigned typeset_services(const struct typeset *s)
{
	return s->n_services;
}

const struct typeset_service *typeset_service(const struct typeset *s, unsigned i)
{
	return i < s->n_services ? s->services[i] : NULL;
}

const char *typeset_listed(const struct typeset *s, const char *package, bool services, unsigned *i)
{
	while (*i < (services ? s->n_services : s->n_order)) {
		const struct typeset_service *v = services ? s->services[*i] : NULL;
		const struct typeset_entry *e = services ? NULL : s->order[*i];

		++*i;
		if (v && strcmp(v->package, package) == 0)
			return v->full;
		if (e && e->asked_for && !e->half && strcmp(e->def->package, package) == 0)
			return e->type.name;
	}
	return NULL;
}

int typeset_search(struct typeset *s, const char *where)
{
	const char *eq = strchr(where, '=');
	struct search *one;

	s->search = arena_grow(s->arena, s->search, s->n_search, sizeof(*s->search));
	if (!s->search)
		return -ENOMEM;
	one = &s->search[s->n_search++];
	one->package = eq ? arena_text(s->arena, where, (size_t)(eq - where)) : NULL;
	one->dir = arena_text(s->arena, eq ? eq + 1 : where, strlen(eq ? eq + 1 : where));
	return one->dir && (!eq || one->package) ? 0 : -ENOMEM;
}

/* ---- files ---- */

static int read_file(struct typeset *s, const char *path, char **ret, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	char *text = f ? arena_alloc(s->arena, MSGDEF_TEXT_MAX + 2) : NULL;
	int err = errno;
	size_t n;

	if (!f)
		return fail(s, -err, path, 0, "cannot be read: %s", strerror(err));
	if (!text) {
		fclose(f);
		return -ENOMEM;
	}
	n = fread(text, 1, MSGDEF_TEXT_MAX + 1, f);
	err = ferror(f) ? errno : 0;
	fclose(f);
	if (err)
		return fail(s, -err, path, 0, "cannot be read: %s", strerror(err));
	*ret = text;
	*ret_len = n;
	return 0;
}

static bool exists(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static const char *search_one(struct typeset *s, const struct search *in, const char *package, const char *name)
{
	const char *path;

	if (in->package) {
		path = arena_printf(s->arena, "%s/%s.msg", in->dir, name);
		return strcmp(in->package, package) == 0 && exists(path) ? path : NULL;
	}
	path = arena_printf(s->arena, "%s/%s/msg/%s.msg", in->dir, package, name);
	if (exists(path))
		return path;
	path = arena_printf(s->arena, "%s/%s/%s.msg", in->dir, package, name);
	return exists(path) ? path : NULL;
}

static const char *find_file(struct typeset *s, const struct typeset_entry *from, const char *package, const char *name)
{
	if (strcmp(from->def->package, package) == 0) {
		const char *slash = strrchr(from->path, '/');
		int dir = slash ? (int)(slash - from->path) + 1 : 0;
		const char *path = arena_printf(s->arena, "%.*s%s.msg", dir, from->path, name);

		if (exists(path))
			return path;
		path = arena_printf(s->arena, "%.*s../msg/%s.msg", dir, from->path, name); /* from a directory srv/ */
		if (from->half && exists(path))
			return path;
	}
	for (unsigned i = 0; i < s->n_search; i++) {
		const char *path = search_one(s, &s->search[i], package, name);

		if (path)
			return path;
	}
	return NULL;
}

/* ---- resolving ---- */

static int resolve(struct typeset *s, struct typeset_entry *e);

static struct typeset_entry *lookup(struct typeset *s, const char *package, const char *name)
{
	for (unsigned i = 0; i < s->n_entries; i++)
		if (strcmp(s->entries[i]->def->package, package) == 0 && strcmp(s->entries[i]->def->name, name) == 0)
			return s->entries[i];
	return NULL;
}

/* In ROS 1 "Header" without a package is that of std_msgs, in every package that has none of its own. */
static void find_header(struct typeset *s, struct msgdef *def)
{
	for (uint32_t i = 0; i < def->n_fields; i++) {
		struct msgdef_type *t = &def->fields[i].type;
		size_t len;

		if (t->prim == MSGDEF_NESTED && !t->package && strcmp(t->name, "Header") == 0 && s->source &&
		    !s->source(s->source_arg, def->package, t->name, &len))
			t->package = "std_msgs";
	}
}

static int load_text(struct typeset *s, const char *package, const char *name, const char *path, const char *text,
		     size_t len, struct typeset_entry **ret)
{
	struct typeset_entry *e;
	struct msgdef_error err = { 0 };
	struct msgdef *def;
	int r;

	if (s->n_entries == TYPES_MAX)
		return fail(s, -E2BIG, path, 0, "more than %d types", TYPES_MAX);
	r = msgdef_parse(s->arena, package, name, text, len, &err, &def);
	if (r == -EINVAL)
		return fail(s, r, path, err.line, "%s", err.text);
	e = r == 0 ? arena_alloc(s->arena, sizeof(*e)) : NULL;
	if (!e || !(e->path = arena_text(s->arena, path, strlen(path))))
		return -ENOMEM;
	if (s->ros)
		find_header(s, def);
	e->def = def;
	s->entries[s->n_entries++] = e;
	*ret = e;
	return 0;
}

static int load(struct typeset *s, const char *package, const char *name, const char *path, struct typeset_entry **ret)
{
	char *text = NULL;
	size_t len = 0;
	int r = read_file(s, path, &text, &len);

	return r < 0 ? r : load_text(s, package, name, path, text, len, ret);
}

/* Loads a type from the source. -ENOENT without a sentence: the source does not know it. */
static int load_source(struct typeset *s, const char *package, const char *name, struct typeset_entry **ret)
{
	size_t len = 0;
	const char *text = s->source ? s->source(s->source_arg, package, name, &len) : NULL;
	const char *path = text ? arena_printf(s->arena, "%s/%s", package, name) : NULL;

	if (!text)
		return -ENOENT;
	return path ? load_text(s, package, name, path, text, len, ret) : -ENOMEM;
}

static int nested(struct typeset *s, struct typeset_entry *e, const struct msgdef_field *f, const struct sim_type **ret)
{
	const char *package = f->type.package ? f->type.package : e->def->package;
	struct typeset_entry *n = lookup(s, package, f->type.name);
	int r;

	r = n ? 0 : load_source(s, package, f->type.name, &n);
	if (r == -ENOENT) {
		const char *path = s->source ? NULL : find_file(s, e, package, f->type.name);

		if (!path && s->source)
			return fail(s, -ENOENT, e->path, f->line, "type '%s/%s' is not defined", package, f->type.name);
		if (!path)
			return fail(s, -ENOENT, e->path, f->line,
				    "type '%s/%s' is not defined: no %s.msg beside this file or in an -I folder",
				    package, f->type.name, f->type.name);
		r = load(s, package, f->type.name, path, &n);
	}
	if (r < 0)
		return r;
	if (n->resolving)
		return fail(s, -ELOOP, e->path, f->line, "type '%s/%s' contains itself", package, f->type.name);
	r = n->done ? 0 : resolve(s, n);
	if (r == -E2BIG && !n->done)
		return fail(s, r, e->path, f->line, "'%s' nests types deeper than %u", f->name, TYPEDESC_DEPTH_MAX);
	if (r < 0)
		return r;
	*ret = &n->type;
	return 0;
}

/* The text in brackets at the beginning of the comment; "" if there is none, and for "[-]". */
static const char *unit_of(struct typeset *s, const char *comment, bool *ret_found)
{
	const char *end = comment[0] == '[' ? strchr(comment, ']') : NULL;

	*ret_found = end != NULL;
	if (!end || end == comment + 1 || (end == comment + 2 && comment[1] == '-'))
		return "";
	return arena_text(s->arena, comment + 1, (size_t)(end - comment) - 1);
}

/* ROS's byte and char become uint8. */
static enum msgdef_prim prim_of(const struct typeset *s, enum msgdef_prim prim)
{
	return s->ros && (prim == MSGDEF_BYTE || prim == MSGDEF_CHAR) ? MSGDEF_UINT8 : prim;
}

static int resolve_field(struct typeset *s, struct typeset_entry *e, const struct msgdef_field *f,
			 struct sim_field *ret)
{
	const char *prim = msgdef_prim_name(prim_of(s, f->type.prim));
	bool has_unit;

	ret->name = f->name;
	ret->comment = f->comment;
	ret->unit = unit_of(s, f->comment, &has_unit);
	ret->array = (uint8_t)f->type.array;
	ret->count = f->type.count;
	ret->string_max = f->type.string_max;
	if (!ret->unit)
		return -ENOMEM;
	if (s->strict && !has_unit)
		return fail(s, -EINVAL, e->path, f->line,
			    "the comment of '%s' does not begin with its unit in brackets, such as [m] or [-]",
			    f->name);
	if (s->strict && !strchr(f->comment, ']')[1])
		return fail(s, -EINVAL, e->path, f->line,
			    "the comment of '%s' ends after its unit: add frame, valid range or meaning", f->name);
	if (f->deflt && !s->ros)
		return fail(s, -EINVAL, e->path, f->line,
			    "'%s' has a default value: a message starts as zeros; use a constant", f->name);
	if (f->type.prim == MSGDEF_NESTED) {
		ret->kind = SIM_KIND_MESSAGE;
		return nested(s, e, f, &ret->type);
	}
	ret->kind = (uint8_t)typedesc_kind(prim, strlen(prim));
	if (!ret->kind)
		return fail(s, -EINVAL, e->path, f->line, "'%s' is a %s, which differs between ROS 1 and ROS 2: use %s",
			    f->name, prim, f->type.prim == MSGDEF_WSTRING ? "string" : "int8 or uint8");
	return 0;
}

static int resolve_constants(struct typeset *s, struct typeset_entry *e)
{
	uint32_t n = e->def->n_constants;
	struct sim_constant *c = arena_alloc(s->arena, (n ? n : 1) * sizeof(*c));
	char value[TYPEDESC_VALUE_MAX];

	for (uint32_t i = 0; c && i < n; i++) {
		const struct msgdef_constant *d = &e->def->constants[i];
		const char *prim = msgdef_prim_name(prim_of(s, d->type.prim));

		if (d->raw[0] == '-' && prim_of(s, d->type.prim) != d->type.prim)
			prim = "int8"; /* signed, as in ROS 1 */
		c[i].name = d->name;
		c[i].kind = (uint8_t)typedesc_kind(prim, strlen(prim));
		if (!c[i].kind || typedesc_value((enum sim_kind)c[i].kind, d->value, strlen(d->value), value) < 0)
			return fail(s, -EINVAL, e->path, d->line,
				    "constant '%s' is a %s, which differs between ROS 1 and ROS 2: use int8 or uint8",
				    d->name, prim);
		c[i].value = arena_text(s->arena, value, strlen(value));
		if (!c[i].value)
			c = NULL;
	}
	if (!c)
		return -ENOMEM;
	e->type.constants = c;
	e->type.n_constants = n;
	return 0;
}

static int resolve_fields(struct typeset *s, struct typeset_entry *e)
{
	uint32_t n = e->def->n_fields;
	struct sim_field *fields = arena_alloc(s->arena, (n ? n : 1) * sizeof(*fields));
	int r;

	if (!fields)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		r = resolve_field(s, e, &e->def->fields[i], &fields[i]);
		if (r < 0)
			return r;
	}
	r = typedesc_layout(fields, n, &e->type.fixed_size, &e->type.align);
	if (r < 0)
		return fail(s, -EFBIG, e->path, n ? e->def->fields[n - 1].line : 0,
			    "the fixed part is larger than %u bytes: use T[] for large arrays", TYPEDESC_FIXED_MAX);
	e->type.fields = fields;
	e->type.n_fields = n;
	return 0;
}

/* ROS has no limit of its own; when a simd type is made from a ROS type, its name is checked again. */
static bool name_ok(const struct typeset *s, const struct typeset_entry *e)
{
	return s->ros ? typedesc_ident_ok(e->def->package, strlen(e->def->package)) &&
				typedesc_ident_ok(e->def->name, strlen(e->def->name))
		      : typedesc_name_ok(e->type.name);
}

static int resolve_type(struct typeset *s, struct typeset_entry *e)
{
	int r;

	e->type.abi = SIM_TYPE_ABI;
	e->type.size = sizeof(e->type);
	e->type.name = arena_printf(s->arena, "%s/%s", e->def->package, e->def->name);
	e->type.comment = e->def->comment;
	if (!e->type.name)
		return -ENOMEM;
	if (!name_ok(s, e))
		return fail(s, -EINVAL, e->path, 0, "'%s' is not a type's name of at most %d characters", e->type.name,
			    SIM_TYPE_NAME_MAX);
	r = resolve_constants(s, e);
	if (r == 0)
		r = resolve_fields(s, e);
	if (r < 0)
		return r;
	e->type.hash = typedesc_hash(&e->type);
	s->order[s->n_order++] = e;
	e->done = true;
	return 0;
}

static int resolve(struct typeset *s, struct typeset_entry *e)
{
	int r = -E2BIG;

	if (s->depth == TYPEDESC_DEPTH_MAX + (s->ros ? 1 : 0))
		return r;
	s->depth++;
	e->resolving = true;
	r = resolve_type(s, e);
	e->resolving = false;
	s->depth--;
	return r;
}

/* ---- services ---- */

ptrdiff_t typeset_find_rule(const char *text, size_t len, size_t from, size_t *ret_end)
{
	for (size_t at = from; at < len;) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t end = nl ? (size_t)(nl - text) : len, n = end - at;

		while (n && strchr(" \t\r", text[at + n - 1]))
			n--;
		if (n == 3 && memcmp(text + at, "---", 3) == 0) {
			*ret_end = end;
			return (ptrdiff_t)at;
		}
		at = end + 1;
	}
	return -1;
}

static int line_of(const char *text, size_t at)
{
	int line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

static int load_half(struct typeset *s, const char *package, const char *service, const char *half, const char *path,
		     const char *text, size_t len, const struct typeset_entry **ret)
{
	const char *name = arena_printf(s->arena, "%s%s", service, half);
	struct typeset_entry *e;
	int r;

	if (!name)
		return -ENOMEM;
	if (lookup(s, package, name))
		return fail(s, -EEXIST, path, 0, "its %s would be type '%s/%s', which exists already", half, package,
			    name);
	r = load_text(s, package, name, path, text, len, &e);
	if (r < 0)
		return r;
	e->half = e->asked_for = true;
	*ret = e;
	return resolve(s, e);
}

/* Lines keep their numbers: in the response's text the lines of the request are blank. */
static int load_halves(struct typeset *s, struct typeset_service *v, const char *path, char *text, size_t len)
{
	size_t end = 0, more;
	ptrdiff_t at = typeset_find_rule(text, len, 0, &end);
	int r;

	if (at < 0)
		return fail(s, -EINVAL, path, 0, "has no line '---' between request and response");
	if (typeset_find_rule(text, len, end, &more) >= 0)
		return fail(s, -EINVAL, path, line_of(text, more), "a second line '---': a service has two halves");
	r = load_half(s, v->package, v->name, "Request", path, text, (size_t)at, &v->request);
	if (r < 0)
		return r;
	for (size_t i = 0; i < end; i++)
		if (text[i] != '\n')
			text[i] = ' ';
	return load_half(s, v->package, v->name, "Response", path, text, len, &v->response);
}

static int add_service(struct typeset *s, const char *package, const char *name, const char *path,
		       const struct typeset_entry **ret)
{
	struct typeset_service *v = arena_alloc(s->arena, sizeof(*v));
	char *text = NULL;
	size_t len = 0;
	int r = read_file(s, path, &text, &len);

	if (r < 0)
		return r;
	if (s->n_services == SERVICES_MAX)
		return fail(s, -E2BIG, path, 0, "more than %d services", SERVICES_MAX);
	if (!v)
		return -ENOMEM;
	v->package = arena_text(s->arena, package, strlen(package));
	v->name = name;
	v->full = arena_printf(s->arena, "%s/%s", package, name);
	if (!v->package || !v->full)
		return -ENOMEM;
	r = load_halves(s, v, path, text, len);
	if (r < 0)
		return r;
	v->comment = v->request->type.comment;
	s->services[s->n_services++] = v;
	if (ret)
		*ret = v->request;
	return 0;
}

/* ---- requested types ---- */

/* The common end of both ways to request a type. */
static int asked(struct typeset *s, int r, struct typeset_entry *e, const char *path, const struct typeset_entry **ret)
{
	if (r == 0 && !e->done)
		r = resolve(s, e);
	if (r < 0)
		return r == -ENOMEM ? fail(s, r, path, 0, "no memory") : r;
	e->asked_for = true;
	if (ret)
		*ret = e;
	return 0;
}

int typeset_take(struct typeset *s, const char *package, const char *name, const struct typeset_entry **ret)
{
	struct typeset_entry *e = lookup(s, package, name);
	int r = 0;

	s->why[0] = '\0';
	if (!e)
		r = load_source(s, package, name, &e);
	return asked(s, r, e, name, ret);
}

void typeset_mark_kind(struct typeset *s, const struct typeset_entry *e, const char *kind)
{
	for (unsigned i = 0; i < s->n_entries; i++)
		if (s->entries[i] == e)
			s->entries[i]->kind = kind;
}

/* The file's directory, without "msg" and "srv": ROS keeps definitions in <package>/msg/. */
static char *package_of(struct typeset *s, const char *path)
{
	const char *end = strrchr(path, '/');

	for (int up = 0; end && up < 2; up++) {
		const char *start = end;

		while (start > path && start[-1] != '/')
			start--;
		if (end - start != 3 || (memcmp(start, "msg", 3) != 0 && memcmp(start, "srv", 3) != 0))
			return arena_text(s->arena, start, (size_t)(end - start));
		end = start > path ? start - 1 : NULL;
	}
	return NULL;
}

int typeset_add(struct typeset *s, const char *package, const char *path, const struct typeset_entry **ret)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strlen(base);
	bool service = len > 4 && strcmp(base + len - 4, ".srv") == 0;
	struct typeset_entry *e;
	char *name;
	int r = 0;

	s->why[0] = '\0';
	if (len < 5 || (!service && strcmp(base + len - 4, ".msg") != 0))
		return fail(s, -EINVAL, path, 0, "is not named <Name>.msg or <Name>.srv");
	name = arena_text(s->arena, base, len - 4);
	if (!package)
		package = package_of(s, path);
	if (!package || !typedesc_ident_ok(package, strlen(package)))
		return fail(s, -EINVAL, path, 0, "has no known package: give it with -p");
	if (!name || !typedesc_ident_ok(name, strlen(name)))
		return fail(s, -EINVAL, path, 0, "'%s' is not a type's name: letters and digits, a letter first", name);
	if (service) {
		r = add_service(s, package, name, path, ret);
		return r == -ENOMEM ? fail(s, r, path, 0, "no memory") : r;
	}
	e = lookup(s, package, name);
	if (!e)
		r = load(s, package, name, path, &e);
	return asked(s, r, e, path, ret);
}
