/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type of the user's own, example/FloatArray, from the three example sensors through bridges that do not know it: the
 * logging bridge writes the measured values, valid readings only, and every bridge gets all of them.
 */
#include "stack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CONF \
	"\"TimeSource\":\"system\",\"pools\":[{\"size\":\"1KiB\",\"count\":200},{\"size\":\"8KiB\",\"count\":400}]," \
	"\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\",\"bridges\":[" \
	"{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/out\",\"options\":{\"full\":true}}," \
	"{\"name\":\"null\",\"plugin\":\"null\"}]}]"

#define FRAMES   60
#define READINGS 1000
/* A sensor that leaves at once may leave behind what simd has not taken yet: so many at the most, here. */
#define LEFT_BEHIND 5

static pid_t simd;

struct seen { /* messages in the log, by sensor */
	unsigned token, frequency, copy;
};

static int setup(void **state)
{
	(void)state;
	simd = stack_start(CONF);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("null", "status"), "connected"));
	return 0;
}

static const char *run(const char *name, const char *a, const char *b)
{
	const char *argv[] = { name, a, b, NULL };
	const struct ctl_result *r = stack_run(argv);

	if (r->code)
		fail_msg("%s: %d: %s", name, r->code, r->err);
	return r->out;
}

/* Each sensor counts up from another number of readings; what was beyond the valid ones must not be there. */
static void check_message(const char *line, struct seen *seen)
{
	json_t *j = json_loads(line, 0, NULL), *array = json_object_get(j, "array"), *v;
	size_t n = json_array_size(array), i;
	double first = json_number_value(json_array_get(array, 0));

	assert_non_null(j);
	assert_true(json_is_number(json_object_get(j, "timestamp")) || json_is_object(json_object_get(j, "timestamp")));
	json_array_foreach(array, i, v)
		assert_true(json_number_value(v) == first + (double)i);
	if (n == READINGS && first == 0)
		seen->frequency++;
	else if (n == READINGS / 2 + (unsigned)first)
		seen->token++;
	else if (n == 1 + (unsigned)first)
		seen->copy++;
	else
		fail_msg("%zu readings from %g on: no sensor has sent that", n, first);
	json_decref(j);
}

static void read_log(struct seen *seen)
{
	static char head[256], body[65536];
	gzFile f = gzopen("/tmp/out.txt.gz", "rb");

	assert_non_null(f);
	while (gzgets(f, head, sizeof(head)) && gzgets(f, body, sizeof(body))) {
		assert_memory_equal(head, "example/FloatArray ", 19);
		check_message(body, seen);
	}
	gzclose(f);
}

static bool within(unsigned n, unsigned all)
{
	return n <= all && n + LEFT_BEHIND >= all;
}

TEST_WITH(three_sensors_publish_to_two_bridges, setup, stack_sweep)
{
	struct seen seen = { 0 };
	unsigned sent, delivered;

	sent = (unsigned)atoi(run("../examples/float_array_token", "60", NULL));
	run("../examples/float_array_frequency", "200", "40");
	delivered = (unsigned)atoi(run("../examples/float_array_copy", "8", NULL));
	assert_true(sent > LEFT_BEHIND && sent <= FRAMES);
	assert_true(within(delivered, 8)); /* the last is answered by leaving, whatever becomes of it */
	AWAIT(stack_in_flight("/car/float_array") <= 0);
	AWAIT(stack_bridge("log", "sent") >= sent + delivered &&
	      stack_bridge("log", "sent") == stack_bridge("null", "sent"));
	assert_int_equal(stack_bridge("log", "failed") + stack_bridge("log", "dropped"), 0);
	assert_int_equal(stack_bridge("null", "failed") + stack_bridge("null", "dropped"), 0);
	stack_stop(simd); /* the bridge closes its file */
	read_log(&seen);
	assert_true(within(seen.token, sent));
	assert_true(within(seen.frequency, 40));
	assert_true(seen.copy >= delivered && seen.copy <= 8);
}

