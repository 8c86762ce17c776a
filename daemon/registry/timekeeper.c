/* SPDX-License-Identifier: Apache-2.0 */
/* Where time meets the rest of simd; contract in timekeeper.h. Thread: simd-main. */
#include "timekeeper.h"

#include "bridge.h"
#include "channel.h"
#include "client.h"
#include "config.h"
#include "err.h"
#include "event.h"
#include "fd.h"
#include "ipc.h"
#include "journal.h"
#include "jsonx.h"
#include "log.h"
#include "mem.h"
#include "printable.h"
#include "pubsub.h"
#include "report_clock.h"
#include "shards.h"
#include "simd.h"
#include "timeutil.h"
#include "wait_for.h"

#include "dispatch.h"
#include "clock_pub.h"
#include "clock_thread.h"
#include "engine.h"

#include <errno.h>
#include <math.h>
#include <sim/introspect.h>
#include <sim/msg/ClockEvent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

LOG_TOPIC("time");

#define DRAIN_LOOK_DUR_NS (2 * NS_PER_MS)

/* State whose changes are written to the journal. */
struct seen {
	const struct sim_source_ops *source;
	enum time_state state;
	int64_t scale_e6;
	uint32_t driver; /* 0: none */
};

struct timekeeper {
	struct simd *s;
	struct sim_clock_page *page;
	struct sim_clock_history *history; /* history, mapped behind the page */
	int page_fd;
	struct time_engine *engine;
	struct source_registry *sources;
	struct clock_thread *thread;
	struct clock_pub *pub; /* NULL: no generation is up */
	struct client *self;   /* simd as a publisher: not in simd::clients */
	struct publisher *clock;
	struct log_limit limit; /* of log lines that a driver can cause: jumps, drivers connecting, disconnecting */
	bool freewheel;         /* last value passed to dispatch */
	bool quiet_asked;       /* dispatch will call back when it is quiet */
	struct list drains;     /* time_wait::link: waits until all messages have arrived */
	struct exec_timer drain_look;
	unsigned steps_asked;    /* outstanding callbacks of shards_step() */
	unsigned drains_asked;   /* outstanding callbacks of shards_drain() */
	int64_t step_sim_s;      /* second of simulated time of the last shards_step() */
	struct exec_timer stand; /* next check whether the driver is stopped */
	int64_t stand_sim_ns;    /* time at the last check */
	bool stands;             /* the driver was reported as stopped */
	struct seen seen;        /* last state in the journal */
	struct wait_for start;   /* what time waits for before it begins */
	struct {
		uint32_t client_id;
		char what[TIMEKEEPER_WAITS_MAX + 1];
	} driver_waits; /* reported by that driver */
};

const struct sim_clock_page *timekeeper_page(const struct timekeeper *t)
{
	return t->page;
}

int timekeeper_page_fd(const struct timekeeper *t)
{
	return t->page_fd;
}

/* ---- the journal ---- */

static void put_event(struct timekeeper *t, const struct time_status *st, uint8_t kind, int64_t from_sim_ns,
		      int64_t to_sim_ns)
{
	struct journal_clock c = { .kind = kind,
				   .from_sim_ns = from_sim_ns,
				   .to_sim_ns = to_sim_ns,
				   .scale = (double)st->scale_e6 / SIM_RATE_ONE,
				   .generation = st->clock_generation,
				   .source = st->source->name,
				   .driver = st->has_driver ? st->driver.name : "" };

	journal_put_clock(t->s, &c);
}

static uint8_t kind_of_state(enum time_state state)
{
	return state == TIME_PAUSED     ? SIM_CLOCK_EVENT_PAUSE
	       : state == TIME_STEPPING ? SIM_CLOCK_EVENT_STEP
					: SIM_CLOCK_EVENT_RESUME;
}

