/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of the module: functions under names that iceoryx imports, found before the real ones because the module comes
 * first in its link namespace. They turn aborts into results, bound every wait for RouDi, close descriptors on exec,
 * and keep exit() of a program or of its forked child away from iceoryx's destructors.
 *
 * Thread: any thread that iceoryx runs in.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "iox_hook.h"
#include "iox_plane.h"
#include "iox_stopped.h"
#include "ipc_iox_int.h"

#define ERROR_COUNT 167u /* iceoryx 2.0.3 */
#define HELD_MAX    64
#define RETRY_MS    10 /* interval of attempts to reach the next RouDi */
/* for std::terminate and failed assertions, which have no number of their own */
#define ERROR_TERMINATED (ERROR_COUNT - 1u)

enum { LEVEL_FATAL = 0, LEVEL_SEVERE = 1 };

struct iox_report iox_report;

static pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;
static struct iox_guard *guards;
static _Atomic bool quiet;
static pid_t loaded_by;

extern const char *const iox_error_names[] __asm__("_ZN3iox12ErrorHandler11ERROR_NAMESE");

__attribute__((constructor)) static void remember_process(void)
{
	loaded_by = getpid();
}

bool iox_own_process(void)
{
	return getpid() == loaded_by;
}

void iox_set_quiet(bool on)
{
	atomic_store(&quiet, on);
}

const char *iox_error_name(uint32_t error)
{
	return error > 0 && error < ERROR_COUNT ? iox_error_names[error] : "unknown";
}

/* ---- guards ---- */

void iox_guard_add(struct iox_guard *g)
{
	pthread_mutex_lock(&guards_lock);
	g->next = guards;
	guards = g;
	pthread_mutex_unlock(&guards_lock);
}

void iox_guard_del(struct iox_guard *g)
{
	struct iox_guard **at = &guards;

	pthread_mutex_lock(&guards_lock);
	while (*at && *at != g)
		at = &(*at)->next;
	if (*at)
		*at = g->next;
	pthread_mutex_unlock(&guards_lock);
}

/*
 * Unlocks what this thread holds, as it never comes back to do so and RouDi must not wait for it. Also the thread's
 * list of robust mutexes, which the kernel and libc walk, must not lead into segments that are unmapped later.
 */
static void unlock_all(void)
{
	struct robust_list_head *head;
	struct robust_list *at;
	size_t size;

	if (syscall(SYS_get_robust_list, 0, &head, &size) < 0)
		return;
	at = head->list.next;
	for (unsigned int n = 0; at != &head->list && n < HELD_MAX; n++) {
		char *m = (char *)at + head->futex_offset; /* libc's pthread_mutex_t begins with the futex */

		at = at->next;
		if (iox_seg_has(m)) /* the others belong to the host program */
			while (pthread_mutex_unlock((pthread_mutex_t *)(void *)m) == 0)
				;
	}
}

/* Leaves iceoryx after a FATAL error, which must not return (iceoryx would go on with what it just found broken). */
_Noreturn static void leave_iceoryx(void)
{
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	struct iox_guard *g;

	unlock_all();
	pthread_mutex_lock(&guards_lock);
	for (g = guards; g && atomic_load_explicit(&g->owner, memory_order_relaxed) != self; g = g->next)
		;
	pthread_mutex_unlock(&guards_lock);
	if (g)
		__builtin_longjmp(g->env, 1);
	iox_fatal_unguarded();
}

/* Dropped: a library has no place for it, and RouDi waits for the same lock and reports it. */
void iox_stopped_say(const char *line)
{
	(void)line;
}

/* ---- errors ---- */

HOOK void hook_error(uint32_t error, const void *callback,
		     uint32_t level) __asm__("_ZN3iox12errorHandlerENS_5ErrorERKSt8functionIFvvEENS_10ErrorLevelE");

void hook_error(uint32_t error, const void *callback, uint32_t level)
{
	(void)callback;
	if (level != LEVEL_FATAL && level != LEVEL_SEVERE)
		return;
	atomic_store(&iox_report.error, error);
	if (level == LEVEL_FATAL)
		leave_iceoryx();
}

HOOK _Noreturn void hook_abort(void) __asm__("abort");
HOOK _Noreturn void hook_assert(const char *text, const char *file, unsigned int line,
				const char *function) __asm__("__assert_fail");

/* std::terminate ends here too. */
_Noreturn void hook_abort(void)
{
	atomic_store(&iox_report.error, ERROR_TERMINATED);
	leave_iceoryx();
}

_Noreturn void hook_assert(const char *text, const char *file, unsigned int line, const char *function)
{
	(void)text;
	(void)file;
	(void)line;
	(void)function;
	hook_abort();
}

