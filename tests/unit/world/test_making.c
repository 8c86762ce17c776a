/* SPDX-License-Identifier: Apache-2.0 */
/* making.h: pieces become frames, once, in any order, and no peer makes more of them than the bounds say. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "mem.h"
#include "rnd.h"
#include "world/making.h"

static uint8_t text[MAKING_FRAME_MAX];

static struct making_piece piece(uint64_t message, unsigned i, size_t len)
{
	unsigned count = (unsigned)((len + MAKING_PIECE - 1) / MAKING_PIECE);
	size_t at = (size_t)i * MAKING_PIECE;

	return (struct making_piece){ .message = message,
				      .index = (uint16_t)i,
				      .count = (uint16_t)count,
				      .data = text + at,
				      .len = len - at < MAKING_PIECE ? len - at : MAKING_PIECE };
}

static int add(struct making *m, struct making_piece p)
{
	uint8_t *frame;
	size_t len;
	int r = making_add(m, &p, 0, &frame, &len);

	if (r == 1) {
		assert_memory_equal(frame, text, len);
		mem_free(frame);
	}
	return r;
}

TEST(pieces_in_any_order_make_the_frame_once)
{
	static const size_t lengths[] = { 1101, 2200, 2201, 50000, MAKING_FRAME_MAX };
	struct making m;
	struct rnd r;

	rnd_seed(&r, 3);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)rnd_u64(&r);
	making_init(&m, MAKING_FRAME_MAX, 2 * MAKING_FRAME_MAX);
	for (unsigned k = 0; k < 5; k++) {
		unsigned count = piece(1, 0, lengths[k]).count, turn = rnd_below(&r, count);

		for (unsigned i = 0; i < count; i++)
			assert_int_equal(add(&m, piece(k + 1, (i + turn) % count, lengths[k])), i + 1 == count);
		assert_int_equal(add(&m, piece(k + 1, 0, lengths[k])), -ESTALE);
		assert_int_equal(m.bytes, 0);
	}
	assert_int_equal(m.given_up, 0);
	making_finish(&m);
}

TEST(invalid_pieces_are_refused)
{
	struct making m;
	struct making_piece p;

	making_init(&m, 10000, 20000);
	assert_int_equal(add(&m, piece(0, 0, 5000)), -EBADMSG);
	assert_int_equal(add(&m, piece(1, 0, 1000)), -EBADMSG); /* of one piece */
	assert_int_equal(add(&m, piece(1, 0, 10001 + MAKING_PIECE)), -EMSGSIZE);
	assert_int_equal(add(&m, piece(1, 9, 10001)), -EMSGSIZE); /* its last byte */
	p = piece(1, 0, 5000);
	p.len--;
	assert_int_equal(add(&m, p), -EBADMSG);
	p = piece(1, 4, 5000);
	p.len = 0;
	assert_int_equal(add(&m, p), -EBADMSG);
	p = piece(1, 4, 5000);
	p.index = 5;
	assert_int_equal(add(&m, p), -EBADMSG);
	p = piece(1, 0, 10000);
	p.count = 65535;
	p.index = 65534;
	assert_int_equal(add(&m, p), -EMSGSIZE);
	assert_int_equal(m.bytes, 0);
	assert_int_equal(add(&m, piece(1, 0, 5000)), 0);
	assert_int_equal(add(&m, piece(1, 0, 5000)), -EBADMSG); /* again */
	assert_int_equal(add(&m, piece(1, 1, 6000)), -EBADMSG); /* of another frame */
	making_finish(&m);
}

TEST(newer_frames_displace_older_ones)
{
	struct making m;

	making_init(&m, 10000, 20 * MAKING_PIECE);
	for (uint64_t n = 1; n <= 3; n++)
		assert_int_equal(add(&m, piece(n, 0, 10000)), 0); /* 10 pieces each: two at once */
	assert_int_equal(m.given_up, 1);
	assert_int_equal(add(&m, piece(1, 1, 10000)), -ESTALE);
	for (unsigned i = 1; i < 10; i++)
		assert_int_equal(add(&m, piece(3, i, 10000)), i == 9);
	assert_int_equal(m.bytes, 10 * MAKING_PIECE);
	assert_int_equal(add(&m, piece(2 + MAKING_WINDOW, 0, 10000)),
			 0); /* so far ahead that 2 is not known any more */
	assert_int_equal(m.given_up, 2);
	assert_int_equal(add(&m, piece(2, 1, 10000)), -ESTALE);
	assert_int_equal(add(&m, piece(1 + MAKING_WINDOW, 0, 10000)), 0);
	assert_int_equal(add(&m, piece(MAKING_WINDOW, 0, 10000)), -ENOBUFS); /* only newer ones push */
	making_finish(&m);
	assert_int_equal(m.bytes, 0);
}

TEST(incomplete_frames_are_bounded_in_number_and_time)
{
	struct mem_stats before, now;
	struct making m;

	mem_stats(&before);
	making_init(&m, 10000, 1 << 20);
	for (uint64_t n = 1; n <= 1000; n++)
		assert_int_equal(add(&m, piece(n * n, 0, 2000)), 0);
	mem_stats(&now);
	assert_true(now.blocks - before.blocks <= MAKING_N);
	assert_int_equal(making_turn(&m, MAKING_DUR_NS - 1), MAKING_DUR_NS);
	assert_true(m.bytes > 0);
	assert_int_equal(making_turn(&m, MAKING_DUR_NS), INT64_MAX);
	assert_int_equal(m.bytes, 0);
	assert_int_equal(m.given_up, 1000);
	assert_int_equal(add(&m, piece(1000000, 1, 2000)), -ESTALE);
	making_finish(&m);
}

TEST(after_an_allocation_failure_a_piece_is_refused)
{
	struct making m;

	making_init(&m, 10000, 20000);
	mem_fail_after(1);
	assert_int_equal(add(&m, piece(1, 0, 2000)), -ENOMEM);
	mem_fail_after(0);
	assert_int_equal(add(&m, piece(1, 0, 2000)), 0);
	assert_int_equal(add(&m, piece(1, 1, 2000)), 1);
	making_finish(&m);
}
