/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that copies, "sim-readback". Queuing a job takes no lock, so the caller never waits.
 *
 * Thread: worker_put(), worker_wait() and reading results from one thread.
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
	_Atomic bool cancelled; /* if it has not begun, it is skipped */
	_Atomic bool done;      /* the worker no longer uses the job or its rows */
	bool copied;            /* valid once done */
};

struct worker {
	pthread_t thread;
	bool started;
	struct inbox jobs;
	_Atomic uint32_t bell;      /* incremented for new jobs, and to stop */
	_Atomic uint32_t done_bell; /* incremented for each job done */
	_Atomic bool stop;
};

/* *w must be all zero. Returns 0 or a negative errno, with a sentence. */
int worker_start(struct worker *w);
/* Finishes the queued jobs, then ends the thread. Blocks. */
void worker_stop(struct worker *w);
/* The job must live until it is done. */
void worker_put(struct worker *w, struct job *j);
/* Waits until done_bell differs from `seen`, or for dur_ns; negative: for ever. */
void worker_wait(struct worker *w, uint32_t seen, int64_t dur_ns);

#endif
