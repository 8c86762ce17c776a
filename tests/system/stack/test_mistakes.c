/* SPDX-License-Identifier: Apache-2.0 */
/* simctl: names with a mistake in them, a socket that is none, commands that are interrupted. */
#include "stack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <sim/msg/Imu.h>
#include <sim/sim.h>
#include <sim/srv/SetBool.h>

#define CONF \
	"\"TimeSource\":\"simulation\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\"," \
	"\"bridges\":[{\"name\":\"null\",\"plugin\":\"null\"}]," \
	"\"processes\":[{\"name\":\"radar\",\"command\":[\"sleep\",\"infinity\"]}]}]"
#define OUT "/tmp/out"

static pid_t simd, sensor;
static struct sim_client *client;

static int setup(void **state)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "tester", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	(void)state;
	simd = stack_start(CONF);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(sim_connect(&o, &client), 0);
	return 0;
}

static int teardown(void **state)
{
	sim_disconnect(client);
	return stack_sweep(state);
}

static void says(const struct ctl_result *r, int code, const char *sentence)
{
	if (r->code != code || !strstr(r->err, sentence))
		fail_msg("code %d, \"%s\" instead of %d, \"%s\"", r->code, r->err, code, sentence);
}

static int on_call(void *user, struct sim_request *req)
{
	(void)user;
	(void)req;
	return -EIO;
}

TEST_WITH(a_name_that_is_near_is_named, setup, teardown)
{
	struct sim_publisher *p;
	struct sim_service *service;

	assert_int_equal(sim_advertise(client, "/car/lidar/top", &sim_Imu_type, NULL, &p), 0);
	assert_int_equal(sim_service_offer(client, "/car/arm", &sim_SetBool_service, NULL, on_call, NULL, &service), 0);
	says(stack_ctl("echo", "/car/lidar/tpo", "--once", NULL), 1, "; did you mean /car/lidar/top?\n");
	says(stack_ctl("info", "top", NULL), 1, "; did you mean /car/lidar/top?\n");
	says(stack_ctl("delay", "/lidar/top", "-n", "1", NULL), 1, "; did you mean /car/lidar/top?\n");
	says(stack_ctl("info", "foo", NULL), 1, "; `simctl list` shows those there are\n");
	says(stack_ctl("list", "lidar/top", NULL), 0,
	     "no channel is called like \"lidar/top\"; did you mean /car/lidar/top?\n");
	says(stack_ctl("graph", "tpo", NULL), 0, "`simctl list` shows those there are\n");
	says(stack_ctl("bridge", "info", "nul", NULL), 1, "; did you mean null?\n");
	says(stack_ctl("bridge", "restart", "nul", NULL), 1, "; did you mean null?\n");
	says(stack_ctl("process", "restart", "rader", NULL), 1, "; did you mean radar?\n");
	says(stack_ctl("service", "call", "arn", NULL), 1, "; did you mean /car/arm?\n");
	says(stack_ctl("clock", "source", "simulatoin", NULL), 1, "; did you mean simulation?\n");
	says(stack_ctl("clock", "source", "sundial", NULL), 1,
	     "; there are unity, ss2, system, simulation, ros2, link, and as plug-ins play\n");
}

TEST_WITH(a_type_that_is_near_is_named, setup, teardown)
{
	static const char *const names[] = { "sim/Imuu", "Imu", "sim/msg/Imu", "sensor_msgs/Imu",
					     "sensor_msgs/msg/Imu" };
	struct sim_publisher *p;

	assert_int_equal(sim_advertise(client, "/car/motion", &sim_Imu_type, NULL, &p), 0);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		says(stack_ctl("type", "show", names[i], NULL), 1, "; did you mean sim/Imu?\n");
		says(stack_ctl("pub", "/u", "{}", "-t", names[i], NULL), 1, "; did you mean sim/Imu?\n");
		says(stack_ctl("find", names[i], NULL), 1, "; did you mean sim/Imu?\n");
		says(stack_ctl("list", "--type", names[i], NULL), 0, "; did you mean sim/Imu?\n");
	}
	says(stack_ctl("type", "show", "sensor_msgs/msg/PointCloud2", NULL), 1, "; did you mean sim/PointCloud?\n");
	says(stack_ctl("type", "show", "apollo.drivers.PointCloud", NULL), 1, "; did you mean sim/PointCloud?\n");
	says(stack_ctl("type", "show", "apollo.localization.CorrectedImu", NULL), 1,
	     "; did you mean sim/CorrectedImu?\n");
	says(stack_ctl("type", "show", "motion", NULL), 0, ""); /* a channel's */
	says(stack_ctl("type", "show", "own/Foo", NULL), 1, "; `simctl type list` shows those there are\n");
	says(stack_ctl("record", "--types", "sensor_msgs/msg/Imu", "--strict", "-o", "/tmp/x.mcap", NULL), 1,
	     "no channel matches 'sensor_msgs/msg/Imu' yet; one that appears later is recorded; did you mean sim/Imu?\n");
	says(stack_ctl("record", "moton", "--strict", "-o", "/tmp/x.mcap", NULL), 1, "; did you mean /car/motion?\n");
	assert_non_null(strstr(stack_ctl("type", "list", NULL)->out, "\nsim/Imu                sensor_msgs/Imu "));
	assert_non_null(strstr(stack_ctl("type", "list", "--names", NULL)->out, "\nsim/Image\nsim/Imu\n"));
	stack_stop(simd);
	says(stack_ctl("type", "show", "sensor_msgs/msg/Imu", NULL), 1, "; did you mean sim/Imu?\n");
	says(stack_ctl("type", "show", "own/Foo", NULL), 1, "no simd at ");
}

