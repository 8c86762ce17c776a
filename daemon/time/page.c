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

int time_page_create(struct sim_clock_page **ret_page, int *ret_fd)
{
	void *map;
	int r = fd_shared_create("simd-clock", SIM_CLOCK_PAGE_SIZE, FD_SHARE_RO, &map, ret_fd);

	if (r < 0)
		return r;
	*ret_page = map;
	/* unlike that of another run: readers of the old page may find themselves in this one */
	if (getrandom(&(*ret_page)->seq, sizeof((*ret_page)->seq), GRND_NONBLOCK) < 0)
		(*ret_page)->seq = (uint32_t)mono_now_ns();
	(*ret_page)->seq &= SEQ_FIRST_MAX;
	return 0;
}

void time_page_destroy(struct sim_clock_page *page)
{
	fd_shared_unmap(page, SIM_CLOCK_PAGE_SIZE);
}

int64_t page_write_begin(struct sim_clock_page *p, struct exec *x, bool readers_extrapolate)
{
	seqlock_write_begin(&p->seq);
	/* drains the store buffer: without it the mark may become visible only after the clock was read */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (readers_extrapolate)
		exec_spin(x, READER_GRACE_DUR_NS);
	return exec_now(x);
}

void page_write_end(struct sim_clock_page *p)
{
	seqlock_write_end(&p->seq);
	/* the sleepers compare the word, so it changes before the wake */
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
