/* SPDX-License-Identifier: Apache-2.0 */
/* Any samples of ros_discovery_info. An accepted name is in canonical form, and can be logged. Thread: one. */
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/ros2/graph_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct graph_info said;

	if (graph_read(data, size, &said) < 0)
		return 0;
	if (said.gid_size != GRAPH_GID_HUMBLE && said.gid_size != GRAPH_GID_IRON)
		abort();
	for (const char *c = said.node; *c; c++)
		if (*c <= ' ' || *c > '~')
			abort();
	if (strlen(said.node) > GRAPH_NODE_MAX)
		abort();
	return 0;
}
