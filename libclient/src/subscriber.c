/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers: creation, taking in place, releasing, counting. Waiting is in sub_wait.c. Thread: see subscriber.h. */
#include "sized.h"
#include "subscriber.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "futex.h"
#include "jsonx.h"
#include "mem.h"
#include "timeutil.h"
#include "value.h"
#include "wire/pages.h"

#define DEPTH_DEFAULT 16u
#define CLOCK_CHANNEL "/clock"
#define SETTLE_DUR_NS (50 * NS_PER_MS) /* interval between checks whether an old port is gone; doubled after each */
#define LOOKS_SOONER  4                /* up to 0.8 s */
/* interval between checks whether a new port is connected, and delay before it takes over */
#define RENEW_DUR_NS (100 * NS_PER_MS)

/* ---- ports ---- */

void sub_port_unref(struct sub_port *p)
{
	struct ipc_waiter *waiter;

	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	waiter = atomic_load(&p->waiter);
	if (waiter) {
		ipc_waiter_del(waiter, p->sub);
		ipc_waiter_destroy(waiter);
	}
	ipc_sub_destroy(p->sub);
	attachment_unref(p->att);
	mem_free(p);
}

static int port_create(struct sim_subscriber *s, struct attachment *l, bool history, struct sub_port **ret)
{
	struct ipc_sub_options o = { .depth = s->depth, .history = history };
	struct sub_port *p = MEM_NEW(struct sub_port);
	struct ipc_waiter *waiter;
	int r;

	if (!p)
		return err_nomem();
	r = ipc_sub_create(l->ipc, s->name, &o, &p->sub);
	if (r < 0) {
		mem_free(p);
		return err_set(r, "channel %s: %s", s->name, ipc_why());
	}
	/*
	 * A request to RouDi, made here rather than while the first message is on its way. If it fails, the first wait
	 * tries again.
	 */
	if (!s->c->env && ipc_waiter_create(l->ipc, &waiter) == 0)
		atomic_init(&p->waiter, waiter);
	p->depth = o.depth;
	list_init(&p->link);
	atomic_init(&p->refs, 1);
	p->att = attachment_ref(l);
	*ret = p;
	return 0;
}

/* ---- registration ---- */

/* Another simd, but the same port: it keeps the depth of its queue. */
static uint32_t depth_for(const struct sim_subscriber *s, const struct attachment *l)
{
	return s->newest && s->newest->att == l ? s->newest->depth : s->wanted;
}

static json_t *subscribe_params(const struct sim_subscriber *s, const struct attachment *l)
{
	json_t *o = json_pack("{ss si}", "channel", s->channel, "depth", (int)depth_for(s, l));
	char hash[20];

	if (!o || !s->type)
		return o;
	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)s->type->hash);
	json_object_set_new(o, "type", json_string(s->type->name));
	json_object_set_new(o, "hash", json_string(hash));
	return o;
}

static int subscribe_reply(struct sim_subscriber *s, const json_t *o, char *ret_name, size_t size)
{
	int64_t id, depth;
	const char *name;
	int r;

	if ((r = jsonx_string(o, "channel", SIM_CHANNEL_MAX, &name)) < 0 ||
	    (r = jsonx_int(o, "subscriber_id", 0, UINT32_MAX, &id)) < 0 ||
	    (r = jsonx_opt_int(o, "depth", 1, IPC_DEPTH_MAX, s->wanted, &depth)) < 0)
		return err_prefix(r, "simd's answer to Subscribe");
	snprintf(ret_name, size, "%s", name);
	atomic_store(&s->id, (uint32_t)id);
	atomic_store(&s->depth, (uint32_t)depth);
	return 0;
}

/* Announces the subscriber to simd; *ret_name is the channel's full name. */
static int announce(struct sim_subscriber *s, struct session *ses, struct attachment *l, char *ret_name, size_t size)
{
	struct varlink_msg m;
	json_t *reply;
	int r;

	if (s->session_serial == ses->serial) {
		snprintf(ret_name, size, "%s", s->name);
		return 0;
	}
	r = session_call(s->c, ses, "Subscribe", subscribe_params(s, l), &m, &reply);
	if (r < 0)
		return r;
	r = subscribe_reply(s, reply, ret_name, size);
	if (r == 0)
		client_populate(s->c, l, reply);
	varlink_msg_finish(&m);
	if (r == 0)
		s->session_serial = ses->serial;
	return r;
}

