/* SPDX-License-Identifier: Apache-2.0 */
/* sim/world.h as a program uses it, with a real sim-world. Thread: the test's; each host has its own. */
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <sim/world.h>

#include "server.h"
#include "support/sizes.h"

#define MS INT64_C(1000000)

static struct server server;
static const char *const as_fast_as_it_goes[] = { SERVER_NEVER_LATE, NULL };

static struct sim_world *come(const char *name, enum sim_world_role role, unsigned flags,
			      const struct sim_world_events *events, void *user)
{
	const struct sim_world_options o = { .size = sizeof(o),
					     .address = server.address,
					     .name = name,
					     .role = role,
					     .flags = flags,
					     .events = events,
					     .user = user,
					     .timeout_ms = SERVER_NO_LIMIT_MS };
	struct sim_world *w;

	if (sim_world_connect(&o, &w) < 0)
		fail_msg("%s: %s", name, sim_world_why());
	return w;
}

static void put(struct sim_world *w, uint64_t id, double x, int64_t time_sim_ns)
{
	const struct sim_world_object o = {
		.id = id, .code = SIM_WORLD_VEHICLE, .time_sim_ns = time_sim_ns, .position = { x, 0, 0 }
	};

	assert_int_equal(sim_world_put(w, &o), 0);
}

static struct sim_world_info info(struct sim_world *w)
{
	struct sim_world_info i;

	sim_world_get_info(w, &i);
	return i;
}

/* ---- in step ---- */

struct driver {
	struct sim_world *w;
	unsigned ticks;
	uint64_t hash[64]; /* by tick */
	int64_t last_sim_ns;
};

static void *drive(void *arg)
{
	struct driver *d = arg;
	struct sim_world_tick t;

	assert_int_equal(sim_world_wait(d->w, -1, &t), 0);
	while (t.tick < 40) {
		put(d->w, 0, (double)t.tick, t.time_sim_ns + t.step_dur_ns);
		assert_int_equal(sim_world_step(d->w, -1, &t), 0);
		d->hash[t.tick] = info(d->w).hash;
		assert_true(t.time_sim_ns > d->last_sim_ns);
		d->last_sim_ns = t.time_sim_ns;
		d->ticks++;
	}
	return NULL;
}

