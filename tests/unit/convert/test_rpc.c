/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and responses of ROS 2 services: byte for byte, and invalid ones. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "rpc.h"
#include "sim/msg/Imu.h"
#include "sim/srv/ControlModeCommand.h"
#include "sim/srv/Empty.h"
#include "sim/srv/SetBool.h"
#include "sim/srv/Trigger.h"

static _Alignas(64) uint8_t body[4096];

TEST(services_are_found_by_their_type)
{
	static const struct sim_service_type *const ours[] = { &sim_Empty_service, &sim_SetBool_service,
							       &sim_Trigger_service };
	const struct ros_service *s;

	for (int i = 0; i < 3; i++) {
		s = rpc_service(ros2_services, ours[i]->name);
		assert_non_null(s);
		assert_memory_equal(s->name, "std_srvs/", 9);
		assert_string_equal(strchr(s->name, '/'), strchr(ours[i]->name, '/'));
		assert_true(rpc_same_fields(ours[i]->request, s->request));
		assert_true(rpc_same_fields(ours[i]->response, s->response));
	}
	s = rpc_service(ros2_services, sim_ControlModeCommand_service.name);
	assert_ptr_equal(s, rpc_service(ros2_services, "autoware_vehicle_msgs/ControlModeCommand"));
	assert_non_null(s);
	assert_true(rpc_same_fields(sim_ControlModeCommand_service.request, s->request));
	assert_true(rpc_same_fields(sim_ControlModeCommand_service.response, s->response));
	assert_false(rpc_same_fields(&sim_SetBoolRequest_type, s->request));
	assert_null(rpc_service(ros2_services, "demo/SetBool"));
	assert_null(rpc_service(ros2_services, "sim/Imu"));
	assert_false(rpc_same_fields(&sim_TriggerResponse_type, s->response));
	assert_false(rpc_same_fields(&sim_EmptyRequest_type, rpc_service(ros2_services, "sim/SetBool")->request));
}

static const uint8_t set_on[] = { 0,    1,    0,    0,    8,    7,    6,    5,    4, 3, 2, 1,
				  0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0 };

TEST(requests_are_read)
{
	struct rpc_id id;
	size_t size;
	uint8_t bad[sizeof(set_on)];

	assert_int_equal(rpc_read_request(&sim_SetBoolRequest_type, set_on, 21, &id, body, sizeof(body), &size), 0);
	assert_int_equal(size, 1);
	assert_int_equal(body[0], 1);
	assert_true(id.client == UINT64_C(0x0102030405060708) && id.sequence == -2);
	assert_int_equal(rpc_read_request(&sim_SetBoolRequest_type, set_on, 24, &id, body, sizeof(body), &size), 0);
	for (size_t n = 0; n < 21; n++)
		assert_true(rpc_read_request(&sim_SetBoolRequest_type, set_on, n, &id, body, sizeof(body), &size) < 0);
	memcpy(bad, set_on, sizeof(bad));
	bad[20] = 2;
	assert_int_equal(rpc_read_request(&sim_SetBoolRequest_type, bad, 21, &id, body, sizeof(body), &size), -EBADMSG);
	bad[20] = 0;
	bad[1] = 0; /* big-endian */
	assert_int_equal(rpc_read_request(&sim_SetBoolRequest_type, bad, 21, &id, body, sizeof(body), &size), -ENOTSUP);
	/* an empty one has one byte that is nothing; one without it is understood too */
	assert_int_equal(rpc_read_request(&sim_TriggerRequest_type, set_on, 24, &id, body, sizeof(body), &size), 0);
	assert_int_equal(rpc_read_request(&sim_TriggerRequest_type, set_on, 20, &id, body, sizeof(body), &size), 0);
	assert_true(rpc_read_request(&sim_TriggerRequest_type, set_on, 19, &id, body, sizeof(body), &size) < 0);
	assert_int_equal(rpc_read_request(&sim_SetBoolRequest_type, set_on, 21, &id, body, 0, &size), -ENOBUFS);
}

TEST(identities_are_read)
{
	struct rpc_id id;

	assert_int_equal(rpc_read_id(set_on, 20, &id), 0);
	assert_true(id.client == UINT64_C(0x0102030405060708) && id.sequence == -2);
	for (size_t n = 0; n < 20; n++)
		assert_true(rpc_read_id(set_on, n, &id) < 0);
}

static void bytes_are(const struct iov_buf *o, const uint8_t *want, size_t n)
{
	struct iovec iov[IOV_BUF_PIECES];

	assert_int_equal(o->total, n);
	assert_int_equal(iov_buf_iov(o, iov), 1);
	assert_memory_equal(iov[0].iov_base, want, n);
}

TEST(responses_are_written)
{
	static const uint8_t set[] = { 0,    1,    0,    0,    8, 7, 6, 5, 4, 3, 2, 1, 0xfe, 0xff, 0xff, 0xff,
				       0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 3, 0, 0, 0, 'o',  'n',  0,    0 };
	static const uint8_t empty[] = { 0,    1,    0,    0,    8,    7,    6,    5,    4, 3, 2, 1,
					 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0 };
	const struct rpc_id id = { UINT64_C(0x0102030405060708), -2 };
	struct sim_builder b;
	struct iov_buf o;

	iov_buf_init(&o);
	sim_SetBoolResponse_init(body, sizeof(body), &b)->success = 1;
	assert_int_equal(sim_SetBoolResponse_message_set(&b, "on"), 0);
	assert_int_equal(rpc_write_response(&sim_SetBoolResponse_type, &id, body, sim_builder_size(&b), &o), 0);
	bytes_are(&o, set, sizeof(set));
	sim_EmptyResponse_init(body, sizeof(body), &b);
	assert_int_equal(rpc_write_response(&sim_EmptyResponse_type, &id, body, 1, &o), 0);
	bytes_are(&o, empty, sizeof(empty));
	assert_int_equal(rpc_write_response(&sim_SetBoolResponse_type, &id, body, 3, &o), -EBADMSG);
	iov_buf_finish(&o);
}

TEST(a_refusal_has_its_reason_where_the_type_allows)
{
	const struct sim_SetBoolResponse *m = (const struct sim_SetBoolResponse *)(const void *)body;
	size_t size;

	assert_int_equal(rpc_refusal(&sim_SetBoolResponse_type, "not today", body, sizeof(body), &size), 0);
	assert_int_equal(m->success, 0);
	assert_string_equal(sim_SetBoolResponse_message(m, size), "not today");
	assert_int_equal(rpc_refusal(&sim_SetBoolResponse_type, "not today", body, 16, &size), -ENOBUFS);
	assert_int_equal(rpc_refusal(&sim_EmptyResponse_type, "not today", body, sizeof(body), &size), -ENOTSUP);
	assert_int_equal(rpc_refusal(&sim_Imu_type, "not today", body, sizeof(body), &size), -ENOTSUP);
}
