/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h */
#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mem.h"

struct kind { /* of a client's numbers */
	const char *name, *type, *help;
	double (*of)(const struct session_info *i);
};

static double lag(const struct session_info *i)
{
	return (double)i->lag;
}

static double rung(const struct session_info *i)
{
	return (double)i->barrier.rung;
}

static double rtt(const struct session_info *i)
{
	return i->barrier.rtt_dur_ns < 0 ? 0 : (double)i->barrier.rtt_dur_ns / 1e9;
}

static double objects(const struct session_info *i)
{
	return i->objects;
}

static double queued(const struct session_info *i)
{
	return (double)i->queued;
}

static double bytes_in(const struct session_info *i)
{
	return (double)i->bytes_in;
}

static double bytes_out(const struct session_info *i)
{
	return (double)i->bytes_out;
}

static double ticks(const struct session_info *i)
{
	return (double)i->ticks;
}

static double skipped(const struct session_info *i)
{
	return (double)i->skipped;
}

static double refused(const struct session_info *i)
{
	return (double)i->refused;
}

static double datagrams_in(const struct session_info *i)
{
	return (double)i->datagrams_in;
}

static double datagrams_out(const struct session_info *i)
{
	return (double)i->datagrams_out;
}

static double datagrams_lost(const struct session_info *i)
{
	return (double)i->datagrams_lost;
}

static const struct kind kinds[] = {
	{ "lag_ticks", "gauge", "ticks since the one it has promised, or was sent", lag },
	{ "rung", "gauge", "of the ladder: 0 in time, 1 warned, 2 resent, 3 demoted", rung },
	{ "rtt_seconds", "gauge", "there and back; 0: not known", rtt },
	{ "objects", "gauge", "of its own", objects },
	{ "queued_bytes", "gauge", "that wait for it", queued },
	{ "received_bytes", "counter", "from it", bytes_in },
	{ "sent_bytes", "counter", "to it", bytes_out },
	{ "ticks", "counter", "that it was sent", ticks },
	{ "skipped_ticks", "counter", "that it was not sent, as too much waited for it", skipped },
	{ "refused", "counter", "what it said and was not taken", refused },
	{ "received_datagrams", "counter", "from it", datagrams_in },
	{ "sent_datagrams", "counter", "to it", datagrams_out },
	{ "lost_frames", "counter", "to it, by datagram", datagrams_lost },
};

#define KINDS     (sizeof(kinds) / sizeof(kinds[0]))
#define FIRST_SUM 3u /* those before it make no sum */

static void head(FILE *f, const char *prefix, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, help, prefix, name, type);
}

static void of_world(FILE *f, const struct world_info *i)
{
	const struct {
		const char *name, *type, *help;
		double value;
	} rows[] = {
		{ "tick", "counter", "the last one", (double)i->tick },
		{ "time_seconds", "gauge", "simulated", (double)i->time_sim_ns / 1e9 },
		{ "pace_ratio", "gauge", "simulated for real time; 0: as fast as it goes", i->pace_permille / 1e3 },
		{ "connections", "gauge", "those without a Hello too", i->sessions },
		{ "clients", "gauge", "that take part", i->clients },
		{ "waited_for", "gauge", "clients that the last tick waited for", i->waited_for },
		{ "objects", "gauge", "in all", i->objects },
		{ "updates_total", "counter", "of objects, taken", (double)i->counters.updates },
		{ "notes_total", "counter", "short messages, passed on", (double)i->notes },
		{ "notes_lost_total", "counter", "short messages, not passed on", (double)i->notes_lost },
		{ "floods_total", "counter", "clients that sent more than their share, and were disconnected",
		  (double)i->floods },
		{ "withheld_total", "counter", "frames of others that a client was not sent, as too much waited for it",
		  (double)i->withheld },
	};

	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		head(f, "simworld_", rows[k].name, rows[k].type, rows[k].help);
		fprintf(f, "simworld_%s %.15g\n", rows[k].name, rows[k].value);
	}
	head(f, "simworld_", "updates_refused_total", "counter", "of objects, not taken");
	fprintf(f,
		"simworld_updates_refused_total{why=\"not_owner\"} %" PRIu64
		"\nsimworld_updates_refused_total{why=\"stale\"} %" PRIu64
		"\nsimworld_updates_refused_total{why=\"gone\"} %" PRIu64
		"\nsimworld_updates_refused_total{why=\"full\"} %" PRIu64
		"\nsimworld_updates_refused_total{why=\"ahead\"} %" PRIu64 "\n",
		i->counters.not_owner, i->counters.stale, i->counters.gone, i->counters.full, i->ahead);
}

/* A name is printable: of what a label cannot have as it is, that leaves two. */
static void label(FILE *f, const char *name)
{
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			fputc('\\', f);
		fputc(*name, f);
	}
}

static void of_clients(FILE *f, const struct kind *k, const struct session_info *at, unsigned n)
{
	head(f, "simworld_client_", k->name, k->type, k->help);
	for (unsigned i = 0; i < n; i++) {
		fprintf(f, "simworld_client_%s{connection=\"%u\",name=\"", k->name, at[i].connection);
		label(f, at[i].name);
		fprintf(f, "\"} %.15g\n", k->of(&at[i]));
	}
}

/* Of all that take part; the first of them one by one. Returns how many these are. */
static unsigned look(const struct world *w, struct session_info first[METRICS_CLIENTS], double sums[KINDS])
{
	struct session_info i = { .connection = 0 };
	const struct session *s;
	unsigned n = 0;

	while ((s = world_next(w, i.connection))) {
		session_info(s, &i);
		for (unsigned k = 0; k < KINDS; k++)
			sums[k] += kinds[k].of(&i);
		if (n < METRICS_CLIENTS)
			first[n++] = i;
	}
	return n;
}

static void write_page(FILE *f, const struct world *w, struct session_info first[METRICS_CLIENTS])
{
	double sums[KINDS] = { 0 };
	unsigned n = look(w, first, sums);
	struct world_info i;

	world_info(w, &i);
	of_world(f, &i);
	for (unsigned k = 0; k < KINDS; k++)
		of_clients(f, &kinds[k], first, n);
	for (unsigned k = FIRST_SUM; k < KINDS; k++) {
		head(f, "simworld_clients_", kinds[k].name, "gauge", "of all that take part now together");
		fprintf(f, "simworld_clients_%s %.15g\n", kinds[k].name, sums[k]);
	}
}

char *metrics_text(const struct world *w)
{
	struct session_info *first = mem_calloc(METRICS_CLIENTS, sizeof(*first));
	char *text = NULL;
	size_t len = 0;
	FILE *f = first ? open_memstream(&text, &len) : NULL;
	bool failed;

	if (!f) {
		mem_free(first);
		return NULL;
	}
	write_page(f, w, first);
	failed = ferror(f);
	failed |= fclose(f) != 0;
	mem_free(first);
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}
