/* SPDX-License-Identifier: Apache-2.0 */
/* JSON into messages: printed messages read back, and invalid input is refused with a reason. */
#include "support/test.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "err.h"
#include "probe/msg/Every.h"
#include "random_msg.h"
#include "sim/introspect.h"
#include "sim/msg/VehicleControl.h"

static _Alignas(64) uint8_t buf[1 << 16], again[1 << 16];

TEST(printed_messages_read_back)
{
	uint64_t seed = test_seed(7);

	for (int i = 0; i < 20; i++) {
		for (const struct sim_type *const *t = sim_type_builtins(); *t; t++) {
			size_t size = random_msg(&seed, *t, buf, sizeof(buf)), size2;
			char *a, *b;

			assert_int_equal(sim_msg_to_json_alloc(*t, buf, size, NULL, &a, NULL), 0);
			if (sim_msg_from_json(*t, a, strlen(a), again, sizeof(again), &size2) < 0)
				fail_msg("%s: %s: %s", (*t)->name, err_why(), a);
			assert_int_equal(sim_msg_check(*t, again, size2), 0);
			assert_int_equal(sim_msg_to_json_alloc(*t, again, size2, NULL, &b, NULL), 0);
			assert_string_equal(a, b);
			free(a);
			free(b);
		}
	}
}

static int from(const char *json)
{
	size_t size;

	return sim_msg_from_json(&probe_Every_type, json, strlen(json), buf, sizeof(buf), &size);
}

TEST(values_are_read)
{
	const struct probe_Every *m = (const struct probe_Every *)(void *)buf;
	uint32_t n;

	assert_int_equal(from("{}"), 0);
	assert_int_equal(m->i64, 0);
	assert_int_equal(
		from("{\"i64\":\"-9223372036854775808\",\"u64\":\"18446744073709551615\",\"i8\":-128.0,\"flag\":1,"
		     "\"f64\":null,\"f32\":3,\"text\":null,\"longs\":null,\"bytes\":[1,2,3],\"rgb\":\"AQID\"}"),
		0);
	assert_true(m->i64 == INT64_MIN);
	assert_true(m->u64 == UINT64_MAX);
	assert_int_equal(m->i8, -128);
	assert_int_equal(m->flag, 1);
	assert_true(isnan(m->f64));
	assert_true(m->f32 == 3.0f);
	assert_memory_equal(probe_Every_bytes(m, sizeof(buf), &n), "\1\2\3", 3);
	assert_memory_equal(m->rgb, "\1\2\3", 3);
	assert_int_equal(from("{\"bytes\":\"AQ==\"}"), 0);
	assert_int_equal(probe_Every_bytes(m, sizeof(buf), &n)[0], 1);
	assert_int_equal(n, 1);
}

/* Values that JSON has no numbers for come back exactly, also through a parser that knows only int64 and double. */
TEST(exact_values_are_kept)
{
	static const uint32_t f32[] = { 0x7f800000, 0xff800000, 0x7fc00000, 0x80000000,
					0x00000001, 0x7f7fffff, 0x3dcccccd };
	static const uint64_t f64[] = { 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x8000000000000000,
					0x0000000000000001, 0x7fefffffffffffff, 0x3fb999999999999a };
	static const uint64_t u64[] = { 0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX };
	const struct sim_json_options exact = { .exact = true };
	static uint8_t in[4096] __attribute__((aligned(64)));
	struct sim_builder b;
	struct probe_Every *m = probe_Every_init(in, sizeof(in), &b);
	const struct probe_Every *got = (const struct probe_Every *)(void *)buf;

	for (unsigned i = 0; i < 7; i++) {
		char *text, *parsed;
		json_t *j;

		memcpy(&m->f32, &f32[i], 4);
		memcpy(&m->f64, &f64[i], 8);
		m->u64 = u64[i % 5];
		m->i64 = i ? INT64_MIN : INT64_MAX;
		assert_int_equal(sim_msg_to_json_alloc(&probe_Every_type, in, sim_builder_size(&b), &exact, &text,
						       NULL),
				 0);
		j = json_loads(text, 0, NULL);
		assert_non_null(j);
		parsed = json_dumps(j, JSON_COMPACT);
		assert_int_equal(from(parsed), 0);
		assert_memory_equal(&got->f32, &f32[i], 4);
		assert_memory_equal(&got->f64, &f64[i], 8);
		assert_true(got->u64 == m->u64 && got->i64 == m->i64);
		free(parsed);
		free(text);
		json_decref(j);
	}
}

