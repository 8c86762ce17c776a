/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as the definition of a ROS message: the first byte picks flavour and name. An accepted definition reads
 * again from its canonical form, and the type that is made of it is sent with the same sum.
 */
#include <stdlib.h>
#include <string.h>

#include <sim/introspect.h>

#include "ros/ros_generic.h"
#include "ros/ros_text.h"
#include "ros_own.h"

#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* name: of a message; what a service or an action nests is one here too. */
static void goes_out(const char *name, const struct ros_type *t, const struct ros_type *const *known)
{
	enum ros_generic_words words = known == ros1_types ? ROS_GENERIC_ROS1 : ROS_GENERIC_ROS2;
	const struct sim_type *own;
	struct ros_text *again;
	char why[256], *text;

	if (ros_own_type(t, known, &own, why, sizeof(why)) < 0)
		return;
	text = ros_generic_text(own, words);
	FUZZ_CHECK(text && ros_text_create(name, text, known, why, sizeof(why), &again) == 0);
	FUZZ_CHECK(strcmp(ros_text_type(again)->hash, t->hash) == 0);
	ros_text_destroy(again);
	sim_type_unref(own);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "fuzz_msgs/msg/Fuzz", "fuzz_msgs/srv/Fuzz_Event",
					     "fuzz_msgs/action/Fuzz_SendGoal_Event", "fuzz_msgs/srv/Fuzz_Request" };
	const struct ros_type *const *known = size && data[0] & 1 ? ros1_types : ros2_types;
	const char *name = names[size ? data[0] >> 1 & 3 : 0];
	struct ros_text *a = NULL, *b = NULL;
	char *text = size ? malloc(size) : NULL;
	char why[256];

	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (ros_text_create(name, text, known, why, sizeof(why), &a) == 0) {
		const struct ros_type *t = ros_text_type(a);

		FUZZ_CHECK(ros_text_create(name, t->definition, known, why, sizeof(why), &b) == 0);
		/* what an event nests are messages there */
		FUZZ_CHECK(name == names[1] || name == names[2] || strcmp(ros_text_type(b)->hash, t->hash) == 0);
		if (name == names[0])
			goes_out(name, t, known);
		ros_text_destroy(b);
	} else {
		FUZZ_CHECK(why[0]);
	}
	ros_text_destroy(a);
	free(text);
	return 0;
}
