/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which components can ever run, see dag_check.h. A channel is live if a component that can run writes it,
 * if it has a writer outside, or if it has no writer at all: a writer may still come, and a separate finding reports
 * it. A component can run if all channels that it reads are live. Components that remain when no more channels become
 * live wait for each other.
 * Thread: the caller's.
 */
#include "dag_check.h"

#include "err.h"
#include "mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENTENCE_MAX 1024u
#define ENDING_MAX   200u /* bytes of it reserved for the text after the cycle */
#define NONE         UINT32_MAX

struct flow {
	const struct flow_component *all;
	unsigned n;
	const char **channel; /* sorted, without duplicates */
	size_t n_channels;
	bool *live;             /* per channel */
	bool *written;          /* per channel: it has a writer, even one that cannot run */
	bool *runs;             /* per component */
	bool *waits;            /* [to * n + from]: component `to` waits for `from`; neither can run */
	uint32_t *from, *queue; /* per component, of the search for a cycle */
	bool *named;            /* per component: it has been named as part of a cycle */
	unsigned found;
	flow_fn fn;
	void *user;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the index of a channel, which must have been collected. */
static size_t number_of(const struct flow *f, const char *channel)
{
	const char **at = bsearch(&channel, f->channel, f->n_channels, sizeof(*f->channel), by_name);

	return (size_t)(at - f->channel);
}

static size_t put_all(const char **to, size_t n, const char *const *names, unsigned n_names)
{
	for (unsigned i = 0; i < n_names; i++)
		to[n++] = names[i];
	return n;
}

static int collect(struct flow *f, const char *const *outside, unsigned n_outside)
{
	size_t n = n_outside, unique = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += f->all[i].n_reads + f->all[i].n_writes;
	f->channel = mem_calloc(n + 1, sizeof(*f->channel));
	f->live = mem_calloc(n + 1, sizeof(*f->live));
	f->written = mem_calloc(n + 1, sizeof(*f->written));
	f->runs = mem_calloc(f->n + 1, sizeof(*f->runs));
	f->named = mem_calloc(f->n + 1, sizeof(*f->named));
	f->waits = mem_calloc((size_t)f->n * f->n + 1, sizeof(*f->waits));
	f->from = mem_calloc(f->n + 1, sizeof(*f->from));
	f->queue = mem_calloc(f->n + 1, sizeof(*f->queue));
	if (!f->channel || !f->live || !f->written || !f->runs || !f->named || !f->waits || !f->from || !f->queue)
		return err_nomem();
	n = put_all(f->channel, 0, outside, n_outside);
	for (unsigned i = 0; i < f->n; i++) {
		n = put_all(f->channel, n, f->all[i].reads, f->all[i].n_reads);
		n = put_all(f->channel, n, f->all[i].writes, f->all[i].n_writes);
	}
	qsort(f->channel, n, sizeof(*f->channel), by_name);
	for (size_t i = 0; i < n; i++)
		if (!unique || strcmp(f->channel[unique - 1], f->channel[i]) != 0)
			f->channel[unique++] = f->channel[i];
	f->n_channels = unique;
	return 0;
}

static void finish(struct flow *f)
{
	mem_free(f->channel);
	mem_free(f->live);
	mem_free(f->written);
	mem_free(f->runs);
	mem_free(f->named);
	mem_free(f->waits);
	mem_free(f->from);
	mem_free(f->queue);
}

/* Marks which channels have a writer, and which are live at first. */
static void mark(struct flow *f, const char *const *outside, unsigned n_outside)
{
	for (unsigned i = 0; i < f->n; i++)
		for (unsigned k = 0; k < f->all[i].n_writes; k++)
			f->written[number_of(f, f->all[i].writes[k])] = true;
	for (size_t i = 0; i < f->n_channels; i++)
		f->live[i] = !f->written[i];
	for (unsigned i = 0; i < n_outside; i++) {
		size_t at = number_of(f, outside[i]);

		f->written[at] = f->live[at] = true;
	}
}

static bool can_run(const struct flow *f, const struct flow_component *c)
{
	for (unsigned i = 0; i < c->n_reads; i++)
		if (!f->live[number_of(f, c->reads[i])])
			return false;
	return true;
}

static void spread(struct flow *f)
{
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < f->n; i++) {
			const struct flow_component *c = &f->all[i];

			if (f->runs[i] || !can_run(f, c))
				continue;
			f->runs[i] = more = true;
			for (unsigned k = 0; k < c->n_writes; k++)
				f->live[number_of(f, c->writes[k])] = true;
		}
	}
}

/* ---- what is reported ---- */

