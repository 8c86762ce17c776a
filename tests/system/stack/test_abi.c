/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs built with the headers of each release in tests/abi work with the simd and the library of today: its
 * program, which uses every part, and its plug-in, through which the program's message goes. And with a library of
 * tomorrow, where today's simd, simbridge and simctl are the programs that were built before.
 */
#include "stack.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static pid_t start(const char *release)
{
	char conf[PATH_MAX + 512], dir[PATH_MAX];

	if (!realpath(ABI_DIR, dir))
		fail_msg("%s: %s", ABI_DIR, strerror(errno));
	snprintf(conf, sizeof(conf),
		 "\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"old\","
		 "\"plugin\":\"%s/%s/bridge_old.so\",\"channels\":[\"/abi/imu\"]}]}]",
		 dir, release);
	return stack_start(conf);
}

static void program_says(const char *release, const char *what)
{
	char line[PATH_MAX], out[4096];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), "%s/%s/program 2>&1", ABI_DIR, release);
	f = popen(line, "re");
	assert_non_null(f);
	n = fread(out, 1, sizeof(out) - 1, f);
	out[n] = '\0';
	assert_int_not_equal(pclose(f), -1);
	assert_string_equal(out, what);
}

static void each_goes_on(const char *what)
{
	glob_t stored;

	assert_int_equal(glob("tests/abi/[0-9]*", 0, NULL, &stored), 0);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	for (size_t i = 0; i < stored.gl_pathc; i++) {
		const char *release = strrchr(stored.gl_pathv[i], '/') + 1;
		pid_t simd = start(release);

		program_says(release, what);
		stack_stop(simd);
	}
	globfree(&stored);
}

TEST_WITH(programs_built_with_old_headers_continue_to_work, NULL, stack_sweep)
{
	each_goes_on("ok with " SIM_VERSION "\n");
}

TEST_FULL_WITH(programs_continue_to_work_with_larger_structs_and_a_longer_message, NULL, stack_sweep)
{
	const char *b = getenv("B");
	char line[PATH_MAX];

	snprintf(line, sizeof(line), "BUILD=%s tests/abi/grown.sh " ABI_DIR "/grown", b ? b : "build");
	if (system(line) != 0)
		fail_msg("the library of tomorrow could not be built");
	if (!realpath(ABI_DIR "/grown/lib", line))
		fail_msg("%s", strerror(errno));
	setenv("LD_LIBRARY_PATH", line, 1);
	each_goes_on("ok with 0.9.9\n");
}
