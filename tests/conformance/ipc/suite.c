/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See suite.h. iceoryx allows a process eleven attachments, so the suite attaches two "processes" once, A and B, and
 * every test uses channels of its own.
 */
#include "tests/support/test.h"

#include "suite.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

static struct fixture {
	struct ipc *a, *b;
} fx;

static struct ipc *attach(const char *app)
{
	struct ipc_options o = { .backend = suite.backend, .app = app, .bus = suite.bus, .timeout_ms = 3600000 };
	struct ipc *ipc = NULL;
	int r = ipc_attach(&o, &ipc);

	if (r < 0)
		print_error("attach %s: %d %s\n", app, r, ipc_why());
	assert_int_equal(r, 0);
	return ipc;
}

static struct ipc_pub *mkpub(const char *channel, uint32_t history)
{
	struct ipc_pub *p = NULL;
	struct ipc_pub_options o = { .history = history };
	int r = ipc_pub_create(fx.a, channel, &o, &p);

	if (r < 0)
		print_error("publisher %s: %d %s\n", channel, r, ipc_why());
	assert_int_equal(r, 0);
	return p;
}

static struct ipc_sub *mksub(const char *channel, uint32_t depth, bool history)
{
	struct ipc_sub *s = NULL;
	struct ipc_sub_options o = { .depth = depth, .history = history };
	int r = ipc_sub_create(fx.b, channel, &o, &s);

	if (r < 0)
		print_error("subscriber %s: %d %s\n", channel, r, ipc_why());
	assert_int_equal(r, 0);
	return s;
}

/* RouDi needs a moment for a connection; only the test program's time limit bounds the wait. */
static void connected(struct ipc_pub *p)
{
	AWAIT(ipc_pub_has_subscribers(p));
}

static void send_text(struct ipc_pub *p, const char *text)
{
	void *slot;

	assert_int_equal(ipc_loan(p, 100, &slot), 0);
	snprintf(slot, 100, "%s", text);
	assert_int_equal(ipc_publish(p, slot), 0);
}

static const char *take(struct ipc_sub *s)
{
	const void *slot = NULL;

	assert_int_equal(ipc_take(s, &slot, &(size_t){ 0 }), 0);
	return slot;
}

static void expect_text(struct ipc_sub *s, const char *text)
{
	const char *slot = take(s);

	assert_string_equal(slot, text);
	assert_int_equal(ipc_release(s, slot), 0);
}

TEST(messages_arrive_in_order)
{
	struct ipc_pub *p = mkpub("order", 0);
	struct ipc_sub *s = mksub("order", 8, false);
	const void *slot;

	connected(p);
	assert_int_equal(ipc_take(s, &slot, &(size_t){ 0 }), -EAGAIN);
	assert_false(ipc_sub_has_data(s));
	send_text(p, "one");
	send_text(p, "two");
	assert_true(ipc_sub_has_data(s));
	expect_text(s, "one");
	expect_text(s, "two");
	assert_int_equal(ipc_take(s, &slot, &(size_t){ 0 }), -EAGAIN);
	assert_false(ipc_sub_lost(s));
	ipc_pub_destroy(p);
	ipc_sub_destroy(s);
}

/* Each slot names the port that published it, whatever its publisher has written into it. */
TEST(a_slot_names_the_port_that_published_it)
{
	struct ipc_pub *p = mkpub("origin", 0), *q = mkpub("origin", 0);
	struct ipc_sub *s = mksub("origin", 8, false);
	const void *slot;

	connected(p);
	connected(q);
	assert_int_not_equal(ipc_pub_origin(p), ipc_pub_origin(q));
	send_text(p, "p");
	send_text(q, "q");
	slot = take(s);
	assert_int_not_equal(ipc_slot_origin(s, slot), 0);
	assert_int_equal(ipc_slot_origin(s, slot), ipc_pub_origin(p));
	assert_int_equal(ipc_release(s, slot), 0);
	slot = take(s);
	assert_int_equal(ipc_slot_origin(s, slot), ipc_pub_origin(q));
	assert_int_equal(ipc_slot_origin(s, &slot), 0); /* not in the segment */
	assert_int_equal(ipc_slot_origin(NULL, slot), 0);
	assert_int_equal(ipc_release(s, slot), 0);
	ipc_pub_destroy(p);
	ipc_pub_destroy(q);
	ipc_sub_destroy(s);
}

