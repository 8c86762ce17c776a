/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the device writes: into the data plane's segment, which is page-locked as a whole, once for each generation, or
 * into the caller's region, or into page-locked memory of its own (staging). Thread: the owner's.
 *
 * The driver page-locks a piece of memory once in a process and refuses it a second time. So read-backs share their
 * registrations, in a list of the process, under a lock that is held for long only while memory is registered.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "cuda_private.h"
#include "err.h"
#include "mem.h"

/* The driver's list of page-locked memory is the process's too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list registered = { &registered, &registered };

/* ---- registrations ---- */

static void forget(struct cuda *c, struct cuda_registration *g)
{
	if (g->gone)
		return;
	if (!g->theirs)
		(void)c->cu.MemHostUnregister((void *)g->base);
	list_remove(&g->link);
	g->gone = true;
}

void cuda_unregister(struct cuda *c, struct cuda_registration *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&lock);
	if (--g->refs == 0) {
		forget(c, g);
		mem_free(g);
	}
	pthread_mutex_unlock(&lock);
}

static bool same(const struct cuda_registration *a, const struct cuda_registration *b)
{
	return a->base == b->base && a->size == b->size && a->slots == b->slots && a->generation == b->generation;
}

/*
 * Finds the registration of the same memory. Memory of an earlier generation at that address was unmapped, so its
 * registration is forgotten.
 */
static struct cuda_registration *find(struct cuda *c, const struct cuda_registration *want)
{
	struct cuda_registration *g, *next;

	list_for_each_safe(g, next, &registered, link) {
		if (same(g, want))
			return g;
		if (g->slots && want->slots && g->generation != want->generation && g->base < want->base + want->size &&
		    want->base < g->base + g->size)
			forget(c, g);
	}
	return NULL;
}

static int add(struct cuda *c, const struct cuda_registration *want, struct cuda_registration **ret)
{
	struct cuda_registration *g = mem_dup(want, sizeof(*want));
	int result;

	if (!g)
		return err_nomem();
	result = c->cu.MemHostRegister((void *)g->base, g->size, CUDA_HOST_PORTABLE);
	/*
	 * only a region: it stays until the read-back is destroyed, whereas a segment's owner may unlock it at any time
	 */
	g->theirs = result == CUDA_HOST_MEMORY_ALREADY_REGISTERED && !g->slots;
	if (result != CUDA_OK && !g->theirs) {
		mem_free(g);
		return cuda_failed(&c->cu, "the driver does not page-lock this memory", result);
	}
	g->refs = 1;
	list_append(&registered, &g->link);
	*ret = g;
	return 0;
}

static int register_memory(struct cuda *c, const struct cuda_registration *want, struct cuda_registration **ret)
{
	struct cuda_registration *g;
	int r = 0;

	pthread_mutex_lock(&lock);
	g = find(c, want);
	if (g)
		g->refs++;
	else
		r = add(c, want, &g);
	pthread_mutex_unlock(&lock);
	if (r < 0)
		return r;
	c->d.imports++;
	*ret = g;
	return 0;
}

/* Rounds inwards to pages. */
static int register_segment(struct cuda *c, const struct segment *s, const struct device_request *q,
			    struct cuda_registration **ret)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t base = (s->base + page - 1) / page * page, end = (s->base + s->size) / page * page;
	struct cuda_registration want = { .base = base,
					  .slots = q->in_slot,
					  .generation = q->in_slot ? q->generation : 0 };

	if (end <= base)
		return err_set(-EOPNOTSUPP, "cuda: there is no whole page in the memory");
	want.size = end - base;
	return register_memory(c, &want, ret);
}

static int register_again(struct cuda *c, const struct device_request *q)
{
	struct segment s = c->region;
	int r = 0;

	cuda_unregister(c, c->registration); /* pending requests have references of their own */
	c->registration = NULL;
	c->tried = true;
	c->generation = q->generation;
	if (q->in_slot)
		r = segment_find(q->to, &s);
	else if (!s.size)
		r = err_set(-ENOENT, "the target is not in options.memory");
	if (r == 0)
		r = register_segment(c, &s, q, &c->registration);
	if (r < 0)
		snprintf(c->why_not, sizeof(c->why_not), "%s", err_why());
	return r == -ENODEV ? r : 0;
}

static bool lies_in(const struct cuda_registration *g, const struct device_request *q)
{
	uintptr_t to = (uintptr_t)q->to;

	return to >= g->base && to - g->base <= g->size && q->to_size <= g->size - (to - g->base);
}

static const char *why_staging(const struct cuda *c, const struct device_request *q)
{
	if (q->convert)
		return "which changes the format or the order of rows";
	if (!c->registration)
		return c->why_not;
	if (!lies_in(c->registration, q))
		return "the target is not in the page-locked memory";
	return NULL;
}

/* ---- staging ---- */

static int staging(struct cuda *c, struct cuda_place *p, size_t size)
{
	int result;

	if (p->staging_size >= size)
		return 0;
	if (p->staging)
		(void)c->cu.MemFreeHost(p->staging);
	p->staging = NULL;
	p->staging_size = 0;
	result = c->cu.MemHostAlloc(&p->staging, size, CUDA_HOST_PORTABLE);
	if (result != CUDA_OK) {
		p->staging = NULL;
		return cuda_failed(&c->cu, "no page-locked memory for an image", result);
	}
	p->staging_size = size;
	return 0;
}

int cuda_target(struct cuda *c, struct device_request *q, void **ret, size_t *ret_pitch)
{
	struct cuda_place *p = q->own;
	const char *why;
	int r = 0;

	if (!q->convert && (!c->tried || (q->in_slot && c->generation != q->generation)))
		r = register_again(c, q);
	if (r < 0)
		return r;
	why = why_staging(c, q);
	q->direct = !why;
	if (q->direct) {
		pthread_mutex_lock(&lock);
		c->registration->refs++;
		pthread_mutex_unlock(&lock);
		p->registration = c->registration;
		snprintf(c->d.how, sizeof(c->d.how),
			 "cuda: the device writes the target itself, in %zu page-locked bytes", c->registration->size);
		*ret = q->to;
		*ret_pitch = q->to_pitch;
		return 0;
	}
	snprintf(c->d.how, sizeof(c->d.how), "cuda: page-locked memory of the library's, and one copy: %s", why);
	r = staging(c, p, q->width * q->pixel * q->height);
	if (r < 0)
		return r;
	q->from = p->staging;
	q->from_pitch = q->width * q->pixel;
	*ret = p->staging;
	*ret_pitch = q->from_pitch;
	return 0;
}
