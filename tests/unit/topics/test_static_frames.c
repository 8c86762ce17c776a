/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed frames: all of them in each message, the newest of each; and a publisher that writes over its message meanwhile. */
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <sim/msg/Transforms.h>

#include "static_frames.h"

#define ROUNDS 1000000

static _Alignas(64) uint8_t body[4096];

static struct map_message message(const char *parent, const char *child, double x)
{
	struct sim_builder b;
	struct sim_Transforms *m = sim_Transforms_init(body, sizeof(body), &b);
	struct sim_Transform *t = sim_Transforms_transforms_alloc(&b, 1);

	assert_non_null(m);
	assert_non_null(t);
	t->translation.x = x;
	assert_int_equal(sim_Transform_parent_frame_set_in(&b, t, parent), 0);
	assert_int_equal(sim_Transform_child_frame_set_in(&b, t, child), 0);
	return (struct map_message){ .body = body, .size = sim_builder_size(&b) };
}

TEST(each_message_has_all_frames_so_far)
{
	struct static_frames *t;
	struct map_message in;
	const struct sim_Transform *f;
	uint32_t n;

	assert_int_equal(static_frames_create(&t), 0);
	for (int i = 0; i < 3; i++) {
		in = message("base", i == 1 ? "right" : "left", i);
		assert_int_equal(static_frames_lock_and_add(t, &in), 0);
		static_frames_unlock(t);
	}
	f = sim_Transforms_transforms(in.body, in.size, &n);
	assert_int_equal(n, 2);
	assert_string_equal(sim_Transform_child_frame_in(in.body, in.size, &f[0]), "left");
	assert_true(f[0].translation.x == 2 && f[1].translation.x == 1);
	static_frames_unref(t);
}

static uint64_t version_after(struct static_frames *t, const char *parent, const char *child, double x)
{
	struct map_message in = message(parent, child, x);
	uint64_t version;

	assert_int_equal(static_frames_lock_and_add(t, &in), 0);
	version = static_frames_version(t);
	static_frames_unlock(t);
	return version;
}

/* By it a topic that keeps its last message knows that a repeated one says nothing new. */
TEST(what_changes_nothing_is_no_new_version)
{
	struct static_frames *t;

	assert_int_equal(static_frames_create(&t), 0);
	assert_int_equal(static_frames_version(t), 0);
	assert_int_equal(version_after(t, "base", "left", 1), 1);
	assert_int_equal(version_after(t, "base", "left", 1), 1);
	assert_int_equal(version_after(t, "base", "right", 1), 2);
	assert_int_equal(version_after(t, "base", "left", 1), 2);
	assert_int_equal(version_after(t, "base", "left", 2), 3);
	assert_int_equal(version_after(t, "roof", "left", 2), 4);
	assert_int_equal(version_after(t, "", "", 0), 5);
	assert_int_equal(version_after(t, "", "", 0), 5);
	assert_ptr_equal(static_frames_ref(t), t);
	static_frames_unref(t);
	assert_int_equal(version_after(t, "roof", "left", 2), 5);
	static_frames_unref(t);
}

static _Atomic bool stop;

/* The end of a name, to and fro. */
static void *scribble(void *arg)
{
	char *end = arg;

	while (!stop)
		__atomic_store_n(end, *end ? '\0' : 'x', __ATOMIC_RELAXED);
	return NULL;
}

TEST(a_frame_name_that_grows_while_it_is_read_does_no_harm)
{
	struct map_message in = message("base", "0123456789", 1);
	char *end = memmem(body, in.size, "0123456789", 11);
	struct static_frames *t;
	pthread_t thread;

	assert_non_null(end);
	end += 10;
	memset(end + 1, 'x', 100);
	assert_int_equal(static_frames_create(&t), 0);
	assert_int_equal(pthread_create(&thread, NULL, scribble, end), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct map_message m = in;

		(void)static_frames_lock_and_add(t, &m);
		static_frames_unlock(t);
	}
	stop = true;
	pthread_join(thread, NULL);
	static_frames_unref(t);
}
