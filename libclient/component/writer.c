/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers. Loaning the room for a message decides how it is delivered:
 *
 *   heap         all its readers are in this process: they get the very memory that was filled
 *   slot         other programs want it: shared memory, from which this process's readers get it too
 *   heap + copy  simulation: readers of this process have it when the call returns, other programs get a copy in a slot
 *
 * A writer switches from slots to the heap only when all that it has sent through shared memory has come back to this
 * process's readers, so that no message overtakes another.
 */
#include "sized.h"
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "err.h"
#include "heap.h"
#include "mem.h"
#include "timeutil.h"

/* ---- how a message is delivered ---- */

/*
 * Whether other programs want its messages. Only a local writer may skip the slot: otherwise simd expects every
 * sequence number in a slot.
 */
static bool anybody_elsewhere(const struct sim_node_writer *w)
{
	if (w->transport == SIM_TRANSPORT_INTRA || !w->pub)
		return false;
	if (w->transport != SIM_TRANSPORT_HYBRID || w->latched || !w->local)
		return true;
	return sim_publisher_subscribers_elsewhere(w->pub) > 0;
}

static bool all_came_back(struct sim_node_writer *w)
{
	if (!w->last_slot || !atomic_load(&w->ch->n_sinks))
		return true;
	if (atomic_load(&w->seen) < w->last_slot)
		return false;
	w->last_slot = 0;
	return true;
}

static bool goes_by_heap(struct sim_node_writer *w)
{
	if (host_simulates(w->n->h) && atomic_load(&w->ch->n_sinks))
		return true;
	return !anybody_elsewhere(w) && all_came_back(w);
}

/* ---- inside ---- */

static int enter(struct sim_node_writer *w)
{
	if (!w)
		return err_set(-EINVAL, "no writer was given");
	if (atomic_exchange_explicit(&w->busy, true, memory_order_acquire))
		return err_set(-EBUSY, "channel %s: another thread is inside this writer; one at a time", w->ch->name);
	return 0;
}

static int leave(struct sim_node_writer *w, int r)
{
	atomic_store_explicit(&w->busy, false, memory_order_release);
	return r;
}

/* Statistics. Only the thread inside the writer counts. */
static void count(_Atomic uint64_t *n, uint64_t add)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + add, memory_order_relaxed);
}

static int loan_find(const struct sim_node_writer *w, const struct sim_slot *slot)
{
	for (int i = 0; i < WRITER_LOANS; i++)
		if (w->loan[i].slot == slot)
			return i;
	return -EINVAL;
}

/* ---- time: one read of the clock per message ---- */

struct instant {
	int64_t sim_ns, mono_ns;
	uint32_t clock_generation;
};

static struct instant instant_now(const struct sim_host *h)
{
	struct sim_clock_sample s = { .rate_e6 = 0 };

	if (h->client)
		sim_now_sample(h->client, &s);
	return (struct instant){ .sim_ns = host_simulates(h) ? sim_host_now(h) : s.sim_ns,
				 /* if time runs with the wall clock, the sample includes a read of CLOCK_MONOTONIC */
				 .mono_ns = s.rate_e6 > 0 ? s.mono_ns : mono_now_ns(),
				 .clock_generation = s.clock_generation };
}

/* ---- loans ---- */

static void header_fill(const struct sim_node_writer *w, struct sim_slot *slot, size_t body_size,
			const struct instant *now)
{
	slot->magic = SIM_SLOT_MAGIC;
	slot->version = SIM_SLOT_VERSION;
	slot->type_hash = w->type->hash;
	slot->publisher_id = atomic_load_explicit(&w->publisher_id, memory_order_relaxed);
	slot->stamp_sim_ns = now->sim_ns;
	slot->clock_generation = now->clock_generation;
	slot->body_size = body_size;
	memcpy(slot->frame_id, w->frame_id, sizeof(slot->frame_id));
}

static int loan_heap(struct sim_node_writer *w, size_t body_size, const struct instant *now, struct heap_msg **ret)
{
	int r;

	if (body_size > SIM_BODY_MAX)
		return err_set(-EMSGSIZE, "channel %s: a message of %zu bytes is larger than any message can be",
			       w->ch->name, body_size);
	r = heap_loan(w->heap, body_size, ret);
	if (r < 0)
		return err_prefix(r, "channel %s", w->ch->name);
	header_fill(w, &(*ret)->slot, body_size, now);
	return 0;
}

