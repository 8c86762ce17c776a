/* SPDX-License-Identifier: Apache-2.0 */
/* See stack.h. */
#include "stack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <sim/sim.h>

#include "fd.h"
#include "mem.h"
#include "patient.h"

#define ARGS_MAX 16

static pid_t newest; /* the simd that was started last */

static const char *program(const char *name)
{
	static char path[512];
	const char *b = getenv("B");

	snprintf(path, sizeof(path), "%s/bin/%s", b ? b : "build", name);
	return path;
}

/* ---- simd ---- */

static const char *run_dir; /* of the simd being started, and its configuration */
static char run_conf[64];

static void write_conf(const char *conf)
{
	char *own = NULL, *text;

	assert_true(asprintf(&own, "{%s}\n", conf) > 0);
	text = patient_conf(own);
	assert_int_equal(fd_write_file(run_conf, text, strlen(text), 0644), 0);
	free(text);
	free(own);
}

static void log_and_run(void (*run)(const char *ready_fd), int ready_fd)
{
	int log = open(STACK_LOG, O_WRONLY | O_CREAT | O_APPEND, 0644);
	char fd[16];

	setsid();
	dup2(log, 1);
	dup2(log, 2);
	fcntl(ready_fd, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", ready_fd);
	run(fd);
	_exit(127);
}

pid_t stack_fork(void (*run)(const char *ready_fd), int *ret_ready_fd)
{
	int p[2];
	pid_t pid;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		log_and_run(run, p[1]);
	close(p[1]);
	*ret_ready_fd = p[0];
	newest = pid;
	return pid;
}

void stack_await_ready(int ready_fd)
{
	struct pollfd p = { .fd = ready_fd, .events = POLLIN };
	char text[8] = "";

	if (poll(&p, 1, -1) != 1 || read(ready_fd, text, sizeof(text)) < 6)
		fail_msg("simd does not become ready");
	close(ready_fd);
}

static void run_simd(const char *ready_fd)
{
	execl(program("simd"), "simd", "--config", run_conf, "--runtime-dir", run_dir, "--ready-fd", ready_fd,
	      (char *)NULL);
}

pid_t stack_spawn_in(const char *dir, const char *conf, int *ret_ready_fd)
{
	run_dir = dir;
	snprintf(run_conf, sizeof(run_conf), "/tmp/out-%s.json", strrchr(dir, '/') + 1);
	write_conf(conf);
	return stack_fork(run_simd, ret_ready_fd);
}

pid_t stack_spawn(const char *conf, int *ret_ready_fd)
{
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	return stack_spawn_in(STACK_DIR, conf, ret_ready_fd);
}

pid_t stack_start(const char *conf)
{
	int fd;
	pid_t pid = stack_spawn(conf, &fd);

	stack_await_ready(fd);
	/* its clock keeps a slot from the first tick on, so tests that count slots have it counted */
	if (strstr(conf, "\"TimeSource\":\"system\""))
		AWAIT(stack_channel("/clock", "messages") > 0);
	return pid;
}

int stack_wait(pid_t pid)
{
	int status = -1, fd = fd_pidfd_open(pid);

	/* no limit, only a line: if it never ends, the runner shows for which process the test waits */
	if (fd >= 0 && fd_pidfd_wait(fd, 10 * NS_PER_S) != 1)
		fprintf(stderr, "still waiting for process %d to end\n", (int)pid);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* As the first process of the namespace the test inherits simd's orphans. */
static void reap(void)
{
	siginfo_t info;

	/* only inherited processes: a test waits for its own children itself */
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
		char path[64], *name = NULL;

		snprintf(path, sizeof(path), "/proc/%d/comm", (int)info.si_pid);
		if (fd_read_file(path, 64, &name, NULL) < 0 || !strncmp(name, "simd\n", 5) ||
		    (strncmp(name, "iox-roudi", 9) && strncmp(name, "simbridge", 9))) {
			mem_free(name);
			return;
		}
		mem_free(name);
		waitpid(info.si_pid, NULL, 0);
	}
}

/* As the first process of the namespace the test inherits zombies as well. */
static bool is_zombie(const char *pid)
{
	char path[300], state;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	return fd_stat_field(path, 4, &state) < 0 || state == 'Z';
}

static bool leftover_process(char *ret, size_t size)
{
	static const char *const names[] = { "simd\n", "iox-roudi\n", "simbridge\n", "simctl\n" };
	DIR *d = opendir("/proc");
	const struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		char path[300], *name = NULL;

		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (e->d_name[0] < '0' || e->d_name[0] > '9' || is_zombie(e->d_name) ||
		    fd_read_file(path, 64, &name, NULL) < 0)
			continue;
		for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !found; i++) {
			found = !strcmp(name, names[i]);
			if (found)
				snprintf(ret, size, "process %s %s", e->d_name, name);
		}
		mem_free(name);
	}
	if (d)
		closedir(d);
	return found;
}

