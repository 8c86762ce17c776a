/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

int node_service_create(struct sim_node *n, struct node_service **ret)
{
	(void)n;
	*ret = NULL;
	return 0;
}

void node_service_destroy(struct node_service *s)
{
	(void)s;
}
