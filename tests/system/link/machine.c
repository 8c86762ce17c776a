/* SPDX-License-Identifier: Apache-2.0 */
/* See machine.h. */
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "mem.h"

#define LOG "/tmp/simd.log"

static const char *build(void)
{
	const char *b = getenv("B");

	return b ? b : "build";
}

/* ---- namespaces ---- */

static int make_dirs(const char *path)
{
	char at[PATH_MAX];

	for (const char *p = path; p && *p; p = strchr(p + 1, '/')) {
		snprintf(at, sizeof(at), "%.*s", (int)(p - path), path);
		if (*at && mkdir(at, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* /tmp and /dev/shm of its own; a checkout that lies there stays where it is. */
static bool mount_own(void)
{
	char here[PATH_MAX], fd_path[64];
	int fd;

	if (!getcwd(here, sizeof(here)) || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	fd = open(".", O_PATH | O_CLOEXEC); /* of the mounts that are ours now: of others nothing can be bound */
	if (fd < 0 || mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") < 0 ||
	    mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777,size=1g") < 0)
		return false;
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd);
	if ((strncmp(here, "/tmp/", 5) == 0 || strncmp(here, "/dev/shm/", 9) == 0) &&
	    (make_dirs(here) < 0 || mount(fd_path, here, NULL, MS_BIND, NULL) < 0))
		return false;
	return chdir(here) == 0;
}

static void hold(const struct machine *m, int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (switch_enter(m->net, m->port) < 0 || !mount_own() || write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void machine_start(struct machine *m)
{
	char path[64], byte;
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	m->holder = fork();
	if (m->holder == 0)
		hold(m, p[1]);
	close(p[1]);
	if (read(p[0], &byte, 1) != 1)
		fail_msg("machine %u has no namespaces", m->port);
	close(p[0]);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)m->holder);
	m->mnt = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/root", (int)m->holder);
	m->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(m->mnt >= 0 && m->root >= 0);
}

struct net_switch *machines_start(struct machine *m, unsigned n, uint64_t seed)
{
	struct net_switch *net;

	if (!getenv("SIMD_TESTS_NS") || switch_create(seed, SWITCH_ANY, &net) < 0) {
		print_message("no machines here: %s\n", getenv("SIMD_TESTS_NS") ? err_why() : "no namespaces");
		skip();
	}
	for (unsigned i = 0; i < n; i++) {
		m[i] = (struct machine){ .net = net, .port = (unsigned)switch_add_port(net), .mnt = -1 };
		machine_start(&m[i]);
	}
	return net;
}

/* ---- processes there ---- */

/* setns() goes to the namespace's own root, which is not ours where we are in a chroot, as on the bare Debian. */
static int enter(const struct machine *m)
{
	char here[PATH_MAX];

	if (!getcwd(here, sizeof(here)) || switch_enter(m->net, m->port) < 0 || setns(m->mnt, CLONE_NEWNS) < 0 ||
	    fchdir(m->root) < 0 || chroot(".") < 0 || chdir(here) < 0)
		return -1;
	setenv("SIMD_SOCKET", "/tmp/rt/control", 1);
	return 0;
}

pid_t machine_fork(const struct machine *m, int (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(enter(m) < 0 ? 126 : fn(arg));
}

int machine_wait(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		fail_msg("process %d ended with status %#x", (int)pid, (unsigned)status);
	return WEXITSTATUS(status);
}

int machine_run(const struct machine *m, int (*fn)(void *arg), void *arg)
{
	return machine_wait(machine_fork(m, fn, arg));
}

/* ---- simd ---- */

const char *machine_conf(const struct machine *m, unsigned n, const char *extra, const char *more)
{
	static char text[4096];
	char peers[512] = "", address[32];

	for (unsigned i = 0; i < n; i++)
		if (i != m->port)
			snprintf(peers + strlen(peers), sizeof(peers) - strlen(peers), "%s\"10.0.0.%u\"",
				 *peers ? "," : "", i + 1);
	snprintf(address, sizeof(address), "10.0.0.%u", m->port + 1);
	snprintf(
		text, sizeof(text),
		MACHINE_PATIENT
		"\"pools\":[{\"size\":\"4KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":400},{\"size\":\"8MiB\",\"count\":36}],"
		"\"rigs\":[{\"name\":\"rig\",\"inbound\":[\"*\"],"
		"\"channels\":[{\"name\":\"camera\",\"window\":4}],\"bridges\":[{\"name\":\"link\",\"plugin\":\"link\","
		"\"channels\":[\"*\"],\"options\":{\"host\":\"%c\",\"interface\":\"%s\",\"peers\":[%s],\"insecure\":true%s}}%s]}]",
		(char)('a' + m->port), address, peers, extra, more);
	return text;
}

struct launch {
	const char *conf;
	int ready;
};

static int run_simd(void *arg)
{
	const struct launch *l = arg;
	FILE *f = fopen("/tmp/simd.json", "w");
	int log = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0644);
	char fd[16], path[PATH_MAX];

	if (!f || log < 0)
		return 125;
	fprintf(f, "{%s}\n", l->conf);
	fclose(f);
	setsid();
	dup2(log, 1);
	dup2(log, 2);
	fcntl(l->ready, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", l->ready);
	snprintf(path, sizeof(path), "%s/bin/simd", build());
	execl(path, "simd", "--config", "/tmp/simd.json", "--runtime-dir", "/tmp/rt", "--ready-fd", fd, (char *)NULL);
	return 127;
}

static char *log_of(const struct machine *m)
{
	char path[PATH_MAX];
	char *text = NULL;

	snprintf(path, sizeof(path), "/proc/%d/root" LOG, (int)m->holder);
	return fd_read_file(path, (size_t)64 << 20, &text, NULL) < 0 ? NULL : text;
}

void machine_simd_start(struct machine *m, const char *conf)
{
	struct launch l = { .conf = conf };
	char text[8] = "", *log = log_of(m);
	int fds[2];

	m->began = log ? strlen(log) : 0;
	mem_free(log);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	l.ready = fds[1];
	m->simd = machine_fork(m, run_simd, &l);
	close(fds[1]);
	if (read(fds[0], text, sizeof(text)) < 6)
		fail_msg("simd of machine %u does not become ready", m->port);
	close(fds[0]);
}

void machine_simd_stop(struct machine *m)
{
	assert_int_equal(kill(m->simd, SIGTERM), 0);
	assert_int_equal(machine_wait(m->simd), 0);
	m->simd = 0;
}

/*
 * All processes that see its mounts, except the one that holds them. Repeated until there are none, as a dying process
 * may just have started another one.
 */
static void kill_all(const struct machine *m)
{
	char command[400];

	snprintf(command, sizeof(command),
		 "n=$(readlink /proc/%d/ns/mnt); again=1; while [ $again ]; do again=; for p in /proc/[0-9]*; do "
		 "[ \"$(readlink $p/ns/mnt)\" = \"$n\" ] && [ ${p#/proc/} != %d ] && kill -9 ${p#/proc/} && again=1; "
		 "done; done 2>/dev/null; true",
		 (int)m->holder, (int)m->holder);
	if (system(command) != 0)
		print_message("machine %u: its processes were not all ended\n", m->port);
}

void machine_simd_kill(struct machine *m)
{
	kill_all(m);
	waitpid(m->simd, NULL, 0);
	m->simd = 0;
	(void)machine_ctl(m, NULL); /* what RouDi has left is taken away, as by a machine that starts afresh */
}

/* ---- simctl ---- */

struct ctl {
	const char *args;
	int out;
};

static int run_ctl(void *arg)
{
	const struct ctl *c = arg;
	char command[1024];

	dup2(c->out, 1);
	if (c->args)
		snprintf(command, sizeof(command), "%s/bin/simctl %s 2>&1", build(), c->args);
	else
		snprintf(command, sizeof(command), "rm -rf /tmp/rt /tmp/roudi* /tmp/iox* /tmp/*.lock /dev/shm/*");
	return execl("/bin/sh", "sh", "-c", command, (char *)NULL);
}

const char *machine_ctl(const struct machine *m, const char *args)
{
	static char text[65536];
	struct ctl c = { .args = args };
	size_t at = 0;
	ssize_t n;
	pid_t pid;
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	c.out = p[1];
	pid = machine_fork(m, run_ctl, &c);
	close(p[1]);
	while ((n = read(p[0], text + at, sizeof(text) - 1 - at)) > 0)
		at += (size_t)n;
	text[at] = '\0';
	close(p[0]);
	(void)machine_wait(pid);
	return text;
}

bool machine_says(const struct machine *m, const char *args, const char *text)
{
	return strstr(machine_ctl(m, args), text) != NULL;
}

static int64_t number_of(const struct machine *m, const char *args, const char *array, const char *name,
			 const char *key)
{
	json_t *reply = json_loads(machine_ctl(m, args), 0, NULL), *one;
	int64_t v = -1;
	size_t i;

	json_array_foreach(json_object_get(reply, array), i, one)
		if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
			v = json_integer_value(json_object_get(one, key));
	json_decref(reply);
	return v;
}

int64_t machine_channel(const struct machine *m, const char *name, const char *key)
{
	return number_of(m, "list --json", "channels", name, key);
}

int64_t machine_bridge(const struct machine *m, const char *name, const char *key)
{
	return number_of(m, "bridge list --json", "bridges", name, key);
}

static unsigned times_in(const struct machine *m, size_t from, const char *text)
{
	char *all = log_of(m);
	unsigned n = 0;

	for (const char *at = all ? all + from : NULL; at && (at = strstr(at, text)); at += strlen(text))
		n++;
	mem_free(all);
	return n;
}

unsigned machine_logged_times(const struct machine *m, const char *text)
{
	return times_in(m, 0, text);
}

bool machine_logged(const struct machine *m, const char *text)
{
	return times_in(m, m->began, text) > 0;
}

uint64_t machine_sent(const struct machine *m)
{
	struct switch_port_counts c;

	assert_int_equal(switch_port_counts(m->net, m->port, &c), 0);
	return c.path[SWITCH_IN].bytes;
}

static void print_counts(const struct machine *m)
{
	struct switch_port_counts c;

	if (switch_port_counts(m->net, m->port, &c) == 0)
		fprintf(stderr, "machine %c: sent %llu frames, %llu dropped; got %llu, %llu dropped, %llu refused\n",
			(char)('a' + m->port), (unsigned long long)c.path[SWITCH_IN].in,
			(unsigned long long)c.path[SWITCH_IN].over_frames, (unsigned long long)c.path[SWITCH_OUT].in,
			(unsigned long long)c.path[SWITCH_OUT].over_frames, (unsigned long long)c.refused);
}

void machines_end(struct machine *m, unsigned n, struct net_switch *net)
{
	for (unsigned i = 0; i < n; i++) {
		char *all = m[i].holder > 0 && getenv("MACHINE_LOGS") ? log_of(&m[i]) : NULL;

		if (all)
			fprintf(stderr, "---- simd of machine %c ----\n%s", (char)('a' + i), all);
		mem_free(all);
		if (m[i].holder <= 0)
			continue;
		if (getenv("MACHINE_LOGS"))
			print_counts(&m[i]);
		kill_all(&m[i]);
		kill(m[i].holder, SIGKILL);
		waitpid(m[i].holder, NULL, 0);
		if (m[i].simd > 0)
			waitpid(m[i].simd, NULL, 0);
		close(m[i].root);
		close(m[i].mnt);
		m[i].holder = 0;
	}
	switch_destroy(net);
}
