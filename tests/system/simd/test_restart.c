/* SPDX-License-Identifier: Apache-2.0 */
/* RouDi, simd and bridges killed: everything comes back, in the same processes, and nothing is kept. Under ns.sh. */
#include "system/simd/run.h"

#include "fd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

static const char rig[] =
	"{" POOLS
	", \"TimeSource\": \"simulation\", \"rigs\": [{\"name\": \"car\", \"bridges\": [{\"name\": \"nul\", \"plugin\": \"null\"}]}]}";

static struct simd_run r;
static struct sim_client *c;
static struct sim_publisher *p;
static struct sim_subscriber *s;
static int64_t life; /* generation at the test's begin */

static int begin_client(void)
{
	assert_true(run_ready(&r));
	c = run_client("sensor");
	run_pair(c, "x", &p, &s);
	run_until_through(p, s);
	life = run_number("GetInfo", "iox_generation");
	return 0;
}

static int begin_with(const char *conf)
{
	run_start(&r, conf, NULL);
	return begin_client();
}

static int begin(void **state)
{
	(void)state;
	return begin_with(rig);
}

/* A RouDi that says nothing for half a second has hung. */
static int begin_impatient(void **state)
{
	(void)state;
	return begin_with(
		"{" POOLS
		", \"TimeSource\": \"simulation\", \"roudi\": {\"probe_ms\": 100, \"probe_timeout_ms\": 500}}");
}

static int end(void **state)
{
	(void)state;
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	run_stop(&r);
	run_nothing_left();
	return 0;
}

static int64_t shm_used(void)
{
	struct statvfs v;

	assert_int_equal(statvfs("/dev/shm", &v), 0);
	return (int64_t)((v.f_blocks - v.f_bfree) * v.f_frsize);
}

/* The bridge's number of a key, -1: the bridge has no process. */
static int64_t bridge_number(const char *key)
{
	json_t *j = run_call("ListBridges", "{}");
	json_t *b = json_array_get(json_object_get(j, "bridges"), 0);
	int64_t v = json_integer_value(json_object_get(b, key));

	json_decref(j);
	return v;
}

static int64_t bridge_until_more(const char *key, int64_t than)
{
	int64_t v;

	AWAIT((v = bridge_number(key)) > than);
	return v;
}

static _Atomic unsigned done_ok;

static void on_done(void *user, bool ok, enum sim_reason reason)
{
	(void)user;
	(void)reason;
	if (ok)
		done_ok++;
}

/* Queue until a bridge has taken one. */
static void through_the_bridge(void)
{
	unsigned before = done_ok;
	size_t size = sim_type_builtin("sim/Clock")->size;

	while (done_ok == before) {
		struct sim_slot *out;

		if (sim_loan(p, size, &out) == 0) {
			memset(sim_slot_body_mut(out), 0, size);
			(void)!sim_try_queue(p, out, NULL, on_done, NULL);
		}
		pace_us(5000);
	}
}

/* Also while simd itself restarts, and does not answer for a moment. */
static void wait_for_another_life(int64_t generation)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = "t",
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD,
					.timeout_ms = PATIENT_MS };
	int64_t now = generation;

	while (now == generation) {
		struct sim_client *tool;
		char *text;

		if (sim_connect(&o, &tool) == 0) {
			if (sim_call_within(tool, "GetInfo", "{}", -1, &text) == 0) {
				json_t *j = json_loads(text, 0, NULL);

				now = json_integer_value(json_object_get(j, "iox_generation"));
				json_decref(j);
				free(text);
			}
			sim_disconnect(tool);
		}
		wait_look_again();
	}
}

