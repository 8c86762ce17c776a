/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo 1.0 to 3.0, before Cyber RT: a changed ROS 1 that carries protobuf. A message is of the type "pb_msgs/" and its name without the package, its
 * definition is the word "protobuf", its sum that of its type's name, and its body a string of ROS: the length, then the message. The definitions are those of Apollo
 * 5, the oldest that are here. Pure functions: any thread.
 */
#ifndef APOLLO_ROS_H
#define APOLLO_ROS_H

#include "apollo.h"
#include "pb_type.h"
#include "ros/ros_type.h"

#define APOLLO_ROS_DEFINITION "protobuf"

/* Whether a type of ROS 1 with that definition is one of them. */
bool apollo_ros_is(const char *type, const char *definition, size_t size);

/*
 * The message of Apollo's that "pb_msgs/Imu" is on that topic and that becomes sim_type; sim_type NULL: the first such. Two messages have one name (gnss' Imu, and localization's, which was called CorrectedImu
 * later): the one whose topic it is. NULL: nothing of ours is made of it.
 */
const struct apollo_type *apollo_ros_find(const char *type, const char *topic, const char *sim_type);

/*
 * "pb_msgs/RoutingRequest" as a type of its own, by Apollo 5's definition of its message of that name, "apollo.routing.RoutingRequest"; where there are several, of the
 * one that the topic says (apollo_ros_find()). returns it: pb_type_destroy(). Errors, with a sentence whose subject is the caller's to name: -ENOTSUP Apollo 5 has no such message, or several;
 * -ENOMEM.
 */
int apollo_ros_defined(const char *type, const char *topic, struct pb_type **ret, char *why, size_t why_size);

/*
 * What sim_type becomes as `type` ("pb_msgs/Chassis"), or NULL, the first. NULL: no message of Apollo's; without a type also those which Apollo sent as
 * ordinary messages of ROS: clouds, images, frames, time.
 */
const struct apollo_type *apollo_ros_type_for(const char *sim_type, const char *type);

/* "pb_msgs/Chassis" as a type of ROS 1. returns it: free(). NULL: no memory. */
struct ros_type *apollo_ros_type_create(const char *type);
/* The same of a message of protobuf, "apollo.canbus.Chassis". */
struct ros_type *apollo_ros_type_of(const char *message);

/* Append a body. As apollo_encode(); out has nothing before it. */
int apollo_ros_encode(const struct apollo_type *t, const struct apollo_message *in, struct iov_buf *out, char *why,
		      size_t why_size);
/* The same as pb_type_encode(). */
int apollo_ros_encode_defined(const struct pb_type *t, const void *body, size_t size, struct iov_buf *out);

/* The message within a body. 0 or -EBADMSG. */
int apollo_ros_message(const void *body, size_t size, const void **ret, size_t *ret_size);

#endif
