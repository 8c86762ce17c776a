/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simctl top on a terminal that can be read: its pages, its keys, drops, a simd that exits and restarts, the restored
 * terminal; and --batch.
 */
#include "stack.h"
#include "support/screen.h"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>

#include <sim/msg/Imu.h>
#include <sim/sim.h>

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"null\",\"plugin\":\"null\"}]}]"

static pid_t simd, sensor;
static struct sim_client *client;
static struct sim_publisher *pub;

/* sensor_minimal: 100 Hz of /my_imu as a client "my-imu" */
static pid_t start_sensor(void)
{
	const char *b = getenv("B");
	char path[PATH_MAX];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/examples/sensor_minimal", b ? b : "build");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fclose(stderr);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static int setup(void **state)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "tester", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	(void)state;
	simd = stack_start(CONF);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	sensor = start_sensor();
	assert_int_equal(sim_connect(&o, &client), 0);
	assert_int_equal(sim_advertise(client, "/other", &sim_Imu_type, NULL, &pub), 0);
	AWAIT(stack_channel("/my_imu", "messages") > 20);
	return 0;
}

static int teardown(void **state)
{
	sim_disconnect(client);
	kill(sensor, SIGKILL);
	stack_wait(sensor);
	unsetenv("NO_COLOR");
	return stack_sweep(state);
}

static void ends(const char *how)
{
	const char *end = screen_end();

	if (strncmp(end, how, strlen(how)))
		fail_msg("it ends so:\n%s", end);
}

/* simd refuses messages while time stands, and counts them. */
static void drop_one(void)
{
	uint8_t body[sizeof(struct sim_Imu)] __attribute__((aligned(64))) = { 0 };

	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	assert_true(sim_try_queue_copy(pub, body, sizeof(body), 0, NULL, NULL, NULL) < 0);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
}

TEST_WITH(top_has_pages_keys_and_drop_counts, setup, teardown)
{
	screen_start("top", "-w", "200ms", NULL);
	screen_await("^time .* RTF [0-9.]+ of 1  system: running  simd ");
	screen_await("^\\[1 channels\\]  2 processes");
	screen_await("^/my_imu +flows +(9|10)[0-9]\\.[0-9] .*sim/Imu");
	screen_await("^/other +never ");
	screen_await("^1-5 tabs");
	drop_one();
	screen_await("^drops [1-9][0-9]* ");
	screen_await("^/other .* 1 +0 ");
	screen_keys("2");
	screen_await("\\[2 processes\\]");
	screen_await("^simd +[0-9]+ .*simd"); /* they are on no list of clients */
	screen_await("^iox-roudi +[0-9]+ ");
	screen_await("^my-imu +[0-9]+ +sleeps ");
	screen_await("^drops [1-9][0-9]* "); /* on every page */
	kill(sensor, SIGSTOP);
	screen_await("^my-imu +[0-9]+ +stopped ");
	screen_keys("3");
	screen_await("^1024 +fine ");
	screen_await("^SLOT +STATE +USED +FREE");
	screen_keys("\\t");
	screen_await("^null +null +connected");
	screen_keys("\\t");
	screen_await("^real-time factor +[0-9.]+$");
	screen_keys("\\t");
	screen_await("^/my_imu +(late|silent) ");
	kill(sensor, SIGCONT);
	screen_await("^/my_imu +flows ");
	screen_keys("q");
	ends("exit 0\nmodes kept\nleft\ncolours some\n");
}

