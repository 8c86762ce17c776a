/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf writer against protobuf-c: the same bytes for any message. */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>

#include "pb_writer.h"
#include "unit/convert/pb_random.h"
#include "unit/introspect/random_msg.h"

static void write_scalars(struct pb_writer *w, const PbTest__Every *m)
{
	if (m->has_i32)
		pb_i64(w, 1, m->i32);
	if (m->has_i64)
		pb_i64(w, 2, m->i64);
	if (m->has_u32)
		pb_u64(w, 3, m->u32);
	if (m->has_u64)
		pb_u64(w, 4, m->u64);
	if (m->has_flag)
		pb_bool(w, 5, m->flag);
	if (m->has_f64)
		pb_f64(w, 6, m->f64);
	if (m->has_f32)
		pb_f32(w, 7, m->f32);
	if (m->text)
		pb_string(w, 8, m->text, strlen(m->text));
	if (m->has_raw)
		pb_bytes(w, 9, m->raw.data, m->raw.len);
	if (m->has_kind)
		pb_i64(w, 10, m->kind);
}

static void write_numbers(struct pb_writer *w, const PbTest__Every *m)
{
	uint8_t *at;

	if (m->n_doubles)
		pb_bytes(w, 13, m->doubles, m->n_doubles * sizeof(*m->doubles));
	if (m->n_floats)
		pb_bytes(w, 14, m->floats, m->n_floats * sizeof(*m->floats));
	if (m->n_numbers) {
		pb_open(w, 15);
		at = pb_room(w, m->n_numbers * PB_VARINT_MAX);
		for (size_t i = 0; i < m->n_numbers; i++)
			at = pb_put_varint(at, m->numbers[i]);
		pb_wrote(w, at);
		pb_close(w);
	}
	for (size_t i = 0; i < m->n_loose; i++)
		pb_i64(w, 16, m->loose[i]);
	for (size_t i = 0; i < m->n_loose_doubles; i++)
		pb_f64(w, 17, m->loose_doubles[i]);
	for (size_t i = 0; i < m->n_words; i++)
		pb_string(w, 18, m->words[i], strlen(m->words[i]));
}

static void write_message(struct pb_writer *w, const PbTest__Every *m)
{
	write_scalars(w, m);
	if (m->one) {
		pb_open(w, 11);
		write_message(w, m->one);
		pb_close(w);
	}
	for (size_t i = 0; i < m->n_many; i++) {
		pb_open(w, 12);
		write_message(w, m->many[i]);
		pb_close(w);
	}
	write_numbers(w, m);
	if (m->has_far)
		pb_u64(w, 536870911, m->far);
}

/* What the pieces are together. Freed by the caller. */
static uint8_t *joined(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	uint8_t *all = malloc(o->total + 1), *at = all;

	assert_non_null(all);
	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; at += iov[i++].iov_len)
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
	assert_int_equal(at - all, o->total);
	return all;
}

/* Behind `before` other bytes. */
static void compare(struct iov_buf *o, const PbTest__Every *m, size_t before)
{
	size_t n = pb_test__every__get_packed_size(m);
	uint8_t *want = malloc(n + 1), *got;
	struct pb_writer w;

	assert_non_null(want);
	pb_test__every__pack(m, want);
	iov_buf_reset(o);
	memset(iov_buf_room(o, before), '#', before);
	pb_begin(&w, o);
	write_message(&w, m);
	assert_int_equal(pb_end(&w), 0);
	got = joined(o);
	assert_int_equal(o->total, before + n);
	assert_memory_equal(got + before, want, n);
	for (size_t i = 0; i < before; i++)
		assert_int_equal(got[i], '#');
	free(got);
	free(want);
}

TEST(any_message_has_the_bytes_of_protobuf_c)
{
	uint64_t seed = test_seed(1);
	struct iov_buf o;

	iov_buf_init(&o);
	for (unsigned i = 0; i < 400; i++) {
		PbTest__Every *m = pb_random(&seed, i % 4);

		if (i % 50 == 0)
			iov_buf_finish(&o); /* and from no memory at all */
		compare(&o, m, random_next(&seed) % 20);
		pb_random_free(m);
	}
	iov_buf_finish(&o);
}

