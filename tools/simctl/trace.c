/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: how long messages of a channel take from stage to stage, in windows. simd counts its own stages; what arrives
 * here is received by a bounded subscriber. Thread: main.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simctl.h"
#include "timeutil.h"
#include "trace_model.h"

#define SLICE_DUR_NS (50 * NS_PER_MS)
#define LATE_DUR_NS  (1 * NS_PER_S) /* longest wait for the bridges' answers after a window */
#define LOOK_DUR_NS  (20 * NS_PER_MS)

struct trace {
	struct ctl *c;
	const char *name; /* the channel's full name */
	struct sim_subscriber *s;
	json_t *before; /* "stages" of the last reply; NULL: the channel has no publisher for bridges */
	int64_t end_mono_ns;
	uint64_t lost;
	bool screen; /* each table replaces the one before */
};

/* ---- asking ---- */

static json_t *ask(struct trace *t)
{
	json_t *params = json_pack("{s:s, s:b}", "name", t->name, "stages", 1);
	json_t *reply;

	t->c->unfinished = simctl_stop; /* after a signal, the last table is still fetched */
	reply = ctl_call(t->c, "io.simd.Control.GetChannel", params);

	json_decref(params);
	return reply;
}

/* Whether bridges have not answered all messages yet. */
static bool on_the_way(const json_t *reply)
{
	return json_num(json_object_get(reply, "channel"), "in_flight") > 0;
}

/* With -n, waits briefly until bridges have answered, so that few of their answers fall into the next window. */
static json_t *ask_when_quiet(struct trace *t)
{
	const int64_t end = mono_now_ns() + LATE_DUR_NS;
	json_t *reply = ask(t);

	while (t->c->a.count && on_the_way(reply) && mono_now_ns() < end && ctl_pause(LOOK_DUR_NS)) {
		json_decref(reply);
		reply = ask(t);
	}
	return reply;
}

/* ---- receiving ---- */

static void take_all(struct trace *t, struct trace_window *w, uint64_t max)
{
	const struct sim_message *m;
	struct sim_clock_sample now;

	while (w->messages < max && sim_take(t->s, &m) == 0) {
		const int64_t mono_ns = mono_now_ns();

		sim_now_sample(t->c->client, &now);
		trace_add(w, &m->header, &now, mono_ns);
		sim_release(t->s, m);
	}
}

/* Messages queued before the start belong to no window. */
static void drop_queued(struct trace *t)
{
	const struct sim_message *m;

	while (sim_take(t->s, &m) == 0)
		sim_release(t->s, m);
}

/* Receives -n messages, or for one window. Returns 0, or 1 after printing why. */
static int receive(struct trace *t, struct trace_window *w)
{
	const struct args *a = &t->c->a;
	const uint64_t max = a->count ? (uint64_t)a->count : UINT64_MAX;
	const int64_t end = a->count ? t->end_mono_ns : mono_now_ns() + a->window_dur_ns;
	int64_t now;

	while (!simctl_stop && !ctl_unread() && w->messages < max && (now = mono_now_ns()) < end) {
		const int r = sim_wait(t->s, end - now < SLICE_DUR_NS ? end - now : SLICE_DUR_NS);

		if (r < 0 && r != -ESTALE)
			return ctl_fail(t->name);
		take_all(t, w, max);
	}
	if (!a->count || w->messages == max || simctl_stop || ctl_unread())
		return 0;
	fprintf(stderr, "simctl: %" PRIu64 " of %" PRIu64 " messages came on %s within the time-out\n", w->messages,
		max, t->name);
	return 1;
}

static uint64_t newly_lost(struct trace *t)
{
	struct sim_subscriber_stats st;
	uint64_t before = t->lost;

	sim_subscriber_stats(t->s, &st);
	t->lost = st.lost;
	return st.lost - before;
}

/* ---- printing ---- */

/* clang-format off */
static const struct column columns[] = {
	{ "STAGE", "text", .leave = 0 },
	{ "COUNT", "count", NUM, .leave = 1 },
	{ "P50", "t50", .leave = 0 },
	{ "P90", "t90", .leave = 3 },
	{ "P99", "t99", .leave = 0 },
	{ "MAX", "tmax", .leave = 0 },
	{ "CLOCK", "clock", .leave = 2 },
	{ 0 },
};
/* clang-format on */

static const struct {
	const char *stage, *text; /* %s: the bridge's name */
} texts[] = {
	{ "capture-publish", "capture -> publish" },       { "publish-take", "publish -> taken by simd" },
	{ "take-lane", "taken -> handed to %s" },          { "take-answer", "taken -> answer of %s" },
	{ "publish-receive", "publish -> received here" },
};