TEST(slots_are_aligned_and_shared)
{
	struct ipc_pub *p = mkpub("share", 0);
	struct ipc_sub *s = mksub("share", 8, false), *t = mksub("share", 8, false);
	const char *x, *y;

	connected(p);
	send_text(p, "both");
	while (!ipc_sub_has_data(s) || !ipc_sub_has_data(t)) { /* the second connection may come later */
		send_text(p, "both");
		pace_us(1000);
	}
	x = take(s);
	y = take(t);
	assert_int_equal((uintptr_t)x % IPC_ALIGN, 0);
	assert_int_equal((uintptr_t)y % IPC_ALIGN, 0);
	assert_string_equal(x, "both");
	assert_string_equal(y, "both");
	assert_int_equal(ipc_release(s, x), 0);
	assert_string_equal(y, "both");
	assert_int_equal(ipc_release(t, y), 0);
	ipc_sub_destroy(s);
	ipc_sub_destroy(t);
	ipc_pub_destroy(p);
}

TEST(a_full_queue_drops_the_oldest_message)
{
	struct ipc_pub *p = mkpub("drop", 0);
	struct ipc_sub *s = mksub("drop", 2, false);

	connected(p);
	send_text(p, "1");
	send_text(p, "2");
	send_text(p, "3");
	assert_true(ipc_sub_lost(s));
	assert_false(ipc_sub_lost(s));
	expect_text(s, "2");
	expect_text(s, "3");
	ipc_sub_destroy(s);
	ipc_pub_destroy(p);
}

TEST(late_subscribers_get_the_history)
{
	struct ipc_pub *p = mkpub("late", 1);
	struct ipc_sub *s, *t;
	const void *slot;

	send_text(p, "old");
	send_text(p, "kept");
	s = mksub("late", 4, true);
	t = mksub("late", 4, false);
	AWAIT(ipc_sub_has_data(s));
	expect_text(s, "kept");
	assert_int_equal(ipc_take(s, &slot, &(size_t){ 0 }), -EAGAIN);
	assert_int_equal(ipc_take(t, &slot, &(size_t){ 0 }), -EAGAIN);
	ipc_sub_destroy(s);
	ipc_sub_destroy(t);
	ipc_pub_destroy(p);
}

TEST(names_are_checked)
{
	static const char *const bad[] = { "", "a,b", "with space", "\xc3\xa4", "a:b", NULL };
	char name[128];
	struct ipc_pub *p = NULL;
	struct ipc_sub *s = NULL;
	struct ipc_options o = { .backend = suite.backend, .app = "a,b", .bus = suite.bus };
	struct ipc *ipc = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(ipc_pub_create(fx.a, bad[i], NULL, &p), -EINVAL);
		assert_int_equal(ipc_sub_create(fx.a, bad[i], &(struct ipc_sub_options){ .depth = 1 }, &s), -EINVAL);
		assert_true(strlen(ipc_why()) > 20);
	}
	memset(name, 'x', sizeof(name));
	name[100] = '\0';
	assert_int_equal(ipc_pub_create(fx.a, name, NULL, &p), -EINVAL);
	name[99] = '\0';
	assert_int_equal(ipc_pub_create(fx.a, name, NULL, &p), 0);
	ipc_pub_destroy(p);
	assert_int_equal(ipc_attach(&o, &ipc), -EINVAL);
	name[99] = 'x';
	name[81] = '\0';
	o.app = name;
	assert_int_equal(ipc_attach(&o, &ipc), -EINVAL);
	o.app = "a/b";
	assert_int_equal(ipc_attach(&o, &ipc), -EINVAL);
	assert_null(ipc);
}

