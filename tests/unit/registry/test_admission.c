/* SPDX-License-Identifier: Apache-2.0 */
/* Size classes: the memory requested from RouDi, refusals with the numbers, and admission. */
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

TEST(the_ladder_ascends_to_the_limit_of_iceoryx)
{
	struct pools p;

	assert_int_equal(compute("{}", 64 << 20, &p), 0); /* docker's default: nothing has memory yet */
	for (unsigned i = 0; i < p.n; i++) {
		assert_int_equal(p.c[i].size % 64, 0);
		assert_true(i == 0 || p.c[i].size > p.c[i - 1].size);
		assert_true((p.c[i].size + POOL_CHUNK_HEADER) * p.c[i].count <= (uint64_t)POOL_BYTES_MAX);
		/* one channel of each size: its window, a publisher, a subscriber */
		assert_true(p.c[i].count >= POOL_WINDOW_LEAST + pools_per_publisher(&p, (int)i) + 3);
		/* no large message has a class more than half as large again */
		assert_true(i == 0 || p.c[i - 1].size < (1 << 20) || 2 * p.c[i].size <= 3 * p.c[i - 1].size);
	}
	/* what the bridges take; of so large slots iceoryx has seven */
	assert_int_equal(pools_body_class(&p, 512u << 20), p.n - 1);
	assert_int_equal(pools_per_publisher(&p, (int)p.n - 1), 2);
	assert_int_equal(pools_per_publisher(&p, pools_body_class(&p, 384u << 20)), 3);
	assert_int_equal(pools_per_publisher(&p, pools_body_class(&p, 256u << 20)), 9);
	assert_true(pools_bytes(&p) < 40 << 20);
	assert_int_equal(pools_need(&p) % (1 << 20), 0);
	assert_int_equal(compute("{}", 16 << 20, &p), -ENOSPC);
	assert_non_null(strstr(err_why(),
			       "of /dev/shm, 16 MiB are free; enlarge it (mount -o remount,size=... /dev/shm; "
			       "docker run --shm-size=...)"));
}

/* The formula of simd.json(5); tests/system/stack compares it with a real RouDi. */
TEST(bytes_include_slots_and_management)
{
	struct pools p = { .n = 2,
			   .c = { { .size = 1024, .count = 4000 }, { .size = 8 << 20, .count = 40 } },
			   .fixed = true };

	assert_int_equal(pools_bytes(&p), POOL_MGMT_BYTES + POOL_ASIDE_BYTES + 4000 * (1024 + 40 + 56 + 8) +
						  40 * ((8 << 20) + 40 + 56 + 8));
	p.c[1] = (struct pool_class){ .size = 2u << 30, .count = 1000000 };
	assert_true(pools_bytes(&p) > 1LL << 50);
	p = (struct pools){ .n = 1, .c = { { .size = 1024, .count = 4000, .reserved = 100, .committed = 50 } } };
	assert_int_equal(pools_bytes(&p),
			 POOL_MGMT_BYTES + POOL_ASIDE_BYTES + 4000 * 8 + (100 + POOL_OWN) * (1024 + 40 + 56));
	assert_int_equal(pools_committed_bytes(&p), 50 * (1024 + 40 + 56));
}

TEST(a_configured_list_of_pools_is_used_unchanged)
{
	struct pools p;

	assert_int_equal(compute("{\"pools\": [{\"size\": \"8MiB\", \"count\": 100}]}", 512 << 20, &p), -ENOSPC);
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

TEST(size_classes_and_windows_are_computed)
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

TEST(admission_depends_on_free_slots)
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

/* A user has a share of each pool, but a rig gets what it lists. */
TEST(a_user_has_a_quota_of_each_pool)
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
	assert_int_equal(pools_part_left(&p, 0, 80, 0, 0), 800);
	assert_int_equal(pools_part_left(&p, 0, 80, 790, 0), 10);
	assert_int_equal(pools_part_left(&p, 0, 80, 801, 0), 0);
	assert_int_equal(pools_part_left(&p, 1, 80, 0, 0), p.c[1].listed);
}

/* ---- memory by need ---- */

/* A /dev/shm of so much, which others fill. */
struct shm {
	int64_t free;
	struct pools *p;
	uint32_t has[POOLS_MAX];
};

static int commit(void *arg, unsigned cls, uint32_t slots)
{
	struct shm *shm = arg;
	int64_t bytes = ((int64_t)slots - shm->has[cls]) * pools_slot_bytes(shm->p, (int)cls);

	if (bytes <= 0)
		return 0;
	if (bytes > shm->free)
		return -ENOSPC;
	shm->free -= bytes;
	shm->has[cls] = slots;
	return 0;
}

static int64_t room(void *arg, const char **ret_whose)
{
	*ret_whose = "/dev/shm";
	return ((struct shm *)arg)->free;
}

static int64_t aside(void *arg)
{
	(void)arg;
	return POOL_ASIDE_BYTES;
}

static const struct pool_memory memory = { commit, aside, room };

static void begin(struct pools *p, struct shm *shm, const char *text, int64_t bytes)
{
	assert_int_equal(compute(text, -1, p), 0);
	*shm = (struct shm){ .free = bytes, .p = p };
	p->memory = &memory;
	p->memory_arg = shm;
	assert_int_equal(pools_begin(p), 0);
}

