/* SPDX-License-Identifier: Apache-2.0 */
/* Contract and reasoning in slot_reclaim.h. Thread: simd-main. */
#include "slot_reclaim.h"

#include "channel.h"
#include "client.h"
#include "err.h"
#include "ipc.h"
#include "list.h"
#include "log.h"
#include "mem.h"
#include "reaper.h"
#include "rnd.h"
#include "shards.h"
#include "simd.h"
#include "timeutil.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

LOG_TOPIC("reclaim");

#define LOOK_DUR_NS   NS_PER_S         /* between two looks, while there is a reason to look */
#define GAP_DUR_NS    (20 * NS_PER_MS) /* minimum between two looks */
#define SETTLE_DUR_NS (10 * NS_PER_S)
#define LOOKS         16 /* kept in memory: more than happen in SETTLE_DUR_NS */
#define LOOKS_LEAST   8  /* required within that time */
#define AFTER_DEATH   3  /* looks after a death, even if no suspect stays */
#define ENDED_MAX     4096
#define DEAD_MAX      64 /* origins per look */
#define PEERS_MAX     512
#define FORGOTTEN     1024

/* A publisher that has ended. */
struct ended {
	struct list link;             /* slot_reclaim::ended */
	const struct reaper *process; /* NULL: it is not watched any more */
	uint32_t publisher_id;
	uint64_t origin, channel;
	int64_t reaped_mono_ns;
	unsigned in_dispatch; /* outstanding calls of slot_reclaim_reaped() */
	bool freed, overflowed;
};

/* A process that has subscribed; kept until its ports are freed, or until the generation ends if that is unknown. */
struct hearer {
	struct list link;             /* slot_reclaim::hearers */
	const struct reaper *process; /* NULL: it is not watched any more */
	uint32_t n, room;
	uint64_t *channels;
};

struct look {
	uint32_t number;
	int64_t mono_ns;
};

struct slot_reclaim {
	struct simd *s;
	struct list ended, hearers;
	uint32_t n_ended;
	struct exec_timer timer;
	struct look looks[LOOKS]; /* newest first; only of a time in which no process can have been stopped */
	uint32_t n_looks, left;   /* left: looks still to be made after the last death */
	bool alone;               /* in all these looks simd was alone */
	bool stay;                /* there were suspects that had been there before */
	int64_t last_mono_ns, marked_mono_ns;
	uint64_t count;
	uint64_t forgotten[FORGOTTEN]; /* hashes of applications whose ports are freed, though their files may remain */
	uint32_t n_forgotten;
	struct ipc_peer peers[PEERS_MAX];
	char stranger[sizeof(((struct ipc_peer *)0)->name)]; /* the application that was last logged */
	char why[256];
};

static uint64_t hash_of(const char *text, size_t n)
{
	return hash64(HASH64_INIT, text, n);
}

/* ---- reasons to look ---- */

static void look_soon(struct slot_reclaim *l, bool death)
{
	int64_t at = exec_now(l->s->x), gap = l->last_mono_ns + GAP_DUR_NS;

	if (death)
		l->left = AFTER_DEATH;
	exec_timer_at(&l->timer, at > gap || !l->last_mono_ns ? at : gap);
}

static void ended_free(struct slot_reclaim *l, struct ended *e)
{
	list_remove(&e->link);
	l->n_ended--;
	mem_free(e);
}

static struct hearer *hearer_of(struct slot_reclaim *l, const struct reaper *process)
{
	struct hearer *h;

	list_for_each(h, &l->hearers, link)
		if (h->process == process)
			return h;
	return NULL;
}

static void hearer_free(struct hearer *h)
{
	list_remove(&h->link);
	mem_free(h->channels);
	mem_free(h);
}

static bool has_heard(const struct hearer *h, uint64_t channel)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->channels[i] == channel)
			return true;
	return false;
}

static int hearer_add(struct hearer *h, uint64_t channel)
{
	uint64_t *v;

	if (has_heard(h, channel))
		return 0;
	if (h->n == h->room) {
		v = (uint64_t *)mem_realloc(h->channels, (h->room + 16) * sizeof(*v));
		if (!v)
			return err_nomem();
		h->channels = v;
		h->room += 16;
	}
	h->channels[h->n++] = channel;
	return 0;
}

int slot_reclaim_heard(const struct client *cl, const char *channel)
{
	struct slot_reclaim *l = cl->s->slot_reclaim;
	struct hearer *h = hearer_of(l, cl->process);

	if (!h) {
		h = MEM_NEW(struct hearer);
		if (!h)
			return err_nomem();
		h->process = cl->process;
		list_append(&l->hearers, &h->link);
	}
	return hearer_add(h, hash_of(channel, strlen(channel)));
}

