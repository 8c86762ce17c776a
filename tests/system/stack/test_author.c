/* SPDX-License-Identifier: Apache-2.0 */
/* First steps of a sensor's author: the README's sensor, with and without a time driver. */
#include "peer.h"
#include "stack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <sim/msg/RadarObjects.h>
#include <sim/sim.h>

#define SENSOR_LOG "/tmp/sensor.log"

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	simd = stack_start(STACK_POOLS); /* the default source of time, unity */
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	return 0;
}

/* Runs until killed; its output goes to SENSOR_LOG. */
static pid_t sensor_start(void)
{
	const char *b = getenv("B");
	char path[PATH_MAX];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/examples/sensor_minimal", b ? b : "build");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int fd = open(SENSOR_LOG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd, 2);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void sensor_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	stack_wait(pid);
	unlink(SENSOR_LOG);
}

static bool file_holds(const char *path, const char *text)
{
	static char buf[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return strstr(buf, text);
}

static bool ctl_shows(const char *text)
{
	return strstr(stack_ctl("clock", "status", NULL)->out, text);
}

/* One message, then silence: the program must be told why, and what to do; once that is done, messages flow. */
TEST_WITH(a_sensor_without_a_driver_gets_the_reason, setup, stack_sweep)
{
	pid_t pid = sensor_start();

	AWAIT(file_holds(SENSOR_LOG, "no driver yet: start one, or TimeSource=simulation"));
	assert_true(ctl_shows("no driver yet: start one, or TimeSource=simulation"));
	assert_true(stack_channel("/my_imu", "messages") <= 1);
	assert_int_equal(stack_ctl("clock", "source", "simulation", NULL)->code, 0);
	AWAIT(stack_channel("/my_imu", "messages") > 20);
	assert_non_null(strstr(stack_ctl("echo", "my_imu", "--once", NULL)->out, "9.81"));
	sensor_stop(pid);
	stack_stop(simd);
}

/* Drives time, releases the lease when told to, and takes it again. */
static int engine(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_driver *d;
	int64_t granted;

	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	PEER(p, sim_driver_advance(d, NS_PER_MS, &granted) == 0);
	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command));
	sim_driver_release(d);
	atomic_store(&p->ready, 2);
	PEER_AWAIT(p, atomic_load(&p->command) >= 2);
	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	atomic_store(&p->ready, 3);
	pause();
	return 0;
}

/* An orderly release of the driver is not logged; a driver that disappears is. */
TEST_WITH(an_orderly_release_is_no_warning, setup, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, engine);

	AWAIT(p->ready == 1);
	assert_true(ctl_shows("driver:     engine (pid "));
	peer_tell(p, 1);
	AWAIT(p->ready == 2 && stack_said("has released the driver lease"));
	assert_int_equal(stack_count("warn", "driver"), 0);
	assert_int_equal(stack_int("GetClock", "clock/driver_lost"), 0);
	assert_true(ctl_shows("driver:     none: lease released"));
	peer_tell(p, 2);
	AWAIT(p->ready == 3);
	kill(pid, SIGKILL);
	stack_wait(pid);
	AWAIT(stack_count("warn", "driver lost (client") == 1);
	assert_true(ctl_shows("driver:     none: driver lost"));
	peer_free(p);
	stack_stop(simd);
}

/* ---- simctl ---- */

#define RIG \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\",\"bridges\":[{\"name\":\"null\"," \
	"\"plugin\":\"null\"}]}]"

static struct peer *publishes;
static pid_t publisher;

/* /car/radar/0 gets a message every 10 ms: none, one, two, none, ... objects. */
static int radar(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "radar");
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 512, .flags = SIM_PUB_LATCH };
	struct sim_publisher *pub;

	PEER(p, sim_advertise(c, "/car/radar/0", &sim_RadarObjects_type, &o, &pub) == 0);
	for (uint32_t n = 0; !atomic_load(&p->stop); n++) {
		struct sim_slot *slot;
		struct sim_builder b;

		pace_us(10000);
		if (atomic_load(&p->command) || sim_loan(pub, sim_RadarObjects_size(n % 3), &slot) < 0)
			continue;
		sim_RadarObjects_init(sim_slot_body_mut(slot), slot->body_size, &b);
		if (n % 3)
			sim_RadarObjects_objects_alloc(&b, n % 3)->id = (int32_t)n;
		(void)!sim_publish_local(pub, slot);
		atomic_fetch_add(&p->received, 1);
	}
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

static int setup_radar(void **state)
{
	(void)state;
	simd = stack_start(RIG);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	publishes = peer_new();
	publisher = peer_fork(publishes, radar);
	AWAIT(publishes->received > 3);
	return 0;
}

static int stop_radar(void **state)
{
	peer_join(publishes, publisher);
	peer_free(publishes);
	return stack_sweep(state);
}

/* A shell's line: its output, stderr too, and the exit code of its first command. */
static const char *by_shell(const char *line, int *ret_code)
{
	static char out[8192];
	const char *b = getenv("B");
	char cmd[1024];
	size_t n;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "PATH=%s/bin:$PATH timeout 3600 bash -c '%s; echo =${PIPESTATUS[0]}' 2>&1",
		 b ? b : "build", line);
	f = popen(cmd, "r");
	n = fread(out, 1, sizeof(out) - 1, f);
	out[n] = '\0';
	pclose(f);
	*ret_code = strrchr(out, '=') ? atoi(strrchr(out, '=') + 1) : -1;
	return out;
}