static int loan_slot(struct sim_node_writer *w, size_t body_size, struct sim_slot **ret)
{
	int r = sim_loan(w->pub, body_size, ret);

	if (r == 0)
		atomic_store_explicit(&w->publisher_id, (*ret)->publisher_id, memory_order_relaxed);
	return r;
}

static int loan(struct sim_node_writer *w, size_t body_size, struct sim_slot **ret)
{
	struct heap_msg *m = NULL;
	struct instant now;
	int r, i = loan_find(w, NULL);

	if (i < 0)
		return err_set(-ENOBUFS, "channel %s: %d loans are out; write or unloan one", w->ch->name,
			       WRITER_LOANS);
	if (!goes_by_heap(w)) {
		r = loan_slot(w, body_size, ret);
	} else {
		now = instant_now(w->n->h);
		r = loan_heap(w, body_size, &now, &m);
	}
	if (r < 0)
		return r;
	if (m)
		*ret = &m->slot;
	w->loan[i].heap = m;
	w->loan[i].slot = *ret;
	return 0;
}

int sim_node_loan(struct sim_node_writer *w, size_t body_size, struct sim_slot **ret)
{
	int r = enter(w);

	if (r < 0)
		return r;
	r = ret ? loan(w, body_size, ret) : err_set(-EINVAL, "sim_node_loan: the output pointer is NULL");
	return leave(w, r);
}

static void loan_drop(struct sim_node_writer *w, int i)
{
	if (w->loan[i].heap)
		msg_unref(&w->loan[i].heap->msg);
	else
		(void)sim_unloan(w->pub, w->loan[i].slot);
	w->loan[i].slot = NULL;
}

void sim_node_unloan(struct sim_node_writer *w, struct sim_slot *slot)
{
	int i;

	if (!slot || enter(w) < 0)
		return;
	i = loan_find(w, slot);
	if (i >= 0)
		loan_drop(w, i);
	leave(w, 0);
}

/* ---- writing ---- */

static int send_slot(struct sim_node_writer *w, struct sim_slot *slot)
{
	int r = w->local ? sim_publish_local(w->pub, slot) : sim_try_queue(w->pub, slot, NULL, NULL, NULL);

	if (r == 0)
		w->last_slot = ++w->sequence;
	return r;
}

/* Sends a copy to other programs; the readers of this process get the message from the heap. */
static int send_copy(struct sim_node_writer *w, const struct heap_msg *m)
{
	struct sim_slot *slot;
	int r = loan_slot(w, m->slot.body_size, &slot);

	if (r < 0)
		return r;
	slot->stamp_sim_ns = m->slot.stamp_sim_ns;
	memcpy(slot->frame_id, m->slot.frame_id, sizeof(slot->frame_id));
	memcpy(sim_slot_body_mut(slot), &m->slot + 1, m->slot.body_size);
	return send_slot(w, slot);
}

static int send_heap(struct sim_node_writer *w, struct heap_msg *m, const struct instant *now)
{
	bool outside = host_simulates(w->n->h) && anybody_elsewhere(w);
	int r = 0;

	m->slot.publish_mono_ns = now->mono_ns;
	if (outside)
		r = send_copy(w, m);
	else if (w->pub)
		r = sim_publisher_count_local(w->pub, &m->slot);
	else
		m->slot.sequence = w->sequence + 1;
	if (r < 0)
		return r;
	if (outside)
		m->slot.sequence = w->sequence;
	else
		w->sequence = m->slot.sequence;
	heap_seal(m);
	count(&w->intra, !outside);
	return 0;
}

/* Counts the result and leaves the writer. */
static int outcome(struct sim_node_writer *w, int r)
{
	count(r < 0 ? &w->refused : &w->written, 1);
	return leave(w, r);
}

/* Takes m. Leaves the writer before it delivers: callbacks that run then may use this writer for the next message. */
static int write_heap(struct sim_node_writer *w, struct heap_msg *m, const struct instant *now)
{
	int r = w->ch->delivering && host_simulates(w->n->h)
			? err_set(-EDEADLK, "channel %s: one of its own callbacks writes to it, which would never end",
				  w->ch->name)
			: send_heap(w, m, now);

	outcome(w, r);
	if (r == 0)
		return host_channel_deliver(w->ch, &m->msg, now->sim_ns); /* simulation: a callback may destroy w */
	msg_unref(&m->msg);
	return r;
}

int sim_node_write(struct sim_node_writer *w, struct sim_slot *slot)
{
	struct heap_msg *m;
	struct instant now;
	int i, r = enter(w);

	if (r < 0)
		return r;
	i = slot ? loan_find(w, slot) : -EINVAL;
	if (i < 0)
		return leave(w, err_set(-EINVAL, "channel %s: not a loan of this writer", w->ch->name));
	m = w->loan[i].heap;
	w->loan[i].slot = NULL;
	if (!m)
		return outcome(w, send_slot(w, slot));
	now = instant_now(w->n->h);
	return write_heap(w, m, &now);
}