void slot_reclaim_ended(const struct client *cl, uint32_t publisher_id, uint64_t origin, const char *channel,
			bool dispatched)
{
	struct slot_reclaim *l = cl->s->slot_reclaim;
	struct ended *e;

	if (!origin || cl->iox_generation != cl->s->dataplane.generation)
		return;
	if (l->n_ended == ENDED_MAX)
		ended_free(l, list_first(&l->ended, struct ended, link));
	e = MEM_NEW(struct ended);
	if (!e) {
		log_warn("no memory to remember a publisher of %s: slots that it loses are not freed while other "
			 "applications are attached",
			 cl->name);
		return;
	}
	e->publisher_id = publisher_id;
	e->process = cl->process;
	e->origin = origin;
	e->channel = hash_of(channel, strlen(channel));
	e->in_dispatch = dispatched;
	e->overflowed = !dispatched;
	e->reaped_mono_ns = exec_now(l->s->x);
	list_append(&l->ended, &e->link);
	l->n_ended++;
}

void slot_reclaim_reaped(struct simd *s, uint32_t publisher_id, bool overflowed)
{
	struct slot_reclaim *l = s->slot_reclaim;
	struct ended *e;

	list_for_each(e, &l->ended, link) {
		if (e->publisher_id != publisher_id || !e->in_dispatch)
			continue;
		e->in_dispatch--;
		e->overflowed |= overflowed;
		e->reaped_mono_ns = exec_now(s->x);
		if (e->freed && !e->in_dispatch)
			look_soon(l, false);
		return;
	}
}

void slot_reclaim_forgotten(struct simd *s, const char *app)
{
	struct slot_reclaim *l = s->slot_reclaim;

	l->forgotten[l->n_forgotten++ % FORGOTTEN] = hash_of(app, strlen(app));
}

static struct channel *channel_of(struct simd *s, uint64_t hash)
{
	struct channel *ch;

	list_for_each(ch, &s->channels, link)
		if (hash_of(ch->name, strlen(ch->name)) == hash && ch->open && !ch->closing)
			return ch;
	return NULL;
}

/*
 * The session ended before the process, so messages published in between may be in simd's queue; no more can come now.
 */
static void end_for_good(struct slot_reclaim *l, struct ended *e)
{
	struct channel *ch = channel_of(l->s, e->channel);

	e->freed = true;
	if (ch && dispatch_publisher_again(shard_of(l->s, ch->shard), e->publisher_id, ch->id) == 0) {
		e->in_dispatch++;
		return;
	}
	e->overflowed = true; /* that queue is gone, or about to be */
	e->reaped_mono_ns = exec_now(l->s->x);
}

/* freed: RouDi has freed all its ports; otherwise the process may live on. */
static void on_process_over(struct simd *s, const struct reaper *r, bool freed)
{
	struct slot_reclaim *l = s->slot_reclaim;
	struct hearer *h = hearer_of(l, r);
	bool had = h != NULL;
	struct ended *e;

	if (h && freed)
		hearer_free(h);
	else if (h)
		h->process = NULL;
	list_for_each(e, &l->ended, link) {
		if (e->process != r)
			continue;
		had = true;
		e->process = NULL;
		if (freed)
			end_for_good(l, e);
	}
	if (s->dataplane.ready && ((had && freed) || r->unclean))
		look_soon(l, r->unclean);
}

/* ---- attached applications ---- */

/* Whether name is "app" or one of its attachments, "app.n". */
static bool is_attachment(const char *name, const char *app)
{
	size_t n = strlen(app);

	return n && strncmp(name, app, n) == 0 && (!name[n] || (name[n] == '.' && strspn(name + n + 1, "0123456789")));
}

static bool left_by_a_process(const struct simd *s, const char *name)
{
	const struct reaper *r;
	const struct remains *m;

	list_for_each(r, &s->reapers, link)
		list_for_each(m, &r->remains, link)
			if (is_attachment(name, m->app))
				return true;
	return false;
}

static bool is_known(const struct simd *s, const char *name)
{
	const char *own = ipc_runtime_name(s->dataplane.ipc), *dot = strrchr(own, '.');
	const struct client *cl;

	/* simd itself, including attachments kept for earlier generations */
	if (strcmp(name, own) == 0 || (dot && strncmp(name, own, (size_t)(dot - own) + 1) == 0))
		return true;
	list_for_each(cl, &s->clients, link)
		if (is_attachment(name, cl->runtime_name) || is_attachment(name, cl->app))
			return true;
	return left_by_a_process(s, name);
}

