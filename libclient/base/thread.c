/* SPDX-License-Identifier: Apache-2.0 */
/* Starting threads. See thread.h. */
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

#include "mem.h"

#define SIGNAL_STACK_SIZE ((size_t)64 * 1024)

/*
 * Signals that the thread itself raises must not be blocked: the kernel would end the process without calling any
 * handler.
 */
static void block_what_others_send(sigset_t *ret_before)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&set, own[i]);
	pthread_sigmask(SIG_SETMASK, &set, ret_before);
}

/* ---- a stack for the crash handler: without it an overflow of the thread's own stack would go unreported ---- */

struct start {
	void *(*body)(void *);
	void *arg;
};

static bool handler_wants_stack(void)
{
	struct sigaction sa;

	return sigaction(SIGSEGV, NULL, &sa) == 0 && (sa.sa_flags & SA_ONSTACK);
}

static void *with_signal_stack(void *at)
{
	struct start s = *(struct start *)at;
	stack_t stack = { .ss_size = SIGNAL_STACK_SIZE }, none = { .ss_flags = SS_DISABLE }, old;
	void *ret;

	mem_free(at);
	if (sigaltstack(NULL, &old) < 0 || !(old.ss_flags & SS_DISABLE)) /* a sanitizer has already set one */
		return s.body(s.arg);
	stack.ss_sp = mmap(NULL, SIGNAL_STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		(void)sigaltstack(&stack, NULL);
	ret = s.body(s.arg);
	if (stack.ss_sp != MAP_FAILED) {
		(void)sigaltstack(&none, NULL);
		munmap(stack.ss_sp, SIGNAL_STACK_SIZE);
	}
	return ret;
}

static int create(pthread_t *ret, void *(*body)(void *), void *arg)
{
	struct start *s;
	int r;

	if (!handler_wants_stack())
		return pthread_create(ret, NULL, body, arg);
	s = MEM_NEW(struct start);
	if (!s)
		return ENOMEM;
	*s = (struct start){ body, arg };
	r = pthread_create(ret, NULL, with_signal_stack, s);
	if (r)
		mem_free(s);
	return r;
}

int thread_start(pthread_t *ret, const char *name, void *(*body)(void *), void *arg)
{
	sigset_t before;
	char kept[16];
	int r;

	snprintf(kept, sizeof(kept), "%s", name); /* the call would fail for a longer name */
	block_what_others_send(&before);
	r = create(ret, body, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		(void)pthread_setname_np(*ret, kept);
	return -r;
}

void thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}
