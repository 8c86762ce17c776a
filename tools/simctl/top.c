/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top: asks simd once per window, and draws the replies until it is quit; --batch and --json print them. A
 * disconnection is reported, and top reconnects. Thread: main.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simctl.h"
#include "terminal.h"
#include "timeutil.h"
#include "top_view.h"

#define ANSWER_DUR_NS (2 * NS_PER_S) /* time-out of a call; a stopped simd does not answer */
#define CONNECT_MS    1000
#define GONE_DUR_NS   (3 * NS_PER_S) /* longer than a restart of simd takes */

struct top {
	struct ctl *c;
	struct top_model model;
	struct top_view view;
	int64_t gone_mono_ns; /* since when simd has been disconnected; 0: connected */
};

/* ---- asking ---- */

static json_t *ask(struct top *t, const char *method)
{
	char *reply = NULL;
	json_t *j;
	int r;

	if (!t->c->client)
		return NULL;
	ctl_begin_wait(t->c);
	r = sim_call_within(t->c->client, method, "{}", ANSWER_DUR_NS, &reply);
	ctl_end_wait();
	if (r < 0)
		return NULL;
	j = json_loads(reply, 0, NULL);
	free(reply);
	if (!t->c->a.json)
		ctl_make_fit(j);
	return j;
}

static int connect_again(struct top *t)
{
	struct sim_client_options o = { .size = sizeof(o),
					.name = "simctl",
					.socket = t->c->a.socket,
					.flags = SIM_CLIENT_NO_DATA | SIM_CLIENT_NO_THREAD,
					.timeout_ms = CONNECT_MS };

	return ctl_connect_as(t->c, &o);
}

static int ask_all(struct top *t, struct top_sample *s)
{
	bool all = t->c->a.json;

	s->info = ask(t, "io.simd.Control.GetInfo");
	s->clock = s->info ? ask(t, "io.simd.Control.GetClock") : NULL;
	s->channels = s->clock ? ask(t, "io.simd.Control.ListChannels") : NULL;
	if (!s->channels)
		return -ENOTCONN;
	if (all || t->view.tab == TOP_PROCESSES)
		s->clients = ask(t, "io.simd.Control.ListClients");
	if (all || t->view.tab == TOP_BRIDGES)
		s->bridges = ask(t, "io.simd.Control.ListBridges");
	s->mono_ns = mono_now_ns();
	return 0;
}

/*
 * Takes a sample. A connection on which a call has failed is closed: a late answer would be taken for that of the next
 * call.
 */
static int sample(struct top *t)
{
	struct top_sample s = { 0 };
	int r = connect_again(t);

	if (r == 0)
		r = ask_all(t, &s);
	if (r == 0) {
		top_model_take(&t->model, &s);
		t->view.why[0] = '\0';
		t->gone_mono_ns = 0;
		return 0;
	}
	snprintf(t->view.why, sizeof(t->view.why), "%s", sim_why());
	t->gone_mono_ns = t->gone_mono_ns ? t->gone_mono_ns : mono_now_ns();
	top_sample_finish(&s);
	sim_disconnect(t->c->client);
	t->c->client = NULL;
	return r;
}

/* ---- printing ---- */

static void put_line(void *unused, int row, const char *text, enum top_tone tone, bool selected)
{
	(void)unused;
	(void)row;
	(void)tone;
	(void)selected;
	puts(text);
}

static void print_json(const struct top *t)
{
	const struct top_sample *s = &t->model.now;
	json_t *j = json_pack("{s:O, s:O, s:O, s:O, s:O, s:f, s:f}", "clock", json_object_get(s->clock, "clock"),
			      "channels", json_object_get(s->channels, "channels"), "processes",
			      json_object_get(s->clients, "clients"), "pools", json_object_get(s->info, "pools"),
			      "bridges", json_object_get(s->bridges, "bridges"), "drops", t->model.totals.drops,
			      "new_drops", t->model.totals.new_drops);

	ctl_print_json(t->c, j);
	json_decref(j);
}