static void note_change(struct timekeeper *t, const struct time_status *st)
{
	struct seen was = t->seen;

	t->seen = (struct seen){ .source = st->source,
				 .state = st->state,
				 .scale_e6 = st->scale_e6,
				 .driver = st->has_driver ? st->driver.client_id : 0 };
	if (!journal_wanted(t->s, JOURNAL_CLOCK))
		return;
	if (was.source != t->seen.source)
		put_event(t, st, SIM_CLOCK_EVENT_SOURCE, st->sim_ns, st->sim_ns);
	if (was.driver != t->seen.driver)
		put_event(t, st, SIM_CLOCK_EVENT_DRIVER, st->sim_ns, st->sim_ns);
	if (was.scale_e6 != t->seen.scale_e6)
		put_event(t, st, SIM_CLOCK_EVENT_SCALE, st->sim_ns, st->sim_ns);
	if (was.state != t->seen.state)
		put_event(t, st, kind_of_state(st->state), st->sim_ns, st->sim_ns);
}

/* ---- engine's events ---- */

static void on_jump(void *ctx, int64_t old_sim_ns, int64_t new_sim_ns, uint32_t generation)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	log_limited(&t->limit, exec_now(t->s->x), LOG_LEVEL_INFO, "time jumps from %lld ns to %lld ns",
		    (long long)old_sim_ns, (long long)new_sim_ns);
	event_clock_jump(t->s, old_sim_ns, new_sim_ns, generation);
	if (journal_wanted(t->s, JOURNAL_CLOCK)) {
		struct time_status st;

		time_engine_status(t->engine, &st);
		put_event(t, &st, SIM_CLOCK_EVENT_JUMP, old_sim_ns, new_sim_ns);
	}
}

static void on_driver_lost(void *ctx, const struct time_driver_info *who, const char *why)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	if (t->s->stopping) /* simd has stopped it */
		return;
	log_limited(&t->limit, exec_now(t->s->x), LOG_LEVEL_WARN,
		    "driver lost (client %s, pid %d): %s; the clock is stopped until another driver takes over",
		    who->name, (int)who->pid, why);
}

static void on_driver_released(void *ctx, const struct time_driver_info *who)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	log_limited(
		&t->limit, exec_now(t->s->x), LOG_LEVEL_INFO,
		"client %s (pid %d) has released the driver lease; the clock is stopped until another driver takes over",
		who->name, (int)who->pid);
}

static void on_quiet(void *arg)
{
	struct timekeeper *t = (struct timekeeper *)arg;

	t->quiet_asked = false;
	time_engine_poke(t->engine);
}

/*
 * Checks the cells, not the queue: a claimed credit can belong to a message that has not reached dispatch yet.
 * ret_local: number of claims for local subscribers only.
 */
static bool is_claimed(const struct simd *s, const struct channel *ch, uint32_t *ret_local)
{
	const struct wire_channel *w = &s->dispatch_page->channel[ch->id];

	*ret_local = 0;
	for (uint32_t i = 0; i < ch->cells; i++) {
		uint64_t claim = atomic_load_explicit(&w->cell[i], memory_order_acquire);

		if (claim && !(claim & WIRE_CLAIM_LOCAL))
			return true;
		*ret_local += claim != 0;
	}
	return false;
}

/* roomy: messages for local subscribers, which otherwise do not count, must leave half of each window free. */
static bool credits_free(const struct simd *s, bool roomy)
{
	const struct channel *ch;
	uint32_t n_local;

	list_for_each(ch, &s->channels, link)
		if (ch->open && (is_claimed(s, ch, &n_local) || (roomy && n_local > ch->window / 2)))
			return false;
	return true;
}

/* Skips publishers that are local-only, such as simd's own, or inbound. */
static bool is_watched(void *ctx, int64_t *ret_mono_ns)
{
	struct timekeeper *t = (struct timekeeper *)ctx;
	const struct channel *ch;
	const struct publisher *p;

	*ret_mono_ns = shards_accepted_mono_ns(t->s);
	list_for_each(ch, &t->s->channels, link)
		list_for_each(p, &ch->publishers, in_channel)
			if (!(p->flags & (ADVERTISE_LOCAL | ADVERTISE_INBOUND)) &&
			    !time_engine_paces(t->engine, p->cl->id))
				return true;
	return false;
}

static bool has_arrived(const struct timekeeper *t)
{
	return credits_free(t->s, false) && shards_outstanding(t->s) == 0;
}

