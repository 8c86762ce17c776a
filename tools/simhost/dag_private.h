/* SPDX-License-Identifier: Apache-2.0 */
/* What dag*.c share. Thread: the owner's. */
#ifndef SIMHOST_DAG_PRIVATE_H
#define SIMHOST_DAG_PRIVATE_H

#include "dag.h"

struct dag_reading {
	struct reading keys; /* first: key_fn gets it */
	struct dag *dag;
};

/* d has its tree and nothing else. */
int dag_json_map(struct dag_reading *x);
int dag_text_map(struct dag_reading *x);

/* One more, with defaults; *ret is valid until the next one. -EINVAL: too many. */
int dag_add_module(struct dag_reading *x, const struct tree_node *n, struct dag_module **ret);
/* It belongs to the last module. */
int dag_add_component(struct dag_reading *x, const struct tree_node *n, struct dag_component **ret);
/* NULL in *ret: the component has as many as it can have, and a note was taken. */
int dag_add_reader(struct dag_reading *x, const struct tree_node *n, struct dag_component *c, struct dag_reader **ret);

/* Its name, made fit for a node; and what must fit together, whatever the syntax. */
int dag_component_check(struct dag_reading *x, const struct tree_node *n, struct dag_component *c);

#endif
