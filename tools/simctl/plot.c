/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot: draws numbers of messages on the terminal as they arrive; if stdout is not a terminal, or on request, prints
 * CSV, JSON, or one picture of text. One bounded subscriber per channel. Thread: main.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "line.h"
#include "plot_field.h"
#include "plot_view.h"
#include "printable.h"
#include "shortest.h"
#include "simctl.h"
#include "terminal.h"
#include "timeutil.h"

#define GONE_DUR_NS   (3 * NS_PER_S) /* longer than a restart of simd takes */
#define WINDOW_DUR_NS (10 * NS_PER_S)
#define PICTURE_MS    50
#define DRAIN_DUR_NS  (5 * NS_PER_MS)  /* polling interval with several channels */
#define SLICE_DUR_NS  (50 * NS_PER_MS) /* longest wait with one channel, before the clock and signals are checked */
#define BATCH_COLUMNS 80
#define BATCH_ROWS    24
#define NAME_SIZE     192

struct source { /* a channel */
	char name[SIM_CHANNEL_MAX + 1];
	const struct sim_type *type;
	struct sim_subscriber *s;
};

struct field {
	char name[NAME_SIZE];
	unsigned source;
	const char *path_text;
	struct sim_field_path path;
};

enum how { SCREEN, BATCH, CSV, JSON };

struct plot {
	struct ctl *c;
	enum how how;
	enum line_time time;
	struct source source[PLOT_SERIES_MAX];
	struct field field[PLOT_SERIES_MAX];
	unsigned n_sources, n_fields;
	struct plot_model model;
	struct plot_view view;
	int64_t taken, max, end_mono_ns;
	int64_t first_sim_ns; /* stamp of the first message since the clock last jumped */
	bool any;             /* first_sim_ns is valid */
	int64_t gone_mono_ns; /* since when simd has been disconnected; 0: connected */
};

/* ---- channels and fields ---- */

/* GetChannel's reply for the longest channel name that the text begins with. NULL: no such channel. */
static json_t *find_channel(struct ctl *c, const char *text, const char **field)
{
	char channel[SIM_CHANNEL_MAX + 1];
	json_t *j = NULL;

	for (unsigned i = 0; !j && plot_split(text, i, channel, field); i++)
		j = ctl_channel_quiet(c, channel);
	return j;
}

/* Like find_channel(), but with --timeout waits for the channel. */
static json_t *await_channel(struct plot *p, const char *text, const char **field)
{
	json_t *j;

	while (!(j = find_channel(p->c, text, field)) && p->c->a.timeout_dur_ns && mono_now_ns() < p->end_mono_ns)
		if (!ctl_pause(100 * NS_PER_MS))
			break;
	return j;
}

/* Prints why the text names no field, and what it could mean. Returns 1. */
static int say_no_channel(struct ctl *c, const char *text)
{
	char channel[SIM_CHANNEL_MAX + 1], list[400] = "none";
	const struct sim_type *type = NULL;
	const char *field;
	unsigned n = 0;

	if (sim_channel_type(c->client, text, &type) == 0) {
		plot_field_list(type, list, sizeof(list));
		fprintf(stderr, "simctl: %s is a channel: give a field of it as %s.FIELD; there are %s\n", text, text,
			list);
		sim_type_unref(type);
	} else if (!plot_split(text, 0, channel, &field)) {
		fprintf(stderr, "simctl: %s: give a channel and a field of it, as /imu.linear_acceleration.x\n", text);
	} else {
		while (plot_split(text, n, channel, &field)) /* ends with the shortest channel name */
			n++;
		json_decref(ctl_channel(c, channel));
	}
	return 1;
}

static int find_source(struct plot *p, const char *name, unsigned *ret)
{
	const struct sim_subscriber_options o = { .size = sizeof(o), .depth = 256, .flags = SIM_SUB_LATCHED };
	struct source *s = &p->source[p->n_sources];

	for (*ret = 0; *ret < p->n_sources; (*ret)++)
		if (!strcmp(p->source[*ret].name, name))
			return 0;
	snprintf(s->name, sizeof(s->name), "%s", name);
	p->n_sources++;
	if (sim_channel_type(p->c->client, name, &s->type) < 0 ||
	    sim_subscribe(p->c->client, name, s->type, &o, &s->s) < 0)
		return ctl_fail(NULL);
	return 0;
}

