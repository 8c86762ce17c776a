/* SPDX-License-Identifier: Apache-2.0 */
/* plot without a terminal and without simd: names, samples and their window, axes, dots, the picture, keys. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include <sim/msg/Detected3DObjects.h>
#include <sim/msg/GearCommand.h>
#include <sim/msg/Imu.h>

#include "simctl/plot_field.h"
#include "simctl/plot_raster.h"
#include "simctl/plot_view.h"
#include "timeutil.h"

static struct plot_model model;
static struct plot_view view;
static struct plot_frame frame;

static int setup(void **state)
{
	(void)state;
	model = (struct plot_model){ .window_dur_ns = 10 * NS_PER_S };
	view = (struct plot_view){ .colours = true };
	assert_int_equal(plot_model_series(&model, "/a.x", "m/s"), 0);
	plot_model_clock(&model, 1, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	plot_model_finish(&model);
	plot_frame_finish(&frame);
	return 0;
}

static void add(unsigned series, double at_s, double value)
{
	plot_model_add(&model, series, model.generation, (int64_t)(at_s * 1e9), value);
}

static void now(double s)
{
	plot_model_clock(&model, model.generation, (int64_t)(s * 1e9));
}

/* ---- names ---- */

static void splits(const char *text, unsigned nth, const char *channel, const char *field)
{
	char name[SIM_CHANNEL_MAX + 1];
	const char *rest;

	assert_int_equal(plot_split(text, nth, name, &rest), channel != NULL);
	if (!channel)
		return;
	assert_string_equal(name, channel);
	assert_string_equal(rest, field);
}

TEST(the_longest_channel_comes_first)
{
	splits("/a.b/c.d.e", 0, "/a.b/c.d", "e");
	splits("/a.b/c.d.e", 1, "/a.b/c", "d.e");
	splits("/a.b/c.d.e", 2, "/a", "b/c.d.e");
	splits("/a.b/c.d.e", 3, NULL, NULL);
	splits("/a.v[0].x", 0, "/a", "v[0].x");
	splits("/a.v[0].x", 1, NULL, NULL);
	splits("/a", 0, NULL, NULL);
	splits("/a.", 0, NULL, NULL);
	splits(".a", 0, NULL, NULL);
	splits("", 0, NULL, NULL);
}

static void refused(const struct sim_type *type, const char *field, const char *what)
{
	struct sim_field_path path;
	char why[512];

	assert_int_equal(plot_field_find(type, field, why, &path), -EINVAL);
	if (!strstr(why, what))
		fail_msg("%s: \"%s\", not \"%s\"", field, why, what);
}

TEST(fields_that_are_not_numbers_are_refused_with_the_possible_ones)
{
	struct sim_field_path path;
	char why[512];

	assert_int_equal(plot_field_find(&sim_Imu_type, "linear_acceleration.x", why, &path), 0);
	assert_string_equal(plot_field_unit(&path), "m/s^2"); /* of the message that it is a part of */
	assert_int_equal(plot_field_find(&sim_Imu_type, "orientation_covariance[3]", why, &path), 0);
	assert_string_equal(plot_field_unit(&path), "rad^2");
	assert_int_equal(plot_field_find(&sim_Detected3DObjects_type, "objects[2].pose.position.x", why, &path), 0);
	assert_int_equal(plot_field_find(&sim_GearCommand_type, "gear", why, &path), 0);
	refused(&sim_Imu_type, "orientation_covariance",
		"is an array, and only a number is plotted; sim/Imu has orientation.x");
	refused(&sim_Imu_type, "position", "is a message, ");
	refused(&sim_Imu_type, "height", "position");
	refused(&sim_Detected3DObjects_type, "objects[0].label", "is text, ");
	refused(&sim_Detected3DObjects_type, "objects", "objects[0].");
}

