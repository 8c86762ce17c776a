/* SPDX-License-Identifier: Apache-2.0 */
/* What `simctl record` keeps while the disk is slow: bounded in bytes, and small messages are the last to go. */
#include "support/test.h"

#include <string.h>

#include "mem.h"
#include "simctl/record_backlog.h"

#define KIB   1024u
#define SPARE (256 * KIB) /* what memory of so many pieces costs beside them */

struct channel {
	unsigned lost, released;
};

static struct backlog *b;

static void on_lost(void *owner, const struct sim_message *held)
{
	struct channel *c = owner;

	c->lost++;
	c->released += held != NULL;
}

static int64_t before; /* memory in use, without a backlog */

static int64_t held(void)
{
	struct mem_stats now;

	mem_stats(&now);
	return now.bytes - before;
}

static void begin(size_t bytes)
{
	before = 0;
	before = held();
	assert_int_equal(backlog_create(bytes, on_lost, &b), 0);
}

static void put_as(struct channel *c, uint64_t seq, size_t bytes, bool held)
{
	static uint8_t body[1024 * KIB];
	static struct sim_message m; /* held messages stay */
	const struct recording_moment at = { .mono_ns = (int64_t)seq };

	m = (struct sim_message){ .body = body, .body_size = bytes };
	m.header.sequence = seq;
	body[0] = (uint8_t)seq;
	backlog_put(b, c, &m, held, &at);
}

static void put(struct channel *c, uint64_t seq, size_t bytes)
{
	put_as(c, seq, bytes, false);
}

TEST(without_a_limit_the_backlog_takes_a_share_of_memory)
{
	assert_int_equal(backlog_share(INT64_MAX), BACKLOG_BYTES);
	assert_int_equal(backlog_share(100 << 20), 25 << 20); /* of a container of 300 MB with a camera */
	assert_int_equal(backlog_share(0), BACKLOG_LEAST);
}

TEST(messages_leave_in_order)
{
	struct channel a = { 0 }, c = { 0 };

	begin(0);
	for (unsigned i = 1; i <= 10; i++)
		put(i % 2 ? &a : &c, i, 100 * i);
	for (unsigned i = 1; i <= 10; i++) {
		struct backlog_item *x = backlog_take(b);

		assert_ptr_equal(x->owner, i % 2 ? &a : &c);
		assert_int_equal(x->m.header.sequence, i);
		assert_int_equal(x->at.mono_ns, i);
		assert_int_equal(*(const uint8_t *)x->m.body, i); /* a copy */
		assert_int_equal((uintptr_t)x->m.body % 64, 0);
		backlog_free(x);
	}
	assert_null(backlog_take(b));
	assert_int_equal(a.lost + c.lost, 0);
	backlog_destroy(b);
}

/* A blocked writer: an IMU, and cameras that would fill the memory ten times over. */
TEST(no_small_message_is_lost_before_every_large_one)
{
	struct channel imu = { 0 }, camera = { 0 };
	struct backlog_item *x;
	unsigned small = 0, large = 0;
	uint64_t last = 0;

	begin(4096 * KIB);
	for (unsigned i = 1; i <= 1000; i++) {
		put(&imu, 2 * i, 1 * KIB);
		put(&camera, 2 * i + 1, i % 2 ? 64 * KIB : 500 * KIB);
		assert_true(held() <= 4096 * KIB + SPARE);
	}
	assert_int_equal(imu.lost, 0);
	assert_true(camera.lost >= 950);
	while ((x = backlog_take(b))) {
		assert_true(x->m.header.sequence > last);
		last = x->m.header.sequence;
		*(x->owner == &imu ? &small : &large) += 1;
		backlog_free(x);
	}
	assert_int_equal(small, 1000);
	assert_int_equal(large, 1000 - camera.lost);
	assert_true(last >= 2000);             /* the newest of the large ones are those that stay */
	for (unsigned i = 1; i <= 5000; i++) { /* then the oldest small ones go, and no large one comes in */
		put(&imu, i, 1 * KIB);
		put(&camera, i, 100 * KIB);
	}
	assert_true(imu.lost > 0 && held() <= 4096 * KIB + SPARE);
	while ((x = backlog_take(b))) {
		assert_ptr_equal(x->owner, &imu);
		backlog_free(x);
	}
	backlog_destroy(b);
}

TEST(a_message_larger_than_the_backlog_passes_alone)
{
	struct channel c = { 0 };

	begin(100 * KIB);
	put(&c, 1, 500 * KIB);
	assert_int_equal(c.lost, 0);
	put(&c, 2, 10);
	assert_int_equal(c.lost, 1);
	assert_int_equal(backlog_count(b), 1);
	backlog_destroy(b);
}

TEST(held_messages_are_released_when_dropped)
{
	struct channel a = { 0 }, c = { 0 };

	begin(1000 * KIB);
	put_as(&a, 1, 500 * KIB, true);
	put(&c, 2, 10);
	backlog_drop(b, &a);
	assert_true(a.lost == 1 && a.released == 1 && c.lost == 0);
	put_as(&a, 3, 800 * KIB, true);
	put(&c, 4, 300 * KIB);
	assert_true(a.lost == 2 && a.released == 2);
	assert_int_equal(backlog_count(b), 2);
	backlog_destroy(b);
}
