/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels that ROS 2 does not take as they are called: they get an automatic name, or are taken off that bridge, and
 * their messages succeed with the bridges that are left.
 */
#include "peer.h"
#include "stack.h"

#define CONF(names) \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"ros\",\"plugin\":\"ros2\",\"options\":{\"ros_distro\":\"humble\",\"names\":\"" names "\"}}," \
	"{\"name\":\"count\",\"plugin\":\"null\"}]}]"

static const char channel[] = "/car/radar/0";

static pid_t start(const char *conf)
{
	pid_t simd = stack_start(conf);

	AWAIT(!strcmp(stack_bridge_text("ros", "status"), "connected") &&
	      !strcmp(stack_bridge_text("count", "status"), "connected"));
	return simd;
}

/* A hundred messages, the first at once; then it waits. */
static int sensor(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");
	struct sim_publisher *pub = peer_advertise(p, c, channel, 64, 0);

	for (int i = 0; i < 100; i++) {
		PEER(p, peer_queue(p, pub, sizeof(struct sim_Ultrasonic), NULL) == 0);
		peer_settle(p);
	}
	atomic_store(&p->ready, 1);
	PEER_IDLE(p);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

static void has(const struct ctl_result *r, const char *text)
{
	if (!strstr(r->out, text))
		fail_msg("no \"%s\" in:\n%s%s", text, r->out, r->err);
}

static void has_not(const struct ctl_result *r, const char *text)
{
	if (strstr(r->out, text))
		fail_msg("\"%s\" in:\n%s", text, r->out);
}

static pid_t all_succeed(struct peer *p)
{
	pid_t pid = peer_fork(p, sensor);

	AWAIT(atomic_load(&p->ready) || atomic_load(&p->failed));
	assert_int_equal(p->accepted, 100);
	assert_int_equal(p->ok, 100);
	assert_int_equal(stack_bridge("count", "sent"), 100);
	assert_int_equal(stack_bridge("ros", "failed") + stack_bridge("ros", "dropped"), 0);
	return pid;
}

#define COMES \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\",\"inbound\":[\"gear\"],\"bridges\":[" \
	"{\"name\":\"ros\",\"plugin\":\"ros2\",\"channels\":[\"*\",\"/clock\"],\"options\":{\"ros_distro\":\"humble\",\"subscribe\":{" \
	"\"/control/gear_cmd\":{\"type\":\"autoware_vehicle_msgs/msg/GearCommand\",\"channel\":\"gear\"}}}}," \
	"{\"name\":\"count\",\"plugin\":\"null\"}]}]"

/* Inbound channels and /clock too: never the bare channel. */
TEST_WITH(inbound_channels_and_the_clock_show_topic_and_type, NULL, stack_sweep)
{
	pid_t simd = start(COMES);
	const struct ctl_result *r;

	AWAIT(strstr(stack_ctl("bridge", "info", "ros", NULL)->out, "  /clock ->"));
	r = stack_ctl("bridge", "info", "ros", NULL);
	has(r, "  /clock -> /clock, rosgraph_msgs/msg/Clock\n");
	has(r, "  /car/gear <- /control/gear_cmd, autoware_vehicle_msgs/msg/GearCommand\n");
	has_not(r, "  /car/gear\n");
	stack_stop(simd);
}

TEST_WITH(a_channel_without_a_valid_ros_name_gets_an_automatic_name, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = start(CONF("automatic")), pid = all_succeed(p);

	assert_int_equal(stack_bridge("ros", "sent"), 100);
	has(stack_ctl("info", channel, NULL), "bridges: ros count\n  ros: /car/radar/n0, ");
	has(stack_ctl("bridge", "info", "ros", NULL), "  /car/radar/0 -> /car/radar/n0, ");
	has(stack_ctl("bridge", "info", "count", NULL), "  /car/radar/0 -> /car/radar/0, ");
	assert_int_equal(stack_count(channel, "not a valid ROS name"), 1);
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

TEST_WITH(with_strict_names_the_channel_is_not_carried, NULL, stack_sweep)
{
	static const char shown[] = "not carried by ros: \"/car/radar/0\" is not the name of a topic";
	struct peer *p = peer_new();
	pid_t simd = start(CONF("strict")), pid = all_succeed(p);

	assert_int_equal(stack_bridge("ros", "attempted"), 0);
	has(stack_ctl("info", channel, NULL), "bridges: count\n  not carried by ros: \"/car/radar/0\" is not");
	has_not(stack_ctl("info", channel, NULL), "options.ros2");
	has(stack_ctl("bridge", "info", "ros", NULL), "  /car/radar/0 is not carried: \"/car/radar/0\" is not");
	has(stack_ctl("doctor", NULL), shown);
	assert_int_equal(stack_channel(channel, "messages"), 100);
	assert_int_equal(stack_count("is not the name of a topic", ""), 1); /* it is logged once */
	/* another process of that bridge is asked again, and says the same */
	assert_int_equal(stack_ctl("bridge", "restart", "ros", NULL)->code, 0);
	AWAIT(stack_count("is not the name of a topic", "") == 2);
	AWAIT(strstr(stack_ctl("info", channel, NULL)->out, "not carried by ros"));
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

/* Two channels, one automatic name: the second one is refused, and the sentence names both. */
static int two_sensors(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensors");
	struct sim_publisher *a = peer_advertise(p, c, "/radar/0", 64, 0), *b;

	PEER_AWAIT(p, atomic_load(&p->command));
	b = peer_advertise(p, c, "/radar/n0", 64, 0);
	atomic_store(&p->ready, 1);
	PEER_IDLE(p);
	sim_publisher_destroy(a);
	sim_publisher_destroy(b);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(an_automatic_name_is_not_shared, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = start(CONF("automatic")), pid = peer_fork(p, two_sensors);

	/* what a bridge carries is known before there is a message */
	AWAIT(strstr(stack_ctl("bridge", "info", "ros", NULL)->out, "/radar/0 -> /radar/n0"));
	peer_tell(p, 1);
	AWAIT(strstr(stack_ctl("bridge", "info", "ros", NULL)->out,
		     "/radar/n0 is not carried: it would be published as /radar/n0, like channel /radar/0"));
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

/* Each bridge that has topics of SVL Simulator may have its mistakes, and no other's. */
TEST(invalid_compat_options_are_reported)
{
	static const char *const argv[] = { "simd", "--rig", "/tmp/rig.json", "--check-config", NULL };
	static const char *const plugins[] = { "ros1", "ros2", "rosbridge", "lgsvl" };

	for (unsigned i = 0; i < 8; i++) {
		const struct ctl_result *r;
		FILE *f = fopen("/tmp/rig.json", "w");

		assert_non_null(f);
		fprintf(f,
			"{\"name\":\"car\",\"bridges\":[{\"name\":\"ros\",\"plugin\":\"%s\",\"options\":{\"compat\":\"%s\"}}]}",
			plugins[i / 2], i % 2 ? "svl2021.3" : "svl2020");
		assert_int_equal(fclose(f), 0);
		r = stack_run(argv);
		assert_int_equal(r->code, i % 2 ? 0 : 1);
		if (i % 2 == 0)
			assert_non_null(strstr(
				r->err,
				"rigs[car].bridges[ros].options.compat: \"svl2020\" is not one of none, svl2021.3"));
	}
	assert_int_equal(remove("/tmp/rig.json"), 0);
}

/* The bridge's options are checked without a start. */
TEST(invalid_name_options_are_reported)
{
	static const char *const argv[] = { "simd", "--rig", "/tmp/rig.json", "--check-config", NULL };
	const struct ctl_result *r;
	FILE *f = fopen("/tmp/rig.json", "w");

	assert_non_null(f);
	fputs("{\"name\":\"car\",\"bridges\":[{\"name\":\"ros\",\"plugin\":\"ros2\",\"options\":{\"ros_distro\":\"humble\","
	      "\"names\":\"odd\",\"node\":\"a-b\"}}]}",
	      f);
	assert_int_equal(fclose(f), 0);
	r = stack_run(argv);
	assert_int_equal(r->code, 1);
	assert_non_null(
		strstr(r->err, "rigs[car].bridges[ros].options.names: \"odd\" is not one of automatic, strict"));
	assert_non_null(strstr(r->err, "rigs[car].bridges[ros].options.node: \"a-b\" is not a ROS name"));
	assert_int_equal(remove("/tmp/rig.json"), 0);
}
