/* SPDX-License-Identifier: Apache-2.0 */
/* See filter.h. A recursive-descent parser builds a table of nodes that refer to each other by index. */
#include "filter.h"

#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum op { OP_AND, OP_OR, OP_NOT, OP_EQ, OP_NE, OP_LE, OP_GE, OP_LT, OP_GT, OP_TRUE };
enum what { WHAT_FIELD, WHAT_COUNT, WHAT_SEQUENCE, WHAT_STAMP, WHAT_FRAME };

struct node {
	enum op op;
	unsigned a, b; /* operands of AND, OR and NOT */
	enum what what;
	struct sim_field_path path;
	bool is_text;
	double number;
	char text[FILTER_TEXT_MAX + 1];
};

struct filter {
	struct node node[FILTER_NODES_MAX];
	unsigned n, root;
};

struct parser {
	struct filter *f;
	const struct sim_type *type;
	const char *text, *at;
	unsigned depth;
	char *why;
	int err;
};

/* ---- parsing ---- */

static unsigned fail(struct parser *p, int err, const char *what)
{
	if (!p->err)
		snprintf(p->why, 512, "at character %td: %s", p->at - p->text + 1, what);
	p->err = p->err ? p->err : err;
	return 0;
}

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool take(struct parser *p, const char *token)
{
	const size_t len = strlen(token);

	skip_blanks(p);
	if (strncmp(p->at, token, len) != 0)
		return false;
	p->at += len;
	return true;
}

static unsigned add(struct parser *p, const struct node *n)
{
	if (p->err)
		return 0;
	if (p->f->n == FILTER_NODES_MAX)
		return fail(p, -EINVAL, "the condition is too long");
	p->f->node[p->f->n] = *n;
	return p->f->n++;
}

static unsigned parse_or(struct parser *p);

/* ---- a comparison ---- */

static bool is_of_text(const struct node *n)
{
	const struct sim_field *f;

	if (n->what != WHAT_FIELD)
		return n->what == WHAT_FRAME;
	f = n->path.step[n->path.n - 1].field;
	return f->kind == SIM_KIND_STRING;
}

static bool is_of_message(const struct node *n)
{
	return n->what == WHAT_FIELD && n->path.step[n->path.n - 1].field->kind == SIM_KIND_MESSAGE;
}

static void parse_path(struct parser *p, struct node *n)
{
	size_t len = 0;
	char path[256];

	while (isalnum((unsigned char)p->at[len]) || (p->at[len] && strchr("_.[]", p->at[len])))
		len++;
	if (!len || len >= sizeof(path)) {
		fail(p, -EINVAL, len ? "the name is too long" : "a field, @sequence, @stamp or @frame is expected");
		return;
	}
	memcpy(path, p->at, len);
	path[len] = 0;
	if (sim_field_find(p->type, path, &n->path) < 0)
		fail(p, -EINVAL, sim_why());
	p->at += len;
}

static void parse_operand(struct parser *p, struct node *n)
{
	if (take(p, "@sequence")) {
		n->what = WHAT_SEQUENCE;
	} else if (take(p, "@stamp")) {
		n->what = WHAT_STAMP;
	} else if (take(p, "@frame")) {
		n->what = WHAT_FRAME;
	} else {
		n->what = take(p, "#") ? WHAT_COUNT : WHAT_FIELD;
		parse_path(p, n);
	}
}

static void parse_text(struct parser *p, struct node *n)
{
	const char quote = *p->at++, *end = strchr(p->at, quote);

	if (!end || end - p->at > FILTER_TEXT_MAX) {
		fail(p, -EINVAL, end ? "the string is too long" : "the string has no end");
		return;
	}
	memcpy(n->text, p->at, (size_t)(end - p->at));
	n->is_text = true;
	p->at = end + 1;
}

static void parse_literal(struct parser *p, struct node *n)
{
	skip_blanks(p);
	if (*p->at == '\'' || *p->at == '"') {
		parse_text(p, n);
		return;
	}
	if (take(p, "true")) {
		n->number = 1;
	} else if (!take(p, "false")) {
		if (number_take_f64(&p->at, &n->number) < 0)
			fail(p, -EINVAL, "a number, true, false or a string is expected");
	}
}

static unsigned parse_comparison(struct parser *p)
{
	static const struct {
		const char *token;
		enum op op;
	} ops[] = { { "==", OP_EQ }, { "!=", OP_NE }, { "<=", OP_LE }, { ">=", OP_GE }, { "<", OP_LT }, { ">", OP_GT } };
	struct node n = { .op = OP_TRUE };

	skip_blanks(p);
	parse_operand(p, &n);
	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]) && n.op == OP_TRUE && !p->err; i++)
		if (take(p, ops[i].token)) {
			n.op = ops[i].op;
			parse_literal(p, &n);
		}
	if (!p->err && n.op != OP_TRUE && is_of_message(&n))
		return fail(p, -EINVAL, "a message cannot be compared, only its fields");
	if (!p->err && n.op != OP_TRUE && n.is_text != is_of_text(&n))
		return fail(p, -EINVAL,
			    n.is_text ? "this field is not a string, so compare it with a number"
				      : "this field is a string, so compare it with a string in quotes");
	return add(p, &n);
}

