/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bridges and processes that can never start are abandoned, and shown as such; after they are repaired they can be
 * started again.
 */
#include "stack.h"

#include <sched.h>
#include <string.h>

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"process\":{\"restart_ms\":10},\"rigs\":[{\"name\":\"car\"," \
	"\"bridges\":[{\"name\":\"typo\",\"plugin\":\"null\",\"options\":{\"colour\":\"red\"}}]," \
	"\"processes\":[{\"name\":\"gone\",\"command\":[\"/no/such/program\"]}," \
	"{\"name\":\"brief\",\"command\":[\"false\"]}]}]"

TEST_WITH(processes_that_cannot_start_are_abandoned, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF);
	const struct ctl_result *r;

	AWAIT(!strcmp(stack_bridge_text("typo", "status"), "permanent"));
	assert_non_null(strstr(stack_bridge_text("typo", "detail"), "options.colour"));
	assert_int_equal(stack_bridge("typo", "restarts"), 2);
	AWAIT(stack_count("gone", "is not started again after 3 failed starts (process.give_up): permanent: ") == 1);
	AWAIT(stack_count("brief exited", "restarting it") > 5); /* that may mend itself */
	assert_int_equal(stack_count("typo", "is not started again"), 1);
	r = stack_ctl("doctor", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->out, "typo: permanent: options.colour"));
	assert_non_null(strstr(r->out, "gone: permanent: "));
	assert_null(strstr(r->out, "brief: permanent"));
	assert_int_equal(stack_ctl("bridge", "restart", "typo", NULL)->code, 0);
	AWAIT(stack_count("typo", "is not started again") == 2);
	assert_int_equal(stack_ctl("process", "restart", "gone", NULL)->code, 0);
	AWAIT(stack_count("gone", "is not started again") == 2);
	r = stack_ctl("process", "restart", "typo", NULL); /* a bridge */
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "no rig has a process \"typo\""));
	stack_stop(simd);
}

#define FAR \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"process\":{\"restart_ms\":10},\"rigs\":[{\"name\":\"car\",\"bridges\":[{" \
	"\"name\":\"far\",\"plugin\":\"ros2\",\"options\":{\"localhost\":false}}]}]"

/* Nothing but a loopback that is down: the status itself says so, as the log does. */
TEST_WITH(a_bridge_without_a_network_shows_that, NULL, stack_sweep)
{
	const struct ctl_result *r;
	pid_t simd;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	simd = stack_start(FAR);
	AWAIT(strstr(stack_bridge_text("far", "detail"), "no network interface with an IPv4 address is up"));
	r = stack_ctl("bridge", "list", NULL);
	assert_non_null(strstr(r->out, "no network interface with an IPv4 address is up"));
	stack_stop(simd);
}
