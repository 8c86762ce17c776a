/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: one state machine for the first connect, a restarted simd and a restarted data plane. It
 * never waits, except for simd's answers to calls; attaching to the data plane is a job of its own.
 *
 *   DOWN --connect, Hello--> [DATAPLANE] --> ATTACH <--> RETRY --> (register everything) PROVE --> UP
 *
 *   simd gone             outstanding -> LOST, clock frozen -> DOWN (the attachment to the data plane is kept)
 *   data plane gone       outstanding -> RESTART, ports stale -> DATAPLANE
 *
 * Thread: sim-io or sim_process(), or the thread inside sim_connect(); always under client::setup.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "clockmap.h"
#include "driver.h"
#include "err.h"
#include "jump.h"
#include "mem.h"
#include "publisher.h"
#include "service.h"
#include "session.h"
#include "step.h"
#include "subscriber.h"
#include "thread.h"
#include "timeutil.h"
#include "token.h"

#define BACKOFF_MIN_DUR_NS (10 * NS_PER_MS)
#define BACKOFF_MAX_DUR_NS (1 * NS_PER_S)
#define PROBE_DUR_NS       (2 * NS_PER_MS)
#define PROBE_SLOW_DUR_NS  (50 * NS_PER_MS)
#define PROVE_DUR_NS       (2 * NS_PER_S)
#define DOUBT_DUR_NS       (1 * NS_PER_S)

/* ---- attaching, as a job ---- */

struct attach_job {
	struct sim_client *c;
	struct ipc_options o;
	char app[96], backend[16], plane[PLANE_MAX];
	bool bridge;
	uint32_t iox_generation;
	pthread_t thread;
	bool threaded;
	struct ipc *ipc;
	int r;
	char why[WHY_MAX];
	_Atomic bool done;
};

static void attach_run(struct attach_job *j)
{
	j->r = ipc_attach(&j->o, &j->ipc);
	if (j->r == 0 && j->bridge) {
		j->r = ipc_beacon_hold(j->ipc);
		if (j->r < 0) {
			snprintf(j->why, sizeof(j->why), "%s", ipc_why());
			ipc_detach(j->ipc);
			j->ipc = NULL;
		}
	} else if (j->r < 0) {
		snprintf(j->why, sizeof(j->why), "%s", ipc_why());
	}
	atomic_store(&j->done, true);
	client_kick(j->c);
}

static void *attach_main(void *arg)
{
	attach_run(arg);
	return NULL;
}

static int attach_start(struct attach_job *j)
{
	int r;

	if (j->c->env) { /* virtual time has one thread */
		attach_run(j);
		return 0;
	}
	r = thread_start(&j->thread, "sim-attach", attach_main, j);
	if (r < 0)
		return err_sys(r, "cannot start the thread that attaches to the data plane");
	j->threaded = true;
	return 0;
}

static void job_finish(struct sim_client *c)
{
	struct attach_job *j = c->job;

	if (!j)
		return;
	if (j->threaded)
		pthread_join(j->thread, NULL);
	ipc_detach(j->ipc);
	mem_free(j);
	c->job = NULL;
}

static void set_phase(struct sim_client *c, enum client_phase phase, enum sim_client_state state)
{
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->phase, phase);
	atomic_store(&c->state, state);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void set_attachment(struct sim_client *c, struct attachment *l)
{
	pthread_mutex_lock(&c->lock);
	c->att = l;
	pthread_mutex_unlock(&c->lock);
}

static void set_why(struct sim_client *c, int r, const char *why)
{
	pthread_mutex_lock(&c->lock);
	c->error = r;
	snprintf(c->why, sizeof(c->why), "%s", why);
	pthread_mutex_unlock(&c->lock);
}

static void backoff(struct sim_client *c)
{
	client_due(c, ns_add(client_now(c), c->backoff_dur_ns));
	c->backoff_dur_ns *= 2;
	if (c->backoff_dur_ns > BACKOFF_MAX_DUR_NS)
		c->backoff_dur_ns = BACKOFF_MAX_DUR_NS;
}

