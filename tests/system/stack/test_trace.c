/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simctl trace: the stages of messages that a bridge gets, of a stopped bridge, of a channel without simd; tables that
 * follow.
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

/* sensor_minimal: 100 Hz of /my_imu */
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
	AWAIT(stack_channel("/my_imu", "delivered") > 20);
	return 0;
}

static int teardown(void **state)
{
	sim_disconnect(client);
	kill(sensor, SIGKILL);
	stack_wait(sensor);
	return stack_sweep(state);
}

static json_t *stage_of(const json_t *reply, const char *stage)
{
	json_t *s;
	size_t i;

	json_array_foreach(json_object_get(reply, "stages"), i, s)
		if (!strcmp(json_string_value(json_object_get(s, "stage")), stage))
			return s;
	fail_msg("no stage \"%s\"", stage);
	return NULL;
}

static int64_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* At least so many; its percentiles are in order. */
static void counted(const json_t *reply, const char *stage, int64_t least, const char *clock)
{
	const json_t *s = stage_of(reply, stage);

	if (number(s, "count") < least)
		fail_msg("%s: %lld messages", stage, (long long)number(s, "count"));
	assert_string_equal(json_string_value(json_object_get(s, "clock")), clock);
	assert_true(number(s, "p50") >= 0 && number(s, "p50") <= number(s, "p90"));
	assert_true(number(s, "p90") <= number(s, "p99") && number(s, "p99") <= number(s, "max"));
}

static json_t *parsed(const struct ctl_result *r)
{
	json_t *j = json_loads(r->out, 0, NULL);

	if (r->code || !j)
		fail_msg("code %d: %s%s", r->code, r->out, r->err);
	return j;
}

TEST_WITH(each_stage_has_its_times, setup, teardown)
{
	json_t *j = parsed(stack_ctl("--json", "trace", "my_imu", "-n", "30", "--timeout", "1h", NULL));

	assert_string_equal(json_string_value(json_object_get(j, "channel")), "/my_imu");
	assert_int_equal(number(j, "messages"), 30);
	assert_int_equal(json_array_size(json_object_get(j, "stages")), 5);
	counted(j, "capture-publish", 25, "simulated");
	counted(j, "publish-take", 25, "wall");
	counted(j, "take-lane", 25, "wall");
	counted(j, "take-answer", 25, "wall");
	counted(j, "publish-receive", 30, "wall");
	assert_string_equal(json_string_value(json_object_get(stage_of(j, "take-answer"), "bridge")), "null");
	assert_true(number(stage_of(j, "take-answer"), "max") >= number(stage_of(j, "take-lane"), "p50"));
	json_decref(j);
}

/* Messages counted before the window began do not appear in it. */
TEST_WITH(a_window_counts_only_its_own_messages, setup, teardown)
{
	json_t *j = parsed(stack_ctl("--json", "trace", "/my_imu", "-n", "40", "--timeout", "1h", NULL));
	int64_t first = number(stage_of(j, "take-answer"), "count"), n;

	json_decref(j);
	j = parsed(stack_ctl("--json", "trace", "/my_imu", "-n", "1", "--timeout", "1h", NULL));
	assert_true(first >= 35);
	assert_int_equal(number(stage_of(j, "publish-receive"), "count"), 1);
	json_decref(j);
	do { /* a window of a millisecond, or of as much as the machine makes of it */
		j = parsed(stack_ctl("--json", "trace", "/my_imu", "-w", "1ms", NULL));
		n = number(stage_of(j, "take-answer"), "count");
		json_decref(j);
	} while (n >= first);
}

TEST_WITH(a_stopped_bridge_counts_no_answers, setup, teardown)
{
	const pid_t bridge = (pid_t)stack_bridge("null", "pid");
	int64_t in_flight;
	json_t *j;

	assert_true(bridge > 0);
	kill(bridge, SIGSTOP);
	AWAIT(test_stands(bridge));
	in_flight = stack_in_flight("/my_imu");
	AWAIT(stack_in_flight("/my_imu") > in_flight + 5); /* so its earlier answers are counted */
	j = parsed(stack_ctl("--json", "trace", "/my_imu", "-w", "100ms", NULL));
	kill(bridge, SIGCONT);
	assert_int_equal(number(stage_of(j, "take-answer"), "count"), 0);
	assert_true(json_is_null(json_object_get(stage_of(j, "take-answer"), "p50")));
	json_decref(j);
}

static void has(const struct ctl_result *r, int code, const char *text)
{
	if (r->code != code || (!strstr(r->out, text) && !strstr(r->err, text)))
		fail_msg("no \"%s\", code %d: %s%s", text, r->code, r->out, r->err);
}

TEST_WITH(the_table_is_readable, setup, teardown)
{
	const struct sim_publisher_options local = { .size = sizeof(local), .flags = SIM_PUB_LOCAL };
	const struct ctl_result *r = stack_ctl("trace", "/my_imu", "-w", "200ms", NULL);
	struct sim_publisher *pub;

	has(r, 0, " messages in ");
	has(r, 0, "STAGE ");
	has(r, 0, "\ncapture -> publish ");
	has(r, 0, " simulated\n");
	has(r, 0, "\npublish -> taken by simd ");
	has(r, 0, "\ntaken -> handed to null ");
	has(r, 0, "\ntaken -> answer of null ");
	has(r, 0, "\npublish -> received here ");
	assert_int_equal(sim_advertise(client, "/own", &sim_Imu_type, &local, &pub), 0);
	has(stack_ctl("trace", "/own", "-w", "10ms", NULL), 0,
	    "simd counts nothing: no client publishes it for bridges");
	has(stack_ctl("trace", "/own", "-n", "1", "--timeout", "100ms", NULL), 1, "0 of 1 messages came on /own");
	has(stack_ctl("trace", "/my_imi", NULL), 1, "did you mean /my_imu?");
}

TEST_WITH(tables_replace_each_other_on_a_terminal, setup, teardown)
{
	const char *end;

	screen_start("trace", "/my_imu", "--watch", "-w", "100ms", NULL);
	screen_await("\\A/my_imu: [1-9][0-9]* messages in 0\\.[0-9]+ s\\nSTAGE");
	screen_await("^taken -> answer of null +[1-9]");
	kill(sensor, SIGSTOP);
	screen_await("\\A/my_imu: 0 messages[\\s\\S]*^publish -> received here +0 +- ");
	kill(sensor, SIGCONT);
	screen_await("\\A/my_imu: [1-9][\\s\\S]*^publish -> received here +[1-9]");
	screen_signal(SIGINT);
	end = screen_end();
	if (strncmp(end, "exit 130\n", 9))
		fail_msg("it ends so:\n%s", end);
}
