/* SPDX-License-Identifier: Apache-2.0 */
/* Time sources that are plug-ins, in the real simd: named in the configuration, by simctl, and refused. */
#include "peer.h"
#include "stack.h"

static const char *shelf(void)
{
	static char dir[4100];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 20);

	assert_true(n > 0);
	dir[n] = '\0';
	strcpy(strrchr(dir, '/'), "/plugins");
	return dir;
}

static const char *conf(const char *source)
{
	static char text[9000];

	snprintf(text, sizeof(text), "\"TimeSource\":\"%s\",\"bridge\":{\"plugin_dir\":\"%s\"}," STACK_POOLS, source,
		 shelf());
	return text;
}

TEST_WITH(a_source_plug_in_is_selected_by_name, NULL, stack_sweep)
{
	pid_t simd = stack_start(conf("good"));

	assert_string_equal(stack_text("GetClock", "clock/source"), "good");
	assert_true(stack_int("GetClock", "clock/sim_ns") >= 1000 * NS_PER_S);
	assert_int_equal(stack_ctl("clock", "source", "simulation", NULL)->code, 0);
	assert_true(stack_int("GetClock", "clock/sim_ns") < 1000 * NS_PER_S);
	assert_int_equal(stack_ctl("clock", "source", "good", NULL)->code, 0);
	assert_true(stack_int("GetClock", "clock/sim_ns") >= 1000 * NS_PER_S);
	assert_int_equal(stack_ctl("clock", "source", "/tmp/source_good.so", NULL)->code, 1);
	assert_non_null(strstr(stack_ctl("clock", "source", "ABI", NULL)->err, "interface 42, simd has 1"));
	assert_string_equal(stack_text("GetClock", "clock/source"), "good"); /* as it was */
	stack_stop(simd);
}

TEST_WITH(a_source_plug_in_is_selected_by_path, NULL, stack_sweep)
{
	char path[4200];
	pid_t simd;

	snprintf(path, sizeof(path), "%s/source_good.so", shelf());
	simd = stack_start(conf(path));
	assert_string_equal(stack_text("GetClock", "clock/source"), "good");
	stack_stop(simd);
}

TEST_WITH(an_invalid_source_plug_in_is_refused_at_the_start, NULL, stack_sweep)
{
	static const char *const bad[][2] = { { "SIZE", "has 32 bytes, simd needs 40" },
					      { "nosuch", "source_nosuch.so" } };

	for (size_t i = 0; i < 2; i++) {
		int ready;
		pid_t simd = stack_spawn(conf(bad[i][0]), &ready), status;

		status = stack_wait(simd);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 0);
		assert_true(stack_said(bad[i][1]));
		close(ready);
	}
}
