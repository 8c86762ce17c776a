/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_text.h. Parsing, sums and hashes are done by ../gen. */
#include "ros/ros_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/arena.h"
#include "gen/rosdef.h"
#include "gen/typeset.h"
#include "msg/typedesc.h"
#include "ros/ros_definition.h"

/* The numbers of the two enums must be the same. */
#define X(id, name) _Static_assert((int)MSGDEF_##id == (int)ROS_##id, "msgdef and ros_type count alike");
MSGDEF_PRIMS(X)
#undef X
_Static_assert(ROS_TEXT_MD5 == MD5_DIGEST_STRING_LENGTH, "a sum is as long here as there");

struct section { /* one definition in the text */
	char package[TYPEDESC_IDENT_MAX + 1], name[TYPEDESC_IDENT_MAX + 1];
	const char *text;
	size_t len;
	const char *kind; /* kind of its file: "msg", "srv", "action" */
};

struct ros_text {
	struct arena *arena;
	struct typeset *set;
	const struct ros_type *const *known;
	struct section sections[ROS_TEXT_TYPES];
	unsigned n;
	const struct ros_type *type;
	const struct typeset_entry *entry; /* of type */
};

/* ---- the text ---- */

/* Removes "msg/", "srv/" or "action/" from the name and returns which; "msg" if it has none of them. */
static const char *kind_of(const char **name, size_t *len)
{
	static const char *const kinds[] = { "msg", "srv", "action" };

	for (size_t i = 0; i < 3; i++) {
		size_t n = strlen(kinds[i]);

		if (*len <= n + 1 || strncmp(*name, kinds[i], n) != 0 || (*name)[n] != '/')
			continue;
		*name += n + 1;
		*len -= n + 1;
		return kinds[i];
	}
	return kinds[0];
}

/* Parses "package/Name" or "package/KIND/Name", up to the end or a blank. */
static int split_name(const char *s, size_t len, struct section *ret)
{
	const char *slash = memchr(s, '/', len), *name = slash ? slash + 1 : s;
	size_t package = slash ? (size_t)(slash - s) : 0, n = slash ? len - package - 1 : 0;

	ret->kind = kind_of(&name, &n);
	if (!slash || !typedesc_ident_ok(s, package) || !typedesc_ident_ok(name, n))
		return -EINVAL;
	memcpy(ret->package, s, package);
	ret->package[package] = '\0';
	memcpy(ret->name, name, n);
	ret->name[n] = '\0';
	return 0;
}

static bool is_message(const struct section *s)
{
	return strcmp(s->kind, "msg") == 0;
}

static bool is_rule(const char *line, size_t len)
{
	return len >= 3 && strspn(line, "=") >= len - (line[len - 1] == '\r');
}

static int begin_section(struct ros_text *t, const char *line, size_t len)
{
	struct section *s = &t->sections[t->n];

	if (t->n == ROS_TEXT_TYPES)
		return -E2BIG;
	if (len < 5 || strncmp(line, "MSG: ", 5) != 0)
		return -EINVAL;
	for (line += 5, len -= 5; len && strchr(" \r\t", line[len - 1]);)
		len--;
	memset(s, 0, sizeof(*s));
	return split_name(line, len, s) < 0 || !is_message(s) ? -EINVAL : 0;
}

/* Cuts the text into its definitions; the first one's name is already set. Returns the line of an error, 0 for none. */
static int cut(struct ros_text *t, const char *text, size_t len, int *ret_err)
{
	struct section *s = &t->sections[t->n++];
	bool head = false; /* the previous line was a line of "=" */
	size_t at = 0;

	s->text = text;
	for (int line = 1; at < len; line++) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - text) - at : len - at;

		if (head) {
			*ret_err = begin_section(t, text + at, n);
			if (*ret_err < 0)
				return line;
			s = &t->sections[t->n++];
			s->text = text + at + n + (nl ? 1 : 0);
		} else if (is_rule(text + at, n)) {
			s->len = (size_t)(text + at - s->text);
		}
		head = !head && is_rule(text + at, n);
		at += n + 1;
		if (!head)
			s->len = (size_t)(text + (at < len ? at : len) - s->text);
	}
	return 0;
}

/* Whether a line is "SRV: name" or "ACTION: name". */
static bool is_head(const char *line, size_t len)
{
	return (len >= 5 && strncmp(line, "SRV: ", 5) == 0) || (len >= 8 && strncmp(line, "ACTION: ", 8) == 0);
}

/*
 * Length of the root's own head: rosbag2 puts two lines, one of "=" and "SRV: package/srv/Name", before a definition
 * that is not a message's.
 */