/* Not to be checked or removed: the checkout, and, without a namespace, all other files there. */
static bool is_foreign(const char *dir, const char *name)
{
	static const char *const made_here[] = { "simd", "out", "peer", "rt", "roudi", "iceoryx", "iox" };

	if (!strcmp(name, ".") || !strcmp(name, "..") || test_is_checkout(dir, name))
		return true;
	if (getpid() == 1)
		return false;
	for (unsigned i = 0; i < sizeof(made_here) / sizeof(*made_here); i++)
		if (!strncmp(name, made_here[i], strlen(made_here[i])))
			return false;
	return true;
}

static bool leftover_file(const char *dir, char *ret, size_t size)
{
	static const char *const ours[] = { "simd.log", "peer.log" };
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d))) {
		bool known = e->d_name[0] == '.' || !strncmp(e->d_name, "out", 3) || is_foreign(dir, e->d_name);

		for (unsigned i = 0; i < sizeof(ours) / sizeof(*ours); i++)
			known |= !strcmp(e->d_name, ours[i]);
		found = !known;
		if (found)
			snprintf(ret, size, "file %s/%s", dir, e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

const char *stack_leftovers(void)
{
	static char text[512];

	reap();
	if (leftover_process(text, sizeof(text)) || leftover_file("/tmp", text, sizeof(text)) ||
	    leftover_file("/dev/shm", text, sizeof(text)))
		return text;
	return "";
}

void stack_stop(pid_t simd)
{
	int status;

	assert_int_equal(kill(simd, SIGTERM), 0);
	status = stack_wait(simd);
	if (status)
		fail_msg("simd ended with status %#x", (unsigned)status);
	/* bridges are its children, so they have ended before it */
	if (*stack_leftovers())
		fail_msg("left behind: %s", stack_leftovers());
}

void stack_kill(pid_t simd)
{
	assert_int_equal(kill(simd, SIGKILL), 0);
	assert_int_equal(stack_wait(simd), SIGKILL);
}

void stack_kill_both(pid_t simd, pid_t roudi)
{
	assert_int_equal(kill(simd, SIGSTOP), 0);
	if (roudi > 1)
		(void)kill(roudi, SIGKILL); /* it may be exiting */
	stack_kill(simd);
}

static void remove_files(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	char command[400];

	while (d && (e = readdir(d))) {
		if (is_foreign(dir, e->d_name))
			continue;
		snprintf(command, sizeof(command), "rm -rf -- '%s/%s'", dir, e->d_name);
		if (system(command) != 0)
			fprintf(stderr, "%s failed\n", command);
	}
	if (d)
		closedir(d);
}

static char *whole_log(void)
{
	char *text = NULL;

	return fd_read_file(STACK_LOG, (size_t)256 << 20, &text, NULL) < 0 ? NULL : text;
}

/* Without a pid namespace: kills all processes with the mark of tests/support/ns.sh, which this process has too. */
static void kill_marked(void)
{
	const char *run = getenv("SIMD_TEST_RUN");
	DIR *d = run ? opendir("/proc") : NULL;
	const struct dirent *e;
	char mark[128];

	snprintf(mark, sizeof(mark), "SIMD_TEST_RUN=%s", run ? run : "");
	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		char path[300], *env = NULL;
		size_t len = 0;

		snprintf(path, sizeof(path), "/proc/%s/environ", e->d_name);
		if (pid <= 0 || pid == getpid() || fd_read_file(path, (size_t)1 << 20, &env, &len) < 0)
			continue;
		if (memmem(env, len, mark, strlen(mark) + 1))
			kill(pid, SIGKILL);
		mem_free(env);
	}
	if (d)
		closedir(d);
}

/* No test has a bridge or process of simd's crash on purpose; one that does at its end is else missed. */
static bool has_crashed(const char *log)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	char text[64];

	for (unsigned i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
		snprintf(text, sizeof(text), "killed by signal %d ", crashes[i]);
		if (strstr(log, text))
			return true;
	}
	return false;
}

static bool crash_expected;

void stack_expects_crash(void)
{
	crash_expected = true;
}

