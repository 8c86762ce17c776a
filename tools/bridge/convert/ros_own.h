/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type made from a ROS definition, the inverse of ros/ros_generic.h: the same fields under the same names. byte and
 * char become uint8, and the comment of the type keeps the original words for the way back (ros/ros_words.h); default
 * values are left out, and so is seq in ROS 1's std_msgs/Header. Pure functions: any thread.
 */
#ifndef ROS_OWN_H
#define ROS_OWN_H

#include <stddef.h>

#include <sim/message.h>

#include "ros/ros_type.h"

/*
 * t: with its definition, as ros_text.h makes it with `known`, or from that table. *ret is reference-counted:
 * sim_type_unref(). Errors, with a reason: -ENOTSUP it cannot become a type of ours (wstring, names, limits, a
 * std_msgs/Header with other fields), -ENOMEM.
 */
int ros_own_type(const struct ros_type *t, const struct ros_type *const *known, const struct sim_type **ret, char *why,
		 size_t why_size);

#endif
