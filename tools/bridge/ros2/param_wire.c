/* SPDX-License-Identifier: Apache-2.0 */
/* See param_wire.h. The constants of sim/Param are those of rcl_interfaces/ParameterType. */
#include "param_wire.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/srv/ListParams.h>

#define TEXT_MIN  4u  /* smallest size of a string on the wire */
#define VALUE_MIN 42u /* smallest size of a ParameterValue */

/* ---- what a node has ---- */

static const struct sim_Param *param_of(const struct param *p)
{
	return &p->info->param;
}

static const char *text_of(const struct param *p)
{
	const char *s = sim_Param_string_value_in(p->body, p->size, param_of(p));

	return s ? s : "";
}

static int add_body(struct param_table *t, const void *body, size_t size)
{
	const struct sim_ListParamsResponse *m = sim_ListParamsResponse_from(body, size);
	const struct sim_ParamInfo *info;
	uint32_t n = 0, i;

	info = m ? sim_ListParamsResponse_params(m, size, &n) : NULL;
	if (!m || (n && !info))
		return -EBADMSG;
	t->total = m->total;
	for (i = 0; i < n && t->n < PARAM_TABLE_MAX; i++) {
		const char *name = sim_Param_name_in(body, size, &info[i].param);

		if (!name)
			return -EBADMSG;
		t->at[t->n++] = (struct param){ &info[i], body, size, name };
	}
	return (int)i;
}

int param_table_add(struct param_table *t, const void *body, size_t size)
{
	unsigned before = t->n;
	void *copy;
	int r;

	if (t->n_bodies == PARAM_TABLE_MAX)
		return 0;
	copy = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, body, size);
	r = add_body(t, copy, size);
	if (r > 0) {
		t->bodies[t->n_bodies++] = copy;
		return r;
	}
	t->n = before;
	free(copy);
	return r;
}

void param_table_free(struct param_table *t)
{
	for (unsigned i = 0; t && i < t->n_bodies; i++)
		free(t->bodies[i]);
	free(t);
}

const struct param *param_find(const struct param_table *t, const char *name, size_t len)
{
	for (unsigned i = 0; i < t->n; i++)
		if (strlen(t->at[i].name) == len && memcmp(t->at[i].name, name, len) == 0)
			return &t->at[i];
	return NULL;
}

/* ---- requests ---- */

static struct param_text read_text(struct sim_dec *d, const char *name)
{
	struct param_text t;

	t.s = sim_dec_string(d, name, UINT32_MAX, &t.len);
	return t;
}

/* Reads the length of an array and allocates its elements in memory. NULL: empty, or d->err is set. */
static void *read_count(struct sim_dec *d, const char *name, size_t min, size_t each, uint32_t *ret_n)
{
	uint32_t n = sim_dec_list(d, name, min);
	void *at;

	*ret_n = 0;
	if (n > PARAM_ASKED_MAX)
		sim_dec_fail(d, -E2BIG);
	if (d->err || !n)
		return NULL;
	at = calloc(n, each);
	if (at)
		*ret_n = n;
	else
		sim_dec_fail(d, -ENOMEM);
	return at;
}

static void skip_array(struct sim_dec *d, const char *name, enum sim_kind kind)
{
	uint32_t n;

	(void)sim_dec_array(d, name, kind, &n);
}

static void skip_texts(struct sim_dec *d, const char *name)
{
	uint32_t n = sim_dec_list(d, name, TEXT_MIN);

	for (uint32_t i = 0; i < n && !d->err; i++)
		(void)read_text(d, NULL);
	sim_dec_list_end(d);
}

