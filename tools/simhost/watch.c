/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sim/sim.h>

#include "crash.h"
#include "err.h"
#include "futex.h"
#include "log.h"
#include "mem.h"
#include "thread.h"
#include "timeutil.h"

LOG_TOPIC("simhost");

#define LOOK_DUR_NS    NS_PER_S
#define SLOW_DUR_NS    NS_PER_S /* a callback that runs longer than this is logged */
#define SLOW_MAX       32u
#define QUIET_LOOKS    10u /* minimum number of looks between two warnings of one kind about one component */
#define INIT_TIMES     10  /* init may take this many times --stuck */
#define HOST_NOTES_MAX 1024
/* looks after simulated time has started; until then, processes started with simhost have created their writers */
#define FLOW_LOOKS 5u

enum kind { KIND_FAILED, KIND_UNMATCHED, KIND_OVERRUN, KIND_REFUSED, KINDS };

struct seen {
	uint64_t count[KINDS]; /* count when it was last logged */
	uint32_t looks[KINDS]; /* looks since then */
	int64_t slow_mono_ns;  /* start of the init or end that was last logged as slow */
};

/* A callback that has been running for a while. Callbacks of one thread are nested; the thread is in the deepest. */
struct slow {
	uint64_t thread;
	uint32_t depth;
	int64_t since_mono_ns;
	char name[NAME_MAX + 1];
	char what[NAME_MAX + 1]; /* "proc", "its reader of /x" */
	bool service;            /* it runs in the thread of services */
};

struct watch {
	struct sim_client *client; /* NULL: the host has no connection to simd */
	struct load *l;
	const char *scheduler; /* place where the configuration is given; NULL: not given */
	size_t noted;          /* bytes of the host's notes already logged */
	uint32_t flow_looks;   /* counts up to FLOW_LOOKS; then the missing writers have been logged */
	int64_t stuck_dur_ns;
	struct seen seen[DAG_COMPONENTS_MAX]; /* by index in load */
	struct slow slow[SLOW_MAX];           /* found in this look */
	unsigned n_slow;
	struct {
		uint64_t thread;
		int64_t since_mono_ns;
	} named[SLOW_MAX]; /* slow callbacks already logged */
	unsigned next_named;
	int64_t now_mono_ns; /* time of this look */
	struct {
		const struct dag_component *first;
		unsigned n;
		uint64_t skipped;
	} overrun; /* sums of this look */
	pthread_t thread;
	_Atomic uint32_t stop; /* futex; 1: stop */
};

/* Returns how many events are new; 0 also if a warning of this kind was logged a moment ago. */
static uint64_t news(struct seen *s, enum kind k, uint64_t count)
{
	uint64_t more;

	if (count < s->count[k]) /* the component was reloaded and counts from 0 */
		s->count[k] = 0;
	more = count - s->count[k];

	if (s->looks[k] < QUIET_LOOKS)
		s->looks[k]++;
	if (!more || (s->count[k] && s->looks[k] < QUIET_LOOKS))
		return 0;
	s->count[k] = count;
	s->looks[k] = 0;
	return more;
}

static void look_failed(struct seen *s, const char *name, struct sim_component *c, uint64_t failed)
{
	uint64_t n = news(s, KIND_FAILED, failed);
	char why[256];

	if (!n)
		return;
	sim_component_last_failure(c, why, sizeof(why));
	log_warn("component %s: proc failed %llu times: %s", name, (unsigned long long)n, why);
}

static void look_unmatched(struct seen *s, const struct dag_component *d, const struct sim_component_stats *st)
{
	uint64_t n, all = 0;
	unsigned which = 0;

	for (unsigned i = 0; i < d->n_readers; i++) {
		all += st->unmatched[i];
		which = st->unmatched[i] > st->unmatched[which] ? i : which;
	}
	n = news(s, KIND_UNMATCHED, all);
	if (n)
		log_warn("component %s: %llu messages of %s were dropped because no message of %s matched "
			 "them",
			 d->name, (unsigned long long)n, d->reader[0].channel, d->reader[which].channel);
}

/* ---- who does not come back ---- */

static void end_process(const char *name, const char *what, int64_t dur_ns)
{
	log_error("component %s has been %s for %.1f s (--stuck): ending the process", name, what,
		  (double)dur_ns / NS_PER_S);
	_exit(CRASH_EXIT);
}

