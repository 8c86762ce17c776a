/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to RouDi that may not be answered, so the helper's thread makes them: a probe, or probes until one is answered, and then the attach. */
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

/* Probe until it answers, then attach; or only probe. */
struct roudi_job {
	struct helper_job job;
	struct roudi *r;             /* NULL: no longer waited for */
	const char *plane;           /* of the runtime, which outlives it */
	bool attach, foreign, fresh; /* fresh: just started by us */
	bool starved;                /* it did not answer, but could not have either */
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