static bool is_forgotten(const struct slot_reclaim *l, const char *name)
{
	const char *dot = strrchr(name, '.');
	uint64_t whole = hash_of(name, strlen(name)), app = dot ? hash_of(name, (size_t)(dot - name)) : whole;

	for (uint32_t i = 0; i < FORGOTTEN && i < l->n_forgotten; i++)
		if (l->forgotten[i] == whole || l->forgotten[i] == app)
			return true;
	return false;
}

enum company { ALONE, KNOWN, UNSETTLED, STRANGERS };

static enum company complain(struct slot_reclaim *l, const struct ipc_peer *p)
{
	if (strcmp(l->stranger, p->name) != 0)
		log_info("application %s %s: slots lost by killed processes are not freed until it is gone", p->name,
			 p->dead ? "has exited and has not been freed yet"
				 : "is attached to the data plane without a session");
	snprintf(l->stranger, sizeof(l->stranger), "%s", p->name);
	return STRANGERS;
}

static enum company company(struct slot_reclaim *l)
{
	const struct simd *s = l->s;
	int n = ipc_peers(s->dataplane.ipc, l->peers, PEERS_MAX);
	enum company c = list_empty(&s->clients) && list_empty(&s->reapers) ? ALONE : KNOWN;

	if (n < 0 || n > PEERS_MAX)
		return STRANGERS;
	for (int i = 0; i < n; i++) {
		const struct ipc_peer *p = &l->peers[i];

		if (p->dead && is_forgotten(l, p->name))
			continue;
		if (!is_known(s, p->name))
			return complain(l, p);
		c = p->dead ? UNSETTLED : c;
	}
	l->stranger[0] = '\0';
	return c;
}

/* Whether the process has, or has left, something in the data plane. */
static bool in_plane(const struct simd *s, const struct reaper *r)
{
	const struct client *cl;

	list_for_each(cl, &s->clients, link)
		if (cl->process == r && cl->role != CLIENT_TOOL)
			return true;
	return !list_empty(&r->remains);
}

static bool somebody_stands(const struct simd *s)
{
	const struct reaper *r;

	list_for_each(r, &s->reapers, link)
		if (in_plane(s, r) && s->ops && s->ops->process_stopped && s->ops->process_stopped(s->user, r->pid))
			return true;
	return false;
}

/* ---- looking ---- */

/* Number of the look since which no process can have been stopped between two instructions; 0: none. */
static uint32_t settled_since(const struct slot_reclaim *l, int64_t now)
{
	for (uint32_t i = LOOKS_LEAST; i < l->n_looks; i++)
		if (l->looks[i].mono_ns <= now - SETTLE_DUR_NS)
			return l->looks[i].number;
	return 0;
}

static void remember(struct slot_reclaim *l, uint32_t number, int64_t now)
{
	if (l->n_looks && now - l->looks[0].mono_ns < LOOK_DUR_NS)
		return; /* looks in quick succession count as one */
	memmove(&l->looks[1], &l->looks[0], (LOOKS - 1) * sizeof(l->looks[0]));
	l->looks[0] = (struct look){ .number = number, .mono_ns = now };
	l->n_looks += l->n_looks < LOOKS;
}

static bool live_origin(const struct simd *s, uint64_t origin)
{
	const struct channel *ch;
	const struct publisher *p;

	list_for_each(ch, &s->channels, link)
		list_for_each(p, &ch->publishers, in_channel)
			if (atomic_load_explicit(&p->counters->origin, memory_order_relaxed) == origin)
				return true;
	return false;
}

static bool is_ready(const struct slot_reclaim *l, const struct ended *e, int64_t now)
{
	const struct hearer *h;

	if (!e->freed || e->in_dispatch)
		return false;
	if (e->overflowed && (e->reaped_mono_ns > now - SETTLE_DUR_NS || !settled_since(l, now)))
		return false;
	list_for_each(h, &l->hearers, link)
		if (has_heard(h, e->channel))
			return false;
	return true;
}

/* Removes the publishers that are ready from the list: one look frees all their slots. */
static uint32_t take_ready(struct slot_reclaim *l, uint64_t dead[DEAD_MAX], int64_t now)
{
	struct ended *e, *tmp;
	uint32_t n = 0;

	list_for_each_safe(e, tmp, &l->ended, link) {
		if (n == DEAD_MAX)
			break;
		if (!is_ready(l, e, now))
			continue;
		if (!live_origin(l->s, e->origin))
			dead[n++] = e->origin;
		ended_free(l, e);
	}
	return n;
}

