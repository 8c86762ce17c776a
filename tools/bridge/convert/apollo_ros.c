/* SPDX-License-Identifier: Apache-2.0 */
/* See apollo_ros.h. */
#include "apollo_ros.h"

#include <errno.h>
#include <string.h>

#define PACKAGE "pb_msgs/"

bool apollo_ros_is(const char *type, const char *definition, size_t size)
{
	return strncmp(type, PACKAGE, sizeof(PACKAGE) - 1) == 0 && size == sizeof(APOLLO_ROS_DEFINITION) - 1 &&
	       memcmp(definition, APOLLO_ROS_DEFINITION, size) == 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

/* Whether the message of Apollo's has that name: CorrectedImu was an Imu until 1.5. */
static bool is_called(const struct apollo_type *t, const char *name, bool corrected)
{
	const char *own = strrchr(apollo_type_name(t), '.') + 1;

	if (corrected && strcmp(name, "Imu") == 0)
		return strcmp(own, "CorrectedImu") == 0;
	return strcmp(own, name) == 0;
}

const struct apollo_type *apollo_ros_find(const char *type, const char *topic, const char *sim_type)
{
	bool corrected = ends_with(topic, "/corrected_imu");
	const struct apollo_type *t;

	if (strncmp(type, PACKAGE, sizeof(PACKAGE) - 1) != 0)
		return NULL;
	for (unsigned i = 0; (t = apollo_type_at(APOLLO_5, true, i)); i++)
		if (is_called(t, type + sizeof(PACKAGE) - 1, corrected) &&
		    (!sim_type || strcmp(apollo_type_sim(t)->name, sim_type) == 0))
			return t;
	return NULL;
}

int apollo_ros_message(const void *body, size_t size, const void **ret, size_t *ret_size)
{
	const uint8_t *p = body;
	uint32_t n;

	if (size < 4)
		return -EBADMSG;
	n = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	if (n != size - 4)
		return -EBADMSG;
	*ret = p + 4;
	*ret_size = n;
	return 0;
}
