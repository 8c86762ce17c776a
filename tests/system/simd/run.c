/* SPDX-License-Identifier: Apache-2.0 */
/* See run.h. */
#include "system/simd/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"
#include "mem.h"
#include "supervise/state.h"
#include "tests/support/patient.h"

const char *run_program(const char *name)
{
	static char path[4][PATH_MAX];
	static int turn;
	char *at = path[turn++ % 4], *slash;
	ssize_t n = readlink("/proc/self/exe", at, PATH_MAX - 64);

	assert_true(n > 0);
	at[n] = '\0';
	slash = strrchr(at, '/');
	sprintf(slash, "/../bin/%s", name);
	return at;
}

/* ---- the process ---- */

static void child(const char *const *argv, int ready, int err)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(err, STDERR_FILENO);
	if (ready == 7) /* dup2 would leave it close-on-exec */
		fcntl(ready, F_SETFD, 0);
	else
		dup2(ready, 7);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(126);
}

void run_start(struct simd_run *r, const char *config, const char *const *extra)
{
	static char file[64];
	static int n;
	const char *argv[16] = { run_program("simd"), "--config", file, "--ready-fd", "7" };
	char *text = patient_conf(config);
	int k = 5, p[2];

	snprintf(file, sizeof(file), "/tmp/simd%d.json", n++);
	assert_int_equal(fd_write_file(file, text, strlen(text), 0600), 0);
	free(text);
	for (int i = 0; extra && extra[i]; i++)
		argv[k++] = extra[i];
	if (!extra || strcmp(extra[0], "--runtime-dir") != 0) {
		argv[k++] = "--runtime-dir";
		argv[k++] = RUN_DIR;
	}
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	r->err_fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC | O_APPEND, 0600);
	assert_true(r->err_fd >= 0);
	r->ready_fd = p[0];
	r->pid = fork();
	if (r->pid == 0)
		child(argv, p[1], r->err_fd);
	close(p[1]);
	setenv("SIMD_SOCKET", RUN_DIR "/control", 1);
}

bool run_ready(struct simd_run *r)
{
	struct pollfd p = { .fd = r->ready_fd, .events = POLLIN };
	char line[16];
	ssize_t n;

	if (poll(&p, 1, -1) != 1)
		fail_msg("simd is not ready: %s", run_errors(r));
	n = read(r->ready_fd, line, sizeof(line));
	return n > 0;
}

const char *run_errors(struct simd_run *r)
{
	static char text[1 << 18]; /* a test that kills often makes simd say much */
	ssize_t n = pread(r->err_fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

int run_wait(struct simd_run *r)
{
	int status;
	pid_t ended;

	AWAIT((ended = waitpid(r->pid, &status, WNOHANG)) != 0);
	assert_int_equal(ended, r->pid);
	close(r->ready_fd);
	return status;
}

void run_stop(struct simd_run *r)
{
	kill(r->pid, SIGTERM);
	if (run_wait(r) != 0)
		fail_msg("simd ended badly: %s", run_errors(r));
	close(r->err_fd);
}

/* ---- leftovers ---- */

bool run_alive(pid_t pid)
{
	return state_proc_start(pid) >= 0;
}

static void empty(const char *dir, const char *const *but)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	while ((e = readdir(d))) {
		/* what this process has in the data plane goes when it ends, not when simd does; simcheck: the runner's */
		bool ours = e->d_name[0] == '.' || test_is_checkout(dir, e->d_name) || strstr(e->d_name, ".json") ||
			    strncmp(e->d_name, "sensor-", 7) == 0 || strncmp(e->d_name, "guest-", 6) == 0 ||
			    strncmp(e->d_name, "simcheck.", 9) == 0;

		for (int i = 0; but && but[i]; i++)
			ours |= strcmp(but[i], e->d_name) == 0;
		if (!ours)
			fail_msg("%s/%s is left behind", dir, e->d_name);
	}
	closedir(d);
}

static void no_process(void)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;

	while ((e = readdir(d))) {
		char path[300], *name;

		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		/* a zombie has ended: here the test is the init that has to reap it */
		if (e->d_name[0] < '0' || e->d_name[0] > '9' || !run_alive(atoi(e->d_name)) ||
		    fd_read_file(path, 64, &name, NULL) < 0)
			continue;
		if (strstr(name, "iox-roudi") || strcmp(name, "simd\n") == 0 || strstr(name, "simbridge"))
			fail_msg("process %s %s is left behind", e->d_name, name);
		mem_free(name);
	}
	closedir(d);
}

void run_nothing_left(void)
{
	empty("/dev/shm", NULL);
	empty("/tmp", NULL);
	no_process();
}

/* ---- calls ---- */

json_t *run_call(const char *method, const char *params)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = "test-tool",
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD,
					.timeout_ms = PATIENT_MS };
	struct sim_client *c;
	char *text;
	json_t *j;

	if (sim_connect(&o, &c) < 0)
		fail_msg("cannot connect: %s", sim_why());
	if (sim_call_within(c, method, params, -1, &text) < 0)
		fail_msg("%s: %s", method, sim_why());
	sim_disconnect(c);
	j = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(j);
	return j;
}

int64_t run_number(const char *method, const char *key)
{
	json_t *j = run_call(method, "{}");
	int64_t v = json_integer_value(json_object_get(j, key));

	json_decref(j);
	return v;
}

void run_until(const char *method, const char *key, int64_t want)
{
	AWAIT(run_number(method, key) == want);
}

/* ---- clients ---- */

struct sim_client *run_client(const char *name)
{
	struct sim_client_options o = { .size = sizeof(o), .name = name, .timeout_ms = PATIENT_MS };
	struct sim_client *c;

	if (sim_connect(&o, &c) < 0)
		fail_msg("%s cannot connect: %s", name, sim_why());
	return c;
}

void run_pair(struct sim_client *c, const char *channel, struct sim_publisher **p, struct sim_subscriber **s)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = 256 };
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 8 };
	const struct sim_type *type = sim_type_builtin("sim/Clock");

	if (sim_advertise(c, channel, type, &po, p) < 0 || sim_subscribe(c, channel, type, &so, s) < 0)
		fail_msg("%s: %s", channel, sim_why());
}

/* Publishes; whether a message has come out. */
static bool one_through(struct sim_publisher *p, struct sim_subscriber *s)
{
	size_t size = sim_type_builtin("sim/Clock")->size;
	const struct sim_message *in;
	struct sim_slot *out;

	if (sim_loan(p, size, &out) == 0) {
		memset(sim_slot_body_mut(out), 0, size);
		(void)!sim_try_queue(p, out, NULL, NULL, NULL);
	}
	if (sim_take(s, &in) < 0)
		return false;
	sim_release(s, in);
	return true;
}

void run_until_through(struct sim_publisher *p, struct sim_subscriber *s)
{
	AWAIT(one_through(p, s));
}