/* A message of 127 bytes has a length of one byte, of 128 bytes one of two; 16384 and 2097152 are the next ones. */
TEST(lengths_have_the_shortest_encoding)
{
	static const size_t edge[] = { 127, 128, 16383, 16384, 2097151, 2097152 };
	char *text = calloc(1, 2097152);
	struct iov_buf o;
	struct pb_writer w;

	assert_non_null(text);
	iov_buf_init(&o);
	for (unsigned i = 0; i < 6; i++) {
		size_t inner = edge[i] - 1 - pb_varint_size(edge[i] - 2); /* text in a message of edge[i] bytes */

		iov_buf_reset(&o);
		pb_begin(&w, &o);
		pb_open(&w, 1);
		pb_string(&w, 2, text, inner);
		pb_close(&w);
		assert_int_equal(pb_end(&w), 0);
		assert_int_equal(o.total, 1 + (1 + (i + 1) / 2) + edge[i]);
	}
	iov_buf_finish(&o);
	free(text);
}

TEST(large_byte_fields_are_referenced)
{
	static const uint8_t picture[100000];
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf o;
	struct pb_writer w;

	iov_buf_init(&o);
	pb_begin(&w, &o);
	pb_u64(&w, 1, 1);
	pb_bytes(&w, 2, picture, sizeof(picture));
	pb_u64(&w, 3, 1);
	assert_int_equal(pb_end(&w), 0);
	assert_int_equal(iov_buf_iov(&o, iov), 3);
	assert_ptr_equal(iov[1].iov_base, picture);
	assert_int_equal(o.referred, sizeof(picture));
	assert_int_equal(o.copied, 0);

	iov_buf_reset(&o);
	pb_begin(&w, &o);
	pb_open(&w, 1); /* the length in front of it is not known yet */
	pb_bytes(&w, 2, picture, sizeof(picture));
	pb_close(&w);
	assert_int_equal(pb_end(&w), 0);
	assert_int_equal(o.n, 1);
	assert_int_equal(o.copied, sizeof(picture));
	iov_buf_finish(&o);
}

TEST(too_deep_and_too_large_messages_are_errors)
{
	struct iov_buf o;
	struct pb_writer w;

	iov_buf_init(&o);
	pb_begin(&w, &o);
	for (unsigned i = 0; i <= PB_DEPTH_MAX; i++)
		pb_open(&w, 1);
	pb_string(&w, 2, "ignored", 7);
	for (unsigned i = 0; i <= PB_DEPTH_MAX; i++)
		pb_close(&w);
	assert_int_equal(pb_end(&w), -E2BIG);

	iov_buf_reset(&o);
	pb_begin(&w, &o);
	pb_string(&w, 1, "", (size_t)PB_SIZE_MAX + 1); /* not looked at */
	pb_open(&w, 1);
	pb_close(&w);
	assert_int_equal(pb_end(&w), -E2BIG);
	iov_buf_finish(&o);
}

TEST(a_message_of_doubles_is_one_written_field_by_field)
{
	static const double v[] = { 1.5, -2, 1e300, 0 };
	struct iov_buf o;
	struct pb_writer w;
	size_t half;

	iov_buf_init(&o);
	pb_begin(&w, &o);
	pb_f64_message(&w, 17, v, 4);
	assert_int_equal(pb_end(&w), 0);
	half = o.total;
	pb_begin(&w, &o);
	pb_open(&w, 17);
	for (uint32_t i = 0; i < 4; i++)
		pb_f64(&w, i + 1, v[i]);
	pb_close(&w);
	assert_int_equal(pb_end(&w), 0);
	assert_int_equal(o.total, 2 * half);
	assert_memory_equal(o.buf, o.buf + half, half);
	iov_buf_finish(&o);
}
