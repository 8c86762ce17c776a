/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See iox_stopped.h. Nothing here is on a path that is taken while all processes run. The module has a libc of its own,
 * whose character tables exist in some threads only: no stdio, no scanf, no ctype.
 */
#include "iox_stopped.h"

#include <errno.h>
#include <fcntl.h>
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

#define SLICE_MS 100  /* interval between checks of the owner */
#define GOING_MS 1000 /* time for the owner to release the lock, even on a busy machine */
#define LINE     256
#define PAGE     4096

/* The owner of a lock. */
struct owner {
	pid_t thread, process;
	char state; /* as in /proc: 'T' stopped by a signal, 't' by a debugger; 0: not visible */
	char name[17];
};

struct file {
	unsigned long device[2], inode;
};

/* ---- /proc ---- */

/* pid 0: this process. */
static int open_proc(pid_t pid, const char *what)
{
	char path[64];
	int fd;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	else
		snprintf(path, sizeof(path), "/proc/self/%s", what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static unsigned long number(const char **at, unsigned int base)
{
	unsigned long v = 0;

	for (;; (*at)++) {
		unsigned int digit = **at >= '0' && **at <= '9'   ? (unsigned int)(**at - '0')
				     : **at >= 'a' && **at <= 'f' ? (unsigned int)(**at - 'a') + 10
								  : 99;

		if (digit >= base)
			return v;
		v = v * base + digit;
	}
}

/* The value after a name at the beginning of a line; "": there is none. */
static const char *member(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? at + strlen(name) : "";
}

static struct owner owner_of(const pthread_mutex_t *m)
{
	struct owner o = { .thread = __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED) };
	int fd = o.thread > 0 ? open_proc(o.thread, "status") : -1;
	char text[PAGE] = "";
	const char *at;
	ssize_t n;

	if (fd < 0)
		return o;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = member(text, "Name:\t");
	for (unsigned int i = 0; i < sizeof(o.name) - 1 && at[i] && at[i] != '\n'; i++)
		o.name[i] = at[i] >= ' ' && at[i] <= '~' ? at[i] : '?';
	o.state = *member(text, "\nState:\t");
	at = member(text, "\nTgid:\t");
	o.process = (pid_t)number(&at, 10);
	return o;
}

/* "first-end rights offset major:minor inode path" */
static bool parse_mapping(const char *line, uintptr_t *first, uintptr_t *end, struct file *ret)
{
	*first = number(&line, 16);
	if (*line++ != '-')
		return false;
	*end = number(&line, 16);
	for (int i = 0; i < 2; i++) {
		line = *line == ' ' ? strchr(line + 1, ' ') : NULL;
		if (!line)
			return false;
	}
	line++;
	ret->device[0] = number(&line, 16);
	if (*line++ != ':')
		return false;
	ret->device[1] = number(&line, 16);
	if (*line++ != ' ')
		return false;
	ret->inode = number(&line, 10);
	return ret->inode;
}

/* With `at`: finds the file mapped there; without: whether that file is mapped anywhere. */
static bool is_mapping(const char *line, const void *at, struct file *file)
{
	uintptr_t first, end;
	struct file it;

	if (!parse_mapping(line, &first, &end, &it))
		return false;
	if (!at)
		return memcmp(&it, file, sizeof(it)) == 0;
	if ((uintptr_t)at < first || (uintptr_t)at >= end)
		return false;
	*file = it;
	return true;
}

/* Returns 1, 0, or -errno: this process may not see it. */
static int find_mapping(pid_t pid, const void *at, struct file *file)
{
	int fd = open_proc(pid, "maps");
	char text[2 * PAGE];
	size_t have = 0;
	bool found = false;
	ssize_t n;

	if (fd < 0)
		return fd;
	while (!found && (n = read(fd, text + have, sizeof(text) - 1 - have)) > 0) {
		char *line = text, *end;

		have += (size_t)n;
		text[have] = '\0';
		for (; !found && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			found = is_mapping(line, at, file);
		}
		have = line == text && have == sizeof(text) - 1 ? 0 : (size_t)(text + have - line);
		memmove(text, line, have);
	}
	close(fd);
	return found;
}

/*
 * The pid in the lock may be from another namespace, and mean another process here: one that does not map the lock is
 * left alone.
 */
static int maps_it(const struct owner *o, const pthread_mutex_t *m)
{
	struct file file;
	int r = find_mapping(0, m, &file);

	return r > 0 ? find_mapping(o->process, NULL, &file) : r;
}

/* ---- waiting ---- */

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

/* Reports each owner once, until the owner changes. */
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

/*
 * Lets the owner run until this process has the lock, then stops it again. By its pidfd: its number cannot become
 * another process's. EBUSY: it must not be touched.
 */
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
			r = EBUSY;
			say(o,
			    "is stopped and holds a lock that others need, and this user may not let it go on: kill -CONT "
			    "it");
		}
	}
	close(fd);
	return r;
}

int iox_wait_for_lock(pthread_mutex_t *m, bool give_up)
{
	int r;

	do {
		struct owner o;

		r = wait_ms(m, SLICE_MS);
		if (r != ETIMEDOUT)
			return r;
		o = owner_of(m);
		if (o.state == 'T') {
			r = let_go_on(m, &o);
		} else if (o.state == 't' && maps_it(&o, m)) {
			r = EBUSY;
			say(&o, "is stopped by a debugger and holds a lock that others need: let it go on");
		}
	} while (r == ETIMEDOUT || (r == EBUSY && !give_up));
	return r;
}