/* ---- AND, OR, NOT ---- */

static unsigned parse_not(struct parser *p)
{
	struct node n = { .op = OP_NOT };
	unsigned a;

	if (p->depth == FILTER_DEPTH_MAX)
		return fail(p, -EINVAL, "too many brackets");
	skip_blanks(p);
	if (*p->at != '!' && *p->at != '(')
		return parse_comparison(p);
	p->depth++;
	if (take(p, "!")) {
		n.a = parse_not(p);
		a = add(p, &n);
	} else {
		(void)take(p, "(");
		a = parse_or(p);
		if (!p->err && !take(p, ")"))
			fail(p, -EINVAL, ") is missing");
	}
	p->depth--;
	return a;
}

static unsigned parse_and(struct parser *p)
{
	unsigned a = parse_not(p);

	while (!p->err && take(p, "&&")) {
		struct node n = { .op = OP_AND, .a = a };

		n.b = parse_not(p);
		a = add(p, &n);
	}
	return a;
}

static unsigned parse_or(struct parser *p)
{
	unsigned a = parse_and(p);

	while (!p->err && take(p, "||")) {
		struct node n = { .op = OP_OR, .a = a };

		n.b = parse_and(p);
		a = add(p, &n);
	}
	return a;
}

int filter_create(const struct sim_type *type, const char *text, char why[512], struct filter **ret)
{
	struct parser p = { .type = type, .text = text, .at = text, .why = why };

	p.f = calloc(1, sizeof(*p.f));
	if (!p.f) {
		snprintf(why, 512, "out of memory");
		return -ENOMEM;
	}
	p.f->root = parse_or(&p);
	skip_blanks(&p);
	if (!p.err && *p.at)
		fail(&p, -EINVAL, "unexpected text; conditions are joined by && and ||");
	if (p.err) {
		filter_destroy(p.f);
		return p.err;
	}
	*ret = p.f;
	return 0;
}

void filter_destroy(struct filter *f)
{
	free(f);
}

/* ---- evaluation ---- */

static bool compare(enum op op, double a, double b)
{
	switch (op) {
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LE:
		return a <= b;
	case OP_GE:
		return a >= b;
	case OP_LT:
		return a < b;
	case OP_GT:
		return a > b;
	default:
		return a != 0 && !isnan(a);
	}
}

static bool compare_text(const struct node *n, const char *a, size_t len)
{
	const size_t mine = strlen(n->text), least = mine < len ? mine : len;
	const int way = memcmp(a, n->text, least);

	if (n->op == OP_TRUE)
		return len > 0;
	return compare(n->op, way ? way : (double)len - (double)mine, 0);
}

static const char *text_of(const struct sim_field_view *v, uint32_t i, const void *body, size_t size, uint32_t *ret_len)
{
	struct sim_span s;

	memcpy(&s, (const char *)v->data + (size_t)i * v->field->elem_size, sizeof(s));
	return sim_span_string(body, size, &s, 0, ret_len);
}

static bool pass_field(const struct node *n, const void *body, size_t size)
{
	struct sim_field_view v;
	double number;
	uint32_t len;

	if (sim_field_get(&n->path, body, size, &v) < 0)
		return false;
	if (n->what == WHAT_COUNT) {
		len = v.count;
		if (!v.is_array && v.field->kind == SIM_KIND_STRING && v.count)
			(void)text_of(&v, 0, body, size, &len);
		return compare(n->op, (double)len, n->number);
	}
	if (v.field->kind == SIM_KIND_MESSAGE) /* a field without a comparison */
		return v.count > 0;
	for (uint32_t i = 0; i < v.count; i++) {
		if (v.field->kind == SIM_KIND_STRING) {
			const char *text = text_of(&v, i, body, size, &len);

			if (compare_text(n, text, len))
				return true;
		} else if (sim_field_number(&v, i, &number) == 0 && compare(n->op, number, n->number)) {
			return true;
		}
	}
	return false;
}

static bool pass(const struct filter *f, unsigned i, const struct sim_slot *header, const void *body, size_t size)
{
	const struct node *n = &f->node[i];

	if (n->op == OP_AND)
		return pass(f, n->a, header, body, size) && pass(f, n->b, header, body, size);
	if (n->op == OP_OR)
		return pass(f, n->a, header, body, size) || pass(f, n->b, header, body, size);
	if (n->op == OP_NOT)
		return !pass(f, n->a, header, body, size);
	switch (n->what) {
	case WHAT_SEQUENCE:
		return compare(n->op, (double)header->sequence, n->number);
	case WHAT_STAMP:
		return compare(n->op, (double)header->stamp_sim_ns / 1e9, n->number);
	case WHAT_FRAME:
		return compare_text(n, header->frame_id, strnlen(header->frame_id, SIM_FRAME_ID_MAX));
	default:
		return pass_field(n, body, size);
	}
}

bool filter_pass(const struct filter *f, const struct sim_slot *header, const void *body, size_t size)
{
	return pass(f, f->root, header, body, size);
}