TEST(bad_options_are_refused)
{
	struct ipc_pub *p = NULL;
	struct ipc_sub *s = NULL;
	struct ipc *ipc = NULL;
	struct ipc_options o = { .backend = "tcp", .app = "x" };

	assert_int_equal(ipc_pub_create(fx.a, "c", &(struct ipc_pub_options){ .history = 2 }, &p), -EINVAL);
	assert_int_equal(ipc_sub_create(fx.a, "c", &(struct ipc_sub_options){ .depth = 0 }, &s), -EINVAL);
	assert_int_equal(ipc_sub_create(fx.a, "c", &(struct ipc_sub_options){ .depth = 257 }, &s), -EINVAL);
	assert_int_equal(ipc_attach(&o, &ipc), -EINVAL);
	assert_int_equal(ipc_attach(NULL, &ipc), -EINVAL);
	assert_int_equal(ipc_loan(NULL, 1, (void **)&p), -EINVAL);
	assert_int_equal(ipc_take(NULL, (const void **)&p, &(size_t){ 0 }), -EINVAL);
	ipc_detach(NULL);
	ipc_pub_destroy(NULL);
	ipc_sub_destroy(NULL);
	ipc_waiter_destroy(NULL);
}

TEST(a_second_attachment_of_a_name_is_refused)
{
	struct ipc_options o = { .backend = suite.backend, .app = "conf-a", .bus = suite.bus };
	struct ipc *ipc = NULL;

	assert_int_equal(ipc_attach(&o, &ipc), -EEXIST);
	assert_null(ipc);
	assert_non_null(strstr(ipc_why(), "name"));
}

TEST(loans_are_limited)
{
	struct ipc_pub *p = mkpub("loans", 0);
	void *slot[IPC_LOANS_MAX + 1];

	assert_int_equal(ipc_loan(p, suite.too_large, &slot[0]), -EMSGSIZE);
	for (int i = 0; i < IPC_LOANS_MAX; i++)
		assert_int_equal(ipc_loan(p, 100, &slot[i]), 0);
	assert_int_equal(ipc_loan(p, 100, &slot[IPC_LOANS_MAX]), -ENOBUFS);
	for (int i = 0; i < IPC_LOANS_MAX; i++)
		assert_int_equal(ipc_unloan(p, slot[i]), 0);
	assert_int_equal(ipc_unloan(p, slot[0]), -EINVAL);
	assert_int_equal(ipc_loan(p, 0, &slot[0]), 0);
	ipc_pub_destroy(p); /* with a loan outstanding */
}

TEST(foreign_slots_are_refused)
{
	struct ipc_pub *p = mkpub("foreign", 0), *q = mkpub("foreign", 0);
	struct ipc_sub *s = mksub("foreign", 4, false);
	char heap[256];
	void *slot;
	const void *taken;

	connected(p);
	assert_int_equal(ipc_publish(p, heap), -EINVAL);
	assert_int_equal(ipc_publish(p, NULL), -EINVAL);
	assert_int_equal(ipc_loan(p, 64, &slot), 0);
	assert_int_equal(ipc_publish(q, slot), -EINVAL);
	assert_int_equal(ipc_publish(p, slot), 0);
	assert_int_equal(ipc_publish(p, slot), -EINVAL);
	taken = take(s);
	assert_int_equal(ipc_publish(p, (void *)(uintptr_t)taken), -EINVAL);
	assert_int_equal(ipc_unloan(p, (void *)(uintptr_t)taken), -EINVAL);
	assert_int_equal(ipc_release(s, heap), -EINVAL);
	assert_int_equal(ipc_release(s, taken), 0);
	assert_int_equal(ipc_release(s, taken), -EINVAL);
	ipc_sub_destroy(s);
	ipc_pub_destroy(p);
	ipc_pub_destroy(q);
}

TEST(a_subscriber_may_hold_as_many_slots_as_the_deepest_queue)
{
	struct ipc_pub *p = mkpub("hold", 0);
	struct ipc_sub *s = mksub("hold", 4, false);
	const void *held[IPC_DEPTH_MAX], *slot;

	connected(p);
	for (int i = 0; i < IPC_DEPTH_MAX; i++) {
		send_text(p, "x");
		held[i] = take(s);
	}
	send_text(p, "last");
	assert_int_equal(ipc_take(s, &slot, &(size_t){ 0 }), -ENOBUFS);
	assert_int_equal(ipc_release(s, held[7]), 0);
	held[7] = take(s);
	assert_string_equal(held[7], "last");
	for (int i = IPC_DEPTH_MAX; i-- > 0;)
		assert_int_equal(ipc_release(s, held[i]), 0);
	ipc_sub_destroy(s);
	ipc_pub_destroy(p);
}

