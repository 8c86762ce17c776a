/* SPDX-License-Identifier: Apache-2.0 */
/* See xmlrpc.h. The parser is a stack of elements over expat; values are in blocks owned by the document. */
#include "xmlrpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

/* ---- the tree ---- */

struct block { /* memory for values and texts */
	struct block *next;
	size_t used, cap;
	_Alignas(16) char at[];
};

struct document {
	struct xmlrpc_doc doc; /* first member; returned to callers */
	struct xmlrpc_value params;
	struct block *blocks;
};

enum element {
	NO_ELEMENT,
	CALL,
	RESPONSE,
	METHOD,
	PARAMS,
	PARAM,
	FAULT,
	VALUE,
	ARRAY,
	DATA,
	STRUCT,
	MEMBER,
	NAME,
	SCALAR /* an element with text, inside a VALUE */
};

/* The elements, and which may contain them. */
static const struct {
	const char *name;
	enum element element;
	unsigned in; /* bit set of possible parents */
	enum xmlrpc_kind kind;
} elements[] = {
	{ "methodCall", CALL, 1u << NO_ELEMENT, 0 },
	{ "methodResponse", RESPONSE, 1u << NO_ELEMENT, 0 },
	{ "methodName", METHOD, 1u << CALL, 0 },
	{ "params", PARAMS, 1u << CALL | 1u << RESPONSE, 0 },
	{ "fault", FAULT, 1u << RESPONSE, 0 },
	{ "param", PARAM, 1u << PARAMS, 0 },
	{ "value", VALUE, 1u << PARAM | 1u << DATA | 1u << MEMBER | 1u << FAULT, 0 },
	{ "array", ARRAY, 1u << VALUE, XMLRPC_ARRAY },
	{ "data", DATA, 1u << ARRAY, 0 },
	{ "struct", STRUCT, 1u << VALUE, XMLRPC_STRUCT },
	{ "member", MEMBER, 1u << STRUCT, 0 },
	{ "name", NAME, 1u << MEMBER, 0 },
	{ "i4", SCALAR, 1u << VALUE, XMLRPC_INT },
	{ "int", SCALAR, 1u << VALUE, XMLRPC_INT },
	{ "i8", SCALAR, 1u << VALUE, XMLRPC_INT },
	{ "boolean", SCALAR, 1u << VALUE, XMLRPC_BOOL },
	{ "double", SCALAR, 1u << VALUE, XMLRPC_DOUBLE },
	{ "string", SCALAR, 1u << VALUE, XMLRPC_STRING },
	{ "dateTime.iso8601", SCALAR, 1u << VALUE, XMLRPC_STRING },
	{ "base64", SCALAR, 1u << VALUE, XMLRPC_STRING },
	{ "nil", SCALAR, 1u << VALUE, XMLRPC_NIL },
};
#define N_ELEMENTS (sizeof(elements) / sizeof(elements[0]))

/* A value in a struct is nested three elements deeper, and so is one in an array. */
#define STACK_MAX (4 * XMLRPC_DEPTH_MAX + 8)

struct parser {
	XML_Parser expat;
	struct document *d;
	enum element stack[STACK_MAX];
	unsigned depth;
	struct {
		struct xmlrpc_value *v, *last; /* last child */
		bool typed;                    /* its type element was seen */
		bool named;                    /* `name` is the name of the next member */
		const char *name;
	} open[XMLRPC_DEPTH_MAX + 1]; /* open values; the first one is the list of parameters */
	unsigned n_open, n_values;
	enum xmlrpc_kind kind; /* of the current scalar */
	char *text;            /* text of the current element */
	size_t len, room;
	int err;
	char *why;
	size_t why_size;
};

