/* SPDX-License-Identifier: Apache-2.0 */
/* body.h: differences of fields, and of bodies without a known definition. Thread: the test's. */
#include "support/test.h"

#include <errno.h>

#include "mem.h"
#include "rnd.h"
#include "world/body.h"

static struct body *body_of(const struct wire_buf *b)
{
	struct body *ret = NULL;

	assert_int_equal(body_create(b->data, b->len, &ret), 0);
	return ret;
}

static struct body *body_text(const char *bytes, size_t len)
{
	struct wire_buf b = { 0 };
	struct body *ret;

	wire_append(&b, bytes, len);
	ret = body_of(&b);
	wire_buf_finish(&b);
	return ret;
}
#define BODY(bytes) body_text(bytes, sizeof(bytes) - 1)

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

/* What a difference makes of base is the body, byte for byte. ret_len: the difference's. */
static void there_and_back(struct body *base, struct body *b, size_t *ret_len)
{
	struct wire_buf diff = { 0 };
	struct body *merged = NULL;

	assert_true(body_diff(base, b, &diff));
	assert_int_equal(body_merge(base, diff.data, diff.len, &merged), 0);
	assert_true(body_equal(merged, b));
	*ret_len = diff.len;
	wire_buf_finish(&diff);
	body_unref(merged);
}

TEST_WITH(only_changed_fields_are_sent, begin, end)
{
	struct body *base = BODY("\x0a\x03"
				 "abc"
				 "\x10\x05\x10\x06"
				 "\x1d\x00\x00\x80\x3f");
	struct body *b = BODY("\x0a\x03"
			      "abc"
			      "\x10\x05\x10\x07"
			      "\x1d\x00\x00\x80\x3f");
	struct body *more = BODY("\x0a\x03"
				 "abc"
				 "\x10\x05\x10\x06"
				 "\x1d\x00\x00\x80\x3f"
				 "\x20\x01");
	size_t len;

	there_and_back(base, b, &len);
	assert_int_equal(len, 4); /* both occurrences of the field that changed */
	there_and_back(base, more, &len);
	assert_int_equal(len, 2);
	there_and_back(base, base, &len);
	assert_int_equal(len, 0);
	there_and_back(NULL, base, &len);
	assert_int_equal(len, base->len);
	body_unref(base);
	body_unref(b);
	body_unref(more);
}

TEST_WITH(a_change_that_a_difference_cannot_express_is_sent_whole, begin, end)
{
	struct body *base = BODY("\x08\x01\x10\x02");
	struct body *without = BODY("\x10\x02");
	struct body *disordered = BODY("\x10\x02\x08\x01");
	struct body *apart = BODY("\x08\x01\x10\x02\x08\x03");
	struct wire_buf diff = { 0 };

	wire_append(&diff, "before", 6);
	assert_false(body_diff(base, without, &diff));
	assert_false(body_diff(base, disordered, &diff));
	assert_false(body_diff(disordered, base, &diff));
	assert_false(body_diff(base, apart, &diff));
	assert_false(body_diff(base, NULL, &diff));
	assert_int_equal(diff.len, 6);
	wire_buf_finish(&diff);
	body_unref(base);
	body_unref(without);
	body_unref(disordered);
	body_unref(apart);
}

/* Fields 1 to 12 in order, some absent, some repeated, values of few kinds so that many are equal. */
static struct body *random_body(struct rnd *r, bool all)
{
	struct wire_buf b = { 0 };
	struct body *ret;

	for (unsigned field = 1; field <= 12; field++) {
		unsigned times = rnd_below(r, 3);

		for (unsigned i = 0; i < times + all; i++)
			switch (field % 3) {
			case 0:
				wire_u64(&b, field, rnd_u64(r) >> (8 * rnd_below(r, 8)));
				break;
			case 1:
				wire_fixed64(&b, field, rnd_below(r, 2));
				break;
			default:
				wire_bytes(&b, field, "worldworld", rnd_below(r, 10));
			}
	}
	ret = body_of(&b);
	wire_buf_finish(&b);
	return ret;
}

TEST_WITH(any_body_reads_back, begin, end)
{
	struct rnd r;
	size_t len;

	rnd_seed(&r, 3);
	for (int i = 0; i < 20000; i++) {
		struct body *base = random_body(&r, false), *b = random_body(&r, true);

		there_and_back(base, b, &len);
		assert_true(len <= b->len);
		body_unref(base);
		body_unref(b);
	}
}

TEST_WITH(a_body_that_is_not_protobuf_is_refused, begin, end)
{
	static const char *const bad[] = { "\x08",
					   "\x0a\x05"
					   "abcd",
					   "\x0d\x01\x02\x03",
					   "\x09\x01",
					   "\x0b",
					   "\x0c",
					   "\x0f",
					   "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
					   "\x02"
					   "ab" };
	struct body *b = NULL, *base = BODY("\x08\x01"), *disordered = BODY("\x10\x02\x08\x01");
	static char large[BODY_MAX + 1];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(body_create(bad[i], strlen(bad[i]), &b), -EBADMSG);
		assert_int_equal(body_merge(base, bad[i], strlen(bad[i]), &b), -EBADMSG);
	}
	assert_int_equal(body_merge(disordered, "\x08\x02", 2, &b), -EBADMSG);
	assert_int_equal(body_create(large, sizeof(large), &b), -E2BIG);
	assert_null(b);
	body_unref(base);
	body_unref(disordered);
}

TEST_WITH(a_body_that_grows_too_large_is_refused, begin, end)
{
	struct wire_buf first = { 0 }, second = { 0 };
	struct body *base, *b = NULL;
	static char half[BODY_MAX / 2];

	wire_bytes(&first, 1, half, sizeof(half));
	wire_bytes(&second, 2, half, sizeof(half));
	base = body_of(&first);
	assert_int_equal(body_merge(base, second.data, second.len, &b), -E2BIG);
	assert_null(b);
	body_unref(base);
	wire_buf_finish(&first);
	wire_buf_finish(&second);
}
