/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <sim/sim.h>

#include "err.h"
#include "futex.h"
#include "log.h"
#include "mem.h"
#include "thread.h"
#include "timeutil.h"

LOG_TOPIC("simhost");

#define LOOK_DUR_NS NS_PER_S
#define SLOW_DUR_NS NS_PER_S /* in proc for so long is worth a line */
#define QUIET_LOOKS 10u      /* between two lines of one kind about one component */
#define FLOW_LOOKS  5u       /* of time that runs: others that start with us have come by then */
#define EXIT_STUCK  70       /* sysexits.h: EX_SOFTWARE */

enum kind { KIND_FAILED, KIND_UNMATCHED, KIND_OVERRUN, KIND_REFUSED, KINDS };

struct seen {
	uint64_t count[KINDS]; /* when it was last said */
	uint32_t looks[KINDS]; /* since then */
	int64_t slow_mono_ns;  /* the proc that was named as slow */
};

struct watch {
	struct sim_client *client; /* NULL: of a host without simd */
	struct load *l;
	uint32_t flow_looks; /* FLOW_LOOKS: it has been said what nobody writes */
	int64_t stuck_dur_ns;
	struct seen *seen; /* by index of load */
	pthread_t thread;
	_Atomic uint32_t stop; /* futex */
};

/* How many are new; 0 also where something was said a moment ago. */
static uint64_t news(struct seen *s, enum kind k, uint64_t count)
{
	uint64_t more;

	if (count < s->count[k]) /* it was loaded again */
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
		log_warn("component %s: %llu messages of %s were dropped, for want of %s to go with them", d->name,
			 (unsigned long long)n, d->reader[0].channel, d->reader[which].channel);
}

static void look_slow(struct watch *w, struct seen *s, const char *name, int64_t since_mono_ns)
{
	int64_t dur_ns = since_mono_ns ? mono_now_ns() - since_mono_ns : 0;

	if (w->stuck_dur_ns && dur_ns > w->stuck_dur_ns) {
		log_error("component %s has been in proc for %.1f s (--stuck): ending the process", name,
			  (double)dur_ns / NS_PER_S);
		_exit(EXIT_STUCK);
	}
	if (dur_ns < SLOW_DUR_NS || s->slow_mono_ns == since_mono_ns)
		return;
	s->slow_mono_ns = since_mono_ns;
	log_warn("component %s has been in proc for %.1f s: it holds up its worker", name, (double)dur_ns / NS_PER_S);
}

static void look_at(void *user, unsigned index, const struct dag_component *d, struct sim_component *c)
{
	struct watch *w = user;
	struct seen *s = &w->seen[index];
	struct sim_component_stats st;
	uint64_t n;

	sim_component_stats(c, &st);
	look_slow(w, s, d->name, st.since_mono_ns);
	look_failed(s, d->name, c, st.failed);
	look_unmatched(s, d, &st);
	if ((n = news(s, KIND_OVERRUN, st.overrun)))
		log_warn("component %s is too slow for %s: %llu messages were skipped", d->name, d->reader[0].channel,
			 (unsigned long long)n);
	if ((n = news(s, KIND_REFUSED, st.refused)))
		log_warn(
			"component %s: %llu of its messages were refused; it writes faster than they are taken, or time is paused",
			d->name, (unsigned long long)n);
}

static void on_flow(void *user, bool error, const char *sentence)
{
	(void)user;
	if (!error)
		log_warn("%s", sentence);
}

/* Before time begins nobody writes, and whoever does may be the one that it waits for. */
static void look_at_flow(struct watch *w)
{
	struct sim_clock_sample now;

	if (!w->client || w->flow_looks == FLOW_LOOKS)
		return;
	sim_now_sample(w->client, &now);
	if ((now.flags & SIM_CLOCK_STARTED) && ++w->flow_looks == FLOW_LOOKS)
		(void)load_flow(w->l, on_flow, NULL);
}

static void *watch_main(void *arg)
{
	struct watch *w = arg;

	while (!atomic_load(&w->stop)) {
		load_each(w->l, look_at, w);
		look_at_flow(w);
		futex_wait(&w->stop, 0, LOOK_DUR_NS, FUTEX_PRIVATE_FLAG);
	}
	return NULL;
}

int watch_start(struct sim_host *h, struct load *l, int64_t stuck_dur_ns, struct watch **ret)
{
	struct watch *w = MEM_NEW(struct watch);
	int r;

	if (!w)
		return err_nomem();
	w->client = sim_host_client(h);
	w->l = l;
	w->stuck_dur_ns = stuck_dur_ns;
	w->seen = mem_calloc(load_count(l) + 1, sizeof(*w->seen));
	r = w->seen ? thread_start(&w->thread, "simhost-watch", watch_main, w) : err_nomem();
	if (r < 0) {
		mem_free(w->seen);
		mem_free(w);
		return r == -ENOMEM ? r : err_sys(r, "the thread that watches components");
	}
	*ret = w;
	return 0;
}

void watch_stop(struct watch *w)
{
	if (!w)
		return;
	atomic_store(&w->stop, 1);
	futex_wake_all(&w->stop, FUTEX_PRIVATE_FLAG);
	pthread_join(w->thread, NULL);
	mem_free(w->seen);
	mem_free(w);
}