/* Whether retrying would not help. */
static bool fatal(int r)
{
	return r == -ENOTRECOVERABLE || r == -EACCES || r == -ELIBACC || r == -EINVAL;
}

static void attach_failed(struct sim_client *c, int r, const char *why)
{
	set_why(c, r, why);
	/* a RouDi that is slow, or just being replaced, is given the time limit of sim_connect() */
	if ((c->connecting && r != -ETIMEDOUT && r != -ESTALE) || fatal(r)) {
		set_phase(c, PHASE_FAILED, SIM_CLIENT_FAILED);
		return;
	}
	set_phase(c, PHASE_RETRY, SIM_CLIENT_REATTACHING);
	backoff(c);
}

static void attach_begin(struct sim_client *c)
{
	struct session *s = c->session;
	struct attach_job *j;
	int r;

	if (c->job)
		return; /* a running job's end decides */
	j = MEM_NEW(struct attach_job);
	if (!j) {
		attach_failed(c, -ENOMEM, "out of memory");
		return;
	}
	j->c = c;
	j->bridge = c->flags & SIM_CLIENT_BRIDGE;
	j->iox_generation = c->want_generation;
	snprintf(j->app, sizeof(j->app), "%s", s->app);
	snprintf(j->plane, sizeof(j->plane), "%s", s->plane);
	snprintf(j->backend, sizeof(j->backend), "%s", s->backend);
	j->o = (struct ipc_options){
		.backend = *j->backend ? j->backend : NULL,
		.app = j->app,
		.plane = j->plane,
		.app_by_simd = true,
		.max_loan = (uint64_t)s->max_loan,
		.prefault = c->connecting && !(c->flags & SIM_CLIENT_NO_PREFAULT),
		.bus = c->bus,
	};
	c->job = j;
	set_phase(c, PHASE_ATTACH, c->connecting ? SIM_CLIENT_RECONNECTING : SIM_CLIENT_REATTACHING);
	r = attach_start(j);
	if (r < 0) {
		job_finish(c);
		attach_failed(c, r, err_why());
	}
}

/* ---- losses ---- */

static void regs_mark(struct sim_client *c, uint32_t state)
{
	struct pub_reg *reg;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < sizeof(c->regs) / sizeof(c->regs[0]); i++) {
		list_for_each(reg, &c->regs[i], hash) {
			if (atomic_load(&reg->state) != REG_STALE)
				atomic_store_explicit(&reg->state, state, memory_order_seq_cst);
		}
	}
	pthread_mutex_unlock(&c->lock);
}

static void fail_list(struct sim_client *c, struct list *pubs, enum sim_reason reason)
{
	struct sim_publisher *p;

	list_for_each(p, pubs, link)
		records_fail(c, &p->records, reason);
}

/* Ends everything outstanding. The registrations must have been marked before: see arm_record(). */
static void fail_all(struct sim_client *c, enum sim_reason reason)
{
	pthread_mutex_lock(&c->lock);
	fail_list(c, &c->pubs, reason);
	fail_list(c, &c->zombies, reason);
	pthread_mutex_unlock(&c->lock);
}

static void drop_proving(struct sim_client *c)
{
	struct sim_publisher *p;

	list_for_each(p, &c->pubs, link) {
		pub_reg_destroy(p->proving);
		p->proving = NULL;
	}
}

static void rouse_subscribers(struct sim_client *c)
{
	struct sim_subscriber *sub;

	list_for_each(sub, &c->subs, link)
		subscriber_ring(sub);
}

static void attachment_lost(struct sim_client *c)
{
	struct attachment *l = c->att;

	if (!l)
		return;
	regs_mark(c, REG_STALE);
	ipc_abandon(l->ipc);
	fail_all(c, SIM_REASON_RESTART);
	drop_proving(c);
	set_attachment(c, NULL);
	attachment_unref(l);
	rouse_subscribers(c);
}

