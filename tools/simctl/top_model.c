/* SPDX-License-Identifier: Apache-2.0 */
/* See top_model.h. Thread: main. */
#include "top_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "simctl.h"
#include "timeutil.h"
#include "top_state.h"

void top_sample_finish(struct top_sample *s)
{
	json_decref(s->info);
	json_decref(s->clock);
	json_decref(s->channels);
	json_decref(s->bridges);
	json_decref(s->clients);
	*s = (struct top_sample){ 0 };
}

void top_model_init(struct top_model *m, top_proc_fn proc)
{
	*m = (struct top_model){ .proc = proc ? proc : top_proc_read };
}

void top_model_finish(struct top_model *m)
{
	for (unsigned i = 0; i < TOP_TABS; i++)
		json_decref(m->seen[i]);
	top_sample_finish(&m->now);
}

/* ---- differences to the last sample ---- */

/* Value of a member in the last sample; without one, `now`, so that the difference is 0. */
static double before(const struct top_model *m, enum top_tab tab, const char *name, const char *key, double now)
{
	const json_t *old = json_object_get(m->seen[tab], name);

	return old ? json_num(old, key) : now;
}

static void remember(json_t *seen, const char *name, const char *key, double v)
{
	json_t *o = json_object_get(seen, name);

	if (!o) {
		o = json_object();
		json_object_set_new(seen, name, o);
	}
	json_object_set_new(o, key, json_real(v));
}

static double seconds(const struct top_model *m)
{
	return m->last_mono_ns ? (double)(m->now.mono_ns - m->last_mono_ns) / 1e9 : 0;
}

/* Per second; null without a previous sample. */
static json_t *rate_of(const struct top_model *m, double difference)
{
	double s = seconds(m);

	return s > 0 ? json_real(difference / s) : json_null();
}

/* ---- channels ---- */

/*
 * Seconds between messages, also of a slow channel: from the last two samples in which messages had come. 0: unknown.
 */
static double period(const struct top_model *m, const json_t *ch, json_t *seen, const char *name)
{
	double n = json_num(ch, "messages"), old = before(m, TOP_CHANNELS, name, "messages", n);
	double at = (double)m->now.mono_ns / 1e9 - json_num(ch, "age_ms") / 1e3;
	double last = before(m, TOP_CHANNELS, name, "last_s", at), p = before(m, TOP_CHANNELS, name, "period_s", 0);

	if (n > old && at > last)
		p = (at - last) / (n - old);
	else if (!(p > 0) && json_num(ch, "hz") > 0)
		p = 1 / json_num(ch, "hz");
	remember(seen, name, "messages", n);
	remember(seen, name, "last_s", n > old ? at : last);
	remember(seen, name, "period_s", p);
	return p;
}

static void take_channel(struct top_model *m, json_t *ch, json_t *seen)
{
	const char *name = json_text(ch, "name");
	double drops = json_amount(json_object_get(ch, "drops"));
	double gone = drops - before(m, TOP_CHANNELS, name, "drops", drops), p = period(m, ch, seen, name);
	const char *state = top_channel_state(ch, p, json_object_get(m->now.clock, "clock"));

	remember(seen, name, "drops", drops);
	json_object_set_new(ch, "state", json_string(state));
	json_object_set_new(ch, "new_drops", json_real(gone));
	m->totals.channels++;
	m->totals.flow += !strcmp(state, "flows");
	m->totals.late += !strcmp(state, "late");
	m->totals.silent += !strcmp(state, "silent");
	m->totals.hz += json_num(ch, "hz");
	m->totals.bytes_per_s += json_num(ch, "bytes_per_s");
	m->totals.drops += drops;
	m->totals.new_drops += gone;
}

/* ---- processes ---- */

static void take_process(struct top_model *m, json_t *client, json_t *seen)
{
	pid_t pid = (pid_t)json_num(client, "pid");
	struct top_proc p;
	char key[16];

	snprintf(key, sizeof(key), "%d", (int)pid);
	if (pid <= 0 || m->proc(pid, &p) < 0) { /* the pid may be of another namespace */
		json_object_set_new(client, "state", json_string("?"));
		json_object_set_new(client, "cpu", json_null());
		json_object_set_new(client, "rss", json_null());
		return;
	}
	json_object_set_new(client, "state", json_string(top_process_state(p.state)));
	json_object_set_new(client, "cpu",
			    json_object_get(m->seen[TOP_PROCESSES], key)
				    ? rate_of(m, ((double)p.cpu_ns - before(m, TOP_PROCESSES, key, "cpu_ns", 0)) / 1e7)
				    : json_null());
	json_object_set_new(client, "rss", json_real((double)p.rss));
	remember(seen, key, "cpu_ns", (double)p.cpu_ns);
}