static int add_series(struct plot *p, const struct field *f)
{
	char unit[64];
	const char *own = plot_field_unit(&f->path);

	printable(unit, sizeof(unit), own, strlen(own));
	if (plot_model_series(&p->model, f->name, unit) == 0)
		return 0;
	fprintf(stderr, "simctl: out of memory\n");
	return 1;
}

static int add_field(struct plot *p, const char *text)
{
	struct field *f = &p->field[p->n_fields];
	char why[512];
	json_t *j = await_channel(p, text, &f->path_text);
	const char *name = json_text(json_object_get(j, "channel"), "name");
	int r = j ? find_source(p, name, &f->source) : say_no_channel(p->c, text);

	if (!r && plot_field_find(p->source[f->source].type, f->path_text, why, &f->path) < 0) {
		fprintf(stderr, "simctl: %s: %s\n", name, why);
		r = 1;
	}
	if (!r) {
		snprintf(f->name, sizeof(f->name), "%s.%s", name, f->path_text);
		p->n_fields++;
		r = add_series(p, f);
	}
	json_decref(j);
	return r;
}

/* Parses options and fields. Returns 0, or 1 after printing why. */
static int choose(struct plot *p)
{
	const struct args *a = &p->c->a;
	int r = 0;

	if (line_time_of(a->time_format, &p->time) < 0)
		return fprintf(stderr, "simctl: --time-format %s: must be seconds, raw or date\n", a->time_format), 1;
	if (a->csv + a->batch + a->json > 1)
		return fprintf(stderr, "simctl: --csv, --batch and --json: one of them\n"), 1;
	if (a->fields.n > PLOT_SERIES_MAX)
		return fprintf(stderr, "simctl: %u fields: up to %d are plotted at a time\n", a->fields.n,
			       PLOT_SERIES_MAX),
		       1;
	p->how = a->json ? JSON : a->batch ? BATCH : a->csv || !isatty(STDOUT_FILENO) ? CSV : SCREEN;
	for (unsigned i = 0; i < a->fields.n && !r; i++)
		r = add_field(p, a->fields.v[i]);
	return r;
}

/* ---- values ---- */

/* In the fewest digits that read back to the same value. */
static void print_float(double v, bool is_float32)
{
	char text[SHORTEST_ROOM];

	*(is_float32 ? shortest_f32((float)v, text) : shortest_f64(v, text)) = '\0';
	fputs(text, stdout);
}

static bool number_of(const struct field *f, const struct sim_message *m, double *ret)
{
	struct sim_field_view v;

	return sim_field_get(&f->path, m->body, m->body_size, &v) == 0 && sim_field_number(&v, 0, ret) == 0;
}

/*
 * An element that the message does not have prints as nothing (JSON: null), a value that is not finite as nan or inf
 * (JSON: null).
 */
static void print_value(const struct plot *p, const struct field *f, const struct sim_message *m)
{
	const struct sim_field *last = f->path.step[f->path.n - 1].field;
	const struct sim_json_options o = { .field = f->path_text };
	double v;

	if (!number_of(f, m, &v))
		fputs(p->how == JSON ? "null" : "", stdout);
	else if (!isfinite(v))
		fputs(p->how == JSON ? "null" : isnan(v) ? "nan" : v > 0 ? "inf" : "-inf", stdout);
	else if (last->kind == SIM_KIND_FLOAT32 || last->kind == SIM_KIND_FLOAT64)
		print_float(v, last->kind == SIM_KIND_FLOAT32);
	else if (last->kind == SIM_KIND_BOOL)
		putchar(v != 0 ? '1' : '0');
	else /* integers with all their digits */
		(void)sim_msg_to_json(p->source[f->source].type, m->body, m->body_size, &o, json_to_file, stdout);
}

static void print_head(const struct plot *p)
{
	fputs("sim_time", stdout);
	for (unsigned i = 0; i < p->n_fields; i++)
		printf(",%s", p->field[i].name);
	putchar('\n');
	fflush(stdout);
}

static void print_csv(const struct plot *p, unsigned source, const struct sim_message *m)
{
	char time[LINE_TIME_MAX];

	fputs(line_time_text(p->time, m->header.stamp_sim_ns, time), stdout);
	for (unsigned i = 0; i < p->n_fields; i++) {
		putchar(',');
		if (p->field[i].source == source)
			print_value(p, &p->field[i], m);
	}
	putchar('\n');
}

