/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo 1.0 to 3.0, before Cyber RT: a modified ROS 1 that carries protobuf. A message has the type "pb_msgs/" and its
 * name without the package, the definition "protobuf", the md5sum of its type's name, and as body a ROS string: the
 * length, then the protobuf message. The definitions used are those of Apollo 5, the oldest available. Pure functions:
 * any thread.
 */
#ifndef APOLLO_ROS_H
#define APOLLO_ROS_H

#include "apollo.h"
#include "pb_type.h"
#include "ros/ros_type.h"

#define APOLLO_ROS_DEFINITION "protobuf"

/* Whether a ROS 1 type with that definition is such a message. */
bool apollo_ros_is(const char *type, const char *definition, size_t size);

/*
 * The message of Apollo's that "pb_msgs/Imu" means on that topic and that becomes sim_type; sim_type NULL: the default.
 * Two messages share a name (gnss' Imu, and localization's, later called CorrectedImu): the topic decides. NULL: it
 * cannot be converted.
 */
const struct apollo_type *apollo_ros_find(const char *type, const char *topic, const char *sim_type);

/*
 * Makes a type from Apollo 5's definition of the message that "pb_msgs/RoutingRequest" means,
 * "apollo.routing.RoutingRequest"; if there are several, the topic decides (apollo_ros_find()). Free with
 * pb_type_destroy(). Errors, with a reason to which the caller adds the subject: -ENOTSUP Apollo 5 has no such message,
 * or several; -ENOMEM.
 */
int apollo_ros_defined(const char *type, const char *topic, struct pb_type **ret, char *why, size_t why_size);

/*
 * The message that sim_type becomes as `type` ("pb_msgs/Chassis"), or NULL for the default. NULL: there is none;
 * without a type also where Apollo used ordinary ROS messages: clouds, images, frames, time.
 */
const struct apollo_type *apollo_ros_type_for(const char *sim_type, const char *type);

/* "pb_msgs/Chassis" as a ROS 1 type. Free with free(). NULL: no memory. */
struct ros_type *apollo_ros_type_create(const char *type);
/* The same from the name of the protobuf message, "apollo.canbus.Chassis". */
struct ros_type *apollo_ros_type_of(const char *message);

/* Appends a body. As apollo_encode(); out must be empty. */
int apollo_ros_encode(const struct apollo_type *t, const struct apollo_message *in, struct iov_buf *out, char *why,
		      size_t why_size);
/* The same as pb_type_encode(). */
int apollo_ros_encode_defined(const struct pb_type *t, const void *body, size_t size, struct iov_buf *out);

/* Finds the protobuf message within a body. 0 or -EBADMSG. */
int apollo_ros_message(const void *body, size_t size, const void **ret, size_t *ret_size);

#endif
