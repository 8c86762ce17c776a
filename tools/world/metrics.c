/* SPDX-License-Identifier: Apache-2.0 */
/* See metrics.h. */
#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mem.h"

struct kind { /* a metric of each client */
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
	{ "lag_ticks", "gauge", "ticks since the last one it has promised, or was sent", lag },
	{ "rung", "gauge", "rung of the ladder: 0 in time, 1 warned, 2 resent, 3 demoted", rung },
	{ "rtt_seconds", "gauge", "round-trip time; 0: unknown", rtt },
	{ "objects", "gauge", "objects that it owns", objects },
	{ "queued_bytes", "gauge", "bytes that wait to be sent to it", queued },
	{ "received_bytes", "counter", "bytes from it", bytes_in },
	{ "sent_bytes", "counter", "bytes to it", bytes_out },
	{ "ticks", "counter", "ticks sent to it", ticks },
	{ "skipped_ticks", "counter", "ticks not sent to it, since too many bytes waited for it", skipped },
	{ "refused", "counter", "messages from it that were refused", refused },
	{ "received_datagrams", "counter", "datagrams from it", datagrams_in },
	{ "sent_datagrams", "counter", "datagrams to it", datagrams_out },
	{ "lost_frames", "counter", "frames to it by datagram that were lost", datagrams_lost },
};

#define KINDS     (sizeof(kinds) / sizeof(kinds[0]))
#define FIRST_SUM 3u /* kinds before it are not summed */

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
		{ "tick", "counter", "number of the last tick", (double)i->tick },
		{ "time_seconds", "gauge", "simulated time", (double)i->time_sim_ns / 1e9 },
		{ "pace_ratio", "gauge", "simulated time per real time; 0: as fast as possible",
		  i->pace_permille / 1e3 },
		{ "connections", "gauge", "connections, including those without a Hello", i->sessions },
		{ "clients", "gauge", "clients that take part", i->clients },
		{ "waited_for", "gauge", "clients that the last tick waited for", i->waited_for },
		{ "objects", "gauge", "all objects", i->objects },
		{ "updates_total", "counter", "updates of objects that were accepted", (double)i->counters.updates },
		{ "notes_total", "counter", "short messages forwarded", (double)i->notes },
		{ "notes_lost_total", "counter", "short messages not forwarded", (double)i->notes_lost },
		{ "floods_total", "counter", "clients that sent more than their share, and were disconnected",
		  (double)i->floods },
		{ "withheld_total", "counter",
		  "frames of others not sent to a client, since too many bytes waited for it", (double)i->withheld },
	};

	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		head(f, "simworld_", rows[k].name, rows[k].type, rows[k].help);
		fprintf(f, "simworld_%s %.15g\n", rows[k].name, rows[k].value);
	}
	head(f, "simworld_", "updates_refused_total", "counter", "updates of objects that were refused");
	fprintf(f,
		"simworld_updates_refused_total{why=\"not_owner\"} %" PRIu64
		"\nsimworld_updates_refused_total{why=\"stale\"} %" PRIu64
		"\nsimworld_updates_refused_total{why=\"gone\"} %" PRIu64
		"\nsimworld_updates_refused_total{why=\"full\"} %" PRIu64
		"\nsimworld_updates_refused_total{why=\"ahead\"} %" PRIu64 "\n",
		i->counters.not_owner, i->counters.stale, i->counters.gone, i->counters.full, i->ahead);
}

/* A name is printable, so only two of its characters need escaping in a label. */
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

/* Sums up all participants, and returns the first ones individually. Returns how many those are. */
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
		head(f, "simworld_clients_", kinds[k].name, "gauge", "sum over all clients that take part now");
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
