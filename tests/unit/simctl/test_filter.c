/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: conditions on messages. Thread: the test's. */
#include "support/test.h"

#include <errno.h>

#include "filter.h"

static _Alignas(64) uint8_t body[65536];

static size_t fill(const struct sim_type *type, const char *json)
{
	size_t size = 0;

	assert_int_equal(sim_msg_from_json(type, json, strlen(json), body, sizeof(body), &size), 0);
	return size;
}

static bool passes(const char *type_name, const char *json, const char *text)
{
	const struct sim_type *type = sim_type_builtin(type_name);
	const struct sim_slot header = { .sequence = 7, .stamp_sim_ns = 2500000000, .frame_id = "base" };
	const size_t size = fill(type, json);
	struct filter *f;
	char why[512] = "";
	bool ret;

	if (filter_create(type, text, why, &f) < 0)
		fail_msg("%s: %s", text, why);
	ret = filter_pass(f, &header, body, size);
	filter_destroy(f);
	return ret;
}

static bool can(const char *text)
{
	return passes("sim/CanBus", "{\"speed\":3.5,\"parking_brake\":true,\"gear\":2}", text);
}

static bool objects(const char *text)
{
	return passes("sim/Detected3DObjects",
		      "{\"objects\":[{\"id\":4,\"label\":\"Sedan\",\"heading\":1},"
		      "{\"id\":9,\"label\":\"Pedestrian\"}]}",
		      text);
}

TEST(fields_are_compared)
{
	assert_true(can("speed > 3") && can("speed>=3.5") && can("speed == 3.5") && can("speed != 3"));
	assert_false(can("speed < 3") || can("speed <= 3.4") || can("speed == 3") || can("speed > 3.5"));
	assert_true(can("speed < 1e3") && can("speed > -1"));
	assert_true(can("parking_brake") && can("parking_brake == true") && !can("parking_brake == false"));
}

TEST(conditions_can_be_combined)
{
	assert_true(can("speed > 3 && speed < 4") && !can("speed > 3 && speed < 3.2"));
	assert_true(can("speed > 9 || speed < 4") && !can("speed > 9 || speed < 2"));
	assert_true(can("speed < 1 && speed < 2 || speed > 3")); /* && binds tighter */
	assert_false(can("speed < 1 && (speed < 2 || speed > 3)"));
	assert_true(can("!speed == 1 && !!(speed > 3)"));
	assert_true(can("! ( speed > 3 && speed > 9 )"));
}

TEST(array_elements_can_be_addressed)
{
	assert_true(objects("objects[1].id == 9") && objects("objects[0].label == 'Sedan'"));
	assert_false(objects("objects[2].id == 0") || objects("objects[2].id != 0")); /* there is none */
	assert_true(objects("#objects == 2") && objects("#objects[1].label == 10") && !objects("#objects > 2"));
	assert_true(objects("objects") && objects("objects[1]") && !objects("objects[2]"));
	assert_true(objects("objects[0].label < \"Sedap\"") && objects("objects[0].label > 'Seda'"));
	assert_true(objects("objects[0].label != 'Sedans'") && !objects("objects[0].label == 'sedan'"));
}

TEST(an_array_passes_if_one_element_does)
{
	const char *scan = "{\"ranges\":[3,0.25,8]}";

	assert_true(passes("sim/LaserScan", scan, "ranges < 0.5") && !passes("sim/LaserScan", scan, "ranges < 0.2"));
	assert_true(passes("sim/LaserScan", scan, "#ranges == 3 && ranges[2] == 8"));
	assert_false(passes("sim/LaserScan", "{}", "ranges < 1000000"));
}

TEST(header_fields_can_be_used)
{
	assert_true(can("@sequence == 7") && can("@stamp == 2.5") && can("@frame == 'base'") &&
		    !can("@frame == 'bas'"));
	assert_true(can("@frame"));
}

static void is_wrong(const char *text, const char *part)
{
	struct filter *f;
	char why[512] = "";

	assert_int_equal(filter_create(sim_type_builtin("sim/CanBus"), text, why, &f), -EINVAL);
	if (!strstr(why, part))
		fail_msg("%s: \"%s\", not \"%s\"", text, why, part);
}

TEST(errors_are_named_with_their_position)
{
	static char deep[100], lots[2000];

	is_wrong("", "at character 1: a field");
	is_wrong("spee > 3", "spee");
	is_wrong("speed >", "at character 8: a number, true, false or a string");
	is_wrong("speed > 'x'", "this field is not a string");
	is_wrong("speed > 3 4", "at character 11: unexpected text");
	is_wrong("(speed > 3", ") is missing");
	is_wrong("speed > 3)", "unexpected text");
	is_wrong("@frame > 3", "compare it with a string in quotes");
	is_wrong("@frame == 'x", "the string has no end");
	is_wrong("speed > 3 &&", "at character 13");
	is_wrong("speed = 3", "unexpected text");
	memset(deep, '(', sizeof(deep) - 1);
	is_wrong(deep, "too many brackets");
	memset(deep, '!', sizeof(deep) - 1);
	is_wrong(deep, "too many brackets");
	for (unsigned i = 0; i < 100; i++)
		strcat(lots, i ? "||speed" : "speed");
	is_wrong(lots, "the condition is too long");
}

/* Bodies that others wrote. */
TEST(a_string_outside_the_body_is_empty)
{
	const struct sim_type *type = sim_type_builtin("sim/String");
	const struct sim_slot header = { .sequence = 1 };
	struct sim_span span = { 60000, 60000 };
	struct filter *f;
	char why[512];

	assert_int_equal(filter_create(type, "data == 'x' || data != 'x'", why, &f), 0);
	(void)fill(type, "{\"data\":\"x\"}");
	memcpy(body, &span, sizeof(span));
	(void)filter_pass(f, &header, body, 65536);
	(void)filter_pass(f, &header, body, sizeof(span));
	assert_false(filter_pass(f, &header, body, 0));
	filter_destroy(f);
}
