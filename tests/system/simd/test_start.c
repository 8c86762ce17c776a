/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and stopping: refused starts and their errors, and that nothing is left whenever simd ends. Under ns.sh. */
#include "system/simd/run.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"
#include "ipc_mem.h"
#include "tests/support/roudi.h"

static const char plain[] = "{" POOLS ", \"TimeSource\": \"simulation\"}";

TEST(simd_starts_and_leaves_nothing)
{
	struct simd_run r;

	run_start(&r, plain, NULL);
	assert_true(run_ready(&r));
	assert_int_equal(run_number("GetInfo", "pid"), r.pid);
	assert_true(run_number("GetInfo", "iox_generation") > 0);
	run_stop(&r);
	run_nothing_left();
}

TEST(shutdown_can_be_called_as_a_method)
{
	struct simd_run r;

	run_start(&r, plain, NULL);
	assert_true(run_ready(&r));
	json_decref(run_call("Shutdown", "{}"));
	assert_int_equal(run_wait(&r), 0);
	close(r.err_fd);
	run_nothing_left();
}

TEST(a_second_simd_names_the_first)
{
	static const char *const other[] = { "--runtime-dir", "/tmp/other", NULL };
	struct simd_run first, second;
	char pid[32];

	run_start(&first, plain, NULL);
	assert_true(run_ready(&first));
	run_start(&second, plain, NULL);
	assert_false(run_ready(&second));
	assert_int_equal(WEXITSTATUS(run_wait(&second)), 1);
	snprintf(pid, sizeof(pid), "pid %d", (int)first.pid);
	assert_non_null(strstr(run_errors(&second), pid));
	assert_non_null(strstr(run_errors(&second), RUN_DIR));
	close(second.err_fd);
	/* in a directory of its own it runs beside the first, which does not notice */
	run_start(&second, plain, other);
	assert_true(run_ready(&second));
	assert_int_equal(run_number("GetInfo", "pid"), first.pid);
	run_stop(&second);
	assert_int_equal(run_number("GetInfo", "pid"), first.pid);
	run_stop(&first);
	run_nothing_left();
}

/* As on an overloaded machine: RouDi starts for longer than roudi.ready_ms, and is not restarted for that. */
TEST(a_slow_roudi_is_waited_for_at_the_start)
{
	static const char program[] = "#!/usr/bin/python3\n"
				      "import os, sys, time\n"
				      "begin = time.monotonic()\n"
				      "while time.monotonic() < begin + 3:\n"
				      "    pass\n"
				      "os.execvp('iox-roudi', ['iox-roudi'] + sys.argv[1:])\n";
	char path[TEST_PATH_MAX], conf[TEST_PATH_MAX + 256];
	const char *started;
	struct simd_run r;

	test_path(path, "slow-roudi");
	assert_int_equal(fd_write_file(path, program, strlen(program), 0755), 0);
	snprintf(conf, sizeof(conf),
		 "{" POOLS ", \"TimeSource\": \"simulation\", \"roudi\": {\"path\": \"%s\", \"ready_ms\": 2000}}",
		 path);
	run_start(&r, conf, NULL);
	assert_true(run_ready(&r));
	assert_non_null(strstr(run_errors(&r), "but at work: waiting for it"));
	started = strstr(run_errors(&r), "iox-roudi started");
	assert_non_null(started);
	assert_null(strstr(started + 1, "iox-roudi started"));
	run_stop(&r);
	assert_int_equal(unlink(path), 0);
	run_nothing_left();
}

#define GIBS_30 /* each pool within what iceoryx can do, all of them more than there is */ \
	"{\"size\":\"1MiB\",\"count\":3900},{\"size\":\"2MiB\",\"count\":1950},{\"size\":\"3MiB\",\"count\":1300}," \
	"{\"size\":\"4MiB\",\"count\":975},{\"size\":\"5MiB\",\"count\":780},{\"size\":\"6MiB\",\"count\":650}," \
	"{\"size\":\"7MiB\",\"count\":557},{\"size\":\"8MiB\",\"count\":487}"

