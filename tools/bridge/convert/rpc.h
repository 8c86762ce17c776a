/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and responses of services. ROS 2, as rmw_cyclonedds writes them: CDR of the client's id and the
 * request's number, which the response echoes, then the fields of the message; one zero byte if it has none. rmw_fastrtps has the former
 * elsewhere: the fields alone. ROS 1: the fields, packed. Pure functions: any thread.
 */
#ifndef RPC_H
#define RPC_H

#include <stdbool.h>

#include <sim/message.h>

#include "ros/ros_text.h"
#include "ros/ros_type.h"

#include "iov_buf.h"

struct rpc_id {
	uint64_t client;
	int64_t sequence;
};

/*
 * The ROS service that one of ours is: Empty, SetBool and Trigger of package sim are those of std_srvs, ControlModeCommand is
 * Autoware's, others have the name that they have; NULL: ROS knows no such service here (known: ros1_services or ros2_services).
 */
const struct ros_service *rpc_service(const struct ros_service *known, const char *sim);

/*
 * Half a service that ROS does not know here: "demo/srv/Measure_Request" of `half` of "demo/Measure", with the same fields. half_name:
 * "Request" or "Response"; known: ros1_types or ros2_types. returns it: ros_text_destroy(). `why` gets a sentence. -ENOTSUP, -ENOMEM.
 */
int rpc_own_type(const char *service, const struct sim_type *half, const char *half_name,
		 const struct ros_type *const *known, struct ros_text **ret, char *why, size_t why_size);

/* Whether a body of ours has the very fields of theirs, times as times. */
bool rpc_same_fields(const struct sim_type *ours, const struct ros_type *theirs);

/* Read a request into a body of at most `room` bytes, aligned to 64. ret_id NULL: it has none. Errors: those of <sim/decode.h>, -ENOBUFS. */
int rpc_read_request(const struct sim_type *t, const void *data, size_t len, struct rpc_id *ret_id, void *body,
		     size_t room, size_t *ret_size);

/* Write a response; o keeps body until it is sent. id NULL: it has none. Errors: -EBADMSG the body does not hold, -ENOMEM, -ERANGE a time. */
int rpc_write_response(const struct sim_type *t, const struct rpc_id *id, const void *body, size_t size,
		       struct iov_buf *o);

/* Either half of one of ROS 1. The same errors. */
int rpc_read_ros1(const struct sim_type *t, const void *data, size_t len, void *body, size_t room, size_t *ret_size);
int rpc_write_ros1(const struct sim_type *t, const void *body, size_t size, struct iov_buf *o);

/*
 * A negative response: of a type with `bool success` and `string message`, false and why. ROS has no errors of
 * services. -ENOTSUP: the type cannot carry it.
 */
int rpc_refusal(const struct sim_type *t, const char *why, void *body, size_t room, size_t *ret_size);

#endif
