/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of protobuf: a set becomes Cyber RT's tree, and that a set again; anything else is refused. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "convert/pb_reader.h"
#include "record/proto_desc.h"

/* A FileDescriptorSet: c.proto needs a.proto and b.proto, b.proto a.proto; the message p.q.C is in c.proto, C.In within it. */
#define FILE_A \
	"\x0a\x07" \
	"a.proto" \
	"\x12\x03" \
	"p.q"
#define FILE_B \
	"\x0a\x07" \
	"b.proto" \
	"\x12\x03" \
	"p.q" \
	"\x1a\x07" \
	"a.proto"
#define FILE_C \
	"\x0a\x07" \
	"c.proto" \
	"\x12\x03" \
	"p.q" \
	"\x1a\x07" \
	"a.proto" \
	"\x1a\x07" \
	"b.proto" \
	"\x22\x03\x0a\x01" \
	"C"
#define SET  "\x0a\x0e" FILE_A "\x0a\x17" FILE_B "\x0a\x25" FILE_C
#define TREE "\x0a\x25" FILE_C "\x12\x10\x0a\x0e" FILE_A "\x12\x2b\x0a\x17" FILE_B "\x12\x10\x0a\x0e" FILE_A

static uint8_t bytes[65536];

static size_t flatten(const struct iov_buf *o)
{
	struct iovec iov[IOV_BUF_PIECES];
	size_t at = 0;

	for (unsigned i = 0, n = iov_buf_iov(o, iov); i < n; at += iov[i++].iov_len)
		memcpy(bytes + at, iov[i].iov_base, iov[i].iov_len);
	return at;
}

static int to_tree(const void *set, size_t size, const char *type, size_t *ret)
{
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	r = proto_desc_of_set(set, size, type, &o);
	*ret = r == 0 ? flatten(&o) : 0;
	iov_buf_finish(&o);
	return r;
}

static int to_set(const void *tree, size_t size, size_t *ret)
{
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	r = proto_desc_to_set(tree, size, &o);
	*ret = r == 0 ? flatten(&o) : 0;
	iov_buf_finish(&o);
	return r;
}

TEST(a_descriptor_set_becomes_a_tree)
{
	static const char *const types[] = { "p.q.C", "p.q.C.In" };
	size_t n;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(to_tree(SET, sizeof(SET) - 1, types[i], &n), 0);
		assert_int_equal(n, sizeof(TREE) - 1);
		assert_memory_equal(bytes, TREE, n);
	}
}

TEST(a_tree_becomes_a_descriptor_set)
{
	size_t n;

	assert_int_equal(to_set(TREE, sizeof(TREE) - 1, &n), 0);
	assert_int_equal(n, sizeof(SET) - 1);
	assert_memory_equal(bytes, SET, n);
}

TEST(an_invalid_descriptor_set_is_refused)
{
	size_t n;

	assert_int_equal(to_tree(SET, sizeof(SET) - 1, "p.q.D", &n), -ENOENT);
	assert_int_equal(to_tree(SET, sizeof(SET) - 1, "p.C", &n), -ENOENT);
	assert_int_equal(to_tree(SET, sizeof(SET) - 1, "p.q.CC", &n), -ENOENT);
	assert_int_equal(to_tree("", 0, "p.q.C", &n), -ENOENT);
	for (size_t cut = 1; cut < 4; cut++) {
		assert_int_equal(to_tree(SET, sizeof(SET) - 1 - cut, "p.q.C", &n), -EBADMSG);
		assert_int_equal(to_set(TREE, sizeof(TREE) - 1 - cut, &n), -EBADMSG);
	}
}

/* Files that need each other, or each of them all others: no tree is without an end. */
TEST(circular_imports_are_refused)
{
	static const char ring[] = "\x0a\x17"
				   "\x0a\x07"
				   "a.proto"
				   "\x1a\x07"
				   "a.proto"
				   "\x22\x03\x0a\x01"
				   "C";
	size_t n;

	assert_int_equal(to_tree(ring, sizeof(ring) - 1, "C", &n), -E2BIG);
}

/* n files, each of which needs the next one twice: the tree would have 2^n. */
TEST(a_tree_that_is_too_large_is_refused)
{
	static uint8_t set[1024];
	size_t at = 0, n;

	for (unsigned i = 0; i < 12; i++) {
		const uint8_t file[] = { 0x0a,
					 18,
					 0x0a,
					 1,
					 (uint8_t)('a' + i),
					 0x1a,
					 1,
					 (uint8_t)('b' + i),
					 0x1a,
					 1,
					 (uint8_t)('b' + i),
					 0x22,
					 3,
					 0x0a,
					 1,
					 (uint8_t)('A' + i),
					 0x42,
					 2,
					 0x0a,
					 0 };

		memcpy(set + at, file, sizeof(file));
		at += sizeof(file);
	}
	assert_int_equal(to_tree(set, at, "D", &n), 0); /* 511 */
	assert_int_equal(to_tree(set, at, "A", &n), -E2BIG);
}
