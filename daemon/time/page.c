/* SPDX-License-Identifier: Apache-2.0 */
/* The clock page, see page.h. Thread: the engine's. */
#include "page.h"

#include "engine.h"

#include "fd.h"
#include "futex.h"
#include "seqlock.h"
#include "timeutil.h"

#include <sys/random.h>

#define READER_GRACE_DUR_NS 1000
#define SEQ_FIRST_MAX       0x3ffffffeu /* even, and below those of clients (libclient/src/clock.c) */

_Static_assert(sizeof(struct sim_clock_page) <= SIM_CLOCK_PAGE_SIZE, "the clock page is one page");

#define SIZE (SIM_CLOCK_PAGE_SIZE + sizeof(struct sim_clock_history))

int time_page_create(struct sim_clock_page **ret_page, struct sim_clock_history **ret_history, int *ret_fd)
{
	void *map;
	int r = fd_shared_create("simd-clock", SIZE, FD_SHARE_RO, &map, ret_fd);

	if (r < 0)
		return r;
	*ret_page = map;
	*ret_history = (void *)((char *)map + SIM_CLOCK_PAGE_SIZE);
	/* different from other runs: readers of an old page may end up in this one */
	if (getrandom(&(*ret_page)->seq, sizeof((*ret_page)->seq), GRND_NONBLOCK) < 0)
		(*ret_page)->seq = (uint32_t)mono_now_ns();
	(*ret_page)->seq &= SEQ_FIRST_MAX;
	return 0;
}

void time_page_destroy(struct sim_clock_page *page)
{
	fd_shared_unmap(page, SIZE);
}

int64_t page_write_begin(struct sim_clock_page *p, struct exec *x, bool readers_extrapolate)
{
	seqlock_write_begin(&p->seq);
	/* drains the store buffer; otherwise the odd sequence may become visible only after the clock was read */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (readers_extrapolate)
		exec_spin(x, READER_GRACE_DUR_NS);
	return exec_now(x);
}

static bool says_the_same(const struct sim_clock_piece *a, const struct sim_clock_piece *b)
{
	return !a->rate_e6 && !b->rate_e6 && a->sim_ns == b->sim_ns && a->clock_generation == b->clock_generation &&
	       a->flags == b->flags;
}

void page_note_piece(struct sim_clock_history *h, const struct sim_clock_piece *p)
{
	uint64_t n = h->written;
	struct sim_clock_piece *at = &h->piece[n % SIM_CLOCK_PIECES];

	if (n && says_the_same(&h->piece[(n - 1) % SIM_CLOCK_PIECES], p))
		return;
	/* a reader that sees a word of this piece also sees the new `written`, and does not use the old piece */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	page_store(&at->mono_ns, p->mono_ns);
	page_store(&at->sim_ns, p->sim_ns);
	page_store(&at->rate_e6, p->rate_e6);
	page_store(&at->clock_generation, p->clock_generation);
	page_store(&at->flags, p->flags);
	__atomic_store_n(&h->written, n + 1, __ATOMIC_RELEASE);
}

void page_write_end(struct sim_clock_page *p)
{
	seqlock_write_end(&p->seq);
	/* sleepers compare the word, so it changes before the wake */
	__atomic_fetch_add(&p->futex, 1, __ATOMIC_RELEASE);
}

void page_wake(struct sim_clock_page *p)
{
	futex_wake_all(&p->futex, FUTEX_BETWEEN_PROCESSES);
}

int page_sample_at(const struct sim_clock_page *p, int64_t now_mono_ns, struct sim_clock_sample *ret)
{
	uint32_t seq;
	struct sim_clock_sample s;

	if (!seqlock_read_begin(&p->seq, &seq))
		return -1;
	s.sim_ns = seqlock_load(&p->sim_ns);
	s.mono_ns = seqlock_load(&p->mono_ns);
	s.rate_e6 = seqlock_load(&p->rate_e6);
	s.clock_generation = seqlock_load(&p->clock_generation);
	s.flags = seqlock_load(&p->flags);
	if (s.rate_e6 > 0 && now_mono_ns > s.mono_ns) {
		s.sim_ns += sim_scale_dur_(now_mono_ns - s.mono_ns, s.rate_e6);
		s.mono_ns = now_mono_ns;
	}
	if (!seqlock_read_ok(&p->seq, seq))
		return -1;
	*ret = s;
	return 0;
}
