/* SPDX-License-Identifier: Apache-2.0 */
/* Private: a node answers for itself: NAME/node_info, which `simctl node` and `simctl info` ask. */
#ifndef COMPONENT_NODE_H
#define COMPONENT_NODE_H

#include "host.h"

/* As sim_service_offer(); -EEXIST: a node of that name in another process, which the sentence names. */
int node_service_create(struct sim_node *n, struct node_service **ret);
void node_service_destroy(struct node_service *s); /* NULL is fine */

#endif
