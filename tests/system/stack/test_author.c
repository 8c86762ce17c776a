/* SPDX-License-Identifier: Apache-2.0 */
/* What the author of a sensor meets first: the README's sensor, with and without somebody who drives time. */
#include "peer.h"
#include "stack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <sim/sim.h>

#define SENSOR_LOG "/tmp/sensor.log"

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	simd = stack_start(STACK_POOLS); /* the default source of time, unity */
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	return 0;
}

/* Runs until killed; what it prints goes to SENSOR_LOG. */
static pid_t sensor_start(void)
{
	const char *b = getenv("B");
	char path[PATH_MAX];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/examples/sensor_minimal", b ? b : "build");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int fd = open(SENSOR_LOG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd, 2);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void sensor_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	stack_wait(pid, 5000);
	unlink(SENSOR_LOG);
}

static bool file_holds(const char *path, const char *text)
{
	static char buf[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return strstr(buf, text);
}

static bool ctl_shows(const char *text)
{
	return strstr(stack_ctl("clock", "status", NULL)->out, text);
}

/* One message, then silence: somebody must say why, and what to do; done, it flows. */
static void a_sensor_without_a_driver(void **state)
{
	pid_t pid = sensor_start();

	(void)state;
	UNTIL(10000, file_holds(SENSOR_LOG, "no driver yet: start one, or TimeSource=simulation"));
	assert_true(ctl_shows("no driver yet: start one, or TimeSource=simulation"));
	assert_true(stack_channel("/my_imu", "messages") <= 1);
	assert_int_equal(stack_ctl("clock", "source", "simulation", NULL)->code, 0);
	UNTIL(10000, stack_channel("/my_imu", "messages") > 20);
	assert_non_null(strstr(stack_ctl("echo", "my_imu", "--once", NULL)->out, "9.81"));
	sensor_stop(pid);
	stack_stop(simd);
}

/* Drives time, releases the lease when told to, and takes it again. */
static int engine(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_driver *d;
	int64_t granted;

	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	PEER(p, sim_driver_advance(d, NS_PER_MS, &granted) == 0);
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->command))
		usleep(500);
	sim_driver_release(d);
	atomic_store(&p->ready, 2);
	while (atomic_load(&p->command) < 2)
		usleep(500);
	PEER(p, sim_driver_acquire(c, 0, &d) == 0);
	atomic_store(&p->ready, 3);
	pause();
	return 0;
}

/* An engine that ends as it should is no news; one that just goes is. */
static void an_orderly_release_is_no_warning(void **state)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, engine);

	(void)state;
	UNTIL(10000, p->ready == 1);
	assert_true(ctl_shows("driver:     engine (pid "));
	p->command = 1;
	UNTIL(5000, p->ready == 2 && stack_said("has released the driver lease"));
	assert_int_equal(stack_count("warn", "driver"), 0);
	assert_int_equal(stack_int("GetClock", "clock/driver_lost"), 0);
	assert_true(ctl_shows("driver:     none: it was released"));
	p->command = 2;
	UNTIL(5000, p->ready == 3);
	kill(pid, SIGKILL);
	stack_wait(pid, 5000);
	UNTIL(5000, stack_count("warn", "the driver of time is gone") == 1);
	assert_true(ctl_shows("driver:     none: it was lost"));
	peer_free(p);
	stack_stop(simd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sensor_without_a_driver, setup, stack_sweep),
		cmocka_unit_test_setup_teardown(an_orderly_release_is_no_warning, setup, stack_sweep),
	};

	return cmocka_run_group_tests_name("author", tests, NULL, NULL);
}
