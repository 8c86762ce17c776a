/* SPDX-License-Identifier: Apache-2.0 */
/* A body as JSON, from its field table. See sim/introspect.h. Any thread; recursion is bounded by the types. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* only the header is used, no library is linked */
#include <xxhash.h>

#include "body.h"
#include "err.h"
#include "json_out.h"
#include "msg/typedesc.h"
#include "sim/introspect.h"

struct printer {
	struct body body;
	struct json_out out;
	const struct sim_json_options *o;
	unsigned indent;
	int bad; /* first -EBADMSG; 0: none */
};

/* ---- single values ---- */

static size_t put_number(char *at, enum sim_kind kind, struct number n)
{
	if (n.sort == NUMBER_SIGNED)
		return json_put_i64(at, n.i);
	if (n.sort == NUMBER_UNSIGNED)
		return json_put_u64(at, n.u);
	return kind == SIM_KIND_FLOAT32 ? json_put_f32(at, (float)n.d) : json_put_f64(at, n.d);
}

/*
 * Returns a quoted text for numbers that JSON does not have, or that readers limited to int64_t cannot hold; NULL:
 * other numbers.
 */
static const char *put_special(char *at, struct number n, size_t *ret_len)
{
	if (n.sort == NUMBER_UNSIGNED && n.u > INT64_MAX) {
		at[0] = '"';
		*ret_len = json_put_u64(at + 1, n.u) + 2;
		at[*ret_len - 1] = '"';
		return at;
	}
	if (n.sort != NUMBER_FLOAT || isfinite(n.d))
		return NULL;
	*ret_len = isnan(n.d) ? 5 : n.d > 0 ? 10 : 11;
	return isnan(n.d) ? "\"NaN\"" : n.d > 0 ? "\"Infinity\"" : "\"-Infinity\"";
}

static void print_number(struct printer *p, enum sim_kind kind, const uint8_t *at)
{
	struct number n = number_load(kind, at);
	char special[JSON_NUM_MAX], *room;
	size_t len = 0;
	const char *text = p->o->exact ? put_special(special, n, &len) : NULL;

	if (text) {
		json_out_raw(&p->out, text, len);
		return;
	}
	room = json_out_room(&p->out, JSON_NUM_MAX);
	if (room)
		json_out_added(&p->out, put_number(room, kind, n));
}

static void null(struct printer *p, int r)
{
	if (!p->bad)
		p->bad = r;
	json_out_text(&p->out, "null");
}

static void print_struct(struct printer *p, const struct sim_type *t, const uint8_t *s);

static void print_value(struct printer *p, const struct sim_field *f, const uint8_t *at)
{
	const char *text;
	uint32_t len;
	int r;

	switch (f->kind) {
	case SIM_KIND_BOOL:
		json_out_text(&p->out, *at ? "true" : "false");
		break;
	case SIM_KIND_STRING:
		r = body_string(&p->body, at, f, &text, &len);
		if (r < 0)
			null(p, r);
		else
			json_out_string(&p->out, text, len);
		break;
	case SIM_KIND_MESSAGE:
		print_struct(p, f->type, at);
		break;
	default:
		print_number(p, (enum sim_kind)f->kind, at);
	}
}

/* ---- arrays ---- */

static void line(struct printer *p)
{
	if (!p->o->pretty)
		return;
	json_out_raw(&p->out, "\n", 1);
	for (unsigned i = 0; i < p->indent; i++)
		json_out_raw(&p->out, "  ", 2);
}

static void separator(struct printer *p, bool lines)
{
	json_out_raw(&p->out, ",", 1);
	if (lines)
		line(p);
	else if (p->o->pretty)
		json_out_raw(&p->out, " ", 1);
}

static int hash_write(void *hash, const char *data, size_t len)
{
	XXH64_update(hash, data, len);
	return 0;
}

static void print_list(struct printer *p, const struct sim_field *f, const uint8_t *at, uint32_t n);

/*
 * Hashes the bytes of an array of numbers. For other kinds equal values may have different bytes (spans), so their text
 * is hashed.
 */
static uint64_t hash_array(struct printer *p, const struct sim_field *f, const uint8_t *at, uint32_t n)
{
	static const struct sim_json_options plain;
	struct printer text = { .body = p->body, .o = &plain };
	XXH64_state_t h;

	if (f->kind != SIM_KIND_MESSAGE && f->kind != SIM_KIND_STRING && f->kind != SIM_KIND_BOOL)
		return XXH64(at, (size_t)n * f->elem_size, 0);
	XXH64_reset(&h, 0);
	json_out_init(&text.out, hash_write, &h);
	print_list(&text, f, at, n);
	(void)json_out_flush(&text.out);
	if (!p->bad)
		p->bad = text.bad;
	return XXH64_digest(&h);
}

