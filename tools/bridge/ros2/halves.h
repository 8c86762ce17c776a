/* SPDX-License-Identifier: Apache-2.0 */
/* The two types that a service of ours has in ROS 2. Pure functions: any thread. */
#ifndef HALVES_H
#define HALVES_H

#include <stddef.h>

#include <sim/message.h>

#include "ros/ros_text.h"
#include "ros/ros_type.h"

struct ros2_halves {
	const struct ros_type *request, *response;
	struct ros_text *made[2]; /* where they had to be made */
};

/*
 * As ROS defines them, or with our fields under the name that the service has. 0; -EINVAL, -ENOTSUP with a sentence, -ENOMEM: finish() also
 * then.
 */
int ros2_halves_find(const struct sim_service_type *type, struct ros2_halves *ret, char *why, size_t why_size);
void ros2_halves_finish(struct ros2_halves *h);

#endif