static void session_lost(struct sim_client *c)
{
	struct session *s = c->session;

	pthread_mutex_lock(&c->lock);
	if (s->completion >= 0)
		completion_drain(c, s); /* what simd has completed counts as completed */
	pthread_mutex_unlock(&c->lock);
	regs_mark(c, REG_LOST);
	fail_all(c, SIM_REASON_LOST);
	drop_proving(c);
	services_lost(c, s);
	clockmap_freeze(c, s);
	step_rouse(s);
	epoll_ctl(c->epfd, EPOLL_CTL_DEL, s->sock, NULL);
	if (s->completion >= 0)
		epoll_ctl(c->epfd, EPOLL_CTL_DEL, s->completion, NULL);
	session_hangup(s);
	pthread_mutex_lock(&c->lock);
	c->session = NULL;
	pthread_mutex_unlock(&c->lock);
	set_why(c, -ENOTCONN, s->dead_why);
	session_unref(s);
	c->backoff_dur_ns = BACKOFF_MIN_DUR_NS;
	set_phase(c, c->connecting ? PHASE_FAILED : PHASE_DOWN,
		  c->connecting ? SIM_CLIENT_FAILED : SIM_CLIENT_RECONNECTING);
	backoff(c);
}

/* ---- registering everything ---- */

/* Not a refusal by simd: simd, or this machine, was too slow. */
static bool passes(int r)
{
	return r == -ETIMEDOUT || r == -EAGAIN || r == -ENOMEM;
}

static bool is_registered(const struct sim_client *c, const struct sim_publisher *p)
{
	return p->proving || (p->newest->session == c->session && p->newest->port->att == c->att);
}

/* Lack of room is not final: others leave, or their queues shrink. */
static bool has_verdict(const struct sim_publisher *p)
{
	return atomic_load(&p->newest->state) == REG_FAILED && p->newest->error != -ENOSPC;
}

/*
 * Registers publishers; returns how many got no answer. again: skips those that were refused, except for lack of room.
 */
static unsigned register_publishers(struct sim_client *c, bool again)
{
	struct sim_publisher *p;
	unsigned left = 0;

	list_for_each(p, &c->pubs, link) {
		int r = 0;

		if (!is_registered(c, p) && !(again && has_verdict(p)))
			r = pub_reg_create(p, c->session, c->att, p->newest, &p->proving);
		if (r == 0 || c->session->dead || r == -ESTALE)
			continue;
		if (passes(r)) {
			left++;
			continue;
		}
		c->refused |= r == -ENOSPC;
		p->newest->error = r;
		atomic_store(&p->newest->state, REG_FAILED);
	}
	return left;
}

static unsigned register_subscribers(struct sim_client *c, bool again)
{
	struct sim_subscriber *sub;
	unsigned left = 0;

	list_for_each(sub, &c->subs, link) {
		int r = atomic_load(&sub->error);

		if (again && !passes(r) && r != -ENOSPC)
			continue;
		r = subscriber_register(sub, c->session, c->att);
		c->refused |= r == -ENOSPC;
		left += passes(r);
	}
	return left;
}

static unsigned ask_again(struct sim_client *c)
{
	return c->att && !c->session->dead ? register_subscribers(c, true) + register_publishers(c, true) : 0;
}

static void register_all(struct sim_client *c)
{
	struct session *s = c->session;
	struct sim_token *t;

	if (c->att)
		session_call(c, s, "Attached",
			     json_pack("{sI ss}", "iox_generation", (json_int_t)c->att->iox_generation, "app",
				       ipc_runtime_name(c->att->ipc)),
			     NULL, NULL);
	list_for_each(t, &c->tokens, link)
		token_register(c, s, t);
	c->refused = false;
	c->refused_dur_ns = BACKOFF_MIN_DUR_NS;
	if (c->att) {
		c->unanswered = register_subscribers(c, false);
		c->unanswered += register_publishers(c, false);
	}
	c->refused_mono_ns = ns_add(client_now(c), c->refused_dur_ns);
	driver_register(c, s);
	step_register(c, s);
	if (c->ready)
		session_call(c, s, "Ready", NULL, NULL, NULL);
	services_register(c, s);
	c->backoff_dur_ns = BACKOFF_MIN_DUR_NS;
	c->prove_until_mono_ns = ns_add(client_now(c), PROVE_DUR_NS);
	set_phase(c, PHASE_PROVE, (enum sim_client_state)atomic_load(&c->state));
}