static bool is_quiet(void *ctx)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	if (has_arrived(t))
		return true;
	if (!t->quiet_asked && shards_quiet(t->s, on_quiet, t) == 0)
		t->quiet_asked = true;
	return false;
}

/* ---- waits until all messages have arrived ---- */

/* Polled: no callback reports that a claimed credit was freed. */
static void look_at_drains(void *arg)
{
	struct timekeeper *t = (struct timekeeper *)arg;
	struct time_status st;

	time_engine_status(t->engine, &st);
	if (list_empty(&t->drains))
		return;
	if (st.state != TIME_PAUSED)
		time_waits_done(&t->drains,
				err_set(-ECANCELED, "time went on before all that was on its way had arrived"));
	else if (has_arrived(t))
		time_waits_done(&t->drains, 0);
	else
		exec_timer_at(&t->drain_look, exec_now(t->s->x) + DRAIN_LOOK_DUR_NS);
}

void timekeeper_wait_drained(struct timekeeper *t, struct time_wait *w)
{
	list_append(&t->drains, &w->link);
	exec_timer_at(&t->drain_look, exec_now(t->s->x));
}

/* ---- a driver that stands still ---- */

static bool is_stopped(const struct simd *s, int32_t pid)
{
	return s->ops && s->ops->process_stopped && s->ops->process_stopped(s->user, pid);
}

/* Half the deadline, so that a stopped driver is reported within it. */
static void look_again(struct timekeeper *t)
{
	int64_t deadline_dur_ns = conf_int(t->s->root, "step.deadline_ms") * NS_PER_MS;

	exec_timer_at(&t->stand, exec_now(t->s->x) + deadline_dur_ns / 2);
}

/* A driver that requests nothing may have nothing to do; a stopped process cannot request anything. */
static void look_at_driver(void *arg)
{
	struct timekeeper *t = (struct timekeeper *)arg;
	struct time_status st;
	bool stands;

	time_engine_status(t->engine, &st);
	stands = st.has_driver && st.sim_ns == t->stand_sim_ns && is_stopped(t->s, st.driver.pid);
	if (stands && !t->stands)
		log_warn("client %s (pid %d), which drives time, is stopped (SIGSTOP, Ctrl-Z or a debugger): time "
			 "stands still until it continues",
			 st.driver.name, (int)st.driver.pid);
	else if (t->stands && !stands && st.has_driver)
		log_info("client %s (pid %d), which drives time, continues", st.driver.name, (int)st.driver.pid);
	t->stands = stands;
	t->stand_sim_ns = st.sim_ns;
	if (st.has_driver)
		look_again(t);
}

/* The driver's state has changed: with a freewheeling driver, bridges are lossless. */
static void on_changed(void *ctx)
{
	struct timekeeper *t = (struct timekeeper *)ctx;
	struct time_status st;
	bool free;

	time_engine_status(t->engine, &st);
	note_change(t, &st);
	if (st.has_driver && !exec_timer_armed(&t->stand) && t->s->ops && t->s->ops->process_stopped)
		look_again(t);
	free = st.has_driver && st.driver.freewheel;
	if (free == t->freewheel || !t->s->shards)
		return;
	if (shards_freewheel(t->s, free) < 0)
		log_error("no memory to make bridges %s: they stay as they are", free ? "lossless" : "what they were");
	else
		t->freewheel = free;
}

/* ---- the start ---- */

static void on_bridge_changed(struct simd *s)
{
	wait_for_look(&s->time->start);
}

void timekeeper_ready(struct timekeeper *t, struct client *cl)
{
	cl->ready = true;
	wait_for_look(&t->start);
}

/* ---- lock-step ---- */

static void on_hold(void *ctx, bool held, bool paused)
{
	struct timekeeper *t = (struct timekeeper *)ctx;
	enum dispatch_hold hold = held ? DISPATCH_HELD : paused ? DISPATCH_PAUSED : DISPATCH_FLOWS;

	if (t->s->shards && shards_hold(t->s, hold) < 0)
		log_error("no memory to %s messages for lock-step", held ? "hold" : "release");
}

