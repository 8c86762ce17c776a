/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library with real threads, and simd in a thread of its own, over ipc_mem, to be run under a sanitizer. No wall
 * time is asserted; bounds only end a test that hangs.
 */
#include "scenario/client/imu.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static struct world w;

/* ---- a bridge that answers, in a thread ---- */

struct answering {
	struct bridge_peer b;
	pthread_t thread;
	atomic_bool stop;
};

static void *answer_all(void *arg)
{
	struct answering *a = arg;

	while (!atomic_load(&a->stop)) {
		char *json;

		if (bridge_next(&a->b, 20)) {
			bridge_answer(&a->b, 0);
			continue;
		}
		if (a->b.p.event != SIM_LANE_GONE)
			continue;
		/* simd was killed: attach again when the session is back */
		sim_lane_destroy(a->b.lane);
		sim_bridge_session_destroy(a->b.s);
		a->b.lane = NULL;
		a->b.s = NULL;
		AWAIT(sim_bridge_attach(a->b.c, "log", &json, &a->b.s, &a->b.lane) >= 0 || atomic_load(&a->stop));
		if (a->b.lane) {
			free(json);
			/* refused: simd was killed once more, as the lane will say */
			(void)sim_lane_status(a->b.lane, SIM_BRIDGE_CONNECTED, 0, 0, 0, 0, "by hand");
		}
		a->b.p.event = SIM_LANE_DELIVER;
	}
	return NULL;
}

static void answering_begin(struct answering *a)
{
	memset(a, 0, sizeof(*a));
	bridge_start(&w, &a->b);
	bridge_connected(&w, &a->b);
	assert_int_equal(pthread_create(&a->thread, NULL, answer_all, a), 0);
}

static void answering_end(struct answering *a)
{
	atomic_store(&a->stop, true);
	pthread_join(a->thread, NULL);
	bridge_end(&a->b);
}

/* ---- two sensors at full speed ---- */

struct sensor {
	struct sim_client *c;
	struct sim_publisher *p;
	pthread_t thread;
	unsigned messages;
	unsigned accepted, refused;
	atomic_uint calls, ok, late;
};

static void on_sent(void *user, bool ok, enum sim_reason reason)
{
	struct sensor *s = user;

	(void)reason;
	atomic_fetch_add(&s->calls, 1);
	atomic_fetch_add(&s->ok, ok);
}

static void *send_many(void *arg)
{
	struct sensor *s = arg;
	struct sim_slot *slot;

	for (unsigned i = 0; i < s->messages; i++) {
		int r = sim_loan(s->p, sizeof(struct sim_Imu), &slot);

		if (r == 0)
			r = sim_try_queue(s->p, slot, NULL, on_sent, s);
		else
			atomic_fetch_add(&s->late, 1);
		if (r == 0)
			s->accepted++;
		else
			s->refused++;
		if (r < 0)
			pace_us(1000);
	}
	return NULL;
}

static void sensor_begin(struct sensor *s, struct sim_client *c, const char *channel, unsigned messages)
{
	memset(s, 0, sizeof(*s));
	s->c = c;
	s->messages = messages;
	s->p = imu_advertise(c, channel, 0);
}

static void wait_calls(struct sensor *s)
{
	unsigned all = s->accepted + s->refused - atomic_load(&s->late);

	AWAIT(atomic_load(&s->calls) >= all);
	assert_int_equal(atomic_load(&s->calls), all);
}

static int setup(void **state)
{
	(void)state;
	world_create_threads(&w, ", \"dispatch\": {\"wait_ms\": 500, \"deadline_ms\": 600000}");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_destroy(&w);
	return 0;
}