TEST_WITH(a_killed_roudi_is_replaced, begin, end)
{
	int64_t before = shm_used();

	through_the_bridge();
	for (int i = 0; i < 3; i++) {
		pid_t roudi = (pid_t)run_number("GetInfo", "roudi_pid");
		int64_t generation = run_number("GetInfo", "iox_generation");

		assert_int_equal(kill(roudi, SIGKILL), 0);
		run_until("GetInfo", "iox_generation", generation + 1);
		run_until_through(p, s);
		through_the_bridge();
		assert_int_not_equal(run_number("GetInfo", "roudi_pid"), roudi);
	}
	assert_non_null(strstr(run_errors(&r), "exited: killed by signal 9 (Killed)"));
	/* the memory of the three is back: the pages of their management, which old handles may still touch, are not payload */
	AWAIT(shm_used() <= before + 3 * (80 << 20));
}

/* ---- RouDi cannot be started for a while ---- */

#define FLAKY             "/tmp/flaky-roudi"
#define BROKEN            "/tmp/broken"
#define FLAKY_CONF(retry) "{" POOLS ", \"TimeSource\": \"simulation\", \"roudi\": {\"path\": \"" FLAKY "\"" retry "}}"

static void break_roudi(bool broken)
{
	if (broken)
		assert_int_equal(fd_write_file(BROKEN, "", 0, 0600), 0);
	else
		(void)unlink(BROKEN);
}

static void write_flaky(void)
{
	static const char script[] = "#!/bin/sh\n[ ! -e " BROKEN " ] || exit 3\nexec iox-roudi \"$@\"\n";

	assert_int_equal(fd_write_file(FLAKY, script, strlen(script), 0700), 0);
}

static int begin_flaky(void **state)
{
	(void)state;
	write_flaky();
	return begin_with(FLAKY_CONF(""));
}

static int begin_flaky_once(void **state)
{
	(void)state;
	write_flaky();
	return begin_with(FLAKY_CONF(", \"retry_ms\": 0"));
}

static int end_flaky(void **state)
{
	break_roudi(false);
	(void)unlink(FLAKY);
	return end(state);
}

static unsigned failed_starts(void)
{
	unsigned n = 0;

	for (const char *at = run_errors(&r); (at = strstr(at, "exited: exit code 3")); at++)
		n++;
	return n;
}

/* simd gave up after six starts, which is three seconds, and ended as if it had been asked to. */
TEST_WITH(a_roudi_that_cannot_start_is_tried_for_long, begin_flaky, end_flaky)
{
	break_roudi(true);
	assert_int_equal(kill((pid_t)run_number("GetInfo", "roudi_pid"), SIGKILL), 0);
	AWAIT(failed_starts() > 7);
	break_roudi(false);
	run_until_through(p, s);
}

TEST_WITH(simd_exits_with_the_reason_when_roudi_never_starts, begin_flaky_once, end_flaky)
{
	int status;

	break_roudi(true);
	assert_int_equal(kill((pid_t)run_number("GetInfo", "roudi_pid"), SIGKILL), 0);
	status = run_wait(&r);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_non_null(strstr(run_errors(&r), "lost for good: iox-roudi exits right after its start (exit code 3)"));
	close(r.err_fd);
	break_roudi(false);
	run_start(&r, rig, NULL);
	assert_true(run_ready(&r));
}

/* ---- while the wall clock is set ---- */

#define STEP_FILE "/tmp/step"
#define HOUR_S    3600

static _Atomic int64_t *step_s; /* the content of the file */