static bool any_waits(const struct slot_reclaim *l)
{
	const struct ended *e;

	list_for_each(e, &l->ended, link)
		if (e->freed && !e->in_dispatch && (e->overflowed || l->stranger[0]))
			return true;
	return false;
}

static void scanned(struct slot_reclaim *l, const struct ipc_scan *sc, bool marks, bool more)
{
	/* a suspect that is gone at the next look was only in use by a living process */
	bool stay = sc->suspects && sc->oldest < sc->number;

	if (marks || stay)
		l->stay = stay;
	l->count += sc->freed;
	if (sc->freed)
		log_info("freed slots that killed processes had in hand: %u", sc->freed);
	if (l->left && marks && !stay)
		l->left--;
	if (more)
		look_soon(l, false);
	else if (l->stay || l->left || any_waits(l))
		exec_timer_at(&l->timer, l->last_mono_ns + LOOK_DUR_NS);
	else
		l->n_looks = 0;
}

static void on_timer(void *arg)
{
	struct slot_reclaim *l = (struct slot_reclaim *)arg;
	struct simd *s = l->s;
	int64_t now = exec_now(s->x);
	uint64_t dead[DEAD_MAX];
	struct ipc_scan_request q = { .dead = dead };
	struct ipc_scan sc;
	enum company c;
	bool calm;
	int r;

	l->last_mono_ns = now;
	if (!s->dataplane.ready)
		return;
	c = company(l);
	calm = c < UNSETTLED && !somebody_stands(s);
	q.alone = c == ALONE && list_empty(&l->ended) && shards_outstanding(s) == 0;
	if (!calm || q.alone != l->alone)
		l->n_looks = 0;
	if (q.alone && !l->alone)
		l->left = AFTER_DEATH; /* other slots are suspects now */
	l->alone = q.alone;
	q.n_dead = c == STRANGERS ? 0 : take_ready(l, dead, now);
	q.settled = settled_since(l, now);
	q.marks = (l->left || l->stay) && (!l->marked_mono_ns || now - l->marked_mono_ns >= LOOK_DUR_NS);
	if (q.marks)
		l->marked_mono_ns = now;
	r = ipc_scan(s->dataplane.ipc, &q, &sc);
	if (r < 0) {
		if (r != -EOPNOTSUPP && r != -ESTALE)
			log_error("cannot search for lost slots: %s", ipc_why());
		return;
	}
	if (calm)
		remember(l, sc.number, now);
	scanned(l, &sc, q.marks, q.n_dead == DEAD_MAX);
}

/* ---- making ---- */

int slot_reclaim_create(struct simd *s)
{
	struct slot_reclaim *l = MEM_NEW(struct slot_reclaim);

	if (!l)
		return err_nomem();
	l->s = s;
	list_init(&l->ended);
	list_init(&l->hearers);
	exec_timer_init(&l->timer, s->x, on_timer, l);
	s->slot_reclaim = l;
	s->process_over = on_process_over;
	return 0;
}

static void forget_origins(struct simd *s)
{
	struct channel *ch;
	struct publisher *p;

	list_for_each(ch, &s->channels, link)
		list_for_each(p, &ch->publishers, in_channel)
			atomic_store(&p->counters->origin, 0);
}

/* Ports are numbered from 1 again. Subscribers subscribe again in the next generation, or hold nothing of it. */
void slot_reclaim_restart(struct simd *s)
{
	struct slot_reclaim *l = s->slot_reclaim;
	struct hearer *h, *tmp;

	exec_timer_cancel(&l->timer);
	while (!list_empty(&l->ended))
		ended_free(l, list_first(&l->ended, struct ended, link));
	list_for_each_safe(h, tmp, &l->hearers, link)
		if (!h->process)
			hearer_free(h);
	forget_origins(s);
	l->n_looks = l->left = 0;
	l->stay = false;
}

void slot_reclaim_destroy(struct simd *s)
{
	struct slot_reclaim *l = s->slot_reclaim;

	if (!l)
		return;
	slot_reclaim_restart(s);
	while (!list_empty(&l->hearers))
		hearer_free(list_first(&l->hearers, struct hearer, link));
	mem_free(l);
	s->slot_reclaim = NULL;
}

uint64_t slot_reclaim_count(const struct simd *s)
{
	return s->slot_reclaim->count;
}

const char *slot_reclaim_why(const struct simd *s)
{
	return s->dataplane.ipc ? ipc_scan_why(s->dataplane.ipc) : "";
}
