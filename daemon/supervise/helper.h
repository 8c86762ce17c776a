/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread for calls that may block on RouDi: probing, attaching, freeing a dead application. Jobs run one after the
 * other; done() runs on the owner's exec. With an exec of virtual time there is no thread: a job runs inside
 * helper_post().
 *
 * Thread: simd-help runs the jobs; the functions belong to simd-main.
 */
#ifndef SUPERVISE_HELPER_H
#define SUPERVISE_HELPER_H

#include "exec.h"

struct helper;

struct helper_job {
	void (*run)(struct helper_job *j);  /* on simd-help */
	void (*done)(struct helper_job *j); /* on the owner's exec; frees the job */
	struct helper *h;                   /* private */
	struct exec_post post;              /* private */
};

int helper_create(struct exec *x, struct helper **ret);
/* Runs the jobs that are still queued and waits for them; their done() then runs on simd-help. NULL is fine. */
void helper_destroy(struct helper *h);
/* Owns the job until done(). */
void helper_post(struct helper *h, struct helper_job *j);

#endif
