/* SPDX-License-Identifier: Apache-2.0 */
/* list.h, bitmap.h, mem.h, err.h: the smallest helpers. Thread: one. */
#include "tests/support/test.h"

#include "bitmap.h"
#include "err.h"
#include "list.h"
#include "mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct item {
	int n;
	struct list link;
};

TEST(list_keeps_order)
{
	struct item a[4] = { { .n = 0 }, { .n = 1 }, { .n = 2 }, { .n = 3 } }, *i, *tmp;
	struct list head, other;
	int want = 0;

	list_init(&head);
	list_init(&other);
	assert_null(list_first(&head, struct item, link));
	list_append(&head, &a[1].link);
	list_append(&other, &a[2].link);
	list_append(&other, &a[3].link);
	list_prepend(&head, &a[0].link);
	list_splice(&head, &other);
	assert_true(list_empty(&other));
	list_for_each(i, &head, link)
		assert_int_equal(i->n, want++);
	assert_int_equal(want, 4);
	assert_int_equal(list_last(&head, struct item, link)->n, 3);
	list_for_each_safe(i, tmp, &head, link) {
		list_remove(&i->link);
		list_remove(&i->link); /* twice is harmless */
	}
	assert_int_equal(list_count(&head), 0);
}

TEST(a_bitmap_iterates_over_its_set_bits)
{
	static const uint32_t in[] = { 0, 1, 63, 64, 127, 129 };
	uint64_t set[BITMAP_WORDS(130)] = { 0 };
	unsigned n = 0;

	assert_int_equal(bitmap_next(set, 130, 0), 130);
	for (unsigned i = 0; i < 6; i++)
		bitmap_set(set, in[i]);
	bitmap_for_each(i, set, 130) {
		assert_int_equal(i, in[n++]);
		bitmap_clear(set, i);
	}
	assert_int_equal(n, 6);
	bitmap_set(set, 129);
	assert_int_equal(bitmap_next(set, 129, 0), 129); /* as many as there are */
	assert_int_equal(bitmap_next(set, 130, 130), 130);
}

TEST(a_bitmap_finds_its_lowest_free_bit)
{
	uint64_t set[BITMAP_WORDS(130)] = { 0 };

	for (uint32_t i = 0; i < 130; i++) {
		assert_int_equal(bitmap_first_clear(set, 130), i);
		assert_false(bitmap_get(set, i));
		bitmap_set(set, i);
		assert_true(bitmap_get(set, i));
	}
	assert_int_equal(bitmap_first_clear(set, 130), 130);
	bitmap_clear(set, 64);
	bitmap_clear(set, 127);
	assert_int_equal(bitmap_first_clear(set, 130), 64);
	bitmap_set(set, 64);
	assert_int_equal(bitmap_first_clear(set, 130), 127);
	assert_int_equal(bitmap_first_clear(set, 127), 127); /* what lies behind the end does not count */
}

TEST(mem_counts_and_injects_failures)
{
	struct mem_stats before, during, after;
	char *s, *t;

	mem_stats(&before);
	s = mem_printf("%s-%d", "abc", 42);
	assert_string_equal(s, "abc-42");
	t = mem_strndup("abcdef", 3);
	assert_string_equal(t, "abc");
	mem_stats(&during);
	assert_int_equal(during.blocks, before.blocks + 2);
	assert_true(during.bytes >= before.bytes + 11);
	s = mem_realloc(s, 100000);
	assert_non_null(s);
	mem_free(s);
	mem_free(t);
	mem_free(NULL);
	mem_stats(&after);
	assert_int_equal(after.bytes, before.bytes);
	assert_int_equal(after.blocks, before.blocks);

	mem_fail_after(2);
	s = mem_alloc(1);
	assert_non_null(s);
	assert_null(mem_alloc(1));
	assert_null(mem_zalloc(1));
	mem_fail_after(0);
	mem_free(s);
	assert_null(mem_calloc(SIZE_MAX / 2, 3)); /* overflow */
	assert_null(mem_strdup(NULL));
}

TEST(err_builds_messages)
{
	errno = EAGAIN;
	assert_int_equal(err_set(-ENOENT, "%s: no such channel", "/x"), -ENOENT);
	assert_string_equal(err_why(), "/x: no such channel");
	assert_int_equal(err_prefix(-EIO, "subscribing"), -EIO);
	assert_string_equal(err_why(), "subscribing: /x: no such channel");
	err_set(-1, "again: %s", err_why());
	assert_string_equal(err_why(), "again: subscribing: /x: no such channel");
	assert_int_equal(err_sys(-ENOENT, "opening %d", 3), -ENOENT);
	assert_string_equal(err_why(), "opening 3: No such file or directory");
	assert_int_equal(errno, EAGAIN);
	err_clear();
	assert_string_equal(err_why(), "");
	err_prefix(-EPERM, "x");
	assert_string_equal(err_why(), "x: Operation not permitted");
	assert_string_equal(err_text(-12345), "unknown error");
}

TEST(err_truncates_long_messages)
{
	char big[2 * ERR_WHY_MAX];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_set(-1, "%s", big);
	assert_int_equal(strlen(err_why()), ERR_WHY_MAX - 1);
}
