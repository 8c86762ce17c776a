/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock page: one page of shared memory in which simd publishes the state of simulated time, and the inline reader
 * of it. Readers compute the time themselves: no lock, no system call beyond CLOCK_MONOTONIC, never torn, never
 * backwards within one clock_generation.
 *
 *   simulated time now = sim_ns + (monotonic now - mono_ns) * rate_e6 / 1e6      (rate_e6 > 0)
 *                      = sim_ns                                                  (driven or held)
 *
 * Writer (simd only): seq odd, release fence, wait at least 1 us, and only then read the clock; payload; seq even. A
 * writer that reads the clock before it marks seq odd makes readers go backwards. Readers read CLOCK_MONOTONIC between
 * the two loads of seq.
 *
 * The page's history follows it in memory: each state that the page has had is one piece of time, from its mono_ns to
 * the next one's. So a message that is looked at late gets the simulated time at which it was published
 * (sim_clock_at()).
 *
 * This layout is shared-memory ABI: pinned in tests/abi, changed only with SIM_CLOCK_PAGE_ABI.
 */
#ifndef SIM_CLOCK_PAGE_H
#define SIM_CLOCK_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <sim/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_CLOCK_PAGE_MAGIC 0x4b4c4353u /* "SCLK" */
#define SIM_CLOCK_PAGE_ABI   2u
#define SIM_CLOCK_PAGE_SIZE  4096u
#define SIM_CLOCK_TRIES      2000    /* bounded spins of a reader; a write takes a few us */
#define SIM_RATE_ONE         1000000 /* rate_e6 of real time */

enum sim_clock_flag {
	SIM_CLOCK_PAUSED = 1u << 0,      /* time stands still on request; dispatch refuses messages */
	SIM_CLOCK_STEPPING = 1u << 1,    /* inside a step: time stands or jumps by the step, messages are accepted */
	SIM_CLOCK_FREEWHEEL = 1u << 2,   /* as fast as possible: rate is unrelated to wall time */
	SIM_CLOCK_DRIVEN = 1u << 3,      /* time advances only when a driver advances it: rate_e6 is 0 */
	SIM_CLOCK_DRIVER_LOST = 1u << 4, /* with NO_DRIVER: the last driver did not release its lease */
	SIM_CLOCK_STALE = 1u << 5,       /* disconnected from simd: set by the reader's library, never by the writer */
	SIM_CLOCK_STARTED = 1u << 6,     /* the source has produced a time at least once */
	/* steps wait for participants (sim/step.h): messages go out at the end of each step */
	SIM_CLOCK_LOCKSTEP = 1u << 7,
	SIM_CLOCK_NO_DRIVER = 1u << 8, /* a driven source without a driver, not yet or no more: the clock is stopped */
};

/* Payload words are read and written as relaxed atomics of their own width (see sim_clock_read). */
struct sim_clock_page {
	uint32_t seq;              /* odd while simd writes */
	uint32_t abi;              /* SIM_CLOCK_PAGE_ABI */
	uint32_t magic;            /* SIM_CLOCK_PAGE_MAGIC */
	uint32_t flags;            /* enum sim_clock_flag */
	int64_t sim_ns;            /* simulated time at mono_ns */
	int64_t mono_ns;           /* CLOCK_MONOTONIC, always in the past */
	int64_t rate_e6;           /* millionths of a simulated ns per host ns while running; 0: held or driven */
	uint32_t clock_generation; /* changes at every jump */
	uint32_t source;           /* enum sim_time_source */
	int64_t scale_e6;          /* the requested scale, millionths; kept while paused or driven */
	uint32_t step;             /* counts completed steps (lock-step) */
	uint32_t futex;            /* incremented and woken after each write: sim_sleep_until() waits on it */
	uint64_t simd_id;          /* random per run of simd: differs between a restarted daemon and the old one */
	int64_t jump_old_sim_ns;   /* the last jump: time before it ... */
	int64_t jump_new_sim_ns;   /* ... and after it */
	int64_t pause_mono_ns;     /* CLOCK_MONOTONIC at the last pause: messages published by then are dispatched */
};

/* A state that the page had, from mono_ns until the next piece begins. */
struct sim_clock_piece {
	int64_t mono_ns;
	int64_t sim_ns; /* at mono_ns */
	int64_t rate_e6;
	uint32_t clock_generation;
	uint32_t flags; /* enum sim_clock_flag */
};