/*
 * iceoryx registers its static destructors here, some of which deregister the process and unlink its files: fatal in a
 * forked child, a race with running threads in the parent. None is registered; the module itself does what is needed at
 * exit.
 */
HOOK int hook_atexit(void (*fn)(void *), void *arg, void *dso) __asm__("__cxa_atexit");

int hook_atexit(void (*fn)(void *), void *arg, void *dso)
{
	(void)fn;
	(void)arg;
	(void)dso;
	return 0;
}

/* ---- talking to RouDi: all waits are bounded ---- */

HOOK ssize_t hook_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
			 socklen_t to_len) __asm__("_Z10iox_sendtoiPKvmiPK8sockaddrj");
HOOK ssize_t hook_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from,
			   socklen_t *from_len) __asm__("_Z12iox_recvfromiPvmiP8sockaddrPj");

static bool is_heartbeat(const void *buf, size_t n)
{
	return n >= 3 && memcmp(buf, "17,", 3) == 0;
}

/* ENOTCONN: a datagram socket whose peer has died reports ECONNREFUSED once, and is then not connected. */
static bool refused(int e)
{
	return e == ECONNREFUSED || e == ENOENT || e == ECONNRESET || e == EPIPE || e == ENOTCONN;
}

struct sockaddr_un iox_roudi_address(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	(void)plane_file(iox_plane(), PLANE_ROUDI, a.sun_path, sizeof(a.sun_path));
	return a;
}

static int roudi_stat(struct stat *ret)
{
	return stat(iox_roudi_address().sun_path, ret);
}

/* The RouDi to which the registration went; another one will not answer it. */
static _Atomic ino_t asked;

static ino_t roudi_now(void)
{
	struct stat st;

	return roudi_stat(&st) < 0 ? 0 : st.st_ino;
}

/*
 * RouDi died while this process was registering. The socket stays connected to the dead one, and iceoryx would retry it
 * for a minute without a pause; but the next RouDi has the same address.
 */
static ssize_t send_to_the_next(int fd, const void *buf, size_t n, int flags)
{
	const struct sockaddr_un a = iox_roudi_address();

	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0)
		return sendto(fd, buf, n, flags | MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	poll(NULL, 0, RETRY_MS);
	errno = ECONNREFUSED;
	return -1;
}

/*
 * While iox_report.waits is set, the thread that waits for the worker leaves the time limit to this code. Not while it
 * registers.
 */
static void wait_begin(struct proc_wait *w, int64_t bound_ms)
{
	iox_wait_begin(w, bound_ms, true);
	atomic_store(&iox_report.waits, iox_attachment_started());
}

static void wait_end(void)
{
	atomic_store(&iox_report.waits, false);
}

/*
 * Waits one slice, or until the descriptor is ready: > 0. Polls once more when the time is used up: this thread may
 * have been without a CPU since the last poll.
 */
static int wait_slice(struct proc_wait *w, struct pollfd *p)
{
	int64_t now = iox_mono_now_ns();
	bool over = proc_wait_over(w, now);

	return poll(p, 1, over ? 0 : (int)((proc_wait_until(w) - now + 999999) / 1000000));
}

/*
 * RouDi's queue holds ten messages; after a restart all processes attach at once, and a woken one may find it full
 * again.
 */
static ssize_t send_when_there_is_room(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to,
				       socklen_t to_len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct proc_wait w;
	ssize_t r;

	wait_begin(&w, IOX_REPLY_MS);
	do {
		(void)wait_slice(&w, &p);
		r = sendto(fd, buf, n, flags | MSG_DONTWAIT | MSG_NOSIGNAL, to, to_len);
	} while (r < 0 && errno == EAGAIN && w.left_dur_ns > 0);
	wait_end();
	if (r < 0 && errno == EAGAIN)
		atomic_store(&iox_report.unanswered, true);
	return r;
}

ssize_t hook_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *to, socklen_t to_len)
{
	bool heartbeat = is_heartbeat(buf, n);
	ssize_t r;

	if (atomic_load(&quiet) || !iox_own_process())
		return (ssize_t)n;
	if (!iox_attachment_started())
		atomic_store(&asked, roudi_now());
	r = sendto(fd, buf, n, flags | MSG_DONTWAIT | MSG_NOSIGNAL, to, to_len);
	if (r < 0 && errno == EAGAIN && !heartbeat)
		r = send_when_there_is_room(fd, buf, n, flags, to, to_len);
	if (r < 0 && refused(errno) && !to && !iox_attachment_started())
		return send_to_the_next(fd, buf, n, flags);
	if (r < 0 && refused(errno)) {
		int e = errno;

		iox_roudi_gone();
		errno = e;
	}
	return heartbeat ? (ssize_t)n : r; /* iceoryx would only complain about a lost heartbeat */
}

