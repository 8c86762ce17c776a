/* SPDX-License-Identifier: Apache-2.0 */
/* Loading plug-ins: the good one, and each way of being wrong. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "plugin.h"

static void refused(const char *kind, int expect, const char *word)
{
	struct plugin *p = NULL;
	int r = plugin_load(SHELF, kind, &p);

	assert_int_equal(r, expect);
	assert_null(p);
	if (!strstr(err_why(), word))
		fail_msg("%s: \"%s\" does not say \"%s\"", kind, err_why(), word);
}

TEST(bad_plugins_are_refused)
{
	refused("ABSENT", -ENOENT, "bridge_ABSENT.so");
	refused("SYMBOL", -ELIBBAD, "sim_bridge_plugin");
	refused("NOTHING", -ELIBBAD, "nothing");
	refused("ABI", -ELIBBAD, "bridge ABI 43, this simbridge speaks 2");
	refused("SIZE", -ELIBBAD, "has 24 bytes");
	refused("NULL", -ELIBBAD, "is NULL");
	refused("REG", -EDOM, "register");
}

TEST(a_plugin_is_loaded)
{
	struct plugin *p = NULL;

	assert_int_equal(plugin_load(SHELF, "GOOD", &p), 0);
	assert_string_equal(p->ops->name, "good");
	assert_true(plugin_carries(p, "sim/Imu"));
	assert_false(plugin_carries(p, "sim/Gps"));
	plugin_unload(p);
}

TEST(a_plugin_is_loaded_by_path)
{
	struct plugin *p = NULL;

	assert_int_equal(plugin_load("/nonexistent", SHELF "/bridge_GOOD.so", &p), 0);
	plugin_unload(p);
}

static int check(const struct plugin *p, const char *json)
{
	json_t *o = json_loads(json, 0, NULL);
	int r = plugin_check_options(p, o, NULL, NULL);

	json_decref(o);
	return r;
}

TEST(options_are_checked)
{
	struct plugin *p = NULL;
	json_t *o, *texts = json_object();

	assert_int_equal(plugin_load(SHELF, "GOOD", &p), 0);
	assert_int_equal(check(p, "{\"needed\":1}"), 0);
	assert_int_equal(check(p, "{}"), -EINVAL);
	assert_non_null(strstr(err_why(), "options.needed is required"));
	assert_int_equal(check(p, "{\"needed\":1,\"typo\":2}"), -EINVAL);
	assert_non_null(strstr(err_why(), "options.typo"));
	assert_int_equal(check(p, "{\"needed\":[1]}"), -EINVAL);
	assert_int_equal(check(p, "{\"needed\":null}"), -EINVAL);
	assert_string_equal(err_why(), "options.needed: must be a string, a number or a boolean");
	o = json_loads("{\"needed\":12,\"other\":true}", 0, NULL);
	assert_string_equal(plugin_option(p, o, "needed", texts), "12");
	assert_string_equal(plugin_option(p, o, "spare", texts), "7");
	assert_null(plugin_option(p, o, "other", texts));
	json_decref(o);
	json_decref(texts);
	plugin_unload(p);
}

/* Options whose default is an object or a list take one, and get it as text. */
TEST(structured_options_are_checked)
{
	static const char json[] = "{\"needed\":true,\"tree\":{\"b\":[1,0.5],\"a\":\"x\"},\"row\":[\"y\"]}";
	json_t *o = json_loads(json, 0, NULL), *texts = json_object();
	struct plugin *p = NULL;
	const char *tree;

	assert_int_equal(plugin_load(SHELF, "GOOD", &p), 0);
	assert_int_equal(plugin_check_options(p, o, NULL, NULL), 0);
	tree = plugin_option(p, o, "tree", texts);
	assert_string_equal(tree, "{\"b\":[1,0.5],\"a\":\"x\"}");
	assert_string_equal(plugin_option(p, o, "row", texts), "[\"y\"]");
	assert_string_equal(plugin_option(p, o, "needed", texts), "true");
	assert_ptr_equal(plugin_option(p, o, "tree", texts), tree); /* it is lent */
	json_decref(o);
	o = json_object();
	assert_string_equal(plugin_option(p, o, "tree", texts), "{}");
	json_decref(o);
	json_decref(texts);
	assert_int_equal(check(p, "{\"needed\":1,\"tree\":\"{}\"}"), -EINVAL);
	assert_string_equal(err_why(), "options.tree: must be an object");
	assert_int_equal(check(p, "{\"needed\":1,\"tree\":[]}"), -EINVAL);
	assert_int_equal(check(p, "{\"needed\":1,\"row\":{}}"), -EINVAL);
	assert_string_equal(err_why(), "options.row: must be a list");
	plugin_unload(p);
}
