/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROS messages as JSON trees, for tests: written to CDR and read from it by their definition alone, and compared.
 * Shares no code with the code under test. A time is {"sec", "nanosec"}; a value that JSON lacks is "inf", "-inf" or
 * "nan".
 */
#ifndef TEST_ROS_TREE_H
#define TEST_ROS_TREE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "ros/ros_type.h"

/*
 * Reads a message of plain little-endian CDR, including its header of 4 bytes. NULL: not exactly one message of that
 * type.
 */
json_t *ros_tree_read(const struct ros_type *t, const uint8_t *cdr, size_t len);

/* The same for the format of lgsvl_bridge: packed, every array with its count, also those of fixed size. */
json_t *ros_tree_read_lgsvl(const struct ros_type *t, const uint8_t *data, size_t len);
size_t ros_tree_write_lgsvl(const struct ros_type *t, json_t *tree, uint8_t *data, size_t room);

/* The same for ROS 1: packed, arrays of fixed size without a count. t: from ros1_types. */
json_t *ros_tree_read_ros1(const struct ros_type *t, const uint8_t *data, size_t len);
size_t ros_tree_write_ros1(const struct ros_type *t, json_t *tree, uint8_t *data, size_t room);

/* Reads one number or bool at `at`, which may be unaligned, as in such a tree. prim: enum ros_prim. */
json_t *ros_tree_number(unsigned prim, const void *at);

/*
 * Writes a message; members absent in the tree are 0 or empty, and an array may be an object of index to value. Returns
 * the length; 0: the tree does not fit the type, or the message not into room.
 */
size_t ros_tree_write(const struct ros_type *t, json_t *tree, uint8_t *cdr, size_t room);

/*
 * Compares a tree with the wanted one, which may omit members that are 0 or empty, and have an array as an object of
 * index to value. Numbers may differ by a few parts in ten million, as in float32. 0, or -1 and where they differ.
 */
int ros_tree_compare(json_t *want, json_t *got, char *why, size_t size);

/* In a table of such trees, replaces "S" by that time, and "H" by a header with it and the frame "here". */
void ros_tree_expand(json_t *j, int sec, int nanosec);

#endif
