/* SPDX-License-Identifier: Apache-2.0 */
/* ipc_mem beyond the contract: processes that vanish, RouDi that dies or stops, virtual time, several buses. */
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>

#include "ipc.h"
#include "ipc_mem.h"

static const struct ipc_mem_pool small[] = { { 192, 12 } };

static struct ipc_mem_bus *mkbus(bool virtual_time)
{
	struct ipc_mem_options o = {
		.pools = small, .n_pools = 1, .virtual_time = virtual_time, .max_publishers = 3, .max_subscribers = 3
	};
	struct ipc_mem_bus *bus = NULL;

	assert_int_equal(ipc_mem_bus_create(&o, &bus), 0);
	return bus;
}

static struct ipc *join(struct ipc_mem_bus *bus, const char *app)
{
	struct ipc_options o = { .backend = "mem", .app = app, .bus = bus };
	struct ipc *ipc = NULL;

	assert_int_equal(ipc_attach(&o, &ipc), 0);
	return ipc;
}

static struct ipc_pub *mkpub(struct ipc *ipc, const char *channel)
{
	struct ipc_pub *p = NULL;

	assert_int_equal(ipc_pub_create(ipc, channel, NULL, &p), 0);
	return p;
}

static struct ipc_sub *mksub(struct ipc *ipc, const char *channel, uint32_t depth)
{
	struct ipc_sub *s = NULL;

	assert_int_equal(ipc_sub_create(ipc, channel, &(struct ipc_sub_options){ .depth = depth }, &s), 0);
	return s;
}

static void post(struct ipc_pub *p, int n)
{
	void *slot;

	assert_int_equal(ipc_loan(p, sizeof(n), &slot), 0);
	memcpy(slot, &n, sizeof(n));
	assert_int_equal(ipc_publish(p, slot), 0);
}

TEST(a_killed_process_keeps_its_ports)
{
	struct ipc_mem_bus *bus = mkbus(true);
	struct ipc *a = join(bus, "a"), *b = join(bus, "b");
	struct ipc_pub *p = mkpub(a, "c"), *q = mkpub(b, "d");
	struct ipc_sub *s = mksub(b, "c", 4);
	const void *held;
	void *slot;

	post(p, 1);
	assert_int_equal(ipc_take(s, &held, &(size_t){ 0 }), 0);
	assert_int_equal(ipc_loan(q, 8, &slot), 0);
	assert_int_equal(ipc_mem_slots_used(bus), 2);
	ipc_mem_kill(b);
	assert_int_equal(ipc_loan(q, 8, &slot), -ESTALE);
	assert_int_equal(ipc_take(s, &held, &(size_t){ 0 }), -ESTALE);
	for (int i = 0; i < 9; i++) /* its queue goes on filling: 4 there, 2 held */
		post(p, i);
	assert_int_equal(ipc_mem_slots_used(bus), 6);
	assert_int_equal(ipc_mem_ports_used(bus), 3);
	assert_true(ipc_pub_has_subscribers(p));
	ipc_pub_destroy(q);
	ipc_sub_destroy(s);
	ipc_detach(b); /* frees the objects of the "process", nothing on the bus */
	assert_int_equal(ipc_mem_slots_used(bus), 6);
	assert_int_equal(ipc_free_peer(a, "a"), -EBUSY);
	assert_int_equal(ipc_free_peer(a, "b"), 0);
	assert_int_equal(ipc_free_peer(a, "b"), 0);
	assert_int_equal(ipc_mem_slots_used(bus), 0);
	assert_int_equal(ipc_mem_ports_used(bus), 1);
	assert_false(ipc_pub_has_subscribers(p));
	ipc_pub_destroy(p);
	ipc_detach(a);
	ipc_mem_bus_destroy(bus);
}

TEST(a_killed_process_may_attach_again_under_its_name)
{
	struct ipc_mem_bus *bus = mkbus(true);
	struct ipc *a = join(bus, "a"), *again;
	struct ipc_pub *p = mkpub(a, "c");
	void *slot;

	assert_int_equal(ipc_loan(p, 8, &slot), 0);
	ipc_mem_kill(a);
	again = join(bus, "a");
	assert_int_equal(ipc_mem_slots_used(bus), 0);
	assert_int_equal(ipc_mem_ports_used(bus), 0);
	ipc_pub_destroy(p); /* the dead one's handles may go afterwards */
	ipc_detach(a);
	ipc_detach(again);
	ipc_mem_bus_destroy(bus);
}

