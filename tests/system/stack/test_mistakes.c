/* SPDX-License-Identifier: Apache-2.0 */
/* simctl: names with a mistake in them, a path that is no socket, commands that are interrupted. */
#include "stack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sim/msg/Imu.h>
#include <sim/sim.h>
#include <sim/srv/SetBool.h>
#include <sim/srv/Trigger.h>

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

TEST_WITH(a_similar_name_is_suggested, setup, teardown)
{
	struct sim_publisher *p;
	struct sim_service *service;

	assert_int_equal(sim_advertise(client, "/car/lidar/top", &sim_Imu_type, NULL, &p), 0);
	assert_int_equal(sim_service_offer(client, "/car/arm", &sim_SetBool_service, NULL, on_call, NULL, &service), 0);
	says(stack_ctl("echo", "/car/lidar/tpo", "--once", NULL), 1, "; did you mean /car/lidar/top?\n");
	says(stack_ctl("echo", "/car/lidar/top.linear_acceleration.x", "--once", NULL), 1,
	     "simctl: no channel is called \"/car/lidar/top.linear_acceleration.x\"; did you mean `simctl echo "
	     "/car/lidar/top --field 'linear_acceleration.x'`?\n");
	says(stack_ctl("echo", "lidar/top.colour", "--once", NULL), 1,
	     "top.colour: no client has published a channel of that name");
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

TEST_WITH(a_similar_type_is_suggested, setup, teardown)
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

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/*
 * Grouped by package, as there are many; the list of types still has only those that channels may have. Needs no simd.
 */
TEST_WITH(messages_of_ros_are_listed_by_package_and_by_name, setup, teardown)
{
	const struct ctl_result *r;

	assert_non_null(strstr(stack_ctl("type", "list", NULL)->out,
			       " messages of ROS by their names: simctl type list --ros\n"));
	assert_null(strstr(stack_ctl("type", "list", "--names", NULL)->out, "nav_msgs"));
	stack_stop(simd);
	r = stack_ctl("type", "list", "--ros", NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "\nnav_msgs "));
	assert_non_null(strstr(r->out, "Humble 4.2.4"));
	assert_in_range(lines_of(r->out), 60, 100);
	r = stack_ctl("type", "list", "--ros", "nav_msgs", NULL);
	assert_non_null(strstr(r->out, "\nnav_msgs/msg/Path "));
	assert_non_null(strstr(r->out, "\nnav_msgs/srv/GetMap_Request "));
	assert_non_null(strstr(r->out, "\nnav_msgs/msg/GetMapGoal            ROS 1 "));
	assert_int_equal(lines_of(r->out), 1 + 20); /* as schemas/ros/README.md has it */
	r = stack_ctl("type", "list", "--ros", "--names", "tf*/*Message", NULL);
	assert_string_equal(r->out, "tf/msg/tfMessage\ntf2_msgs/msg/TFMessage\n");
	r = stack_ctl("type", "list", "--ros", "--json", "*/msg/NavSatFix", NULL);
	assert_string_equal(
		r->out,
		"{\"types\":[{\"name\":\"sensor_msgs/msg/NavSatFix\",\"release\":\"Humble 4.2.4\",\"simd\":\"sim/Gps\"}]}\n");
	says(stack_ctl("type", "list", "--ros", "nav_msg", NULL), 1,
	     "simctl: no message of ROS that is known by name matches 'nav_msg'; did you mean nav_msgs?\n");
	says(stack_ctl("type", "list", "nav_msgs", NULL), 2, "simctl: a pattern is for --ros\n");
}

TEST_WITH(a_path_that_is_not_a_socket_is_named, setup, teardown)
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
	says(stack_ctl("list", NULL), 1, "simd has ended; start it again\n");
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

/*
 * The exit code that a shell gives any interrupted command; a recording, which ends in an orderly way, has a code of
 * its own.
 */
TEST_WITH(an_interrupted_command_exits_with_130, setup, teardown)
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

/* ---- what waits ---- */

#define PIPE "/tmp/nothing.fifo" /* without a writer */

/* Its handlers are there, and it sleeps; or it has ended, which it should not have. */
static bool waits(pid_t pid)
{
	char path[64], line[256];
	unsigned long caught = 0;
	siginfo_t ended = { 0 };
	FILE *f;

	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
	if (ended.si_pid)
		return true;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "SigCgt: %lx", &caught);
	if (f)
		fclose(f);
	return caught >> (SIGTERM - 1) & 1 && stack_threads(pid, "simctl", "S") > 0;
}

