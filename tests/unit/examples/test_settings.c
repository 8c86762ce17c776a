/* SPDX-License-Identifier: Apache-2.0 */
/* A component's configuration, right and wrong. */
#include "tests/support/test.h"

#include <errno.h>
#include <string.h>

#include "libclient/examples/perception/settings.h"

static double number;
static uint32_t count;
static char text[SETTING_TEXT_MAX], why[300];

static int from(const char *json)
{
	const struct setting s[] = { { "cell_m", SETTING_NUMBER, &number },
				     { "min_points", SETTING_COUNT, &count },
				     { "output", SETTING_TEXT, text } };

	number = 1;
	count = 2;
	strcpy(text, "old");
	*why = '\0';
	return settings_read(json, s, 3, why, sizeof(why));
}

TEST(given_keys_are_read_and_absent_ones_keep_their_value)
{
	assert_int_equal(from("{}"), 0);
	assert_true(number == 1 && count == 2 && !strcmp(text, "old"));
	assert_int_equal(from("{\"cell_m\": 0.5, \"min_points\": 7, \"output\": \"there\"}"), 0);
	assert_true(number == 0.5 && count == 7 && !strcmp(text, "there"));
	assert_int_equal(from("{\"cell_m\": 3}"), 0); /* a whole number is a number */
	assert_true(number == 3);
}

static void refused(const char *json, const char *words)
{
	assert_int_equal(from(json), -EINVAL);
	if (!strstr(why, words))
		fail_msg("\"%s\" does not say \"%s\"", why, words);
}

TEST(errors_are_reported)
{
	char json[300], cut[20];

	refused("{\n\"cell_m\": }", "line 2");
	refused("[1]", "not an object");
	refused("{\"cell\": 1}", "\"cell\": no such key; there are cell_m, min_points, output");
	refused("{\"cell_m\": \"1\"}", "\"cell_m\": not a number");
	refused("{\"min_points\": 1.5}", "\"min_points\": not a whole number");
	refused("{\"min_points\": -1}", "min_points");
	refused("{\"min_points\": 4294967296}", "min_points");
	refused("{\"output\": 1}", "\"output\": not a text");
	refused("{\"cell_m\": 1, \"cell_m\": 2}", "duplicate");
	snprintf(json, sizeof(json), "{\"output\": \"%0100d\"}", 0);
	refused(json, "output");
	snprintf(json, sizeof(json), "{\"%0200d\": 1}", 0);
	refused(json, "no such key");
	assert_int_equal(settings_read(json, NULL, 0, cut, sizeof(cut)), -EINVAL); /* however little room there is */
	assert_true(strlen(cut) < sizeof(cut));
}