/* Prints the log. Returns whether a process has crashed. */
static bool show_log(void)
{
	char *text = whole_log();
	size_t len = text ? strlen(text) : 0;
	bool crashed = text && !crash_expected && has_crashed(text);

	crash_expected = false;
	if (text)
		printf("-- simd's log\n%s-- end of it\n", text + (len > 16000 ? len - 16000 : 0));
	if (crashed)
		printf("ERROR: a process that simd started has crashed\n");
	mem_free(text);
	return crashed;
}

/* Removes a failed test's leftovers, so that the next test finds none. */
static void remove_leftovers(void)
{
	static const char *const dirs[] = { "/tmp", "/dev/shm" };
	char found[300], command[400];

	(void)show_log();
	kill_marked();
	for (unsigned i = 0; i < 2; i++)
		while (leftover_file(dirs[i], found, sizeof(found))) {
			snprintf(command, sizeof(command), "rm -rf -- '%s'", found + strlen("file "));
			if (system(command) != 0)
				return;
		}
	unlink(STACK_LOG);
}
TEST_SWEEP(remove_leftovers)

int stack_sweep(void **state)
{
	bool crashed = show_log();

	(void)state;
	if (getpid() == 1)
		kill(-1, SIGKILL);
	else
		kill_marked();
	while (waitpid(-1, NULL, getpid() == 1 ? 0 : WNOHANG) > 0)
		continue;
	remove_files("/tmp");
	remove_files("/dev/shm");
	return crashed ? -1 : 0;
}

bool stack_said(const char *what)
{
	return stack_count(what, "") > 0;
}

unsigned stack_threads(pid_t pid, const char *name, const char *states)
{
	char path[300];
	const struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		char *comm = NULL, state = '?';

		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, e->d_name);
		(void)fd_stat_field(path, 4, &state);
		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)pid, e->d_name);
		if (*e->d_name != '.' && (!states || strchr(states, state)) && fd_read_file(path, 64, &comm, NULL) >= 0)
			n += !strncmp(comm, name, strlen(name));
		mem_free(comm);
	}
	if (d)
		closedir(d);
	return n;
}

/* Dispatch and clock have their lines written by another thread, which they wake: what is to be seen otherwise may be ahead of its line. */
unsigned stack_count(const char *a, const char *b)
{
	unsigned n = 0;
	char *text, *save = NULL;

	(void)HOLDS_WITHIN(1000, !stack_threads(newest, "simd-log", "RD"));
	text = whole_log();
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		n += strstr(line, a) && strstr(line, b);
	mem_free(text);
	return n;
}

/* ---- queries ---- */

static json_t *call(const char *method, json_t *params)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = "test",
					.socket = STACK_SOCKET,
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD,
					.timeout_ms = PATIENT_MS };
	char *text = params ? json_dumps(params, JSON_COMPACT) : NULL, *reply = NULL;
	struct sim_client *c = NULL;
	json_t *j = NULL;

	if (sim_connect(&o, &c) == 0 && sim_call_within(c, method, text ? text : "{}", -1, &reply) == 0)
		j = json_loads(reply, 0, NULL);
	free(reply);
	free(text);
	json_decref(params);
	sim_disconnect(c);
	return j;
}

json_t *stack_call(const char *method, const char *fmt, ...)
{
	json_t *params = NULL;
	va_list ap;

	if (fmt) {
		va_start(ap, fmt);
		params = json_vpack_ex(NULL, 0, fmt, ap);
		va_end(ap);
		assert_non_null(params);
	}
	return call(method, params);
}

static const json_t *walk(const json_t *j, const char *path)
{
	char part[64];

	while (j && *path) {
		size_t n = strcspn(path, "/");

		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		j = json_is_array(j) ? json_array_get(j, strtoul(part, NULL, 10)) : json_object_get(j, part);
		path += n + (path[n] == '/');
	}
	return j;
}

int64_t stack_int(const char *method, const char *path)
{
	json_t *j = stack_call(method, NULL);
	const json_t *v = walk(j, path);
	int64_t n = json_is_integer(v) ? json_integer_value(v) : /* all its digits */
			    json_is_real(v) ? (int64_t)json_real_value(v)
		    : json_is_boolean(v)    ? json_is_true(v)
					    : -1;

	json_decref(j);
	return n;
}

const char *stack_text(const char *method, const char *path)
{
	static char text[256];
	json_t *j = stack_call(method, NULL);
	const char *s = json_string_value(walk(j, path));

	snprintf(text, sizeof(text), "%s", s ? s : "");
	json_decref(j);
	return text;
}