TEST(a_dead_roudi_is_seen)
{
	struct ipc_mem_bus *bus = mkbus(true);
	struct ipc_options o = { .backend = "mem", .app = "late", .bus = bus };
	struct ipc *a = join(bus, "a"), *b, *late = NULL;
	struct ipc_pub *p = mkpub(a, "c");
	struct ipc_sub *s = mksub(a, "c", 4), *t;
	const int *held;

	post(p, 7);
	assert_int_equal(ipc_take(s, (const void **)&held, &(size_t){ 0 }), 0);
	ipc_mem_roudi_kill(bus);
	ipc_mem_roudi_kill(bus);
	assert_false(ipc_alive(a));
	assert_int_equal(ipc_attach(&o, &late), -ENOENT);
	assert_int_equal(*held, 7);
	assert_int_equal(ipc_mem_roudi_start(bus), 0);
	assert_int_equal(ipc_mem_roudi_start(bus), -EEXIST);
	b = join(bus, "a"); /* the same name in the new life */
	t = mksub(b, "c", 4);
	assert_int_equal(*held, 7); /* still readable */
	assert_int_equal(ipc_release(s, held), 0);
	ipc_pub_destroy(p);
	ipc_sub_destroy(s);
	ipc_detach(a);
	p = mkpub(b, "c");
	post(p, 8);
	assert_int_equal(ipc_take(t, (const void **)&held, &(size_t){ 0 }), 0);
	assert_int_equal(*held, 8);
	ipc_pub_destroy(p);
	ipc_sub_destroy(t);
	ipc_detach(b); /* with a slot held: it dies with the attachment */
	assert_int_equal(ipc_mem_slots_used(bus), 0);
	ipc_mem_bus_destroy(bus);
}

TEST(a_stopped_roudi_is_seen)
{
	struct ipc_mem_bus *bus = mkbus(true);
	struct ipc_options o = { .backend = "mem", .app = "late", .bus = bus };
	struct ipc *a = join(bus, "a"), *b = join(bus, "b"), *late = NULL;
	struct ipc_pub *p = mkpub(a, "c"), *q = NULL;

	ipc_mem_roudi_stop(bus, true);
	post(p, 1); /* the data path goes on */
	assert_int_equal(ipc_attach(&o, &late), -ETIMEDOUT);
	assert_int_equal(ipc_pub_create(a, "d", NULL, &q), -ETIMEDOUT);
	assert_false(ipc_alive(a)); /* an unanswered request ends the attachment */
	assert_true(ipc_alive(b));
	ipc_mem_roudi_stop(bus, false);
	assert_int_equal(ipc_pub_create(b, "d", NULL, &q), 0);
	assert_int_equal(ipc_attach(&o, &late), 0);
	ipc_detach(late);
	ipc_pub_destroy(p);
	ipc_pub_destroy(q);
	ipc_detach(a);
	ipc_detach(b);
	ipc_mem_bus_destroy(bus);
}

TEST(ports_are_limited)
{
	struct ipc_mem_bus *bus = mkbus(true);
	struct ipc *a = join(bus, "a");
	struct ipc_pub *p[3], *more = NULL;
	struct ipc_sub *s[3], *more_sub = NULL;

	for (int i = 0; i < 3; i++) {
		p[i] = mkpub(a, "c");
		s[i] = mksub(a, "c", 1);
	}
	assert_int_equal(ipc_pub_create(a, "c", NULL, &more), -EMFILE);
	assert_int_equal(ipc_sub_create(a, "c", &(struct ipc_sub_options){ .depth = 1 }, &more_sub), -EMFILE);
	for (int i = 0; i < 3; i++) {
		ipc_pub_destroy(p[i]);
		ipc_sub_destroy(s[i]);
	}
	assert_int_equal(ipc_mem_ports_used(bus), 0);
	ipc_detach(a);
	ipc_mem_bus_destroy(bus);
}

TEST(in_virtual_time_nothing_waits)
{
	struct ipc_mem_bus *bus = mkbus(true);
	struct ipc *a = join(bus, "a");
	struct ipc_pub *p = mkpub(a, "c");
	struct ipc_sub *s = mksub(a, "c", 4);
	struct ipc_waiter *w = NULL;
	const void *slot;

	assert_int_equal(ipc_waiter_create(a, &w), 0);
	assert_int_equal(ipc_waiter_add(w, s), 0);
	assert_int_equal(ipc_waiter_wait(w, -1), 0);
	assert_int_equal(ipc_waiter_wait(w, INT64_MAX), 0);
	post(p, 1);
	assert_int_equal(ipc_waiter_wait(w, -1), 1);
	assert_int_equal(ipc_take(s, &slot, &(size_t){ 0 }), 0);
	assert_int_equal(ipc_beacon_hold(a), -ENOENT);
	ipc_detach(a);
	assert_int_equal(ipc_waiter_wait(w, -1), -ESTALE);
	ipc_waiter_destroy(w);
	ipc_sub_destroy(s);
	ipc_pub_destroy(p);
	ipc_mem_bus_destroy(bus);
}

