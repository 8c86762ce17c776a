/* SPDX-License-Identifier: Apache-2.0 */
/* `simctl ps`: one simd on a machine, two, stopped and killed ones; runtime directories that belong to none. */
#include "stack.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "fd.h"
#include "patient.h"

#define CONF       STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\"},{\"name\":\"truck\",\"prefix\":\"/truck\"}]"
#define OTHER_DIR  "/tmp/rt-other"
#define OTHER_CONF STACK_POOLS ",\"rigs\":[{\"name\":\"bus\"}]"
#define OTHER_USER 64002

static json_t *seen; /* its last list */

static size_t rows(void)
{
	return json_array_size(json_object_get(seen, "simds"));
}

static void look(void)
{
	json_decref(seen);
	seen = json_loads(stack_ctl("ps", "--json", NULL)->out, 0, NULL);
	assert_true(json_is_array(json_object_get(seen, "simds")));
}

static const json_t *member(const char *runtime, const char *key)
{
	const json_t *simd;
	size_t i;

	json_array_foreach(json_object_get(seen, "simds"), i, simd)
		if (!strcmp(json_string_value(json_object_get(simd, "runtime")), runtime))
			return json_object_get(simd, key);
	return NULL;
}

static int64_t number(const char *runtime, const char *key)
{
	const json_t *v = member(runtime, key);

	return json_is_integer(v) ? json_integer_value(v) : -1;
}

static bool has_rigs(const char *runtime, const char *json)
{
	json_t *want = json_loads(json, 0, NULL);
	bool same = json_equal(member(runtime, "rigs"), want);

	json_decref(want);
	return same;
}

static bool is_listed(const char *runtime, const char *status)
{
	const json_t *v = member(runtime, "status");

	return v && !strcmp(json_string_value(v), status);
}

static bool status_is(const char *runtime, const char *status)
{
	look();
	return is_listed(runtime, status);
}

/* How many lines it prints. */
static unsigned lines(const struct ctl_result *r)
{
	unsigned n = 0;

	assert_int_equal(r->code, 0);
	assert_string_equal(r->err, "");
	for (const char *p = r->out; *p; p++)
		n += *p == '\n';
	return n;
}

TEST_WITH(without_a_simd_the_table_is_empty, NULL, stack_sweep)
{
	const struct ctl_result *r = stack_ctl("ps", NULL);

	assert_int_equal(lines(r), 1);
	assert_memory_equal(r->out, "RUNTIME", 7);
	assert_string_equal(stack_ctl("ps", "--json", NULL)->out, "{\"simds\":[]}\n");
	assert_string_equal(stack_ctl("ps", "--names", NULL)->out, "");
}

TEST_WITH(a_simd_is_listed_as_running_stopped_and_dead, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF);

	AWAIT(status_is(STACK_DIR, "running"));
	assert_int_equal(number(STACK_DIR, "pid"), simd);
	assert_true(has_rigs(STACK_DIR, "[\"car\",\"truck\"]"));
	assert_true(number(STACK_DIR, "uptime_ms") >= 0 && number(STACK_DIR, "memory") > 0);
	assert_int_equal(rows(), 1);
	assert_string_equal(stack_ctl("ps", "--names", NULL)->out, STACK_DIR "\n");
	assert_int_equal(lines(stack_ctl("ps", NULL)), 2);
	AWAIT(strstr(stack_ctl("ps", NULL)->out, "car,truck"));

	kill(simd, SIGSTOP);
	AWAIT(test_stands(simd));
	assert_true(status_is(STACK_DIR, "silent"));
	assert_int_equal(number(STACK_DIR, "pid"), simd);
	assert_true(has_rigs(STACK_DIR, "[]"));

	stack_kill(simd);
	assert_true(status_is(STACK_DIR, "dead"));
	assert_int_equal(number(STACK_DIR, "pid"), -1);
	assert_true(number(STACK_DIR, "memory") > 0);
	assert_int_equal(lines(stack_ctl("ps", NULL)), 2);
}

static pid_t start_other(void)
{
	int fd;
	pid_t pid = stack_spawn_in(OTHER_DIR, OTHER_CONF, &fd);

	stack_await_ready(fd);
	return pid;
}

TEST_WITH(two_have_a_row_each, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF), other = start_other();

	AWAIT(status_is(STACK_DIR, "running") && is_listed(OTHER_DIR, "running"));
	assert_int_equal(rows(), 2);
	assert_int_equal(number(STACK_DIR, "pid"), simd);
	assert_int_equal(number(OTHER_DIR, "pid"), other);
	assert_true(has_rigs(STACK_DIR, "[\"car\",\"truck\"]") && has_rigs(OTHER_DIR, "[\"bus\"]"));
	assert_string_equal(stack_ctl("ps", "--names", NULL)->out, STACK_DIR "\n" OTHER_DIR "\n");

	stack_kill(other);
	AWAIT(status_is(STACK_DIR, "running"));
	assert_true(is_listed(OTHER_DIR, "dead"));
	assert_int_equal(rows(), 2);
}

