/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client: creation, its thread or sim_process(), and waiting and waking for the other files. Thread: as each
 * function notes; "sim-io" runs io_main().
 */
#include "client.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clockmap.h"
#include "completion.h"
#include "channel_name.h"
#include "err.h"
#include "fd.h"
#include "jump.h"
#include "attachment.h"
#include "mem.h"
#include "service.h"
#include "session.h"
#include "sized.h"
#include "thread.h"
#include "timer.h"
#include "timeutil.h"

#define NAME_MAX_CHARS 40
#define SYSTEM_SOCKET  "/run/simd/control"
#define TIMEOUT_MS     5000
#define RETRY_DUR_NS   NS_PER_MS /* retry interval while another thread holds setup */

/* ---- waiting and waking ---- */

static int forked(void)
{
	return err_set(-EPERM,
		       "this process is a fork of the one that connected to simd; connect again in the child, or use "
		       "the handles in the parent only");
}

int client_guard(const struct sim_client *c)
{
	if (!c)
		return err_set(-EINVAL, "no client was given");
	return client_alive(c) ? 0 : forked();
}

int handle_refused(struct handle *h, const char *what)
{
	uint32_t expected;

	if (!atomic_load_explicit(h->alive, memory_order_relaxed))
		return forked();
	do { /* the library is inside for a moment: it adopts a new registration */
		expected = HANDLE_FREE;
		if (atomic_compare_exchange_strong(&h->busy, &expected, HANDLE_USER))
			return 0;
		sched_yield();
	} while (expected == HANDLE_LIBRARY);
	return err_set(-EBUSY, "another thread is using this %s; give each thread its own", what);
}

int64_t client_now(const struct sim_client *c)
{
	return __builtin_expect(c->env != NULL, 0) ? c->env->now(c->env->arg) : mono_now_ns();
}

int client_sleep(struct sim_client *c, int fd, short events, int64_t timeout_dur_ns)
{
	struct timespec t;

	if (timeout_dur_ns < 0)
		timeout_dur_ns = 0;
	if (c->env)
		return c->env->wait(c->env->arg, fd, events, timeout_dur_ns);
	if (fd >= 0)
		return fd_wait(fd, events, timeout_dur_ns);
	t = timespec_from_ns(timeout_dur_ns);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	return 0;
}

void client_idle(struct sim_client *c, int64_t timeout_dur_ns)
{
	int fd = -1;

	/* not epfd: it stays readable while callbacks wait for sim_process() */
	pthread_mutex_lock(&c->lock);
	if (c->session && !c->session->dead)
		fd = c->session->completion >= 0 ? c->session->completion : c->session->sock;
	pthread_mutex_unlock(&c->lock);
	client_sleep(c, fd, POLLIN, timeout_dur_ns);
}

bool client_pumps(const struct sim_client *c)
{
	return !c->io_started || pthread_equal(pthread_self(), c->io);
}

void client_kick(struct sim_client *c)
{
	static const uint64_t one = 1;

	(void)!write(c->wake_fd, &one, sizeof(one));
}

void client_doubt(struct sim_client *c, const struct attachment *l)
{
	if (!ipc_alive(l->ipc))
		client_kick(c);
}