TEST(configuration_errors_end_simd_with_the_reason)
{
	static const struct {
		const char *config, *says;
		int code;
	} bad[] = {
		{ "{\"colour\": 1}", "colour", 78 },
		{ "{", ":1", 78 },
		{ "{\"backend\": \"mem\"}", "mem", 78 },
		{ "{\"pools\": [" GIBS_30 "]}", "MiB", 1 },
		{ "{" POOLS ", \"TimeSource\": \"sundial\"}", "sundial", 78 },
		{ "{" POOLS ", \"roudi\": {\"start\": \"external\"}}", "roudi.start", 1 },
		{ "{" POOLS ", \"roudi\": {\"path\": \"no-such-roudi\"}}", "no-such-roudi", 78 },
		{ "{" POOLS ", \"roudi\": {\"path\": \"false\"}}", "iox-roudi", 1 },
		{ "{" POOLS ", \"socket\": {\"group\": \"no-such-group\"}}", "no-such-group", 78 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct simd_run r;

		run_start(&r, bad[i].config, NULL);
		assert_false(run_ready(&r));
		assert_int_equal(WEXITSTATUS(run_wait(&r)), bad[i].code);
		if (!strstr(run_errors(&r), bad[i].says))
			fail_msg("%s: says \"%s\", not \"%s\"", bad[i].config, run_errors(&r), bad[i].says);
		close(r.err_fd);
		run_nothing_left();
	}
}

/* A Ctrl-C at any moment of the start, swept. A RouDi that gets SIGTERM before it listens has to be killed. */
TEST(simd_interrupted_at_any_moment_leaves_nothing)
{
	static const char soon[] = "{" POOLS ", \"TimeSource\": \"simulation\", \"process\": {\"stop_ms\": 3000}}";
	static const int after_ms[] = { 0, 3, 8, 15, 30, 60, 120, 200, 300, 500 };

	for (size_t i = 0; i < sizeof(after_ms) / sizeof(*after_ms); i++) {
		struct simd_run r;

		run_start(&r, soon, NULL);
		moment_us(1000 * (unsigned)after_ms[i]);
		kill(r.pid, i % 2 ? SIGINT : SIGTERM);
		(void)run_wait(&r);
		close(r.err_fd);
		run_nothing_left();
	}
}

/* ---- the service manager ---- */

static void expect_notice(int fd, const char *begins)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[256];
	ssize_t n;

	do {
		if (poll(&p, 1, -1) != 1)
			fail_msg("no %s", begins);
		n = recv(fd, text, sizeof(text) - 1, 0);
		assert_true(n > 0);
		text[n] = '\0';
	} while (strncmp(text, begins, strlen(begins)) != 0);
}

TEST(the_service_manager_is_notified)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/tmp/simd-test-notify" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct simd_run r;

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
	setenv("WATCHDOG_USEC", "200000", 1);
	run_start(&r, plain, NULL);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	expect_notice(fd, "READY=1");
	for (int i = 0; i < 3; i++)
		expect_notice(fd, "WATCHDOG=1");
	kill(r.pid, SIGTERM);
	expect_notice(fd, "STOPPING=1");
	assert_int_equal(run_wait(&r), 0);
	close(r.err_fd);
	close(fd);
	unlink(a.sun_path);
	run_nothing_left();
}

/* ---- processes of a rig ---- */

TEST(processes_end_with_simd)
{
	static const char rig[] =
		"{" POOLS ", \"rigs\": [{\"name\": \"r\", \"processes\": [{\"name\": \"talker\", \"command\": "
		"[\"sh\", \"-c\", \"echo I am $$; echo to $SIMD_SOCKET; exec sleep 1000\"]}]}]}";
	struct simd_run r;
	const char *said;
	pid_t talker = 0;

	for (int killed = 0; killed < 2; killed++) {
		run_start(&r, rig, NULL);
		assert_true(run_ready(&r));
		AWAIT(strstr(run_errors(&r), "to " RUN_DIR "/control"));
		said = strstr(run_errors(&r), "talker: I am ");
		assert_non_null(said);
		talker = (pid_t)atoi(said + strlen("talker: I am "));
		assert_true(run_alive(talker));
		if (!killed) {
			run_stop(&r);
			assert_false(run_alive(talker));
			run_nothing_left();
		}
	}
	/* killed without a chance to stop anything: the kernel tells its children */
	kill(r.pid, SIGKILL);
	(void)run_wait(&r);
	close(r.err_fd);
	AWAIT(!run_alive(talker));
	/* RouDi is left for the next one, which takes it along when it ends */
	run_start(&r, plain, NULL);
	assert_true(run_ready(&r));
	run_stop(&r);
	run_nothing_left();
}

static const char external[] = "{" POOLS ", \"roudi\": {\"start\": \"external\"}}";
static const struct ipc_mem_pool enough[] = { { 512, 4000 }, { 65536, 200 } };
static const struct ipc_mem_pool few[] = { { 512, 100 } };

TEST(a_suitable_external_roudi_is_used_and_not_stopped)
{
	struct roudi roudi;
	struct simd_run r;
	struct sim_client *c;
	struct sim_publisher *p;
	struct sim_subscriber *s;

	assert_int_equal(roudi_start(&roudi, enough, 2), 0);
	run_start(&r, external, NULL);
	assert_true(run_ready(&r));
	assert_int_equal(run_number("GetInfo", "roudi_pid"), roudi.pid);
	c = run_client("guest");
	run_pair(c, "x", &p, &s);
	run_until_through(p, s);
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	run_stop(&r);
	assert_int_equal(kill(roudi.pid, 0), 0);
	/* and again: what the first simd had is free */
	run_start(&r, external, NULL);
	assert_true(run_ready(&r));
	run_stop(&r);
	assert_int_equal(waitpid(roudi.pid, NULL, WNOHANG), 0);
	roudi_kill(&roudi);
}

TEST(an_unsuitable_external_roudi_is_refused)
{
	struct roudi roudi;
	struct simd_run r;

	assert_int_equal(roudi_restart(&roudi, few, 1), 0);
	run_start(&r, external, NULL);
	assert_false(run_ready(&r));
	assert_int_equal(WEXITSTATUS(run_wait(&r)), 1);
	assert_non_null(strstr(run_errors(&r), "slots"));
	assert_int_equal(waitpid(roudi.pid, NULL, WNOHANG), 0); /* it lives on */
	close(r.err_fd);
	roudi_kill(&roudi);
}