static size_t own_head(const char *text, size_t len)
{
	const char *nl = memchr(text, '\n', len);
	size_t at = nl ? (size_t)(nl - text) + 1 : len;

	if (!is_rule(text, nl ? at - 1 : len) || !is_head(text + at, len - at))
		return 0;
	nl = memchr(text + at, '\n', len - at);
	return nl ? (size_t)(nl - text) + 1 : len;
}

/* ---- services and actions ---- */

#define PARTS_MAX 3 /* of an action: goal, result, feedback */
#define GOAL_ID   "unique_identifier_msgs/UUID goal_id\n"
#define EVENT_OF(call) \
	"service_msgs/ServiceEventInfo info\n%N" call "_Request[<=1] request\n%N" call "_Response[<=1] response\n"

/*
 * The messages that ROS 2 derives from a .srv or .action file, by the suffix of their name: a part of the file's text,
 * or a text with the file's name for each %N (design.ros2.org, "Actions", and REP 2012 for the events).
 */
static const struct derived {
	unsigned parts; /* number of parts of the file */
	const char *suffix, *text;
	unsigned part; /* if text is NULL */
} derived[] = {
	{ 2, "_Request", NULL, 0 },
	{ 2, "_Response", NULL, 1 },
	{ 2, "_Event", EVENT_OF(""), 0 },
	{ 3, "_Goal", NULL, 0 },
	{ 3, "_Result", NULL, 1 },
	{ 3, "_Feedback", NULL, 2 },
	{ 3, "_SendGoal_Request", GOAL_ID "%N_Goal goal\n", 0 },
	{ 3, "_SendGoal_Response", "bool accepted\nbuiltin_interfaces/Time stamp\n", 0 },
	{ 3, "_SendGoal_Event", EVENT_OF("_SendGoal"), 0 },
	{ 3, "_GetResult_Request", GOAL_ID, 0 },
	{ 3, "_GetResult_Response", "int8 status\n%N_Result result\n", 0 },
	{ 3, "_GetResult_Event", EVENT_OF("_GetResult"), 0 },
	{ 3, "_FeedbackMessage", GOAL_ID "%N_Feedback feedback\n", 0 },
};
#define DERIVED (sizeof(derived) / sizeof(derived[0]))

struct part {
	const char *text;
	size_t len;
};

/* Returns how many parts the lines of "---" make of a text; PARTS_MAX + 1: too many. */
static unsigned cut_parts(const char *text, size_t len, struct part parts[PARTS_MAX])
{
	size_t from = 0, end;
	ptrdiff_t at;
	unsigned n;

	for (n = 0; n < PARTS_MAX && (at = typeset_find_rule(text, len, from, &end)) >= 0; n++) {
		parts[n] = (struct part){ text + from, (size_t)at - from };
		from = end;
	}
	if (n < PARTS_MAX)
		parts[n] = (struct part){ text + from, len - from };
	return n + 1;
}

/*
 * The derived message with such a name, of a file with so many parts, and the length of the file's own name. NULL:
 * none.
 */
static const struct derived *derived_of(const char *name, unsigned parts, size_t *ret_len)
{
	for (const struct derived *d = derived; d < derived + DERIVED; d++) {
		size_t n = strlen(name), k = strlen(d->suffix);

		*ret_len = n - k;
		if (d->parts == parts && n > k && strcmp(name + *ret_len, d->suffix) == 0)
			return d;
	}
	return NULL;
}

static int add_section(struct ros_text *t, const char *kind, const char *package, const char *name, const char *text,
		       size_t len)
{
	struct section *s = &t->sections[t->n];

	if (t->n == ROS_TEXT_TYPES)
		return -E2BIG;
	*s = (struct section){ .text = text, .len = len, .kind = kind };
	snprintf(s->package, sizeof(s->package), "%s", package);
	if ((size_t)snprintf(s->name, sizeof(s->name), "%s", name) >= sizeof(s->name))
		return -EINVAL;
	t->n++;
	return 0;
}

/* A text with `name` for each %N. */
static const char *filled(struct arena *a, const char *text, const char *name)
{
	const char *out = "", *mark;

	for (; out && (mark = strstr(text, "%N")); text = mark + 2)
		out = arena_printf(a, "%s%.*s%s", out, (int)(mark - text), text, name);
	return out ? arena_printf(a, "%s%s", out, text) : NULL;
}

/* Adds all messages of the file as sections; `file`: its name. */
static int add_derived(struct ros_text *t, const char *kind, const char *file, const struct part *parts, unsigned n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < DERIVED; i++) {
		const struct derived *d = &derived[i];
		const char *name = arena_printf(t->arena, "%s%s", file, d->suffix);
		const char *text = d->text ? filled(t->arena, d->text, file) : parts[d->part].text;

		if (d->parts != n)
			continue;
		if (!name || !text)
			return -ENOMEM;
		r = add_section(t, kind, t->sections[0].package, name, text,
				d->text ? strlen(text) : parts[d->part].len);
	}
	return r;
}

