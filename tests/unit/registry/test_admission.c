/* SPDX-License-Identifier: Apache-2.0 */
/* Size classes: what is asked of RouDi, what is refused with the numbers, and admission. */
#include "tests/support/test.h"

#include <errno.h>
#include <string.h>

#include "config/config.h"
#include "registry/admission.h"
#include "err.h"

static int compute(const char *text, int64_t shm_free, struct pools *p)
{
	struct config_sources s = { .text = text };
	struct conf *c;
	int r;

	assert_int_equal(config_load(&s, &c), 0);
	r = pools_compute(c, shm_free, p);
	conf_destroy(c);
	return r;
}

TEST(the_ladder_ascends_and_fits)
{
	struct pools p;

	assert_int_equal(compute("{}", 4LL << 30, &p), 0);
	for (unsigned i = 0; i < p.n; i++) {
		assert_int_equal(p.c[i].size % 64, 0);
		assert_true(i == 0 || p.c[i].size > p.c[i - 1].size);
	}
	assert_true(2 * pools_bytes(&p) < 2LL << 30);
	/* an 8 MiB message fits the built-in ladder */
	assert_true(pools_class(&p, (8u << 20) + 128) >= 0);
}

TEST(a_small_machine_gets_a_shorter_ladder)
{
	struct pools full, little;

	assert_int_equal(compute("{}", 4LL << 30, &full), 0);
	assert_int_equal(compute("{}", 256LL << 20, &little), 0);
	assert_true(little.n < full.n && little.n >= 5);
	assert_true(2 * pools_bytes(&little) <= 256LL << 20);
	/* 64 MB, as in a plain container: not even the management of one life */
	assert_int_equal(compute("{}", 64 << 20, &little), -ENOSPC);
	assert_non_null(strstr(err_why(), "64 MiB"));
}

/* The formula of simd.json(5); that it is what a RouDi takes is for tests/system/stack. */
TEST(bytes_are_slots_and_management)
{
	struct pools p = { .n = 2, .c = { { .size = 1024, .count = 4000 }, { .size = 8 << 20, .count = 40 } } };

	assert_int_equal(pools_bytes(&p), (63 << 20) + 4000 * (1024 + 104) + 40 * ((8 << 20) + 104));
	p = (struct pools){ .n = 1, .c = { { .size = 2u << 30, .count = 1000000 } } };
	assert_true(pools_bytes(&p) > 1LL << 50);
	assert_int_equal(pools_bytes(&(struct pools){ 0 }), 63 << 20);
}

TEST(what_is_asked_for_is_not_shrunk)
{
	struct pools p;

	assert_int_equal(compute("{\"pools\": [{\"size\": \"8MiB\", \"count\": 100}]}", 1LL << 30, &p), -ENOSPC);
	assert_int_equal(compute("{\"pools\": [{\"size\": \"6MiB\", \"count\": 800}]}", -1, &p),
			 -EFBIG); /* above 4 GiB */
	assert_non_null(strstr(err_why(), "pool of 6291456-byte slots: 800 of them are 4800 MiB"));
	assert_non_null(strstr(err_why(), "above 4095 MiB; lower its count"));
	assert_int_equal(compute("{\"pools\": [{\"size\": 1024, \"count\": 1}, {\"size\": 1000, \"count\": 1}]}", -1,
				 &p),
			 -EINVAL);
	assert_int_equal(compute("{\"pools\": [{\"size\": 64, \"count\": 1}]}", -1, &p), -EINVAL);
	assert_int_equal(compute("{\"pools\": [{\"size\": \"1MiB\", \"count\": 2000}], \"pools_max\": \"1GiB\"}", -1,
				 &p),
			 -EFBIG);
}

TEST(rigs_grow_the_ladder)
{
	struct pools base, p;
	int cls;

	assert_int_equal(compute("{}", -1, &base), 0);
	assert_int_equal(
		compute("{\"rigs\": [{\"name\": \"r\", \"channels\": [{\"name\": \"raw\", \"max_body\": \"24MiB\"}]}]}",
			-1, &p),
		0);
	assert_int_equal(p.n, base.n + 1);
	cls = pools_class(&p, (24u << 20) + 128);
	assert_true(cls >= 0);
	assert_true(p.c[cls].count >= 2 + POOL_PER_PUBLISHER);
}

TEST(classes_and_windows)
{
	struct pools p;

	assert_int_equal(compute("{}", -1, &p), 0);
	assert_int_equal(pools_class(&p, 128), 0);
	assert_int_equal(pools_class(&p, 256), 1); /* with the alignment it is more than 256 */
	assert_int_equal(pools_class(&p, 1ull << 40), -EMSGSIZE);
	assert_int_equal(pools_window(200, 2047), 64);
	assert_int_equal(pools_window(1024, 2048), 128);
	assert_int_equal(pools_window(1025, 4096), 64);
	assert_true(pools_window(4u << 20, 40) <= 8 && pools_window(64u << 20, 16) == 2);
}

TEST(admission_is_by_what_fits)
{
	struct pools p;

	assert_int_equal(compute("{\"pools\": [{\"size\": 512, \"count\": 20}]}", -1, &p), 0);
	assert_int_equal(pools_reserve(&p, 0, 12, "a"), 0);
	assert_int_equal(pools_reserve(&p, 0, 9, "/x"), -ENOSPC);
	assert_non_null(strstr(err_why(), "/x needs 9"));
	assert_non_null(strstr(err_why(), "\"window\"")); /* which made it so many */
	assert_int_equal(pools_left(&p, 0), 8);
	pools_release(&p, 0, 12);
	assert_int_equal(pools_reserve(&p, 0, 20, "b"), 0);
}

/* So much of each, but a rig gets what it lists. */
TEST(a_user_has_its_part_of_a_pool)
{
	struct pools p;

	assert_int_equal(
		compute("{\"pools\": [{\"size\": 512, \"count\": 1000}, {\"size\": \"1MiB\", \"count\": 60}],"
			" \"rigs\": [{\"name\": \"r\", \"channels\": [{\"name\": \"a\", \"max_body\": 64, \"window\": 10},"
			" {\"name\": \"b\", \"max_body\": 500000, \"window\": 4, \"publishers\": 2},"
			" {\"name\": \"c\", \"max_body\": 600000, \"window\": 2}, {\"name\": \"d\"}]}]}",
			-1, &p),
		0);
	assert_int_equal(p.c[0].listed, 3 * 10 + 9 + 8);
	assert_int_equal(p.c[1].listed, 3 * 4 + 2 * 9 + 8 + 3 * 2 + 9 + 8);
	assert_int_equal(pools_part(&p, 0, 80), 800);
	assert_int_equal(pools_part(&p, 1, 80), p.c[1].listed);
	assert_int_equal(pools_part(&p, 1, 100), p.c[1].listed > 60 ? p.c[1].listed : 60);
}
