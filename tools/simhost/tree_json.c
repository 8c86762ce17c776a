/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON with line numbers: jansson checks and decodes the text; a second pass over text and values gives each value its
 * line. jansson keeps the order of members, so that the pass only has to recognise where a string ends. jansson accepts
 * at most 2048 levels; the tree accepts fewer.
 * Thread: the owner's.
 */
#include "err.h"
#include "tree_private.h"

#include <errno.h>
#include <string.h>

struct walk {
	struct tree *t;
	const char *at, *end;
	unsigned line;
};

/* Skips blanks, commas and colons. */
static void skip_between(struct walk *w)
{
	for (; w->at < w->end && strchr(" \t\r\n,:", *w->at); w->at++)
		w->line += *w->at == '\n';
}

static void skip_string(struct walk *w)
{
	for (w->at++; w->at < w->end && *w->at != '"'; w->at++)
		w->at += *w->at == '\\';
	w->at++;
}

static int check_length(struct walk *w, const struct tree_node *n)
{
	if (json_string_length(n->value) > TREE_STRING_MAX)
		return tree_fail(w->t, n, "a string of more than %u bytes", TREE_STRING_MAX);
	return 0;
}

static int walk_value(struct walk *w, struct tree_node *parent, const char *name, unsigned line, json_t *value);

static int walk_items(struct walk *w, struct tree_node *n)
{
	json_t *item;
	size_t i;
	int r = 0;

	w->at++;
	json_array_foreach(n->value, i, item) {
		skip_between(w);
		r = walk_value(w, n, NULL, w->line, item);
		if (r < 0)
			return r;
	}
	skip_between(w);
	w->at++;
	return 0;
}

static int walk_members(struct walk *w, struct tree_node *n)
{
	const char *name;
	json_t *value;
	int r;

	w->at++;
	json_object_foreach(n->value, name, value) {
		unsigned line;

		skip_between(w);
		line = w->line;
		skip_string(w);
		skip_between(w);
		if (strlen(name) > TREE_STRING_MAX)
			return err_set(-EINVAL, "%s:%u: a key of more than %u bytes", w->t->file, line,
				       TREE_STRING_MAX);
		r = walk_value(w, n, name, line, value);
		if (r < 0)
			return r;
	}
	skip_between(w);
	w->at++;
	return 0;
}

static int walk_value(struct walk *w, struct tree_node *parent, const char *name, unsigned line, json_t *value)
{
	enum tree_kind kind = json_is_object(value) ? TREE_OBJECT : json_is_array(value) ? TREE_LIST : TREE_SCALAR;
	struct tree_node *n;
	int r = tree_add(w->t, parent, name, kind, line, &n);

	if (r < 0)
		return r;
	n->value = value;
	if (kind == TREE_OBJECT)
		return walk_members(w, n);
	if (kind == TREE_LIST)
		return walk_items(w, n);
	if (json_is_string(value)) {
		skip_string(w);
		return check_length(w, n);
	}
	while (w->at < w->end && !strchr(" \t\r\n,]}", *w->at))
		w->at++;
	return 0;
}

int tree_read_json(const char *file, const char *text, size_t len, struct tree **ret)
{
	struct walk w = { .at = text, .end = text + len, .line = 1 };
	json_error_t e;
	int r;

	r = tree_create(file, len, &w.t);
	if (r < 0)
		return r;
	w.t->json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	if (!w.t->json) {
		r = err_set(-EINVAL, "%s:%d: %s", file, e.line > 0 ? e.line : 1, e.text);
		goto err;
	}
	skip_between(&w);
	r = walk_value(&w, NULL, NULL, w.line, w.t->json);
	if (r < 0)
		goto err;
	*ret = w.t;
	return 0;
err:
	tree_destroy(w.t);
	return r;
}
