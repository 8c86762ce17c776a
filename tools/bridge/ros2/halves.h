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
	struct ros_text *made[2]; /* types that had to be created; NULL: none */
};

/*
 * Finds the request and response types: as ROS defines them, else with our fields under the service's name. 0; -EINVAL
 * or -ENOTSUP with the reason in why; -ENOMEM. Call finish() in any case.
 */
int ros2_halves_find(const struct sim_service_type *type, struct ros2_halves *ret, char *why, size_t why_size);
void ros2_halves_finish(struct ros2_halves *h);

#endif
