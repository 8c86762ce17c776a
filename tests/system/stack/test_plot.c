/* SPDX-License-Identifier: Apache-2.0 */
/* simctl plot: on a terminal that can be read, its keys, a jump of the clock, a simd that goes; as CSV, as JSON, as one picture; mistakes. */
#include "stack.h"
#include "support/screen.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include <sim/msg/Bool.h>
#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/Imu.h>
#include <sim/msg/String.h>
#include <sim/sim.h>

#define CONF "\"TimeSource\":\"simulation\"," STACK_POOLS

static pid_t simd;
static struct sim_client *client;
static struct sim_publisher *imu, *flag, *text, *dotted;

static int setup(void **state)
{
	const struct sim_client_options o = {
		.size = sizeof(o), .name = "tester", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	const struct sim_publisher_options latched = { .size = sizeof(latched), .flags = SIM_PUB_LATCH };

	(void)state;
	simd = stack_start(CONF);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(sim_connect(&o, &client), 0);
	assert_int_equal(sim_advertise(client, "/imu", &sim_Imu_type, &latched, &imu), 0);
	assert_int_equal(sim_advertise(client, "/flag", &sim_Bool_type, &latched, &flag), 0);
	assert_int_equal(sim_advertise(client, "/text", &sim_String_type, NULL, &text), 0);
	assert_int_equal(sim_advertise(client, "/imu.left", &sim_Imu_type, &latched, &dotted), 0);
	return 0;
}

static int teardown(void **state)
{
	sim_disconnect(client);
	unsetenv("NO_COLOR");
	return stack_sweep(state);
}

static void put(struct sim_publisher *pub, const void *body, size_t size)
{
	int r;

	AWAIT((r = sim_try_queue_copy(pub, body, size, 0, NULL, NULL, NULL)) == 0);
}

static void put_imu(struct sim_publisher *pub, double x, double z)
{
	struct sim_Imu m
		__attribute__((aligned(64))) = { .linear_acceleration = { .x = x, .z = z }, .measurement_span = 7 };

	put(pub, &m, sizeof(m));
}

static void ends(const char *how)
{
	const char *end = screen_end();

	if (strncmp(end, how, strlen(how)))
		fail_msg("it ends so:\n%s", end);
}

TEST_WITH(a_plot_is_drawn_and_obeys_keys, setup, teardown)
{
	screen_start("plot", "/imu.linear_acceleration.x", "/imu.linear_acceleration.z", NULL);
	screen_await("^time [0-9.]+ s  window 10 s");
	screen_await("^.... /imu.linear_acceleration.x +- +min +- +max +- m/s\\^2");
	put_imu(imu, -4, 9.5);
	put_imu(imu, 2.25, 9.5);
	screen_await("^\u28a4*.*/imu.linear_acceleration.x +2.25 +min +-4 +max +2.25 m/s\\^2");
	screen_await("/imu.linear_acceleration.z +9.5 +min +9.5 +max +9.5 m/s\\^2");
	screen_await("^ *10 \u2524");
	screen_await("^ *-5 \u2524[\\s\\S]*\u2514");
	screen_await(
		"(^[-0-9 ]+[\u2502\u2524].*\\n){18} +\u2514"); /* of another scale than before, from top to bottom */
	screen_await("\u2524.*[\u2801-\u28ff]$");
	screen_keys("+");
	screen_await("window 20 s");
	screen_keys("--");
	screen_await("window 5 s");
	screen_keys(" ");
	screen_await("HELD");
	put_imu(imu, 7, 0);
	screen_keys(" ");
	screen_await_not("HELD");
	screen_await("acceleration.x +7 ");
	screen_size(60, 12);
	screen_await("^\\+ longer.*q quit[\\s\\S]{0,3}\\Z");
	screen_await("tion.x +7 ");
	screen_keys("q");
	ends("exit 0\nmodes kept\nleft\ncolours some\n");
}

TEST_WITH(a_plot_shows_a_jump_and_the_loss_of_simd, setup, teardown)
{
	setenv("NO_COLOR", "1", 1);
	screen_start("plot", "imu.linear_acceleration.x", NULL);
	put_imu(imu, 3, 0);
	screen_await("acceleration.x +3 +min +3 ");
	assert_int_equal(stack_ctl("clock", "source", "system", NULL)->code, 0);
	screen_await("the clock has jumped to [0-9.]+ s");
	screen_await("acceleration.x +- +min +- ");
	screen_await("\u250a");
	put_imu(imu, 4, 0);
	screen_await("acceleration.x +4 +min +4 ");
	stack_kill(simd);
	screen_await("^DISCONNECTED, retrying: .");
	screen_signal(SIGTERM);
	ends("exit 0\nmodes kept\nleft\ncolours none\n");
}

static void refuses(const char *sentence, const struct ctl_result *r)
{
	if (r->code != 1 || !strstr(r->err, sentence))
		fail_msg("code %d, \"%s\" instead of \"%s\"", r->code, r->err, sentence);
}

TEST_WITH(mistakes_are_named, setup, teardown)
{
	const struct ctl_result *r;

	put_imu(imu, 1, 1);
	put_imu(dotted, 1, 1);
	refuses("/imu: orientation_covariance is an array, and only a number is plotted; sim/Imu has orientation.x",
		stack_ctl("plot", "/imu.orientation_covariance", NULL));
	refuses("/text: data is text", stack_ctl("plot", "/text.data", NULL));
	refuses("linear_acceleration", stack_ctl("plot", "/imu.speed", NULL));
	refuses("/imu is a channel: give a field of it as /imu.FIELD; there are orientation.x",
		stack_ctl("plot", "/imu", NULL));
	refuses("give a channel and a field", stack_ctl("plot", "nothing", NULL));
	refuses("/imo: no client has published a channel of that name; did you mean /imu?",
		stack_ctl("plot", "/imo.x.y", NULL));
	refuses("one of them", stack_ctl("plot", "/imu.position.x", "--csv", "--batch", NULL));
	refuses("--time-format never", stack_ctl("plot", "/imu.position.x", "--time-format", "never", NULL));
	refuses("up to 6",
		stack_ctl("plot", "/imu.a", "/imu.b", "/imu.c", "/imu.d", "/imu.e", "/imu.f", "/imu.g", NULL));
	do /* until it is fast enough for the one that is kept to come */
		r = stack_ctl("plot", "/imu.position.x", "-n", "3", "--timeout", "300ms", NULL);
	while (strstr(r->err, "no message came"));
	refuses("1 of 3 messages", r);
	refuses("no message came", stack_ctl("plot", "/flag.data", "--timeout", "50ms", NULL));
}

/* The last message is kept, and the longest name of a channel counts. */
TEST_WITH(values_are_printed, setup, teardown)
{
	struct sim_Bool yes __attribute__((aligned(64))) = { .data = true };
	const struct ctl_result *r;
	const char *line;
	json_t *j;

	put_imu(imu, 0.1, NAN);
	put_imu(dotted, 5, 6);
	put(flag, &yes, sizeof(yes));
	r = stack_ctl("plot", "/imu.linear_acceleration.x", "/imu.linear_acceleration.z", "/imu.measurement_span",
		      "/imu.orientation_covariance[8]", "-n", "1", NULL);
	assert_int_equal(r->code, 0);
	line = strchr(r->out, '\n') + 1;
	assert_memory_equal(
		r->out,
		"sim_time,/imu.linear_acceleration.x,/imu.linear_acceleration.z,/imu.measurement_span,/imu.orientation_covariance[8]\n",
		(size_t)(line - r->out));
	assert_string_equal(strchr(line, ','), ",0.1,nan,7,0\n");
	r = stack_ctl("plot", "/imu.left.linear_acceleration.x", "--csv", "-n", "1", "--time-format", "raw", NULL);
	assert_non_null(strstr(r->out, "sim_time,/imu.left.linear_acceleration.x\n"));
	assert_non_null(strstr(r->out, ",5\n"));
	assert_null(strchr(strchr(r->out, '\n'), '.')); /* ns */
	r = stack_ctl("plot", "/flag.data", "--csv", "-n", "1", NULL);
	assert_non_null(strstr(r->out, ",1\n"));
	r = stack_ctl("plot", "/imu.linear_acceleration.x", "/flag.data", "--csv", "-n", "2", NULL);
	assert_non_null(strstr(r->out, ",0.1,\n")); /* a line a message: values of other channels are empty */
	assert_non_null(strstr(r->out, ",,1\n"));
	r = stack_ctl("plot", "--json", "/imu.linear_acceleration.x", "/imu.linear_acceleration.z", "-n", "1", NULL);
	j = json_loads(r->out, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(j, "channel")), "/imu");
	assert_true(json_number_value(json_object_get(json_object_get(j, "values"), "/imu.linear_acceleration.x")) ==
		    0.1);
	assert_true(json_is_null(json_object_get(json_object_get(j, "values"), "/imu.linear_acceleration.z")));
	json_decref(j);
}