TEST(buses_are_independent)
{
	struct ipc_mem_bus *x = mkbus(true), *y = mkbus(true);
	struct ipc *a = join(x, "same"), *b = join(y, "same");
	struct ipc_pub *p = mkpub(a, "c");
	struct ipc_sub *s = mksub(b, "c", 4);
	const void *slot;

	post(p, 1);
	assert_int_equal(ipc_take(s, &slot, &(size_t){ 0 }), -EAGAIN);
	ipc_pub_destroy(p);
	ipc_sub_destroy(s);
	ipc_detach(a);
	ipc_mem_bus_destroy(x);
	ipc_mem_bus_destroy(y); /* before its last ipc */
	ipc_detach(b);
}

static void *wait_for_ever(void *arg)
{
	return (void *)(intptr_t)ipc_waiter_wait(arg, -1);
}

/* Waiting threads return when their generation ends, by abandon, by RouDi's death, or by detach. */
TEST(the_end_of_a_generation_wakes_waiting_threads)
{
	for (int how = 0; how < 3; how++) {
		struct ipc_mem_bus *bus = mkbus(false);
		struct ipc *a = join(bus, "a");
		struct ipc_waiter *w = NULL;
		pthread_t t;
		void *r;

		(void)state;
		assert_int_equal(ipc_waiter_create(a, &w), 0);
		pthread_create(&t, NULL, wait_for_ever, w);
		if (how == 0)
			ipc_abandon(a);
		else if (how == 1)
			ipc_mem_roudi_kill(bus);
		else
			ipc_detach(a);
		pthread_join(t, &r);
		assert_int_equal((int)(intptr_t)r, -ESTALE);
		if (how != 2)
			ipc_detach(a);
		ipc_waiter_destroy(w);
		ipc_mem_bus_destroy(bus);
	}
}

struct feed {
	struct ipc_pub *pub;
	int n;
};

static void *feed(void *arg)
{
	struct feed *f = arg;
	void *slot;

	for (int i = 0; i < f->n; i++) {
		while (ipc_loan(f->pub, sizeof(i), &slot) < 0)
			;
		memcpy(slot, &i, sizeof(i));
		ipc_publish(f->pub, slot);
	}
	return NULL;
}

/* Two publishers on threads of their own, one subscriber: each one's messages stay in order. */
TEST(threads_share_a_bus)
{
	struct ipc_mem_bus *bus = mkbus(false);
	struct ipc *a = join(bus, "a");
	struct feed f[2] = { { mkpub(a, "x"), 3000 }, { mkpub(a, "y"), 3000 } };
	struct ipc_sub *s[2] = { mksub(a, "x", 2), mksub(a, "y", 2) };
	struct ipc_waiter *w = NULL;
	int last[2] = { -1, -1 };
	pthread_t t[2];

	assert_int_equal(ipc_waiter_create(a, &w), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ipc_waiter_add(w, s[i]), 0);
		pthread_create(&t[i], NULL, feed, &f[i]);
	}
	while (last[0] < 2999 || last[1] < 2999) {
		const int *slot;

		assert_true(ipc_waiter_wait(w, 1000000000) >= 0);
		for (int i = 0; i < 2; i++) {
			while (ipc_take(s[i], (const void **)&slot, &(size_t){ 0 }) == 0) {
				assert_true(*slot > last[i]);
				last[i] = *slot;
				assert_int_equal(ipc_release(s[i], slot), 0);
			}
		}
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		ipc_pub_destroy(f[i].pub);
		ipc_sub_destroy(s[i]);
	}
	ipc_waiter_destroy(w);
	ipc_detach(a);
	assert_int_equal(ipc_mem_slots_used(bus), 0);
	ipc_mem_bus_destroy(bus);
}

TEST(bad_pools_are_refused)
{
	const struct ipc_mem_pool odd[] = { { 100, 1 } }, unordered[] = { { 128, 1 }, { 64, 1 } };
	struct ipc_mem_options o = { .pools = odd, .n_pools = 1 };
	struct ipc_mem_bus *bus = NULL;

	assert_int_equal(ipc_mem_bus_create(&o, &bus), -EINVAL);
	o = (struct ipc_mem_options){ .pools = unordered, .n_pools = 2 };
	assert_int_equal(ipc_mem_bus_create(&o, &bus), -EINVAL);
	assert_null(bus);
	ipc_mem_bus_destroy(NULL);
}
