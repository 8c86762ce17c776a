/* SPDX-License-Identifier: Apache-2.0 */
/* Private: the service NAME/node_info of a node, which `simctl node` and `simctl info` call. */
#ifndef COMPONENT_NODE_H
#define COMPONENT_NODE_H

#include "host.h"

/* As sim_service_offer(); -EEXIST: another process has a node of that name; the sentence names it. */
int node_service_create(struct sim_node *n, struct node_service **ret);
void node_service_destroy(struct node_service *s); /* NULL is fine */

#endif