static int64_t slow_dur_ns(const struct watch *w)
{
	return w->stuck_dur_ns && w->stuck_dur_ns < SLOW_DUR_NS ? w->stuck_dur_ns : SLOW_DUR_NS;
}

static void on_call(void *user, const struct sim_component_call *c)
{
	struct watch *w = user;
	struct slow *s = &w->slow[w->n_slow];

	if (w->now_mono_ns - c->since_mono_ns < slow_dur_ns(w) || w->n_slow == SLOW_MAX)
		return;
	*s = (struct slow){ .thread = c->thread, .depth = c->depth, .since_mono_ns = c->since_mono_ns };
	s->service = strcmp(c->what, "service") == 0 || strcmp(c->what, "parameter") == 0;
	snprintf(s->name, sizeof(s->name), "%s", c->name);
	if (strcmp(c->what, "proc") == 0)
		snprintf(s->what, sizeof(s->what), "proc");
	else
		snprintf(s->what, sizeof(s->what), "its %s%s %s", c->what, strcmp(c->what, "reader") == 0 ? " of" : "",
			 c->of);
	w->n_slow++;
}

/* Whether s is the innermost callback of its thread. *ret_dur_ns: how long the outermost one has been running. */
static bool is_deepest(const struct watch *w, const struct slow *s, int64_t *ret_dur_ns)
{
	int64_t since_mono_ns = s->since_mono_ns;

	for (unsigned i = 0; i < w->n_slow; i++) {
		const struct slow *o = &w->slow[i];

		if (o->thread != s->thread)
			continue;
		if (o->depth > s->depth)
			return false;
		since_mono_ns = o->since_mono_ns < since_mono_ns ? o->since_mono_ns : since_mono_ns;
	}
	*ret_dur_ns = w->now_mono_ns - since_mono_ns;
	return true;
}

static bool was_named(struct watch *w, const struct slow *s)
{
	for (unsigned i = 0; i < SLOW_MAX; i++)
		if (w->named[i].thread == s->thread && w->named[i].since_mono_ns == s->since_mono_ns)
			return true;
	w->named[w->next_named].thread = s->thread;
	w->named[w->next_named].since_mono_ns = s->since_mono_ns;
	w->next_named = (w->next_named + 1) % SLOW_MAX;
	return false;
}

static void look_slow(struct watch *w, const struct slow *s)
{
	bool simulates = sim_host_mode(load_host(w->l)) == SIM_RUN_SIMULATION;
	int64_t all_dur_ns, dur_ns = w->now_mono_ns - s->since_mono_ns;
	char in[sizeof(s->what) + 3];

	if (!is_deepest(w, s, &all_dur_ns))
		return;
	snprintf(in, sizeof(in), "in %s", s->what);
	if (w->stuck_dur_ns && all_dur_ns > w->stuck_dur_ns)
		end_process(s->name, in, dur_ns);
	if (!was_named(w, s))
		log_warn("component %s has been %s for %.1f s: it holds up %s", s->name, in, (double)dur_ns / NS_PER_S,
			 s->service  ? "all services of the process"
			 : simulates ? "all others"
				     : "its worker");
}

static void look_at_calls(struct watch *w)
{
	w->n_slow = 0;
	sim_component_calls(on_call, w);
	for (unsigned i = 0; i < w->n_slow; i++)
		look_slow(w, &w->slow[i]);
}

static void look_at_busy(void *user, unsigned index, const struct dag_component *d, enum load_work work,
			 int64_t since_mono_ns)
{
	static const char *const what[] = { [LOAD_NOTHING] = "",
					    [LOAD_OPENS] = "loading its library",
					    [LOAD_STARTS] = "in init",
					    [LOAD_ENDS] = "ending (its last proc, or shutdown)" };
	struct watch *w = user;
	struct seen *s = &w->seen[index];
	int64_t dur_ns = w->now_mono_ns - since_mono_ns;

	if (w->stuck_dur_ns && dur_ns / (work == LOAD_ENDS ? 1 : INIT_TIMES) > w->stuck_dur_ns)
		end_process(d->name, what[work], dur_ns);
	if (dur_ns < SLOW_DUR_NS || s->slow_mono_ns == since_mono_ns)
		return;
	s->slow_mono_ns = since_mono_ns;
	log_warn("component %s has been %s for %.1f s", d->name, what[work], (double)dur_ns / NS_PER_S);
}

