/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hz and bw use the counters that publishers keep; hz also receives, for the time between messages; delay only
 * receives. Prints one line per window and channel until -n windows have passed or a signal came. Thread: main.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simctl.h"
#include "timeutil.h"

#define SLICE_DUR_NS (50 * NS_PER_MS) /* interval between checks for a signal */
#define DRAIN_DUR_NS (5 * NS_PER_MS)  /* the queue of 64 messages then suffices up to 12 kHz */

struct count {
	double messages, bytes, mono_ns;
};

struct spread { /* statistics of the times between messages' publishing, ms */
	double n, mean, m2, min, max;
};

struct meter { /* one channel */
	json_t *channel;
	const char *name;
	struct count old, now;
	struct sim_subscriber *s; /* NULL: bw */
	int64_t last_mono_ns;     /* 0: no previous message, or messages were missed since */
	uint64_t lost;
	struct spread spread;
};

static int read_counts(struct ctl *c, struct meter *m, unsigned n)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListChannels", NULL), *ch;
	unsigned found = 0;
	size_t k;

	json_array_foreach(json_object_get(reply, "channels"), k, ch)
		for (unsigned i = 0; i < n; i++)
			if (!strcmp(json_text(ch, "name"), m[i].name)) {
				m[i].now = (struct count){ json_num(ch, "messages"), json_num(ch, "bytes"),
							   json_num(reply, "mono_ns") };
				found++;
			}
	if (reply && found < n)
		fprintf(stderr, "simctl: a channel does not exist any more; `simctl list` shows the present ones\n");
	json_decref(reply);
	return reply && found == n ? 0 : 1;
}

/* ---- time between messages ---- */

static void spread_add(struct spread *s, double ms)
{
	double d = ms - s->mean;

	s->min = s->n > 0 && s->min < ms ? s->min : ms;
	s->max = s->max > ms ? s->max : ms;
	s->n++;
	s->mean += d / s->n;
	s->m2 += d * (ms - s->mean);
}

static void drain(struct meter *m)
{
	struct sim_subscriber_stats st;
	const struct sim_message *msg;

	while (m->s && sim_take(m->s, &msg) == 0) {
		sim_subscriber_stats(m->s, &st);
		if (m->last_mono_ns && st.lost == m->lost)
			spread_add(&m->spread, (double)(msg->header.publish_mono_ns - m->last_mono_ns) / 1e6);
		m->last_mono_ns = msg->header.publish_mono_ns;
		m->lost = st.lost;
		sim_release(m->s, msg);
	}
}

/* ---- printing ---- */

static void print_spread(const struct ctl *c, const struct spread *s)
{
	double deviation = s->n > 0 ? sqrt(s->m2 / s->n) : 0;

	if (c->a.json && s->n > 0)
		printf(",\"interval_ms\":{\"min\":%.4f,\"max\":%.4f,\"stddev\":%.4f}", s->min, s->max, deviation);
	else if (c->a.json)
		printf(",\"interval_ms\":null");
	else if (s->n > 0)
		printf("; between them min %.3f ms, max %.3f ms, stddev %.3f ms", s->min, s->max, deviation);
}

static void print_rate(const struct ctl *c, bool bytes, const struct meter *m)
{
	double s = (m->now.mono_ns - m->old.mono_ns) / 1e9, n = m->now.messages - m->old.messages;
	double size = m->now.bytes - m->old.bytes;

	if (s <= 0)
		return;
	if (!c->a.json && c->a.channels.n > 1)
		printf("%s: ", m->name);
	if (c->a.json)
		printf("{\"channel\":\"%s\",\"hz\":%.4f,\"bytes_per_s\":%.1f,\"messages\":%.0f,\"window_s\":%.4f,"
		       "\"source\":\"publisher\"",
		       m->name, n / s, size / s, n, s);
	else if (bytes)
		printf("%.3f MB/s, mean %.3f kB a message (%.0f messages in %.2f s, counted by the publisher)",
		       size / s / 1e6, n > 0 ? size / n / 1e3 : 0, n, s);
	else
		printf("%.3f Hz (%.0f messages in %.2f s, counted by the publisher)", n / s, n, s);
	if (!bytes)
		print_spread(c, &m->spread);
	puts(c->a.json ? "}" : "");
	fflush(stdout);
}

/* ---- measuring ---- */

static int meter_init(struct ctl *c, bool bytes, const char *name, struct meter *m)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };

	m->channel = ctl_channel(c, name); /* gives its full name */
	if (!m->channel)
		return 1;
	m->name = json_text(json_object_get(m->channel, "channel"), "name");
	return !bytes && sim_subscribe(c->client, m->name, NULL, &o, &m->s) < 0 ? ctl_fail(NULL) : 0;
}

static void meter_finish(struct meter *m)
{
	sim_subscriber_destroy(m->s);
	json_decref(m->channel);
}