static void print_frame(struct top *t)
{
	struct top_screen s = { .columns = ctl_screen().columns, .put = put_line };

	if (t->c->a.json) {
		print_json(t);
		return;
	}
	top_draw(&t->view, &t->model, &s);
	putchar('\n');
	fflush(stdout);
}

/* Prints one frame per window, the first after one window: rates need two samples. */
static int batch(struct top *t)
{
	bool told = false;

	for (int64_t n = 0; !t->c->a.count || n < t->c->a.count;) {
		if (!ctl_pause(t->c->a.window_dur_ns))
			return 0;
		if (sample(t) == 0) {
			print_frame(t);
			told = false;
			n++;
			continue;
		}
		if (!told)
			fprintf(stderr, "simctl: disconnected from simd, retrying: %s\n", t->view.why);
		told = true;
		if (t->c->a.count && mono_now_ns() - t->gone_mono_ns >= GONE_DUR_NS) {
			fprintf(stderr, "simctl: giving up: %s\n", t->view.why);
			return 1;
		}
	}
	return 0;
}

/* ---- the terminal ---- */

static void draw(struct top *t)
{
	struct top_screen s = { terminal_columns(), terminal_rows(), terminal_put, NULL };

	top_draw(&t->view, &t->model, &s);
	terminal_show();
}

static int left_ms(int64_t end_mono_ns)
{
	int64_t left = end_mono_ns - mono_now_ns();

	return left <= 0 ? 0 : (int)((left + NS_PER_MS - 1) / NS_PER_MS);
}

/* Samples at once if the tab has changed, as its rows may not have been asked for. */
static void use_key(struct top *t, int key)
{
	enum top_tab tab = t->view.tab;

	top_key(&t->view, &t->model, key);
	if (t->view.tab != tab)
		sample(t);
}

static int interactive(struct top *t)
{
	int64_t next = mono_now_ns() + t->c->a.window_dur_ns;
	int key;

	t->c->unfinished = true;
	if (terminal_open("top", "--batch prints text, --json JSON"))
		return 1;
	while (!simctl_stop && !t->view.quit) {
		draw(t);
		key = terminal_key(left_ms(next));
		if (key >= 0)
			use_key(t, key);
		if (mono_now_ns() < next)
			continue;
		if (!t->view.frozen)
			sample(t);
		next = mono_now_ns() + t->c->a.window_dur_ns;
	}
	terminal_close();
	return 0;
}

/* Applies --tab, --sort and --filter. Returns 0, or 1 after printing why. */
static int choose(struct top *t)
{
	const struct args *a = &t->c->a;
	int tab = a->tab ? top_tab_of(a->tab) : TOP_CHANNELS, column = 0;

	if (tab < 0) {
		fprintf(stderr,
			"simctl: --tab: no tab \"%s\"; there are channels, processes, pools, bridges and clock\n",
			a->tab);
		return 1;
	}
	if (a->sort)
		column = top_column_of((enum top_tab)tab, a->sort);
	if (column < 0) {
		fprintf(stderr, "simctl: --sort: %s have no column \"%s\"; there are", top_tab_name((enum top_tab)tab),
			a->sort);
		for (const struct column *c = top_columns((enum top_tab)tab); c->head; c++)
			fprintf(stderr, " %s", c->head);
		fputs("\n", stderr);
		return 1;
	}
	t->view.tab = (enum top_tab)tab;
	t->view.sort[tab] = (unsigned)column;
	t->view.descending[tab] = a->sort && top_columns(t->view.tab)[column].as != TEXT;
	snprintf(t->view.filter, sizeof(t->view.filter), "%s", a->filter ? a->filter : "");
	return 0;
}

int cmd_top(struct ctl *c)
{
	struct top t = { .c = c };
	int r = choose(&t);

	if (r)
		return r;
	top_model_init(&t.model, NULL);
	if (sample(&t) < 0)
		r = ctl_fail(NULL);
	else
		r = c->a.batch || c->a.json ? batch(&t) : interactive(&t);
	top_model_finish(&t.model);
	return r;
}