/* ---- a look ---- */

static void look_at(void *user, unsigned index, const struct dag_component *d, struct sim_component *c)
{
	struct watch *w = user;
	struct seen *s = &w->seen[index];
	struct sim_component_stats st;
	uint64_t n;

	sim_component_stats(c, &st);
	look_failed(s, d->name, c, st.failed);
	look_unmatched(s, d, &st);
	if ((n = news(s, KIND_OVERRUN, st.overrun))) {
		w->overrun.first = w->overrun.n++ ? w->overrun.first : d;
		w->overrun.skipped += n;
	}
	if ((n = news(s, KIND_REFUSED, st.refused)))
		log_warn(
			"component %s: %llu of its messages were refused; it writes faster than they are taken, or time is paused",
			d->name, (unsigned long long)n);
}

/*
 * All components in one line: when the machine stalls, all are late at once, and a line for each would push other lines
 * out of simd's log.
 */
static void say_overrun(struct watch *w)
{
	const struct dag_component *d = w->overrun.first;
	char others[48] = "";

	if (w->overrun.n > 1)
		snprintf(others, sizeof(others), ", and %u other%s too", w->overrun.n - 1, w->overrun.n > 2 ? "s" : "");
	if (w->overrun.n)
		log_warn("component %s is too slow for %s%s: %llu messages were skipped", d->name, d->reader[0].channel,
			 others, (unsigned long long)w->overrun.skipped);
	w->overrun.n = 0;
	w->overrun.skipped = 0;
}

static void on_flow(void *user, bool error, const char *sentence)
{
	(void)user;
	if (!error)
		log_warn("%s", sentence);
}

/*
 * Logs inputs without a writer, some time after simulated time has started. Not earlier: a writer may wait for the
 * start as well.
 */
static void look_at_flow(struct watch *w)
{
	struct sim_clock_sample now;

	if (!w->client || !load_is_whole(w->l) || w->flow_looks == FLOW_LOOKS)
		return;
	sim_now_sample(w->client, &now);
	if ((now.flags & SIM_CLOCK_STARTED) && ++w->flow_looks == FLOW_LOOKS)
		(void)load_flow(w->l, on_flow, NULL);
}

/*
 * Logs what the machine cannot provide of the scheduler's configuration: known when threads have started, and again
 * after a reload.
 */
static void look_at_notes(struct watch *w)
{
	char text[HOST_NOTES_MAX], *save = NULL;

	if (!w->scheduler)
		return;
	sim_host_notes(load_host(w->l), text, sizeof(text));
	for (char *line = strtok_r(text + w->noted, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		log_warn("%s: %s", w->scheduler, line);
		w->noted = (size_t)(line - text) + strlen(line);
	}
}

static void *watch_main(void *arg)
{
	struct watch *w = arg;

	while (!atomic_load(&w->stop)) {
		w->now_mono_ns = mono_now_ns();
		look_at_calls(w);
		load_each(w->l, look_at, w);
		say_overrun(w);
		load_each_busy(w->l, look_at_busy, w);
		look_at_flow(w);
		look_at_notes(w);
		futex_wait(&w->stop, 0, LOOK_DUR_NS, FUTEX_PRIVATE_FLAG);
	}
	return NULL;
}

int watch_start(struct load *l, int64_t stuck_dur_ns, const char *scheduler, struct watch **ret)
{
	struct watch *w = MEM_NEW(struct watch);
	int r;

	if (!w)
		return err_nomem();
	w->client = sim_host_client(load_host(l));
	w->l = l;
	w->stuck_dur_ns = stuck_dur_ns;
	w->scheduler = scheduler;
	r = thread_start(&w->thread, "simhost-watch", watch_main, w);
	if (r < 0) {
		mem_free(w);
		return err_sys(r, "the thread that watches components");
	}
	*ret = w;
	return 0;
}

void watch_look(struct watch *w)
{
	futex_wake_all(&w->stop, FUTEX_PRIVATE_FLAG);
}

void watch_stop(struct watch *w)
{
	if (!w)
		return;
	atomic_store(&w->stop, 1);
	futex_wake_all(&w->stop, FUTEX_PRIVATE_FLAG);
	pthread_join(w->thread, NULL);
	look_at_notes(w);
	mem_free(w);
}
