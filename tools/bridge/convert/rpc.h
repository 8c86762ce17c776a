/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and responses of services. ROS 2, as rmw_cyclonedds writes them: CDR of the client's id and the request's
 * number, which the response repeats, then the fields of the message, or one zero byte if it has none. rmw_fastrtps
 * sends id and number elsewhere, and only the fields here. ROS 1: the fields, packed. Pure functions: any thread.
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
 * The ROS service for one of ours: Empty, SetBool and Trigger of package sim are those of std_srvs, ControlModeCommand
 * is Autoware's, others keep their name; NULL: not known here (known: ros1_services or ros2_services).
 */
const struct ros_service *rpc_service(const struct ros_service *known, const char *sim);

/*
 * Makes the ROS type of one half of a service that is not known here: "demo/srv/Measure_Request" from `half` of
 * "demo/Measure", with the same fields. half_name: "Request" or "Response"; known: ros1_types or ros2_types. Free with
 * ros_text_destroy(). `why` gets a reason. -ENOTSUP, -ENOMEM.
 */
int rpc_own_type(const char *service, const struct sim_type *half, const char *half_name,
		 const struct ros_type *const *known, struct ros_text **ret, char *why, size_t why_size);

/* Whether our type has the same fields as theirs; times as times. */
bool rpc_same_fields(const struct sim_type *ours, const struct ros_type *theirs);

/* Reads the identity that a message begins with. Errors: those of <sim/decode.h>. */
int rpc_read_id(const void *data, size_t len, struct rpc_id *ret);

/*
 * Reads a request, or the response that a client gets, which has the same form, into a body of at most `room` bytes,
 * aligned to 64. ret_id NULL: the message has no id. Errors: those of <sim/decode.h>, -ENOBUFS.
 */
int rpc_read_request(const struct sim_type *t, const void *data, size_t len, struct rpc_id *ret_id, void *body,
		     size_t room, size_t *ret_size);

/*
 * Writes a response, or the request of a client; o borrows body until it is sent. id NULL: the message has no id.
 * Errors: -EBADMSG malformed body, -ENOMEM, -ERANGE a time.
 */
int rpc_write_response(const struct sim_type *t, const struct rpc_id *id, const void *body, size_t size,
		       struct iov_buf *o);

/* Either half of a ROS 1 service. The same errors. */
int rpc_read_ros1(const struct sim_type *t, const void *data, size_t len, void *body, size_t room, size_t *ret_size);
int rpc_write_ros1(const struct sim_type *t, const void *body, size_t size, struct iov_buf *o);

/*
 * Makes a negative response, since ROS services have no errors: for a type with `bool success` and `string message`,
 * false and why. -ENOTSUP: the type does not have them.
 */
int rpc_refusal(const struct sim_type *t, const char *why, void *body, size_t room, size_t *ret_size);

#endif
