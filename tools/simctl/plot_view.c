/* SPDX-License-Identifier: Apache-2.0 */
/* See plot_view.h. */
#include "plot_view.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot_raster.h"
#include "printable.h"
#include "timeutil.h"

#define VALUE_MAX  16
#define TICK_LINES 4 /* lines between two numbers of the value axis, roughly */
#define LABEL_MAX  32
#define NAME_LEAST 8

/* Position of the drawing area. */
struct area {
	int row, column, columns, rows;
	int64_t begin_sim_ns, end_sim_ns;
	struct plot_axis axis;
};

static const uint8_t dashes[PLOT_SERIES_MAX] = { 0xff, 0x0f, 0x55, 0x27, 0x03, 0x01 };

/* ---- frames ---- */

int plot_frame_init(struct plot_frame *f, int columns, int rows)
{
	*f = (struct plot_frame){ .columns = columns, .rows = rows };
	if (columns < 1 || rows < 1)
		return -EINVAL;
	f->cell = calloc((size_t)columns * (size_t)rows, sizeof(*f->cell));
	if (!f->cell)
		return -ENOMEM;
	for (int i = 0; i < columns * rows; i++)
		f->cell[i].code = ' ';
	return 0;
}

void plot_frame_finish(struct plot_frame *f)
{
	free(f->cell);
	f->cell = NULL;
}

static void put_code(struct plot_frame *f, int row, int column, uint32_t code, enum top_tone tone)
{
	if (row >= 0 && row < f->rows && column >= 0 && column < f->columns)
		f->cell[row * f->columns + column] = (struct plot_cell){ code, (uint8_t)tone };
}

/* Draws printable UTF-8; returns the column after it. */
static int put_text(struct plot_frame *f, int row, int column, const char *text, enum top_tone tone)
{
	const size_t len = strlen(text);
	int32_t code;

	for (size_t i = 0; i < len; column++) {
		i += printable_next(text + i, len - i, &code);
		put_code(f, row, column, code < ' ' ? '?' : (uint32_t)code, tone);
	}
	return column;
}

static int __attribute__((format(printf, 5, 6)))
putf(struct plot_frame *f, int row, int column, enum top_tone tone, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return put_text(f, row, column, text, tone);
}

static void fill(struct plot_frame *f, int row, enum top_tone tone)
{
	for (int i = 0; i < f->columns; i++)
		put_code(f, row, i, ' ', tone);
}

