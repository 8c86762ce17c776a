/* SPDX-License-Identifier: Apache-2.0 */
/* conf.h: tables, merging, origins, sentences. Thread: one. */
#include "tests/support/test.h"

#include "conf.h"
#include "err.h"
#include "fd.h"
#include "mem.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const policies[] = { "wait", "warn", "drop", NULL };

static const char *const words[] = { "auto", "most", NULL };

static const struct conf_key dispatch_keys[] = {
	{ .name = "wait_ms", .type = CONF_INT, .def = "100", .min = 0, .max = 60000 },
	{ .name = "policy", .type = CONF_CHOICE, .def = "\"wait\"", .choices = policies },
	{ .name = "room", .type = CONF_SIZE, .def = "\"4KiB\"", .min = 1, .max = 65536 },
	{ .name = "priority", .type = CONF_INT, .def = "\"auto\"", .min = 0, .max = 99, .choices = words },
	{ 0 },
};

static const struct conf_key bridge_keys[] = {
	{ .name = "name", .type = CONF_STRING, .required = true, .id = true, .max = 32 },
	{ .name = "plugin", .type = CONF_STRING, .required = true },
	{ .name = "channels", .type = CONF_STRINGS, .def = "[]", .max = 3 },
	{ .name = "options", .type = CONF_ANY },
	{ 0 },
};

static const struct conf_key pool_keys[] = {
	{ .name = "size", .type = CONF_SIZE, .required = true },
	{ .name = "count", .type = CONF_INT, .def = "8", .min = 1, .max = 1000 },
	{ 0 },
};

static const struct conf_key root[] = {
	{ .name = "enabled", .type = CONF_BOOL, .def = "true" },
	{ .name = "scale", .type = CONF_REAL, .def = "1.0", .min = 0, .max = 100 },
	{ .name = "user", .type = CONF_STRING },
	{ .name = "dispatch", .type = CONF_OBJECT, .sub = dispatch_keys },
	{ .name = "bridges", .type = CONF_LIST, .sub = bridge_keys, .max = 4 },
	{ .name = "pools", .type = CONF_LIST, .sub = pool_keys },
	{ 0 },
};

static int add(struct conf *c, const char *origin, const char *text)
{
	return conf_add_text(c, origin, text, strlen(text));
}

static struct conf *make(void);