TEST_WITH(a_socket_that_is_none_is_named, setup, teardown)
{
	static const char *const what[][2] = { { STACK_CONF, " is a plain file, not a socket: " },
					       { "/tmp", " is a directory, not a socket: " },
					       { STACK_CONF "/x", ": Not a directory: " },
					       { "/tmp/nothing", "no simd at /tmp/nothing: " } };

	for (unsigned i = 0; i < 4; i++) {
		says(stack_ctl("--socket", what[i][0], "list", NULL), 1, what[i][1]);
		says(stack_ctl("--socket", what[i][0], "list", NULL), 1, "(SIMD_SOCKET)\n");
	}
	assert_non_null(
		strstr(stack_ctl("version", "--socket", STACK_CONF, NULL)->out, " is a plain file, not a socket"));
	stack_kill(simd);
	says(stack_ctl("list", NULL), 1, "that simd has ended; start it again\n");
}

/* sensor_minimal: 100 Hz of /car/my_imu */
static void start_sensor(void)
{
	const char *b = getenv("B");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/examples/sensor_minimal", b ? b : "build");
	fflush(NULL);
	sensor = fork();
	if (sensor == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	AWAIT(strstr(stack_ctl("list", "--names", NULL)->out, "/car/my_imu\n"));
}

/* The wait status of a command that is sent that signal when it has begun to print. */
static int ended_by(int sig, const char *command, const char *const *args)
{
	struct stat st;
	pid_t pid;

	(void)unlink(OUT);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(open(OUT, O_CREAT | O_WRONLY, 0600), STDOUT_FILENO);
		stack_exec_ctl(command, args);
	}
	AWAIT(stat(OUT, &st) == 0 && st.st_size > 0);
	assert_int_equal(kill(pid, sig), 0);
	return stack_wait(pid);
}

/* As a shell knows it of whatever is interrupted; a recording, which ends so in order, has a code of its own. */
TEST_WITH(what_is_interrupted_ends_with_130, setup, teardown)
{
	static const char *const commands[][5] = {
		{ "echo", "my_imu" },
		{ "echo", "my_imu", "-n", "1000000" },
		{ "plot", "my_imu.linear_acceleration.z", "--csv" },
		{ "trace", "my_imu", "--watch" },
		{ "hz", "my_imu", "-w", "10ms" },
		{ "bw", "my_imu", "-w", "10ms" },
		{ "delay", "my_imu", "-w", "10ms" },
		{ "top", "--batch" },
		{ "list", "--watch" },
		{ "graph", "--watch" },
		{ "clock", "status", "--watch" },
		{ "bridge", "list", "--watch" },
		{ "ps", "--watch" },
	};
	const char *const record[] = { "-o", "/tmp/x.mcap", NULL };

	start_sensor();
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		const int status = ended_by(SIGINT, commands[i][0], &commands[i][1]);

		if (!WIFEXITED(status) || WEXITSTATUS(status) != 130)
			fail_msg("%s %s: %x", commands[i][0], commands[i][1], (unsigned)status);
	}
	assert_int_equal(ended_by(SIGTERM, "echo", &commands[0][1]), 0);
	assert_int_equal(ended_by(SIGINT, "record", record), 0);
	kill(sensor, SIGKILL);
	stack_wait(sensor);
}
