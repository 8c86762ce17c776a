/* SPDX-License-Identifier: Apache-2.0 */
/* See enc_check.h. */
#include "enc_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

static struct enc_check *check_of(struct sim_enc *e)
{
	return (struct enc_check *)(void *)e;
}

static struct enc_check_level *level_of(struct enc_check *c)
{
	return &c->level[c->depth];
}

/* Stores the first difference, of which later ones are consequences. Returns false. */
__attribute__((format(printf, 2, 3))) static bool differs(struct enc_check *c, const char *fmt, ...)
{
	va_list ap;

	if (!c->enc.err) {
		va_start(ap, fmt);
		vsnprintf(c->why, sizeof(c->why), fmt, ap);
		va_end(ap);
	}
	sim_enc_fail(&c->enc, -EPROTO);
	return false;
}

static const char *prim_name(unsigned prim)
{
	static const char *const names[ROS_PRIM_END] = { [ROS_NESTED] = "message",
#define X(id, bytes) [ROS_##id] = #id,
							 ROS_PRIMS(X)
#undef X
	};

	return prim < ROS_PRIM_END ? names[prim] : "?";
}

static unsigned prim_of(enum sim_kind kind)
{
	static const uint8_t prims[SIM_KIND_END] = {
#define X(id, num, name, bytes) [SIM_KIND_##id] = ROS_##id,
#define ROS_MESSAGE             ROS_NESTED
		SIM_KINDS(X)
#undef ROS_MESSAGE
#undef X
	};

	return (unsigned)kind < SIM_KIND_END ? prims[kind] : ROS_PRIM_END;
}

static bool same_prim(unsigned have, unsigned got)
{
	return have == got || (got == ROS_UINT8 && (have == ROS_BYTE || have == ROS_CHAR));
}

/* Compares names, ignoring case: ROS 1 has capitals in some. */
static bool same_name(const char *have, const char *got)
{
	return strcmp(have, got) == 0 || strcasecmp(have, got) == 0;
}

/* The next element of a list. */
static const struct ros_field *due_element(struct enc_check *c, unsigned prim)
{
	struct enc_check_level *l = level_of(c);

	if (!same_prim(l->list->prim, prim) || !l->left) {
		differs(c, "'%s' of %s: %s", l->list->name, l->type->name,
			l->left ? "an element of another kind is encoded"
				: "more elements are encoded than its list has");
		return NULL;
	}
	l->left--;
	return l->list;
}

/* The expected field; NULL, with the reason stored, if another one is encoded. */
static const struct ros_field *due(struct enc_check *c, const char *name, unsigned prim, bool array)
{
	struct enc_check_level *l = level_of(c);
	const struct ros_field *f = l->at < l->type->n_fields ? &l->type->fields[l->at] : NULL;

	if (c->enc.err)
		return NULL;
	if (l->list && !name && !array)
		return due_element(c, prim);
	if (f && !l->list && name && same_name(f->name, name) && same_prim(f->prim, prim) &&
	    (f->array != ROS_ONE) == array) {
		l->at++;
		return f;
	}
	differs(c, "%s: '%.60s' (%s%s) is encoded where '%s' (%s%s) is expected", l->type->name,
		name ? name : "an element", prim_name(prim), array ? "[]" : "", f ? f->name : "nothing",
		f ? prim_name(f->prim) : "-", f && f->array != ROS_ONE ? "[]" : "");
	return NULL;
}

/* An array of n elements; `fixed`: the encoded array has a fixed size. */
static const struct ros_field *due_array(struct enc_check *c, const char *name, unsigned prim, uint32_t n, bool fixed)
{
	const struct ros_field *f = due(c, name, prim, true);

	if (f && fixed != (f->array == ROS_FIXED))
		f = differs(c, "'%s' is %s of fixed size", f->name, fixed ? "no array" : "an array") ? f : NULL;
	else if (f && f->array != ROS_VARIABLE && (fixed ? n != f->count : n > f->count))
		f = differs(c, "'%s' has %u elements where %s%u are allowed", f->name, n, fixed ? "" : "at most ",
			    f->count)
			    ? f
			    : NULL;
	return f;
}

static void push(struct enc_check *c, struct enc_check_level l)
{
	if (c->depth + 1 == ENC_CHECK_DEPTH)
		differs(c, "messages are nested deeper than %d", ENC_CHECK_DEPTH);
	else
		c->level[++c->depth] = l;
}

static void on_value(struct sim_enc *e, const char *name, enum sim_kind kind, const void *v)
{
	if (due(check_of(e), name, prim_of(kind), false))
		check_of(e)->inner->ops->value(check_of(e)->inner, name, kind, v);
}

