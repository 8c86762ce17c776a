/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the messages that ROS gets, where more than a mapping decides: the options of the bridge and what topics remember. */
#include "test.h"

#include <errno.h>
#include <sys/wait.h>

#include <sim/introspect.h>

#include "host.h"
#include "reader.h"
#include "ros/ros_type.h"

#define LIGHTS "/perception/traffic_signals"

/* Exits with 0 once the writer of the lights has this hash. */
static pid_t start_hash_reader(const char *hash)
{
	char type[128], data[256], want[128];
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(60);
	snprintf(want, sizeof(want), "typehash=%s;", hash);
	if (reader_discover(reader_participant(), "rt" LIGHTS, type, data) < 0)
		_exit(1);
	if (strcmp(type, "autoware_perception_msgs::msg::dds_::TrafficLightGroupArray_") || strcmp(data, want)) {
		fprintf(stderr, "observer: %s has %s\n", type, data);
		_exit(1);
	}
	_exit(0);
}

static void expect_lights(const char *autoware, const char *hash)
{
	const char *const options[] = { "ros_distro", "jazzy", "autoware_msgs", autoware, NULL };
	pid_t observer = start_hash_reader(hash);
	static struct host h;
	struct sim_bridge *b;
	int status = -1;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	host_open(&h, b, LIGHTS, sim_type_builtin("sim/TrafficSignals"),
		  "{\"ros2\":{\"type\":\"autoware_perception_msgs/msg/TrafficLightGroupArray\"}}");
	assert_int_equal(waitpid(observer, &status, 0), observer);
	assert_int_equal(status, 0);
	h.ops->destroy(b);
}

TEST(lights_have_the_form_of_the_autoware_that_is_there)
{
	expect_lights("1.8", ros_type_find(ros2_types, "autoware_perception_msgs/TrafficLightGroupArray")->hash);
	expect_lights("1.7", "RIHS01_53846913117691b918344f9fc9ba73405bbaea537773324d3144af0f0974b1cf");
}

TEST(another_autoware_is_refused)
{
	static const char *const options[] = { "ros_distro", "jazzy", "autoware_msgs", "1.9", NULL };
	static struct host h;
	struct sim_bridge *b = NULL;

	host_init(&h, PLUGIN, options);
	assert_int_equal(h.ops->create(&h.host, &b), -EINVAL);
	assert_non_null(strstr(h.log, "options.autoware_msgs: \"1.9\" is not 1.8"));
}

TEST_PROCESSES()