TEST(admitted_slots_have_memory)
{
	struct pools p;
	struct shm shm;
	int cls;

	begin(&p, &shm, "{}", 200 << 20);
	assert_int_equal(shm.has[0], POOL_OWN);
	cls = pools_class(&p, 6220928);
	assert_int_equal(pools_left(&p, cls), shm.free / pools_slot_bytes(&p, cls));
	assert_int_equal(pools_reserve(&p, cls, 17, "/camera"), 0);
	assert_int_equal(shm.has[cls], 17);
	assert_int_equal(p.c[cls].committed, 17);
	assert_int_equal(pools_reserve(&p, cls, 17, "/other"), -ENOSPC);
	assert_non_null(strstr(err_why(), "/other needs 17 slots of up to"));
	assert_non_null(strstr(err_why(), "/dev/shm has "));
	assert_non_null(strstr(err_why(), " MiB left (mount -o remount,size=... /dev/shm; docker run --shm-size=...)"));
	assert_int_equal(shm.has[cls], 17);
	assert_int_equal(pools_left(&p, cls), shm.free / pools_slot_bytes(&p, cls));
	assert_int_equal(pools_reserve(&p, cls, pools_left(&p, cls), "/less"), 0);
}

/* A client may still hold slots whose reservation has ended, so the next publisher gets other slots. */
TEST(released_slots_count_until_they_are_free)
{
	struct pools p;
	struct shm shm;

	begin(&p, &shm, "{}", 200 << 20);
	assert_int_equal(pools_reserve(&p, 5, 20, "/x"), 0);
	pools_release(&p, 5, 20);
	assert_int_equal(p.c[5].leaving, 20);
	assert_int_equal(pools_reserve(&p, 5, 20, "/x"), 0);
	assert_int_equal(shm.has[5], 40);
	pools_settle(&p, 5, 3);
	pools_release(&p, 5, 20);
	pools_settle(&p, 5, 0);
	assert_int_equal(p.c[5].leaving, 0);
	assert_int_equal(pools_left(&p, 5), 40 + shm.free / pools_slot_bytes(&p, 5));
	assert_int_equal(pools_reserve(&p, 5, 40, "/y"), 0);
	assert_int_equal(shm.has[5], 40);
}

TEST(a_new_generation_has_memory_for_admitted_slots)
{
	struct pools p;
	struct shm shm;

	begin(&p, &shm, "{}", 100 << 20);
	assert_int_equal(pools_reserve(&p, 6, 40, "/x"), 0);
	pools_release(&p, 6, 10);
	pools_end(&p);
	assert_int_equal(pools_committed_bytes(&p), 0);
	shm = (struct shm){ .free = 40 << 20, .p = &p };
	assert_int_equal(pools_begin(&p), 0);
	assert_int_equal(shm.has[6], 30);
	pools_end(&p);
	shm = (struct shm){ .free = 20 << 20, .p = &p };
	assert_int_equal(pools_begin(&p), -ENOSPC);
}

/* Memory of clients that a killed simd had admitted can be reserved once more where no other is free. */
TEST(memory_of_an_earlier_simd_is_found)
{
	struct pools p;
	struct shm shm;

	begin(&p, &shm, "{}", 100 << 20);
	pools_end(&p);
	p.found = true;
	shm.has[6] = 30;
	shm.free = 0;
	assert_int_equal(pools_begin(&p), 0);
	assert_int_equal(pools_reserve(&p, 6, 30, "/x"), 0);
	assert_int_equal(pools_reserve(&p, 6, 1, "/y"), -ENOSPC);
}

TEST(pools_max_bounds_the_committed_memory)
{
	struct pools p;
	struct shm shm;

	begin(&p, &shm, "{\"pools_max\": \"64MiB\"}", 4LL << 30);
	assert_int_equal(pools_reserve(&p, 6, 50, "/x"), 0);
	assert_int_equal(pools_reserve(&p, 6, 50, "/y"), -ENOSPC);
	assert_non_null(strstr(err_why(), "pools_max allows 64 MiB; raise it"));
}

/* In bytes over all classes, as the memory itself is. */
TEST(a_user_has_a_quota_of_the_memory)
{
	struct pools p;
	struct shm shm;
	int64_t slot;

	begin(&p, &shm, "{}", 1000 << 20);
	slot = pools_slot_bytes(&p, 6);
	assert_in_range(pools_part_left(&p, 6, 50, 0, 0) * slot, (499 << 20) - slot, 500 << 20);
	assert_in_range(pools_part_left(&p, 6, 50, 0, 400 << 20) * slot, (99 << 20) - slot, 100 << 20);
	assert_int_equal(pools_part_left(&p, 6, 50, 0, 600 << 20), 0);
	begin(&p, &shm, "{\"rigs\": [{\"name\": \"r\", \"channels\": [{\"name\": \"a\", \"max_body\": \"8MiB\"}]}]}",
	      100 << 20);
	assert_in_range(pools_part_left(&p, 6, 1, 0, 0) * slot, pools_listed_bytes(&p) - slot, pools_listed_bytes(&p));
}
