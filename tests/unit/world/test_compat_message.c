/* SPDX-License-Identifier: Apache-2.0 */
/* compat_message.h: messages against those of protobuf itself, and the file of fields. Thread: the test's. */
#include "support/test.h"

#include "err.h"
#include "old_client.h"
#include "tools/world/compat_message.h"

static struct compat_fields usual;

static int begin(void **state)
{
	(void)state;
	compat_fields_default(&usual);
	return 0;
}
TEST_GROUP(begin, NULL)

static const struct old_vehicle car = { .x = 100, .y = -20, .z = 1.5, .yaw = 0.5, .speed = 7 };

TEST(messages_written_by_protobuf_are_read)
{
	uint8_t data[1 + OLD_SIZE];
	struct compat_vehicle v;

	assert_int_equal(old_update_of(99, &car, data), sizeof(data));
	assert_int_equal(compat_vehicle_read(&usual, data + 1, OLD_SIZE, &v), OLD_SIZE);
	assert_true(v.timestamp == 1466000000 && v.id == 99 && v.ch_time == 12.5 && v.speed == 7);
	assert_true(v.chassis.com[0] == 100 && v.chassis.com[1] == -20 && v.chassis.com[2] == 1.5);
	assert_true(v.chassis.rot[0] > 0.96 && v.chassis.rot[3] > 0.24 && v.chassis.rot[1] == 0);
	assert_true(
		v.wheels[0].com[1] >
		v.wheels[1].com[1]); /* left before right, with the original's numbers, which are the other way round */
	assert_true(usual.number[COMPAT_WHEEL_COM] == 7 && usual.number[COMPAT_WHEEL_COM + 1] == 6);
	assert_true(v.wheels[0].com[0] > 101 && v.wheels[2].com[0] < 99 && v.wheels[3].rot[3] == v.chassis.rot[3]);
}

TEST(written_messages_equal_those_of_protobuf)
{
	uint8_t data[1 + OLD_SIZE], again[COMPAT_SIZE_MAX];
	struct compat_vehicle v;

	(void)old_update_of(99, &car, data);
	assert_int_equal(compat_vehicle_read(&usual, data + 1, OLD_SIZE, &v), OLD_SIZE);
	assert_int_equal(compat_vehicle_write(&usual, &v, again), OLD_SIZE);
	assert_memory_equal(again, data + 1, OLD_SIZE);
	v.id = -1;
	v.timestamp = -1;
	assert_int_equal(compat_vehicle_write(&usual, &v, again), COMPAT_SIZE_MAX);
	assert_int_equal(compat_vehicle_read(&usual, again, COMPAT_SIZE_MAX, &v), COMPAT_SIZE_MAX);
	assert_true(v.id == -1 && v.timestamp == -1);
}

TEST(an_incomplete_message_is_waited_for)
{
	uint8_t data[1 + OLD_SIZE];
	struct compat_vehicle v;

	(void)old_update_of(1, &car, data);
	for (size_t n = 0; n < OLD_SIZE; n++)
		assert_int_equal(compat_vehicle_read(&usual, data + 1, n, &v), 0);
}

/* Another number of a field, another type, a length, a field twice: each is seen. Numbers and doubles may be any. */
TEST(invalid_messages_are_refused)
{
	uint8_t data[1 + OLD_SIZE];
	struct compat_vehicle v;
	unsigned bad = 0;

	for (size_t i = 0; i < 8 * OLD_SIZE; i++) {
		int r;

		(void)old_update_of(1, &car, data);
		data[1 + i / 8] ^= (uint8_t)(1u << i % 8);
		r = compat_vehicle_read(&usual, data + 1, OLD_SIZE, &v);
		bad += r == -EBADMSG;
		assert_true(r == -EBADMSG || (r >= 0 && r <= OLD_SIZE));
	}
	assert_true(bad >= 8 * (14 + 10 + 5 * 3 + 5 * 4)); /* all of tags and of lengths */
}

TEST(field_numbers_come_from_the_file)
{
	static const char text[] = "# as we found them\nspeed 2\n  vehicleId 4 # was 2\n\nMVector.x 3\nMVector.z 1";
	struct compat_fields f;
	struct compat_vehicle v = { .speed = 3, .id = 5, .chassis.com = { 1, 2, 3 } }, back;
	uint8_t data[COMPAT_SIZE_MAX];
	size_t len;

	assert_int_equal(compat_fields_read("f", text, strlen(text), &f), 0);
	len = compat_vehicle_write(&f, &v, data);
	assert_int_equal(data[2], 2 << 3 | 1); /* behind the timestamp */
	assert_int_equal(compat_vehicle_read(&f, data, len, &back), len);
	assert_true(back.speed == 3 && back.id == 5 && back.chassis.com[0] == 1 && back.chassis.com[2] == 3);
	assert_int_equal(compat_vehicle_read(&usual, data, len, &back), -EBADMSG);
}

TEST(a_bad_file_of_fields_is_named)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "speed 1\n", "f: timestamp and speed both have number 1" },
		{ "\nspee 4\n", "f:2: spee: no such field" },
		{ "speed\n", "f:1: speed: give a number from 1 to 15" },
		{ "speed 16\n", "f:1: speed: give a number from 1 to 15" },
		{ "speed 0\n", "f:1: speed: give a number from 1 to 15" },
		{ "speed 4 4\n", "f:1: speed: give a number from 1 to 15" },
		{ "speed 99999999999999999999\n", "f:1: speed: give a number from 1 to 15" },
		{ "MVector.x 2\n", "f: MVector.x and MVector.y both have number 2" },
	};
	char line[400];
	struct compat_fields f;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(compat_fields_read("f", bad[i].text, strlen(bad[i].text), &f), -EINVAL);
		if (strncmp(err_why(), bad[i].why, strlen(bad[i].why)))
			fail_msg("%s, not %s", err_why(), bad[i].why);
	}
	memset(line, ' ', sizeof(line));
	assert_int_equal(compat_fields_read("f", line, sizeof(line), &f), -EINVAL);
	assert_int_equal(compat_fields_read("f", "a\0b", 3, &f), -EINVAL);
	assert_int_equal(compat_fields_load("/nowhere/fields", &f), -ENOENT);
	assert_non_null(strstr(err_why(), "/nowhere/fields"));
}
