/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROS messages as JSON trees, for tests: written to CDR and read from it by nothing but their definition, and compared. Shares
 * no code with what it tests. A time is {"sec", "nanosec"}, a value that JSON has no number for "inf", "-inf" or "nan".
 */
#ifndef TEST_ROS_TREE_H
#define TEST_ROS_TREE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "ros/ros_type.h"

/* A message of plain little-endian CDR, its header of 4 bytes included. NULL: it is none of that type, to its last byte. */
json_t *ros_tree_read(const struct ros_type *t, const uint8_t *cdr, size_t len);

/* The same of what lgsvl_bridge takes and sends: packed, every array with its count, those of fixed size too. */
json_t *ros_tree_read_lgsvl(const struct ros_type *t, const uint8_t *data, size_t len);
size_t ros_tree_write_lgsvl(const struct ros_type *t, json_t *tree, uint8_t *data, size_t room);

/* The same of ROS 1: packed, arrays of fixed size without a count. t: of ros1_types. */
json_t *ros_tree_read_ros1(const struct ros_type *t, const uint8_t *data, size_t len);
size_t ros_tree_write_ros1(const struct ros_type *t, json_t *tree, uint8_t *data, size_t room);

/* One number or bool that lies at `at`, of any alignment, as in such a tree. prim: enum ros_prim. */
json_t *ros_tree_number(unsigned prim, const void *at);

/*
 * The other way; what the tree leaves out is 0 or empty, and an array may be an object of index to value. Returns the length; 0:
 * the tree does not fit the type, or not into room.
 */
size_t ros_tree_write(const struct ros_type *t, json_t *tree, uint8_t *cdr, size_t room);

/*
 * Whether a tree is what was wanted, which may leave out all that is 0 or empty, and have an array as an object of index to value.
 * Numbers agree to a few parts in ten million, as float32 has them. 0, or -1 and where they differ.
 */
int ros_tree_compare(json_t *want, json_t *got, char *why, size_t size);

/* In a table of such trees "S" stands for that time, and "H" for a header with it and the frame "here". */
void ros_tree_expand(json_t *j, int sec, int nanosec);

#endif