TEST(a_number_may_be_given_as_a_word)
{
	static const struct {
		const char *text;
		int64_t is;
	} cases[] = { { "{}", -1 }, { "\"auto\"", -1 }, { "\"most\"", -2 }, { "7", 7 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf *c = make();

		if (i)
			assert_int_equal(conf_set(c, "dispatch.priority", cases[i].text, "--set"), 0);
		assert_int_equal(conf_finish(c), 0);
		assert_int_equal(conf_int(conf_root(c), "dispatch.priority"), cases[i].is);
		conf_destroy(c);
	}
}

static struct conf *make(void)
{
	struct conf *c;

	assert_int_equal(conf_create(root, &c), 0);
	return c;
}

TEST(unset_keys_have_their_defaults)
{
	struct conf *c = make();
	struct conf_view r;

	assert_int_equal(conf_finish(c), 0);
	r = conf_root(c);
	assert_true(conf_bool(r, "enabled"));
	assert_true(conf_real(r, "scale") == 1.0);
	assert_int_equal(conf_int(r, "dispatch.wait_ms"), 100);
	assert_int_equal(conf_int(r, "dispatch.room"), 4096);
	assert_int_equal(conf_choice(r, "dispatch.policy"), 0);
	assert_int_equal(conf_count(r, "bridges"), 0);
	assert_false(conf_has(r, "user"));
	assert_null(conf_string(r, "user"));
	assert_string_equal(conf_origin(r, "dispatch.wait_ms"), "default");
	assert_null(conf_origin(r, "user"));
	assert_int_equal(add(c, "late", "{}"), -EBUSY);
	conf_destroy(c);
	conf_destroy(NULL);
}

TEST(later_sources_win_and_are_named)
{
	struct conf *c = make();
	struct conf_view r, b;

	assert_int_equal(add(c, "a",
			     "{\"dispatch\":{\"wait_ms\":5,\"policy\":\"drop\"},\"pools\":[{\"size\":64}],"
			     "\"bridges\":[{\"name\":\"x\",\"plugin\":\"null\",\"options\":{\"k\":[1]}},"
			     "{\"name\":\"y\",\"plugin\":\"logging\",\"channels\":[\"/a\",\"/b\"]}]}"),
			 0);
	assert_int_equal(
		add(c, "b",
		    "{\"dispatch\":{\"wait_ms\":6},\"pools\":[{\"size\":\"1KiB\",\"count\":2},{\"size\":\"2KiB\"}],"
		    "\"bridges\":[{\"name\":\"z\",\"plugin\":\"ros1\"},{\"name\":\"x\",\"plugin\":\"ros2\"}]}"),
		0);
	assert_int_equal(conf_set(c, "dispatch.room", "2KiB", "command line"), 0);
	assert_int_equal(conf_set(c, "enabled", "false", "command line"), 0);
	assert_int_equal(conf_set(c, "user", "7", "command line"), 0); /* text where text is wanted */
	assert_int_equal(conf_finish(c), 0);
	r = conf_root(c);
	assert_int_equal(conf_int(r, "dispatch.wait_ms"), 6);
	assert_string_equal(conf_origin(r, "dispatch.wait_ms"), "b");
	assert_int_equal(conf_choice(r, "dispatch.policy"), 2);
	assert_string_equal(conf_origin(r, "dispatch.policy"), "a");
	assert_int_equal(conf_int(r, "dispatch.room"), 2048);
	assert_string_equal(conf_string(r, "user"), "7");
	assert_false(conf_bool(r, "enabled"));
	assert_int_equal(conf_count(r, "bridges"), 3);
	b = conf_item(r, "bridges", 0);
	assert_string_equal(conf_string(b, "name"), "x");
	assert_string_equal(conf_string(b, "plugin"), "ros2");
	assert_string_equal(conf_origin(b, "plugin"), "b");
	assert_int_equal(json_array_size(json_object_get(conf_any(b, "options"), "k")), 1);
	b = conf_item(r, "bridges", 1);
	assert_int_equal(conf_count(b, "channels"), 2);
	assert_string_equal(conf_string_at(b, "channels", 1), "/b");
	assert_string_equal(conf_string(conf_item(r, "bridges", 2), "name"), "z");
	assert_int_equal(conf_count(r, "pools"), 2); /* no id: replaced whole */
	assert_int_equal(conf_int(conf_item(r, "pools", 0), "size"), 1024);
	assert_int_equal(conf_int(conf_item(r, "pools", 1), "count"), 8);
	conf_destroy(c);
}

TEST(errors_name_file_and_key)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{\n\"enabled\": true\n\"scale\": 1}", "f.json:3: " },
		{ "", "f.json:1: " },
		{ "[]", "f.json: the file: is of type array, give an object" },
		{ "{\"enabled\":true,\"enabled\":true}", "f.json:1: duplicate object key" },
		{ "{\"dispatch\":{\"wait_sm\":1}}", "f.json: dispatch.wait_sm: unknown key; did you mean wait_ms?" },
		{ "{\"qqqqqqqqq\":1}", "f.json: qqqqqqqqq: unknown key" },
		{ "{\"dispatch\":{\"wait_ms\":70000}}", "f.json: dispatch.wait_ms: 70000 is out of range, 0 to 60000" },
		{ "{\"dispatch\":{\"wait_ms\":\"5\"}}",
		  "f.json: dispatch.wait_ms: is of type string, give a whole number" },
		{ "{\"dispatch\":{\"priority\":\"high\"}}",
		  "f.json: dispatch.priority: is neither \"auto\" nor a whole number, 0 to 99" },
		{ "{\"dispatch\":{\"priority\":100}}", "f.json: dispatch.priority: 100 is out of range, 0 to 99" },
		{ "{\"dispatch\":{\"priority\":1.5}}", "f.json: dispatch.priority: is neither" },
		{ "{\"dispatch\":{\"wait_ms\":1.5}}",
		  "f.json: dispatch.wait_ms: is of type number, give a whole number" },
		{ "{\"dispatch\":{\"wait_ms\":null}}", "is of type null" },
		{ "{\"dispatch\":7}", "f.json: dispatch: is of type integer, give an object" },
		{ "{\"dispatch\":{\"policy\":\"hope\"}}",
		  "f.json: dispatch.policy: \"hope\" is not one of wait, warn, drop" },
		{ "{\"dispatch\":{\"policy\":3}}", "is of type integer, give one of wait, warn, drop" },
		{ "{\"dispatch\":{\"room\":true}}", "give a size such as \"16MiB\"" },
		{ "{\"dispatch\":{\"room\":\"5x\"}}", "f.json: dispatch.room: \"5x\" is not a size" },
		{ "{\"dispatch\":{\"room\":\"1MiB\"}}", "1048576 bytes is out of range, 1 to 65536" },
		{ "{\"scale\":101}", "f.json: scale: 101 is out of range, 0 to 100" },
		{ "{\"enabled\":1}", "f.json: enabled: is of type integer, give true or false" },
		{ "{\"bridges\":[{\"plugin\":\"x\"}]}", "f.json: bridges[0]: name is required" },
		{ "{\"bridges\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "f.json: bridges[1]: name \"a\" appears twice" },
		{ "{\"bridges\":[{\"name\":\"a\",\"channels\":[\"x\",5]}]}",
		  "f.json: bridges[0].channels[1]: is of type integer" },
		{ "{\"bridges\":[{\"name\":\"a\",\"channels\":[\"1\",\"2\",\"3\",\"4\"]}]}", "has 4 items, at most 3" },
		{ "{\"bridges\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"},{\"name\":\"d\"},{\"name\":\"e\"}]}",
		  "f.json: bridges: has 5 items, at most 4" },
		{ "{\"bridges\":[{\"name\":\"0123456789012345678901234567890123\"}]}", "has 34 bytes, at most 32" },
		{ "{\"bridges\":{}}", "f.json: bridges: is of type object, give an array of objects" },
		{ "{\"bridges\":[5]}", "f.json: bridges[0]: is of type integer, give an object" },
		{ "{\"pools\":[{\"size\":-1}]}", "f.json: pools[0].size: -1 bytes is out of range" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct conf *c = make();

		if (add(c, "f.json", bad[i].text) != -EINVAL || !strstr(err_why(), bad[i].says))
			fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].text, err_why(), bad[i].says);
		/* a refused source leaves nothing behind */
		assert_int_equal(conf_finish(c), 0);
		assert_int_equal(conf_count(conf_root(c), "bridges"), 0);
		conf_destroy(c);
	}
}