static void fresh_drop(struct sim_subscriber *s)
{
	sub_port_unref(s->fresh);
	s->fresh = NULL;
}

static void ask_for(struct sim_subscriber *s, _Atomic bool *due)
{
	atomic_store(due, true);
	pthread_mutex_lock(&s->c->lock);
	s->c->renew_due = true;
	pthread_mutex_unlock(&s->c->lock);
}

/* simd publishes on one channel itself, and a dead one cannot ask for its queues to be replaced. */
static void simd_has_died(struct sim_subscriber *s)
{
	if (atomic_load(&s->depth) != s->newest->depth)
		ask_for(s, &s->depth_due);
	if (strcmp(s->name, CLOCK_CHANNEL) == 0)
		ask_for(s, &s->renew_due);
}

static int try_register(struct sim_subscriber *s, struct session *ses, struct attachment *l)
{
	bool known = s->session_serial == ses->serial;
	char name[SIM_CHANNEL_MAX + 1];
	struct sub_port *port;
	int r = announce(s, ses, l, name, sizeof(name));

	if (r < 0)
		return r;
	if (s->newest && s->newest->att == l && strcmp(name, s->name) == 0) {
		if (!known)
			simd_has_died(s);
		return 0;
	}
	if (strcmp(name, s->name) != 0) {
		pthread_mutex_lock(&s->c->lock);
		snprintf(s->name, sizeof(s->name), "%s", name);
		pthread_mutex_unlock(&s->c->lock);
	}
	r = port_create(s, l, s->flags & SIM_SUB_LATCHED, &port);
	if (r < 0)
		return r;
	fresh_drop(s);
	if (known && s->newest && s->newest->depth != port->depth)
		ask_for(s, &s->depth_due); /* simd does not know yet that this port has the depth that it has offered */
	s->newest = port;
	sub_port_unref(atomic_exchange(&s->next, port));
	s->c->unsettled = true;
	return 0;
}

/* From now on one of the subscriptions that simd counts is this one. Called after the list and simd have it. */
static void count_in(struct sim_subscriber *s)
{
	struct sim_client *c = s->c;

	pthread_mutex_lock(&c->lock);
	if (s->counted_serial != s->session_serial) {
		s->counted_serial = s->session_serial;
		atomic_fetch_add(&c->subs_seq, 1);
	}
	pthread_mutex_unlock(&c->lock);
}

/* Called before simd removes it. */
static void count_out(struct sim_subscriber *s)
{
	struct sim_client *c = s->c;

	pthread_mutex_lock(&c->lock);
	list_remove(&s->link);
	atomic_fetch_add(&c->subs_seq, 1);
	pthread_mutex_unlock(&c->lock);
}

uint32_t subscribers_own(struct sim_client *c, const struct session *ses, const char *name)
{
	const struct sim_subscriber *s;
	uint32_t n = 0;

	pthread_mutex_lock(&c->lock);
	list_for_each(s, &c->subs, link)
		n += s->counted_serial == ses->serial && strcmp(s->name, name) == 0;
	pthread_mutex_unlock(&c->lock);
	return n;
}

int subscriber_register(struct sim_subscriber *s, struct session *ses, struct attachment *l)
{
	int r = try_register(s, ses, l);

	if (r == 0 && !list_empty(&s->link)) /* a new subscriber is not in the list yet */
		count_in(s);

	if (r < 0) {
		pthread_mutex_lock(&s->c->lock);
		snprintf(s->refused, sizeof(s->refused), "%s", err_why());
		pthread_mutex_unlock(&s->c->lock);
	}
	/* a session or an attachment that ended just now is not a refusal: the next one is asked again */
	atomic_store(&s->error, r == -ENOTCONN || r == -ESTALE ? 0 : r);
	subscriber_ring(s);
	return r;
}

void subscriber_ring(struct sim_subscriber *s)
{
	atomic_fetch_add(&s->bell, 1);
	futex_wake_all(&s->bell, FUTEX_PRIVATE_FLAG);
}

/* ---- replacing a damaged port ---- */

/* Posts the fresh port, and wakes a thread that waits on the old one. */
static void fresh_post(struct sim_subscriber *s)
{
	struct sub_port *before = s->newest;
	struct ipc_waiter *waiter;

	/* the subscriber's thread may adopt the new port, and release this one, at once */
	atomic_fetch_add(&before->refs, 1);
	s->fresh->renews = true;
	s->newest = s->fresh;
	s->fresh = NULL;
	sub_port_unref(atomic_exchange(&s->next, s->newest));
	s->c->unsettled = true;
	waiter = atomic_load(&before->waiter);
	if (waiter)
		ipc_waiter_wake(waiter);
	sub_port_unref(before);
	subscriber_ring(s);
}