TEST(a_list_of_fields_stays_within_its_buffer)
{
	char text[64];

	memset(text, 'x', sizeof(text));
	plot_field_list(&sim_Imu_type, text, 48);
	assert_string_equal(text, "orientation.x, orientation.y, ...");
	assert_int_equal(text[48], 'x');
	plot_field_list(&sim_Imu_type, text, 8);
	assert_string_equal(text, "...");
}

/* ---- samples ---- */

TEST_WITH(only_samples_in_the_window_count, setup, teardown)
{
	struct plot_summary s;

	add(0, 1, 100);
	add(0, 6, -3);
	add(0, 12, 7);
	now(15.5);
	s = plot_model_summary(&model, 0);
	assert_int_equal(s.n, 2);
	assert_true(s.min == -3 && s.max == 7 && s.last == 7);
	add(0, 20, 5); /* a stamp that is ahead moves the picture */
	assert_true(plot_model_end(&model) == 20 * NS_PER_S);
	s = plot_model_summary(&model, 0);
	assert_true(s.min == 5 && s.max == 7);
	now(40);
	s = plot_model_summary(&model, 0);
	assert_int_equal(s.n, 0);
	assert_true(isnan(s.last));
}

TEST_WITH(values_that_are_not_finite_leave_a_gap, setup, teardown)
{
	struct plot_summary s;

	add(0, 1, 2);
	add(0, 2, NAN);
	add(0, 3, INFINITY);
	s = plot_model_summary(&model, 0);
	assert_int_equal(s.n, 1);
	assert_true(isnan(s.last) && s.max == 2);
}

TEST_WITH(the_oldest_samples_are_dropped, setup, teardown)
{
	struct plot_summary s;

	for (unsigned i = 0; i < PLOT_SAMPLES + 10; i++)
		plot_model_add(&model, 0, 1, i, i);
	assert_int_equal(model.series[0].n, PLOT_SAMPLES);
	s = plot_model_summary(&model, 0);
	assert_true(s.min == 10 && s.max == PLOT_SAMPLES + 9);
}

TEST_WITH(a_jump_empties_the_window, setup, teardown)
{
	add(0, 3, 1);
	plot_model_hold(&model, true);
	plot_model_clock(&model, 2, 100 * NS_PER_S);
	assert_int_equal(model.series[0].n, 0);
	assert_false(model.held);
	assert_true(model.jumped && model.jump_sim_ns == 100 * NS_PER_S);
	plot_model_add(&model, 0, 1, 4 * NS_PER_S, 1); /* from before */
	assert_int_equal(model.series[0].n, 0);
	plot_model_clock(&model, 3, 2 * NS_PER_S); /* back as well */
	assert_true(plot_model_end(&model) == 2 * NS_PER_S);
	add(0, 3, 1);
	assert_int_equal(plot_model_summary(&model, 0).n, 1);
}

TEST_WITH(a_held_picture_stays_while_samples_are_stored, setup, teardown)
{
	add(0, 3, 1);
	now(4);
	plot_model_hold(&model, true);
	add(0, 5, 9);
	now(6);
	assert_true(plot_model_end(&model) == 4 * NS_PER_S);
	assert_true(plot_model_summary(&model, 0).max == 1);
	plot_model_hold(&model, false);
	assert_true(plot_model_summary(&model, 0).max == 9);
}

TEST_WITH(at_most_six_series_are_plotted, setup, teardown)
{
	for (unsigned i = 1; i < PLOT_SERIES_MAX; i++)
		assert_int_equal(plot_model_series(&model, "/b.y", ""), 0);
	assert_int_equal(plot_model_series(&model, "/c.z", ""), -E2BIG);
}

/* ---- axes ---- */