/* The shorter of iceoryx's time-out on the socket and IOX_REPLY_MS. */
static int wait_ms(int fd, bool *ret_bounded_by_us)
{
	struct timeval tv = { 0 };
	socklen_t len = sizeof(tv);
	int64_t ms;

	if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &len) < 0)
		tv = (struct timeval){ 0 };
	ms = (int64_t)tv.tv_sec * 1000 + (tv.tv_usec + 999) / 1000;
	*ret_bounded_by_us = ms == 0 || ms > IOX_REPLY_MS;
	return *ret_bounded_by_us ? IOX_REPLY_MS : (int)ms;
}

/* A datagram socket does not report that its peer died: connect to its address. */
static bool roudi_dead(void)
{
	const struct sockaddr_un a = iox_roudi_address();
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool dead = fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 && refused(errno);

	if (fd >= 0)
		close(fd);
	return dead;
}

ssize_t hook_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *from_len)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool ours, ready;
	struct proc_wait w;
	int ms = wait_ms(fd, &ours);

	if (!iox_own_process()) {
		errno = EAGAIN;
		return -1;
	}
	wait_begin(&w, ms);
	while (!(ready = wait_slice(&w, &p) > 0) && w.left_dur_ns > 0) {
		if (roudi_dead() || (!iox_attachment_started() && roudi_now() != atomic_load(&asked))) {
			iox_roudi_gone();
			ours = false;
			break;
		}
	}
	wait_end();
	if (ready)
		return recvfrom(fd, buf, n, flags | MSG_DONTWAIT, from, from_len);
	if (ours)
		atomic_store(&iox_report.unanswered, true);
	errno = EAGAIN;
	return -1;
}

/* ---- descriptors: close on exec, and the segments of this attachment ---- */

HOOK int hook_socket(int domain, int type, int protocol) __asm__("_Z10iox_socketiii");
HOOK int hook_bind(int fd, const struct sockaddr *at, socklen_t len) __asm__("_Z8iox_bindiPK8sockaddrj");
HOOK int hook_open(const char *path, int flags, mode_t mode) __asm__("_Z8iox_openPKcij");
HOOK int hook_shm_open(const char *name, int flags, mode_t mode) __asm__("_Z12iox_shm_openPKcij");
HOOK int hook_flock(int fd, int op) __asm__("_Z9iox_flockii");
HOOK void *hook_mmap(void *hint, size_t size, int prot, int flags, int fd, off_t off) __asm__("mmap");

int hook_socket(int domain, int type, int protocol)
{
	int fd;

	do
		fd = socket(domain, type | SOCK_CLOEXEC, protocol);
	while (fd < 0 && iox_start_lacks(errno, "a socket"));
	return fd;
}

/* RouDi's group, which is set on this process's files; (gid_t)-1: nothing to do. Membership was checked before. */
static gid_t roudi_group(void)
{
	struct stat st;

	return roudi_stat(&st) == 0 && st.st_gid != getegid() ? st.st_gid : (gid_t)-1;
}

static _Atomic int own_socket = -1;

int iox_own_socket(void)
{
	return atomic_load(&own_socket);
}

/* RouDi, which may run as another user, answers into this socket, which is open to this user and its primary group. */
int hook_bind(int fd, const struct sockaddr *at, socklen_t len)
{
	struct sockaddr_un buf;
	const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)iox_plane_address(at, &len, &buf);
	int r;

	do
		r = bind(fd, (const struct sockaddr *)(const void *)un, len);
	while (r < 0 && iox_start_lacks(errno, un->sun_path));
	if (r == 0 && un->sun_family == AF_UNIX && un->sun_path[0] == '/') {
		atomic_store(&own_socket, fd);
		(void)!lchown(un->sun_path, (uid_t)-1, roudi_group());
	}
	return r;
}

/* By this process's lock file simd finds out whether it has died, so simd must be able to open it. */
int hook_open(const char *path, int flags, mode_t mode)
{
	/* another user may have made a link of that name */
	bool shared = (flags & O_CREAT) && strncmp(path, "/tmp/", 5) == 0;
	char buf[PLANE_PATH_MAX];
	const char *at = iox_plane_path(path, buf);
	int fd;

	do
		fd = open(at, flags | O_CLOEXEC | (shared ? O_NOFOLLOW : 0), mode);
	while (fd < 0 && iox_start_lacks(errno, at));
	if (fd >= 0 && shared && fchown(fd, (uid_t)-1, roudi_group()) == 0)
		(void)!fchmod(fd, 0660);
	return fd;
}

int hook_shm_open(const char *name, int flags, mode_t mode)
{
	int fd;

	do
		fd = iox_plane_shm_open(name, flags, mode); /* close-on-exec */
	while (fd < 0 && iox_start_lacks(errno, name));
	if (fd >= 0)
		iox_seg_note(name, fd);
	return fd;
}

