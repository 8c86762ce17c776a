/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_text.h. The parsing, the sums and the hashes are those of ../gen. */
#include "ros/ros_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/arena.h"
#include "gen/rosdef.h"
#include "gen/typeset.h"
#include "msg/typedesc.h"

/* The numbers of the two enums are the same. */
#define X(id, name) _Static_assert((int)MSGDEF_##id == (int)ROS_##id, "msgdef and ros_type count alike");
MSGDEF_PRIMS(X)
#undef X
_Static_assert(ROS_TEXT_MD5 == DIGEST_MD5_HEX, "a sum is as long here as there");

struct section { /* one definition in the text */
	char package[TYPEDESC_IDENT_MAX + 1], name[TYPEDESC_IDENT_MAX + 1];
	const char *text;
	size_t len;
	bool half; /* of a service */
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

/* "package/Name", "package/msg/Name" or, of a half of a service, "package/srv/Name", up to the end or a blank. */
static int split_name(const char *s, size_t len, struct section *ret)
{
	const char *slash = memchr(s, '/', len);
	size_t package = slash ? (size_t)(slash - s) : 0;
	const char *name = s + package + 1;
	size_t n = len - package - 1;

	ret->half = slash && n > 4 && strncmp(name, "srv/", 4) == 0;
	if (ret->half || (slash && n > 4 && strncmp(name, "msg/", 4) == 0)) {
		name += 4;
		n -= 4;
	}
	if (!slash || !typedesc_ident_ok(s, package) || !typedesc_ident_ok(name, n))
		return -EINVAL;
	memcpy(ret->package, s, package);
	ret->package[package] = '\0';
	memcpy(ret->name, name, n);
	ret->name[n] = '\0';
	return 0;
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
	return split_name(line, len, s) < 0 || s->half ? -EINVAL : 0;
}

/* Cuts it into its definitions; the first one's name is set already. Returns the line of an error, 0 for none. */
static int cut(struct ros_text *t, const char *text, size_t len, int *ret_err)
{
	struct section *s = &t->sections[t->n++];
	bool head = false; /* a line of "=" was just before */
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

/* rosbag2 puts the root's own name before its definition where that is a service's: two lines, of "=" and "SRV: package/srv/Name". */
static size_t own_head(const char *text, size_t len)
{
	const char *nl = memchr(text, '\n', len);
	size_t at = nl ? (size_t)(nl - text) + 1 : len;

	if (!is_rule(text, nl ? at - 1 : len) || len - at < 5 || strncmp(text + at, "SRV: ", 5) != 0)
		return 0;
	nl = memchr(text + at, '\n', len - at);
	return nl ? (size_t)(nl - text) + 1 : len;
}

/* ---- services ---- */

/* service_msgs/ServiceEventInfo, the first field of each message of service introspection. */
static const char event_info[] = "uint8 REQUEST_SENT=0\nuint8 REQUEST_RECEIVED=1\nuint8 RESPONSE_SENT=2\n"
				 "uint8 RESPONSE_RECEIVED=3\nuint8 event_type\nbuiltin_interfaces/Time stamp\n"
				 "char[16] client_gid\nint64 sequence_number\n";

enum { REQUEST, RESPONSE, EVENT };
static const char *const suffixes[] = { [REQUEST] = "_Request", [RESPONSE] = "_Response", [EVENT] = "_Event" };

/* The index of a message among those of its service, and the length of the service's name. -1: no message of a service has such a name. */
static int message_of(const char *name, size_t *ret_len)
{
	for (int i = REQUEST; i <= EVENT; i++) {
		size_t n = strlen(name), k = strlen(suffixes[i]);

		if (n <= k || strcmp(name + n - k, suffixes[i]) != 0)
			continue;
		*ret_len = n - k;
		return i;
	}
	return -1;
}

static int add_section(struct ros_text *t, bool half, const char *package, const char *name, const char *text,
		       size_t len)
{
	struct section *s = &t->sections[t->n];

	if (t->n == ROS_TEXT_TYPES)
		return -E2BIG;
	*s = (struct section){ .text = text, .len = len, .half = half };
	snprintf(s->package, sizeof(s->package), "%s", package);
	if ((size_t)snprintf(s->name, sizeof(s->name), "%s", name) >= sizeof(s->name))
		return -EINVAL;
	t->n++;
	return 0;
}

/* The root becomes an event: its text nests both halves, which are sections of their own. `at` and `end`: of the line between them. */
static int make_event(struct ros_text *t, size_t n, size_t at, size_t end)
{
	struct section *root = &t->sections[0];
	const char *request = arena_printf(t->arena, "%.*s_Request", (int)n, root->name);
	const char *response = arena_printf(t->arena, "%.*s_Response", (int)n, root->name);
	const char *text = arena_printf(t->arena,
					"service_msgs/ServiceEventInfo info\n%.*s_Request[<=1] request\n"
					"%.*s_Response[<=1] response\n",
					(int)n, root->name, (int)n, root->name);
	int r;

	if (!request || !response || !text)
		return -ENOMEM;
	r = add_section(t, true, root->package, request, root->text, at);
	if (r == 0)
		r = add_section(t, true, root->package, response, root->text + end, root->len - end);
	if (r == 0) /* behind those of the text: one that it has itself counts */
		r = add_section(t, false, "service_msgs", "ServiceEventInfo", event_info, sizeof(event_info) - 1);
	root->text = text;
	root->len = strlen(text);
	return r;
}

/* A text with a line of "---" is a service's: the root becomes the one of its messages that the name says. */
static int cut_service(struct ros_text *t, char *why, size_t why_size)
{
	struct section *root = &t->sections[0];
	size_t end, more, n = 0;
	ptrdiff_t at = typeset_find_rule(root->text, root->len, 0, &end);
	int which = at < 0 ? 0 : message_of(root->name, &n), r = 0;

	if (at < 0)
		return 0;
	snprintf(why, why_size, "a name is too long, or more than %u definitions", ROS_TEXT_TYPES);
	if (which < 0 || typeset_find_rule(root->text, root->len, end, &more) >= 0) {
		snprintf(why, why_size,
			 "it is that of a service or an action; of a service the messages are called %.60s_Request, _Response "
			 "and _Event",
			 root->name);
		return -EINVAL;
	}
	root->half = true;
	if (which == EVENT) {
		r = make_event(t, n, (size_t)at, end);
	} else if (which == REQUEST) {
		root->len = (size_t)at;
	} else {
		root->text += end;
		root->len -= end;
	}
	return r;
}

static void mark_halves(struct ros_text *t)
{
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; t->sections[i].half && k < typeset_count(t->set); k++) {
			const struct msgdef *d = typeset_entry(t->set, k)->def;

			if (strcmp(d->package, t->sections[i].package) == 0 &&
			    strcmp(d->name, t->sections[i].name) == 0)
				typeset_mark_half(t->set, typeset_entry(t->set, k));
		}
}

/* ---- what is not in the text ---- */

/* Of what the text does not define, what is known: up to its first line of "=". */
static const char *known_text(const struct ros_text *t, const char *package, const char *name, size_t *ret_len)
{
	char full[2 * TYPEDESC_IDENT_MAX + 2];
	const struct ros_type *k;
	const char *end;

	snprintf(full, sizeof(full), "%s/%s", package, name);
	k = ros_type_find(t->known, full);
	if (!k)
		return NULL;
	end = strstr(k->definition, "\n====");
	*ret_len = end ? (size_t)(end - k->definition) + 1 : strlen(k->definition);
	return k->definition;
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

/* made: by place in the set, NULL for what is not made yet. */
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

/* Times are primitives in ROS 1 alone; rosdef knows no hash of them. */
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
	r = cut_service(t, why, why_size);
	if (r < 0)
		return r;
	typeset_source(t->set, source, t, true);
	r = typeset_take(t->set, t->sections[0].package, t->sections[0].name, &e);
	if (r < 0) {
		snprintf(why, why_size, "%s", typeset_why(t->set));
		return r == -ENOENT || r == -ENOMEM || r == -E2BIG ? r : -EINVAL;
	}
	mark_halves(t);
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