/* No event shows that the command waits, so the signal comes at any moment. */
static void ends_with_130(const char *const *command, bool silent)
{
	int err[2], status;
	char said[4096];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(open(PIPE, O_RDWR), STDIN_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		stack_exec_ctl(command[0], &command[1]);
	}
	close(err[1]);
	AWAIT(waits(pid));
	moment_us(20000);
	assert_int_equal(kill(pid, SIGINT), 0);
	status = stack_wait(pid);
	n = read(err[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = '\0';
	close(err[0]);
	/* where it waits for simd alone a sentence would be that of its time-out */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 130 || (silent && n > 0))
		fail_msg("%s %s: %x, \"%s\"", command[0], command[1] ? command[1] : "", (unsigned)status, said);
}

static int never(void *user, struct sim_request *req)
{
	struct sim_pending *p;

	(void)user;
	(void)req;
	return sim_service_defer(client, &p);
}

/* Each would wait for ever: there is no publisher, subscriber, provider or driver. */
TEST_WITH(an_interrupted_command_that_waits_exits_with_130, setup, teardown)
{
	static const char *const commands[][8] = {
		{ "echo", "/car/silent" },
		{ "echo", "/car/silent", "--once" },
		{ "snapshot", "/car/silent", "--timeout", "1h" },
		{ "plot", "/car/silent.linear_acceleration.z", "--csv" },
		{ "trace", "/car/silent", "-n", "1" },
		{ "trace", "/car/silent", "-w", "1h" },
		{ "hz", "/car/silent", "-w", "1h" },
		{ "bw", "/car/silent", "-w", "1h" },
		{ "delay", "/car/silent", "-w", "1h" },
		{ "top", "--batch", "-w", "1h" },
		{ "top", "--json", "-w", "1h" },
		{ "pub", "/unheard", "-t", "sim/Imu" },
		{ "pub", "/unheard", "{}", "-t", "sim/Imu", "--wait" },
		{ "pub", "/unheard", "{}", "-t", "sim/Imu", "-r", "0.001" },
		{ "service", "call", "/car/silent_arm", "--timeout", "1h" },
		{ "record", "--dump", "--name", "silent" },
	};
	struct sim_publisher *p;
	struct sim_service *arm, *dump;

	assert_int_equal(mkfifo(PIPE, 0600), 0);
	assert_int_equal(sim_advertise(client, "/car/silent", &sim_Imu_type, NULL, &p), 0);
	assert_int_equal(sim_service_offer(client, "/car/silent_arm", &sim_SetBool_service, NULL, never, NULL, &arm),
			 0);
	assert_int_equal(sim_service_offer(client, "/silent/dump", &sim_Trigger_service, NULL, never, NULL, &dump), 0);
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		ends_with_130(commands[i], false);
	assert_int_equal(unlink(PIPE), 0);
}

/* No call is waited for to its end. */
TEST_WITH(a_command_blocked_by_a_stopped_simd_exits_with_130, setup, teardown)
{
	static const char *const commands[][6] = {
		{ "list" },
		{ "list", "--watch" },
		{ "info", "/car/silent" },
		{ "echo", "/car/silent" },
		{ "pub", "/car/silent", "{}" },
		{ "snapshot", "/car/silent" },
		{ "plot", "/car/silent.position.x", "--csv" },
		{ "trace", "/car/silent" },
		{ "graph" },
		{ "find", "sim/Imu" },
		{ "hz", "/car/silent" },
		{ "bw", "/car/silent" },
		{ "delay", "/car/silent" },
		{ "clock", "status" },
		{ "clock", "pause" },
		{ "clock", "resume" },
		{ "clock", "step", "1s" },
		{ "clock", "scale", "1" },
		{ "clock", "source", "unity" },
		{ "bridge", "list" },
		{ "bridge", "info", "null" },
		{ "bridge", "restart", "null" },
		{ "bridge", "connect", "null", "there" },
		{ "process", "restart", "radar" },
		{ "service", "list" },
		{ "service", "call", "/car/arm" },
		{ "node", "list" },
		{ "node", "info", "/car/node" },
		{ "param", "list" },
		{ "param", "get", "/car/node", "rate" },
		{ "param", "set", "/car/node", "rate", "1" },
		{ "type", "list" },
		{ "record", "-o", "/tmp/x.mcap" },
		{ "record", "--dump" },
		{ "top", "--batch" },
		{ "clients" },
		{ "dispatch" },
		{ "config" },
		{ "summary" },
		{ "ps" },
		{ "doctor" },
		{ "shutdown" },
		{ "version" },
	};

	assert_int_equal(mkfifo(PIPE, 0600), 0);
	assert_int_equal(kill(simd, SIGSTOP), 0);
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		ends_with_130(commands[i], true);
	assert_int_equal(kill(simd, SIGCONT), 0);
	assert_int_equal(unlink(PIPE), 0);
}
