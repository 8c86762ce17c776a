/* SPDX-License-Identifier: Apache-2.0 */
/* `make demo BRIDGES=cyber,logging`: the whole demo to a cyber_bridge, which decodes every channel with protobuf-c and drives. */
#include "stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "fd.h"
#include "mem.h"

#define OUT "/tmp/out-demo"

static void run_demo(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (!freopen("/tmp/out.txt", "w", stdout))
			_exit(126);
		setenv("DEMO_DIR", OUT, 1);
		setenv("DEMO_SECONDS", "6", 1);
		setenv("BRIDGES", "cyber,logging", 1);
		execl("tools/dev/demo.sh", "demo.sh", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(stack_wait(pid), 0);
}

/* A line of its table for each channel, and under it the last message. */
static void check_channel(const char *text, const char *name, const char *type, const char *has)
{
	char begin[100];
	const char *line, *last;

	snprintf(begin, sizeof(begin), "\n%-36s %-40s ", name, type);
	line = strstr(text, begin);
	if (!line)
		fail_msg("%s is not there as %s:\n%s", name, type, text);
	last = strchr(line + 1, '\n');
	if (!last || strncmp(last, "\n    last: {", 12) != 0)
		fail_msg("%s was not read:\n%s", name, text);
	*strchr((char *)last + 1, '\n') = '\0';
	if (!strstr(last, has))
		fail_msg("%s has no \"%s\": %s", name, has, last);
	*strchr((char *)last + 1, '\0') = '\n';
}

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		n++;
	return n;
}

/* But what Apollo has no message for: the peer knows Apollo's alone. */
TEST_WITH(every_channel_of_the_demo_is_decoded, NULL, stack_sweep)
{
	static const char *const rows[][3] = {
		{ "/clock", "apollo.cyber.proto.Clock", "clock: " },
		{ "/lidar/top", "apollo.drivers.PointCloud", "point[" },
		{ "/lidar/front", "apollo.drivers.PointCloud", "frame_id: \"lidar_front\"" },
		{ "/tf", "apollo.transform.TransformStampeds", "child_frame_id: \"base_link\"" },
		{ "/tf_static", "apollo.transform.TransformStampeds", "transforms[" },
		{ "/apollo/sensor/gnss/imu", "apollo.drivers.gnss.Imu", "linear_acceleration: {" },
		{ "/apollo/sensor/gnss/best_pose", "apollo.drivers.gnss.GnssBestPose", "sol_status: SOL_COMPUTED" },
		{ "/apollo/sensor/gnss/odometry", "apollo.localization.Gps", "position: {" },
		{ "/apollo/canbus/chassis", "apollo.canbus.Chassis", "gear_location: GEAR_DRIVE" },
		{ "/apollo/perception/obstacles", "apollo.perception.PerceptionObstacles", "perception_obstacle[" },
		{ "/apollo/perception/obstacles", "apollo.perception.PerceptionObstacles",
		  "position: { x: 691" }, /* in UTM, as the vehicle */
		{ "/apollo/sensor/gnss/odometry", "apollo.localization.Gps", "position: { x: 691" },
		{ "/apollo/perception/traffic_light", "apollo.perception.TrafficLightDetection", "traffic_light[" },
	};
	char *text = NULL, *out = NULL;
	size_t n;

	run_demo();
	assert_int_equal(fd_read_file(OUT "/cyber-peer.txt", 1 << 20, &text, &n), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_channel(text, rows[i][0], rows[i][1], rows[i][2]);
	if (strstr(text, "fault: ") || count(text, "not readable") != count(text, " sim_msgs.") ||
	    strstr(text, "\n0 commands"))
		fail_msg("%s", text);
	assert_int_equal(fd_read_file("/tmp/out.txt", 1 << 20, &out, &n), 0);
	assert_non_null(strstr(out, "what the peer of cyber has decoded:\nchannel "));
	mem_free(text);
	mem_free(out);
}
