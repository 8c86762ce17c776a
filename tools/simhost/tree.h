/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three syntaxes of DAG, launch and configuration files as one thing: a tree of keys and values in which each knows its line.
 *
 *   JSON                 objects, lists, values
 *   protobuf's text      fields are members, in their order; one that is repeated occurs several times. Without its schema:
 *                        words (enums) and strings are both strings, which node::word tells apart
 *   XML                  elements and attributes are members; the text of an element without any is its value
 *
 * Thread:  the owner's. Nothing here reads a file.
 * Errors:  -EINVAL with "file:line: ..." in err_why(); -ENOMEM. Whatever the bytes are: it ends, within the bounds below.
 */
#ifndef SIMHOST_TREE_H
#define SIMHOST_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TREE_BYTES_MAX  ((size_t)1 << 20) /* of a file */
#define TREE_DEPTH_MAX  32u
#define TREE_NODES_MAX  65536u
#define TREE_STRING_MAX 4096u /* bytes of a string or of a name */

enum tree_kind { TREE_OBJECT = 1, TREE_LIST, TREE_SCALAR };

struct tree_node {
	const char *name; /* its key; NULL: the root, or an item of a list */
	enum tree_kind kind;
	bool word; /* text: not in quotes */
	unsigned line;
	unsigned index; /* its place in its parent */
	unsigned n;     /* children */
	json_t *value;  /* of a scalar; in JSON of every node; borrows from the tree */
	struct tree_node *parent, *first, *last, *next;
};

struct tree {
	char *file; /* what messages call it */
	struct tree_node *root;
	json_t *json; /* owns the values */
	struct tree_block *blocks;
	unsigned n_nodes;
};

/* Borrows text. ret: returns, tree_destroy. */
int tree_read_json(const char *file, const char *text, size_t len, struct tree **ret);
int tree_read_text(const char *file, const char *text, size_t len, struct tree **ret);
int tree_read_xml(const char *file, const char *text, size_t len, struct tree **ret);
void tree_destroy(struct tree *t); /* NULL is fine */

/* Whether it begins as JSON does: a bracket, but not that of an extension's name in text format. */
bool tree_is_json(const char *text, size_t len);

/*
 * A node as JSON: a field that occurs several times, or as [...], or whose name is in lists (NULL ends; NULL: none), becomes an
 * array. A new reference; NULL: no memory.
 */
json_t *tree_to_json(const struct tree_node *n, const char *const *lists);

/* -EINVAL, and err_why() is "file:line: modules[0].components[1].name: <sentence>". */
int tree_fail(const struct tree *t, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same place in words for somebody else's sentence: "modules[0].components[1].name"; "" for the root. Cut to size. */
void tree_path(const struct tree_node *n, char *to, size_t size);

#endif