static int copy_to_slot(struct sim_node_writer *w, const void *body, size_t body_size, int64_t stamp_sim_ns)
{
	struct sim_slot *slot;
	int r = loan_slot(w, body_size, &slot);

	if (r < 0)
		return outcome(w, r);
	memcpy(sim_slot_body_mut(slot), body, body_size);
	if (stamp_sim_ns)
		slot->stamp_sim_ns = stamp_sim_ns;
	return outcome(w, send_slot(w, slot));
}

static int copy_to_heap(struct sim_node_writer *w, const void *body, size_t body_size, int64_t stamp_sim_ns)
{
	struct instant now = instant_now(w->n->h);
	struct heap_msg *m;
	int r = loan_heap(w, body_size, &now, &m);

	if (r < 0)
		return outcome(w, r);
	memcpy(sim_slot_body_mut(&m->slot), body, body_size);
	if (stamp_sim_ns)
		m->slot.stamp_sim_ns = stamp_sim_ns;
	return write_heap(w, m, &now);
}

int sim_node_write_copy(struct sim_node_writer *w, const void *body, size_t body_size, int64_t stamp_sim_ns)
{
	int r = enter(w);

	if (r < 0)
		return r;
	if (!body)
		return leave(w, err_set(-EINVAL, "channel %s: no body was given", w->ch->name));
	return goes_by_heap(w) ? copy_to_heap(w, body, body_size, stamp_sim_ns)
			       : copy_to_slot(w, body, body_size, stamp_sim_ns);
}

bool writer_note(struct host_channel *ch, const struct sim_slot *header)
{
	struct sim_node_writer *w;
	bool own = false;

	pthread_mutex_lock(&ch->lock);
	list_for_each(w, &ch->writers, on_channel) {
		if (atomic_load_explicit(&w->publisher_id, memory_order_relaxed) != header->publisher_id)
			continue;
		atomic_store(&w->seen, header->sequence);
		own = true;
	}
	pthread_mutex_unlock(&ch->lock);
	return own && host_simulates(ch->h);
}

void sim_node_writer_stats(const struct sim_node_writer *w, struct sim_node_writer_stats *ret)
{
	*ret = (struct sim_node_writer_stats){ 0 };
	if (!w)
		return;
	ret->written = atomic_load(&w->written);
	ret->refused = atomic_load(&w->refused);
	ret->intra = atomic_load(&w->intra);
}

/* ---- create and destroy ---- */

static int check(const struct sim_node *n, const char *channel, const struct sim_type *type,
		 const struct sim_node_writer_options *o)
{
	if (!type || type->abi != SIM_TYPE_ABI)
		return err_set(-EINVAL, "channel %s: a writer needs a type, as simgen makes it",
			       channel ? channel : "?");
	if ((unsigned)o->transport > SIM_TRANSPORT_NETWORK)
		return err_set(-EINVAL, "channel %s: unknown transport %d", channel, (int)o->transport);
	if (o->transport == SIM_TRANSPORT_NETWORK && (o->local || !n->h->client))
		return err_set(
			-EOPNOTSUPP,
			"node %s, channel %s: transport network goes to other machines, and %s; use hybrid, which chooses "
			"by itself",
			n->name, channel ? channel : "?",
			o->local ? "what is local stays on this one" : "without simd there is no link to any");
	if (o->frame_id && strlen(o->frame_id) > SIM_FRAME_ID_MAX)
		return err_set(-EINVAL, "channel %s: the frame's name has more than %d characters", channel,
			       SIM_FRAME_ID_MAX);
	if (o->transport == SIM_TRANSPORT_INTRA && o->latched)
		return err_set(-EINVAL, "channel %s: what stays in the process cannot be latched; use hybrid", channel);
	return 0;
}

/* ---- transport network ---- */

static bool has_text(const json_t *list, const char *text)
{
	const json_t *v;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)list, i, v)
		if (json_is_string(v) && strcmp(json_string_value(v), text) == 0)
			return true;
	return false;
}