/* Every accepted message is delivered and called back, from two threads of one client at once. */
TEST_WITH(all_messages_complete_at_full_speed, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct answering a;
	struct sensor s[2];

	answering_begin(&a);
	for (int i = 0; i < 2; i++)
		sensor_begin(&s[i], c, i ? "two" : "imu", 1500);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&s[i].thread, NULL, send_many, &s[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(s[i].thread, NULL);
	for (int i = 0; i < 2; i++) {
		wait_calls(&s[i]);
		assert_int_equal(atomic_load(&s[i].ok), s[i].accepted);
		assert_true(s[i].accepted > 0);
		sim_publisher_destroy(s[i].p);
	}
	sim_disconnect(c);
	answering_end(&a);
}

struct flusher {
	struct sensor s;
	atomic_bool stop;
	unsigned flushes;
};

/* Sends a few, waits for them: all of its callbacks have run then, whatever the others do. */
static void *send_and_flush(void *arg)
{
	struct flusher *f = arg;

	for (; f->flushes < 60; f->flushes++) {
		for (int i = 0; i < 20; i++) {
			struct sim_slot *slot;
			int r = sim_loan(f->s.p, sizeof(struct sim_Imu), &slot);

			if (r == 0)
				r = sim_try_queue(f->s.p, slot, NULL, on_sent, &f->s);
			assert_int_equal(r, 0);
			f->s.accepted++;
		}
		assert_int_equal(sim_flush(f->s.c, -1), 0);
		assert_int_equal(atomic_load(&f->s.calls), f->s.accepted);
	}
	return NULL;
}

static void *send_on(void *arg)
{
	struct flusher *f = arg;

	while (!atomic_load(&f->stop))
		(void)!sim_try_queue(f->s.p, imu_loan(f->s.p), NULL, on_sent, &f->s);
	return NULL;
}

TEST_WITH(a_flush_ends_beside_other_publishing_threads, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct flusher f[3];
	struct answering a;

	answering_begin(&a);
	memset(f, 0, sizeof(f));
	for (int i = 0; i < 3; i++) {
		sensor_begin(&f[i].s, c, i == 0 ? "imu" : i == 1 ? "two" : "three", 0);
		assert_int_equal(pthread_create(&f[i].s.thread, NULL, i < 2 ? send_and_flush : send_on, &f[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(f[i].s.thread, NULL);
		assert_int_equal(f[i].flushes, 60);
		assert_int_equal(atomic_load(&f[i].s.ok), f[i].s.accepted);
	}
	atomic_store(&f[2].stop, true);
	pthread_join(f[2].s.thread, NULL);
	assert_int_equal(sim_flush(c, -1), 0);
	for (int i = 0; i < 3; i++)
		sim_publisher_destroy(f[i].s.p);
	sim_disconnect(c);
	answering_end(&a);
}

/* simd and the data plane die and come back while they publish: exactly one call for each message. */
TEST_WITH(all_messages_complete_while_processes_are_killed, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct answering a;
	struct sensor s[2];

	answering_begin(&a);
	for (int i = 0; i < 2; i++)
		sensor_begin(&s[i], c, i ? "other" : "imu", 1200);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&s[i].thread, NULL, send_many, &s[i]), 0);
	for (int i = 0; i < 3; i++) {
		moment_us(20000);
		world_kill_simd(&w);
		world_start_simd(&w);
		moment_us(60000);
		world_kill_roudi(&w);
		world_start_roudi(&w);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(s[i].thread, NULL);
	for (int i = 0; i < 2; i++)
		wait_calls(&s[i]);
	world_until(&w, c, SIM_CLIENT_CONNECTED);
	moment_us(10000); /* time for a callback too many */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(atomic_load(&s[i].calls), s[i].accepted + s[i].refused - atomic_load(&s[i].late));
		sim_publisher_destroy(s[i].p);
	}
	sim_disconnect(c);
	answering_end(&a);
}

/* ---- waiting ---- */

struct receiver {
	struct sim_subscriber *s;
	pthread_t thread;
	unsigned wanted;
	bool use_fd;
	atomic_uint got;
};

static void *receive(void *arg)
{
	struct receiver *r = arg;
	const struct sim_message *slot;

	while (atomic_load(&r->got) < r->wanted) {
		if (r->use_fd) {
			struct pollfd p = { .fd = sim_subscriber_fd(r->s), .events = POLLIN };

			assert_int_equal(poll(&p, 1, -1), 1);
		} else if (sim_wait(r->s, -1) != 1) {
			return NULL;
		}
		while (sim_take(r->s, &slot) == 0) {
			if (sim_release(r->s, slot) == 0)
				atomic_fetch_add(&r->got, 1);
		}
	}
	return NULL;
}

static void receiver_check(struct sim_client *c, unsigned flags, int64_t spin_dur_ns, bool restart)
{
	struct sim_subscriber_options o = {
		.size = sizeof(o), .depth = 256, .flags = flags, .spin_dur_ns = spin_dur_ns
	};
	struct sim_publisher *p = imu_advertise(c, "local", SIM_PUB_LOCAL);
	struct receiver r = { .wanted = 200, .use_fd = flags & SIM_SUB_FD };
	struct sim_slot *slot;

	assert_int_equal(sim_subscribe(c, "local", &sim_Imu_type, &o, &r.s), 0);
	assert_int_equal(pthread_create(&r.thread, NULL, receive, &r), 0);
	for (int i = 0; atomic_load(&r.got) < r.wanted; i++) {
		if (i == 50 && restart) { /* the wait survives, and continues in the next generation */
			world_kill_roudi(&w);
			world_start_roudi(&w);
		}
		if (sim_loan(p, sizeof(struct sim_Imu), &slot) == 0)
			(void)!sim_publish_local(p, slot);
		if (i % 8 == 7)
			pace_us(1000);
	}
	pthread_join(r.thread, NULL);
	assert_true(atomic_load(&r.got) >= r.wanted);
	sim_subscriber_destroy(r.s);
	sim_publisher_destroy(p);
}

/* If the first wait asked RouDi for its waiter, the first message would wait for RouDi. */
static void waits_without_roudi(struct sim_client *c)
{
	struct sim_subscriber *s;
	uint32_t requests;

	assert_int_equal(sim_subscribe(c, "local", &sim_Imu_type, NULL, &s), 0);
	requests = ipc_mem_requests(w.bus);
	assert_int_equal(sim_wait(s, MS), 0);
	assert_int_equal(ipc_mem_requests(w.bus), requests);
	sim_subscriber_destroy(s);
}

TEST_WITH(a_message_wakes_a_waiting_thread, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);

	waits_without_roudi(c);
	receiver_check(c, 0, 0, false);
	receiver_check(c, 0, 50000, false);
	receiver_check(c, SIM_SUB_FD, 0, false);
	receiver_check(c, 0, 0, true);
	receiver_check(c, SIM_SUB_FD, 0, true);
	sim_disconnect(c);
}

/* A thread of its own waits for the bridges while the publisher's goes on publishing. */
struct watcher {
	struct sim_publisher *p;
	pthread_t thread;
	_Atomic unsigned changes, connected;
	_Atomic bool stop;
};

static void *watch_bridges(void *arg)
{
	struct watcher *k = arg;
	struct sim_bridges known = { 0, 0 };

	while (!atomic_load(&k->stop)) {
		if (sim_publisher_bridges_wait(k->p, &known, 50 * MS) != 1)
			continue;
		atomic_store(&k->connected, known.connected);
		atomic_fetch_add(&k->changes, 1);
	}
	return NULL;
}

TEST_WITH(a_thread_can_wait_for_bridges_beside_the_publishing_one, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct watcher k = { .p = imu_advertise(c, "imu", 0) };
	struct sim_slot *slot;
	struct bridge_peer b;

	bridge_start(&w, &b);
	assert_int_equal(pthread_create(&k.thread, NULL, watch_bridges, &k), 0);
	for (unsigned i = 0; i < 20; i++) {
		unsigned wanted = !(i & 1);

		assert_int_equal(sim_lane_status(b.lane, wanted ? SIM_BRIDGE_CONNECTED : SIM_BRIDGE_CONNECTING, 0, 0, 0,
						 0, ""),
				 0);
		while (atomic_load(&k.connected) != wanted || atomic_load(&k.changes) < i + 1) {
			if (sim_loan(k.p, sizeof(struct sim_Imu), &slot) == 0)
				(void)!sim_publish_local(k.p, slot);
			pace_us(1000);
		}
	}
	atomic_store(&k.stop, true);
	pthread_join(k.thread, NULL);
	sim_publisher_destroy(k.p);
	sim_disconnect(c);
	bridge_end(&b);
}

/* ---- one thread at a time ---- */

static void *wait_long(void *arg)
{
	while (sim_wait(arg, 300 * MS) == -EBUSY) /* the other thread was inside just then */
		continue;
	return NULL;
}

TEST_WITH(a_second_thread_is_refused, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0);
	const struct sim_message *slot;
	pthread_t t;
	int r;

	assert_int_equal(pthread_create(&t, NULL, wait_long, s), 0);
	do {
		r = sim_take(s, &slot);
	} while (r == -EAGAIN); /* until the other thread is inside */
	assert_int_equal(r, -EBUSY);
	assert_string_equal(sim_why(), "another thread is using this subscriber; give each thread its own");
	pthread_join(t, NULL);
	assert_int_equal(sim_take(s, &slot), -EAGAIN);
	sim_subscriber_destroy(s);
	sim_disconnect(c);
}

