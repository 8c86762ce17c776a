/* SPDX-License-Identifier: Apache-2.0 */
/* Starting threads. See thread.h. */
#include "thread.h"

#include <signal.h>
#include <stdio.h>

int thread_start(pthread_t *ret, const char *name, void *(*body)(void *), void *arg)
{
	sigset_t all, before;
	char kept[16];
	int r;

	snprintf(kept, sizeof(kept), "%s", name); /* a longer name would be refused as a whole */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, body, arg);
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
