/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives a channel once for the process.
 *
 * Thread: in reality "sim-intake", which alone uses the subscriber: a message whose last reference is released in
 * another thread is handed to it (returned), and its slot is released when the thread next wakes. In simulation the
 * thread that has the turn does all of it.
 */
#include <errno.h>
#include <string.h>

#include "host_channel.h"
#include "err.h"
#include "heap.h"
#include "inbox.h"
#include "mem.h"
#include "thread.h"
#include "writer.h"

#define SPARE 4u /* slots between the queue and the readers */

struct slot_msg {
	struct msg msg;
	struct inbox_item back; /* intake::returned */
	struct slot_msg *next;  /* intake::free */
	struct intake *in;
	const struct sim_message *taken;
};

struct intake {
	struct host_channel *ch;
	_Atomic uint32_t refs; /* one for the channel, one for every message that is out */
	struct sim_subscriber *sub;
	struct inbox returned;
	uint32_t reserve;      /* slots that simd has reserved for it: messages beyond are copied */
	_Atomic uint32_t held; /* slots taken and not released */
	struct heap *copies;
	pthread_t thread;
	bool started;
	_Atomic bool stop;
	_Atomic uint64_t lost; /* the subscriber's count */
	/* used by the thread that receives */
	struct slot_msg *free;
};

/* ---- messages ---- */

static void intake_unref(struct intake *in)
{
	struct inbox_item *i, *next_item;
	struct slot_msg *m;

	if (atomic_fetch_sub_explicit(&in->refs, 1, memory_order_acq_rel) != 1)
		return;
	sim_subscriber_destroy(in->sub); /* releases all it holds */
	heap_destroy(in->copies);
	for (i = inbox_take(&in->returned); i; i = next_item) {
		next_item = i->next;
		mem_free(container_of(i, struct slot_msg, back));
	}
	while ((m = in->free)) {
		in->free = m->next;
		mem_free(m);
	}
	mem_free(in);
}

static void give_back(struct msg *msg)
{
	struct slot_msg *m = container_of(msg, struct slot_msg, msg);
	struct intake *in = m->in;

	inbox_put(&in->returned, &m->back);
	intake_unref(in);
}

static void release_returned(struct intake *in)
{
	struct inbox_item *i, *next;

	if (inbox_empty(&in->returned))
		return;
	for (i = inbox_take(&in->returned); i; i = next) {
		struct slot_msg *m = container_of(i, struct slot_msg, back);

		next = i->next;
		(void)sim_release(in->sub, m->taken);
		m->next = in->free;
		in->free = m;
		atomic_fetch_sub_explicit(&in->held, 1, memory_order_relaxed);
	}
}

/*
 * Readers hold all the slots reserved for them: holding one more would take it from the publishers, so the message is
 * copied.
 */
static int copy(struct intake *in, const struct sim_message *taken, struct msg **ret)
{
	struct heap_msg *m;
	int r = heap_loan(in->copies, taken->body_size, &m);

	if (r == 0) {
		m->slot = taken->header;
		memcpy(&m->slot + 1, taken->body, taken->body_size);
		heap_seal(m);
		m->msg.shm = true;
		*ret = &m->msg;
	}
	(void)sim_release(in->sub, taken);
	return r;
}

static struct slot_msg *slot_msg_new(struct intake *in)
{
	struct slot_msg *m = in->free;

	if (m)
		in->free = m->next;
	else
		m = MEM_NEW(struct slot_msg);
	return m;
}

static int wrap(struct intake *in, const struct sim_message *taken, struct msg **ret)
{
	struct slot_msg *m;

	if (atomic_load_explicit(&in->held, memory_order_relaxed) >= in->reserve)
		return copy(in, taken, ret);
	m = slot_msg_new(in);
	if (!m) {
		(void)sim_release(in->sub, taken);
		return err_nomem();
	}
	*m = (struct slot_msg){ .msg = { .m = *taken, .shm = true, .release = give_back }, .in = in, .taken = taken };
	atomic_init(&m->msg.refs, 1);
	atomic_fetch_add_explicit(&in->refs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&in->held, 1, memory_order_relaxed);
	*ret = &m->msg;
	return 0;
}

int intake_take(struct intake *in, struct msg **ret)
{
	const struct sim_message *taken;
	int r;

	for (;;) {
		release_returned(in);
		r = sim_take(in->sub, &taken);
		if (r < 0)
			return r;
		if (!writer_note(in->ch, &taken->header))
			return wrap(in, taken, ret);
		/* a message of this host's own writer: its readers here already have it */
		(void)sim_release(in->sub, taken);
	}
}

uint64_t intake_lost(const struct intake *in)
{
	return atomic_load(&in->lost);
}

static void count_lost(struct intake *in)
{
	struct sim_subscriber_stats st;

	sim_subscriber_stats(in->sub, &st);
	atomic_store(&in->lost, st.lost);
}

/* ---- the thread ---- */

static void drain(struct intake *in)
{
	struct msg *m;

	while (!atomic_load(&in->stop) && intake_take(in, &m) == 0)
		(void)host_channel_deliver(in->ch, m, sim_host_now(in->ch->h));
	release_returned(in);
	count_lost(in);
}

static void *receive(void *arg)
{
	struct intake *in = arg;
	int r = 0;

	sched_enter_intake(in->ch->h->sched);
	while (!atomic_load(&in->stop) && r >= 0) {
		r = sim_wait(in->sub, -1);
		if (r < 0 && !atomic_load(&in->stop))
			host_fail(in->ch->h, host_channel_deaf(in->ch, r));
		drain(in);
	}
	return NULL;
}

int intake_start(struct intake *in)
{
	int r;

	if (in->started)
		return 0;
	r = thread_start(&in->thread, "sim-intake", receive, in);
	if (r < 0)
		return err_sys(r, "cannot start the thread that receives %s", in->ch->name);
	in->started = true;
	return 0;
}

/* ---- create and destroy ---- */

int intake_create(struct host_channel *ch, uint32_t depth, bool latched, struct intake **ret)
{
	uint32_t deep = depth + SPARE;
	struct sim_subscriber_options o = { .size = sizeof(o),
					    .depth = deep > DEPTH_MAX ? DEPTH_MAX : deep,
					    .flags = latched ? SIM_SUB_LATCHED : 0 };
	struct intake *in = MEM_NEW(struct intake);
	int r;

	if (!in)
		return err_nomem();
	in->ch = ch;
	atomic_init(&in->refs, 1);
	/* a subscriber holds no more than that, and a copied slot only for a moment */
	in->reserve = o.depth < DEPTH_MAX ? o.depth : DEPTH_MAX - 1;
	in->copies = heap_create();
	r = in->copies ? sim_subscribe(ch->h->client, ch->name, ch->type, &o, &in->sub) : err_nomem();
	if (r < 0) {
		heap_destroy(in->copies);
		mem_free(in);
		return r;
	}
	*ret = in;
	return 0;
}

void intake_destroy(struct intake *in)
{
	if (!in)
		return;
	atomic_store(&in->stop, true);
	if (in->started) {
		sim_wait_cancel(in->sub);
		pthread_join(in->thread, NULL);
	}
	release_returned(in);
	intake_unref(in);
}
