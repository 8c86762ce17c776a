/* SPDX-License-Identifier: Apache-2.0 */
/* section.h: an encoded section decodes to itself, and other bytes are refused. Thread: the test's. */
#include "support/test.h"

#include <errno.h>

#include "mem.h"
#include "random_world.h"

static int64_t blocks_before;

static int begin(void **state)
{
	struct mem_stats m;

	(void)state;
	mem_stats(&m);
	blocks_before = m.blocks;
	return 0;
}

static int end(void **state)
{
	struct mem_stats m;

	(void)state;
	mem_stats(&m);
	return m.blocks != blocks_before;
}

/* s, encoded against base, decoded: the same. Returns the bytes it took. */
static size_t there_and_back(const struct section *s, const struct section *base)
{
	struct wire_buf frame = { 0 };
	struct section_head head;
	struct section *back;
	size_t len;

	section_encode(s, base, &frame);
	assert_false(frame.failed);
	assert_int_equal(section_peek(frame.data, frame.len, &head), 0);
	assert_true(section_key_equal(head.key, s->key));
	assert_int_equal(head.tick, s->tick);
	assert_int_equal(head.base, base ? base->tick : 0);
	assert_int_equal(section_decode(frame.data, frame.len, base, &back), 0);
	assert_true(section_equal(back, s));
	section_unref(back);
	len = frame.len;
	wire_buf_finish(&frame);
	return len;
}

TEST_WITH(any_section_reads_back_from_any_base, begin, end)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct section *ring[8] = { NULL };
		struct rnd r;

		rnd_seed(&r, seed);
		for (unsigned tick = 0; tick < 60; tick++) {
			struct section **at = &ring[tick % 8],
				       *s = random_section(&r, tick ? ring[(tick - 1) % 8] : NULL);

			section_unref(*at);
			*at = s;
			there_and_back(s, NULL);
			if (tick)
				there_and_back(s, ring[(tick - 1 - rnd_below(&r, tick < 7 ? tick : 7)) % 8]);
		}
		for (unsigned i = 0; i < 8; i++)
			section_unref(ring[i]);
	}
}

static struct section *section_of(uint64_t tick, const struct object_state *objects, uint32_t n)
{
	struct section *s = NULL;

	assert_int_equal(section_create((struct section_key){ 0 }, tick, (int64_t)tick * 10000000, objects, n, &s), 0);
	return s;
}

static struct object_state car(uint64_t id, int64_t x_mm)
{
	return (struct object_state){ .id = id, .code = 2, .motion.v = { x_mm, 0, 0, 1 << 20, 0, 0, 0, 20000 } };
}

TEST_WITH(objects_that_move_as_predicted_take_no_space, begin, end)
{
	struct object_state before[100], after[100];
	struct section *base, *s;

	for (unsigned i = 0; i < 100; i++) {
		before[i] = car(i + 1, i);
		after[i] = car(i + 1, i + 200);
	}
	base = section_of(1, before, 100);
	s = section_of(2, after, 100);
	assert_true(there_and_back(s, base) < 40); /* head, count and hash */
	section_unref(s);
	section_unref(base);
}

TEST_WITH(a_driving_car_takes_few_bytes, begin, end)
{
	struct object_state before[100], after[100];
	struct section *base, *s;

	for (unsigned i = 0; i < 100; i++) {
		before[i] = car((uint64_t)7 << 40 | i << 16, 1000 * i);
		after[i] = car(before[i].id, 1000 * i + 203);
		memcpy(after[i].motion.v + 3, (int64_t[]){ 1048575, 0, 0, 300, 20300, 12, -3, 0, 0, 310 },
		       10 * sizeof(int64_t));
	}
	base = section_of(1, before, 100);
	s = section_of(2, after, 100);
	assert_true(there_and_back(s, base) / 100 <= 28);
	section_unref(s);
	section_unref(base);
}

TEST_WITH(an_empty_section_reads_back, begin, end)
{
	struct object_state one = car(1, 0);
	struct section *base = section_of(1, &one, 1), *s = section_of(2, NULL, 0);

	there_and_back(s, NULL);
	there_and_back(s, base);
	section_unref(s);
	section_unref(base);
}

TEST_WITH(unsorted_objects_are_refused, begin, end)
{
	struct object_state two[] = { car(2, 0), car(2, 0) }, none = car(0, 0);
	struct section *s = NULL;

	assert_int_equal(section_create((struct section_key){ 0 }, 1, 0, two, 2, &s), -EINVAL);
	assert_int_equal(section_create((struct section_key){ 0 }, 1, 0, &none, 1, &s), -EINVAL);
	assert_null(s);
}

TEST_WITH(objects_are_found_by_id, begin, end)
{
	struct object_state some[] = { car(2, 0), car(5, 1), car(9, 2) };
	struct section *s = section_of(1, some, 3);

	assert_int_equal(section_find(s, 2)->motion.v[0], 0);
	assert_int_equal(section_find(s, 9)->motion.v[0], 2);
	assert_null(section_find(s, 1));
	assert_null(section_find(s, 6));
	assert_null(section_find(s, 10));
	section_unref(s);
}

/* ---- refused frames ---- */

