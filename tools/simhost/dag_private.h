/* SPDX-License-Identifier: Apache-2.0 */
/* What dag*.c share. Thread: the owner's. */
#ifndef SIMHOST_DAG_PRIVATE_H
#define SIMHOST_DAG_PRIVATE_H

#include "dag.h"

struct dag_reading {
	struct reading keys; /* first member: key_fn receives a pointer to it */
	struct dag *dag;
};

/* Fill x->dag from its tree. On entry only path, syntax and tree of the dag are set. */
int dag_json_map(struct dag_reading *x);
int dag_text_map(struct dag_reading *x);

/* Appends a module with default values. *ret is valid until the next call. -EINVAL: too many. */
int dag_add_module(struct dag_reading *x, const struct tree_node *n, struct dag_module **ret);
/* Appends a component to the last module; otherwise the same. */
int dag_add_component(struct dag_reading *x, const struct tree_node *n, struct dag_component **ret);
/*
 * Appends a reader. *ret is NULL if the component has as many as it can have and a note was added instead (Apollo's
 * syntax only).
 */
int dag_add_reader(struct dag_reading *x, const struct tree_node *n, struct dag_component *c, struct dag_reader **ret);

/*
 * Replaces what is invalid in the component's name, and checks that its settings fit together; the same for both
 * syntaxes.
 */
int dag_component_check(struct dag_reading *x, const struct tree_node *n, struct dag_component *c);

#endif
