/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DAG, launch and configuration files of three syntaxes as one structure: a tree of keys and values in which each node
 * knows its line.
 *
 *   JSON                 objects, lists, values
 *   protobuf's text      fields are members, in their order; a repeated field occurs several times. Without the schema,
 *                        words (enums) and strings are both strings; node::word tells them apart
 *   XML                  elements and attributes are members; the text of an element that has neither is its value
 *
 * Thread:  the owner's. Nothing here reads a file.
 * Errors:  -EINVAL with "file:line: ..." in err_why(); -ENOMEM. Any input is parsed within the bounds below.
 */
#ifndef SIMHOST_TREE_H
#define SIMHOST_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TREE_BYTES_MAX  ((size_t)1 << 20) /* of one file */
#define TREE_DEPTH_MAX  32u
#define TREE_NODES_MAX  65536u
#define TREE_STRING_MAX 4096u /* bytes of a string or a name */

enum tree_kind { TREE_OBJECT = 1, TREE_LIST, TREE_SCALAR };

struct tree_node {
	const char *name; /* key; NULL: the root, or an item of a list */
	enum tree_kind kind;
	bool word; /* protobuf's text: a string without quotes */
	unsigned line;
	unsigned index; /* position in its parent */
	unsigned n;     /* number of children */
	json_t *value;  /* of a scalar; in JSON of every node; borrowed from tree::json */
	struct tree_node *parent, *first, *last, *next;
};

struct tree {
	char *file; /* file name for messages */
	struct tree_node *root;
	json_t *json; /* owns the values */
	struct tree_block *blocks;
	unsigned n_nodes;
};

/* text: borrowed. ret: returns, tree_destroy. */
int tree_read_json(const char *file, const char *text, size_t len, struct tree **ret);
int tree_read_text(const char *file, const char *text, size_t len, struct tree **ret);
int tree_read_xml(const char *file, const char *text, size_t len, struct tree **ret);
void tree_destroy(struct tree *t); /* NULL is fine */

/* Whether the text looks like JSON: it begins with a bracket that does not begin an extension's name in text format. */
bool tree_is_json(const char *text, size_t len);

/*
 * Converts a node to JSON. A field becomes an array if it occurs several times, is written as [...], or has a name in
 * lists (NULL ends; NULL: none). Returns a new reference; NULL: no memory.
 */
json_t *tree_to_json(const struct tree_node *n, const char *const *lists);

/* Returns -EINVAL and sets err_why() to "file:line: modules[0].components[1].name: <sentence>". */
int tree_fail(const struct tree *t, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes the same path for use in other messages: "modules[0].components[1].name"; "" for the root. Cut to size. */
void tree_path(const struct tree_node *n, char *to, size_t size);

#endif