static void drive_two(unsigned flags)
{
	struct driver d[2] = { 0 };
	pthread_t threads[2];
	unsigned same = 0;

	server_start(&server, 0, as_fast_as_it_goes);
	for (int i = 0; i < 2; i++)
		d[i].w = come(i ? "b" : "a", SIM_WORLD_REGULATING, flags, NULL, NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, drive, &d[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 64; i++) {
		same += d[0].hash[i] && d[1].hash[i];
		if (d[0].hash[i] && d[1].hash[i])
			assert_int_equal(d[0].hash[i], d[1].hash[i]);
	}
	assert_true(same >= 30);
	assert_int_equal(info(d[0].w).seen, 2);
	for (int i = 0; i < 2 && flags & SIM_WORLD_DATAGRAMS; i++)
		assert_true(info(d[i].w).datagrams_in > 0);
	for (int i = 0; i < 2; i++)
		sim_world_disconnect(d[i].w);
	assert_int_equal(server_stop(&server), 0);
}

TEST(two_hosts_are_in_step_by_datagrams)
{
	drive_two(SIM_WORLD_DATAGRAMS);
	drive_two(SIM_WORLD_DATAGRAMS | SIM_WORLD_NO_THREAD);
}

/* A server without datagrams, and a later one with them. */
TEST(a_host_uses_datagrams_where_the_server_has_them)
{
	static const char *const tcp_only[] = { "--tcp-only", NULL };
	struct sim_world_tick t;
	struct sim_world *w;
	uint16_t port;

	server_start(&server, 0, tcp_only);
	port = server.port;
	w = come("a", SIM_WORLD_OBSERVER, SIM_WORLD_DATAGRAMS, NULL, NULL);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(sim_world_wait(w, -1, &t), 0);
	assert_false(info(w).datagrams);
	assert_int_equal(info(w).datagrams_in, 0);
	server_kill(&server);
	server_start(&server, port, NULL);
	while (!info(w).datagrams)
		assert_int_equal(sim_world_wait(w, -1, &t), 0);
	assert_true(info(w).datagrams_in > 0);
	sim_world_disconnect(w);
	assert_int_equal(server_stop(&server), 0);
}

TEST(two_hosts_are_in_step)
{
	drive_two(0);
}

TEST(two_hosts_without_threads_are_in_step)
{
	drive_two(SIM_WORLD_NO_THREAD);
}

/*
 * With a look-ahead the world goes on while a host computes: its Done then covers the tick that it knew, not later
 * ones, for which it has sent nothing.
 */
TEST(done_covers_only_the_tick_the_host_knew)
{
	static const int64_t step = 60000 * MS;
	struct sim_world_options o = { .size = sizeof(o),
				       .address = server.address,
				       .name = "a",
				       .lookahead_dur_ns = 4 * step,
				       .timeout_ms = SERVER_NO_LIMIT_MS };
	struct sim_world_tick known, t = { .tick = 0 };
	struct sim_world *a, *b;

	server_start(&server, 0, as_fast_as_it_goes);
	assert_int_equal(sim_world_connect(&o, &a), 0);
	b = come("b", SIM_WORLD_OBSERVER, 0, NULL, NULL);
	assert_int_equal(sim_world_wait(a, -1, &known), 0);
	assert_int_equal(sim_world_done(a), 0);
	while (t.tick < known.tick + 5) /* as far as the promise of that and the look-ahead go */
		assert_int_equal(sim_world_wait(b, -1, &t), 0);
	while (info(a).tick.tick < t.tick) /* which has arrived here, too, though no call has waited for it */
		;
	put(a, 0, 1, known.time_sim_ns + 5 * step);
	assert_int_equal(sim_world_done(a), 0);
	sim_world_disconnect(b);
	b = come("c", SIM_WORLD_OBSERVER, 0, NULL, NULL); /* so the server has read that */
	assert_int_equal(info(b).tick.tick, known.tick + 5);
	sim_world_disconnect(a);
	sim_world_disconnect(b);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- callbacks ---- */

struct watcher {
	pthread_mutex_t lock;
	pthread_cond_t news;
	unsigned enters, updates, leaves, ticks, notes, connected, connecting;
	double x;
	int deadlock;
	char note[16];
	struct sim_world *w;
};

struct gate {
	_Atomic bool there, open;
};

static void hold_up(void *user, const struct sim_world_tick *t)
{
	struct gate *g = user;

	(void)t;
	g->there = true;
	AWAIT(g->open);
}

/* The wait returns the tick while its callback runs; after the callback the same tick is not returned again. */
TEST(a_tick_is_waited_for_once)
{
	static const struct sim_world_events events = { .tick = hold_up };
	struct sim_world_tick t;
	struct gate g = { false, false };
	struct sim_world *w;

	server_start(&server, 0, as_fast_as_it_goes);
	w = come("a", SIM_WORLD_REGULATING, 0, &events, &g);
	AWAIT(g.there);
	assert_int_equal(sim_world_wait(w, 0, &t), 0);
	assert_int_equal(t.tick, 1);
	g.open = true;
	AWAIT(info(w).ticks == 1);
	assert_int_equal(sim_world_wait(w, 0, &t), -ETIMEDOUT);
	sim_world_disconnect(w);
	assert_int_equal(server_stop(&server), 0);
}

static void tell(struct watcher *h, unsigned *what)
{
	pthread_mutex_lock(&h->lock);
	++*what;
	pthread_cond_broadcast(&h->news);
	pthread_mutex_unlock(&h->lock);
}

static void until(struct watcher *h, const unsigned *what, unsigned n)
{
	pthread_mutex_lock(&h->lock);
	while (*what < n)
		pthread_cond_wait(&h->news, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

static void on_enter(void *user, const struct sim_world_object *o)
{
	struct watcher *h = user;

	h->x = o->position[0];
	tell(h, &h->enters);
}

static void on_update(void *user, const struct sim_world_object *o)
{
	struct watcher *h = user;

	h->x = o->position[0];
	tell(h, &h->updates);
}

static void on_leave(void *user, const struct sim_world_object *o)
{
	struct watcher *h = user;

	(void)o;
	tell(h, &h->leaves);
}

static void on_tick(void *user, const struct sim_world_tick *t)
{
	struct watcher *h = user;
	struct sim_world_tick other;

	(void)t;
	if (h->w)
		h->deadlock = sim_world_wait(h->w, 0, &other);
	tell(h, &h->ticks);
}

static void on_note(void *user, uint64_t from, int64_t time_sim_ns, const void *payload, size_t size)
{
	struct watcher *h = user;

	(void)from;
	(void)time_sim_ns;
	memcpy(h->note, payload, size < sizeof(h->note) - 1 ? size : sizeof(h->note) - 1);
	tell(h, &h->notes);
}

static void on_state(void *user, enum sim_world_state state, const char *why)
{
	struct watcher *h = user;

	(void)why;
	tell(h, state == SIM_WORLD_CONNECTED ? &h->connected : &h->connecting);
}

static const struct sim_world_events watch = {
	.enter = on_enter, .update = on_update, .leave = on_leave, .tick = on_tick, .note = on_note, .state = on_state
};

#define WATCHER \
	{ \
		.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER \
	}

TEST(an_observer_receives_all_events)
{
	static struct watcher h = WATCHER;
	struct sim_world *a, *b;
	struct sim_world_tick t;

	server_start(&server, 0, as_fast_as_it_goes);
	a = come("a", SIM_WORLD_REGULATING, 0, NULL, NULL);
	b = come("b", SIM_WORLD_OBSERVER, 0, &watch, &h);
	pthread_mutex_lock(&h.lock);
	h.w = b;
	pthread_mutex_unlock(&h.lock);
	assert_int_equal(sim_world_wait(a, -1, &t), 0);
	put(a, 0, 7, t.time_sim_ns);
	assert_int_equal(sim_world_step(a, -1, &t), 0);
	until(&h, &h.enters, 1);
	put(a, 0, 8, t.time_sim_ns + t.step_dur_ns);
	assert_int_equal(sim_world_step(a, -1, &t), 0);
	until(&h, &h.updates, 1);
	assert_true(fabs(h.x - 8) < 0.001);
	assert_int_equal(sim_world_note(a, 0, 0, true, "fog", 3), 0);
	until(&h, &h.notes, 1);
	assert_string_equal(h.note, "fog");
	assert_int_equal(sim_world_remove(a, 0), 0);
	assert_int_equal(sim_world_step(a, -1, &t), 0);
	until(&h, &h.leaves, 1);
	until(&h, &h.ticks, 2);
	assert_int_equal(h.deadlock, -EDEADLK);
	assert_int_equal(sim_world_process(b), -EBUSY);
	sim_world_disconnect(a);
	sim_world_disconnect(b);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- a server that restarts ---- */

TEST(after_a_server_restart_everything_is_sent_again)
{
	static struct watcher h = WATCHER;
	struct sim_world *a, *b;
	struct sim_world_tick t;
	uint16_t port;

	server_start(&server, 0, as_fast_as_it_goes);
	a = come("a", SIM_WORLD_REGULATING, 0, NULL, NULL);
	b = come("b", SIM_WORLD_OBSERVER, 0, &watch, &h);
	assert_int_equal(sim_world_wait(a, -1, &t), 0);
	put(a, 0, 7, t.time_sim_ns);
	for (int i = 0; i < 5; i++)
		assert_int_equal(sim_world_step(a, -1, &t), 0);
	until(&h, &h.enters, 1);
	port = server.port;
	server_kill(&server);
	until(&h, &h.connecting, 1);
	assert_int_equal(info(b).seen, 1); /* it stays, as it was */
	server_start(&server, port, as_fast_as_it_goes);
	until(&h, &h.connected, 2);
	while (info(a).reconnects < 1 || info(b).seen < 1 || info(b).hash != info(a).hash)
		assert_int_equal(sim_world_step(a, -1, &t), 0); /* the car was put once, long ago */
	assert_true(fabs(h.x - 7) < 0.001);
	sim_world_disconnect(a);
	sim_world_disconnect(b);
	assert_int_equal(server_stop(&server), 0);
}

/* The host does other work for long, as a paused rig does: it is dropped once, and connects again when it is back. */
TEST(a_dropped_host_reconnects_when_it_acts_again)
{
	static const char *const usual[] = { "--pace", "0", NULL };
	struct sim_world *a, *b;
	struct sim_world_tick t, tb;

	server_start(&server, 0, usual);
	a = come("a", SIM_WORLD_REGULATING, 0, NULL, NULL);
	b = come("b", SIM_WORLD_REGULATING, 0, NULL, NULL);
	assert_int_equal(sim_world_wait(b, -1, &tb), 0);
	assert_int_equal(sim_world_wait(a, -1, &t), 0);
	while (info(b).state == SIM_WORLD_CONNECTED)
		assert_int_equal(sim_world_step(a, -1, &t), 0);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(sim_world_step(a, -1, &t), 0);
	assert_int_equal(info(b).state, SIM_WORLD_CONNECTING);
	assert_int_equal(info(b).reconnects, 0);
	while (info(b).reconnects == 0)
		assert_int_equal(sim_world_step(b, -1, &tb), 0);
	sim_world_disconnect(a);
	sim_world_disconnect(b);
	assert_int_equal(server_stop(&server), 0);
}

/* The one connection of this process to the server, while there is one. */
static int connection_to_server(void)
{
	for (int fd = 3; fd < 64; fd++) {
		struct sockaddr_in a = { .sin_family = AF_UNSPEC };
		socklen_t len = sizeof(a);

		if (getpeername(fd, (struct sockaddr *)&a, &len) == 0 && a.sin_family == AF_INET &&
		    ntohs(a.sin_port) == server.port)
			return fd;
	}
	fail_msg("no connection to port %u", server.port);
	return -1;
}

/*
 * The host loses its connection while the world waits for another host in the tick that this one is done with. Connected again, it sends its objects and
 * Done of that tick first and its pause last: a Done behind the pause would end it.
 */
TEST(a_pause_survives_a_lost_connection)
{
	static const char stands[] = "a: paused: its time stands: it is an observer meanwhile";
	struct sim_world *a, *holder;
	struct sim_world_tick t;
	int fd;

	server_start(&server, 0, as_fast_as_it_goes);
	a = come("a", SIM_WORLD_REGULATING, 0, NULL, NULL);
	fd = connection_to_server();
	assert_int_equal(sim_world_wait(a, -1, &t), 0);
	put(a, 0, 7, t.time_sim_ns + t.step_dur_ns); /* by its objects the server recognises it */
	assert_int_equal(sim_world_step(a, -1, &t), 0);
	holder = come("holder", SIM_WORLD_REGULATING, 0, NULL, NULL);
	assert_int_equal(sim_world_done(a), 0);
	assert_int_equal(sim_world_pause(a), 0);
	server_says(&server, stands);
	server.text[0] = 0;
	assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
	server_says(&server, stands);
	assert_int_equal(info(a).reconnects, 1);
	sim_world_disconnect(a);
	server_says(&server, "a: disconnected: it has said Bye");
	assert_null(strstr(server.text, "a: paused: its time continues"));
	sim_world_disconnect(holder);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- asked for ---- */

static bool add_x(void *user, const struct sim_world_object *o)
{
	*(double *)user += o->position[0];
	return true;
}

TEST(objects_can_be_queried_for_a_time)
{
	static const uint8_t body[] = { 0x0a, 3, 'c', 'a', 'r' };
	struct sim_world_object o = {
		.id = 4, .code = SIM_WORLD_VEHICLE, .velocity = { 100, 0, 0 }, .body = body, .body_size = sizeof(body)
	};
	struct sim_world *a, *b;
	struct sim_world_tick t;
	uint8_t got[16];
	size_t size = 2;
	double sum = 0;
	uint64_t id;

	server_start(&server, 0, as_fast_as_it_goes);
	a = come("a", SIM_WORLD_REGULATING, SIM_WORLD_NO_THREAD, NULL, NULL);
	b = come("b", SIM_WORLD_CONSTRAINED, SIM_WORLD_NO_THREAD, NULL, NULL);
	put(b, 0, 1000, 0);
	assert_int_equal(sim_world_wait(a, -1, &t), 0);
	o.time_sim_ns = t.time_sim_ns + t.step_dur_ns;
	assert_int_equal(sim_world_put(a, &o), 0);
	id = sim_world_id(a, 4);
	do
		assert_int_equal(sim_world_step(a, -1, &t), 0);
	while (sim_world_find(a, id, t.time_sim_ns, &o, NULL, NULL) < 0);
	while (sim_world_find(b, id, t.time_sim_ns, &o, NULL, NULL) < 0 || info(b).tick.tick < t.tick)
		assert_int_equal(sim_world_wait(b, -1, &(struct sim_world_tick){ 0 }), 0);
	assert_int_equal(o.how, SIM_WORLD_SAID);
	assert_int_equal(o.code, SIM_WORLD_VEHICLE);
	assert_int_equal(o.connection, info(a).connection);
	assert_int_equal(o.body_size, sizeof(body));
	assert_int_equal(sim_world_find(b, id, t.time_sim_ns, &o, got, &size), -ENOBUFS);
	assert_int_equal(size, sizeof(body));
	size = sizeof(got);
	assert_int_equal(sim_world_find(b, id, t.time_sim_ns + 500 * MS, &o, got, &size), 0);
	assert_memory_equal(got, body, sizeof(body));
	assert_int_equal(o.how, SIM_WORLD_GUESSED);
	assert_int_equal(o.time_sim_ns, t.time_sim_ns + 500 * MS);
	assert_int_equal(sim_world_find(b, id, t.time_sim_ns + 5000 * MS, &o, NULL, NULL), 0);
	assert_int_equal(o.how, SIM_WORLD_HELD);
	/* its own object is not reported */
	assert_int_equal(sim_world_each(b, t.time_sim_ns + 1000 * MS, add_x, &sum), 1);
	assert_int_equal(sim_world_find(b, id, t.time_sim_ns, &o, NULL, NULL), 0);
	assert_true(fabs(sum - o.position[0] - 100) < 0.01);
	assert_int_equal(sim_world_find(b, 99, 0, &o, NULL, NULL), -ENOENT);
	sim_world_disconnect(a);
	sim_world_disconnect(b);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- what cannot be ---- */

static int try(const char *address, const char *name, int timeout_ms)
{
	const struct sim_world_options o = { .size = sizeof(o),
					     .address = address,
					     .name = name,
					     .role = SIM_WORLD_OBSERVER,
					     .timeout_ms = timeout_ms };
	struct sim_world *w = NULL;
	int r = sim_world_connect(&o, &w);

	if (r == 0)
		sim_world_disconnect(w);
	else
		assert_true(*sim_world_why());
	return r;
}

static int listen_on(char ret[32])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	snprintf(ret, 32, "127.0.0.1:%u", ntohs(a.sin_port));
	return fd;
}

static void *answer_http(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	assert_true(send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, 0) == 28);
	close(fd);
	return NULL;
}

TEST(connection_errors_are_reported)
{
	char address[32];
	pthread_t thread;
	int fd = listen_on(address);

	assert_int_equal(try(address, "a", 50), -ETIMEDOUT);
	close(accept(fd, NULL, NULL)); /* that one */
	assert_int_equal(pthread_create(&thread, NULL, answer_http, &fd), 0);
	assert_int_equal(try(address, "a", SERVER_NO_LIMIT_MS), -EPROTO);
	assert_true(strstr(sim_world_why(), "not a world server") != NULL);
	pthread_join(thread, NULL);
	close(fd);
	assert_int_equal(try(address, "a", SERVER_NO_LIMIT_MS), -ECONNREFUSED);
	assert_int_equal(try("192.0.2.1:8082", "a", 0), -EACCES);
	assert_int_equal(try("127.0.0.1", "a", 0), -EINVAL);
	assert_int_equal(try("127.0.0.1:port", "a", 0), -EINVAL);
	assert_int_equal(try(":8082", "a", 0), -EINVAL);
	assert_int_equal(try(address, "", 0), -EINVAL);
	assert_int_equal(try(address, "a\nb", 0), -EINVAL);
	assert_int_equal(try(address, NULL, 0), -EINVAL);
}

static int connects(const void *options, void *arg)
{
	struct sim_world *w = NULL;
	int r = sim_world_connect(options, &w);

	(void)arg;
	sim_world_disconnect(w);
	return r;
}

TEST(programs_built_with_other_struct_sizes_are_served)
{
	struct sim_world_options o = { .size = sizeof(o), .name = "of any age", .role = SIM_WORLD_OBSERVER };

	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, NULL });
	o.address = server.address;
	sizes_check(&o, sizeof(o), connects, NULL);
	assert_int_equal(server_stop(&server), 0);
}

TEST(a_full_server_refuses_with_the_reason)
{
	struct sim_world *a;

	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, "--clients", "1", NULL });
	a = come("a", SIM_WORLD_REGULATING, 0, NULL, NULL);
	assert_true(try(server.address, "b", SERVER_NO_LIMIT_MS) < 0);
	sim_world_disconnect(a);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- the example ---- */

/*
 * A world of which the test holds the time until n hosts have come, so that it does not matter how long one takes to start: it lets a step go now and
 * then, as who keeps time waiting for 3 s is waited for no more.
 */
static struct sim_world *hold_time(char control[TEST_PATH_MAX])
{
	test_path(control, "control");
	server_start(&server, 0, (const char *const[]){ "--pace", "0", "--step", "100ms", "--control", control, NULL });
	return come("holder", SIM_WORLD_REGULATING, 0, NULL, NULL);
}

static unsigned clients(const char *control)
{
	struct server_status s;

	server_status(control, &s);
	return s.clients;
}

static void let_time_go(struct sim_world *holder, const char *control, unsigned n)
{
	struct sim_world_tick t;

	assert_int_equal(sim_world_wait(holder, -1, &t), 0);
	while (clients(control) <= n) {
		pace_us(200000);
		assert_int_equal(sim_world_step(holder, -1, &t), 0);
	}
	sim_world_disconnect(holder);
	(void)unlink(control);
}

#define LOOK_AT "60.0 s: " /* when all have long come, */
#define UNTIL_S "63"       /* and no host has left */

/* Its output, read to the end. */
static void join_convoy(const char *program, const char *number, int ret[2])
{
	int out[2];

	assert_int_equal(pipe(out), 0);
	ret[1] = fork();
	if (!ret[1]) {
		dup2(out[1], STDOUT_FILENO);
		if (number)
			execl(program, program, number, server.address, UNTIL_S, (char *)NULL);
		else
			execl(program, program, server.address, UNTIL_S, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	ret[0] = out[0];
}

static void line_looked_at(const int convoy[2], char ret[256])
{
	FILE *f = fdopen(convoy[0], "r");
	char line[256];
	int status;

	while (fgets(line, sizeof(line), f))
		if (strncmp(line, LOOK_AT, strlen(LOOK_AT)) == 0)
			memcpy(ret, line, sizeof(line));
	fclose(f);
	assert_int_equal(waitpid(convoy[1], &status, 0), convoy[1]);
	assert_int_equal(status, 0);
}

/* Each drives where the one before it was a second ago, 10 m behind on a circle of 50: a chord of 9.98 m. */
TEST(four_hosts_are_a_convoy)
{
	char line[256] = "", control[TEST_PATH_MAX];
	struct sim_world *holder = hold_time(control);
	int convoy[4][2];

	for (int i = 0; i < 4; i++)
		join_convoy(CONVOY, (const char[]){ (char)('0' + i), 0 }, convoy[i]);
	let_time_go(holder, control, 4);
	for (int i = 0; i < 4; i++) {
		line_looked_at(convoy[i], line);
		assert_true(strstr(line, LOOK_AT "4 cars") != NULL);
		assert_int_equal(strstr(line, "the next one 9.98 m before it") != NULL, i > 0);
	}
	assert_int_equal(server_stop(&server), 0);
}

#ifdef VEHICLE_HOST
TEST(cxx_hosts_see_each_others_wheels)
{
	char line[256] = "", control[TEST_PATH_MAX];
	struct sim_world *holder = hold_time(control);
	int host[2][2];

	for (int i = 0; i < 2; i++)
		join_convoy(VEHICLE_HOST, NULL, host[i]);
	let_time_go(holder, control, 2);
	for (int i = 0; i < 2; i++) {
		line_looked_at(host[i], line);
		assert_string_equal(line, LOOK_AT "1 other vehicles with 6 wheels\n");
	}
	assert_int_equal(server_stop(&server), 0);
}
#endif
