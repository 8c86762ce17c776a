/* SPDX-License-Identifier: Apache-2.0 */
/* What tree*.c share. Thread: the owner's. */
#ifndef SIMHOST_TREE_PRIVATE_H
#define SIMHOST_TREE_PRIVATE_H

#include "tree.h"

/* Creates an empty tree for a text of len bytes. -EINVAL: the text is too long. */
int tree_create(const char *file, size_t len, struct tree **ret);

/*
 * Appends a child to parent (NULL: creates the root). name: must live as long as the tree; NULL: none. -EINVAL: too
 * many nodes, or too deep.
 */
int tree_add(struct tree *t, struct tree_node *parent, const char *name, enum tree_kind kind, unsigned line,
	     struct tree_node **ret);

/* Copies a name; the copy lives as long as the tree. NULL: no memory. */
const char *tree_name(struct tree *t, const char *s, size_t len);

/* Sets the value of n and takes ownership of it: it becomes part of tree::json. value NULL: returns -ENOMEM. */
int tree_value(struct tree *t, struct tree_node *n, json_t *value);

/* Sets s as string value of n. -EINVAL: too long, not UTF-8, or has a zero byte. */
int tree_string(struct tree *t, struct tree_node *n, const char *s, size_t len);

#endif