static void on_dispatched(void *arg)
{
	struct timekeeper *t = (struct timekeeper *)arg;

	/* a step that was given up meanwhile does not count */
	if (--t->steps_asked == 0)
		time_engine_dispatched(t->engine);
}

/*
 * Whether a step has nothing to dispatch: each accepted message has a credit until it is completed. But the first step
 * in each second of simulated time flushes the bridges, even if it is empty; and simd waits for dispatch, which frees
 * the credits of local messages, before these fill a window.
 */
static bool is_idle(void *ctx)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	return t->page->sim_ns / NS_PER_S == t->step_sim_s && credits_free(t->s, true);
}

static bool on_dispatch(void *ctx)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	if (is_idle(t))
		return true;
	if (shards_step(t->s, on_dispatched, t) < 0) {
		log_error("no memory to dispatch the messages of a step; they are dispatched with the next one");
		return true;
	}
	t->step_sim_s = t->page->sim_ns / NS_PER_S;
	t->steps_asked++;
	return false;
}

static void on_drained(void *arg)
{
	struct timekeeper *t = (struct timekeeper *)arg;

	if (--t->drains_asked == 0)
		time_engine_drained(t->engine);
}

static bool on_drain(void *ctx)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	if (credits_free(t->s, true))
		return true;
	if (shards_drain(t->s, on_drained, t) < 0) {
		log_error(
			"no memory to dispatch what was published before an advance; it is dispatched with the next step");
		return true;
	}
	t->drains_asked++;
	return false;
}

static void on_driver_late(void *ctx, const struct time_driver_info *who, int64_t waited_dur_ns, bool cut)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	log_limited(&t->limit, exec_now(t->s->x), LOG_LEVEL_WARN,
		    "client %s (pid %d), which drives time, has not asked for more for %.1f s (step.deadline_ms): %s",
		    who->name, (int)who->pid, (double)waited_dur_ns / 1e9,
		    cut ? "time is paused, and messages that it publishes now are refused" : "the step is waiting on");
}

static void on_late(void *ctx, const struct time_participant *who, int64_t waited_dur_ns, bool dropped)
{
	(void)ctx;
	if (who)
		log_warn(
			"lock-step: client %s (pid %d, rank %u) has not acknowledged its step for %.1f s (step.deadline_ms)%s",
			who->name, (int)who->pid, who->rank, (double)waited_dur_ns / 1e9,
			dropped ? ": it is out" : "; waiting on");
	else
		log_warn("lock-step: the messages of a step are not completed after %.1f s (step.deadline_ms)%s",
			 (double)waited_dur_ns / 1e9, dropped ? "; going on without them" : "; waiting on");
}

static void on_participant_lost(void *ctx, const struct time_participant *who, const char *why)
{
	struct timekeeper *t = (struct timekeeper *)ctx;

	log_limited(&t->limit, exec_now(t->s->x), LOG_LEVEL_INFO,
		    "client %s (pid %d) no longer takes part in steps: %s", who->name, (int)who->pid, why);
}

/* ---- making ---- */

static int make_engine(struct timekeeper *t)
{
	struct simd *s = t->s;
	const char *name;
	double scale = conf_real(s->root, "TimeScale");
	struct time_engine_options o = {
		.exec = s->x,
		.page = t->page,
		.history = t->history,
		.scale_e6 = (int64_t)llround(scale * SIM_RATE_ONE),
		.paused = scale == 0,
		.waits = wait_for_any(s),
		.simd_id = s->id,
		.step_settle_dur_ns = conf_int(s->root, "step.settle_ms") * NS_PER_MS,
		.step_deadline_dur_ns = conf_int(s->root, "step.deadline_ms") * NS_PER_MS,
		.step_late = (enum time_late)conf_choice(s->root, "step.late"),
		.steppers = s->dispatch_page->stepper,
		.turn = &s->layout_page->turn,
		.grant = &s->dispatch_page->grant,
		.events = { .jump = on_jump,
			    .changed = on_changed,
			    .quiet = is_quiet,
			    .watched = is_watched,
			    .driver_late = on_driver_late,
			    .driver_lost = on_driver_lost,
			    .driver_released = on_driver_released,
			    .hold = on_hold,
			    .dispatch = on_dispatch,
			    .idle = is_idle,
			    .drain = on_drain,
			    .late = on_late,
			    .participant_lost = on_participant_lost },
		.ctx = t,
	};
	int r = config_time_source(s->conf, &name);

	if (r >= 0)
		r = source_registry_find(t->sources, name, true, &o.source);
	if (r < 0)
		return err_prefix(r, "TimeSource");
	return time_engine_create(&o, &t->engine);
}

