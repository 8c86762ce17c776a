/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that waits for a reader's samples and matches, and for pokes. Thread: each function one thread at a time;
 * waiter_poke(): any.
 */
#ifndef WAITER_H
#define WAITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <dds/dds.h>

struct waiter {
	dds_entity_t set, poke; /* owned by the participant */
	pthread_t thread;
	bool running;
	_Atomic bool stop; /* the thread must end */
};

/*
 * reader 0: only pokes wake it. Else, after each wake-up, read the reader's status of matches: until then waiter_wait()
 * returns at once. Errors as dds_errno(). Further conditions may be attached to `set` before waiter_start().
 */
int waiter_open(struct waiter *w, dds_entity_t participant, dds_entity_t reader);
int waiter_start(struct waiter *w, const char *name, void *(*fn)(void *arg), void *arg);
void waiter_wait(struct waiter *w, dds_duration_t dur_ns); /* called by the thread */
void waiter_poke(struct waiter *w);                        /* does nothing unless it runs */
void waiter_close(struct waiter *w);                       /* joins the thread */

#endif