/* The reader takes one line and closes the pipe: the command ends, without an error message. */
TEST_WITH(a_command_ends_silently_when_its_reader_closes_the_pipe, setup_radar, stop_radar)
{
	static const char *const lines[] = { "simctl echo radar/0 | head -1", "simctl hz radar/0 -w 100ms | head -1",
					     "simctl list --watch | head -1", "simctl echo --json radar/0 | head -1" };

	int code;

	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *out = by_shell(lines[i], &code);

		if (code || !strchr(out, '\n') || strchr(strchr(out, '\n') + 1, '\n') != strrchr(out, '\n') ||
		    strchr(out, '\n')[1] != '=')
			fail_msg("%s: %s", lines[i], out);
	}
	peer_tell(publishes, 1); /* also when nothing comes behind the latched one */
	by_shell("simctl echo radar/0 -n 100000 | head -1", &code);
	assert_int_equal(code, 0);
}

/* Nothing is published on /clock, as time has no driver. */
TEST_WITH(echo_once_ends_when_simd_exits, setup, stack_sweep)
{
	const char *b = getenv("B");
	char line[PATH_MAX], out[2000];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), "exec %s/bin/simctl echo /clock --once 2>&1", b ? b : "build");
	f = popen(line, "r");
	assert_non_null(f);
	AWAIT(strstr(stack_ctl("info", "/clock", NULL)->out, "simctl"));
	stack_kill(simd);
	n = fread(out, 1, sizeof(out) - 1, f);
	out[n] = '\0';
	assert_int_equal(WEXITSTATUS(pclose(f)), 1);
	if (strncmp(out, "simctl: disconnected from simd", 30) != 0 || !strstr(out, "\nsimctl: giving up: "))
		fail_msg("%s", out);
}

TEST_WITH(a_channel_may_be_named_without_the_prefix, setup_radar, stop_radar)
{
	const struct ctl_result *r;

	r = stack_ctl("type", "show", "radar/0", NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "# sim/RadarObjects\n"));
	r = stack_ctl("type", "show", "radar/1", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "radar/1"));
	assert_ptr_equal(strchr(r->err, '\n'), r->err + strlen(r->err) - 1);
	r = stack_ctl("type", "show", "nav_msgs/msg/Path", NULL); /* it is not registered, but ROS has it */
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "# nav_msgs/Path\n"));
	r = stack_ctl("type", "show", "diagnostic_msgs/DiagnosticStatus", "--ros", NULL);
	assert_non_null(strstr(r->out, "# RIHS01_b0e3e692ea2d54a8af2f4ef1930e81556a2db55216b771f8a7d2724ed47bf0e4\n"));
	assert_non_null(strstr(r->out, "\nbyte level\n"));
	r = stack_ctl("type", "show", "sensor_msgs/Image", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "sim/Image"));
	r = stack_ctl("info", "radra/0", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "did you mean /car/radar/0?"));
	r = stack_ctl("echo", "radar/0", "--json", "-n", "2", NULL);
	assert_non_null(strstr(r->out, "{\"channel\":\"/car/radar/0\",\"channel_id\":"));
	assert_non_null(strstr(strchr(r->out, '\n'), "{\"channel\":\"/car/radar/0\","));
}

/* Two messages of three have objects[0], and none has objects[7]. */
TEST_WITH(an_index_out_of_range_is_refused, setup_radar, stop_radar)
{
	const struct ctl_result *r;

	r = stack_ctl("echo", "radar/0", "-f", "objects[7].id", "--once", NULL);
	assert_int_equal(r->code, 1);
	assert_string_equal(r->out, "");
	assert_non_null(strstr(r->err, "--field"));
	r = stack_ctl("echo", "radar/0", "-f", "objects[0].id", "-n", "6", "--json", NULL);
	assert_int_equal(r->code, 1);
	assert_null(strstr(r->out, "\"message\":}"));
	r = stack_ctl("echo", "radar/0", "-f", "objects", "-n", "3", NULL);
	assert_int_equal(r->code, 0);
}

TEST_WITH(hz_shows_how_even_a_rate_is, setup_radar, stop_radar)
{
	const struct ctl_result *r;
	json_t *j, *v;

	AWAIT((r = stack_ctl("hz", "radar/0", "/clock", "-n", "1", "-w", "300ms", NULL),
	       strstr(r->out, " ms, stddev ")));
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "/car/radar/0: "));
	assert_non_null(strstr(r->out, "\n/clock: "));
	/* an interval needs two messages in the window, which a slow machine may not bring about at once */
	AWAIT((r = stack_ctl("hz", "radar/0", "--json", "-n", "1", "-w", "500ms", NULL),
	       !strstr(r->out, "\"interval_ms\":null")));
	j = json_loads(r->out, 0, NULL);
	v = json_object_get(j, "interval_ms");
	assert_true(json_number_value(json_object_get(v, "min")) >= 10); /* it sleeps so long, at the least */
	assert_true(json_number_value(json_object_get(v, "max")) >= json_number_value(json_object_get(v, "min")));
	assert_true(json_number_value(json_object_get(v, "stddev")) >= 0);
	json_decref(j);
	assert_int_equal(stack_ctl("bw", "radar/0", "/clock", "-n", "1", "-w", "100ms", NULL)->code, 0);
	assert_int_equal(stack_ctl("hz", NULL)->code, 2);
}

/* A program in another language uses the exported functions of the library: both directions, without C. */
TEST_WITH(a_message_can_be_published_from_python, setup, stack_sweep)
{
	const char *b = getenv("B");
	char cmd[PATH_MAX];
	int code;

	if (by_shell("python3 -c \"import ctypes\"", &code), code) {
		print_message("no python3 here\n");
		stack_stop(simd);
		return;
	}
	snprintf(cmd, sizeof(cmd), "python3 tests/system/foreign/imu.py %s/lib/libsimclient.so.0", b ? b : "build");
	assert_string_equal(by_shell(cmd, &code), "9.81\n=0\n");
	stack_stop(simd);
}