/* Once in 100 s, it would not come to its end within this test. */
TEST_WITH(a_sensor_is_made_faster_while_it_runs, setup, stack_sweep)
{
	static const char sensor[] = "float-array-frequency";
	const struct ctl_result *r;
	char path[PATH_MAX];
	pid_t pid;

	assert_non_null(realpath(EXAMPLES "/float_array_frequency", path));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		execl(path, path, "0.01", "40", (char *)NULL);
		_exit(127);
	}
	AWAIT(stack_ctl("param", "get", sensor, "frequency", NULL)->code == 0);
	r = stack_ctl("param", "set", sensor, "frequency", "201", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "parameter frequency: 201 is more than 200, the most that it may be"));
	r = stack_ctl("param", "set", sensor, "frequency", "200", NULL);
	assert_string_equal(r->out, "200\n");
	assert_int_equal(stack_wait(pid), 0);
	stack_stop(simd);
}

/* A tool that does not know the type either reads its fields by name. */
TEST_WITH(tools_read_a_user_defined_type, setup, stack_sweep)
{
	const struct ctl_result *r;

	run("../examples/float_array_copy", "2", NULL);
	assert_non_null(strstr(stack_ctl("list", NULL)->out, "example/FloatArray"));
	assert_non_null(strstr(stack_ctl("info", "/car/float_array", NULL)->out, "array"));
	assert_non_null(
		strstr(stack_ctl("type", "show", "example/FloatArray", NULL)->out, "\ntime timestamp  # [ns] when"));
	assert_non_null(strstr(stack_ctl("type", "show", "/car/float_array", "--ros", NULL)->out,
			       "# example/msg/FloatArray\n# RIHS01_"));
	assert_string_equal(stack_ctl("type", "show", "/car/float_array", "--out", "/tmp/out-ros", NULL)->out,
			    "/tmp/out-ros/example/msg/FloatArray.msg\n");
	assert_int_equal(stack_ctl("type", "show", "sim/LaneLines", "--out", "/tmp/out-ros", NULL)->code, 0);
	assert_int_equal(access("/tmp/out-ros/sim_msgs/msg/LaneLine.msg", R_OK), 0);
	/* the packages are whole: one knows the other, each what it nests and no more */
	assert_int_equal(
		system("cd /tmp/out-ros/sim_msgs && for t in name version description maintainer license "
		       "buildtool_depend member_of_group build_type; do grep -q \"<$t[ >]\" package.xml || exit 1; done"),
		0);
	assert_int_equal(system("grep -qx '<!-- [^-]* -->' /tmp/out-ros/sim_msgs/package.xml"),
			 0); /* two dashes end it */
	assert_int_equal(system("grep -q '<name>example</name>' /tmp/out-ros/example/package.xml && "
				"[ \"$(grep '<depend>' /tmp/out-ros/example/package.xml | tr -d ' \\n')\" = "
				"'<depend>builtin_interfaces</depend>' ]"),
			 0);
	assert_int_equal(system("grep -q 'DEPENDENCIES builtin_interfaces)' /tmp/out-ros/example/CMakeLists.txt && "
				"grep -q '^rosidl_generate_interfaces(' /tmp/out-ros/sim_msgs/CMakeLists.txt && "
				"! grep -q 'sim_msgs REQUIRED' /tmp/out-ros/sim_msgs/CMakeLists.txt"),
			 0);
	/* repeating it is harmless, but user changes to the file are not overwritten */
	assert_int_equal(stack_ctl("type", "show", "/car/float_array", "--out", "/tmp/out-ros", NULL)->code, 0);
	assert_int_equal(system("echo '# mine' >>/tmp/out-ros/example/msg/FloatArray.msg"), 0);
	r = stack_ctl("type", "show", "/car/float_array", "--out", "/tmp/out-ros", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/tmp/out-ros/example/msg/FloatArray.msg exists with another definition"));
	assert_int_equal(system("grep -q '# mine' /tmp/out-ros/example/msg/FloatArray.msg"), 0);
	assert_int_equal(system("echo '<package/>' >/tmp/out-ros/sim_msgs/package.xml"), 0);
	r = stack_ctl("type", "show", "sim/Imu", "--out", "/tmp/out-ros", NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(
		strstr(r->err, "/tmp/out-ros/sim_msgs/package.xml was not written by simctl and is not changed"));
	assert_int_equal(system("[ \"$(cat /tmp/out-ros/sim_msgs/package.xml)\" = '<package/>' ]"), 0);
	assert_int_equal(stack_ctl("type", "show", "example/Nothing", NULL)->code, 1);
	assert_int_equal(stack_ctl("type", "show", "sim/Imu", "--out", "/proc/nowhere", NULL)->code, 1);
	stack_stop(simd);
}