static void on_string(struct sim_enc *e, const char *name, const char *s, size_t len)
{
	struct enc_check *c = check_of(e);
	const struct ros_field *f = due(c, name, ROS_STRING, false);

	if (f && f->string_max && len > f->string_max)
		differs(c, "'%s' has %zu bytes where %u are allowed", f->name, len, f->string_max);
	else if (f)
		c->inner->ops->string(c->inner, name, s, len);
}

static void on_time(struct sim_enc *e, const char *name, enum sim_kind kind, int64_t ns)
{
	if (due(check_of(e), name, prim_of(kind), false))
		check_of(e)->inner->ops->time(check_of(e)->inner, name, kind, ns);
}

static void on_array(struct sim_enc *e, const char *name, enum sim_kind kind, const void *data, uint32_t n, int fixed)
{
	struct enc_check *c = check_of(e);

	if (!data && n)
		differs(c, "'%.60s': %u elements at NULL", name ? name : "", n);
	else if (due_array(c, name, prim_of(kind), n, fixed))
		c->inner->ops->array(c->inner, name, kind, data, n, fixed);
}

static void *on_room(struct sim_enc *e, const char *name, enum sim_kind kind, uint32_t n, int fixed)
{
	struct enc_check *c = check_of(e);

	return due_array(c, name, prim_of(kind), n, fixed) ? c->inner->ops->room(c->inner, name, kind, n, fixed) : NULL;
}

static void on_begin(struct sim_enc *e, const char *name)
{
	struct enc_check *c = check_of(e);
	const struct ros_field *f = due(c, name, ROS_NESTED, false);

	if (!f)
		return;
	push(c, (struct enc_check_level){ .type = f->type });
	c->inner->ops->begin(c->inner, name);
}

static bool complete(struct enc_check *c)
{
	const struct enc_check_level *l = level_of(c);

	return c->enc.err || l->at == l->type->n_fields ||
	       differs(c, "%s ends before '%s'", l->type->name, l->type->fields[l->at].name);
}

static void on_end(struct sim_enc *e)
{
	struct enc_check *c = check_of(e);

	if (!e->err && (!c->depth || level_of(c)->list))
		differs(c, "a message is ended without being begun");
	if (!complete(c) || e->err)
		return;
	c->depth--;
	c->inner->ops->end(c->inner);
}

static void on_list(struct sim_enc *e, const char *name, uint32_t n, int fixed)
{
	struct enc_check *c = check_of(e);
	const struct enc_check_level *l = level_of(c);
	unsigned prim = !l->list && l->at < l->type->n_fields ? l->type->fields[l->at].prim : ROS_NESTED;
	bool numbers = prim != ROS_NESTED && prim != ROS_STRING && prim != ROS_TIME && prim != ROS_DURATION;
	const struct ros_field *f = due_array(c, name, numbers ? ROS_NESTED : prim, n, fixed);

	if (!f)
		return;
	push(c, (struct enc_check_level){ .type = f->type ? f->type : l->type, .list = f, .left = n });
	c->inner->ops->list(c->inner, name, n, fixed);
}

static void on_list_end(struct sim_enc *e)
{
	struct enc_check *c = check_of(e);

	if (!e->err && (!level_of(c)->list || level_of(c)->left))
		differs(c, "a list ends %s", level_of(c)->list ? "before its last element" : "where none has begun");
	if (e->err)
		return;
	c->depth--;
	c->inner->ops->list_end(c->inner);
}

static void on_header(struct sim_enc *e, const char *name, const struct sim_enc_header *h)
{
	struct enc_check *c = check_of(e);
	const struct ros_field *f = due(c, name, ROS_NESTED, false);

	if (f && strcmp(f->type->name, "std_msgs/Header") != 0)
		differs(c, "'%s' is a %s, no header", f->name, f->type->name);
	else if (f)
		c->inner->ops->header(c->inner, name, h);
}

static const struct sim_enc_ops check_ops = {
	.abi = SIM_ENC_ABI,
	.size = sizeof(check_ops),
	.value = on_value,
	.string = on_string,
	.time = on_time,
	.array = on_array,
	.room = on_room,
	.begin = on_begin,
	.end = on_end,
	.list = on_list,
	.list_end = on_list_end,
	.header = on_header,
};

void enc_check_begin(struct enc_check *c, const struct ros_type *type, struct sim_enc *inner)
{
	c->enc = (struct sim_enc){ .ops = &check_ops };
	c->inner = inner;
	c->level[0] = (struct enc_check_level){ .type = type };
	c->depth = 0;
	c->why[0] = '\0';
}

int enc_check_end(struct enc_check *c)
{
	if (!c->enc.err && c->depth)
		differs(c, "the message ends inside '%s'", level_of(c)->type->name);
	complete(c);
	return c->enc.err;
}
