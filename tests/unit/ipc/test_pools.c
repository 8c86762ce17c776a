/* SPDX-License-Identifier: Apache-2.0 */
/* pools: what RouDi would abort on, overlap, or die of is refused with the numbers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pools.h"

static char why[256];

static int check(const struct ipc_pool_spec *p, size_t n, unsigned int lives, uint64_t shm)
{
	why[0] = '\0';
	return ipc_pools_check(p, n, lives, shm, why, sizeof(why));
}

static void test_good(void **state)
{
	const struct ipc_pool_spec p[] = { { 64, 1 }, { 128, 10 }, { 25165824, 24 } };

	(void)state;
	assert_int_equal(check(p, 3, 2, 0), 0);
	assert_string_equal(why, "");
}

static void test_order_and_multiples(void **state)
{
	const struct ipc_pool_spec unordered[] = { { 128, 1 }, { 64, 1 } }, twice[] = { { 64, 1 }, { 64, 1 } };
	const struct ipc_pool_spec odd[] = { { 100, 1 } }, none[] = { { 64, 0 } }, zero[] = { { 0, 1 } };
	struct ipc_pool_spec many[33];

	(void)state;
	assert_int_equal(check(unordered, 2, 1, 0), -EINVAL);
	assert_non_null(strstr(why, "128"));
	assert_int_equal(check(twice, 2, 1, 0), -EINVAL);
	assert_int_equal(check(odd, 1, 1, 0), -EINVAL);
	assert_non_null(strstr(why, "multiple of 64"));
	assert_int_equal(check(none, 1, 1, 0), -EINVAL);
	assert_int_equal(check(zero, 1, 1, 0), -EINVAL);
	assert_int_equal(check(many, 0, 1, 0), -EINVAL);
	for (unsigned int i = 0; i < 33; i++)
		many[i] = (struct ipc_pool_spec){ 64ull * (i + 1), 1 };
	assert_int_equal(check(many, 32, 1, 0), 0);
	assert_int_equal(check(many, 33, 1, 0), -EINVAL);
	assert_non_null(strstr(why, "33"));
}

/* iceoryx multiplies in 32 bits: chunks of a larger pool overlap. The header of each chunk counts. */
static void test_pool_above_4_gib(void **state)
{
	const uint64_t size = (4ull << 30) / 1024 - 64;
	const struct ipc_pool_spec fits[] = { { size, 1024 } }, over[] = { { size, 1025 } },
				   huge[] = { { 5ull << 30, 1 } };
	const struct ipc_pool_spec facts[] = { { 6291456, 800 } };
	const struct ipc_pool_spec wraps[] = { { 1ull << 63, 2 } };

	(void)state;
	assert_int_equal(check(fits, 1, 1, 0), 0);
	assert_int_equal(check(over, 1, 1, 0), -E2BIG);
	assert_non_null(strstr(why, "1025"));
	assert_non_null(strstr(why, "1024")); /* what would fit */
	assert_int_equal(check(huge, 1, 1, 0), -E2BIG);
	assert_int_equal(check(facts, 1, 1, 0), -E2BIG);
	assert_int_equal(check(wraps, 1, 1, 0), -E2BIG);
}

static void test_shm_too_small(void **state)
{
	const struct ipc_pool_spec p[] = { { 1048576, 100 } };
	uint64_t one = ipc_pools_bytes(p, 1);

	(void)state;
	assert_true(one > 100 * 1048576ull + IPC_MGMT_BYTES);
	assert_true(one < 101 * 1048576ull + IPC_MGMT_BYTES);
	assert_int_equal(check(p, 1, 2, 2 * one), 0);
	assert_int_equal(check(p, 1, 2, 2 * one - 1), -ENOSPC);
	assert_non_null(strstr(why, "340 MiB"));
	assert_non_null(strstr(why, "/dev/shm"));
}

static void test_toml(void **state)
{
	const struct ipc_pool_spec p[] = { { 64, 10 }, { 4096, 3 } };
	char text[512];
	int n = ipc_pools_toml(p, 2, "sim", text, sizeof(text));

	(void)state;
	assert_string_equal(
		text, "[general]\nversion = 1\n\n[[segment]]\nreader = \"sim\"\nwriter = \"sim\"\n"
		      "\n[[segment.mempool]]\nsize = 64\ncount = 10\n\n[[segment.mempool]]\nsize = 4096\ncount = 3\n");
	assert_int_equal(n, strlen(text));
	assert_int_equal(ipc_pools_toml(p, 2, "sim", text, (size_t)n), -ENOBUFS);
	assert_true(ipc_pools_toml(p, 2, NULL, text, sizeof(text)) > 0);
	assert_null(strstr(text, "reader"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_order_and_multiples),
		cmocka_unit_test(test_pool_above_4_gib),
		cmocka_unit_test(test_shm_too_small),
		cmocka_unit_test(test_toml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