/* Any double is accepted here, even NaN: the node decides. */
static void read_value(struct sim_dec *d, struct param_value *v)
{
	sim_dec_begin(d, "value");
	v->type = sim_dec_u8(d, "type");
	v->bool_value = sim_dec_bool(d, "bool_value");
	v->int_value = sim_dec_i64(d, "integer_value");
	d->ops->value(d, "double_value", SIM_KIND_FLOAT64, &v->double_value);
	v->text = read_text(d, "string_value");
	skip_array(d, "byte_array_value", SIM_KIND_UINT8);
	skip_array(d, "bool_array_value", SIM_KIND_BOOL);
	skip_array(d, "integer_array_value", SIM_KIND_INT64);
	skip_array(d, "double_array_value", SIM_KIND_FLOAT64);
	skip_texts(d, "string_array_value");
	sim_dec_end(d);
}

static void read_wishes(struct sim_dec *d, struct param_request *q)
{
	q->wishes = read_count(d, "parameters", TEXT_MIN + VALUE_MIN, sizeof(*q->wishes), &q->n);
	for (uint32_t i = 0; i < q->n && !d->err; i++) {
		sim_dec_begin(d, NULL);
		q->wishes[i].name = read_text(d, "name");
		read_value(d, &q->wishes[i].value);
		sim_dec_end(d);
	}
	sim_dec_list_end(d);
}

static void read_names(struct sim_dec *d, const char *name, struct param_request *q)
{
	q->names = read_count(d, name, TEXT_MIN, sizeof(*q->names), &q->n);
	for (uint32_t i = 0; i < q->n && !d->err; i++)
		q->names[i] = read_text(d, NULL);
	sim_dec_list_end(d);
}

int param_read_request(enum param_call call, struct sim_dec *d, struct param_request *ret)
{
	struct param_request q = { .n = 0 };

	if (call == PARAM_SET || call == PARAM_SET_ATOMICALLY)
		read_wishes(d, &q);
	else
		read_names(d, call == PARAM_LIST ? "prefixes" : "names", &q);
	if (call == PARAM_LIST)
		q.depth = sim_dec_u64(d, "depth");
	if (d->err)
		param_request_finish(&q);
	else
		*ret = q;
	return d->err;
}

void param_request_finish(struct param_request *q)
{
	free(q->names);
	free(q->wishes);
	*q = (struct param_request){ .n = 0 };
}

/* ---- setting ---- */

static const char *type_name(uint8_t type)
{
	static const char *const NAMES[] = {
		"not set",    "bool",       "integer",       "double",       "string",
		"byte_array", "bool_array", "integer_array", "double_array", "string_array"
	};

	return type < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[type] : "unknown type";
}

/* Converts the bounds of an int, which are doubles. */
static int64_t whole(double d)
{
	if (!(d < 0x1p63))
		return INT64_MAX;
	return d <= -0x1p63 ? INT64_MIN : (int64_t)d;
}

static bool in_range(const struct sim_ParamInfo *info, const struct param_value *v)
{
	if (v->type == SIM_PARAM_INT)
		return !(info->has_min && v->int_value < whole(info->min)) &&
		       !(info->has_max && v->int_value > whole(info->max));
	return v->type != SIM_PARAM_DOUBLE ||
	       (!(info->has_min && v->double_value < info->min) && !(info->has_max && v->double_value > info->max));
}

bool param_refused(const struct param *p, const struct param_wish *w, char why[PARAM_WHY_MAX])
{
	const struct param_value *v = &w->value;
	int len = w->name.len < 128 ? (int)w->name.len : 128;

	if (!p)
		snprintf(why, PARAM_WHY_MAX, "parameter '%.*s' cannot be set because it was not declared", len,
			 w->name.s);
	else if (p->info->read_only)
		snprintf(why, PARAM_WHY_MAX, "parameter '%s' cannot be set because it is read-only", p->name);
	else if (v->type == SIM_PARAM_NOT_SET)
		snprintf(why, PARAM_WHY_MAX, "cannot undeclare an statically typed parameter");
	else if (v->type != param_of(p)->type)
		snprintf(why, PARAM_WHY_MAX,
			 "Wrong parameter type, parameter {%s} is of type {%s}, setting it to {%s} is not allowed.",
			 p->name, type_name(param_of(p)->type), type_name(v->type));
	else if (!in_range(p->info, v))
		snprintf(why, PARAM_WHY_MAX, "Parameter {%s} doesn't comply with %s range.", p->name,
			 v->type == SIM_PARAM_INT ? "integer" : "floating point");
	else
		return false;
	return true;
}

