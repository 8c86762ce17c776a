/* SPDX-License-Identifier: Apache-2.0 */
/* See halves.h. */
#include "halves.h"

#include <errno.h>
#include <stdio.h>

#include "rpc.h"

static int check_fields(const struct sim_service_type *type, const struct ros_service *ros, char *why, size_t size)
{
	if (!ros || (rpc_same_fields(type->request, ros->request) && rpc_same_fields(type->response, ros->response)))
		return 0;
	snprintf(why, size, "%s has other fields than %s has in ROS", type->name, ros->name);
	return -EINVAL;
}

int ros2_halves_find(const struct sim_service_type *type, struct ros2_halves *ret, char *why, size_t why_size)
{
	const struct ros_service *ros = rpc_service(ros2_services, type->name);
	int r = check_fields(type, ros, why, why_size);

	*ret = (struct ros2_halves){ .request = NULL };
	if (r < 0)
		return r;
	if (ros) {
		ret->request = ros->request;
		ret->response = ros->response;
		return 0;
	}
	r = rpc_own_type(type->name, type->request, "Request", ros2_types, &ret->made[0], why, why_size);
	if (r == 0)
		r = rpc_own_type(type->name, type->response, "Response", ros2_types, &ret->made[1], why, why_size);
	if (r < 0)
		return r;
	ret->request = ros_text_type(ret->made[0]);
	ret->response = ros_text_type(ret->made[1]);
	return 0;
}

void ros2_halves_finish(struct ros2_halves *h)
{
	ros_text_destroy(h->made[0]);
	ros_text_destroy(h->made[1]);
}
