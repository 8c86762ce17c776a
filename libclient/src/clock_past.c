/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock in the past, for messages that are taken late: the histories of the present simd's page and of the one
 * before it, mapped when the client connects, so that they outlive their simd. Thread: clock_past_* under
 * client::setup; sim_clock_at() any.
 */
#include <sim/clock.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "clockmap.h"
#include "err.h"
#include "session.h"

#define SIZE sizeof(struct sim_clock_history)

static void unmap(const struct sim_clock_history *h)
{
	if (h)
		munmap((void *)(uintptr_t)h, SIZE);
}

/* Not populated: a program that never looks back uses no memory for it. */
int clock_past_install(struct sim_client *c, const struct session *s)
{
	const struct sim_clock_history *old;
	struct stat st;
	void *map;

	/* it cannot shrink: session.c has checked that */
	if (fstat(s->clock_fd, &st) < 0 || st.st_size < (off_t)(SIM_CLOCK_PAGE_SIZE + SIZE))
		return err_set(-EPROTO, "simd's clock page has no history behind it; install matching versions");
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, s->clock_fd, SIM_CLOCK_PAGE_SIZE);
	if (map == MAP_FAILED)
		return err_sys(-errno, "history of the clock");
	pthread_mutex_lock(&c->past_lock);
	old = c->past_before;
	c->past_before = c->past;
	c->past = map;
	pthread_mutex_unlock(&c->past_lock);
	unmap(old);
	return 0;
}

void clock_past_finish(struct sim_client *c)
{
	unmap(c->past);
	unmap(c->past_before);
	c->past = c->past_before = NULL;
}

/* Under past_lock. */
static int look_back(const struct sim_client *c, int64_t mono_ns, struct sim_clock_sample *ret)
{
	struct sim_clock_sample before;
	int r = c->past ? sim_clock_read_at(c->past, mono_ns, ret) : -1, b;

	if (r != 1 || !c->past_before)
		return r;
	b = sim_clock_read_at(c->past_before, mono_ns, &before);
	if (b < 0)
		return r;
	*ret = before;
	return b;
}

int sim_clock_at(const struct sim_client *c, int64_t mono_ns, struct sim_clock_sample *ret)
{
	struct sim_client *w = (struct sim_client *)(uintptr_t)c; /* written only for its lock */
	int64_t now;
	int r;

	if (!c || !ret)
		return err_set(-EINVAL, "sim_clock_at: no client, or no place for the answer");
	now = client_now(c);
	pthread_mutex_lock(&w->past_lock);
	r = look_back(c, mono_ns < now ? mono_ns : now, ret);
	pthread_mutex_unlock(&w->past_lock);
	return r < 0 ? err_set(-ENOTCONN, "sim_clock_at: there is no clock yet: no simd was connected") : r;
}