void client_due(struct sim_client *c, int64_t due_mono_ns)
{
	struct itimerspec t = { { 0, 0 }, { 0, 0 } };

	if (due_mono_ns >= c->due_mono_ns)
		return;
	c->due_mono_ns = due_mono_ns;
	t.it_value = timespec_from_ns(due_mono_ns > 0 ? due_mono_ns : 1);
	if (!c->env) /* in virtual time each sim_process() looks at the time itself */
		timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

void client_pump(struct sim_client *c)
{
	bool done;

	pthread_mutex_lock(&c->lock);
	if (c->session) {
		session_pump(c, c->session);
		if (c->session->completion >= 0)
			completion_drain(c, c->session);
	}
	done = c->done_first || jumps_pending(c) || services_pending(c) ||
	       (c->session && (c->session->dead || c->session->ev_dataplane || c->renew_due));
	pthread_mutex_unlock(&c->lock);
	if (done) /* for a program that polls sim_client_fd(): the sockets are empty now */
		client_kick(c);
}

void client_setup_lock(struct sim_client *c)
{
	if (!client_pumps(c)) {
		pthread_mutex_lock(&c->setup);
		return;
	}
	while (pthread_mutex_trylock(&c->setup)) {
		client_pump(c);
		client_sleep(c, -1, 0, RETRY_DUR_NS);
	}
}

void client_setup_unlock(struct sim_client *c)
{
	pthread_mutex_unlock(&c->setup);
}

void client_work(struct sim_client *c)
{
	client_pump(c);
	if (pthread_mutex_trylock(&c->setup)) {
		client_kick(c);
		return;
	}
	client_step(c);
	pthread_mutex_unlock(&c->setup);
}

void running_begin(struct running *r, const void *what, pthread_mutex_t *lock)
{
	r->what = what;
	r->thread = pthread_self();
	pthread_mutex_unlock(lock);
}

void running_end(struct running *r, pthread_mutex_t *lock, pthread_cond_t *changed)
{
	pthread_mutex_lock(lock);
	r->what = NULL;
	pthread_cond_broadcast(changed);
}

bool running_settle(const struct running *r, const void *what, pthread_mutex_t *lock, pthread_cond_t *changed)
{
	if (r->what == what && pthread_equal(r->thread, pthread_self()))
		return true;
	while (r->what == what)
		pthread_cond_wait(changed, lock);
	return false;
}

/* ---- processing ---- */

/* For an eventfd or a timerfd: one read drains it. */
static void drain(int fd)
{
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
}

/* Ready events. Their descriptors stay valid until the next turn. */
struct harvest {
	int n;
	struct epoll_event e[4]; /* one for each descriptor that is watched */
};

static bool has(const struct harvest *h, int fd)
{
	for (int i = 0; i < h->n; i++)
		if (h->e[i].data.fd == fd)
			return true;
	return false;
}

static struct harvest harvest(struct sim_client *c, int timeout_ms)
{
	struct harvest h;

	h.n = epoll_wait(c->epfd, h.e, 4, timeout_ms);
	for (int i = 0; i < h.n; i++)
		if (h.e[i].data.fd == c->wake_fd || h.e[i].data.fd == c->timer_fd)
			drain(h.e[i].data.fd);
	return h;
}

/* One turn: reads the descriptors, advances recovery, runs callbacks. Returns how many callbacks ran. */
static int turn(struct sim_client *c, int timeout_ms)
{
	struct harvest h = harvest(c, timeout_ms);
	bool zombies;
	int n;

	pthread_mutex_lock(&c->lock);
	if (c->session && has(&h, c->session->sock))
		session_pump(c, c->session);
	if (c->session && has(&h, c->session->completion))
		completion_drain(c, c->session);
	pthread_mutex_unlock(&c->lock);
	n = completion_run(c) + jumps_run(c);
	if (c->flags & SIM_CLIENT_NO_THREAD)
		n += timers_run(c) + services_run(c);
	if (pthread_mutex_trylock(&c->setup)) {
		client_sleep(c, -1, 0, RETRY_DUR_NS); /* another thread is registering a handle */
		client_kick(c);
		return n;
	}
	client_step(c);
	pthread_mutex_unlock(&c->setup);
	n += completion_run(c) + jumps_run(c); /* callbacks of what was lost in this turn */
	pthread_mutex_lock(&c->lock);
	zombies = !list_empty(&c->zombies);
	pthread_mutex_unlock(&c->lock);
	if (n && zombies)
		client_kick(c);
	return n;
}

static void *io_main(void *arg)
{
	struct sim_client *c = arg;

	while (!atomic_load(&c->stopping))
		turn(c, -1);
	return NULL;
}

int sim_client_fd(const struct sim_client *c)
{
	int r = client_guard(c);

	return r < 0 ? r : c->epfd;
}

int sim_process(struct sim_client *c)
{
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (c->io_started)
		return err_set(-EBUSY,
			       "sim_process: this client has its own thread; create it with SIM_CLIENT_NO_THREAD to "
			       "process in yours");
	return turn(c, 0);
}

/* ---- state ---- */

enum sim_client_state sim_client_state(const struct sim_client *c)
{
	return (enum sim_client_state)atomic_load(&c->state);
}

const char *sim_client_why(const struct sim_client *c)
{
	struct sim_client *w = (struct sim_client *)(uintptr_t)c; /* written only for its lock */

	if (client_guard(c) < 0)
		return err_why();
	pthread_mutex_lock(&w->lock);
	err_set(0, "%s", atomic_load(&c->state) == SIM_CLIENT_CONNECTED ? "" : c->why);
	pthread_mutex_unlock(&w->lock);
	return err_why();
}

int client_session(struct sim_client *c, struct session **ret)
{
	int r = 0;

	pthread_mutex_lock(&c->lock);
	if (c->session && !c->session->dead)
		*ret = session_ref(c->session);
	else
		r = err_set(-ENOTCONN, "disconnected from simd (%s); the library connects again when it is back",
			    c->why);
	pthread_mutex_unlock(&c->lock);
	return r;
}

_Static_assert(CHANNEL_NAME_MAX == SIM_CHANNEL_MAX, "one length of a channel's name");

int sim_channel_full_name(struct sim_client *c, const char *channel, char *ret, size_t size)
{
	char full[SIM_CHANNEL_MAX + 1];
	struct session *s;
	int r;

	if (!c || !channel || !ret)
		return err_set(-EINVAL, "sim_channel_full_name: no client, no name, or the output pointer is NULL");
	r = client_session(c, &s);
	if (r < 0)
		return r;
	r = channel_name_full(s->prefix, channel, full);
	session_unref(s);
	if (r < 0)
		return r;
	if (strlen(full) >= size)
		return err_set(-ENOBUFS, "%s: the name does not fit into %zu bytes", full, size);
	memcpy(ret, full, strlen(full) + 1);
	return 0;
}

int client_attachment(struct sim_client *c, struct attachment **ret)
{
	int r = 0;

	if (c->flags & SIM_CLIENT_NO_DATA)
		return err_set(
			-EOPNOTSUPP,
			"this client was connected with SIM_CLIENT_NO_DATA: it can neither publish nor subscribe");
	pthread_mutex_lock(&c->lock);
	if (c->att && ipc_alive(c->att->ipc))
		*ret = attachment_ref(c->att);
	else
		r = err_set(-ESTALE, "the data plane is being restarted; try in a moment");
	pthread_mutex_unlock(&c->lock);
	return r;
}

int client_call(struct sim_client *c, const char *method, json_t *params, struct varlink_msg *ret, json_t **ret_params)
{
	struct session *s;
	int r = client_session(c, &s);

	if (r < 0) {
		json_decref(params);
		return r;
	}
	r = session_call(c, s, method, params, ret, ret_params);
	session_unref(s);
	return r;
}

int sim_call(struct sim_client *c, const char *method, const char *params_json, char **ret_json)
{
	return sim_call_within(c, method, params_json, CALL_DUR_NS, ret_json);
}

int sim_call_within(struct sim_client *c, const char *method, const char *params_json, int64_t wall_timeout_dur_ns,
		    char **ret_json)
{
	json_t *params = NULL, *reply;
	struct session *s;
	struct varlink_msg m;
	json_error_t e;
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (!method || !ret_json)
		return err_set(-EINVAL, "sim_call: no method, or the output pointer is NULL");
	if (params_json && !(params = json_loads(params_json, 0, &e)))
		return err_set(-EINVAL, "%s: the parameters are not JSON: %s", method, e.text);
	r = client_session(c, &s);
	if (r < 0) {
		json_decref(params);
		return r;
	}
	r = session_call_within(c, s, method, params, wall_timeout_dur_ns, &m, &reply);
	session_unref(s);
	if (r < 0)
		return r;
	*ret_json = reply ? json_dumps(reply, JSON_COMPACT) : strdup("{}");
	varlink_msg_finish(&m);
	return *ret_json ? 0 : err_nomem();
}

int sim_client_ready(struct sim_client *c)
{
	struct session *s;
	int r = client_guard(c);

	if (r < 0)
		return r;
	client_setup_lock(c);
	c->ready = true;
	if (client_session(c, &s) == 0) {
		r = session_call(c, s, "Ready", NULL, NULL, NULL);
		session_unref(s);
	}
	client_setup_unlock(c);
	return r == -ENOTCONN ? 0 : r;
}

/* ---- create and destroy ---- */

static int check_name(const char *name)
{
	size_t n = name ? strnlen(name, NAME_MAX_CHARS + 1) : 0;

	if (n == 0 || n > NAME_MAX_CHARS ||
	    strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") != n)
		return err_set(
			-EINVAL,
			"sim_connect: the client's name \"%.60s\" must be 1 to %d characters of A-Z a-z 0-9 _ . -",
			name ? name : "", NAME_MAX_CHARS);
	return 0;
}

static int check_options(const struct sim_client_options *o, const struct client_env *env)
{
	unsigned known = SIM_CLIENT_NO_THREAD | SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_PREFAULT | SIM_CLIENT_BRIDGE |
			 SIM_CLIENT_SOURCE;

	if (o->flags & ~known)
		return err_set(-EINVAL, "sim_connect: unknown client flags %#x", o->flags);
	if (o->timeout_ms < 0 || (env && env->wait && !(o->flags & SIM_CLIENT_NO_THREAD)))
		return err_set(-EINVAL, "sim_connect: the time-out is negative");
	return check_name(o->name);
}

/*
 * The socket of simd, unless the caller or the environment gives it: the system's simd, else this user's. If the
 * system's is hidden from this user and there is no other, the system's again, for its error.
 */
static char *usual_socket(const char *asked)
{
	const char *env = secure_getenv("SIMD_SOCKET"), *dir = secure_getenv("XDG_RUNTIME_DIR");
	bool hidden;
	char *own;

	if (asked || (env && *env))
		return fd_absolute(asked ? asked : env); /* made absolute: the client may connect again after a chdir */
	if (access(SYSTEM_SOCKET, F_OK) == 0)
		return mem_strdup(SYSTEM_SOCKET);
	hidden = errno == EACCES;
	own = dir && *dir ? mem_printf("%s/simd/control", dir)
			  : mem_printf("/tmp/simd-%u/control", (unsigned)geteuid());
	if (!hidden || !own || access(own, F_OK) == 0)
		return own;
	mem_free(own);
	return mem_strdup(SYSTEM_SOCKET);
}

/* In /tmp any user can create the directory in which this user's simd is looked for. */
static int check_socket(const char *path)
{
	char dir[32];
	struct stat st;

	snprintf(dir, sizeof(dir), "/tmp/simd-%u", (unsigned)geteuid());
	if (strncmp(path, dir, strlen(dir)) != 0 || strcmp(path + strlen(dir), "/control") != 0 ||
	    lstat(dir, &st) < 0 || (st.st_uid == geteuid() && S_ISDIR(st.st_mode) && !(st.st_mode & 022)))
		return 0;
	return err_set(-EACCES,
		       "sim_connect: %s belongs to user %u, or others may write to it (mode %03o): no simd of this user "
		       "is looked for there; name its socket",
		       dir, (unsigned)st.st_uid, (unsigned)st.st_mode & 0777);
}

static int socket_path(const char *asked, char **ret)
{
	char *path = usual_socket(asked);
	int r = !path ? err_nomem() : asked ? 0 : check_socket(path);

	if (r < 0)
		mem_free(path);
	else
		*ret = path;
	return r;
}

/* Creates the word that detects a fork: alone on a page that the kernel wipes in the child. */
static int alive_create(struct sim_client *c)
{
	size_t n = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_sys(-errno, "sim_connect");
	c->alive = p;
	if (madvise(p, n, MADV_WIPEONFORK) < 0)
		return err_sys(-errno, "sim_connect");
	atomic_init(c->alive, 1);
	return 0;
}

static int watch_own(struct sim_client *c, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(c->epfd, EPOLL_CTL_ADD, fd, &e) < 0 ? err_sys(-errno, "epoll") : 0;
}

static int fds_create(struct sim_client *c)
{
	int r;

	c->epfd = epoll_create1(EPOLL_CLOEXEC);
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epfd < 0 || c->wake_fd < 0 || c->timer_fd < 0)
		return err_sys(-errno, "sim_connect");
	r = watch_own(c, c->wake_fd);
	return r < 0 ? r : watch_own(c, c->timer_fd);
}

static void locks_init(struct sim_client *c)
{
	pthread_mutex_init(&c->setup, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->seen_lock, NULL);
	pthread_mutex_init(&c->past_lock, NULL);
	thread_cond_init(&c->changed);
}

static struct sim_client *client_new(const struct sim_client_options *o, const struct client_env *env)
{
	struct sim_client *c = MEM_NEW(struct sim_client);

	if (!c)
		return NULL;
	c->epfd = c->wake_fd = c->timer_fd = -1;
	c->due_mono_ns = INT64_MAX;
	c->backoff_dur_ns = 10 * NS_PER_MS;
	c->env = env && env->wait ? env : NULL;
	c->bus = env ? env->bus : NULL;
	c->flags = o->flags;
	c->timeout_dur_ns = (o->timeout_ms ? o->timeout_ms : TIMEOUT_MS) * NS_PER_MS;
	c->done_last = &c->done_first;
	atomic_init(&c->phase, PHASE_DOWN);
	atomic_init(&c->state, SIM_CLIENT_RECONNECTING);
	list_init(&c->pubs);
	list_init(&c->zombies);
	list_init(&c->subs);
	list_init(&c->tokens);
	for (size_t i = 0; i < sizeof(c->regs) / sizeof(c->regs[0]); i++)
		list_init(&c->regs[i]);
	locks_init(c);
	return c;
}

static void client_free(struct sim_client *c)
{
	jumps_finish(c);
	clockmap_finish(c);
	fd_close(c->timer_fd);
	fd_close(c->wake_fd);
	fd_close(c->epfd);
	if (c->alive)
		munmap((void *)c->alive, (size_t)sysconf(_SC_PAGESIZE));
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->past_lock);
	pthread_mutex_destroy(&c->seen_lock);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->setup);
	mem_free(c->path);
	mem_free(c->name);
	mem_free(c);
}

