/* SPDX-License-Identifier: Apache-2.0 */
/* What tree*.c share. Thread: the owner's. */
#ifndef SIMHOST_TREE_PRIVATE_H
#define SIMHOST_TREE_PRIVATE_H

#include "tree.h"

/* An empty tree, for a text of that length. */
int tree_create(const char *file, size_t len, struct tree **ret);

/*
 * The next child of parent (NULL: the root). name: keeps; NULL: none. Returns -EINVAL: too many nodes, or too deep.
 */
int tree_add(struct tree *t, struct tree_node *parent, const char *name, enum tree_kind kind, unsigned line,
	     struct tree_node **ret);

/* A copy that lives as long as the tree; NULL: no memory. */
const char *tree_name(struct tree *t, const char *s, size_t len);

/* Takes value (NULL: no memory), which belongs to the tree's array of values from now on. */
int tree_value(struct tree *t, struct tree_node *n, json_t *value);

/* s as a string value: -EINVAL when it is too long, not UTF-8 or has a zero byte. */
int tree_string(struct tree *t, struct tree_node *n, const char *s, size_t len);

#endif