static size_t encode(uint32_t c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

int plot_frame_run(const struct plot_frame *f, int row, int column, char *text, enum top_tone *ret)
{
	const struct plot_cell *line = &f->cell[row * f->columns];
	size_t n = 0;

	*ret = (enum top_tone)line[column].tone;
	for (; column < f->columns && line[column].tone == (uint8_t)*ret; column++)
		n += encode(line[column].code, text + n);
	text[n] = '\0';
	return column;
}

/* ---- title and legend ---- */

/* "12.340", with as many decimal places as the step needs. */
static int time_label(int64_t sim_ns, int64_t step_ns, char text[STAMP_FORMAT_MAX])
{
	int places = 0;

	for (int64_t unit = NS_PER_S; step_ns % unit && places < 9; unit /= 10)
		places++;
	(void)stamp_format(sim_ns, text);
	text[strlen(text) - (size_t)(places ? 9 - places : 10)] = '\0';
	return (int)strlen(text);
}

static void draw_title(const struct plot_view *v, const struct plot_model *m, struct plot_frame *f)
{
	char stamp[STAMP_FORMAT_MAX], to[STAMP_FORMAT_MAX];
	int at;

	if (v->why && *v->why) {
		putf(f, 0, 0, TOP_BAD, "DISCONNECTED, retrying: %s", v->why);
		return;
	}
	(void)time_label(plot_model_end(m), NS_PER_MS, stamp);
	(void)time_label(m->jump_sim_ns, NS_PER_MS, to);
	at = putf(f, 0, 0, TOP_TITLE, "time %s s  window %g s", stamp, (double)m->window_dur_ns / 1e9);
	if (m->held)
		at = put_text(f, 0, at, "  HELD", TOP_WARN);
	if (m->jumped && plot_model_end(m) - m->jump_sim_ns <= m->window_dur_ns)
		putf(f, 0, at, TOP_WARN, "  the clock has jumped to %s s", to);
}

struct values { /* the legend's values, one line per field, all as wide as the widest */
	char text[PLOT_SERIES_MAX][3][VALUE_MAX];
	int width[3];
	int unit, name;
};

static void set_value(struct values *w, unsigned line, unsigned which, double v)
{
	char *to = w->text[line][which];
	const int n = isnan(v) ? snprintf(to, VALUE_MAX, "-") : snprintf(to, VALUE_MAX, "%.5g", v);

	w->width[which] = n > w->width[which] ? n : w->width[which];
}

static void measure(const struct plot_model *m, struct values *w)
{
	for (unsigned i = 0; i < m->n; i++) {
		const struct plot_summary s = plot_model_summary(m, i);
		const int unit = (int)strlen(m->series[i].unit), name = (int)strlen(m->series[i].name);

		set_value(w, i, 0, s.last);
		set_value(w, i, 1, s.n ? s.min : NAN);
		set_value(w, i, 2, s.n ? s.max : NAN);
		w->unit = unit > w->unit ? unit : w->unit;
		w->name = name > w->name ? name : w->name;
	}
}

/* Draws a sample of the curve's dash pattern; returns the column after it. */
static int draw_sample(struct plot_frame *f, int row, uint8_t dash, enum top_tone tone)
{
	for (int i = 0; i < 4; i++)
		put_code(f, row, i, 0x2800u | (dash >> (2 * i) & 1 ? 0x04u : 0) | (dash >> (2 * i + 1) & 1 ? 0x20u : 0),
			 tone);
	return 5;
}

static void draw_legend(const struct plot_view *v, const struct plot_model *m, struct plot_frame *f)
{
	struct values w = { 0 };
	int room, at;

	measure(m, &w);
	room = f->columns - 5 - w.width[0] - w.width[1] - w.width[2] - w.unit - (int)strlen("    min   max  ");
	room = room > NAME_LEAST ? room : NAME_LEAST;
	room = room < w.name ? room : w.name;
	for (unsigned i = 0; i < m->n; i++) {
		const struct plot_series *s = &m->series[i];
		const enum top_tone tone = (enum top_tone)(TOP_SERIES + (int)i);
		const int len = (int)strlen(s->name), row = 1 + (int)i;

		at = draw_sample(f, row, v->colours ? 0xff : dashes[i], tone);
		if (len > room)
			(void)putf(f, row, at, tone, "..%s", s->name + len - room + 2);
		else
			(void)put_text(f, row, at, s->name, tone);
		(void)putf(f, row, at + room, TOP_PLAIN, "  %*s  min %*s  max %*s %s", w.width[0], w.text[i][0],
			   w.width[1], w.text[i][1], w.width[2], w.text[i][2], s->unit);
	}
}

/* ---- axes ---- */

static void label_of(const struct plot_axis *a, double v, char text[LABEL_MAX])
{
	const double zero = fabs(v) < a->step * 1e-6 ? 0 : v;

	if (a->places < 0)
		snprintf(text, LABEL_MAX, "%.4g", zero);
	else
		snprintf(text, LABEL_MAX, "%.*f", a->places, zero);
}

static int count_ticks(const struct plot_axis *a)
{
	return (int)lround((a->high - a->low) / a->step);
}

static int label_width(const struct plot_axis *a)
{
	char text[LABEL_MAX];
	int width = 0;

	for (int i = 0; i <= count_ticks(a); i++) {
		label_of(a, a->low + i * a->step, text);
		width = (int)strlen(text) > width ? (int)strlen(text) : width;
	}
	return width;
}

static double y_of(const struct area *a, double v)
{
	return (a->axis.high - v) / (a->axis.high - a->axis.low) * (4 * a->rows - 1);
}

static double x_of(const struct area *a, int64_t sim_ns)
{
	return (double)(sim_ns - a->begin_sim_ns) / (double)(a->end_sim_ns - a->begin_sim_ns) * (2 * a->columns - 1);
}

static void draw_value_axis(const struct area *a, struct plot_frame *f)
{
	char text[LABEL_MAX];

	for (int i = 0; i < a->rows; i++)
		put_code(f, a->row + i, a->column - 1, 0x2502, TOP_DIM);
	for (int i = 0; i <= count_ticks(&a->axis); i++) {
		const double v = a->axis.low + i * a->axis.step;
		const int row = a->row + (int)lround(y_of(a, v)) / 4;

		label_of(&a->axis, v, text);
		(void)put_text(f, row, a->column - 2 - (int)strlen(text), text, TOP_PLAIN);
		put_code(f, row, a->column - 1, 0x2524, TOP_DIM);
	}
}

/* Step between two labels of the time axis, with space for half a label between them. */
static int64_t time_step(const struct area *a)
{
	const int64_t span = a->end_sim_ns - a->begin_sim_ns;
	int64_t step = plot_nice_ns(span / (a->columns / 4 + 1) + 1);
	char text[STAMP_FORMAT_MAX];

	while (step < span &&
	       time_label(a->end_sim_ns, step, text) * 3 / 2 + 2 > (double)step / (double)span * a->columns)
		step = plot_nice_ns(step + 1);
	return step;
}

static void draw_time_axis(const struct area *a, struct plot_frame *f)
{
	const int64_t step = time_step(a), from = a->begin_sim_ns > 0 ? a->begin_sim_ns : 0;
	const int row = a->row + a->rows;
	char text[STAMP_FORMAT_MAX];

	put_code(f, row, a->column - 1, 0x2514, TOP_DIM);
	for (int i = 0; i < a->columns; i++)
		put_code(f, row, a->column + i, 0x2500, TOP_DIM);
	for (int64_t t = (from + step - 1) / step * step; t <= a->end_sim_ns; t += step) {
		const int column = a->column + (int)lround(x_of(a, t)) / 2, n = time_label(t, step, text);

		put_code(f, row, column, 0x252c, TOP_DIM);
		if (column - n / 2 >= 0 && column - n / 2 + n <= f->columns)
			(void)put_text(f, row + 1, column - n / 2, text, TOP_PLAIN);
	}
}

/* ---- curves ---- */

/* A sample between two gaps is drawn as a dot. */
static void draw_series(const struct area *a, const struct plot_series *s, struct plot_raster *r, uint8_t owner,
			uint8_t dash)
{
	const struct plot_sample *before = NULL;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct plot_sample *p = plot_series_at(s, i);
		const bool joined = before && !isnan(before->value) && before->stamp_sim_ns <= p->stamp_sim_ns;
		const double x = x_of(a, p->stamp_sim_ns), y = isnan(p->value) ? 0 : y_of(a, p->value);

		if (!isnan(p->value) && joined)
			plot_raster_line(r, x_of(a, before->stamp_sim_ns), y_of(a, before->value), x, y, owner, dash);
		else if (!isnan(p->value))
			plot_raster_dot(r, x, y, owner);
		before = p;
	}
}