static int io_start(struct sim_client *c)
{
	int r;

	if (c->flags & SIM_CLIENT_NO_THREAD)
		return 0;
	pthread_mutex_lock(&c->lock);
	r = thread_start(&c->io, "sim-io", io_main, c);
	c->io_started = r == 0;
	pthread_mutex_unlock(&c->lock);
	if (r < 0)
		return err_sys(r, "sim_connect: cannot start the client's thread");
	return 0;
}

/* The first connect: runs recovery's own steps in this thread, until the client is up or an attempt fails. */
static int first_connect(struct sim_client *c)
{
	int64_t until = ns_add(client_now(c), c->timeout_dur_ns);
	int r = 0;

	pthread_mutex_lock(&c->setup);
	c->connecting = true;
	c->connect_until_mono_ns = until;
	client_due(c, 0);
	for (;;) {
		int phase;

		client_pump(c);
		client_step(c);
		phase = atomic_load(&c->phase);
		if (phase == PHASE_UP)
			break;
		if (phase == PHASE_FAILED) {
			r = err_set(c->error, "%s", c->why);
			break;
		}
		if (client_now(c) >= until) {
			r = err_set(-ETIMEDOUT, "sim_connect: simd at %s has no data plane ready within %lld ms%s%s",
				    c->path, (long long)(c->timeout_dur_ns / NS_PER_MS), *c->why ? ": " : "", c->why);
			break;
		}
		client_sleep(c, c->epfd, POLLIN, 10 * NS_PER_MS);
		harvest(c, 0);
	}
	c->connecting = r < 0;
	pthread_mutex_unlock(&c->setup);
	return r;
}