static void report(struct flow *f, enum flow_finding kind, const char *sentence)
{
	f->found++;
	f->fn(f->user, kind, sentence);
}

/* Writes "file:line: "; the path is cut to half of the buffer. */
static void begin(const struct flow_component *c, char s[SENTENCE_MAX])
{
	s[0] = '\0';
	if (c->file)
		snprintf(s, SENTENCE_MAX, "%.*s:%u: ", (int)(SENTENCE_MAX / 2), c->file, c->line);
}

static void report_unwritten(struct flow *f)
{
	char s[SENTENCE_MAX];

	for (unsigned i = 0; i < f->n; i++)
		for (unsigned k = 0; k < f->all[i].n_reads; k++) {
			const char *channel = f->all[i].reads[k];
			size_t len;

			if (f->written[number_of(f, channel)])
				continue;
			begin(&f->all[i], s);
			len = strlen(s);
			snprintf(s + len, sizeof(s) - len,
				 "component %.100s: no process publishes %.256s; the component does not run until one "
				 "does",
				 f->all[i].name, channel);
			report(f, FLOW_NO_WRITER, s);
		}
}

/* Returns the channel by which `to` waits for `from`; NULL: it does not wait for it. */
static const char *waits_by(const struct flow *f, unsigned to, unsigned from)
{
	const struct flow_component *w = &f->all[from], *r = &f->all[to];

	for (unsigned i = 0; i < r->n_reads; i++)
		for (unsigned k = 0; k < w->n_writes; k++)
			if (!strcmp(r->reads[i], w->writes[k]) && !f->live[number_of(f, r->reads[i])])
				return r->reads[i];
	return NULL;
}

/*
 * Breadth-first search from writers to readers, among components that cannot run: from[i] is the writer for which
 * component i waits. Returns true when the search is back at the start.
 */
static bool search(struct flow *f, unsigned start)
{
	unsigned head = 0, tail = 0;

	memset(f->from, 0xff, f->n * sizeof(*f->from));
	f->queue[tail++] = start;
	while (head < tail) {
		unsigned at = f->queue[head++];

		for (unsigned i = 0; i < f->n; i++) {
			if (f->from[i] != NONE || !f->waits[(size_t)i * f->n + at])
				continue;
			f->from[i] = at;
			if (i == start)
				return true;
			f->queue[tail++] = i;
		}
	}
	return false;
}

static void append(char *s, const char *what)
{
	size_t len = strlen(s);

	snprintf(s + len, SENTENCE_MAX - len, "%.100s", what);
}

static bool has_room(const char *s)
{
	return strlen(s) < SENTENCE_MAX - 2 * 110 - ENDING_MAX;
}

/*
 * Reports the cycle that search() found. from[] leads backwards from start; the text has the direction in which
 * messages would flow.
 */
static void report_cycle(struct flow *f, unsigned start)
{
	char s[SENTENCE_MAX], left[40];
	unsigned n = 0, at = start;

	do { /* backwards into queue, which search() no longer needs */
		f->queue[n++] = at;
		f->named[at] = true;
		at = f->from[at];
	} while (at != start);
	begin(&f->all[start], s);
	append(s, "components wait for each other for ever: ");
	append(s, f->all[start].name);
	for (at = start; n-- > 0;) {
		if (!has_room(s)) {
			snprintf(left, sizeof(left), " -> ... (%u more) -> ", n);
			append(s, left);
			append(s, f->all[start].name);
			break;
		}
		append(s, " -> ");
		append(s, waits_by(f, f->queue[n], at));
		append(s, " -> ");
		append(s, f->all[f->queue[n]].name);
		at = f->queue[n];
	}
	append(s, "; a timer, or another program, must write one of these channels");
	report(f, FLOW_CYCLE, s);
}

static void report_cycles(struct flow *f)
{
	for (unsigned to = 0; to < f->n; to++)
		for (unsigned from = 0; from < f->n; from++)
			f->waits[(size_t)to * f->n + from] = !f->runs[to] && !f->runs[from] && waits_by(f, to, from);
	for (unsigned i = 0; i < f->n; i++)
		if (!f->runs[i] && !f->named[i] && search(f, i))
			report_cycle(f, i);
}

int flow_check(const struct flow_component *all, unsigned n, const char *const *outside, unsigned n_outside, flow_fn fn,
	       void *user)
{
	struct flow f = { .all = all, .n = n, .fn = fn, .user = user };
	int r = collect(&f, outside, n_outside);

	if (r == 0) {
		mark(&f, outside, n_outside);
		spread(&f);
		report_unwritten(&f);
		report_cycles(&f);
	}
	finish(&f);
	return r < 0 ? r : (int)f.found;
}