TEST_WITH(rows_can_be_sorted_filtered_and_expanded, setup, teardown)
{
	screen_start("top", "-w", "200ms", NULL);
	screen_await("by CHANNEL");
	screen_await("/clock [\\s\\S]*/my_imu [\\s\\S]*/other ");
	screen_keys("r");
	screen_await("by CHANNEL v[\\s\\S]*/other [\\s\\S]*/my_imu [\\s\\S]*/clock ");
	screen_keys("\\x1bOC\\x1bOC"); /* right, right */
	screen_await("by HZ v[\\s\\S]*/my_imu [\\s\\S]*/other ");
	screen_keys("/oth");
	screen_await("rows that hold: oth_");
	screen_await_not("/my_imu");
	screen_keys("\\n\\n");
	screen_await("^/other$[\\s\\S]*^type +sim/Imu");
	screen_keys("\\x1b[6~"); /* a page down */
	screen_await("^/other$[\\s\\S]*^publishers .*tester");
	screen_keys("\\x1b");
	screen_await("^CHANNEL");
	screen_keys("\\x1b");
	screen_await("^/my_imu");
	screen_keys("h");
	screen_await("NEW counts messages lost");
	screen_keys("h");
	screen_size(60, 8);
	screen_await("^CHANNEL.*STATE.*HZ.*DROPS.*\\n/clock");
	screen_signal(SIGTERM);
	ends("exit 0\nmodes kept\nleft\n");
}

TEST_WITH(the_loss_and_return_of_simd_are_shown, setup, teardown)
{
	setenv("NO_COLOR", "1", 1);
	screen_start("top", "-w", "100ms", NULL);
	screen_await("^/my_imu +flows");
	stack_kill(simd);
	screen_await("^DISCONNECTED, retrying: .");
	screen_await("^/my_imu"); /* the last known state stays */
	simd = stack_start(CONF);
	screen_await("^time ");
	screen_await("^/my_imu +flows");
	screen_signal(SIGINT);
	ends("exit 130\nmodes kept\nleft\ncolours none\n");
}

TEST_WITH(a_crash_restores_the_terminal, setup, teardown)
{
	screen_start("top", NULL);
	screen_await("^time ");
	screen_signal(SIGSEGV);
	ends("signal 11\nmodes kept\nleft\n");
}

/* A slow machine may have nothing come within the 50 ms. */
static bool shows_that_it_flows(void)
{
	json_t *j = json_loads(stack_ctl("--json", "top", "-n", "1", "-w", "50ms", NULL)->out, 0, NULL), *ch;
	bool flows = false;
	size_t i;

	assert_true(json_number_value(json_object_get(j, "drops")) >= 1);
	json_array_foreach(json_object_get(j, "channels"), i, ch)
		if (!strcmp(json_string_value(json_object_get(ch, "name")), "/my_imu"))
			flows = !strcmp(json_string_value(json_object_get(ch, "state")), "flows");
	assert_true(i >= 3);
	json_decref(j);
	return flows;
}

TEST_WITH(batch_output_suits_scripts, setup, teardown)
{
	const struct ctl_result *r;

	drop_one();
	r = stack_ctl("top", "--batch", "-n", "2", "-w", "100ms", NULL);
	assert_int_equal(r->code, 0);
	assert_null(strchr(r->out, '\033'));
	assert_non_null(strstr(r->out, "drops "));
	assert_non_null(strstr(strstr(r->out, "\n\n"), "CHANNEL")); /* the second one */
	assert_non_null(strstr(r->out, "/my_imu  "));
	r = stack_ctl("top", "--batch", "-n", "1", "-w", "50ms", "--sort", "drops", "--filter", "IMU", NULL);
	assert_null(strstr(r->out, "/clock"));
	assert_non_null(strstr(r->out, "/my_imu"));
	r = stack_ctl("top", "--batch", "-n", "1", "-w", "50ms", "--tab", "processes", NULL);
	assert_non_null(strstr(r->out, "iox-roudi"));
	AWAIT(shows_that_it_flows());
}

static void refuses(const char *sentence, const struct ctl_result *r)
{
	if (r->code != 1 || !strstr(r->err, sentence))
		fail_msg("code %d, \"%s\" instead of \"%s\"", r->code, r->err, sentence);
}

TEST_WITH(mistakes_are_named, setup, teardown)
{
	refuses("no tab \"wheels\"; there are channels, processes", stack_ctl("top", "--tab", "wheels", NULL));
	refuses("pools have no column \"HZ\"; there are SLOT STATE",
		stack_ctl("top", "--tab", "pools", "--sort", "HZ", NULL));
	refuses("--batch prints text", stack_ctl("top", NULL));
	refuses("/tmp/none", stack_ctl("--socket", "/tmp/none", "top", "--batch", NULL));
}