static void print_json(const struct plot *p, unsigned source, const struct sim_message *m)
{
	const char *sep = "";

	printf("{\"channel\":\"%s\",\"stamp_sim_ns\":%" PRId64 ",\"values\":{", p->source[source].name,
	       m->header.stamp_sim_ns);
	for (unsigned i = 0; i < p->n_fields; i++) {
		if (p->field[i].source != source)
			continue;
		printf("%s\"%s\":", sep, p->field[i].name);
		print_value(p, &p->field[i], m);
		sep = ",";
	}
	puts("}}");
}

/* ---- receiving ---- */

static void look_at_clock(struct plot *p)
{
	const bool known = p->model.known;
	const uint32_t generation = p->model.generation;
	struct sim_clock_sample now;
	char stamp[STAMP_FORMAT_MAX];

	sim_now_sample(p->c->client, &now);
	plot_model_clock(&p->model, now.clock_generation, now.sim_ns);
	if (!known || generation == now.clock_generation)
		return;
	p->any = false;
	if (p->how != SCREEN)
		fprintf(stderr, "simctl: the clock has jumped to %s s\n", stamp_format(now.sim_ns, stamp));
}

static void take_values(struct plot *p, unsigned source, const struct sim_message *m)
{
	double v;

	for (unsigned i = 0; i < p->n_fields; i++)
		if (p->field[i].source == source)
			plot_model_add(&p->model, i, m->header.clock_generation, m->header.stamp_sim_ns,
				       number_of(&p->field[i], m, &v) ? v : NAN);
	if (!p->any)
		p->first_sim_ns = m->header.stamp_sim_ns;
	p->any = true;
}

static void take(struct plot *p, unsigned source, const struct sim_message *m)
{
	if (m->header.clock_generation != p->model.generation)
		look_at_clock(p);
	if (p->how == CSV)
		print_csv(p, source, m);
	else if (p->how == JSON)
		print_json(p, source, m);
	else
		take_values(p, source, m);
	p->taken++;
}

static void take_all(struct plot *p)
{
	const struct sim_message *m;

	look_at_clock(p);
	for (unsigned i = 0; i < p->n_sources; i++)
		while (p->taken < p->max && !ctl_unread() && sim_take(p->source[i].s, &m) == 0) {
			take(p, i, m);
			sim_release(p->source[i].s, m);
		}
	if (p->how == CSV || p->how == JSON)
		fflush(stdout);
}

/* Notes whether simd is connected. The screen shows it; elsewhere a disconnection is reported once. */
static void look_at_simd(struct plot *p)
{
	const enum sim_client_state state = sim_client_state(p->c->client);
	const bool gone = state != SIM_CLIENT_CONNECTED && state != SIM_CLIENT_REATTACHING;

	p->view.why = gone ? sim_client_why(p->c->client) : "";
	if (gone && !p->gone_mono_ns && p->how != SCREEN)
		fprintf(stderr, "simctl: disconnected from simd, retrying: %s\n", p->view.why);
	p->gone_mono_ns = !gone ? 0 : p->gone_mono_ns ? p->gone_mono_ns : mono_now_ns();
}

/*
 * Whether the client has failed for good, or, with a number of messages to wait for, simd has been gone for
 * GONE_DUR_NS.
 */
static bool given_up(const struct plot *p)
{
	return sim_client_state(p->c->client) == SIM_CLIENT_FAILED ||
	       (p->gone_mono_ns && p->max < INT64_MAX && mono_now_ns() - p->gone_mono_ns >= GONE_DUR_NS);
}

static bool goes_on(const struct plot *p)
{
	return !simctl_stop && !p->view.quit && p->taken < p->max && mono_now_ns() < p->end_mono_ns && !given_up(p);
}

/* The exit code; reports missing messages. */
static int done(const struct plot *p)
{
	if (p->taken == p->max || p->view.quit || simctl_stop || ctl_unread())
		return 0;
	if (given_up(p))
		fprintf(stderr, "simctl: giving up: %s\n", sim_client_why(p->c->client));
	else if (p->max < INT64_MAX)
		fprintf(stderr, "simctl: %" PRId64 " of %" PRId64 " messages came within the time-out\n", p->taken,
			p->max);
	else if (!p->taken)
		fprintf(stderr, "simctl: no message came within the time-out\n");
	else
		return 0;
	return 1;
}

