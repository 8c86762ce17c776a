/* SPDX-License-Identifier: Apache-2.0 */
/* Written by rosgen from all definitions in this directory; only for ros_definition.c. Constant data, any thread. */
#ifndef ROS_DEFINITION_DATA_H
#define ROS_DEFINITION_DATA_H

#include <stdint.h>

/* Offsets of definitions, sorted by name: those of ROS 1, those of ROS 2. */
extern const uint32_t ros1_definitions[], ros2_definitions[];
extern const unsigned ros1_n_definitions, ros2_n_definitions;

/* "package/Name", its kind and its text, each with its NUL. */
const char *ros_definition_at(uint32_t offset);

#endif
