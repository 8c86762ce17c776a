/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory runs out first: that of /dev/shm, of the machine, or of a control group. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory_room.h"

#define MIB   (INT64_C(1) << 20)
#define SPARE (2 * MIB)

static char root[] = "/tmp/memory-room-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void room_is(int64_t bytes, const char *whose)
{
	const char *said;

	assert_int_equal(memory_room(root, &said), bytes - SPARE);
	assert_string_equal(said, whose);
}

/* The root has no /dev/shm: nothing is known of that. */
TEST(the_smallest_memory_limit_counts)
{
	const char *said;
	char command[64];

	assert_non_null(mkdtemp(root));
	assert_int_equal(memory_room(root, &said), INT64_MAX);
	put("proc/meminfo", "MemTotal:       16000 kB\nMemAvailable:    9216 kB\nSwapFree: 1 kB\n");
	room_is(9 * MIB, "this machine");
	put("proc/self/cgroup", "1:name=systemd:/x\n0::/user/app\n");
	put("sys/fs/cgroup/user/app/memory.max", "max\n");
	put("sys/fs/cgroup/user/app/memory.current", "1048576\n");
	room_is(9 * MIB, "this machine");
	put("sys/fs/cgroup/user/memory.max", "8388608\n");
	put("sys/fs/cgroup/user/memory.current", "4194304\n");
	room_is(4 * MIB, "this container or service");
	put("sys/fs/cgroup/user/memory.stat", "anon 5\ninactive_file 1048576\nactive_file 7\n");
	room_is(5 * MIB, "this container or service");
	assert_int_equal(memory_left(root), 5 * MIB - SPARE);
	put("proc/self/cgroup", "0::/\n");
	put("sys/fs/cgroup/memory.max", "3145728\n");
	put("sys/fs/cgroup/memory.current", "0\n");
	room_is(3 * MIB, "this container or service");
	put("sys/fs/cgroup/memory.current", "4145728\n");
	assert_int_equal(memory_room(root, &said), 0);
	assert_int_equal(memory_oom_kills(root), -1);
	put("sys/fs/cgroup/memory.events", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n");
	assert_int_equal(memory_oom_kills(root), 4);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

TEST(this_machine_has_free_memory)
{
	const char *said;

	assert_true(memory_room("", &said) > 0);
	assert_true(memory_left("") > 0);
	assert_true(*said);
}
