/* SPDX-License-Identifier: Apache-2.0 */
/* simd's configuration: rules beyond the table, rigs from files, and one error text for each mistake. */
#include "tests/support/test.h"

#include <errno.h>
#include <string.h>

#include "config/config.h"
#include "err.h"
#include "fd.h"

#include <sim/types.h>

static int load_text(const char *text, struct conf **ret)
{
	struct config_sources s = { .text = text };

	return config_load(&s, ret);
}

TEST(the_configuration_has_all_defaults)
{
	struct conf *c;
	const char *name;

	assert_int_equal(load_text("{}", &c), 0);
	assert_int_equal(config_time_source(c, &name), SIM_SOURCE_UNITY);
	assert_int_equal(conf_int(conf_root(c), "clock.rate_hz"), 100);
	assert_int_equal(conf_int(conf_root(c), "clock.priority"), -1); /* auto */
	assert_int_equal(conf_count(conf_root(c), "rigs"), 0);
	conf_destroy(c);
}

#define POOL  "{\"size\": 1024, \"count\": 1},"
#define POOLS POOL POOL POOL POOL POOL POOL POOL POOL

TEST(errors_are_named)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{\"dispatch\": {\"wait_sm\": 5}}", "wait_sm" },
		{ "{\"dispatch\": {\"wait_ms\": \"long\"}}", "dispatch.wait_ms" },
		{ "{\"dispatch\": {\"wait_ms\": -1}}", "dispatch.wait_ms" },
		{ "{\"TimeScale\": 200}", "TimeScale" },
		{ "{\"TimeScale\": 0.001}", "TimeScale" },
		{ "{\"TimeSource\": 9}", "TimeSource" },
		{ "{\"TimeSource\": []}", "TimeSource" },
		{ "{\"socket\": {\"mode\": \"rw\"}}", "socket.mode" },
		{ "{\"socket\": {\"mode\": \" 660\"}}", "socket.mode" },
		{ "{\"socket\": {\"mode\": \"-1777777777777777777120\"}}", "socket.mode" }, /* as 64 bits wrap, 0660 */
		{ "{\"rigs\": [{}]}", "name" },
		{ "{\"rigs\": [{\"name\": \"a b\"}]}", "a b" },
		{ "{\"rigs\": [{\"name\": \"a\", \"prefix\": \"x,y\"}]}", "prefix" },
		{ "{\"rigs\": [{\"name\": \"a\", \"channels\": [{\"name\": \"x y\"}]}]}", "x y" },
		{ "{\"rigs\": [{\"name\": \"a\", \"channels\": [{\"name\": \"x\", \"window\": 129}]}]}", "window" },
		{ "{\"rigs\": [{\"name\": \"a\", \"bridges\": [{\"name\": \"b\"}]}]}", "plugin" },
		{ "{\"rigs\": [{\"name\": \"a\", \"bridges\": [{\"name\": \"b\", \"plugin\": \"p\", \"options\": 3}]}]}",
		  "options" },
		{ "{\"rigs\": [{\"name\": \"a\", \"processes\": [{\"name\": \"p\", \"command\": []}]}]}", "command" },
		{ "{\"rigs\": [{\"name\": \"a\", \"wait_for\": [\"b\", \"/c\"]}]}", "rigs[a].wait_for: \"/c\"" },
		{ "{\"rigs\": [{\"name\": \"a\", \"processes\": [{\"name\": \"p\", \"command\": [\"x\"], \"env\": {\"A=B\": \"c\"}}]}]}",
		  "env" },
		{ "{\"rigs\": [{\"name\": \"a\", \"bridges\": [{\"name\": \"b\", \"plugin\": \"p\"}]}, "
		  "{\"name\": \"c\", \"bridges\": [{\"name\": \"b\", \"plugin\": \"p\"}]}]}",
		  "rig a" },
		{ "{\"pools\": [" POOLS POOLS POOLS POOLS "{\"size\": 2048, \"count\": 1}]}",
		  "pools: has 33 items, at most 32 are allowed" },
		{ "{\"limits\": {\"publishers\": 501}}", "limits.publishers: 501 is out of range, 1 to 500" },
		{ "{\"dispatch\": {\"lanes\": 65}}", "dispatch.lanes: 65 is out of range, 0 to 64" },
		{ "{\"access\": {\"shutdown\": [\"root\", \"nobody-of-that-name\"]}}",
		  "text: access.shutdown: there is no user \"nobody-of-that-name\"" },
		{ "{\"access\": {\"drive\": [\"@no-such-group\"]}}",
		  "text: access.drive: there is no group \"no-such-group\"" },
		{ "{\"access\": {\"drive\": [\"4294967295\"]}}", "there is no user" },
		{ "{\"access\": {\"drive\": [\"\"]}}", "there is no user" },
		{ "{\"access\": {\"look\": []}}", "look" },
		{ "{\"rigs\": ", "text:1" },
	};
	struct conf *c;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_true(load_text(bad[i].text, &c) < 0);
		if (!strstr(err_why(), bad[i].says))
			fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].text, err_why(), bad[i].says);
	}
}