/* One replacement at a time: only after the last port was adopted, and the messages in the one before it were taken. */
static bool may_renew(const struct sim_subscriber *s, const struct attachment *l)
{
	return l && ipc_alive(l->ipc) && s->newest && s->newest->att == l && !atomic_load(&s->next) &&
	       !atomic_load(&s->draining);
}

/*
 * When to look again: the subscriber's thread must act first, which may never happen while it keeps a message of the
 * old port.
 */
static int64_t look_again(struct sim_subscriber *s, const struct attachment *l, int64_t now)
{
	if (l && atomic_load(&s->depth_due)) {
		if (now >= s->depth_mono_ns) {
			s->depth_mono_ns = ns_add(now, SETTLE_DUR_NS << s->n_looks);
			s->n_looks += s->n_looks < LOOKS_SOONER;
		}
		return s->depth_mono_ns;
	}
	return l && atomic_load(&s->renew_due) ? ns_add(now, NS_PER_S) : INT64_MAX;
}

/* What simd has offered stays reserved until simd gets an answer, however long that takes. */
static void ask_later(struct sim_subscriber *s)
{
	atomic_store(&s->depth_due, true);
	s->depth_mono_ns = ns_add(client_now(s->c), NS_PER_S);
}

/* Reports the queue's depth to simd, and asks for the depth that it is to have: then the port is replaced. */
static void ask_depth(struct sim_subscriber *s, struct session *ses, struct attachment *l)
{
	json_t *params =
		json_pack("{sI si}", "subscriber_id", (json_int_t)atomic_load(&s->id), "depth", (int)s->newest->depth);
	struct varlink_msg m;
	int64_t depth;
	json_t *reply;
	int r;

	atomic_store(&s->depth_due, false);
	s->n_looks = 0;
	r = session_call(s->c, ses, "Requeue", params, &m, &reply);
	if (r == -ETIMEDOUT || r == -ENOMEM)
		ask_later(s);
	if (r < 0)
		return; /* the next session subscribes with the present depth */
	if (jsonx_int(reply, "depth", 1, IPC_DEPTH_MAX, &depth) == 0) {
		client_populate(s->c, l, reply);
		atomic_store(&s->depth, (uint32_t)depth);
		if (depth != s->newest->depth)
			atomic_store(&s->renew_due, true);
	}
	varlink_msg_finish(&m);
}

/* Whether no other port is left. */
static bool is_alone(const struct sim_subscriber *s, const struct attachment *l)
{
	return may_renew(s, l) && !s->fresh && !atomic_load(&s->n_old);
}

static void fresh_make(struct sim_subscriber *s, struct attachment *l, int64_t now)
{
	atomic_store(&s->renew_due, false);
	if (port_create(s, l, false, &s->fresh) < 0) {
		s->fresh = NULL; /* the present port stays in use */
		if (atomic_exchange(&s->depth, s->newest->depth) != s->newest->depth)
			ask_later(s);
	}
	s->fresh_connected = false;
	s->renew_mono_ns = ns_add(now, RENEW_DUR_NS);
}

int64_t subscriber_renew(struct sim_subscriber *s, struct session *ses, struct attachment *l)
{
	int64_t now = client_now(s->c);

	if (s->fresh && s->fresh->att != l)
		fresh_drop(s);
	if (ses && atomic_load(&s->depth_due) && now >= s->depth_mono_ns && is_alone(s, l))
		ask_depth(s, ses, l);
	if (!s->fresh && atomic_load(&s->renew_due) && may_renew(s, l))
		fresh_make(s, l, now);
	if (!s->fresh)
		return look_again(s, l, now);
	if (now >= s->renew_mono_ns) {
		if (s->fresh_connected) {
			if (s->fresh->depth != s->newest->depth)
				atomic_store(&s->depth_due, true);
			fresh_post(s);
			return look_again(s, l, now);
		}
		s->fresh_connected = ipc_sub_connected(s->fresh->sub);
		s->renew_mono_ns = ns_add(now, RENEW_DUR_NS);
	}
	return s->renew_mono_ns;
}

/* ---- adoption ---- */