static void draw_jump(const struct area *a, const struct plot_model *m, struct plot_frame *f)
{
	const double x = m->jumped ? x_of(a, m->jump_sim_ns) : -1;

	if (x >= 0 && x < 2 * a->columns)
		for (int i = 0; i < a->rows; i++)
			put_code(f, a->row + i, a->column + (int)lround(x) / 2, 0x250a, TOP_WARN);
}

static int draw_lines(const struct plot_view *v, const struct area *a, const struct plot_model *m, struct plot_frame *f)
{
	struct plot_raster r;
	int err = plot_raster_init(&r, a->columns, a->rows);
	uint32_t code;

	if (err < 0)
		return err;
	for (unsigned i = m->n; i-- > 0;) /* drawn last to first, so that the first is on top */
		draw_series(a, &m->series[i], &r, (uint8_t)(TOP_SERIES + (int)i), v->colours ? 0xff : dashes[i]);
	draw_jump(a, m, f);
	for (int row = 0; row < a->rows; row++)
		for (int column = 0; column < a->columns; column++)
			if ((code = plot_raster_code(&r, column, row)))
				put_code(f, a->row + row, a->column + column, code,
					 (enum top_tone)plot_raster_owner(&r, column, row));
	plot_raster_finish(&r);
	return 0;
}

/* ---- picture ---- */

/* Divides the screen. False: not enough room. */
static bool place(const struct plot_view *v, const struct plot_model *m, const struct plot_frame *f, struct area *ret)
{
	struct area a = { .row = 1 + (int)m->n };

	a.rows = f->rows - a.row - 2 - v->keys;
	a.axis = plot_model_axis(m, a.rows > 0 ? (unsigned)(a.rows / TICK_LINES + 1) : 2);
	a.column = label_width(&a.axis) + 2;
	a.columns = f->columns - a.column;
	a.end_sim_ns = plot_model_end(m);
	a.begin_sim_ns = a.end_sim_ns - m->window_dur_ns;
	*ret = a;
	return a.rows >= 2 && a.columns >= 8;
}

int plot_draw(const struct plot_view *v, const struct plot_model *m, struct plot_frame *f)
{
	struct area a;
	int r = 0;

	draw_title(v, m, f);
	draw_legend(v, m, f);
	if (place(v, m, f, &a)) {
		draw_value_axis(&a, f);
		draw_time_axis(&a, f);
		r = draw_lines(v, &a, m, f);
	}
	if (v->keys) {
		fill(f, f->rows - 1, TOP_HEAD);
		(void)put_text(f, f->rows - 1, 0, "+ longer  - shorter  space hold  q quit", TOP_HEAD);
	}
	return r;
}

void plot_key(struct plot_view *v, struct plot_model *m, int key)
{
	if (key == 'q')
		v->quit = true;
	else if (key == ' ')
		plot_model_hold(m, !m->held);
	else if (key == '+' || key == '=')
		plot_model_zoom(m, true);
	else if (key == '-')
		plot_model_zoom(m, false);
}