static int set_request(const char *name, const struct param_value *v, void *buf, size_t room, size_t *ret_size)
{
	struct sim_builder b;
	struct sim_SetParamRequest *m = sim_SetParamRequest_init(buf, room, &b);

	if (!m || sim_Param_name_set_in(&b, &m->param, name) < 0)
		return -EMSGSIZE;
	m->param.type = v->type;
	m->param.bool_value = v->bool_value;
	m->param.int_value = v->int_value;
	m->param.double_value = v->double_value;
	if (v->type == SIM_PARAM_STRING && sim_Param_string_value_set_in(&b, &m->param, v->text.s) < 0)
		return -EMSGSIZE;
	*ret_size = sim_builder_size(&b);
	return 0;
}

int param_set_request(const struct param_wish *w, void *buf, size_t room, size_t *ret_size)
{
	return set_request(w->name.s, &w->value, buf, room, ret_size);
}

static struct param_value value_of(const struct param *p)
{
	const struct sim_Param *m = param_of(p);
	const char *s = text_of(p);

	return (struct param_value){ .type = m->type,
				     .bool_value = m->bool_value,
				     .int_value = m->int_value,
				     .double_value = m->double_value,
				     .text = { s, strlen(s) } };
}

int param_restore_request(const struct param *p, void *buf, size_t room, size_t *ret_size)
{
	struct param_value v = value_of(p);

	return set_request(p->name, &v, buf, room, ret_size);
}

/* ---- responses ---- */

static void write_none(struct sim_enc *e, const char *name)
{
	sim_enc_list(e, name, 0);
	sim_enc_list_end(e);
}

static void write_value(const char *name, const struct param *p, struct sim_enc *e)
{
	struct param_value v = value_of(p);

	sim_enc_begin(e, name);
	sim_enc_u8(e, "type", v.type);
	sim_enc_bool(e, "bool_value", v.bool_value);
	sim_enc_i64(e, "integer_value", v.int_value);
	sim_enc_f64(e, "double_value", v.double_value);
	sim_enc_text(e, "string_value", v.text.s);
	write_none(e, "byte_array_value");
	write_none(e, "bool_array_value");
	write_none(e, "integer_array_value");
	write_none(e, "double_array_value");
	write_none(e, "string_array_value");
	sim_enc_end(e);
}

static void write_double_range(const struct sim_ParamInfo *info, struct sim_enc *e)
{
	bool has = info->param.type == SIM_PARAM_DOUBLE && (info->has_min || info->has_max);

	sim_enc_list(e, "floating_point_range", has);
	if (has) {
		sim_enc_begin(e, NULL);
		sim_enc_f64(e, "from_value", info->has_min ? info->min : (double)-INFINITY);
		sim_enc_f64(e, "to_value", info->has_max ? info->max : (double)INFINITY);
		sim_enc_f64(e, "step", 0);
		sim_enc_end(e);
	}
	sim_enc_list_end(e);
}

static void write_int_range(const struct sim_ParamInfo *info, struct sim_enc *e)
{
	bool has = info->param.type == SIM_PARAM_INT && (info->has_min || info->has_max);

	sim_enc_list(e, "integer_range", has);
	if (has) {
		sim_enc_begin(e, NULL);
		sim_enc_i64(e, "from_value", info->has_min ? whole(info->min) : INT64_MIN);
		sim_enc_i64(e, "to_value", info->has_max ? whole(info->max) : INT64_MAX);
		sim_enc_u64(e, "step", 0);
		sim_enc_end(e);
	}
	sim_enc_list_end(e);
}