TEST(missing_required_keys_are_reported)
{
	struct conf *c = make();

	assert_int_equal(add(c, "a", "{\"bridges\":[{\"name\":\"a\"}]}"), 0);
	assert_int_equal(conf_finish(c), -EINVAL);
	assert_string_equal(err_why(), "bridges[0].plugin is required and nothing sets it");
	assert_int_equal(add(c, "b", "{\"bridges\":[{\"name\":\"a\",\"plugin\":\"null\"}]}"), 0);
	assert_int_equal(conf_finish(c), 0);
	conf_destroy(c);
}

TEST(overrides_are_checked)
{
	struct conf *c = make();

	assert_int_equal(conf_set(c, "dispatch.nope", "1", "cmd"), -EINVAL);
	assert_string_equal(err_why(), "cmd: dispatch.nope: unknown key");
	assert_int_equal(conf_set(c, "dispatch.wait_ms", "x", "cmd"), -EINVAL);
	assert_int_equal(conf_set(c, "bridges.name", "x", "cmd"), -EINVAL);
	assert_int_equal(conf_set(c, "", "x", "cmd"), -EINVAL);
	assert_int_equal(conf_set(c, "user", "\xff", "cmd"), -EINVAL);
	assert_int_equal(conf_set(c, "dispatch", "{\"wait_ms\":3}", "cmd"), 0);
	assert_int_equal(conf_finish(c), 0);
	assert_int_equal(conf_int(conf_root(c), "dispatch.wait_ms"), 3);
	conf_destroy(c);
}