static void print_hash(struct printer *p, uint64_t hash)
{
	char text[32];

	snprintf(text, sizeof(text), " xxh64:%016llx", (unsigned long long)hash);
	json_out_text(&p->out, text);
}

static void print_summary(struct printer *p, const struct sim_field *f, const uint8_t *at, uint32_t n)
{
	json_out_text(&p->out, "\"<");
	json_out_text(&p->out, f->type ? f->type->name : typedesc_kind_name((enum sim_kind)f->kind));
	json_out_text(&p->out, "[");
	json_out_u64(&p->out, n);
	json_out_text(&p->out, "]");
	if (p->o->digest)
		print_hash(p, hash_array(p, f, at, n));
	json_out_text(&p->out, ">\"");
}

static void print_list(struct printer *p, const struct sim_field *f, const uint8_t *at, uint32_t n)
{
	uint32_t shown = p->o->max_array && p->o->max_array < n ? p->o->max_array : n;
	bool lines = f->type && n > 0;

	json_out_raw(&p->out, "[", 1);
	p->indent++;
	if (lines)
		line(p);
	for (uint32_t i = 0; i < shown && !p->out.err; i++, at += f->elem_size) {
		if (i)
			separator(p, lines);
		print_value(p, f, at);
	}
	if (shown < n) {
		separator(p, lines);
		json_out_text(&p->out, "\"... ");
		json_out_u64(&p->out, n - shown);
		json_out_text(&p->out, " more\"");
	}
	p->indent--;
	if (lines)
		line(p);
	json_out_raw(&p->out, "]", 1);
}

static void print_array(struct printer *p, const struct sim_field *f, const uint8_t *at, uint32_t n)
{
	bool cut = p->o->max_array && n > p->o->max_array;

	if (p->o->no_arr || (cut && p->o->digest))
		print_summary(p, f, at, n);
	else if (f->kind == SIM_KIND_UINT8 && !cut)
		json_out_base64(&p->out, at, n);
	else
		print_list(p, f, at, n);
}

/* ---- structs ---- */

static void print_field(struct printer *p, const struct sim_field *f, const uint8_t *s)
{
	const uint8_t *at;
	uint32_t n;
	int r = body_field(&p->body, s, f, &at, &n);

	if (r < 0)
		null(p, r);
	else if (f->array == SIM_ARRAY_NONE)
		print_value(p, f, at);
	else
		print_array(p, f, at, n);
}

static void print_struct(struct printer *p, const struct sim_type *t, const uint8_t *s)
{
	json_out_raw(&p->out, "{", 1);
	p->indent++;
	for (uint32_t i = 0; i < t->n_fields && !p->out.err; i++) {
		if (i)
			json_out_raw(&p->out, ",", 1);
		line(p);
		json_out_raw(&p->out, "\"", 1);
		json_out_text(&p->out, t->fields[i].name);
		json_out_text(&p->out, p->o->pretty ? "\": " : "\":");
		print_field(p, &t->fields[i], s);
	}
	p->indent--;
	if (t->n_fields)
		line(p);
	json_out_raw(&p->out, "}", 1);
}

static int print_path(struct printer *p, const struct sim_type *type)
{
	struct sim_field_path path;
	struct sim_field_view view;
	int r = sim_field_find(type, p->o->field, &path);

	if (r == 0)
		r = body_follow(&p->body, &path, &view);
	if (r == -EBADMSG) {
		null(p, r);
		return 0;
	}
	if (r < 0)
		return r;
	if (view.is_array)
		print_array(p, view.field, view.data, view.count);
	else
		print_value(p, view.field, view.data);
	return 0;
}

int sim_msg_to_json(const struct sim_type *type, const void *body, size_t size, const struct sim_json_options *o,
		    sim_write_fn write, void *user)
{
	static const struct sim_json_options plain;
	struct printer p = { .o = o ? o : &plain };
	int r;

	if (!write)
		return err_set(-EINVAL, "no function to write to");
	r = body_begin(&p.body, type, body, size);
	if (r < 0)
		return r;
	json_out_init(&p.out, write, user);
	if (p.o->field)
		r = print_path(&p, type);
	else
		print_struct(&p, type, p.body.at);
	if (r < 0)
		return r;
	r = json_out_flush(&p.out);
	return r ? r : p.bad;
}

int sim_msg_to_json_alloc(const struct sim_type *type, const void *body, size_t size, const struct sim_json_options *o,
			  char **ret, size_t *ret_len)
{
	struct json_text t = { 0 };
	int r = sim_msg_to_json(type, body, size, o, json_text_write, &t);

	if ((r < 0 && r != -EBADMSG) || !t.data) {
		free(t.data);
		return r;
	}
	*ret = t.data;
	if (ret_len)
		*ret_len = t.len;
	return r;
}