/* Elements that a message does not have leave a gap, and a field empty. */
TEST_WITH(a_missing_element_leaves_an_empty_field, setup, teardown)
{
	struct sim_Detected3DObjects none __attribute__((aligned(64))) = { 0 };
	const struct sim_publisher_options small = { .size = sizeof(small), .flags = SIM_PUB_LATCH, .max_body = 512 };
	struct sim_publisher *pub;

	assert_int_equal(sim_advertise(client, "/objects", &sim_Detected3DObjects_type, &small, &pub), 0);
	put(pub, &none, sizeof(none));
	assert_non_null(strstr(stack_ctl("plot", "/objects.objects[0].pose.position.x", "-n", "1", NULL)->out, ",\n"));
}

TEST_WITH(batch_prints_one_picture, setup, teardown)
{
	const struct ctl_result *r;

	put_imu(imu, 42, 0);
	r = stack_ctl("plot", "/imu.linear_acceleration.x", "--batch", "-n", "1", NULL);
	assert_int_equal(r->code, 0);
	assert_null(strchr(r->out, '\033'));
	assert_non_null(strstr(r->out, "window 10 s\n"));
	assert_non_null(strstr(r->out, " /imu.linear_acceleration.x  42  min 42  max 42 m/s^2\n"));
	assert_non_null(strstr(r->out, "\u2524"));
	assert_null(strstr(r->out, "q quit"));
}