static int make_thread(struct timekeeper *t)
{
	struct simd *s = t->s;
	struct clock_thread_options o = {
		.page = t->page,
		.rate_hz = (uint32_t)conf_int(s->root, "clock.rate_hz"),
		.fifo_priority = (int)conf_int(s->root, "clock.priority"),
		.spin_max_dur_ns = conf_bool(s->root, "clock.spin") ? -1 : 0,
		.exec = exec_is_virtual(s->x) ? s->x : NULL,
	};
	int r = clock_thread_create(&o, &t->thread);

	if (r > 0 && o.fifo_priority == CLOCK_PRIORITY_AUTO)
		log_info("%s", err_why());
	else if (r > 0)
		log_warn("%s", err_why());
	return r < 0 ? r : 0;
}

/* Makes a client without a socket, so that /clock is counted, limited and listed like any channel. */
static int make_self(struct timekeeper *t)
{
	struct client *cl = MEM_NEW(struct client);

	if (!cl)
		return err_nomem();
	t->self = cl;
	list_init(&cl->link);
	list_init(&cl->publishers);
	list_init(&cl->subscribers);
	cl->s = t->s;
	cl->id = CLIENT_SIMD;
	cl->role = CLIENT_SOURCE;
	cl->completion_fd = -1;
	cl->pid = getpid();
	cl->uid = geteuid();
	strcpy(cl->name, "simd");
	cl->page = MEM_NEW(struct wire_counter_page);
	return cl->page ? 0 : err_nomem();
}

/* The type of /clock in the form that every advertiser sends. */
static json_t *clock_type(void)
{
	const struct sim_type *type = sim_type_builtin("sim/Clock");
	json_t *j = NULL;
	char *text;

	if (type && sim_type_to_json(type, &text) == 0) {
		j = json_loads(text, 0, NULL);
		free(text);
	}
	return j;
}

int timekeeper_create(struct simd *s, struct timekeeper **ret)
{
	struct timekeeper *t = MEM_NEW(struct timekeeper);
	int r;

	if (!t)
		return err_nomem();
	t->s = s;
	t->page_fd = -1;
	list_init(&t->drains);
	t->limit = (struct log_limit)LOG_LIMIT(10 * NS_PER_S, 50);
	exec_timer_init(&t->stand, s->x, look_at_driver, t);
	exec_timer_init(&t->drain_look, s->x, look_at_drains, t);
	r = time_page_create(&t->page, &t->history, &t->page_fd);
	if (r == 0)
		r = source_registry_create(s->plugin_dirs, &t->sources);
	if (r == 0)
		r = make_engine(t);
	if (r == 0)
		wait_for_init(&t->start, s, t->engine);
	if (r == 0)
		r = make_self(t);
	if (r == 0)
		r = make_thread(t);
	if (r == 0)
		on_changed(t);
	if (r == 0)
		r = journal_create(s, t->self, t->page);
	if (r < 0) {
		timekeeper_destroy(t);
		return r;
	}
	s->bridge_changed = on_bridge_changed;
	*ret = t;
	return 0;
}

static void free_self(struct client *cl)
{
	if (!cl)
		return;
	pubsub_close_all(cl);
	mem_free(cl->page);
	mem_free(cl);
}

void timekeeper_destroy(struct timekeeper *t)
{
	if (!t)
		return;
	t->s->bridge_changed = NULL;
	exec_timer_cancel(&t->stand);
	exec_timer_cancel(&t->drain_look);
	wait_for_finish(&t->start);
	clock_thread_destroy(t->thread);
	clock_pub_destroy(t->pub);
	time_engine_destroy(t->engine);
	source_registry_destroy(t->sources);
	if (!list_empty(&t->drains)) { /* otherwise keeps the error of a failed creation */
		err_set(-ECANCELED, "simd is ending");
		time_waits_done(&t->drains, -ECANCELED);
	}
	journal_destroy(t->s);
	free_self(t->self);
	time_page_destroy(t->page);
	fd_close(t->page_fd);
	mem_free(t);
}