static void fail(struct parser *p, int err, const char *what)
{
	if (p->err)
		return;
	p->err = err;
	snprintf(p->why, p->why_size, "line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(p->expat), what);
	XML_StopParser(p->expat, XML_FALSE);
}

static void *allocate(struct parser *p, size_t size)
{
	struct block *b = p->d->blocks;
	void *at;

	size = (size + 15) & ~(size_t)15;
	if (!b || size > b->cap - b->used) {
		size_t cap = size > 4096 ? size : 4096;

		b = malloc(sizeof(*b) + cap);
		if (!b) {
			fail(p, -ENOMEM, "no memory");
			return NULL;
		}
		*b = (struct block){ .next = p->d->blocks, .cap = cap };
		p->d->blocks = b;
	}
	at = b->at + b->used;
	b->used += size;
	return at;
}

static const char *keep_text(struct parser *p)
{
	char *s = allocate(p, p->len + 1);

	if (!s)
		return "";
	memcpy(s, p->text, p->len);
	s[p->len] = '\0';
	return s;
}

/* ---- values ---- */

static void value_begin(struct parser *p)
{
	struct xmlrpc_value *v, *up = p->open[p->n_open - 1].v;

	if (p->n_open > XMLRPC_DEPTH_MAX || p->n_values++ >= XMLRPC_VALUES_MAX) {
		fail(p, -EMSGSIZE, "too many values, or nested too deep");
		return;
	}
	v = allocate(p, sizeof(*v));
	if (!v)
		return;
	*v = (struct xmlrpc_value){ .kind = XMLRPC_STRING, .text = "", .name = "" };
	if (p->open[p->n_open - 1].named)
		v->name = p->open[p->n_open - 1].name;
	if (p->open[p->n_open - 1].last)
		p->open[p->n_open - 1].last->next = v;
	else
		up->first = v;
	p->open[p->n_open - 1].last = v;
	p->open[p->n_open - 1].named = false;
	up->n++;
	memset(&p->open[p->n_open], 0, sizeof(p->open[0]));
	p->open[p->n_open++].v = v;
}

/* Text of a number without surrounding blanks: NUL-terminated, or empty. */
static void number_text(const struct parser *p, char out[64])
{
	const char *s = p->text, *end = s + p->len;

	while (s < end && strchr(" \t\r\n", *s))
		s++;
	while (s < end && strchr(" \t\r\n", end[-1]))
		end--;
	snprintf(out, 64, "%.*s", end - s < 63 ? (int)(end - s) : 0, s < end ? s : "");
}

static void scalar_end(struct parser *p)
{
	struct xmlrpc_value *v = p->open[p->n_open - 1].v;
	char number[64], *end = number;

	v->kind = p->kind;
	if (p->kind == XMLRPC_STRING) {
		v->text = keep_text(p);
		return;
	}
	if (p->kind == XMLRPC_NIL)
		return;
	number_text(p, number);
	errno = 0;
	if (p->kind == XMLRPC_DOUBLE)
		v->d = strtod(number, &end);
	else
		v->i = strtoll(number, &end, 10);
	if (end == number || *end || (errno && p->kind != XMLRPC_DOUBLE) ||
	    (p->kind == XMLRPC_BOOL && v->i != 0 && v->i != 1))
		fail(p, -EBADMSG, "not a number of its type");
}

/* ---- elements ---- */

static bool takes_text(const struct parser *p)
{
	enum element top = p->depth ? p->stack[p->depth - 1] : NO_ELEMENT;

	return top == METHOD || top == NAME || top == SCALAR || (top == VALUE && !p->open[p->n_open - 1].typed);
}

static void XMLCALL on_begin(void *user, const XML_Char *name, const XML_Char **attributes)
{
	struct parser *p = user;
	enum element top = p->depth ? p->stack[p->depth - 1] : NO_ELEMENT;
	size_t i = 0;

	(void)attributes;
	while (i < N_ELEMENTS && (strcmp(elements[i].name, name) != 0 || !(elements[i].in & 1u << top)))
		i++;
	if (i == N_ELEMENTS || p->depth == STACK_MAX) {
		fail(p, i == N_ELEMENTS ? -EBADMSG : -EMSGSIZE, "an element that XML-RPC does not have there");
		return;
	}
	if (elements[i].in & 1u << VALUE) {
		if (p->open[p->n_open - 1].typed) {
			fail(p, -EBADMSG, "a value of two types");
			return;
		}
		p->open[p->n_open - 1].typed = true;
		p->open[p->n_open - 1].v->kind = p->kind = elements[i].kind;
	}
	p->len = 0;
	p->stack[p->depth++] = elements[i].element;
	if (elements[i].element == CALL || elements[i].element == RESPONSE)
		p->d->doc.kind = elements[i].element == CALL ? XMLRPC_CALL : XMLRPC_RESPONSE;
	else if (elements[i].element == FAULT)
		p->d->doc.kind = XMLRPC_FAULT;
	else if (elements[i].element == VALUE)
		value_begin(p);
}

static void method_end(struct parser *p)
{
	if (p->len > XMLRPC_NAME_MAX || p->d->doc.method[0]) {
		fail(p, -EBADMSG, "a method name that is too long, or a second one");
		return;
	}
	memcpy(p->d->doc.method, p->text, p->len);
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
	struct parser *p = user;
	unsigned top = p->n_open - 1;

	(void)name;
	if (p->err || !p->depth)
		return;
	switch (p->stack[--p->depth]) {
	case METHOD:
		method_end(p);
		break;
	case NAME:
		p->open[top].name = keep_text(p);
		p->open[top].named = true;
		break;
	case SCALAR:
		scalar_end(p);
		break;
	case VALUE:
		if (!p->open[top].typed)
			p->open[top].v->text = keep_text(p);
		p->n_open--;
		break;
	default:
		break;
	}
	p->len = 0;
}

static void XMLCALL on_text(void *user, const XML_Char *s, int len)
{
	struct parser *p = user;

	if (p->err || !takes_text(p))
		return;
	if ((size_t)len > p->room - p->len) {
		fail(p, -EMSGSIZE, "a text that is too long");
		return;
	}
	memcpy(p->text + p->len, s, (size_t)len);
	p->len += (size_t)len;
}

static void XMLCALL on_doctype(void *user, const XML_Char *name, const XML_Char *system, const XML_Char *public,
			       int internal)
{
	(void)name;
	(void)system;
	(void)public;
	(void)internal;
	fail(user, -EBADMSG, "a document type declaration");
}

/* ---- a document ---- */

static int parse(struct parser *p, const char *text, size_t len)
{
	struct document *d = p->d;
	bool ok;

	XML_SetUserData(p->expat, p);
	XML_SetElementHandler(p->expat, on_begin, on_end);
	XML_SetCharacterDataHandler(p->expat, on_text);
	XML_SetStartDoctypeDeclHandler(p->expat, on_doctype);
	ok = XML_Parse(p->expat, text, (int)len, 1) == XML_STATUS_OK;
	if (!ok && !p->err)
		fail(p, -EBADMSG, XML_ErrorString(XML_GetErrorCode(p->expat)));
	if (!p->err && d->doc.kind == XMLRPC_CALL && !d->doc.method[0])
		fail(p, -EBADMSG, "a call without a method");
	if (!p->err && d->doc.kind != XMLRPC_CALL && d->params.n != 1)
		fail(p, -EBADMSG, "a response without exactly one value");
	return p->err;
}

int xmlrpc_parse(const char *text, size_t len, struct xmlrpc_doc **ret, char *why, size_t why_size)
{
	struct parser p = { .why = why, .why_size = why_size, .n_open = 1 };
	int r = -ENOMEM;

	snprintf(why, why_size, "no memory");
	if (len > XMLRPC_BYTES_MAX) {
		snprintf(why, why_size, "a document of more than %u bytes", XMLRPC_BYTES_MAX);
		return -EMSGSIZE;
	}
	p.d = calloc(1, sizeof(*p.d));
	p.expat = XML_ParserCreate(NULL);
	/* expat converts other encodings to UTF-8, where one byte may become three */
	p.room = 3 * len + 1 < XMLRPC_BYTES_MAX ? 3 * len + 1 : XMLRPC_BYTES_MAX;
	p.text = malloc(p.room);
	if (p.d && p.expat && p.text) {
		p.d->params = (struct xmlrpc_value){ .kind = XMLRPC_ARRAY, .text = "", .name = "" };
		p.d->doc.params = &p.d->params;
		p.open[0].v = &p.d->params;
		r = parse(&p, text, len);
	}
	free(p.text);
	if (p.expat)
		XML_ParserFree(p.expat);
	if (r < 0)
		xmlrpc_free(p.d ? &p.d->doc : NULL);
	else
		*ret = &p.d->doc;
	return r;
}

void xmlrpc_free(struct xmlrpc_doc *doc)
{
	struct document *d = (struct document *)(void *)doc;

	while (d && d->blocks) {
		struct block *b = d->blocks;

		d->blocks = b->next;
		free(b);
	}
	free(d);
}

const struct xmlrpc_value *xmlrpc_at(const struct xmlrpc_value *v, unsigned i)
{
	if (!v || v->kind != XMLRPC_ARRAY)
		return NULL;
	for (v = v->first; v && i; i--)
		v = v->next;
	return v;
}

const char *xmlrpc_text(const struct xmlrpc_value *v)
{
	return v && v->kind == XMLRPC_STRING ? v->text : "";
}

int64_t xmlrpc_int(const struct xmlrpc_value *v, int64_t deflt)
{
	return v && (v->kind == XMLRPC_INT || v->kind == XMLRPC_BOOL) ? v->i : deflt;
}