/* A text with lines of "---" is that of a service or an action: the root becomes the message that the name selects. */
static int cut_file(struct ros_text *t, char *why, size_t why_size)
{
	struct section *root = &t->sections[0];
	unsigned before = t->n, n;
	struct part parts[PARTS_MAX];
	const struct derived *d;
	const char *file;
	size_t len = 0;
	int r;

	n = cut_parts(root->text, root->len, parts);
	if (n == 1)
		return 0;
	d = derived_of(root->name, n, &len);
	if (!d) {
		snprintf(why, why_size,
			 "it is that of a service or an action; of a service the messages are called %.60s_Request, _Response "
			 "and _Event, of an action _Goal, _Result, _FeedbackMessage and so on",
			 root->name);
		return -EINVAL;
	}
	snprintf(why, why_size, "a name is too long, or more than %u definitions", ROS_TEXT_TYPES);
	root->kind = n == 2 ? "srv" : "action";
	file = arena_printf(t->arena, "%.*s", (int)len, root->name);
	r = file ? add_derived(t, root->kind, file, parts, n) : -ENOMEM;
	for (unsigned i = before; r == 0 && i < t->n; i++)
		if (strcmp(t->sections[i].name, root->name) == 0)
			*root = t->sections[i];
	return r;
}

static void mark_kinds(struct ros_text *t)
{
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; !is_message(&t->sections[i]) && k < typeset_count(t->set); k++) {
			const struct msgdef *d = typeset_entry(t->set, k)->def;

			if (strcmp(d->package, t->sections[i].package) == 0 &&
			    strcmp(d->name, t->sections[i].name) == 0)
				typeset_mark_kind(t->set, typeset_entry(t->set, k), t->sections[i].kind);
		}
}

/* ---- definitions that the text lacks ---- */

/* Looks up a definition that the text lacks among the known ones. */
static const char *known_text(const struct ros_text *t, const char *package, const char *name, size_t *ret_len)
{
	char full[2 * TYPEDESC_IDENT_MAX + 2];
	struct ros_definition d;

	snprintf(full, sizeof(full), "%s/%s", package, name);
	if (!ros_definition_find(t->known, full, &d))
		return NULL;
	*ret_len = strlen(d.text);
	return d.text;
}

static const char *source(void *arg, const char *package, const char *name, size_t *ret_len)
{
	const struct ros_text *t = arg;

	for (unsigned i = 0; i < t->n; i++) {
		const struct section *s = &t->sections[i];

		if (strcmp(s->package, package) == 0 && strcmp(s->name, name) == 0) {
			*ret_len = s->len;
			return s->text;
		}
	}
	return known_text(t, package, name, ret_len);
}

/* ---- the type ---- */

static bool is_ros1(const struct ros_text *t)
{
	return t->known == ros1_types;
}

static const struct ros_type *type_of(struct ros_text *t, const struct typeset_entry *e, struct ros_type **made);

static int set_fields(struct ros_text *t, const struct typeset_entry *e, struct ros_type **made, struct ros_type *type)
{
	const struct msgdef *d = e->def;
	struct ros_field *f = arena_alloc(t->arena, (d->n_fields + 1) * sizeof(*f));

	for (uint32_t i = 0; f && i < d->n_fields; i++) {
		const struct msgdef_type *m = &d->fields[i].type;
		enum msgdef_prim prim = rosdef_time(d, m);

		f[i] = (struct ros_field){ .name = d->fields[i].name,
					   .count = m->count,
					   .string_max = m->string_max,
					   .prim = (uint8_t)prim,
					   .array = (uint8_t)m->array };
		if (prim != MSGDEF_NESTED)
			continue;
		f[i].type = type_of(t, rosdef_nested(t->set, e, m), made);
		if (!f[i].type)
			return -ENOMEM;
	}
	type->fields = f;
	type->n_fields = d->n_fields;
	return f ? 0 : -ENOMEM;
}

/* made: indexed by place in the set, NULL for types not made yet. */
static const struct ros_type *type_of(struct ros_text *t, const struct typeset_entry *e, struct ros_type **made)
{
	struct ros_type *type;
	unsigned i = 0;

	while (typeset_entry(t->set, i) != e)
		i++;
	if (made[i])
		return made[i];
	type = made[i] = arena_alloc(t->arena, sizeof(*type));
	if (!type)
		return NULL;
	*type = (struct ros_type){ .name = e->type.name, .kind = rosdef_kind(e), .hash = "", .definition = "" };
	return set_fields(t, e, made, type) < 0 ? NULL : type;
}

static char *text_of(struct ros_text *t, const struct typeset_entry *e)
{
	char *text = NULL, *copy = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	rosdef_text(t->set, e, is_ros1(t) ? ROSDEF_ROS1 : ROSDEF_ROS2, f);
	if (fclose(f) == 0)
		copy = arena_text(t->arena, text, len);
	free(text);
	return copy;
}

