/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rig for Apollo over ROS, config/rigs/apollo_ros.json, as a user has it: the topics, types and values of topics_apollo_ros.json and
 * no others, as rosbridge_server.h is sent them; and the command the other way.
 */
#include "rig.h"

#include <stdlib.h>

#include "../../support/ros_tree.h"
#include "rosbridge_server.h"

TEST_PROCESSES()

static struct rosbridge_server *server;

static int start(void **state)
{
	char connection[40];

	(void)state;
	server = rosbridge_server_create(0, NULL);
	if (!server)
		return -1;
	snprintf(connection, sizeof(connection), "ws://127.0.0.1:%u", rosbridge_server_port(server));
	return rig_start("apollo_ros", "apollo_ros", connection);
}

static int stop(void **state)
{
	if (server)
		rosbridge_server_destroy(server);
	server = NULL;
	return rig_stop(state);
}

/* Fields that count messages may have any value. */
static void forget_counts(json_t *j)
{
	const char *key;
	json_t *v;
	size_t i;

	json_object_del(j, "seq");
	json_object_del(j, "sequence_num");
	json_object_del(j, "meas_counter");
	json_object_foreach(j, key, v)
		forget_counts(v);
	json_array_foreach(j, i, v)
		forget_counts(v);
}

static void check_topic(json_t *row)
{
	const char *topic = rig_text(row, "topic");
	char why[640];
	json_t *all, *got;
	int n;

	AWAIT(rosbridge_server_heard(server, "advertise", topic, "type", rig_text(row, "type")) &&
	      rosbridge_server_count(server, "publish", topic) > 0);
	all = rosbridge_server_last(server, "publish", topic);
	got = json_object_get(all, "msg");
	forget_counts(got);
	n = snprintf(why, sizeof(why), "%s: ", topic);
	if (ros_tree_compare(json_object_get(row, "message"), got, why + n, sizeof(why) - (size_t)n) < 0)
		fail_msg("%s", why);
	json_decref(all);
}

/* Each line of the server's list is an operation, a topic, and more. */
static void check_that_there_are_no_others(void)
{
	static char text[65536];
	char *next = text, *line, topic[128];

	rosbridge_server_list(server, text, sizeof(text));
	while ((line = strsep(&next, "\n")))
		if (sscanf(line, "%*s %127s", topic) == 1 && strcmp(topic, "/clock") != 0 &&
		    !rig_row_of("topics", topic) && !rig_row_of("commands", topic))
			fail_msg("%s is none of the rig's topics", topic);
}

static void command(json_t *row)
{
	json_t *j;
	char *text;

	AWAIT(rosbridge_server_heard(server, "subscribe", rig_text(row, "topic"), "type", rig_text(row, "type")));
	j = json_pack("{ss,sO,ss}", "op", "publish", "msg", json_object_get(row, "message"), "topic",
		      rig_text(row, "topic"));
	text = json_dumps(j, JSON_COMPACT);
	rosbridge_server_text(server, text);
	free(text);
	json_decref(j);
}

TEST_WITH(all_topics_arrive_and_all_commands_are_obeyed, start, stop)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t simulator = peer_fork(p, rig_simulate), vehicle = peer_fork(q, rig_drive);

	for (size_t i = 0; i < rig_count("topics"); i++)
		check_topic(rig_row("topics", i));
	AWAIT(rosbridge_server_count(server, "publish", "/clock") > 0);
	for (size_t i = 0; i < rig_count("commands"); i++)
		command(rig_row("commands", i));
	AWAIT(atomic_load(&p->failed) || atomic_load(&q->failed) || atomic_load(&q->received) == rig_count("commands"));
	if (atomic_load(&p->failed) || atomic_load(&q->failed))
		fail_msg("%s", atomic_load(&p->failed) ? p->why : q->why);
	check_that_there_are_no_others();
	assert_int_equal(stack_bridge(rig_bridge, "failed"), 0);
	peer_join(q, vehicle);
	peer_join(p, simulator);
	stack_stop(rig_simd);
	assert_string_equal(rosbridge_server_fault(server), "");
	peer_free(p);
	peer_free(q);
}