/*
 * Driven time has a piece for each advance: these last 327 s at 100 Hz, 32 s at 1 kHz. Wall-driven time has one for
 * each change.
 */
#define SIM_CLOCK_PIECES 32768u
/* the newest pieces, which readers may use: older ones may be overwritten while they are read */
#define SIM_CLOCK_PIECES_KEPT (SIM_CLOCK_PIECES - 64)

/* Begins SIM_CLOCK_PAGE_SIZE bytes after the page. Writer: a piece is complete before `written` counts it. */
struct sim_clock_history {
	/* pieces so far: number i is piece[i % SIM_CLOCK_PIECES]; the last one is the present state */
	uint64_t written;
	uint64_t reserved[7];
	struct sim_clock_piece piece[SIM_CLOCK_PIECES];
};

struct sim_clock_sample {
	int64_t sim_ns;  /* simulated time, ns */
	int64_t mono_ns; /* CLOCK_MONOTONIC at sim_ns */
	int64_t rate_e6;
	uint32_t clock_generation;
	uint32_t flags; /* enum sim_clock_flag */
};

__extension__ typedef __int128 sim_int128_;

#define SIM_LOAD_(p, order) __atomic_load_n((p), (order))

/* CLOCK_MONOTONIC, ns, from the library: for dialects and languages that have no clock_gettime(). Thread: any. */
SIM_API int64_t sim_mono_now(void);

static inline int64_t sim_mono_now_(void)
{
#ifdef CLOCK_MONOTONIC
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
#else /* -std=c11 without _POSIX_C_SOURCE: <time.h> does not declare it */
	return sim_mono_now();
#endif
}

/* a * b / 1e6 for a >= 0 and 0 < b <= 1e8, without overflow for spans below 2^62 ns. */
static inline int64_t sim_scale_dur_(int64_t dur_ns, int64_t rate_e6)
{
	return rate_e6 == SIM_RATE_ONE ? dur_ns : (int64_t)((sim_int128_)dur_ns * rate_e6 / SIM_RATE_ONE);
}

/*
 * Reads one consistent sample. Returns 0, or -1 if no stable copy was seen within SIM_CLOCK_TRIES (the writer died
 * inside a write): the caller then uses its last value and flags it SIM_CLOCK_STALE.
 * Thread: any; no lock, no allocation; one clock_gettime when the source is wall-driven, none otherwise.
 */
