/* SPDX-License-Identifier: Apache-2.0 */
/* echo: prints messages as they arrive, through one bounded subscriber. Thread: main. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "filter.h"
#include "line.h"
#include "plot_field.h"
#include "printable.h"
#include "simctl.h"
#include "timeutil.h"

#define FRAME_TEXT_MAX (SIM_FRAME_ID_MAX * PRINTABLE_ESCAPE_MAX + 1)
#define GONE_DUR_NS    (3 * NS_PER_S)   /* longer than a restart of simd takes */
#define SLICE_DUR_NS   (50 * NS_PER_MS) /* interval between checks for a signal or a closed stdout */

struct echo {
	struct ctl *c;
	json_t *channel; /* GetChannel's reply, with the channel's full name */
	const struct sim_type *type;
	struct sim_field_path path; /* parsed --field */
	bool missing;               /* a message did not have the element of --field */
	enum line_time time;
	struct filter *filter; /* --filter; NULL: all messages */
	struct line *line;     /* --csv or --format; NULL: neither */
	int64_t gone_mono_ns;  /* since when simd has been disconnected; 0: connected */
};

static int print_json(const struct echo *e, const struct sim_message *m, const struct sim_json_options *o)
{
	char frame[FRAME_TEXT_MAX];
	int r;

	printable_json(frame, sizeof(frame), m->header.frame_id, strnlen(m->header.frame_id, SIM_FRAME_ID_MAX));
	printf("{\"channel\":\"%s\",\"channel_id\":%u,\"sequence\":%llu,\"stamp_sim_ns\":%lld,\"frame_id\":\"%s\","
	       "\"message\":",
	       json_text(json_object_get(e->channel, "channel"), "name"), m->header.channel_id,
	       (unsigned long long)m->header.sequence, (long long)m->header.stamp_sim_ns, frame);
	r = sim_msg_to_json(e->type, m->body, m->body_size, o, json_to_file, stdout);
	fputs("}\n", stdout);
	return r;
}

static int print_text(const struct echo *e, const struct sim_message *m, const struct sim_json_options *o)
{
	char stamp[LINE_TIME_MAX], frame[FRAME_TEXT_MAX];
	int r;

	printable(frame, sizeof(frame), m->header.frame_id, strnlen(m->header.frame_id, SIM_FRAME_ID_MAX));
	if (!o->field)
		printf("--- %s #%llu %s%s%s\n", line_time_text(e->time, m->header.stamp_sim_ns, stamp),
		       (unsigned long long)m->header.sequence, e->type->name, *frame ? " in " : "", frame);
	r = sim_msg_to_json(e->type, m->body, m->body_size, o, json_to_file, stdout);
	putchar('\n');
	return r;
}

/* Later messages may have the element, so echo goes on; a missing element is reported, and makes the exit code 1. */
static bool has_field(struct echo *e, const struct sim_message *m)
{
	struct sim_field_view view;

	if (!e->c->a.field || sim_field_get(&e->path, m->body, m->body_size, &view) != -ERANGE)
		return true;
	e->missing = true;
	ctl_fail("--field");
	return false;
}

static int print(struct echo *e, const struct sim_message *m)
{
	const struct args *a = &e->c->a;
	struct sim_json_options o = {
		.field = a->field, .no_arr = a->no_arr, .max_array = (uint32_t)a->max_array, .pretty = !a->json
	};
	int r;

	if (e->line) {
		line_print(e->line, m, stdout);
		return fflush(stdout) ? -EIO : 0;
	}
	if (!has_field(e, m))
		return 0;
	r = a->json ? print_json(e, m, &o) : print_text(e, m, &o);
	fflush(stdout);
	return r;
}

/* The type that the publisher has defined; waits for a publisher until the time-out. */
static int find_type(struct ctl *c, int64_t end_mono_ns, const struct sim_type **ret)
{
	int r;

	while ((r = sim_channel_type(c->client, c->a.channel, ret)) == -ENOENT && mono_now_ns() < end_mono_ns)
		if (!ctl_pause(100 * NS_PER_MS))
			break;
	return r;
}

/* Reports that the channel does not exist. If the text is CHANNEL.FIELD as for `plot`, suggests --field. */
static int no_channel(struct ctl *c)
{
	char channel[SIM_CHANNEL_MAX + 1], why[512];
	const struct sim_type *type;
	struct sim_field_path path;
	const char *field;
	bool found = false;

	snprintf(why, sizeof(why), "%s", sim_why());
	for (unsigned i = 0; !c->a.field && !found && plot_split(c->a.channel, i, channel, &field); i++) {
		if (sim_channel_type(c->client, channel, &type) < 0)
			continue;
		found = sim_field_find(type, field, &path) == 0;
		sim_type_unref(type);
	}
	if (found)
		fprintf(stderr, "simctl: no channel is called \"%s\"; did you mean `simctl echo %s --field '%s'`?\n",
			c->a.channel, channel, field);
	else
		fprintf(stderr, "simctl: %s\n", why);
	return 1;
}