TEST_WITH(another_base_is_refused, begin, end)
{
	struct object_state one = car(1, 0), other = car(1, 3);
	struct section *base = section_of(1, &one, 1), *unlike = section_of(1, &other, 1),
		       *later = section_of(2, &one, 1), *s = section_of(3, &one, 1), *back = NULL;
	struct wire_buf frame = { 0 };

	section_encode(s, base, &frame);
	assert_int_equal(section_decode(frame.data, frame.len, NULL, &back), -EBADMSG);
	assert_int_equal(section_decode(frame.data, frame.len, later, &back), -EBADMSG);
	assert_int_equal(section_decode(frame.data, frame.len, unlike, &back), -ESTALE);
	frame.len = 0;
	section_encode(s, NULL, &frame);
	assert_int_equal(section_decode(frame.data, frame.len, base, &back), -EBADMSG);
	assert_null(back);
	wire_buf_finish(&frame);
	section_unref(base);
	section_unref(unlike);
	section_unref(later);
	section_unref(s);
}

/* Each bit flipped, each length: an error, or, where the bit does not matter, a section whose hash agrees. */
TEST_WITH(a_modified_frame_is_refused, begin, end)
{
	struct wire_buf frame = { 0 };
	struct section *base, *s, *back;
	unsigned taken = 0;
	struct rnd r;

	rnd_seed(&r, 5);
	base = random_section(&r, NULL);
	s = random_section(&r, base);
	section_encode(s, base, &frame);
	for (size_t bit = 0; bit < 8 * frame.len; bit++) {
		frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (section_decode(frame.data, frame.len, base, &back) == 0) {
			assert_int_equal(back->hash, s->hash);
			taken++;
			section_unref(back);
		}
		frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_true(taken <
		    100); /* tick, time and place are not hashed, nor are fields of numbers that we do not know */
	for (size_t len = 0; len < frame.len; len++) {
		uint8_t *exact = malloc(len + 1); /* of its size: a sanitizer sees an access beyond */

		memcpy(exact, frame.data, len);
		if (section_decode(exact, len, base, &back) == 0) {
			assert_int_equal(back->hash, s->hash);
			section_unref(back);
		}
		free(exact);
	}
	wire_buf_finish(&frame);
	section_unref(base);
	section_unref(s);
}

TEST_WITH(changed_and_removed_objects_must_exist_in_the_base, begin, end)
{
	struct object_state some[] = { car(2, 0), car(5, 1) };
	struct section *base = section_of(1, some, 2), *back = NULL;
	static const struct {
		const char *what, *bytes;
		size_t len;
	} bad[] = {
#define ROWS(bytes) bytes, sizeof(bytes) - 1
		{ "an id left that was not there", ROWS("\x20\x02\x28\x01\x3a\x01\x03") },
		{ "one left twice", ROWS("\x20\x02\x28\x01\x3a\x02\x02\x02") },
		{ "they do not ascend", ROWS("\x20\x02\x28\x01\x3a\x02\x05\x02") },
		{ "one left and has a row", ROWS("\x20\x02\x28\x01\x32\x02\x08\x02\x3a\x01\x02") },
		{ "a row without an id", ROWS("\x20\x02\x28\x01\x32\x02\x10\x02") },
		{ "a new row without a rotation", ROWS("\x20\x02\x28\x01\x32\x02\x08\x03") },
		{ "15 numbers", ROWS("\x20\x02\x28\x01\x32\x13\x08\x02\x22\x0f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") },
		{ "a code of 33 bits", ROWS("\x20\x02\x28\x01\x32\x08\x08\x02\x10\x80\x80\x80\x80\x10") },
		{ "a motion that is a number", ROWS("\x20\x02\x28\x01\x32\x04\x08\x02\x20\x02") },
		{ "an invalid body", ROWS("\x20\x02\x28\x01\x32\x05\x08\x02\x2a\x01\x08") },
		{ "a base after the tick", ROWS("\x20\x01\x28\x01") },
		{ "no tick", ROWS("\x28\x01") },
		{ "level 5", ROWS("\x18\x05\x20\x02\x28\x01") },
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (section_decode(bad[i].bytes, bad[i].len, base, &back) != -EBADMSG)
			fail_msg("%s: taken", bad[i].what);
	assert_null(back);
	section_unref(base);
}

TEST_WITH(too_many_rows_are_refused, begin, end)
{
	struct wire_buf frame = { 0 };
	struct section *back = NULL;

	wire_u64(&frame, 4, 1);
	for (unsigned i = 0; i <= SECTION_OBJECTS_MAX; i++)
		wire_bytes(&frame, 6, "\x08\x01", 2);
	assert_int_equal(section_decode(frame.data, frame.len, NULL, &back), -E2BIG);
	wire_buf_finish(&frame);
}

TEST_WITH(allocation_failures_are_reported, begin, end)
{
	struct section *base, *s, *back;
	struct wire_buf frame = { 0 }, whole = { 0 };
	struct rnd r;
	int64_t n = 0;
	int e;

	rnd_seed(&r, 5);
	base = random_section(&r, NULL);
	s = random_section(&r, base);
	section_encode(s, base, &whole);
	do {
		mem_fail_after(++n);
		frame = (struct wire_buf){ 0 };
		section_encode(s, base, &frame);
		mem_fail_after(0);
		assert_true(frame.failed || (frame.len == whole.len && memcmp(frame.data, whole.data, whole.len) == 0));
		e = frame.failed;
		wire_buf_finish(&frame);
	} while (e);
	assert_true(n > 3);
	n = 0;
	do {
		mem_fail_after(++n);
		e = section_decode(whole.data, whole.len, base, &back);
		mem_fail_after(0);
		assert_true(e == 0 || e == -ENOMEM);
	} while (e);
	assert_true(n > 3);
	section_unref(back);
	wire_buf_finish(&whole);
	section_unref(base);
	section_unref(s);
}