struct blocked {
	struct sim_publisher *p;
	struct sim_slot *slot;
	struct outcome out;
	int r;
	atomic_bool done;
};

static void *queue_blocked(void *arg)
{
	struct blocked *k = arg;

	k->r = sim_try_queue(k->p, k->slot, NULL, on_done, &k->out);
	atomic_store(&k->done, true);
	return NULL;
}

/* A publisher refuses a second thread, too: its message is refused and completes, and its slot is not lost. */
TEST_WITH(a_second_thread_on_a_publisher_is_refused, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0);
	struct sim_publisher *p = imu_advertise(c, "two", 0);
	struct sim_slot *slots[8], *none;
	struct outcome sent = { 0 }, refused = { 0 };
	struct bridge_peer b;
	struct blocked k = { .p = p };
	pthread_t t;
	int r;

	bridge_start(&w, &b);
	bridge_connected(&w, &b);
	for (int i = 0; i < 8; i++)
		slots[i] = imu_loan(p);
	for (int i = 0; i < 2; i++) /* the window is full: the next one waits */
		assert_int_equal(sim_try_queue(p, slots[i], NULL, on_done, &sent), 0);
	for (k.slot = slots[2];; k.slot = imu_loan(p)) {
		assert_int_equal(pthread_create(&t, NULL, queue_blocked, &k), 0);
		do { /* until the other thread is inside */
			pace_us(1000);
			r = sim_loan(p, 8, &none);
			if (r == 0)
				assert_int_equal(sim_unloan(p, none), 0);
		} while (r != -EBUSY && !atomic_load(&k.done));
		if (r == -EBUSY)
			break;
		assert_int_equal(k.r, -EBUSY); /* this thread was in its way: once more */
		pthread_join(t, NULL);
		atomic_store(&k.done, false);
	}
	for (int i = 3; i < 8; i++)
		assert_int_equal(sim_try_queue(p, slots[i], NULL, on_done, &refused), -EBUSY);
	assert_int_equal(refused.calls, 5);
	assert_int_equal(refused.reason, SIM_REASON_INVALID);
	pthread_join(t, NULL);
	assert_int_equal(k.r, -ETIMEDOUT);
	assert_int_equal(k.out.reason, SIM_REASON_TIMEOUT);
	for (int i = 0; i < 8; i++) /* all slots have come back: they can be loaned again */
		slots[i] = imu_loan(p);
	sim_publisher_destroy(p);
	sim_disconnect(c);
	bridge_end(&b);
}

