/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default name and definition of a simd type in ROS: the message with the same fields.
 *
 *   example/FloatArray    example/msg/FloatArray; simd's own types, sim/..., are in the package sim_msgs
 *   time, duration        builtin_interfaces/Time, builtin_interfaces/Duration; in ROS 1 the same words
 *   std_msgs/Header       in ROS 1 with the seq field in front that it has there
 *   all else              the same word; arrays and bounds the same, but ROS 1 has no bounds; constants and comments
 *                         too
 *   uint8                 byte or char if the type was made from a definition that uses it (ros_words.h)
 *
 * Pure functions: any thread.
 */
#ifndef ROS_GENERIC_H
#define ROS_GENERIC_H

#include <stddef.h>

#include <sim/message.h>

#define ROS_GENERIC_NAME_MAX (SIM_TYPE_NAME_MAX + 16) /* with its NUL */

/* Writes "example/msg/FloatArray" for "example/FloatArray". */
void ros_generic_name(const char *sim, char out[ROS_GENERIC_NAME_MAX]);

/*
 * Writes "sim/LaneLines" for "sim_msgs/LaneLines" or "sim_msgs/msg/LaneLines". Returns 0, or -EINVAL if it is no such
 * name.
 */
int ros_generic_sim_name(const char *ros, char out[SIM_TYPE_NAME_MAX + 1]);

/* OURS: in the syntax that simgen reads */
enum ros_generic_words { ROS_GENERIC_ROS2, ROS_GENERIC_ROS1, ROS_GENERIC_OURS };

/*
 * The definition and those that it nests, as ros_text.h reads them, with units and comments; of a type's comment only
 * the first line. returns a string: free(); NULL: no memory.
 */
char *ros_generic_text(const struct sim_type *t, enum ros_generic_words words);

/*
 * Finds names that ROS 2 does not accept for fields, constants or types, so that no package can be built from them
 * ("minX", "a__b"): returns the first one, NULL: there is none. Borrows from t.
 */
const char *ros_generic_odd_name(const struct sim_type *t);

#endif