/* One rig of n bridges b0, b1, ... that list `each`, and one more, "last", with the prefix far, that lists `last`. */
static int load_bridges(unsigned n, const char *each, const char *last, const char *channels)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct conf *c;
	int r;

	fprintf(f, "{\"rigs\": [{\"name\": \"car\", \"prefix\": \"car\", \"channels\": [%s], \"bridges\": [", channels);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%s{\"name\": \"b%u\", \"plugin\": \"p\", \"channels\": [%s]}", i ? "," : "", i, each);
	fprintf(f,
		"]}, {\"name\": \"far\", \"prefix\": \"far\", \"bridges\": [{\"name\": \"last\", \"plugin\": \"p\", "
		"\"channels\": [%s]}]}]}",
		last);
	fclose(f);
	r = load_text(text, &c);
	if (r == 0)
		conf_destroy(c);
	free(text);
	return r;
}

TEST(a_channel_has_at_most_sixteen_bridges)
{
	assert_int_equal(load_bridges(16, "\"*\"", "\"*\"", ""), 0);
	assert_int_equal(load_bridges(15, "\"*\"", "\"/car/imu\"", ""), 0);
	assert_int_equal(load_bridges(16, "\"*\"", "\"/car/imu\"", ""), -E2BIG);
	assert_non_null(strstr(err_why(), "channel /car/imu: 17 bridges list it, at most 16 can carry it (b0, b1, b2"));
	assert_non_null(strstr(err_why(), "b15, last): take it out of some, with \"!/car/imu\" in their \"channels\""));
	assert_int_equal(load_bridges(16, "\"*\", \"!imu\"", "\"/car/imu\"", ""), 0);
	/* all future bridges, and those with settings of their own */
	assert_int_equal(load_bridges(17, "\"*\"", "\"*\"", ""), -E2BIG);
	assert_non_null(strstr(err_why(), "channel /car/*: 17 bridges"));
	assert_int_equal(load_bridges(16, "\"i*\"", "\"/*u\"", ""), 0);
	assert_int_equal(load_bridges(16, "\"i*\"", "\"/*u\"", "{\"name\": \"imu\"}"), -E2BIG);
	/* time is no channel of dispatch */
	assert_int_equal(load_bridges(40, "\"/clock\"", "\"/clock\"", ""), 0);
	assert_int_equal(load_bridges(63, "\"x\", \"!*\"", "\"*\"", ""), 0);
	assert_int_equal(load_bridges(64, "\"x\", \"!*\"", "\"*\"", ""), -E2BIG);
	assert_non_null(strstr(err_why(), "65 bridges, at most 64"));
}

TEST(numbers_as_awsim_writes_them_are_accepted)
{
	static const int sources[] = { SIM_SOURCE_UNITY, SIM_SOURCE_SS2, SIM_SOURCE_SYSTEM, SIM_SOURCE_SIMULATION,
				       SIM_SOURCE_ROS2 };
	char text[64];

	for (int i = 0; i < 5; i++) {
		struct conf *c;
		const char *name;

		snprintf(text, sizeof(text), "{\"TimeSource\": %d}", i);
		assert_int_equal(load_text(text, &c), 0);
		assert_int_equal(config_time_source(c, &name), sources[i]);
		conf_destroy(c);
	}
}

TEST(rigs_are_read_from_files)
{
	static const char one[] = "{\n\"name\": \"one\", \"prefix\": \"/one\"\n}\n",
			  two[] = "{\"rigs\": [{\"name\": \"two\"}]}",
			  broken[] = "{\n\"name\": \"bad\",\n\"prefix\": }\n";
	char p1[TEST_PATH_MAX], p2[TEST_PATH_MAX], p3[TEST_PATH_MAX];
	const char *rigs[] = { test_path(p1, "one.json"), test_path(p2, "two.json") },
		   *sets[] = { "clock.rate_hz=250" };
	struct config_sources s = { .text = "{}", .rigs = rigs, .n_rigs = 2, .overrides = sets, .n_overrides = 1 };
	struct conf *c;

	assert_int_equal(fd_write_file(p1, one, strlen(one), 0600), 0);
	assert_int_equal(fd_write_file(p2, two, strlen(two), 0600), 0);
	assert_int_equal(config_load(&s, &c), 0);
	assert_int_equal(conf_count(conf_root(c), "rigs"), 2);
	assert_string_equal(conf_string(conf_item(conf_root(c), "rigs", 0), "prefix"), "/one");
	assert_int_equal(conf_int(conf_root(c), "clock.rate_hz"), 250);
	assert_string_equal(conf_origin(conf_root(c), "clock.rate_hz"), "--set");
	conf_destroy(c);

	/* a mistake in a wrapped rig is reported with the line it has in its file */
	assert_int_equal(fd_write_file(test_path(p3, "bad.json"), broken, strlen(broken), 0600), 0);
	rigs[1] = p3;
	assert_true(config_load(&s, &c) < 0);
	assert_non_null(strstr(err_why(), "bad.json:3"));
	rigs[1] = "/nonexistent/rig.json";
	assert_int_equal(config_load(&s, &c), -ENOENT);
	rigs[1] = p2;
	sets[0] = "nonsense";
	assert_int_equal(config_load(&s, &c), -EINVAL);
	remove(p1);
	remove(p2);
	remove(p3);
}
