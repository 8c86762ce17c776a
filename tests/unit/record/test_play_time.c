/* SPDX-License-Identifier: Apache-2.0 */
/* Times and rates as users of `simctl play` write them. */
#include "support/test.h"

#include "simctl/play_time.h"
#include "timeutil.h"

#include <errno.h>

TEST(times_are_parsed)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{ "0", 100 },
		{ "12.5", 100 + 12500 * NS_PER_MS },
		{ ".25", 100 + 250 * NS_PER_MS },
		{ "1500ms", 100 + 1500 * NS_PER_MS },
		{ "2m", 100 + 120 * NS_PER_S },
		{ "@7.000000001", 7 * NS_PER_S + 1 },
		{ "1970-01-02", 86400 * NS_PER_S },
		{ "2023-11-14T22:13:20Z", 1700000000 * NS_PER_S },
		{ "2023-11-14 22:13:20.5", 1700000000 * NS_PER_S + 500 * NS_PER_MS },
		{ "2023-11-15T03:43:20+05:30", 1700000000 * NS_PER_S },
		{ "2023-11-14T20:13:20-02:00", 1700000000 * NS_PER_S },
	};
	static const char *const bad[] = { "",
					   "soon",
					   "12.5.1",
					   "@",
					   "@5s",
					   "-1",
					   "2023-11-14T22",
					   "2023-11-14T22:13:20X",
					   "5 s ",
					   "2023-11-14T22:13:99Z",
					   ".",
					   "2023-11-14T22:13:20+1" };
	int64_t ns;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (play_time_parse(good[i].text, 100, &ns) != 0)
			fail_msg("%s is refused", good[i].text);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (play_time_parse(bad[i], 100, &ns) != -EINVAL)
			fail_msg("%s is taken", bad[i]);
	assert_int_equal(play_time_parse("99999999999999999999", 0, &ns), -ERANGE);
	assert_int_equal(play_time_parse("9000000000", INT64_MAX - 5, &ns), -ERANGE);
	assert_int_equal(play_time_parse("1950-01-01", 0, &ns), -ERANGE);
}

TEST(rates_are_parsed)
{
	int64_t e6;

	assert_int_equal(play_rate_parse("2", &e6), 0);
	assert_int_equal(e6, 2000000);
	assert_int_equal(play_rate_parse("0.5x", &e6), 0);
	assert_int_equal(e6, 500000);
	assert_int_equal(play_rate_parse("0", &e6), -ERANGE);
	assert_int_equal(play_rate_parse("-1", &e6), -ERANGE);
	assert_int_equal(play_rate_parse("1e9", &e6), -ERANGE);
	assert_int_equal(play_rate_parse("nan", &e6), -EINVAL);
	assert_int_equal(play_rate_parse("fast", &e6), -EINVAL);
	assert_int_equal(play_rate_parse("", &e6), -EINVAL);
}
