/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that copies, "sim-readback". Handing it a job takes no lock, so who does that never waits for it.
 *
 * Thread: one puts, waits and looks.
 */
#ifndef READBACK_WORKER_H
#define READBACK_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "inbox.h"
#include "rows.h"

struct job {
	struct inbox_item item; /* worker::jobs */
	struct rows rows;
	_Atomic bool cancelled; /* not begun yet: it is passed over */
	_Atomic bool done;      /* the worker does not touch it, nor the rows, any more */
	bool copied;            /* valid once done */
};

struct worker {
	pthread_t thread;
	bool started;
	struct inbox jobs;
	_Atomic uint32_t bell;      /* of jobs, and of stop */
	_Atomic uint32_t done_bell; /* of those that are done */
	_Atomic bool stop;
};

/* Returns 0 or a negative errno, with a sentence. All zeroes before. */
int worker_start(struct worker *w);
/* Does what was put, and ends. Blocks. */
void worker_stop(struct worker *w);
/* Keeps the job until it is done. */
void worker_put(struct worker *w, struct job *j);
/* Until another job is done, done_bell was `seen`, or so long; negative: for ever. */
void worker_wait(struct worker *w, uint32_t seen, int64_t dur_ns);

#endif
