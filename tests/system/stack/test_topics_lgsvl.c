/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rig for installations of lgsvl_bridge, config/rigs/svl_lgsvl.json, as a user has it: the topics, types and values of
 * topics_svl.json, which also test_topics.c has, and no others, as lgsvl_server.h is sent them; and commands the other way.
 */
#include "rig.h"

#include <stdlib.h>

#include "../../support/ros_tree.h"
#include "lgsvl_server.h"

TEST_PROCESSES()

static struct lgsvl_server *server;

static int start(void **state)
{
	char connection[32];

	(void)state;
	server = lgsvl_server_create(0);
	if (!server)
		return -1;
	snprintf(connection, sizeof(connection), "127.0.0.1:%u", lgsvl_server_port(server));
	return rig_start("svl_lgsvl", "svl", connection);
}

static int stop(void **state)
{
	if (server)
		lgsvl_server_destroy(server);
	server = NULL;
	return rig_stop(state);
}

/* "sensor_msgs/msg/Imu" as the peer has it. */
static const char *short_type(json_t *row)
{
	static char name[128];
	const char *type = rig_text(row, "type"), *slash = strchr(type, '/');

	snprintf(name, sizeof(name), "%.*s%s", (int)(slash - type), type, strrchr(type, '/'));
	return name;
}

static void check_topic(json_t *row)
{
	const char *topic = rig_text(row, "topic");
	static uint8_t data[65536];
	char why[640];
	json_t *got;
	size_t len;
	int n;

	AWAIT(lgsvl_server_heard(server, 2, topic, short_type(row)) && lgsvl_server_count(server, topic) > 0);
	len = lgsvl_server_last(server, topic, data, sizeof(data));
	got = len > sizeof(data) ? NULL
				 : ros_tree_read_lgsvl(ros_type_find(ros2_types, rig_text(row, "type")), data, len);
	if (!got)
		fail_msg("%s: %zu bytes are not of its definition", topic, len);
	n = snprintf(why, sizeof(why), "%s: ", topic);
	if (ros_tree_compare(json_object_get(row, "message"), got, why + n, sizeof(why) - (size_t)n) < 0)
		fail_msg("%s", why);
	json_decref(got);
}

/* Each line of the server's list begins with a topic. */
static void check_that_there_are_no_others(void)
{
	static char text[65536];
	char *next = text, *line;

	lgsvl_server_list(server, text, sizeof(text));
	while ((line = strsep(&next, "\n"))) {
		line[strcspn(line, " ")] = '\0';
		if (*line && strcmp(line, "/clock") != 0 && !rig_row_of("topics", line) &&
		    !rig_row_of("commands", line))
			fail_msg("%s is none of the rig's topics", line);
	}
}

static void commands(void)
{
	static uint8_t data[65536];

	for (size_t i = 0; i < rig_count("commands"); i++)
		AWAIT(lgsvl_server_heard(server, 1, rig_text(rig_row("commands", i), "topic"),
					 short_type(rig_row("commands", i))));
	for (size_t i = 0; i < rig_count("commands"); i++) {
		json_t *row = rig_row("commands", i);
		size_t len = ros_tree_write_lgsvl(ros_type_find(ros2_types, rig_text(row, "type")),
						  json_object_get(row, "message"), data, sizeof(data));

		assert_true(len > 0);
		lgsvl_server_publish(server, rig_text(row, "topic"), data, (uint32_t)len);
	}
}

TEST_WITH(all_topics_arrive_and_all_commands_are_obeyed, start, stop)
{
	struct peer *p = peer_new(), *q = peer_new();
	pid_t simulator = peer_fork(p, rig_simulate), vehicle = peer_fork(q, rig_drive);

	for (size_t i = 0; i < rig_count("topics"); i++)
		check_topic(rig_row("topics", i));
	AWAIT(lgsvl_server_count(server, "/clock") > 0);
	commands();
	AWAIT(atomic_load(&p->failed) || atomic_load(&q->failed) || atomic_load(&q->received) == rig_count("commands"));
	if (atomic_load(&p->failed) || atomic_load(&q->failed))
		fail_msg("%s", atomic_load(&p->failed) ? p->why : q->why);
	check_that_there_are_no_others();
	assert_int_equal(stack_bridge(rig_bridge, "failed") + stack_bridge(rig_bridge, "dropped"), 0);
	peer_join(q, vehicle);
	peer_join(p, simulator);
	stack_stop(rig_simd);
	assert_string_equal(lgsvl_server_fault(server), "");
	peer_free(p);
	peer_free(q);
}
