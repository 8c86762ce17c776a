/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bridge-agnostic type is called and looks like in ROS when nothing says otherwise: the message with the same fields.
 *
 *   example/FloatArray    example/msg/FloatArray; types of ours, sim/..., are of the package sim_msgs
 *   time, duration     builtin_interfaces/Time, builtin_interfaces/Duration; in ROS 1 the same words
 *   std_msgs/Header    in ROS 1 with the number in front that it has there
 *   all else           the same word; arrays and bounds the same, but ROS 1 has no bounds; constants and comments too
 *   uint8              byte or char where the type was made of a definition that says so (ros_words.h)
 *
 * Pure functions: any thread.
 */
#ifndef ROS_GENERIC_H
#define ROS_GENERIC_H

#include <stddef.h>

#include <sim/message.h>

#define ROS_GENERIC_NAME_MAX (SIM_TYPE_NAME_MAX + 16) /* with its NUL */

/* "example/msg/FloatArray" of "example/FloatArray". */
void ros_generic_name(const char *sim, char out[ROS_GENERIC_NAME_MAX]);

/* "sim/LaneLines" of "sim_msgs/LaneLines" or "sim_msgs/msg/LaneLines". Returns 0, or -EINVAL that is no such name. */
int ros_generic_sim_name(const char *ros, char out[SIM_TYPE_NAME_MAX + 1]);

enum ros_generic_words { ROS_GENERIC_ROS2, ROS_GENERIC_ROS1, ROS_GENERIC_OURS /* as simgen reads them */ };

/*
 * The definition and those of what it nests, as ros_text.h reads them, with units and comments, of a type's the first line. returns a string: free();
 * NULL: no memory.
 */
char *ros_generic_text(const struct sim_type *t, enum ros_generic_words words);

/*
 * Names that ROS 2 takes for no field, constant or type, so that no package can be built of them ("minX", "a__b"): the first
 * one, NULL: there is none. Borrows from t.
 */
const char *ros_generic_odd_name(const struct sim_type *t);

#endif
