/* SPDX-License-Identifier: Apache-2.0 */
/* Loading converter plug-ins: the good one, each kind of bad one, and which of several is used. */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "converter.h"
#include "err.h"
#include "log.h"

static char said[4096];

static void keep_log(void *user, enum log_level level, const char *topic, const char *text)
{
	size_t n = strlen(said);

	(void)user;
	(void)level;
	(void)topic;
	snprintf(said + n, sizeof(said) - n, "%s\n", text);
}

static int load(struct converters **ret, const char *a, const char *b)
{
	json_t *names = json_array();
	int r;

	json_array_append_new(names, json_string(a));
	if (b)
		json_array_append_new(names, json_string(b));
	r = converters_load(SHELF, names, ret);
	json_decref(names);
	return r;
}

static void refused(const char *kind, int expect, const char *word)
{
	struct converters *c = NULL;
	int r = load(&c, "GOOD", kind);

	assert_int_equal(r, expect);
	assert_null(c);
	if (!strstr(err_why(), word))
		fail_msg("%s: \"%s\" does not say \"%s\"", kind, err_why(), word);
}

TEST(bad_converters_are_refused)
{
	refused("ABSENT", -ENOENT, "converter_ABSENT.so");
	refused("SYMBOL", -ELIBBAD, "sim_converter_plugin");
	refused("NOTHING", -ELIBBAD, "nothing");
	refused("ABI", -ELIBBAD, "converter ABI 42, this simbridge speaks 1");
	refused("SIZE", -ELIBBAD, "its table has 8 bytes");
	refused("NAME", -ELIBBAD, "no name");
	refused("EMPTY", -ELIBBAD, "no converters");
	refused("ONE", -ELIBBAD, "converter 0 has 16 bytes");
	refused("TYPE", -ELIBBAD, "has no type");
	refused("FOREIGN", -ELIBBAD, "example/FloatArray does not name the foreign type");
	refused("WORD", -ELIBBAD, "\"test_msgs/Readings and more\"");
	refused("NEITHER", -ELIBBAD, "neither emit nor read");
}

TEST(converters_are_found_by_type)
{
	struct converters *c = NULL;
	const struct sim_converter *one;

	assert_int_equal(converters_load(SHELF, NULL, &c), 0);
	assert_null(converters_find(c, NULL, NULL, 0));
	converters_unload(c);
	assert_int_equal(load(&c, SHELF "/converter_GOOD.so", NULL), 0);
	one = converters_find(c, "example/FloatArray", NULL, 0);
	assert_non_null(one);
	assert_ptr_equal(converters_find(c, NULL, NULL, 0), one);
	assert_ptr_equal(converters_find(c, "example/FloatArray", "test_msgs/Readings", 0), one);
	assert_ptr_equal(converters_find(c, NULL, "test_msgs/msg/Readings", 0), one);
	assert_null(converters_find(c, NULL, NULL, 1));
	assert_null(converters_find(c, "example/FloatArra", NULL, 0));
	assert_null(converters_find(c, NULL, "test_msgs/Reading", 0));
	assert_null(converters_find(c, NULL, "test_msg/Readings", 0));
	assert_null(converters_find(NULL, NULL, NULL, 0));
	converters_unload(c);
	converters_unload(NULL);
}

TEST(the_first_matching_converter_is_used)
{
	struct converters *c = NULL;
	json_t *names = json_pack("[s, s]", SHELF "/converter_GOOD.so", SHELF "/converter_FAIL.so");

	log_set_handler(keep_log, NULL);
	assert_int_equal(converters_load("/nonexistent", names, &c), 0);
	log_set_handler(NULL, NULL);
	assert_non_null(strstr(said, "is converted by \"test\": that of \"test\", listed later, is not used"));
	assert_null(converters_find(c, NULL, NULL, 1));
	converters_unload(c);
	json_decref(names);
}