TEST_WITH(a_forked_child_is_refused, setup, teardown)
{
	struct sim_client *c = world_client(&w, "both", 0), *none;
	struct sim_publisher *p = imu_advertise(c, "imu", 0);
	struct sim_subscriber *s = imu_subscribe(c, "imu", 0);
	struct sim_client_options o = { .size = sizeof(o), .name = "child", .socket = "/proc/nonexistent" };
	const struct sim_message *slot;
	struct sim_slot *loan;
	int status, bad = 0;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		bad |= sim_loan(p, 8, &loan) != -EPERM;
		bad |= (sim_take(s, &slot) != -EPERM) << 1;
		bad |= (sim_process(c) != -EPERM) << 2;
		bad |= (sim_subscribe(c, "imu", NULL, NULL, &s) != -EPERM) << 3;
		bad |= (sim_sleep_until(c, INT64_MAX, -1) != -EPERM) << 4;
		/* a new connection is attempted: here its socket does not exist */
		bad |= (sim_connect(&o, &none) != -ENOENT) << 5;
		sim_publisher_destroy(p);
		sim_disconnect(c);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sim_publish_local(p, imu_loan(p)), 0);
	imu_expect(s, 1);
	assert_int_equal(sim_process(c), -EBUSY); /* it has its own thread */
	sim_subscriber_destroy(s);
	sim_publisher_destroy(p);
	sim_disconnect(c);
}

/* ---- time ---- */

static atomic_bool awake;

static void *sleep_long(void *arg)
{
	struct sim_client *c = arg;
	int r = sim_sleep_until(c, sim_now(c) + 3600 * S, -1);

	atomic_store(&awake, true);
	return (void *)(intptr_t)r;
}

static void *advance_one(void *arg)
{
	int64_t granted;

	moment_us(20000);
	(void)!sim_driver_advance(arg, 10 * MS, &granted);
	return NULL;
}

