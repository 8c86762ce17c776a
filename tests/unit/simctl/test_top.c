/* SPDX-License-Identifier: Apache-2.0 */
/* top without a terminal and without simd: states, rates, the screen for given replies, keys. */
#include "support/test.h"

#include <errno.h>

#include "simctl/simctl.h"
#include "simctl/top_view.h"
#include "timeutil.h"

#define LINES_MAX 64

static struct top_model model;
static struct top_view view;
static char lines[LINES_MAX][512];
static enum top_tone tones[LINES_MAX];
static int drawn;

static int setup(void **state)
{
	(void)state;
	view = (struct top_view){ 0 };
	top_model_init(&model, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	top_model_finish(&model);
	return 0;
}

/* channels: JSON between the brackets of a list */
static void take(double at_s, const char *channels)
{
	char text[4096];
	struct top_sample s = { .mono_ns = (int64_t)(at_s * 1e9) };

	snprintf(text, sizeof(text), "{\"channels\":[%s]}", channels);
	s.channels = json_loads(text, 0, NULL);
	assert_non_null(s.channels);
	s.info = json_pack("{s:s, s:i, s:[{s:i, s:i, s:i, s:i, s:i, s:[{s:s, s:i}, {s:s, s:i}]}]}", "version", "9",
			   "uptime_ms", 7000, "pools", "size", 1024, "count", 10, "used", 8, "reserved", 9, "peak", 9,
			   "holders", "channel", "/camera", "slots", 5, "channel", "/lidar", "slots", 3);
	s.clock = json_pack("{s:{s:s, s:f, s:f, s:b, s:I}}", "clock", "source", "system", "scale", 1.0,
			    "real_time_factor", 0.5, "started", 1, "sim_ns", (json_int_t)3120000000);
	top_model_take(&model, &s);
}

static void keep(void *unused, int row, const char *text, enum top_tone tone, bool selected)
{
	(void)unused;
	assert_int_equal(row, drawn);
	assert_true(row < LINES_MAX);
	snprintf(lines[row], sizeof(lines[row]), "%s%s", text, selected ? " <" : "");
	tones[row] = tone;
	drawn++;
}

static void draw(int columns, int rows)
{
	struct top_screen s = { columns, rows, keep, NULL };

	drawn = 0;
	top_draw(&view, &model, &s);
	assert_true(!rows || drawn == rows);
}

static int line_with(const char *text)
{
	for (int i = 0; i < drawn; i++)
		if (strstr(lines[i], text))
			return i;
	fail_msg("no line has \"%s\"", text);
	return -1;
}

static const char *state_of(const char *channel, double period_s)
{
	json_t *ch = json_loads(channel, 0, NULL), *k = json_object();
	const char *state = top_channel_state(ch, period_s, k);

	json_decref(ch);
	json_decref(k);
	return state;
}

TEST(a_channel_is_late_relative_to_its_own_period)
{
	assert_string_equal(state_of("{\"age_ms\":null,\"publishers\":[]}", 0), "unused");
	assert_string_equal(state_of("{\"age_ms\":null,\"publishers\":[{}]}", 0), "never");
	assert_string_equal(state_of("{\"age_ms\":900}", 0.01), "flows");
	assert_string_equal(state_of("{\"age_ms\":1100}", 0.01), "late");
	assert_string_equal(state_of("{\"age_ms\":5200}", 0.01), "silent");
	assert_string_equal(state_of("{\"age_ms\":5200}", 2), "flows");
	assert_string_equal(state_of("{\"age_ms\":20000}", 2), "late");
}

TEST(a_channel_is_paused_when_its_clock_is)
{
	json_t *ch = json_pack("{s:i}", "age_ms", 60000), *k = json_pack("{s:b}", "paused", 1);

	assert_string_equal(top_channel_state(ch, 0.01, k), "paused");
	json_decref(ch);
	json_decref(k);
}

/* One message each four seconds, looked at each second: its period is known after two of them. */
TEST_WITH(a_slow_channel_is_not_late, setup, teardown)
{
	char text[128];

	for (int s = 0; s < 20; s++) {
		snprintf(text, sizeof(text), "{\"name\":\"/slow\",\"hz\":0,\"messages\":%d,\"age_ms\":%d}", 1 + s / 4,
			 s % 4 * 1000);
		take(100 + s, text);
		if (s >= 5)
			assert_string_equal(
				json_text(json_array_get(json_object_get(model.now.channels, "channels"), 0), "state"),
				"flows");
	}
}

TEST_WITH(drops_are_counted_in_total_and_since_the_last_update, setup, teardown)
{
	take(1,
	     "{\"name\":\"/a\",\"drops\":{\"timeout\":2,\"token\":1},\"age_ms\":1},{\"name\":\"/b\",\"drops\":{},\"age_ms\":1}");
	draw(80, 12);
	assert_int_equal(line_with("drops 3 (+0)  channels 2: 2 flow"), 1);
	assert_int_equal(tones[1], TOP_WARN);
	take(2,
	     "{\"name\":\"/a\",\"drops\":{\"timeout\":2,\"token\":1},\"age_ms\":1},{\"name\":\"/b\",\"drops\":{\"timeout\":5},\"age_ms\":1}");
	draw(80, 12);
	line_with("drops 8 (+5)");
	assert_int_equal(tones[1], TOP_BAD);
	assert_int_equal(tones[line_with("/a ")], TOP_GOOD);
	assert_int_equal(tones[line_with("/b ")], TOP_BAD);
	top_key(&view, &model, '3');
	draw(80, 12);
	line_with("drops 8 (+5)"); /* on every page */
	assert_int_equal(tones[line_with("1024")], TOP_WARN);
}

TEST_WITH(a_slow_clock_is_highlighted, setup, teardown)
{
	take(1, "");
	draw(80, 12);
	line_with("time 3.120000000");
	assert_int_equal(tones[line_with("RTF 0.500 of 1  system: running  simd 9 up 7 s")], TOP_WARN);
}

static const char abc[] =
	"{\"name\":\"/b\",\"type\":\"sim/Imu\",\"hz\":5},{\"name\":\"/c\",\"type\":\"sim/Imu\",\"hz\":9},"
	"{\"name\":\"/a\",\"type\":\"sim/Gps\",\"hz\":5}";

TEST_WITH(equal_rows_keep_their_order, setup, teardown)
{
	take(1, abc);
	draw(80, 12);
	assert_true(line_with("/a") < line_with("/b") && line_with("/b") < line_with("/c"));
	top_key(&view, &model, TOP_KEY_RIGHT);
	top_key(&view, &model, TOP_KEY_RIGHT);
	draw(80, 12);
	line_with("by HZ v");
	assert_true(line_with("/c") < line_with("/b") && line_with("/b") < line_with("/a"));
	top_key(&view, &model, TOP_KEY_LEFT);
	top_key(&view, &model, TOP_KEY_LEFT);
	top_key(&view, &model, TOP_KEY_LEFT);
	draw(80, 12);
	line_with("by TYPE");
}

TEST_WITH(a_filter_can_be_typed_and_removed, setup, teardown)
{
	take(1, abc);
	for (const char *k = "/gpx\b"; *k; k++)
		top_key(&view, &model, *k);
	top_key(&view, &model, 'S');
	draw(80, 12);
	line_with("rows that hold: gpS_");
	assert_int_equal(line_with("/a"), 4);
	assert_string_equal(lines[5], "");
	top_key(&view, &model, TOP_KEY_ENTER);
	top_key(&view, &model, 'q');
	assert_true(view.quit);
	top_key(&view, &model, TOP_KEY_ESCAPE);
	draw(80, 12);
	line_with("/b");
}

TEST_WITH(a_long_filter_stays_within_its_buffer, setup, teardown)
{
	take(1, abc);
	top_key(&view, &model, '/');
	for (int i = 0; i < 2 * TOP_FILTER_MAX; i++)
		top_key(&view, &model, 'x');
	assert_int_equal(strlen(view.filter), TOP_FILTER_MAX);
	for (int i = 0; i < 2 * TOP_FILTER_MAX; i++)
		top_key(&view, &model, 127);
	assert_string_equal(view.filter, "");
}

/* The selected row stays where it is when others come before it, and on the screen. */
TEST_WITH(a_small_screen_scrolls, setup, teardown)
{
	take(1, abc);
	top_key(&view, &model, TOP_KEY_END);
	draw(80, 7); /* room for two rows */
	assert_string_equal(lines[3], lines[line_with("CHANNEL  ")]);
	assert_true(!strncmp(lines[5], "/c", 2) && strstr(lines[5], " <"));
	top_key(&view, &model, TOP_KEY_HOME);
	draw(80, 7);
	assert_true(!strncmp(lines[4], "/a", 2) && strstr(lines[4], " <"));
	for (int rows = 1; rows < 7; rows++)
		draw(80, rows > 4 ? rows : 5);
}

TEST_WITH(pools_show_their_users, setup, teardown)
{
	take(1, "");
	view.tab = TOP_POOLS;
	draw(120, 8);
	assert_true(line_with("/camera 5, /lidar 3 and others") > 0);
}

TEST_WITH(everything_fits_80_columns, setup, teardown)
{
	take(1,
	     "{\"name\":\"/perception/object_recognition/detection/of_what_stands_and_moves/around_the_vehicle/objects\",\"type\":"
	     "\"sim/Detected3DObjects\",\"hz\":1000,\"bytes_per_s\":123456789,\"drops\":{\"timeout\":123456},\"age_ms\":123456,"
	     "\"publishers\":[{}]}");
	for (char tab = '1'; tab <= '5'; tab++) {
		top_key(&view, &model, tab);
		draw(80, 24);
		for (int i = 2; i < drawn; i++)
			if (strcspn(lines[i], "<") > 81)
				fail_msg("%zu columns: %s", strcspn(lines[i], "<"), lines[i]);
	}
	top_key(&view, &model, '1');
	draw(80, 24);
	line_with("_vehicle/objects");
	line_with(" 123456 ");
}

TEST(text_width_is_counted_in_characters)
{
	static const struct column columns[] = { { "A", "a", .least = 3, .end = false },
						 { "B", "b", .leave = 0 },
						 { 0 } };
	json_t *list = json_pack("[{s:s, s:s}, {s:s, s:s}]", "a", "\303\244\303\266\303\274\303\237\303\237", "b", "x",
				 "a", "abcde", "b", "y");
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	table_print(f, columns, list, 0);
	table_print(f, columns, list, 7);
	fclose(f);
	assert_string_equal(text, "A      B\n\303\244\303\266\303\274\303\237\303\237  x\nabcde  y\n"
				  "A     B\n\303\244\303\266..  x\nab..  y\n");
	free(text);
	json_decref(list);
}

static int process(pid_t pid, struct top_proc *ret)
{
	*ret = (struct top_proc){ 'T', pid == 7 ? model.last_mono_ns / 4 : 0, 5000000 };
	return pid == 9 ? -ESRCH : 0;
}

TEST_WITH(processor_time_is_of_the_last_window, setup, teardown)
{
	static const char clients[] = "{\"clients\":[{\"name\":\"seven\",\"pid\":7},{\"name\":\"nine\",\"pid\":9}]}";
	struct top_sample s = { 0 };
	const json_t *list;

	model.proc = process;
	for (int i = 0; i < 3; i++) {
		s.clients = json_loads(clients, 0, NULL);
		s.info = json_pack("{s:i, s:[{s:s, s:s}]}", "pid", 5, "given_up", "name", "sumo", "why",
				   "it ends at once");
		s.mono_ns = (1 + i) * NS_PER_S;
		top_model_take(&model, &s);
	}
	list = json_object_get(model.now.clients, "clients");
	assert_string_equal(json_text(json_array_get(list, 0), "name"), "simd");
	assert_string_equal(json_text(json_array_get(list, 1), "state"), "stopped");
	assert_true(json_num(json_array_get(list, 1), "cpu") == 25);
	assert_string_equal(json_text(json_array_get(list, 2), "state"), "?");
	assert_string_equal(json_text(json_array_get(list, 3), "state"), "given up");
}

TEST(a_process_name_may_contain_any_characters)
{
	struct top_proc p;

	assert_int_equal(top_proc_parse("12 (a) R 1) (b) S 1 2 3 4 5 6 7 8 9 10 200 100 0 0 20 0 1 0 99 1000 25 1", &p),
			 0);
	assert_int_equal(p.state, 'S');
	assert_int_equal(p.cpu_ns, 300 * (NS_PER_S / sysconf(_SC_CLK_TCK)));
	assert_int_equal(p.rss, 25 * sysconf(_SC_PAGESIZE));
	assert_int_equal(top_proc_parse("12 (a", &p), -EBADMSG);
	assert_int_equal(top_proc_parse("12 (a) S 1 2", &p), -EBADMSG);
	assert_int_equal(top_proc_read(getpid(), &p), 0);
}