/* ---- what others put there ---- */

static void squat(const char *dir, const char *owner_file)
{
	char command[400];

	snprintf(command, sizeof(command), "mkdir -m 755 /dev/shm/%s && cd /dev/shm/%s && %s", dir, dir, owner_file);
	assert_int_equal(system(command), 0);
}

TEST_WITH(directories_without_a_simd_are_left_out, NULL, stack_sweep)
{
	(void)stack_start(CONF);
	squat("simd-00000000", "mkfifo simd");
	squat("simd-00000001", "echo " OTHER_DIR " >/tmp/out-owner && ln -s /tmp/out-owner simd");
	squat("simd-00000002", "printf " OTHER_DIR " >simd"); /* as yet */
	squat("simd-00000003", "mkdir simd");
	squat("simd-00000004", "echo " STACK_DIR " >simd"); /* has another plane */
	squat("simd-00000005", "head -c 100000 /dev/zero | tr '\\0' / >simd");
	squat("simd-external", "echo " OTHER_DIR " >simd");
	squat("simd-0000000g", "echo " OTHER_DIR " >simd");
	assert_int_equal(system("ln -s simd-00000004 /dev/shm/simd-00000006"), 0);

	AWAIT(status_is(STACK_DIR, "running"));
	assert_int_equal(rows(), 1);
	assert_int_equal(lines(stack_ctl("ps", NULL)), 2);
}

TEST_WITH(a_simd_of_another_user_is_not_listed, NULL, stack_sweep)
{
	squat("simd-00000000", "mkdir " OTHER_DIR " && echo " OTHER_DIR " >simd");
	assert_true(status_is(OTHER_DIR, "dead"));
	if (chown("/dev/shm/simd-00000000/simd", OTHER_USER, 0) < 0)
		skip(); /* the root of a namespace that has no other user */
	look();
	assert_int_equal(rows(), 0); /* a file that another user has put there */
	assert_int_equal(chown("/dev/shm/simd-00000000", OTHER_USER, 0), 0);
	look();
	assert_int_equal(rows(), 0); /* a runtime directory of another user */
	assert_int_equal(chown(OTHER_DIR, OTHER_USER, 0), 0);
	assert_true(status_is(OTHER_DIR, "dead"));
}

TEST_WITH(control_characters_in_a_name_are_escaped, NULL, stack_sweep)
{
	squat("simd-00000000", "printf '/tmp/out\\033[2J\\377\\n' >simd");
	assert_non_null(strstr(stack_ctl("ps", NULL)->out, "/tmp/out\\x1b[2J\\xff"));
	assert_non_null(strstr(stack_ctl("ps", "--names", NULL)->out, "/tmp/out\\x1b[2J\\xff\n"));
	look();
	assert_int_equal(rows(), 1);
}

/* ---- iceoryx's own program ---- */

static void run_introspection(const char *plane, int out)
{
	const char *b = getenv("B");
	char preload[512];

	snprintf(preload, sizeof(preload), "%s/lib/simd/roudi_robust.so", b ? b : "build");
	setenv("LD_PRELOAD", preload, 1);
	setenv("SIMD_DATA_PLANE", plane, 1);
	setenv("TERM", "xterm", 1);
	dup2(out, 1);
	execlp("script", "script", "-qc", "iox-introspection-client --process", "/dev/null", (char *)NULL);
	_exit(127);
}

/* Until it has shown this: it draws its screen again and again. */
static void shows(int fd, const char *what)
{
	char text[4096];
	size_t n = 0;

	for (;;) {
		ssize_t got = read(fd, text + n, sizeof(text) - 1 - n);

		assert_true(got > 0);
		n += (size_t)got;
		text[n] = '\0';
		if (strstr(text, what))
			return;
		if (n > sizeof(text) / 2) { /* keeps what may be the beginning of it */
			memmove(text, text + n - 100, 100);
			n = 100;
		}
	}
}

TEST_WITH(iox_introspection_shows_the_selected_data_plane, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF), pid;
	char plane[64];
	int fd[2];

	look();
	snprintf(plane, sizeof(plane), "%s", json_string_value(member(STACK_DIR, "plane")));
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_introspection(plane, fd[1]);
	close(fd[1]);
	shows(fd[0], "Process: roudi");
	kill(pid, SIGKILL);
	close(fd[0]);
	(void)stack_wait(pid);
	AWAIT(system("pkill -KILL -x -r D,R,S iox-introspecti") != 0); /* none is left: it may outlive its terminal */
	stack_stop(simd);
}
