/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any ROS type as a type of Cyclone's: op codes and a structure in memory, as idlc would make them, made from the definition; so
 * that Cyclone itself encodes and decodes. Samples come and go as trees (tests/support/ros_tree.h).
 */
#ifndef TYPED_H
#define TYPED_H

#include <dds/dds.h>
#include <jansson.h>

#include "ros/ros_type.h"

struct typed;

/* NULL: it holds something that this does not know. Lives as long as the program. */
struct typed *typed_new(const struct ros_type *t);
const dds_topic_descriptor_t *typed_descriptor(const struct typed *t);

/* Room for a sample, zeroed; what it points to is not freed. */
void *typed_sample(const struct typed *t);
json_t *typed_tree(const struct typed *t, const void *sample);
/* What the tree leaves out is 0 or empty. -1: it does not fit. */
int typed_fill(const struct typed *t, json_t *tree, void *sample);

#endif