/* RouDi and simd are to have it, this process and its client not. */
static int begin_stepped(void **state)
{
	static const int64_t none;
	int fd;

	(void)state;
	assert_int_equal(fd_write_file(STEP_FILE, (const char *)&none, sizeof(none), 0600), 0);
	fd = open(STEP_FILE, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	step_s = (_Atomic int64_t *)mmap(NULL, sizeof(*step_s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(step_s != MAP_FAILED);
	close(fd);
	setenv("LD_PRELOAD", STEPPED, 1);
	setenv("STEPPED", STEP_FILE, 1);
	write_flaky();
	run_start(&r, FLAKY_CONF(""), NULL);
	unsetenv("LD_PRELOAD");
	return begin_client();
}

static int end_stepped(void **state)
{
	(void)munmap((void *)(uintptr_t)step_s, sizeof(*step_s));
	(void)unlink(STEP_FILE);
	return end_flaky(state);
}

/* Neither is the last try early, an hour being over at once, nor the next one an hour late. */
static void fails_with(int64_t off_s)
{
	unsigned before = failed_starts();

	atomic_store(step_s, off_s);
	AWAIT(failed_starts() > before + 1);
	assert_true(run_alive(r.pid));
}

static void await_next_life(void)
{
	AWAIT(run_number("GetInfo", "iox_generation") > life);
	life = run_number("GetInfo", "iox_generation");
	run_until_through(p, s);
}

TEST_WITH(the_wall_clock_may_be_set_during_restarts, begin_stepped, end_stepped)
{
	break_roudi(true);
	assert_int_equal(kill((pid_t)run_number("GetInfo", "roudi_pid"), SIGKILL), 0);
	fails_with(0);
	fails_with(HOUR_S);
	fails_with(-HOUR_S);
	break_roudi(false);
	await_next_life();
	/* and while there is a generation */
	atomic_store(step_s, HOUR_S);
	assert_int_equal(kill((pid_t)run_number("GetInfo", "roudi_pid"), SIGKILL), 0);
	await_next_life();
}

TEST_WITH(a_hung_roudi_is_replaced, begin_impatient, end)
{
	pid_t roudi = (pid_t)run_number("GetInfo", "roudi_pid");

	assert_int_equal(kill(roudi, SIGSTOP), 0);
	AWAIT(run_number("GetInfo", "iox_generation") >
	      life); /* at least: a slow machine makes the next one late as well */
	run_until_through(p, s);
	assert_false(run_alive(roudi));
}

TEST_WITH(a_restarted_simd_finds_its_roudi, begin, end)
{
	pid_t roudi = (pid_t)run_number("GetInfo", "roudi_pid"), bridge = (pid_t)bridge_until_more("pid", 0);

	through_the_bridge();
	kill(r.pid, SIGKILL);
	(void)run_wait(&r);
	close(r.err_fd);
	run_start(&r, rig, NULL);
	assert_true(run_ready(&r));
	/* the same RouDi, the same life: this process has not attached again */
	assert_int_equal(run_number("GetInfo", "roudi_pid"), roudi);
	assert_int_equal(run_number("GetInfo", "iox_generation"), life);
	run_until_through(p, s);
	through_the_bridge();
	/* the bridge of the old one went with it */
	assert_false(run_alive(bridge));
	assert_int_not_equal(bridge_number("pid"), bridge);
}

TEST_WITH(clients_reconnect_after_simd_and_roudi_are_killed, begin, end)
{
	pid_t roudi = (pid_t)run_number("GetInfo", "roudi_pid");

	kill(r.pid, SIGKILL);
	kill(roudi, SIGKILL);
	(void)run_wait(&r);
	close(r.err_fd);
	run_start(&r, rig, NULL);
	assert_true(run_ready(&r));
	/* numbers still ascend, so that no client confuses the new generation with the old */
	assert_int_equal(run_number("GetInfo", "iox_generation"), life + 1);
	run_until_through(p, s);
}

TEST_WITH(a_changed_configuration_replaces_roudi, begin, end)
{
	pid_t roudi = (pid_t)run_number("GetInfo", "roudi_pid");
	static const char other[] = "{\"pools\": [{\"size\": 512, \"count\": 3000}]}";

	kill(r.pid, SIGKILL);
	(void)run_wait(&r);
	close(r.err_fd);
	run_start(&r, other, NULL);
	assert_true(run_ready(&r));
	assert_int_not_equal(run_number("GetInfo", "roudi_pid"), roudi);
	assert_int_equal(run_number("GetInfo", "iox_generation"), life + 1);
	run_until_through(p, s);
}

/* Stopped in order, with RouDi: the client that stays must not take the next life for the one it knows. */
TEST_WITH(clients_follow_when_simd_is_stopped_and_started, begin, end)
{
	run_stop(&r);
	run_start(&r, rig, NULL);
	assert_true(run_ready(&r));
	assert_true(run_number("GetInfo", "iox_generation") > life);
	run_until_through(p, s);
	through_the_bridge();
}

/* simd's own attachments are bounded: it restarts before the last is used, and the clients follow. */
TEST_WITH(simd_restarts_itself_before_its_attachments_are_used_up, begin, end)
{
	int64_t first = run_number("GetInfo", "pid"), restarts = 0;

	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	run_stop(&r);
	setenv("GLIBC_TUNABLES", "glibc.rtld.nns=4", 1); /* the room of a plain start: 11 lives */
	run_start(&r, rig, NULL);
	setenv("GLIBC_TUNABLES", "glibc.rtld.nns=16", 1);
	assert_true(run_ready(&r));
	first = run_number("GetInfo", "uptime_ms");
	for (; restarts < 18 && run_number("GetInfo", "uptime_ms") >= first; restarts++) {
		int64_t generation = run_number("GetInfo", "iox_generation");

		first = run_number("GetInfo", "uptime_ms");
		assert_int_equal(kill((pid_t)run_number("GetInfo", "roudi_pid"), SIGKILL), 0);
		wait_for_another_life(generation);
	}
	assert_true(restarts < 18);
	c = run_client("sensor");
	run_pair(c, "x", &p, &s);
	run_until_through(p, s);
	through_the_bridge();
}

/*
 * A bridge with a unit of its own survives simd. Messages that the old simd took for it stay readable until it reports
 * that it is idle; then the new simd releases them.
 */
TEST_WITH(a_bridge_survives_a_killed_simd, begin, end)
{
	static const char external[] =
		"{" POOLS ", \"TimeSource\": \"simulation\", \"rigs\": [{\"name\": \"car\", \"bridges\": "
		"[{\"name\": \"nul\", \"plugin\": \"null\", \"start\": \"external\"}]}]}";
	pid_t bridge;

	run_stop(&r);
	run_start(&r, external, NULL);
	assert_true(run_ready(&r));
	bridge = fork();
	if (bridge == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(run_program("simbridge"), "simbridge", "--stay", "nul", (char *)NULL);
		_exit(126);
	}
	run_until_through(p, s);
	through_the_bridge();
	assert_int_equal(bridge_number("pid"), bridge);
	kill(r.pid, SIGKILL);
	(void)run_wait(&r);
	close(r.err_fd);
	run_start(&r, external, NULL);
	assert_true(run_ready(&r));
	through_the_bridge();
	assert_int_equal(bridge_number("pid"), bridge);
	AWAIT(strstr(run_errors(&r), "freeing what the earlier simd"));
	kill(bridge, SIGTERM);
	assert_int_equal(waitpid(bridge, NULL, 0), bridge);
}

TEST_WITH(a_bridge_that_dies_is_restarted, begin, end)
{
	int64_t pid = bridge_until_more("pid", 0);

	through_the_bridge();
	assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
	assert_true(bridge_until_more("restarts", 0) >= 1);
	through_the_bridge();
	assert_int_not_equal(bridge_number("pid"), pid);
	/* and on request */
	pid = bridge_number("pid");
	json_decref(run_call("RestartBridge", "{\"name\": \"nul\"}"));
	assert_true(bridge_until_more("restarts", 1) >= 2);
	through_the_bridge();
	assert_int_not_equal(bridge_number("pid"), pid);
}

/* Lives are counted per process: each test has 15 in one of its own, not 11. */
TEST_PROCESSES()

__attribute__((constructor)) static void fifteen_lives(void)
{
	setenv("GLIBC_TUNABLES", "glibc.rtld.nns=16", 1);
}
