/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of all three syntaxes, see tree.h. Nodes and names are allocated in blocks that the tree owns. Thread: the
 * owner's.
 */
#include "tree_private.h"

#include "err.h"
#include "mem.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE     8192u
#define PATH_MAX_BYTES 200u /* bytes of a key path in a message */

struct tree_block {
	struct tree_block *next;
	size_t used, cap;
	_Alignas(16) char at[];
};

int tree_create(const char *file, size_t len, struct tree **ret)
{
	struct tree *t;

	if (len > TREE_BYTES_MAX)
		return err_set(-EINVAL, "%s: more than %zu bytes", file, TREE_BYTES_MAX);
	t = MEM_NEW(struct tree);
	if (!t)
		return err_nomem();
	t->file = mem_strdup(file);
	if (!t->file) {
		tree_destroy(t);
		return err_nomem();
	}
	*ret = t;
	return 0;
}

void tree_destroy(struct tree *t)
{
	if (!t)
		return;
	while (t->blocks) {
		struct tree_block *b = t->blocks;

		t->blocks = b->next;
		mem_free(b);
	}
	json_decref(t->json);
	mem_free(t->file);
	mem_free(t);
}

static void *allocate(struct tree *t, size_t size)
{
	struct tree_block *b = t->blocks;
	void *at;

	size = (size + 15) & ~(size_t)15;
	if (!b || size > b->cap - b->used) {
		size_t cap = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		b = mem_alloc(sizeof(*b) + cap);
		if (!b)
			return NULL;
		*b = (struct tree_block){ .next = t->blocks, .cap = cap };
		t->blocks = b;
	}
	at = b->at + b->used;
	b->used += size;
	return at;
}

const char *tree_name(struct tree *t, const char *s, size_t len)
{
	char *to = allocate(t, len + 1);

	if (to) {
		memcpy(to, s, len);
		to[len] = '\0';
	}
	return to;
}

static unsigned depth_of(const struct tree_node *n)
{
	unsigned depth = 0;

	for (; n; n = n->parent)
		depth++;
	return depth;
}

int tree_add(struct tree *t, struct tree_node *parent, const char *name, enum tree_kind kind, unsigned line,
	     struct tree_node **ret)
{
	struct tree_node *n;

	if (t->n_nodes == TREE_NODES_MAX)
		return err_set(-EINVAL, "%s:%u: more than %u values in one file", t->file, line, TREE_NODES_MAX);
	if (depth_of(parent) > TREE_DEPTH_MAX)
		return err_set(-EINVAL, "%s:%u: nested more than %u deep", t->file, line, TREE_DEPTH_MAX);
	n = allocate(t, sizeof(*n));
	if (!n)
		return err_nomem();
	*n = (struct tree_node){ .name = name, .kind = kind, .line = line, .parent = parent };
	t->n_nodes++;
	if (!parent) {
		t->root = n;
	} else {
		n->index = parent->n++;
		if (parent->last)
			parent->last->next = n;
		else
			parent->first = n;
		parent->last = n;
	}
	*ret = n;
	return 0;
}

int tree_value(struct tree *t, struct tree_node *n, json_t *value)
{
	if (!t->json)
		t->json = json_array();
	if (json_array_append_new(t->json, value) < 0)
		return err_nomem();
	n->value = value;
	return 0;
}

int tree_string(struct tree *t, struct tree_node *n, const char *s, size_t len)
{
	json_t *value;

	if (len > TREE_STRING_MAX)
		return tree_fail(t, n, "a string of more than %u bytes", TREE_STRING_MAX);
	if (memchr(s, 0, len))
		return tree_fail(t, n, "a string with a zero byte");
	value = json_stringn(s, len);
	if (value)
		return tree_value(t, n, value);
	value = json_stringn_nocheck(s, len); /* tell invalid UTF-8 from lack of memory */
	if (!value)
		return err_nomem();
	json_decref(value);
	return tree_fail(t, n, "a string that is not UTF-8");
}

static size_t blanks(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (text[n] == ' ' || text[n] == '\t' || text[n] == '\r' || text[n] == '\n'))
		n++;
	return n;
}

bool tree_is_json(const char *text, size_t len)
{
	size_t at = blanks(text, len);

	if (at == len || text[at] != '[')
		return at < len && text[at] == '{';
	at++; /* in text format, the name of an extension is in brackets */
	at += blanks(text + at, len - at);
	return at == len || !isalpha((unsigned char)text[at]);
}

/* ---- places ---- */

void tree_path(const struct tree_node *n, char *to, size_t size)
{
	size_t len;

	to[0] = '\0';
	if (!n || !n->parent)
		return;
	tree_path(n->parent, to, size);
	len = strlen(to);
	if (n->name)
		snprintf(to + len, size - len, "%s%.64s", len ? "." : "", n->name);
	else
		snprintf(to + len, size - len, "[%u]", n->index);
}

int tree_fail(const struct tree *t, const struct tree_node *n, const char *fmt, ...)
{
	char path[PATH_MAX_BYTES], what[ERR_WHY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	tree_path(n, path, sizeof(path));
	return err_set(-EINVAL, "%s:%u: %s%s%s", t->file, n->line, path, *path ? ": " : "", what);
}

/* ---- as JSON ---- */

/*
 * Adds a member to an object. If it exists already, it becomes an array, to which the value, or each item of a list, is
 * appended.
 */
static int put_member(json_t *obj, const char *name, json_t *value)
{
	json_t *old = json_object_get(obj, name), *all;
	int r;

	if (!old || !value)
		return json_object_set_new(obj, name, value);
	if (json_is_array(old)) {
		all = json_incref(old);
	} else {
		all = json_array();
		if (json_array_append(all, old) < 0 || json_object_set(obj, name, all) < 0) {
			json_decref(all);
			json_decref(value);
			return -1;
		}
	}
	r = json_is_array(value) ? json_array_extend(all, value) : json_array_append(all, value);
	json_decref(value);
	json_decref(all);
	return r;
}

/* Wraps the value in an array if the node's name is in lists. */
static json_t *listed(const struct tree_node *n, const char *const *lists, json_t *value)
{
	json_t *all;

	for (; lists && *lists && strcmp(*lists, n->name) != 0; lists++)
		;
	if (!lists || !*lists || !value || json_is_array(value))
		return value;
	all = json_array();
	if (json_array_append_new(all, value) == 0)
		return all;
	json_decref(all);
	return NULL;
}

json_t *tree_to_json(const struct tree_node *n, const char *const *lists)
{
	json_t *j;
	int r = 0;

	if (n->kind == TREE_SCALAR)
		return json_incref(n->value);
	j = n->kind == TREE_LIST ? json_array() : json_object();
	for (const struct tree_node *c = n->first; j && c && r == 0; c = c->next) {
		json_t *v = tree_to_json(c, lists);

		r = n->kind == TREE_LIST ? json_array_append_new(j, v) : put_member(j, c->name, listed(c, lists, v));
	}
	if (r == 0)
		return j;
	json_decref(j);
	return NULL;
}
