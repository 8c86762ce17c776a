/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How tests wait: for an event (a descriptor, a thread, a bell) or, where nobody tells of one, until a condition holds.
 * Nothing else in tests/ sleeps; tools/dev/check-text looks. Thread: any, also in children and benches; C and C++.
 */
#ifndef TEST_SUPPORT_WAIT_H
#define TEST_SUPPORT_WAIT_H

#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline void wait_look_again(void)
{
	usleep(2000);
}

/* Logs children that have ended and were not reaped: often they are why an event does not come. */
static inline void wait_say_ended(const char *file, int line)
{
	siginfo_t si;

	si.si_pid = 0; /* not in an initialiser: this is C++ as well */
	if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid)
		dprintf(2, "still waiting at %s:%d: and child %d has ended, by %s %d\n", file, line, (int)si.si_pid,
			si.si_code == CLD_EXITED ? "exit code" : "signal", si.si_status);
}

/*
 * After ten seconds of waiting, a line in the test's log names the condition: if it never holds, the runner shows that
 * line.
 */
#define WAIT_SAYS 5000
static inline void wait_looked(unsigned looks, const char *file, int line, const char *cond)
{
	if (looks == WAIT_SAYS) {
		dprintf(2, "still waiting at %s:%d: %.400s\n", file, line, cond);
		wait_say_ended(file, line);
	}
	wait_look_again();
}

/*
 * Checks cond again and again until it holds. Only the runner's limit bounds it, so a slow machine only takes longer.
 */
#define AWAIT(cond) \
	do { \
		for (unsigned looks_ = 0; !(cond); looks_++) \
			wait_looked(looks_, __FILE__, __LINE__, #cond); \
	} while (0)

/* For time-outs that decide a test's result: longer than any runner's limit. */
#define PATIENT_MS 3600000

static inline int64_t wait_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether cond holds within ms: for benches, and for steps that a test retries. No test's result may depend on it. */
#define HOLDS_WITHIN(ms, cond) \
	({ \
		int64_t end_ms_ = wait_now_ms() + (ms); \
		bool holds_; \
		while (!(holds_ = (cond)) && wait_now_ms() < end_ms_) \
			wait_look_again(); \
		holds_; \
	})

/*
 * A bell, in one process or in memory shared by several: code that changes a condition rings it, and AWAIT_BELL()
 * sleeps between two rings. Zero at first.
 */
static inline void bell_ring(uint32_t *bell)
{
	__atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static inline void bell_wait(uint32_t *bell, uint32_t seen)
{
	syscall(SYS_futex, bell, FUTEX_WAIT, seen, NULL, NULL, 0);
}

#define AWAIT_BELL(bell, cond) \
	for (uint32_t seen_; seen_ = __atomic_load_n(bell, __ATOMIC_SEQ_CST), !(cond);) \
	bell_wait(bell, seen_)

/*
 * Stimuli, not waits: the rhythm at which a test repeats something, or the moment at which it strikes. The test's
 * result is the same whatever happens meanwhile.
 */
static inline void pace_us(unsigned dur_us)
{
	usleep(dur_us);
}

static inline void moment_us(unsigned dur_us)
{
	usleep(dur_us);
}

#endif