/* Sleepers wake at a driver's step, at a jump, and when simd goes. */
TEST_WITH(sleepers_wake_at_steps_jumps_and_ends, setup, teardown)
{
	static const char *const sources[] = { "{\"source\": \"system\"}", "{\"source\": \"simulation\"}" };
	struct sim_client *c = world_client(&w, "sensor", 0);
	struct sim_driver *d;
	pthread_t t;
	void *result;
	int64_t until;
	char *json;

	assert_int_equal(sim_driver_acquire(c, 0, &d), 0);
	until = sim_now(c) + 10 * MS;
	assert_int_equal(pthread_create(&t, NULL, advance_one, d), 0);
	assert_int_equal(sim_sleep_until(c, until, -1), 0);
	pthread_join(t, NULL);
	sim_driver_release(d);
	assert_int_equal(pthread_create(&t, NULL, sleep_long, c), 0);
	for (int i = 0; !atomic_load(&awake); i++) { /* a jump before it sleeps does not wake it */
		assert_int_equal(sim_call(c, "SetSource", sources[i % 2], &json), 0);
		free(json);
		pace_us(1000);
	}
	pthread_join(t, &result);
	assert_int_equal((intptr_t)result, -ECANCELED);
	assert_int_equal(pthread_create(&t, NULL, sleep_long, c), 0);
	moment_us(20000);
	world_kill_simd(&w);
	pthread_join(t, &result);
	assert_int_equal((intptr_t)result, -ENOTCONN);
	sim_disconnect(c);
}

static void *read_clock(void *arg)
{
	struct sim_client *c = arg;
	struct sim_clock_sample last = { 0 }, now;
	intptr_t backwards = 0;

	for (int i = 0; i < 200000; i++) {
		sim_now_sample(c, &now);
		backwards += now.clock_generation == last.clock_generation && now.sim_ns < last.sim_ns;
		last = now;
	}
	return (void *)backwards;
}

/* The page is replaced under readers: never torn, never backwards. */
TEST_WITH(clock_readers_never_see_torn_or_earlier_times_while_simd_dies, setup, teardown)
{
	struct sim_client *c = world_client(&w, "sensor", 0);
	pthread_t t[2];
	void *backwards;
	char *json;

	assert_int_equal(sim_call(c, "SetSource", "{\"source\": \"system\"}", &json), 0);
	free(json);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, read_clock, c), 0);
	for (int i = 0; i < 3; i++) {
		world_kill_simd(&w);
		moment_us(5000);
		world_start_simd(&w);
		world_until(&w, c, SIM_CLIENT_CONNECTED);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &backwards);
		assert_int_equal((intptr_t)backwards, 0);
	}
	sim_disconnect(c);
}

/* ---- a wait that another thread ends ---- */

static void *waits(void *arg)
{
	assert_int_equal(sim_wait(arg, -1), 0);
	return NULL;
}

TEST(a_wait_is_cancelled_from_another_thread)
{
	struct sim_subscriber *s;
	struct sim_client *c;
	pthread_t t;

	world_create_threads(&w, "");
	c = world_client(&w, "waits", 0);
	s = imu_subscribe(c, "imu", 0);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(pthread_create(&t, NULL, waits, s), 0);
		sim_wait_cancel(s);
		pthread_join(t, NULL);
	}
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	world_destroy(&w);
}

/* ---- subscribers elsewhere, while our own connect and disconnect ---- */

struct comings {
	struct sim_client *c;
	_Atomic bool over;
};

static void *comes_and_goes(void *arg)
{
	struct comings *g = arg;

	for (int i = 0; i < 200; i++)
		sim_subscriber_destroy(imu_subscribe(g->c, "imu", 0));
	atomic_store(&g->over, true);
	return NULL;
}

TEST(a_local_subscriber_never_hides_one_in_another_process)
{
	struct sim_client *other;
	struct sim_subscriber *theirs;
	struct sim_publisher *p;
	struct comings g = { 0 };
	pthread_t t;

	world_create_threads(&w, "");
	g.c = world_client(&w, "ours", 0);
	other = world_client(&w, "other", 0);
	p = imu_advertise(g.c, "imu", SIM_PUB_LOCAL);
	theirs = imu_subscribe(other, "imu", 0);
	assert_int_equal(pthread_create(&t, NULL, comes_and_goes, &g), 0);
	while (!atomic_load(&g.over))
		assert_true(sim_publisher_subscribers_elsewhere(p) > 0);
	pthread_join(t, NULL);
	AWAIT(sim_publisher_subscribers_elsewhere(p) == 1);
	sim_subscriber_destroy(theirs);
	sim_publisher_destroy(p);
	sim_disconnect(other);
	sim_disconnect(g.c);
	world_destroy(&w);
}
