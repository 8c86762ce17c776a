/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rig for Autoware.AI, config/rigs/autoware_ai.json, as a user has it, with a real master: one simulator that
 * publishes on every channel, and rospy, which must find exactly the rig's topics, and decode the messages by the
 * definitions sent over the wire; then commands, which must reach the vehicle. topics_autoware_ai.json lists the
 * messages sent and expected.
 */
#include "rig.h"
#include "ros_master.h"

#define LOOK "/usr/bin/python3 tests/system/ros1/topics.py /simulator tests/system/stack/topics_autoware_ai.json "

static int start(void **state)
{
	(void)state;
	ros_master_start();
	return rig_start("autoware_ai", "autoware_ai", NULL);
}

static int stop(void **state)
{
	ros_master_kill();
	return rig_stop(state);
}

static void check_peer(struct peer *p)
{
	if (atomic_load(&p->failed))
		fail_msg("%s", p->why);
}

TEST_WITH(topics_are_those_of_autoware_ai, start, stop)
{
	struct peer *p = peer_new();
	pid_t simulator = peer_fork(p, rig_simulate);
	const char *text;
	int code;

	text = ros_output(LOOK "look", &code);
	check_peer(p);
	if (code)
		fail_msg("%s", text);
	peer_join(p, simulator);
	assert_int_equal(stack_bridge("ros1", "failed"), 0);
	peer_free(p);
	stack_stop(rig_simd);
}

TEST_WITH(control_commands_reach_the_vehicle, start, stop)
{
	struct peer *p = peer_new();
	pid_t vehicle = peer_fork(p, rig_drive), autoware = fork();

	if (autoware == 0) {
		execl("/bin/sh", "sh", "-c", "exec " LOOK "command >/tmp/out-command.log 2>&1", (char *)NULL);
		_exit(127);
	}
	AWAIT(atomic_load(&p->failed) || atomic_load(&p->received) == rig_count("commands"));
	kill(autoware, SIGKILL);
	stack_wait(autoware);
	check_peer(p);
	peer_join(p, vehicle);
	peer_free(p);
	stack_stop(rig_simd);
}

TEST_GROUP(ros_master_group, NULL)
