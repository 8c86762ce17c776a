/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf reader against protobuf-c, on any message, and on invalid ones. */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>

#include "unit/convert/pb_compare.h"
#include "unit/introspect/random_msg.h"

TEST(any_message_reads_as_protobuf_c_packed_it)
{
	uint64_t seed = test_seed(1);

	for (unsigned i = 0; i < 400; i++) {
		PbTest__Every *m = pb_random(&seed, i % 4);
		size_t n = pb_test__every__get_packed_size(m);
		uint8_t *bytes = malloc(n + 1);

		assert_non_null(bytes);
		pb_test__every__pack(m, bytes);
		assert_int_equal(pb_compare(bytes, n), PB_BOTH);
		pb_random_free(m);
		free(bytes);
	}
}

/* Bytes changed, cut, put in and repeated. */
static size_t mutate(uint64_t *seed, uint8_t *bytes, size_t n)
{
	for (unsigned i = 1 + (unsigned)(random_next(seed) % 4); i && n; i--) {
		size_t at = random_next(seed) % n;

		if (random_next(seed) % 3 == 0)
			bytes[at] ^= (uint8_t)(1u << random_next(seed) % 8);
		else if (random_next(seed) % 2)
			bytes[at] = (uint8_t)random_next(seed);
		else
			n = at;
	}
	return n;
}

TEST(any_input_that_protobuf_c_accepts_reads_the_same)
{
	uint64_t seed = test_seed(2);
	unsigned taken = 0, refused = 0;

	for (unsigned i = 0; i < 4000; i++) {
		PbTest__Every *m = pb_random(&seed, i % 3);
		size_t n = pb_test__every__get_packed_size(m);
		uint8_t *bytes = malloc(2 * n + 1), *exact;
		enum pb_taken by;

		assert_non_null(bytes);
		n = pb_test__every__pack(m, bytes);
		n += pb_test__every__pack(m, bytes + n); /* twice: scalars are replaced, arrays and messages grow */
		n = mutate(&seed, bytes, n);
		exact = malloc(n + !n); /* so that a sanitizer sees a read behind it */
		assert_non_null(exact);
		memcpy(exact, bytes, n);
		by = pb_compare(exact, n);
		assert_int_not_equal(by, PB_DIFFERENT);
		taken += by == PB_BOTH;
		refused += by == PB_NEITHER;
		pb_random_free(m);
		free(exact);
		free(bytes);
	}
	assert_true(taken > 100);
	assert_true(refused > 100);
}

/* ---- one by one ---- */

static int all(const char *bytes, size_t n, unsigned *ret_fields)
{
	struct pb_reader r;
	int error = 0;

	*ret_fields = 0;
	pb_read_begin(&r, bytes, n, &error);
	while (pb_next(&r))
		++*ret_fields;
	return error;
}

#define ALL(text, ret) all(text, sizeof(text) - 1, ret)

TEST(malformed_messages_are_refused)
{
	static const struct {
		const char *bytes;
		size_t n;
	} bad[] = {
#define BAD(text) { text, sizeof(text) - 1 }
		BAD("\x08"),                                             /* a tag and nothing */
		BAD("\x88"),                                             /* half a tag */
		BAD("\x08\xff"),                                         /* half a number */
		BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* one of eleven bytes */
		BAD("\x09\0\0\0\0\0\0\0"),                               /* seven of eight */
		BAD("\x0d\0\0\0"),                                       /* three of four */
		BAD("\x0a\x02\0"),                                       /* a length over the end */
		BAD("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),     /* and by far */
		BAD("\x00\x00"),                                         /* field 0 */
		BAD("\x0e"),                                             /* wire types that do not exist */
		BAD("\x0f"),
		BAD("\x88\x80\x80\x80\x10\x01"), /* a number of more than 29 bits */
		BAD("\x0b"),                     /* groups: without an end, */
		BAD("\x0c"),                     /* without a beginning, */
		BAD("\x0b\x14"),                 /* of another's, */
		BAD("\x0b\x10\x0c"),             /* with half a number in it */
#undef BAD
	};
	unsigned n;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *exact = malloc(bad[i].n);

		assert_non_null(exact);
		memcpy(exact, bad[i].bytes, bad[i].n);
		assert_int_equal(all(exact, bad[i].n, &n), -EBADMSG);
		assert_int_equal(n, 0);
		free(exact);
	}
	assert_int_equal(all(NULL, 0, &n), 0);
	assert_int_equal(ALL("\x08\x01\x08", &n), -EBADMSG);
	assert_int_equal(n, 1);
}