TEST(an_empty_pool_is_reported)
{
	struct ipc_pub *p[600];
	size_t n = 0, got = 0;
	void *slot;
	int r = 0;

	while (r == 0 && got <= suite.small_pool_slots) {
		if (got % IPC_LOANS_MAX == 0)
			p[n++] = mkpub("empty", 0);
		r = ipc_loan(p[n - 1], 100, &slot);
		got += r == 0;
	}
	assert_int_equal(r, -ENOMEM);
	assert_non_null(strstr(ipc_why(), "pool"));
	while (n)
		ipc_pub_destroy(p[--n]);
}

TEST(held_slots_outlive_their_subscriber)
{
	struct ipc_pub *p = mkpub("zombie", 0);
	struct ipc_sub *s = mksub("zombie", 4, false);
	const char *x;

	connected(p);
	send_text(p, "still here");
	x = take(s);
	ipc_sub_destroy(s);
	ipc_pub_destroy(p);
	assert_string_equal(x, "still here");
	assert_int_equal(ipc_release(s, x), 0);
}

TEST(a_message_wakes_a_waiter)
{
	struct ipc_pub *p = mkpub("wait", 0);
	struct ipc_sub *s = mksub("wait", 4, false), *t = mksub("wait2", 4, false);
	struct ipc_waiter *w = NULL, *v = NULL;

	connected(p);
	assert_int_equal(ipc_waiter_create(fx.b, &w), 0);
	assert_int_equal(ipc_waiter_create(fx.b, &v), 0);
	send_text(p, "before");
	assert_int_equal(ipc_waiter_add(w, s), 0);
	assert_int_equal(ipc_waiter_add(w, t), 0);
	assert_int_equal(ipc_waiter_add(v, s), -EEXIST);
	assert_int_equal(ipc_waiter_wait(w, 1000000000), 1);
	expect_text(s, "before");
	assert_int_equal(ipc_waiter_wait(w, 0), 0);
	assert_int_equal(ipc_waiter_wait(w, 1000000), 0);
	send_text(p, "after");
	assert_int_equal(ipc_waiter_wait(w, 1000000000), 1);
	expect_text(s, "after");
	ipc_waiter_wake(w);
	assert_int_equal(ipc_waiter_wait(w, 10000000000), 0);
	ipc_waiter_del(w, s);
	send_text(p, "unseen");
	assert_int_equal(ipc_waiter_wait(w, 0), 0);
	ipc_sub_destroy(s);
	ipc_waiter_destroy(w);
	ipc_waiter_destroy(v);
	ipc_sub_destroy(t);
	ipc_pub_destroy(p);
}

struct ping {
	struct ipc_pub *pub;
	struct ipc_sub *sub;
	struct ipc_waiter *waiter;
	unsigned int rounds;
};

static void *echo(void *arg)
{
	struct ping *e = arg;
	const void *in;
	void *out;

	for (unsigned int n = 0; n < e->rounds;) {
		if (ipc_waiter_wait(e->waiter, -1) < 0)
			break;
		while (ipc_take(e->sub, &in, &(size_t){ 0 }) == 0) {
			if (ipc_loan(e->pub, 100, &out) == 0) {
				memcpy(out, in, 100);
				ipc_publish(e->pub, out);
			}
			ipc_release(e->sub, in);
			n++;
		}
	}
	return NULL;
}