void subscriber_drained(struct sim_subscriber *s)
{
	struct sub_port *p = s->before;

	s->before = NULL;
	atomic_store(&s->draining, false);
	if (p && p->held) {
		list_append(&s->old, &p->link);
		atomic_fetch_add(&s->n_old, 1);
	} else {
		sub_port_unref(p);
	}
}

void subscriber_attend(struct sim_subscriber *s)
{
	struct sub_port *port = atomic_exchange(&s->next, NULL), *old = s->port;
	bool renews;

	if (!port)
		return;
	renews = old && port->renews && old->att == port->att;
	s->port = port;
	if (s->fd)
		sub_fd_port(s);
	subscriber_drained(s);
	s->before = old;
	port->repeats = renews ? old->depth : 0;
	/* the new port is connected: messages that are not in the old one by now come to both */
	s->n_before = renews && ipc_sub_has_data(old->sub) ? old->depth : 0;
	if (s->n_before)
		atomic_store(&s->draining, true);
	else
		subscriber_drained(s);
}

int subscriber_enter(struct sim_subscriber *s)
{
	int r = handle_enter(&s->h, "subscriber");

	if (r == 0 && __builtin_expect(atomic_load_explicit(&s->next, memory_order_acquire) != NULL, 0))
		subscriber_attend(s);
	return r;
}

bool subscriber_settle(struct sim_subscriber *s)
{
	if (!atomic_load(&s->next))
		return true;
	if (!handle_try_library(&s->h))
		return false;
	subscriber_attend(s);
	if (s->before && !s->fd)
		(void)subscriber_fill(s); /* drops what may be left in the old port: simd's probes */
	handle_leave(&s->h);
	return true;
}

/* ---- create and destroy ---- */

static int check_options(const char *channel, const struct sim_type *type, const struct sim_subscriber_options *o)
{
	if (!channel || !*channel || strlen(channel) > SIM_CHANNEL_MAX)
		return err_set(-EINVAL, "sim_subscribe: a channel's name has 1 to %d characters", SIM_CHANNEL_MAX);
	if (type && type->abi != SIM_TYPE_ABI)
		return err_set(-EINVAL, "channel %s: the type is of another ABI; use the one that simgen made",
			       channel);
	if (o->depth > IPC_DEPTH_MAX)
		return err_set(-EINVAL, "channel %s: depth %u is out of range, 1 to %d", channel, o->depth,
			       IPC_DEPTH_MAX);
	if (o->flags & ~(unsigned)(SIM_SUB_LATCHED | SIM_SUB_FD))
		return err_set(-EINVAL, "channel %s: unknown subscriber flags %#x", channel, o->flags);
	return 0;
}

static int subscriber_new(struct sim_client *c, const char *channel, const struct sim_type *type,
			  const struct sim_subscriber_options *o, struct sim_subscriber **ret)
{
	struct sim_subscriber *s = MEM_NEW(struct sim_subscriber);

	if (!s)
		return err_nomem();
	s->c = c;
	s->h.alive = c->alive;
	list_init(&s->link);
	list_init(&s->old);
	s->type = type ? sim_type_ref(type) : NULL;
	s->wanted = o->depth ? o->depth : DEPTH_DEFAULT;
	atomic_init(&s->depth, s->wanted);
	s->flags = o->flags;
	s->spin_dur_ns = o->spin_dur_ns;
	snprintf(s->channel, sizeof(s->channel), "%s", channel);
	*ret = s;
	return 0;
}

static void subscriber_free(struct sim_subscriber *s)
{
	struct sub_port *p, *tmp;

	sub_fd_stop(s);
	fresh_drop(s);
	sub_port_unref(atomic_exchange(&s->next, NULL));
	sub_port_unref(s->before);
	list_for_each_safe(p, tmp, &s->old, link) {
		list_remove(&p->link);
		sub_port_unref(p);
	}
	sub_port_unref(s->port);
	messages_finish(&s->messages);
	sim_type_unref(s->type);
	mem_free(s);
}

static int subscribe(struct sim_subscriber *s)
{
	struct sim_client *c = s->c;
	struct session *ses;
	struct attachment *l;
	int r = client_session(c, &ses);

	if (r < 0)
		return r;
	r = client_attachment(c, &l);
	if (r == 0) {
		r = subscriber_register(s, ses, l);
		client_doubt(c, l);
		attachment_unref(l);
	}
	session_unref(ses);
	if (r < 0)
		return r;
	subscriber_attend(s);
	if (s->flags & SIM_SUB_FD)
		r = sub_fd_start(s);
	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	list_append(&c->subs, &s->link);
	pthread_mutex_unlock(&c->lock);
	count_in(s);
	return 0;
}

