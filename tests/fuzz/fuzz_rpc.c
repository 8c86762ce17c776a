/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to services from ROS 2 and ROS 1: the first byte chooses the type, the rest is the peer's data. An accepted
 * request is a valid body, and can be answered; in ROS 1 with as many bytes. Thread: one.
 */
#include <stdlib.h>

#include <sim/introspect.h>

#include "tools/bridge/convert/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sim_type *type_of(uint8_t n)
{
	const struct sim_service_type *const *v = sim_service_type_builtins();
	const struct sim_type *const *t = sim_type_builtins();
	unsigned n_v = 0, n_t = 0;

	while (v[n_v])
		n_v++;
	while (t[n_t])
		n_t++;
	n = (uint8_t)(n % (2 * n_v + n_t));
	if (n < 2 * n_v)
		return n % 2 ? v[n / 2]->response : v[n / 2]->request;
	return t[n - 2 * n_v];
}

static void check(const struct sim_type *t, const void *body, size_t room, size_t used)
{
	if (used > room || sim_msg_check(t, body, used) != 0)
		abort();
}

static void of_ros2(const struct sim_type *t, const uint8_t *data, size_t size)
{
	static _Alignas(64) uint8_t body[16384];
	struct rpc_id id;
	size_t used = 0;
	struct iov_buf o;
	int r;

	if ((rpc_read_id(data, size, &id) == 0) != (size >= 20 && data[0] == 0 && data[1] == 1))
		abort();
	if (rpc_read_request(t, data, size, &id, body, sizeof(body), &used) < 0)
		return;
	check(t, body, sizeof(body), used);
	iov_buf_init(&o);
	r = rpc_write_response(t, &id, body, used, &o);
	if (r != 0 && r != -34) /* ERANGE: a time that ROS cannot say */
		abort();
	iov_buf_finish(&o);
}

static void of_ros1(const struct sim_type *t, const uint8_t *data, size_t size)
{
	static _Alignas(64) uint8_t body[16384];
	size_t used = 0;
	struct iov_buf o;
	int r;

	if (rpc_read_ros1(t, data, size, body, sizeof(body), &used) < 0)
		return;
	check(t, body, sizeof(body), used);
	iov_buf_init(&o);
	r = rpc_write_ros1(t, body, used, &o);
	if ((r != 0 && r != -34) || (r == 0 && o.total != size))
		abort();
	iov_buf_finish(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_type *t = size ? type_of(data[0]) : NULL;

	if (!t)
		return 0;
	of_ros2(t, data + 1, size - 1);
	of_ros1(t, data + 1, size - 1);
	return 0;
}