TEST(two_threads_exchange_messages)
{
	struct ping a = { mkpub("ping", 0), mksub("pong", 8, false), NULL, 500 };
	struct ping b = { mkpub("pong", 0), mksub("ping", 8, false), NULL, 500 };
	pthread_t t;
	char text[32];

	connected(a.pub);
	connected(b.pub);
	assert_int_equal(ipc_waiter_create(fx.b, &a.waiter), 0);
	assert_int_equal(ipc_waiter_create(fx.b, &b.waiter), 0);
	assert_int_equal(ipc_waiter_add(a.waiter, a.sub), 0);
	assert_int_equal(ipc_waiter_add(b.waiter, b.sub), 0);
	pthread_create(&t, NULL, echo, &b);
	for (unsigned int i = 0; i < a.rounds; i++) {
		snprintf(text, sizeof(text), "%u", i);
		send_text(a.pub, text);
		while (!ipc_sub_has_data(a.sub))
			ipc_waiter_wait(a.waiter, 1000000000);
		expect_text(a.sub, text);
	}
	pthread_join(t, NULL);
	ipc_sub_destroy(a.sub);
	ipc_sub_destroy(b.sub);
	ipc_waiter_destroy(a.waiter);
	ipc_waiter_destroy(b.waiter);
	ipc_pub_destroy(a.pub);
	ipc_pub_destroy(b.pub);
}

struct hammer {
	struct ipc_pub *pub;
	unsigned int ok, busy, other;
};

static void *hammer(void *arg)
{
	struct hammer *h = arg;
	void *slot;

	for (int i = 0; i < 20000; i++) {
		int r = ipc_loan(h->pub, 64, &slot);

		while (r == 0) {
			int q = ipc_publish(h->pub, slot);

			if (q == 0)
				break;
			h->busy += q == -EBUSY;
			h->other += q != -EBUSY;
			if (q != -EBUSY)
				break;
		}
		h->ok += r == 0;
		h->busy += r == -EBUSY;
		h->other += r < 0 && r != -EBUSY;
	}
	return NULL;
}

/* Two threads on one publisher abort iceoryx within a second; here each call either works or says -EBUSY. */
TEST(a_publisher_refuses_a_second_thread)
{
	struct ipc_pub *p = mkpub("two", 0);
	struct hammer h[2] = { { .pub = p }, { .pub = p } };
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, hammer, &h[i]);
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(h[i].other, 0);
	}
	assert_true(h[0].ok + h[1].ok > 0);
	ipc_pub_destroy(p);
}

TEST(references_cross_attachments)
{
	struct ipc_pub *p = mkpub("ref", 0);
	struct ipc_sub *s = mksub("ref", 4, false);
	const void *slot, *back;
	int64_t ref;

	connected(p);
	send_text(p, "far away");
	slot = take(s);
	assert_int_equal(ipc_export(fx.b, slot, &ref), -ENOENT);
	assert_int_equal(ipc_beacon_create(fx.b), 0);
	assert_int_equal(ipc_beacon_create(fx.b), 0);
	assert_int_equal(ipc_beacon_hold(fx.a), 0);
	assert_int_equal(ipc_beacon_hold(fx.a), 0);
	assert_true(ipc_beacon_id(fx.a) != 0);
	assert_true(ipc_beacon_id(fx.a) == ipc_beacon_id(fx.b));
	assert_int_equal(ipc_export(fx.b, slot, &ref), 0);
	assert_int_equal(ipc_import(fx.a, ref, 100, &back), 0);
	assert_string_equal(back, "far away");
	assert_int_equal(ipc_export(fx.b, &ref, &ref), -EINVAL);
	assert_int_equal(ipc_import(fx.a, -64, 1, &back), -EFAULT);
	assert_int_equal(ipc_import(fx.a, ref + 1, 1, &back), -EFAULT);
	assert_int_equal(ipc_import(fx.a, ref, SIZE_MAX, &back), -EFAULT);
	assert_int_equal(ipc_import(fx.a, INT64_MAX - 63, 100, &back), -EFAULT);
	assert_int_equal(ipc_release(s, slot), 0);
	ipc_sub_destroy(s);
	ipc_pub_destroy(p);
}