int client_connect(const struct sim_client_options *given, const struct client_env *env, struct sim_client **ret)
{
	struct sim_client_options own;
	const struct sim_client_options *o = &own;
	struct sim_client *c;
	int r = given ? SIZED_TAKE(&own, given, "sim_connect: the options")
		      : err_set(-EINVAL, "sim_connect: no options were given");

	if (r == 0)
		r = check_options(o, env);
	if (r < 0)
		return r;
	if (!ret)
		return err_set(-EINVAL, "sim_connect: the output pointer is NULL");
	c = client_new(o, env);
	if (!c)
		return err_nomem();
	c->name = mem_strdup(o->name);
	r = c->name ? socket_path(o->socket, &c->path) : err_nomem();
	if (r < 0)
		goto err;
	if ((r = alive_create(c)) < 0 || (r = clockmap_init(c)) < 0 || (r = fds_create(c)) < 0)
		goto err;
	r = first_connect(c);
	if (r == 0)
		r = io_start(c);
	if (r < 0)
		goto err_close;
	*ret = c;
	return 0;
err_close:
	client_close(c);
err:
	client_free(c);
	return r;
}

int sim_connect(const struct sim_client_options *o, struct sim_client **ret)
{
	return client_connect(o, NULL, ret);
}

void sim_disconnect(struct sim_client *c)
{
	if (!c || !client_alive(c))
		return;
	if (c->io_started && pthread_equal(pthread_self(), c->io))
		return; /* called from a callback: see client.h */
	services_finish(c);
	if (c->io_started) {
		atomic_store(&c->stopping, true);
		client_kick(c);
		pthread_join(c->io, NULL);
		c->io_started = false;
	}
	timers_finish(c);
	pthread_mutex_lock(&c->setup);
	client_close(c);
	pthread_mutex_unlock(&c->setup);
	completion_run(c);
	pthread_mutex_lock(&c->setup);
	client_reap(c);
	pthread_mutex_unlock(&c->setup);
	client_free(c);
}