/* Prints the queued messages, up to `left`. Returns how many, or a negative errno. */
static int64_t print_queued(struct echo *e, struct sim_subscriber *s, int64_t left)
{
	const struct sim_message *msg;
	int64_t n = 0;

	while (n < left && !ctl_unread() && sim_take(s, &msg) == 0) {
		const bool wanted = !e->filter || filter_pass(e->filter, &msg->header, msg->body, msg->body_size);
		int r = wanted ? print(e, msg) : 0;

		sim_release(s, msg);
		n += wanted;
		if (r < 0 && !ctl_unread())
			return r;
	}
	return n;
}

/*
 * With a number of messages to wait for, gives up when simd has been gone for GONE_DUR_NS; else reports the
 * disconnection once and waits.
 */
static bool given_up(struct echo *e, bool counts, int64_t now_mono_ns)
{
	enum sim_client_state state = sim_client_state(e->c->client);

	if (state == SIM_CLIENT_CONNECTED || state == SIM_CLIENT_REATTACHING) {
		e->gone_mono_ns = 0;
		return false;
	}
	if (!e->gone_mono_ns) {
		e->gone_mono_ns = now_mono_ns;
		fprintf(stderr, "simctl: disconnected from simd, retrying: %s\n", sim_client_why(e->c->client));
	}
	if (state != SIM_CLIENT_FAILED && (!counts || now_mono_ns - e->gone_mono_ns < GONE_DUR_NS))
		return false;
	fprintf(stderr, "simctl: giving up: %s\n", sim_client_why(e->c->client));
	return true;
}

static int follow(struct echo *e, struct sim_subscriber *s, int64_t end_mono_ns)
{
	const struct ctl *c = e->c;
	int64_t n = 0, now, max = c->a.once ? 1 : c->a.count ? c->a.count : INT64_MAX;

	while (!simctl_stop && !ctl_unread() && n < max && (now = mono_now_ns()) < end_mono_ns) {
		int64_t left = end_mono_ns - now, some;
		int r = sim_wait(s, left < SLICE_DUR_NS ? left : SLICE_DUR_NS);

		if (r < 0 && r != -ESTALE)
			return ctl_fail(c->a.channel);
		some = print_queued(e, s, max - n);
		if (some < 0)
			return ctl_fail("printing");
		n += some;
		if (n < max && given_up(e, max < INT64_MAX, now))
			return 1;
	}
	if (max < INT64_MAX && n < max && !simctl_stop && !ctl_unread()) {
		fprintf(stderr, "simctl: %lld of %lld messages came on %s within the time-out\n", (long long)n,
			(long long)max, c->a.channel);
		return 1;
	}
	return e->missing;
}

/* Parses the options that select messages and their form. Returns 0, or 1 after printing why. */
static int choose(struct echo *e)
{
	const struct args *a = &e->c->a;
	const char *option = "--filter";
	char why[512] = "";
	int r = 0;

	if (line_time_of(a->time_format, &e->time) < 0)
		return fprintf(stderr, "simctl: --time-format %s: must be seconds, raw or date\n", a->time_format), 1;
	if (!!a->csv + !!a->format + a->json > 1)
		return fprintf(stderr, "simctl: --csv, --format and --json: one of them\n"), 1;
	if (a->filter)
		r = filter_create(e->type, a->filter, why, &e->filter);
	if (r == 0 && (a->csv || a->format)) {
		option = a->csv ? "--csv" : "--format";
		r = a->csv ? line_columns(e->type, a->field, e->time, why, &e->line)
			   : line_template(e->type, a->format, e->time, why, &e->line);
	}
	if (r < 0)
		return fprintf(stderr, "simctl: %s: %s\n", option, why), 1;
	if (e->line && *line_left_out(e->line))
		fprintf(stderr, "simctl: arrays without a fixed length have no columns: %s\n", line_left_out(e->line));
	return 0;
}

int cmd_echo(struct ctl *c)
{
	int64_t end = c->a.timeout_dur_ns ? mono_now_ns() + c->a.timeout_dur_ns : INT64_MAX;
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 16, .flags = SIM_SUB_LATCHED };
	struct echo e = { .c = c };
	struct sim_subscriber *s = NULL;
	int r = 1;

	if (find_type(c, c->a.timeout_dur_ns ? end : mono_now_ns(), &e.type) < 0)
		return no_channel(c);
	if (c->a.field && sim_field_find(e.type, c->a.field, &e.path) < 0) {
		ctl_fail("--field");
		goto out;
	}
	e.channel = choose(&e) ? NULL : ctl_channel(c, c->a.channel);
	if (!e.channel)
		goto out;
	if (e.line)
		line_print_head(e.line, stdout);
	if (sim_subscribe(c->client, c->a.channel, e.type, &o, &s) < 0)
		ctl_fail(NULL);
	else
		r = follow(&e, s, end);
out:
	sim_subscriber_destroy(s);
	filter_destroy(e.filter);
	line_destroy(e.line);
	json_decref(e.channel);
	sim_type_unref(e.type);
	return r;
}
