/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a node about a type: any bytes; the first one says whether an identity stands in front. The text made of it is read or refused. */
#include <stdlib.h>
#include <string.h>

#include "ros/ros_text.h"
#include "tools/bridge/ros2/type_description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_text(const char *text)
{
	struct ros_text *t;
	char why[300] = "";

	if (!text)
		return;
	if (ros_text_create("example_msgs/msg/Readings", text, ros2_types, why, sizeof(why), &t) == 0)
		ros_text_destroy(t);
	else if (!*why)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rpc_id id = { .client = 0x1122334455667788, .sequence = 1 };
	struct type_description d;

	if (!size)
		return 0;
	if (type_description_read("example_msgs/msg/Readings", data[0] & 1 ? &id : NULL, data + 1, size - 1, &d) == 0) {
		read_text(d.sources);
		read_text(d.fields);
	}
	type_description_finish(&d);
	return 0;
}