static void write_descriptor(const struct param *p, struct sim_enc *e)
{
	const char *description = sim_ParamInfo_description_in(p->body, p->size, p->info);

	sim_enc_begin(e, NULL);
	sim_enc_text(e, "name", p->name);
	sim_enc_u8(e, "type", param_of(p)->type);
	sim_enc_text(e, "description", description ? description : "");
	sim_enc_text(e, "additional_constraints", "");
	sim_enc_bool(e, "read_only", p->info->read_only);
	sim_enc_bool(e, "dynamic_typing", 0);
	write_double_range(p->info, e);
	write_int_range(p->info, e);
	sim_enc_end(e);
}

static const char *answer_name(enum param_call call)
{
	switch (call) {
	case PARAM_GET:
		return "values";
	case PARAM_TYPES:
		return "types";
	case PARAM_DESCRIBE:
		return "descriptors";
	default:
		return "results";
	}
}

static void write_one(enum param_call call, const struct param *p, struct sim_enc *e)
{
	if (call == PARAM_GET)
		write_value(NULL, p, e);
	else if (call == PARAM_DESCRIBE)
		write_descriptor(p, e);
	else
		sim_enc_u8(e, NULL, param_of(p)->type);
}

static void write_named(enum param_call call, const struct param_request *q, const struct param_table *t,
			struct sim_enc *e)
{
	uint32_t n = 0;

	while (n < q->n && param_find(t, q->names[n].s, q->names[n].len))
		n++;
	if (n < q->n)
		n = 0;
	sim_enc_list(e, answer_name(call), n);
	for (uint32_t i = 0; i < n; i++)
		write_one(call, param_find(t, q->names[i].s, q->names[i].len), e);
	sim_enc_list_end(e);
}

/* Whether the name, from `from` on, is no deeper than requested. */
static bool shallow(const char *from, uint64_t depth)
{
	uint64_t n = 0;

	for (const char *s = from; *s; s++)
		n += *s == '.';
	return depth == 0 || n < depth;
}

static bool has_prefix(const char *name, const struct param_text *prefix, uint64_t depth)
{
	if (strncmp(name, prefix->s, prefix->len) != 0)
		return false;
	return name[prefix->len] == '\0' || (name[prefix->len] == '.' && shallow(name + prefix->len, depth));
}

static bool is_listed(const char *name, const struct param_request *q)
{
	for (uint32_t i = 0; i < q->n; i++)
		if (has_prefix(name, &q->names[i], q->depth))
			return true;
	return !q->n && shallow(name, q->depth);
}

/* Length up to the last '.'; 0: no '.'. */
static size_t prefix_len(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? (size_t)(dot - name) : 0;
}

static bool same_prefix(const char *a, const char *b)
{
	size_t n = prefix_len(a);

	return n == prefix_len(b) && memcmp(a, b, n) == 0;
}

static void write_list(const struct param_request *q, const struct param_table *t, struct sim_enc *e)
{
	const char *names[PARAM_TABLE_MAX], *prefixes[PARAM_TABLE_MAX];
	uint32_t n = 0, n_prefixes = 0, k;

	for (unsigned i = 0; i < t->n; i++) {
		const char *name = t->at[i].name;

		if (!is_listed(name, q))
			continue;
		names[n++] = name;
		for (k = 0; k < n_prefixes && !same_prefix(prefixes[k], name);)
			k++;
		if (k == n_prefixes && prefix_len(name))
			prefixes[n_prefixes++] = name;
	}
	sim_enc_begin(e, "result");
	sim_enc_list(e, "names", n);
	for (uint32_t i = 0; i < n; i++)
		sim_enc_text(e, NULL, names[i]);
	sim_enc_list_end(e);
	sim_enc_list(e, "prefixes", n_prefixes);
	for (uint32_t i = 0; i < n_prefixes; i++)
		e->ops->string(e, NULL, prefixes[i], prefix_len(prefixes[i]));
	sim_enc_list_end(e);
	sim_enc_end(e);
}

