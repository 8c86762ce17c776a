/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simctl on a terminal of 80 columns: no line is wider, the important columns are there, and --watch draws over its
 * last output.
 */
#include "stack.h"
#include "terminal.h"

#include <errno.h>
#include <limits.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/sim.h>

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"log\"," \
	"\"plugin\":\"logging\",\"connection\":\"/tmp/out\"},{\"name\":\"a-bridge-with-a-rather-long-name-00\",\"plugin\":\"null\"}]}]"
#define COLUMNS 80
#define ROWS    12
#define LONGEST "/perception/object_recognition/detection/of_what_stands_and_moves/around_the_vehicle_itself/objects"

static pid_t simd;
static struct sim_client *client;
static char seen[1 << 20];

static int setup(void **state)
{
	static const char *const names[] = { "/imu", "/sensing/lidar/top/pointcloud_raw_ex", LONGEST };
	struct sim_client_options o = {
		.size = sizeof(o), .name = "sensor-of-the-screen-test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = 256 };
	struct sim_publisher *pub;

	(void)state;
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
	assert_int_equal(sim_connect(&o, &client), 0);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (sim_advertise(client, names[i], &sim_Detected3DObjects_type, &po, &pub) < 0)
			fail_msg("%s: %s", names[i], sim_why());
	return 0;
}

static int teardown(void **state)
{
	sim_disconnect(client);
	return stack_sweep(state);
}

/* What simctl writes to such a terminal until `frames` have begun (0: until it ends). */
static const char *on_terminal(unsigned frames, const char *const *argv)
{
	struct winsize w = { .ws_col = COLUMNS, .ws_row = ROWS };
	const char *b = getenv("B");
	char path[PATH_MAX];
	size_t n = 0;
	int fd;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/bin/simctl", b ? b : "build");
	fflush(NULL);
	pid = forkpty(&fd, NULL, NULL, &w);
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("SIMD_SOCKET", STACK_SOCKET, 1);
		execv(path, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	for (;;) {
		unsigned begun = 0;
		ssize_t r;

		r = read(fd, seen + n, sizeof(seen) - 1 - n);
		if (r <= 0)
			break;
		n += (size_t)r;
		seen[n] = '\0';
		for (const char *at = seen; (at = strstr(at, "\033[H")); at++)
			begun++;
		if (frames && begun > frames)
			break;
	}
	if (frames)
		kill(pid, SIGINT);
	close(fd);
	stack_wait(pid);
	seen[n] = '\0';
	return seen;
}

/* Removes the escape sequences: the rest is on the screen. */
static void check_lines(const char *text, unsigned rows)
{
	unsigned column = 0, row = 0;

	for (const char *at = text; *at; at++) {
		if (*at == '\033') {
			at += 1 + strcspn(at + 1, "HJKhl");
		} else if (*at == '\n') {
			column = 0;
			row++;
		} else if (*at != '\r' && ++column > COLUMNS) {
			fail_msg("line %u is wider than %d columns:\n%s", row + 1, COLUMNS, text);
		}
	}
	if (rows && row >= rows)
		fail_msg("%u lines scroll on a screen of %u:\n%s", row, rows, text);
}

static void has(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strstr(text, *words))
			fail_msg("\"%s\" is not there:\n%s", *words, text);
}

/* Two frames, each from the upper left corner on: the second stands where the first did. */
static void check_watch(const char *const *argv, const char *const *words)
{
	char *first = strstr(on_terminal(2, argv), "\033[H"), *second = strstr(first + 1, "\033[H");

	assert_memory_equal(seen, "\033[2J", 4);
	*strstr(second + 1, "\033[H") = '\0';
	has(second, words);
	check_lines(second, ROWS);
	*second = '\0';
	has(first, words);
	check_lines(first, ROWS);
}

TEST_WITH(a_watched_table_fits_the_screen, setup, teardown)
{
	TERMINAL_OR_SKIP();
	check_watch((const char *[]){ "simctl", "list", "--watch", NULL },
		    (const char *[]){ "CHANNEL", "TYPE", "HZ", "DROPS", "AGE", "/imu", "pointcloud_raw_ex", "..",
				      "_itself/objects", "3DObjects", NULL });
	check_watch((const char *[]){ "simctl", "bridge", "list", "--watch", NULL },
		    (const char *[]){ "BRIDGE", "STATUS", "SENT", "FAILED", "DROPPED", "log ", "connected", NULL });
	check_watch((const char *[]){ "simctl", "clock", "status", "--watch", NULL },
		    (const char *[]){ "time: ", "source: ", "/clock: ", NULL });
	check_watch((const char *[]){ "simctl", "service", "list", "--watch", NULL },
		    (const char *[]){ "SERVICE", "FAILED", NULL });
	check_watch((const char *[]){ "simctl", "dispatch", "--watch", NULL },
		    (const char *[]){ "CHANNEL", "ACCEPTED", "FAILED", NULL });
}

TEST_WITH(a_table_fits_the_screen, setup, teardown)
{
	static const char *const list[] = { "simctl", "list", NULL }, *const clients[] = { "simctl", "clients", NULL };
	const char *out;

	TERMINAL_OR_SKIP();
	out = on_terminal(0, list);
	has(out, (const char *[]){ "CHANNEL", "HZ", "DROPS", "AGE", "_itself/objects", NULL });
	check_lines(out, 0);
	out = on_terminal(0, clients);
	has(out, (const char *[]){ "NAME", "ROLE", "PID", "sensor-of-the-screen", "EXE", "simctl", NULL });
	check_lines(out, 0);
	/* a pipe has no width: scripts get all of it, unless they say how much */
	assert_non_null(strstr(stack_ctl("list", NULL)->out, LONGEST));
	setenv("COLUMNS", "60", 1);
	out = stack_ctl("list", NULL)->out;
	unsetenv("COLUMNS");
	has(out, (const char *[]){ "CHANNEL", "HZ", "DROPS", NULL });
	for (const char *at = out; *at; at += strcspn(at, "\n"), at += *at == '\n')
		assert_true(strcspn(at, "\n") <= 60);
}
