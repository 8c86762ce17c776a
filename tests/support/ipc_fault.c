/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked with the iceoryx module into ipc_fault.so, for processes that are to die or stop at one instruction of a publish. They set
 * SIM_IPC_MODULE to it, and write to /tmp/ipc_fault.PID (the module's libc does not see what is put into the environment
 * after the start):
 *   push:N     in the Nth push into a subscriber's queue, with the index taken and the message written: an index of that
 *              queue is lost, and the publisher's port locked
 *   notify:N   after it, with that queue locked too, if its subscriber waits by a waitset of iceoryx
 *   stop-push:N, stop-notify:N   as these two, but it stops there, once
 *   loan:N     the first slot on loan lies N bytes from where it should, as if its chunk's header had been written over
 *   fatal:N    in it too, but iceoryx finds something broken, which does not end the process
 * A further number, "push:1 4", counts only pushes into queues of that capacity: clients also publish for themselves.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iox_queue.h"

#define HOOK __attribute__((visibility("default"), used))

static atomic_uint pushes;
static char fault[32];

__attribute__((constructor)) static void read_fault(void)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/ipc_fault.%d", (int)getpid());
	f = fopen(path, "re");
	if (!f)
		return;
	(void)!fgets(fault, sizeof(fault), f);
	fclose(f);
	unlink(path);
}

static bool is_now(const char *where, size_t skip)
{
	size_t n = strlen(where);

	return strncmp(fault + skip, where, n) == 0 && atomic_load(&pushes) == (unsigned int)atoi(fault + skip + n);
}

/* The place is given without "stop-". */
static void die_or_stop(const char *where)
{
	bool stops = strncmp(fault, "stop-", 5) == 0;

	if (!is_now(where, stops ? 5 : 0))
		return;
	if (!stops)
		kill(getpid(), SIGKILL);
	fault[0] = '\0';
	kill(getpid(), SIGSTOP);
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

HOOK void fault_push(void *queue, uint64_t index) __asm__("_ZN3iox10concurrent10IndexQueueILm256EmE4pushEm");

/* The module's. */
void error_handler(uint32_t error, const void *callback,
		   uint32_t level) __asm__("_ZN3iox12errorHandlerENS_5ErrorERKSt8functionIFvvEENS_10ErrorLevelE");

void fault_push(void *queue, uint64_t index)
{
	static void (*real)(void *, uint64_t);

	const struct iox_queue *q = (const void *)((char *)queue - offsetof(struct iox_queue, used));

	if (!strchr(fault, ' ') || (uint64_t)atoi(strchr(fault, ' ')) == q->capacity)
		atomic_fetch_add(&pushes, 1);
	die_or_stop("push:");
	if (is_now("fatal:", 0))
		error_handler(1, NULL, 0);
	if (!real)
		*(void **)&real = next("_ZN3iox10concurrent10IndexQueueILm256EmE4pushEm");
	real(queue, index);
}

HOOK int pthread_mutex_unlock(pthread_mutex_t *m)
{
	static int (*real)(pthread_mutex_t *);

	die_or_stop("notify:");
	if (!real)
		*(void **)&real = next("pthread_mutex_unlock");
	return real(m);
}

HOOK int fault_loan(void *pub, void **ret, uint32_t size, uint32_t alignment) __asm__("iox_pub_loan_aligned_chunk");

int fault_loan(void *pub, void **ret, uint32_t size, uint32_t alignment)
{
	static int (*real)(void *, void **, uint32_t, uint32_t);
	int r;

	if (!real)
		*(void **)&real = next("iox_pub_loan_aligned_chunk");
	r = real(pub, ret, size, alignment);
	if (strncmp(fault, "loan:", 5) == 0) {
		*ret = (char *)*ret + atoll(fault + 5);
		fault[0] = '\0';
	}
	return r;
}