static void prove_all(struct sim_client *c)
{
	bool slow = client_now(c) >= c->prove_until_mono_ns;
	struct sim_publisher *p;
	unsigned left = 0;

	if (c->unanswered)
		left = c->unanswered = ask_again(c);
	list_for_each(p, &c->pubs, link) {
		if (!p->proving)
			continue;
		if (!pub_reg_probe(p->proving)) {
			left++;
			continue;
		}
		publisher_post(p, p->proving);
		p->proving = NULL;
	}
	if (left)
		client_due(c, ns_add(client_now(c), slow ? PROBE_SLOW_DUR_NS : PROBE_DUR_NS));
	else
		set_phase(c, PHASE_UP, SIM_CLIENT_CONNECTED);
}

/* ---- state changes ---- */

static int watch(struct sim_client *c, int fd)
{
	/* edge-triggered: the thread that pumps reads until nothing is left; see harvest() */
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = fd };

	return epoll_ctl(c->epfd, EPOLL_CTL_ADD, fd, &e) < 0 ? err_sys(-errno, "epoll") : 0;
}

/* Another run of simd is another clock generation: only this reports that jump. */
static void note_new_time(struct sim_client *c, const struct sim_clock_sample *before)
{
	struct sim_clock_sample now;

	clock_sample(c, &now);
	if (!before->clock_generation || before->clock_generation == now.clock_generation)
		return;
	pthread_mutex_lock(&c->lock);
	jump_note(c, &(struct sim_clock_jump){ before->sim_ns, now.sim_ns, now.clock_generation });
	pthread_mutex_unlock(&c->lock);
}

static int session_begin(struct sim_client *c, struct session *s)
{
	struct sim_clock_sample before;
	int r;

	clock_sample(c, &before);
	r = clockmap_install(c, s);
	if (r == 0)
		note_new_time(c, &before);
	if (r == 0)
		r = watch(c, s->sock);
	if (r == 0 && s->completion >= 0)
		r = watch(c, s->completion);
	if (r < 0)
		return r;
	session_post(c, s, "Events", NULL, VARLINK_MORE);
	pthread_mutex_lock(&c->lock);
	c->session = s;
	pthread_mutex_unlock(&c->lock);
	client_kick(c); /* for data that arrived before it was watched */
	return 0;
}

static void open_failed(struct sim_client *c, int r)
{
	set_why(c, r, err_why());
	if (c->connecting)
		set_phase(c, PHASE_FAILED, SIM_CLIENT_FAILED);
	else
		backoff(c);
}

static void try_open(struct sim_client *c)
{
	struct session *s;
	int r = session_open(c, &s);

	if (r < 0) {
		open_failed(c, r);
		return;
	}
	r = session_begin(c, s);
	if (r < 0) {
		session_unref(s);
		open_failed(c, r);
		return;
	}
	c->want_generation = 0;
	if (c->flags & SIM_CLIENT_NO_DATA)
		register_all(c);
	else /* the first event reports simd's generation of the data plane, which may be the one attached */
		set_phase(c, PHASE_DATAPLANE, (enum sim_client_state)atomic_load(&c->state));
}

static void attach_done(struct sim_client *c)
{
	struct attach_job *j = c->job;
	uint32_t generation = j->iox_generation;
	struct attachment *l = NULL;
	char why[WHY_MAX];
	int r = j->r;

	snprintf(why, sizeof(why), "%s", j->why);
	if (r == 0) {
		r = attachment_create(j->ipc, generation, &l);
		if (r == 0)
			j->ipc = NULL;
	}
	job_finish(c);
	if (!c->session ||
	    !c->want_generation) { /* simd or RouDi went away meanwhile: the next event decides about this attachment */
		set_attachment(c, l);
		return;
	}
	if (generation != c->want_generation) { /* another restart came in between */
		attachment_unref(l);
		attach_begin(c);
		return;
	}
	if (r < 0) {
		attach_failed(c, r, why);
		return;
	}
	set_attachment(c, l);
	c->warm_due = !c->connecting && !c->env && !(c->flags & SIM_CLIENT_NO_PREFAULT);
	register_all(c);
}

