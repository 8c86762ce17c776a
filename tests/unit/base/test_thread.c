/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h, futex.h: the attributes of a started thread, its effect on the program, and waiting. Thread: those it
 * starts.
 */
#include "tests/support/test.h"

#include "futex.h"
#include "thread.h"
#include "timeutil.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static void *note_mask(void *arg)
{
	pthread_sigmask(SIG_SETMASK, NULL, arg);
	return NULL;
}

static bool same_mask(const sigset_t *a, const sigset_t *b)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(a, sig) != sigismember(b, sig))
			return false;
	return true;
}

static bool brought_on_oneself(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP || sig == SIGSYS ||
	       sig == SIGABRT;
}

TEST(a_thread_blocks_every_signal_sent_by_others)
{
	sigset_t before, after, theirs;
	pthread_t t;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(thread_start(&t, "short", note_mask, &theirs), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_true(same_mask(&before, &after));
	pthread_join(t, NULL);
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			assert_int_equal(sigismember(&theirs, sig), !brought_on_oneself(sig));
}

static void on_crash(int sig)
{
	_exit(sig == SIGSEGV ? 42 : 43);
}

__attribute__((noinline)) static unsigned deeper(unsigned n)
{
	volatile char room[4096];

	room[n % sizeof(room)] = (char)n;
	return (n == UINT32_MAX ? 0 : deeper(n + 1)) + (unsigned)room[n % sizeof(room)];
}

static void *overflow(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)deeper(0);
}

/* A handler that asks for a stack of its own gets one in each thread. */
TEST(a_stack_overflow_of_a_thread_reaches_the_handler)
{
	static char stack[65536];
	stack_t main_stack = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t t;

		sigaltstack(&main_stack, NULL);
		sigaction(SIGSEGV, &sa, NULL);
		if (thread_start(&t, "deep", overflow, NULL) == 0)
			pthread_join(t, NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
}

static void *wait_on(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

TEST(thread_has_its_name)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	char name[16];
	pthread_t t;

	pthread_mutex_lock(&gate);
	assert_int_equal(thread_start(&t, "a-name-longer-than-15", wait_on, &gate), 0);
	assert_int_equal(pthread_getname_np(t, name, sizeof(name)), 0);
	assert_string_equal(name, "a-name-longer-t");
	pthread_mutex_unlock(&gate);
	pthread_join(t, NULL);
}

/* By the clock of the day, a time since the start of the machine has long passed. */
TEST(condition_waits_by_the_monotonic_clock)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int64_t until_mono_ns = mono_now_ns() + 5 * NS_PER_MS;
	struct timespec ts = timespec_from_ns(until_mono_ns);
	pthread_cond_t cond;

	thread_cond_init(&cond);
	pthread_mutex_lock(&lock);
	while (pthread_cond_timedwait(&cond, &lock, &ts) != ETIMEDOUT)
		continue;
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&cond);
	assert_true(mono_now_ns() >= until_mono_ns);
}

static _Atomic uint32_t word;

static void *wait_for_word(void *arg)
{
	while (!atomic_load(&word))
		futex_wait(&word, 0, INT64_MAX, FUTEX_PRIVATE_FLAG);
	return arg;
}

TEST(a_futex_wakes_its_sleepers)
{
	int64_t until_mono_ns;
	pthread_t t;

	futex_wait(&word, 1, INT64_MAX, FUTEX_PRIVATE_FLAG); /* it is something else: no sleep */
	assert_int_equal(thread_start(&t, "sleeper", wait_for_word, NULL), 0);
	atomic_store(&word, 1);
	futex_wake_all(&word, FUTEX_PRIVATE_FLAG);
	pthread_join(t, NULL);
	until_mono_ns = mono_now_ns() + 5 * NS_PER_MS;
	while (mono_now_ns() < until_mono_ns)
		futex_wait_until(&word, 1, until_mono_ns, FUTEX_BETWEEN_PROCESSES);
	futex_wait(&word, 1, NS_PER_MS, FUTEX_BETWEEN_PROCESSES); /* without a waker */
}
