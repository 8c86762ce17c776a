/* SPDX-License-Identifier: Apache-2.0 */
/* See iox_stopped.h. Nothing here is on a path that is taken while everybody runs. */
#include "iox_stopped.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 100  /* between two looks at the owner */
#define GOING_MS 1000 /* in which it gives the lock back, on a machine however busy */
#define LINE     256

/* Who has a lock. */
struct owner {
	pid_t thread, process;
	char state; /* as in /proc: 'T' stopped by a signal, 't' by a debugger; 0: it cannot be seen */
	char name[17];
};

struct file {
	unsigned int major, minor;
	unsigned long inode;
};

/* pid 0: this process. */
static FILE *open_proc(pid_t pid, const char *what)
{
	char path[64];

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	else
		snprintf(path, sizeof(path), "/proc/self/%s", what);
	return fopen(path, "re");
}

static struct owner owner_of(const pthread_mutex_t *m)
{
	struct owner o = { .thread = __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED) };
	FILE *f = o.thread > 0 ? open_proc(o.thread, "status") : NULL;
	char line[LINE];

	while (f && !o.process && fgets(line, sizeof(line), f))
		(void)(sscanf(line, "Name: %16[^\n]", o.name) == 1 || sscanf(line, "State: %c", &o.state) == 1 ||
		       sscanf(line, "Tgid: %d", &o.process) == 1);
	if (f)
		fclose(f);
	for (char *c = o.name; *c; c++)
		*c = isprint((unsigned char)*c) ? *c : '?';
	return o;
}

/* With `at`, finds the file that lies there; without, whether that file lies anywhere. -errno: it is not for us to see. */
static int find_mapping(pid_t pid, const void *at, struct file *file)
{
	FILE *f = open_proc(pid, "maps");
	char line[LINE];
	bool found = false;

	if (!f)
		return -errno;
	while (!found && fgets(line, sizeof(line), f)) {
		uintptr_t first, end;
		struct file it;

		if (sscanf(line, "%lx-%lx %*s %*s %x:%x %lu", &first, &end, &it.major, &it.minor, &it.inode) != 5)
			continue;
		if (at)
			found = first <= (uintptr_t)at && (uintptr_t)at < end;
		else
			found = it.major == file->major && it.minor == file->minor && it.inode == file->inode;
		if (at && found)
			*file = it;
	}
	fclose(f);
	return found && file->inode;
}

/* The number in the lock may be of another namespace, and mean somebody else here: who does not map the lock is left alone. */
static int maps_it(const struct owner *o, const pthread_mutex_t *m)
{
	struct file file = { 0 };
	int r = find_mapping(0, m, &file);

	return r > 0 ? find_mapping(o->process, NULL, &file) : r;
}

static int wait_ms(pthread_mutex_t *m, long ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t);
}

__attribute__((weak)) void iox_stopped_say(const char *line)
{
	dprintf(STDERR_FILENO, IOX_STOPPED_WORD "%s\n", line);
}

/* Each owner is named once, until another is. */
static void say(const struct owner *o, const char *what)
{
	static atomic_int last;
	char line[LINE];

	if (atomic_exchange(&last, (int)o->thread) == (int)o->thread)
		return;
	snprintf(line, sizeof(line), "process %d (%s) %s", (int)o->process, o->name, what);
	iox_stopped_say(line);
}

static bool still_stands(const pthread_mutex_t *m, const struct owner *o)
{
	struct owner now = owner_of(m);

	return now.thread == o->thread && now.process == o->process && now.state == 'T';
}

/* It goes on until the lock is ours, then it stands again. By its descriptor: its number cannot become another's. */
static int let_go_on(pthread_mutex_t *m, const struct owner *o)
{
	int fd = (int)syscall(SYS_pidfd_open, o->process, 0), mapped = maps_it(o, m), r = ETIMEDOUT;

	if (fd < 0)
		return r;
	if (mapped && still_stands(m, o)) {
		if (mapped > 0 && syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0) == 0) {
			r = wait_ms(m, GOING_MS);
			syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0);
			say(o,
			    "was stopped while it held a lock that others need: it went on until it had given that back, and "
			    "was stopped again");
		} else {
			say(o,
			    "is stopped and holds a lock that others need, and this user may not let it go on: kill -CONT "
			    "it");
		}
	}
	close(fd);
	return r;
}

int iox_wait_for_lock(pthread_mutex_t *m)
{
	int r;

	while ((r = wait_ms(m, SLICE_MS)) == ETIMEDOUT) {
		struct owner o = owner_of(m);

		if (o.state == 't' && maps_it(&o, m))
			say(&o, "is stopped by a debugger and holds a lock that others need: let it go on");
		else if (o.state == 'T' && (r = let_go_on(m, &o)) != ETIMEDOUT)
			break;
	}
	return r;
}