TEST(a_fork_does_no_harm)
{
	struct ipc_pub *p = mkpub("fork", 0);
	struct ipc_sub *s = mksub("fork", 4, false);
	void *slot;
	pid_t child;
	int st;

	connected(p);
	assert_int_equal(ipc_loan(p, 100, &slot), 0);
	child = fork();
	if (child == 0) {
		void *x;
		const void *y;
		bool ok = ipc_loan(p, 1, &x) == -EPERM && ipc_publish(p, slot) == -EPERM &&
			  ipc_take(s, &y, &(size_t){ 0 }) == -EPERM;

		ok = ok && strstr(ipc_why(), "fork");
		ipc_pub_destroy(p);
		ipc_sub_destroy(s);
		ipc_detach(fx.a);
		ipc_detach(fx.b);
		exit(ok ? 42 : 1); /* with all exit handlers */
	}
	assert_int_equal(waitpid(child, &st, 0), child);
	assert_true(WIFEXITED(st));
	assert_int_equal(WEXITSTATUS(st), 42);
	snprintf(slot, 100, "alive");
	assert_int_equal(ipc_publish(p, slot), 0);
	expect_text(s, "alive");
	ipc_pub_destroy(p);
	ipc_sub_destroy(s);
	p = mkpub("fork2", 0); /* RouDi still knows us */
	ipc_pub_destroy(p);
}

TEST(pool_usage_is_reported)
{
	struct ipc_pool pool[32];
	int n;

	AWAIT((n = ipc_pools(fx.a, pool, 32)) != -EAGAIN);
	assert_true(n >= 1);
	assert_int_equal(pool[0].total, suite.small_pool_slots);
	assert_true(suite.too_large > pool[n - 1].size - 64);
	assert_int_equal(ipc_prefault(fx.a, 0, 0), 0);
}

TEST(a_process_may_detach_and_attach_again)
{
	struct ipc *c = attach("conf-c");
	struct ipc_pub *p = NULL;
	void *slot;

	assert_int_equal(ipc_pub_create(c, "again", NULL, &p), 0);
	assert_true(ipc_alive(c));
	ipc_detach(c);
	assert_int_equal(ipc_loan(p, 1, &slot), -ESTALE);
	ipc_pub_destroy(p);
	for (int i = 0; i < 20; i++) { /* more often than a process has attachments */
		c = attach("conf-c");
		assert_int_equal(ipc_pub_create(c, "again", NULL, &p), 0);
		ipc_pub_destroy(p);
		ipc_detach(c);
	}
}

/* Last: ends attachment A. */
TEST(an_abandoned_attachment_can_be_detached)
{
	struct ipc_pub *p = mkpub("end", 0), *q = NULL;
	struct ipc_sub *s = NULL, *t = NULL;
	struct ipc_waiter *w = NULL;
	const void *slot;
	void *loan;

	assert_int_equal(ipc_sub_create(fx.a, "end", &(struct ipc_sub_options){ .depth = 2 }, &s), 0);
	connected(p);
	assert_int_equal(ipc_waiter_create(fx.a, &w), 0);
	assert_int_equal(ipc_waiter_add(w, s), 0);
	send_text(p, "held over");
	slot = take(s);
	ipc_abandon(fx.a);
	assert_false(ipc_alive(fx.a));
	assert_int_equal(ipc_waiter_wait(w, -1), -ESTALE);
	assert_int_equal(ipc_loan(p, 1, &loan), -ESTALE);
	assert_int_equal(ipc_take(s, &slot, &(size_t){ 0 }), -ESTALE);
	assert_int_equal(ipc_pub_create(fx.a, "end", NULL, &q), -ESTALE);
	assert_int_equal(ipc_sub_create(fx.a, "end", &(struct ipc_sub_options){ .depth = 2 }, &t), -ESTALE);
	assert_non_null(strstr(ipc_why(), "attach again"));
	assert_string_equal(slot, "held over");
	assert_int_equal(ipc_release(s, slot), 0);
	ipc_waiter_destroy(w);
	ipc_sub_destroy(s);
	ipc_detach(fx.a);
	ipc_pub_destroy(p); /* after detach */
	fx.a = attach("conf-a");
	p = mkpub("end", 0);
	ipc_pub_destroy(p);
}

static int setup(void **state)
{
	(void)state;
	if (suite_open() < 0)
		return -1;
	fx.a = attach("conf-a");
	fx.b = attach("conf-b");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ipc_detach(fx.a);
	ipc_detach(fx.b);
	suite_close();
	return 0;
}

TEST_GROUP(setup, teardown)