static void dataplane_lost(struct sim_client *c)
{
	if (atomic_load(&c->phase) == PHASE_DATAPLANE)
		/*
		 * a new session reports this until the data plane is ready; the present attachment may still be valid
		 * then
		 */
		return;
	attachment_lost(c);
	c->want_generation = 0;
	set_phase(c, PHASE_DATAPLANE, SIM_CLIENT_REATTACHING);
}

static void dataplane_event(struct sim_client *c, uint32_t generation, bool ready)
{
	int phase = atomic_load(&c->phase);

	if (c->flags & SIM_CLIENT_NO_DATA || phase == PHASE_FAILED)
		return;
	if (!ready) {
		dataplane_lost(c);
		return;
	}
	if (phase != PHASE_DATAPLANE && generation == c->want_generation)
		return;
	c->want_generation = generation;
	if (phase == PHASE_DATAPLANE && c->att && ipc_alive(c->att->ipc) && c->att->iox_generation == generation &&
	    strcmp(c->runtime, c->session->runtime) == 0) {
		register_all(c);
		return;
	}
	attachment_lost(c);
	snprintf(c->runtime, sizeof(c->runtime), "%s", c->session->runtime);
	attach_begin(c);
}

static void look_at_events(struct sim_client *c)
{
	struct session *s = c->session;
	bool dataplane, ready;
	uint32_t generation;

	pthread_mutex_lock(&c->lock);
	dataplane = s->ev_dataplane;
	ready = s->ev_ready;
	generation = s->ev_generation;
	s->ev_dataplane = false;
	pthread_mutex_unlock(&c->lock);
	if (dataplane)
		dataplane_event(c, generation, ready);
}

void client_reap(struct sim_client *c)
{
	struct sim_publisher *p, *tmp;
	struct list gone;

	list_init(&gone);
	pthread_mutex_lock(&c->lock);
	list_for_each_safe(p, tmp, &c->zombies, link) {
		if (records_outstanding(&p->records))
			continue; /* its last completion calls this again */
		list_remove(&p->link);
		list_append(&gone, &p->link);
	}
	pthread_mutex_unlock(&c->lock);
	list_for_each_safe(p, tmp, &gone, link) {
		if (c->session && p->reg->session == c->session)
			session_post(c, c->session, "Unadvertise",
				     json_pack("{sI}", "publisher_id", (json_int_t)p->reg->publisher_id), 0);
		publisher_free(p);
	}
}

/* Retries, with pauses, the handles that found no room. The others work meanwhile. */
static void room_step(struct sim_client *c)
{
	if (!c->refused || !c->session || !c->att || atomic_load(&c->phase) != PHASE_UP)
		return;
	if (client_now(c) >= c->refused_mono_ns) {
		c->refused = false;
		c->unanswered = ask_again(c);
		c->refused_dur_ns *= c->refused_dur_ns < BACKOFF_MAX_DUR_NS ? 2 : 1;
		c->refused_mono_ns = ns_add(client_now(c), c->refused_dur_ns);
		set_phase(c, PHASE_PROVE, (enum sim_client_state)atomic_load(&c->state));
		prove_all(c);
	}
	if (c->refused)
		client_due(c, c->refused_mono_ns);
}

