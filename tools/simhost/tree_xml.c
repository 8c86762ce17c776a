/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML by expat: elements and their attributes become members, the text of an element its value. A document type
 * declaration is refused, because its entities could make a small file expand without bound.
 * Thread: the owner's.
 */
#include "err.h"
#include "mem.h"
#include "tree_private.h"

#include <errno.h>
#include <string.h>

#include <expat.h>

struct parse {
	XML_Parser expat;
	struct tree *t;
	struct tree_node *open; /* innermost open element */
	int r;
	size_t len; /* bytes of text since the last begin or end of an element */
	char text[TREE_STRING_MAX];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static unsigned line_of(const struct parse *p)
{
	return (unsigned)XML_GetCurrentLineNumber(p->expat);
}

static void stop(struct parse *p, int r)
{
	if (r == 0 || p->r < 0)
		return;
	p->r = r;
	XML_StopParser(p->expat, XML_FALSE);
}

static int add(struct parse *p, struct tree_node *parent, const char *name, struct tree_node **ret)
{
	size_t len = strlen(name);
	const char *kept;

	if (len > TREE_STRING_MAX)
		return err_set(-EINVAL, "%s:%u: a name of more than %u bytes", p->t->file, line_of(p), TREE_STRING_MAX);
	kept = tree_name(p->t, name, len);
	if (!kept)
		return err_nomem();
	if (parent)
		parent->kind = TREE_OBJECT;
	return tree_add(p->t, parent, kept, TREE_SCALAR, line_of(p), ret);
}

static void XMLCALL on_begin(void *user, const XML_Char *name, const XML_Char **attributes)
{
	struct parse *p = user;
	struct tree_node *n;
	int r;

	if (p->r < 0)
		return;
	p->len = 0;
	r = add(p, p->open, name, &p->open);
	for (; r == 0 && attributes[0]; attributes += 2) {
		r = add(p, p->open, attributes[0], &n);
		if (r == 0)
			r = tree_string(p->t, n, attributes[1], strlen(attributes[1]));
	}
	stop(p, r);
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
	struct parse *p = user;
	const char *s = p->text, *end = s + p->len;

	(void)name;
	if (p->r < 0)
		return;
	while (s < end && is_blank(*s))
		s++;
	while (s < end && is_blank(end[-1]))
		end--;
	if (p->open->kind == TREE_SCALAR)
		stop(p, tree_string(p->t, p->open, s, (size_t)(end - s)));
	p->len = 0;
	p->open = p->open->parent;
}

static void XMLCALL on_text(void *user, const XML_Char *s, int len)
{
	struct parse *p = user;

	if (p->r < 0 || !p->open)
		return;
	for (; !p->len && len && is_blank(*s); len--) /* skip blanks between elements, which may exceed the buffer */
		s++;
	if ((size_t)len > sizeof(p->text) - p->len) {
		stop(p, tree_fail(p->t, p->open, "a text of more than %u bytes", TREE_STRING_MAX));
		return;
	}
	memcpy(p->text + p->len, s, (size_t)len);
	p->len += (size_t)len;
}

static void XMLCALL on_doctype(void *user, const XML_Char *name, const XML_Char *system, const XML_Char *public,
			       int internal)
{
	struct parse *p = user;

	(void)name;
	(void)system;
	(void)public;
	(void)internal;
	stop(p, err_set(-EINVAL, "%s:%u: a document type declaration; take it out", p->t->file, line_of(p)));
}

static int parse(struct parse *p, const char *text, size_t len)
{
	p->expat = XML_ParserCreate(NULL);
	if (!p->expat)
		return err_nomem();
	XML_SetUserData(p->expat, p);
	XML_SetElementHandler(p->expat, on_begin, on_end);
	XML_SetCharacterDataHandler(p->expat, on_text);
	XML_SetStartDoctypeDeclHandler(p->expat, on_doctype);
	if (XML_Parse(p->expat, text, (int)len, 1) != XML_STATUS_OK && p->r == 0)
		p->r = err_set(-EINVAL, "%s:%u: %s", p->t->file, line_of(p),
			       XML_ErrorString(XML_GetErrorCode(p->expat)));
	XML_ParserFree(p->expat);
	return p->r;
}

int tree_read_xml(const char *file, const char *text, size_t len, struct tree **ret)
{
	struct parse *p = MEM_NEW(struct parse);
	int r;

	if (!p)
		return err_nomem();
	r = tree_create(file, len, &p->t);
	if (r == 0)
		r = parse(p, text, len);
	if (r == 0)
		*ret = p->t;
	else
		tree_destroy(p->t);
	mem_free(p);
	return r;
}