static int no_link(const struct sim_node_writer *w, const char *link)
{
	if (*link)
		return err_set(
			-EOPNOTSUPP,
			"node %s, channel %s: transport network needs a link to another machine that carries it: add it to "
			"\"channels\" of bridge %s, or use hybrid, which chooses by itself",
			w->n->name, w->ch->name, link);
	return err_set(
		-EOPNOTSUPP,
		"node %s, channel %s: transport network needs a link to another machine, and the rig has none: add a "
		"bridge with the plug-in link, or use hybrid, which chooses by itself",
		w->n->name, w->ch->name);
}

/* The connection to the other machine does not matter: simd queues messages for the link. */
static int check_link(const struct sim_node_writer *w)
{
	char *reply = NULL, link[64] = "";
	json_t *o, *b;
	bool carries = false;
	size_t i;
	int r = sim_call(w->n->h->client, "ListBridges", NULL, &reply);

	if (r < 0)
		return r;
	o = json_loads(reply, 0, NULL);
	json_array_foreach(json_object_get(o, "bridges"), i, b) {
		const char *type = json_string_value(json_object_get(b, "type"));

		const char *name = json_string_value(json_object_get(b, "name"));

		if (!type || strcmp(type, "link") != 0)
			continue;
		if (!*link && name)
			snprintf(link, sizeof(link), "%s", name);
		carries |= has_text(json_object_get(b, "channels"), w->ch->name);
	}
	json_decref(o);
	free(reply);
	return carries ? 0 : no_link(w, link);
}

static int advertise(struct sim_node_writer *w, const struct sim_node_writer_options *o)
{
	struct sim_publisher_options po = { .size = sizeof(po), .max_body = w->max_body, .frame_id = o->frame_id };

	if (o->latched)
		po.flags |= SIM_PUB_LATCH;
	if (w->local)
		po.flags |= SIM_PUB_LOCAL;
	return sim_advertise(w->n->h->client, w->ch->name, w->type, &po, &w->pub);
}

static int writer_init(struct sim_node_writer *w, const char *channel, const struct sim_node_writer_options *o)
{
	int r = host_channel_get(w->n->h, channel, w->type, &w->ch);

	if (r < 0)
		return r;
	w->heap = heap_create();
	if (!w->heap)
		return err_nomem();
	if (w->n->h->client)
		r = advertise(w, o);
	if (r == 0 && o->transport == SIM_TRANSPORT_NETWORK)
		r = check_link(w);
	if (r < 0)
		return r;
	pthread_mutex_lock(&w->ch->lock);
	list_append(&w->ch->writers, &w->on_channel);
	pthread_mutex_unlock(&w->ch->lock);
	pthread_mutex_lock(&w->n->h->lock);
	list_append(&w->n->writers, &w->link);
	pthread_mutex_unlock(&w->n->h->lock);
	return 0;
}

int sim_node_writer_create(struct sim_node *n, const char *channel, const struct sim_type *type,
			   const struct sim_node_writer_options *given, struct sim_node_writer **ret)
{
	struct sim_node_writer_options own;
	const struct sim_node_writer_options *o = &own;
	struct sim_node_writer *w;
	int r = n && ret ? SIZED_TAKE(&own, given, "channel %.63s: the options", channel ? channel : "?")
			 : err_set(-EINVAL, "sim_node_writer_create: no node, or the output pointer is NULL");

	if (r == 0)
		r = check(n, channel, type, o);
	if (r < 0)
		return r;
	w = MEM_NEW(struct sim_node_writer);
	if (!w)
		return err_nomem();
	list_init(&w->link);
	list_init(&w->on_channel);
	w->n = n;
	w->type = sim_type_ref(type);
	w->transport = o->transport;
	w->latched = o->latched;
	w->local = o->local || o->transport == SIM_TRANSPORT_INTRA;
	w->max_body = o->max_body ? o->max_body : sim_publisher_default_body(type);
	snprintf(w->frame_id, sizeof(w->frame_id), "%s", o->frame_id ? o->frame_id : "");
	r = writer_init(w, channel, o);
	if (r < 0) {
		sim_node_writer_destroy(w);
		return r;
	}
	*ret = w;
	return 0;
}

void sim_node_writer_destroy(struct sim_node_writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->n->h->lock);
	list_remove(&w->link);
	pthread_mutex_unlock(&w->n->h->lock);
	if (w->ch) {
		pthread_mutex_lock(&w->ch->lock);
		list_remove(&w->on_channel);
		pthread_mutex_unlock(&w->ch->lock);
	}
	for (int i = 0; i < WRITER_LOANS; i++)
		if (w->loan[i].slot)
			loan_drop(w, i);
	sim_publisher_destroy(w->pub);
	heap_destroy(w->heap);
	host_channel_unref(w->ch);
	sim_type_unref(w->type);
	mem_free(w);
}