/*
 * In a process that locks its future mappings (mlockall with MCL_FUTURE), mapping would make a page for everything that
 * a segment could ever hold, and fill /dev/shm. So the mapping is inaccessible until it is unlocked again.
 */
static void *map_segment(void *hint, size_t size, int prot, int flags, int fd, off_t off)
{
	long p;

	do
		p = syscall(SYS_mmap, hint, size, PROT_NONE, flags, fd, off);
	while (p == -1 && iox_start_lacks(errno, "address space for a segment"));
	if (p == -1)
		return MAP_FAILED;
	(void)munlock((void *)p, size);
	if (mprotect((void *)p, size, prot) < 0) {
		munmap((void *)p, size);
		return MAP_FAILED;
	}
	iox_seg_mapped(fd, (const char *)p, size, (prot & PROT_WRITE) != 0);
	return (void *)p;
}

void *hook_mmap(void *hint, size_t size, int prot, int flags, int fd, off_t off)
{
	if (fd >= 0 && (flags & MAP_SHARED))
		return map_segment(hint, size, prot, flags, fd, off);
	return (void *)syscall(SYS_mmap, hint, size, prot, flags, fd, off);
}

/*
 * iceoryx reads CLOCK_REALTIME and waits until a moment of it. If that clock is set back by an hour, a wait of a second
 * would last an hour. So in this namespace it is CLOCK_MONOTONIC, which cannot be set.
 */
HOOK int hook_clock_gettime(clockid_t clock, struct timespec *ret) __asm__("clock_gettime");
HOOK int hook_sem_timedwait(sem_t *sem,
			    const struct timespec *until) __asm__("_Z17iox_sem_timedwaitP5sem_tPK8timespec");

int hook_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static _Atomic(void *) next;
	int (*get)(clockid_t, struct timespec *);

	*(void **)&get = iox_next(&next, "clock_gettime");
	return get(clock == CLOCK_REALTIME ? CLOCK_MONOTONIC : clock, ret);
}

int hook_sem_timedwait(sem_t *sem, const struct timespec *until)
{
	return sem_clockwait(sem, CLOCK_MONOTONIC, until);
}

struct birth {
	void *(*fn)(void *);
	void *arg;
	sem_t ready;
};

/*
 * An exception, such as for lack of memory, allocates per-thread memory the first time: if there is none then, libc
 * ends the process. So each thread allocates that, and a place for exceptions, before its creator goes on.
 */
static void *be_born(void *arg)
{
	static _Atomic(void *) next;
	struct birth *b = (struct birth *)arg;
	void *(*fn)(void *) = b->fn;
	void *fn_arg = b->arg, *volatile some = malloc(1);
	void *(*globals)(void);

	free(some);
	*(void **)&globals = iox_next(&next, "__cxa_get_globals");
	(void)globals();
	(void)sem_post(&b->ready);
	return fn(fn_arg);
}

/* For std::thread, which throws if the creation fails. */
HOOK int hook_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
			     void *arg) __asm__("pthread_create");

int hook_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	static _Atomic(void *) next;
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct birth b = { .fn = fn, .arg = arg };
	int e;

	(void)sem_init(&b.ready, 0, 0);
	*(void **)&create = iox_next(&next, "pthread_create");
	do
		e = create(ret, attr, be_born, &b);
	while (e && iox_start_lacks(e, "a thread"));
	while (e == 0 && sem_wait(&b.ready) < 0)
		continue;
	(void)sem_destroy(&b.ready);
	return e;
}

/*
 * Sets a thread's name by a file in /proc: without a descriptor for it iceoryx would end the process, for a name that
 * is not needed.
 */
HOOK int hook_setname(pthread_t thread, const char *name) __asm__("_Z22iox_pthread_setname_npmPKc");

int hook_setname(pthread_t thread, const char *name)
{
	(void)pthread_setname_np(thread, name);
	return 0;
}

int hook_flock(int fd, int op)
{
	int r;

	if (!iox_own_process())
		return 0;
	do
		r = flock(fd, op);
	while (r < 0 && errno != EWOULDBLOCK &&
	       iox_start_lacks(errno, "the lock of a file")); /* EWOULDBLOCK: another process holds the lock */
	return r;
}

/* operator new: an exception that it throws during the start is not caught. */
HOOK void *hook_new(size_t n) __asm__("_Znwm");

void *hook_new(size_t n)
{
	static _Atomic(void *) next;
	void *(*throwing)(size_t);
	void *p;

	do
		p = malloc(n ? n : 1);
	while (!p && iox_start_lacks(ENOMEM, "memory"));
	if (p)
		return p;
	*(void **)&throwing = iox_next(&next, "_Znwm");
	return throwing(n);
}
