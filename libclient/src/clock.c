/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated time for clients: the page and its replacement when simd goes away, the exported readers, sleeping. Thread:
 * readers any; clockmap_* under client::setup.
 */
#include <sim/clock.h>

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clockmap.h"
#include "err.h"
#include "futex.h"
#include "seqlock.h"
#include "session.h"
#include "timeutil.h"

/*
 * simd's own values are lower: a reader that a replacement of the page interrupts sees the difference; two frozen pages
 * differ too.
 */
#define FROZEN_SEQ 0x80000000u
#define PATIENCE   400
/* inline readers of the page may be ahead of readers that go through the client */
#define INLINE_DUR_NS          NS_PER_MS
#define NO_THREAD_SLICE_DUR_NS (50 * NS_PER_MS)
#define SLEEP_MAX_DUR_NS       (3600 * NS_PER_S)

/* ---- the page ---- */

/*
 * MAP_FIXED replaces the mapping in one step: a reader finds the old page or the new one. A plain system call, as
 * ThreadSanitizer takes mmap() for a write to the page.
 */
static void *map_for_readers(void *at, int fd)
{
	return (void *)syscall(SYS_mmap, at, SIM_CLOCK_PAGE_SIZE, PROT_READ,
			       MAP_SHARED | MAP_POPULATE | (at ? MAP_FIXED : 0), fd, 0L);
}

static _Atomic uint32_t frozen; /* pages so far */

