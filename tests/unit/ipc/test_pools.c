/* SPDX-License-Identifier: Apache-2.0 */
/* pools: what they take, and how RouDi is told of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pools.h"

/* The formula of simd.json(5); that it is what a RouDi takes is for tests/system/stack. */
static void test_bytes(void **state)
{
	const struct ipc_pool_spec p[] = { { 1024, 4000 }, { 8 << 20, 40 } };

	(void)state;
	assert_int_equal(ipc_pools_bytes(p, 0), 63 << 20);
	assert_int_equal(ipc_pools_bytes(p, 2), (63 << 20) + 4000 * (1024 + 104) + 40 * ((8 << 20) + 104));
	assert_true(ipc_pools_bytes((const struct ipc_pool_spec[]){ { 2u << 30, 1000000 } }, 1) > UINT64_C(2) << 50 >>
		    4);
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
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_toml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