static void add_process(json_t *list, size_t at, const char *name, const char *role, double pid)
{
	if (pid > 0)
		json_array_insert_new(list, at, json_pack("{s:s, s:s, s:f}", "name", name, "role", role, "pid", pid));
}

/*
 * Adds simd and RouDi, which are not clients of simd, and the processes that simd has given up, which do not exist any
 * more.
 */
static void add_processes(const struct top_model *m)
{
	json_t *list = json_object_get(m->now.clients, "clients"), *given_up, *g;
	size_t i;

	add_process(list, 0, "simd", "simd", json_num(m->now.info, "pid"));
	add_process(list, 1, "iox-roudi", "memory", json_num(m->now.info, "roudi_pid"));
	given_up = json_object_get(m->now.info, "given_up");
	json_array_foreach(given_up, i, g)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", json_text(g, "name"), "role",
						      "process", "state", "given up", "exe", json_text(g, "why")));
}

static void take_processes(struct top_model *m, json_t *seen)
{
	json_t *list = json_object_get(m->now.clients, "clients"), *client;
	size_t i;

	if (!list)
		return;
	add_processes(m);
	json_array_foreach(list, i, client)
		if (!json_object_get(client, "state"))
			take_process(m, client, seen);
}

/* ---- bridges and pools ---- */

static void take_bridge(struct top_model *m, json_t *b, json_t *seen)
{
	const char *name = json_text(b, "name");
	double sent = json_num(b, "sent"), lost = json_num(b, "failed") + json_num(b, "dropped");

	json_object_set_new(b, "rate", rate_of(m, sent - before(m, TOP_BRIDGES, name, "sent", sent)));
	json_object_set_new(b, "lost", json_real(lost));
	json_object_set_new(b, "new_lost", json_real(lost - before(m, TOP_BRIDGES, name, "lost", lost)));
	json_object_set_new(b, "state", json_string(json_yes(b, "stalled") ? "stalled" : json_text(b, "status")));
	remember(seen, name, "sent", sent);
	remember(seen, name, "lost", lost);
}

/* "/camera 26, /lidar 20 and others". */
static json_t *holders_text(const json_t *p)
{
	double left = json_num(p, "reserved");
	char text[512] = "";
	size_t i, n = 0;
	json_t *h;

	json_array_foreach(json_object_get(p, "holders"), i, h) {
		n += (size_t)snprintf(text + n, n < sizeof(text) ? sizeof(text) - n : 0, "%s%.120s %.0f", i ? ", " : "",
				      json_text(h, "channel"), json_num(h, "slots"));
		left -= json_num(h, "slots");
	}
	if (left > 0 && n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, "%s", n ? " and others" : "");
	return json_string(text);
}

static void take_pool(struct top_model *m, json_t *p)
{
	double count = json_num(p, "count"), used = json_num(p, "used");
	double percent = count > 0 ? 100 * used / count : 0;
	char name[32];

	snprintf(name, sizeof(name), "%.0f", json_num(p, "size"));
	json_object_set_new(p, "name", json_string(name));
	json_object_set_new(p, "percent", json_real(percent));
	json_object_set_new(p, "free", json_real(count - used));
	json_object_set_new(p, "for", holders_text(p));
	json_object_set_new(p, "state", json_string(top_pool_state(percent)));
	if (percent > m->totals.pool_percent)
		m->totals.pool_percent = percent;
}

void top_model_take(struct top_model *m, struct top_sample *s)
{
	json_t *seen[TOP_TABS] = { json_object(), json_object(), NULL, json_object(), NULL }, *item;
	size_t i;

	top_sample_finish(&m->now);
	m->now = *s;
	*s = (struct top_sample){ 0 };
	m->totals = (struct top_totals){ 0 };
	json_array_foreach(json_object_get(m->now.channels, "channels"), i, item)
		take_channel(m, item, seen[TOP_CHANNELS]);
	take_processes(m, seen[TOP_PROCESSES]);
	json_array_foreach(json_object_get(m->now.bridges, "bridges"), i, item)
		take_bridge(m, item, seen[TOP_BRIDGES]);
	json_array_foreach(json_object_get(m->now.info, "pools"), i, item)
		take_pool(m, item);
	for (i = 0; i < TOP_TABS; i++) {
		json_decref(m->seen[i]);
		m->seen[i] = seen[i];
	}
	m->last_mono_ns = m->now.mono_ns;
}
