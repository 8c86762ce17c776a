/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that waits for a reader's samples and matches, and for pokes. Thread: each thing by one at a time; poke(): any. */
#ifndef WAITER_H
#define WAITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <dds/dds.h>

struct waiter {
	dds_entity_t set, poke; /* the participant's */
	pthread_t thread;
	bool running;
	_Atomic bool stop; /* then the thread ends */
};

/*
 * reader 0: pokes alone. Else whoever was woken reads the reader's status of matches: until then no wait waits. Errors as dds_errno(). Before
 * start() set may be added to.
 */
int waiter_open(struct waiter *w, dds_entity_t participant, dds_entity_t reader);
int waiter_start(struct waiter *w, const char *name, void *(*fn)(void *arg), void *arg);
void waiter_wait(struct waiter *w, dds_duration_t dur_ns); /* the thread's */
void waiter_poke(struct waiter *w);                        /* nothing, unless it runs */
void waiter_close(struct waiter *w);                       /* waits for the thread */

#endif