TEST(groups_are_skipped)
{
	unsigned n;

	assert_int_equal(ALL("\x0b\x0c", &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(ALL("\x0b\x10\x01\x13\x14\x1a\x02\x0c\x0c\x0c\x10\x01\x0b\x0c", &n), 0);
	assert_int_equal(n, 1);
}

TEST(depth_is_bounded)
{
	char deep[PB_DEPTH_MAX + 1], both[2 * (PB_DEPTH_MAX + 1)];
	uint8_t nested[2 * PB_DEPTH_MAX + 2];
	struct pb_reader r[PB_DEPTH_MAX + 2];
	unsigned n;
	int error = 0;

	memset(deep, '\x0b', sizeof(deep));
	assert_int_equal(all(deep, sizeof(deep), &n), -E2BIG);
	memset(both, '\x0b', PB_DEPTH_MAX);
	memset(both + PB_DEPTH_MAX, '\x0c', PB_DEPTH_MAX);
	assert_int_equal(all(both, (size_t)2 * PB_DEPTH_MAX, &n), 0);

	for (unsigned i = 0; i <= PB_DEPTH_MAX; i++) {
		nested[2 * i] = 0x0a;
		nested[2 * i + 1] = (uint8_t)(2 * (PB_DEPTH_MAX - i));
	}
	pb_read_begin(&r[0], nested, sizeof(nested), &error);
	for (unsigned i = 0; i < PB_DEPTH_MAX; i++) {
		assert_true(pb_next(&r[i]));
		pb_enter(&r[i], &r[i + 1]);
		assert_int_equal(error, 0);
	}
	r[PB_DEPTH_MAX + 1] = r[PB_DEPTH_MAX];
	r[PB_DEPTH_MAX + 1].at = (const uint8_t *)"\x0b\x0c";
	r[PB_DEPTH_MAX + 1].end = r[PB_DEPTH_MAX + 1].at + 2;
	assert_false(pb_next(&r[PB_DEPTH_MAX + 1]));
	assert_int_equal(error, -E2BIG);
	error = 0;
	assert_true(pb_next(&r[PB_DEPTH_MAX]));
	pb_enter(&r[PB_DEPTH_MAX], &r[PB_DEPTH_MAX + 1]);
	assert_false(pb_next(&r[PB_DEPTH_MAX + 1]));
	assert_int_equal(error, -E2BIG);
}

/* As protobuf requires: a field with another wire type counts as unknown. */
TEST(a_field_of_another_wire_type_is_ignored)
{
	static const char bytes[] = "\x08\x01\x15\0\0\x80?";
	struct pb_reader r, in;
	const void *p;
	size_t len;
	uint64_t u;
	double d;
	float f;
	int error = 0;

	pb_read_begin(&r, bytes, sizeof(bytes) - 1, &error);
	assert_true(pb_next(&r));
	assert_false(pb_get_f64(&r, &d) || pb_get_f32(&r, &f) || pb_get_bytes(&r, &p, &len));
	assert_false(pb_item_f64(&r, &d) || pb_item_f32(&r, &f));
	pb_enter(&r, &in);
	assert_false(pb_next(&in));
	assert_true(pb_get_u64(&r, &u) && u == 1);
	assert_true(pb_next(&r));
	assert_false(pb_get_u64(&r, &u) || pb_item_u64(&r, &u));
	assert_true(pb_item_f32(&r, &f) && f == 1.0f);
	assert_false(pb_item_f32(&r, &f));
	assert_false(pb_next(&r));
	assert_int_equal(error, 0);
}

TEST(malformed_packed_numbers_are_refused)
{
	static const char bytes[] = "\x0a\x09\0\0\0\0\0\0\xf0?\x80";
	struct pb_reader r;
	uint64_t u;
	double d;
	float f;
	int error = 0;

	pb_read_begin(&r, bytes, sizeof(bytes) - 1, &error);
	assert_true(pb_next(&r));
	assert_true(pb_item_f64(&r, &d) && d == 1.0);
	assert_false(pb_item_f64(&r, &d));
	assert_int_equal(error, -EBADMSG);
	assert_false(pb_next(&r));

	error = 0;
	pb_read_begin(&r, bytes, sizeof(bytes) - 1, &error);
	assert_true(pb_next(&r));
	for (unsigned i = 0; i < 2; i++)
		assert_true(pb_item_f32(&r, &f));
	assert_false(pb_item_f32(&r, &f));
	assert_int_equal(error, -EBADMSG);

	error = 0;
	pb_read_begin(&r, bytes, sizeof(bytes) - 1, &error);
	assert_true(pb_next(&r));
	while (pb_item_u64(&r, &u))
		;
	assert_int_equal(error, -EBADMSG);
}