TEST_WITH(window_lengths_are_round, setup, teardown)
{
	static const double up[] = { 20, 50, 100 }, down[] = { 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1 };

	for (unsigned i = 0; i < 3; i++) {
		plot_model_zoom(&model, true);
		assert_true(model.window_dur_ns == (int64_t)(up[i] * 1e9));
	}
	for (unsigned i = 0; i < 9; i++) {
		plot_model_zoom(&model, false);
		assert_true(model.window_dur_ns == (int64_t)(down[i] * 1e9));
	}
	for (unsigned i = 0; i < 40; i++)
		plot_model_zoom(&model, false);
	assert_int_equal(model.window_dur_ns, PLOT_WINDOW_MIN);
	for (unsigned i = 0; i < 60; i++)
		plot_model_zoom(&model, true);
	assert_int_equal(model.window_dur_ns, PLOT_WINDOW_MAX);
	model.window_dur_ns = 7 * NS_PER_S;
	plot_model_zoom(&model, true);
	assert_int_equal(model.window_dur_ns, 10 * NS_PER_S);
}

static void axis_is(double low, double high, double step, int places)
{
	struct plot_axis a = plot_model_axis(&model, 5);

	if (fabs(a.low - low) > step / 1e6 || fabs(a.high - high) > step / 1e6 || fabs(a.step - step) > step / 1e6 ||
	    a.places != places)
		fail_msg("%g to %g by %g, %d places", a.low, a.high, a.step, a.places);
}

TEST_WITH(axes_end_at_round_numbers, setup, teardown)
{
	axis_is(0, 1, 0.5, 1);
	add(0, 1, 0.13);
	add(0, 2, 0.97);
	axis_is(0, 1, 0.5, 1);
	add(0, 3, -7.3);
	axis_is(-10, 5, 5, 0);
	add(0, 4, 12e6);
	axis_is(-5e6, 15e6, 5e6, -1);
}

TEST_WITH(a_single_value_is_centred, setup, teardown)
{
	add(0, 1, 50);
	axis_is(45, 55, 5, 0);
}

TEST_WITH(a_series_of_zeros_has_an_axis, setup, teardown)
{
	add(0, 1, 0);
	axis_is(-1, 1, 0.5, 1);
}

/* For any values the axis has two ends, and the values lie within. */
TEST_WITH(any_values_have_an_axis, setup, teardown)
{
	static const double v[] = { 1.7e308, -1.7e308,    5e-324, -5e-324, 1e-310, 1e17,      1e17 + 16,
				    0.1,     0.1 + 1e-16, -0.0,   3e300,   1e-9,   123456789, -1e5 };

	for (unsigned i = 0; i < sizeof(v) / sizeof(*v); i++)
		for (unsigned k = 0; k < sizeof(v) / sizeof(*v); k++) {
			struct plot_axis a;

			model.series[0].n = 0;
			add(0, 1, v[i]);
			add(0, 2, v[k]);
			for (unsigned ticks = 2; ticks < 9; ticks++) {
				a = plot_model_axis(&model, ticks);
				if (!(a.high > a.low) || !isfinite(a.high) || !isfinite(a.low) || !(a.step > 0) ||
				    (a.high - a.low) / a.step > 2 * ticks + 4)
					fail_msg("%g and %g: %g to %g by %g", v[i], v[k], a.low, a.high, a.step);
			}
			plot_frame_finish(&frame);
			assert_int_equal(plot_frame_init(&frame, 80, 24), 0);
			assert_int_equal(plot_draw(&view, &model, &frame), 0);
		}
}

/* ---- dots ---- */

TEST(dots_are_at_their_positions)
{
	static const uint32_t codes[4][2] = {
		{ 0x2801, 0x2808 }, { 0x2802, 0x2810 }, { 0x2804, 0x2820 }, { 0x2840, 0x2880 }
	};
	struct plot_raster r;

	for (int y = 0; y < 4; y++)
		for (int x = 0; x < 2; x++) {
			assert_int_equal(plot_raster_init(&r, 3, 2), 0);
			plot_raster_dot(&r, 2 + x, 4 + y, 7);
			assert_int_equal(plot_raster_code(&r, 1, 1), codes[y][x]);
			assert_int_equal(plot_raster_owner(&r, 1, 1), 7);
			assert_int_equal(plot_raster_code(&r, 0, 0), 0);
			plot_raster_finish(&r);
		}
	assert_int_equal(plot_raster_init(&r, 0, 2), -EINVAL);
}