static bool wait_window(struct ctl *c, struct meter *m, unsigned n)
{
	int64_t end = mono_now_ns() + c->a.window_dur_ns, left;

	while ((left = end - mono_now_ns()) > 0) {
		if (!ctl_pause(m->s && left > DRAIN_DUR_NS ? DRAIN_DUR_NS : left))
			return false;
		for (unsigned i = 0; i < n; i++)
			drain(&m[i]);
	}
	return true;
}

static int measure(struct ctl *c, bool bytes, struct meter *m, unsigned n)
{
	int r = read_counts(c, m, n);

	for (int64_t i = 0; !r && (!c->a.count || i < c->a.count); i++) {
		for (unsigned k = 0; k < n; k++) {
			m[k].old = m[k].now;
			m[k].spread = (struct spread){ 0 };
		}
		if (!wait_window(c, m, n))
			return 0;
		r = read_counts(c, m, n);
		for (unsigned k = 0; !r && k < n; k++)
			print_rate(c, bytes, &m[k]);
	}
	return r;
}

static int rate(struct ctl *c, bool bytes)
{
	unsigned n = c->a.channels.n;
	struct meter *m = calloc(n, sizeof(*m));
	int r = !m;

	for (unsigned i = 0; !r && i < n; i++)
		r = meter_init(c, bytes, c->a.channels.v[i], &m[i]);
	if (!r)
		r = measure(c, bytes, m, n);
	for (unsigned i = 0; m && i < n; i++)
		meter_finish(&m[i]);
	free(m);
	return r;
}

int cmd_hz(struct ctl *c)
{
	return rate(c, false);
}

int cmd_bw(struct ctl *c)
{
	return rate(c, true);
}

struct delays { /* in one window, ns */
	int64_t n, sim_sum, sim_min, sim_max, wall_sum, wall_min, wall_max;
};

static void delays_add(struct delays *d, int64_t sim, int64_t wall)
{
	d->sim_min = !d->n || sim < d->sim_min ? sim : d->sim_min;
	d->sim_max = !d->n || sim > d->sim_max ? sim : d->sim_max;
	d->wall_min = !d->n || wall < d->wall_min ? wall : d->wall_min;
	d->wall_max = !d->n || wall > d->wall_max ? wall : d->wall_max;
	d->sim_sum += sim;
	d->wall_sum += wall;
	d->n++;
}

static void delays_print(const struct ctl *c, const struct delays *d)
{
	double n = d->n ? (double)d->n : 1;

	if (c->a.json)
		printf("{\"channel\":\"%s\",\"messages\":%lld,\"sim_ms\":{\"mean\":%.4f,\"min\":%.4f,\"max\":%.4f},"
		       "\"transport_ms\":{\"mean\":%.4f,\"min\":%.4f,\"max\":%.4f}}\n",
		       c->a.channel, (long long)d->n, (double)d->sim_sum / n / 1e6, (double)d->sim_min / 1e6,
		       (double)d->sim_max / 1e6, (double)d->wall_sum / n / 1e6, (double)d->wall_min / 1e6,
		       (double)d->wall_max / 1e6);
	else if (!d->n)
		printf("no message\n");
	else
		printf("capture to here, simulated: %.3f ms (%.3f .. %.3f); publish to here, wall: %.3f ms (%.3f .. %.3f); "
		       "%lld messages\n",
		       (double)d->sim_sum / n / 1e6, (double)d->sim_min / 1e6, (double)d->sim_max / 1e6,
		       (double)d->wall_sum / n / 1e6, (double)d->wall_min / 1e6, (double)d->wall_max / 1e6,
		       (long long)d->n);
	fflush(stdout);
}

static int collect(struct ctl *c, struct sim_subscriber *s, struct delays *d)
{
	int64_t end_mono_ns = mono_now_ns() + c->a.window_dur_ns;
	const struct sim_message *msg;
	int r;

	while (!simctl_stop && !ctl_unread() && mono_now_ns() < end_mono_ns) {
		const int64_t left = end_mono_ns - mono_now_ns();

		r = sim_wait(s, left < SLICE_DUR_NS ? left : SLICE_DUR_NS);
		if (r < 0 && r != -ESTALE)
			return ctl_fail(c->a.channel);
		while (sim_take(s, &msg) == 0) {
			delays_add(d, sim_now(c->client) - msg->header.stamp_sim_ns,
				   mono_now_ns() - msg->header.publish_mono_ns);
			sim_release(s, msg);
		}
	}
	return 0;
}

int cmd_delay(struct ctl *c)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };
	json_t *channel = ctl_channel(c, c->a.channel); /* subscribing to a mistyped name would wait forever */
	struct sim_subscriber *s;
	int r;

	if (!channel)
		return 1;
	r = sim_subscribe(c->client, json_text(json_object_get(channel, "channel"), "name"), NULL, &o, &s);
	json_decref(channel);
	if (r < 0)
		return ctl_fail(NULL);
	for (int64_t n = 0; !r && (!c->a.count || n < c->a.count) && !simctl_stop && !ctl_unread(); n++) {
		struct delays d = { 0 };

		r = collect(c, s, &d);
		if (!r)
			delays_print(c, &d);
	}
	sim_subscriber_destroy(s);
	return r;
}