/* Times are primitives only in ROS 1; rosdef computes no hash for them. */
static bool has_ros1_times(const struct ros_text *t)
{
	for (unsigned i = 0; i < typeset_count(t->set); i++) {
		const struct msgdef *d = typeset_entry(t->set, i)->def;

		for (uint32_t k = 0; k < d->n_fields; k++)
			if (d->fields[k].type.prim == MSGDEF_TIME || d->fields[k].type.prim == MSGDEF_DURATION)
				return true;
	}
	return false;
}

static int make(struct ros_text *t, const struct typeset_entry *e)
{
	struct ros_type **made = arena_alloc(t->arena, (typeset_count(t->set) + 1) * sizeof(struct ros_type *));
	struct ros_type *type;
	char hash[ROSDEF_RIHS_MAX];
	int r;

	if (!is_ros1(t) && has_ros1_times(t))
		return -EPROTONOSUPPORT;
	if (!made || !type_of(t, e, made))
		return -ENOMEM;
	r = is_ros1(t) ? rosdef_md5(t->set, e, hash) : rosdef_rihs01(t->set, e, hash);
	if (r < 0)
		return r;
	for (unsigned i = 0; typeset_entry(t->set, i); i++) {
		if (typeset_entry(t->set, i) != e)
			continue;
		type = made[i];
		type->hash = arena_text(t->arena, hash, strlen(hash));
		type->definition = text_of(t, e);
		t->type = type;
		t->entry = e;
		return type->hash && type->definition ? 0 : -ENOMEM;
	}
	return -ENOMEM;
}

/* ---- create, destroy ---- */

static int parse(struct ros_text *t, const char *name, const char *text, char *why, size_t why_size)
{
	const struct typeset_entry *e = NULL;
	size_t len = strnlen(text, ROS_TEXT_MAX + 1), head;
	int r = split_name(name, strlen(name), &t->sections[0]), line;

	if (r < 0)
		snprintf(why, why_size, "\"%.80s\" is not of the form package/msg/Name", name);
	if (r == 0 && len > ROS_TEXT_MAX) {
		r = -E2BIG;
		snprintf(why, why_size, "its definition is longer than %u bytes", ROS_TEXT_MAX);
	}
	if (r < 0)
		return r;
	head = own_head(text, len);
	line = cut(t, text + head, len - head, &r);
	if (line && r == -E2BIG)
		snprintf(why, why_size, "line %d: more than %u definitions", line, ROS_TEXT_TYPES);
	else if (line)
		snprintf(why, why_size, "line %d: a line of \"=\" is not followed by \"MSG: package/Name\"", line);
	if (line)
		return r;
	r = cut_file(t, why, why_size);
	if (r < 0)
		return r;
	typeset_source(t->set, source, t, true);
	r = typeset_take(t->set, t->sections[0].package, t->sections[0].name, &e);
	if (r < 0) {
		snprintf(why, why_size, "%s", typeset_why(t->set));
		return r == -ENOENT || r == -ENOMEM || r == -E2BIG ? r : -EINVAL;
	}
	mark_kinds(t);
	if (typeset_count(t->set) > ROS_TEXT_TYPES) {
		snprintf(why, why_size, "more than %u types", ROS_TEXT_TYPES);
		return -E2BIG;
	}
	r = make(t, e);
	if (r == -EPROTONOSUPPORT)
		snprintf(why, why_size, "time and duration are of ROS 1: write builtin_interfaces/Time or Duration");
	else if (r == -ENOTSUP)
		snprintf(why, why_size, "ROS 1 has neither bounds nor wstring");
	return r == -EPROTONOSUPPORT ? -EINVAL : r;
}

int ros_text_create(const char *name, const char *text, const struct ros_type *const *known, char *why, size_t why_size,
		    struct ros_text **ret)
{
	struct ros_text *t = calloc(1, sizeof(*t));
	int r = -ENOMEM;

	snprintf(why, why_size, "no memory");
	if (!t)
		return r;
	t->known = known;
	t->arena = arena_create();
	t->set = typeset_create();
	if (t->arena && t->set)
		r = parse(t, name, text, why, why_size);
	if (r < 0) {
		ros_text_destroy(t);
		return r;
	}
	*ret = t;
	return 0;
}

void ros_text_destroy(struct ros_text *t)
{
	if (!t)
		return;
	typeset_destroy(t->set);
	if (t->arena)
		arena_destroy(t->arena);
	free(t);
}

const struct ros_type *ros_text_type(const struct ros_text *t)
{
	return t->type;
}

int ros_text_service_md5(const struct ros_text *request, const struct ros_text *response, char ret[ROS_TEXT_MD5])
{
	return rosdef_service_md5(request->set, request->entry, response->set, response->entry, ret);
}