TEST(wrong_values_are_refused)
{
	static const struct {
		const char *json;
		int r;
		const char *why;
	} bad[] = {
		{ "{", -EINVAL, "at byte" },
		{ "[]", -EINVAL, "not an object" },
		{ "{\"nope\":1}", -EINVAL, "no field 'nope'" },
		{ "{\"i8\":128}", -ERANGE, "field 'i8': the number does not fit int8" },
		{ "{\"i8\":-129}", -ERANGE, "int8" },
		{ "{\"u8\":-1}", -ERANGE, "uint8" },
		{ "{\"u8\":256}", -ERANGE, "uint8" },
		{ "{\"u32\":1e30}", -ERANGE, "uint32" },
		{ "{\"i64\":\"9223372036854775808\"}", -ERANGE, "int64" },
		{ "{\"u64\":\"18446744073709551616\"}", -ERANGE, "uint64" },
		{ "{\"u64\":\"-1\"}", -ERANGE, "uint64" },
		{ "{\"i64\":\"--1\"}", -EINVAL, "a number expected" },
		{ "{\"i64\":\"-\"}", -EINVAL, "a number expected" },
		{ "{\"i64\":\"\"}", -EINVAL, "a number expected" },
		{ "{\"i8\":\"1\"}", -EINVAL, "a number expected" },
		{ "{\"i8\":1.5}", -EINVAL, "whole number" },
		{ "{\"i8\":true}", -EINVAL, "a number expected" },
		{ "{\"f32\":1e39}", -ERANGE, "float32" },
		{ "{\"f64\":\"1\"}", -EINVAL, "a number expected" },
		{ "{\"f64\":\"inf\"}", -EINVAL, "a number expected" },
		{ "{\"i8\":\"NaN\"}", -EINVAL, "a number expected" },
		{ "{\"text\":5}", -EINVAL, "a string expected" },
		{ "{\"leaf\":5}", -EINVAL, "an object expected" },
		{ "{\"leaf\":{\"name\":\"abcdef\"}}", -EMSGSIZE, "does not fit" },
		{ "{\"leaves\":{}}", -EINVAL, "an array expected" },
		{ "{\"four\":[1,2,3,4,5]}", -EMSGSIZE, "5 elements do not fit" },
		{ "{\"pair\":[{}]}", -EINVAL, "2 elements expected, not 1" },
		{ "{\"rgb\":\"AQI=\"}", -EINVAL, "3 elements expected, not 2" },
		{ "{\"bytes\":\"AQI\"}", -EINVAL, "base64" },
		{ "{\"bytes\":\"A*I=\"}", -EINVAL, "base64" },
		{ "{\"bytes\":\"====\"}", -EINVAL, "base64" },
		{ "{\"bytes\":[256]}", -ERANGE, "uint8" },
		{ "{\"i8\":1,\"i8\":2}", -EINVAL, "duplicate" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r = from(bad[i].json);

		if (r != bad[i].r || !strstr(err_why(), bad[i].why))
			fail_msg("%s: %d: %s", bad[i].json, r, err_why());
	}
}

TEST(a_small_buffer_is_refused)
{
	const char *json = "{\"longs\":[1,2,3,4],\"text\":\"hello\"}";
	size_t size, needed;

	assert_int_equal(sim_msg_from_json(&probe_Every_type, json, strlen(json), buf, sizeof(buf), &needed), 0);
	for (size_t room = 0; room < needed; room++)
		assert_int_equal(sim_msg_from_json(&probe_Every_type, json, strlen(json), buf, room, &size), -ENOBUFS);
	assert_int_equal(sim_msg_from_json(&probe_Every_type, json, strlen(json), buf, needed, &size), 0);
	assert_int_equal(sim_msg_from_json(&probe_Every_type, json, strlen(json), buf + 1, 4096, &size), -ENOBUFS);
	assert_int_equal(sim_msg_from_json(NULL, json, strlen(json), buf, 4096, &size), -EINVAL);
}