/* ---- on the terminal ---- */

static void paint(const struct plot_frame *f)
{
	char *text = malloc((size_t)f->columns * 4 + 1);
	enum top_tone tone;

	for (int row = 0; text && row < f->rows; row++)
		for (int column = 0, next; column < f->columns; column = next) {
			next = plot_frame_run(f, row, column, text, &tone);
			terminal_paint(row, column, text, tone);
		}
	free(text);
	terminal_show();
}

static void draw(struct plot *p)
{
	struct plot_frame f = { 0 };

	if (plot_frame_init(&f, terminal_columns(), terminal_rows()) == 0 && plot_draw(&p->view, &p->model, &f) == 0)
		paint(&f);
	plot_frame_finish(&f);
}

static int interactive(struct plot *p)
{
	int key;

	if (terminal_open("plot", "--csv prints lines, --batch a picture as text"))
		return 1;
	p->view.colours = terminal_colours();
	p->view.keys = true;
	while (goes_on(p)) {
		take_all(p);
		look_at_simd(p);
		draw(p);
		key = terminal_key(PICTURE_MS);
		if (key >= 0)
			plot_key(&p->view, &p->model, key);
	}
	terminal_close();
	return done(p);
}

/* ---- printing ---- */

static bool window_full(const struct plot *p)
{
	return p->how == BATCH && p->max == INT64_MAX && p->any &&
	       plot_model_end(&p->model) - p->first_sim_ns >= p->model.window_dur_ns;
}

/* Waits for messages. Returns 0, or 1 after printing why. */
static int wait_some(struct plot *p)
{
	int r;

	if (p->n_sources > 1)
		return ctl_pause(DRAIN_DUR_NS), 0;
	r = sim_wait(p->source[0].s, SLICE_DUR_NS);
	return r < 0 && r != -ESTALE ? ctl_fail(p->source[0].name) : 0;
}

/* Prints without trailing blanks. */
static int print_picture(struct plot *p)
{
	const struct screen s = ctl_screen();
	struct plot_frame f = { 0 };
	char *text = NULL;
	enum top_tone tone;
	int r = plot_frame_init(&f, s.columns ? s.columns : BATCH_COLUMNS, s.rows ? s.rows - 1 : BATCH_ROWS);

	if (r == 0)
		r = plot_draw(&p->view, &p->model, &f);
	if (r == 0)
		text = malloc((size_t)f.columns * 4 + 1);
	for (int row = 0; text && row < f.rows; row++) {
		size_t n = 0;

		for (int i = 0; i < f.columns; i++)
			f.cell[row * f.columns + i].tone = TOP_PLAIN;
		(void)plot_frame_run(&f, row, 0, text, &tone);
		for (n = strlen(text); n && text[n - 1] == ' '; n--)
			continue;
		printf("%.*s\n", (int)n, text);
	}
	free(text);
	plot_frame_finish(&f);
	return r == 0 ? 0 : 1;
}

static int print_all(struct plot *p)
{
	int r = 0;

	if (p->how == CSV)
		print_head(p);
	while (!r && goes_on(p) && !ctl_unread() && !window_full(p)) {
		r = wait_some(p);
		take_all(p);
		look_at_simd(p);
	}
	if (!r && p->how == BATCH)
		r = print_picture(p);
	return r ? r : done(p);
}

int cmd_plot(struct ctl *c)
{
	const struct args *a = &c->a;
	struct plot *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return fprintf(stderr, "simctl: out of memory\n"), 1;
	p->c = c;
	p->max = a->count ? a->count : INT64_MAX;
	p->end_mono_ns = a->timeout_dur_ns ? mono_now_ns() + a->timeout_dur_ns : INT64_MAX;
	p->model.window_dur_ns = a->span_dur_ns ? a->span_dur_ns : WINDOW_DUR_NS;
	r = choose(p);
	if (!r)
		r = p->how == SCREEN ? interactive(p) : print_all(p);
	for (unsigned i = 0; i < p->n_sources; i++) {
		sim_subscriber_destroy(p->source[i].s);
		sim_type_unref(p->source[i].type);
	}
	plot_model_finish(&p->model);
	free(p);
	return r;
}
