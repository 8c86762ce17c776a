/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All definitions of schemas/ros by name, including those that no rule and no bridge uses. They are kept as text:
 * ros_text makes a type of one on request. Pure functions of constant data, any thread.
 */
#ifndef ROS_DEFINITION_H
#define ROS_DEFINITION_H

#include <stdbool.h>

#include "ros/ros_type.h"

struct ros_text;

struct ros_definition {
	const char *name; /* "nav_msgs/Path" */
	const char *kind; /* "msg", "srv" or "action" */
	const char *text; /* in ROS 2 form, without nested definitions */
};

/*
 * Finds "pkg/Name" or "pkg/<kind>/Name" in the form of `known`: ros1_types or ros2_types. Returns false if there is
 * none.
 */
bool ros_definition_find(const struct ros_type *const *known, const char *name, struct ros_definition *ret);

/* The i-th definition by name. Returns false if there are no more. */
bool ros_definition_nth(const struct ros_type *const *known, unsigned i, struct ros_definition *ret);

/*
 * The type of that name: from the table `known`, with *ret_made NULL, or made from its definition. The name may also be
 * that of a message that ROS 2 derives from a service or an action ("pkg/srv/Name_Event",
 * "pkg/action/Name_FeedbackMessage"). Returns *ret_made: ros_text_destroy(), which *ret does not outlive. Errors:
 * -ENOENT there is none; -ENOTSUP ROS 1 cannot have it; -ENOMEM.
 */
int ros_definition_type(const struct ros_type *const *known, const char *name, const struct ros_type **ret,
			struct ros_text **ret_made);

/*
 * The type as in ROS 2 Jazzy, if its fields differ from those here. Errors: -ENOENT they are the same, or there is
 * none; -ENOMEM. *ret_made as above.
 */
int ros_definition_of_jazzy(const char *name, const struct ros_type **ret, struct ros_text **ret_made);

/*
 * The definition with the name of `like`, if its fields are the same on the wire: it has its own words (byte) and
 * constants, and so its own sum. -ENOENT also if the fields differ.
 */
int ros_definition_like(const struct ros_type *like, const struct ros_type *const *known, const struct ros_type **ret,
			struct ros_text **ret_made);

#endif