static const json_t *by_name(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *s = json_string_value(json_object_get(item, "name"));

		if (s && !strcmp(s, name))
			return item;
	}
	return NULL;
}

static int64_t member(const char *method, const char *list, const char *name, const char *key)
{
	json_t *j = stack_call(method, NULL);
	const json_t *v = json_object_get(by_name(walk(j, list), name), key);
	int64_t n = json_is_number(v) ? (int64_t)json_number_value(v) : -1;

	json_decref(j);
	return n;
}

int64_t stack_bridge(const char *name, const char *key)
{
	return member("ListBridges", "bridges", name, key);
}

const char *stack_bridge_text(const char *name, const char *key)
{
	static char text[256];
	json_t *j = stack_call("ListBridges", NULL);
	const char *s = json_string_value(json_object_get(by_name(json_object_get(j, "bridges"), name), key));

	snprintf(text, sizeof(text), "%s", s ? s : "");
	json_decref(j);
	return text;
}

int64_t stack_channel(const char *name, const char *key)
{
	return member("ListChannels", "channels", name, key);
}

int64_t stack_in_flight(const char *channel)
{
	return member("GetDispatch", "dispatch/channels", channel, "in_flight");
}

pid_t stack_roudi(void)
{
	return (pid_t)stack_int("GetInfo", "roudi_pid");
}

const char *stack_plane(void)
{
	static char plane[64];

	snprintf(plane, sizeof(plane), "%s", stack_text("GetInfo", "plane"));
	assert_true(*plane);
	return plane;
}

uint32_t stack_life(void)
{
	return (uint32_t)stack_int("GetInfo", "iox_generation");
}

/* ---- programs ---- */

static size_t read_some(int fd, char *buf, size_t size, size_t at)
{
	ssize_t n = read(fd, buf + at, size - 1 - at);

	return n > 0 ? at + (size_t)n : at;
}

static void read_both(int out, int err, struct ctl_result *r)
{
	struct pollfd p[2] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN } };
	size_t n_out = 0, n_err = 0;

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 2, -1) <= 0)
			fail_msg("poll: %s", strerror(errno));
		for (int i = 0; i < 2; i++) {
			size_t *n = i ? &n_err : &n_out, before = *n;

			if (!p[i].revents)
				continue;
			*n = i ? read_some(err, r->err, sizeof(r->err), *n)
			       : read_some(out, r->out, sizeof(r->out), *n);
			if (*n == before)
				p[i].fd = -1;
		}
	}
	r->out[n_out] = r->err[n_err] = '\0';
}

const struct ctl_result *stack_run(const char *const *argv)
{
	static struct ctl_result r;
	int out[2], err[2], status;
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC) + pipe2(err, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		dup2(err[1], 2);
		execv(program(argv[0]), (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	read_both(out[0], err[0], &r);
	close(out[0]);
	close(err[0]);
	status = stack_wait(pid);
	r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return &r;
}

void stack_exec_ctl(const char *command, const char *const *args)
{
	const char *argv[32] = { "simctl", "--socket", STACK_SOCKET, command };

	for (size_t n = 4; *args && n < 31; n++)
		argv[n] = *args++;
	execv(program("simctl"), (char *const *)(uintptr_t)argv);
	_exit(127);
}

const struct ctl_result *stack_ctl(const char *arg, ...)
{
	const char *argv[ARGS_MAX] = { "simctl", arg };
	unsigned n = 2;
	va_list ap;

	va_start(ap, arg);
	while (n < ARGS_MAX - 1 && arg && (argv[n] = va_arg(ap, const char *)))
		n++;
	va_end(ap);
	return stack_run(argv);
}

/* ---- pools ---- */

uint32_t stack_slots(void)
{
	json_t *info = stack_call("GetInfo", NULL), *p;
	uint32_t sum = 0;
	size_t i;

	assert_non_null(info);
	json_array_foreach(json_object_get(info, "pools"), i, p)
		sum += (uint32_t)json_integer_value(json_object_get(p, "used"));
	json_decref(info);
	return sum;
}

/* ---- /dev/shm ---- */

#define OF_OTHERS "/dev/shm/of-others"

void stack_shm_fill(int64_t left)
{
	static char page[4096];
	int fd = open(OF_OTHERS, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600);

	assert_true(fd >= 0);
	while (write(fd, page, sizeof(page)) == (ssize_t)sizeof(page))
		continue;
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - left), 0);
	close(fd);
}

void stack_shm_clear(void)
{
	(void)unlink(OF_OTHERS);
}