/* ---- data plane ---- */

static int advertise_clock(struct timekeeper *t)
{
	struct advertise a = { .channel = CLOCK_CHANNEL, .max_body = 256, .flags = ADVERTISE_LOCAL | ADVERTISE_LATCH };
	int r, bell;

	if (t->clock)
		return 0;
	a.type = clock_type();
	if (!a.type)
		return err_set(-ENOENT, "the type sim/Clock is not built in");
	r = pubsub_advertise(t->self, &a, &t->clock, &bell);
	json_decref(a.type);
	return r;
}

int timekeeper_dataplane_up(struct timekeeper *t)
{
	struct simd *s = t->s;
	struct clock_pub_options o = { .ipc = s->dataplane.ipc,
				       .channel = CLOCK_CHANNEL,
				       .iox_generation = s->dataplane.generation };
	struct clock_sink sink;
	int r = advertise_clock(t);

	if (r < 0)
		return r;
	o.channel_id = t->clock->ch->id;
	o.publisher_id = t->clock->id;
	o.row = t->clock->counters;
	o.sequence = atomic_load(&t->clock->counters->messages);
	r = clock_pub_create(&o, &t->pub, &sink);
	if (r < 0)
		return err_set(r, "simd cannot publish %s: %s", CLOCK_CHANNEL, *ipc_why() ? ipc_why() : err_text(r));
	clock_thread_set_sink(t->thread, &sink);
	return 0;
}

void timekeeper_dataplane_lost(struct timekeeper *t)
{
	if (!t || !t->thread)
		return;
	clock_thread_set_sink(t->thread, NULL);
	clock_pub_destroy(t->pub);
	t->pub = NULL;
}

/* ---- control ---- */

struct time_engine *timekeeper_engine(const struct timekeeper *t)
{
	return t->engine;
}

int timekeeper_scale(struct timekeeper *t, double scale)
{
	/* checked before rounding: too small a scale would pause */
	if (scale != 0 && !(scale >= 0.01 && scale <= 100))
		return err_set(-ERANGE, "scale %.10g is out of range, 0.01 to 100, or 0 to pause", scale);
	return time_engine_set_scale(t->engine, (int64_t)llround(scale * SIM_RATE_ONE));
}

int timekeeper_set_source(struct timekeeper *t, const char *name, bool keep)
{
	const struct sim_source_ops *source;
	int r = source_registry_find(t->sources, name, false, &source);

	if (r == 0)
		r = time_engine_set_source(t->engine, source, keep);
	if (r == 0 && t->s->ops && t->s->ops->source_changed)
		t->s->ops->source_changed(t->s->user, source->name);
	return r;
}

const char *timekeeper_source(struct timekeeper *t)
{
	struct time_status st;

	time_engine_status(t->engine, &st);
	return st.source->name;
}

int timekeeper_acquire(struct timekeeper *t, const struct client *cl, bool freewheel, bool lockstep, int *ret_fd)
{
	struct time_driver_info who = { .client_id = cl->id,
					.pid = cl->pid,
					.uid = cl->uid,
					.freewheel = freewheel,
					.lockstep = lockstep,
					.name = cl->name };
	int sv[2], r = fd_packet_pair(sv, SOCK_NONBLOCK);

	if (r < 0)
		return err_sys(r, "cannot make the driver's socket");
	r = time_engine_attach_driver(t->engine, sv[0], &who);
	if (r < 0) {
		fd_close(sv[1]);
		return r;
	}
	log_limited(&t->limit, exec_now(t->s->x), LOG_LEVEL_INFO, "client %s (pid %d) drives time%s", cl->name,
		    (int)cl->pid, freewheel ? ", as fast as it can" : "");
	t->driver_waits.what[0] = '\0';
	wait_for_driver(&t->start);
	*ret_fd = sv[1];
	return 0;
}

