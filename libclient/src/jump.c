/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jumps of the clock: passes simd's events, in order, to the handlers; and reads the last one from the page, without a
 * lock. Thread: as each function notes; handlers run where completions run.
 */
#include "jump.h"

#include <errno.h>

#include "clockmap.h"
#include "err.h"
#include "mem.h"
#include "seqlock.h"

/* beyond that, older ones are merged: a program that has not processed them for so long sees one large jump */
#define PENDING_MAX 64

struct sim_jump_handler {
	struct list link; /* jumps::handlers */
	struct sim_client *c;
	struct sim_jump_threshold threshold;
	sim_jump_fn fn;
	void *user;
	uint64_t notified; /* number of the last jump that was checked for it */
	bool dead;
};

/* Guarded by client::lock. */
struct jumps {
	struct list handlers;
	struct sim_clock_jump pending[PENDING_MAX];
	unsigned n;
	uint64_t number; /* number of the jump that is being notified */
	struct running running;
};

void jump_note(struct sim_client *c, const struct sim_clock_jump *j)
{
	struct jumps *js = c->jumps;

	if (!js)
		return;
	if (js->n == PENDING_MAX) {
		js->pending[PENDING_MAX - 1].new_sim_ns = j->new_sim_ns;
		js->pending[PENDING_MAX - 1].clock_generation = j->clock_generation;
		return;
	}
	js->pending[js->n++] = *j;
}

bool jumps_pending(const struct sim_client *c)
{
	return c->jumps && c->jumps->n;
}

static bool concerns(const struct sim_jump_handler *h, const struct sim_clock_jump *j)
{
	bool forward = j->new_sim_ns >= j->old_sim_ns;
	int64_t min = forward ? h->threshold.min_forward_dur_ns : h->threshold.min_backward_dur_ns;

	return min >= 0 && (forward ? j->new_sim_ns - j->old_sim_ns : j->old_sim_ns - j->new_sim_ns) >= min;
}

static struct sim_jump_handler *next_handler(struct jumps *js)
{
	struct sim_jump_handler *h;

	list_for_each(h, &js->handlers, link)
		if (h->notified < js->number)
			return h;
	return NULL;
}

/* Called and returns with lock held. */
static void call(struct sim_client *c, struct sim_jump_handler *h, const struct sim_clock_jump *j)
{
	running_begin(&c->jumps->running, h, &c->lock);
	h->fn(h->user, j);
	running_end(&c->jumps->running, &c->lock, &c->changed);
	if (h->dead)
		mem_free(h);
}

static int notify(struct sim_client *c, const struct sim_clock_jump *j)
{
	struct jumps *js = c->jumps;
	struct sim_jump_handler *h;
	int n = 0;

	js->number++;
	while ((h = next_handler(js))) {
		h->notified = js->number;
		if (concerns(h, j)) {
			call(c, h, j);
			n++;
		}
	}
	return n;
}

int jumps_run(struct sim_client *c)
{
	struct jumps *js = __atomic_load_n(&c->jumps, __ATOMIC_ACQUIRE);
	int n = 0;

	if (!js)
		return 0;
	pthread_mutex_lock(&c->lock);
	while (js->n && !js->running.what) {
		struct sim_clock_jump j = js->pending[0];

		js->n--;
		for (unsigned i = 0; i < js->n; i++)
			js->pending[i] = js->pending[i + 1];
		n += notify(c, &j);
	}
	pthread_mutex_unlock(&c->lock);
	return n;
}

void jumps_finish(struct sim_client *c)
{
	mem_free(c->jumps);
	c->jumps = NULL;
}

int sim_clock_on_jump(struct sim_client *c, const struct sim_jump_threshold *threshold, sim_jump_fn fn, void *user,
		      struct sim_jump_handler **ret)
{
	struct sim_jump_handler *h;
	struct jumps *js;
	int r = client_guard(c);

	if (r < 0)
		return r;
	if (!fn || !ret)
		return err_set(-EINVAL, "sim_clock_on_jump: no callback, or the output pointer is NULL");
	h = MEM_NEW(struct sim_jump_handler);
	js = c->jumps ? NULL : MEM_NEW(struct jumps);
	if (!h || (!js && !c->jumps)) {
		mem_free(h);
		return err_nomem();
	}
	*h = (struct sim_jump_handler){ .c = c, .fn = fn, .user = user };
	if (threshold)
		h->threshold = *threshold;
	pthread_mutex_lock(&c->lock);
	if (!c->jumps) {
		list_init(&js->handlers);
		__atomic_store_n(&c->jumps, js, __ATOMIC_RELEASE);
		js = NULL;
	}
	h->notified = c->jumps->number;
	list_append(&c->jumps->handlers, &h->link);
	pthread_mutex_unlock(&c->lock);
	mem_free(js); /* another thread created them first */
	*ret = h;
	return 0;
}

void sim_jump_handler_destroy(struct sim_jump_handler *h)
{
	struct sim_client *c;
	bool mine;

	if (!h || !client_alive(h->c))
		return;
	c = h->c;
	pthread_mutex_lock(&c->lock);
	list_remove(&h->link);
	mine = running_settle(&c->jumps->running, h, &c->lock, &c->changed);
	if (mine)
		h->dead = true; /* freed when its callback returns */
	pthread_mutex_unlock(&c->lock);
	if (!mine)
		mem_free(h);
}

int sim_clock_jumped(const struct sim_client *c, uint32_t *clock_generation, struct sim_clock_jump *ret)
{
	const struct sim_clock_page *p = c->page;

	for (int tries = 0; tries < SIM_CLOCK_TRIES; tries++) {
		struct sim_clock_jump j;
		uint32_t seq;

		if (!seqlock_read_begin(&p->seq, &seq))
			continue;
		j.clock_generation = seqlock_load(&p->clock_generation);
		j.old_sim_ns = seqlock_load(&p->jump_old_sim_ns);
		j.new_sim_ns = seqlock_load(&p->jump_new_sim_ns);
		if (!seqlock_read_ok(&p->seq, seq))
			continue;
		if (j.clock_generation == *clock_generation)
			return 0;
		*clock_generation = j.clock_generation;
		*ret = j;
		return 1;
	}
	return 0; /* simd died inside a write: the page will be replaced */
}
