/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hz and bw, from the counters that publishers keep (nobody subscribes, nothing is disturbed), and delay, which
 * receives. A line a window until -n lines were printed or a signal came. Thread: main.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "simctl.h"
#include "timeutil.h"

struct count {
	double messages, bytes, mono_ns;
};

static int read_count(struct ctl *c, struct count *ret)
{
	json_t *reply = ctl_call(c, "io.simd.Control.ListChannels", NULL), *ch;
	int r = 1;
	size_t i;

	if (!reply)
		return 1;
	json_array_foreach(json_object_get(reply, "channels"), i, ch)
		if (!strcmp(json_text(ch, "name"), c->a.channel)) {
			*ret = (struct count){ json_num(ch, "messages"), json_num(ch, "bytes"),
					       json_num(reply, "mono_ns") };
			r = 0;
		}
	json_decref(reply);
	if (r)
		fprintf(stderr, "simctl: no channel is called \"%s\"; `simctl list` shows those there are\n",
			c->a.channel);
	return r;
}

static void print_rate(const struct ctl *c, bool bytes, const struct count *a, const struct count *b)
{
	double s = (b->mono_ns - a->mono_ns) / 1e9, n = b->messages - a->messages, size = b->bytes - a->bytes;

	if (s <= 0)
		return;
	if (c->a.json)
		printf("{\"channel\":\"%s\",\"hz\":%.4f,\"bytes_per_s\":%.1f,\"messages\":%.0f,\"window_s\":%.4f,"
		       "\"source\":\"publisher\"}\n",
		       c->a.channel, n / s, size / s, n, s);
	else if (bytes)
		printf("%.3f MB/s, mean %.3f kB a message (%.0f messages in %.2f s, counted by the publisher)\n",
		       size / s / 1e6, n > 0 ? size / n / 1e3 : 0, n, s);
	else
		printf("%.3f Hz (%.0f messages in %.2f s, counted by the publisher)\n", n / s, n, s);
	fflush(stdout);
}

static int rate(struct ctl *c, bool bytes)
{
	json_t *channel = ctl_channel(c, c->a.channel); /* for its full name */
	struct count old, now;
	int r = 1;

	if (!channel)
		return 1;
	c->a.channel = json_text(json_object_get(channel, "channel"), "name");
	if (read_count(c, &old))
		goto out;
	for (int64_t n = 0; (!c->a.count || n < c->a.count) && ctl_pause(c->a.window_dur_ns); n++) {
		if (read_count(c, &now))
			goto out;
		print_rate(c, bytes, &old, &now);
		old = now;
	}
	r = 0;
out:
	json_decref(channel);
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

struct delays { /* of one window, ns */
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
	const struct sim_slot *slot;
	int r;

	while (!simctl_stop && !ferror(stdout) && mono_now_ns() < end_mono_ns) {
		r = sim_wait(s, end_mono_ns - mono_now_ns());
		if (r < 0 && r != -ESTALE)
			return ctl_fail(c->a.channel);
		while (sim_take(s, &slot) == 0) {
			delays_add(d, sim_now(c->client) - slot->stamp_sim_ns, mono_now_ns() - slot->publish_mono_ns);
			sim_release(s, slot);
		}
	}
	return 0;
}

int cmd_delay(struct ctl *c)
{
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 64 };
	struct sim_subscriber *s;
	int r = 0;

	if (sim_subscribe(c->client, c->a.channel, NULL, &o, &s) < 0)
		return ctl_fail(NULL);
	for (int64_t n = 0; !r && (!c->a.count || n < c->a.count) && !simctl_stop; n++) {
		struct delays d = { 0 };

		r = collect(c, s, &d);
		if (!r)
			delays_print(c, &d);
	}
	sim_subscriber_destroy(s);
	return r;
}