/* Replaces damaged ports, and ports whose queue must get another depth; once subscribers are registered. */
static void renew_step(struct sim_client *c)
{
	int phase = atomic_load(&c->phase);
	struct sim_subscriber *sub;
	int64_t next = INT64_MAX;

	pthread_mutex_lock(&c->lock);
	c->renewing |= c->renew_due;
	c->renew_due = false;
	pthread_mutex_unlock(&c->lock);
	if (!c->renewing || (phase != PHASE_UP && phase != PHASE_PROVE))
		return;
	list_for_each(sub, &c->subs, link) {
		int64_t at = subscriber_renew(sub, c->session, c->att);

		next = at < next ? at : next;
	}
	c->renewing = next != INT64_MAX;
	if (c->renewing)
		client_due(c, next);
}

/* Adopts for handles whose thread was inside when something was posted for them. */
static void settle(struct sim_client *c)
{
	struct sim_subscriber *sub;
	struct sim_publisher *p;
	bool all = true;

	if (!c->unsettled)
		return;
	list_for_each(p, &c->pubs, link)
		all &= publisher_settle(p);
	list_for_each(sub, &c->subs, link)
		all &= subscriber_settle(sub);
	c->unsettled = !all;
	if (!all)
		client_due(c, ns_add(client_now(c), 10 * NS_PER_MS));
}

void client_renew(struct sim_client *c)
{
	renew_step(c);
	settle(c);
}

/*
 * RouDi did not answer one of this process's requests in time, which ends the attachment of this process alone: simd
 * goes on with RouDi and will not report it, so attach again. While registering, which is in the rush after a restart,
 * at once; later RouDi may as well be dead or stuck, so simd gets a moment to report that first.
 */
static void attachment_check(struct sim_client *c)
{
	int phase = atomic_load(&c->phase);
	int64_t now = client_now(c);

	if (!c->att || ipc_alive(c->att->ipc) || (phase != PHASE_PROVE && phase != PHASE_UP)) {
		c->doubt_mono_ns = 0;
		return;
	}
	if (phase == PHASE_UP && !c->doubt_mono_ns)
		c->doubt_mono_ns = now;
	if (phase == PHASE_UP && now - c->doubt_mono_ns < DOUBT_DUR_NS) {
		client_due(c, ns_add(c->doubt_mono_ns, DOUBT_DUR_NS));
		return;
	}
	c->doubt_mono_ns = 0;
	attachment_lost(c);
	set_phase(c, PHASE_RETRY, SIM_CLIENT_REATTACHING);
	backoff(c);
}

static void phase_step(struct sim_client *c, bool due)
{
	switch ((enum client_phase)atomic_load(&c->phase)) {
	case PHASE_DOWN:
		if (due && c->job) /* its result first */
			client_due(c, ns_add(client_now(c), BACKOFF_MIN_DUR_NS));
		else if (due)
			try_open(c);
		break;
	case PHASE_RETRY:
		if (due)
			attach_begin(c);
		break;
	case PHASE_PROVE:
		prove_all(c);
		break;
	default:
		break;
	}
}

void client_step(struct sim_client *c)
{
	int before;

	do {
		bool due = client_now(c) >= c->due_mono_ns;

		if (due)
			c->due_mono_ns = INT64_MAX;
		before = atomic_load(&c->phase);
		if (c->job && atomic_load(&c->job->done))
			attach_done(c);
		if (c->session && c->session->dead)
			session_lost(c);
		if (c->session)
			look_at_events(c);
		attachment_check(c);
		phase_step(c, due);
	} while (atomic_load(&c->phase) != before);
	client_populate_step(c);
	room_step(c);
	renew_step(c);
	settle(c);
	client_reap(c);
}

void client_close(struct sim_client *c)
{
	c->connecting = true; /* as in sim_connect(): the loss of the session is final, so nothing reconnects */
	driver_finish(c);
	if (c->session) {
		session_post(c, c->session, "Goodbye", NULL, VARLINK_ONEWAY);
		snprintf(c->session->dead_why, sizeof(c->session->dead_why), "disconnected");
		session_lost(c);
	}
	regs_mark(c, REG_LOST);
	fail_all(c, SIM_REASON_LOST);
	job_finish(c);
	client_populate_end(c);
	attachment_unref(c->att);
	c->att = NULL;
}
