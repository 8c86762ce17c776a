/* SPDX-License-Identifier: Apache-2.0 */
/* A call that simd was too slow to answer after its restart is repeated: it is not treated as refused. */
#include "scenario/client/imu.h"
#include "libclient/src/publisher.h"

#include <errno.h>

WORLD_FIXTURE(1, "");
static int unanswered;

/* The linker calls this instead of the library's function. */
int __real_pub_reg_create(struct sim_publisher *p, struct session *s, struct attachment *l, struct pub_reg *prior,
			  struct pub_reg **ret);
int __wrap_pub_reg_create(struct sim_publisher *p, struct session *s, struct attachment *l, struct pub_reg *prior,
			  struct pub_reg **ret);
int __wrap_pub_reg_create(struct sim_publisher *p, struct session *s, struct attachment *l, struct pub_reg *prior,
			  struct pub_reg **ret)
{
	if (unanswered > 0)
		return unanswered--, -ETIMEDOUT;
	return __real_pub_reg_create(p, s, l, prior, ret);
}

TEST_WITH(a_publisher_that_had_no_answer_asks_again, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0);
	struct sim_publisher *p = imu_advertise(c, "imu", 0);

	world_kill_simd(&w);
	world_until(&w, c, SIM_CLIENT_RECONNECTING);
	unanswered = 3;
	world_start_simd(&w);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	assert_int_equal(unanswered, 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(s, 1);
	assert_int_equal(sim_try_queue(p, imu_loan(p), NULL, NULL, NULL), 0);
	sim_publisher_destroy(p);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
}