static void set_text(json_t *stage)
{
	char text[200];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *at = strstr(texts[i].text, "%s");

		if (strcmp(texts[i].stage, json_text(stage, "stage")))
			continue;
		snprintf(text, sizeof(text), "%.*s%s", at ? (int)(at - texts[i].text) : 99, texts[i].text,
			 at ? json_text(stage, "bridge") : "");
		json_object_set_new(stage, "text", json_string(text));
	}
}

static void set_span(json_t *stage, const char *from, const char *to)
{
	const json_t *v = json_object_get(stage, from);
	char text[TRACE_SPAN_MAX];

	json_object_set_new(stage, to, json_string(json_is_integer(v) ? trace_span(json_integer_value(v), text) : "-"));
}

/* Measurements of a window. */
struct result {
	struct trace *t;
	uint64_t messages, lost;
	double window_s;
	json_t *stages;
};

static int print_table(void *arg)
{
	const struct result *x = arg;
	json_t *s;
	size_t i;

	printf("%s: %" PRIu64 " messages in %.2f s", x->t->name, x->messages, x->window_s);
	if (x->lost)
		printf(", %" PRIu64 " more missed here", x->lost);
	putchar('\n');
	json_array_foreach(x->stages, i, s) {
		set_text(s);
		set_span(s, "p50", "t50");
		set_span(s, "p90", "t90");
		set_span(s, "p99", "t99");
		set_span(s, "max", "tmax");
	}
	table_of(columns, x->stages);
	if (json_array_size(x->stages) <= 2)
		puts("simd counts nothing: no client publishes it for bridges");
	return 0;
}

static void print_json(const struct result *x)
{
	json_t *j = json_pack("{s:s, s:I, s:I, s:f, s:O}", "channel", x->t->name, "messages", (json_int_t)x->messages,
			      "lost", (json_int_t)x->lost, "window_s", x->window_s, "stages", x->stages);

	ctl_print_json(x->t->c, j);
	json_decref(j);
}

static void print(struct result *x)
{
	if (x->t->c->a.json)
		print_json(x);
	else if (x->t->screen)
		(void)ctl_onto_screen(print_table, x);
	else
		(void)print_table(x);
	if (x->t->c->a.watch && !x->t->c->a.json && !x->t->screen)
		putchar('\n');
	fflush(stdout);
}

/* Measures a window and prints its table. Returns 0, or 1 after printing why. */
static int once(struct trace *t)
{
	struct trace_window w = { 0 };
	struct result x = { .t = t };
	const int64_t begin_mono_ns = mono_now_ns();
	json_t *reply = receive(t, &w) ? NULL : ask_when_quiet(t);

	if (!reply)
		return 1;
	x.window_s = (double)(mono_now_ns() - begin_mono_ns) / 1e9;
	x.stages = trace_stages(&w, t->before, json_object_get(reply, "stages"));
	x.messages = w.messages;
	x.lost = newly_lost(t);
	print(&x);
	json_decref(x.stages);
	json_decref(t->before);
	t->before = json_incref(json_object_get(reply, "stages"));
	json_decref(reply);
	return 0;
}

static int begin(struct trace *t)
{
	json_t *reply = ask(t);

	if (!reply)
		return 1;
	t->before = json_incref(json_object_get(reply, "stages"));
	json_decref(reply);
	drop_queued(t);
	return 0;
}

int cmd_trace(struct ctl *c)
{
	const struct sim_subscriber_options o = { .size = sizeof(o), .depth = 256 };
	struct trace t = { .c = c };
	json_t *channel = ctl_channel(c, c->a.channel); /* gives its full name */
	int r = 1;

	if (!channel)
		return 1;
	t.name = json_text(json_object_get(channel, "channel"), "name");
	t.end_mono_ns = c->a.timeout_dur_ns ? mono_now_ns() + c->a.timeout_dur_ns : INT64_MAX;
	if (sim_subscribe(c->client, t.name, NULL, &o, &t.s) < 0)
		ctl_fail(NULL);
	else
		r = begin(&t);
	t.screen = !r && ctl_begin_screen(c);
	while (!r) {
		r = once(&t);
		if (!c->a.watch || simctl_stop || ctl_unread())
			break;
	}
	sim_subscriber_destroy(t.s);
	json_decref(t.before);
	json_decref(channel);
	return r;
}