/* Creates a private page with an odd seq, mapped at `at` (NULL: anywhere) for readers; *ret_w is its writable side. */
static int frozen_begin(void *at, struct sim_clock_page **ret_w, void **ret_page)
{
	int r, fd = memfd_create("sim-clock-frozen", MFD_CLOEXEC);
	struct sim_clock_page *w = NULL;
	void *page = NULL;

	if (fd < 0)
		return err_sys(-errno, "clock page");
	if (ftruncate(fd, SIM_CLOCK_PAGE_SIZE) < 0)
		goto err;
	w = mmap(NULL, SIM_CLOCK_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (w == MAP_FAILED)
		goto err;
	w->seq = FROZEN_SEQ | (4 * atomic_fetch_add(&frozen, 1) + 1);
	w->abi = SIM_CLOCK_PAGE_ABI;
	w->magic = SIM_CLOCK_PAGE_MAGIC;
	w->flags = SIM_CLOCK_STALE;
	page = map_for_readers(at, fd);
	if (page == MAP_FAILED) {
		munmap(w, SIM_CLOCK_PAGE_SIZE);
		goto err;
	}
	close(fd);
	*ret_w = w;
	*ret_page = page;
	return 0;
err:
	r = -errno;
	close(fd);
	return err_sys(r, "clock page");
}

static void frozen_end(struct sim_clock_page *w)
{
	__atomic_store_n(&w->seq, w->seq + 1, __ATOMIC_RELEASE);
	munmap(w, SIM_CLOCK_PAGE_SIZE);
}

int clockmap_init(struct sim_client *c)
{
	struct sim_clock_page *w = NULL;
	void *page = NULL;
	int r = frozen_begin(NULL, &w, &page);

	if (r < 0)
		return r;
	frozen_end(w);
	c->page = page;
	return 0;
}

void clockmap_finish(struct sim_client *c)
{
	if (c->page)
		munmap((void *)(uintptr_t)c->page, SIM_CLOCK_PAGE_SIZE);
	c->page = NULL;
	clock_past_finish(c);
}

int clockmap_install(struct sim_client *c, const struct session *s)
{
	if (map_for_readers((void *)(uintptr_t)c->page, s->clock_fd) == MAP_FAILED)
		return err_sys(-errno, "clock page");
	return clock_past_install(c, s);
}

/* ---- the last value ---- */

/*
 * While the writer is inside a write, the next value is unknown, except that it is at least what was read before that
 * write: the writer reads the clock after the readers have finished. So a reader may return exactly the largest value
 * that was read: each thread keeps its own, in a cache line of its own.
 */
static _Thread_local uint32_t my_slot __attribute__((tls_model("initial-exec"))); /* 0: none yet, or the shared slot */

static unsigned take_slot(void)
{
	static _Atomic uint32_t taken;
	static _Thread_local bool asked;

	if (!my_slot && !asked && atomic_load(&taken) < CLOCK_SEEN_MAX - 1) {
		uint32_t n = atomic_fetch_add(&taken, 1) + 1;

		my_slot = n < CLOCK_SEEN_MAX ? n : 0;
	}
	asked = true;
	return my_slot;
}

/* For a new generation, a thread's first time, or the slot that threads share. */
static __attribute__((cold, noinline)) void remember_slowly(struct sim_client *c, int64_t sim_ns, uint32_t generation)
{
	bool late = generation != SIM_LOAD_(&c->page->clock_generation, __ATOMIC_RELAXED);
	struct clock_seen *s = &c->seen[take_slot()];

	pthread_mutex_lock(&c->seen_lock);
	if (s->generation != generation && (!late || s != c->seen)) {
		s->sim_ns = sim_ns;
		s->generation = generation;
	} else if (s->generation == generation && sim_ns > s->sim_ns) {
		s->sim_ns = sim_ns;
	}
	if (!late)
		c->seen_generation = generation;
	pthread_mutex_unlock(&c->seen_lock);
}

/* False: remember_slowly() must be called. */
static inline __attribute__((always_inline)) bool remember(const struct sim_client *c, int64_t sim_ns,
							   uint32_t generation)
{
	unsigned slot = my_slot;
	/* written only for its memory of the last value */
	struct clock_seen *s = &((struct sim_client *)(uintptr_t)c)->seen[slot];

	if (!slot || atomic_load_explicit(&s->generation, memory_order_relaxed) != generation)
		return false;
	atomic_store_explicit(&s->sim_ns, sim_ns, memory_order_relaxed);
	return true;
}

/* The largest value that any thread has read. */
static void held(struct sim_client *c, struct sim_clock_sample *ret)
{
	int64_t sim_ns = 0;

	pthread_mutex_lock(&c->seen_lock);
	for (unsigned i = 0; i < CLOCK_SEEN_MAX; i++)
		if (c->seen[i].generation == c->seen_generation && c->seen[i].sim_ns > sim_ns)
			sim_ns = c->seen[i].sim_ns;
	*ret = (struct sim_clock_sample){ .sim_ns = sim_ns, .clock_generation = c->seen_generation };
	pthread_mutex_unlock(&c->seen_lock);
	ret->flags = seqlock_load(&c->page->flags);
}

/* The last value of a page whose writer is gone; if it died inside a write, at least what any thread has read. */
static void last_of(struct sim_client *c, const struct sim_clock_page *old, struct sim_clock_sample *ret)
{
	if (c->env) { /* one thread: no reader runs meanwhile */
		clock_sample(c, ret);
		return;
	}
	if (sim_clock_read(old, ret) == 0)
		return;
	held(c, ret);
	ret->sim_ns += INLINE_DUR_NS;
	ret->flags = seqlock_load(&old->flags);
}

int clockmap_freeze(struct sim_client *c, const struct session *s)
{
	const struct sim_clock_page *old = s->clock;
	struct sim_clock_sample last;
	struct sim_clock_page *w = NULL;
	void *page = NULL;
	int r;

	if (c->env)
		last_of(c, old, &last);
	/*
	 * As simd writes: the odd mark stops readers first, then the last value is read, so that no reader has seen a
	 * later one.
	 */
	r = frozen_begin((void *)(uintptr_t)c->page, &w, &page);
	if (r < 0)
		return r;
	if (!c->env) {
		mono_sleep_until(mono_now_ns() + NS_PER_US);
		last_of(c, old, &last);
	}
	w->flags = last.flags | SIM_CLOCK_STALE;
	w->sim_ns = last.sim_ns;
	w->mono_ns = client_now(c);
	w->clock_generation = last.clock_generation;
	w->source = seqlock_load(&old->source);
	w->scale_e6 = seqlock_load(&old->scale_e6);
	w->step = seqlock_load(&old->step);
	w->futex = seqlock_load(&old->futex) + 1;
	w->simd_id = seqlock_load(&old->simd_id);
	w->jump_old_sim_ns = seqlock_load(&old->jump_old_sim_ns);
	w->jump_new_sim_ns = seqlock_load(&old->jump_new_sim_ns);
	frozen_end(w);
	futex_wake_all(&old->futex, FUTEX_BETWEEN_PROCESSES);
	return 0;
}

/* ---- readers ---- */

/* In virtual time the single thread reads the page at its own time. */
static void sample_virtual(const struct sim_client *c, struct sim_clock_sample *ret)
{
	const struct sim_clock_page *p = c->page;
	int64_t now = client_now(c);

	*ret = (struct sim_clock_sample){ p->sim_ns, p->mono_ns, p->rate_e6, p->clock_generation, p->flags };
	if (ret->rate_e6 > 0 && now > ret->mono_ns) {
		ret->sim_ns += sim_scale_dur_(now - ret->mono_ns, ret->rate_e6);
		ret->mono_ns = now;
	}
}

/*
 * No stable copy within the inline reader's tries: the writer was preempted, or it died and the page is about to be
 * replaced. Bounded: PATIENCE x 50 us.
 */
static int read_patiently(const struct sim_clock_page *page, struct sim_clock_sample *ret)
{
	static const struct timespec nap = { 0, 50000 };

	for (int i = 0; i < PATIENCE; i++) {
		if (sim_clock_read(page, ret) == 0)
			return 0;
		if (i)
			nanosleep(&nap, NULL);
		else
			sched_yield();
	}
	return -1;
}

/* No stable copy at all: returns the last value. A write that was given up once is not waited for again. */
static __attribute__((cold, noinline)) void sample_slowly(struct sim_client *c, struct sim_clock_sample *ret)
{
	uint32_t seq = SIM_LOAD_(&c->page->seq, __ATOMIC_RELAXED);

	if (c->env) {
		sample_virtual(c, ret);
		return;
	}
	if (seq != atomic_load_explicit(&c->stuck_seq, memory_order_relaxed) && read_patiently(c->page, ret) == 0) {
		remember_slowly(c, ret->sim_ns, ret->clock_generation);
		return;
	}
	atomic_store_explicit(&c->stuck_seq, seq & 1 ? seq : 0, memory_order_relaxed);
	held(c, ret);
	ret->mono_ns = mono_now_ns();
	ret->flags |= SIM_CLOCK_STALE;
}

static inline __attribute__((always_inline)) void sample(const struct sim_client *c, struct sim_clock_sample *ret)
{
	struct sim_client *w = (struct sim_client *)(uintptr_t)c;

	if (__builtin_expect(c->env || sim_clock_read(c->page, ret) < 0, 0))
		sample_slowly(w, ret);
	else if (__builtin_expect(!remember(c, ret->sim_ns, ret->clock_generation), 0))
		remember_slowly(w, ret->sim_ns, ret->clock_generation);
}

void clock_sample(const struct sim_client *c, struct sim_clock_sample *ret)
{
	sample(c, ret);
}

const struct sim_clock_page *sim_clock_page(const struct sim_client *c)
{
	return c->page;
}

int64_t sim_mono_now(void)
{
	return mono_now_ns();
}

void sim_now_sample(const struct sim_client *c, struct sim_clock_sample *ret)
{
	sample(c, ret);
}

/* Time that only a driver moves: nothing to compute, and few registers to save. Returns false for any other clock. */
static inline bool driven_now(const struct sim_client *c, int64_t *ret)
{
	const struct sim_clock_page *p = c->page;
	uint32_t seq = SIM_LOAD_(&p->seq, __ATOMIC_ACQUIRE), generation;

	*ret = SIM_LOAD_(&p->sim_ns, __ATOMIC_RELAXED);
	generation = SIM_LOAD_(&p->clock_generation, __ATOMIC_RELAXED);
	if ((seq & 1) || SIM_LOAD_(&p->rate_e6, __ATOMIC_RELAXED) > 0)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (SIM_LOAD_(&p->seq, __ATOMIC_RELAXED) != seq)
		return false;
	return remember(c, *ret, generation);
}

static __attribute__((noinline)) int64_t now_otherwise(const struct sim_client *c)
{
	struct sim_clock_sample s;

	sample(c, &s);
	return s.sim_ns;
}

int64_t sim_now(const struct sim_client *c)
{
	int64_t now;

	return driven_now(c, &now) ? now : now_otherwise(c);
}

/* ---- sleeping ---- */

void clock_rouse(const struct sim_client *c)
{
	futex_wake_all(&c->page->futex, FUTEX_BETWEEN_PROCESSES);
}

int64_t clock_wall_dur(const struct sim_clock_sample *s, int64_t until_sim_ns)
{
	int128 d = (int128)until_sim_ns - s->sim_ns;

	if (s->rate_e6 <= 0)
		return SLEEP_MAX_DUR_NS;
	d = (d * SIM_RATE_ONE + s->rate_e6 - 1) / s->rate_e6;
	return d > SLEEP_MAX_DUR_NS ? SLEEP_MAX_DUR_NS : (int64_t)d;
}

/* The page is read-only, which is enough to wait on. */
void clock_wait(struct sim_client *c, uint32_t seen, int64_t until_mono_ns)
{
	if (c->env) {
		int64_t left = until_mono_ns - client_now(c);

		client_sleep(c, -1, 0, left < NS_PER_MS ? left : NS_PER_MS);
		return;
	}
	if (c->flags & SIM_CLIENT_NO_THREAD) { /* no other thread checks whether simd is still there */
		int64_t slice = mono_now_ns() + NO_THREAD_SLICE_DUR_NS;

		until_mono_ns = until_mono_ns < slice ? until_mono_ns : slice;
	}
	futex_wait_until(&c->page->futex, seen, until_mono_ns, FUTEX_BETWEEN_PROCESSES);
}

/* Whether the page is frozen. A value that is held while simd is inside a write is not: that write goes on. */
static bool is_frozen(const struct sim_client *c, const struct sim_clock_sample *s)
{
	return s->flags & SIM_CLOCK_STALE && SIM_LOAD_(&c->page->flags, __ATOMIC_RELAXED) & SIM_CLOCK_STALE;
}

/* Explains why time has not come so far: what the caller cannot see, and what to do. */
static int sleep_too_short(const struct sim_clock_sample *s, int64_t until_sim_ns)
{
	const char *why = "";

	if ((s->flags & SIM_CLOCK_NO_DRIVER) && (s->flags & SIM_CLOCK_STARTED))
		why = ": driver lost: start one again, or TimeSource=simulation";
	else if (s->flags & SIM_CLOCK_NO_DRIVER)
		why = ": no driver yet: start one, or TimeSource=simulation";
	else if (s->flags & SIM_CLOCK_PAUSED)
		why = ": it is paused; `simctl clock resume` lets it run";
	return err_set(-ETIMEDOUT, "sim_sleep_until: simulated time is still %lld ns away%s",
		       (long long)(until_sim_ns - s->sim_ns), why);
}

int sim_sleep_until(struct sim_client *c, int64_t until_sim_ns, int64_t wall_timeout_dur_ns)
{
	struct sim_clock_sample s;
	uint32_t seen, generation;
	int64_t now, until, end;
	int r = client_guard(c);

	if (r < 0)
		return r;
	end = wall_timeout_dur_ns < 0 ? INT64_MAX : ns_add(client_now(c), wall_timeout_dur_ns);
	clock_sample(c, &s);
	generation = s.clock_generation;
	for (;;) {
		/* the futex word first: a change after it makes the wait return at once */
		seen = SIM_LOAD_(&c->page->futex, __ATOMIC_ACQUIRE);
		clock_sample(c, &s);
		if (is_frozen(c, &s))
			return err_set(-ENOTCONN,
				       "sim_sleep_until: disconnected from simd, time stands still until it is back");
		if (s.clock_generation != generation)
			return err_set(-ECANCELED, "sim_sleep_until: simulated time jumped");
		if (s.sim_ns >= until_sim_ns)
			return 0;
		now = client_now(c);
		if (now >= end)
			return sleep_too_short(&s, until_sim_ns);
		until = ns_add(now, clock_wall_dur(&s, until_sim_ns));
		clock_wait(c, seen, until < end ? until : end);
		if (c->flags & SIM_CLIENT_NO_THREAD)
			client_work(c);
	}
}
