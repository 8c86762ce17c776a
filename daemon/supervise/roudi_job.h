/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs for the helper thread: calls to RouDi that may not be answered. A job probes once, or probes until RouDi answers
 * and then attaches.
 */
#ifndef SUPERVISE_ROUDI_JOB_H
#define SUPERVISE_ROUDI_JOB_H

#include "err.h"
#include "helper.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ipc;
struct roudi;

/* attach: probe until RouDi answers, then attach; otherwise only probe. */
struct roudi_job {
	struct helper_job job;
	struct roudi *r;             /* NULL: the result is no longer wanted */
	const char *plane;           /* of the runtime, which outlives the job */
	bool attach, foreign, fresh; /* fresh: simd has just started it */
	bool starved;                /* RouDi did not answer, but was not given a CPU either */
	pid_t pid;
	uint32_t timeout_ms;
	_Atomic bool cancel;
	char app[80];
	int result;
	char why[ERR_WHY_MAX];
	struct ipc *ipc;
};

/* helper_job::run. */
void roudi_job_run(struct helper_job *hj);

#endif