TEST(dots_outside_are_clipped)
{
	struct plot_raster r;

	assert_int_equal(plot_raster_init(&r, 4, 2), 0);
	plot_raster_dot(&r, -1, 0, 1);
	plot_raster_dot(&r, 8, 0, 1);
	plot_raster_dot(&r, 0, 8, 1);
	plot_raster_dot(&r, NAN, 0, 1);
	plot_raster_line(&r, -9, 0, -1, 7, 1, 0xff);
	plot_raster_line(&r, 9, 0, 99, 7, 1, 0xff);
	for (int i = 0; i < 8; i++)
		assert_int_equal(plot_raster_code(&r, i % 4, i / 4), 0);
	plot_raster_line(&r, -1e9, 3, 1e9, 3, 1, 0xff); /* from edge to edge */
	for (int i = 0; i < 4; i++)
		assert_int_equal(plot_raster_code(&r, i, 0), 0x28c0);
	plot_raster_line(&r, 0, -1e300, 0, 1e300, 2, 0xff);
	assert_int_equal(plot_raster_code(&r, 0, 1), 0x2847);
	plot_raster_line(&r, 0, 7, 7, 7, 3, 0x0f); /* half of the columns */
	assert_int_equal(plot_raster_code(&r, 1, 1), 0x28c0);
	assert_int_equal(plot_raster_code(&r, 2, 1), 0);
	plot_raster_finish(&r);
}

/* ---- the picture ---- */

static char lines[64][1024];

static void draw(int columns, int rows)
{
	enum top_tone tone;

	plot_frame_finish(&frame);
	assert_int_equal(plot_frame_init(&frame, columns, rows), 0);
	assert_int_equal(plot_draw(&view, &model, &frame), 0);
	for (int row = 0; row < rows && row < 64; row++) {
		char *to = lines[row];

		for (int column = 0; column < columns; to += strlen(to))
			column = plot_frame_run(&frame, row, column, to, &tone);
	}
}

static int line_with(const char *text)
{
	for (int i = 0; i < frame.rows; i++)
		if (strstr(lines[i], text))
			return i;
	fail_msg("no line has \"%s\"", text);
	return -1;
}

static bool is_braille(int column, int row)
{
	return frame.cell[row * frame.columns + column].code >> 8 == 0x28;
}

TEST_WITH(a_picture_has_title_legend_and_axes, setup, teardown)
{
	assert_int_equal(plot_model_series(&model, "/a.y", ""), 0);
	for (int i = 0; i <= 100; i++) {
		add(0, 2 + i / 10., i / 10.);
		add(1, 2 + i / 10., -2);
	}
	view.keys = true;
	draw(80, 24);
	assert_non_null(strstr(lines[0], "time 12.000 s  window 10 s"));
	assert_non_null(strstr(lines[1], "/a.x  10  min  0  max 10 m/s"));
	assert_non_null(strstr(lines[2], "/a.y  -2  min -2  max -2"));
	assert_int_equal(line_with("10 \xe2\x94\xa4"), 3);
	assert_int_equal(line_with("-5 \xe2\x94\xa4"), 20);
	assert_true(line_with(" 0 \xe2\x94\xa4") > line_with(" 5 \xe2\x94\xa4"));
	line_with("\xe2\x94\x94\xe2\x94\xac"); /* with a tick at its beginning, 2 s */
	assert_non_null(strstr(lines[22], " 4 "));
	assert_non_null(strstr(lines[22], " 10 "));
	assert_non_null(strstr(lines[23], "q quit"));
	assert_true(is_braille(79, 3)); /* 10, now */
	assert_int_equal(frame.cell[3 * 80 + 79].tone, TOP_SERIES);
	assert_false(is_braille(40, 3));
}

