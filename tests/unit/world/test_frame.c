/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h: frames come out of a stream however it is cut, and its bounds hold. Thread: the test's. */
#include "support/test.h"

#include <errno.h>

#include "mem.h"
#include "rnd.h"
#include "world/frame.h"

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

static void add_frame(struct wire_buf *b, unsigned i, size_t len)
{
	size_t at = frame_begin(b, (uint8_t)i);

	for (size_t k = 0; k < len; k++)
		wire_append(b, &(uint8_t){ (uint8_t)(i + k) }, 1);
	assert_int_equal(frame_end(b, at, FRAME_MAX_CLIENT), 0);
}

static size_t put(struct frame_reader *r, const uint8_t *data, size_t len)
{
	uint8_t *room;
	size_t size;

	assert_int_equal(frame_reader_room(r, &room, &size), 0);
	assert_true(size > 0);
	if (len > size)
		len = size;
	memcpy(room, data, len);
	frame_reader_add(r, len);
	return len;
}

static void frame_is(const struct frame *f, unsigned i, size_t len)
{
	assert_int_equal(f->code, (uint8_t)i);
	assert_int_equal(f->len, len);
	for (size_t k = 0; k < len; k++)
		assert_int_equal(f->body[k], (uint8_t)(i + k));
}

TEST_WITH(frames_are_found_however_they_are_split, begin, end)
{
	static size_t lengths[100];
	struct wire_buf b = { 0 };
	struct frame_reader reader;
	struct rnd r;

	rnd_seed(&r, 1);
	for (unsigned i = 0; i < 100; i++) {
		lengths[i] = i % 10 ? rnd_below(&r, 300) : rnd_below(&r, FRAME_MAX_CLIENT - 1);
		add_frame(&b, i, lengths[i]);
	}
	for (unsigned round = 0; round < 30; round++) {
		unsigned seen = 0;
		struct frame f;

		frame_reader_init(&reader, FRAME_MAX_CLIENT);
		for (size_t at = 0; at < b.len;) {
			size_t piece = 1 + rnd_below(&r, round % 2 ? 60 : 100000);

			at += put(&reader, b.data + at, piece < b.len - at ? piece : b.len - at);
			while (frame_next(&reader, &f) == 1) {
				frame_is(&f, seen, lengths[seen]);
				seen++;
			}
		}
		assert_int_equal(seen, 100);
		assert_false(frame_reader_is_amid(&reader));
		frame_reader_finish(&reader);
	}
	wire_buf_finish(&b);
}

TEST_WITH(the_buffer_holds_one_frame_and_no_more, begin, end)
{
	static const uint8_t head[] = { 0x00, 0x10, 0, 0, 7 };
	struct frame_reader r;
	struct frame f;
	uint8_t *room;
	size_t size;

	frame_reader_init(&r, FRAME_MAX_STRANGER);
	put(&r, head, sizeof(head));
	assert_true(frame_reader_is_amid(&r));
	for (int i = 0; i < 4095; i++) {
		assert_int_equal(frame_next(&r, &f), 0);
		put(&r, head, 1);
	}
	assert_int_equal(frame_next(&r, &f), 1);
	assert_true(f.code == 7 && f.len == 4095);
	assert_int_equal(frame_reader_room(&r, &room, &size), 0);
	assert_true(size < 20000);
	frame_reader_finish(&r);
}

TEST_WITH(invalid_frames_are_refused, begin, end)
{
	static const struct {
		uint8_t head[4];
		int error;
	} bad[] = { { { 0, 0, 0, 0 }, -EBADMSG },
		    { { 0x01, 0x10, 0, 0 }, -EMSGSIZE },
		    { { 0xff, 0xff, 0xff, 0xff }, -EMSGSIZE },
		    { { 'G', 'E', 'T', ' ' }, -EMSGSIZE } };
	uint8_t *room;
	size_t size;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct frame_reader r;
		struct frame f;

		frame_reader_init(&r, FRAME_MAX_STRANGER);
		put(&r, bad[i].head, 4);
		assert_int_equal(frame_next(&r, &f), bad[i].error);
		assert_int_equal(frame_reader_room(&r, &room, &size), 0); /* and the length in it is not trusted */
		assert_true(size < 20000);
		frame_reader_finish(&r);
	}
}

TEST_WITH(a_frame_that_is_too_long_is_not_started, begin, end)
{
	struct wire_buf b = { 0 };
	size_t at, before;

	add_frame(&b, 1, 10);
	before = b.len;
	at = frame_begin(&b, 2);
	wire_bytes(&b, 1, "0123456789", 10);
	assert_int_equal(frame_end(&b, at, 12), -EMSGSIZE);
	assert_int_equal(b.len, before);
	at = frame_begin(&b, 2);
	wire_bytes(&b, 1, "0123456789", 10);
	assert_int_equal(frame_end(&b, at, 13), 0);
	wire_buf_finish(&b);
	mem_fail_after(1);
	at = frame_begin(&b, 2);
	assert_int_equal(frame_end(&b, at, 13), -ENOMEM);
	mem_fail_after(0);
	assert_int_equal(b.len, 0);
}

/* A reader that continues without taking the frames in the buffer has room for new data, and gets all frames. */
TEST_WITH(frames_that_are_not_taken_wait, begin, end)
{
	struct wire_buf b = { 0 };
	struct frame_reader r;
	struct frame f;

	add_frame(&b, 7, 30);
	frame_reader_init(&r, FRAME_MAX_STRANGER);
	for (unsigned i = 0; i < 100; i++)
		put(&r, b.data, b.len);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(frame_next(&r, &f), 1);
		assert_int_equal(f.code, 7);
	}
	assert_int_equal(frame_next(&r, &f), 0);
	frame_reader_finish(&r);
	wire_buf_finish(&b);
}