int timekeeper_driver_waits(struct timekeeper *t, const struct client *cl, const char *what)
{
	struct time_status st;

	time_engine_status(t->engine, &st);
	if (!st.has_driver || st.driver.client_id != cl->id)
		return err_set(-EPERM, "client %s does not drive time: take the driver's lease first", cl->name);
	t->driver_waits.client_id = cl->id;
	printable(t->driver_waits.what, sizeof(t->driver_waits.what), what, strlen(what));
	return 0;
}

static json_t *other_clocks_json(const struct timekeeper *t)
{
	json_t *a = json_array();
	const struct bridge *b;
	struct publisher *p;

	if (t->clock)
		list_for_each(p, &t->clock->ch->publishers, in_channel)
			if (p->cl != t->self)
				json_array_append_new(a, json_string(p->cl->name));
	list_for_each(b, &t->s->bridges, link)
		report_far_clocks(a, b);
	return a;
}

int timekeeper_join(struct timekeeper *t, const struct client *cl, uint32_t rank, int *ret_fd)
{
	struct time_participant who = {
		.client_id = cl->id, .pid = cl->pid, .uid = cl->uid, .rank = rank, .name = cl->name
	};
	int sv[2], r = fd_packet_pair(sv, SOCK_NONBLOCK);

	if (r < 0)
		return err_sys(r, "cannot make the participant's socket");
	r = time_engine_join(t->engine, sv[0], &who);
	if (r < 0) {
		fd_close(sv[1]);
		return r;
	}
	log_limited(&t->limit, exec_now(t->s->x), LOG_LEVEL_INFO, "client %s (pid %d) takes part in steps, rank %u",
		    cl->name, (int)cl->pid, rank);
	wait_for_look(&t->start);
	*ret_fd = sv[1];
	return 0;
}

static const char *driver_waits_for(const struct timekeeper *t, const struct time_status *st)
{
	return st->has_driver && st->driver.client_id == t->driver_waits.client_id ? t->driver_waits.what : "";
}

json_t *timekeeper_json(struct timekeeper *t)
{
	struct time_status st;
	struct clock_thread_stats c;

	time_engine_status(t->engine, &st);
	clock_thread_stats(t->thread, &c);
	return JSONX_MAKE(JX_STR("source", st.source->name), JX_BOOL("driven", st.driven), JX_INT("sim_ns", st.sim_ns),
			  JX_INT("mono_ns", st.mono_ns), JX_REAL("scale", (double)st.scale_e6 / SIM_RATE_ONE),
			  JX_BOOL("paused", st.state == TIME_PAUSED), JX_BOOL("pausing", st.pausing),
			  JX_BOOL("stepping", st.state == TIME_STEPPING), JX_BOOL("started", st.started),
			  JX_INT("clock_generation", st.clock_generation), JX_INT("rate_hz", c.rate_hz),
			  JX_REAL("real_time_factor", st.real_time_factor), JX_NEW("driver", report_driver(&st)),
			  JX_STR("driver_waits_for", driver_waits_for(t, &st)), JX_BOOL("driver_lost", st.driver_lost),
			  JX_BOOL("driver_stopped", st.has_driver && is_stopped(t->s, st.driver.pid)),
			  JX_INT("steps", st.steps), JX_NEW("participants", report_participants(t->engine)),
			  JX_NEW("waits_for", wait_for_missing(&t->start)),
			  JX_NEW("other_clocks", other_clocks_json(t)), JX_INT("published", c.published),
			  JX_INT("missed", c.missed), JX_INT("priority", c.priority),
			  JX_NEW("lateness_ns",
				 JSONX_MAKE(JX_INT("p50", c.lateness.p50_dur_ns), JX_INT("p99", c.lateness.p99_dur_ns),
					    JX_INT("max", c.lateness.max_dur_ns))),
			  JX_BOOL("freewheel", st.has_driver && st.driver.freewheel),
			  JX_NEW("error_ns", st.error_dur_ns < 0 ? json_null() : json_integer(st.error_dur_ns)),
			  JX_NEW("run", report_run(&st.run)));
}
