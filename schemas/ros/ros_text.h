/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROS types made at run time from the text of their definition: what rosgen does for ../ros during the build. Pure
 * functions of their arguments; a type is constant once it is made, and may then be read from any thread.
 */
#ifndef ROS_TEXT_H
#define ROS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "ros/ros_type.h"

#define ROS_TEXT_MAX   (512u * 1024) /* bytes of a text */
#define ROS_TEXT_TYPES 100u          /* types in a text */

struct ros_text;

/*
 * Makes "package/Name", "package/msg/Name" or, half a service, "package/srv/Name_Request" from a text: its definition
 * in .msg syntax, then those of nested types, each after a line of "=" and a line "MSG: package/Name". Types that the
 * text lacks are looked up in `known`, which also decides the flavour: ros1_types or ros2_types. If the text is that of
 * a service or an action, with lines of "---", the name selects one of its messages: Name_Request, Name_Event,
 * Name_FeedbackMessage and so on. Returns it: ros_text_destroy(). `why` gets a sentence, also for -ENOMEM. Errors:
 * -EINVAL the text or the name, -ENOENT a nested type is missing, -E2BIG a bound, -ENOTSUP ROS 1 has no such feature,
 * -ENOMEM.
 */
int ros_text_create(const char *name, const char *text, const struct ros_type *const *known, char *why, size_t why_size,
		    struct ros_text **ret);
void ros_text_destroy(struct ros_text *t);

/* Name, hash or sum, text in canonical form, fields. Borrows. */
const struct ros_type *ros_text_type(const struct ros_text *t);

/* The md5 sum of the ROS 1 service with these halves, both made with ros1_types. 0 or -ENOMEM. */
#define ROS_TEXT_MD5 33u /* digits and the NUL */
int ros_text_service_md5(const struct ros_text *request, const struct ros_text *response, char ret[ROS_TEXT_MD5]);

#endif