TEST_WITH(a_gap_is_not_bridged, setup, teardown)
{
	bool any[80] = { false };

	for (int i = 0; i <= 100; i++)
		add(0, i / 10., i >= 40 && i < 60 ? NAN : 3);
	draw(80, 20);
	for (int row = 2; row < 18; row++)
		for (int column = 6; column < 80; column++)
			any[column] |= is_braille(column, row);
	assert_true(any[20] && any[70]);
	assert_false(any[43]);
}

TEST_WITH(a_jump_is_marked, setup, teardown)
{
	add(0, 3, 1);
	now(30);
	draw(80, 20);
	assert_null(strstr(lines[0], "jumped"));
	plot_model_clock(&model, 9, 5 * NS_PER_S);
	now(7);
	add(0, 6, 1);
	draw(80, 20);
	assert_non_null(strstr(lines[0], "the clock has jumped to 5.000 s"));
	line_with("\xe2\x94\x8a");
	now(20);
	draw(80, 20);
	assert_null(strstr(lines[0], "jumped"));
}

TEST_WITH(without_colours_lines_differ_by_dashes, setup, teardown)
{
	assert_int_equal(plot_model_series(&model, "/a.y", ""), 0);
	for (int i = 0; i <= 1000; i++)
		add(1, i / 100., 1);
	view.colours = false;
	draw(80, 20);
	assert_int_not_equal(frame.cell[80].code, frame.cell[160 + 2].code); /* in the legend too */
	assert_string_equal(strchr(lines[2], '/') - 1, lines[2] + 3 * 4);
	assert_true(is_braille(6, 10) != is_braille(8, 10) || is_braille(6, 9) != is_braille(8, 9));
}

TEST_WITH(every_size_is_drawn, setup, teardown)
{
	assert_int_equal(plot_model_series(&model, "/a/very/long/name/of/a/channel/that/has.a.field.of.a.field", "kg"),
			 0);
	add(0, 1, 1);
	add(0, 2, 1e-300);
	add(1, 1.5, 2);
	view.keys = true;
	for (int rows = 1; rows < 30; rows++)
		for (int columns = 1; columns < 120; columns += 3)
			draw(columns, rows);
	draw(80, 24);
	assert_non_null(strstr(lines[2], "field.of.a.field  "));
	assert_non_null(strstr(lines[2], "max"));
	assert_non_null(strstr(lines[2], " kg"));
}

/* Times of the day as seconds of many digits do not run into each other. */
TEST_WITH(long_times_fit, setup, teardown)
{
	char *at;

	model.window_dur_ns = NS_PER_S / 10;
	now(1795000000.5);
	add(0, 1795000000.45, 1);
	draw(80, 24);
	at = strstr(lines[23], "1795000000.");
	assert_non_null(at);
	at += strspn(at, "0123456789.");
	assert_int_equal(*at, ' ');
	assert_non_null(strstr(at, "1795000000."));
}

TEST_WITH(keys_have_their_documented_effect, setup, teardown)
{
	plot_key(&view, &model, ' ');
	assert_true(model.held);
	draw(80, 24);
	assert_non_null(strstr(lines[0], "HELD"));
	plot_key(&view, &model, ' ');
	assert_false(model.held);
	plot_key(&view, &model, '+');
	assert_int_equal(model.window_dur_ns, 20 * NS_PER_S);
	plot_key(&view, &model, '-');
	assert_int_equal(model.window_dur_ns, 10 * NS_PER_S);
	plot_key(&view, &model, 'x');
	assert_false(view.quit);
	plot_key(&view, &model, 'q');
	assert_true(view.quit);
	view.why = "nobody listens there";
	draw(80, 24);
	line_with("DISCONNECTED, retrying: nobody listens there");
}