int sim_subscribe(struct sim_client *c, const char *channel, const struct sim_type *type,
		  const struct sim_subscriber_options *given, struct sim_subscriber **ret)
{
	struct sim_subscriber_options o;
	struct sim_subscriber *s = NULL;
	int r = client_guard(c);

	if (r == 0)
		r = SIZED_TAKE(&o, given, "channel %.63s: the options", channel ? channel : "?");
	if (r == 0)
		r = check_options(channel, type, &o);
	if (r == 0 && !ret)
		r = err_set(-EINVAL, "sim_subscribe: the output pointer is NULL");
	if (r == 0)
		r = subscriber_new(c, channel, type, &o, &s);
	if (r < 0)
		return r;
	client_setup_lock(c);
	r = subscribe(s);
	client_setup_unlock(c);
	if (r < 0) {
		subscriber_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* An old port is freed with its last slot. */
static int give_back(struct sim_subscriber *s, struct message *m)
{
	struct sub_port *p = m->port;
	int r;

	PORT_RETRY(r, ipc_release(p->sub, m->slot));
	if (r < 0)
		return err_set(r, "channel %s: %s", s->channel, ipc_why());
	messages_put(&s->messages, m);
	if (--p->held == 0 && p != s->port && p != s->before) {
		list_remove(&p->link);
		sub_port_unref(p);
		atomic_fetch_sub(&s->n_old, 1);
	}
	return 0;
}

void sim_subscriber_destroy(struct sim_subscriber *s)
{
	struct sim_client *c;
	struct session *ses;
	uint32_t id;

	if (!s || !client_alive(s->c))
		return;
	c = s->c;
	client_setup_lock(c);
	count_out(s);
	id = atomic_load(&s->id);
	if (id && client_session(c, &ses) == 0) {
		session_post(c, ses, "Unsubscribe", json_pack("{sI}", "subscriber_id", (json_int_t)id), 0);
		session_unref(ses);
	}
	client_setup_unlock(c);
	subscriber_free(s);
}

/* ---- taking ---- */

static bool message_valid(const struct sim_subscriber *s, struct sim_message *m, const void *slot, size_t size)
{
	if (!message_read(m, slot, size))
		return false;
	return !s->type || (m->header.type_hash == s->type->hash && m->body_size >= s->type->fixed_size);
}

/*
 * Counts gaps in the publisher's sequence. If another publisher takes over a table entry, only the count of losses
 * suffers.
 */
static void count_received(struct sim_subscriber *s, const struct sim_slot *h)
{
	uint32_t i = (h->publisher_id >> WIRE_SHARD_BITS) % SUB_SEEN;

	if (s->seen[i].publisher_id == h->publisher_id && h->sequence > s->seen[i].sequence + 1)
		s->stats.lost += h->sequence - s->seen[i].sequence - 1;
	s->seen[i].publisher_id = h->publisher_id;
	s->seen[i].sequence = h->sequence;
}

/*
 * Whether it was already taken from the previous port, or is latched again. Of a publisher that is not followed any
 * more a message may come twice, but is never lost.
 */
static bool is_repeated(struct sim_subscriber *s, const struct message *m)
{
	const struct sim_slot *h = &m->m.header;
	uint32_t i = (h->publisher_id >> WIRE_SHARD_BITS) % SUB_SEEN;

	if (__builtin_expect(!m->port->repeats && !(h->flags & SIM_SLOT_LATCHED), 1))
		return false;
	m->port->repeats -= m->port->repeats > 0;
	return s->seen[i].publisher_id == h->publisher_id && h->sequence <= s->seen[i].sequence;
}

/* Takes from the previous port first, as long as it has messages: later ones are in the present port too. */
static int take_slot(struct sim_subscriber *s, struct sub_port **ret_port, const void **ret, size_t *ret_size)
{
	int r;

	if (__builtin_expect(s->before != NULL, 0)) {
		*ret_port = s->before;
		r = s->n_before ? ipc_take(s->before->sub, ret, ret_size) : -EAGAIN;
		if (r == 0)
			s->n_before--;
		if (r != -EAGAIN && r != -ESTALE)
			return r;
		subscriber_drained(s);
	}
	*ret_port = s->port;
	return ipc_take(s->port->sub, ret, ret_size);
}

/* Takes the oldest slot, whatever it holds. */
static int take_any(struct sim_subscriber *s, struct message **ret, size_t *ret_size)
{
	struct message *m = messages_get(&s->messages);
	const void *slot;
	int r;

	if (!m)
		return err_nomem();
	r = take_slot(s, &m->port, &slot, ret_size);
	if (r < 0) {
		messages_put(&s->messages, m);
		return r;
	}
	m->slot = slot;
	m->port->held++;
	*ret = m;
	return 0;
}

int subscriber_fill(struct sim_subscriber *s)
{
	struct message *m;
	size_t size;
	bool good, ignored;
	int r;

	while (!s->peeked) {
		r = take_any(s, &m, &size);
		if (r == -EBADMSG) { /* not a slot: continue with the next */
			s->stats.invalid++;
			continue;
		}
		if (r < 0)
			return r;
		good = message_valid(s, &m->m, m->slot, size);
		ignored = (m->m.header.flags & SIM_SLOT_PROBE) || (good && is_repeated(s, m));
		if (__builtin_expect(good && !ignored, 1)) {
			count_received(s, &m->m.header);
			s->peeked = m;
			return 0;
		}
		if (!ignored)
			s->stats.invalid++;
		(void)give_back(s, m);
	}
	return 0;
}

int subscriber_error(const struct sim_subscriber *s, int r)
{
	int refused = atomic_load(&s->error);

	if (r == -ESTALE && refused < 0) {
		char why[WHY_MAX];

		pthread_mutex_lock(&s->c->lock);
		snprintf(why, sizeof(why), "%s", s->refused);
		pthread_mutex_unlock(&s->c->lock);
		return err_set(refused, "channel %s: it could not be subscribed to again after a restart: %s", s->name,
			       *why ? why : err_text(refused));
	}
	return err_set(r, "channel %s: %s", s->name, ipc_why());
}

int sim_take(struct sim_subscriber *s, const struct sim_message **ret)
{
	int r;

	if (!s || !ret)
		return err_set(-EINVAL, "sim_take: no subscriber, or the output pointer is NULL");
	r = subscriber_enter(s);
	if (r < 0)
		return r;
	r = subscriber_fill(s);
	if (r == 0) {
		*ret = &s->peeked->m;
		s->peeked = NULL;
		s->stats.received++;
	} else if (r != -EAGAIN) {
		r = subscriber_error(s, r);
	} else if (s->fd) {
		sub_fd_rearm(s);
	}
	handle_leave(&s->h);
	return r;
}

int sim_release(struct sim_subscriber *s, const struct sim_message *message)
{
	struct message *m;
	int r;

	if (!s || !message)
		return err_set(-EINVAL, "sim_release: no subscriber or no message was given");
	r = subscriber_enter(s);
	if (r < 0)
		return r;
	m = messages_find(&s->messages, message);
	if (m && m != s->peeked) /* a message peeked by a wait is not the caller's yet */
		r = give_back(s, m);
	else
		r = err_set(-EINVAL, "channel %s: the message is not held by this subscriber (released before?)",
			    s->channel);
	handle_leave(&s->h);
	return r;
}

uint32_t sim_subscriber_depth(const struct sim_subscriber *s)
{
	return s ? atomic_load(&s->depth) : 0;
}

void sim_subscriber_stats(const struct sim_subscriber *s, struct sim_subscriber_stats *ret)
{
	*ret = s->stats;
}

/* ---- a channel's type ---- */

static int type_of_channel(const json_t *o, const struct sim_type **ret)
{
	json_t *type;
	int r = jsonx_object(o, "type", &type);

	if (r < 0)
		return r;
	r = type_from_value(type, ret);
	return r < 0 ? err_prefix(r, "the type that simd holds") : 0;
}

int sim_channel_type(struct sim_client *c, const char *channel, const struct sim_type **ret)
{
	struct varlink_msg m;
	json_t *reply;
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (!channel || !ret)
		return err_set(-EINVAL, "sim_channel_type: no channel, or the output pointer is NULL");
	r = client_call(c, "GetChannel", json_pack("{ss}", "name", channel), &m, &reply);
	if (r < 0)
		return r;
	r = type_of_channel(reply, ret);
	varlink_msg_finish(&m);
	return r;
}