TEST(nesting_and_size_are_bounded)
{
	char deep[4 * CONF_DEPTH_MAX] = "", *big = mem_zalloc(CONF_FILE_MAX + 2);
	struct conf *c = make();

	for (int i = 0; i <= CONF_DEPTH_MAX; i++)
		strcat(deep, "[");
	assert_int_equal(add(c, "f", deep), -EINVAL);
	assert_non_null(strstr(err_why(), "nested deeper"));
	memset(big, ' ', CONF_FILE_MAX + 1);
	assert_int_equal(add(c, "f", big), -EFBIG);
	mem_free(big);
	conf_destroy(c);
}

TEST(fragments_come_in_lexical_order)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{ "d/20-b.json", "{\"dispatch\":{\"wait_ms\":20}}" },
		{ "d/10-a.json", "{\"dispatch\":{\"wait_ms\":10}}" },
		{ "d/.hidden.json", "broken" },
		{ "d/readme.txt", "broken" },
		{ "main.json", "{\"user\":\"me\"}" },
	};
	struct conf *c = make();
	char path[TEST_PATH_MAX];

	assert_int_equal(mkdir(test_path(path, "d"), 0755), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_int_equal(fd_write_file(test_path(path, files[i].name), files[i].text, strlen(files[i].text),
					       0644),
				 0);
	assert_int_equal(conf_add_file(c, test_path(path, "none.json")), -ENOENT);
	assert_int_equal(conf_add_file(c, test_path(path, "main.json")), 0);
	assert_int_equal(conf_add_dir(c, test_path(path, "d")), 0);
	assert_int_equal(conf_add_dir(c, test_path(path, "no-such-dir")), 0);
	assert_int_equal(conf_finish(c), 0);
	assert_int_equal(conf_int(conf_root(c), "dispatch.wait_ms"), 20);
	assert_string_equal(conf_origin(conf_root(c), "dispatch.wait_ms"), test_path(path, "d/20-b.json"));
	conf_destroy(c);
}

static json_t *entry(json_t *list, const char *key)
{
	json_t *e;
	size_t i;

	json_array_foreach(list, i, e)
		if (!strcmp(json_string_value(json_object_get(e, "key")), key))
			return e;
	fail_msg("%s is not listed", key);
	return NULL;
}

TEST(effective_values_are_listed)
{
	struct conf *c = make();
	json_t *list;

	assert_int_equal(add(c, "a", "{\"bridges\":[{\"name\":\"x\",\"plugin\":\"null\"}]}"), 0);
	assert_int_equal(conf_finish(c), 0);
	list = conf_effective(c);
	assert_string_equal(json_string_value(json_object_get(entry(list, "bridges[0].plugin"), "value")), "null");
	assert_string_equal(json_string_value(json_object_get(entry(list, "bridges[0].plugin"), "origin")), "a");
	assert_string_equal(json_string_value(json_object_get(entry(list, "dispatch.wait_ms"), "origin")), "default");
	assert_null(json_object_get(entry(list, "dispatch.wait_ms"), "default"));
	assert_true(json_is_null(json_object_get(entry(list, "bridges[0].plugin"), "default"))); /* it has none */
	json_decref(list);
	conf_destroy(c);
}

/* Every allocation may fail: an error and no leak, never a crash. */
TEST(every_allocation_may_fail)
{
	static const char text[] = "{\"dispatch\":{\"wait_ms\":5},\"bridges\":[{\"name\":\"x\",\"plugin\":\"null\"}],"
				   "\"pools\":[{\"size\":5}]}";
	struct mem_stats before, after;
	int failures = 0, r = -1;

	mem_adopt_jansson();
	mem_stats(&before);
	for (int n = 1; r < 0; n++) {
		struct conf *c = NULL;

		mem_fail_after(n);
		r = conf_create(root, &c);
		if (r == 0)
			r = add(c, "a", text);
		if (r == 0)
			r = conf_finish(c);
		if (r == 0)
			json_decref(conf_effective(c));
		mem_fail_after(0);
		failures += r < 0;
		conf_destroy(c);
		mem_stats(&after);
		assert_int_equal(after.blocks, before.blocks);
	}
	assert_true(failures > 50);
}