static inline int sim_clock_read(const struct sim_clock_page *p, struct sim_clock_sample *ret)
{
	for (int tries = 0; tries < SIM_CLOCK_TRIES; tries++) {
		uint32_t a = SIM_LOAD_(&p->seq, __ATOMIC_ACQUIRE);
		struct sim_clock_sample s;

		if (a & 1)
			continue;
		s.sim_ns = SIM_LOAD_(&p->sim_ns, __ATOMIC_RELAXED);
		s.mono_ns = SIM_LOAD_(&p->mono_ns, __ATOMIC_RELAXED);
		s.rate_e6 = SIM_LOAD_(&p->rate_e6, __ATOMIC_RELAXED);
		s.clock_generation = SIM_LOAD_(&p->clock_generation, __ATOMIC_RELAXED);
		s.flags = SIM_LOAD_(&p->flags, __ATOMIC_RELAXED);
		if (s.rate_e6 > 0) {
			int64_t now = sim_mono_now_();

			if (now > s.mono_ns) {
				s.sim_ns += sim_scale_dur_(now - s.mono_ns, s.rate_e6);
				s.mono_ns = now;
			}
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (SIM_LOAD_(&p->seq, __ATOMIC_RELAXED) == a) {
			*ret = s;
			return 0;
		}
	}
	return -1;
}

static inline struct sim_clock_piece sim_clock_piece_(const struct sim_clock_history *h, uint64_t i)
{
	const struct sim_clock_piece *p = &h->piece[i % SIM_CLOCK_PIECES];
	struct sim_clock_piece k;

	k.mono_ns = SIM_LOAD_(&p->mono_ns, __ATOMIC_RELAXED);
	k.sim_ns = SIM_LOAD_(&p->sim_ns, __ATOMIC_RELAXED);
	k.rate_e6 = SIM_LOAD_(&p->rate_e6, __ATOMIC_RELAXED);
	k.clock_generation = SIM_LOAD_(&p->clock_generation, __ATOMIC_RELAXED);
	k.flags = SIM_LOAD_(&p->flags, __ATOMIC_RELAXED);
	return k;
}

/* The last of the pieces first .. last that begins no later than mono_ns; `first` if none does. */
static inline uint64_t sim_clock_find_(const struct sim_clock_history *h, uint64_t first, uint64_t last,
				       int64_t mono_ns)
{
	while (first < last) {
		uint64_t mid = last - (last - first) / 2;

		if (SIM_LOAD_(&h->piece[mid % SIM_CLOCK_PIECES].mono_ns, __ATOMIC_RELAXED) <= mono_ns)
			first = mid;
		else
			last = mid - 1;
	}
	return first;
}

/*
 * The clock as it was at mono_ns: exactly what sim_clock_read() returned then; after the last piece begins, that piece
 * continued. Returns 0; 1: mono_ns is before the oldest piece kept, *ret is the beginning of that piece; -1: there is
 * no piece, or no stable copy was seen within SIM_CLOCK_TRIES. Thread: any; no lock, no system call.
 */
static inline int sim_clock_read_at(const struct sim_clock_history *h, int64_t mono_ns, struct sim_clock_sample *ret)
{
	for (int tries = 0; tries < SIM_CLOCK_TRIES; tries++) {
		uint64_t n = SIM_LOAD_(&h->written, __ATOMIC_ACQUIRE);
		uint64_t first = n > SIM_CLOCK_PIECES_KEPT ? n - SIM_CLOCK_PIECES_KEPT : 0;
		struct sim_clock_piece p;

		if (!n)
			return -1;
		p = sim_clock_piece_(h, sim_clock_find_(h, first, n - 1, mono_ns));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (SIM_LOAD_(&h->written, __ATOMIC_RELAXED) >= first + SIM_CLOCK_PIECES)
			continue; /* the writer was faster */
		ret->sim_ns = p.sim_ns;
		ret->mono_ns = mono_ns > p.mono_ns ? mono_ns : p.mono_ns;
		ret->rate_e6 = p.rate_e6;
		ret->clock_generation = p.clock_generation;
		ret->flags = p.flags;
		if (p.rate_e6 > 0)
			ret->sim_ns += sim_scale_dur_(ret->mono_ns - p.mono_ns, p.rate_e6);
		return mono_ns < p.mono_ns;
	}
	return -1;
}

/*
 * Simulated time alone, the cheapest way. Of a driven or held clock (rate 0) it is one word, which needs no sequence
 * lock: the writer stores sim_ns before it stores rate_e6 with release, so a reader that sees rate 0 sees a time that
 * was valid then. Running wall-driven time is read as in sim_clock_read(), without the other members. Returns ret_else
 * if the writer died inside a write.
 */
static inline int64_t sim_clock_now(const struct sim_clock_page *p, int64_t ret_else)
{
	for (int tries = 0; tries < SIM_CLOCK_TRIES; tries++) {
		int64_t rate_e6 = SIM_LOAD_(&p->rate_e6, __ATOMIC_ACQUIRE), sim_ns, mono_ns, now;
		uint32_t a;

		if (__builtin_expect(rate_e6 == 0, 1)) /* the other path spends 20 ns on reading the clock anyway */
			return SIM_LOAD_(&p->sim_ns, __ATOMIC_ACQUIRE);
		a = SIM_LOAD_(&p->seq, __ATOMIC_ACQUIRE);
		rate_e6 = SIM_LOAD_(&p->rate_e6, __ATOMIC_RELAXED); /* the one that belongs to seq == a */
		sim_ns = SIM_LOAD_(&p->sim_ns, __ATOMIC_RELAXED);
		mono_ns = SIM_LOAD_(&p->mono_ns, __ATOMIC_RELAXED);
		now = sim_mono_now_();
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if ((a & 1) || SIM_LOAD_(&p->seq, __ATOMIC_RELAXED) != a)
			continue;
		return now > mono_ns ? sim_ns + sim_scale_dur_(now - mono_ns, rate_e6) : sim_ns;
	}
	return ret_else;
}

#ifdef __cplusplus
}
#endif
#endif