void param_write_response(enum param_call call, const struct param_request *q, const struct param_table *t,
			  struct sim_enc *e)
{
	if (call == PARAM_LIST)
		write_list(q, t, e);
	else
		write_named(call, q, t, e);
}

void param_write_result(const char *name, const char *why, struct sim_enc *e)
{
	sim_enc_begin(e, name);
	sim_enc_bool(e, "successful", !*why);
	sim_enc_text(e, "reason", why);
	sim_enc_end(e);
}

void param_write_refusal(enum param_call call, const char *why, uint32_t n, struct sim_enc *e)
{
	static const struct param_request nothing = { .n = 0 };
	static const struct param_table none = { .n = 0 };

	if (call == PARAM_SET_ATOMICALLY) {
		param_write_result("result", why, e);
	} else if (call != PARAM_SET) {
		param_write_response(call, &nothing, &none, e);
	} else {
		sim_enc_list(e, "results", n);
		for (uint32_t i = 0; i < n; i++)
			param_write_result(NULL, why, e);
		sim_enc_list_end(e);
	}
}

/* ---- events ---- */

static bool same_value(const struct param *a, const struct param *b)
{
	struct param_value v = value_of(a), w = value_of(b);

	if (v.type != w.type)
		return false;
	switch (v.type) {
	case SIM_PARAM_BOOL:
		return v.bool_value == w.bool_value;
	case SIM_PARAM_INT:
		return v.int_value == w.int_value;
	case SIM_PARAM_DOUBLE:
		return memcmp(&v.double_value, &w.double_value, sizeof(v.double_value)) == 0;
	default:
		return strcmp(v.text.s, w.text.s) == 0;
	}
}

enum change { CHANGE_NEW, CHANGE_VALUE, CHANGE_DELETED };

/*
 * Whether p has changed in that way. p is of the later table or, if deleted, of the earlier one; other: the other
 * table.
 */
static bool is_change(enum change what, const struct param *p, const struct param_table *other)
{
	const struct param *q = other ? param_find(other, p->name, strlen(p->name)) : NULL;

	return what == CHANGE_VALUE ? q && !same_value(p, q) : !q;
}

static uint32_t count(enum change what, const struct param_table *t, const struct param_table *other)
{
	uint32_t n = 0;

	for (unsigned i = 0; t && i < t->n; i++)
		n += is_change(what, &t->at[i], other);
	return n;
}

bool param_changed(const struct param_table *earlier, const struct param_table *now)
{
	return count(CHANGE_NEW, now, earlier) || count(CHANGE_VALUE, now, earlier) ||
	       count(CHANGE_DELETED, earlier, now);
}

static void write_changes(const char *name, enum change what, const struct param_table *t,
			  const struct param_table *other, struct sim_enc *e)
{
	sim_enc_list(e, name, count(what, t, other));
	for (unsigned i = 0; t && i < t->n; i++) {
		if (!is_change(what, &t->at[i], other))
			continue;
		sim_enc_begin(e, NULL);
		sim_enc_text(e, "name", t->at[i].name);
		write_value("value", &t->at[i], e);
		sim_enc_end(e);
	}
	sim_enc_list_end(e);
}

void param_write_event(int64_t stamp_sim_ns, const char *node, const struct param_table *earlier,
		       const struct param_table *now, struct sim_enc *e)
{
	sim_enc_time(e, "stamp", stamp_sim_ns);
	sim_enc_text(e, "node", node);
	write_changes("new_parameters", CHANGE_NEW, now, earlier, e);
	write_changes("changed_parameters", CHANGE_VALUE, now, earlier, e);
	write_changes("deleted_parameters", CHANGE_DELETED, earlier, now, e);
}
