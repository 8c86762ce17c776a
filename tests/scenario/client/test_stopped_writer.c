/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd's time engine, in a process of its own, is stopped after each instruction that changes the clock page, and read there: a
 * reader holds its last value, flagged, and never goes back when the writer goes on.
 */
#include "tests/support/test.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/clock.h>

#include "daemon/time/engine.h"
#include "exec.h"
#include "libclient/src/client.h"
#include "timeutil.h"

/* ---- the writer ---- */

static void op(struct time_engine *e, int i)
{
	const struct sim_source_ops *s = NULL;
	int r = -1;

	switch (i) {
	case 0:
	case 1:
	case 2:
		r = time_engine_set_scale(e, (const int64_t[]){ 2000000, TIME_SCALE_MAX_E6, TIME_SCALE_MIN_E6 }[i]);
		break;
	case 3:
	case 6:
		r = time_engine_pause(e);
		break;
	case 4:
		r = time_engine_step(e, 3 * NS_PER_MS, NULL, NULL);
		break;
	case 5:
		r = time_engine_resume(e);
		break;
	default: /* jumps: to a driven source, and back */
		time_source_by_name(i % 2 ? "unity" : "system", &s);
		r = time_engine_set_source(e, s, false);
	}
	if (r < 0)
		_exit(3);
}

#define OPS 9

/* Stops itself before each write, for the parent to step through it. */
static _Noreturn void writer(struct sim_clock_page *page)
{
	struct time_engine_options o = { .page = page };
	struct time_engine *e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(4);
	if (time_source_by_name("simulation", &o.source) < 0 || exec_threads_create(&o.exec) < 0 ||
	    time_engine_create(&o, &e) < 0)
		_exit(2);
	for (int i = 0; i < OPS; i++) {
		raise(SIGSTOP);
		op(e, i);
	}
	raise(SIGSTOP);
	_exit(0);
}

/* ---- readers ---- */

static struct {
	struct sim_client c;
	struct sim_clock_sample last; /* the last one read through the client */
	int64_t last_inline;          /* the last one read through the page alone */
	uint32_t generation;          /* generation of last_inline */
	unsigned held, read;
} rd;

static void read_once(void)
{
	bool writing = rd.c.page->seq & 1;
	struct sim_clock_sample s;

	sim_now_sample(&rd.c, &s);
	if (s.clock_generation == rd.last.clock_generation)
		assert_true(s.sim_ns >= rd.last.sim_ns);
	assert_int_equal(!!(s.flags & SIM_CLOCK_STALE), writing);
	if (writing) { /* a time that was read before, so none that is later than what the page will say */
		assert_int_equal(s.sim_ns, rd.last.sim_ns);
		assert_int_equal(s.clock_generation, rd.last.clock_generation);
		assert_int_equal(s.rate_e6, 0);
		assert_int_equal(sim_now(&rd.c), s.sim_ns);
		rd.held++;
	}
	rd.read++;
	rd.last = s;
}

static void read_inline(void)
{
	uint32_t generation = rd.c.page->clock_generation;
	int64_t now = sim_clock_now(rd.c.page, rd.last_inline);

	if (generation == rd.generation && !(rd.c.page->seq & 1))
		assert_true(now >= rd.last_inline);
	rd.last_inline = now;
	rd.generation = generation;
}

static void *other_thread(void *arg)
{
	(void)arg;
	read_once();
	return NULL;
}

/*
 * Reads the time in this thread, and in a new one that has not read yet; from the 32nd on threads share their memory.
 */
static void look(void)
{
	pthread_t t;

	read_once();
	read_inline();
	assert_int_equal(pthread_create(&t, NULL, other_thread, NULL), 0);
	pthread_join(t, NULL);
	read_once();
}

/* ---- stepping ---- */

static int wait_stop(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
		skip(); /* ptrace() is not permitted */
	if (!WIFSTOPPED(status))
		fail_msg("the writer ended: %#x", status);
	return WSTOPSIG(status);
}

/* Runs the writer to its next stop, and reads after each change of the page. Returns the number of changes. */
static unsigned step_through(pid_t pid)
{
	struct sim_clock_page before = *rd.c.page;
	unsigned n = 0;
	int sig;

	do {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		sig = wait_stop(pid);
		if (memcmp(&before, rd.c.page, sizeof(before)) == 0)
			continue;
		memcpy(&before, rd.c.page, sizeof(before));
		look();
		n++;
	} while (sig == SIGTRAP);
	assert_int_equal(sig, SIGSTOP);
	return n;
}

TEST(a_reader_holds_its_value_wherever_the_writer_is_stopped)
{
	struct sim_clock_page *page =
		mmap(NULL, SIM_CLOCK_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	assert_true(page != MAP_FAILED);
	pid = fork();
	if (pid == 0)
		writer(page);
	rd.c.page = page;
	pthread_mutex_init(&rd.c.seen_lock, NULL);
	assert_int_equal(wait_stop(pid), SIGSTOP);
	for (int i = 0; i < OPS; i++) {
		look();
		assert_true(step_through(pid) > 4);
		look();
	}
	assert_true(rd.held > 50 && rd.read > rd.held);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pthread_mutex_destroy(&rd.c.seen_lock);
	munmap(page, SIM_CLOCK_PAGE_SIZE);
}
